/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NodeResourceTopology objects: what score and show make of a file of them. The first byte chooses how. No name of
 * theirs is markup in the picture or a control character in a text.
 */
#include "tests/fuzz/fuzz.h"

#include "agent/observe/observe.h"
#include "cli/report/score_report.h"
#include "cli/report/show.h"
#include "cluster/objects/cluster_node.h"
#include "cluster/objects/object_input.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "scoring/node/node_admission.h"
#include "tests/lib/file_reader.h"

#define OUTPUT_MAX ((size_t)256 << 20)

static void make_pod(struct pod_template *t)
{
	struct container_request *c;

	pod_request_init(&t->pod);
	c = pod_request_add(&t->pod, CONTAINER_APP, "c");
	resource_list_set(&c->requests, "cpu", quantity_from_units(2));
	resource_list_set(&c->requests, "memory", quantity_from_units(1 << 30));
	resource_list_set(&c->requests, "vendor.com/nic", quantity_from_units(1));
	t->pod.qos = QOS_GUARANTEED;
	t->replicas = 1;
}

/* ---- what is printed */

/* UTF-8 in lines, without control characters of 7 or 8 bits. */
static void check_text(const char *text, size_t len)
{
	for (size_t i = 0, n; i < len; i += n) {
		unsigned char ch = (unsigned char)text[i];

		n = ch == '\n' ? 1 : text_utf8_length(text + i, len - i);
		fuzz_require(n > 0);
		fuzz_require(ch == '\n' || (ch >= ' ' && ch != 0x7f));
		fuzz_require(ch != 0xc2 || (unsigned char)text[i + 1] >= 0xa0);
	}
}

/* Whether one of the words, each between spaces, is the text. */
static bool is_one_of(const char *words, const char *text, size_t len)
{
	for (const char *at = words; (at = strchr(at, ' ')); at++)
		if (!strncmp(at + 1, text, len) && at[1 + len] == ' ')
			return true;
	return false;
}

static const char *past_name(const char *at)
{
	return at + strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-");
}

/* What begins with '<' is an element of ours with attributes of ours, or the end of the last that is open. */
static const char *check_tag(const char *at, const char *open[], size_t *depth)
{
	const char *name = at + 1 + (at[1] == '/'), *end = past_name(name);
	size_t len = (size_t)(end - name);

	fuzz_require(is_one_of(" svg title desc style defs pattern path rect text ", name, len));
	if (at[1] == '/') {
		fuzz_require(*depth > 0 && *end == '>');
		(*depth)--;
		fuzz_require(
			past_name(open[*depth]) == open[*depth] + len && !strncmp(open[*depth], name, len));
		return end + 1;
	}
	while (*end == ' ') {
		const char *attribute = end + 1;

		end = past_name(attribute);
		fuzz_require(is_one_of(" xmlns width height viewBox role aria-labelledby id class x y d "
				       "patternUnits patternTransform ",
			attribute, (size_t)(end - attribute)));
		fuzz_require(end[0] == '=' && end[1] == '"');
		end += 2;
		end += strcspn(end, "\"<>&");
		fuzz_require(*end == '"');
		end++;
	}
	if (*end == '/') {
		fuzz_require(end[1] == '>');
		return end + 2;
	}
	fuzz_require(*end == '>' && *depth < 8);
	open[(*depth)++] = name;
	return end + 1;
}

/* XML of our elements and printable ASCII; what else would be markup is escaped. */
static void check_svg(const struct strbuf *svg)
{
	const char *open[8], *at = svg->text;
	size_t depth = 0;

	check_text(svg->text, svg->len);
	fuzz_require(strlen(svg->text) == svg->len && *at == '<' && !strstr(at, "<script"));
	while (*at) {
		if (*at == '<') {
			at = check_tag(at, open, &depth);
		} else if (*at == '&') {
			fuzz_require(is_one_of(" amp; lt; gt; quot; ", at + 1, strcspn(at + 1, ";") + 1));
			at++;
		} else {
			fuzz_require(*at != '>' && (*at == '\n' || (*at >= ' ' && *at <= '~')));
			at++;
		}
	}
	fuzz_require(depth == 0);
}

/* ---- score */

static void check_row(const struct node_report *n)
{
	const struct scheduler_report *s = &n->scheduler;

	fuzz_require(s->passes == (s->filter_reason[0] == '\0'));
	for (enum strategy i = 0; i < STRATEGY_COUNT; i++)
		fuzz_require(s->scores[i] == SCORE_UNKNOWN || (s->scores[i] >= 0 && s->scores[i] <= 100));
	fuzz_require(n->basis != CLUSTER_UNKNOWN || n->answer == KUBELET_UNKNOWN);
}

/* The node's kubelet can be asked whatever the object says of it. */
static void ask(const struct cluster_node *node)
{
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	struct pod_template pod = {0};
	struct kubelet_verdict answer;

	if (node->basis == CLUSTER_UNKNOWN)
		return;
	make_pod(&pod);
	node_admission_init(&admission, &node->state);
	admission.work_limit = 1 << 20;
	node_admission_judge(&admission, &pod.pod, &answer);
	fuzz_require(!answer.beyond_limit || answer.answer == KUBELET_UNKNOWN);
	pod_request_release(&pod.pod);
}

static int add_node(struct cluster_node *object, void *data, struct err *err)
{
	struct score_report *report = data;
	struct node_info *node;
	int r;

	fuzz_require((object->basis == CLUSTER_EXACT) == (object->why.text[0] == '\0'));
	ask(object);
	node = cluster_set_object(report->pods.projections.cluster, object, 0);
	r = score_report_add(report, node, err);
	pod_report_drop_node(&report->pods, node);
	return r;
}

static size_t count_lines(const struct strbuf *text)
{
	size_t n = 0;

	for (size_t i = 0; i < text->len; i++)
		n += text->text[i] == '\n';
	return n;
}

static void print(const struct score_report *report, const char *format, struct strbuf *out)
{
	CLEANUP(writer_release) struct writer w;

	writer_init(&w, format, true, out);
	score_write(&w, report);
	fuzz_require(writer_finish(&w) == 0);
}

/* Every node has its row and line, those that the kubelet admits are first, and all texts can be made. */
static void score(char *path, const struct pod_template *pod, int strategy)
{
	const struct object_reader reader = file_reader(path);
	CLEANUP(cluster_release) struct cluster cluster = {.n_nodes = 0};
	CLEANUP(score_report_release) struct score_report report = {0};
	CLEANUP(strbuf_release) struct strbuf table = STRBUF_INIT(OUTPUT_MAX);
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT(OUTPUT_MAX);
	const struct score_options how = {.strategy = strategy, .volcano_weight = 1};
	struct err err = {""};
	int r;

	score_report_init(&report, pod, &how);
	pod_report_set_cluster(&report.pods, &cluster, pod, "default");
	r = cluster_nodes_each(&reader, add_node, &report, &err);
	if (r == 0)
		score_report_rank(&report);
	if (r < 0) {
		fuzz_check_line(err.text);
		return;
	}
	fuzz_require(report.pods.n_nodes > 0);
	for (size_t i = 0; i < report.pods.n_nodes; i++) {
		check_row(&report.pods.nodes[i]);
		fuzz_require(i == 0 || report.pods.nodes[i].answer != KUBELET_ADMITS ||
			     report.pods.nodes[i - 1].answer == KUBELET_ADMITS);
	}
	print(&report, strategy & 1 ? "wide" : "text", &table);
	check_text(table.text, table.len);
	fuzz_require(count_lines(&table) == report.pods.n_nodes + 1);
	print(&report, "json", &json);
	check_text(json.text, json.len);
}

/* ---- show */

/* The first object. */
static int take_first(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	struct doc *first = data;

	(void)kind;
	(void)err;
	if (first->kind == DOC_NULL) {
		*first = *object;
		*object = (struct doc)DOC_INIT;
	}
	return 0;
}

static void show(const char *path, uint8_t how)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	CLEANUP(observation_release) struct observation o;
	CLEANUP(show_view_release) struct show_view view;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(OUTPUT_MAX);
	struct err err = {""};
	enum cluster_basis basis;
	int r = object_input_read(path, 1u << OBJECT_NRT, take_first, &object, &err);

	observation_init(&o);
	show_view_init(&view);
	if (r == 0)
		r = cluster_node_read_picture(&object, &o.node, &basis, &o.notes, &err);
	if (r < 0) {
		fuzz_check_line(err.text);
		return;
	}
	fuzz_check_notes(&o.notes);
	show_view(&o.node, &o.notes, &view);
	if (how & 1) {
		fuzz_require(show_svg(&view, SHOW_SVG_MIN_WIDTH + how * 8u, &out) == 0);
		check_svg(&out);
	} else {
		fuzz_require(show_text(&view, TERMINAL_MIN_WIDTH + how, false, how & 2, &out) == 0);
		check_text(out.text, out.len);
	}
}

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pod_template pod = {0};
	const char *path;

	if (size == 0)
		return;
	path = fuzz_file(data + 1, size - 1);
	make_pod(&pod);
	score(path, &pod, data[0] % (STRATEGY_COUNT + 1));
	show(path, data[0]);
	pod_request_release(&pod.pod);
}
