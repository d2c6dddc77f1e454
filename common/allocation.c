/* SPDX-License-Identifier: Apache-2.0 */
#include "common/allocation.h"

#include <stdlib.h>
#include <string.h>

#include "common/vec.h"

void allocations_init(struct allocations *a)
{
	memset(a, 0, sizeof(*a));
}

static void memory_block_release(struct memory_block *b)
{
	free(b->type);
	hwloc_bitmap_free(b->nodes);
}

static void device_block_release(struct device_block *b)
{
	for (size_t i = 0; i < b->n_ids; i++)
		free(b->ids[i]);
	free(b->ids);
	free(b->resource);
	hwloc_bitmap_free(b->nodes);
}

static void allocation_release(struct allocation *a)
{
	free(a->pod_uid);
	free(a->namespace);
	free(a->pod);
	free(a->container);
	hwloc_bitmap_free(a->cpus);
	for (size_t i = 0; i < a->n_memory; i++)
		memory_block_release(&a->memory[i]);
	free(a->memory);
	for (size_t i = 0; i < a->n_devices; i++)
		device_block_release(&a->devices[i]);
	free(a->devices);
}

void allocations_release(struct allocations *a)
{
	for (size_t i = 0; i < a->n_items; i++)
		allocation_release(&a->items[i]);
	free(a->items);
	hwloc_bitmap_free(a->shared);
	memory_state_release(&a->memory);
	allocations_init(a);
}

struct allocation *allocations_add(struct allocations *a)
{
	struct allocation *item;

	if (vec_grow(&a->items, &a->items_size, a->n_items + 1, sizeof(*a->items)) < 0)
		return NULL;
	item = &a->items[a->n_items];
	*item = (struct allocation){
		.pod_uid = strdup(""),
		.namespace = strdup(""),
		.pod = strdup(""),
		.container = strdup(""),
		.cpus = hwloc_bitmap_alloc(),
	};
	if (!item->pod_uid || !item->namespace || !item->pod || !item->container || !item->cpus) {
		allocation_release(item);
		memset(item, 0, sizeof(*item));
		return NULL;
	}
	a->n_items++;
	return item;
}

static int allocation_cmp(const void *va, const void *vb)
{
	const struct allocation *a = va, *b = vb;
	int r = strcmp(a->pod_uid, b->pod_uid);

	if (r == 0)
		r = strcmp(a->namespace, b->namespace);
	if (r == 0)
		r = strcmp(a->pod, b->pod);
	return r != 0 ? r : strcmp(a->container, b->container);
}

void allocations_sort(struct allocations *a)
{
	if (a->n_items > 1)
		qsort(a->items, a->n_items, sizeof(*a->items), allocation_cmp);
}
