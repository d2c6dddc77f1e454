/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/allocations_merge.h"

#include <errno.h>

#include "agent/model.h"
#include "common/cleanup.h"
#include "common/device_index.h"
#include "common/text.h"

/* Of what both tell of one container one device in common is proof enough: pods share none. */
static bool share_a_device(const struct allocation *a, const struct allocation *b)
{
	for (size_t i = 0; i < a->n_devices; i++)
		for (size_t k = 0; k < b->n_devices; k++)
			for (size_t x = 0; x < b->devices[k].n_ids && a->devices[i].n_ids > 0; x++)
				if (!strcmp(a->devices[i].resource, b->devices[k].resource) &&
					!strcmp(a->devices[i].ids[0], b->devices[k].ids[x]))
					return true;
	return false;
}

/* CPUs and devices are held by one pod only. */
static bool same_container(const struct allocation *api, const struct allocation *file)
{
	if (strcmp(api->container, file->container) != 0)
		return false;
	if (!hwloc_bitmap_iszero(api->cpus))
		return hwloc_bitmap_isequal(api->cpus, file->cpus);
	return share_a_device(api, file);
}

static bool same_pod(const struct allocation *a, const struct allocation *b)
{
	return !strcmp(a->namespace, b->namespace) && !strcmp(a->pod, b->pod);
}

static int set_uid(struct allocations *api, const struct allocation *of, const char *uid)
{
	int r = 0;

	for (size_t i = 0; i < api->n_items && r == 0; i++)
		if (same_pod(&api->items[i], of) && !*api->items[i].pod_uid)
			r = text_set(&api->items[i].pod_uid, uid);
	return r;
}

static int find_uids(struct allocations *api, const struct allocations *files)
{
	int r = 0;

	for (size_t i = 0; i < api->n_items; i++)
		for (size_t f = 0; f < files->n_items && r == 0 && !*api->items[i].pod_uid; f++)
			if (same_container(&api->items[i], &files->items[f]))
				r = set_uid(api, &api->items[i], files->items[f].pod_uid);
	return r;
}

static const struct allocation *pod_with(const struct allocations *api, const char *uid)
{
	for (size_t i = 0; i < api->n_items && *uid; i++)
		if (!strcmp(api->items[i].pod_uid, uid))
			return &api->items[i];
	return NULL;
}

static int copy_devices(const struct allocation *from, const struct device_index *but, struct allocation *to)
{
	int r = 0;

	for (size_t b = 0; b < from->n_devices; b++) {
		const struct device_block *block = &from->devices[b];

		for (size_t i = 0; i < block->n_ids && r == 0; i++)
			if (!device_index_find(but, block->resource, block->ids[i]))
				r = device_blocks_add(&to->devices, &to->n_devices, &to->devices_size,
					block->resource, block->nodes, block->nodes_unknown, block->ids[i]);
	}
	return r;
}

/* What the API does not list of one container. */
static int add_rest(const struct allocations *api, hwloc_const_bitmap_t cpus,
	const struct device_index *devices, const struct allocation *file, struct allocations *rest)
{
	struct allocation *item = allocations_add_container(rest, file->pod_uid, file->container);
	const struct allocation *pod = pod_with(api, file->pod_uid);
	int r;

	if (!item || hwloc_bitmap_andnot(item->cpus, file->cpus, cpus) < 0)
		return -ENOMEM;
	item->unlisted = true;
	r = copy_devices(file, devices, item);
	if (r == 0 && pod)
		r = text_set(&item->namespace, pod->namespace);
	if (r == 0 && pod)
		r = text_set(&item->pod, pod->pod);
	return r;
}

static bool lists_all(
	hwloc_const_bitmap_t cpus, const struct device_index *devices, const struct allocation *file)
{
	for (size_t b = 0; b < file->n_devices; b++)
		for (size_t i = 0; i < file->devices[b].n_ids; i++)
			if (!device_index_find(devices, file->devices[b].resource, file->devices[b].ids[i]))
				return false;
	return hwloc_bitmap_isincluded(file->cpus, cpus);
}

int allocations_join(struct allocations *api, const struct allocations *files)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = model_exclusive_cpus(api);
	CLEANUP(device_index_release) struct device_index devices = {0};
	CLEANUP(allocations_release) struct allocations rest = {0};
	int r = cpus ? device_index_held(api, &devices) : -ENOMEM;

	if (r == 0)
		r = find_uids(api, files);
	for (size_t f = 0; f < files->n_items && r == 0; f++)
		if (!lists_all(cpus, &devices, &files->items[f]))
			r = add_rest(api, cpus, &devices, &files->items[f], &rest);
	return r == 0 ? allocations_merge(api, &rest) : r;
}
