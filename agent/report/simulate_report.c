/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report/simulate_report.h"

#include "common/cleanup.h"
#include "common/text.h"

size_t simulate_count_lost(const struct simulation *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_nodes; i++)
		n += s->nodes[i].n_rejected;
	return n;
}

size_t simulate_count_unknown(const struct simulation *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_nodes; i++)
		n += s->nodes[i].n_unknown;
	return n;
}

/* ---- nodes */

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
	bool known = a->known || n->without;

	write_change(w, "FREE", b->known, b->free, known, a->free);
	write_change(w, "STRANDED", b->known, b->stranded, known, a->stranded);
	write_change(w, "1-NUMA", b->known, b->largest[0], known, a->largest[0]);
	write_change(w, "2-NUMA", b->known, b->largest[1], known, a->largest[1]);
	write_change(w, "COPIES", b->copies.known, b->copies.n, a->copies.known || n->without, a->copies.n);
}

static bool is_equal(const struct simulated_amounts *a, const struct simulated_amounts *b)
{
	return a->known == b->known && a->free == b->free && a->stranded == b->stranded &&
	       a->largest[0] == b->largest[0] && a->largest[1] == b->largest[1] &&
	       a->copies.known == b->copies.known && a->copies.n == b->copies.n;
}

/* Nodes whose free amounts or pods change. */
static bool is_shown(const struct simulated_change *n)
{
	return n->changed || n->without || !is_equal(&n->before, &n->after);
}

static void write_node(struct writer *w, const char *name, const struct simulated_change *n, bool copies)
{
	writer_row(w);
	writer_string(w, "node", "NODE", name);
	writer_bool(w, "gone", true, n->without);
	writer_number(w, "rejected", "REJECTED", true, (int64_t)n->n_rejected);
	writer_number(w, "unknown", "UNKNOWN", true, (int64_t)n->n_unknown);
	writer_number(w, "onMoreNumaNodes", "WIDER", true, (int64_t)n->n_wider);
	writer_number(w, "onFewerNumaNodes", "NARROWER", true, (int64_t)n->n_narrower);
	write_amounts(w, "before", &n->before, copies);
	write_amounts(w, "after", &n->after, copies);
	write_cells(w, n);
	writer_text(w, "problem", "PROBLEM", text_or_empty(n->problem));
	writer_end(w);
}

static void write_nodes(
	struct writer *w, const struct simulated_cluster *c, const struct simulation *s, bool copies)
{
	static const char *const headings[] = {"NODE", "REJECTED", "UNKNOWN", "WIDER", "NARROWER", "FREE",
		"STRANDED", "1-NUMA", "2-NUMA", "PROBLEM"};
	static const char *const with_copies[] = {"NODE", "REJECTED", "UNKNOWN", "WIDER", "NARROWER", "FREE",
		"STRANDED", "1-NUMA", "2-NUMA", "COPIES", "PROBLEM"};

	writer_columns(
		w, copies ? with_copies : headings, copies ? ARRAY_SIZE(with_copies) : ARRAY_SIZE(headings));
	writer_list(w, "nodes");
	for (size_t i = 0; i < s->n_nodes; i++)
		if (is_shown(&s->nodes[i]))
			write_node(w, c->nodes[i].name, &s->nodes[i], copies);
	writer_end(w);
	if (!writer_is_doc(w))
		writer_table(w);
}

/* ---- pods */

static void write_event(struct writer *w, const struct simulated_cluster *c, const struct simulated_event *e)
{
	const struct simulated_pod *p = &c->pods[e->pod];

	writer_row(w);
	writer_string(w, "namespace", NULL, p->namespace);
	writer_string(w, "pod", NULL, p->name);
	writer_cell(w, "POD", "%s/%s", p->namespace, p->name);
	writer_string(w, "node", "NODE", c->nodes[e->node].name);
	writer_string(w, "what", "WHAT", simulated_effect_names[e->effect]);
	writer_text(w, "to", "TO", e->to == SIMULATED_NOWHERE ? "" : c->nodes[e->to].name);
	writer_number(w, "numaNodesBefore", NULL, true, (int64_t)e->before);
	writer_number(w, "numaNodesAfter", NULL, true, (int64_t)e->after);
	write_change(w, "NUMA", true, e->before, true, e->after);
	writer_text(w, "owner", "OWNER", p->owner);
	writer_text(w, "reason", "REASON", e->reason);
	writer_end(w);
}

static void write_events(struct writer *w, const struct simulated_cluster *c, const struct simulation *s)
{
	static const char *const headings[] = {"POD", "NODE", "WHAT", "TO", "NUMA", "OWNER", "REASON"};

	writer_columns(w, headings, ARRAY_SIZE(headings));
	writer_list(w, "pods");
	for (size_t i = 0; i < s->n_events; i++)
		write_event(w, c, &s->events[i]);
	writer_end(w);
	if (writer_is_doc(w) || s->n_events == 0)
		return;
	strbuf_addch(w->out, '\n');
	writer_table(w);
}

/* ---- totals */

static void add_amounts(struct simulated_amounts *sum, const struct simulated_amounts *a)
{
	if (!a->known)
		return;
	sum->known = true;
	sum->free += a->free;
	sum->stranded += a->stranded;
	for (size_t i = 0; i < ARRAY_SIZE(sum->largest); i++)
		sum->largest[i] = a->largest[i] > sum->largest[i] ? a->largest[i] : sum->largest[i];
	sum->copies.known |= a->copies.known;
	sum->copies.n += a->copies.n;
}

static void write_totals(struct writer *w, const struct simulation *s, bool copies)
{
	struct simulated_amounts before = {.known = false}, after = {.known = false};
	size_t lost = simulate_count_lost(s), unknown = simulate_count_unknown(s);

	for (size_t i = 0; i < s->n_nodes; i++) {
		add_amounts(&before, &s->nodes[i].before);
		add_amounts(&after, &s->nodes[i].after);
	}
	writer_map(w, "totals");
	writer_number(w, "rejected", NULL, true, (int64_t)lost);
	writer_number(w, "unknown", NULL, true, (int64_t)unknown);
	write_amounts(w, "before", &before, copies);
	write_amounts(w, "after", &after, copies);
	writer_end(w);
	if (writer_is_doc(w))
		return;
	strbuf_addf(w->out,
		"\n%zu pod%s rejected, %zu unknown; free CPUs %zu -> %zu, stranded %zu -> %zu, largest pod %zu -> %zu CPUs on one NUMA node",
		lost, lost == 1 ? "" : "s", unknown, before.free, after.free, before.stranded, after.stranded,
		before.largest[0], after.largest[0]);
	if (copies)
		strbuf_addf(w->out, ", copies of the pod %zu -> %zu", before.copies.n, after.copies.n);
	strbuf_addch(w->out, '\n');
}

static void write_obstacles(struct writer *w, const struct simulated_cluster *c, const struct simulation *s)
{
	size_t n = 0;

	writer_list(w, "leftAlone");
	for (size_t i = 0; i < c->n_nodes; i++) {
		if (c->nodes[i].obstacle == SIMULATED_NO_OBSTACLE || s->nodes[i].changed ||
			s->nodes[i].without)
			continue;
		writer_map(w, NULL);
		writer_string(w, "node", NULL, c->nodes[i].name);
		writer_string(w, "reason", NULL, simulated_obstacle_names[c->nodes[i].obstacle]);
		writer_end(w);
		n++;
	}
	writer_end(w);
	if (n > 0 && !writer_is_doc(w))
		strbuf_addf(w->out,
			"left alone: %zu node%s without an exact node state or without a Node object\n", n,
			n == 1 ? "" : "s");
}

void simulate_report(
	struct writer *w, const struct simulated_cluster *c, const struct simulation *s, bool copies)
{
	write_nodes(w, c, s, copies);
	write_events(w, c, s);
	write_totals(w, s, copies);
	write_obstacles(w, c, s);
}
