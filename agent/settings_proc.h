/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The running kubelet, found by its command line in /proc.
 */
#include <stddef.h>

#include "common/err.h"

struct kubelet_process {
	unsigned pid;
	char **words; /* argv without the program's name(s) */
	size_t n_words;
	size_t words_size;
	char *root; /* put in front of the paths it uses: "" or /proc/PID/root live, the sysroot of a saved
		       tree */
	char *cwd;  /* its working directory, a path below `root`; NULL = unknown */
};

void kubelet_process_init(struct kubelet_process *p);
void kubelet_process_release(struct kubelet_process *p);

/*
 * Look below sysroot + /proc for a process whose argv[0] is a kubelet's, or hyperkube's with "kubelet" behind
 * it. Processes that vanish or may not be read are passed over. Kubelets within another process (k3s,
 * MicroK8s) are not seen here. Returns how many different ones there are (a child
 * that has not become another program yet is not one); *ret is the one with the lowest process id,
 * untouched when there is none. -ENOMEM, or what reading /proc failed with; no /proc is 0. `proc`
 * (NULL = none) is another folder to look in, as a container has the host's: the paths of its processes are
 * then taken to be below `sysroot`; that it cannot be read is an error.
 */
int kubelet_process_find(const char *sysroot, const char *proc, struct kubelet_process *ret, struct err *err);

/* The absolute form, below `root`, of a path in the process's flags; a new string the caller owns. 0; -EINVAL
 * (a relative path, and the working directory is unknown); -ENOMEM. */
int kubelet_process_path(const struct kubelet_process *p, const char *path, char **ret, struct err *err);
