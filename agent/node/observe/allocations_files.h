/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Allocations as the kubelet's three state files report them together.
 */
#include "common/allocation.h"
#include "common/err.h"
#include "common/machine.h"
#include "common/notes.h"
#include "common/settings.h"

/* What the files call the policies they were written under, and the paths of the files. NULL = no such file.
 */
struct state_policies {
	char *cpu, *cpu_path;
	char *memory, *memory_path;
};

void state_policies_release(struct state_policies *p);

/* What the files below one root said when they were last read: for one who reads them again and again. Zeroed
 * is empty.
 */
struct state_texts {
	char *root;
	char *cpu, *memory, *devices; /* NULL = never read */
	bool gone;         /* the file of CPUs or of memory is: a kubelet that starts writes both */
	uint64_t settings; /* the reader's number for the kubelet's settings when they were there */
};

void state_texts_release(struct state_texts *t);

/*
 * Read the state files below sysroot + kubelet_root ("/var/lib/kubelet"). A file that is not there leaves its
 * part unknown (cpus_known, memory_known, devices_known false), which is not the same as empty; any other
 * failure is an error that names the file. With `last` (NULL = nothing is kept) a file that was there at an
 * earlier call and is gone says what it said then, with a note: nobody has given back what it lists.
 *
 * What the files list is not all held: they keep what pods held that have ended (allocations_ended.h).
 *
 * `ret` must be as after allocations_init(); it and *ret_policies
 * (which may be NULL) are the caller's to release and untouched on failure. 0; 1 when a file that is gone has
 * spoken; -errno.
 */
int allocations_from_files(const char *sysroot, const char *kubelet_root, const struct machine *machine,
	struct state_texts *last, struct allocations *ret, struct state_policies *ret_policies,
	struct notes *notes, struct err *err);

/*
 * Compare the policies in the state files with the settings. Where the settings do not know a policy, it is
 * taken from the file (from = its path); where both know and differ, that is noted, and the settings stay. A
 * name in the file that is not a policy is noted.
 */
void settings_check_state(struct settings *s, const struct state_policies *policies, struct notes *notes);
