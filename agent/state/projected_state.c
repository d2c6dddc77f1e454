/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/projected_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/state/give_back.h"
#include "agent/state/inventory_build.h"
#include "agent/state/memory_blocks.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/device_index.h"
#include "common/resource_name.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/request.h"

void projected_state_init(struct projected_state *o, const struct node_state *state, const bool *gone)
{
	*o = (struct projected_state){.state = *state};
	inventory_init(&o->inventory);
	allocations_init(&o->view);
	allocations_view_without(&state->allocations, gone, &o->view);
}

void projected_state_release(struct projected_state *o)
{
	allocations_view_release(&o->view);
	inventory_release(&o->inventory);
}

/* ---- items */

static bool has_devices(const struct allocations *a, const struct device_block *block)
{
	CLEANUP(device_index_release) struct device_index held = {0};

	device_index_held(a, &held);
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

bool projected_state_has_free(const struct projected_state *o, const struct allocation *item)
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

void projected_state_add(struct projected_state *o, const struct allocation *item)
{
	struct allocations *a = &o->view;
	struct allocation *slot = vec_push(&a->items, &a->n_items, &a->items_size, sizeof(*slot));
	uint64_t over = 0;

	*slot = *item;
	if (a->shared)
		cpuset_andnot(a->shared, a->shared, item->cpus);
	for (size_t i = 0; i < item->n_memory; i++)
		memory_state_charge(&a->memory, &item->memory[i], &over);
}

void projected_state_finish(struct projected_state *o)
{
	const struct node_state *s = &o->state;

	allocations_sort(&o->view);
	inventory_build(
		&s->machine, &s->settings, &o->view, &s->claims, s->reserved.cpus, &o->inventory, NULL);
	o->state.allocations = o->view;
	o->state.inventory = o->inventory;
}

/* ---- an item of a verdict */

static void take_cpus(const struct kubelet *k, const struct kubelet_verdict *v, hwloc_bitmap_t cpus)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t some = cpuset_new();

	for (size_t i = 0; i < v->n_placements; i++) {
		if (!v->placements[i].cpus)
			continue;
		cpu_set_to_bitmap(&k->topology, v->placements[i].cpus, some);
		cpuset_or(cpus, cpus, some);
	}
}

/* The node's devices that the workspace has taken and nobody had before. */
static void take_devices(const struct node_admission *admission, struct allocation *item)
{
	const struct device_inventory *inventory = &admission->known.devices;
	CLEANUP(device_index_release) struct device_index registered = {0};

	device_index_registered(&admission->state->allocations, &registered);
	for (size_t k = 0; k < inventory->n_resources; k++) {
		const struct device_resource *resource = &inventory->resources[k];
		size_t d = 0;

		for (size_t i = 0; i < registered.n_items && d < resource->n_devices; i++) {
			const struct device_ref *ref = &registered.items[i];

			if (strcmp(ref->resource, resource->name) != 0)
				continue;
			if (!resource->devices[d].allocated &&
				kubelet_device_taken(&admission->kubelet, admission->ws, k, d))
				device_blocks_add(&item->devices, &item->n_devices, &item->devices_size,
					ref->resource, ref->nodes, ref->nodes_unknown, ref->id);
			d++;
		}
	}
}

static void add_memory(struct allocation *item, const char *type, uint64_t bytes, uint64_t nodes)
{
	struct memory_block *block =
		vec_push(&item->memory, &item->n_memory, &item->memory_size, sizeof(*block));

	*block = (struct memory_block){.type = xstrdup(type), .bytes = bytes, .nodes = cpuset_new()};
	for (unsigned id = 0; id <= NODE_MASK_MAX_ID; id++)
		if (nodes >> id & 1)
			cpuset_set(block->nodes, id);
}

/* Memory of one type that a container was given. */
struct given {
	uint64_t nodes, bytes;
	size_t container;
};

static int by_container(const void *a, const void *b)
{
	const struct given *x = a, *y = b;

	return (x->container > y->container) - (x->container < y->container);
}

static int by_nodes(const void *a, const void *b)
{
	const struct given *x = a, *y = b;

	if (x->nodes != y->nodes)
		return x->nodes < y->nodes ? -1 : 1;
	return by_container(a, b);
}

/*
 * What is charged to one set of NUMA nodes: what the containers behind an init container have there comes out of the
 * memory of that.
 */
static uint64_t charged(const struct pod_request *pod, const struct given *given, size_t n)
{
	uint64_t most = 0, apps = 0, sum = 0;

	for (size_t i = n; i-- > 0;) {
		uint64_t less = most > apps ? most : apps, bytes = given[i].bytes;

		if (pod->containers[given[i].container].kind != CONTAINER_INIT) {
			apps += bytes;
			sum += bytes;
			continue;
		}
		most = bytes > most ? bytes : most;
		sum += bytes > less ? bytes - less : 0;
	}
	return sum;
}

/* One type of memory: a block for each set of NUMA nodes, in the order in which the containers were given them. */
static void take_type(const struct pod_request *pod, const struct kubelet_verdict *v,
	const struct request_entry *entries, size_t n, struct given *given, struct allocation *item)
{
	size_t n_given = 0, n_sets = 0;

	for (size_t i = 0; i < n; i++) {
		size_t container = entries[i].container;
		uint64_t nodes = container < v->n_placements ? v->placements[container].memory_nodes : 0;
		qty_t amount = entries[i].item->quantity.nano;

		if (nodes && amount > 0)
			given[n_given++] = (struct given){nodes, (uint64_t)(amount / QTY_UNIT), container};
	}
	if (n_given > 1)
		qsort(given, n_given, sizeof(*given), by_nodes);
	for (size_t i = 0, end; i < n_given; i = end) {
		for (end = i + 1; end < n_given && given[end].nodes == given[i].nodes;)
			end++;
		given[n_sets++] =
			(struct given){given[i].nodes, charged(pod, given + i, end - i), given[i].container};
	}
	if (n_sets > 1)
		qsort(given, n_sets, sizeof(*given), by_container);
	for (size_t i = 0; i < n_sets; i++)
		if (given[i].bytes > 0)
			add_memory(item, entries[0].item->name, given[i].bytes, given[i].nodes);
}

static void take_memory(
	const struct pod_request *pod, const struct kubelet_verdict *v, struct allocation *item)
{
	CLEANUP(request_entries_release) struct request_entries e = {0};
	CLEANUP(freep) struct given *given = NULL;

	request_entries_fill(&e, pod);
	given = xcalloc(e.n_items + 1, sizeof(*given));
	for (size_t i = 0, end; i < e.n_items; i = end) {
		const char *type = e.items[i].item->name;

		end = request_entries_end(&e, i);
		if (!strcmp(type, "memory") || resource_name_is_hugepages(type))
			take_type(pod, v, e.items + i, end - i, given, item);
	}
}

void projected_state_item(const struct node_admission *admission, const struct pod_request *pod,
	const struct kubelet_verdict *verdict, struct allocation *ret)
{
	CLEANUP(allocations_release) struct allocations own;
	struct allocation *item;

	allocations_init(&own);
	item = allocations_add(&own);
	take_cpus(&admission->kubelet, verdict, item->cpus);
	take_devices(admission, item);
	take_memory(pod, verdict, item);
	*ret = *item;
	own.n_items = 0;
}
