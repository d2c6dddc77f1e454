/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/allocations_merge.h"

#include <inttypes.h>

#include "common/allocation.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node/manager_state.h"

/* Whether both items hold the first id of a device block of `a`. One id is enough, because pods never share a device. */
static bool share_a_device(const struct allocation *a, const struct allocation *b)
{
	for (size_t i = 0; i < a->n_devices; i++) {
		const struct device_block *block = &a->devices[i];

		for (size_t k = 0; k < b->n_devices && block->ids.n_items > 0; k++)
			if (!strcmp(block->resource, b->devices[k].resource) &&
				strv_contains(&b->devices[k].ids, block->ids.items[0]))
				return true;
	}
	return false;
}

/* Whether both items are of the same container, by its name and its CPUs or devices: only one pod holds a CPU
 * or a device, except CPUs that a kubelet assigned twice. */
static bool same_container(const struct allocation *api, const struct allocation *file)
{
	if (strcmp(api->container, file->container) != 0)
		return false;
	if (!hwloc_bitmap_iszero(api->cpus))
		return hwloc_bitmap_isequal(api->cpus, file->cpus);
	return share_a_device(api, file);
}

static bool is_of_pod(const struct allocation *item, const char *namespace, const char *name)
{
	return !strcmp(item->namespace, namespace) && !strcmp(item->pod, name);
}

static bool has_name_of_pod(const struct allocation *a, const struct allocation *b)
{
	return is_of_pod(a, b->namespace, b->pod);
}

/* Set the UID of the named pod's items that have none. */
static void set_uid(struct allocations *api, const char *namespace, const char *name, const char *uid)
{
	for (size_t i = 0; i < api->n_items; i++)
		if (is_of_pod(&api->items[i], namespace, name) && !*api->items[i].pod_uid)
			text_set(&api->items[i].pod_uid, uid);
}

/* Whether an item of the named pod has another UID. */
static bool has_other_uid(
	const struct allocations *api, const char *namespace, const char *name, const char *uid)
{
	for (size_t i = 0; i < api->n_items; i++)
		if (is_of_pod(&api->items[i], namespace, name) && *api->items[i].pod_uid &&
			strcmp(api->items[i].pod_uid, uid) != 0)
			return true;
	return false;
}

/* The first item of the pod with this UID, or NULL; NULL for "". */
static const struct allocation *find_pod_by_uid(const struct allocations *a, const char *uid)
{
	for (size_t i = 0; i < a->n_items && *uid; i++)
		if (!strcmp(a->items[i].pod_uid, uid))
			return &a->items[i];
	return NULL;
}

/* Whether the UID (of a pod of the files) belongs to another pod than the API's item: the UID's logs, or the
 * API's pod with this UID, have another name. */
static bool is_of_another_pod(const struct allocations *api, const struct allocation *item, const char *uid,
	const struct pod_evidence *e)
{
	const struct allocation *owner = find_pod_by_uid(api, uid);
	const struct pod_log *log = pod_evidence_log(e, uid);

	return (owner && !has_name_of_pod(owner, item)) ||
	       (log && !is_of_pod(item, log->namespace, log->name));
}

/* Sets the UIDs of the API's pods that have a container in common with a pod of the files (same_container()), unless other
 * evidence shows that these are different pods. A UID that is set ends the search for its pod. */
static void set_uids_by_container(
	struct allocations *api, const struct allocations *files, const struct pod_evidence *e)
{
	for (size_t i = 0; i < api->n_items; i++)
		for (size_t f = 0; f < files->n_items && !*api->items[i].pod_uid; f++)
			if (same_container(&api->items[i], &files->items[f]) &&
				!is_of_another_pod(api, &api->items[i], files->items[f].pod_uid, e))
				set_uid(api, api->items[i].namespace, api->items[i].pod,
					files->items[f].pod_uid);
}

/* ---- pods that hold only memory: several pods may hold the same amounts */

static const struct memory_block *find_equal_block(
	const struct allocation *a, const struct memory_block *like)
{
	for (size_t i = 0; i < a->n_memory; i++)
		if (!strcmp(a->memory[i].type, like->type) && a->memory[i].bytes == like->bytes &&
			hwloc_bitmap_isequal(a->memory[i].nodes, like->nodes))
			return &a->memory[i];
	return NULL;
}

/* Whether both containers hold the same memory; a container has at most one block per type. */
static bool same_memory(const struct allocation *a, const struct allocation *b)
{
	for (size_t i = 0; i < a->n_memory; i++)
		if (!find_equal_block(b, &a->memory[i]))
			return false;
	for (size_t i = 0; i < b->n_memory; i++)
		if (!find_equal_block(a, &b->memory[i]))
			return false;
	return true;
}

/* Where the items of the pod at `i` end. */
static size_t end_of_pod(const struct allocations *a, size_t i)
{
	size_t end = i + 1;

	while (end < a->n_items && has_name_of_pod(&a->items[i], &a->items[end]) &&
		!strcmp(a->items[i].pod_uid, a->items[end].pod_uid))
		end++;
	return end;
}

/* Whether each container of the API's pod at `i` that holds memory holds the same memory, and the same CPUs if the files list CPUs, in the
 * files' pod at `f`. False if no container holds memory. */
static bool same_holdings(const struct allocations *api, size_t i, const struct allocations *files, size_t f)
{
	size_t end = end_of_pod(api, i), f_end = end_of_pod(files, f);
	bool any_memory = false;

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
		any_memory = true;
	}
	return any_memory;
}

/* A pod of the files that may be a pod of the API. */
struct file_pod {
	size_t first;              /* its first item */
	size_t weight;             /* heavier pods are paired first */
	const struct pod_log *log; /* or NULL */
};

/* Arrays by the pod's first item in the API. */
struct pairing {
	const struct allocations *api, *files;
	const struct file_pod **partners; /* the pod of the files that it is paired with, or NULL */
	bool *tried;                      /* by the current search of pair_pod() */
};

static void pairing_release(struct pairing *p)
{
	free(p->partners);
	free(p->tried);
}

static bool can_pair(const struct pairing *p, size_t i, const struct file_pod *pod)
{
	const struct allocation *item = &p->api->items[i];

	if (pod->log && !is_of_pod(item, pod->log->namespace, pod->log->name))
		return false;
	return !*item->pod_uid && same_holdings(p->api, i, p->files, pod->first);
}

/* Pair `pod`, of the files, with a pod of the API. An API pod that is already paired is available if its
 * partner can be paired with another API pod (augmenting paths of bipartite matching). False if no API pod is
 * available. */
static bool pair_pod(struct pairing *p, const struct file_pod *pod)
{
	for (size_t i = 0, end; i < p->api->n_items; i = end) {
		end = end_of_pod(p->api, i);
		if (p->tried[i] || !can_pair(p, i, pod))
			continue;
		p->tried[i] = true;
		if (!p->partners[i] || pair_pod(p, p->partners[i])) {
			p->partners[i] = pod;
			return true;
		}
	}
	return false;
}

/*
 * Which pods of the files are paired first: pods that the kubelet has not forgotten; then pods with logs;
 * then those with the most containers, so that an init container's leftovers count as held.
 */
static size_t pod_weight(
	const struct allocations *files, const struct file_pod *pod, const struct pod_evidence *e)
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

/* The pods whose name is not known yet, the heaviest first. `ret` has space for `files->n_items`. */
static size_t list_file_pods(const struct allocations *api, const struct allocations *files,
	const struct pod_evidence *e, struct file_pod *ret)
{
	size_t n = 0;

	for (size_t f = 0; f < files->n_items; f = end_of_pod(files, f)) {
		const char *uid = files->items[f].pod_uid;

		if (!*uid || find_pod_by_uid(api, uid))
			continue;
		ret[n] = (struct file_pod){.first = f, .log = pod_evidence_log(e, uid)};
		ret[n].weight = pod_weight(files, &ret[n], e);
		n++;
	}
	if (n > 0)
		qsort(ret, n, sizeof(*ret), by_weight);
	return n;
}

/* Pair as many pods as possible that hold the same memory, the heaviest pods of the files first. */
static void set_uids_by_memory(
	struct allocations *api, const struct allocations *files, const struct pod_evidence *e)
{
	CLEANUP(freep) struct file_pod *pods = xcalloc(files->n_items + 1, sizeof(*pods));
	CLEANUP(pairing_release)
	struct pairing p = {.api = api,
		.files = files,
		.partners = xcalloc(api->n_items + 1, sizeof(*p.partners)),
		.tried = xcalloc(api->n_items + 1, sizeof(*p.tried))};
	size_t n;

	n = list_file_pods(api, files, e, pods);
	for (size_t k = 0; k < n; k++) {
		memset(p.tried, 0, api->n_items * sizeof(*p.tried));
		pair_pod(&p, &pods[k]);
	}
	for (size_t i = 0; i < api->n_items; i++)
		if (p.partners[i])
			set_uid(api, api->items[i].namespace, api->items[i].pod,
				files->items[p.partners[i]->first].pod_uid);
}

void allocations_set_uids(
	struct allocations *api, const struct allocations *files, const struct pod_evidence *e)
{
	set_uids_by_container(api, files, e);
	set_uids_by_memory(api, files, e);
}

/* ---- pods that have ended */

void allocations_end_by_files(struct allocations *files, const struct pod_evidence *e)
{
	CLEANUP(freep) bool *ended = xcalloc(files->n_items + 1, sizeof(*ended));

	for (size_t i = 0; i < files->n_items; i++)
		ended[i] = pod_evidence_gone(e, files->items[i].pod_uid);
	allocations_give_back(files, ended);
}

static bool is_log_listed(const struct pods_listed *l, const struct pod_log *log)
{
	for (size_t i = 0; i < l->n_pods; i++)
		if (!strcmp(l->pods[i].namespace, log->namespace) && !strcmp(l->pods[i].name, log->name))
			return true;
	return false;
}

/* Whether the files' pod with this UID has a container with the item's name. The API would list the holdings of
 * such a container. */
static bool has_container(const struct allocations *files, const char *uid, const struct allocation *item)
{
	for (size_t i = 0; i < files->n_items; i++)
		if (!strcmp(files->items[i].pod_uid, uid) &&
			!strcmp(files->items[i].container, item->container))
			return true;
	return false;
}

/* Whether the API's pod `pod` may be the files' pod with this UID, although the API lists no holdings of `pod`: the
 * holders may be init containers, which the API does not list. */
static bool may_be_pod(const struct pods_listed *l, const struct pod_ref *pod,
	const struct allocations *files, const char *uid, const struct pod_evidence *e)
{
	if (pod_evidence_has_logs(e, pod->namespace, pod->name))
		return false; /* `pod` has the UID of its log directory; has_ended() asks about a UID without one */
	for (size_t i = 0; i < l->api->n_items; i++) {
		const struct allocation *item = &l->api->items[i];

		if (is_of_pod(item, pod->namespace, pod->name) &&
			(*item->pod_uid || !allocation_is_empty(item) || has_container(files, uid, item)))
			return false;
	}
	return true;
}

/* Whether the files' pod with this UID may be one of the pods that the API lists. */
static bool may_be_listed(const struct pods_listed *l, const struct allocations *files, const char *uid,
	const struct pod_evidence *e)
{
	for (size_t i = 0; i < l->n_pods; i++)
		if (may_be_pod(l, &l->pods[i], files, uid, e))
			return true;
	return false;
}

/* Sets the UIDs of the API's pods that have the name in the logs of a pod of the files. */
static void set_uids_by_log(
	const struct pods_listed *l, const struct allocations *files, const struct pod_evidence *e)
{
	for (size_t i = 0; i < files->n_items; i++) {
		const char *uid = files->items[i].pod_uid;
		const struct pod_log *log = pod_evidence_log(e, uid);

		if (*uid && log && !find_pod_by_uid(l->api, uid) && is_log_listed(l, log))
			set_uid(l->api, log->namespace, log->name, log->uid);
	}
}

/* Whether the files' pod with this UID has ended, because the API does not list the pod. Where the list or the pod's name is uncertain, the
 * kubelet must also have forgotten the pod. */
static bool has_ended(const struct pods_listed *l, const struct allocations *files, const char *uid,
	const struct pod_evidence *e)
{
	const struct pod_log *log = pod_evidence_log(e, uid);

	if (!*uid || find_pod_by_uid(l->api, uid))
		return false;
	if (log && is_log_listed(l, log) && !has_other_uid(l->api, log->namespace, log->name, log->uid))
		return false;
	if (l->young || e->logs_hidden || (!log && may_be_listed(l, files, uid, e)))
		return pod_evidence_gone(e, uid);
	return true;
}

void allocations_end_by_api(
	struct allocations *files, const struct pods_listed *l, const struct pod_evidence *e)
{
	CLEANUP(freep) bool *ended = xcalloc(files->n_items + 1, sizeof(*ended));

	allocations_set_uids(l->api, files, e);
	set_uids_by_log(l, files, e);
	for (size_t i = 0; i < files->n_items; i++)
		if (i > 0 && !strcmp(files->items[i].pod_uid, files->items[i - 1].pod_uid))
			ended[i] = ended[i - 1];
		else
			ended[i] = has_ended(l, files, files->items[i].pod_uid, e);
	allocations_give_back(files, ended);
}

/* ---- contradictions */

static void add_separator(struct strbuf *out)
{
	if (out->len > 0)
		strbuf_addstr(out, "; ");
}

static int cross_check_cpus(
	const struct allocations *api, const struct allocations *files, struct strbuf *out)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t by_api = allocations_exclusive_cpus(api);
	CLEANUP(cpuset_freep) hwloc_bitmap_t by_files = allocations_exclusive_cpus(files);
	CLEANUP(freep) char *one = cpuset_print(by_api);
	CLEANUP(freep) char *two = cpuset_print(by_files);

	if (!api->cpus_known || !files->cpus_known || hwloc_bitmap_isincluded(by_api, by_files))
		return 0;
	add_separator(out);
	strbuf_addf(out, "CPUs held: '%s' by the API, '%s' by the files", one, two);
	return 1;
}

/* Sums over the NUMA nodes, because the API does not report how a block is split between nodes. */
struct sums {
	uint64_t allocatable, reserved;
};

static struct sums sum_type(const struct memory_state *state, const char *type)
{
	struct sums sum = {0, memory_state_reserved(state, type)};

	for (size_t i = 0; i < state->n_nodes; i++) {
		const struct memory_table *t = memory_node_table(&state->nodes[i], type);

		sum.allocatable += t ? t->allocatable : 0;
	}
	return sum;
}

static int cross_check_memory(
	const struct allocations *api, const struct allocations *files, struct strbuf *out)
{
	CLEANUP(strv_release) struct strv types = {0};
	int n = 0;

	if (!api->memory_known || !files->memory_known)
		return 0;
	memory_state_types(&files->memory, &types);
	for (size_t i = 0; i < types.n_items; i++) {
		const char *type = types.items[i];
		struct sums one = sum_type(&api->memory, type), two = sum_type(&files->memory, type);

		if (one.allocatable != two.allocatable) {
			add_separator(out);
			strbuf_addf(out,
				"%.60s allocatable: %" PRIu64 " by the API, %" PRIu64 " by the files", type,
				one.allocatable, two.allocatable);
			n++;
		}
		if (one.reserved > two.reserved) {
			add_separator(out);
			strbuf_addf(out, "%.60s held: %" PRIu64 " by the API, %" PRIu64 " by the files", type,
				one.reserved, two.reserved);
			n++;
		}
	}
	return n;
}

/* The first device of `a` that `b` does not have; *ret_n is the number of such devices. */
static const struct device_ref *find_missing_device(
	const struct device_index *a, const struct device_index *b, size_t *ret_n)
{
	const struct device_ref *first = NULL;

	*ret_n = 0;
	for (size_t i = 0; i < a->n_items; i++)
		if (!device_index_find(b, a->items[i].block->resource, a->items[i].id)) {
			first = first ? first : &a->items[i];
			(*ret_n)++;
		}
	return first;
}

static int print_missing_devices(const struct device_index *a, const struct device_index *b, const char *what,
	const char *in, const char *not_in, struct strbuf *out)
{
	size_t n;
	const struct device_ref *first = find_missing_device(a, b, &n);

	if (!first)
		return 0;
	add_separator(out);
	strbuf_addf(out, "devices %s: %zu by %s and not by %s, '%.60s' of %.60s first", what, n, in, not_in,
		first->id, first->block->resource);
	return 1;
}

static int cross_check_devices(
	const struct allocations *api, const struct allocations *files, struct strbuf *out)
{
	CLEANUP(device_index_release) struct device_index one = {0};
	CLEANUP(device_index_release) struct device_index two = {0};
	int n = 0;

	device_index_held(api, &one);
	device_index_held(files, &two);
	if (api->devices_known && files->devices_known)
		n += print_missing_devices(&one, &two, "held", "the API", "the files", out);
	if (!api->registered_known || !files->registered_known)
		return n;
	device_index_release(&one);
	device_index_release(&two);
	device_index_registered(api, &one);
	device_index_registered(files, &two);
	n += print_missing_devices(&one, &two, "registered", "the API", "the files", out);
	return n + print_missing_devices(&two, &one, "registered", "the files", "the API", out);
}

int cross_check(const struct allocations *api, const struct allocations *files, struct strbuf *out)
{
	int cpus = cross_check_cpus(api, files, out), memory = cross_check_memory(api, files, out);
	int devices = cross_check_devices(api, files, out);

	return cpus + memory + devices;
}

/* ---- holdings that only the files list */

static void copy_unlisted_devices(
	const struct allocation *from, const struct device_index *listed, struct allocation *to)
{
	for (size_t b = 0; b < from->n_devices; b++) {
		const struct device_block *block = &from->devices[b];

		for (size_t i = 0; i < block->ids.n_items; i++)
			if (!device_index_find(listed, block->resource, block->ids.items[i]))
				device_blocks_add(&to->devices, &to->n_devices, &to->devices_size,
					block->resource, block->nodes, block->nodes_unknown,
					block->ids.items[i]);
	}
}

static void copy_memory_blocks(const struct allocation *from, struct allocation *to)
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

/* Whether the UID of every API pod that holds memory is known. If so, no other pod of the files can be one of
 * these pods. */
static bool knows_all_holders(const struct allocations *api)
{
	for (size_t i = 0; i < api->n_items; i++)
		if (api->items[i].n_memory > 0 && !*api->items[i].pod_uid)
			return false;
	return true;
}

/* The API's list, prepared for look-ups. */
struct joining {
	const struct allocations *api;
	hwloc_bitmap_t cpus;         /* of all items */
	struct device_index devices; /* of all items */
	bool all_holders_known;      /* knows_all_holders() */
	bool memory;                 /* the files' memory state is used */
};

static void joining_release(struct joining *j)
{
	hwloc_bitmap_free(j->cpus);
	device_index_release(&j->devices);
}

/* Whether the API does not list this container's memory under any name, because the container is an init
 * container or the pod is being admitted. Of a pod whose UID no item has, this is certain only if no memory holder of the API is unknown. */
static bool lacks_memory_of_file(const struct joining *j, const struct allocation *file)
{
	bool pod_is_listed = false;

	if (!j->memory || file->n_memory == 0)
		return false;
	for (size_t i = 0; i < j->api->n_items; i++) {
		const struct allocation *item = &j->api->items[i];

		if (strcmp(item->pod_uid, file->pod_uid) != 0)
			continue;
		if (!strcmp(item->container, file->container))
			return false;
		pod_is_listed = true;
	}
	return pod_is_listed || j->all_holders_known;
}

/* Add the holdings of one container that the API does not list. */
static void add_unlisted(
	const struct joining *j, const struct allocation *file, bool with_memory, struct allocations *to)
{
	struct allocation *item = allocations_add_container(to, file->pod_uid, file->container);
	const struct allocation *pod = find_pod_by_uid(j->api, file->pod_uid);

	cpuset_andnot(item->cpus, file->cpus, j->cpus);
	item->unlisted = true;
	copy_unlisted_devices(file, &j->devices, item);
	if (with_memory)
		copy_memory_blocks(file, item);
	if (!pod)
		return;
	text_set(&item->namespace, pod->namespace);
	text_set(&item->pod, pod->pod);
}

/* Whether the API lists all CPUs and devices that the container holds. */
static bool lists_cpus_and_devices(const struct joining *j, const struct allocation *file)
{
	for (size_t b = 0; b < file->n_devices; b++)
		for (size_t i = 0; i < file->devices[b].ids.n_items; i++)
			if (!device_index_find(
				    &j->devices, file->devices[b].resource, file->devices[b].ids.items[i]))
				return false;
	return hwloc_bitmap_isincluded(file->cpus, j->cpus);
}

void allocations_add_from_files(struct allocations *api, const struct allocations *files, bool memory)
{
	CLEANUP(joining_release)
	struct joining j = {.api = api,
		.cpus = allocations_exclusive_cpus(api),
		.all_holders_known = knows_all_holders(api),
		.memory = memory};
	CLEANUP(allocations_release) struct allocations unlisted = {0};

	device_index_held(api, &j.devices);
	for (size_t f = 0; f < files->n_items; f++) {
		bool lacks_memory = lacks_memory_of_file(&j, &files->items[f]);

		if (lacks_memory || !lists_cpus_and_devices(&j, &files->items[f]))
			add_unlisted(&j, &files->items[f], lacks_memory, &unlisted);
	}
	allocations_merge(api, &unlisted);
}
