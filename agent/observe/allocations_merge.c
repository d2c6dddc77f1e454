/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/allocations_merge.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/device_index.h"
#include "common/text.h"

/* Both report this container when they have one device of it in common: pods share none. */
static bool share_a_device(const struct allocation *a, const struct allocation *b)
{
	for (size_t i = 0; i < a->n_devices; i++)
		for (size_t k = 0; k < b->n_devices; k++)
			for (size_t x = 0; x < b->devices[k].ids.n_items && a->devices[i].ids.n_items > 0;
				x++)
				if (!strcmp(a->devices[i].resource, b->devices[k].resource) &&
					!strcmp(a->devices[i].ids.items[0], b->devices[k].ids.items[x]))
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

static int find_uids_by_proof(struct allocations *api, const struct allocations *files)
{
	int r = 0;

	for (size_t i = 0; i < api->n_items; i++)
		for (size_t f = 0; f < files->n_items && r == 0 && !*api->items[i].pod_uid; f++)
			if (same_container(&api->items[i], &files->items[f]))
				r = set_uid(api, &api->items[i], files->items[f].pod_uid);
	return r;
}

const struct allocation *allocations_pod_with(const struct allocations *api, const char *uid)
{
	for (size_t i = 0; i < api->n_items && *uid; i++)
		if (!strcmp(api->items[i].pod_uid, uid))
			return &api->items[i];
	return NULL;
}

/* ---- pods that hold memory alone: several may hold the same */

static const struct memory_block *find_block(const struct allocation *a, const struct memory_block *like)
{
	for (size_t i = 0; i < a->n_memory; i++)
		if (!strcmp(a->memory[i].type, like->type) && a->memory[i].bytes == like->bytes &&
			hwloc_bitmap_isequal(a->memory[i].nodes, like->nodes))
			return &a->memory[i];
	return NULL;
}

/* A container has one block of a type. */
static bool same_memory(const struct allocation *a, const struct allocation *b)
{
	for (size_t i = 0; i < a->n_memory; i++)
		if (!find_block(b, &a->memory[i]))
			return false;
	for (size_t i = 0; i < b->n_memory; i++)
		if (!find_block(a, &b->memory[i]))
			return false;
	return true;
}

/* Where the items of the pod at `i` end. */
static size_t end_of_pod(const struct allocations *a, size_t i)
{
	size_t end = i + 1;

	while (end < a->n_items && same_pod(&a->items[i], &a->items[end]) &&
		!strcmp(a->items[i].pod_uid, a->items[end].pod_uid))
		end++;
	return end;
}

/* Each container of the API's pod at `i` holds the same in the files' pod at `f`; one holds memory. */
static bool same_holdings(const struct allocations *api, size_t i, const struct allocations *files, size_t f)
{
	size_t end = end_of_pod(api, i), f_end = end_of_pod(files, f);
	bool any = false;

	for (; i < end; i++) {
		const struct allocation *item = &api->items[i];
		size_t at = f;

		if (item->n_memory == 0)
			continue;
		while (at < f_end && strcmp(files->items[at].container, item->container) != 0)
			at++;
		if (at == f_end || !same_memory(item, &files->items[at]) ||
			(files->cpus_known && !hwloc_bitmap_isequal(item->cpus, files->items[at].cpus)))
			return false;
		any = true;
	}
	return any;
}

/*
 * Of several the one that the kubelet has not forgotten, then the one with most containers: an init
 * container's leftovers rather count as held.
 */
static const char *find_holder(const struct allocations *api, size_t i, const struct allocations *files,
	const struct pod_evidence *e)
{
	const char *best = NULL;
	size_t best_score = 0;

	for (size_t f = 0, end; f < files->n_items; f = end) {
		const char *uid = files->items[f].pod_uid;
		size_t score;

		end = end_of_pod(files, f);
		if (!*uid || allocations_pod_with(api, uid) || !same_holdings(api, i, files, f))
			continue;
		score = end - f + (pod_evidence_gone(e, uid) ? 0 : files->n_items);
		if (score > best_score) {
			best = uid;
			best_score = score;
		}
	}
	return best;
}

int allocations_find_uids(
	struct allocations *api, const struct allocations *files, const struct pod_evidence *e)
{
	int r = find_uids_by_proof(api, files);

	for (size_t i = 0, end; i < api->n_items && r == 0; i = end) {
		const char *uid = *api->items[i].pod_uid ? NULL : find_holder(api, i, files, e);

		end = end_of_pod(api, i);
		if (uid)
			r = set_uid(api, &api->items[i], uid);
	}
	return r;
}

/* ---- what only the files list */

static int copy_devices(const struct allocation *from, const struct device_index *but, struct allocation *to)
{
	int r = 0;

	for (size_t b = 0; b < from->n_devices; b++) {
		const struct device_block *block = &from->devices[b];

		for (size_t i = 0; i < block->ids.n_items && r == 0; i++)
			if (!device_index_find(but, block->resource, block->ids.items[i]))
				r = device_blocks_add(&to->devices, &to->n_devices, &to->devices_size,
					block->resource, block->nodes, block->nodes_unknown,
					block->ids.items[i]);
	}
	return r;
}

/* What the API does not list of one container. */
static int add_rest(const struct allocations *api, hwloc_const_bitmap_t cpus,
	const struct device_index *devices, const struct allocation *file, struct allocations *rest)
{
	struct allocation *item = allocations_add_container(rest, file->pod_uid, file->container);
	const struct allocation *pod = allocations_pod_with(api, file->pod_uid);
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
		for (size_t i = 0; i < file->devices[b].ids.n_items; i++)
			if (!device_index_find(
				    devices, file->devices[b].resource, file->devices[b].ids.items[i]))
				return false;
	return hwloc_bitmap_isincluded(file->cpus, cpus);
}

int allocations_join(struct allocations *api, const struct allocations *files)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = allocations_exclusive_cpus(api);
	CLEANUP(device_index_release) struct device_index devices = {0};
	CLEANUP(allocations_release) struct allocations rest = {0};
	int r = cpus ? device_index_held(api, &devices) : -ENOMEM;

	for (size_t f = 0; f < files->n_items && r == 0; f++)
		if (!lists_all(cpus, &devices, &files->items[f]))
			r = add_rest(api, cpus, &devices, &files->items[f], &rest);
	return r == 0 ? allocations_merge(api, &rest) : r;
}
