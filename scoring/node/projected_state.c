/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/node/projected_state.h"

#include <stdlib.h>
#include <string.h>

#include "common/allocation.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/resource.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node/manager_state.h"
#include "scoring/node/node_derive.h"
#include "scoring/request.h"

void projected_state_init(struct projected_state *p, const struct node_state *state, const bool *excluded)
{
	*p = (struct projected_state){.state = *state};
	inventory_init(&p->inventory);
	allocations_view_without(&state->allocations, excluded, &p->state.allocations);
}

void projected_state_release(struct projected_state *p)
{
	allocations_view_release(&p->state.allocations);
	inventory_release(&p->inventory);
}

/* ---- what items hold */

static bool has_free_devices(const struct allocations *a, const struct device_block *block)
{
	CLEANUP(device_index_release) struct device_index held = {0};

	device_index_held(a, &held);
	for (size_t i = 0; i < block->ids.n_items; i++)
		if (device_index_find(&held, block->resource, block->ids.items[i]))
			return false;
	return true;
}

static bool has_free_memory(const struct memory_state *state, const struct memory_block *block)
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

bool projected_state_has_free(const struct projected_state *p, const struct allocation *item)
{
	const struct allocations *a = &p->state.allocations;

	if (!hwloc_bitmap_iszero(item->cpus) &&
		(!a->shared || !hwloc_bitmap_isincluded(item->cpus, a->shared)))
		return false;
	for (size_t i = 0; i < item->n_devices; i++)
		if (!has_free_devices(a, &item->devices[i]))
			return false;
	for (size_t i = 0; i < item->n_memory; i++)
		if (!has_free_memory(&a->memory, &item->memory[i]))
			return false;
	return true;
}

void projected_state_add(struct projected_state *p, const struct allocation *item)
{
	struct allocations *a = &p->state.allocations;
	struct allocation *slot = vec_push(&a->items, &a->n_items, &a->items_size, sizeof(*slot));

	*slot = *item;
	if (a->shared)
		cpuset_andnot(a->shared, a->shared, item->cpus);
	for (size_t i = 0; i < item->n_memory; i++)
		memory_state_charge(&a->memory, &item->memory[i]);
}

void projected_state_finish(struct projected_state *p)
{
	allocations_sort(&p->state.allocations);
	node_derive_inventory(&p->state, &p->inventory, NULL);
	p->state.inventory = p->inventory;
}

/* ---- what an admitted pod will hold */

static void add_placed_cpus(const struct kubelet *k, const struct kubelet_verdict *v, hwloc_bitmap_t cpus)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t some = cpuset_new();

	for (size_t i = 0; i < v->n_placements; i++) {
		if (!v->placements[i].cpus)
			continue;
		cpu_set_to_bitmap(&k->topology, v->placements[i].cpus, some);
		cpuset_or(cpus, cpus, some);
	}
}

/* The devices of the node that the verdict took and that nobody held before. The admission and the registered devices have the devices of
 * a resource in the same order. */
static void add_placed_devices(const struct node_admission *admission, struct allocation *item)
{
	const struct device_inventory *inventory = &admission->devices;
	CLEANUP(device_index_release) struct device_index registered = {0};

	device_index_registered(&admission->state->allocations, &registered);
	for (size_t k = 0; k < inventory->n_resources; k++) {
		const struct device_resource *resource = &inventory->resources[k];
		size_t position = 0; /* among the devices of the resource */

		for (size_t i = 0; i < registered.n_items && position < resource->n_devices; i++) {
			const struct device_ref *ref = &registered.items[i];

			if (strcmp(ref->block->resource, resource->name) != 0)
				continue;
			if (!resource->devices[position].allocated &&
				kubelet_device_taken(&admission->kubelet, admission->ws, k, position))
				device_blocks_add(&item->devices, &item->n_devices, &item->devices_size,
					ref->block->resource, ref->block->nodes, ref->block->nodes_unknown,
					ref->id);
			position++;
		}
	}
}

static void add_placed_block(struct allocation *item, const char *type, uint64_t bytes, uint64_t nodes)
{
	struct memory_block *block =
		vec_push(&item->memory, &item->n_memory, &item->memory_size, sizeof(*block));

	*block = (struct memory_block){.type = xstrdup(type), .bytes = bytes, .nodes = cpuset_new()};
	for (unsigned id = 0; id <= NODE_MASK_MAX_ID; id++)
		if (nodes >> id & 1)
			cpuset_set(block->nodes, id);
}

/* Memory of one type that a container gets. */
struct container_memory {
	uint64_t nodes, bytes;
	size_t container;
};

static int compare_memory_containers(const void *a, const void *b)
{
	const struct container_memory *x = a, *y = b;

	return (x->container > y->container) - (x->container < y->container);
}

static int compare_node_sets(const void *a, const void *b)
{
	const struct container_memory *x = a, *y = b;

	if (x->nodes != y->nodes)
		return x->nodes < y->nodes ? -1 : 1;
	return compare_memory_containers(a, b);
}

/*
 * Bytes that one set of NUMA nodes is charged for `n` containers, in their order. Later containers use the memory of an init container first,
 * so the loop goes from the last container to the first: an init container is charged only what the later containers do not hold anyway.
 */
static uint64_t count_charged(const struct pod_request *pod, const struct container_memory *shares, size_t n)
{
	uint64_t largest_init = 0, apps = 0, sum = 0; /* `largest_init` and `apps`: of the later containers */

	for (size_t i = n; i-- > 0;) {
		uint64_t held_later = largest_init > apps ? largest_init : apps, bytes = shares[i].bytes;

		if (pod->containers[shares[i].container].kind != CONTAINER_INIT) {
			apps += bytes;
			sum += bytes;
			continue;
		}
		largest_init = bytes > largest_init ? bytes : largest_init;
		sum += bytes > held_later ? bytes - held_later : 0;
	}
	return sum;
}

/* One type of memory: a block per set of NUMA nodes, in the order of the containers. `entries`: the pod's `n` requests of this type.
 * `shares` has space for `n` items: first one per container, then in their place one per set of NUMA nodes. */
static void add_memory_type(const struct pod_request *pod, const struct kubelet_verdict *v,
	const struct request_entry *entries, size_t n, struct container_memory *shares,
	struct allocation *item)
{
	size_t n_shares = 0, n_sets = 0;

	for (size_t i = 0; i < n; i++) {
		size_t container = entries[i].container;
		uint64_t nodes = container < v->n_placements ? v->placements[container].memory_nodes : 0;
		qty_t amount = entries[i].item->quantity.nano;

		if (nodes && amount > 0)
			shares[n_shares++] =
				(struct container_memory){nodes, (uint64_t)(amount / QTY_UNIT), container};
	}
	if (n_shares > 1)
		qsort(shares, n_shares, sizeof(*shares), compare_node_sets);
	for (size_t i = 0, end; i < n_shares; i = end) {
		for (end = i + 1; end < n_shares && shares[end].nodes == shares[i].nodes;)
			end++;
		shares[n_sets++] = (struct container_memory){
			shares[i].nodes, count_charged(pod, shares + i, end - i), shares[i].container};
	}
	if (n_sets > 1)
		qsort(shares, n_sets, sizeof(*shares), compare_memory_containers);
	for (size_t i = 0; i < n_sets; i++)
		if (shares[i].bytes > 0)
			add_placed_block(item, entries[0].item->name, shares[i].bytes, shares[i].nodes);
}

static void add_placed_memory(
	const struct pod_request *pod, const struct kubelet_verdict *v, struct allocation *item)
{
	CLEANUP(request_entries_release) struct request_entries e = {0};
	CLEANUP(freep) struct container_memory *shares = NULL;

	request_entries_fill(&e, pod);
	shares = xcalloc(e.n_items + 1, sizeof(*shares));
	for (size_t i = 0, end; i < e.n_items; i = end) {
		const char *type = e.items[i].item->name;

		end = request_entries_end(&e, i);
		if (!strcmp(type, "memory") || resource_name_is_hugepages(type))
			add_memory_type(pod, v, e.items + i, end - i, shares, item);
	}
}

void admission_placed_item(const struct node_admission *admission, const struct pod_request *pod,
	const struct kubelet_verdict *verdict, struct allocation *ret)
{
	CLEANUP(allocations_release) struct allocations own; /* a list of one, which initializes the item */
	struct allocation *item;

	allocations_init(&own);
	item = allocations_add(&own);
	add_placed_cpus(&admission->kubelet, verdict, item->cpus);
	add_placed_devices(admission, item);
	add_placed_memory(pod, verdict, item);
	*ret = *item;
	own.n_items = 0; /* the item has moved */
}

/* ---- the empty node */

/* The CPU manager's default set of a kubelet without a state file (policy_static.go, validateState). */
static int set_initial_shared(struct node_state *node, struct err *err)
{
	CLEANUP(reserved_cpus_release) struct reserved_cpus reserved = {0};
	int r = node_derive_reserved_cpus(node, &reserved, err);

	if (r < 0)
		return r;
	hwloc_bitmap_free(node->allocations.shared);
	node->allocations.shared = machine_counted_cpus(&node->machine);
	if (node->settings.cpu_options.strict_cpu_reservation && reserved.cpus)
		cpuset_andnot(node->allocations.shared, node->allocations.shared, reserved.cpus);
	return 0;
}

/* Adds a block of the type's allocatable bytes on one NUMA node: `total` minus reservedMemory. */
static void add_allocatable(
	struct allocation *blocks, const struct settings *s, unsigned node, const char *type, uint64_t total)
{
	uint64_t reserved = node_derive_reserved_memory(s, node, type);
	struct memory_block *block =
		vec_push(&blocks->memory, &blocks->n_memory, &blocks->memory_size, sizeof(*block));

	block->type = xstrdup(type);
	block->nodes = cpuset_new();
	block->bytes = total > reserved ? total - reserved : 0;
	cpuset_only(block->nodes, node);
}

/*
 * Adds the node's allocatable memory and hugepages at the kubelet's first start. `blocks` is an allocation only because that type has a
 * list of memory blocks.
 */
static void add_allocatable_of_node(
	struct allocation *blocks, const struct settings *s, const struct numa_node *node)
{
	uint64_t hugepage_bytes = 0;

	for (size_t i = 0; i < node->n_pools; i++) {
		uint64_t bytes = node->pools[i].page_bytes * node->pools[i].pages;
		char type[RESOURCE_NAME_HUGEPAGES_SIZE];

		resource_name_of_hugepages(node->pools[i].page_bytes, type);
		hugepage_bytes += bytes;
		add_allocatable(blocks, s, node->id, type, bytes);
	}
	add_allocatable(blocks, s, node->id, "memory",
		node->memory_bytes > hugepage_bytes ? node->memory_bytes - hugepage_bytes : 0);
}

static void set_initial_memory(struct node_state *node)
{
	CLEANUP(allocation_release) struct allocation blocks = {0};

	if (node->settings.memory_manager != MEMORY_MANAGER_STATIC)
		return;
	for (size_t i = 0; i < node->machine.n_nodes; i++)
		add_allocatable_of_node(&blocks, &node->settings, &node->machine.nodes[i]);
	memory_state_from_blocks(&node->machine, blocks.memory, blocks.n_memory, &node->allocations,
		&node->allocations.memory);
	node->allocations.memory_known = true;
}

int projected_state_empty(struct node_state *node, struct err *err)
{
	struct allocations before = node->allocations, *now = &node->allocations;
	int r;

	/* Only the registered devices move to the new, empty allocations. */
	allocations_init(now);
	now->registered = before.registered;
	now->n_registered = before.n_registered;
	now->registered_size = before.registered_size;
	now->registered_known = before.registered_known;
	now->cpus_known = true;
	now->devices_known = before.registered_known;
	before.registered = NULL;
	before.n_registered = before.registered_size = 0;
	allocations_release(&before);
	claims_release(&node->claims);
	r = set_initial_shared(node, err);
	if (r < 0)
		return r;
	set_initial_memory(node);
	return 0;
}

int projected_state_remove_files(struct node_state *node, bool cpus, bool memory, struct err *err)
{
	struct allocations *a = &node->allocations;

	if (memory) {
		for (size_t i = 0; i < a->n_items; i++) {
			memory_blocks_free(a->items[i].memory, a->items[i].n_memory);
			a->items[i].memory = NULL;
			a->items[i].n_memory = a->items[i].memory_size = 0;
		}
		memory_state_release(&a->memory);
		memory_state_init(&a->memory);
		a->memory_known = false;
		set_initial_memory(node);
	}
	if (!cpus)
		return 0;
	for (size_t i = 0; i < a->n_items; i++)
		hwloc_bitmap_zero(a->items[i].cpus);
	a->cpus_known = true;
	return set_initial_shared(node, err);
}
