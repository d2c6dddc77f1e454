/* SPDX-License-Identifier: Apache-2.0 */
/* nrtd diff: what is published against what would be. */
#include "agent/cli/commands.h"

#include <errno.h>

#include "agent/base/doc_diff.h"
#include "agent/base/json.h"
#include "agent/base/output.h"
#include "agent/cli/look.h"
#include "agent/cli/stage_config.h"
#include "agent/publish/publish_doc.h"
#include "agent/render/hints.h"
#include "agent/render/nrt.h"
#include "common/cleanup.h"
#include "common/log.h"

#define DIFF_MAX       (16u << 20)
#define EXIT_DIFFERENT 1
#define EXIT_TROUBLE   2

/* What the API server has there; *ret stays null when there is nothing. */
static int fetch(
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

/* The object: all that nrtd writes of it. */
static size_t diff_object(const struct doc *held, const struct doc *wanted, struct strbuf *out)
{
	static const char *const members[] = {"topologyPolicies", "attributes", "zones"};
	size_t n = 0;

	if (held->kind != DOC_MAP)
		return doc_diff("NodeResourceTopology", NULL, wanted, out);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		n += doc_diff(members[i], doc_get(held, members[i]), doc_get(wanted, members[i]), out);
	return n;
}

static int diff_node(
	const struct doc *node, const char *key, const struct doc *wanted, size_t *n, struct strbuf *out)
{
	CLEANUP(doc_release) struct doc held = {.kind = DOC_MAP};
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(64);

	if (publish_keep_ours(doc_get(doc_get(node, "metadata"), key), &held) < 0)
		return -ENOMEM;
	strbuf_addf(&path, "Node.metadata.%s", key);
	*n += doc_diff(path.text, &held, wanted, out);
	return 0;
}

static int compare(const struct options *options, struct observation *o, size_t *ret_n, struct strbuf *out,
	struct err *err)
{
	CLEANUP(target_api_release) struct target_api api = {0};
	const struct publish_config config = stage_publish(options);
	CLEANUP(hints_config_release) struct hints_config hints = {0};
	CLEANUP(doc_release) struct doc nrt = DOC_INIT;
	CLEANUP(doc_release) struct doc annotations = DOC_INIT;
	CLEANUP(doc_release) struct doc labels = DOC_INIT;
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	CLEANUP(doc_release) struct doc node = DOC_INIT;
	const struct nrt_config object_config = stage_nrt(options);
	int r = stage_hints(options, &hints, err);

	if (r == 0)
		r = target_api_open(&config, o->node.node_name, &api, err);
	if (r == 0)
		r = fetch(api.client, PUBLISH_NODE_PATH, o->node.node_name, &node, err);
	if (r == 0 && o->node.settings.kubelet_minor == 0)
		o->node.settings.kubelet_minor = node_kubelet_minor(&node); /* as nrtd run does */
	if (r == 0)
		r = nrt_render(&o->node, &object_config, &nrt, &o->notes);
	if (r == 0)
		r = hints_make(
			&hints, &o->node, nrt_content_hash(&nrt), &annotations, &labels, &o->notes, NULL);
	if (r == 0 && !doc_add_string(&annotations, NRT_CONTENT_HASH, nrt_content_hash(&nrt)))
		r = -ENOMEM;
	if (r == 0)
		r = fetch(api.client, PUBLISH_NRT_PATH, o->node.node_name, &object, err);
	if (r < 0)
		return r;
	*ret_n = diff_object(&object, &nrt, out);
	if (node.kind != DOC_MAP)
		return err_set(err, -ENOENT, "there is no Node '%s'", o->node.node_name);
	r = diff_node(&node, "annotations", &annotations, ret_n, out);
	if (r == 0)
		r = diff_node(&node, "labels", &labels, ret_n, out);
	return r < 0 ? r : strbuf_error(out);
}

int command_diff(const struct options *options)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(DIFF_MAX);
	struct err err = {""};
	size_t n = 0;
	int r;

	observation_init(&o);
	r = look(options, &o, &err);
	if (r == 0)
		r = compare(options, &o, &n, &out, &err);
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
	return n > 0 ? EXIT_DIFFERENT : EXIT_SUCCESS;
}
