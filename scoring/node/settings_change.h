/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Changes a kubelet's settings as a user asks, for questions about a differently configured kubelet.
 */
#include "common/doc.h"
#include "common/err.h"
#include "common/node_state.h"
#include "common/settings.h"

/* Sets a policy option of a kubelet release by its name ("full-pcpus-only"). 0; -EINVAL with one line. */
int settings_change_option(struct settings *s, const char *name, const char *value, struct err *err);

struct settings_changes {
	bool reserved_cpus, reserved_memory;
	bool memory_manager; /* another policy than before */
};

/*
 * Applies KEY=VALUE. KEY is a field of KubeletConfiguration whose value is a choice, a CPU set or reservations (in the syntax of
 * --reserved-memory), the name of a policy option, also of one that is only proposed, reservedCPUs (a number of CPUs, which the
 * kubelet chooses as for kubeReserved), or kubelet (a release such as 1.38, of those whose rules are known). Sets the members of *ret
 * for what has changed. 0; -EINVAL with one line.
 */
int settings_change(struct settings *s, const char *text, struct settings_changes *ret, struct err *err);

/* Whether KEY=VALUE sets an option that no kubelet has yet to another value than its default. */
bool settings_change_is_proposed(const char *text);

/*
 * Call after all changes of a node's settings, and before node_start_check(). A kubelet with the Static memory manager starts only if
 * reservedMemory, per type, equals the sum of kubeReserved, systemReserved and evictionHard. If
 * reservedMemory has changed, this function adjusts systemReserved to match. 0; -EINVAL with one line if evictionHard is unknown, so
 * that nobody can tell whether the kubelet would start.
 */
int settings_change_memory(struct node_state *node, const struct settings_changes *changes, struct err *err);

/* The release of the Node's kubelet; unknown if the version is missing or malformed. */
struct kubelet_release node_kubelet_release(const struct doc *node);
