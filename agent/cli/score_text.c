/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cli/score_text.h"

#include <errno.h>
#include <inttypes.h>

#include "common/cleanup.h"

/* ---- cells of the table */

enum column {
	COLUMN_NODE,
	COLUMN_FILTER,
	COLUMN_NUMA_NODES,
	COLUMN_MIN_DISTANCE,
	COLUMN_LEAST_NUMA_NODES,
	COLUMN_MOST_ALLOCATED,
	COLUMN_LEAST_ALLOCATED,
	COLUMN_BALANCED_ALLOCATION,
	COLUMN_VOLCANO,
	COLUMN_COUNT
};

static const char *const titles[COLUMN_COUNT] = {"NODE", "FILTER", "NUMA NODES", "MIN DISTANCE",
	"LeastNUMANodes", "MostAllocated", "LeastAllocated", "BalancedAllocation", "Volcano"};

static const enum strategy column_strategies[COLUMN_COUNT] = {
	[COLUMN_LEAST_NUMA_NODES] = STRATEGY_LEAST_NUMA_NODES,
	[COLUMN_MOST_ALLOCATED] = STRATEGY_MOST_ALLOCATED,
	[COLUMN_LEAST_ALLOCATED] = STRATEGY_LEAST_ALLOCATED,
	[COLUMN_BALANCED_ALLOCATION] = STRATEGY_BALANCED_ALLOCATION,
};

static const char *const min_distance_words[FIT_MIN_DISTANCE_COUNT] = {"no", "yes", "unknown"};

/* The NUMA node ids of a fit with commas between them. */
static void add_ids(const struct score_row *row, struct strbuf *out)
{
	const struct inventory *inv = &row->node->inventory;
	bool first = true;

	for (size_t i = 0; i < inv->n_nodes; i++) {
		if (!(row->fit.nodes >> i & 1))
			continue;
		strbuf_addf(out, "%s%u", first ? "" : ",", inv->nodes[i].id);
		first = false;
	}
}

static void add_score(int64_t score, struct strbuf *out)
{
	if (score == SCORE_REPORT_NONE)
		strbuf_addstr(out, "-");
	else
		strbuf_addf(out, "%" PRId64, score);
}

static void add_cell(const struct score_row *row, enum column column, struct strbuf *out)
{
	bool found = row->fit.verdict == FIT_FOUND;

	switch (column) {
	case COLUMN_NODE:
		strbuf_add_one_line(out, row->node->name);
		break;
	case COLUMN_FILTER:
		strbuf_addstr(out, row->filter.verdict == FILTER_PASS ? "pass" : "fail");
		break;
	case COLUMN_NUMA_NODES:
		if (found && row->fit.nodes)
			add_ids(row, out);
		else
			strbuf_addstr(out, row->fit.verdict == FIT_UNKNOWN ? "unknown" : "-");
		break;
	case COLUMN_MIN_DISTANCE:
		strbuf_addstr(out, found ? min_distance_words[row->fit.min_distance] : "-");
		break;
	case COLUMN_VOLCANO:
		add_score(row->volcano_score, out);
		break;
	case COLUMN_LEAST_NUMA_NODES:
	case COLUMN_MOST_ALLOCATED:
	case COLUMN_LEAST_ALLOCATED:
	case COLUMN_BALANCED_ALLOCATION:
	case COLUMN_COUNT:
	default:
		add_score(row->scores[column_strategies[column]], out);
		break;
	}
}

static void pad(struct strbuf *out, size_t written, size_t width)
{
	for (; written < width; written++)
		strbuf_addch(out, ' ');
}

/* Why the node does not take the pod; both schedulers may have something to say. */
static void add_reasons(const struct score_row *row, struct strbuf *out)
{
	const char *detail = row->filter.detail[0] ? row->filter.detail : row->filter.reason;

	if (row->filter.verdict != FILTER_PASS) {
		strbuf_addstr(out, "  ");
		strbuf_add_one_line(out, detail);
	}
	if (!row->volcano.admitted) {
		strbuf_addstr(out, row->filter.verdict != FILTER_PASS ? "; Volcano: " : "  Volcano: ");
		strbuf_add_one_line(out, row->volcano.reason);
	}
}

int score_table(const struct score_row *rows, size_t n, struct strbuf *out)
{
	CLEANUP(strbuf_release) struct strbuf cell = STRBUF_INIT(4096);
	size_t widths[COLUMN_COUNT];

	for (enum column c = 0; c < COLUMN_COUNT; c++) {
		widths[c] = strlen(titles[c]);
		for (size_t i = 0; i < n; i++) {
			strbuf_reset(&cell);
			add_cell(&rows[i], c, &cell);
			if (cell.len > widths[c])
				widths[c] = cell.len;
		}
	}
	for (enum column c = 0; c < COLUMN_COUNT; c++) {
		strbuf_addf(out, "%s%s", c > 0 ? "  " : "", titles[c]);
		if (c + 1 < COLUMN_COUNT)
			pad(out, strlen(titles[c]), widths[c]);
	}
	strbuf_addch(out, '\n');
	for (size_t i = 0; i < n; i++) {
		bool reasons = rows[i].filter.verdict != FILTER_PASS || !rows[i].volcano.admitted;

		for (enum column c = 0; c < COLUMN_COUNT; c++) {
			size_t before;

			strbuf_addstr(out, c > 0 ? "  " : "");
			before = out->len;
			add_cell(&rows[i], c, out);
			if (c + 1 < COLUMN_COUNT || reasons)
				pad(out, out->len - before, widths[c]);
		}
		if (reasons)
			add_reasons(&rows[i], out);
		strbuf_addch(out, '\n');
	}
	return strbuf_error(out);
}

/* ---- the document */

static bool add_score_member(struct doc *scores, const char *name, int64_t score)
{
	return score == SCORE_REPORT_NONE ? doc_add(scores, name) != NULL
					  : doc_add_number(scores, name, score) != NULL;
}

static bool add_numa_nodes(struct doc *map, const struct score_row *row)
{
	const struct inventory *inv = &row->node->inventory;
	struct doc *list;

	if (row->fit.verdict != FIT_FOUND)
		return doc_add(map, "numaNodes") &&
		       (row->fit.verdict == FIT_UNKNOWN ? doc_add(map, "minDistance")
							: doc_add_bool(map, "minDistance", false));
	list = doc_add_list(map, "numaNodes");
	for (size_t i = 0; i < inv->n_nodes; i++)
		if (row->fit.nodes >> i & 1 && !doc_add_number(list, NULL, inv->nodes[i].id))
			return false;
	if (row->fit.min_distance == FIT_MIN_DISTANCE_UNKNOWN)
		return doc_add(map, "minDistance");
	return doc_add_bool(map, "minDistance", row->fit.min_distance == FIT_MIN_DISTANCE_YES);
}

static bool add_verdict(struct doc *map, const char *key, const char *flag, bool yes, const char *reason)
{
	struct doc *verdict = doc_add_map(map, key);

	return doc_add_bool(verdict, flag, yes) && doc_add_string(verdict, "reason", reason);
}

static bool add_row(struct doc *list, const struct score_row *row)
{
	static const enum strategy order[] = {STRATEGY_LEAST_NUMA_NODES, STRATEGY_MOST_ALLOCATED,
		STRATEGY_LEAST_ALLOCATED, STRATEGY_BALANCED_ALLOCATION};
	struct doc *map = doc_add_map(list, NULL), *scores;

	if (!doc_add_string(map, "name", row->node->name) ||
		!add_verdict(
			map, "filter", "passed", row->filter.verdict == FILTER_PASS, row->filter.reason) ||
		!add_numa_nodes(map, row))
		return false;
	scores = doc_add_map(map, "scores");
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (!add_score_member(scores, strategy_names[order[i]], row->scores[order[i]]))
			return false;
	return add_score_member(scores, "Volcano", row->volcano_score) &&
	       add_verdict(map, "volcano", "admitted", row->volcano.admitted, row->volcano.reason);
}

int score_to_doc(const struct score_row *rows, size_t n, struct doc *ret)
{
	CLEANUP(doc_release) struct doc top = {.kind = DOC_MAP};
	struct doc *list = doc_add_list(&top, "nodes");

	for (size_t i = 0; list && i < n; i++)
		if (!add_row(list, &rows[i]))
			return -ENOMEM;
	if (!list)
		return -ENOMEM;
	*ret = top;
	top = (struct doc)DOC_INIT;
	return 0;
}
