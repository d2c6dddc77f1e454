/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/changes_report.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/io/time.h"
#include "common/text.h"
#include "common/xalloc.h"

#define CHANGES_MAX 20000u /* an API server with more Events of one node has other problems */

static const char *const kind_names[] = {[CHANGE_EVENT] = "", /* the reason of the Event takes its place */
	[CHANGE_POD_STARTED] = "pod started",
	[CHANGE_POD_REJECTED] = "pod rejected",
	[CHANGE_POD_ENDED] = "pod ended"};

static void change_release(struct node_change *c)
{
	free(c->reason);
	free(c->namespace);
	free(c->name);
	free(c->uid);
	free(c->message);
}

void changes_report_release(struct changes_report *r)
{
	for (size_t i = 0; i < r->n_items; i++)
		change_release(&r->items[i]);
	free(r->items);
	strv_release(&r->pods);
}

/* Adds a change with empty texts, unless it is older than the report. */
static struct node_change *add_change(struct changes_report *r, enum change_kind kind, int64_t at_s)
{
	struct node_change *c;

	if (at_s < r->since_s || r->n_items >= CHANGES_MAX)
		return NULL;
	c = vec_push(&r->items, &r->n_items, &r->items_size, sizeof(*c));
	c->kind = kind;
	c->at_s = at_s;
	text_set(&c->reason, "");
	text_set(&c->namespace, "");
	text_set(&c->name, "");
	text_set(&c->uid, "");
	text_set(&c->message, "");
	return c;
}

/* ---- pods */

static int64_t time_of(const struct doc *map, const char *key)
{
	int64_t at;

	return timestamp_parse(doc_text(map, key), &at) == 0 ? at : 0;
}

/* When the last container ended; 0 = not known. */
static int64_t ended_s(const struct doc *status)
{
	const struct doc *containers = doc_get(status, "containerStatuses");
	int64_t last = 0;

	DOC_FOREACH_ITEM (container, containers) {
		int64_t at = time_of(doc_get(doc_get(container, "state"), "terminated"), "finishedAt");

		last = at > last ? at : last;
	}
	return last;
}

static void add_pod_change(
	struct changes_report *r, const struct pod_status *s, enum change_kind kind, int64_t at_s)
{
	struct node_change *c = add_change(r, kind, at_s);

	if (!c)
		return;
	text_set(&c->namespace, s->namespace);
	text_set(&c->name, s->name);
	c->names = s->names;
	if (kind == CHANGE_POD_STARTED)
		return;
	free(c->message);
	c->message =
		xasprintf("%s%s%s", *s->reason ? s->reason : s->phase, *s->message ? ": " : "", s->message);
}

void changes_report_add_pod(struct changes_report *r, const struct doc *pod)
{
	CLEANUP(pod_status_release) struct pod_status s = {0};
	const struct doc *metadata = doc_get(pod, "metadata");
	int64_t ended;

	if (pod_status_read(pod, &s, NULL) < 0 || strcmp(s.node, r->node) != 0)
		return;
	strv_push(&r->pods, s.uid);
	strv_push(&r->pods, pod_names_kubelets_uid(metadata));
	if (s.stage == POD_REJECTED) {
		add_pod_change(r, &s, CHANGE_POD_REJECTED, pod_started_s(pod));
		return;
	}
	add_pod_change(r, &s, CHANGE_POD_STARTED, pod_started_s(pod));
	ended = ended_s(doc_get(pod, "status"));
	if (s.stage == POD_ENDED)
		add_pod_change(r, &s, CHANGE_POD_ENDED, ended > 0 ? ended : pod_started_s(pod));
}

/* ---- Events */

static void add_node_event(struct changes_report *r, const struct doc *event)
{
	CLEANUP(pod_event_release) struct pod_event e = {0};
	struct node_change *c;

	pod_event_read(event, &e);
	c = add_change(r, CHANGE_EVENT, e.last_s);
	if (!c)
		return;
	text_set(&c->reason, e.reason);
	text_set(&c->message, e.message);
}

/* The earliest start or the latest end of a pod that was deleted. */
static void add_deleted_pod(
	struct changes_report *r, const struct doc *about, enum change_kind kind, int64_t at_s)
{
	const char *uid = doc_text(about, "uid");
	struct node_change *c;

	for (size_t i = 0; i < r->n_items; i++) {
		c = &r->items[i];
		if (c->kind != kind || strcmp(c->uid, uid) != 0)
			continue;
		if (kind == CHANGE_POD_STARTED ? at_s < c->at_s : at_s > c->at_s)
			c->at_s = at_s;
		return;
	}
	c = add_change(r, kind, at_s);
	if (!c)
		return;
	text_set(&c->uid, uid);
	text_set(&c->namespace, doc_text(about, "namespace"));
	text_set(&c->name, doc_text(about, "name"));
	text_set(&c->message, kind == CHANGE_POD_STARTED ? "has been deleted since" : "deleted");
}

static void add_pod_event(struct changes_report *r, const struct doc *event, const struct doc *about)
{
	CLEANUP(pod_event_release) struct pod_event e = {0};

	pod_event_read(event, &e);
	if (e.last_s < r->since_s || !*doc_text(about, "uid"))
		return;
	if (!strcmp(e.reason, "Killing"))
		add_deleted_pod(r, about, CHANGE_POD_ENDED, e.last_s);
	else if (!strcmp(e.reason, "Started"))
		add_deleted_pod(r, about, CHANGE_POD_STARTED, e.last_s);
}

void changes_report_add_event(struct changes_report *r, const struct doc *event)
{
	const struct doc *about = pod_event_about(event);

	if (!strcmp(doc_text(about, "kind"), "Node") && !strcmp(doc_text(about, "name"), r->node))
		add_node_event(r, event);
	else if (!strcmp(doc_text(about, "kind"), "Pod") && !strcmp(pod_event_host(event), r->node))
		add_pod_event(r, event, about);
}

/* ---- the report */

/* What a pod that started holds: "holds CPUs 2-9 on NUMA node 0". */
static void add_held(struct node_change *c, const struct node_state *state)
{
	CLEANUP(pod_held_release) struct pod_held held = {0};
	CLEANUP(freep) char *cpus = NULL;
	CLEANUP(freep) char *numa = NULL;

	pod_held_find(state, &c->names, &held);
	if (!held.found)
		return;
	cpus = cpuset_print(held.cpus);
	numa = cpuset_print(held.numa);
	free(c->message);
	c->message = xasprintf("holds %s%s%s%s", *cpus ? "CPUs " : "memory or devices", cpus,
		*numa ? " on NUMA node " : "", numa);
}

/* Newest first. In the same second, the later step of a pod's life is first. */
static int by_time(const void *va, const void *vb)
{
	const struct node_change *a = va, *b = vb;
	int r;

	if (a->at_s != b->at_s)
		return a->at_s > b->at_s ? -1 : 1;
	r = strcmp(a->namespace, b->namespace);
	r = r != 0 ? r : text_compare_numbered(a->name, b->name);
	r = r != 0 ? r : (int)b->kind - (int)a->kind;
	r = r != 0 ? r : strcmp(a->reason, b->reason);
	return r != 0 ? r : strcmp(a->message, b->message);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void changes_report_finish(struct changes_report *r, const struct node_state *state)
{
	size_t n = 0;

	strv_sort(&r->pods);
	for (size_t i = 0; i < r->n_items; i++) {
		struct node_change *c = &r->items[i];
		const char *uid = c->uid;

		/* Only Events knew the pod when this change was added. The Pod, which was read too, shows more. */
		if (*uid && bsearch(&uid, r->pods.items, r->pods.n_items, sizeof(*r->pods.items), by_text)) {
			change_release(c);
			continue;
		}
		if (state && c->kind == CHANGE_POD_STARTED && !*uid)
			add_held(c, state);
		r->items[n++] = *c;
	}
	r->n_items = n;
	if (n > 1)
		qsort(r->items, n, sizeof(*r->items), by_time);
}

static void write_change(struct writer *w, const struct changes_report *r, const struct node_change *c)
{
	const char *what = c->kind == CHANGE_EVENT ? c->reason : kind_names[c->kind];
	char age[AGE_TEXT_MAX], time[TIMESTAMP_MICRO_MAX];

	timestamp_print_age(r->now_s > c->at_s ? r->now_s - c->at_s : 0, age);
	timestamp_print_micro(c->at_s * 1000000, time);
	writer_row(w);
	writer_cell(w, "AGE", "%s", age);
	writer_string(w, "time", NULL, time);
	writer_number(w, "ageSeconds", NULL, true, r->now_s - c->at_s);
	writer_string(w, "what", "WHAT", what);
	writer_cell(w, "POD", "%s%s%s", c->namespace, *c->name ? "/" : "-", c->name);
	writer_text(w, "namespace", NULL, c->namespace);
	writer_text(w, "pod", NULL, c->name);
	writer_string(w, "message", "MESSAGE", c->message);
	writer_end(w);
}

void changes_report_write(struct writer *w, const struct changes_report *r)
{
	static const struct column columns[] = {
		COLUMN("AGE"), COLUMN("WHAT"), COLUMN("POD"), COLUMN("MESSAGE")};
	char since[AGE_TEXT_MAX];

	writer_string(w, "node", NULL, r->node);
	writer_number(w, "sinceSeconds", NULL, true, r->now_s - r->since_s);
	writer_bool(w, "eventsKnown", true, r->events_known);
	writer_columns(w, columns, ARRAY_SIZE(columns));
	writer_list(w, "changes");
	for (size_t i = 0; i < r->n_items; i++)
		write_change(w, r, &r->items[i]);
	writer_end(w);
	if (writer_is_doc(w))
		return;
	if (r->n_items > 0)
		writer_table(w);
	timestamp_print_age(r->now_s - r->since_s, since);
	if (r->n_items == 0)
		strbuf_addf(w->out, "no change of node '%s' is known for the last %s%s\n", r->node, since,
			r->events_known ? "" : "; Events were not read");
}
