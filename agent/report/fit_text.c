/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report/fit_text.h"

#include <string.h>

/* "16 CPUs", "32Gi memory", "4Gi hugepages-1Gi" */
static void add_amount(struct strbuf *out, const char *name, struct quantity q)
{
	char text[QUANTITY_TEXT_MAX];

	quantity_print(q, text);
	if (!strcmp(name, "cpu"))
		strbuf_addf(out, "%s CPU%s", text, q.nano == QTY_UNIT ? "" : "s");
	else {
		strbuf_addf(out, "%s ", text);
		strbuf_add_one_line(out, name);
	}
}

void fit_text_request(const struct resource_list *wanted, enum qos_class qos, struct strbuf *out)
{
	for (size_t i = 0; i < wanted->n_items; i++) {
		if (i > 0)
			strbuf_addstr(out, ", ");
		add_amount(out, wanted->items[i].name, wanted->items[i].quantity);
	}
	strbuf_addf(out, "%s(%s)", wanted->n_items > 0 ? " " : "nothing ", qos_class_names[qos]);
}

static void add_line(struct strbuf *out, const char *text)
{
	strbuf_addstr(out, "  ");
	strbuf_add_one_line(out, text);
	strbuf_addch(out, '\n');
}

static void add_verdict(const struct fit_report *report, struct strbuf *out)
{
	static const char *const words[] = {
		[KUBELET_UNKNOWN] = "unknown", [KUBELET_ADMITS] = "fits", [KUBELET_REJECTS] = "does not fit"};

	strbuf_addf(out, "%s: ", words[report->answer]);
	fit_text_request(&report->wanted, report->qos, out);
	strbuf_addch(out, '\n');
	if (report->gap.text[0])
		add_line(out, report->gap.text);
	if (report->has_claims)
		add_line(out, FIT_CLAIMS);
	if (!report->reason.text[0])
		return;
	strbuf_addstr(out, "  ");
	strbuf_add_one_line(out, report->reason.text);
	if (*report->rejection)
		strbuf_addf(out, " (%s)", report->rejection);
	strbuf_addch(out, '\n');
}

/* What the answer leaves open. */
static void add_unchecked(const struct fit_report *report, struct strbuf *out)
{
	if (report->unchecked.n_items == 0)
		return;
	strbuf_addstr(out, " (not checked: ");
	strbuf_add_one_line(out, report->unchecked.items[0]);
	strbuf_addf(out, "%s)", report->unchecked.n_items > 1 ? " and others" : "");
}

void fit_text_nearest(const struct fit_report *report, struct strbuf *out)
{
	const struct admission_nearest *n = &report->nearest;
	const struct resource_quantity *q = resource_list_find(&report->wanted, n->resource);
	char from[QUANTITY_TEXT_MAX];

	add_amount(out, n->resource, (struct quantity){.nano = n->to, .format = q->quantity.format});
	quantity_print((struct quantity){.nano = n->from, .format = q->quantity.format}, from);
	strbuf_addf(out, " instead of %s", from);
	if (report->nearest_container) {
		strbuf_addstr(out, " in container '");
		strbuf_add_one_line(out, report->nearest_container);
		strbuf_addch(out, '\'');
	}
	add_unchecked(report, out);
}

static void add_nearest(const struct fit_report *report, struct strbuf *out)
{
	const struct admission_nearest *n = &report->nearest;

	if (report->answer != KUBELET_REJECTS || report->missing || report->unschedulable)
		return;
	if (!n->found) {
		strbuf_addf(out, "  %s\n",
			n->complete ? "no smaller amount of one resource would do"
				    : "no smaller amount of one resource is known that would do");
		return;
	}
	strbuf_addstr(out, "  would fit with ");
	fit_text_nearest(report, out);
	strbuf_addch(out, '\n');
}

/* "default/web", "UID ..." or, of an object, a hash */
static void add_pod(const struct victim *p, struct strbuf *out)
{
	strbuf_addstr(out, "    ");
	if (*p->name) {
		strbuf_add_one_line(out, p->namespace);
		strbuf_addstr(out, *p->namespace ? "/" : "");
		strbuf_add_one_line(out, p->name);
	} else {
		strbuf_addstr(out, "UID ");
		strbuf_add_one_line(out, p->uid);
	}
	strbuf_addf(out, ", %zu CPU%s\n", p->cpus, p->cpus == 1 ? "" : "s");
}

static void add_staying(size_t n, const char *why, struct strbuf *out)
{
	if (n > 0)
		strbuf_addf(out, "  %zu pod%s stay%s: %s\n", n, n == 1 ? "" : "s", n == 1 ? "s" : "", why);
}

/* Whose priority keeps them there. */
static void add_priority(const struct fit_priority *p, struct strbuf *out)
{
	char why[64];

	snprintf(why, sizeof(why), "of priority %d or more", (int)p->below);
	add_staying(p->n_not_below, why, out);
	add_staying(p->n_unknown, "of unknown priority", out);
}

static void add_no_set(const struct victims *w, bool some_stay, struct strbuf *out)
{
	if (w->movable > 0)
		strbuf_addf(out,
			"  no pods to move: without all %zu that hold some of it%s the node is too small\n",
			w->movable, some_stay ? " and may go" : "");
	else
		strbuf_addf(out, "  no pods to move: none%s is known to hold some of it\n",
			some_stay ? " that may go" : "");
}

static void add_set(const struct victims *w, struct strbuf *out)
{
	strbuf_addf(out, "  would fit without %zu pod%s:\n", w->n_pods, w->n_pods == 1 ? "" : "s");
	for (size_t i = 0; i < w->n_pods; i++)
		add_pod(&w->pods[i], out);
	if (w->gave_up)
		strbuf_addf(out, "  the search ended after %zu verdicts; there may be a smaller set\n",
			w->verdicts);
}

static void add_unknown_set(const struct fit_report *report, struct strbuf *out)
{
	if (report->answer != KUBELET_REJECTS || report->unschedulable)
		return;
	strbuf_addstr(out, "  which pods would have to go is not known");
	add_unchecked(report, out);
	strbuf_addch(out, '\n');
}

static void add_frees(const struct fit_report *report, struct strbuf *out)
{
	const struct victims *w = &report->frees;
	const struct fit_priority *p = &report->priority;

	if (w->answer == VICTIMS_UNKNOWN)
		add_unknown_set(report, out);
	if (w->answer == VICTIMS_NO_SET)
		add_no_set(w, p->n_not_below + p->n_unknown > 0, out);
	if (w->answer == VICTIMS_SET)
		add_set(w, out);
	if (w->answer == VICTIMS_NO_SET || w->answer == VICTIMS_SET)
		add_priority(p, out);
}

static void add_hint(const struct fit_container *c, struct strbuf *out)
{
	char nodes[NODE_MASK_TEXT_MAX];

	if (c->hint.any_node) {
		strbuf_addf(out, "%-20s", "any");
		return;
	}
	node_mask_print(c->hint.nodes, nodes);
	strbuf_addf(out, "%s%-*s", nodes, strlen(nodes) < 20 ? (int)(20 - strlen(nodes)) : 1,
		!c->hint.preferred ? " not preferred"
		: c->remote        ? " remote"
				   : " preferred");
}

/* A row for each container, if the kubelet places them. */
static void add_containers(const struct fit_report *report, struct strbuf *out)
{
	size_t width = strlen("container");

	for (size_t i = 0; i < report->n_containers; i++)
		if (strlen(report->containers[i].name) > width)
			width = strlen(report->containers[i].name);
	if (report->n_containers > 0)
		strbuf_addf(out, "\n%-*s  %-20s%s\n", (int)width, "container", "NUMA nodes", "CPUs");
	for (size_t i = 0; i < report->n_containers; i++) {
		const struct fit_container *c = &report->containers[i];
		char nodes[NODE_MASK_TEXT_MAX];

		strbuf_add_one_line(out, c->name);
		strbuf_addf(out, "%*s", (int)(width - strlen(c->name)) + 2, "");
		add_hint(c, out);
		strbuf_addstr(out, *c->cpus ? c->cpus : "shared pool");
		node_mask_print(c->memory_nodes, nodes);
		if (c->memory_nodes)
			strbuf_addf(out, "; memory on %s", nodes);
		strbuf_addch(out, '\n');
	}
}

static void add_scheduler_fit(const struct fit_scheduler *s, const struct inventory *inv, struct strbuf *out)
{
	static const char *const distances[FIT_MIN_DISTANCE_COUNT] = {
		"not at minimum distance", "at minimum distance", "whether at minimum distance is not known"};
	uint64_t ids = 0;
	char text[NODE_MASK_TEXT_MAX];

	strbuf_addstr(out, "NUMA nodes   ");
	if (!s->bound || s->fit.verdict != FIT_FOUND) {
		strbuf_addf(out, "%s\n",
			!s->bound                    ? "the request names nothing that NUMA nodes have"
			: s->fit.verdict == FIT_NONE ? "no set of them has what is asked for"
						     : "not known: too many combinations");
		return;
	}
	for (uint64_t left = s->fit.nodes; left; left &= left - 1)
		ids |= node_mask_of(inv->nodes[__builtin_ctzll(left)].id);
	node_mask_print(ids, text);
	strbuf_addf(
		out, "%u for the scheduler (%s), %s\n", s->fit.n_nodes, text, distances[s->fit.min_distance]);
}

/* What the scheduler's plugin would do, where it is not what the kubelet does. */
static void add_filter(const struct fit_report *report, struct strbuf *out)
{
	const struct filter_result *filter = &report->scheduler.filter;
	bool passes = filter->verdict == FILTER_PASS;

	if (report->answer == KUBELET_REJECTS && !report->node_is_short && passes)
		strbuf_addstr(out, "scheduler    its NUMA filter would still send the pod here\n");
	if (report->answer == KUBELET_REJECTS || passes)
		return;
	strbuf_addstr(out, "scheduler    its NUMA filter would keep the pod away: ");
	strbuf_add_one_line(out, filter->detail);
	strbuf_addch(out, '\n');
}

static void add_scheduler(const struct fit_report *report, const struct inventory *inv, struct strbuf *out)
{
	const struct fit_scheduler *s = &report->scheduler;

	if (!s->known) {
		strbuf_addstr(
			out, "scheduler    not known: this machine has NUMA node ids that it cannot hold\n");
		return;
	}
	add_scheduler_fit(s, inv, out);
	strbuf_addstr(out, "scores       ");
	for (enum strategy i = 0; i < STRATEGY_COUNT; i++) {
		strbuf_addf(out, "%s%s ", i > 0 ? ", " : "", strategy_names[i]);
		if (s->scores[i] == SCORE_UNKNOWN)
			strbuf_addstr(out, "unknown");
		else
			strbuf_addf(out, "%d", s->scores[i]);
	}
	strbuf_addch(out, '\n');
	add_filter(report, out);
}

void fit_text(const struct fit_report *report, const struct inventory *inventory, struct strbuf *out)
{
	const struct admission_copies *copies = &report->copies;

	add_verdict(report, out);
	add_nearest(report, out);
	add_frees(report, out);
	add_containers(report, out);
	strbuf_addch(out, '\n');
	if (report->answer == KUBELET_ADMITS || report->rest_fits)
		strbuf_addf(out, "copies       %s%zu, one after the other%s\n",
			copies->at_least ? "at least " : "", copies->n,
			report->rest_fits ? ", without devices" : "");
	add_scheduler(report, inventory, out);
	strbuf_addf(out, "kubelet      Topology Manager policy %s, scope %s\n",
		topology_manager_policy_names[report->topology.policy],
		topology_manager_scope_names[report->topology.scope]);
}
