/* SPDX-License-Identifier: Apache-2.0 */
#include "common/allocation.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

/* ---- the memory manager's state */

void memory_state_init(struct memory_state *s)
{
	memset(s, 0, sizeof(*s));
}

void memory_state_release(struct memory_state *s)
{
	for (size_t i = 0; i < s->n_nodes; i++) {
		struct memory_node *node = &s->nodes[i];

		for (size_t t = 0; t < node->n_tables; t++)
			free(node->tables[t].type);
		free(node->tables);
		hwloc_bitmap_free(node->cells);
	}
	free(s->nodes);
	memory_state_init(s);
}

struct memory_node *memory_state_node(const struct memory_state *s, unsigned id)
{
	for (size_t i = 0; i < s->n_nodes; i++)
		if (s->nodes[i].id == id)
			return &s->nodes[i];
	return NULL;
}

struct memory_table *memory_node_table(const struct memory_node *node, const char *type)
{
	for (size_t i = 0; node && i < node->n_tables; i++)
		if (!strcmp(node->tables[i].type, type))
			return &node->tables[i];
	return NULL;
}

bool memory_table_wrapped(const struct memory_table *table)
{
	return table->allocatable > table->total;
}

void memory_state_types(const struct memory_state *s, struct strv *ret)
{
	for (size_t i = 0; i < s->n_nodes; i++)
		for (size_t t = 0; t < s->nodes[i].n_tables; t++)
			strv_push_new(ret, s->nodes[i].tables[t].type);
}

uint64_t memory_state_reserved(const struct memory_state *s, const char *type)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->n_nodes; i++) {
		const struct memory_table *t = memory_node_table(&s->nodes[i], type);

		sum += t ? t->reserved : 0;
	}
	return sum;
}

/* ---- allocations */

void allocations_init(struct allocations *a)
{
	memset(a, 0, sizeof(*a));
}

void memory_blocks_free(struct memory_block *blocks, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(blocks[i].type);
		hwloc_bitmap_free(blocks[i].nodes);
	}
	free(blocks);
}

void device_blocks_free(struct device_block *blocks, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		strv_release(&blocks[i].ids);
		free(blocks[i].resource);
		hwloc_bitmap_free(blocks[i].nodes);
	}
	free(blocks);
}

void device_blocks_take(struct device_block **blocks, size_t *n_blocks, size_t *blocks_size,
	const char *resource, hwloc_const_bitmap_t nodes, bool nodes_unknown, char *id)
{
	struct device_block *block = NULL;

	/* From the end: sources list the devices of a block one after the other. */
	for (size_t i = *n_blocks; i > 0 && !block; i--) {
		struct device_block *b = &(*blocks)[i - 1];

		if (b->nodes_unknown == nodes_unknown && !strcmp(b->resource, resource) &&
			hwloc_bitmap_isequal(b->nodes, nodes))
			block = b;
	}
	if (!block) {
		block = vec_push(blocks, n_blocks, blocks_size, sizeof(*block));
		*block = (struct device_block){.resource = xstrdup(resource),
			.nodes = cpuset_dup(nodes),
			.nodes_unknown = nodes_unknown};
	}
	strv_take(&block->ids, id);
}

void device_blocks_add(struct device_block **blocks, size_t *n_blocks, size_t *blocks_size,
	const char *resource, hwloc_const_bitmap_t nodes, bool nodes_unknown, const char *id)
{
	device_blocks_take(blocks, n_blocks, blocks_size, resource, nodes, nodes_unknown, xstrdup(id));
}

void allocation_release(struct allocation *a)
{
	free(a->pod_uid);
	free(a->namespace);
	free(a->pod);
	free(a->container);
	hwloc_bitmap_free(a->cpus);
	memory_blocks_free(a->memory, a->n_memory);
	device_blocks_free(a->devices, a->n_devices);
}

void allocations_release(struct allocations *a)
{
	for (size_t i = 0; i < a->n_items; i++)
		allocation_release(&a->items[i]);
	free(a->items);
	hwloc_bitmap_free(a->shared);
	memory_state_release(&a->memory);
	device_blocks_free(a->registered, a->n_registered);
	allocations_init(a);
}

struct allocation *allocations_add(struct allocations *a)
{
	struct allocation *item = vec_push(&a->items, &a->n_items, &a->items_size, sizeof(*item));

	item->pod_uid = xstrdup("");
	item->namespace = xstrdup("");
	item->pod = xstrdup("");
	item->container = xstrdup("");
	item->cpus = cpuset_new();
	return item;
}

struct allocation *allocations_add_container(
	struct allocations *a, const char *pod_uid, const char *container)
{
	struct allocation *item = allocations_add(a);

	text_set(&item->pod_uid, pod_uid);
	text_set(&item->container, container);
	return item;
}

void allocations_remove(struct allocations *a, size_t at)
{
	allocation_release(&a->items[at]);
	a->n_items--;
	memmove(&a->items[at], &a->items[at + 1], (a->n_items - at) * sizeof(*a->items));
}

static int allocation_cmp(const void *va, const void *vb)
{
	const struct allocation *a = va, *b = vb;
	int r = strcmp(a->pod_uid, b->pod_uid);

	if (r != 0)
		return r;
	r = strcmp(a->namespace, b->namespace);
	if (r != 0)
		return r;
	r = strcmp(a->pod, b->pod);
	return r != 0 ? r : strcmp(a->container, b->container);
}

bool allocation_is_empty(const struct allocation *item)
{
	return hwloc_bitmap_iszero(item->cpus) && item->n_memory == 0 && item->n_devices == 0;
}

bool allocations_hold_cpus_or_memory(const struct allocation *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (items[i].n_memory > 0 || !hwloc_bitmap_iszero(items[i].cpus))
			return true;
	return false;
}

bool allocation_same_pod(const struct allocation *a, const struct allocation *b)
{
	return !strcmp(a->pod_uid, b->pod_uid) && !strcmp(a->namespace, b->namespace) &&
	       !strcmp(a->pod, b->pod);
}

void allocations_sort(struct allocations *a)
{
	if (a->n_items > 1)
		qsort(a->items, a->n_items, sizeof(*a->items), allocation_cmp);
}

/* Moves the resources of `from` to `to`, both of one container. The caller then releases `from`. */
static void move_resources(struct allocation *to, struct allocation *from)
{
	vec_grow(&to->memory, &to->memory_size, to->n_memory + from->n_memory, sizeof(*to->memory));
	vec_grow(&to->devices, &to->devices_size, to->n_devices + from->n_devices, sizeof(*to->devices));
	cpuset_or(to->cpus, to->cpus, from->cpus);
	for (size_t i = 0; i < from->n_memory; i++)
		to->memory[to->n_memory++] = from->memory[i];
	for (size_t i = 0; i < from->n_devices; i++)
		to->devices[to->n_devices++] = from->devices[i];
	from->n_memory = from->n_devices = 0;
	to->unlisted = to->unlisted && from->unlisted;
}

void allocations_merge(struct allocations *a, struct allocations *from)
{
	size_t kept = 0;

	vec_grow(&a->items, &a->items_size, a->n_items + from->n_items, sizeof(*a->items));
	for (size_t i = 0; i < from->n_items; i++)
		a->items[a->n_items++] = from->items[i];
	from->n_items = 0;
	allocations_sort(a);
	for (size_t i = 0; i < a->n_items; i++) {
		struct allocation *last = kept > 0 ? &a->items[kept - 1] : NULL;

		if (last && allocation_cmp(last, &a->items[i]) == 0) {
			move_resources(last, &a->items[i]);
			allocation_release(&a->items[i]);
			continue;
		}
		a->items[kept++] = a->items[i];
	}
	a->n_items = kept;
}

const struct memory_node *allocations_memory_node(const struct allocations *a, unsigned id)
{
	return a->memory_known ? memory_state_node(&a->memory, id) : NULL;
}

hwloc_bitmap_t allocations_exclusive_cpus(const struct allocations *a)
{
	hwloc_bitmap_t set = cpuset_new();

	for (size_t i = 0; i < a->n_items; i++)
		cpuset_or(set, set, a->items[i].cpus);
	return set;
}

/* ---- pods */

void pod_refs_free(struct pod_ref *pods, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(pods[i].namespace);
		free(pods[i].name);
	}
	free(pods);
}

/* ---- device index */

void device_index_release(struct device_index *index)
{
	free(index->items);
	*index = (struct device_index){0};
}

static int device_cmp(const void *va, const void *vb)
{
	const struct device_ref *a = va, *b = vb;
	int r = strcmp(a->block->resource, b->block->resource);

	return r ? r : strcmp(a->id, b->id);
}

static void index_blocks(struct device_index *index, const struct device_block *blocks, size_t n)
{
	size_t n_devices = index->n_items;

	for (size_t b = 0; b < n; b++)
		n_devices += blocks[b].ids.n_items;
	vec_grow(&index->items, &index->items_size, n_devices, sizeof(*index->items));
	for (size_t b = 0; b < n; b++)
		for (size_t i = 0; i < blocks[b].ids.n_items; i++) {
			struct device_ref *ref =
				vec_push(&index->items, &index->n_items, &index->items_size, sizeof(*ref));

			*ref = (struct device_ref){&blocks[b], blocks[b].ids.items[i]};
		}
}

static void sort_devices(struct device_index *index)
{
	if (index->n_items > 1)
		qsort(index->items, index->n_items, sizeof(*index->items), device_cmp);
}

void device_index_sort(struct device_index *index)
{
	size_t kept = 0;

	sort_devices(index);
	for (size_t i = 0; i < index->n_items; i++)
		if (kept == 0 || device_cmp(&index->items[kept - 1], &index->items[i]) != 0)
			index->items[kept++] = index->items[i];
	index->n_items = kept;
}

void device_index_add(struct device_index *index, const struct allocation *item)
{
	index_blocks(index, item->devices, item->n_devices);
}

void device_index_held(const struct allocations *a, struct device_index *ret)
{
	*ret = (struct device_index){0};
	for (size_t i = 0; i < a->n_items; i++)
		device_index_add(ret, &a->items[i]);
	device_index_sort(ret);
}

void device_index_registered(const struct allocations *a, struct device_index *ret)
{
	*ret = (struct device_index){0};
	index_blocks(ret, a->registered, a->n_registered);
	device_index_sort(ret);
}

/* Make blocks of sorted devices. Entries of the same device become one device with the NUMA nodes of all its entries. */
static void make_blocks(
	const struct device_index *index, struct device_block **blocks, size_t *n, size_t *size)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = cpuset_new();

	for (size_t i = 0; i < index->n_items; i++) {
		const struct device_ref *d = &index->items[i];

		cpuset_or(nodes, nodes, d->block->nodes);
		if (i + 1 < index->n_items && device_cmp(d, &d[1]) == 0)
			continue;
		device_blocks_add(blocks, n, size, d->block->resource, nodes, d->block->nodes_unknown, d->id);
		hwloc_bitmap_zero(nodes);
	}
}

static int device_block_cmp(const void *va, const void *vb)
{
	const struct device_block *a = va, *b = vb;
	int r = strcmp(a->resource, b->resource);

	return r ? r : strcmp(a->ids.items[0], b->ids.items[0]);
}

static bool has_repeated_devices(const struct device_index *sorted)
{
	for (size_t i = 1; i < sorted->n_items; i++)
		if (device_cmp(&sorted->items[i - 1], &sorted->items[i]) == 0)
			return true;
	return false;
}

void device_blocks_merge(struct device_block **blocks, size_t *n_blocks, size_t *blocks_size)
{
	CLEANUP(device_index_release) struct device_index index = {0};
	struct device_block *merged = NULL;
	size_t n = 0, size = 0;

	index_blocks(&index, *blocks, *n_blocks);
	sort_devices(&index);
	if (!has_repeated_devices(&index)) {
		/* Every block stays as it is: sorting gives the same result without a copy of every id. */
		for (size_t i = 0; i < *n_blocks; i++)
			strv_sort(&(*blocks)[i].ids);
		if (*n_blocks > 1)
			qsort(*blocks, *n_blocks, sizeof(**blocks), device_block_cmp);
		return;
	}
	make_blocks(&index, &merged, &n, &size);
	device_blocks_free(*blocks, *n_blocks);
	*blocks = merged;
	*n_blocks = n;
	*blocks_size = size;
}

/* The position of the device, or if the index does not have the device, of the next one in the index's order. */
static size_t find_position(const struct device_index *index, const char *resource, const char *id)
{
	size_t lo = 0, hi = index->n_items;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct device_ref *ref = &index->items[mid];
		int r = strcmp(ref->block->resource, resource);

		if (r < 0 || (r == 0 && strcmp(ref->id, id) < 0))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

size_t device_index_range(const struct device_index *index, const char *resource, size_t *ret_end)
{
	size_t first = find_position(index, resource, ""), end = first;

	while (end < index->n_items && !strcmp(index->items[end].block->resource, resource))
		end++;
	*ret_end = end;
	return first;
}

const struct device_ref *device_index_find(
	const struct device_index *index, const char *resource, const char *id)
{
	size_t at = find_position(index, resource, id);
	const struct device_ref *ref = at < index->n_items ? &index->items[at] : NULL;

	return ref && !strcmp(ref->block->resource, resource) && !strcmp(ref->id, id) ? ref : NULL;
}
