/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/model/project_node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/model/zones_count.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

/* If nrtd's object changed this long after the report of a pod's admission, the object contains everything that the pod holds. */
#define SETTLED_MS 2000u

/* An end or an admission is reported within this time, in any order. */
#define REPORT_LAG_MS 1000u

/* ---- cached projections */

void projected_node_release(struct projected_node *o)
{
	in_flight_release(&o->in_flight);
	node_admission_release(&o->admission);
	projected_state_release(&o->node);
}

static void discard(struct projected_node **o)
{
	if (*o)
		projected_node_release(*o);
	free(*o);
	*o = NULL;
}

void projections_release(struct projections *p)
{
	for (size_t i = 0; i < PROJECTIONS_KEPT; i++)
		discard(&p->kept[i]);
	discard(&p->last);
	free(p->node_work);
}

static bool is_current(const struct projected_node *o, const struct node_info *node)
{
	return o && o->version == node->version && o->amounts_version == node->amounts_version;
}

/* NULL = not cached. Versions are unique among nodes. */
static struct projected_node *find_cached(const struct projections *p, const struct node_info *node)
{
	struct projected_node *kept = p->kept[node->slot % PROJECTIONS_KEPT];

	if (is_current(kept, node))
		return kept;
	return is_current(p->last, node) ? p->last : NULL;
}

/* Moves the projection to its place in the cache: struct projections. */
static void cache_projection(struct projections *p, size_t slot, struct projected_node *o)
{
	bool in_kept = o->in_flight.n > 0 || slot < PROJECTIONS_KEPT;
	struct projected_node **entry = in_kept ? &p->kept[slot % PROJECTIONS_KEPT] : &p->last;

	discard(entry);
	*entry = o;
}

void projections_forget(struct projections *p, size_t slot)
{
	struct projected_node **kept = &p->kept[slot % PROJECTIONS_KEPT];

	if (*kept && (*kept)->slot == slot)
		discard(kept);
	if (p->last && p->last->slot == slot)
		discard(&p->last);
}

/* ---- what the object reports */

/*
 * The pod's reported items. Claims the items without a UID: they belong to the first pod that matches the items' hash of
 * the name. Users choose names and can produce equal hashes: a later pod with the same hash must neither count as the
 * holder of the items nor free them.
 */
static struct reported_items claim_items(
	const struct node_info *node, const struct pod_names *names, bool *claimed)
{
	struct reported_items own = reported_find(&node->reported, names);

	if (own.n_by_name > 0 && claimed[own.by_name[0].item])
		own.n_by_name = 0;
	for (size_t i = 0; i < own.n_by_name; i++)
		claimed[own.by_name[i].item] = true;
	return own;
}

static void mark_excluded(const struct reported_items *own, bool *excluded)
{
	for (size_t i = 0; i < own->n_by_uid; i++)
		excluded[own->by_uid[i].item] = true;
	for (size_t i = 0; i < own->n_by_name; i++)
		excluded[own->by_name[i].item] = true;
}

/* How much of the pod the object reports. *ret_unknown: nothing says whether the object's amounts count the pod, which holds its resources in
 * addition then. */
static enum reported find_reported(const struct node_info *node, const struct pod_info *pod,
	const struct reported_items *own, bool fingerprint_matches, bool *ret_unknown)
{
	enum reported reported;

	*ret_unknown = false;
	if (node->object.basis == CLUSTER_ESTIMATED) {
		enum zones_count count = zones_count_pod(node, pod, fingerprint_matches);

		*ret_unknown = count == ZONES_COUNT_UNKNOWN;
		return count == ZONES_COUNT ? REPORTED_ALL : REPORTED_NOTHING;
	}
	reported = reported_compare(&node->reported, &node->object.state, pod->class, own);
	if (reported == REPORTED_PART && pod->admitted && node->object_ms >= pod->admitted_ms + SETTLED_MS)
		return REPORTED_ALL;
	return reported;
}

/* The kubelet's managers assign nothing to the pod, so no object will report the pod. */
static bool holds_nothing(const struct pod_info *pod)
{
	return pod->held && !pod->held_is_rest && allocation_is_empty(pod->held);
}

struct pod_change {
	struct reported_items own;
	bool added;      /* the pod is added to the reported state */
	bool is_partial; /* the object reports a part of what the pod holds */
	bool is_unknown; /* nothing says whether the object reports the pod */
};

/* How the projection differs from the reported state: excluded items, and added pods. */
struct node_changes {
	bool *excluded, *claimed; /* per item; claimed items have been matched to a pod */
	struct pod_change *pods;  /* per pod of the node */
	size_t n_added;
	bool removes_none;        /* no pod is removed from the node, so results may be cached */
	bool fingerprint_matches; /* zones_count_match_fingerprint() */
	/* For partially reported pods. True: the reported part counts, and the rest is added. False: the whole pod is
	 * placed again from its requests. */
	bool adds_rest;
};

static void node_changes_release(struct node_changes *changes)
{
	free(changes->excluded);
	free(changes->claimed);
	free(changes->pods);
}

/* Whether the pod never adds anything to the reported state: the kubelet's managers assign nothing to the pod, or the object reports the
 * static pod instead of its mirror pod, or verdicts on the pod are unknown. */
static bool is_never_added(const struct pod_info *pod)
{
	return !pod->class->aligned || pod->mirror || pod->class->too_large;
}

/* Sets *ret and updates `changes`. Discards pod->held if it is for the whole pod and the rest is needed, or the reverse. */
static void compare_pod_with_object(const struct node_info *node, struct pod_info *pod, bool is_removed,
	struct node_changes *changes, struct pod_change *ret)
{
	enum reported reported;

	*ret = (struct pod_change){.added = false};
	if (is_never_added(pod))
		return;
	ret->own = claim_items(node, &pod->names, changes->claimed);
	reported = find_reported(node, pod, &ret->own, changes->fingerprint_matches, &ret->is_unknown);
	ret->is_partial = reported == REPORTED_PART;
	if (pod->held && pod->held_is_rest != (ret->is_partial && changes->adds_rest))
		pod_info_forget_held(pod);
	ret->added = !is_removed && reported != REPORTED_ALL && !holds_nothing(pod);
	changes->n_added += ret->added;
	if (is_removed || (ret->is_partial && !changes->adds_rest))
		mark_excluded(&ret->own, changes->excluded);
}

/* Compares the node's pods with its object. The pods whose without[i] is set are removed; NULL = none. *ret is to be released. */
static void compare_node_with_object(
	const struct node_info *node, const bool *without, bool adds_rest, struct node_changes *ret)
{
	const struct allocations *a = &node->object.state.allocations;

	*ret = (struct node_changes){.excluded = xcalloc(a->n_items + 1, sizeof(*ret->excluded)),
		.claimed = xcalloc(a->n_items + 1, sizeof(*ret->claimed)),
		.pods = xcalloc(node->n_pods + 1, sizeof(*ret->pods)),
		.removes_none = !without,
		.fingerprint_matches = zones_count_match_fingerprint(node),
		.adds_rest = adds_rest};
	for (size_t i = 0; i < node->n_pods; i++)
		compare_pod_with_object(node, node->pods[i], without && without[i], ret, &ret->pods[i]);
	/* Ended pods come last, so that an ended pod does not claim the items of a remaining pod. */
	for (size_t i = 0; i < node->n_ended; i++) {
		struct reported_items own = claim_items(node, &node->ended[i].names, ret->claimed);

		mark_excluded(&own, ret->excluded);
	}
}

/* How much of the pod the object reports; REPORTED_ALL also of a pod that holds nothing. */
static enum reported find_reported_part(
	const struct node_info *node, const struct pod_info *pod, bool fingerprint_matches)
{
	struct reported_items own;
	bool unknown;

	if (is_never_added(pod))
		return REPORTED_ALL;
	own = reported_find(&node->reported, &pod->names);
	return holds_nothing(pod) ? REPORTED_ALL
				  : find_reported(node, pod, &own, fingerprint_matches, &unknown);
}

bool project_node_changes_nothing(const struct node_info *node)
{
	const bool matches = zones_count_match_fingerprint(node);

	for (size_t i = 0; i < node->n_pods; i++)
		if (find_reported_part(node, node->pods[i], matches) != REPORTED_ALL)
			return false;
	return node->n_ended == 0;
}

/* Whether add_placed_pod() adds pod->held to a state with these shared CPUs, and nothing but CPUs. */
static bool adds_held_cpus(const struct pod_info *pod, hwloc_const_bitmap_t shared)
{
	return pod->held && !pod->held_is_rest && pod->held->n_memory == 0 && pod->held->n_devices == 0 &&
	       hwloc_bitmap_isincluded(pod->held->cpus, shared);
}

bool project_node_shared_cpus(const struct node_info *node, hwloc_bitmap_t *ret)
{
	const struct node_state *state = &node->object.state;
	const bool matches = zones_count_match_fingerprint(node);
	CLEANUP(cpuset_freep) hwloc_bitmap_t shared = NULL;

	if (node->n_ended > 0 || !node_shared_cpus(state))
		return false;
	shared = cpuset_dup(node_shared_cpus(state));
	for (size_t i = 0; i < node->n_pods; i++) {
		const struct pod_info *pod = node->pods[i];
		enum reported reported = find_reported_part(node, pod, matches);

		if (reported == REPORTED_ALL)
			continue;
		if (reported != REPORTED_NOTHING || !state->allocations.shared ||
			!adds_held_cpus(pod, shared))
			return false;
		cpuset_andnot(shared, shared, pod->held->cpus);
	}
	*ret = TAKE(shared);
	return true;
}

/* ---- what the kubelet will assign to pods that the object does not report */

/* What the kubelet assigns to a pod with this request; NULL = the kubelet rejects the pod. */
static struct allocation *admit_request(
	struct node_admission *admission, const struct pod_request *pod, enum qos_class qos)
{
	struct allocation *held;
	struct kubelet_verdict v;

	kubelet_judge(&admission->kubelet, admission->ws, pod, qos, &v);
	if (v.answer != KUBELET_ADMITS)
		return NULL;
	held = xcalloc(1, sizeof(*held));
	admission_placed_item(admission, pod, &v, held);
	return held;
}

/* `held` moves to the pod. */
static void set_held(const struct projections *p, struct pod_info *pod, struct allocation *held)
{
	pod_info_forget_held(pod);
	pod->held = held;
	pod->held_version = p->cluster->version;
	text_set(&held->pod_uid, pod->names.uid);
	text_set(&held->pod, pod->names.pod);
}

static struct allocation *admit_rest(struct node_admission *admission, const struct node_info *node,
	const struct pod_info *pod, const struct reported_items *own)
{
	CLEANUP(pod_request_release) struct pod_request rest;

	reported_rest(&node->reported, &node->object.state, pod->class, own, &rest);
	return admit_request(admission, &rest, rest.qos);
}

/* Sets pod->held to what the kubelet assigns to the pod on a node in the state `before`. No change if the kubelet
 * rejects the pod. */
static void place_pod(const struct projections *p, const struct projected_state *before,
	const struct node_info *node, struct pod_info *pod, const struct pod_change *pod_change,
	bool adds_rest)
{
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	struct allocation *held;
	bool is_rest = pod_change->is_partial && adds_rest;

	node_admission_init(&admission, &before->state);
	held = is_rest ? admit_rest(&admission, node, pod, &pod_change->own)
		       : admit_request(&admission, &pod->class->pod, pod->class->qos);
	if (!held)
		return;
	set_held(p, pod, held);
	pod->held_is_rest = is_rest;
}

/* A rejection stays valid until something on the node becomes free. */
static bool is_known_rejected(const struct node_info *node, uint64_t found_at)
{
	return found_at > 0 && found_at >= node->freed_version;
}

/* Adds the pod to the projected state `o`. Computes pod->held if it is NULL, or if another pod in `o` holds the same
 * resources. 0, also if the kubelet would reject the pod; -ETIME. */
static int add_placed_pod(struct projections *p, struct projected_state *o, const struct node_info *node,
	struct pod_info *pod, const struct pod_change *pod_change, const struct node_changes *changes)
{
	/* pod->rejected_version is about the whole pod, on the node with all its pods. */
	bool can_cache = changes->removes_none && !(pod_change->is_partial && changes->adds_rest);

	if (pod->held && !projected_state_has_free(o, pod->held))
		pod_info_forget_held(pod);
	if (!pod->held && !(can_cache && is_known_rejected(node, pod->rejected_version))) {
		if (!work_limit_goes_on(&p->work))
			return -ETIME;
		p->work.advanced = true;
		place_pod(p, o, node, pod, pod_change, changes->adds_rest);
		if (!pod->held && can_cache)
			pod->rejected_version = p->cluster->version;
	}
	if (pod->held)
		projected_state_add(o, pod->held);
	return 0;
}

/* ---- whether a computed placement contains the reported part */

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

/* Whether `held` has the item's CPUs, as many devices on the same NUMA nodes, and memory on the same NUMA nodes. */
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

static bool has_items(
	const struct node_info *node, const struct pod_info *pod, const struct reported_items *own)
{
	const struct allocation *items = node->object.state.allocations.items;
	bool has = pod->held != NULL;

	for (size_t i = 0; i < own->n_by_uid && has; i++)
		has = has_item(pod->held, &items[own->by_uid[i].item]);
	for (size_t i = 0; i < own->n_by_name && has; i++)
		has = has_item(pod->held, &items[own->by_name[i].item]);
	return has;
}

/* ---- the projection */

/* Limits the admission to the Node's allocatable minus the requests of its pods. Without a Node object there is no limit. */
static void limit_to_node(struct projected_node *o, const struct node_info *node, const bool *without)
{
	CLEANUP(resource_list_release) struct resource_list requestable = {0};

	if (!node->has_node)
		return;
	node_info_requestable(node, without, &requestable);
	node_admission_limit(&o->admission, &requestable);
}

/* Adds the pods. *ret_matches: the placement of each partially reported pod contains the pod's reported part. */
static int add_placed_pods(struct projections *p, struct projected_node *o, const struct node_info *node,
	const struct node_changes *changes, bool *ret_matches)
{
	int r = 0;

	projected_state_init(&o->node, &node->object.state, changes->excluded);
	*ret_matches = true;
	o->n_unplaced = 0;
	for (size_t i = 0; i < node->n_pods && r == 0; i++) {
		const struct pod_change *c = &changes->pods[i];

		if (!c->added)
			continue;
		r = add_placed_pod(p, &o->node, node, node->pods[i], c, changes);
		o->n_unplaced += !node->pods[i]->held;
		if (r == 0 && c->is_partial && !changes->adds_rest)
			*ret_matches = *ret_matches && has_items(node, node->pods[i], &c->own);
	}
	return r;
}

/*
 * Builds the projection of a node whose object has a state, without the pods whose without[i] is set. A partially reported pod
 * is being admitted: first the whole pod is placed again from its requests. If the placement does not contain the reported
 * part, the reported part counts as held and only the rest is placed. 0 or -ETIME; `o` and `changes` are to be released in
 * either case.
 */
static int build_projection(struct projections *p, struct projected_node *o, const struct node_info *node,
	const bool *without, struct node_changes *changes)
{
	bool matches;
	int r;

	/* Cached projections borrow pod->held, which may be replaced now, and can be found again: cluster_show_hidden_pods() gives a node an earlier
	 * version. */
	projections_forget(p, node->slot);
	compare_node_with_object(node, without, false, changes);
	r = add_placed_pods(p, o, node, changes, &matches);
	if (r == 0 && !matches) {
		projected_state_release(&o->node);
		node_changes_release(changes);
		compare_node_with_object(node, without, true, changes);
		r = add_placed_pods(p, o, node, changes, &matches);
	}
	if (r < 0)
		return r;
	projected_state_finish(&o->node);
	node_admission_init(&o->admission, &o->node.state);
	o->admission.handlers.max_kubelet_ns = p->max_kubelet_ns;
	limit_to_node(o, node, without);
	return 0;
}

/* Whether the kubelet may still have to admit the pod. A pod whose reported part counts has been admitted: only the rest is added. */
static bool is_in_flight(const struct node_info *node, const struct node_changes *changes, size_t i)
{
	return changes->pods[i].added && !holds_nothing(node->pods[i]) &&
	       !(changes->pods[i].is_partial && changes->adds_rest);
}

/* Whether the kubelet admitted the pod before the other pod's end. The kubelet reports changes of pods in no order: an end that is reported soon
 * after an admission may have come first. */
static bool is_admitted_before(const struct pod_info *pod, const struct ended_pod *ended)
{
	return pod->admitted && pod->admitted_version < ended->version &&
	       ended->ended_ms > pod->admitted_ms + REPORT_LAG_MS;
}

/* Whether another pod ended after this pod was placed on the node, but perhaps before the kubelet admitted this pod. */
static bool may_arrive_after(const struct pod_info *pod, const struct ended_pod *ended)
{
	return ended->version > pod->placed_version && !is_admitted_before(pod, ended);
}

/* The pods that may have ended before this pod arrived at the kubelet. */
static size_t count_ends_before(const struct node_info *node, const struct pod_info *pod)
{
	size_t n = 0;

	for (size_t i = 0; i < node->n_ended; i++)
		n += may_arrive_after(pod, &node->ended[i]);
	return n;
}

/* Whether a pod ended after the kubelet had admitted this in-flight pod. */
static bool was_admitted_before_an_end(const struct node_info *node, const struct pod_info *pod)
{
	for (size_t i = 0; i < node->n_ended; i++)
		if (is_admitted_before(pod, &node->ended[i]))
			return true;
	return false;
}

/* Whether pod->held was computed after the other pod's end, and may differ from what the kubelet would have assigned before this end. If the
 * kubelet would have rejected the pod before this end, the pod has been admitted after this end, and pod->held is right. */
static bool is_held_since(const struct pod_info *pod, const struct ended_pod *ended)
{
	bool was_rejected = pod->rejected_version > 0 && pod->rejected_version < ended->version;

	return pod->held && pod->held_version >= ended->version &&
	       !(was_rejected && may_arrive_after(pod, ended));
}

/* Whether pod->held may differ from what the kubelet assigned to this pod if the pod arrived before the end of another pod: the
 * kubelet may have admitted pods in another order than they were placed in, or pod->held was computed after the end. */
static bool has_unknown_place(const struct node_info *node, const struct pod_info *pod)
{
	for (size_t i = 0; i < node->n_ended; i++) {
		const struct ended_pod *ended = &node->ended[i];
		bool overlaps = pod->overlaps_version > 0 && ended->version > pod->overlaps_version;

		if (ended->version > pod->bound_version &&
			(overlaps || (pod->admitted && !pod->held) || is_held_since(pod, ended)))
			return true;
	}
	return false;
}

/*
 * Whether it is unknown which other pods held resources when the in-flight pods arrived at the kubelet. A verdict
 * covers two cases: all in-flight pods arrived before the end of another pod (pod->held), or all arrived after this end
 * (in_flight_admit()). With several in-flight pods or several ended pods, some in-flight pods may have arrived before
 * an end and some after; a verdict does not cover these cases. A pod that was bound after an end has arrived after this end.
 */
static bool is_start_unknown(const struct node_info *node, const struct node_changes *changes)
{
	size_t n_affected = 0, max_ended = 0;    /* in-flight pods, and ended pods per in-flight pod */
	size_t n_in_flight = 0, n_preceding = 0; /* of these, pods admitted before an end */
	bool may_arrive_before = false;          /* an in-flight pod was bound before an end */

	for (size_t i = 0; i < node->n_pods; i++) {
		const struct pod_info *pod = node->pods[i];
		bool precedes_end;
		size_t n_ends_before;

		/* The pod of a reservation has not arrived at the kubelet yet. */
		if (pod->is_reservation || !is_in_flight(node, changes, i))
			continue;
		n_ends_before = count_ends_before(node, pod);
		precedes_end = was_admitted_before_an_end(node, pod);
		/* With both, the pod may have arrived between two ends. */
		if (precedes_end && n_ends_before > 0)
			return true;
		if ((precedes_end || n_ends_before > 0) && has_unknown_place(node, pod))
			return true;
		for (size_t k = 0; k < node->n_ended; k++)
			may_arrive_before = may_arrive_before || node->ended[k].version > pod->bound_version;
		n_affected += n_ends_before > 0;
		max_ended = n_ends_before > max_ended ? n_ends_before : max_ended;
		n_in_flight++;
		n_preceding += precedes_end;
	}
	/* With one affected pod and one end, a verdict covers both cases. If a pod was admitted before an end, the other pods may have arrived
	 * before or after this end. */
	return (may_arrive_before && n_affected * max_ended > 1) || (n_preceding > 0 && n_in_flight > 1);
}

/* The kubelet has admitted the pod, and the object names no pods: if the object has no room for the pod, a pod that the object counts has ended. */
static bool is_admitted_unnamed(const struct node_info *node, const struct pod_info *pod)
{
	return pod->admitted && node->object.basis == CLUSTER_ESTIMATED;
}

/* Does not add pods that the kubelet rejects even as the only in-flight pod: any user could block a node by binding a pod larger than
 * the node. Sets o->is_outdated and o->reserved. 0 or -ETIME. */
static int drop_rejected_pods(struct projections *p, struct projected_node *o, const struct node_info *node,
	struct node_changes *changes)
{
	for (size_t i = 0; i < node->n_pods; i++) {
		struct pod_info *pod = node->pods[i];
		bool admits = false;

		if (pod->held || !is_in_flight(node, changes, i))
			continue;
		if (!is_known_rejected(node, pod->rejected_alone_version)) {
			int r = in_flight_admit_alone(&o->in_flight, pod->class, &p->work, &admits);

			p->work.advanced = true;
			pod->rejected_alone_version = r == 0 && !admits ? p->cluster->version : 0;
			if (r < 0)
				return r;
		}
		if (admits)
			continue;
		if (is_admitted_unnamed(node, pod))
			o->is_outdated = true;
		else
			changes->pods[i].added = false;
		if (pod->is_reservation)
			o->reserved = true;
	}
	return 0;
}

/*
 * The kubelet may report admissions in another order than it admitted the pods. Pods whose admission was reported up to the returned version
 * were admitted before all other in-flight pods, which were not bound to the node yet.
 */
static uint64_t find_first_overlap(const struct node_info *node, const struct node_changes *changes)
{
	uint64_t first = VERSION_UNKNOWN, previous;

	do {
		previous = first;
		for (size_t i = node->n_pods; i-- > 0;) { /* the last placed first: one pass finds a chain */
			const struct pod_info *pod = node->pods[i];
			bool precedes = pod->admitted && pod->admitted_version <= first;

			/* Pods whose admission was reported after this pod's placement may have been admitted after this pod. */
			if (is_in_flight(node, changes, i) && pod->bound && !precedes &&
				pod->placed_version < first)
				first = pod->placed_version;
		}
	} while (first < previous);
	return first;
}

/* Adds the in-flight pods, first those that were admitted before all others. A pod that was admitted before another pod's end holds
 * pod->held: it is not placed again as if it had arrived after that end. 0 or -ETIME. */
static int collect_in_flight(struct projections *p, struct projected_node *o, const struct node_info *node,
	struct node_changes *changes)
{
	uint64_t first_overlap;
	int r;

	in_flight_init(&o->in_flight, &node->object.state, changes->excluded, changes->n_added);
	o->in_flight.kubelet = &o->admission.kubelet;
	r = drop_rejected_pods(p, o, node, changes);
	if (r < 0)
		return r;
	o->in_flight.unknown_start = o->is_outdated || is_start_unknown(node, changes);
	first_overlap = find_first_overlap(node, changes);
	for (size_t i = 0; i < node->n_pods; i++)
		if (is_in_flight(node, changes, i) && !node->pods[i]->is_reservation) {
			o->n_unreported++;
			o->n_unknown += changes->pods[i].is_unknown;
		}
	for (unsigned pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < node->n_pods; i++) {
			const struct pod_info *pod = node->pods[i];
			bool precedes = pod->admitted && pod->admitted_version <= first_overlap;
			bool in_this_pass = pass == 0 ? precedes : !precedes;

			if (!in_this_pass || !is_in_flight(node, changes, i))
				continue;
			if (o->in_flight.unknown_start || !was_admitted_before_an_end(node, pod))
				in_flight_add(&o->in_flight, pod->class, precedes);
		}
	return 0;
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

/* NULL when the work limit is reached first. */
static struct projected_node *make_projection(struct projections *p, const struct node_info *node)
{
	CLEANUP(projected_node_freep) struct projected_node *o = xcalloc(1, sizeof(*o));
	CLEANUP(node_changes_release) struct node_changes changes = {0};
	struct projected_node *made = o;

	if (build_projection(p, o, node, NULL, &changes) < 0 || collect_in_flight(p, o, node, &changes) < 0)
		return NULL;
	o->slot = node->slot;
	o->version = node->version;
	o->amounts_version = node->amounts_version;
	cache_projection(p, node->slot, TAKE(o));
	return made;
}

/* make_projection() within the node's share: each microsecond of CPU time moves paid_us by NODE_WORK_SHARE microseconds, and paid_us
 * may be ahead of the clock by the burst. */
static struct projected_node *project_within_share(struct projections *p, const struct node_info *node)
{
	const uint64_t now_us = p->now_ms * 1000, burst_us = NODE_WORK_BURST_MS * NODE_WORK_SHARE * 1000;
	const uint64_t begun_ns = work_now_ns();
	struct work_limit request = p->work;
	struct projected_node *made;
	uint64_t *paid_us;

	vec_grow(&p->node_work, &p->node_work_size, p->cluster->n_nodes, sizeof(*p->node_work));
	paid_us = &p->node_work[node->slot].paid_us;
	if (*paid_us < now_us)
		*paid_us = now_us;
	if (*paid_us >= now_us + burst_us)
		return NULL;
	p->work = work_limit_part(&request, (now_us + burst_us - *paid_us) / NODE_WORK_SHARE * 1000);
	made = make_projection(p, node);
	work_limit_end_part(&request, &p->work);
	p->work = request;
	*paid_us += (work_now_ns() - begun_ns) / 1000 * NODE_WORK_SHARE;
	return made;
}

struct projected_node *project_node(struct projections *p, const struct node_info *node)
{
	struct projected_node *found = find_cached(p, node);

	if (found)
		return found;
	/* Only requests with a work limit charge the node. */
	return p->work.until_ns > 0 ? project_within_share(p, node) : make_projection(p, node);
}

const struct node_state *project_node_state(
	struct projections *p, const struct node_info *node, struct projected_node **ret)
{
	*ret = project_node_changes_nothing(node) ? NULL : project_node(p, node);
	return *ret ? &(*ret)->node.state : &node->object.state;
}

int project_node_without(
	struct projections *p, const struct node_info *node, const bool *excluded, struct projected_node *ret)
{
	CLEANUP(node_changes_release) struct node_changes changes = {0};

	*ret = (struct projected_node){0};
	return build_projection(p, ret, node, excluded, &changes);
}

const struct pod_info *project_assume_pod(
	struct projections *p, const struct assume_request *request, struct node_info *node, uint64_t now_ms)
{
	const struct work_limit limit = p->work;
	struct projected_node *o;
	struct allocation *held = NULL;
	struct pod_info *pod;

	p->work = (struct work_limit){0};
	o = project_node_possible(node) && !request->class->too_large ? project_node(p, node) : NULL;
	p->work = limit;
	if (o) /* the projection does not have the pod yet */
		held = admit_request(&o->admission, &request->class->pod, request->class->qos);
	pod = cluster_assume_pod(p->cluster, request, node, now_ms);
	if (held && pod) {
		set_held(p, pod, held);
		return pod;
	}
	if (held)
		allocation_release(held);
	free(held);
	return pod;
}
