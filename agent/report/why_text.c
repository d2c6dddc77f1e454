/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report/why_text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "agent/base/time.h"
#include "agent/report/cluster_fit_text.h"
#include "agent/report/fit_text.h"
#include "agent/report/not_looked_at.h"
#include "agent/report/score_text.h"
#include "agent/report/table.h"
#include "common/cleanup.h"
#include "common/cpuset.h"

/* ---- the pod */

/* "  TEXT", on one line; nothing for no text. */
static void add_line(struct strbuf *out, const char *text)
{
	if (!*text)
		return;
	strbuf_addstr(out, "  ");
	strbuf_add_one_line(out, text);
	strbuf_addch(out, '\n');
}

/* The same between quotes: what somebody else says. */
static void add_quote(struct strbuf *out, const char *who, const char *text)
{
	if (!*text)
		return;
	strbuf_addf(out, "  %s: \"", who);
	strbuf_add_one_line(out, text);
	strbuf_addstr(out, "\"\n");
}

static void add_status(const struct pod_status *f, struct strbuf *out)
{
	switch (f->stage) {
	case POD_WAITS:
		strbuf_addstr(out, f->gated ? "waits: its scheduling gates keep schedulers from looking at it"
					    : "waits: no scheduler has found a node for it");
		break;
	case POD_BOUND:
		strbuf_addf(out, "is bound to node '%s', whose kubelet has not rejected it", f->node);
		break;
	case POD_REJECTED:
		strbuf_addf(out, "was rejected by the kubelet of node '%s': %s", f->node, f->reason);
		break;
	case POD_RUNS:
		strbuf_addf(out, "runs on node '%s'", f->node);
		break;
	case POD_ENDED:
		strbuf_addf(out, "has ended: %s%s%s", f->phase, *f->reason ? ", " : "", f->reason);
		break;
	case POD_STAGE_COUNT:
		break;
	}
}

static int add_pod(const struct why_report *r, struct strbuf *out)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(1u << 20);
	const struct pod_status *f = &r->status;

	strbuf_addf(&line, "pod %s/%s ", f->namespace, f->name);
	add_status(f, &line);
	strbuf_add_one_line(out, line.text);
	strbuf_addch(out, '\n');
	add_quote(out, "message", f->message);
	add_quote(out, "scheduler", f->scheduler);
	strbuf_addstr(out, "  asks for ");
	fit_text_request(&r->wanted, r->qos, out);
	strbuf_addch(out, '\n');
	add_line(out, r->gap.text);
	add_line(out, r->aligned.text);
	return strbuf_error(&line);
}

/* ---- its node */

static void add_cpus_and_nodes(const struct pod_held *held, struct strbuf *out)
{
	CLEANUP(freep) char *cpus = cpuset_print(held->cpus);
	CLEANUP(freep) char *numa = cpuset_print(held->numa);

	strbuf_addf(out, "  it holds %s%s%s\n", *cpus ? "CPUs " : "no CPUs of its own", cpus,
		*numa ? "" : ", on no NUMA node");
	if (*numa)
		strbuf_addf(out, "  it lies on NUMA node%s %s\n",
			hwloc_bitmap_weight(held->numa) == 1 ? "" : "s", numa);
}

static void add_held(const struct why_report *r, struct strbuf *out)
{
	if (r->held.found) {
		add_cpus_and_nodes(&r->held, out);
		return;
	}
	strbuf_addstr(
		out, !r->own_seen ? "  what it holds there is not known: that node is not among those asked\n"
		     : r->own_basis != CLUSTER_EXACT
			     ? "  what it holds there is not known: the node's object has no node state\n"
			     : "  it holds nothing there that is exclusive or on a NUMA node\n");
}

static const struct cluster_fit_row *own_row(const struct why_report *r)
{
	for (size_t i = 0; i < r->fit.n_rows; i++)
		if (!strcmp(r->fit.rows[i].name, r->status.node))
			return &r->fit.rows[i];
	return NULL;
}

/* What the kubelet that rejected the pod would say of one like it now. */
static void add_rejection(const struct why_report *r, struct strbuf *out)
{
	const struct cluster_fit_row *row = own_row(r);
	char word[64];

	if (!row) {
		strbuf_addstr(out, "  that kubelet is not among those asked now\n");
	} else if (row->answer == KUBELET_ADMITS) {
		strbuf_addstr(out, "  that kubelet would take such a pod now: what it has "
				   "free has changed since\n");
	} else {
		kubelet_word(row->answer, row->rejection, row->basis, word);
		strbuf_addstr(out, "  that kubelet now: ");
		strbuf_add_one_line(out, word);
		strbuf_addstr(out, *row->reason ? ": " : "");
		strbuf_add_one_line(out, row->reason);
		strbuf_addstr(out, " (what it has free may have changed since)\n");
		if (*row->nearest) {
			strbuf_addstr(out, "  it would take ");
			strbuf_add_one_line(out, row->nearest);
			strbuf_addch(out, '\n');
		}
	}
	strbuf_addstr(out, "  a rejected pod is not tried again; ");
	strbuf_add_one_line(out, *r->status.owner ? r->status.owner : "nothing");
	strbuf_addf(out, " makes another%s\n", *r->status.owner ? "" : ": delete it and create it again");
}

/* ---- the nodes */

static void add_headings(const struct why_report *r, struct table *t)
{
	static const char *const names[] = {"NODE", "KUBELET", "NUMA NODES", "WOULD FIT", "REASON"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (i == 2 && r->usage.n_nodes > 0)
			table_add(t, "KEPT AWAY BY");
		table_add(t, names[i]);
	}
	t->n_columns = t->cells.n_items;
}

static void add_row(const struct why_report *r, const struct cluster_fit_row *row, struct table *t)
{
	char word[64], numa[NODE_MASK_TEXT_MAX] = "";

	table_add(t, row->name);
	kubelet_word(row->answer, row->rejection, row->basis, word);
	if (row->numa)
		node_mask_print(row->numa, numa);
	table_add(t, word);
	if (r->usage.n_nodes > 0)
		table_add(t, why_report_violated(r, row->name));
	table_add(t, row->answer == KUBELET_ADMITS && row->any_node ? "any" : numa);
	table_add(t, row->nearest);
	table_add(t, row->reason);
}

/* "2 of 5 nodes' kubelets would take it (1 estimated), 1 has no answer,
 * schedulers keep it away from 1" */
static void add_totals(const struct why_report *r, struct strbuf *out)
{
	size_t barred = 0;

	for (size_t i = 0; i < r->fit.n_rows; i++)
		barred += *why_report_violated(r, r->fit.rows[i].name) != '\0';
	strbuf_addf(out, "\n%zu of %zu node%s would take %s", r->takes, r->fit.n_rows,
		r->fit.n_rows == 1 ? "" : "s", r->status.stage == POD_WAITS ? "it" : "such a pod now");
	if (r->estimated > 0)
		strbuf_addf(out, " (%zu estimated, ~)", r->estimated);
	if (r->unknown > 0)
		strbuf_addf(out, "; of %zu it is not known", r->unknown);
	if (barred > 0)
		strbuf_addf(out, "; schedulers keep it away from %zu", barred);
	strbuf_addch(out, '\n');
	not_looked_at_text(&r->constraints.not_looked_at, out);
}

static void add_nodes(const struct why_report *r, struct strbuf *out)
{
	CLEANUP(table_release) struct table t = {0};

	add_headings(r, &t);
	for (size_t i = 0; i < r->fit.n_rows; i++)
		add_row(r, &r->fit.rows[i], &t);
	add_totals(r, out);
	strbuf_addch(out, '\n');
	table_print(&t, true, out);
}

/* ---- its events */

#define EVENTS_MAX 10

static int64_t age_of(const struct why_report *r, const struct pod_event *e)
{
	if (e->last_s == 0)
		return -1;
	return r->now_s > e->last_s ? r->now_s - e->last_s : 0;
}

static void add_event(const struct why_report *r, const struct pod_event *e, struct table *t)
{
	char age[AGE_TEXT_MAX];

	timestamp_print_age(age_of(r, e), age);
	table_add(t, age);
	table_addf(t, "%" PRIu64, e->count);
	table_add(t, e->reason);
	table_add(t, e->source);
	table_add(t, e->message);
}

static void add_events(const struct why_report *r, struct strbuf *out)
{
	static const char *const names[] = {"LAST SEEN", "COUNT", "EVENT", "FROM", "MESSAGE"};
	CLEANUP(table_release) struct table t = {.n_columns = ARRAY_SIZE(names)};
	size_t n = r->events.n_items < EVENTS_MAX ? r->events.n_items : EVENTS_MAX;

	if (!r->events_known)
		return;
	if (n == 0) {
		strbuf_addstr(out, "\nno events: Kubernetes keeps them for an hour\n");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		table_add(&t, names[i]);
	for (size_t i = 0; i < n; i++)
		add_event(r, &r->events.items[i], &t);
	strbuf_addch(out, '\n');
	table_print(&t, true, out);
	if (n < r->events.n_items)
		strbuf_addf(out, "and %zu older\n", r->events.n_items - n);
}

int why_text(const struct why_report *r, struct strbuf *out)
{
	int error = add_pod(r, out);

	if (error == 0 && !why_report_asks(r))
		add_held(r, out);
	if (r->status.stage == POD_REJECTED)
		add_rejection(r, out);
	if (error == 0 && why_report_asks(r))
		add_nodes(r, out);
	if (error == 0)
		add_events(r, out);
	return error < 0 ? error : strbuf_error(out);
}

/* ---- the document */

static void add_count(struct doc *map, const char *key, bool known, size_t n)
{
	if (known)
		doc_add_number(map, key, (int64_t)n);
	else
		doc_add(map, key);
}

static void add_requests(struct doc *pod, const struct resource_list *wanted)
{
	struct doc *map = doc_add_map(pod, "requests");
	char text[QUANTITY_TEXT_MAX];

	for (size_t i = 0; i < wanted->n_items; i++) {
		quantity_print(wanted->items[i].quantity, text);
		doc_add_string(map, wanted->items[i].name, text);
	}
}

static void add_pod_doc(const struct why_report *r, struct doc *top)
{
	struct doc *pod = doc_add_map(top, "pod");
	const struct pod_status *f = &r->status;
	const char *const texts[][2] = {
		{"namespace", f->namespace},
		{"name", f->name},
		{"uid", f->uid},
		{"stage", pod_stage_names[f->stage]},
		{"phase", f->phase},
		{"reason", f->reason},
		{"message", f->message},
		{"node", f->node},
		{"owner", f->owner},
		{"qosClass", qos_class_names[r->qos]},
		{"schedulerMessage", f->scheduler},
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		doc_add_string(pod, texts[i][0], texts[i][1]);
	doc_add_bool(pod, "schedulingGates", f->gated);
	add_requests(pod, &r->wanted);
}

static void add_held_doc(const struct why_report *r, struct doc *top)
{
	CLEANUP(freep) char *cpus = NULL;
	struct doc *held, *list;

	if (!r->held.found) {
		doc_add(top, "held");
		return;
	}
	cpus = cpuset_print(r->held.cpus);
	held = doc_add_map(top, "held");
	doc_add_string(held, "cpus", cpus);
	list = doc_add_list(held, "numaNodes");
	for (int id = hwloc_bitmap_first(r->held.numa); id >= 0; id = hwloc_bitmap_next(r->held.numa, id))
		doc_add_number(list, NULL, id);
}

/* The items of the nodes' fit, moved, each with what keeps the pod away. */
static void add_nodes_doc(const struct why_report *r, struct doc *top)
{
	CLEANUP(doc_release) struct doc fit = DOC_INIT;
	struct doc *nodes;
	size_t at = 0;

	cluster_fit_to_doc(&r->fit, &fit);
	nodes = doc_add_list(top, "nodes");
	DOC_FOREACH (item, &fit) {
		struct doc empty = {.kind = DOC_LIST, .key = item->key};

		if (strcmp(item->key, "items") != 0)
			continue;
		nodes->items = item->items;
		nodes->n_items = item->n_items;
		nodes->items_size = item->items_size;
		*item = empty;
	}
	DOC_FOREACH (item, nodes)
		doc_add_string(item, "keptAway", why_report_violated(r, r->fit.rows[at++].name));
}

static void add_event_doc(const struct why_report *r, const struct pod_event *e, struct doc *list)
{
	struct doc *map = doc_add_map(list, NULL);
	int64_t age = age_of(r, e);

	doc_add_string(map, "type", e->type);
	doc_add_string(map, "reason", e->reason);
	doc_add_string(map, "message", e->message);
	doc_add_string(map, "source", e->source);
	doc_add_number(map, "count", e->count > INT64_MAX ? INT64_MAX : (int64_t)e->count);
	add_count(map, "ageSeconds", age >= 0, (size_t)age);
}

static void add_lists_doc(const struct why_report *r, struct doc *top)
{
	struct doc *events;

	not_looked_at_to_doc(&r->constraints.not_looked_at, top);
	events = r->events_known ? doc_add_list(top, "events") : doc_add(top, "events");
	for (size_t i = 0; i < r->events.n_items; i++)
		add_event_doc(r, &r->events.items[i], events);
}

void why_to_doc(const struct why_report *r, struct doc *ret)
{
	CLEANUP(doc_release) struct doc top = {.kind = DOC_MAP};
	bool asks = why_report_asks(r);

	add_pod_doc(r, &top);
	doc_add_string(&top, "alignment", r->aligned.text);
	doc_add_string(&top, "notGuaranteed", r->gap.text);
	add_held_doc(r, &top);
	add_count(&top, "takes", asks, r->takes);
	add_count(&top, "unknown", asks, r->unknown);
	add_count(&top, "estimated", asks, r->estimated);
	add_nodes_doc(r, &top);
	add_lists_doc(r, &top);
	*ret = top;
	top = (struct doc)DOC_INIT;
}
