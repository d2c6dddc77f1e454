/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cluster/pod_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/timestamp.h"
#include "agent/cluster/object_input.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"

static void event_release(struct pod_event *e)
{
	free(e->type);
	free(e->reason);
	free(e->message);
	free(e->source);
	*e = (struct pod_event){0};
}

void pod_events_release(struct pod_events *e)
{
	for (size_t i = 0; i < e->n_items; i++)
		event_release(&e->items[i]);
	free(e->items);
	*e = (struct pod_events){0};
}

/* ---- one event */

/* The member that v1 names so, or the one of events.k8s.io/v1. */
static const struct doc *either(const struct doc *object, const char *core, const char *other)
{
	const struct doc *member = doc_get(object, core);

	return member ? member : doc_get(object, other);
}

static bool is(const struct doc *map, const char *key, const char *value)
{
	const char *text = doc_string(doc_get(map, key));

	return text && !strcmp(text, value);
}

static bool is_about(const struct doc *object, const struct pod_status *pod)
{
	const struct doc *about = either(object, "involvedObject", "regarding");
	const char *uid = doc_string(doc_get(about, "uid"));

	return is(about, "kind", "Pod") && is(about, "name", pod->name) &&
	       is(about, "namespace", pod->namespace) &&
	       (!uid || !*uid || !*pod->uid || !strcmp(uid, pod->uid));
}

static uint64_t read_count(const struct doc *object)
{
	uint64_t n = 0, series = 0;

	(void)doc_uint64(either(object, "count", "deprecatedCount"), &n);
	(void)doc_uint64(doc_get(doc_get(object, "series"), "count"), &series);
	n = series > n ? series : n;
	return n > 0 ? n : 1;
}

/* The latest of the times that an event has. */
static int64_t read_time(const struct doc *object)
{
	const struct doc *const times[] = {
		doc_get(object, "eventTime"),
		either(object, "firstTimestamp", "deprecatedFirstTimestamp"),
		either(object, "lastTimestamp", "deprecatedLastTimestamp"),
		doc_get(doc_get(object, "series"), "lastObservedTime"),
	};
	int64_t last = 0;

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		const char *text = doc_string(times[i]);
		int64_t at;

		if (text && timestamp_parse(text, &at) == 0 && at > last)
			last = at;
	}
	return last;
}

static void set(char **owned, const struct doc *text)
{
	const char *value = doc_string(text);

	text_set(owned, value ? value : "");
}

static void read_event(const struct doc *object, struct pod_event *e)
{
	const struct doc *source = doc_get(either(object, "source", "deprecatedSource"), "component");
	const char *reporter = doc_string(either(object, "reportingComponent", "reportingController"));

	set(&e->type, doc_get(object, "type"));
	set(&e->reason, doc_get(object, "reason"));
	set(&e->message, either(object, "message", "note"));
	if (reporter && *reporter)
		text_set(&e->source, reporter);
	else
		set(&e->source, source);
	e->count = read_count(object);
	e->last_s = read_time(object);
}

/* ---- all of them */

struct reading {
	const struct pod_status *pod;
	struct pod_events events;
};

static void reading_release(struct reading *r)
{
	pod_events_release(&r->events);
}

static int take_object(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	CLEANUP(event_release) struct pod_event e = {0};
	struct reading *reading = data;
	struct pod_event *slot;

	(void)err;
	(void)kind;
	if (!is_about(object, reading->pod))
		return 0;
	read_event(object, &e);
	slot = vec_push(
		&reading->events.items, &reading->events.n_items, &reading->events.items_size, sizeof(*slot));
	*slot = e;
	e = (struct pod_event){0};
	return 0;
}

static int by_text(const void *va, const void *vb)
{
	const struct pod_event *a = va, *b = vb;
	int r = strcmp(a->reason, b->reason);

	if (r == 0)
		r = strcmp(a->message, b->message);
	if (r == 0)
		r = strcmp(a->source, b->source);
	return r ? r : strcmp(a->type, b->type);
}

static int newest_first(const void *va, const void *vb)
{
	const struct pod_event *a = va, *b = vb;

	if (a->last_s != b->last_s)
		return a->last_s > b->last_s ? -1 : 1;
	return by_text(a, b);
}

/* Those of the same text become one. */
static void merge(struct pod_events *events)
{
	size_t n = 0;

	for (size_t i = 0; i < events->n_items; i++) {
		struct pod_event *e = &events->items[i];
		struct pod_event *last = n > 0 ? &events->items[n - 1] : NULL;

		if (!last || by_text(last, e) != 0) {
			events->items[n++] = *e;
			continue;
		}
		last->count = last->count > UINT64_MAX - e->count ? UINT64_MAX : last->count + e->count;
		last->last_s = e->last_s > last->last_s ? e->last_s : last->last_s;
		event_release(e);
	}
	events->n_items = n;
}

static void order(struct pod_events *events, int (*compare)(const void *, const void *))
{
	if (events->n_items > 1)
		qsort(events->items, events->n_items, sizeof(*events->items), compare);
}

int pod_events_read(const char *path, const struct pod_status *pod, struct pod_events *ret, struct err *err)
{
	CLEANUP(reading_release) struct reading reading = {.pod = pod};
	int r = object_input_read(path, 1u << OBJECT_EVENT, take_object, &reading, err);

	if (r < 0)
		return r;
	order(&reading.events, by_text);
	merge(&reading.events);
	order(&reading.events, newest_first);
	*ret = reading.events;
	reading.events = (struct pod_events){0};
	return 0;
}
