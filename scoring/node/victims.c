/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/node/victims.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node/projected_state.h"
#include "scoring/request.h"

/* ---- sets of candidates, the lowest cost first */

#define NO_SET SIZE_MAX

/*
 * The members of the set `before`, and the candidate `last`. Stands also for its descendants, which are not in the heap yet: the sets of the
 * members of `before` and at least one candidate from `last` on.
 */
struct victims_set {
	victims_cost cost;  /* of this set */
	victims_cost order; /* of the heap: neither the set nor a descendant that frees enough costs less */
	size_t before;      /* index of a set; NO_SET = no members */
	uint32_t node;      /* index in nodes[] */
	uint32_t last;      /* index of a candidate */
	uint32_t n;         /* members, with `last` */
	uint32_t more;      /* so many candidates at least, with `last`, must join `before` to free enough */
};

void victims_search_release(struct victims_search *s)
{
	for (size_t i = 0; i < s->n_nodes; i++)
		victim_candidates_release(&s->nodes[i]);
	free(s->nodes);
	free(s->sets);
	free(s->heap);
	free(s->leaves);
	*s = (struct victims_search){0};
}

/* Compares sets of equal size by their first members that differ. */
static int compare_members(const struct victims_search *s, size_t a, size_t b)
{
	const struct victims_set *x, *y;
	int before;

	if (a == b || a == NO_SET)
		return 0;
	x = &s->sets[a];
	y = &s->sets[b];
	before = compare_members(s, x->before, y->before);
	return before ? before : (x->last > y->last) - (x->last < y->last);
}

/* Whether the search takes set a before set b. */
static bool is_before(const struct victims_search *s, size_t a, size_t b)
{
	const struct victims_set *x = &s->sets[a], *y = &s->sets[b];

	if (x->order != y->order)
		return x->order < y->order;
	if (x->node != y->node) /* equal nodes have sets of equal order: finish one node before the next */
		return x->node < y->node;
	/* A set that costs less than its order does not free enough itself: try the set whose cost is nearer first. */
	if (x->cost != y->cost)
		return x->cost > y->cost;
	return x->n != y->n ? x->n < y->n : compare_members(s, a, b) < 0;
}

static void push_heap(struct victims_search *s, size_t set)
{
	size_t at;

	vec_push(&s->heap, &s->n_heap, &s->heap_size, sizeof(*s->heap));
	for (at = s->n_heap - 1; at > 0 && is_before(s, set, s->heap[(at - 1) / 2]); at = (at - 1) / 2)
		s->heap[at] = s->heap[(at - 1) / 2];
	s->heap[at] = set;
}

static size_t pop_heap(struct victims_search *s)
{
	size_t first = s->heap[0], last = s->heap[--s->n_heap], at = 0;

	for (size_t child = 1; child < s->n_heap; child = 2 * at + 1) {
		if (child + 1 < s->n_heap && is_before(s, s->heap[child + 1], s->heap[child]))
			child++;
		if (!is_before(s, s->heap[child], last))
			break;
		s->heap[at] = s->heap[child];
		at = child;
	}
	s->heap[at] = last;
	return first;
}

/* Sets s->leaves to the members of the set. */
static void set_leaves(struct victims_search *s, uint32_t node, size_t set)
{
	const struct victim_candidates *previous = &s->nodes[s->leaves_node], *c = &s->nodes[node];

	for (size_t i = 0; i < previous->n_items; i++)
		s->leaves[previous->items[i].pod] = false;
	for (; set != NO_SET; set = s->sets[set].before)
		s->leaves[c->items[s->sets[set].last].pod] = true;
	s->leaves_node = node;
}

/*
 * Adds the set of the members of `before`, which s->leaves has, and `last`, unless neither this set nor any descendant can free enough, or
 * all cost too much. `more` is a lower bound of victims_set.more. The set gets the index `at`: s->n_sets, or that of a set to overwrite.
 * False: not added.
 */
static bool push_set(
	struct victims_search *s, size_t at, uint32_t node_index, size_t before, size_t last, size_t more)
{
	const struct victim_candidates *node = &s->nodes[node_index];
	size_t n = before == NO_SET ? 0 : s->sets[before].n;
	size_t most = node->n_items - last; /* candidates that a descendant can add to `before` */
	victims_cost own, cost = before == NO_SET ? 0 : s->sets[before].cost, order;

	if (s->max_pods > 0 && most > s->max_pods - n)
		most = s->max_pods - n;
	if (most == 0 || more > most || !victim_candidates_may_free(node, s->leaves, last, most))
		return false;
	/* `more` stays within `most`, with which victim_candidates_may_free() was true. */
	while (!victim_candidates_may_free(node, s->leaves, last, more))
		more++;
	/* Sorted by cost: no candidate from `last` on costs less. */
	own = node->items[last].cost;
	order = cost + more * own;
	if (order < node->min_cost)
		order = node->min_cost;
	if (s->max_cost > 0 && order >= s->max_cost)
		return false;
	if (at == s->n_sets)
		vec_push(&s->sets, &s->n_sets, &s->sets_size, sizeof(*s->sets));
	s->sets[at] = (struct victims_set){.cost = cost + own,
		.order = order,
		.before = before,
		.node = node_index,
		.last = (uint32_t)last,
		.n = (uint32_t)(n + 1),
		.more = (uint32_t)more};
	push_heap(s, at);
	return true;
}

void victims_search_add(struct victims_search *s, struct victim_candidates *candidates)
{
	struct victim_candidates *node = vec_push(&s->nodes, &s->n_nodes, &s->nodes_size, sizeof(*node));

	*node = *candidates;
	*candidates = (struct victim_candidates){0};
	for (size_t i = 0; i < node->n_items; i++)
		vec_grow(&s->leaves, &s->leaves_size, node->items[i].pod + 1, sizeof(*s->leaves));
	set_leaves(s, (uint32_t)(s->n_nodes - 1), NO_SET); /* forget the pods of another node */
	if (node->n_items > 0)
		push_set(s, s->n_sets, (uint32_t)(s->n_nodes - 1), NO_SET, 0, 1);
}

static bool are_alike(const struct victim_candidate *a, const struct victim_candidate *b)
{
	return a->cost == b->cost && a->kind && b->kind && !strcmp(a->kind, b->kind);
}

/*
 * Adds the two successors of a set: with the next candidate added, and with the last member replaced by the next candidate of
 * another kind. In this way every set is considered once, after all sets with a lower cost.
 */
static void push_successors(struct victims_search *s, size_t at)
{
	const struct victims_set set = s->sets[at];
	const struct victim_candidates *node = &s->nodes[set.node];
	size_t next = set.last + 1u;
	bool has_descendant = false; /* in the heap: it refers to the set by its index */

	if (next < node->n_items) {
		set_leaves(s, set.node, at);
		has_descendant = push_set(s, s->n_sets, set.node, at, next, set.more > 1 ? set.more - 1 : 1);
	}
	while (next < node->n_items && are_alike(&node->items[set.last], &node->items[next]))
		next++;
	if (next < node->n_items) {
		set_leaves(s, set.node, set.before);
		push_set(s, has_descendant ? s->n_sets : at, set.node, set.before, next, set.more);
	}
}

bool victims_search_next(
	struct victims_search *s, uint64_t *steps, uint64_t max_steps, struct victims_found *ret)
{
	while (s->n_heap > 0 && *steps < max_steps) {
		size_t at = pop_heap(s);
		const struct victims_set set = s->sets[at];
		const struct victim_candidates *node = &s->nodes[set.node];

		++*steps;
		push_successors(s, at);
		set_leaves(s, set.node, set.before);
		s->leaves[node->items[set.last].pod] = true;
		/* Most sets free too little themselves: they stand for their descendants, which the heap has now. */
		if (!victim_candidates_may_free(node, s->leaves, 0, 0))
			continue;
		*ret = (struct victims_found){.node = node, .leaves = s->leaves, .cost = set.cost};
		return true;
	}
	return false;
}

/* ---- sets that are enough */

static int judge_set(struct victims_judge *j, const bool *leaves, enum kubelet_answer *ret)
{
	int r = j->judge(j->data, leaves, ret);

	j->n_verdicts += r > 0;
	return r < 0 ? r : 0;
}

int victims_reprieve(struct victims_judge *j, const struct victim_candidates *candidates, const size_t *pods,
	size_t n_pods, bool *leaves)
{
	int r = 0;

	for (size_t i = 0; i < n_pods && r == 0; i++) {
		enum kubelet_answer answer = KUBELET_REJECTS;

		leaves[pods[i]] = false;
		if (!candidates || victim_candidates_may_free(candidates, leaves, 0, 0))
			r = judge_set(j, leaves, &answer);
		leaves[pods[i]] = r < 0 || answer != KUBELET_ADMITS; /* else the pod stays */
	}
	return r;
}

int victims_improve(struct victims_judge *j, struct victim_candidates *candidates, victims_cost cost,
	bool *leaves, size_t n_pods)
{
	CLEANUP(victims_search_release) struct victims_search s = {.max_cost = cost};
	enum kubelet_answer answer = KUBELET_REJECTS;
	struct victims_found found;
	uint64_t steps = 0;
	int r = 0;

	vec_grow(&s.leaves, &s.leaves_size, n_pods + 1, sizeof(*s.leaves));
	victims_search_add(&s, candidates);
	while (j->n_verdicts < j->max_verdicts && victims_search_next(&s, &steps, j->max_steps, &found)) {
		r = judge_set(j, found.leaves, &answer);
		if (r < 0 || answer == KUBELET_ADMITS)
			break;
	}
	if (r == 0 && answer == KUBELET_ADMITS)
		memcpy(leaves, found.leaves, n_pods * sizeof(*leaves));
	else if (r == 0 && s.n_heap > 0)
		r = -ETIME;       /* sets are left that were not judged */
	*candidates = s.nodes[0]; /* back to the caller */
	s.nodes[0] = (struct victim_candidates){0};
	return r;
}

/* ---- the smallest set for the state of one node */

void victims_release(struct victims *v)
{
	for (size_t i = 0; i < v->n_pods; i++) {
		free(v->pods[i].namespace);
		free(v->pods[i].name);
		free(v->pods[i].uid);
	}
	free(v->pods);
	*v = (struct victims){0};
}

struct node_question {
	const struct node_state *state;
	const struct pod_request *wanted;
	const struct victim_pods *pods;
};

/* Limits the admission to what can be requested of the whole node without these pods. */
static void limit_without(const struct node_question *q, const bool *leaves, struct node_admission *admission)
{
	CLEANUP(resource_list_release) struct resource_list requestable = {0};

	if (!q->pods->requestable)
		return;
	resource_list_add(&requestable, q->pods->requestable, 1);
	for (size_t i = 0; i < requestable.n_items; i++)
		for (size_t p = 0; p < q->pods->n_items && leaves; p++) {
			const struct resource_list *own = q->pods->items[p].requests;
			struct resource_quantity *sum = &requestable.items[i];

			if (own && leaves[p])
				sum->quantity.nano =
					qty_add(sum->quantity.nano, resource_list_amount(own, sum->name));
		}
	node_admission_limit(admission, &requestable);
}

/* struct victims_judge.judge: the kubelet's answer on the node without these pods; NULL = on the node as it is. */
static int judge_without(void *data, const bool *leaves, enum kubelet_answer *ret)
{
	CLEANUP(projected_state_release) struct projected_state without = {0};
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	const struct node_question *q = data;
	size_t n = q->state->allocations.n_items;
	CLEANUP(freep) bool *excluded = xcalloc(n + 1, sizeof(*excluded));
	struct kubelet_verdict v;

	for (size_t i = 0; i < n && leaves; i++)
		excluded[i] = leaves[q->pods->owners[i]];
	if (leaves) {
		projected_state_init(&without, q->state, excluded);
		projected_state_finish(&without);
	}
	node_admission_init(&admission, leaves ? &without.state : q->state);
	limit_without(q, leaves, &admission);
	node_admission_judge(&admission, q->wanted, &v);
	*ret = v.answer;
	return 1;
}

static int compare_victim_names(const void *va, const void *vb, void *pods)
{
	const struct victim_pod *items = pods;

	return victim_pod_compare(&items[((const struct victim_candidate *)va)->pod],
		&items[((const struct victim_candidate *)vb)->pod]);
}

/* Appends the pods of the set to *ret, by their names: sorts the candidates. */
static void report_set(const struct victim_pods *pods, struct victim_candidates *candidates,
	const bool *leaves, struct victims *ret)
{
	vec_sort(candidates->items, candidates->n_items, sizeof(*candidates->items), compare_victim_names,
		pods->items);
	for (size_t i = 0; i < candidates->n_items; i++) {
		const struct victim_candidate *c = &candidates->items[i];
		const struct victim_pod *pod = &pods->items[c->pod];

		if (!leaves[c->pod])
			continue;
		*(struct victim *)vec_push(&ret->pods, &ret->n_pods, &ret->pods_size, sizeof(*ret->pods)) =
			(struct victim){.namespace = xstrdup(pod->namespace),
				.name = xstrdup(pod->name),
				.uid = xstrdup(pod->uid),
				.cpus = c->cpus};
		ret->cpus += c->cpus;
	}
}

/*
 * Reprieves candidates of the set of all candidates: with `low_first` the candidates of low costs first, so that few pods with many CPUs
 * remain, otherwise those of high costs. *cost and leaves[]: the best set so far, which a set of lower cost replaces.
 */
static void reprieve_from_all(struct victims_judge *j, const struct victim_candidates *candidates,
	bool low_first, victims_cost *cost, bool *leaves, size_t n_pods)
{
	size_t n = candidates->n_items;
	CLEANUP(freep) bool *tried = xcalloc(n_pods + 1, sizeof(*tried));
	CLEANUP(freep) size_t *order = xcalloc(n + 1, sizeof(*order));
	victims_cost found = 0;

	for (size_t i = 0; i < n; i++) {
		order[low_first ? i : n - 1 - i] = candidates->items[i].pod;
		tried[candidates->items[i].pod] = true;
	}
	(void)victims_reprieve(j, candidates, order, n, tried); /* without a work limit */
	for (size_t i = 0; i < n; i++)
		found += tried[candidates->items[i].pod] ? candidates->items[i].cost : 0;
	if (found >= *cost)
		return;
	*cost = found;
	memcpy(leaves, tried, n_pods * sizeof(*leaves));
}

/*
 * Whether the set of all candidates is enough. A device that verdicts ignore can turn an admission into a rejection. For a pod of
 * several containers, the device can also turn a rejection into an admission, because one container goes to other NUMA nodes and
 * leaves its place to another container.
 */
static enum victims_answer answer_without_all(const struct node_question *q,
	const struct node_admission *admission, enum kubelet_answer without_all)
{
	CLEANUP(resource_list_release) struct resource_list wanted = {0};
	bool ignores_device;

	request_of_node(q->wanted, &wanted);
	ignores_device = node_admission_unknown_device(admission, &wanted) != NULL;
	if (without_all == KUBELET_UNKNOWN)
		return VICTIMS_UNKNOWN;
	if (ignores_device && (without_all == KUBELET_ADMITS || q->wanted->n_containers > 1))
		return VICTIMS_UNKNOWN;
	return without_all == KUBELET_ADMITS ? VICTIMS_SET : VICTIMS_NO_SET;
}

void victims_find(const struct node_state *state, const struct pod_request *wanted,
	const struct victim_pods *pods, struct victims *ret)
{
	struct node_question q = {.state = state, .wanted = wanted, .pods = pods};
	CLEANUP(victim_candidates_release) struct victim_candidates candidates = {0};
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	struct victims_judge j = {.judge = judge_without,
		.data = &q,
		.max_verdicts = VICTIMS_VERDICTS,
		.max_steps = VICTIMS_STEPS};
	CLEANUP(freep) bool *leaves = xcalloc(pods->n_items + 1, sizeof(*leaves));
	enum kubelet_answer answer;
	victims_cost cost = 0;

	*ret = (struct victims){0};
	judge_without(&q, NULL, &answer);
	if (answer != KUBELET_REJECTS) {
		ret->answer = answer == KUBELET_ADMITS ? VICTIMS_NOTHING : VICTIMS_UNKNOWN;
		return;
	}
	node_admission_init(&admission, state);
	victim_candidates_find(&admission, wanted, pods, &candidates);
	for (size_t i = 0; i < candidates.n_items; i++) {
		leaves[candidates.items[i].pod] = true;
		cost += candidates.items[i].cost;
	}
	if (candidates.n_items > 0)
		judge_without(&q, leaves, &answer);
	ret->movable = candidates.n_items;
	ret->answer = answer_without_all(&q, &admission, answer);
	if (ret->answer != VICTIMS_SET)
		return;
	reprieve_from_all(&j, &candidates, true, &cost, leaves, pods->n_items);
	reprieve_from_all(&j, &candidates, false, &cost, leaves, pods->n_items);
	ret->gave_up = victims_improve(&j, &candidates, cost, leaves, pods->n_items) < 0;
	ret->verdicts = j.n_verdicts;
	report_set(pods, &candidates, leaves, ret);
}
