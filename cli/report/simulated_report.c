/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/simulated_report.h"

#include <string.h>

#include "cli/report/fit_report.h"
#include "cluster/plan/simulated_reasons.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/kubelet_release.h"
#include "scoring/node_mask.h"

static void write_pod(struct writer *w, const struct simulated_pod *p)
{
	writer_string(w, "namespace", NULL, p->namespace);
	writer_string(w, "pod", NULL, p->name);
	writer_cell(w, "POD", "%s/%s", p->namespace, p->name);
}

/* An item of the list of nodes that were left alone. */
static void write_left_alone(struct writer *w, const struct simulated_node *node)
{
	writer_map(w, NULL);
	writer_string(w, "node", NULL, node->name);
	writer_string(w, "reason", NULL, simulated_obstacle_names[node->obstacle]);
	writer_end(w);
}

/* ---- the steps */

static const char *node_name(const struct simulated_cluster *c, size_t node)
{
	return node == SIMULATED_NOWHERE ? "" : c->nodes[node].name;
}

static void write_step(
	struct writer *w, const struct simulated_cluster *c, const struct plan_step *step, size_t number)
{
	const struct simulated_pod *p = &c->pods[step->pod];

	writer_row(w);
	writer_cell(w, "STEP", "%zu", number);
	writer_string(w, "action", "ACTION", plan_step_names[step->kind]);
	write_pod(w, p);
	writer_text(w, "uid", NULL, p->uid);
	writer_text(w, "from", "FROM", node_name(c, step->from));
	writer_text(w, "to", "TO", node_name(c, step->to));
	writer_text(w, "verdict", NULL, step->to == SIMULATED_NOWHERE ? "" : "admitted");
	writer_string(w, "numaNodes", "NUMA", step->numa);
	writer_string(w, "cpus", "CPUS", step->cpus);
	writer_text(w, "owner", "OWNER", p->owner);
	writer_number(w, "priority", "PRIORITY", p->priority_known, p->priority);
	writer_text(w, "podDisruptionBudget", NULL, step->allowed >= 0 ? p->budget->name : "");
	writer_number(w, "disruptionsAllowed", "PDB", step->allowed >= 0, step->allowed);
	writer_number(w, "cost", "COST", step->kind != PLAN_START, (int64_t)step->cost);
	writer_end(w);
}

static void write_steps(struct writer *w, const struct simulated_cluster *c, const struct plan *plan)
{
	static const struct column columns[] = {COLUMN("STEP"), COLUMN("ACTION"), COLUMN("POD"),
		COLUMN("FROM"), COLUMN("TO"), COLUMN("NUMA", .rank = 5), COLUMN("CPUS", .rank = 3),
		COLUMN("OWNER", .rank = 1), COLUMN("PRIORITY", .rank = 2), COLUMN("PDB", .rank = 4),
		COLUMN("COST")};

	writer_columns(w, columns, ARRAY_SIZE(columns));
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

static void write_reasons(struct writer *w, const struct node_reasons *reasons)
{
	writer_list(w, "reasons");
	for (size_t i = 0; i < reasons->n_items; i++) {
		const struct node_reason *reason = &reasons->items[i];

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
	size_t n_searched = plan->n_unplaced - plan->n_not_searched;

	writer_list(w, "unplaced");
	for (size_t i = 0; i < plan->n_unplaced; i++) {
		const struct simulated_pod *p = &c->pods[plan->unplaced[i]];
		CLEANUP(node_reasons_release) struct node_reasons reasons = {0};

		writer_map(w, NULL);
		writer_string(w, "namespace", NULL, p->namespace);
		writer_string(w, "pod", NULL, p->name);
		/* Only of the first pod: each node is judged again to find the reasons. */
		if (i == 0 && n_searched > 0) {
			if (!writer_is_doc(w))
				strbuf_addf(w->out, "no place for %s/%s%s:\n", p->namespace, p->name,
					n_searched > 1 ? " and the pods after it" : "");
			simulated_reasons_find(c, plan->unplaced[i], NULL, &reasons);
			write_reasons(w, &reasons);
		}
		writer_end(w);
	}
	writer_end(w);
}

#define NAMED_PODS 10u /* pods left out that text names */

static void write_left_out(struct writer *w, const struct simulated_cluster *c, const struct plan *plan)
{
	writer_list(w, "leftOut");
	for (size_t i = 0; i < plan->n_left_out; i++) {
		const struct simulated_pod *p = &c->pods[plan->left_out[i]];

		writer_map(w, NULL);
		writer_string(w, "namespace", NULL, p->namespace);
		writer_string(w, "pod", NULL, p->name);
		writer_end(w);
		if (!writer_is_doc(w) && i < NAMED_PODS)
			strbuf_addf(w->out,
				"left out: pod %s/%s: a Node cannot hold the reservations for it\n",
				p->namespace, p->name);
	}
	writer_end(w);
	if (plan->n_left_out > NAMED_PODS && !writer_is_doc(w))
		strbuf_addf(w->out, "left out: %zu more pods\n", plan->n_left_out - NAMED_PODS);
}

static void write_fixed(struct writer *w, const struct plan *plan)
{
	bool any_printed = false;

	writer_map(w, "notMovable");
	for (size_t i = PLAN_MOVABLE + 1; i < PLAN_FIXED_COUNT; i++) {
		if (plan->fixed[i] == 0)
			continue;
		writer_number(w, plan_fixed_names[i], NULL, true, (int64_t)plan->fixed[i]);
		if (writer_is_doc(w) || plan->outcome == PLAN_FULL)
			continue;
		strbuf_addf(w->out, "%s%zu (%s)", any_printed ? ", " : "not movable: ", plan->fixed[i],
			plan_fixed_names[i]);
		any_printed = true;
	}
	writer_end(w);
	if (any_printed)
		strbuf_addch(w->out, '\n');
}

#define NAMED_NODES 10u /* nodes left alone that text names */

/* Whether an obstacle of the node kept the command from the node. */
static bool is_left_alone(const struct simulated_node *node)
{
	return node->obstacle != SIMULATED_NO_OBSTACLE && node->obstacle != SIMULATED_NOT_SELECTED;
}

/* Whether the change of the node was simulated, whatever its obstacle. If there are no Pods, the loss of the node could not be. */
static bool is_simulated(const struct simulated_node *node, const struct simulated_change *change)
{
	return change->changed || (change->is_gone && node->obstacle != SIMULATED_NO_PODS);
}

/* Says which nodes' kubelets are newer than the newest compared release. */
static void write_cautions(struct writer *w, const struct simulated_cluster *c)
{
	CLEANUP(strv_release) struct strv cautions = {0};
	struct err caution;

	for (size_t i = 0; i < c->n_nodes; i++) {
		kubelet_release_caution(settings_kubelet(&c->nodes[i].state.settings), &caution);
		if (c->nodes[i].info->has_object && caution.text[0])
			strv_push_new(&cautions, caution.text);
	}
	writer_list(w, "cautions");
	for (size_t k = 0; k < cautions.n_items; k++) {
		CLEANUP(strv_release) struct strv names = {0};

		for (size_t i = 0; i < c->n_nodes; i++) {
			kubelet_release_caution(settings_kubelet(&c->nodes[i].state.settings), &caution);
			if (c->nodes[i].info->has_object && !strcmp(caution.text, cautions.items[k]))
				strv_push(&names, c->nodes[i].name);
		}
		writer_row(w);
		writer_string(w, "caution", NULL, cautions.items[k]);
		writer_strings(w, "nodes", &names);
		writer_end(w);
		if (writer_is_doc(w))
			continue;
		strbuf_addf(w->out, "%s: ", cautions.items[k]);
		strbuf_add_list(w->out, &names, NAMED_NODES);
		strbuf_addch(w->out, '\n');
	}
	writer_end(w);
}

/* `changes`: of a simulation, per node; NULL = none. A node that is gone is not left alone. */
static void write_nodes_left_alone(
	struct writer *w, const struct simulated_cluster *c, const struct simulated_change *changes)
{
	size_t n = 0;

	writer_list(w, "leftAlone");
	for (size_t i = 0; i < c->n_nodes; i++) {
		if (!is_left_alone(&c->nodes[i]) || (changes && is_simulated(&c->nodes[i], &changes[i])))
			continue;
		write_left_alone(w, &c->nodes[i]);
		if (n++ >= NAMED_NODES || writer_is_doc(w))
			continue;
		strbuf_addstr(w->out, "left alone: node '");
		strbuf_add_one_line(w->out, c->nodes[i].name);
		strbuf_addf(w->out, "': %s\n", simulated_obstacle_names[c->nodes[i].obstacle]);
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
	writer_number(w, "notSearched", NULL, true, (int64_t)plan->n_not_searched);
	if (writer_is_doc(w))
		return;
	strbuf_addf(w->out, "%s: %zu of %zu pod%s placed, %zu move%s, cost %llu\n",
		plan_outcome_names[plan->outcome], plan->n_placed, plan->n_wanted,
		plan->n_wanted == 1 ? "" : "s", plan->n_moves, plan->n_moves == 1 ? "" : "s",
		(unsigned long long)plan->cost);
	if (plan->gave_up)
		strbuf_addstr(w->out, "the search reached its limit: there may be a better plan\n");
	if (plan->n_not_searched > 0)
		strbuf_addf(w->out, "no place was searched for the last %zu pods\n", plan->n_not_searched);
}

void plan_report(struct writer *w, struct simulated_cluster *c, const struct plan *plan)
{
	write_steps(w, c, plan);
	write_outcome(w, plan);
	write_unplaced(w, c, plan);
	write_left_out(w, c, plan);
	write_fixed(w, plan);
	write_cautions(w, c);
	write_nodes_left_alone(w, c, NULL);
}

/* ---- a simulation: nodes */

static void write_amounts(struct writer *w, const char *key, const struct simulated_amounts *a, bool copies)
{
	writer_map(w, key);
	writer_number(w, "free", NULL, a->known, (int64_t)a->free);
	writer_number(w, "stranded", NULL, a->known, (int64_t)a->stranded);
	writer_number(w, "largestOnOneNumaNode", NULL, a->known, (int64_t)a->largest[0]);
	writer_number(w, "largestOnTwoNumaNodes", NULL, a->known, (int64_t)a->largest[1]);
	if (copies)
		writer_number(w, "copies", NULL, a->copies.known, (int64_t)a->copies.n);
	writer_end(w);
}

/* "12", or "12->8". */
static void write_change(struct writer *w, const char *heading, bool before_known, size_t before,
	bool after_known, size_t after)
{
	if (!before_known || !after_known)
		writer_cell(w, heading, "%s", "?");
	else if (before == after)
		writer_cell(w, heading, "%zu", before);
	else
		writer_cell(w, heading, "%zu->%zu", before, after);
}

static void write_cells(struct writer *w, const struct simulated_change *n)
{
	const struct simulated_amounts *b = &n->before, *a = &n->after;
	bool known = a->known || n->is_gone;

	write_change(w, "FREE", b->known, b->free, known, a->free);
	write_change(w, "STRANDED", b->known, b->stranded, known, a->stranded);
	write_change(w, "1-NUMA", b->known, b->largest[0], known, a->largest[0]);
	write_change(w, "2-NUMA", b->known, b->largest[1], known, a->largest[1]);
	write_change(w, "COPIES", b->copies.known, b->copies.n, a->copies.known || n->is_gone, a->copies.n);
}

static bool is_equal(const struct simulated_amounts *a, const struct simulated_amounts *b)
{
	return a->known == b->known && a->free == b->free && a->stranded == b->stranded &&
	       a->largest[0] == b->largest[0] && a->largest[1] == b->largest[1] &&
	       a->copies.known == b->copies.known && a->copies.n == b->copies.n;
}

/* Whether the node's free amounts or pods change. */
static bool simulated_node_is_shown(const struct simulated_change *n)
{
	return n->changed || n->is_gone || n->added || !is_equal(&n->before, &n->after);
}

static void write_node(struct writer *w, const char *name, const struct simulated_change *n, bool copies)
{
	writer_row(w);
	writer_string(w, "node", "NODE", name);
	writer_bool(w, "gone", true, n->is_gone);
	writer_bool(w, "added", true, n->added);
	writer_number(w, "rejected", "REJECTED", true, (int64_t)n->n_rejected);
	writer_number(w, "unknown", "UNKNOWN", true, (int64_t)n->n_unknown);
	writer_number(w, "onMoreNumaNodes", "WIDER", true, (int64_t)n->n_wider);
	writer_number(w, "onFewerNumaNodes", "NARROWER", true, (int64_t)n->n_narrower);
	write_amounts(w, "before", &n->before, copies);
	write_amounts(w, "after", &n->after, copies);
	write_cells(w, n);
	writer_text(w, "action", NULL, text_or_empty(n->action));
	writer_text(w, "hazard", NULL, text_or_empty(n->hazard));
	writer_text(w, "problem", "PROBLEM", text_or_empty(n->problem));
	writer_end(w);
}

static void write_nodes(
	struct writer *w, const struct simulated_cluster *c, const struct simulation *s, bool copies)
{
	static const struct column columns[] = {COLUMN("NODE"), COLUMN("REJECTED"),
		COLUMN("UNKNOWN", .rank = 4), COLUMN("WIDER", .rank = 3), COLUMN("NARROWER", .rank = 1),
		COLUMN("FREE"), COLUMN("STRANDED"), COLUMN("1-NUMA"), COLUMN("2-NUMA", .rank = 2),
		COLUMN("COPIES"), COLUMN("PROBLEM")};

	writer_columns(w, columns, ARRAY_SIZE(columns));
	table_find(&w->table, "COPIES")->omitted = !copies;
	writer_list(w, "nodes");
	for (size_t i = 0; i < s->n_nodes; i++)
		if (simulated_node_is_shown(&s->nodes[i]))
			write_node(w, c->nodes[i].name, &s->nodes[i], copies);
	writer_end(w);
	if (!writer_is_doc(w) && w->table.cells.n_items > 0)
		writer_table(w);
}

static const char *action_of(const struct simulated_change *n)
{
	return n->action;
}

static const char *hazard_of(const struct simulated_change *n)
{
	return n->hazard;
}

/* "node 'a'" or "3 nodes (a, b, c)": the n nodes with this text. */
static void print_nodes_with(struct writer *w, const struct simulated_cluster *c, const struct simulation *s,
	const char *(*text_of)(const struct simulated_change *n), const char *text, size_t n)
{
	CLEANUP(strv_release) struct strv names = {0};

	for (size_t i = 0; i < s->n_nodes; i++)
		if (text_of(&s->nodes[i]) && !strcmp(text_of(&s->nodes[i]), text))
			strv_push(&names, c->nodes[i].name);
	strbuf_addf(w->out, n == 1 ? "node '" : "%zu nodes (", n);
	strbuf_add_list(w->out, &names, NAMED_NODES);
	strbuf_addstr(w->out, n == 1 ? "'" : ")");
}

/*
 * A line per text that nodes have: "the kubelets of 3 nodes (a, b, c) VERB: TEXT", with the verb for one kubelet and
 * for several.
 */
static void print_texts(struct writer *w, const struct simulated_cluster *c, const struct simulation *s,
	const char *(*text_of)(const struct simulated_change *n), const char *const verbs[2])
{
	CLEANUP(node_reasons_release) struct node_reasons texts = {0};

	for (size_t i = 0; i < s->n_nodes && !writer_is_doc(w); i++)
		if (text_of(&s->nodes[i]))
			node_reasons_count(&texts, text_of(&s->nodes[i]), SIZE_MAX);
	for (size_t i = 0; i < texts.n_items; i++) {
		size_t n = texts.items[i].n_nodes;

		strbuf_addf(w->out, "%sthe kubelet%s of ", i == 0 ? "\n" : "", n == 1 ? "" : "s");
		print_nodes_with(w, c, s, text_of, texts.items[i].text, n);
		strbuf_addf(w->out, " %s: ", n == 1 ? verbs[0] : verbs[1]);
		strbuf_add_one_line(w->out, texts.items[i].text);
		strbuf_addch(w->out, '\n');
	}
}

/* ---- a simulation: pods */

static void write_event(struct writer *w, const struct simulated_cluster *c, const struct simulated_event *e)
{
	const struct simulated_pod *p = &c->pods[e->pod];
	char before[NODE_MASK_TEXT_MAX], after[NODE_MASK_TEXT_MAX];

	writer_row(w);
	write_pod(w, p);
	writer_string(w, "node", "NODE", c->nodes[e->node].name);
	writer_string(w, "what", "WHAT", simulated_effect_names[e->effect]);
	writer_text(w, "to", "TO", e->to == SIMULATED_NOWHERE ? "" : c->nodes[e->to].name);
	writer_ids(w, "numaNodesBefore", true, e->before);
	writer_ids(w, "numaNodesAfter", true, e->after);
	node_mask_print(e->before, before);
	node_mask_print(e->after, after);
	writer_cell(w, "NUMA", "%s -> %s", *before ? before : "-", *after ? after : "-");
	writer_text(w, "owner", "OWNER", p->owner);
	writer_text(w, "reason", "REASON", e->reason);
	writer_end(w);
}

/* The table of nodes has the problem of a node and the number of its pods; a document names the pods too. */
static void write_events(struct writer *w, const struct simulated_cluster *c, const struct simulation *s)
{
	static const struct column columns[] = {COLUMN("POD"), COLUMN("NODE"), COLUMN("WHAT"), COLUMN("TO"),
		COLUMN("NUMA"), COLUMN("OWNER", .rank = 1), COLUMN("REASON")};
	size_t n = 0;

	writer_columns(w, columns, ARRAY_SIZE(columns));
	writer_list(w, "pods");
	for (size_t i = 0; i < s->n_events; i++) {
		if (s->nodes[s->events[i].node].problem && !writer_is_doc(w))
			continue;
		write_event(w, c, &s->events[i]);
		n++;
	}
	writer_end(w);
	if (writer_is_doc(w) || n == 0)
		return;
	strbuf_addch(w->out, '\n');
	writer_table(w);
}

/* ---- a simulation: totals */

static void add_amounts(struct simulated_amounts *sum, const struct simulated_amounts *a)
{
	if (!a->known)
		return;
	sum->known = true;
	sum->free += a->free;
	sum->stranded += a->stranded;
	for (size_t i = 0; i < ARRAY_SIZE(sum->largest); i++)
		sum->largest[i] = a->largest[i] > sum->largest[i] ? a->largest[i] : sum->largest[i];
}

/* "12 -> 8"; "?" for a total to which a node contributes nothing known. */
static void write_total(struct writer *w, bool before_known, size_t before, bool after_known, size_t after)
{
	if (before_known)
		strbuf_addf(w->out, "%zu -> ", before);
	else
		strbuf_addstr(w->out, "? -> ");
	if (after_known)
		strbuf_addf(w->out, "%zu", after);
	else
		strbuf_addch(w->out, '?');
}

static void write_totals(struct writer *w, const struct simulation *s, bool copies)
{
	struct simulated_amounts before = {.known = false}, after = {.known = false};
	size_t lost = simulation_count_rejected(s), unknown = simulation_count_unknown(s);
	size_t anyway = simulation_count_rejected_anyway(s);
	bool lacks_after = false; /* what some node has after the change is not known */
	size_t n_unusable = 0;    /* omitted */
	size_t wider = 0, narrower = 0;

	before.copies = s->copies_before;
	after.copies = s->copies_after;
	for (size_t i = 0; i < s->n_nodes; i++) {
		wider += s->nodes[i].n_wider;
		narrower += s->nodes[i].n_narrower;
		n_unusable += s->nodes[i].unusable && (s->nodes[i].before.known || s->nodes[i].after.known);
		if (s->nodes[i].unusable)
			continue;
		add_amounts(&before, &s->nodes[i].before);
		add_amounts(&after, &s->nodes[i].after);
		lacks_after = lacks_after ||
			      (s->nodes[i].before.known && !s->nodes[i].is_gone && !s->nodes[i].after.known);
	}
	after.known = after.known && !lacks_after;
	writer_map(w, "totals");
	writer_number(w, "rejected", NULL, true, (int64_t)lost);
	writer_number(w, "rejectedAlsoWithoutChange", NULL, true, (int64_t)anyway);
	writer_number(w, "unknown", NULL, true, (int64_t)unknown);
	writer_number(w, "onMoreNumaNodes", NULL, true, (int64_t)wider);
	writer_number(w, "onFewerNumaNodes", NULL, true, (int64_t)narrower);
	writer_number(w, "unusable", NULL, true, (int64_t)n_unusable);
	write_amounts(w, "before", &before, copies);
	write_amounts(w, "after", &after, copies);
	writer_end(w);
	/* Without a table only the loss of each node was simulated, or nothing has changed. */
	if (writer_is_doc(w) || (w->out->len == 0 && s->n_losses > 0))
		return;
	strbuf_addf(w->out, "%s%zu pod%s rejected", w->out->len > 0 ? "\n" : "", lost, lost == 1 ? "" : "s");
	if (anyway > 0)
		strbuf_addf(w->out, " (%zu also without the change)", anyway);
	strbuf_addf(w->out, ", %zu unknown; ", unknown);
	if (wider + narrower > 0)
		strbuf_addf(w->out, "%zu on more NUMA nodes, %zu on fewer; ", wider, narrower);
	strbuf_addstr(w->out, "free CPUs ");
	write_total(w, before.known, before.free, after.known, after.free);
	strbuf_addstr(w->out, ", stranded ");
	write_total(w, before.known, before.stranded, after.known, after.stranded);
	strbuf_addstr(w->out, ", largest pod ");
	write_total(w, before.known, before.largest[0], after.known, after.largest[0]);
	strbuf_addstr(w->out, " CPUs on one NUMA node");
	if (copies) {
		strbuf_addstr(w->out, ", copies of the pod ");
		write_total(w, before.copies.known, before.copies.n, after.copies.known, after.copies.n);
	}
	strbuf_addch(w->out, '\n');
	if (n_unusable > 0)
		strbuf_addf(w->out, "the totals omit %zu node%s not ready or not schedulable\n", n_unusable,
			n_unusable == 1 ? " that is" : "s that are");
}

/* Settings that no kubelet has yet. */
static void write_proposed(struct writer *w, const struct simulation *s)
{
	writer_text(w, "proposed", NULL, text_or_empty(s->proposed));
	if (s->proposed && !writer_is_doc(w))
		strbuf_addf(
			w->out, "proposed: %s (KEP-6007); no kubelet release has this option\n", s->proposed);
}

/* How the pods of the nodes were admitted again. */
static void write_method(struct writer *w, const struct simulation *s)
{
	const char *method = "";

	if (s->drained)
		method = "drain";
	else if (s->restarted)
		method = "restart";
	writer_text(w, "method", NULL, method);
	if (writer_is_doc(w))
		return;
	if (s->drained)
		strbuf_addstr(w->out,
			"assumed: each node is drained, and the same pods come back in the order of their creation (--restart: the kubelets restart while the pods run)\n");
	if (s->restarted)
		strbuf_addstr(
			w->out, "assumed: the kubelets restart while the pods run; no node is drained\n");
}

void simulate_report(
	struct writer *w, const struct simulated_cluster *c, const struct simulation *s, bool copies)
{
	write_nodes(w, c, s, copies);
	print_texts(
		w, c, s, action_of, (const char *const[]){"starts only after this", "start only after this"});
	print_texts(w, c, s, hazard_of, (const char *const[]){"could fail", "could fail"});
	write_events(w, c, s);
	write_totals(w, s, copies);
	write_method(w, s);
	if (copies)
		fit_write_not_evaluated(w, &s->not_evaluated);
	write_proposed(w, s);
	write_cautions(w, c);
	write_nodes_left_alone(w, c, s->nodes);
}

/* ---- the loss of each node alone */

#define NAMED_UNPLACED 3u /* without a place, in a row of text */

static void write_unplaced_pods(
	struct writer *w, const struct simulated_cluster *c, const struct simulated_loss *loss)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
	CLEANUP(strv_release) struct strv names = {0};

	writer_list(w, "noPlace");
	for (size_t i = 0; i < loss->n_unplaced; i++) {
		const struct simulated_pod *p = &c->pods[loss->unplaced[i]];

		writer_map(w, NULL);
		writer_string(w, "namespace", NULL, p->namespace);
		writer_string(w, "pod", NULL, p->name);
		writer_end(w);
		strv_take(&names, xasprintf("%s/%s", p->namespace, p->name));
	}
	writer_end(w);
	strbuf_add_list(&text, &names, NAMED_UNPLACED);
	writer_string(w, NULL, "PODS", text.text);
}

void simulate_report_losses(struct writer *w, const struct simulated_cluster *c, const struct simulation *s)
{
	static const struct column columns[] = {COLUMN("LOST NODE"), COLUMN("MOVED"), COLUMN("NO PLACE"),
		COLUMN("PODS"), COLUMN("WHY THE FIRST")};
	size_t n_bad = simulation_count_bad_losses(s);

	writer_columns(w, columns, ARRAY_SIZE(columns));
	writer_list(w, "losses");
	for (size_t i = 0; i < s->n_losses; i++) {
		const struct simulated_loss *loss = &s->losses[i];

		if (loss->n_unplaced == 0 && !writer_is_doc(w) && w->format != WRITER_WIDE)
			continue;
		writer_row(w);
		writer_string(w, "node", "LOST NODE", c->nodes[loss->node].name);
		writer_number(w, "moved", "MOVED", true, (int64_t)loss->n_moved);
		writer_cell(w, "NO PLACE", "%zu", loss->n_unplaced);
		write_unplaced_pods(w, c, loss);
		writer_text(w, "reason", "WHY THE FIRST", text_or_empty(loss->reason));
		writer_end(w);
	}
	writer_end(w);
	if (writer_is_doc(w))
		return;
	if (w->out->len > 0)
		strbuf_addch(w->out, '\n');
	if (w->table.cells.n_items > 0)
		writer_table(w);
	strbuf_addf(w->out, "%sthe loss of %zu of %zu node%s alone leaves pods without a place\n",
		n_bad > 0 ? "\n" : "", n_bad, s->n_losses, s->n_losses == 1 ? "" : "s");
}
