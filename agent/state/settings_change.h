/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Changes a kubelet's settings as a user asks for: what if the kubelet were configured differently.
 */
#include "common/err.h"
#include "common/node_state.h"
#include "common/settings.h"

/*
 * Sets a policy option by its name: one of the CPU manager ("full-pcpus-only"), "prefer-closest-numa-nodes" or
 * "max-allowable-numa-nodes". 0; -EINVAL with one line.
 */
int settings_change_option(struct settings *s, const char *name, const char *value, struct err *err);

struct settings_changes {
	bool reserved_cpus, reserved_memory;
	bool memory_manager; /* another policy than before */
};

/*
 * Applies KEY=VALUE. KEY is a field of KubeletConfiguration (topologyManagerPolicy, topologyManagerScope, cpuManagerPolicy,
 * memoryManagerPolicy, reservedSystemCPUs, reservedMemory as its flag --reserved-memory), reservedCPUs (a number of CPUs, which the
 * kubelet chooses as for kubeReserved), kubelet (a release such as 1.38), or the name of a policy option. Sets the flags of what
 * changes in *ret. 0; -EINVAL with one line.
 */
int settings_change(struct settings *s, const char *text, struct settings_changes *ret, struct err *err);

/*
 * To be called after the changes of a node's settings. A kubelet with the Static memory manager starts only if reservedMemory is, per
 * type, what kubeReserved, systemReserved and evictionHard reserve together: if reservedMemory has changed, systemReserved is taken
 * to change with it. 0; -EINVAL with one line why the kubelet would not start, or why that is not known.
 */
int settings_change_memory(struct node_state *node, const struct settings_changes *changes, struct err *err);
