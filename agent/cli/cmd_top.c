/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl numa top: lists what each node of a cluster has free, once or repeatedly. */
#include "agent/cli/commands.h"

#include <errno.h>
#include <time.h>

#include "agent/base/time.h"
#include "agent/cli/pod_input.h"
#include "agent/cli/source.h"
#include "agent/cli/watching.h"
#include "agent/cluster/cluster_node.h"
#include "agent/report/top.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

/* ---- the rows */

struct rows {
	struct top_row *items;
	size_t n_items;
	size_t items_size;
	const struct pod_request *shape; /* whose stranded CPUs are counted, or NULL */
	struct cluster_usage usage;      /* what is requested of the nodes, where that is known */
	int64_t now_s;
};

static void rows_release(struct rows *rows)
{
	for (size_t i = 0; i < rows->n_items; i++)
		top_row_release(&rows->items[i]);
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
	struct top_row *row;

	(void)err;
	row = vec_push(&rows->items, &rows->n_items, &rows->items_size, sizeof(*row));
	row->basis = node->basis;
	row->age_s = age(rows, node);
	row->name = xstrdup(node->state.node_name);
	row->exporter = TAKE(node->exporter);
	node_admission_init(&admission, &node->state);
	limit(rows, &admission);
	top_row_fill(row, &admission, rows->shape);
	if (node->basis == CLUSTER_UNKNOWN && !*row->unknown)
		text_set(&row->unknown, node->why.text);
	if (*row->unknown)
		row->basis = CLUSTER_UNKNOWN;
	return 0;
}

/* What is the same for every picture. */
struct request {
	struct pod_templates pods;
	const struct pod_template *pod; /* NULL = none is given */
	struct source *source;
};

static void request_release(struct request *request)
{
	pod_templates_release(&request->pods);
	source_close(request->source);
}

/* The rows in the order of --sort-by, and their totals. After an error the next picture opens the source again. */
static int read_rows(const struct options *options, struct request *request, struct rows *rows,
	struct top_totals *totals, struct err *err)
{
	int r = source_begin(options, &request->source, err);

	rows->shape = request->pod ? &request->pod->pod : NULL;
	rows->now_s = clock_ms(CLOCK_REALTIME) / 1000;
	if (r == 0)
		r = source_read_usage(request->source, &rows->usage, NULL, err);
	if (r == 0)
		r = source_each_node(request->source, add_node, rows, err);
	if (r < 0) {
		source_closep(&request->source);
		return r;
	}
	top_sort(rows->items, rows->n_items, top_column_find(options->value[OPT_SORT_BY]));
	top_totals(rows->items, rows->n_items, totals);
	return 0;
}

/* ---- printing */

static int print_table(const struct options *options, const struct rows *rows,
	const struct top_totals *totals, const struct terminal *terminal, struct strbuf *out)
{
	CLEANUP(canvas_release) struct canvas c = {0};
	const struct top_look look = {
		.wide = !strcmp(options->value[OPT_OUTPUT], "wide"),
		.headers = !option_set(options, OPT_NO_HEADERS),
		.bars = terminal->is_terminal,
		.width = terminal->is_terminal ? terminal->width : 0,
	};

	top_draw(rows->items, rows->n_items, totals, &look, &c);
	return canvas_print(&c, terminal->colour, terminal->utf8, out);
}

static int print_rows(const struct options *options, void *data, const struct terminal *terminal,
	struct strbuf *out, struct err *err)
{
	CLEANUP(rows_release) struct rows rows = {0};
	CLEANUP(top_totals_release) struct top_totals totals = {0};
	CLEANUP(writer_release) struct writer w;
	int r;

	writer_init(&w, options->value[OPT_OUTPUT], false, out);
	r = read_rows(options, data, &rows, &totals, err);
	if (r < 0)
		return r;
	if (writer_is_doc(&w)) {
		top_write(&w, rows.items, rows.n_items, &totals);
		r = writer_finish(&w);
		text_multi_line(out->text, out->len);
	} else {
		r = print_table(options, &rows, &totals, terminal, out);
	}
	return r < 0 ? err_set(err, r, "cannot print: %s", strerror(-r)) : 0;
}

/* Flags that go together. */
static int check_flags(const struct options *options, struct err *err)
{
	const char *output = options->value[OPT_OUTPUT], *watch = options->origin[OPT_WATCH];
	int r = options_stdin_once(options, err);

	if (r < 0 || !option_set(options, OPT_WATCH))
		return r;
	if (strcmp(output, "table") != 0 && strcmp(output, "wide") != 0)
		return err_set(err, -EINVAL, "%s: only a table can be watched", watch);
	if (options_use_stdin(options))
		return err_set(
			err, -EINVAL, "%s: standard input can be read only once, give it a file", watch);
	return 0;
}

static int read_pod(const struct options *options, struct request *request, struct err *err)
{
	int r = pod_input_given(options) ? pod_input_read(options, &request->pods, err) : 0;

	return r < 0 || request->pods.n_items == 0
		       ? r
		       : pod_input_pick(options, &request->pods, &request->pod, err);
}

int command_top(const struct options *options)
{
	CLEANUP(request_release) struct request request = {0};
	struct err err = {""};

	/* A pod that cannot be read is wrong usage, wherever the nodes are read from. */
	if (check_flags(options, &err) < 0 || read_pod(options, &request, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_USAGE;
	}
	return watching(options, print_rows, &request, source_exit_status(options, 0));
}
