/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict OBJECT POD: what `nrtd fit -o json` says of the pod, from the attribute nrtd.dev/node-state of a published
 * object alone. Both are files.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/observe/fs_root.h"
#include "cli/report/fit_report.h"
#include "cluster/objects/pod_parse.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "scoring/node/node_derive.h"
#include "scoring/node/node_state_codec.h"

#define MAX_BYTES (1u << 20)

static int read_json(const char *path, struct doc *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MAX_BYTES);
	int r = fs_read("", path, &text, err);

	return r < 0 ? r : json_parse(text.text, text.len, ret, err);
}

static const char *find_attribute(const struct doc *object, const char *name)
{
	const struct doc *list = doc_get(object, "attributes");

	if (!list || list->kind != DOC_LIST)
		return NULL;
	DOC_FOREACH (item, list)
		if (!strcmp(doc_string(doc_get(item, "name")), name))
			return doc_string(doc_get(item, "value"));
	return NULL;
}

static int read_node(const char *path, struct node_state *ret, struct err *err)
{
	CLEANUP(notes_release) struct notes notes = {0};
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	const struct derive_config config = {0};
	int r = read_json(path, &object, err);
	const char *text = r == 0 ? find_attribute(&object, NODE_STATE_ATTRIBUTE) : NULL;

	if (r == 0 && !text)
		r = err_set(err, -ENOENT, "%s: no attribute " NODE_STATE_ATTRIBUTE, path);
	if (r == 0)
		r = node_state_parse(text, ret, err);
	return r < 0 ? r : node_derive(&config, ret, &notes, err);
}

static int judge(char **argv, struct strbuf *out, struct err *err)
{
	CLEANUP(pod_templates_release) struct pod_templates pods = {0};
	CLEANUP(pod_report_release) struct pod_report report = {0};
	CLEANUP(node_report_release) struct node_report verdict = {0};
	CLEANUP(writer_release) struct writer w;
	CLEANUP(node_state_release) struct node_state node;
	CLEANUP(doc_release) struct doc pod = DOC_INIT;
	int r;

	node_state_init(&node);
	writer_init(&w, "json", true, out);
	r = read_node(argv[1], &node, err);
	if (r == 0)
		r = read_json(argv[2], &pod, err);
	if (r == 0)
		r = pod_templates_from_doc(&pod, &pods, err);
	if (r < 0)
		return r;
	pod_report_init(&report, &pods.items[0].pod);
	node_report_make(&report, &node, REPORT_ALL, NULL, &verdict);
	fit_write_node(&w, &report, &verdict);
	return writer_finish(&w);
}

int main(int argc, char **argv)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(MAX_BYTES);
	struct err err = {""};

	if (argc != 3 || judge(argv, &out, &err) < 0) {
		fprintf(stderr, "verdict: %s\n", argc == 3 ? err.text : "OBJECT POD");
		return 1;
	}
	fputs(out.text, stdout);
	return 0;
}
