/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * model: machine + settings + allocations -> inventory. Pure accounting, no I/O.
 */
#include "common/node_state.h"
#include "common/notes.h"

/*
 * The reserved CPUs: reservedSystemCPUs where given; under the static policy with kubeReserved and
 * systemReserved, the CPUs that the kubelet's own algorithm takes; none under policy none. Otherwise unknown.
 * 0; -EINVAL (a reserved CPU that is not online). `ret` is untouched on failure.
 */
int inventory_reserved_cpus(
	const struct machine *m, const struct settings *s, struct reserved_cpus *ret, struct err *err);

/*
 * Hugepages of this name ("hugepages-1Gi") that are free on all NUMA nodes together for the kubelet, in bytes: as in the
 * inventory, but claims hold nothing, because the kubelet does not know them. False when the machine has no pool of that size.
 */
bool inventory_free_pages(const struct machine *m, const struct settings *s, const struct allocations *a,
	const char *name, qty_t *ret);

/*
 * The inventory. Per NUMA node (ascending id) and resource:
 *
 *	cpu          capacity = online CPUs that belong to the node; allocatable = without the reserved ones, and
 *	             under the static policy without those that are neither in the shared pool nor held: the
 *	             kubelet does not know them (it counts CPUs at its start); available = without those held
 *	             exclusively or by a claim. Absent on a node without CPUs.
 *	memory       capacity = MemTotal; allocatable and available as the memory manager's machine state says;
 *	             without it allocatable = available = MemTotal - hugepages - reservedMemory; available less
 *	             what claims hold. Absent where there is none.
 *	hugepages-*  the same for each pool, a pool of size 0 included.
 *	devices      where it is known what plugins have: every resource that has a device with an affinity,
 *	             on every node. allocatable = the healthy devices near the node, available = those not
 *	             held, capacity = allocatable and held ones that are no longer healthy. A device near
 *	             several nodes counts on each of them, so that each number is exactly what the node could
 *	             give by itself. Devices without affinity are nowhere.
 *
 * Costs are the SLIT distances; without them 10 on the diagonal and unknown elsewhere. Never below 0. What
 * is not known goes to `notes`.
 */
void inventory_build(const struct machine *m, const struct settings *s, const struct allocations *a,
	const struct claims *claims, hwloc_const_bitmap_t reserved, struct inventory *ret,
	struct notes *notes);
