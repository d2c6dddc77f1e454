/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report/plan_report.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "common/xalloc.h"

/* ---- why a pod has no place */

struct reason {
	char *text;
	size_t n_nodes;
};

struct reasons {
	struct reason *items;
	size_t n_items, items_size;
};

static void reasons_release(struct reasons *r)
{
	for (size_t i = 0; i < r->n_items; i++)
		free(r->items[i].text);
	free(r->items);
}

/* `text` moves. */
static void count_reason(struct reasons *r, char *text)
{
	for (size_t i = 0; i < r->n_items; i++)
		if (!strcmp(r->items[i].text, text)) {
			r->items[i].n_nodes++;
			free(text);
			return;
		}
	*(struct reason *)vec_push(&r->items, &r->n_items, &r->items_size, sizeof(*r->items)) =
		(struct reason){.text = text, .n_nodes = 1};
}

static int compare_reasons(const void *va, const void *vb)
{
	const struct reason *a = va, *b = vb;

	if (a->n_nodes != b->n_nodes)
		return a->n_nodes > b->n_nodes ? -1 : 1;
	return strcmp(a->text, b->text);
}

/* Why no node takes the pod, after the plan's last step; the most frequent reason first. */
static void find_reasons(struct simulated_cluster *c, size_t pod, struct reasons *ret)
{
	for (size_t i = 0; i < c->n_nodes; i++) {
		const char *constraint = c->nodes[i].has_node ? simulated_constraint(c, i, pod) : "";

		count_reason(ret, *constraint ? xstrdup(constraint) : simulated_explain(c, i, pod));
	}
	if (ret->n_items > 1)
		qsort(ret->items, ret->n_items, sizeof(*ret->items), compare_reasons);
}

/* ---- the steps */

static const char *node_name(const struct simulated_cluster *c, size_t node)
{
	return node == SIMULATED_NOWHERE ? "" : c->nodes[node].name;
}

static void write_pod(struct writer *w, const struct simulated_pod *p)
{
	writer_string(w, "namespace", NULL, p->namespace);
	writer_string(w, "pod", NULL, p->name);
	writer_text(w, "uid", NULL, p->uid);
	writer_cell(w, "POD", "%s/%s", p->namespace, p->name);
}

static void write_step(
	struct writer *w, const struct simulated_cluster *c, const struct plan_step *step, size_t number)
{
	const struct simulated_pod *p = &c->pods[step->pod];

	writer_row(w);
	writer_cell(w, "STEP", "%zu", number);
	writer_string(w, "action", "ACTION", plan_step_names[step->kind]);
	write_pod(w, p);
	writer_text(w, "from", "FROM", node_name(c, step->from));
	writer_text(w, "to", "TO", node_name(c, step->to));
	writer_text(w, "verdict", NULL, step->to == SIMULATED_NOWHERE ? "" : "admitted");
	writer_string(w, "numaNodes", "NUMA", step->numa);
	writer_string(w, "cpus", "CPUS", step->cpus);
	writer_text(w, "owner", "OWNER", p->owner);
	writer_number(w, "priority", "PRIORITY", p->priority_known, p->priority);
	writer_text(w, "podDisruptionBudget", NULL, step->allowed >= 0 ? c->budgets[p->budget].name : "");
	writer_number(w, "disruptionsAllowed", "PDB", step->allowed >= 0, step->allowed);
	writer_number(w, "cost", "COST", step->kind != PLAN_START, (int64_t)step->cost);
	writer_end(w);
}

static void write_steps(struct writer *w, const struct simulated_cluster *c, const struct plan *plan)
{
	static const char *const headings[] = {
		"STEP", "ACTION", "POD", "FROM", "TO", "NUMA", "CPUS", "OWNER", "PRIORITY", "PDB", "COST"};

	writer_columns(w, headings, ARRAY_SIZE(headings));
	writer_list(w, "steps");
	for (size_t i = 0; i < plan->n_steps; i++)
		write_step(w, c, &plan->steps[i], i + 1);
	writer_end(w);
	if (plan->n_steps == 0 || writer_is_doc(w))
		return;
	writer_table(w);
	strbuf_addch(w->out, '\n');
}

/* ---- why not */

static void write_reasons(struct writer *w, const struct reasons *reasons)
{
	writer_list(w, "reasons");
	for (size_t i = 0; i < reasons->n_items; i++) {
		const struct reason *reason = &reasons->items[i];

		writer_map(w, NULL);
		writer_number(w, "nodes", NULL, true, (int64_t)reason->n_nodes);
		writer_string(w, "reason", NULL, reason->text);
		writer_end(w);
		if (writer_is_doc(w))
			continue;
		strbuf_addf(w->out, "  %zu node%s: ", reason->n_nodes, reason->n_nodes == 1 ? "" : "s");
		strbuf_add_one_line(w->out, reason->text);
		strbuf_addch(w->out, '\n');
	}
	writer_end(w);
}

static void write_unplaced(struct writer *w, struct simulated_cluster *c, const struct plan *plan)
{
	writer_list(w, "unplaced");
	for (size_t i = 0; i < plan->n_unplaced; i++) {
		const struct simulated_pod *p = &c->pods[plan->unplaced[i]];
		CLEANUP(reasons_release) struct reasons reasons = {0};

		writer_map(w, NULL);
		writer_string(w, "namespace", NULL, p->namespace);
		writer_string(w, "pod", NULL, p->name);
		if (i == 0) {
			if (!writer_is_doc(w))
				strbuf_addf(w->out, "no place for %s/%s%s:\n", p->namespace, p->name,
					plan->n_unplaced > 1 ? " and the pods after it" : "");
			find_reasons(c, plan->unplaced[i], &reasons);
			write_reasons(w, &reasons);
		}
		writer_end(w);
	}
	writer_end(w);
}

static void write_fixed(struct writer *w, const struct plan *plan)
{
	const char *separator = "not movable: ";

	writer_map(w, "notMovable");
	for (size_t i = PLAN_MOVABLE + 1; i < PLAN_FIXED_COUNT; i++) {
		if (plan->fixed[i] == 0)
			continue;
		writer_number(w, plan_fixed_names[i], NULL, true, (int64_t)plan->fixed[i]);
		if (writer_is_doc(w) || plan->outcome == PLAN_FULL)
			continue;
		strbuf_addf(w->out, "%s%zu (%s)", separator, plan->fixed[i], plan_fixed_names[i]);
		separator = ", ";
	}
	writer_end(w);
	if (*separator == ',')
		strbuf_addch(w->out, '\n');
}

#define NAMED_NODES 10u /* nodes left alone that text names */

static void write_obstacles(struct writer *w, const struct simulated_cluster *c)
{
	size_t n = 0;

	writer_list(w, "leftAlone");
	for (size_t i = 0; i < c->n_nodes; i++) {
		const char *reason = simulated_obstacle_names[c->nodes[i].obstacle];

		if (c->nodes[i].obstacle == SIMULATED_NO_OBSTACLE)
			continue;
		writer_map(w, NULL);
		writer_string(w, "node", NULL, c->nodes[i].name);
		writer_string(w, "reason", NULL, reason);
		writer_end(w);
		if (n++ >= NAMED_NODES || writer_is_doc(w))
			continue;
		strbuf_addstr(w->out, "left alone: node '");
		strbuf_add_one_line(w->out, c->nodes[i].name);
		strbuf_addf(w->out, "': %s\n", reason);
	}
	writer_end(w);
	if (n > NAMED_NODES && !writer_is_doc(w))
		strbuf_addf(w->out, "left alone: %zu more nodes\n", n - NAMED_NODES);
}

static void write_outcome(struct writer *w, const struct plan *plan)
{
	writer_string(w, "outcome", NULL, plan_outcome_names[plan->outcome]);
	writer_number(w, "wanted", NULL, true, (int64_t)plan->n_wanted);
	writer_number(w, "placed", NULL, true, (int64_t)plan->n_placed);
	writer_number(w, "moves", NULL, true, (int64_t)plan->n_moves);
	writer_number(w, "cost", NULL, true, (int64_t)plan->cost);
	writer_bool(w, "searchComplete", true, !plan->gave_up);
	if (writer_is_doc(w))
		return;
	strbuf_addf(w->out, "%s: %zu of %zu pod%s placed, %zu move%s, cost %llu\n",
		plan_outcome_names[plan->outcome], plan->n_placed, plan->n_wanted,
		plan->n_wanted == 1 ? "" : "s", plan->n_moves, plan->n_moves == 1 ? "" : "s",
		(unsigned long long)plan->cost);
	if (plan->gave_up)
		strbuf_addstr(w->out, "the search reached its limit: there may be a better plan\n");
}

void plan_report(struct writer *w, struct simulated_cluster *c, const struct plan *plan)
{
	write_steps(w, c, plan);
	write_outcome(w, plan);
	write_unplaced(w, c, plan);
	write_fixed(w, plan);
	write_obstacles(w, c);
}
