/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/fit_devices.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/device_index.h"
#include "scoring/node_mask.h"

static uint64_t mask_of(hwloc_const_bitmap_t nodes)
{
	uint64_t mask = 0;

	for (int id = hwloc_bitmap_first(nodes); id >= 0 && id <= NODE_MASK_MAX_ID;
		id = hwloc_bitmap_next(nodes, id))
		mask |= node_mask_of((unsigned)id);
	return mask;
}

/* The end of the run of one resource's devices that begins at `first`; *ret_known: all nodes are told. */
static size_t resource_end(const struct device_index *index, size_t first, bool *ret_known)
{
	size_t end = first;

	*ret_known = true;
	for (; end < index->n_items && !strcmp(index->items[end].resource, index->items[first].resource);
		end++)
		*ret_known = *ret_known && !index->items[end].nodes_unknown;
	return end;
}

int fit_devices_make(const struct allocations *a, struct device_inventory *ret)
{
	CLEANUP(device_index_release) struct device_index registered = {0};
	CLEANUP(device_index_release) struct device_index held = {0};
	CLEANUP(device_inventory_release) struct device_inventory inventory = {0};
	int r = device_index_registered(a, &registered);
	bool known = false;

	if (r == 0)
		r = device_index_held(a, &held);
	for (size_t i = 0, end = 0; r == 0 && i < registered.n_items; i++) {
		const struct device_ref *d = &registered.items[i];
		const struct device device = {.nodes = mask_of(d->nodes),
			.healthy = true,
			.allocated = device_index_find(&held, d->resource, d->id) != NULL};

		if (i == end)
			end = resource_end(&registered, i, &known);
		if (known)
			r = device_inventory_add(&inventory, d->resource, device);
	}
	if (r < 0)
		return r;
	*ret = inventory;
	device_inventory_init(&inventory);
	return 0;
}

size_t fit_devices_free(const struct device_resource *resource)
{
	size_t n = 0;

	for (size_t i = 0; i < resource->n_devices; i++)
		n += resource->devices[i].healthy && !resource->devices[i].allocated;
	return n;
}
