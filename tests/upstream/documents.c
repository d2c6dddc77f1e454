/* SPDX-License-Identifier: Apache-2.0 */
/*
 * documents: reads texts as nrtd does, for tests/upstream/cmd/documents.
 *
 * Standard input is a sequence of questions: the name of a reader, a space, the length of the text in bytes, a newline, and the
 * text. Each answer has the same form: "ok" or "refused", the length, and the value or the message. A document is printed as
 * JSON, a pod as the resources that the API server stores, in milli-units, a quantity as its canonical text, with its value and milli-value if they fit in 64 bits, or "large" from 10^21 on, a CPU list as a list.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cluster/objects/pod_parse.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/io/json.h"
#include "common/io/manifest.h"
#include "common/io/yaml.h"
#include "common/resource.h"
#include "scoring/request.h"

#define TEXT_MAX ((size_t)64 << 20)

typedef int read_fn(const char *text, size_t len, struct strbuf *out, struct err *err);
typedef int parse_fn(const char *text, size_t len, struct doc *ret, struct err *err);

static int print_document(parse_fn *parse, const char *text, size_t len, struct strbuf *out, struct err *err)
{
	CLEANUP(doc_release) struct doc d = DOC_INIT;
	int r = parse(text, len, &d, err);

	return r < 0 ? r : json_print_compact(&d, out);
}

static int read_manifest(const char *text, size_t len, struct strbuf *out, struct err *err)
{
	return print_document(manifest_parse_all, text, len, out, err);
}

static int parse_config(const char *text, size_t len, struct doc *ret, struct err *err)
{
	return yaml_parse_config(text, len, false, ret, err);
}

static int read_config(const char *text, size_t len, struct strbuf *out, struct err *err)
{
	return print_document(parse_config, text, len, out, err);
}

static int parse_drop_in(const char *text, size_t len, struct doc *ret, struct err *err)
{
	return yaml_parse_config(text, len, true, ret, err);
}

static int read_drop_in(const char *text, size_t len, struct strbuf *out, struct err *err)
{
	return print_document(parse_drop_in, text, len, out, err);
}

static int read_yaml(const char *text, size_t len, struct strbuf *out, struct err *err)
{
	return print_document(yaml_parse_first, text, len, out, err);
}

static int read_strict_yaml(const char *text, size_t len, struct strbuf *out, struct err *err)
{
	return print_document(yaml_parse_unique, text, len, out, err);
}

static int read_quantity(const char *text, size_t len, struct strbuf *out, struct err *err)
{
	char canonical[QUANTITY_TEXT_MAX];
	struct quantity q;
	int r = strlen(text) == len ? quantity_parse(text, &q, err) : err_set(err, -EINVAL, "a NUL byte");

	if (r < 0)
		return r;
	if (q.nano / QTY_UNIT / 1000000000 >= 1000000000000 ||
		q.nano / QTY_UNIT / 1000000000 <= -1000000000000) {
		strbuf_addstr(out, "large");
		return 0;
	}
	quantity_print(q, canonical);
	strbuf_addstr(out, canonical);
	if (q.nano >= 0 && q.nano <= INT64_MAX / 1000 * QTY_UNIT)
		strbuf_addf(out, " %" PRId64 " %" PRId64, qty_value(q.nano), qty_milli_value(q.nano));
	return 0;
}

static int read_cpu_list(const char *text, size_t len, struct strbuf *out, struct err *err)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;
	CLEANUP(freep) char *list = NULL;
	int r = strlen(text) == len ? cpuset_parse(text, &set, err) : err_set(err, -EINVAL, "a NUL byte");

	if (r < 0)
		return r;
	list = cpuset_print(set);
	strbuf_addstr(out, list);
	return 0;
}

static void print_list(struct strbuf *out, const char *key, const struct resource_list *list)
{
	strbuf_addf(out, "\"%s\":{", key);
	for (size_t i = 0; i < list->n_items; i++) {
		strbuf_addstr(out, i > 0 ? "," : "");
		json_add_string(out, list->items[i].name);
		strbuf_addf(out, ":\"%" PRId64 "\"", qty_milli_value(list->items[i].quantity.nano));
	}
	strbuf_addch(out, '}');
}

static void print_resources(
	struct strbuf *out, const struct resource_list *requests, const struct resource_list *limits)
{
	strbuf_addch(out, '{');
	print_list(out, "requests", requests);
	strbuf_addch(out, ',');
	print_list(out, "limits", limits);
	strbuf_addch(out, '}');
}

static int read_pod(const char *text, size_t len, struct strbuf *out, struct err *err)
{
	CLEANUP(pod_templates_release) struct pod_templates templates = {0};
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	const struct pod_request *pod;
	int r = json_parse(text, len, &object, err);

	if (r == 0)
		r = pod_templates_from_doc(&object, &templates, err);
	if (r < 0)
		return r;
	pod = &templates.items[0].pod;
	strbuf_addf(out, "{\"qos\":\"%s\",\"pod\":", qos_class_names[request_qos(pod)]);
	if (pod->has_pod_resources)
		print_resources(out, &pod->pod_requests, &pod->pod_limits);
	else
		strbuf_addstr(out, "null");
	strbuf_addstr(out, ",\"containers\":[");
	for (size_t i = 0; i < pod->n_containers; i++) {
		strbuf_addstr(out, i > 0 ? "," : "");
		print_resources(out, &pod->containers[i].requests, &pod->containers[i].limits);
	}
	strbuf_addstr(out, "]}");
	return 0;
}

static const struct reader {
	const char *name;
	read_fn *read;
} readers[] = {
	{"manifest", read_manifest},
	{"config", read_config},
	{"drop-in", read_drop_in},
	{"yaml", read_yaml},
	{"strict-yaml", read_strict_yaml},
	{"quantity", read_quantity},
	{"cpus", read_cpu_list},
	{"pod", read_pod},
};

static read_fn *find_reader(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		if (!strcmp(readers[i].name, name))
			return readers[i].read;
	return NULL;
}

/* False when the question is damaged. */
static bool answer(const char *name, size_t len)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(TEXT_MAX);
	CLEANUP(freep) char *text = xmalloc(len + 1);
	read_fn *reader = find_reader(name);
	struct err err = {""};
	int r;

	if (!reader || fread(text, 1, len, stdin) != len)
		return false;
	text[len] = '\0';
	r = reader(text, len, &out, &err);
	if (r < 0) {
		strbuf_reset(&out);
		strbuf_addstr(&out, err.text);
	}
	printf("%s %zu\n", r < 0 ? "refused" : "ok", out.len);
	fwrite(out.text, 1, out.len, stdout);
	return fflush(stdout) == 0;
}

int main(void)
{
	char name[32];
	size_t len;

	while (scanf("%31s %zu", name, &len) == 2)
		if (getchar() != '\n' || len > TEXT_MAX || !answer(name, len)) {
			fputs("documents: a damaged question\n", stderr);
			return 1;
		}
	return 0;
}
