/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cluster/plan.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define DEPTH_MAX 2u /* 2: a pod that leaves a node for a wanted pod may make another pod leave its node */

const char *const plan_fixed_names[PLAN_FIXED_COUNT] = {"movable", "DaemonSet", "static pod", "no controller",
	"local storage", "priority", "namespace", "PodDisruptionBudget", "several PodDisruptionBudgets",
	"terminating", "unknown requests", "reservation"};
const char *const plan_step_names[3] = {"move", "evict", "start"};
const char *const plan_outcome_names[3] = {"full", "partial", "none"};

void plan_release(struct plan *plan)
{
	for (size_t i = 0; i < plan->n_steps; i++) {
		free(plan->steps[i].cpus);
		free(plan->steps[i].numa);
	}
	free(plan->steps);
	free(plan->unplaced);
	*plan = (struct plan){0};
}

/* ---- which pods may move */

/*
 * What it costs to restart a pod: 16 plus its exclusive CPUs, times one plus the number of decimal digits of a priority above
 * 0. A restart without CPUs costs 16, a pod of 16 CPUs twice as much, a pod of priority 1000 five times as much.
 */
static uint64_t cost_of_restart(const struct simulated_pod *pod)
{
	uint64_t weight = 1;

	for (int32_t rest = pod->priority; rest > 0; rest /= 10)
		weight++;
	return weight * (16 + pod->class->cpus);
}

static enum plan_fixed find_fixed(
	const struct simulated_cluster *c, size_t pod, const struct plan_options *options)
{
	const struct simulated_pod *p = &c->pods[pod];

	if (p->reserved)
		return PLAN_FIXED_RESERVED;
	if (p->names.mirror)
		return PLAN_FIXED_STATIC;
	if (p->daemon)
		return PLAN_FIXED_DAEMON;
	if (!*p->owner && !options->allow_bare)
		return PLAN_FIXED_BARE;
	if (p->terminating)
		return PLAN_FIXED_TERMINATING;
	if (p->unreadable || p->class->too_large || p->class->pod.has_claims)
		return PLAN_FIXED_UNKNOWN;
	for (size_t i = 0; i < options->n_keep; i++)
		if (!strcmp(options->keep[i], p->namespace))
			return PLAN_FIXED_NAMESPACE;
	if (options->has_below_priority && (!p->priority_known || p->priority >= options->below_priority))
		return PLAN_FIXED_PRIORITY;
	if (p->local_storage && !options->allow_local_storage)
		return PLAN_FIXED_LOCAL_STORAGE;
	if (p->n_budgets > 1)
		return PLAN_FIXED_BUDGETS;
	return p->n_budgets == 1 && c->budgets[p->budget].allowed <= 0 ? PLAN_FIXED_BUDGET : PLAN_MOVABLE;
}

/* ---- the search */

/* Pods of one node that might leave: the first `n` members are indexes in the node's candidates. */
struct pod_set {
	uint64_t cost;
	size_t node; /* index in room.nodes */
	uint8_t n;
	uint16_t members[PLAN_SET_MAX];
};

/* A node on which room may be made. */
struct room_node {
	size_t node;
	size_t *candidates; /* pods that may leave, the cheapest first */
	size_t n_candidates;
};

struct room {
	struct room_node *nodes;
	size_t n_nodes, nodes_size;
	struct pod_set *heap; /* the cheapest set first */
	size_t n_heap, heap_size;
	size_t n_sets; /* taken from the heap */
};

struct search {
	struct simulated_cluster *c;
	const struct plan_options *options;
	struct plan *plan;
	bool *moved;             /* by pod; wanted pods too: no step moves them */
	bool *excluded;          /* by node: room is being made there */
	size_t n_leaving;        /* pods that have left their node and whose move is no step yet */
	uint64_t verdicts_limit; /* value of simulated_cluster.n_verdicts */
};

static void room_release(struct room *r)
{
	for (size_t i = 0; i < r->n_nodes; i++)
		free(r->nodes[i].candidates);
	free(r->nodes);
	free(r->heap);
	*r = (struct room){0};
}

static bool reached_limit(struct search *s)
{
	if (s->c->n_verdicts < s->verdicts_limit)
		return false;
	s->plan->gave_up = true;
	return true;
}

/* ---- steps */

static void describe_place(const struct simulated_cluster *c, struct plan_step *step)
{
	CLEANUP(pod_held_release) struct pod_held held = {0};

	simulated_held(c, step->pod, &held);
	step->cpus = held.found ? cpuset_print(held.cpus) : xstrdup("");
	step->numa = held.found ? cpuset_print(held.numa) : xstrdup("");
}

/* Adds a step that has been carried out. */
static void add_step(struct search *s, enum plan_step_kind kind, size_t pod, size_t from)
{
	struct plan *plan = s->plan;
	struct plan_step *step = vec_push(&plan->steps, &plan->n_steps, &plan->steps_size, sizeof(*step));
	const struct simulated_pod *p = &s->c->pods[pod];

	*step = (struct plan_step){.kind = kind,
		.pod = pod,
		.from = from,
		.to = p->node,
		.cost = kind == PLAN_START ? 0 : cost_of_restart(p),
		.allowed = p->n_budgets > 0 ? s->c->budgets[p->budget].allowed : -1};
	describe_place(s->c, step);
	plan->n_moves += kind != PLAN_START;
	plan->cost += step->cost;
	s->moved[pod] = true;
	if (kind == PLAN_EVICT && p->n_budgets > 0)
		s->c->budgets[p->budget].allowed--;
}

/* Reverts the steps from the one at `n_steps` on, and the cluster to `mark`. */
static void revert_steps(struct search *s, size_t n_steps, size_t mark)
{
	struct plan *plan = s->plan;

	while (plan->n_steps > n_steps) {
		struct plan_step *step = &plan->steps[--plan->n_steps];
		const struct simulated_pod *p = &s->c->pods[step->pod];

		plan->n_moves -= step->kind != PLAN_START;
		plan->cost -= step->cost;
		s->moved[step->pod] = false;
		if (step->kind == PLAN_EVICT && p->n_budgets > 0)
			s->c->budgets[p->budget].allowed++;
		free(step->cpus);
		free(step->numa);
	}
	simulated_undo(s->c, mark);
}

/* ---- the sets of pods, in ascending order of their cost */

static bool is_before(const struct pod_set *a, const struct pod_set *b)
{
	if (a->cost != b->cost)
		return a->cost < b->cost;
	return a->n != b->n ? a->n < b->n : a->node < b->node;
}

static void push_set(struct room *r, const struct pod_set *set)
{
	size_t at;

	vec_push(&r->heap, &r->n_heap, &r->heap_size, sizeof(*r->heap));
	for (at = r->n_heap - 1; at > 0 && is_before(set, &r->heap[(at - 1) / 2]); at = (at - 1) / 2)
		r->heap[at] = r->heap[(at - 1) / 2];
	r->heap[at] = *set;
}

static struct pod_set pop_set(struct room *r)
{
	struct pod_set first = r->heap[0], last = r->heap[--r->n_heap];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < r->n_heap) {
		if (child + 1 < r->n_heap && is_before(&r->heap[child + 1], &r->heap[child]))
			child++;
		if (!is_before(&r->heap[child], &last))
			break;
		r->heap[at] = r->heap[child];
		at = child;
	}
	r->heap[at] = last;
	r->n_sets++;
	return first;
}

static uint64_t cost_of(const struct search *s, const struct room_node *n, size_t candidate)
{
	return cost_of_restart(&s->c->pods[n->candidates[candidate]]);
}

/* The two sets after a set: the last member replaced by the next candidate, and the next candidate added. So every set comes
 * once, after all cheaper sets. */
static void push_successors(const struct search *s, struct room *r, const struct pod_set *set, size_t max)
{
	const struct room_node *n = &r->nodes[set->node];
	uint16_t last = set->members[set->n - 1];
	struct pod_set next = *set;

	if (last + 1u >= n->n_candidates)
		return;
	next.members[next.n - 1] = (uint16_t)(last + 1);
	next.cost += cost_of(s, n, last + 1u) - cost_of(s, n, last);
	push_set(r, &next);
	if (set->n >= PLAN_SET_MAX || set->n >= max)
		return;
	next = *set;
	next.members[next.n++] = (uint16_t)(last + 1);
	next.cost += cost_of(s, n, last + 1u);
	push_set(r, &next);
}

/* ---- candidates */

static bool may_leave(const struct search *s, size_t pod)
{
	return !s->moved[pod] && find_fixed(s->c, pod, s->options) == PLAN_MOVABLE;
}

/* Whether the kubelet admits the pod without all pods that may leave; `aligned`: only those that its managers may have
 * assigned something. */
static bool admits_without_all(struct search *s, size_t node, size_t pod, bool aligned)
{
	const struct simulated_node *n = &s->c->nodes[node];
	CLEANUP(freep) bool *without = xcalloc(n->n_pods + 1, sizeof(*without));
	bool any = false;

	for (size_t i = 0; i < n->n_pods; i++) {
		without[i] = may_leave(s, n->pods[i]) && (!aligned || s->c->pods[n->pods[i]].class->aligned);
		any = any || without[i];
	}
	return any && simulated_judge_without(s->c, node, without, pod) == KUBELET_ADMITS;
}

static int compare_costs(const void *va, const void *vb, void *cluster)
{
	size_t a = *(const size_t *)va, b = *(const size_t *)vb;
	const struct simulated_cluster *c = cluster;
	uint64_t cost_a = cost_of_restart(&c->pods[a]), cost_b = cost_of_restart(&c->pods[b]);

	return cost_a != cost_b ? (cost_a < cost_b ? -1 : 1) : (a > b) - (a < b);
}

static void find_candidates(const struct search *s, size_t node, bool aligned, struct room_node *ret)
{
	const struct simulated_node *n = &s->c->nodes[node];

	*ret = (struct room_node){
		.node = node, .candidates = xcalloc(n->n_pods + 1, sizeof(*ret->candidates))};
	for (size_t i = 0; i < n->n_pods && ret->n_candidates < UINT16_MAX; i++)
		if (may_leave(s, n->pods[i]) && (!aligned || s->c->pods[n->pods[i]].class->aligned))
			ret->candidates[ret->n_candidates++] = n->pods[i];
	vec_sort(ret->candidates, ret->n_candidates, sizeof(*ret->candidates), compare_costs, s->c);
}

/* The nodes on which room for the pod can be made, each with its cheapest set. */
static void begin_room(struct search *s, size_t pod, struct room *r)
{
	for (size_t i = 0; i < s->c->n_nodes && !reached_limit(s); i++) {
		struct room_node *n;
		bool aligned;

		if (!simulated_is_usable(s->c, i, pod, s->excluded))
			continue;
		aligned = admits_without_all(s, i, pod, true);
		if (!aligned && !admits_without_all(s, i, pod, false))
			continue;
		n = vec_push(&r->nodes, &r->n_nodes, &r->nodes_size, sizeof(*n));
		find_candidates(s, i, aligned, n);
		push_set(r, &(struct pod_set){.cost = cost_of(s, n, 0), .node = r->n_nodes - 1, .n = 1});
	}
}

/* ---- a set */

/* A necessary condition: enough CPUs become free for the pod. */
static bool frees_enough(
	const struct search *s, const struct room_node *n, const struct pod_set *set, size_t pod)
{
	const struct simulated_node *node = &s->c->nodes[n->node];
	size_t wanted = s->c->pods[pod].class->cpus, freed = 0;
	hwloc_const_bitmap_t shared = node->state.allocations.shared;

	if (wanted == 0 || !shared)
		return true;
	for (size_t i = 0; i < set->n; i++)
		freed += s->c->pods[n->candidates[set->members[i]]].class->cpus;
	return freed + cpuset_size(shared) >= wanted;
}

static bool admits_without(struct search *s, const struct room_node *n, const struct pod_set *set, size_t pod)
{
	const struct simulated_node *node = &s->c->nodes[n->node];
	CLEANUP(freep) bool *without = xcalloc(node->n_pods + 1, sizeof(*without));

	for (size_t i = 0; i < node->n_pods; i++)
		for (size_t m = 0; m < set->n && !without[i]; m++)
			without[i] = node->pods[i] == n->candidates[set->members[m]];
	return simulated_judge_without(s->c, n->node, without, pod) == KUBELET_ADMITS;
}

static bool make_room(struct search *s, size_t pod, unsigned depth);

/* Where a pod goes that leaves a node. */
enum destination { TO_OTHER_NODES, TO_THE_SAME_NODE, DESTINATION_COUNT };

/* Moves one pod of the set. The steps that make room for the pod come before the pod's own step. */
static bool move_pod(struct search *s, size_t pod, enum destination to, unsigned depth)
{
	size_t from = s->c->pods[pod].node, place = from;
	bool started;

	if (s->plan->n_moves + s->n_leaving >= s->options->max_moves)
		return false;
	simulated_evict(s->c, pod);
	if (s->options->evict) {
		add_step(s, PLAN_EVICT, pod, from);
		return true;
	}
	if (to == TO_OTHER_NODES)
		place = simulated_find_place(s->c, pod, s->excluded);
	else if (*simulated_constraint(s->c, from, pod))
		return false; /* the pod's labels or the node's have changed, or the node is cordoned */
	s->n_leaving++;
	if (place != SIMULATED_NOWHERE)
		started = simulated_start(s->c, place, pod);
	else
		started = depth > 1 && make_room(s, pod, depth - 1);
	s->n_leaving--;
	if (started)
		add_step(s, PLAN_MOVE, pod, from);
	return started;
}

static int compare_cpus(const void *va, const void *vb, void *cluster)
{
	const struct simulated_cluster *c = cluster;
	size_t a = c->pods[*(const size_t *)va].class->cpus, b = c->pods[*(const size_t *)vb].class->cpus;

	return (a < b) - (a > b);
}

/* The set's pods, the largest first: fewer nodes have a place for a large pod. */
static void list_pods(
	const struct search *s, const struct room_node *n, const struct pod_set *set, size_t *ret)
{
	for (size_t i = 0; i < set->n; i++)
		ret[i] = n->candidates[set->members[i]];
	vec_sort(ret, set->n, sizeof(*ret), compare_cpus, s->c);
}

/* Moves all pods of the set and starts the pod. The steps of a failed attempt are reverted. */
static bool try_set(struct search *s, const struct room_node *n, const struct pod_set *set, size_t pod,
	enum destination to, unsigned depth)
{
	size_t mark = simulated_mark(s->c), n_steps = s->plan->n_steps, pods[PLAN_SET_MAX];
	bool done = true;

	list_pods(s, n, set, pods);
	s->excluded[n->node] = true;
	for (size_t i = 0; i < set->n && done; i++)
		done = move_pod(s, pods[i], to, depth);
	s->excluded[n->node] = false;
	if (done && !*simulated_constraint(s->c, n->node, pod) && simulated_start(s->c, n->node, pod))
		return true;
	revert_steps(s, n_steps, mark);
	return false;
}

/*
 * Makes room for the pod, which runs nowhere, and starts the pod there. `depth`: 1 = the pods that leave find places without
 * further moves.
 */
static bool make_room(struct search *s, size_t pod, unsigned depth)
{
	CLEANUP(room_release) struct room r = {0};
	bool done = false;

	begin_room(s, pod, &r);
	while (r.n_heap > 0 && !done) {
		const struct pod_set set = pop_set(&r);
		const struct room_node *n = &r.nodes[set.node];

		if (r.n_sets > PLAN_SETS || reached_limit(s)) {
			s->plan->gave_up = true;
			return false;
		}
		push_successors(s, &r, &set, s->options->max_moves);
		if (!frees_enough(s, n, &set, pod) || !admits_without(s, n, &set, pod))
			continue;
		for (enum destination to = 0; to < DESTINATION_COUNT && !done; to++)
			done = try_set(s, n, &set, pod, to, depth);
	}
	return done;
}

/* ---- the plan */

/* Searches with chains of moves only where single moves give nothing. */
static bool place_wanted(struct search *s, size_t pod)
{
	size_t place = simulated_reserved_node(s->c, pod);
	bool started;

	if (place == SIMULATED_NOWHERE || !simulated_is_usable(s->c, place, pod, s->excluded) ||
		simulated_judge(s->c, place, pod).answer != KUBELET_ADMITS)
		place = simulated_find_place(s->c, pod, s->excluded);
	started = place != SIMULATED_NOWHERE && simulated_start(s->c, place, pod);
	s->verdicts_limit = s->c->n_verdicts + PLAN_VERDICTS;
	for (unsigned depth = 1; depth <= DEPTH_MAX && !started; depth++)
		started = make_room(s, pod, depth);
	if (started)
		add_step(s, PLAN_START, pod, SIMULATED_NOWHERE);
	return started;
}

void plan_find(struct simulated_cluster *c, const size_t *wanted, size_t n_wanted,
	const struct plan_options *options, struct plan *ret)
{
	CLEANUP(freep) bool *moved = NULL, *excluded = NULL;
	struct search s = {.c = c, .options = options, .plan = ret};

	simulated_apply_reservations(c, wanted, n_wanted);
	s.moved = moved = xcalloc(c->n_pods + 1, sizeof(*moved));
	s.excluded = excluded = xcalloc(c->n_nodes + 1, sizeof(*excluded));
	*ret = (struct plan){.n_wanted = n_wanted, .unplaced = xcalloc(n_wanted + 1, sizeof(*ret->unplaced))};
	for (size_t i = 0; i < c->n_pods; i++)
		if (c->pods[i].node != SIMULATED_NOWHERE)
			ret->fixed[find_fixed(c, i, options)]++;
	for (size_t i = 0; i < n_wanted; i++)
		moved[wanted[i]] = true;
	for (size_t i = 0; i < n_wanted; i++) {
		if (place_wanted(&s, wanted[i]))
			ret->n_placed++;
		else
			ret->unplaced[ret->n_unplaced++] = wanted[i];
	}
	ret->outcome = ret->n_placed == n_wanted ? PLAN_FULL : ret->n_placed > 0 ? PLAN_PARTIAL : PLAN_NONE;
}
