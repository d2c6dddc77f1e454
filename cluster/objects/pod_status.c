/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/objects/pod_status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects/object_input.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/io/time.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

const char *const pod_stage_names[POD_STAGE_COUNT] = {[POD_WAITS] = "waits",
	[POD_BOUND] = "bound",
	[POD_REJECTED] = "rejected",
	[POD_RUNS] = "runs",
	[POD_ENDED] = "ended"};

void pod_status_release(struct pod_status *s)
{
	free(s->namespace);
	free(s->name);
	free(s->uid);
	free(s->node);
	free(s->nominated);
	free(s->phase);
	free(s->reason);
	free(s->message);
	free(s->scheduler);
	free(s->owner);
	*s = (struct pod_status){0};
}

/* ---- the stage */

/* Whether a container of this list runs or has run. */
static bool has_started(const struct doc *status, const char *list)
{
	const struct doc *containers = doc_get(status, list);

	DOC_FOREACH_ITEM (container, containers) {
		const struct doc *state = doc_get(container, "state");
		const struct doc *last = doc_get(container, "lastState");

		if (doc_get(state, "running") || doc_get(state, "terminated") || doc_get(last, "terminated"))
			return true;
	}
	return false;
}

static enum pod_stage find_stage(const struct doc *status, const struct pod_status *s)
{
	/* The kubelet's rejectPod() writes this message. A pod that the kubelet ends for another reason (DeadlineExceeded, Evicted) has another message. */
	static const char rejected[] = "Pod was rejected";
	bool started =
		has_started(status, "containerStatuses") || has_started(status, "initContainerStatuses");
	bool may_be_rejection = !*s->message || !strncmp(s->message, rejected, strlen(rejected));

	if (!strcmp(s->phase, "Failed") && !started && *s->reason && *s->node && may_be_rejection)
		return POD_REJECTED;
	if (!strcmp(s->phase, "Failed") || !strcmp(s->phase, "Succeeded"))
		return POD_ENDED;
	if (!strcmp(s->phase, "Running") || (started && *s->node))
		return POD_RUNS;
	return *s->node ? POD_BOUND : POD_WAITS;
}

/* ---- the texts */

const char *pod_scheduler_message(const struct doc *pod)
{
	const struct doc *conditions = doc_get(doc_get(pod, "status"), "conditions"), *found = NULL;

	DOC_FOREACH_ITEM (condition, conditions)
		if (!strcmp(doc_text(condition, "type"), "PodScheduled") &&
			!strcmp(doc_text(condition, "status"), "False"))
			found = condition;
	return doc_text(found, "message");
}

static void read_owner(const struct doc *metadata, struct pod_status *s)
{
	const struct doc *first = doc_list_items(doc_get(metadata, "ownerReferences"));
	const char *kind = doc_string(doc_get(first, "kind")), *name = doc_string(doc_get(first, "name"));

	s->owner = kind && name ? xasprintf("%s '%s'", kind, name) : xstrdup("");
}

static void read_texts(
	const struct doc *pod, const struct doc *metadata, const struct doc *status, struct pod_status *s)
{
	const char *namespace = doc_text(metadata, "namespace");

	text_set(&s->namespace, *namespace ? namespace : "default");
	text_set(&s->name, doc_text(metadata, "name"));
	text_set(&s->uid, doc_text(metadata, "uid"));
	text_set(&s->node, pod_node_name(pod));
	text_set(&s->nominated, pod_nominated_node(pod));
	text_set(&s->phase, doc_text(status, "phase"));
	text_set(&s->reason, doc_text(status, "reason"));
	text_set(&s->message, doc_text(status, "message"));
	text_set(&s->scheduler, pod_scheduler_message(pod));
	read_owner(metadata, s);
}

int pod_status_read(const struct doc *pod, struct pod_status *ret, struct err *err)
{
	const struct doc *metadata = doc_get(pod, "metadata"), *spec = doc_get(pod, "spec");
	const struct doc *status = doc_get(pod, "status"), *gates = doc_get(spec, "schedulingGates");
	struct pod_status s = {.gated = gates && gates->n_items > 0, .terminating = pod_is_terminating(pod)};

	if (!*doc_text(metadata, "name"))
		return err_set(err, -EINVAL, "a Pod without a name");
	read_texts(pod, metadata, status, &s);
	s.names = pod_names_of_object(metadata);
	s.stage = find_stage(status, &s);
	*ret = s;
	return 0;
}

char *pod_key(const struct doc *pod)
{
	const struct doc *metadata = doc_get(pod, "metadata");
	const char *uid = doc_text(metadata, "uid"), *namespace = doc_text(metadata, "namespace");

	return *uid ? xstrdup(uid)
		    : xasprintf("%s/%s", *namespace ? namespace : "default", doc_text(metadata, "name"));
}

const char *pod_gang_name(const struct doc *pod)
{
	return doc_text(doc_get(doc_get(pod, "spec"), "schedulingGroup"), "podGroupName");
}

const char *pod_node_name(const struct doc *pod)
{
	return doc_text(doc_get(pod, "spec"), "nodeName");
}

const char *pod_nominated_node(const struct doc *pod)
{
	return doc_text(doc_get(pod, "status"), "nominatedNodeName");
}

bool pod_is_terminating(const struct doc *pod)
{
	return *doc_text(doc_get(pod, "metadata"), "deletionTimestamp");
}

bool pod_has_ended(const struct doc *pod)
{
	const char *phase = doc_text(doc_get(pod, "status"), "phase");

	return !strcmp(phase, "Succeeded") || !strcmp(phase, "Failed");
}

static bool has_running(const struct doc *status, const char *list)
{
	const struct doc *containers = doc_get(status, list);

	DOC_FOREACH_ITEM (container, containers)
		if (doc_get(doc_get(container, "state"), "running"))
			return true;
	return false;
}

bool pod_is_excluded(const struct doc *pod, struct excluded_pods *excluded, const char *node)
{
	const struct doc *metadata = doc_get(pod, "metadata");
	const char *own = pod_node_name(pod);

	if (!excluded || !*own || (node && strcmp(own, node) != 0) || pod_has_ended(pod))
		return false;
	return excluded_pods_match(excluded, doc_text(metadata, "namespace"), doc_text(metadata, "name"),
		doc_text(metadata, "uid"));
}

bool pod_has_running_containers(const struct doc *pod)
{
	const struct doc *status = doc_get(pod, "status");

	return has_running(status, "containerStatuses") || has_running(status, "initContainerStatuses");
}

static unsigned volume_traits(const struct doc *volume)
{
	enum { LIMITS = VOLUME_LIMITS_NODES | VOLUME_HAS_PLUGIN, CLAIMED = VOLUME_IS_CLAIMED | LIMITS };
	static const struct {
		const char *kind;
		unsigned traits;
	} kinds[] = {{"configMap", 0}, {"downwardAPI", 0}, {"hostPath", 0}, {"projected", 0}, {"secret", 0},
		{"emptyDir", VOLUME_IS_TEMPORARY}, {"persistentVolumeClaim", CLAIMED}, {"ephemeral", CLAIMED},
		{"csi", LIMITS}, {"iscsi", LIMITS}, {"rbd", LIMITS}, {"awsElasticBlockStore", LIMITS},
		{"azureDisk", LIMITS}, {"gcePersistentDisk", LIMITS}};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (doc_get(volume, kinds[i].kind))
			return kinds[i].traits;
	return VOLUME_HAS_PLUGIN; /* of a kind that nrtd does not know */
}

unsigned pod_volume_traits(const struct doc *pod)
{
	const struct doc *volumes = doc_get(doc_get(pod, "spec"), "volumes");
	unsigned traits = 0;

	DOC_FOREACH_ITEM (volume, volumes)
		traits |= volume_traits(volume);
	return traits;
}

int64_t pod_started_s(const struct doc *pod)
{
	const char *text = doc_string(doc_get(doc_get(pod, "status"), "startTime"));
	int64_t at;

	return text && timestamp_parse(text, &at) == 0 ? at : 0;
}

int64_t pod_scheduled_s(const struct doc *pod)
{
	const struct doc *conditions = doc_get(doc_get(pod, "status"), "conditions");
	int64_t at;

	DOC_FOREACH_ITEM (condition, conditions)
		if (!strcmp(doc_text(condition, "type"), "PodScheduled") &&
			!strcmp(doc_text(condition, "status"), "True") &&
			timestamp_parse(doc_text(condition, "lastTransitionTime"), &at) == 0)
			return at;
	return 0;
}

/* ---- one event */

void pod_event_release(struct pod_event *e)
{
	free(e->type);
	free(e->reason);
	free(e->message);
	free(e->source);
}

void pod_events_release(struct pod_events *e)
{
	for (size_t i = 0; i < e->n_items; i++)
		pod_event_release(&e->items[i]);
	free(e->items);
	*e = (struct pod_events){0};
}

/* The member `core` of v1, else the member `other` of events.k8s.io/v1. */
static const struct doc *event_member(const struct doc *event, const char *core, const char *other)
{
	const struct doc *member = doc_get(event, core);

	return member ? member : doc_get(event, other);
}

const struct doc *pod_event_about(const struct doc *event)
{
	return event_member(event, "involvedObject", "regarding");
}

const char *pod_event_host(const struct doc *event)
{
	return doc_text(event_member(event, "source", "deprecatedSource"), "host");
}

static bool is_about(const struct doc *event, const struct pod_status *pod)
{
	const struct doc *about = pod_event_about(event);
	const char *uid = doc_text(about, "uid");

	return !strcmp(doc_text(about, "kind"), "Pod") && !strcmp(doc_text(about, "name"), pod->name) &&
	       !strcmp(doc_text(about, "namespace"), pod->namespace) &&
	       (!*uid || !*pod->uid || !strcmp(uid, pod->uid));
}

static uint64_t read_count(const struct doc *event)
{
	uint64_t n = 0, series = 0;

	(void)doc_uint64(event_member(event, "count", "deprecatedCount"), &n);
	(void)doc_uint64(doc_get(doc_get(event, "series"), "count"), &series);
	n = series > n ? series : n;
	return n > 0 ? n : 1;
}

/* The latest of the event's times. */
static int64_t read_time(const struct doc *event)
{
	const struct doc *const times[] = {
		doc_get(event, "eventTime"),
		event_member(event, "firstTimestamp", "deprecatedFirstTimestamp"),
		event_member(event, "lastTimestamp", "deprecatedLastTimestamp"),
		doc_get(doc_get(event, "series"), "lastObservedTime"),
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

void pod_event_read(const struct doc *event, struct pod_event *ret)
{
	const char *reporter =
		text_or_empty(doc_string(event_member(event, "reportingComponent", "reportingController")));

	text_set(&ret->type, doc_text(event, "type"));
	text_set(&ret->reason, doc_text(event, "reason"));
	text_set(&ret->message, text_or_empty(doc_string(event_member(event, "message", "note"))));
	text_set(&ret->source,
		*reporter ? reporter
			  : doc_text(event_member(event, "source", "deprecatedSource"), "component"));
	ret->count = read_count(event);
	ret->last_s = read_time(event);
}

/* ---- all events */

struct event_reader {
	const struct pod_status *pod;
	struct pod_events events;
};

static int add_event(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	struct event_reader *reader = data;
	struct pod_events *events = &reader->events;

	(void)err;
	(void)kind;
	if (is_about(object, reader->pod))
		pod_event_read(object, vec_push(&events->items, &events->n_items, &events->items_size,
					       sizeof(*events->items)));
	return 0;
}

static int by_text(const void *va, const void *vb)
{
	const struct pod_event *a = va, *b = vb;
	int r = strcmp(a->reason, b->reason);

	if (r != 0)
		return r;
	r = strcmp(a->message, b->message);
	if (r != 0)
		return r;
	r = strcmp(a->source, b->source);
	return r != 0 ? r : strcmp(a->type, b->type);
}

static int newest_first(const void *va, const void *vb)
{
	const struct pod_event *a = va, *b = vb;

	if (a->last_s != b->last_s)
		return a->last_s > b->last_s ? -1 : 1;
	return by_text(a, b);
}

static void sort_events(struct pod_events *events, int (*compare)(const void *, const void *))
{
	if (events->n_items > 1)
		qsort(events->items, events->n_items, sizeof(*events->items), compare);
}

/* Merges events with equal texts. The events are sorted by text. */
static void merge_events(struct pod_events *events)
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
		pod_event_release(e);
	}
	events->n_items = n;
}

int pod_events_read(const struct object_reader *reader, const struct pod_status *pod, struct pod_events *ret,
	struct err *err)
{
	struct event_reader events = {.pod = pod};
	int r = reader->read(reader->source, 1u << OBJECT_EVENT, add_event, &events, err);

	if (r < 0) {
		pod_events_release(&events.events);
		return r;
	}
	sort_events(&events.events, by_text);
	merge_events(&events.events);
	sort_events(&events.events, newest_first);
	*ret = events.events;
	return 0;
}

/* ---- resources */

void pod_held_release(struct pod_held *h)
{
	hwloc_bitmap_free(h->cpus);
	hwloc_bitmap_free(h->numa);
	*h = (struct pod_held){0};
}

static void add_item(const struct machine *machine, const struct allocation *item, struct pod_held *h)
{
	cpuset_or(h->cpus, h->cpus, item->cpus);
	for (size_t i = 0; i < item->n_memory; i++)
		cpuset_or(h->numa, h->numa, item->memory[i].nodes);
	for (size_t i = 0; i < item->n_devices; i++)
		cpuset_or(h->numa, h->numa, item->devices[i].nodes);
	for (int id = hwloc_bitmap_first(item->cpus); id >= 0; id = hwloc_bitmap_next(item->cpus, id)) {
		const struct cpu *cpu = machine_cpu(machine, (unsigned)id);

		if (cpu && cpu->numa != MACHINE_NONE)
			cpuset_set(h->numa, (unsigned)cpu->numa);
	}
}

void pod_held_find(const struct node_state *state, const struct pod_names *names, struct pod_held *ret)
{
	*ret = (struct pod_held){0};
	for (size_t i = 0; i < state->allocations.n_items; i++) {
		const struct allocation *item = &state->allocations.items[i];

		if (!pod_names_match(names, item))
			continue;
		if (!ret->found)
			*ret = (struct pod_held){.found = true, .cpus = cpuset_new(), .numa = cpuset_new()};
		add_item(&state->machine, item, ret);
	}
}
