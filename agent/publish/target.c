/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/publish/target.h"

#include "common/cleanup.h"
#include "common/hash.h"
#include "common/io/fs.h"
#include "common/io/yaml.h"

#define TEXT_MAX (16u << 20)

/* ---- the API server */

void target_api_release(struct target_api *t)
{
	publisher_free(t->publisher);
	api_client_free(t->client);
	credentials_free(t->credentials);
	*t = (struct target_api){0};
}

int target_api_open(
	const struct publish_config *config, const char *node_name, struct target_api *ret, struct err *err)
{
	const struct api_client_options client_options = {.cancel = config->cancel};
	const struct publisher_options publisher_options = {.node_name = node_name,
		.refresh_ms = config->refresh_ms,
		.node_interval_ms = config->node_interval_ms,
		.node_burst = config->node_burst,
		.events = config->events,
		.numatopology_if_served = config->numatopology_if_served,
		.keep_taint = config->keep_taint};
	int r = credentials_new(&config->credentials, &ret->credentials, err);

	if (r < 0)
		return r;
	r = api_client_new(ret->credentials, &client_options, &ret->client, err);
	if (r < 0)
		return r;
	return publisher_new(ret->client, &publisher_options, &ret->publisher, err);
}

static int publish_api(void *ctx, const struct publish_request *request, uint64_t now_ms,
	struct publish_result *ret, struct err *err)
{
	const struct target_api *t = ctx;
	int r = publisher_publish(t->publisher, request, now_ms, ret, err);

	ret->certificate_until_s = api_client_certificate_until(t->client);
	return r;
}

static void forget_api(void *ctx)
{
	const struct target_api *t = ctx;

	publisher_forget(t->publisher);
}

static enum publish_outcome write_event_api(
	void *ctx, const struct node_event *event, uint64_t now_ms, uint64_t *ret_again_ms, struct err *err)
{
	const struct target_api *t = ctx;

	return publisher_write_event(t->publisher, event, now_ms, ret_again_ms, err);
}

struct target target_api(struct target_api *t)
{
	return (struct target){
		.ctx = t, .publish = publish_api, .forget = forget_api, .write_event = write_event_api};
}

/* ---- standard output */

/* Prints the document if it differs from the previous document, whose hash is *last. */
static int print_change(const struct doc *doc, uint64_t *last, enum publish_outcome *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	uint64_t hash;
	int r;

	/* The end marker shows the reader of a pipe that the document is complete. */
	strbuf_addstr(&text, "---\n");
	r = yaml_print(doc, &text);
	strbuf_addstr(&text, "...\n");
	r = r < 0 ? r : strbuf_error(&text);
	if (r < 0)
		return err_set(err, r, "cannot print: %s", strerror(-r));
	hash = hash_bytes(text.text, text.len, 0);
	*ret = hash == *last ? PUBLISH_UNCHANGED : PUBLISH_WRITTEN;
	if (hash == *last)
		return 0;
	r = output_write(text.text, text.len);
	if (r < 0)
		return err_set(err, r, "cannot print: %s", strerror(-r));
	*last = hash;
	return 0;
}

static void add_string_map(const struct doc *from, const char *key, struct doc *metadata)
{
	struct doc *map;

	if (!from || from->n_items == 0)
		return;
	map = doc_add_map(metadata, key);
	DOC_FOREACH (item, from)
		doc_add_string(map, item->key, item->text);
}

static void make_node_doc(const char *name, const struct publish_request *request, struct doc *ret)
{
	struct doc *metadata;

	ret->kind = DOC_MAP;
	doc_add_string(ret, "apiVersion", "v1");
	doc_add_string(ret, "kind", "Node");
	metadata = doc_add_map(ret, "metadata");
	doc_add_string(metadata, "name", name);
	add_string_map(request->annotations, "annotations", metadata);
	add_string_map(request->labels, "labels", metadata);
}

static int print_pod_annotations(
	struct target_stdout *state, const struct kai_pods *want, enum publish_outcome *ret, struct err *err)
{
	const struct kai_pod *pod;
	int r = 0;

	pods_written_keep(&state->pods, want);
	*ret = PUBLISH_UNCHANGED;
	while (r == 0 && (pod = pods_written_next(&state->pods, want))) {
		CLEANUP(doc_release) struct doc object = {.kind = DOC_MAP};
		uint64_t last = 0; /* of no document: each pod that pods_written_next() returns is printed */

		pod_annotation_object(pod, &object);
		r = print_change(&object, &last, ret, err);
		if (r == 0)
			pods_written_add(&state->pods, pod);
	}
	return r;
}

void target_stdout_release(struct target_stdout *state)
{
	pods_written_release(&state->pods);
}

static int print_changes(void *ctx, const struct publish_request *request, uint64_t now_ms,
	struct publish_result *ret, struct err *err)
{
	struct target_stdout *state = ctx;
	CLEANUP(doc_release) struct doc node = DOC_INIT;
	int r;

	(void)now_ms;
	/* Failed until printed. */
	*ret = (struct publish_result){.nrt = request->nrt ? PUBLISH_FAILED : PUBLISH_UNCHANGED,
		.node = PUBLISH_FAILED,
		.taint = PUBLISH_UNCHANGED,
		.numatopology = request->numatopology ? PUBLISH_FAILED : PUBLISH_UNCHANGED,
		.pods = request->pods ? PUBLISH_FAILED : PUBLISH_UNCHANGED,
		.call_again_ms = UINT64_MAX};
	r = request->nrt ? print_change(request->nrt, &state->nrt, &ret->nrt, err) : 0;
	if (r == 0 && request->numatopology)
		r = print_change(request->numatopology, &state->numatopology, &ret->numatopology, err);
	if (r == 0) {
		make_node_doc(state->node_name, request, &node);
		r = print_change(&node, &state->node, &ret->node, err);
	}
	if (r == 0 && request->pods)
		r = print_pod_annotations(state, request->pods, &ret->pods, err);
	ret->current = r == 0;
	return r;
}

static void forget_stdout(void *ctx)
{
	struct target_stdout *state = ctx;

	state->nrt = state->node = state->numatopology = 0;
	pods_written_release(&state->pods);
}

struct target target_stdout(struct target_stdout *state)
{
	return (struct target){.ctx = state, .publish = print_changes, .forget = forget_stdout};
}
