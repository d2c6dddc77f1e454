/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cli/score_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "scoring/request.h"

/* ---- one node */

/* The costs prepared for the last node; a cluster has few kinds of machines. */
struct distance_cache {
	struct distances distances;
	unsigned *costs;
	size_t n;
	bool filled;
};

static void distance_cache_release(struct distance_cache *c)
{
	if (c->filled)
		distances_release(&c->distances);
	free(c->costs);
	*c = (struct distance_cache){0};
}

static int distance_cache_get(
	struct distance_cache *c, const struct inventory *inv, const struct distances **ret)
{
	size_t bytes = inv->n_nodes * inv->n_nodes * sizeof(*inv->costs);
	int r;

	if (!c->filled || c->n != inv->n_nodes || memcmp(c->costs, inv->costs, bytes) != 0) {
		distance_cache_release(c);
		c->costs = malloc(bytes + 1);
		if (!c->costs)
			return -ENOMEM;
		r = distances_init(&c->distances, inv->costs, inv->n_nodes, DISTANCES_WORK_LIMIT);
		if (r < 0)
			return r;
		memcpy(c->costs, inv->costs, bytes);
		c->n = inv->n_nodes;
		c->filled = true;
	}
	*ret = &c->distances;
	return 0;
}

static int ask_plugin(const struct inventory *inv, const struct request_plan *plan,
	const struct score_options *options, struct distance_cache *cache, struct score_row *row)
{
	CLEANUP(fit_space_release) struct fit_space space = {0};
	const struct distances *distances = NULL;
	int r = distance_cache_get(cache, inv, &distances);

	if (r == 0)
		r = fit_space_init(&space, inv, distances);
	if (r < 0)
		return r;
	row->fit = fit_required(&space, plan->qos, &plan->effective);
	row->filter = filter_pod(&space, plan, &inv->topology, NULL);
	for (enum strategy s = 0; s < STRATEGY_COUNT; s++)
		row->scores[s] = strategy_score(&space, plan, &inv->topology, s, &options->weights);
	return 0;
}

static unsigned whole(qty_t nano)
{
	return nano <= 0 ? 0 : nano / QTY_UNIT > UINT32_MAX ? UINT32_MAX : (unsigned)(nano / QTY_UNIT);
}

static int ask_volcano(const struct nrt_node *node, const struct pod_template *pod, enum qos_class qos,
	struct score_row *row)
{
	const struct inventory *inv = &node->inventory;
	int cpu = inventory_resource(inv, "cpu");
	struct volcano_numa numa[COMBINATION_MAX_NODES];
	struct volcano_node v = {
		.known = true,
		.cpu_static = node->cpu_manager != CPU_MANAGER_NONE,
		.policy = inv->topology.policy,
		.numa = numa,
	};

	for (size_t i = 0; cpu >= 0 && i < inv->n_nodes && v.n_numa < COMBINATION_MAX_NODES; i++) {
		const struct inventory_amount *amount = inventory_amount(inv, i, (size_t)cpu);

		if (amount->present)
			numa[v.n_numa++] = (struct volcano_numa){
				.total = whole(amount->capacity), .free = whole(amount->available)};
	}
	return volcano_predicate(&v, &pod->pod, qos, pod->volcano_policy, &row->volcano);
}

/* ---- all of them */

static int score_volcano(struct score_row *rows, size_t n, int64_t weight)
{
	CLEANUP(freep) unsigned *used = calloc(n + 1, sizeof(*used));
	CLEANUP(freep) int64_t *scores = calloc(n + 1, sizeof(*scores));
	size_t n_admitted = 0, at = 0;

	if (!used || !scores)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (rows[i].volcano.admitted)
			used[n_admitted++] = (unsigned)__builtin_popcountll(rows[i].volcano.numa);
	volcano_scores(used, n_admitted, weight, scores);
	for (size_t i = 0; i < n; i++)
		rows[i].volcano_score = rows[i].volcano.admitted ? scores[at++] : SCORE_REPORT_NONE;
	return 0;
}

static int compare_plugin(const struct score_row *a, const struct score_row *b, int strategy)
{
	bool pass_a = a->filter.verdict == FILTER_PASS, pass_b = b->filter.verdict == FILTER_PASS;

	if (pass_a != pass_b)
		return pass_a ? -1 : 1;
	return (b->scores[strategy] > a->scores[strategy]) - (b->scores[strategy] < a->scores[strategy]);
}

static int compare_rows(const void *va, const void *vb, void *data)
{
	const struct score_row *a = va, *b = vb;
	const struct score_options *options = data;
	int r;

	if (options->rank_by == SCORE_BY_VOLCANO)
		r = (b->volcano_score > a->volcano_score) - (b->volcano_score < a->volcano_score);
	else
		r = compare_plugin(a, b, options->rank_by);
	return r ? r : strcmp(a->node->name, b->node->name);
}

int score_report(const struct nrt_nodes *nodes, const struct pod_template *pod,
	const struct score_options *options, struct score_row **ret_rows, struct err *err)
{
	CLEANUP(distance_cache_release) struct distance_cache cache = {0};
	CLEANUP(request_plan_release) struct request_plan plan = {0};
	CLEANUP(freep) struct score_row *rows = calloc(nodes->n_items + 1, sizeof(*rows));
	struct score_options copy = *options;
	int r = rows ? request_plan_init(&plan, &pod->pod) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < nodes->n_items; i++) {
		rows[i].node = &nodes->items[i];
		r = ask_plugin(&nodes->items[i].inventory, &plan, options, &cache, &rows[i]);
		if (r == 0)
			r = ask_volcano(&nodes->items[i], pod, plan.qos, &rows[i]);
		if (r == -E2BIG)
			return err_set(err, r, "node '%s' has more than %u zones", nodes->items[i].name,
				COMBINATION_MAX_NODES);
		if (options->progress)
			options->progress(i + 1, nodes->n_items, options->data);
	}
	if (r == 0)
		r = score_volcano(rows, nodes->n_items, options->volcano_weight);
	if (r < 0)
		return err_no_memory(err);
	if (nodes->n_items > 1)
		qsort_r(rows, nodes->n_items, sizeof(*rows), compare_rows, &copy);
	*ret_rows = TAKE(rows);
	return 0;
}
