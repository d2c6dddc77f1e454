/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/check/check_affinity.h"

#include <errno.h>
#include <string.h>

#include "agent/render/hints.h"
#include "common/cleanup.h"
#include "common/strbuf.h"

#define PODS_NAMED 3u

#define NAME_BYTES 1024u

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

int check_affinity_pods(const struct doc *list, struct strv *ret)
{
	const struct doc *items = doc_get(list, "items");

	if (!items || items->kind != DOC_LIST)
		return 0;
	DOC_FOREACH (pod, items) {
		CLEANUP(strbuf_release) struct strbuf name = STRBUF_INIT(NAME_BYTES);
		const struct doc *metadata = doc_get(pod, "metadata");
		const char *namespace = doc_string(doc_get(metadata, "namespace")),
			   *own = doc_string(doc_get(metadata, "name"));

		if (!requires_ours(doc_get(pod, "spec")))
			continue;
		strbuf_addf(&name, "%.253s/%.253s", namespace ? namespace : "", own ? own : "");
		if (strbuf_error(&name) < 0 || strv_push(ret, name.text) < 0)
			return -ENOMEM;
	}
	return 0;
}

void check_affinity_report(const struct strv *pods, struct check_report *report)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);

	strbuf_addf(&text, "%zu %s nrtd's labels: ", pods->n_items,
		pods->n_items == 1 ? "pod requires one of" : "pods require");
	for (size_t i = 0; i < pods->n_items && i < PODS_NAMED; i++)
		strbuf_addf(&text, "%s%s", i ? ", " : "", pods->items[i]);
	if (pods->n_items > PODS_NAMED)
		strbuf_addstr(&text, ", ...");
	if (strbuf_error(&text) < 0)
		report->error = -ENOMEM;
	check_report_line(report, CHECK_WARN, "affinity", NULL, text.text,
		"let them prefer the label: a kubelet that restarts refuses running pods whose own CPUs have lowered a label that they require");
}
