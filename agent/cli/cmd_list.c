/* SPDX-License-Identifier: Apache-2.0 */
/* nrtd list: what each node of a cluster has free, once or again and again. */
#include "agent/cli/commands.h"

#include <errno.h>
#include <time.h>

#include "agent/base/json.h"
#include "agent/base/yaml.h"
#include "agent/cli/observe_local.h"
#include "agent/cli/pod_input.h"
#include "agent/cli/watching.h"
#include "agent/cluster/cluster_node.h"
#include "agent/report/list_doc.h"
#include "agent/report/list_text.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

/* ---- the rows */

struct rows {
	struct list_row *items;
	size_t n_items;
	size_t items_size;
	const struct pod_request *shape; /* whose stranded CPUs are counted, or NULL */
	struct cluster_usage usage;      /* what is requested of the nodes, where that is known */
	int64_t now_s;
	bool quiet;   /* log lines would corrupt a table that is redrawn */
	size_t n_odd; /* nodes whose node state cannot be read */
};

static void rows_release(struct rows *rows)
{
	for (size_t i = 0; i < rows->n_items; i++)
		list_row_release(&rows->items[i]);
	free(rows->items);
	cluster_usage_release(&rows->usage);
	*rows = (struct rows){0};
}

static int64_t age(const struct rows *rows, const struct cluster_node *node)
{
	if (node->written_s <= 0)
		return -1;
	return rows->now_s > node->written_s ? rows->now_s - node->written_s : 0;
}

/* What the node's pods leave of it; nothing where there are as many as it may have. */
static void limit(const struct rows *rows, struct node_admission *admission)
{
	CLEANUP(resource_list_release) struct resource_list free = {0};
	const struct node_usage *use = cluster_usage_find(&rows->usage, admission->state->node_name);
	const struct resource_quantity *room;

	if (use && use->known)
		node_usage_requestable(use, &free);
	room = resource_list_find(&free, "pods");
	if (room && room->quantity.nano == 0)
		resource_list_set(&free, "cpu", (struct quantity){0});
	node_admission_limit(admission, &free);
}

static int add_node(struct cluster_node *node, void *data, struct err *err)
{
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	struct rows *rows = data;
	struct list_row *row;

	(void)err;
	if (!rows->quiet)
		observe_local_warn(node, &rows->n_odd);
	row = vec_push(&rows->items, &rows->n_items, &rows->items_size, sizeof(*row));
	row->basis = node->basis;
	row->age_s = age(rows, node);
	row->name = xstrdup(node->state.node_name);
	row->exporter = TAKE(node->exporter);
	node_admission_init(&admission, &node->state);
	limit(rows, &admission);
	list_row_fill(row, &admission, rows->shape);
	if (node->basis == CLUSTER_UNKNOWN && !*row->unknown)
		text_set(&row->unknown, node->why.text);
	if (*row->unknown)
		row->basis = CLUSTER_UNKNOWN;
	return 0;
}

/* The rows in the order that is asked for, and their totals. What is wrong with the inputs is usage. */
static int read_rows(
	const struct options *options, struct rows *rows, struct list_totals *totals, struct err *err)
{
	CLEANUP(pod_templates_release) struct pod_templates pods = {0};
	const struct pod_template *pod = NULL;
	int r = 0;

	if (pod_input_given(options)) {
		r = pod_input_read(options, &pods, err);
		if (r == 0)
			r = pod_input_pick(options, &pods, &pod, err);
	}
	if (r < 0)
		return r;
	rows->shape = pod ? &pod->pod : NULL;
	rows->now_s = clock_ms(CLOCK_REALTIME) / 1000;
	rows->quiet = option_set(options, OPT_WATCH);
	r = observe_local_usage(options, &rows->usage, NULL, err);
	if (r == 0)
		r = cluster_nodes_each(options->value[OPT_NRT], add_node, rows, err);
	observe_local_warn_rest(rows->n_odd);
	rows->shape = NULL;
	if (r < 0)
		return r;
	list_sort(rows->items, rows->n_items, list_column_find(options->value[OPT_LIST_SORT]));
	list_totals(rows->items, rows->n_items, totals);
	return 0;
}

/* ---- printing */

static int print_doc(
	const struct rows *rows, const struct list_totals *totals, const char *output, struct strbuf *out)
{
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	int r;

	list_to_doc(rows->items, rows->n_items, totals, &doc);
	r = !strcmp(output, "json") ? json_print(&doc, out) : yaml_print(&doc, out);
	if (r == 0)
		text_lines(out->text, out->len);
	return r;
}

static int print_table(const struct options *options, const struct rows *rows,
	const struct list_totals *totals, const struct terminal *terminal, struct strbuf *out)
{
	CLEANUP(canvas_release) struct canvas c = {0};
	const struct list_look observe_local = {
		.wide = !strcmp(options->value[OPT_LIST_OUTPUT], "wide"),
		.headers = !option_set(options, OPT_NO_HEADERS),
		.bars = terminal->is_terminal,
		.width = terminal->is_terminal ? terminal->width : 0,
	};
	int r = list_text_draw(rows->items, rows->n_items, totals, &observe_local, &c);

	return r < 0 ? r : canvas_print(&c, terminal->colour, terminal->utf8, out);
}

static int print_rows(
	const struct options *options, const struct terminal *terminal, struct strbuf *out, struct err *err)
{
	CLEANUP(rows_release) struct rows rows = {0};
	CLEANUP(list_totals_release) struct list_totals totals = {0};
	const char *output = options->value[OPT_LIST_OUTPUT];
	int r = read_rows(options, &rows, &totals, err);

	if (r < 0)
		return r;
	if (!strcmp(output, "json") || !strcmp(output, "yaml"))
		r = print_doc(&rows, &totals, output, out);
	else
		r = print_table(options, &rows, &totals, terminal, out);
	return r < 0 ? err_set(err, r, "cannot print: %s", strerror(-r)) : 0;
}

/* Flags that go together. */
static int check_flags(const struct options *options, struct err *err)
{
	const char *output = options->value[OPT_LIST_OUTPUT], *watch = options->origin[OPT_WATCH];
	static const enum option_id files[] = {OPT_NRT, OPT_FILENAME, OPT_NODES, OPT_PODS};

	int r = options_stdin_once(options, files, ARRAY_SIZE(files), err);

	if (!option_set(options, OPT_NRT))
		return err_set(err, -EINVAL, "--nrt FILE (the nodes) is needed");
	if (r < 0 || !option_set(options, OPT_WATCH))
		return r;
	if (strcmp(output, "table") != 0 && strcmp(output, "wide") != 0)
		return err_set(err, -EINVAL, "%s: only a table can be watched", watch);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (option_set(options, files[i]) && !strcmp(options->value[files[i]], "-"))
			return err_set(err, -EINVAL,
				"%s: standard input can be read only once, give it a file", watch);
	return 0;
}

int command_list(const struct options *options)
{
	struct err err = {""};

	if (check_flags(options, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_USAGE;
	}
	return watching(options, print_rows);
}
