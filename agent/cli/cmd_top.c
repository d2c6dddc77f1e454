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
#include "agent/report/top_page.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

struct cluster_labels;

struct rows {
	struct top_row *items;
	size_t n_items;
	size_t items_size;
	const struct pod_request *shape; /* the pod for which CPUs are stranded; NULL = the smallest pods */
	struct cluster_usage usage;      /* the requests of each node's pods; empty = unknown */
	int64_t now_s;
	struct cluster_labels *labels; /* for a page, else NULL */
	size_t picture_bytes;          /* of the page so far */
};

/* ---- for an HTML page: the pools of nodes, and the names of pods, which objects contain as hashes */

struct named_pod {
	char *node, *namespace, *name;
	struct pod_names names;
};

struct cluster_labels {
	const char *pool_label;
	struct cluster_usage *usage;
	struct strv nodes, pools;  /* in the same order */
	struct name_table by_node; /* indexes */
	struct named_pod *pods;
	size_t n_pods, pods_size;
};

static void cluster_labels_release(struct cluster_labels *l)
{
	for (size_t i = 0; i < l->n_pods; i++) {
		free(l->pods[i].node);
		free(l->pods[i].namespace);
		free(l->pods[i].name);
	}
	free(l->pods);
	name_table_release(&l->by_node);
	strv_release(&l->nodes);
	strv_release(&l->pools);
}

static int add_labels(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	struct cluster_labels *l = data;
	const struct doc *metadata = doc_get(object, "metadata");
	const char *name = doc_object_name(object);
	int r = cluster_usage_add(l->usage, kind, object, err);

	if (r < 0)
		return r;
	if (kind == OBJECT_NODE && name_table_find_index(&l->by_node, name) == SIZE_MAX) {
		strv_push(&l->nodes, name);
		name_table_add_index(&l->by_node, l->nodes.items[l->nodes.n_items - 1], l->nodes.n_items - 1);
		strv_push(&l->pools, doc_text(doc_get(metadata, "labels"), l->pool_label));
	} else if (kind == OBJECT_POD) {
		*(struct named_pod *)vec_push(&l->pods, &l->n_pods, &l->pods_size, sizeof(*l->pods)) =
			(struct named_pod){xstrdup(doc_text(doc_get(object, "spec"), "nodeName")),
				xstrdup(doc_text(metadata, "namespace")), xstrdup(name),
				pod_names_of_object(metadata)};
	}
	return 0;
}

static int compare_nodes(const void *a, const void *b)
{
	return strcmp(((const struct named_pod *)a)->node, ((const struct named_pod *)b)->node);
}

/* To be called after the last object. */
static void cluster_labels_finish(struct cluster_labels *l)
{
	if (l->n_pods > 1)
		qsort(l->pods, l->n_pods, sizeof(*l->pods), compare_nodes);
}

/* The index of the node's first pod. If the node has no pods, the index of a pod of another node. */
static size_t first_pod(const struct cluster_labels *l, const char *node)
{
	size_t low = 0, high = l->n_pods;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(l->pods[middle].node, node) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct named_pod *find_pod(
	const struct cluster_labels *l, const char *node, size_t first, const struct allocation *item)
{
	for (size_t i = first; i < l->n_pods && !strcmp(l->pods[i].node, node); i++)
		if (pod_names_match(&l->pods[i].names, item))
			return &l->pods[i];
	return NULL;
}

/* Sets the names of the state's pods from the Pod objects. */
static void name_pods(const struct cluster_labels *l, struct node_state *state)
{
	size_t first = first_pod(l, state->node_name);

	for (size_t i = 0; i < state->allocations.n_items; i++) {
		struct allocation *item = &state->allocations.items[i];
		const struct named_pod *pod = find_pod(l, state->node_name, first, item);

		if (!pod)
			continue;
		text_set(&item->namespace, pod->namespace);
		text_set(&item->pod, pod->name);
	}
}

/* Adds what an HTML page needs. Omits the picture of a node that cannot be drawn, with a warning. */
static void add_details(struct rows *rows, const struct cluster_node *node, struct top_row *row)
{
	CLEANUP(node_state_release) struct node_state state;
	CLEANUP(notes_release) struct notes notes = {0};
	size_t pool = name_table_find_index(&rows->labels->by_node, row->name);
	struct err err = {""};

	row->details = xcalloc(1, sizeof(*row->details));
	text_set(&row->details->pool, pool == SIZE_MAX ? "" : rows->labels->pools.items[pool]);
	node_state_init(&state);
	if (cluster_node_read_picture(node->object, &state, &notes, &err) < 0) {
		log_warning("the page has no picture: %s", err.text);
		text_set(&row->details->picture, "");
		return;
	}
	name_pods(rows->labels, &state);
	top_details_fill(row->details, &state, &notes, rows->picture_bytes < TOP_PICTURES_MAX);
	rows->picture_bytes += strlen(row->details->picture);
}

/* ---- the rows */

static void rows_release(struct rows *rows)
{
	for (size_t i = 0; i < rows->n_items; i++)
		top_row_release(&rows->items[i]);
	free(rows->items);
	cluster_usage_release(&rows->usage);
	*rows = (struct rows){0};
}

static int64_t find_age(const struct rows *rows, const struct cluster_node *node)
{
	if (node->written_s <= 0)
		return -1;
	return rows->now_s > node->written_s ? rows->now_s - node->written_s : 0;
}

/* Limits the admission to what pods can still request. No CPUs if the node has reached its maximum number of pods. */
static void limit_admission(const struct rows *rows, struct node_admission *admission)
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
	row->age_s = find_age(rows, node);
	row->name = xstrdup(node->state.node_name);
	row->exporter = TAKE(node->exporter);
	node_admission_init(&admission, &node->state);
	limit_admission(rows, &admission);
	top_row_fill(row, &admission, rows->shape);
	if (node->basis == CLUSTER_UNKNOWN && !*row->unknown)
		text_set(&row->unknown, node->why.text);
	if (*row->unknown)
		row->basis = CLUSTER_UNKNOWN;
	if (rows->labels)
		add_details(rows, node, row);
	return 0;
}

/* What is read once, before the first table. */
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

/* Reads the rows, sorted by --sort-by, and the totals. After an error the next call opens the source again. */
static int read_rows(const struct options *options, struct request *request, struct rows *rows,
	struct top_totals *totals, struct err *err)
{
	int r = source_begin(options, &request->source, err);

	rows->shape = request->pod ? &request->pod->pod : NULL;
	rows->now_s = clock_ms(CLOCK_REALTIME) / 1000;
	if (r == 0 && !rows->labels)
		r = source_read_usage(request->source, &rows->usage, NULL, err);
	else if (r == 0 && !option_set(options, OPT_OBJECTS_ONLY))
		r = source_read_nodes_and_pods(request->source, add_labels, rows->labels, err);
	if (r == 0 && rows->labels)
		cluster_labels_finish(rows->labels);
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

static int print_page(
	const struct options *options, struct request *request, struct strbuf *out, struct err *err)
{
	CLEANUP(rows_release) struct rows rows = {0};
	CLEANUP(top_totals_release) struct top_totals totals = {0};
	CLEANUP(cluster_labels_release)
	struct cluster_labels labels = {.pool_label = options->value[OPT_POOL_LABEL]};
	char micro[TIMESTAMP_MICRO_MAX], made[TIMESTAMP_MICRO_MAX];
	int r;

	rows.labels = &labels;
	labels.usage = &rows.usage;
	r = read_rows(options, request, &rows, &totals, err);
	if (r < 0)
		return r;
	timestamp_print_micro(rows.now_s * 1000000, micro);
	snprintf(made, sizeof(made), "%.19sZ", micro); /* without the fraction */
	r = top_page(rows.items, rows.n_items, &totals, made, out);
	return r < 0 ? err_set(err, r, "cannot print: %s", strerror(-r)) : 0;
}

static int print_rows(const struct options *options, void *data, const struct terminal *terminal,
	struct strbuf *out, struct err *err)
{
	CLEANUP(rows_release) struct rows rows = {0};
	CLEANUP(top_totals_release) struct top_totals totals = {0};
	CLEANUP(writer_release) struct writer w = {0};
	int r;

	if (!strcmp(options->value[OPT_OUTPUT], "html"))
		return print_page(options, data, out, err);
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

/* Checks combinations of flags. */
static int check_flags(const struct options *options, struct err *err)
{
	const char *output = options->value[OPT_OUTPUT], *watch = options->origin[OPT_WATCH];
	int r = options_stdin_once(options, err);

	if (r < 0 || !option_set(options, OPT_WATCH))
		return r;
	if (strcmp(output, "table") != 0 && strcmp(output, "wide") != 0)
		return err_set(err, -EINVAL, "%s: only a table can be watched", watch);
	if (options_use_stdin(options))
		return err_set(err, -EINVAL,
			"%s: standard input can be read only once, read from a file instead", watch);
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

	/* An unreadable pod is wrong usage, whether the nodes are read from files or the API server. */
	if (check_flags(options, &err) < 0 || read_pod(options, &request, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_USAGE;
	}
	return watching(options, print_rows, &request, source_exit_status(options, 0));
}
