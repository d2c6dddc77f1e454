/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl numa top: lists what each node of a cluster has free, once or repeatedly. */
#include "cli/commands.h"

#include <errno.h>
#include <time.h>

#include "cli/numa/source.h"
#include "cli/pod_input.h"
#include "cli/report/show_expected.h"
#include "cli/report/top_page.h"
#include "cli/watching.h"
#include "cluster/model/named_pods.h"
#include "cluster/model/project_node.h"
#include "cluster/objects/cluster_node.h"
#include "common/cleanup.h"
#include "common/io/time.h"
#include "common/log.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

struct rows {
	struct top_row *items;
	size_t n_items;
	size_t items_size;
	const struct pod_request *shape; /* the pod for which CPUs are stranded; NULL = the smallest pods */
	struct cluster cluster;          /* the Nodes and Pods; empty = unknown */
	struct projections projections;
	size_t n_nodes; /* Node objects */
	int64_t now_s;
	const char *label; /* the Node label of a column, or of the nodes' pools; NULL = none */
	bool label_is_pool;
	struct strv nodes, labels; /* names and labels of the Nodes, in the same order */
	struct name_table by_node; /* indexes */
	bool is_page;
	size_t picture_bytes; /* of the page so far */
};

/* ---- Nodes and Pods */

/* The value of the label. A Node without the label "pool" is in the node pool that the label of its cloud, or of Karpenter, names. */
static const char *pool_name(const struct doc *labels, const char *label)
{
	static const char *const of_clouds[] = {"karpenter.sh/nodepool", "eks.amazonaws.com/nodegroup",
		"cloud.google.com/gke-nodepool", "kubernetes.azure.com/agentpool"};
	const char *pool = doc_text(labels, label);

	for (size_t i = 0; !*pool && !strcmp(label, "pool") && i < ARRAY_SIZE(of_clouds); i++)
		pool = doc_text(labels, of_clouds[i]);
	return pool;
}

static void add_label(struct rows *rows, const struct doc *node)
{
	const struct doc *labels = doc_get(doc_get(node, "metadata"), "labels");
	const char *name = doc_object_name(node);

	if (!rows->label || name_table_find_index(&rows->by_node, name) != SIZE_MAX)
		return;
	strv_push(&rows->nodes, name);
	name_table_add_index(
		&rows->by_node, rows->nodes.items[rows->nodes.n_items - 1], rows->nodes.n_items - 1);
	strv_push(&rows->labels,
		rows->label_is_pool ? pool_name(labels, rows->label) : doc_text(labels, rows->label));
}

static int top_add_object(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	struct rows *rows = data;
	int r = cluster_update(&rows->cluster, kind, object, 0, err);

	if (r < 0 || kind != OBJECT_NODE)
		return r;
	rows->n_nodes++;
	add_label(rows, object);
	return 0;
}

static const char *find_label(const struct rows *rows, const char *node)
{
	size_t at = name_table_find_index(&rows->by_node, node);

	return at == SIZE_MAX ? "" : rows->labels.items[at];
}

/* Adds what an HTML page needs. Omits the picture of a node that cannot be drawn, with a warning. */
static void add_details(struct rows *rows, const struct node_info *node, struct top_row *row)
{
	CLEANUP(node_state_release) struct node_state state;
	CLEANUP(notes_release) struct notes notes = {0};
	enum cluster_basis basis;
	struct err err = {""};

	row->details = xcalloc(1, sizeof(*row->details));
	text_set(&row->details->pool, find_label(rows, row->name));
	node_state_init(&state);
	if (cluster_node_read_picture(node->object.object, &state, &basis, &notes, &err) < 0) {
		log_warning("the page has no picture: %s", err.text);
		text_set(&row->details->picture, "");
		return;
	}
	named_pods_apply(node, &state);
	show_add_expected(&rows->projections, node, &state, &notes);
	top_details_fill(row->details, &state, &notes, rows->picture_bytes < TOP_PICTURES_MAX);
	rows->picture_bytes += strlen(row->details->picture);
}

/* ---- the rows */

static void rows_release(struct rows *rows)
{
	for (size_t i = 0; i < rows->n_items; i++)
		top_row_release(&rows->items[i]);
	free(rows->items);
	projections_release(&rows->projections);
	cluster_release(&rows->cluster);
	name_table_release(&rows->by_node);
	strv_release(&rows->nodes);
	strv_release(&rows->labels);
	*rows = (struct rows){0};
}

static int64_t find_age(const struct rows *rows, const struct cluster_node *node)
{
	if (node->written_s <= 0)
		return -1;
	return rows->now_s > node->written_s ? rows->now_s - node->written_s : 0;
}

/* No CPUs if the node has reached its maximum number of pods, or if the extender keeps all pods away because room is being made
 * for a pod. */
static void limit_admission(const struct node_info *node, bool reserved, struct node_admission *admission)
{
	CLEANUP(resource_list_release) struct resource_list requestable = {0};
	const struct resource_quantity *room;

	if (!node->has_node)
		return;
	node_info_requestable(node, NULL, &requestable);
	room = resource_list_find(&requestable, "pods");
	if (reserved || (room && room->quantity.nano == 0))
		resource_list_set(&requestable, "cpu", (struct quantity){0});
	node_admission_limit(admission, &requestable);
}

/* Lists the reservations that no pod uses yet. After project_node_state(), which computes what their places hold. */
static void add_reservations(const struct rows *rows, const struct node_info *node, struct top_row *row)
{
	row->reservations = xcalloc(node->n_reservations + 1, sizeof(*row->reservations));
	for (size_t i = 0; i < node->n_reservations; i++) {
		const struct node_reservation *item = &node->reservations[i];
		const struct reservation *r = &item->facts;

		if (!item->stand_in)
			continue;
		row->reservations[row->n_reservations++] =
			(struct top_reservation){.pod = xasprintf("%s/%s", r->namespace,
							 *r->pod ? r->pod : "any pod with these requests"),
				.left_s = r->expires_s > rows->now_s ? r->expires_s - rows->now_s : 0,
				.placed = item->stand_in->held};
	}
}

/* Fills in the numbers: of the projected node where the projection is possible, else of the object alone. */
static void fill_row(struct rows *rows, const struct node_info *node, struct top_row *row)
{
	CLEANUP(node_admission_release) struct node_admission own = {0};
	struct node_admission *admission = &own;
	const struct node_state *state = &node->object.state;
	struct projected_node *projected = NULL;

	if (project_node_possible(node))
		state = project_node_state(&rows->projections, node, &projected);
	if (projected)
		admission = &projected->admission;
	else
		node_admission_init(&own, state);
	limit_admission(node, projected && (projected->reserved || projected->is_outdated), admission);
	top_row_fill(row, admission, rows->shape);
	if (node->object.basis == CLUSTER_EXACT)
		top_row_fill_cpus(row, &node->object.state);
	add_reservations(rows, node, row);
}

static void set_status(const struct rows *rows, const struct node_info *node, struct top_row *row)
{
	row->unusable = rows->n_nodes > 0 && !(node->has_node && node->is_ready && !node->is_cordoned);
	if (node->has_node)
		row->status = xasprintf("%s%s", node->is_ready ? "Ready" : "NotReady",
			node->is_cordoned ? ",SchedulingDisabled" : "");
	else if (rows->n_nodes > 0)
		text_set(&row->status, "NoNode");
}

static void add_nodes_without_object(struct source *source, struct rows *rows)
{
	CLEANUP(strv_release) struct strv names = {0};

	source_nodes_without_object(source, &rows->cluster, &names);
	for (size_t i = 0; i < names.n_items; i++) {
		struct top_row *row = vec_push(&rows->items, &rows->n_items, &rows->items_size, sizeof(*row));

		*row = (struct top_row){.name = xstrdup(names.items[i]),
			.status = xstrdup("NoObject"),
			.label = xstrdup(find_label(rows, names.items[i])),
			.unknown = xstrdup("the Node has no NodeResourceTopology object"),
			.no_object = true,
			.age_s = -1,
			.basis = CLUSTER_UNKNOWN};
		if (!rows->is_page)
			continue;
		row->details = xcalloc(1, sizeof(*row->details));
		text_set(&row->details->pool, row->label);
		text_set(&row->details->picture, "");
	}
}

static int top_add_node(struct cluster_node *object, void *data, struct err *err)
{
	struct rows *rows = data;
	struct node_info *node = cluster_set_object(&rows->cluster, object, 0);
	struct top_row *row = vec_push(&rows->items, &rows->n_items, &rows->items_size, sizeof(*row));

	(void)err;
	row->basis = node->object.basis;
	row->age_s = find_age(rows, &node->object);
	row->name = xstrdup(node->name);
	row->label = xstrdup(find_label(rows, row->name));
	text_set(&row->exporter, node->object.exporter);
	fill_row(rows, node, row);
	set_status(rows, node, row);
	if (row->basis == CLUSTER_UNKNOWN && !*row->unknown)
		text_set(&row->unknown, node->object.why.text);
	if (*row->unknown) /* set by fill_row(), or here */
		row->basis = CLUSTER_UNKNOWN;
	if (rows->is_page)
		add_details(rows, node, row);
	projections_forget(&rows->projections, node->slot);
	cluster_drop_object(&rows->cluster, node);
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
	rows->projections.cluster = &rows->cluster;
	cluster_list_begin(&rows->cluster, OBJECT_POD);
	if (r == 0 && !option_set(options, OPT_OBJECTS_ONLY))
		r = source_read_nodes_and_pods(request->source, top_add_object, rows, err);
	cluster_list_end(&rows->cluster, OBJECT_POD, 0, 0);
	if (r == 0)
		r = source_each_node(request->source, top_add_node, rows, err);
	if (r < 0) {
		source_closep(&request->source);
		return r;
	}
	add_nodes_without_object(request->source, rows);
	top_sort(rows->items, rows->n_items, top_column_find(options->value[OPT_SORT_BY]));
	top_totals(rows->items, rows->n_items, totals);
	return 0;
}

/* ---- printing */

/* "POOL" of "example.com/pool", as kubectl prints it. */
static char *make_heading(const char *key)
{
	const char *slash = key ? strrchr(key, '/') : NULL;
	char *heading = xstrdup(slash ? slash + 1 : text_or_empty(key));

	for (char *c = heading; *c; c++)
		if (*c >= 'a' && *c <= 'z')
			*c = (char)(*c - 'a' + 'A');
	text_one_line(heading);
	return heading;
}

static int print_table(const struct options *options, const struct rows *rows,
	const struct top_totals *totals, const struct terminal *terminal, struct strbuf *out)
{
	CLEANUP(canvas_release) struct canvas c = {0};
	CLEANUP(freep) char *heading = make_heading(options->value[OPT_LABEL_COLUMN]);
	const struct top_look look = {
		.wide = !strcmp(options->value[OPT_OUTPUT], "wide"),
		.headers = !option_set(options, OPT_NO_HEADERS),
		.label = option_set(options, OPT_LABEL_COLUMN) ? heading : NULL,
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
	char micro[TIMESTAMP_MICRO_MAX], made[TIMESTAMP_MICRO_MAX + 8];
	struct top_page_about about = {.made = made};
	int r;

	rows.is_page = rows.label_is_pool = true;
	rows.label = option_set(options, OPT_BY) ? options->value[OPT_BY] : "pool";
	r = read_rows(options, request, &rows, &totals, err);
	if (r < 0)
		return r;
	timestamp_print_micro(rows.now_s * 1000000, micro);
	snprintf(made, sizeof(made), "%.10s %.8s UTC", micro, micro + 11); /* without the fraction */
	about.cluster = source_cluster(request->source);
	about.file = source_file(request->source);
	r = top_page(rows.items, rows.n_items, &totals, &about, out);
	return r < 0 ? err_set(err, r, "cannot print: %s", strerror(-r)) : 0;
}

static int print_pools(const struct options *options, struct request *request,
	const struct terminal *terminal, struct strbuf *out, struct err *err)
{
	CLEANUP(rows_release) struct rows rows = {0};
	CLEANUP(top_totals_release) struct top_totals totals = {0};
	CLEANUP(writer_release) struct writer w = {0};
	CLEANUP(freep) struct top_totals *pools = NULL;
	size_t n_pools;
	int r;

	writer_init(&w, options->value[OPT_OUTPUT], !option_set(options, OPT_NO_HEADERS), out);
	w.width = terminal->is_terminal && w.format == WRITER_TEXT ? terminal->width : 0;
	rows.label_is_pool = true;
	rows.label = options->value[OPT_BY];
	r = read_rows(options, request, &rows, &totals, err);
	if (r < 0)
		return r;
	pools = top_pools(rows.items, rows.n_items, &n_pools);
	top_sort_pools(pools, n_pools, top_column_find(options->value[OPT_SORT_BY]));
	top_write_pools(&w, pools, n_pools, rows.items, rows.n_items, &totals);
	for (size_t i = 0; i < n_pools; i++)
		top_totals_release(&pools[i]);
	r = writer_finish(&w);
	text_multi_line(out->text, out->len);
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
	if (option_set(options, OPT_BY))
		return print_pools(options, data, terminal, out, err);
	writer_init(&w, options->value[OPT_OUTPUT], false, out);
	rows.label = options->value[OPT_LABEL_COLUMN];
	r = read_rows(options, data, &rows, &totals, err);
	if (r < 0)
		return r;
	if (writer_is_doc(&w)) {
		top_write(&w, rows.items, rows.n_items, &totals);
		r = writer_finish(&w);
		text_multi_line(out->text, out->len);
	} else if (w.format == WRITER_NAME) {
		for (size_t i = 0; i < rows.n_items; i++)
			if (!rows.items[i].no_object)
				writer_name(&w, "node", rows.items[i].name);
		r = writer_finish(&w);
	} else if (rows.n_items == 0 && !option_set(options, OPT_WATCH)) {
		source_no_resources(NULL);
	} else {
		r = print_table(options, &rows, &totals, terminal, out);
	}
	return r < 0 ? err_set(err, r, "cannot print: %s", strerror(-r)) : 0;
}

/* Checks the flags that contradict --by. */
static int check_by(const struct options *options, struct err *err)
{
	const char *output = options->value[OPT_OUTPUT], *by = options->origin[OPT_BY];

	if (!option_set(options, OPT_BY))
		return 0;
	if (!strcmp(output, "name"))
		return err_set(err, -EINVAL, "%s and -o %s exclude each other", by, output);
	if (option_set(options, OPT_OBJECTS_ONLY))
		return err_set(
			err, -EINVAL, "%s requires the labels of Nodes, which --objects-only omits", by);
	if (option_set(options, OPT_LABEL_COLUMN))
		return err_set(err, -EINVAL, "%s and --label-column exclude each other", by);
	if (strcmp(output, "html") != 0 &&
		!top_column_is_of_pools(top_column_find(options->value[OPT_SORT_BY])))
		return err_set(err, -EINVAL, "--sort-by %s: %s lists pools, which do not have this column",
			options->value[OPT_SORT_BY], by);
	return 0;
}

/* Checks combinations of flags. */
static int top_check_flags(const struct options *options, struct err *err)
{
	const char *output = options->value[OPT_OUTPUT], *watch = options->origin[OPT_WATCH];
	int r = options_stdin_once(options, err);

	r = r < 0 ? r : check_by(options, err);
	if (r < 0 || !option_set(options, OPT_WATCH))
		return r;
	if (strcmp(output, "text") != 0 && strcmp(output, "wide") != 0)
		return err_set(err, -EINVAL, "%s: only a table can be watched", watch);
	if (options_use_stdin(options))
		return err_set(err, -EINVAL,
			"%s: standard input can be read only once, read from a file instead", watch);
	return 0;
}

static int read_pod(const struct options *options, struct request *request, struct err *err)
{
	int r;

	if (!pod_input_given(options))
		return 0;
	r = pod_input_read(options, &request->pods, err);
	return r < 0 ? r : pod_input_pick(options, &request->pods, &request->pod, err);
}

int command_top(const struct options *options)
{
	CLEANUP(request_release) struct request request = {0};
	struct err err = {""};

	/* An unreadable pod is wrong usage, whether the nodes are read from files or the API server. */
	if (top_check_flags(options, &err) < 0 || read_pod(options, &request, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_USAGE;
	}
	return watching(options, print_rows, &request, source_exit_status(options, 0));
}
