/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/project_node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text.h"

/* An exporter that polls has read the kubelet so long after a pod began. */
#define ESTIMATE_LAG_MS 3000u
#define ESTIMATE_LAG_S  5 /* by the clocks of kubelet and API server, to the second */

/* An object of nrtd whose content changed so long after the pod was seen to be admitted has all that the pod holds. */
#define SETTLED_MS 2000u

/* ---- what the object reports */

/* The items of the object that are the pod's. */
struct own_items {
	const struct reported_key *by_uid, *by_name;
	size_t n_by_uid, n_by_name;
};

/*
 * Items without a UID are the first pod's of that name: hashes of names may be equal, and every user who may create pods chooses
 * their names. No other pod is taken for the one that holds the items, and no other pod frees them.
 */
static struct own_items find_own(const struct node_info *node, const struct pod_names *names, bool *claimed)
{
	struct own_items own;

	own.by_uid = reported_by_uid(&node->reported, names, &own.n_by_uid);
	own.by_name = reported_by_name(&node->reported, names, &own.n_by_name);
	if (own.n_by_name > 0 && claimed[own.by_name[0].item])
		own.n_by_name = 0;
	for (size_t i = 0; i < own.n_by_name; i++)
		claimed[own.by_name[i].item] = true;
	return own;
}

static void mark(const struct own_items *own, bool *gone)
{
	for (size_t i = 0; i < own->n_by_uid; i++)
		gone[own->by_uid[i].item] = true;
	for (size_t i = 0; i < own->n_by_name; i++)
		gone[own->by_name[i].item] = true;
}

/*
 * An object of another exporter names nobody. It reports the pod if its zones were written some time after the pod began,
 * by the times in the objects; or if they changed some time after the pod was seen to be bound. A saved object has no such
 * times: it reports the pods that run.
 */
static bool is_estimated_with(const struct node_info *node, const struct pod_info *pod)
{
	int64_t written_s = node->object.zones_written_s;

	if (!pod->bound)
		return false;
	if (written_s > 0 && pod->started_s > 0 && written_s >= pod->started_s + ESTIMATE_LAG_S)
		return true;
	if (written_s == 0 && pod->bound_ms == 0)
		return true;
	return node->object_ms > 0 && pod->bound_ms > 0 && node->object_ms >= pod->bound_ms + ESTIMATE_LAG_MS;
}

static int count_own(const struct node_info *node, const struct own_items *own, struct reported_amounts *ret)
{
	return reported_amounts_count(&node->reported, &node->object.state.allocations, own->by_uid,
		own->n_by_uid, own->by_name, own->n_by_name, ret);
}

/* 0 or -ENOMEM. */
static int find_reported(const struct node_info *node, const struct pod_info *pod,
	const struct own_items *own, enum reported *ret)
{
	CLEANUP(reported_amounts_release) struct reported_amounts amounts = {0};

	if (node->object.basis == CLUSTER_ESTIMATED) {
		*ret = is_estimated_with(node, pod) ? REPORTED_ALL : REPORTED_NOTHING;
		return 0;
	}
	if (count_own(node, own, &amounts) < 0)
		return -ENOMEM;
	*ret = reported_compare(&node->reported, &node->object.state, pod->class, &amounts);
	if (*ret == REPORTED_PART && pod->admitted && node->object_ms >= pod->admitted_ms + SETTLED_MS)
		*ret = REPORTED_ALL;
	return 0;
}

/* The kubelet's managers have nothing to give it: no object will ever show it. */
static bool holds_nothing(const struct pod_info *pod)
{
	return pod->held && !pod->held_is_rest && hwloc_bitmap_iszero(pod->held->cpus) &&
	       pod->held->n_memory == 0 && pod->held->n_devices == 0;
}

/* How a pod of the node counts. */
struct counted {
	struct own_items own;
	bool added;   /* to what the object reports */
	bool is_part; /* the object reports a part of it */
};

/* Which items of the object do not count, and which pods are added. */
struct sorting {
	bool *gone, *claimed;    /* by item */
	struct counted *counted; /* by the node's pods */
	size_t n_added;
	bool is_whole; /* no pod is taken away */
	bool adds_rest; /* what is reported in part counts, and what is missing is added; else such a pod is placed again */
};

static void sorting_release(struct sorting *s)
{
	free(s->gone);
	free(s->claimed);
	free(s->counted);
}

static int sort_pod(const struct node_info *node, struct pod_info *pod, bool leaves, struct sorting *s,
	struct counted *ret)
{
	enum reported reported;

	*ret = (struct counted){.added = false};
	if (!pod->class->aligned || pod->mirror || pod->class->too_large)
		return 0;
	ret->own = find_own(node, &pod->names, s->claimed);
	if (find_reported(node, pod, &ret->own, &reported) < 0)
		return -ENOMEM;
	ret->is_part = reported == REPORTED_PART;
	if (pod->held_is_rest && !(ret->is_part && s->adds_rest))
		pod_info_forget_held(pod);
	if (pod->held && !pod->held_is_rest && ret->is_part && s->adds_rest)
		pod_info_forget_held(pod);
	ret->added = !leaves && reported != REPORTED_ALL && !holds_nothing(pod);
	s->n_added += ret->added;
	if (leaves || (ret->is_part && !s->adds_rest))
		mark(&ret->own, s->gone);
	return 0;
}

/* without[i] belongs to node->pods[i] and may be NULL. 0 or -ENOMEM; to be released in either case. */
static int sort_out(const struct node_info *node, const bool *without, bool adds_rest, struct sorting *ret)
{
	const struct allocations *a = &node->object.state.allocations;
	int r = 0;

	*ret = (struct sorting){.gone = calloc(a->n_items + 1, sizeof(*ret->gone)),
		.claimed = calloc(a->n_items + 1, sizeof(*ret->claimed)),
		.counted = calloc(node->n_pods + 1, sizeof(*ret->counted)),
		.is_whole = !without,
		.adds_rest = adds_rest};
	if (!ret->gone || !ret->claimed || !ret->counted)
		return -ENOMEM;
	for (size_t i = 0; i < node->n_pods && r == 0; i++)
		r = sort_pod(node, node->pods[i], without && without[i], ret, &ret->counted[i]);
	/* Behind them: what a pod that is still there may have is not the ended one's. */
	for (size_t i = 0; i < node->n_ended; i++) {
		struct own_items own = find_own(node, &node->ended[i].names, ret->claimed);

		mark(&own, ret->gone);
	}
	return r;
}

/* ---- what pods get that it does not report */

/* What a pod of that request gets of this kubelet, NULL = it is rejected. 0 or -ENOMEM. */
static int take_item(struct node_admission *admission, const struct pod_request *pod, enum qos_class qos,
	struct allocation **ret)
{
	CLEANUP(freep) struct allocation *held = calloc(1, sizeof(*held));
	struct kubelet_verdict v;
	int r = held ? kubelet_judge(&admission->kubelet, admission->ws, pod, qos, &v) : -ENOMEM;

	*ret = NULL;
	if (r < 0 || v.answer != KUBELET_ADMITS)
		return r;
	r = projected_state_item(admission, pod, &v, held);
	if (r == 0)
		*ret = TAKE(held);
	return r;
}

/* The pod has the item, which moves to it in either case. 0 or -ENOMEM. */
static int hold(struct pod_info *pod, struct allocation *held)
{
	pod_info_forget_held(pod);
	pod->held = held;
	if (text_set(&held->pod_uid, pod->names.uid) == 0 && text_set(&held->pod, pod->names.pod) == 0)
		return 0;
	pod_info_forget_held(pod);
	return -ENOMEM;
}

static int take_rest(struct node_admission *admission, const struct node_info *node,
	const struct pod_info *pod, const struct own_items *own, struct allocation **ret)
{
	CLEANUP(reported_amounts_release) struct reported_amounts amounts = {0};
	CLEANUP(pod_request_release) struct pod_request rest;
	int r = count_own(node, own, &amounts);

	pod_request_init(&rest);
	if (r == 0)
		r = reported_rest(&node->reported, &node->object.state, pod->class, &amounts, &rest);
	return r < 0 ? r : take_item(admission, &rest, rest.qos, ret);
}

/* What the pod gets behind those before. A pod that is rejected there gets nothing. */
static int work_out(const struct projected_state *before, const struct node_info *node, struct pod_info *pod,
	const struct counted *counted, bool adds_rest)
{
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	struct node_state state = before->state;
	struct allocation *held = NULL;
	bool is_rest = counted->is_part && adds_rest;
	int r;

	state.allocations = before->view;
	r = node_admission_init(&admission, &state);
	if (r == 0)
		r = is_rest ? take_rest(&admission, node, pod, &counted->own, &held)
			    : take_item(&admission, &pod->class->pod, pod->class->qos, &held);
	if (r < 0 || !held)
		return r;
	r = hold(pod, held);
	pod->held_is_rest = r == 0 && is_rest;
	return r;
}

/* Pods that came later make no room: what was found then is still right. */
static bool is_rejected(const struct node_info *node, uint64_t found_at)
{
	return found_at > 0 && found_at >= node->freed;
}

/* The kubelet has pods in the order of their coming. What one gets is worked out once, and again only where another has
 * it by now. */
static int add_pod(struct cluster_cache *cache, struct projected_state *o, const struct node_info *node,
	struct pod_info *pod, const struct counted *counted, const struct sorting *s)
{
	bool keeps = s->is_whole && !(counted->is_part && s->adds_rest);
	int r = 0;

	if (pod->held && !projected_state_has_free(o, pod->held))
		pod_info_forget_held(pod);
	if (!pod->held && !(keeps && is_rejected(node, pod->rejected_at))) {
		r = work_limit_goes_on(&cache->work) ? work_out(o, node, pod, counted, s->adds_rest) : -ETIME;
		cache->work.advanced = true;
		if (r == 0 && !pod->held && keeps)
			pod->rejected_at = cache->version;
	}
	return r < 0 || !pod->held ? r : projected_state_add(o, pod->held);
}

/* ---- whether a place has what is reported already */

static size_t count_devices(const struct allocation *item, const struct device_block *like)
{
	size_t n = 0;

	for (size_t i = 0; i < item->n_devices; i++)
		if (!strcmp(item->devices[i].resource, like->resource) &&
			hwloc_bitmap_isequal(item->devices[i].nodes, like->nodes))
			n += item->devices[i].ids.n_items;
	return n;
}

static bool has_memory_like(const struct allocation *item, const struct memory_block *block)
{
	for (size_t i = 0; i < item->n_memory; i++)
		if (!strcmp(item->memory[i].type, block->type) &&
			hwloc_bitmap_isequal(item->memory[i].nodes, block->nodes))
			return true;
	return false;
}

/* Its CPUs, as many devices on the same NUMA nodes, memory on the same NUMA nodes. */
static bool has_item(const struct allocation *held, const struct allocation *item)
{
	if (!hwloc_bitmap_isincluded(item->cpus, held->cpus))
		return false;
	for (size_t i = 0; i < item->n_devices; i++)
		if (count_devices(held, &item->devices[i]) < item->devices[i].ids.n_items)
			return false;
	for (size_t i = 0; i < item->n_memory; i++)
		if (!has_memory_like(held, &item->memory[i]))
			return false;
	return true;
}

static bool has_items(const struct node_info *node, const struct pod_info *pod, const struct own_items *own)
{
	const struct allocation *items = node->object.state.allocations.items;
	bool has = pod->held != NULL;

	for (size_t i = 0; i < own->n_by_uid && has; i++)
		has = has_item(pod->held, &items[own->by_uid[i].item]);
	for (size_t i = 0; i < own->n_by_name && has; i++)
		has = has_item(pod->held, &items[own->by_name[i].item]);
	return has;
}

/* ---- the whole */

/* What can still be requested of the whole node, where there is a Node. */
static int limit(struct projected_node *o, const struct node_info *node, const bool *without)
{
	CLEANUP(resource_list_release) struct resource_list most = {0};
	int r = resource_list_add(&most, &node->allocatable, 1);

	if (!node->has_node)
		return 0;
	for (size_t i = 0; i < most.n_items; i++) {
		struct resource_quantity *q = &most.items[i];
		qty_t held = resource_list_amount(&node->requested, q->name);

		for (size_t k = 0; without && k < node->n_pods; k++)
			if (without[k])
				held -= resource_list_amount(&node->pods[k]->class->wanted, q->name);
		q->quantity.nano = q->quantity.nano > held ? q->quantity.nano - held : 0;
	}
	return r < 0 ? r : node_admission_limit(&o->admission, &most);
}

/* The state with the pods that are added. *ret_whole: each pod that the object reports in part got a place that has that part. */
static int add_pods(struct cluster_cache *cache, struct projected_node *o, const struct node_info *node,
	const struct sorting *s, bool *ret_whole)
{
	int r = projected_state_init(&o->node, &node->object.state, s->gone);

	*ret_whole = true;
	for (size_t i = 0; i < node->n_pods && r == 0; i++) {
		const struct counted *c = &s->counted[i];

		if (!c->added)
			continue;
		r = add_pod(cache, &o->node, node, node->pods[i], c, s);
		if (r == 0 && c->is_part && !s->adds_rest)
			*ret_whole = *ret_whole && has_items(node, node->pods[i], &c->own);
	}
	return r;
}

/*
 * Of a node whose object has a state, without the pods whose without[i] is set. A pod that the object reports in part is in
 * the middle of its admission: it is placed again as a whole, which has the reported part where the kubelet does the same.
 * Where that part is elsewhere it stays held, and what is missing is added. 0, -ETIME or -ENOMEM; both are to be released in
 * either case.
 */
static int make(struct cluster_cache *cache, struct projected_node *o, const struct node_info *node,
	const bool *without, struct sorting *s)
{
	bool whole;
	int r = sort_out(node, without, false, s);

	if (r == 0)
		r = add_pods(cache, o, node, s, &whole);
	if (r == 0 && !whole) {
		projected_state_release(&o->node);
		sorting_release(s);
		r = sort_out(node, without, true, s);
		if (r == 0)
			r = add_pods(cache, o, node, s, &whole);
	}
	if (r == 0)
		r = projected_state_finish(&o->node);
	if (r == 0)
		r = node_admission_init(&o->admission, &o->node.state);
	return r < 0 ? r : limit(o, node, without);
}

/* The pod is on its way to the kubelet, which may place it behind any other. */
static bool is_on_its_way(const struct node_info *node, const struct sorting *s, size_t i)
{
	return s->counted[i].added && !holds_nothing(node->pods[i]) &&
	       !(s->counted[i].is_part && s->adds_rest);
}

/* So many of those who have ended were there when the pod was promised, and may have been when it came. */
static size_t ended_on_its_way(const struct node_info *node, const struct pod_info *pod)
{
	size_t n = 0;

	for (size_t i = 0; i < node->n_ended; i++) {
		uint64_t at = node->ended[i].at;

		n += at > pod->since && (!pod->admitted || pod->admitted_at > at);
	}
	return n;
}

/*
 * Whether it is open what the kubelet had when those on their way came. That all of them came before the end of a pod is
 * looked at, and that all came after it; what lies between two ends, or between two who come, is not.
 */
static bool ends_on_the_way(const struct node_info *node, const struct sorting *s)
{
	size_t pods = 0, ends = 0;

	for (size_t i = 0; i < node->n_pods; i++) {
		size_t n = is_on_its_way(node, s, i) ? ended_on_its_way(node, node->pods[i]) : 0;

		pods += n > 0;
		ends = n > ends ? n : ends;
	}
	return pods * ends > 1;
}

/* A pod that the kubelet rejects even if no other comes before it takes nothing from anybody: every user can bind a pod that is
 * larger than its node. 0, -ETIME or -ENOMEM. */
static int leave_out_rejected(struct cluster_cache *cache, struct projected_node *o,
	const struct node_info *node, struct sorting *s)
{
	int r = 0;

	for (size_t i = 0; i < node->n_pods && r == 0; i++) {
		struct pod_info *pod = node->pods[i];
		bool admits = false;

		if (pod->held || !is_on_its_way(node, s, i))
			continue;
		if (!is_rejected(node, pod->rejected_alone_at)) {
			r = in_flight_admit_alone(&o->in_flight, pod->class, &cache->work, &admits);
			cache->work.advanced = true;
			pod->rejected_alone_at = r == 0 && !admits ? cache->version : 0;
		}
		s->counted[i].added = admits;
	}
	return r;
}

/* Those who are added are on their way, but those whom the managers have nothing to give to. 0, -ETIME or -ENOMEM. */
static int make_in_flight(struct cluster_cache *cache, struct projected_node *o, const struct node_info *node,
	struct sorting *s)
{
	int r = in_flight_init(&o->in_flight, &node->object.state, s->gone, s->n_added);

	if (r == 0)
		r = leave_out_rejected(cache, o, node, s);
	o->in_flight.open = ends_on_the_way(node, s);
	for (unsigned turn = 0; turn < 2 && r == 0; turn++)
		for (size_t i = 0; i < node->n_pods; i++) {
			const struct pod_info *pod = node->pods[i];

			if (is_on_its_way(node, s, i) && pod->admitted == (turn == 0))
				in_flight_add(&o->in_flight, pod->class, pod->admitted);
		}
	return r;
}

bool project_node_possible(const struct node_info *node)
{
	return node->has_object && node->object.basis != CLUSTER_UNKNOWN;
}

static void projected_node_freep(struct projected_node **o)
{
	if (*o)
		projected_node_release(*o);
	free(*o);
}

int project_node(struct cluster_cache *cache, const struct node_info *node, struct projected_node **ret)
{
	CLEANUP(projected_node_freep) struct projected_node *o = NULL;
	CLEANUP(sorting_release) struct sorting s = {0};
	int r;

	*ret = projected_nodes_find(&cache->projected, node->slot, node->version, node->amounts);
	if (*ret)
		return 0;
	o = calloc(1, sizeof(*o));
	r = o ? make(cache, o, node, NULL, &s) : -ENOMEM;
	if (r == 0)
		r = make_in_flight(cache, o, node, &s);
	if (r < 0)
		return r;
	o->version = node->version;
	o->amounts = node->amounts;
	*ret = o;
	projected_nodes_keep(&cache->projected, node->slot, TAKE(o));
	return 0;
}

int project_node_without(struct cluster_cache *cache, const struct node_info *node, const bool *gone,
	struct projected_node *ret)
{
	CLEANUP(sorting_release) struct sorting s = {0};

	*ret = (struct projected_node){0};
	/* What pods hold may be worked out again, and the other one borrows it. */
	projected_nodes_forget(&cache->projected, node->slot);
	return make(cache, ret, node, gone, &s);
}

int project_assume_pod(struct cluster_cache *cache, const struct assume_request *request,
	struct node_info *node, uint64_t now_ms)
{
	struct allocation *held = NULL;
	struct pod_info *pod = NULL;
	struct projected_node *o;
	int r;

	cache->work = (struct work_limit){0};
	r = project_node_possible(node) ? project_node(cache, node, &o) : 0;
	if (r == 0 && project_node_possible(node))
		r = request->class->too_large
			    ? 0
			    : take_item(&o->admission, &request->class->pod, request->class->qos, &held);
	if (r == 0)
		r = cache_assume_pod(cache, request, node, now_ms, &pod);
	if (r == 0 && held && pod)
		return hold(pod, held);
	if (held)
		allocation_release(held);
	free(held);
	return r;
}
