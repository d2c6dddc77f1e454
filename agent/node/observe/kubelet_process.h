/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The running kubelet, found by its command line in /proc. Anybody may call a process "kubelet": it is the
 * node's only when it is root's, in the PID namespace that /proc is of, and in no pod's control group.
 */
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/err.h"
#include "common/notes.h"
#include "common/strv.h"

struct kubelet_process {
	unsigned pid;
	struct strv words; /* argv without the program's name(s) */
	char *root; /* put before the paths it uses: "" or /proc/PID/root live, a saved tree's sysroot */
	char *cwd;  /* its working directory, a path below `root`; NULL = unknown */
	uint64_t
		start; /* when it was started, by the kernel's count; with `pid` it names the process for good. 0 =
			   unknown */
	time_t start_time; /* the same by the clock, to a second; 0 = unknown */
};

void kubelet_process_release(struct kubelet_process *p);

/*
 * Look below sysroot + /proc for a process whose argv[0] is a kubelet's, or hyperkube's with "kubelet" behind
 * it, and which is the node's. Processes that vanish or may not be read are passed over. Kubelets within
 * another process (k3s, MicroK8s) are not seen here. Returns how many different ones there are (a child
 * that has not become another program yet is not one); *ret is the one with the lowest process id,
 * untouched when there is none. When there is none, a process that only bears the name is noted. -ENOMEM, or
 * what reading /proc failed with; no /proc is 0. `proc` (NULL = none) is another folder to look in, as a
 * container has the host's: the paths of its processes are then taken to be below `sysroot`; that it cannot
 * be read is an error.
 */
int kubelet_process_find(const char *sysroot, const char *proc, struct kubelet_process *ret,
	struct notes *notes, struct err *err);

/* Whether the process still runs that kubelet_process_find() found there: one that has the same id is not it
 * when it was started at another time. */
bool kubelet_process_runs(const char *sysroot, const char *proc, unsigned pid, uint64_t start);

/* The absolute form, below `root`, of a path in the process's flags; a new string the caller owns. 0; -EINVAL
 * (a relative path, and the working directory is unknown). */
int kubelet_process_path(const struct kubelet_process *p, const char *path, char **ret, struct err *err);
