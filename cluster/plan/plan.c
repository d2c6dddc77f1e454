/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/plan/plan_reservations.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/resource.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node/victims.h"

#define DEPTH_MAX 2u /* length of chains of moves; 2: other pods may be moved to make room for a moved pod */

const char *const plan_fixed_names[PLAN_FIXED_COUNT] = {"movable", "DaemonSet", "static pod", "no controller",
	"unknown controller", "marked not to be disrupted", "gang", "finalizers", "grace period",
	"local storage", "volumes", "evictionResponders", "priority", "namespace", "PodDisruptionBudget",
	"several PodDisruptionBudgets", "terminating", "unknown requests", "reservation",
	"reservation too large"};
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
	free(plan->left_out);
	*plan = (struct plan){0};
}

/* ---- which pods may move */

/*
 * The cost of restarting a pod: 16 plus its exclusive CPUs, times one plus the number of decimal digits of a priority above
 * 0. A restart without CPUs costs 16, a pod of 16 CPUs twice as much, a pod of priority 1000 five times as much.
 */
static uint64_t cost_of_restart(const struct simulated_pod *pod)
{
	uint64_t weight = 1;

	for (int32_t rest = pod->priority; rest > 0; rest /= 10)
		weight++;
	return weight * (16 + pod->class->cpus);
}

/* Whether the pod's controller would recreate the pod. */
static bool is_recreated(const struct simulated_pod *p, const struct plan_options *options)
{
	for (size_t i = 0; i < options->n_recreated_by; i++) {
		size_t len = strlen(options->recreated_by[i]);

		if (!strncmp(p->owner, options->recreated_by[i], len) && p->owner[len] == ' ')
			return true;
	}
	return p->recreated;
}

/* The first reason why the plan must not move the pod. */
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
	if (options->reserves && plan_reservations_too_large(p))
		return PLAN_FIXED_TOO_LARGE;
	for (size_t i = 0; i < options->n_keep; i++)
		if (!strcmp(options->keep[i], p->namespace))
			return PLAN_FIXED_NAMESPACE;
	if (options->has_below_priority && (!p->priority_known || p->priority >= options->below_priority))
		return PLAN_FIXED_PRIORITY;
	if (p->marked)
		return PLAN_FIXED_MARKED;
	if (p->gang)
		return PLAN_FIXED_GANG;
	if (*p->owner && !is_recreated(p, options))
		return PLAN_FIXED_CONTROLLER;
	if (p->finalizers)
		return PLAN_FIXED_FINALIZERS;
	if (options->max_grace_s > 0 && p->grace_s > options->max_grace_s)
		return PLAN_FIXED_GRACE;
	if (p->local_storage && !options->allow_local_storage)
		return PLAN_FIXED_LOCAL_STORAGE;
	if (p->bound_volumes && !options->allow_volumes)
		return PLAN_FIXED_VOLUMES;
	if (p->responders)
		return PLAN_FIXED_RESPONDERS;
	if (p->n_budgets > 1)
		return PLAN_FIXED_BUDGETS;
	return p->n_budgets == 1 && p->budget->allowed <= 0 ? PLAN_FIXED_BUDGET : PLAN_MOVABLE;
}

/* ---- the search */

struct search {
	struct simulated_cluster *c;
	const struct plan_options *options;
	struct plan *plan;
	size_t wanted;     /* the wanted pod for which room is made */
	bool *moved;       /* per pod: moved already, or a wanted pod, which no step moves */
	bool *excluded;    /* per node: room is being made there, so no pod moves there */
	size_t n_leaving;  /* evicted pods whose move is not in the plan yet */
	bool needs_replay; /* steps may have been judged without a pod that still runs then */
	uint64_t n_sets;   /* sets considered so far */
	/* Values of simulated_cluster.n_verdicts and of n_sets at which the search ends: for the current wanted pod,
	 * and for all. */
	uint64_t verdicts_limit, sets_limit;
	uint64_t verdicts_end, sets_end;
	uint64_t n_place_verdicts, max_place_verdicts; /* for places without moves */
	struct plan_reservations reservations;         /* of plan->steps; only with options->reserves */
	size_t steps_at_failure; /* plan->n_steps when a wanted pod had no place the last time */
};

static bool reached_limit(struct search *s)
{
	if (s->c->n_verdicts < s->verdicts_limit && s->n_sets < s->sets_limit)
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

/* Adds a step for a change that has been made in the simulated cluster. */
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
		.allowed = p->budget ? p->budget->allowed : -1};
	describe_place(s->c, step);
	plan->n_moves += kind != PLAN_START;
	plan->cost += step->cost;
	s->moved[pod] = true;
	if (kind == PLAN_EVICT && p->budget) /* a moved pod runs again before the next step */
		p->budget->allowed--;
}

/* Removes all steps after the first `n_steps`, and reverts the cluster to `mark`. */
static void revert_steps(struct search *s, size_t n_steps, size_t mark)
{
	struct plan *plan = s->plan;

	while (plan->n_steps > n_steps) {
		struct plan_step *step = &plan->steps[--plan->n_steps];
		const struct simulated_pod *p = &s->c->pods[step->pod];

		plan->n_moves -= step->kind != PLAN_START;
		plan->cost -= step->cost;
		s->moved[step->pod] = false;
		if (step->kind == PLAN_EVICT && p->budget)
			p->budget->allowed++;
		free(step->cpus);
		free(step->numa);
	}
	simulated_undo(s->c, mark);
}

/* ---- candidates */

/* Unless the caller sets a limit, no pod makes room for a pod of a lower priority. */
static bool has_higher_priority(
	const struct simulated_cluster *c, size_t pod, size_t wanted, const struct plan_options *options)
{
	const struct simulated_pod *p = &c->pods[pod], *w = &c->pods[wanted];

	return !options->has_below_priority && p->priority_known && w->priority_known &&
	       p->priority > w->priority;
}

static bool may_leave(const struct search *s, size_t pod)
{
	return !s->moved[pod] && find_fixed(s->c, pod, s->options) == PLAN_MOVABLE &&
	       !has_higher_priority(s->c, pod, s->wanted, s->options);
}

/* Which pods may leave: those on a node, or on one of its NUMA nodes. */
struct source_scope {
	size_t node;
	bool aligned;                   /* only pods to which the kubelet may assign something */
	unsigned numa;                  /* the NUMA node's id, if numa_cpus is set */
	hwloc_const_bitmap_t numa_cpus; /* only pods on this NUMA node; NULL = on the node */
};

static bool is_in_scope(
	const struct search *s, const struct source_scope *scope, size_t pod, const struct pod_held *held)
{
	if (!may_leave(s, pod) || (scope->aligned && !s->c->pods[pod].class->aligned))
		return false;
	return !scope->numa_cpus || (held->found && hwloc_bitmap_isset(held->numa, scope->numa));
}

/* The pods that may leave. The candidates' numbers are the pods' positions on the node. *ret_freed: the CPUs that all candidates free
 * together. To be released. */
static void find_candidates(const struct search *s, const struct source_scope *scope, size_t pod,
	struct victim_candidates *ret, qty_t *ret_freed)
{
	const struct simulated_node *n = &s->c->nodes[scope->node];
	hwloc_const_bitmap_t shared = n->state.allocations.shared;
	CLEANUP(freep) size_t *frees = xcalloc(n->n_pods + 1, sizeof(*frees));
	size_t wanted = s->c->pods[pod].class->cpus;
	size_t free = wanted; /* without a shared pool no CPUs are missing */
	struct victims_place *place;

	*ret = (struct victim_candidates){.node = scope->node};
	*ret_freed = 0;
	for (size_t i = 0; i < n->n_pods; i++) {
		const struct simulated_pod *p = &s->c->pods[n->pods[i]];
		CLEANUP(pod_held_release) struct pod_held held = {0};

		if (scope->numa_cpus)
			simulated_held(s->c, n->pods[i], &held);
		if (!is_in_scope(s, scope, n->pods[i], &held))
			continue;
		victim_candidates_add(ret, i, cost_of_restart(p));
		frees[i] = held.found ? cpuset_count_common(held.cpus, scope->numa_cpus) : p->class->cpus;
		*ret_freed += (qty_t)frees[i];
	}
	victim_candidates_sort(ret, NULL);
	if (shared)
		free = scope->numa_cpus ? cpuset_count_common(shared, scope->numa_cpus) : cpuset_size(shared);
	place = victim_candidates_add_place(ret, true, (qty_t)(wanted > free ? wanted - free : 0));
	for (size_t i = 0; i < ret->n_items; i++)
		place->frees[i] = (qty_t)frees[ret->items[i].pod];
}

/*
 * Adds a node, or one of its NUMA nodes, that pods may leave to make room for the pod. False if the kubelet would not admit the pod even
 * if all candidates left.
 */
static bool add_source(
	struct search *s, const struct source_scope *scope, size_t pod, struct victims_search *sources)
{
	CLEANUP(victim_candidates_release) struct victim_candidates n = {0};
	CLEANUP(freep) bool *leaves = xcalloc(s->c->nodes[scope->node].n_pods + 1, sizeof(*leaves));
	qty_t freed;

	find_candidates(s, scope, pod, &n, &freed);
	for (size_t i = 0; i < n.n_items; i++)
		leaves[n.items[i].pod] = true;
	if (n.n_items == 0 || freed < n.places[0].missing ||
		simulated_judge_without(s->c, n.node, leaves, pod) != KUBELET_ADMITS)
		return false;
	victim_candidates_set_min_cost(&n);
	victims_search_add(sources, &n);
	return true;
}

/* Whether the kubelet admits the pod only with all CPUs on one NUMA node, provided that one NUMA node has enough CPUs. */
static bool needs_one_numa(const struct simulated_node *n, const struct pod_class *class)
{
	enum topology_manager_policy policy = n->state.inventory.topology.policy;

	return class->cpus > 0 && class->pod.n_containers == 1 &&
	       (policy == TOPOLOGY_MANAGER_RESTRICTED || policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE);
}

/* Adds the NUMA nodes of a node. False if none is added: the pod may need CPUs, memory or devices of several NUMA nodes. */
static bool add_numa_sources(
	struct search *s, const struct source_scope *scope, size_t pod, struct victims_search *sources)
{
	const struct machine *m = &s->c->nodes[scope->node].state.machine;
	bool any = false;

	for (size_t i = 0; i < m->n_nodes; i++) {
		CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = machine_own_cpus(m, i);
		struct source_scope numa = *scope;

		numa.numa = m->nodes[i].id;
		numa.numa_cpus = cpus;
		if (cpuset_size(cpus) >= s->c->pods[pod].class->cpus)
			any = add_source(s, &numa, pod, sources) || any;
	}
	return any;
}

/* Finds the nodes on which room for the pod can be made. NUMA nodes are preferred, because they have fewer candidates
 * than the whole node. */
static void find_sources(struct search *s, size_t pod, struct victims_search *sources)
{
	for (size_t i = 0; i < s->c->n_nodes && !reached_limit(s); i++) {
		struct source_scope scope = {.node = i, .aligned = true};

		if (!simulated_is_usable(s->c, i, pod, s->excluded))
			continue;
		if (needs_one_numa(&s->c->nodes[i], s->c->pods[pod].class) &&
			add_numa_sources(s, &scope, pod, sources))
			continue;
		if (add_source(s, &scope, pod, sources))
			continue;
		scope.aligned = false; /* the node-level amounts may be short */
		add_source(s, &scope, pod, sources);
	}
}

/* ---- one set */

static int compare_cpus(const void *va, const void *vb, void *cluster)
{
	const struct simulated_cluster *c = cluster;
	size_t a = c->pods[*(const size_t *)va].class->cpus, b = c->pods[*(const size_t *)vb].class->cpus;

	return (a < b) - (a > b);
}

static bool make_room(struct search *s, size_t pod, unsigned depth);

/* Where a pod starts after its eviction. */
enum destination {
	TO_OTHER_NODES,
	TO_THE_SAME_NODE,
	TO_NEW_ROOM, /* further moves make room for the pod first */
	TO_ANY       /* each pod of a set has a destination of its own */
};

#define MIXED_MAX          4u  /* pods of a set for which different destinations are combined */
#define MIXED_COMBINATIONS 32u /* combinations per set */

/* Moves of a set of pods that make room for a pod. */
struct attempt {
	size_t node, pod;                  /* for which room is made, and where */
	size_t pods[PLAN_SET_MAX], n_pods; /* that leave */
	enum destination to;
	unsigned depth, n_combinations; /* n_combinations: of destinations that were tried to the end */
};

/*
 * Makes room for the pod, which was evicted from `node`, by further moves, and starts the pod. In the plan these moves come before the
 * pod's own step: the pod still runs on `node` then, but has been evicted when the moves are judged here. So the plan is replayed.
 */
static bool start_in_new_room(struct search *s, size_t node, size_t pod, unsigned depth)
{
	bool started;

	s->excluded[node] = false;
	started = make_room(s, pod, depth);
	s->excluded[node] = true;
	s->needs_replay = true;
	return started;
}

/*
 * Evicts one pod of the set, and starts the pod at the destination. Steps that make room for this pod come before this pod's
 * own step. False if the pod cannot be moved there: the caller then reverts the eviction.
 */
static bool move_pod(struct search *s, const struct attempt *a, size_t pod, enum destination to)
{
	size_t from = s->c->pods[pod].node, place = from;
	bool started;

	if (s->plan->n_moves + s->n_leaving >= s->options->max_moves)
		return false;
	/* The eviction of an earlier pod of the set may have used up the PodDisruptionBudget of both pods. */
	if (s->options->evict && find_fixed(s->c, pod, s->options) != PLAN_MOVABLE)
		return false;
	simulated_evict(s->c, pod);
	if (s->options->evict) {
		add_step(s, PLAN_EVICT, pod, from);
		return true;
	}
	if (to == TO_OTHER_NODES)
		place = simulated_find_place(s->c, pod, s->excluded);
	else if (to == TO_THE_SAME_NODE && *simulated_constraint(s->c, from, pod))
		return false; /* labels of the pod or the node have changed, or the node is cordoned */
	s->n_leaving++;
	if (to == TO_NEW_ROOM)
		started = start_in_new_room(s, a->node, pod, a->depth - 1);
	else
		started = place != SIMULATED_NOWHERE && simulated_start(s->c, place, pod);
	s->n_leaving--;
	if (started)
		add_step(s, PLAN_MOVE, pod, from);
	return started;
}

/* Moves the pods of the set from the i-th on, and starts the pod. The steps of a failed attempt are reverted. */
static bool move_pods(struct search *s, struct attempt *a, size_t i)
{
	size_t mark = simulated_mark(s->c), n_steps = s->plan->n_steps;

	if (i == a->n_pods) {
		a->n_combinations++;
		return !*simulated_constraint(s->c, a->node, a->pod) &&
		       simulated_start(s->c, a->node, a->pod);
	}
	/* A step that made room for an earlier pod of the set has moved the pod. */
	if (s->moved[a->pods[i]])
		return move_pods(s, a, i + 1);
	for (enum destination to = 0; to < TO_ANY; to++) {
		if (a->to != TO_ANY && to != a->to)
			continue;
		if (to == TO_NEW_ROOM && a->depth < 2)
			continue;
		if (s->options->evict &&
			to != TO_OTHER_NODES) /* an eviction is the same for each destination */
			continue;
		if (move_pod(s, a, a->pods[i], to) && move_pods(s, a, i + 1))
			return true;
		revert_steps(s, n_steps, mark);
		if (a->n_combinations >= MIXED_COMBINATIONS || reached_limit(s))
			return false;
	}
	return false;
}

/* A step to carry out again. */
struct replayed {
	size_t pod, to;
};

/* Carries the steps from the n-th on out again in their order, and starts the pod on the node. */
static bool replay_steps(struct search *s, size_t n_steps, size_t mark, size_t node, size_t pod)
{
	size_t n = s->plan->n_steps - n_steps;
	CLEANUP(freep) struct replayed *steps = xcalloc(n + 1, sizeof(*steps));

	for (size_t i = 0; i < n; i++)
		steps[i] = (struct replayed){
			.pod = s->plan->steps[n_steps + i].pod, .to = s->plan->steps[n_steps + i].to};
	revert_steps(s, n_steps, mark);
	for (size_t i = 0; i < n; i++) {
		size_t from = s->c->pods[steps[i].pod].node;

		simulated_evict(s->c, steps[i].pod);
		if (*simulated_constraint(s->c, steps[i].to, steps[i].pod) ||
			!simulated_start(s->c, steps[i].to, steps[i].pod))
			return false;
		add_step(s, PLAN_MOVE, steps[i].pod, from);
	}
	return !*simulated_constraint(s->c, node, pod) && simulated_start(s->c, node, pod);
}

/* The set's pods, the largest first, because fewer nodes have a place for a large pod. */
static size_t list_pods(const struct search *s, const struct victims_found *set, size_t *ret)
{
	const struct victim_candidates *n = set->node;
	size_t n_pods = 0;

	for (size_t i = 0; i < n->n_items; i++)
		if (set->leaves[n->items[i].pod])
			ret[n_pods++] = s->c->nodes[n->node].pods[n->items[i].pod];
	vec_sort(ret, n_pods, sizeof(*ret), compare_cpus, s->c);
	return n_pods;
}

/*
 * Moves all pods of the set to destinations of this kind, and starts the pod. The steps of a failed attempt are reverted. Only the whole
 * attempt for the wanted pod is replayed: attempts for moved pods are parts of that attempt.
 */
static bool try_set(
	struct search *s, const struct victims_found *set, size_t pod, enum destination to, unsigned depth)
{
	size_t mark = simulated_mark(s->c), n_steps = s->plan->n_steps, node = set->node->node;
	struct attempt a = {.node = node, .pod = pod, .to = to, .depth = depth};
	bool done;

	a.n_pods = list_pods(s, set, a.pods);
	if (to == TO_ANY && (a.n_pods < 2 || a.n_pods > MIXED_MAX))
		return false;
	if (to == TO_NEW_ROOM && depth < 2)
		return false;
	if (pod == s->wanted)
		s->needs_replay = false;
	s->excluded[node] = true;
	done = move_pods(s, &a, 0);
	s->excluded[node] = false;
	if (done && pod == s->wanted && s->needs_replay)
		done = replay_steps(s, n_steps, mark, node, pod);
	if (!done)
		revert_steps(s, n_steps, mark);
	return done;
}

/*
 * Makes room for the pod, which runs nowhere, and starts the pod. `depth`: 1 = moved pods must find places without further moves.
 */
static bool make_room(struct search *s, size_t pod, unsigned depth)
{
	size_t max_moves = s->options->max_moves;
	CLEANUP(victims_search_release) struct victims_search sources = {.max_pods = PLAN_SET_MAX};
	struct victims_found set;
	bool done = false;

	if (max_moves < PLAN_SET_MAX)
		sources.max_pods = max_moves > 0 ? max_moves : 1; /* 0 would be no limit */
	find_sources(s, pod, &sources);
	while (!done && sources.n_heap > 0 && !reached_limit(s) &&
		victims_search_next(&sources, &s->n_sets, s->sets_limit, &set)) {
		if (simulated_judge_without(s->c, set.node->node, set.leaves, pod) != KUBELET_ADMITS)
			continue;
		for (enum destination to = 0; to <= TO_ANY && !done; to++)
			done = try_set(s, &set, pod, to, depth);
	}
	return done;
}

/* ---- the plan */

static uint64_t half_of_rest(uint64_t now, uint64_t end)
{
	return now < end ? (end - now + 1) / 2 : 0;
}

/* Starts the pod where a kubelet admits it. The verdicts have a limit of their own, and do not shorten the search for moves. */
static bool start_without_moves(struct search *s, size_t pod)
{
	size_t place = simulated_reserved_node(s->c, pod);
	uint64_t before = s->c->n_verdicts;
	bool started = place != SIMULATED_NOWHERE && simulated_is_usable(s->c, place, pod, s->excluded) &&
		       simulated_start(s->c, place, pod);

	if (!started) {
		place = simulated_find_place(s->c, pod, s->excluded);
		started = place != SIMULATED_NOWHERE && simulated_start(s->c, place, pod);
	}
	s->n_place_verdicts += s->c->n_verdicts - before;
	s->verdicts_end += s->c->n_verdicts - before;
	return started;
}

/* Searches without moves first, then without chains of moves, then with chains. */
static bool place_wanted(struct search *s, size_t pod)
{
	bool started;

	s->wanted = pod;
	started = start_without_moves(s, pod);
	s->verdicts_limit = s->c->n_verdicts + half_of_rest(s->c->n_verdicts, s->verdicts_end);
	s->sets_limit = s->n_sets + half_of_rest(s->n_sets, s->sets_end);
	for (unsigned depth = 1; depth <= DEPTH_MAX && !started; depth++)
		started = make_room(s, pod, depth);
	if (started)
		add_step(s, PLAN_START, pod, SIMULATED_NOWHERE);
	return started;
}

/* Reserves for the steps from the n-th on. False, and no change: a Node cannot hold the reservations. */
static bool reserve_steps(struct plan_reservations *reservations, const struct plan *plan, size_t n)
{
	size_t i = n;

	while (i < plan->n_steps &&
		plan_reservations_add(reservations, plan->steps[i].pod, plan->steps[i].to))
		i++;
	if (i == plan->n_steps)
		return true;
	while (i-- > n)
		plan_reservations_remove(reservations, plan->steps[i].pod, plan->steps[i].to);
	return false;
}

/* Whether a pod with the same requests and constraints was found to have no place, and nothing has changed since. */
static bool is_known_unplaceable(const struct search *s, size_t pod)
{
	const struct plan *plan = s->plan;
	const struct simulated_pod *p = &s->c->pods[pod], *failed;

	if (plan->n_unplaced == 0 || plan->n_steps != s->steps_at_failure)
		return false;
	failed = &s->c->pods[plan->unplaced[plan->n_unplaced - 1]];
	return failed->class == p->class && failed->constraints == p->constraints &&
	       failed->priority == p->priority && simulated_reserved_node(s->c, pod) == SIMULATED_NOWHERE;
}

/* Whether the node's pods request more CPUs, memory or hugepages than the node has. */
static bool is_overcommitted(const struct simulated_node *n)
{
	if (n->info->allocatable.n_items == 0) /* the amounts are not known */
		return false;
	for (size_t i = 0; i < n->requested.n_items; i++) {
		const struct resource_quantity *wanted = &n->requested.items[i];
		const struct resource_quantity *own = resource_list_find(&n->info->allocatable, wanted->name);

		if (resource_name_is_numa_affine(wanted->name) &&
			wanted->quantity.nano > (own ? own->quantity.nano : 0))
			return true;
	}
	return false;
}

/* A scheduler does not bind a pod to a node without room, but users do, and the kubelet rejects such a pod. */
static void set_aside_overcommitted(struct simulated_cluster *c)
{
	for (size_t i = 0; i < c->n_nodes; i++)
		if (c->nodes[i].obstacle == SIMULATED_NO_OBSTACLE && is_overcommitted(&c->nodes[i]))
			c->nodes[i].obstacle = SIMULATED_OVERCOMMITTED;
}

/* How many verdicts the search for moves may take for all wanted pods. */
static uint64_t max_verdicts(const struct simulated_cluster *c)
{
	uint64_t of_nodes = (uint64_t)PLAN_VERDICTS_PER_NODE * c->n_nodes;

	return of_nodes > PLAN_VERDICTS ? of_nodes : PLAN_VERDICTS;
}

/* Counts the pods on nodes by what makes them fixed. `highest`: the wanted pod of the highest priority; SIMULATED_NOWHERE = there is no
 * wanted pod. */
static void count_fixed(const struct simulated_cluster *c, size_t highest, const struct plan_options *options,
	size_t ret[PLAN_FIXED_COUNT])
{
	for (size_t i = 0; i < c->n_pods; i++) {
		enum plan_fixed fixed = find_fixed(c, i, options);

		if (fixed == PLAN_MOVABLE && highest != SIMULATED_NOWHERE &&
			has_higher_priority(c, i, highest, options))
			fixed = PLAN_FIXED_PRIORITY;
		if (c->pods[i].node != SIMULATED_NOWHERE)
			ret[fixed]++;
	}
}

/* Adds the steps that place the wanted pod; or adds the pod to the pods that are left out, or have no place. */
static void plan_pod(struct search *s, size_t pod)
{
	struct plan *plan = s->plan;
	bool has_verdicts_left = s->n_place_verdicts <= s->max_place_verdicts;
	size_t n_steps = plan->n_steps, mark = simulated_mark(s->c);

	if (s->options->reserves && plan_reservations_too_large(&s->c->pods[pod])) {
		plan->left_out[plan->n_left_out++] = pod;
		return;
	}
	if (!has_verdicts_left || is_known_unplaceable(s, pod) || !place_wanted(s, pod)) {
		plan->n_not_searched += !has_verdicts_left;
		s->steps_at_failure = plan->n_steps;
		plan->unplaced[plan->n_unplaced++] = pod;
		return;
	}
	if (s->options->reserves && !reserve_steps(&s->reservations, plan, n_steps)) {
		revert_steps(s, n_steps, mark);
		plan->left_out[plan->n_left_out++] = pod;
		return;
	}
	plan->n_placed++;
}

static void plan_search_release(struct search *s)
{
	plan_reservations_release(&s->reservations);
	free(s->moved);
	free(s->excluded);
}

void plan_find(struct simulated_cluster *c, const size_t *wanted, size_t n_wanted,
	const struct plan_options *options, struct plan *ret)
{
	CLEANUP(plan_search_release)
	struct search s = {.c = c,
		.options = options,
		.plan = ret,
		.verdicts_end = c->n_verdicts + max_verdicts(c),
		.sets_end = PLAN_SETS,
		.max_place_verdicts =
			options->place_verdicts > 0 ? options->place_verdicts : PLAN_PLACE_VERDICTS};
	size_t highest = SIMULATED_NOWHERE;

	set_aside_overcommitted(c);
	simulated_apply_reservations(c, wanted, n_wanted);
	if (options->reserves)
		plan_reservations_init(&s.reservations, c);
	s.moved = xcalloc(c->n_pods + 1, sizeof(*s.moved));
	s.excluded = xcalloc(c->n_nodes + 1, sizeof(*s.excluded));
	*ret = (struct plan){.n_wanted = n_wanted,
		.unplaced = xcalloc(n_wanted + 1, sizeof(*ret->unplaced)),
		.left_out = xcalloc(n_wanted + 1, sizeof(*ret->left_out))};
	for (size_t i = 0; i < n_wanted; i++) {
		s.moved[wanted[i]] = true;
		if (highest == SIMULATED_NOWHERE || c->pods[wanted[i]].priority > c->pods[highest].priority)
			highest = wanted[i];
	}
	count_fixed(c, highest, options, ret->fixed);
	for (size_t i = 0; i < n_wanted; i++) {
		simulated_show_progress(c, "pods planned", i, n_wanted);
		plan_pod(&s, wanted[i]);
	}
	ret->gave_up = ret->gave_up || ret->n_not_searched > 0;
	if (ret->n_placed == 0 && n_wanted > 0)
		ret->outcome = PLAN_NONE;
	else if (ret->n_placed + ret->n_left_out == n_wanted)
		ret->outcome = PLAN_FULL;
	else
		ret->outcome = PLAN_PARTIAL;
}
