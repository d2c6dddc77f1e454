/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/node_kubelet.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/device_index.h"
#include "scoring/node_mask.h"

/* ---- devices */

static uint64_t mask_of(hwloc_const_bitmap_t nodes)
{
	uint64_t mask = 0;

	for (int id = hwloc_bitmap_first(nodes); id >= 0 && id <= NODE_MASK_MAX_ID;
		id = hwloc_bitmap_next(nodes, id))
		mask |= node_mask_of((unsigned)id);
	return mask;
}

/* The end of the run of one resource's devices that begins at `first`; *ret_known: all nodes are known. */
static size_t resource_end(const struct device_index *index, size_t first, bool *ret_known)
{
	size_t end = first;

	*ret_known = true;
	for (; end < index->n_items && !strcmp(index->items[end].resource, index->items[first].resource);
		end++)
		*ret_known = *ret_known && !index->items[end].nodes_unknown;
	return end;
}

static void list_devices(const struct allocations *a, struct device_inventory *ret)
{
	CLEANUP(device_index_release) struct device_index registered = {0};
	CLEANUP(device_index_release) struct device_index held = {0};
	CLEANUP(device_inventory_release) struct device_inventory inventory = {0};
	bool known = false;

	device_index_registered(a, &registered);
	device_index_held(a, &held);
	for (size_t i = 0, end = 0; i < registered.n_items; i++) {
		const struct device_ref *d = &registered.items[i];
		const struct device device = {.nodes = mask_of(d->nodes),
			.healthy = true,
			.allocated = device_index_find(&held, d->resource, d->id) != NULL};

		if (i == end)
			end = resource_end(&registered, i, &known);
		if (known)
			device_inventory_add(&inventory, d->resource, device);
	}
	*ret = inventory;
	device_inventory_init(&inventory);
}

/* ---- the kubelet */

/*
 * The CPU manager's shared pool: as its state says; every online CPU where policy none keeps none and nobody
 * holds a CPU, because a kubelet that changes to static begins with that. NULL = not known.
 */
static hwloc_const_bitmap_t shared_pool(const struct machine *m, const struct allocations *a)
{
	if (!a->cpus_known || (a->shared && !hwloc_bitmap_iszero(a->shared)))
		return a->shared;
	for (size_t i = 0; i < a->n_items; i++)
		if (!hwloc_bitmap_iszero(a->items[i].cpus))
			return a->shared;
	return m->online;
}

void node_kubelet_init(struct node_kubelet *ret, const struct node_state *state)
{
	struct device_inventory devices = {0};

	list_devices(&state->allocations, &devices);
	ret->devices = devices;
	ret->node = (struct kubelet_node){
		.machine = &state->machine,
		.settings = &state->settings,
		.shared = shared_pool(&state->machine, &state->allocations),
		.reserved = state->reserved.observed ? state->reserved.cpus : NULL,
		.memory = state->allocations.memory_known ? &state->allocations.memory : NULL,
		.devices = &ret->devices,
	};
}

void node_kubelet_release(struct node_kubelet *k)
{
	device_inventory_release(&k->devices);
	k->node = (struct kubelet_node){0};
}

/* Devices that nobody holds. */
static size_t free_devices(const struct device_resource *resource)
{
	size_t n = 0;

	for (size_t i = 0; i < resource->n_devices; i++)
		n += resource->devices[i].healthy && !resource->devices[i].allocated;
	return n;
}

void node_kubelet_add_devices(const struct node_kubelet *k, struct resource_list *ret)
{
	for (size_t i = 0; i < k->devices.n_resources; i++) {
		const struct device_resource *device = &k->devices.resources[i];
		const struct quantity q = {
			.nano = (qty_t)free_devices(device) * QTY_UNIT, .format = QUANTITY_DECIMAL_SI};

		resource_list_set(ret, device->name, q);
	}
}

enum node_device node_kubelet_device(
	const struct node_kubelet *k, const struct node_state *state, const char *resource)
{
	const struct allocations *a = &state->allocations;

	if (device_inventory_find(&k->devices, resource))
		return NODE_DEVICE_KNOWN;
	for (size_t i = 0; i < a->n_registered; i++)
		if (!strcmp(a->registered[i].resource, resource))
			return NODE_DEVICE_UNKNOWN;
	return a->registered_known ? NODE_DEVICE_ABSENT : NODE_DEVICE_UNKNOWN;
}
