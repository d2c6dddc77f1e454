/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report/score_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/report/fit_report.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node_mask.h"
#include "scoring/request.h"

/* ---- one node */

static uint64_t ids_of(const struct inventory *inv, uint64_t positions)
{
	uint64_t ids = 0;

	for (; positions; positions &= positions - 1)
		ids |= node_mask_of(inv->nodes[__builtin_ctzll(positions)].id);
	return ids;
}

static int ask_plugin(struct score_report *report, const struct inventory *inv, struct score_row *row)
{
	CLEANUP(fit_space_release) struct fit_space space = {0};
	const struct request_plan *plan = &report->plan;
	struct distances *distances = NULL;
	struct filter_result filter;
	struct fit fit;
	int r = distances_keep(&report->kept, inv->costs, inv->n_nodes, &distances);

	if (r == 0)
		r = fit_space_init(&space, inv, distances);
	if (r < 0)
		return r;
	fit = fit_required(&space, plan->qos, &plan->effective);
	row->fit = fit.verdict;
	row->numa = fit.verdict == FIT_FOUND ? ids_of(inv, fit.nodes) : 0;
	row->min_distance = fit.min_distance;
	filter = filter_pod(&space, plan, &inv->topology, NULL);
	row->passes = filter.verdict == FILTER_PASS;
	for (enum strategy s = 0; s < STRATEGY_COUNT; s++)
		row->scores[s] = strategy_score(&space, plan, &inv->topology, s, &report->options.weights);
	text_set(&row->filter_reason, filter.reason);
	text_set(&row->filter_detail, filter.detail[0] ? filter.detail : filter.reason);
	return 0;
}

static unsigned whole(qty_t nano)
{
	return nano <= 0 ? 0 : nano / QTY_UNIT > UINT32_MAX ? UINT32_MAX : (unsigned)(nano / QTY_UNIT);
}

static int ask_volcano(
	const struct score_report *report, const struct cluster_node *node, struct score_row *row)
{
	const struct inventory *inv = &node->state.inventory;
	int cpu = inventory_resource(inv, "cpu"), r;
	struct volcano_numa numa[COMBINATION_MAX_NODES];
	struct volcano_node v = {
		.known = true,
		.cpu_static = node->cpu_manager != CPU_MANAGER_NONE,
		.policy = inv->topology.policy,
		.numa = numa,
	};
	struct volcano_result result;

	for (size_t i = 0; cpu >= 0 && i < inv->n_nodes && v.n_numa < COMBINATION_MAX_NODES; i++) {
		const struct inventory_amount *amount = inventory_amount(inv, i, (size_t)cpu);

		if (amount->present)
			numa[v.n_numa++] = (struct volcano_numa){
				.total = whole(amount->capacity), .free = whole(amount->available)};
	}
	r = volcano_predicate(&v, &report->pod->pod, report->plan.qos, report->pod->volcano_policy, &result);
	if (r < 0)
		return r;
	row->volcano_admits = result.admitted;
	row->volcano_used = (unsigned)__builtin_popcountll(result.numa);
	text_set(&row->volcano_reason, result.reason);
	return 0;
}

/* The verdict alone: where the containers would go and what else would fit is what `nrtd fit` says. */
static int ask_kubelet(
	const struct score_report *report, const struct cluster_node *node, struct score_row *row)
{
	CLEANUP(fit_report_release) struct fit_report fit = {0};
	int r;

	row->basis = node->basis;
	if (node->basis == CLUSTER_UNKNOWN) {
		text_set(&row->rejection, "");
		text_set(&row->kubelet_reason, node->why.text);
		return 0;
	}
	r = fit_report_make(&node->state, &report->pod->pod, 0, NULL, &fit);
	if (r < 0)
		return r;
	row->kubelet = fit.answer;
	if (fit.answer == KUBELET_UNKNOWN)
		row->basis = CLUSTER_UNKNOWN;
	row->rejection = TAKE(fit.rejection);
	text_set(&row->kubelet_reason, fit.reason.text);
	return 0;
}

/* ---- all of them */

static void row_release(struct score_row *row)
{
	free(row->name);
	free(row->rejection);
	free(row->kubelet_reason);
	free(row->filter_reason);
	free(row->filter_detail);
	free(row->volcano_reason);
	*row = (struct score_row){0};
}

void score_report_init(
	struct score_report *report, const struct pod_template *pod, const struct score_options *options)
{
	*report = (struct score_report){.pod = pod, .options = *options};
	request_plan_init(&report->plan, &pod->pod);
}

void score_report_release(struct score_report *report)
{
	for (size_t i = 0; i < report->n_rows; i++)
		row_release(&report->rows[i]);
	free(report->rows);
	distances_kept_release(&report->kept);
	request_plan_release(&report->plan);
	*report = (struct score_report){0};
}

int score_report_add(struct score_report *report, const struct cluster_node *node, struct err *err)
{
	CLEANUP(row_release) struct score_row row = {.volcano_score = SCORE_REPORT_NONE};
	struct score_row *slot;
	int r;

	text_set(&row.name, node->state.node_name);
	r = ask_plugin(report, &node->state.inventory, &row);
	if (r == 0)
		r = ask_volcano(report, node, &row);
	if (r == 0)
		r = ask_kubelet(report, node, &row);
	if (r == -E2BIG)
		return err_set(err, r, "node '%s' has more than %u zones", row.name, COMBINATION_MAX_NODES);
	slot = vec_push(&report->rows, &report->n_rows, &report->rows_size, sizeof(*slot));
	*slot = row;
	row = (struct score_row){0};
	return 0;
}

static void score_volcano(const struct score_report *report, struct score_row *rows, size_t n)
{
	bool scored = volcano_scores_pod(report->plan.qos, report->pod->volcano_policy);
	CLEANUP(freep) unsigned *used = xcalloc(n + 1, sizeof(*used));
	CLEANUP(freep) int64_t *scores = xcalloc(n + 1, sizeof(*scores));
	size_t n_admitted = 0, at = 0;

	for (size_t i = 0; i < n; i++)
		if (rows[i].volcano_admits)
			used[n_admitted++] = rows[i].volcano_used;
	volcano_scores(used, n_admitted, scored ? report->options.volcano_weight : 0, scores);
	for (size_t i = 0; i < n; i++)
		rows[i].volcano_score = rows[i].volcano_admits ? scores[at++] : SCORE_REPORT_NONE;
}

int64_t score_row_score(const struct score_row *row, int strategy)
{
	return strategy == SCORE_BY_VOLCANO ? row->volcano_score : row->scores[strategy];
}

static bool passes(const struct score_row *row, int strategy)
{
	return strategy == SCORE_BY_VOLCANO ? row->volcano_admits : row->passes;
}

bool score_row_takes(const struct score_row *row, int strategy)
{
	return passes(row, strategy) && row->kubelet == KUBELET_ADMITS;
}

bool score_row_may_take(const struct score_row *row, int strategy)
{
	return passes(row, strategy) && row->kubelet == KUBELET_UNKNOWN;
}

static int compare_rows(const void *va, const void *vb, void *data)
{
	static const int order[KUBELET_ANSWER_COUNT] = {
		[KUBELET_ADMITS] = 0, [KUBELET_UNKNOWN] = 1, [KUBELET_REJECTS] = 2};
	const struct score_row *a = va, *b = vb;
	const struct score_options *options = data;
	int64_t score_a = score_row_score(a, options->strategy),
		score_b = score_row_score(b, options->strategy);
	int r = 0;

	if (options->sort == SCORE_SORT_RANK)
		r = order[a->kubelet] - order[b->kubelet];
	if (r == 0 && options->sort == SCORE_SORT_RANK)
		r = passes(b, options->strategy) - passes(a, options->strategy);
	if (r == 0 && options->sort != SCORE_SORT_NAME)
		r = (score_b > score_a) - (score_b < score_a);
	return r ? r : text_compare_numbered(a->name, b->name);
}

void score_report_rank(struct score_report *report)
{
	score_volcano(report, report->rows, report->n_rows);
	vec_sort(report->rows, report->n_rows, sizeof(*report->rows), compare_rows, &report->options);
}
