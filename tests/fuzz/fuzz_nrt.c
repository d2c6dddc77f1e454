/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NodeResourceTopology objects: what score and show make of a file of them. The first byte chooses how.
 */
#include "tests/fuzz/fuzz.h"

#include "agent/base/json.h"
#include "agent/cluster/object_input.h"
#include "agent/cluster/observe_nrt.h"
#include "agent/cli/score_text.h"
#include "agent/show/show.h"
#include "agent/show/show_svg.h"
#include "agent/show/show_text.h"
#include "common/cleanup.h"

#define OUTPUT_MAX ((size_t)256 << 20)

static void make_pod(struct pod_template *t)
{
	struct container_request *c;

	pod_request_init(&t->pod);
	c = pod_request_add(&t->pod, CONTAINER_APP, "c");
	fuzz_require(c && resource_list_set(&c->requests, "cpu", quantity_from_units(2)) == 0 &&
		     resource_list_set(&c->requests, "memory", quantity_from_units(1 << 30)) == 0 &&
		     resource_list_set(&c->requests, "vendor.com/nic", quantity_from_units(1)) == 0);
	t->pod.qos = QOS_GUARANTEED;
	t->replicas = 1;
}

static void check_row(const struct score_row *row)
{
	fuzz_require((row->filter.verdict == FILTER_PASS) == (row->filter.reason[0] == '\0'));
	for (enum strategy s = 0; s < STRATEGY_COUNT; s++)
		fuzz_require(row->scores[s] == SCORE_REPORT_NONE ||
			     (row->scores[s] >= 0 && row->scores[s] <= 100));
}

static int add_node(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	fuzz_require(kind == OBJECT_NRT);
	return nrt_nodes_add(object, data, err);
}

/* Every node has its row, those that pass are first, and both texts can be made. */
static void score(const char *path, const struct pod_template *pod, int rank_by)
{
	CLEANUP(nrt_nodes_release) struct nrt_nodes nodes = {0};
	CLEANUP(freep) struct score_row *rows = NULL;
	CLEANUP(strbuf_release) struct strbuf table = STRBUF_INIT(OUTPUT_MAX);
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT(OUTPUT_MAX);
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	const struct score_options how = {.rank_by = rank_by, .volcano_weight = 1};
	struct err err = {""};
	int r = object_input_read(path, 1u << OBJECT_NRT, add_node, &nodes, &err);

	if (r == 0)
		r = score_report(&nodes, pod, &how, &rows, &err);
	if (r < 0) {
		fuzz_check_line(err.text);
		return;
	}
	fuzz_require(nodes.n_items > 0);
	for (size_t i = 0; i < nodes.n_items; i++) {
		check_row(&rows[i]);
		fuzz_require(rank_by == SCORE_BY_VOLCANO || i == 0 || rows[i].filter.verdict != FILTER_PASS ||
			     rows[i - 1].filter.verdict == FILTER_PASS);
	}
	fuzz_require(score_table(rows, nodes.n_items, &table) == 0);
	fuzz_require(score_to_doc(rows, nodes.n_items, &doc) == 0 && json_print(&doc, &json) == 0);
}

static void show(const char *path, uint8_t how)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	CLEANUP(observation_release) struct observation o;
	CLEANUP(show_view_release) struct show_view view;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(OUTPUT_MAX);
	struct err err = {""};
	int r = object_input_choose(path, NULL, &object, &err);

	observation_init(&o);
	show_view_init(&view);
	if (r == 0)
		r = observe_nrt(&object, &o, &err);
	if (r < 0) {
		fuzz_check_line(err.text);
		return;
	}
	fuzz_check_notes(&o.notes);
	fuzz_require(show_view(&o, &view) == 0);
	if (how & 1)
		fuzz_require(show_svg(&view, SHOW_SVG_MIN_WIDTH + how * 8u, &out) == 0);
	else
		fuzz_require(show_text(&view, SHOW_TEXT_MIN_WIDTH + how, false, how & 2, &out) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pod_template pod = {0};
	const char *path;

	if (size == 0)
		return 0;
	path = fuzz_file(data + 1, size - 1);
	make_pod(&pod);
	score(path, &pod, data[0] % (STRATEGY_COUNT + 1));
	show(path, data[0]);
	pod_request_release(&pod.pod);
	return 0;
}
