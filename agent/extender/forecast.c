/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/forecast.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/resource_name.h"
#include "common/text.h"

#define ESTIMATE_LAG_MS 3000u /* an exporter has read the kubelet by then */

/* ---- what the object shows */

/* So much of a state's item is the pod's: its CPUs and devices. */
static void count_item(const struct allocation *item, size_t *cpus, size_t *devices)
{
	*cpus += cpuset_size(item->cpus);
	for (size_t i = 0; i < item->n_devices; i++)
		*devices += item->devices[i].ids.n_items;
}

static size_t devices_wanted(const struct shape *shape)
{
	size_t n = 0;

	for (size_t i = 0; i < shape->wanted.n_items; i++)
		if (!resource_name_is_native(shape->wanted.items[i].name))
			n += (size_t)(shape->wanted.items[i].quantity.nano / QTY_UNIT);
	return n;
}

/* What the object shows of a pod. */
enum shown { SHOWN_NOTHING, SHOWN_PART, SHOWN_ALL };

/*
 * The kubelet writes its files one after the other while it admits a pod, so an object from in between has some of what
 * the pod gets. It is all of it when there are as many CPUs and devices as the pod asks for, and memory where the
 * kubelet reserves it. An object of another exporter names nobody: it is taken to show who was bound some time before it
 * came.
 */
static enum shown find_shown(const struct book_node *node, const struct book_pod *pod)
{
	const struct node_state *state = &node->object.state;
	size_t cpus = 0, devices = 0;
	bool found = false, memory = false;

	if (node->object.basis == CLUSTER_ESTIMATED)
		return pod->bound && (pod->bound_ms == 0 ||
					     node->object_ms >= pod->bound_ms + ESTIMATE_LAG_MS)
			       ? SHOWN_ALL
			       : SHOWN_NOTHING;
	for (size_t i = 0; i < state->allocations.n_items; i++) {
		const struct allocation *item = &state->allocations.items[i];

		if (!pod_names_match(&pod->names, item))
			continue;
		found = true;
		memory = memory || item->n_memory > 0;
		count_item(item, &cpus, &devices);
	}
	if (!found)
		return SHOWN_NOTHING;
	if (state->settings.cpu_manager == CPU_MANAGER_STATIC && cpus < pod->shape->cpus)
		return SHOWN_PART;
	if (state->settings.memory_manager == MEMORY_MANAGER_STATIC && pod->shape->qos == QOS_GUARANTEED &&
		!pod->shape->pod.has_pod_resources && !memory)
		return SHOWN_PART;
	return devices < devices_wanted(pod->shape) ? SHOWN_PART : SHOWN_ALL;
}

static void mark(const struct allocations *a, const struct pod_names *names, bool *gone)
{
	for (size_t i = 0; i < a->n_items; i++)
		gone[i] = gone[i] || pod_names_match(names, &a->items[i]);
}

/* The kubelet's managers have nothing to give it: no object will ever show it. */
static bool holds_nothing(const struct book_pod *pod)
{
	return pod->held && hwloc_bitmap_iszero(pod->held->cpus) && pod->held->n_memory == 0 &&
	       pod->held->n_devices == 0;
}

/* Which items of the object do not count, and which pods are added. */
struct sorting {
	bool *gone;  /* by item */
	bool *added; /* by the node's pods */
	size_t n_added;
};

static void sorting_release(struct sorting *s)
{
	free(s->gone);
	free(s->added);
}

/* without[i] belongs to node->pods[i] and may be NULL. 0 or -ENOMEM; to be released in either case. */
static int sort_out(const struct book_node *node, const bool *without, struct sorting *ret)
{
	const struct allocations *a = &node->object.state.allocations;

	*ret = (struct sorting){.gone = calloc(a->n_items + 1, sizeof(*ret->gone)),
		.added = calloc(node->n_pods + 1, sizeof(*ret->added))};
	if (!ret->gone || !ret->added)
		return -ENOMEM;
	for (size_t i = 0; i < node->n_ended; i++)
		mark(a, &node->ended[i].names, ret->gone);
	for (size_t i = 0; i < node->n_pods; i++) {
		const struct book_pod *pod = node->pods[i];
		enum shown shown = pod->shape->aligned ? find_shown(node, pod) : SHOWN_ALL;
		bool leaves = without && without[i];

		ret->added[i] = !leaves && shown != SHOWN_ALL && !holds_nothing(pod);
		ret->n_added += ret->added[i];
		if (leaves || shown == SHOWN_PART)
			mark(a, &pod->names, ret->gone);
	}
	return 0;
}

/* ---- what pods get that it does not show */

/* What a pod of the shape gets of this kubelet, NULL = it is refused. 0 or -ENOMEM. */
static int take_item(struct node_asker *asker, const struct shape *shape, struct allocation **ret)
{
	CLEANUP(freep) struct allocation *held = calloc(1, sizeof(*held));
	struct kubelet_verdict v;
	int r = held ? kubelet_judge(&asker->kubelet, asker->ws, &shape->pod, shape->qos, &v) : -ENOMEM;

	*ret = NULL;
	if (r < 0 || v.answer != KUBELET_ADMITS)
		return r;
	r = node_outlook_item(asker, &shape->pod, &v, held);
	if (r == 0)
		*ret = TAKE(held);
	return r;
}

/* The pod has the item, which moves to it in either case. 0 or -ENOMEM. */
static int hold(struct book_pod *pod, struct allocation *held)
{
	book_forget_held(pod);
	pod->held = held;
	if (text_set(&held->pod_uid, pod->names.uid) == 0 && text_set(&held->pod, pod->names.pod) == 0)
		return 0;
	book_forget_held(pod);
	return -ENOMEM;
}

/* What the pod gets behind those before. A pod that is refused there gets nothing. */
static int work_out(const struct node_outlook *before, struct book_pod *pod)
{
	CLEANUP(node_asker_release) struct node_asker asker = {0};
	struct node_state state = before->state;
	struct allocation *held = NULL;
	int r;

	state.allocations = before->view;
	r = node_asker_init(&asker, &state);
	if (r == 0)
		r = take_item(&asker, pod->shape, &held);
	return r < 0 || !held ? r : hold(pod, held);
}

/* The kubelet has pods in the order of their coming. What one gets is worked out once, and again only where another has
 * it by now. */
static int add_pod(struct node_outlook *o, struct book_pod *pod)
{
	int r = 0;

	if (pod->held && !node_outlook_has(o, pod->held))
		book_forget_held(pod);
	if (!pod->held)
		r = work_out(o, pod);
	return r < 0 || !pod->held ? r : node_outlook_add(o, pod->held);
}

/* ---- the whole */

/* What can still be requested of the whole node, where there is a Node. */
static int limit(struct outlook *o, const struct book_node *node, const bool *without)
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
				held -= resource_list_amount(&node->pods[k]->shape->wanted, q->name);
		q->quantity.nano = q->quantity.nano > held ? q->quantity.nano - held : 0;
	}
	return r < 0 ? r : node_asker_limit(&o->asker, &most);
}

/* Of a node whose object has a state, without the pods whose without[i] is set. 0 or -ENOMEM; to be released in either
 * case. */
static int make(struct outlook *o, const struct book_node *node, const bool *without, const struct sorting *s)
{
	int r = node_outlook_init(&o->node, &node->object.state, s->gone);

	for (size_t i = 0; i < node->n_pods && r == 0; i++)
		if (s->added[i])
			r = add_pod(&o->node, node->pods[i]);
	if (r == 0)
		r = node_outlook_finish(&o->node);
	if (r == 0)
		r = node_asker_init(&o->asker, &o->node.state);
	return r < 0 ? r : limit(o, node, without);
}

/* So many of those who have ended were there when the pod was promised, and may have been when it came. */
static size_t ended_on_its_way(const struct book_node *node, const struct book_pod *pod)
{
	size_t n = 0;

	for (size_t i = 0; i < node->n_ended; i++) {
		uint64_t at = node->ended[i].at;

		n += at > pod->since && (!pod->arrived || pod->arrived_at > at);
	}
	return n;
}

/*
 * Whether it is open what the kubelet had when those on their way came. That all of them came before the end of a pod is
 * looked at, and that all came after it; what lies between two ends, or between two who come, is not.
 */
static bool ends_on_the_way(const struct book_node *node, const struct sorting *s)
{
	size_t pods = 0, ends = 0;

	for (size_t i = 0; i < node->n_pods; i++) {
		size_t n = s->added[i] && !holds_nothing(node->pods[i])
				   ? ended_on_its_way(node, node->pods[i])
				   : 0;

		pods += n > 0;
		ends = n > ends ? n : ends;
	}
	return pods * ends > 1;
}

/* Those who are added are on their way, but those whom the managers have nothing to give to. */
static int make_arrivals(struct outlook *o, const struct book_node *node, const struct sorting *s)
{
	int r = arrivals_init(&o->arrivals, &node->object.state, s->gone, s->n_added);

	o->arrivals.open = ends_on_the_way(node, s);
	for (unsigned turn = 0; turn < 2 && r == 0; turn++)
		for (size_t i = 0; i < node->n_pods; i++) {
			const struct book_pod *pod = node->pods[i];

			if (s->added[i] && !holds_nothing(pod) && pod->arrived == (turn == 0))
				arrivals_add(&o->arrivals, pod->shape, pod->arrived);
		}
	return r;
}

bool forecast_possible(const struct book_node *node)
{
	return node->has_object && node->object.basis != CLUSTER_UNKNOWN;
}

static void outlook_freep(struct outlook **o)
{
	if (*o)
		outlook_release(*o);
	free(*o);
}

int forecast(struct book *b, const struct book_node *node, struct outlook **ret)
{
	CLEANUP(outlook_freep) struct outlook *o = NULL;
	CLEANUP(sorting_release) struct sorting s = {0};
	int r;

	*ret = outlooks_find(&b->outlooks, node->slot, node->version, node->amounts);
	if (*ret)
		return 0;
	o = calloc(1, sizeof(*o));
	r = o ? sort_out(node, NULL, &s) : -ENOMEM;
	if (r == 0)
		r = make(o, node, NULL, &s);
	if (r == 0)
		r = make_arrivals(o, node, &s);
	if (r < 0)
		return r;
	o->version = node->version;
	o->amounts = node->amounts;
	*ret = o;
	outlooks_keep(&b->outlooks, node->slot, TAKE(o));
	return 0;
}

int forecast_without(struct book *b, const struct book_node *node, const bool *gone, struct outlook *ret)
{
	CLEANUP(sorting_release) struct sorting s = {0};
	int r = sort_out(node, gone, &s);

	*ret = (struct outlook){0};
	/* What pods hold may be worked out again, and the other one borrows it. */
	outlooks_forget(&b->outlooks, node->slot);
	return r < 0 ? r : make(ret, node, gone, &s);
}

int forecast_promise(
	struct book *b, const struct book_promise *promise, struct book_node *node, uint64_t now_ms)
{
	struct allocation *held = NULL;
	struct book_pod *pod = NULL;
	struct outlook *o;
	int r = forecast_possible(node) ? forecast(b, node, &o) : 0;

	if (r == 0 && forecast_possible(node))
		r = take_item(&o->asker, promise->shape, &held);
	if (r == 0)
		r = book_promise(b, promise, node, now_ms, &pod);
	if (r == 0 && held && pod)
		return hold(pod, held);
	if (held)
		allocation_release(held);
	free(held);
	return r;
}
