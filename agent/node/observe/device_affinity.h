/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * On which NUMA nodes registered devices are, where only the device manager's checkpoint is there: it has
 * those of held devices alone.
 */
#include "agent/node/observe/state_file.h"
#include "common/allocation.h"
#include "common/machine.h"

/*
 * Fill ret->registered from the checkpoint's registrations. A device that is held has the nodes its entry
 * names; one whose id is a PCI address (also a virtual function's, with or without the domain) those of
 * sysroot + /sys/bus/pci/devices/ID/numa_node, where -1 means no affinity; of the others the nodes are unknown.
 * `ret` must have none registered.
 */
void device_affinity_fill(const char *sysroot, const struct machine *machine,
	const struct kubelet_state *checkpoint, struct allocations *ret);
