/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds the running kubelet by its command line in /proc. Any process may be named "kubelet"; the node's
 * kubelet runs as root, in the PID namespace of /proc, and outside the control groups of pods. Reading the
 * command line of any other process could block: its owner decides for how long.
 */
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/err.h"
#include "common/vec.h"

struct kubelet_process {
	unsigned pid;
	struct strv words; /* argv without the program's name(s) */
	char *root; /* prefix of the kubelet's paths: "" or /proc/PID/root live, a saved tree's sysroot */
	char *cwd;  /* its working directory, a path below `root`; NULL = unknown */
	/* Its start in the kernel's clock ticks, unique together with `pid`; 0 = unknown. */
	uint64_t start;
	time_t start_time; /* its start by the clock, to a second; 0 = unknown */
};

void kubelet_process_release(struct kubelet_process *p);

/*
 * Search sysroot + /proc for the node's kubelet: a process whose argv[0] is a kubelet's, or hyperkube's
 * followed by "kubelet", and whose flags start a server (kubelet_args_start_server()). Processes that vanish or
 * may not be read are skipped. Kubelets within another process (k3s, MicroK8s) are not found. Returns the
 * number of different kubelets (a forked child that has not yet executed another program is not counted);
 * *ret is the kubelet with the lowest process id, untouched if there is none. If there is none, a note names
 * a process that is only called kubelet. 0 when there is no /proc; -errno when /proc, or for a transient
 * reason a process, cannot be read. `proc` (NULL = none) is another directory to search, such as the host's
 * /proc in a container: the paths of its processes are then below `sysroot`, and `proc` must be readable.
 */
int kubelet_process_find(const char *sysroot, const char *proc, struct kubelet_process *ret,
	struct notes *notes, struct err *err);

/* Whether the process that kubelet_process_find() found still runs, 1 or 0: a process with the same id and
 * another start is another process. -errno if that is unknown. */
int kubelet_process_runs(
	const char *sysroot, const char *proc, unsigned pid, uint64_t start, struct err *err);

/* The absolute form, below `root`, of a path in the process's flags; a new string that the caller owns. 0;
 * -EINVAL (a relative path, and the working directory is unknown). */
int kubelet_process_path(const struct kubelet_process *p, const char *path, char **ret, struct err *err);
