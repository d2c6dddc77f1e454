/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/why_report.h"

#include <stdlib.h>
#include <string.h>

#include "cli/report/fit_report.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/io/time.h"
#include "common/text.h"
#include "common/vec.h"
#include "scoring/request.h"

#define EVENTS_MAX 10 /* in text */

void why_report_release(struct why_report *r)
{
	scheduling_constraints_release(&r->constraints);
	scheduling_constraints_release(&r->own_constraints);
	doc_release(&r->object);
	pod_templates_release(&r->templates);
	pod_status_release(&r->status);
	pod_events_release(&r->events);
	pod_report_release(&r->pods);
	cluster_release(&r->cluster);
	pod_held_release(&r->held);
	*r = (struct why_report){0};
}

/* ---- the pod */

/* The pod's spec.nodeName is the result of scheduling, not a constraint on a pod like this one. */
static void add_constraints(struct why_report *r)
{
	struct scheduling_constraints *sc = &r->constraints;

	scheduling_constraints_init(sc, &r->object, r->status.namespace, false);
	if (r->status.stage == POD_REJECTED)
		scheduling_constraints_init(&r->own_constraints, &r->object, r->status.namespace, true);
	if (r->pods.pod->has_claims)
		strv_push(&sc->not_evaluated, "resource claims");
}

int why_report_init(struct why_report *ret, struct doc *pod, struct err *err)
{
	CLEANUP(why_report_release) struct why_report r = {.own_basis = CLUSTER_UNKNOWN};
	int error = pod_status_read(pod, &r.status, err);

	if (error == 0)
		error = pod_template_from_pod(pod,
			vec_push(&r.templates.items, &r.templates.n_items, &r.templates.items_size,
				sizeof(*r.templates.items)),
			err);
	if (error < 0 && !r.status.name) /* the Pod has no name */
		return error;
	if (error < 0)
		return err_wrap(err, error, "Pod '%.60s/%.60s'", r.status.namespace, r.status.name);
	pod_report_init(&r.pods, &r.templates.items[0].pod);
	r.object = *pod;
	*pod = (struct doc)DOC_INIT;
	*ret = r;
	r = (struct why_report){0};
	ret->templates.items[0].owner = &ret->object;
	cluster_list_begin(&ret->cluster, OBJECT_POD);
	add_constraints(ret);
	return 0;
}

bool why_report_asks(const struct why_report *r)
{
	return r->status.stage != POD_BOUND && r->status.stage != POD_RUNS;
}

/* ---- the nodes */

int why_report_add_object(struct why_report *r, enum object_kind kind, struct doc *object, struct err *err)
{
	int error = cluster_update(&r->cluster, kind, object, 0, err);

	if (error < 0)
		return error;
	scheduling_constraints_add(&r->constraints, kind, object);
	if (r->status.stage == POD_REJECTED)
		scheduling_constraints_add(&r->own_constraints, kind, object);
	return 0;
}

void why_report_end_objects(struct why_report *r)
{
	cluster_list_end(&r->cluster, OBJECT_POD, 0, 0);
	pod_report_set_cluster(&r->pods, &r->cluster, &r->templates.items[0], r->status.namespace);
	scheduling_constraints_finish(&r->constraints);
	if (r->status.stage == POD_REJECTED)
		scheduling_constraints_finish(&r->own_constraints);
}

static void set_alignment(struct why_report *r, const struct node_state *state)
{
	CLEANUP(pod_alignments_release) struct pod_alignments all = {0};

	pod_alignments_find(state, &all);
	for (size_t i = 0; i < all.n_items; i++)
		if (all.items[i].n_items > 0 && pod_names_match(&r->status.names, all.items[i].items)) {
			r->alignment = all.items[i].alignment;
			r->alignment_reason = all.items[i].reason;
		}
}

void why_report_add_node(struct why_report *r, struct cluster_node *object)
{
	struct node_info *node = cluster_set_object(&r->cluster, object, 0);
	const struct node_state *state = &node->object.state;

	if (!strcmp(r->status.node, node->name)) {
		r->own_seen = true;
		r->own_basis = node->object.basis;
		pod_held_release(&r->held);
		if (node->object.basis == CLUSTER_EXACT) {
			pod_held_find(state, &r->status.names, &r->held);
			set_alignment(r, state);
		}
	}
	if (why_report_asks(r))
		pod_report_add(&r->pods, node, REPORT_PLACEMENTS | REPORT_COPIES | REPORT_NEAREST);
	pod_report_drop_node(&r->pods, node);
}

/* ---- the order of the nodes */

const char *why_report_violated(const struct why_report *r, const char *node)
{
	return scheduling_constraints_violated_by_first(&r->constraints, node);
}

static int rank(const struct why_report *r, const struct node_report *n)
{
	static const int order[KUBELET_ANSWER_COUNT] = {
		[KUBELET_ADMITS] = 1, [KUBELET_UNKNOWN] = 2, [KUBELET_REJECTS] = 3};

	if (r->status.stage == POD_REJECTED && !strcmp(n->name, r->status.node))
		return 0;
	return *why_report_violated(r, n->name) ? 4 : order[n->answer];
}

static int compare_ranked_nodes(const void *va, const void *vb, void *data)
{
	const struct node_report *a = va, *b = vb;
	int of_a = rank(data, a), of_b = rank(data, b);
	size_t copies_a = node_report_copies(a)->n, copies_b = node_report_copies(b)->n;

	if (of_a != of_b)
		return of_a - of_b;
	if (copies_a != copies_b)
		return copies_a > copies_b ? -1 : 1;
	return text_compare_numbered(a->name, b->name);
}

void why_report_finish(struct why_report *r)
{
	struct pod_report *pods = &r->pods;

	vec_sort(pods->nodes, pods->n_nodes, sizeof(*pods->nodes), compare_ranked_nodes, r);
	r->takes = r->unknown = r->estimated = 0;
	for (size_t i = 0; i < pods->n_nodes; i++) {
		const struct node_report *n = &pods->nodes[i];

		if (*why_report_violated(r, n->name))
			continue;
		r->takes += n->answer == KUBELET_ADMITS;
		r->estimated += n->answer == KUBELET_ADMITS && n->basis == CLUSTER_ESTIMATED;
		r->unknown += n->answer == KUBELET_UNKNOWN;
	}
}

/* ---- the pod as text */

/* "  SENDER: "TEXT"", for a text from the API server. */
static void add_quote(struct strbuf *out, const char *sender, const char *text)
{
	if (!*text)
		return;
	strbuf_addf(out, "  %s: \"", sender);
	strbuf_add_one_line(out, text);
	strbuf_addstr(out, "\"\n");
}

static void add_status(const struct pod_status *s, struct strbuf *out)
{
	if (s->terminating)
		strbuf_addstr(out, "is terminating; it ");
	switch (s->stage) {
	case POD_WAITS:
		if (s->terminating)
			strbuf_addstr(out, "has no node, and schedulers ignore it now");
		else if (s->gated)
			strbuf_addstr(
				out, "waits: schedulers ignore the pod because of its scheduling gates");
		else if (*s->nominated)
			strbuf_addf(out, "waits: it is nominated for node '%s', until there is room",
				s->nominated);
		else
			strbuf_addstr(out, "waits: no scheduler has found a node for the pod");
		break;
	case POD_BOUND:
		strbuf_addf(out, "is bound to node '%s', whose kubelet has not rejected it", s->node);
		break;
	case POD_REJECTED:
		strbuf_addf(out, "was rejected by the kubelet of node '%s': %s", s->node, s->reason);
		break;
	case POD_RUNS:
		strbuf_addf(out, "runs on node '%s'", s->node);
		break;
	case POD_ENDED:
		strbuf_addf(out, "has ended: %s%s%s", s->phase, *s->reason ? ", " : "", s->reason);
		break;
	case POD_STAGE_COUNT:
		break;
	}
}

static void add_pod_text(const struct why_report *r, struct strbuf *out)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(1u << 20);
	const struct pod_status *s = &r->status;

	strbuf_addf(&line, "pod %s/%s ", s->namespace, s->name);
	add_status(s, &line);
	strbuf_add_one_line(out, line.text);
	strbuf_addch(out, '\n');
	add_quote(out, "message", s->message);
	add_quote(out, "scheduler", s->scheduler);
	strbuf_addstr(out, "  requests ");
	fit_add_request(&r->pods, out);
	strbuf_addch(out, '\n');
	fit_add_alignment(&r->pods, "  ", out);
}

static void add_cpus_and_nodes(const struct pod_held *held, struct strbuf *out)
{
	CLEANUP(freep) char *cpus = cpuset_print(held->cpus);
	CLEANUP(freep) char *numa = cpuset_print(held->numa);

	strbuf_addf(out, "  holds %s%s%s\n", *cpus ? "CPUs " : "no exclusive CPUs", cpus,
		*numa ? "" : ", on no NUMA node");
	if (*numa)
		strbuf_addf(out, "  holds resources of NUMA node%s %s\n",
			hwloc_bitmap_weight(held->numa) == 1 ? "" : "s", numa);
}

static void add_held(const struct why_report *r, struct strbuf *out)
{
	if (r->held.found) {
		add_cpus_and_nodes(&r->held, out);
		strbuf_addf(out, "  alignment: %s%s%s\n", alignment_names[r->alignment],
			*r->alignment_reason.text ? ": " : "", r->alignment_reason.text);
		return;
	}
	if (!r->own_seen)
		strbuf_addstr(out, "  unknown what the pod holds: the object of the node was not read\n");
	else if (r->own_basis != CLUSTER_EXACT)
		strbuf_addstr(
			out, "  unknown what the pod holds: the object of the node has no node state\n");
	else
		strbuf_addstr(out, "  holds nothing exclusively, and no resources of a NUMA node\n");
}

static const struct node_report *own_node(const struct why_report *r)
{
	for (size_t i = 0; i < r->pods.n_nodes; i++)
		if (!strcmp(r->pods.nodes[i].name, r->status.node))
			return &r->pods.nodes[i];
	return NULL;
}

/* What has changed on the node, whose kubelet rejected the pod and would admit it now. Reasons that are not listed are about resources. */
static void add_change(const struct why_report *r, const char *name, struct strbuf *out)
{
	static const char *const causes[][2] = {
		{"NodeAffinity", "labels"}, {"NodePorts", "free host ports"}, {"TaintToleration", "taints"}};
	const char *changed = "free resources";
	bool known = true;

	for (size_t i = 0; i < ARRAY_SIZE(causes); i++) {
		if (strcmp(r->status.reason, causes[i][0]) != 0)
			continue;
		changed = causes[i][1];
		known = r->own_constraints.nodes_known;
	}
	if (known)
		strbuf_addf(out, "  node '%s' would admit such a pod now: the node's %s have changed\n", name,
			changed);
	else
		strbuf_addf(out,
			"  node '%s' has room for such a pod now; its %s are unknown without Node objects\n",
			name, changed);
}

/* The current verdict of the kubelet that rejected the pod. */
static void add_rejection(const struct why_report *r, struct strbuf *out)
{
	const struct node_report *n = own_node(r);
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(1u << 20);
	char word[VERDICT_WORD_MAX];
	const char *name, *violated = "";

	if (!r->only_node || !strcmp(r->only_node, r->status.node))
		violated = scheduling_constraints_violated_by_first(&r->own_constraints, r->status.node);
	strbuf_add_one_line(&line, r->status.node);
	name = line.text;
	if (*violated) {
		strbuf_addf(out, "  verdict of node '%s' now: rejected: ", name);
		strbuf_add_one_line(out, violated);
		strbuf_addch(out, '\n');
	} else if (!n) {
		strbuf_addf(out, "  verdict of node '%s' now: unknown, the object of the node was not read\n",
			name);
	} else if (n->answer == KUBELET_ADMITS) {
		add_change(r, name, out);
	} else {
		fit_verdict_word(n, word);
		strbuf_addf(out, "  verdict of node '%s' now: ", name);
		strbuf_add_one_line(out, word);
		strbuf_addstr(out, *n->reason ? ": " : "");
		strbuf_add_one_line(out, n->reason);
		strbuf_addstr(out, " (the node's free resources may have changed)\n");
		if (n->nearest.found) {
			strbuf_addf(out, "  node '%s' would admit ", name);
			fit_add_nearest(&r->pods, n, out);
			strbuf_addch(out, '\n');
		}
	}
	strbuf_addstr(out, "  a rejected pod is not retried");
	if (*r->status.owner) {
		strbuf_addstr(out, "; ");
		strbuf_add_one_line(out, r->status.owner);
		strbuf_addstr(out, " creates a new pod\n");
	} else {
		strbuf_addstr(out, ", and the pod has no controller: delete and recreate the pod yourself\n");
	}
}

/* The change of an amount that is the farthest from the request. */
static const struct request_change *farthest_change(const struct nearest_request *nearest)
{
	const struct request_change *farthest = &nearest->changes[0];

	for (size_t i = 1; i < nearest->n_changes; i++)
		if (request_change_is_nearer(farthest, &nearest->changes[i]))
			farthest = &nearest->changes[i];
	return farthest;
}

/* The smallest change with which some node's kubelet would admit the pod, if none does: the fewest amounts, then the smallest fraction. */
static void add_smallest_change(const struct why_report *r, struct strbuf *out)
{
	const struct node_report *best = NULL;

	if (r->takes > 0)
		return;
	for (size_t i = 0; i < r->pods.n_nodes; i++) {
		const struct node_report *n = &r->pods.nodes[i];
		size_t fewest = best ? best->nearest.n_changes : SIZE_MAX;

		if (!n->nearest.found || *why_report_violated(r, n->name))
			continue;
		if (n->nearest.n_changes < fewest ||
			(n->nearest.n_changes == fewest &&
				request_change_is_nearer(
					farthest_change(&n->nearest), farthest_change(&best->nearest))))
			best = n;
	}
	if (!best)
		return;
	strbuf_addstr(out, "the smallest change: ");
	fit_add_nearest(&r->pods, best, out);
	strbuf_addstr(out, ", on node '");
	strbuf_add_one_line(out, best->name);
	strbuf_addstr(out, "'\n");
}

/* "2 of 5 nodes would admit the pod (1 estimated, ~); unknown for 1; schedulers exclude 1" */
static void add_totals(const struct why_report *r, struct strbuf *out)
{
	size_t excluded = 0;

	for (size_t i = 0; i < r->pods.n_nodes; i++)
		excluded += *why_report_violated(r, r->pods.nodes[i].name) != '\0';
	strbuf_addf(out, "\n%zu of %zu node%s would admit %s", r->takes, r->pods.n_nodes,
		r->pods.n_nodes == 1 ? "" : "s", r->status.stage == POD_WAITS ? "the pod" : "such a pod now");
	if (r->estimated > 0)
		strbuf_addf(out, " (%zu estimated, ~)", r->estimated);
	if (r->unknown > 0)
		strbuf_addf(out, "; unknown for %zu", r->unknown);
	if (excluded > 0)
		strbuf_addf(out, "; schedulers exclude %zu", excluded);
	strbuf_addch(out, '\n');
	add_smallest_change(r, out);
}

/* ---- the pod as JSON or YAML */

static void write_requests(struct writer *w, const struct resource_list *wanted)
{
	char text[QUANTITY_TEXT_MAX];

	writer_map(w, "requests");
	for (size_t i = 0; i < wanted->n_items; i++) {
		quantity_print(wanted->items[i].quantity, text);
		writer_string(w, wanted->items[i].name, NULL, text);
	}
	writer_end(w);
}

static void write_pod(struct writer *w, const struct why_report *r)
{
	const struct pod_status *s = &r->status;
	const char *const texts[][2] = {
		{"namespace", s->namespace},
		{"name", s->name},
		{"uid", s->uid},
		{"stage", pod_stage_names[s->stage]},
		{"phase", s->phase},
		{"reason", s->reason},
		{"message", s->message},
		{"node", s->node},
		{"nominatedNode", s->nominated},
		{"owner", s->owner},
		{"qosClass", qos_class_names[r->pods.qos]},
		{"schedulerMessage", s->scheduler},
	};

	writer_map(w, "pod");
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		writer_string(w, texts[i][0], NULL, texts[i][1]);
	writer_bool(w, "schedulingGates", true, s->gated);
	writer_bool(w, "terminating", true, s->terminating);
	write_requests(w, &r->pods.wanted);
	writer_end(w);
	writer_string(w, "alignment", NULL, r->pods.alignment.text);
	writer_string(w, "notGuaranteed", NULL, r->pods.not_guaranteed.text);
}

static void write_held(struct writer *w, const struct why_report *r)
{
	const struct pod_held *held = &r->held;
	CLEANUP(freep) char *cpus = NULL;

	if (!held->found) {
		writer_null(w, "held");
		return;
	}
	cpus = cpuset_print(held->cpus);
	writer_map(w, "held");
	writer_string(w, "cpus", NULL, cpus);
	writer_list(w, "numaNodes");
	for (int id = hwloc_bitmap_first(held->numa); id >= 0; id = hwloc_bitmap_next(held->numa, id))
		writer_number(w, NULL, NULL, true, id);
	writer_end(w);
	writer_string(w, "alignment", NULL, alignment_names[r->alignment]);
	writer_string(w, "reason", NULL, r->alignment_reason.text);
	writer_end(w);
}

static void write_counts(struct writer *w, const struct why_report *r)
{
	bool asks = why_report_asks(r);

	writer_number(w, "takes", NULL, asks, (int64_t)r->takes);
	writer_number(w, "unknown", NULL, asks, (int64_t)r->unknown);
	writer_number(w, "estimated", NULL, asks, (int64_t)r->estimated);
	writer_without_object(w, &r->pods.without_object);
}

/* ---- rows of both formats */

static void write_nodes(struct writer *w, const struct why_report *r)
{
	static const struct column columns[] = {COLUMN("NODE"), COLUMN("KUBELET"),
		COLUMN("NUMA NODES", .rank = 2), COLUMN("WOULD FIT", .rank = 1), COLUMN("REASON")};

	writer_columns(w, columns, ARRAY_SIZE(columns));
	writer_list(w, "nodes");
	for (size_t i = 0; i < r->pods.n_nodes; i++) {
		const struct node_report *n = &r->pods.nodes[i];
		const char *violated = why_report_violated(r, n->name);
		CLEANUP(strbuf_release) struct strbuf reasons = STRBUF_INIT(4096);

		fit_write_row(w, &r->pods, n);
		writer_string(w, "keptAway", NULL, violated);
		fit_add_reasons(n, &reasons);
		if (*violated)
			writer_cell(w, "REASON", "kept away: %s%s%s", violated, reasons.len > 0 ? "; " : "",
				reasons.text);
		if (*violated || n->answer == KUBELET_REJECTS)
			fit_fold_row(w, &r->pods);
		writer_end(w);
	}
	writer_end(w);
}

/* In seconds; -1 = unknown. */
static int64_t age_of(const struct why_report *r, const struct pod_event *e)
{
	if (e->last_s == 0)
		return -1;
	return r->now_s > e->last_s ? r->now_s - e->last_s : 0;
}

static void write_event(struct writer *w, const struct why_report *r, const struct pod_event *e)
{
	int64_t age_s = age_of(r, e);
	char age[AGE_TEXT_MAX];

	timestamp_print_age(age_s, age);
	writer_row(w);
	writer_string(w, NULL, "LAST SEEN", age);
	writer_string(w, "type", NULL, e->type);
	writer_string(w, "reason", "EVENT", e->reason);
	writer_string(w, "message", "MESSAGE", e->message);
	writer_string(w, "source", "FROM", e->source);
	writer_number(w, "count", "COUNT", true, e->count > INT64_MAX ? INT64_MAX : (int64_t)e->count);
	writer_number(w, "ageSeconds", NULL, age_s >= 0, age_s);
	writer_end(w);
}

static void write_events(struct writer *w, const struct why_report *r)
{
	static const struct column columns[] = {
		COLUMN("LAST SEEN"), COLUMN("COUNT"), COLUMN("EVENT"), COLUMN("FROM"), COLUMN("MESSAGE")};
	size_t n = r->events.n_items;

	if (!r->events_known) {
		writer_null(w, "events");
		return;
	}
	if (!writer_is_doc(w) && n > EVENTS_MAX)
		n = EVENTS_MAX;
	writer_columns(w, columns, ARRAY_SIZE(columns));
	writer_list(w, "events");
	for (size_t i = 0; i < n; i++)
		write_event(w, r, &r->events.items[i]);
	writer_end(w);
	if (writer_is_doc(w))
		return;
	strbuf_addstr(w->out, n > 0 ? "\n" : "\nno events: Kubernetes keeps events for an hour\n");
	if (n > 0)
		writer_table(w);
	if (n < r->events.n_items)
		strbuf_addf(w->out, "and %zu older events\n", r->events.n_items - n);
}

static void write_doc(struct writer *w, const struct why_report *r)
{
	write_pod(w, r);
	write_held(w, r);
	write_counts(w, r);
	write_nodes(w, r);
	fit_write_not_evaluated(w, &r->constraints.not_evaluated);
}

static void write_text(struct writer *w, const struct why_report *r)
{
	add_pod_text(r, w->out);
	if (r->status.stage == POD_REJECTED)
		add_rejection(r, w->out);
	if (!why_report_asks(r)) {
		add_held(r, w->out);
		return;
	}
	add_totals(r, w->out);
	writer_without_object(w, &r->pods.without_object);
	fit_write_not_evaluated(w, &r->constraints.not_evaluated);
	strbuf_addch(w->out, '\n');
	write_nodes(w, r);
	writer_table(w);
}

void why_write(struct writer *w, const struct why_report *r)
{
	if (writer_is_doc(w))
		write_doc(w, r);
	else
		write_text(w, r);
	write_events(w, r);
}
