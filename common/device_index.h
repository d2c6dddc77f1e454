/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * device_index: many devices by resource and id, to look one up and to compare what two sources report.
 * Depends on common/ only.
 */
#include "common/allocation.h"

/* One device; everything is borrowed from the allocations it was indexed from. */
struct device_ref {
	const char *resource, *id;
	hwloc_const_bitmap_t nodes;
	bool nodes_unknown;
};

struct device_index {
	struct device_ref *items; /* by resource, then id; unique */
	size_t n_items;
	size_t items_size;
};

void device_index_release(struct device_index *index);

/* Every device that some container or pod holds. */
void device_index_held(const struct allocations *a, struct device_index *ret);

/* Every healthy device of every plugin. Returns as device_index_held(). */
void device_index_registered(const struct allocations *a, struct device_index *ret);

/*
 * Make one block for each set of NUMA nodes of blocks that list a device once for each of its nodes, as the
 * kubelet's pod-resources API does (cm/container_manager.go, containerDevicesFromResourceDeviceInstances).
 */
void device_blocks_unite(struct device_block **blocks, size_t *n_blocks, size_t *blocks_size);

/* Where the devices of a resource begin; *ret_end is behind the last of them. */
size_t device_index_run(const struct device_index *index, const char *resource, size_t *ret_end);

/* The device, or NULL. */
const struct device_ref *device_index_find(
	const struct device_index *index, const char *resource, const char *id);
