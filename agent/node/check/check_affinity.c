/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/check/check_affinity.h"

#include <errno.h>
#include <string.h>

#include "agent/base/json.h"
#include "agent/node/render/render.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/strbuf.h"
#include "common/strv.h"

#define PODS_NAMED   3u
#define PODS_AT_ONCE "40" /* a page of them is an answer of half a megabyte, as pods go */
#define NAME_BYTES   1024u

static bool is_ours(const char *label)
{
	return label && !strncmp(label, HINTS_LABEL_PREFIX, strlen(HINTS_LABEL_PREFIX));
}

bool check_affinity_labelled(const struct doc *node)
{
	const struct doc *labels = doc_get(doc_get(node, "metadata"), "labels");

	if (labels && labels->kind == DOC_MAP)
		DOC_FOREACH (label, labels)
			if (is_ours(label->key))
				return true;
	return false;
}

static bool term_is_ours(const struct doc *term)
{
	const struct doc *expressions = doc_get(term, "matchExpressions");

	if (expressions && expressions->kind == DOC_LIST)
		DOC_FOREACH (expression, expressions)
			if (is_ours(doc_string(doc_get(expression, "key"))))
				return true;
	return false;
}

static bool requires_ours(const struct doc *spec)
{
	const struct doc *selector = doc_get(spec, "nodeSelector"),
			 *affinity = doc_get(doc_get(spec, "affinity"), "nodeAffinity"),
			 *terms = doc_get(doc_get(affinity, "requiredDuringSchedulingIgnoredDuringExecution"),
				 "nodeSelectorTerms");

	if (selector && selector->kind == DOC_MAP)
		DOC_FOREACH (label, selector)
			if (is_ours(label->key))
				return true;
	if (terms && terms->kind == DOC_LIST)
		DOC_FOREACH (term, terms)
			if (term_is_ours(term))
				return true;
	return false;
}

/* Append "NAMESPACE/NAME" of each pod in a PodList that requires one. */
static void pods_that_require(const struct doc *list, struct strv *ret)
{
	const struct doc *items = doc_get(list, "items");

	if (!items || items->kind != DOC_LIST)
		return;
	DOC_FOREACH (pod, items) {
		CLEANUP(strbuf_release) struct strbuf name = STRBUF_INIT(NAME_BYTES);
		const struct doc *metadata = doc_get(pod, "metadata");
		const char *namespace = doc_string(doc_get(metadata, "namespace")),
			   *own = doc_string(doc_get(metadata, "name"));

		if (!requires_ours(doc_get(pod, "spec")))
			continue;
		strbuf_addf(&name, "%.253s/%.253s", namespace ? namespace : "", own ? own : "");
		strv_push(ret, name.text);
	}
}

/* Append an item that names some of them. */
static void report_pods(const struct strv *pods, struct check_report *report)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);

	strbuf_addf(&text, "%zu %s nrtd's labels: ", pods->n_items,
		pods->n_items == 1 ? "pod requires one of" : "pods require");
	for (size_t i = 0; i < pods->n_items && i < PODS_NAMED; i++)
		strbuf_addf(&text, "%s%s", i ? ", " : "", pods->items[i]);
	if (pods->n_items > PODS_NAMED)
		strbuf_addstr(&text, ", ...");
	check_report_line(report, CHECK_WARN, "affinity", NULL, text.text,
		"let them prefer the label: a kubelet that restarts refuses running pods whose own CPUs have lowered a label that they require");
}

/* The Node's pods, page by page; true when all were seen. */
static bool list_pods(struct api_client *client, const char *node_name, int64_t until_ms,
	struct api_response *response, struct strv *pods)
{
	CLEANUP(strbuf_release) struct strbuf next = STRBUF_INIT(4096);

	do {
		CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(8192);
		CLEANUP(doc_release) struct doc list = DOC_INIT;
		const char *token;

		strbuf_addf(&path,
			"/api/v1/pods?limit=" PODS_AT_ONCE "&fieldSelector=spec.nodeName%%3D%s%s%s",
			node_name, next.len > 0 ? "&continue=" : "", next.text);
		if (strbuf_error(&path) < 0 || clock_ms(CLOCK_MONOTONIC) > until_ms ||
			api_client_request(client, &(struct api_request){.method = "GET", .path = path.text},
				response, NULL) < 0 ||
			response->status != HTTP_OK)
			return false;
		if (json_parse(response->body.text, response->body.len, &list, NULL) < 0)
			return false;
		pods_that_require(&list, pods);
		token = doc_string(doc_get(doc_get(&list, "metadata"), "continue"));
		strbuf_reset(&next);
		strbuf_addstr(&next, token ? token : "");
	} while (next.len > 0 && strbuf_error(&next) == 0);
	return strbuf_error(&next) == 0;
}

void check_affinity(
	struct api_client *client, const char *node_name, int64_t until_ms, struct check_report *report)
{
	CLEANUP(strv_release) struct strv pods = {0};
	struct api_response response;
	bool all;

	api_response_init(&response);
	all = list_pods(client, node_name, until_ms, &response, &pods);
	api_response_release(&response);
	if (pods.n_items > 0)
		report_pods(&pods, report);
	else if (all)
		check_report_line(report, CHECK_OK, "affinity", NULL, "no pod requires nrtd's labels", NULL);
	else
		check_report_line(report, CHECK_NOTE, "affinity", NULL,
			"the Node's pods cannot be listed: whether one requires nrtd's labels is not known",
			NULL);
}
