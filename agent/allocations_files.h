/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Allocations as the kubelet's three state files tell them together.
 */
#include "common/allocation.h"
#include "common/err.h"
#include "common/machine.h"
#include "common/notes.h"
#include "common/settings.h"

/* Where the files are below the kubelet's root directory. */
#define STATE_CPU_FILE     "cpu_manager_state"
#define STATE_MEMORY_FILE  "memory_manager_state"
#define STATE_DEVICES_FILE "device-plugins/kubelet_internal_checkpoint"

/* A folder for each pod that is there, and how long after the pod's devices were written it is at most made.
 */
#define PODS_FOLDER   "pods"
#define PODS_FOLDER_S 15

/* What the files call the policies they were written under, and the paths of the files. NULL = no such file.
 */
struct state_policies {
	char *cpu, *cpu_path;
	char *memory, *memory_path;
};

void state_policies_release(struct state_policies *p);

/*
 * Read the state files below sysroot + kubelet_root ("/var/lib/kubelet"). A file that is not there leaves its
 * part unknown (cpus_known, memory_known, devices_known false), which is not the same as empty; any other
 * failure is an error that names the file.
 *
 * The device manager forgets a pod that has ended in memory only, and its file lists the devices until it is
 * written for another reason. So where the kubelet has folders for its pods, a pod without one holds no
 * devices
 * - unless the file is so new that the folder may still be made.
 *
 * `ret` must be as after allocations_init(); it and *ret_policies
 * (which may be NULL) are the caller's to release and untouched on failure. 0 or -errno.
 */
int allocations_from_files(const char *sysroot, const char *kubelet_root, const struct machine *machine,
	struct allocations *ret, struct state_policies *ret_policies, struct notes *notes, struct err *err);

/*
 * Compare the policies in the state files with the settings. Where the settings do not know a policy, it is
 * taken from the file (from = its path); where both know and differ, that is noted, and the settings stay. A
 * name in the file that is no policy is noted. 0 or -ENOMEM.
 */
int settings_check_state(struct settings *s, const struct state_policies *policies, struct notes *notes);
