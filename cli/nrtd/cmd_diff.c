/* SPDX-License-Identifier: Apache-2.0 */
/* nrtd diff: compares the published objects with what nrtd run would write. */
#include "cli/commands.h"

#include <errno.h>

#include "agent/publish/node_metadata.h"
#include "agent/render/render.h"
#include "cli/nrtd/observe_local.h"
#include "cli/nrtd/stage_config.h"
#include "common/cleanup.h"
#include "common/doc.h"
#include "common/io/fs.h"
#include "common/io/json.h"
#include "common/log.h"
#include "scoring/node/node_state_codec.h"
#include "scoring/node/pod_names.h"
#include "scoring/node/settings_change.h"

#define DIFF_MAX       (16u << 20)
#define EXIT_DIFFERENT 1
#define EXIT_TROUBLE   2

/* Reads an object from the API server; *ret stays null if there is no such object. */
static int fetch_object(
	struct api_client *client, const char *prefix, const char *name, struct doc *ret, struct err *err)
{
	CLEANUP(api_response_release) struct api_response response;
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(1024);
	struct api_request request = {.method = "GET"};
	int r;

	api_response_init(&response);
	strbuf_addf(&path, "%s%s", prefix, name);
	request.path = path.text;
	r = api_client_request(client, &request, &response, err);
	if (r < 0)
		return r;
	if (response.status == HTTP_NOT_FOUND)
		return 0;
	if (response.status != HTTP_OK)
		return err_set(err, -EPROTO, "%s%s: the API server answers with status %d",
			api_client_server(client), path.text, response.status);
	r = json_parse(response.body.text, response.body.len, ret, err);
	return r < 0 ? err_wrap(err, r, "%s%s", api_client_server(client), path.text) : 0;
}

/* The state of the command. */
struct diff {
	struct target_api api;
	struct publish_config publish;
	struct render_config render;
	struct doc nrt, numatopology, annotations, labels; /* what nrtd run would write */
	struct doc node;                                   /* the Node on the API server */
	struct strbuf *out;
	size_t n_differences;
};

static void diff_release(struct diff *d)
{
	target_api_release(&d->api);
	hints_config_release(&d->render.hints);
	doc_release(&d->nrt);
	doc_release(&d->numatopology);
	doc_release(&d->annotations);
	doc_release(&d->labels);
	doc_release(&d->node);
}

/* Compares nrtd's annotations; ignores other annotations. */
static void diff_annotations(struct diff *d, const struct doc *published, const struct doc *wanted)
{
	const struct doc *have = doc_get(doc_get(published, "metadata"), "annotations");
	const struct doc *want = doc_get(doc_get(wanted, "metadata"), "annotations");

	if (!want)
		return;
	DOC_FOREACH (item, want) {
		CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(512);

		strbuf_addf(&path, "metadata.annotations.%s", item->key);
		d->n_differences += doc_diff(path.text, doc_get(have, item->key), item, d->out);
	}
}

/* Compares what nrtd writes to an object: annotations and sections. */
static int diff_object(struct diff *d, const struct apply_kind *kind, const struct doc *wanted,
	const char *node_name, struct err *err)
{
	CLEANUP(doc_release) struct doc published = DOC_INIT;
	int r = fetch_object(d->api.client, kind->prefix, node_name, &published, err);

	if (r < 0)
		return r;
	if (published.kind != DOC_MAP)
		d->n_differences += doc_diff(doc_string(doc_get(wanted, "kind")), NULL, wanted, d->out);
	else
		diff_annotations(d, &published, wanted);
	for (const char *const *name = kind->sections; published.kind == DOC_MAP && *name; name++)
		d->n_differences +=
			doc_diff(*name, doc_get(&published, *name), doc_get(wanted, *name), d->out);
	return 0;
}

/* Without podAllocations where the CRD does not have them, as nrtd run does. */
static int remove_unknown_pods(struct diff *d, const char *node_name, struct err *err)
{
	struct publish_io io = {.client = d->api.client, .node_name = node_name};
	enum publish_outcome outcome;
	bool has_pods = false;

	api_response_init(&io.response);
	outcome = apply_has_pod_allocations(&io, &has_pods, err);
	api_response_release(&io.response);
	if (!has_pods)
		numatopology_remove_pods(&d->numatopology);
	return publish_errno(outcome);
}

static int diff_numatopology(struct diff *d, const char *node_name, struct err *err)
{
	CLEANUP(doc_release) struct doc group = DOC_INIT;
	int r = fetch_object(d->api.client, APPLY_NUMATOPOLOGY_GROUP, "", &group, err);

	if (r < 0 || (group.kind != DOC_MAP && d->publish.numatopology_if_served))
		return r;
	r = remove_unknown_pods(d, node_name, err);
	if (r < 0)
		return r;
	return diff_object(d, &apply_numatopology, &d->numatopology, node_name, err);
}

static void diff_node(struct diff *d, const char *key, const struct doc *wanted)
{
	CLEANUP(doc_release) struct doc published = {.kind = DOC_MAP};
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(64);

	node_metadata_keep_own(doc_get(doc_get(&d->node, "metadata"), key), &published);
	strbuf_addf(&path, "Node.metadata.%s", key);
	d->n_differences += doc_diff(path.text, &published, wanted, d->out);
}

static void render(struct diff *d, struct observation *o)
{
	nrt_render(&o->node, &d->render.nrt, &d->nrt, &o->notes);
	if (d->render.numatopology)
		numatopology_render(&o->node, &d->numatopology, &o->notes);
	hints_make(&d->render.hints, &o->node, nrt_content_hash(&d->nrt), &d->annotations, &d->labels,
		&o->notes, NULL);
	doc_add_string(&d->annotations, NRT_CONTENT_HASH, nrt_content_hash(&d->nrt));
}

/* The command does not read where the memory of pods is: the object may say so. */
static int assume_remote_memory(struct diff *d, struct node_state *node, struct err *err)
{
	CLEANUP(doc_release) struct doc nrt = DOC_INIT;
	CLEANUP(node_state_release) struct node_state published;
	int r = fetch_object(d->api.client, apply_nrt.prefix, node->node_name, &nrt, err);
	const char *text = nrt_node_state(&nrt);

	node_state_init(&published);
	if (r < 0 || !text || node_state_parse(text, &published, NULL) < 0)
		return r;
	node->allocations.remote_memory_known = published.allocations.remote_memory_known;
	for (size_t i = 0; i < node->allocations.n_items; i++) {
		struct allocation *item = &node->allocations.items[i];
		const struct pod_names names = pod_names_of_item(item);

		for (size_t k = 0; k < published.allocations.n_items; k++)
			if (pod_names_match(&names, &published.allocations.items[k]))
				item->remote_memory = published.allocations.items[k].remote_memory;
	}
	return 0;
}

static int compare(const struct options *options, struct observation *o, struct diff *d, struct err *err)
{
	const char *name = o->node.node_name;
	int r = stage_render(options, &d->render, err);

	d->publish = stage_publish(options);
	if (r < 0)
		return r;
	r = target_api_open(&d->publish, name, &d->api, err);
	if (r < 0)
		return r;
	r = fetch_object(d->api.client, PUBLISH_NODE_PATH, name, &d->node, err);
	if (r < 0)
		return r;
	if (o->node.settings.kubelet_minor == 0)
		observation_set_release(o, node_kubelet_release(&d->node)); /* as nrtd run does */
	r = assume_remote_memory(d, &o->node, err);
	if (r < 0)
		return r;
	render(d, o);
	if (!d->render.others_nrt)
		r = diff_object(d, &apply_nrt, &d->nrt, name, err);
	if (r < 0)
		return r;
	if (d->render.numatopology)
		r = diff_numatopology(d, name, err);
	if (r < 0)
		return r;
	if (d->node.kind != DOC_MAP)
		return err_set(err, -ENOENT, "there is no Node '%s'", name);
	diff_node(d, "annotations", &d->annotations);
	diff_node(d, "labels", &d->labels);
	return strbuf_error(d->out);
}

int command_diff(const struct options *options)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(DIFF_MAX);
	CLEANUP(diff_release) struct diff d = {.out = &out};
	struct err err = {""};
	int r;

	observation_init(&o);
	r = observe_local(options, &o, &err);
	if (r == 0)
		r = compare(options, &o, &d, &err);
	log_notes(&o.notes);
	if (r == 0) {
		r = output_text(&out);
		if (r < 0)
			err_set(&err, r, "cannot print: %s", strerror(-r));
	}
	if (r < 0) {
		log_error("%s", err.text[0] ? err.text : strerror(-r));
		return EXIT_TROUBLE;
	}
	return d.n_differences > 0 ? EXIT_DIFFERENT : EXIT_SUCCESS;
}
