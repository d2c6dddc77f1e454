/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds the machine that the running kubelet knows: the machine of the kubelet's start. The kubelet reads the CPUs, NUMA nodes, memory
 * and hugepages once. It assigns nothing that appeared later, and still counts what has vanished. The state of the kubelet's managers
 * shows the difference from the hardware. Depends on common/ and
 * scoring/cpu_manager.h only.
 */
#include "common/err.h"
#include "common/node_state.h"

/* The end of a note about CPUs or NUMA nodes that a source names and the machine does not have. */
#define ABSENT_FROM_MACHINE "any more and are not counted: the kubelet knows the machine of its start"

/*
 * The CPUs that the kubelet knows: those of the CPU manager's state. Strictly reserved CPUs are not in the state, but in the settings. A
 * CPU between the kubelet's two writes per change is in no set of the state, but allocatable, which the pod-resources API reports. NULL
 * if no source shows the CPUs; otherwise a new bitmap that the caller owns. Call this after the reserved CPUs were derived.
 */
hwloc_bitmap_t known_machine_cpus(const struct node_state *node);

/*
 * The NUMA nodes that the kubelet knows, among those of the machine: the nodes of which the CPU manager's state has a CPU, or the memory
 * manager's state some memory. Without the memory manager's state, a node without CPUs counts as known. A new bitmap that the caller owns.
 */
hwloc_bitmap_t known_machine_nodes(const struct node_state *node);

/* The machine's memory that the kubelet knows, in bytes, and what of it is in hugepages. */
struct known_memory {
	uint64_t bytes, hugepages;
};

struct known_memory known_machine_memory(const struct node_state *node);

/*
 * Make the kubelet's machine from the hardware: without the NUMA nodes that the kubelet does not know and their CPUs, and with the CPUs
 * that the kubelet counts and that are now offline or gone. /sys does not show where such a CPU was. The guess is a regular machine: the
 * CPU belongs to the core that lacks a thread of this id, or to the NUMA node that lacks most CPUs. False if the kubelet's machine is the hardware: *ret is then
 * untouched. *ret is to be released.
 */
bool known_machine_differs(const struct node_state *node, struct machine *ret);

/*
 * Whether the kubelet has assigned reserved CPUs to a container under strict-cpu-reservation, and the state has all other CPUs of today's
 * hardware, so no CPU is missing. A kubelet up to 1.37 assigns reserved CPUs where cores have different sizes (K29 in scoring/DEFECTS.md).
 * `reserved` is what the kubelet would reserve on today's hardware; NULL = unknown.
 */
bool known_machine_assigns_reserved(const struct node_state *node, hwloc_const_bitmap_t reserved);

/* Note what appeared after the kubelet's start and is therefore not available. */
void known_machine_note(const struct node_state *node, struct notes *notes);
