/* SPDX-License-Identifier: Apache-2.0 */
#include "common/device_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/vec.h"

void device_index_release(struct device_index *index)
{
	free(index->items);
	*index = (struct device_index){0};
}

static int by_name(const void *va, const void *vb)
{
	const struct device_ref *a = va, *b = vb;
	int r = strcmp(a->resource, b->resource);

	return r ? r : strcmp(a->id, b->id);
}

static void add_blocks(struct device_index *index, const struct device_block *blocks, size_t n)
{
	for (size_t b = 0; b < n; b++)
		for (size_t i = 0; i < blocks[b].ids.n_items; i++) {
			struct device_ref *ref =
				vec_push(&index->items, &index->n_items, &index->items_size, sizeof(*ref));

			*ref = (struct device_ref){blocks[b].resource, blocks[b].ids.items[i],
				blocks[b].nodes, blocks[b].nodes_unknown};
		}
}

static void sort(struct device_index *index)
{
	if (index->n_items > 1)
		qsort(index->items, index->n_items, sizeof(*index->items), by_name);
}

static void sort_unique(struct device_index *index)
{
	size_t kept = 0;

	sort(index);
	for (size_t i = 0; i < index->n_items; i++)
		if (kept == 0 || by_name(&index->items[kept - 1], &index->items[i]) != 0)
			index->items[kept++] = index->items[i];
	index->n_items = kept;
}

void device_index_held(const struct allocations *a, struct device_index *ret)
{
	CLEANUP(device_index_release) struct device_index index = {0};

	for (size_t i = 0; i < a->n_items; i++)
		add_blocks(&index, a->items[i].devices, a->items[i].n_devices);
	sort_unique(&index);
	*ret = index;
	index = (struct device_index){0};
}

void device_index_registered(const struct allocations *a, struct device_index *ret)
{
	CLEANUP(device_index_release) struct device_index index = {0};

	add_blocks(&index, a->registered, a->n_registered);
	sort_unique(&index);
	*ret = index;
	index = (struct device_index){0};
}

/* The blocks of sorted devices in which one may come several times. */
static void unite(const struct device_index *index, struct device_block **blocks, size_t *n, size_t *size)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = cpuset_new();

	for (size_t i = 0; i < index->n_items; i++) {
		const struct device_ref *d = &index->items[i];

		cpuset_or(nodes, nodes, d->nodes);
		if (i + 1 < index->n_items && by_name(d, &d[1]) == 0)
			continue;
		device_blocks_add(blocks, n, size, d->resource, nodes, d->nodes_unknown, d->id);
		hwloc_bitmap_zero(nodes);
	}
}

void device_blocks_unite(struct device_block **blocks, size_t *n_blocks, size_t *blocks_size)
{
	CLEANUP(device_index_release) struct device_index index = {0};
	struct device_block *united = NULL;
	size_t n = 0, size = 0;

	add_blocks(&index, *blocks, *n_blocks);
	sort(&index);
	unite(&index, &united, &n, &size);
	device_blocks_free(*blocks, *n_blocks);
	*blocks = united;
	*n_blocks = n;
	*blocks_size = size;
}

size_t device_index_run(const struct device_index *index, const char *resource, size_t *ret_end)
{
	size_t lo = 0, hi = index->n_items, end;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (strcmp(index->items[mid].resource, resource) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (end = lo; end < index->n_items && !strcmp(index->items[end].resource, resource);)
		end++;
	*ret_end = end;
	return lo;
}

const struct device_ref *device_index_find(
	const struct device_index *index, const char *resource, const char *id)
{
	const struct device_ref key = {.resource = resource, .id = id};

	return index->n_items > 0
		       ? bsearch(&key, index->items, index->n_items, sizeof(*index->items), by_name)
		       : NULL;
}
