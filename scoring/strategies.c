/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/strategies.h"

#include <assert.h>
#include <string.h>

#include "scoring/work.h"

#define SCORE_MAX    100
#define STEPS_AMOUNT 100u /* for one request on one NUMA node (scoring/work.h) */

const char *const strategy_names[] = {
	"MostAllocated", "LeastAllocated", "BalancedAllocation", "LeastNUMANodes"};

static_assert(sizeof(strategy_names) / sizeof(*strategy_names) == STRATEGY_COUNT, "a name for each strategy");

int strategy_by_name(const char *name)
{
	for (int i = 0; i < STRATEGY_COUNT; i++)
		if (!strcmp(strategy_names[i], name))
			return i;
	return -1;
}

static int64_t weight_of(const struct resource_weights *weights, const char *name)
{
	for (size_t i = 0; weights && i < weights->n_items; i++)
		if (!strcmp(weights->items[i].name, name))
			return weights->items[i].weight < 1 ? 1 : weights->items[i].weight;
	return 1;
}

/* A node's amount of a resource in whole units, 0 where it has none. */
static int64_t value_at(const struct fit_space *s, const char *name, unsigned position)
{
	int r = inventory_resource(s->inventory, name);

	const struct inventory_amount *a = r < 0 ? NULL : inventory_amount(s->inventory, position, (size_t)r);

	return a && a->present ? qty_value(a->available) : 0;
}

/* The weighted mean of each resource's share, a resource that does not fit counting 0. */
static int allocated_score(const struct fit_space *s, const struct resource_list *request,
	const struct resource_weights *weights, bool most, unsigned position)
{
	qty_t sum = 0, weight_sum = 0;

	for (size_t i = 0; i < request->n_items; i++) {
		const struct resource_quantity *q = &request->items[i];
		int64_t weight = weight_of(weights, q->name), amount = value_at(s, q->name, position);
		int64_t wanted = qty_value(q->quantity.nano);
		int r = inventory_resource(s->inventory, q->name);

		weight_sum += weight;
		if (amount == 0 || r < 0 ||
			q->quantity.nano > inventory_amount(s->inventory, position, (size_t)r)->available)
			continue;
		sum += (qty_t)(most ? wanted : amount - wanted) * SCORE_MAX / amount * weight;
	}
	return weight_sum == 0 ? SCORE_UNKNOWN : (int)(sum / weight_sum);
}

/* Whole, within 0..100: a share of a negative amount has any variance. */
static int clamp(double score)
{
	return score > 0 ? (int)(score < SCORE_MAX ? score : SCORE_MAX) : 0;
}

/*
 * 100 less the sample variance of the shares, in the plugin's floating point: gonum's stat.Variance, a
 * corrected two-pass algorithm. The plugin's order of summation is random; here it is that of the names.
 */
static int balanced_score(const struct fit_space *s, const struct resource_list *request, unsigned position)
{
	double sum = 0, squares = 0, compensation = 0, n = (double)request->n_items, mean;

	for (int pass = 0; pass < 2; pass++) {
		mean = sum / n;
		for (size_t i = 0; i < request->n_items; i++) {
			const struct resource_quantity *q = &request->items[i];
			int64_t amount = value_at(s, q->name, position);
			double share = amount == 0 ? 1 : (double)qty_value(q->quantity.nano) / (double)amount;

			if (share > 1)
				return 0;
			if (pass == 0) {
				sum += share;
				continue;
			}
			squares += (share - mean) * (share - mean);
			compensation += share - mean;
		}
	}
	if (request->n_items < 2)
		return SCORE_UNKNOWN;
	return clamp((1 - (squares - compensation * compensation / n) / (n - 1)) * SCORE_MAX);
}

/* The least score above 0 over the inventory's nodes, 0 when there is none. */
static int nodes_score(const struct fit_space *s, const struct resource_list *request, enum strategy strategy,
	const struct resource_weights *weights)
{
	int least = 0;

	for (unsigned position = 0; position < s->n_nodes; position++) {
		int score = strategy == STRATEGY_BALANCED_ALLOCATION
				    ? balanced_score(s, request, position)
				    : allocated_score(s, request, weights,
					      strategy == STRATEGY_MOST_ALLOCATED, position);

		if (score == SCORE_UNKNOWN)
			return SCORE_UNKNOWN;
		if (least == 0 || (score != 0 && score < least))
			least = score;
	}
	return least;
}

static int allocation_score(const struct fit_space *s, const struct request_plan *plan, bool pod_scope,
	enum strategy strategy, const struct resource_weights *weights)
{
	struct work work = {.limit = SCORE_WORK_MAX};
	double sum = 0;

	if (pod_scope)
		return nodes_score(s, &plan->effective, strategy, weights);
	for (size_t i = 0; i < plan->pod->n_containers; i++) {
		const struct resource_list *requests = &plan->pod->containers[i].requests;
		int score;

		if (!work_add(&work, STEPS_AMOUNT * (uint64_t)s->n_nodes * (requests->n_items + 1)))
			return SCORE_UNKNOWN;
		score = nodes_score(s, requests, strategy, weights);
		if (score == SCORE_UNKNOWN)
			return SCORE_UNKNOWN;
		sum += score;
	}
	return plan->pod->n_containers == 0 ? SCORE_UNKNOWN : (int)(sum / (double)plan->pod->n_containers);
}

int strategy_normalize(unsigned n_nodes, bool min_distance, unsigned max_numa_nodes)
{
	int64_t share = SCORE_MAX / (max_numa_nodes > 0 ? (int64_t)max_numa_nodes : 1);
	int64_t score = SCORE_MAX - n_nodes * share + (min_distance ? share / 2 : 0);

	return score < 0 ? 0 : score > SCORE_MAX ? SCORE_MAX : (int)score;
}

/* Take one request into account; false when it settles the pod's fit. */
static bool add_request(struct fit_space *s, const struct resource_list *request, struct pod_fit *pod)
{
	struct fit fit;

	if (fit_is_not_numa(s, request))
		return true;
	fit = fit_required(s, QOS_GUARANTEED, request);
	pod->verdict = fit.verdict;
	if (fit.verdict != FIT_FOUND)
		return false;
	pod->n_nodes = fit.n_nodes > pod->n_nodes ? fit.n_nodes : pod->n_nodes;
	/* One request known to be off the least distance settles it, whatever is unknown of the others. */
	if (fit.min_distance == FIT_MIN_DISTANCE_NO || pod->min_distance == FIT_MIN_DISTANCE_YES)
		pod->min_distance = fit.min_distance;
	fit_subtract(s, request, fit.nodes);
	return true;
}

struct pod_fit strategy_pod_fit(
	struct fit_space *s, const struct request_plan *plan, enum topology_manager_scope scope)
{
	struct pod_fit pod = {.verdict = FIT_FOUND, .min_distance = FIT_MIN_DISTANCE_YES};
	bool more = plan->qos == QOS_GUARANTEED;

	fit_space_reset(s);
	if (more && scope == TOPOLOGY_SCOPE_POD) {
		add_request(s, &plan->effective, &pod);
		return pod;
	}
	for (size_t i = 0; i < plan->pod->n_containers && more; i++)
		more = add_request(s, &plan->pod->containers[i].requests, &pod);
	return pod;
}

int strategy_fit_score(const struct pod_fit *fit, const struct topology_manager_config *topology)
{
	if (fit->verdict != FIT_FOUND)
		return fit->verdict == FIT_UNKNOWN ? SCORE_UNKNOWN : 0;
	if (fit->n_nodes == 0)
		return SCORE_MAX;
	if (fit->min_distance == FIT_MIN_DISTANCE_UNKNOWN)
		return SCORE_UNKNOWN;
	return strategy_normalize(
		fit->n_nodes, fit->min_distance == FIT_MIN_DISTANCE_YES, topology->max_numa_nodes);
}

int strategy_score(struct fit_space *s, const struct request_plan *plan,
	const struct topology_manager_config *topology, enum strategy strategy,
	const struct resource_weights *weights)
{
	if (plan->qos != QOS_GUARANTEED)
		return SCORE_MAX;
	if (strategy == STRATEGY_LEAST_NUMA_NODES) {
		struct pod_fit fit = strategy_pod_fit(s, plan, topology->scope);

		return strategy_fit_score(&fit, topology);
	}
	if (topology->policy != TOPOLOGY_MANAGER_SINGLE_NUMA_NODE || s->n_nodes == 0)
		return 0;
	return allocation_score(s, plan, topology->scope == TOPOLOGY_SCOPE_POD, strategy, weights);
}
