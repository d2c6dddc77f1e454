/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scores against recorded ones. Where upstream panics or drains the wrong zone, the recorded value is
 * explained by acting out the defect here, and nrtd's own answer is checked against what scoring/DEFECTS.md
 * states.
 */
#include <stdint.h>

#include "tests/vectors/sched_build.h"

#define D_ID_64    "D1 zone id 64"
#define D_INDEX    "D2 NUMA id used as list index"
#define D_EMPTY    "D3 request without resources"
#define D_ONE      "D4 variance of fewer than two resources"
#define D_NEGATIVE "D5 score below 0"

struct acted_out {
	bool panics;
	int64_t score;
};

/* One container's drain in upstream: the NUMA ids of the combination, used as positions in the list. */
static bool drain(struct fit_space *s, const struct resource_list *request, uint64_t nodes, bool by_index)
{
	uint64_t ids = 0;

	if (!by_index) {
		fit_subtract(s, request, nodes);
		return true;
	}
	for (; nodes; nodes &= nodes - 1)
		ids |= UINT64_C(1) << s->inventory->nodes[__builtin_ctzll(nodes)].id;
	for (size_t i = 0; i < request->n_items; i++) {
		int r = inventory_resource(s->inventory, request->items[i].name);
		qty_t rest = request->items[i].quantity.nano;

		for (uint64_t bits = ids; bits; bits &= bits - 1) {
			unsigned index = (unsigned)__builtin_ctzll(bits);
			qty_t taken;

			if (index >= s->n_nodes)
				return false;
			if (r < 0 || !(s->present[r] & UINT64_C(1) << index))
				continue;
			taken = *fit_available(s, (size_t)r, index);
			taken = taken < rest ? taken : rest;
			*fit_available(s, (size_t)r, index) -= taken;
			rest -= taken;
		}
	}
	return true;
}

/* LeastNUMANodes container by container, with the right or the wrong drain and without a floor at 0. */
static struct acted_out act_out(const struct score_case *c, bool by_index)
{
	const struct pod_request *pod = c->plan->pod;
	struct fit_space *s = &c->node->space;
	bool pod_scope = c->topology.scope == TOPOLOGY_SCOPE_POD, all_near = true;
	int64_t share = 100 / (int64_t)c->topology.max_numa_nodes, most = 0;

	fit_space_reset(s);
	for (size_t i = 0; i < (pod_scope ? 1 : pod->n_containers); i++) {
		const struct resource_list *request =
			pod_scope ? &c->plan->effective : &pod->containers[i].requests;
		struct fit fit;

		if (fit_is_not_numa(s, request))
			continue;
		fit = fit_required(s, c->plan->qos, request);
		if (fit.verdict != FIT_FOUND)
			return (struct acted_out){.score = 0};
		all_near = all_near && fit.min_distance == FIT_MIN_DISTANCE_YES;
		most = fit.n_nodes > most ? fit.n_nodes : most;
		if (!pod_scope && !drain(s, request, fit.nodes, by_index))
			return (struct acted_out){.panics = true};
	}
	if (most == 0)
		return (struct acted_out){.score = 100};
	return (struct acted_out){.score = 100 - most * share + (all_near ? share / 2 : 0)};
}

static bool ids_are_positions(const struct zones *zones)
{
	for (size_t i = 0; i < zones->n; i++)
		if (zones->items[i].id != i)
			return false;
	return true;
}

/* nrtd's score for the same zones under ids that are their positions: what D2 states for the other
 * strategies. */
static int score_renumbered(const struct score_case *c)
{
	struct node node;
	int score;

	node_init(&node, c->zones);
	for (size_t i = 0; i < node.inv.n_nodes; i++)
		node.inv.nodes[i].id = (unsigned)i;
	fit_space_release(&node.space);
	if (fit_space_init(&node.space, &node.inv, &node.distances) < 0)
		vj_die(NULL, "out of memory");
	score = strategy_score(&node.space, c->plan, &c->topology, c->strategy, &c->weights);
	node_release(&node);
	return score;
}

static size_t fewest_resources(const struct score_case *c)
{
	const struct pod_request *pod = c->plan->pod;
	size_t fewest = SIZE_MAX;

	if (c->topology.scope == TOPOLOGY_SCOPE_POD)
		return c->plan->effective.n_items;
	for (size_t i = 0; i < pod->n_containers; i++)
		if (pod->containers[i].requests.n_items < fewest)
			fewest = pod->containers[i].requests.n_items;
	return fewest;
}

/* The defect that makes the recorded value what it is and nrtd's what it is, or NULL. */
static const char *find_defect(const struct score_case *c, int got, bool panics, int64_t want)
{
	size_t n = c->zones->n;
	bool id_beyond = false;

	for (size_t i = 0; i < n; i++)
		id_beyond = id_beyond || c->zones->items[i].id >= n;
	if (c->strategy == STRATEGY_LEAST_NUMA_NODES) {
		struct acted_out wrong = act_out(c, true), right = act_out(c, false);

		if (wrong.panics != panics || (!panics && wrong.score != want))
			return NULL;
		if (right.score < 0 && got == 0)
			return D_NEGATIVE;
		return right.score == got && !ids_are_positions(c->zones) ? D_INDEX : NULL;
	}
	if (panics && id_beyond)
		return got == score_renumbered(c) ? D_INDEX : NULL;
	if (got != SCORE_UNKNOWN)
		return NULL;
	if (c->strategy == STRATEGY_BALANCED_ALLOCATION)
		return !panics && want < 0 && fewest_resources(c) < 2 ? D_ONE : NULL;
	return panics && fewest_resources(c) == 0 ? D_EMPTY : NULL;
}

void check_score(struct vectors_run *run, const struct score_case *c, const char *what, const vj *want)
{
	int got = strategy_score(&c->node->space, c->plan, &c->topology, c->strategy, &c->weights);
	bool panics = vj_is_map(want) && vj_get(want, "panic");
	int64_t score = panics ? 0 : vj_int(want);
	const char *defect;

	if (!panics && got == score)
		return;
	/* Upstream indexes a list of 64 with the id before it looks at anything; nrtd does not take such a
	 * zone in. */
	defect = panics && c->zones->has_id_64 && got >= 0 && got <= 100 ? D_ID_64
									 : find_defect(c, got, panics, score);
	if (defect)
		vectors_explain(run, defect);
	else if (panics)
		vectors_differ(
			run, "%s: %d, recorded a panic: %s", what, got, vj_string(vj_get(want, "panic")));
	else
		vectors_differ(run, "%s: %d, recorded %lld", what, got, (long long)score);
}
