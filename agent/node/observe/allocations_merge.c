/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/observe/allocations_merge.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/device_index.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

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

/* CPUs and devices are held by one pod only, except the CPUs that a kubelet gives away twice. */
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

static void set_uid(struct allocations *api, const struct allocation *of, const char *uid)
{
	for (size_t i = 0; i < api->n_items; i++)
		if (same_pod(&api->items[i], of) && !*api->items[i].pod_uid)
			text_set(&api->items[i].pod_uid, uid);
}

const struct allocation *allocations_pod_with(const struct allocations *api, const char *uid)
{
	for (size_t i = 0; i < api->n_items && *uid; i++)
		if (!strcmp(api->items[i].pod_uid, uid))
			return &api->items[i];
	return NULL;
}

/* The pod of the files that has this UID is another one: its logs name another, or the UID is another's by now. */
static bool is_of_another(const struct allocations *api, const struct allocation *item, const char *uid,
	const struct pod_evidence *e)
{
	const struct allocation *owner = allocations_pod_with(api, uid);
	const struct pod_log *log = pod_evidence_log(e, uid);

	return (owner && !same_pod(owner, item)) ||
	       (log && (strcmp(log->namespace, item->namespace) != 0 || strcmp(log->name, item->pod) != 0));
}

static void find_uids_by_proof(
	struct allocations *api, const struct allocations *files, const struct pod_evidence *e)
{
	for (size_t i = 0; i < api->n_items; i++)
		for (size_t f = 0; f < files->n_items && !*api->items[i].pod_uid; f++)
			if (same_container(&api->items[i], &files->items[f]) &&
				!is_of_another(api, &api->items[i], files->items[f].pod_uid, e))
				set_uid(api, &api->items[i], files->items[f].pod_uid);
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

/* A pod of the files that may be one of the API's. */
struct file_pod {
	size_t first;              /* its first item */
	size_t weight;             /* of those that cannot all be listed the heavier are */
	const struct pod_log *log; /* or NULL */
};

/* By the pod's first item in the API. */
struct pairing {
	const struct allocations *api, *files;
	const struct file_pod **holders; /* which pod of the files it is, or NULL */
	bool *tried;                     /* scratch */
};

static void pairing_release(struct pairing *p)
{
	free(p->holders);
	free(p->tried);
}

static bool may_be(const struct pairing *p, size_t i, const struct file_pod *pod)
{
	const struct allocation *item = &p->api->items[i];

	if (pod->log &&
		(strcmp(pod->log->namespace, item->namespace) != 0 || strcmp(pod->log->name, item->pod) != 0))
		return false;
	return !*item->pod_uid && same_holdings(p->api, i, p->files, pod->first);
}

/* Find a pod of the API for this one; another that has it goes elsewhere, if it can. */
static bool place(struct pairing *p, const struct file_pod *pod)
{
	for (size_t i = 0, end; i < p->api->n_items; i = end) {
		end = end_of_pod(p->api, i);
		if (p->tried[i] || !may_be(p, i, pod))
			continue;
		p->tried[i] = true;
		if (!p->holders[i] || place(p, p->holders[i])) {
			p->holders[i] = pod;
			return true;
		}
	}
	return false;
}

/*
 * A pod that the kubelet has not forgotten rather is listed than one that it has; then one with logs; then the one
 * with most containers: an init container's leftovers rather count as held.
 */
static size_t weigh(const struct allocations *files, const struct file_pod *pod, const struct pod_evidence *e)
{
	size_t weight = end_of_pod(files, pod->first) - pod->first;

	if (pod->log)
		weight += files->n_items;
	if (!pod_evidence_gone(e, files->items[pod->first].pod_uid))
		weight += 2 * files->n_items;
	return weight;
}

static int by_weight(const void *va, const void *vb)
{
	const struct file_pod *a = va, *b = vb;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

/* Those whose name is not known yet, the heaviest first. Room for `files->n_items` is in `ret`. */
static size_t list_file_pods(const struct allocations *api, const struct allocations *files,
	const struct pod_evidence *e, struct file_pod *ret)
{
	size_t n = 0;

	for (size_t f = 0; f < files->n_items; f = end_of_pod(files, f)) {
		const char *uid = files->items[f].pod_uid;

		if (!*uid || allocations_pod_with(api, uid))
			continue;
		ret[n] = (struct file_pod){.first = f, .log = pod_evidence_log(e, uid)};
		ret[n].weight = weigh(files, &ret[n], e);
		n++;
	}
	if (n > 0)
		qsort(ret, n, sizeof(*ret), by_weight);
	return n;
}

/* As many pods of the API as can be get the UID of one that holds the same; of those with most weight. */
static void find_uids_by_memory(
	struct allocations *api, const struct allocations *files, const struct pod_evidence *e)
{
	CLEANUP(freep) struct file_pod *pods = xcalloc(files->n_items + 1, sizeof(*pods));
	CLEANUP(pairing_release)
	struct pairing p = {.api = api,
		.files = files,
		.holders = xcalloc(api->n_items + 1, sizeof(*p.holders)),
		.tried = xcalloc(api->n_items + 1, sizeof(*p.tried))};
	size_t n;

	n = list_file_pods(api, files, e, pods);
	for (size_t k = 0; k < n; k++) {
		memset(p.tried, 0, api->n_items * sizeof(*p.tried));
		place(&p, &pods[k]);
	}
	for (size_t i = 0; i < api->n_items; i++)
		if (p.holders[i])
			set_uid(api, &api->items[i], files->items[p.holders[i]->first].pod_uid);
}

void allocations_find_uids(
	struct allocations *api, const struct allocations *files, const struct pod_evidence *e)
{
	find_uids_by_proof(api, files, e);
	find_uids_by_memory(api, files, e);
}

/* ---- what only the files list */

static void copy_devices(const struct allocation *from, const struct device_index *but, struct allocation *to)
{
	for (size_t b = 0; b < from->n_devices; b++) {
		const struct device_block *block = &from->devices[b];

		for (size_t i = 0; i < block->ids.n_items; i++)
			if (!device_index_find(but, block->resource, block->ids.items[i]))
				device_blocks_add(&to->devices, &to->n_devices, &to->devices_size,
					block->resource, block->nodes, block->nodes_unknown,
					block->ids.items[i]);
	}
}

static void copy_memory(const struct allocation *from, struct allocation *to)
{
	for (size_t i = 0; i < from->n_memory; i++) {
		const struct memory_block *block = &from->memory[i];
		struct memory_block *copy =
			vec_push(&to->memory, &to->n_memory, &to->memory_size, sizeof(*copy));

		*copy = (struct memory_block){.type = xstrdup(block->type),
			.bytes = block->bytes,
			.nodes = cpuset_dup(block->nodes)};
	}
}

/* Every pod of the API that holds memory has its UID: none of them is another of the files. */
static bool knows_all_holders(const struct allocations *api)
{
	for (size_t i = 0; i < api->n_items; i++)
		if (api->items[i].n_memory > 0 && !*api->items[i].pod_uid)
			return false;
	return true;
}

/* What the API lists. */
struct joining {
	const struct allocations *api;
	hwloc_bitmap_t cpus;
	struct device_index devices;
	bool all_holders_known; /* of memory */
	bool memory;            /* that of the files counts */
};

static void joining_release(struct joining *j)
{
	hwloc_bitmap_free(j->cpus);
	device_index_release(&j->devices);
}

/* The API does not list the memory of this container, under no name: an init container keeps it, or the pod is being
 * admitted. */
static bool lacks_memory(const struct joining *j, const struct allocation *file)
{
	bool listed = false;

	if (!j->memory || file->n_memory == 0)
		return false;
	for (size_t i = 0; i < j->api->n_items; i++) {
		const struct allocation *item = &j->api->items[i];

		if (strcmp(item->pod_uid, file->pod_uid) != 0)
			continue;
		if (!strcmp(item->container, file->container))
			return false;
		listed = true;
	}
	return listed || j->all_holders_known;
}

/* What the API does not list of one container. */
static void add_rest(
	const struct joining *j, const struct allocation *file, bool memory, struct allocations *rest)
{
	struct allocation *item = allocations_add_container(rest, file->pod_uid, file->container);
	const struct allocation *pod = allocations_pod_with(j->api, file->pod_uid);

	cpuset_andnot(item->cpus, file->cpus, j->cpus);
	item->unlisted = true;
	copy_devices(file, &j->devices, item);
	if (memory)
		copy_memory(file, item);
	if (pod)
		text_set(&item->namespace, pod->namespace);
	if (pod)
		text_set(&item->pod, pod->pod);
}

static bool lists_all_but_memory(const struct joining *j, const struct allocation *file)
{
	for (size_t b = 0; b < file->n_devices; b++)
		for (size_t i = 0; i < file->devices[b].ids.n_items; i++)
			if (!device_index_find(
				    &j->devices, file->devices[b].resource, file->devices[b].ids.items[i]))
				return false;
	return hwloc_bitmap_isincluded(file->cpus, j->cpus);
}

void allocations_join(struct allocations *api, const struct allocations *files, bool memory)
{
	CLEANUP(joining_release)
	struct joining j = {.api = api,
		.cpus = allocations_exclusive_cpus(api),
		.all_holders_known = knows_all_holders(api),
		.memory = memory};
	CLEANUP(allocations_release) struct allocations rest = {0};

	device_index_held(api, &j.devices);
	for (size_t f = 0; f < files->n_items; f++) {
		bool lacks = lacks_memory(&j, &files->items[f]);

		if (lacks || !lists_all_but_memory(&j, &files->items[f]))
			add_rest(&j, &files->items[f], lacks, &rest);
	}
	allocations_merge(api, &rest);
}
