/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report/score_text.h"

#include <errno.h>
#include <inttypes.h>

#include "agent/report/table.h"
#include "common/cleanup.h"

/* The order in which the strategies are shown. */
static const enum strategy shown[] = {STRATEGY_LEAST_NUMA_NODES, STRATEGY_MOST_ALLOCATED,
	STRATEGY_LEAST_ALLOCATED, STRATEGY_BALANCED_ALLOCATION};

static const char *strategy_title(int strategy)
{
	return strategy == SCORE_BY_VOLCANO ? "Volcano" : strategy_names[strategy];
}

void kubelet_word(enum kubelet_answer answer, const char *rejection, enum cluster_basis basis, char ret[64])
{
	const char *word = answer == KUBELET_ADMITS    ? "admit"
			   : answer == KUBELET_UNKNOWN ? "?"
			   : *rejection                ? rejection
						       : "reject";

	snprintf(ret, 64, "%s%s", basis == CLUSTER_ESTIMATED ? "~" : "", word);
}

/* ---- the table */

static void add_headings(const struct score_report *report, bool wide, struct table *t)
{
	static const char *const first[] = {"NODE", "KUBELET", "FILTER", "NUMA NODES", "MIN DISTANCE"};

	for (size_t i = 0; i < ARRAY_SIZE(first); i++)
		table_add(t, first[i]);
	if (!wide)
		table_add(t, strategy_title(report->options.strategy));
	for (size_t i = 0; i < ARRAY_SIZE(shown) && wide; i++)
		table_add(t, strategy_title((int)shown[i]));
	if (wide)
		table_add(t, strategy_title(SCORE_BY_VOLCANO));
	t->n_columns = t->cells.n_items + 1;
	table_add(t, "REASON");
}

static void add_ids(const struct score_row *row, struct table *t)
{
	CLEANUP(strbuf_release) struct strbuf ids = STRBUF_INIT(1024);

	for (uint64_t left = row->numa; left; left &= left - 1)
		strbuf_addf(&ids, "%s%d", ids.len > 0 ? "," : "", __builtin_ctzll(left));
	table_add(t, row->fit == FIT_UNKNOWN ? "unknown" : ids.text);
}

static void add_score(int64_t score, struct table *t)
{
	if (score == SCORE_REPORT_NONE)
		table_add(t, "");
	else
		table_addf(t, "%" PRId64, score);
}

/* Why the node does not take the pod; each that was asked may have something to say. */
static int add_reasons(
	const struct score_report *report, const struct score_row *row, bool wide, struct table *t)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
	bool volcano = wide || report->options.strategy == SCORE_BY_VOLCANO;

	if (row->kubelet != KUBELET_ADMITS)
		strbuf_addstr(&text, row->kubelet_reason);
	if (!row->passes)
		strbuf_addf(&text, "%sfilter: %s", text.len > 0 ? "; " : "",
			wide ? row->filter_detail : row->filter_reason);
	if (!row->volcano_admits && volcano)
		strbuf_addf(&text, "%sVolcano: %s", text.len > 0 ? "; " : "", row->volcano_reason);
	if (strbuf_error(&text) < 0)
		return strbuf_error(&text);
	table_add(t, text.text);
	return 0;
}

static int add_row(const struct score_report *report, const struct score_row *row, bool wide, struct table *t)
{
	static const char *const distances[FIT_MIN_DISTANCE_COUNT] = {"no", "yes", "unknown"};
	char word[64];

	table_add(t, row->name);
	kubelet_word(row->kubelet, row->rejection, row->basis, word);
	table_add(t, word);
	table_add(t, row->passes ? "pass" : "fail");
	add_ids(row, t);
	table_add(t, row->fit == FIT_FOUND ? distances[row->min_distance] : "");
	if (!wide)
		add_score(score_row_score(row, report->options.strategy), t);
	for (size_t i = 0; i < ARRAY_SIZE(shown) && wide; i++)
		add_score(row->scores[shown[i]], t);
	if (wide)
		add_score(row->volcano_score, t);
	return add_reasons(report, row, wide, t);
}

int score_table(const struct score_report *report, bool wide, bool headings, struct strbuf *out)
{
	CLEANUP(table_release) struct table t = {0};
	int r = 0;

	add_headings(report, wide, &t);
	for (size_t i = 0; i < report->n_rows && r == 0; i++)
		r = add_row(report, &report->rows[i], wide, &t);
	if (r < 0)
		return r;
	table_print(&t, headings, out);
	return strbuf_error(out);
}

void score_names(const struct score_report *report, struct strbuf *out)
{
	for (size_t i = 0; i < report->n_rows; i++) {
		if (!score_row_takes(&report->rows[i], report->options.strategy))
			continue;
		strbuf_addstr(out, "node/");
		strbuf_add_one_line(out, report->rows[i].name);
		strbuf_addch(out, '\n');
	}
}

/* ---- the document */

static void add_score_member(struct doc *scores, const char *name, int64_t score)
{
	if (score == SCORE_REPORT_NONE)
		doc_add(scores, name);
	else
		doc_add_number(scores, name, score);
}

static void add_numa_nodes(struct doc *map, const struct score_row *row)
{
	struct doc *list;

	if (row->fit != FIT_FOUND) {
		doc_add(map, "numaNodes");
		if (row->fit == FIT_UNKNOWN)
			doc_add(map, "minDistance");
		else
			doc_add_bool(map, "minDistance", false);
		return;
	}
	list = doc_add_list(map, "numaNodes");
	for (uint64_t left = row->numa; left; left &= left - 1)
		doc_add_number(list, NULL, __builtin_ctzll(left));
	if (row->min_distance == FIT_MIN_DISTANCE_UNKNOWN) {
		doc_add(map, "minDistance");
		return;
	}
	doc_add_bool(map, "minDistance", row->min_distance == FIT_MIN_DISTANCE_YES);
}

/* The verdict. */
static struct doc *add_verdict(
	struct doc *map, const char *key, const char *flag, bool yes, const char *reason)
{
	struct doc *verdict = doc_add_map(map, key);

	doc_add_bool(verdict, flag, yes);
	doc_add_string(verdict, "reason", reason);
	return verdict;
}

static void add_kubelet(struct doc *map, const struct score_row *row)
{
	static const char *const answers[KUBELET_ANSWER_COUNT] = {"unknown", "admit", "reject"};
	struct doc *kubelet = doc_add_map(map, "kubelet");

	doc_add_string(kubelet, "answer", answers[row->kubelet]);
	doc_add_string(kubelet, "rejection", row->rejection);
	doc_add_string(kubelet, "reason", row->kubelet_reason);
	doc_add_string(kubelet, "basis", cluster_basis_names[row->basis]);
}

static void add_node(struct doc *list, const struct score_row *row)
{
	struct doc *map = doc_add_map(list, NULL), *scores, *volcano;

	doc_add_string(map, "name", row->name);
	add_kubelet(map, row);
	add_verdict(map, "filter", "passed", row->passes, row->filter_reason);
	add_numa_nodes(map, row);
	scores = doc_add_map(map, "scores");
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
		add_score_member(scores, strategy_names[shown[i]], row->scores[shown[i]]);
	add_score_member(scores, "Volcano", row->volcano_score);
	volcano = add_verdict(map, "volcano", "admitted", row->volcano_admits, row->volcano_reason);
	doc_add_number(volcano, "numaNodes", row->volcano_used);
}

void score_to_doc(const struct score_report *report, struct doc *ret)
{
	CLEANUP(doc_release) struct doc top = {.kind = DOC_MAP};
	struct doc *list = doc_add_list(&top, "nodes");

	for (size_t i = 0; i < report->n_rows; i++)
		add_node(list, &report->rows[i]);
	*ret = top;
	top = (struct doc)DOC_INIT;
}
