/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * model: machine + settings + allocations -> inventory. Pure accounting, no I/O.
 */
#include "common/allocation.h"
#include "common/inventory.h"
#include "common/machine.h"
#include "common/notes.h"
#include "common/settings.h"

/* CPUs that no container gets exclusively. */
struct reserved_cpus {
	hwloc_bitmap_t cpus; /* NULL = unknown: not even that there are none */
	bool observed;       /* a running kubelet tells, not its configuration */
	char *from; /* where it was learnt, or why it is unknown; never NULL after model_reserved_cpus() */
};

void reserved_cpus_release(struct reserved_cpus *r);

/*
 * The reserved CPUs: reservedSystemCPUs where given; under the static policy with kubeReserved and
 * systemReserved, the CPUs that the kubelet's own algorithm takes; none under policy none. Otherwise unknown.
 * 0; -EINVAL (a reserved CPU that is not online), -ENOMEM. `ret` is untouched on failure.
 */
int model_reserved_cpus(
	const struct machine *m, const struct settings *s, struct reserved_cpus *ret, struct err *err);

/*
 * The inventory. Per NUMA node (ascending id) and resource:
 *
 *	cpu          capacity = online CPUs that belong to the node; allocatable = without the reserved ones;
 *	             available = without those held exclusively. Absent on a node without CPUs.
 *	memory       capacity = MemTotal; allocatable and available as the memory manager's machine state
 *says; without it allocatable = available = MemTotal - hugepages - reservedMemory. Absent where there is
 *none. hugepages-*  the same for each pool, a pool of size 0 included. devices      where it is known what
 *plugins have: every resource of which some device has an affinity, on every node. allocatable = the healthy
 *devices near the node, available = those not held, capacity = allocatable and held ones that are no longer
 *healthy. A device near several nodes counts on each of them, so that each number is exactly what the node
 *could give by itself. Devices without affinity are nowhere.
 *
 * Costs are the SLIT distances; without them 10 on the diagonal and unknown elsewhere. Never below 0. What
 * could not be told goes to `notes`. 0 or -ENOMEM; `ret` is untouched on failure.
 */
int model_inventory(const struct machine *m, const struct settings *s, const struct allocations *a,
	hwloc_const_bitmap_t reserved, struct inventory *ret, struct notes *notes);

/* Every CPU that some container or pod holds exclusively; a new bitmap, NULL = out of memory. */
hwloc_bitmap_t model_exclusive_cpus(const struct allocations *a);

/*
 * The CPU manager's shared pool: as its state says; every online CPU where policy none keeps none and nobody
 * holds a CPU, because a kubelet that changes to static begins with that. NULL = not known. It belongs to one
 * of the arguments.
 */
hwloc_const_bitmap_t model_shared_pool(const struct machine *m, const struct allocations *a);

/* "hugepages-2Mi" for a page size; `name` has room for MODEL_RESOURCE_NAME_SIZE bytes. */
#define MODEL_RESOURCE_NAME_SIZE 96
void model_hugepages_name(uint64_t page_bytes, char name[MODEL_RESOURCE_NAME_SIZE]);
