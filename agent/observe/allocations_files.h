/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads allocations from the kubelet's three state files together.
 */
#include "agent/observe/state_file.h"
#include "common/allocation.h"
#include "common/err.h"
#include "common/machine.h"
#include "common/settings.h"

/* The policies that the files were written under, and the paths of the files. NULL = no such file. */
struct state_policies {
	char *cpu, *cpu_path;
	char *memory, *memory_path;
};

void state_policies_release(struct state_policies *p);

/* The content of the files below one root at the last read, for a caller that reads them repeatedly. Zeroed
 * is empty. */
struct state_texts {
	char *root;
	char *cpu, *memory, *devices; /* NULL = never read */
	bool gone; /* cpu_manager_state or memory_manager_state is missing; a starting kubelet writes both */
	uint64_t settings; /* the caller's hash of the kubelet's settings when both files last existed */
};

void state_texts_release(struct state_texts *t);

/*
 * Read the state files below root + kubelet_root ("/var/lib/kubelet"); the devices' files are below sysroot. A missing file leaves its part
 * unknown (cpus_known, memory_known, devices_known false), which is not the same as empty; any other failure
 * is an error that names the file. If a file existed at an earlier call and is missing now, its content in
 * `last` is used, with a note, because a missing file does not release resources (`last` NULL = no content is
 * kept).
 *
 * The files also list the holdings of ended pods; allocations_end_by_api() removes them.
 *
 * `ret` must be as after allocations_init(); the caller releases `ret` and *ret_policies, which are
 * untouched on failure. 0; 1 when the last content of a missing file was used; -errno.
 */
int allocations_from_files(const char *root, const char *kubelet_root, const char *sysroot,
	const struct machine *machine, struct state_texts *last, struct allocations *ret,
	struct state_policies *ret_policies, struct notes *notes, struct err *err);

/*
 * Move the registrations to ret->registered from the registrations in the device manager's checkpoint, which lists the NUMA
 * nodes of held devices only. A held device has the nodes of its entry; a device whose id is a PCI address
 * (also a virtual function's, with or without the domain) has those in sysroot +
 * /sys/bus/pci/devices/ID/numa_node, where -1 means no affinity; the nodes of other devices are unknown.
 * `ret` must have no registered devices. 0; -errno with one line if a file cannot be read for a transient reason.
 */
int device_affinity_fill(const char *sysroot, const struct machine *machine, struct kubelet_state *checkpoint,
	struct allocations *ret, struct err *err);
