/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/publish/publish.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/hash.h"
#include "common/io/json.h"
#include "common/io/node_name.h"
#include "common/io/time.h"
#include "common/kube/backoff.h"
#include "common/log.h"
#include "common/text.h"
#include "common/xalloc.h"

#define REFRESH_MS        600000u
#define REFRESH_PERCENT   10u
#define NODE_INTERVAL_MS  5000u
#define NODE_BURST        12u
#define OBJECT_MAX        ((size_t)1 << 20)
#define POD_INTERVAL_MS   200u
#define POD_BURST         20u
#define EVENT_INTERVAL_MS 300000u
#define EVENT_BURST       10u
#define EVENT_DENIED_MS   3600000u /* pause after an Event that the API server denied or rejected */
#define CALL_MS           30000u   /* after this time a call starts with no further object */

/* The backoff of one object. */
struct retry {
	uint64_t not_before_ms; /* end of the backoff or of Retry-After */
	unsigned failures;      /* consecutive */
};

struct publisher {
	struct publish_io io;
	struct publisher_options options;
	char *node_name, *node_path;
	struct retry retries[PUBLISH_OBJECT_COUNT];
	struct budget node_writes, pod_writes, events;
	struct apply nrt, numatopology;
	bool numatopology_served, numatopology_absent; /* with numatopology_if_served; both false = unknown */
	bool schema_known, has_pod_allocations;        /* of the Numatopology CRD */
	bool node_known;                               /* `node` was read and no refresh is due */
	struct node_metadata node;                     /* as last read; without UID = not read yet */
	struct pods_written pods;
	uint64_t refresh_at_ms;
	unsigned refreshes;
};

static uint64_t kernel_random(void *data)
{
	(void)data;
	return backoff_random();
}

static uint64_t monotonic_ms(void *data)
{
	(void)data;
	return (uint64_t)clock_ms(CLOCK_MONOTONIC);
}

static uint64_t random_bits(const struct publisher *p)
{
	return p->options.random(p->options.random_data);
}

static void init_limits(struct publisher *p)
{
	const struct publisher_options *o = &p->options;

	memset(p->retries, 0, sizeof(p->retries));
	p->node_writes =
		(struct budget){.interval_ms = o->node_interval_ms ? o->node_interval_ms : NODE_INTERVAL_MS,
			.burst = o->node_burst ? o->node_burst : NODE_BURST};
	p->pod_writes = (struct budget){.interval_ms = POD_INTERVAL_MS, .burst = POD_BURST};
	p->events = (struct budget){.interval_ms = EVENT_INTERVAL_MS, .burst = EVENT_BURST};
}

int publisher_new(struct api_client *client, const struct publisher_options *options, struct publisher **ret,
	struct err *err)
{
	CLEANUP(publisher_freep) struct publisher *p = NULL;
	int r = node_name_check(options->node_name, err);

	if (r < 0)
		return r;
	p = xcalloc(1, sizeof(*p));
	api_response_init(&p->io.response);
	node_metadata_init(&p->node);
	p->options = *options;
	if (!p->options.random)
		p->options.random = kernel_random;
	if (!p->options.clock)
		p->options.clock = monotonic_ms;
	if (!p->options.refresh_ms)
		p->options.refresh_ms = REFRESH_MS;
	init_limits(p);
	text_set(&p->node_name, options->node_name);
	p->node_path = xasprintf(PUBLISH_NODE_PATH "%s", options->node_name);
	apply_init(&p->nrt, &apply_nrt, p->node_name);
	p->nrt.keeps_state = p->options.events;
	apply_init(&p->numatopology, &apply_numatopology, p->node_name);
	p->io.client = client;
	p->io.node_name = p->options.node_name = p->node_name;
	*ret = TAKE(p);
	return 0;
}

void publisher_free(struct publisher *p)
{
	if (!p)
		return;
	api_response_release(&p->io.response);
	node_metadata_release(&p->node);
	apply_release(&p->nrt);
	apply_release(&p->numatopology);
	pods_written_release(&p->pods);
	free(p->node_name);
	free(p->node_path);
	free(p);
}

static void forget_written_objects(struct publisher *p)
{
	apply_forget(&p->nrt);
	apply_forget(&p->numatopology);
	p->nrt.contention = p->numatopology.contention = (struct contention){0};
	p->numatopology_served = p->numatopology_absent = p->schema_known = false;
}

void publisher_forget(struct publisher *p)
{
	p->node_known = false;
	forget_written_objects(p);
	pods_written_release(&p->pods);
	init_limits(p);
}

/* ---- the Node */

/* Stores the Node of the last response. The response to a write has only metadata: the kubelet's release and the taint
 * stay as they were. */
static enum publish_outcome store_node(struct publisher *p, bool only_metadata, struct err *err)
{
	struct node_metadata node;
	int r = node_metadata_parse(p->io.response.body.text, p->io.response.body.len, &node, err);

	if (r < 0)
		return PUBLISH_SERVER_ERROR;
	/* Another Node of the same name: the objects' owner is gone. */
	if (!p->node.uid || strcmp(p->node.uid, node.uid) != 0)
		forget_written_objects(p);
	if (node.kubelet.minor == 0)
		node.kubelet = p->node.kubelet;
	if (only_metadata) {
		node.has_taint = p->node.has_taint;
		node.taint = p->node.taint;
	}
	node_metadata_release(&p->node);
	p->node = node;
	p->node_known = true;
	return PUBLISH_WRITTEN;
}

static enum publish_outcome get_node(struct publisher *p, struct err *err)
{
	struct api_request request = {.method = "GET", .path = p->node_path};
	enum publish_outcome outcome = publish_send(&p->io, PUBLISH_NODE, &request, err);

	if (outcome == PUBLISH_NOT_FOUND) /* without an owner no object is written */
		node_metadata_release(&p->node);
	return outcome == PUBLISH_WRITTEN ? store_node(p, false, err) : outcome;
}

static enum publish_outcome write_node_patch(struct publisher *p, const struct doc *patch, struct err *err)
{
	CLEANUP(freep) char *path = xasprintf("%s?" PUBLISH_MANAGER_QUERY, p->node_path);
	enum publish_outcome outcome = publish_send_doc(
		&p->io, PUBLISH_NODE, "PATCH", path, "application/merge-patch+json", patch, err);

	/* After any failure p->node may be out of date: the next call reads the Node first. */
	if (outcome != PUBLISH_WRITTEN)
		p->node_known = false;
	return outcome == PUBLISH_WRITTEN ? store_node(p, true, err) : outcome;
}

static enum publish_outcome remove_taint(struct publisher *p, struct err *err)
{
	CLEANUP(freep) char *path = xasprintf("%s?" PUBLISH_MANAGER_QUERY, p->node_path);
	CLEANUP(doc_release) struct doc patch = DOC_INIT;
	enum publish_outcome outcome;

	node_metadata_taint_patch(&p->node, &patch);
	outcome = publish_send_doc(
		&p->io, PUBLISH_TAINT, "PATCH", path, "application/json-patch+json", &patch, err);
	if (outcome != PUBLISH_WRITTEN) {
		p->node_known = false;
		return outcome;
	}
	p->node.has_taint = false;
	log_info("removed the taint " STARTUP_TAINT_KEY ":" STARTUP_TAINT_EFFECT " of Node '%s'",
		p->node_name);
	return store_node(p, true, err);
}

/* ---- when */

/* When the next write is allowed, in monotonic milliseconds: after the back-off of a failure, and within the rate limit of
 * writes of the Node and of pods. struct schedule limits the writes of the objects. */
static uint64_t allowed_at(const struct publisher *p, enum publish_object object)
{
	uint64_t retry = p->retries[object].not_before_ms, budget = 0;

	if (object == PUBLISH_NODE)
		budget = budget_at(&p->node_writes);
	else if (object == PUBLISH_PODS)
		budget = budget_at(&p->pod_writes);
	else if (object == PUBLISH_EVENT)
		budget = budget_at(&p->events);
	return budget > retry ? budget : retry;
}

/* The API server has what was requested. */
static bool is_settled(enum publish_outcome outcome)
{
	return outcome == PUBLISH_UNCHANGED || outcome == PUBLISH_WRITTEN;
}

/* The failure does not depend on the object: every request would fail. */
static bool concerns_all(enum publish_outcome outcome)
{
	return outcome == PUBLISH_UNREACHABLE || outcome == PUBLISH_TIMEOUT || outcome == PUBLISH_THROTTLED;
}

/* Success ends the object's backoff, a failure starts or extends it; a failure of every request delays all objects. The
 * backoff counts from the current time, which after a deadline is long after the beginning of the call. */
static void update_backoff(struct publisher *p, enum publish_object object, enum publish_outcome outcome)
{
	/* Whether the response may ask for a pause (Retry-After). */
	bool asks = outcome == PUBLISH_THROTTLED || outcome == PUBLISH_SERVER_ERROR;
	struct retry *t = &p->retries[object];

	if (is_settled(outcome)) {
		t->failures = 0;
		t->not_before_ms = 0;
		return;
	}
	t->failures++;
	t->not_before_ms =
		p->options.clock(p->options.clock_data) +
		backoff_after_ms(t->failures, asks ? p->io.response.retry_after_s : 0, random_bits(p));
	for (size_t i = 0; i < PUBLISH_OBJECT_COUNT && concerns_all(outcome); i++)
		if (p->retries[i].not_before_ms < t->not_before_ms)
			p->retries[i].not_before_ms = t->not_before_ms;
}

static bool is_waiting(const struct publisher *p, enum publish_object object, uint64_t now_ms)
{
	return now_ms < allowed_at(p, object);
}

/* ---- the steps of publisher_publish() */

/* With a slow server the call ends, and the next call continues. */
static bool has_time(const struct publisher *p, uint64_t begun_ms)
{
	return p->options.clock(p->options.clock_data) - begun_ms < CALL_MS;
}

/* The first interval is a random part of a whole interval, so that nodes that start together do not refresh
 * together. */
static uint64_t refresh_interval(const struct publisher *p)
{
	uint64_t random = random_bits(p), whole = p->options.refresh_ms;

	return p->refresh_at_ms ? backoff_spread_ms(whole, REFRESH_PERCENT, random) : whole - random % whole;
}

static void refresh_object(struct apply *a, uint64_t now_ms)
{
	free(TAKE(a->written_hash));
	contention_refresh(&a->contention, now_ms);
}

static void step_refresh(struct publisher *p, uint64_t now_ms)
{
	if (p->refresh_at_ms && now_ms < p->refresh_at_ms)
		return;
	p->node_known = false;
	refresh_object(&p->nrt, now_ms);
	refresh_object(&p->numatopology, now_ms);
	pods_written_release(&p->pods);
	p->numatopology_served = p->numatopology_absent = p->schema_known = false;
	p->refresh_at_ms = now_ms + refresh_interval(p);
	p->refreshes++;
}

/* The Node is read first: the objects refer to its UID. The rate limit of the Node is for writes only. */
static enum publish_outcome step_read(struct publisher *p, uint64_t now_ms, struct err *err)
{
	enum publish_outcome outcome;

	if (p->node_known)
		return PUBLISH_UNCHANGED;
	if (now_ms < p->retries[PUBLISH_NODE].not_before_ms)
		return PUBLISH_DEFERRED;
	outcome = get_node(p, err);
	update_backoff(p, PUBLISH_NODE, outcome);
	return outcome == PUBLISH_WRITTEN ? PUBLISH_UNCHANGED : outcome;
}

/* Writes one object (`want` NULL = another exporter writes the object). Checks an object that is written already from time to time, if
 * another writer is suspected. */
static enum publish_outcome step_object(struct publisher *p, struct apply *a, const struct doc *want,
	const char *hash, uint64_t now_ms, struct err *err)
{
	bool written = a->written_hash && hash && !strcmp(a->written_hash, hash);
	enum publish_outcome outcome = PUBLISH_UNCHANGED;

	if (!want || (written && now_ms < contention_check_at(&a->contention, a->at_ms)))
		return PUBLISH_UNCHANGED;
	if (!p->node.uid || is_waiting(p, a->kind->object, now_ms))
		return PUBLISH_DEFERRED;
	if (written) {
		outcome = apply_check(a, &p->io, now_ms, err);
		written = a->written_hash != NULL; /* apply_check() clears the hash after a rewrite */
	}
	if (outcome == PUBLISH_UNCHANGED && !written)
		outcome = apply_write(a, &p->io, want, hash, p->node.uid, now_ms, err);
	if (outcome != PUBLISH_CONTENDED)
		update_backoff(p, a->kind->object, outcome);
	return outcome;
}

/* Checks once per refresh whether the API server serves Numatopologies. */
static enum publish_outcome step_served(struct publisher *p, uint64_t now_ms, struct err *err)
{
	const struct api_request request = {.method = "GET", .path = APPLY_NUMATOPOLOGY_GROUP};
	enum publish_outcome outcome;

	if (!p->options.numatopology_if_served || p->numatopology_served || p->numatopology_absent)
		return PUBLISH_UNCHANGED;
	if (is_waiting(p, PUBLISH_NUMATOPOLOGY, now_ms))
		return PUBLISH_DEFERRED;
	outcome = publish_send(&p->io, PUBLISH_NUMATOPOLOGY, &request, err);
	p->numatopology_served = outcome == PUBLISH_WRITTEN;
	p->numatopology_absent = outcome == PUBLISH_NOT_FOUND;
	if (p->numatopology_served || p->numatopology_absent)
		return PUBLISH_UNCHANGED;
	update_backoff(p, PUBLISH_NUMATOPOLOGY, outcome);
	return outcome;
}

/* Reads once per refresh whether the CRD has podAllocations: the API server rejects unknown members. */
static enum publish_outcome step_schema(
	struct publisher *p, const struct doc *want, uint64_t now_ms, struct err *err)
{
	enum publish_outcome outcome;

	if (p->schema_known || !doc_get(doc_get(want, "spec"), NUMATOPOLOGY_PODS))
		return PUBLISH_UNCHANGED;
	if (is_waiting(p, PUBLISH_NUMATOPOLOGY, now_ms))
		return PUBLISH_DEFERRED;
	outcome = apply_has_pod_allocations(&p->io, &p->has_pod_allocations, err);
	p->schema_known = outcome == PUBLISH_WRITTEN;
	if (p->schema_known)
		return PUBLISH_UNCHANGED;
	update_backoff(p, PUBLISH_NUMATOPOLOGY, outcome);
	return outcome;
}

/* Makes each refresh change the object. Volcano's scheduler before 1.16 assumes CPUs for a pod until the object
 * changes and has no fewer free CPUs than before; a pod that no object showed keeps them (volcano-sh/volcano#5500). */
static void add_refresh(const struct publisher *p, struct doc *object)
{
	DOC_FOREACH (item, object) {
		CLEANUP(freep) char *number = NULL;

		if (strcmp(item->key, "metadata") != 0)
			continue;
		number = xasprintf("%u", p->refreshes);
		doc_add_string(doc_add_map(item, "annotations"), "nrtd.dev/refresh", number);
	}
}

static enum publish_outcome step_numatopology(
	struct publisher *p, const struct publish_request *want, uint64_t now_ms, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(OBJECT_MAX);
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	char hash[HASH_TEXT_SIZE];
	enum publish_outcome outcome;
	int r;

	if (!want->numatopology)
		return PUBLISH_UNCHANGED;
	outcome = step_served(p, now_ms, err);
	if (outcome == PUBLISH_UNCHANGED && !p->numatopology_absent)
		outcome = step_schema(p, want->numatopology, now_ms, err);
	if (outcome != PUBLISH_UNCHANGED || p->numatopology_absent)
		return outcome;
	doc_copy(want->numatopology, &object);
	if (!p->has_pod_allocations) {
		numatopology_remove_pods(&object);
		add_refresh(p, &object);
	}
	r = json_print_compact(&object, &text);
	if (r < 0) {
		err_set(err, r, "cannot print the Numatopology object: %s", strerror(-r));
		update_backoff(p, PUBLISH_NUMATOPOLOGY, PUBLISH_FAILED);
		return PUBLISH_FAILED;
	}
	hash_text(text.text, text.len, hash);
	return step_object(p, &p->numatopology, &object, hash, now_ms, err);
}

/* The release of the request or of the Node is unknown if its minor is 0. */
static bool is_for_another_kubelet(const struct publisher *p, const struct publish_request *request)
{
	const struct kubelet_release *node = &p->node.kubelet, *wanted = &request->kubelet;

	if (node->minor == 0)
		return false;
	if (request->release_unknown)
		return true; /* the caller can render again with the Node's release */
	return wanted->minor > 0 && (wanted->minor != node->minor || wanted->prerelease != node->prerelease);
}

static enum publish_outcome step_node(
	struct publisher *p, const struct publish_request *request, uint64_t now_ms, struct err *err)
{
	CLEANUP(node_metadata_release) struct node_metadata want;
	CLEANUP(doc_release) struct doc patch = DOC_INIT;
	enum publish_outcome outcome;

	if (node_metadata_wanted(request->annotations, request->labels, request->content_hash, &want, err) <
		0) {
		update_backoff(p, PUBLISH_NODE, PUBLISH_FAILED);
		return PUBLISH_FAILED;
	}
	node_metadata_patch(&p->node, &want, &patch);
	if (patch.n_items == 0)
		return PUBLISH_UNCHANGED;
	if (is_waiting(p, PUBLISH_NODE, now_ms))
		return PUBLISH_DEFERRED;
	outcome = write_node_patch(p, &patch, err);
	update_backoff(p, PUBLISH_NODE, outcome);
	if (outcome == PUBLISH_WRITTEN)
		budget_take(&p->node_writes, now_ms);
	return outcome;
}

/* `published`: the API server has everything else that was requested. */
static enum publish_outcome step_taint(struct publisher *p, bool published, uint64_t now_ms, struct err *err)
{
	enum publish_outcome outcome;

	if (!p->node.has_taint || p->options.keep_taint)
		return PUBLISH_UNCHANGED;
	if (!published || is_waiting(p, PUBLISH_TAINT, now_ms))
		return PUBLISH_DEFERRED;
	outcome = remove_taint(p, err);
	update_backoff(p, PUBLISH_TAINT, outcome);
	return outcome;
}

/* Writes the annotation of one pod. */
static enum publish_outcome patch_pod(struct publisher *p, const struct kai_pod *pod, struct err *err)
{
	CLEANUP(freep) char *pod_path = pod_annotation_path(pod);
	CLEANUP(freep) char *path = xasprintf("%s?" PUBLISH_MANAGER_QUERY, pod_path);
	CLEANUP(doc_release) struct doc patch = DOC_INIT;
	enum publish_outcome outcome;

	pod_annotation_patch(pod, &patch);
	outcome = publish_send_doc(
		&p->io, PUBLISH_PODS, "PATCH", path, "application/merge-patch+json", &patch, err);
	/* The other outcomes concern only this pod, which has ended or is tried again at the next refresh. */
	if (outcome != PUBLISH_NOT_FOUND && outcome != PUBLISH_CONFLICT && outcome != PUBLISH_REJECTED)
		return outcome;
	if (outcome != PUBLISH_NOT_FOUND)
		log_warning("pod %s/%s: %s", pod->namespace, pod->name, err->text);
	*err = (struct err){""};
	return PUBLISH_WRITTEN;
}

/* PUBLISH_DEFERRED: pods are left to be written. */
static enum publish_outcome step_pods(
	struct publisher *p, const struct kai_pods *want, uint64_t begun_ms, uint64_t now_ms, struct err *err)
{
	enum publish_outcome outcome = PUBLISH_UNCHANGED;
	const struct kai_pod *pod;

	if (!want)
		return PUBLISH_UNCHANGED;
	pods_written_keep(&p->pods, want);
	while (is_settled(outcome) && (pod = pods_written_next(&p->pods, want))) {
		if (is_waiting(p, PUBLISH_PODS, now_ms) || !has_time(p, begun_ms))
			return PUBLISH_DEFERRED;
		budget_take(&p->pod_writes, now_ms);
		outcome = patch_pod(p, pod, err);
		update_backoff(p, PUBLISH_PODS, outcome);
		if (is_settled(outcome))
			pods_written_add(&p->pods, pod);
		else
			pods_written_skip(&p->pods, want, pod);
	}
	/* Nothing is left to write: a pod whose write failed in an earlier call may have ended. */
	if (is_settled(outcome))
		update_backoff(p, PUBLISH_PODS, outcome);
	return outcome;
}

/* When a call has work to do for a requested object: at once if another Node of the same name made the object's hash
 * unknown. */
static uint64_t next_write(
	const struct publisher *p, const struct apply *a, enum publish_outcome done, uint64_t now_ms)
{
	if (done == PUBLISH_CONTENDED)
		return p->refresh_at_ms;
	if (!is_settled(done))
		return p->node.uid ? allowed_at(p, a->kind->object) : UINT64_MAX;
	return a->written_hash ? contention_check_at(&a->contention, a->at_ms) : now_ms;
}

static uint64_t earlier_ms(uint64_t a_ms, uint64_t b_ms)
{
	return a_ms < b_ms ? a_ms : b_ms;
}

/* The earliest time at which a call has work to do. The Node waits for the NRT object, and the taint for all objects:
 * until these are written, their times decide. */
static uint64_t next_call(const struct publisher *p, const struct publish_request *want,
	const struct publish_result *done, uint64_t now_ms)
{
	uint64_t at = p->refresh_at_ms;

	if (want->nrt)
		at = earlier_ms(at, next_write(p, &p->nrt, done->nrt, now_ms));
	if (want->numatopology && !p->numatopology_absent)
		at = earlier_ms(at, next_write(p, &p->numatopology, done->numatopology, now_ms));
	if (!p->node_known)
		at = earlier_ms(at, p->retries[PUBLISH_NODE].not_before_ms);
	else if (!is_settled(done->node) && (is_settled(done->nrt) || done->nrt == PUBLISH_CONTENDED))
		at = earlier_ms(at, allowed_at(p, PUBLISH_NODE));
	if (!is_settled(done->taint) && is_waiting(p, PUBLISH_TAINT, now_ms))
		at = earlier_ms(at, allowed_at(p, PUBLISH_TAINT));
	if (!is_settled(done->pods))
		at = earlier_ms(at, allowed_at(p, PUBLISH_PODS));
	return at < now_ms ? now_ms : at;
}

static bool is_object_current(const struct apply *a, const struct doc *want, enum publish_outcome outcome)
{
	return is_settled(outcome) && (!want || a->written_hash);
}

/* The first failure in the order of the objects; contention only if nothing else failed. */
static int first_failure(
	const struct publish_result *result, const struct err errs[PUBLISH_OBJECT_COUNT], struct err *err)
{
	const enum publish_outcome outcomes[PUBLISH_OBJECT_COUNT] = {
		[PUBLISH_NRT] = result->nrt,
		[PUBLISH_NODE] = result->node,
		[PUBLISH_TAINT] = result->taint,
		[PUBLISH_NUMATOPOLOGY] = result->numatopology,
		[PUBLISH_PODS] = result->pods,
	};
	size_t failed = PUBLISH_OBJECT_COUNT;

	for (size_t i = 0; i < PUBLISH_OBJECT_COUNT; i++)
		if (publish_errno(outcomes[i]) < 0 &&
			(failed == PUBLISH_OBJECT_COUNT || outcomes[failed] == PUBLISH_CONTENDED))
			failed = i;
	return failed == PUBLISH_OBJECT_COUNT
		       ? 0
		       : err_set(err, publish_errno(outcomes[failed]), "%s", errs[failed].text);
}

int publisher_publish(struct publisher *p, const struct publish_request *request, uint64_t now_ms,
	struct publish_result *ret, struct err *err)
{
	struct publish_result result = {0};
	struct err errs[PUBLISH_OBJECT_COUNT] = {{""}};
	uint64_t begun_ms = p->options.clock(p->options.clock_data);
	bool other_kubelet;

	step_refresh(p, now_ms);
	result.nrt = result.numatopology = PUBLISH_DEFERRED;
	result.node = step_read(p, now_ms, &errs[PUBLISH_NODE]);
	other_kubelet = is_for_another_kubelet(p, request);
	if (other_kubelet) {
		/* The caller renders again, for the release in result.kubelet. */
		if (result.node == PUBLISH_UNCHANGED)
			result.node = PUBLISH_DEFERRED;
	} else if (result.node != PUBLISH_CANCELLED) {
		result.nrt = step_object(
			p, &p->nrt, request->nrt, request->content_hash, now_ms, &errs[PUBLISH_NRT]);
	}
	if (!other_kubelet && result.nrt != PUBLISH_CANCELLED && has_time(p, begun_ms))
		result.numatopology = step_numatopology(p, request, now_ms, &errs[PUBLISH_NUMATOPOLOGY]);
	/* The Node's metadata refers to the NRT object, so the object is written first. */
	if (result.node == PUBLISH_UNCHANGED) {
		bool nrt_done = is_settled(result.nrt) || result.nrt == PUBLISH_CONTENDED;

		result.node = nrt_done && has_time(p, begun_ms)
				      ? step_node(p, request, now_ms, &errs[PUBLISH_NODE])
				      : PUBLISH_DEFERRED;
	}

	/* The response to a write may have shown another Node; then the objects have to be written again. */
	result.current = is_object_current(&p->nrt, request->nrt, result.nrt) && is_settled(result.node) &&
			 (p->numatopology_absent || is_object_current(&p->numatopology, request->numatopology,
							    result.numatopology));
	result.taint = has_time(p, begun_ms) ? step_taint(p, result.current, now_ms, &errs[PUBLISH_TAINT])
					     : PUBLISH_DEFERRED;
	result.pods = step_pods(p, request->pods, begun_ms, now_ms, &errs[PUBLISH_PODS]);
	/* Pods that only wait for their turn are no failure. */
	result.current = result.current && is_settled(result.taint) && p->retries[PUBLISH_PODS].failures == 0;
	result.call_again_ms = next_call(p, request, &result, now_ms);
	result.kubelet = p->node.kubelet;
	snprintf(result.rival, sizeof(result.rival), "%s", p->nrt.contention.rival);
	result.found_state = p->nrt.found_state;
	*ret = result;
	return first_failure(&result, errs, err);
}

/* ---- events */

static uint64_t event_allowed_at(const struct publisher *p)
{
	return p->node.uid ? allowed_at(p, PUBLISH_EVENT) : UINT64_MAX;
}

enum publish_outcome publisher_write_event(struct publisher *p, const struct node_event *event,
	uint64_t now_ms, uint64_t *ret_again_ms, struct err *err)
{
	enum publish_outcome outcome = PUBLISH_DEFERRED;

	if (now_ms >= event_allowed_at(p)) {
		outcome = node_event_write(&p->io, event, p->node.uid, random_bits(p), err);
		budget_take(&p->events, now_ms);
		update_backoff(p, PUBLISH_EVENT, outcome);
		if (outcome == PUBLISH_FORBIDDEN || outcome == PUBLISH_NOT_FOUND ||
			outcome == PUBLISH_REJECTED)
			p->retries[PUBLISH_EVENT].not_before_ms = now_ms + EVENT_DENIED_MS;
	}
	*ret_again_ms = event_allowed_at(p);
	return outcome;
}

/* ---- cleanup */

static int remove_node_metadata(struct publisher *p, struct err *err)
{
	CLEANUP(node_metadata_release) struct node_metadata none;
	CLEANUP(doc_release) struct doc patch = DOC_INIT;
	enum publish_outcome outcome;

	node_metadata_init(&none);
	outcome = get_node(p, err);
	if (outcome != PUBLISH_WRITTEN)
		return outcome == PUBLISH_NOT_FOUND ? 0 : publish_errno(outcome);
	node_metadata_patch(&p->node, &none, &patch);
	return patch.n_items == 0 ? 0 : publish_errno(write_node_patch(p, &patch, err));
}

int publisher_cleanup(struct publisher *p, bool numatopology, struct err *err)
{
	int r = remove_node_metadata(p, err);

	publisher_forget(p);
	if (r < 0)
		return r;
	r = apply_delete(&p->nrt, &p->io, err);
	return r < 0 || !numatopology ? r : apply_delete(&p->numatopology, &p->io, err);
}
