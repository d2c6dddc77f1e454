/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/publish/publish.h"

#include <errno.h>

#include "agent/base/budget.h"
#include "agent/base/json.h"
#include "agent/base/node_name.h"
#include "agent/publish/backoff.h"
#include "agent/render/nrt.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/text.h"

#define REFRESH_MS       600000u
#define REFRESH_PERCENT  10u
#define NRT_INTERVAL_MS  500u
#define NRT_BURST        2u
#define NODE_INTERVAL_MS 5000u
#define NODE_BURST       12u
#define BODY_MAX         ((size_t)1 << 20)

/* One of the two things that are written, and what keeps it from being written at once. */
struct kept_object {
	uint64_t not_before_ms; /* backoff, or what Retry-After said */
	struct budget writes;
	unsigned failures; /* in a row */
};

struct publisher {
	struct api_client *client;
	struct publisher_options options;
	char *node_name, *nrt_path, *node_path;
	struct api_response response;
	struct kept_object objects[PUBLISH_OBJECT_COUNT];
	bool node_known;           /* `node` was read and no refresh is due */
	struct node_metadata node; /* as last seen; without uid = never */
	char *written_hash;        /* of the NRT as last applied; NULL = apply, whatever it is */
	uint64_t refresh_at_ms;
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

int publisher_new(struct api_client *client, const struct publisher_options *options, struct publisher **ret,
	struct err *err)
{
	CLEANUP(publisher_freep) struct publisher *p = NULL;
	int r = node_name_check(options->node_name, err);

	if (r < 0)
		return r;
	p = calloc(1, sizeof(*p));
	if (!p)
		return err_no_memory(err);
	api_response_init(&p->response);
	node_metadata_init(&p->node);
	p->client = client;
	p->options = *options;
	if (!p->options.random)
		p->options.random = kernel_random;
	if (!p->options.clock)
		p->options.clock = monotonic_ms;
	if (!p->options.refresh_ms)
		p->options.refresh_ms = REFRESH_MS;
	p->objects[PUBLISH_NRT].writes = (struct budget){
		.interval_ms = options->nrt_interval_ms ? options->nrt_interval_ms : NRT_INTERVAL_MS,
		.burst = NRT_BURST};
	p->objects[PUBLISH_NODE].writes = (struct budget){
		.interval_ms = options->node_interval_ms ? options->node_interval_ms : NODE_INTERVAL_MS,
		.burst = options->node_burst ? options->node_burst : NODE_BURST};
	if (text_set(&p->node_name, options->node_name) < 0 ||
		asprintf(&p->nrt_path, PUBLISH_NRT_PATH "%s", options->node_name) < 0 ||
		asprintf(&p->node_path, PUBLISH_NODE_PATH "%s", options->node_name) < 0)
		return err_no_memory(err);
	p->options.node_name = p->node_name;
	*ret = TAKE(p);
	return 0;
}

void publisher_free(struct publisher *p)
{
	if (!p)
		return;
	api_response_release(&p->response);
	node_metadata_release(&p->node);
	free(p->node_name);
	free(p->nrt_path);
	free(p->node_path);
	free(p->written_hash);
	free(p);
}

void publisher_forget(struct publisher *p)
{
	p->node_known = false;
	free(TAKE(p->written_hash));
	for (size_t i = 0; i < PUBLISH_OBJECT_COUNT; i++)
		p->objects[i] =
			(struct kept_object){.writes = {.interval_ms = p->objects[i].writes.interval_ms,
						     .burst = p->objects[i].writes.burst}};
}

/* ---- one request */

/* Send, and say what became of it. What is not success leaves its line in `err`. */
static enum publish_outcome send_request(
	struct publisher *p, enum publish_object object, const struct api_request *request, struct err *err)
{
	int r = api_client_request(p->client, request, &p->response, err);

	if (r < 0)
		return publish_no_answer(r);
	return publish_answer(
		object, p->node_name, p->response.status, p->response.body.text, p->response.body.len, err);
}

static enum publish_outcome send_doc(struct publisher *p, enum publish_object object, const char *method,
	const char *path, const char *content_type, const struct doc *doc, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(BODY_MAX);
	int r = json_print_compact(doc, &body);
	struct api_request request = {.method = method,
		.path = path,
		.accept = PUBLISH_METADATA_ONLY,
		.content_type = content_type,
		.body = body.text,
		.body_len = body.len};

	if (r < 0) {
		err_set(err, r, "cannot print the object: %s", strerror(-r));
		return PUBLISH_FAILED;
	}
	return send_request(p, object, &request, err);
}

/* Take over the Node that the last answer holds. */
static enum publish_outcome take_node(struct publisher *p, struct err *err)
{
	struct node_metadata node;
	int r = node_metadata_parse(p->response.body.text, p->response.body.len, &node, err);

	if (r < 0)
		return r == -ENOMEM ? PUBLISH_FAILED : PUBLISH_SERVER_ERROR;
	/* Another Node of the same name: the object's owner is gone. */
	if (!p->node.uid || strcmp(p->node.uid, node.uid) != 0)
		free(TAKE(p->written_hash));
	if (node.kubelet_minor == 0)
		node.kubelet_minor = p->node.kubelet_minor; /* the answer to a write has metadata only */
	node_metadata_release(&p->node);
	p->node = node;
	p->node_known = true;
	return PUBLISH_WRITTEN;
}

static enum publish_outcome read_node(struct publisher *p, struct err *err)
{
	struct api_request request = {.method = "GET", .path = p->node_path};
	enum publish_outcome outcome = send_request(p, PUBLISH_NODE, &request, err);

	if (outcome == PUBLISH_NOT_FOUND)
		node_metadata_release(&p->node);
	return outcome == PUBLISH_WRITTEN ? take_node(p, err) : outcome;
}

static enum publish_outcome write_nrt(
	struct publisher *p, const struct publish_request *want, struct err *err)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	CLEANUP(freep) char *path = NULL;
	enum publish_outcome outcome;
	int r = publish_object(want->nrt, p->node_name, p->node.uid, &object, err);

	if (r < 0)
		return PUBLISH_FAILED;
	if (asprintf(&path, "%s?" PUBLISH_MANAGER "&force=true", p->nrt_path) < 0) {
		err_no_memory(err);
		return PUBLISH_FAILED;
	}
	outcome = send_doc(p, PUBLISH_NRT, "PATCH", path, "application/apply-patch+yaml", &object, err);
	if (outcome == PUBLISH_WRITTEN && text_set(&p->written_hash, want->content_hash) < 0) {
		err_no_memory(err);
		return PUBLISH_FAILED;
	}
	return outcome;
}

static enum publish_outcome write_node(struct publisher *p, const struct doc *patch, struct err *err)
{
	CLEANUP(freep) char *path = NULL;
	enum publish_outcome outcome;

	if (asprintf(&path, "%s?" PUBLISH_MANAGER, p->node_path) < 0) {
		err_no_memory(err);
		return PUBLISH_FAILED;
	}
	outcome = send_doc(p, PUBLISH_NODE, "PATCH", path, "application/merge-patch+json", patch, err);
	/* Whatever the reason, what is known of the Node may be out of date: look first next time. */
	if (outcome != PUBLISH_WRITTEN)
		p->node_known = false;
	return outcome == PUBLISH_WRITTEN ? take_node(p, err) : outcome;
}

/* ---- when */

static uint64_t allowed_at(const struct kept_object *t)
{
	uint64_t spaced = budget_at(&t->writes);

	return spaced > t->not_before_ms ? spaced : t->not_before_ms;
}

/* It says nothing about the object: the server would do the same to any other request. */
static bool concerns_both(enum publish_outcome outcome)
{
	return outcome == PUBLISH_UNREACHABLE || outcome == PUBLISH_TIMEOUT || outcome == PUBLISH_THROTTLED;
}

/* Note what became of a request: success ends a backoff, failure begins or lengthens one. It is counted from
 * now, which after a deadline is long after the call began. */
static void settle(struct publisher *p, enum publish_object object, enum publish_outcome outcome)
{
	bool asks = outcome == PUBLISH_THROTTLED || outcome == PUBLISH_SERVER_ERROR;
	struct kept_object *t = &p->objects[object];

	if (outcome == PUBLISH_WRITTEN) {
		t->failures = 0;
		t->not_before_ms = 0;
		return;
	}
	t->failures++;
	t->not_before_ms =
		p->options.clock(p->options.clock_data) +
		backoff_after_ms(t->failures, asks ? p->response.retry_after_s : 0, random_bits(p));
	for (size_t i = 0; i < PUBLISH_OBJECT_COUNT && concerns_both(outcome); i++)
		if (p->objects[i].not_before_ms < t->not_before_ms)
			p->objects[i].not_before_ms = t->not_before_ms;
}

static bool waits(const struct publisher *p, enum publish_object object, uint64_t now_ms)
{
	return now_ms < allowed_at(&p->objects[object]);
}

/* ---- the steps of publisher_publish() */

/* The first interval is any part of a whole one: nodes that start together do not refresh together. */
static uint64_t refresh_interval(const struct publisher *p)
{
	uint64_t random = random_bits(p), whole = p->options.refresh_ms;

	return p->refresh_at_ms ? backoff_spread_ms(whole, REFRESH_PERCENT, random) : whole - random % whole;
}

static void step_refresh(struct publisher *p, uint64_t now_ms)
{
	if (p->refresh_at_ms && now_ms < p->refresh_at_ms)
		return;
	p->node_known = false;
	free(TAKE(p->written_hash));
	p->refresh_at_ms = now_ms + refresh_interval(p);
}

/* The Node has to be read before anything else: the object refers to its uid. */
static enum publish_outcome step_read(struct publisher *p, uint64_t now_ms, struct err *err)
{
	enum publish_outcome outcome;

	if (p->node_known)
		return PUBLISH_UNCHANGED;
	if (now_ms < p->objects[PUBLISH_NODE].not_before_ms)
		return PUBLISH_DEFERRED;
	outcome = read_node(p, err);
	settle(p, PUBLISH_NODE, outcome);
	return outcome == PUBLISH_WRITTEN ? PUBLISH_UNCHANGED : outcome;
}

static enum publish_outcome step_nrt(
	struct publisher *p, const struct publish_request *want, uint64_t now_ms, struct err *err)
{
	enum publish_outcome outcome;

	if (p->written_hash && !strcmp(p->written_hash, want->content_hash))
		return PUBLISH_UNCHANGED;
	if (!p->node.uid || waits(p, PUBLISH_NRT, now_ms))
		return PUBLISH_DEFERRED;
	outcome = write_nrt(p, want, err);
	settle(p, PUBLISH_NRT, outcome);
	if (outcome == PUBLISH_WRITTEN)
		budget_take(&p->objects[PUBLISH_NRT].writes, now_ms);
	return outcome;
}

static bool is_for_another_kubelet(const struct publisher *p, const struct publish_request *request)
{
	return request->kubelet_minor > 0 && p->node.kubelet_minor > 0 &&
	       request->kubelet_minor != p->node.kubelet_minor;
}

static enum publish_outcome step_node(
	struct publisher *p, const struct publish_request *request, uint64_t now_ms, struct err *err)
{
	CLEANUP(node_metadata_release) struct node_metadata want;
	CLEANUP(doc_release) struct doc patch = DOC_INIT;
	enum publish_outcome outcome;
	int r = node_metadata_wanted(request, &want, err);

	if (r == 0) {
		r = node_metadata_patch(&p->node, &want, &patch);
		if (r < 0)
			err_no_memory(err);
	}
	if (r < 0) {
		settle(p, PUBLISH_NODE, PUBLISH_FAILED);
		return PUBLISH_FAILED;
	}
	if (patch.n_items == 0)
		return PUBLISH_UNCHANGED;
	if (is_for_another_kubelet(p, request))
		return PUBLISH_DEFERRED;
	if (waits(p, PUBLISH_NODE, now_ms))
		return PUBLISH_DEFERRED;
	outcome = write_node(p, &patch, err);
	settle(p, PUBLISH_NODE, outcome);
	if (outcome == PUBLISH_WRITTEN)
		budget_take(&p->objects[PUBLISH_NODE].writes, now_ms);
	return outcome;
}

static bool is_settled(enum publish_outcome outcome)
{
	return outcome == PUBLISH_UNCHANGED || outcome == PUBLISH_WRITTEN;
}

/* The earliest time at which a call would have something to do. */
static uint64_t next_call(const struct publisher *p, const struct publish_result *done, uint64_t now_ms)
{
	const struct kept_object *nrt = &p->objects[PUBLISH_NRT], *node = &p->objects[PUBLISH_NODE];
	uint64_t at = p->refresh_at_ms, other = UINT64_MAX;

	if (!p->node_known)
		at = node->not_before_ms < at ? node->not_before_ms : at;
	if (!is_settled(done->nrt))
		other = p->node.uid ? allowed_at(nrt) : UINT64_MAX;
	else if (!p->written_hash)
		other = now_ms;
	else if (!is_settled(done->node) && p->node_known)
		other = allowed_at(node);
	at = other < at ? other : at;
	return at < now_ms ? now_ms : at;
}

int publisher_publish(struct publisher *p, const struct publish_request *request, uint64_t now_ms,
	struct publish_result *ret, struct err *err)
{
	struct publish_result result = {0};
	struct err node_err = {""}, nrt_err = {""};
	int r;

	step_refresh(p, now_ms);
	result.node = step_read(p, now_ms, &node_err);
	result.nrt =
		result.node == PUBLISH_CANCELLED ? PUBLISH_DEFERRED : step_nrt(p, request, now_ms, &nrt_err);
	/* The Node's metadata name the object they belong to, so that has to be there. */
	if (result.node == PUBLISH_UNCHANGED)
		result.node =
			is_settled(result.nrt) ? step_node(p, request, now_ms, &node_err) : PUBLISH_DEFERRED;

	/* A write's answer may have shown that the Node is another one; then the object has to follow. */
	result.current = is_settled(result.nrt) && is_settled(result.node) && p->written_hash;
	result.call_again_ms = next_call(p, &result, now_ms);
	result.kubelet_minor = p->node.kubelet_minor;
	*ret = result;

	r = publish_errno(result.nrt);
	if (r < 0)
		return err_set(err, r, "%s", nrt_err.text);
	r = publish_errno(result.node);
	return r < 0 ? err_set(err, r, "%s", node_err.text) : 0;
}

/* ---- taking it away again */

/* The object is ours when it has our hash: another exporter that took it over has replaced the whole list.
 * Only the very version that was looked at is deleted. 404 is fine: no object, or no CRD either. */
static int delete_nrt(struct publisher *p, struct err *err)
{
	struct api_request get = {.method = "GET", .path = p->nrt_path};
	CLEANUP(doc_release) struct doc object = DOC_INIT, body = {.kind = DOC_MAP};
	enum publish_outcome outcome = send_request(p, PUBLISH_NRT, &get, err);
	const struct doc *metadata;
	struct doc *preconditions;

	if (outcome != PUBLISH_WRITTEN)
		return outcome == PUBLISH_NOT_FOUND ? 0 : publish_errno(outcome);
	if (json_parse(p->response.body.text, p->response.body.len, &object, err) < 0)
		return err_wrap(err, -EPROTO, "the API server's answer");
	if (!nrt_content_hash(&object))
		return 0;
	metadata = doc_get(&object, "metadata");
	preconditions = doc_add_map(&body, "preconditions");
	if (!doc_add_string(preconditions, "uid", doc_string(doc_get(metadata, "uid"))) ||
		!doc_add_string(
			preconditions, "resourceVersion", doc_string(doc_get(metadata, "resourceVersion"))))
		return err_set(err, -EPROTO, "the API server's answer is not an object, or out of memory");
	outcome = send_doc(p, PUBLISH_NRT, "DELETE", p->nrt_path, "application/json", &body, err);
	return outcome == PUBLISH_NOT_FOUND ? 0 : publish_errno(outcome);
}

static int strip_node(struct publisher *p, struct err *err)
{
	CLEANUP(node_metadata_release) struct node_metadata none;
	CLEANUP(doc_release) struct doc patch = DOC_INIT;
	enum publish_outcome outcome;

	node_metadata_init(&none);
	outcome = read_node(p, err);
	if (outcome != PUBLISH_WRITTEN)
		return outcome == PUBLISH_NOT_FOUND ? 0 : publish_errno(outcome);
	if (node_metadata_patch(&p->node, &none, &patch) < 0)
		return err_no_memory(err);
	return patch.n_items == 0 ? 0 : publish_errno(write_node(p, &patch, err));
}

int publisher_cleanup(struct publisher *p, struct err *err)
{
	int r = strip_node(p, err);

	publisher_forget(p);
	return r < 0 ? r : delete_nrt(p, err);
}
