/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The CPU manager's state file, cpu_manager_state: which CPUs are the shared pool and which containers hold
 * the others. Formats v1 (kubelet 1.10) to v4 (1.37). Source of the formats and the rules:
 * pkg/kubelet/cm/cpumanager/state/checkpoint.go, policy_static.go.
 */
#include <stddef.h>

#include "agent/state_file.h"
#include "common/allocation.h"
#include "common/err.h"
#include "common/machine.h"
#include "common/notes.h"

#define STATE_CPU_FILE_MAX (1024u * 1024u) /* bytes */

struct state_cpu {
	char *policy; /* policyName as written: "none", "static", or what a foreign kubelet calls it */
	/*
	 * items, shared and cpus_known are filled, items in their order. shared is NULL under a policy "none"
	 * that writes no default set. v1 knows container ids only: pod_uid is "" and container the id.
	 *
	 * A pod that has an entry in podEntries holds those CPUs as a whole: it is one item with container
	 * "". Its containers' entries are parts of that set which may overlap (the pod's own shared pool is
	 * the entry of each container that runs in it): they make no items unless they go beyond it. A pod
	 * without containers whose CPUs are all in the default set again has been released and makes none
	 * either.
	 */
	struct allocations allocations;
};

#define STATE_CPU_INIT \
	{              \
		0      \
	}

void state_cpu_release(struct state_cpu *s);

/*
 * Parse the file's text. All CPUs must exist in `machine` (NULL = not checked; offline CPUs exist, with a
 * note). CPUs in no set at all are legal: the kubelet writes twice a change, and strictly reserved CPUs are
 * in none. CPUs of different pods, and of the default set, should be disjoint, and a container's within its
 * pod's: where they are not, one note names the first CPUs and their holders if the checksum is right (some
 * kubelets hand out a CPU twice on hybrid machines), and the content is refused if it is not. A wrong
 * checksum is a note when the content is consistent. 0; -EINVAL or -ERANGE with what is wrong and where;
 * -EFBIG; -ENOMEM. *ret is untouched on failure.
 */
int state_cpu_parse(const char *text, size_t len, const struct machine *machine, struct state_cpu *ret,
	struct notes *notes, struct err *err);

/* The same for the file at root + path, errors and notes beginning with the path. -ENOENT, -EACCES, ... as
 * fs_read(). */
int state_cpu_read(const char *root, const char *path, const struct machine *machine, struct state_cpu *ret,
	struct notes *notes, struct err *err);

/*
 * The checksum of a parsed file, whose content was found well formed, and in `text` (unless NULL) what it is
 * taken over. 0; -EINVAL (the content is not what the kubelet writes), -ENOMEM, -EFBIG.
 */
int state_cpu_checksum(const struct state_file *file, struct strbuf *text, struct checksum_match *ret);
