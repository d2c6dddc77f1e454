/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/model/node_outlook.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/model/model.h"
#include "agent/observe/allocations_ended.h"
#include "agent/observe/memory_blocks.h"
#include "common/cleanup.h"
#include "common/device_index.h"
#include "common/resource_name.h"
#include "common/vec.h"

int node_outlook_init(struct node_outlook *o, const struct node_state *state, const bool *gone)
{
	*o = (struct node_outlook){.state = *state};
	inventory_init(&o->inventory);
	allocations_init(&o->view);
	return allocations_view_without(&state->allocations, gone, &o->view);
}

void node_outlook_release(struct node_outlook *o)
{
	allocations_view_release(&o->view);
	inventory_release(&o->inventory);
}

/* ---- items */

static bool has_devices(const struct allocations *a, const struct device_block *block)
{
	CLEANUP(device_index_release) struct device_index held = {0};

	if (device_index_held(a, &held) < 0)
		return false;
	for (size_t i = 0; i < block->ids.n_items; i++)
		if (device_index_find(&held, block->resource, block->ids.items[i]))
			return false;
	return true;
}

static bool has_memory(const struct memory_state *state, const struct memory_block *block)
{
	uint64_t free = 0;

	for (size_t i = 0; i < state->n_nodes; i++) {
		const struct memory_table *table = hwloc_bitmap_isset(block->nodes, state->nodes[i].id)
							   ? memory_node_table(&state->nodes[i], block->type)
							   : NULL;

		free += table ? table->free : 0;
	}
	return free >= block->bytes;
}

bool node_outlook_has(const struct node_outlook *o, const struct allocation *item)
{
	const struct allocations *a = &o->view;

	if (!hwloc_bitmap_iszero(item->cpus) &&
		(!a->shared || !hwloc_bitmap_isincluded(item->cpus, a->shared)))
		return false;
	for (size_t i = 0; i < item->n_devices; i++)
		if (!has_devices(a, &item->devices[i]))
			return false;
	for (size_t i = 0; i < item->n_memory; i++)
		if (!has_memory(&a->memory, &item->memory[i]))
			return false;
	return true;
}

int node_outlook_add(struct node_outlook *o, const struct allocation *item)
{
	struct allocations *a = &o->view;
	struct allocation *slot = vec_push(&a->items, &a->n_items, &a->items_size, sizeof(*slot));
	uint64_t over = 0;
	int r = slot ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	*slot = *item;
	if (a->shared)
		r = hwloc_bitmap_andnot(a->shared, a->shared, item->cpus) < 0 ? -ENOMEM : 0;
	for (size_t i = 0; i < item->n_memory && r == 0; i++)
		r = memory_state_charge(&a->memory, &item->memory[i], &over);
	return r;
}

int node_outlook_finish(struct node_outlook *o)
{
	const struct node_state *s = &o->state;
	int r;

	allocations_sort(&o->view);
	r = model_inventory(
		&s->machine, &s->settings, &o->view, &s->claims, s->reserved.cpus, &o->inventory, NULL);
	o->state.allocations = o->view;
	o->state.inventory = o->inventory;
	return r;
}

/* ---- an item of a verdict */

static int take_cpus(const struct kubelet *k, const struct kubelet_verdict *v, hwloc_bitmap_t cpus)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t some = hwloc_bitmap_alloc();
	int r = some ? 0 : -ENOMEM;

	for (size_t i = 0; i < v->n_placements && r == 0; i++) {
		if (!v->placements[i].cpus)
			continue;
		r = cpu_set_to_bitmap(&k->topology, v->placements[i].cpus, some);
		if (r == 0 && hwloc_bitmap_or(cpus, cpus, some) < 0)
			r = -ENOMEM;
	}
	return r;
}

/* The node's devices that the workspace has taken and nobody had before. */
static int take_devices(const struct node_asker *asker, struct allocation *item)
{
	const struct device_inventory *inventory = &asker->known.devices;
	CLEANUP(device_index_release) struct device_index registered = {0};
	int r = device_index_registered(&asker->state->allocations, &registered);

	for (size_t k = 0; k < inventory->n_resources && r == 0; k++) {
		const struct device_resource *resource = &inventory->resources[k];
		size_t d = 0;

		for (size_t i = 0; i < registered.n_items && d < resource->n_devices && r == 0; i++) {
			const struct device_ref *ref = &registered.items[i];

			if (strcmp(ref->resource, resource->name) != 0)
				continue;
			if (!resource->devices[d].allocated &&
				kubelet_device_taken(&asker->kubelet, asker->ws, k, d))
				r = device_blocks_add(&item->devices, &item->n_devices, &item->devices_size,
					ref->resource, ref->nodes, ref->nodes_unknown, ref->id);
			d++;
		}
	}
	return r;
}

static int add_memory(struct allocation *item, const char *type, uint64_t bytes, uint64_t nodes)
{
	struct memory_block *block =
		vec_push(&item->memory, &item->n_memory, &item->memory_size, sizeof(*block));

	if (!block)
		return -ENOMEM;
	*block = (struct memory_block){.type = strdup(type), .bytes = bytes, .nodes = hwloc_bitmap_alloc()};
	if (!block->type || !block->nodes)
		return -ENOMEM;
	for (unsigned id = 0; id <= NODE_MASK_MAX_ID; id++)
		if (nodes >> id & 1 && hwloc_bitmap_set(block->nodes, id) < 0)
			return -ENOMEM;
	return 0;
}

static uint64_t amount_of(const struct container_request *c, const char *type)
{
	const struct resource_quantity *q = resource_list_find(&c->requests, type);

	return q && q->quantity.nano > 0 ? (uint64_t)(q->quantity.nano / QTY_UNIT) : 0;
}

/* What the containers behind the init container `at` have on the same NUMA nodes comes out of its memory. */
static uint64_t reused(
	const struct pod_request *pod, const struct kubelet_verdict *v, size_t at, const char *type)
{
	uint64_t most = 0, apps = 0;

	for (size_t i = at + 1; i < v->n_placements; i++) {
		const struct container_request *c = &pod->containers[i];

		if (v->placements[i].memory_nodes != v->placements[at].memory_nodes)
			continue;
		if (c->kind != CONTAINER_INIT)
			apps += amount_of(c, type);
		else if (amount_of(c, type) > most)
			most = amount_of(c, type);
	}
	return most > apps ? most : apps;
}

static int take_memory(
	const struct pod_request *pod, const struct kubelet_verdict *v, struct allocation *item)
{
	int r = 0;

	for (size_t i = 0; i < v->n_placements && r == 0; i++) {
		const struct container_request *c = &pod->containers[i];
		uint64_t nodes = v->placements[i].memory_nodes;

		for (size_t k = 0; nodes && k < c->requests.n_items && r == 0; k++) {
			const char *type = c->requests.items[k].name;
			uint64_t bytes, less;

			if (strcmp(type, "memory") != 0 && !resource_name_is_hugepages(type))
				continue;
			bytes = amount_of(c, type);
			less = c->kind == CONTAINER_INIT ? reused(pod, v, i, type) : 0;
			if (bytes > less)
				r = add_memory(item, type, bytes - less, nodes);
		}
	}
	return r;
}

int node_outlook_item(const struct node_asker *asker, const struct pod_request *pod,
	const struct kubelet_verdict *verdict, struct allocation *ret)
{
	CLEANUP(allocations_release) struct allocations own;
	struct allocation *item;
	int r;

	allocations_init(&own);
	item = allocations_add(&own);
	if (!item)
		return -ENOMEM;
	r = take_cpus(&asker->kubelet, verdict, item->cpus);
	if (r == 0)
		r = take_devices(asker, item);
	if (r == 0)
		r = take_memory(pod, verdict, item);
	if (r < 0)
		return r;
	*ret = *item;
	own.n_items = 0;
	return 0;
}
