/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/score_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/fit_report.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/volcano.h"

void score_report_init(
	struct score_report *report, const struct pod_template *pod, const struct score_options *options)
{
	*report = (struct score_report){.pod = pod, .options = *options};
	pod_report_init(&report->pods, &pod->pod);
}

void score_report_release(struct score_report *report)
{
	pod_report_release(&report->pods);
}

/* ---- one node */

static void add_volcano_verdict(
	const struct score_report *report, const struct cluster_node *node, struct scheduler_report *ret)
{
	const struct inventory *inv = &node->state.inventory;
	int cpu = inventory_resource(inv, "cpu");
	struct volcano_numa numa[COMBINATION_MAX_NODES];
	struct volcano_node v = {
		.known = true,
		.cpu_static = node->cpu_manager != CPU_MANAGER_NONE,
		.policy = inv->topology.policy,
		.numa = numa,
	};
	struct volcano_result result = {0};

	for (size_t i = 0; cpu >= 0 && i < inv->n_nodes && v.n_numa < COMBINATION_MAX_NODES; i++) {
		const struct inventory_amount *amount = inventory_amount(inv, i, (size_t)cpu);

		if (amount->present)
			numa[v.n_numa++] = (struct volcano_numa){.total = qty_whole_units(amount->capacity),
				.free = qty_whole_units(amount->available)};
	}
	volcano_predicate(&v, &report->pod->pod, report->pods.qos, report->pod->volcano_policy, &result);
	ret->volcano_admits = result.admitted;
	ret->volcano_used = (unsigned)__builtin_popcountll(result.numa);
	text_set(&ret->volcano_reason, result.reason);
}

int score_report_add(struct score_report *report, const struct node_info *node, struct err *err)
{
	const struct inventory *inv = &node->object.state.inventory;
	struct node_report *n;

	if (inv->n_nodes > COMBINATION_MAX_NODES)
		return err_set(
			err, -E2BIG, "node '%s' has more than %u zones", node->name, COMBINATION_MAX_NODES);
	n = pod_report_add(&report->pods, node, 0);
	scheduler_report_make(&report->pods, inv, &report->pod->pod, &inv->topology, &report->options.weights,
		&n->scheduler);
	add_volcano_verdict(report, &node->object, &n->scheduler);
	return 0;
}

/* ---- all nodes */

static void add_volcano_scores(const struct score_report *report)
{
	struct node_report *nodes = report->pods.nodes;
	size_t n = report->pods.n_nodes, n_admitted = 0, at = 0;
	bool scored = volcano_scores_pod(report->pods.qos, report->pod->volcano_policy);
	CLEANUP(freep) unsigned *used = xcalloc(n + 1, sizeof(*used));
	CLEANUP(freep) int64_t *scores = xcalloc(n + 1, sizeof(*scores));

	/* used[] and scores[] have only the nodes that Volcano admits, in the order of nodes[]. */
	for (size_t i = 0; i < n; i++)
		if (nodes[i].scheduler.volcano_admits)
			used[n_admitted++] = nodes[i].scheduler.volcano_used;
	volcano_scores(used, n_admitted, scored ? report->options.volcano_weight : 0, scores);
	for (size_t i = 0; i < n; i++)
		nodes[i].scheduler.volcano_score =
			nodes[i].scheduler.volcano_admits ? scores[at++] : SCORE_UNKNOWN;
}

static int64_t score_of(const struct scheduler_report *s, int strategy)
{
	return strategy == SCORE_BY_VOLCANO ? s->volcano_score : s->scores[strategy];
}

static bool passes_filter(const struct scheduler_report *s, int strategy)
{
	return strategy == SCORE_BY_VOLCANO ? s->volcano_admits : s->passes;
}

bool score_row_is(const struct node_report *n, int strategy, enum kubelet_answer answer)
{
	return passes_filter(&n->scheduler, strategy) && n->answer == answer;
}

static int compare_scored_nodes(const void *va, const void *vb, void *data)
{
	static const int order[KUBELET_ANSWER_COUNT] = {
		[KUBELET_ADMITS] = 0, [KUBELET_UNKNOWN] = 1, [KUBELET_REJECTS] = 2};
	const struct node_report *a = va, *b = vb;
	const struct score_options *options = data;
	int64_t score_a = score_of(&a->scheduler, options->strategy),
		score_b = score_of(&b->scheduler, options->strategy);
	int r = 0;

	if (options->sort == SCORE_SORT_RANK)
		r = order[a->answer] - order[b->answer];
	if (r == 0 && options->sort == SCORE_SORT_RANK)
		r = passes_filter(&b->scheduler, options->strategy) -
		    passes_filter(&a->scheduler, options->strategy);
	if (r == 0 && options->sort != SCORE_SORT_NAME)
		r = (score_b > score_a) - (score_b < score_a);
	return r ? r : text_compare_numbered(a->name, b->name);
}

void score_report_rank(struct score_report *report)
{
	struct pod_report *pods = &report->pods;

	add_volcano_scores(report);
	vec_sort(pods->nodes, pods->n_nodes, sizeof(*pods->nodes), compare_scored_nodes, &report->options);
}

/* ---- the output */

/* In the order of the output. */
static const enum strategy strategies[] = {STRATEGY_LEAST_NUMA_NODES, STRATEGY_MOST_ALLOCATED,
	STRATEGY_LEAST_ALLOCATED, STRATEGY_BALANCED_ALLOCATION};

static const char *strategy_title(int strategy)
{
	return strategy == SCORE_BY_VOLCANO ? "Volcano" : strategy_names[strategy];
}

/* All reasons against the node: the kubelet's, and those of the scheduler plugins. */
static void write_reasons(struct writer *w, const struct score_report *report, const struct node_report *n)
{
	bool wide = w->format == WRITER_WIDE;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
	const struct scheduler_report *s = &n->scheduler;

	fit_add_reasons(n, &text);
	if (!s->passes)
		strbuf_addf(&text, "%sfilter: %s", text.len > 0 ? "; " : "",
			wide ? s->filter_detail : s->filter_reason);
	if (!s->volcano_admits && (wide || report->options.strategy == SCORE_BY_VOLCANO))
		strbuf_addf(&text, "%sVolcano: %s", text.len > 0 ? "; " : "", s->volcano_reason);
	writer_string(w, NULL, "REASON", text.text);
}

static void write_kubelet(struct writer *w, const struct node_report *n)
{
	static const char *const answers[KUBELET_ANSWER_COUNT] = {
		[KUBELET_UNKNOWN] = "unknown", [KUBELET_ADMITS] = "admit", [KUBELET_REJECTS] = "reject"};
	char word[VERDICT_WORD_MAX];

	fit_verdict_word(n, word);
	writer_cell(w, "KUBELET", "%s", word);
	writer_map(w, "kubelet");
	writer_string(w, "answer", NULL, answers[n->answer]);
	writer_string(w, "rejection", NULL, n->rejection);
	writer_string(w, "reason", NULL, n->reason);
	writer_string(w, "basis", NULL, cluster_basis_names[n->basis]);
	writer_end(w);
}

static void write_numa_nodes(struct writer *w, const struct scheduler_report *s)
{
	static const char *const distances[FIT_MIN_DISTANCE_COUNT] = {[FIT_MIN_DISTANCE_NO] = "no",
		[FIT_MIN_DISTANCE_YES] = "yes",
		[FIT_MIN_DISTANCE_UNKNOWN] = "unknown"};
	CLEANUP(strbuf_release) struct strbuf ids = STRBUF_INIT(1024);
	bool found = s->fit.verdict == FIT_FOUND;

	for (uint64_t left = s->numa; left; left &= left - 1)
		strbuf_addf(&ids, "%s%d", ids.len > 0 ? "," : "", __builtin_ctzll(left));
	writer_ids(w, "numaNodes", found, s->numa);
	writer_string(w, NULL, "NUMA NODES", s->fit.verdict == FIT_UNKNOWN ? "unknown" : ids.text);
	writer_bool(w, "minDistance",
		found ? s->fit.min_distance != FIT_MIN_DISTANCE_UNKNOWN : s->fit.verdict == FIT_NONE,
		found && s->fit.min_distance == FIT_MIN_DISTANCE_YES);
	writer_string(w, NULL, "MIN DISTANCE", found ? distances[s->fit.min_distance] : "");
}

static void write_score(struct writer *w, const struct scheduler_report *s, int strategy)
{
	int64_t score = score_of(s, strategy);

	writer_number(w, strategy_title(strategy), strategy_title(strategy), score != SCORE_UNKNOWN, score);
}

static void write_node(struct writer *w, const struct score_report *report, const struct node_report *n)
{
	const struct scheduler_report *s = &n->scheduler;

	writer_row(w);
	writer_string(w, "name", "NODE", n->name);
	write_kubelet(w, n);
	writer_map(w, "filter");
	writer_bool(w, "passed", true, s->passes);
	writer_cell(w, "FILTER", s->passes ? "pass" : "fail");
	writer_string(w, "reason", NULL, s->filter_reason);
	writer_end(w);
	write_numa_nodes(w, s);
	writer_map(w, "scores");
	for (size_t i = 0; i < ARRAY_SIZE(strategies); i++)
		write_score(w, s, (int)strategies[i]);
	write_score(w, s, SCORE_BY_VOLCANO);
	writer_end(w);
	writer_map(w, "volcano");
	writer_bool(w, "admitted", true, s->volcano_admits);
	writer_string(w, "reason", NULL, s->volcano_reason);
	writer_number(w, "numaNodes", NULL, true, s->volcano_used);
	writer_end(w);
	write_reasons(w, report, n);
	writer_end(w);
}

void score_write(struct writer *w, const struct score_report *report)
{
	struct column columns[6 + ARRAY_SIZE(strategies) + 1] = {COLUMN("NODE"), COLUMN("KUBELET"),
		COLUMN("FILTER"), COLUMN("NUMA NODES", .rank = 2), COLUMN("MIN DISTANCE", .rank = 1)};
	const struct pod_report *pods = &report->pods;
	size_t n = 5;

	for (size_t i = 0; i < ARRAY_SIZE(strategies) && w->format == WRITER_WIDE; i++)
		columns[n++].heading = strategy_title((int)strategies[i]);
	columns[n++].heading =
		strategy_title(w->format == WRITER_WIDE ? SCORE_BY_VOLCANO : report->options.strategy);
	columns[n++].heading = "REASON";
	writer_columns(w, columns, n);
	writer_list(w, "nodes");
	for (size_t i = 0; i < pods->n_nodes; i++) {
		write_node(w, report, &pods->nodes[i]);
		if (score_row_is(&pods->nodes[i], report->options.strategy, KUBELET_ADMITS))
			writer_name(w, "node", pods->nodes[i].name);
	}
	writer_end(w);
	if (w->format == WRITER_TEXT || w->format == WRITER_WIDE)
		writer_table(w);
	writer_columns(w, NULL, 0);
	if (writer_is_doc(w) || (w->headings && w->format != WRITER_NAME))
		writer_without_object(w, &pods->without_object);
}
