/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/top.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/io/time.h"
#include "cli/report/writer.h"
#include "common/cleanup.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/kubelet_release.h"

/* ---- CPUs and devices */

static void fill_numa(struct top_row *row, const struct inventory *inv)
{
	int cpu = inventory_resource(inv, "cpu");

	row->numa = xcalloc(inv->n_nodes + 1, sizeof(*row->numa));
	row->n_numa = inv->n_nodes;
	for (size_t i = 0; i < inv->n_nodes; i++) {
		struct top_numa *numa = &row->numa[i];
		const struct inventory_amount *amount =
			cpu >= 0 ? inventory_amount(inv, i, (size_t)cpu) : NULL;

		numa->id = inv->nodes[i].id;
		if (!amount || !amount->present)
			continue;
		numa->has_cpus = true;
		numa->free = qty_whole_units(amount->available);
		numa->allocatable = qty_whole_units(amount->allocatable);
		row->free += numa->free;
		row->allocatable += numa->allocatable;
	}
}

static int by_resource(const void *a, const void *b)
{
	return strcmp(((const struct top_device *)a)->resource, ((const struct top_device *)b)->resource);
}

static void fill_devices(struct top_row *row, const struct device_inventory *devices)
{
	row->devices = xcalloc(devices->n_resources + 1, sizeof(*row->devices));
	for (size_t i = 0; i < devices->n_resources; i++) {
		const struct device_resource *resource = &devices->resources[i];
		struct top_device *device = &row->devices[i];

		device->resource = xstrdup(resource->name);
		row->n_devices++;
		for (size_t d = 0; d < resource->n_devices; d++) {
			device->healthy += resource->devices[d].healthy;
			device->free += resource->devices[d].healthy && !resource->devices[d].allocated;
		}
	}
	qsort(row->devices, row->n_devices, sizeof(*row->devices), by_resource);
}

/* ---- the largest pods, and stranded CPUs */

static void fill_verdicts(
	struct top_row *row, struct node_admission *admission, const struct pod_request *shape)
{
	CLEANUP(exclusive_cpus_admitted_release) struct exclusive_cpus_admitted admitted = {0};
	struct pod_copies copies = {0};

	exclusive_cpus_find(&admission->kubelet, &admitted);
	row->unknown = xstrdup(admitted.unknown.text);
	for (unsigned i = 0; i < TOP_LARGEST; i++)
		row->largest[i].known =
			node_admission_largest(admission, &admitted, i + 1, &row->largest[i].n);
	if (shape) {
		node_admission_copies(admission, shape, &copies);
		row->stranded.known =
			node_admission_copies_stranded_cpus(admission, shape, &copies, &row->stranded.n);
		return;
	}
	row->stranded.known = !*row->unknown;
	if (row->stranded.known)
		row->stranded.n = node_admission_stranded_cpus(admission, &admitted);
}

void top_row_fill(struct top_row *row, struct node_admission *admission, const struct pod_request *shape)
{
	struct err caution;

	fill_numa(row, &admission->state->inventory);
	row->policy = admission->settings.topology.policy;
	row->scope = admission->settings.topology.scope;
	kubelet_release_caution(settings_kubelet(&admission->settings), &caution);
	text_set(&row->caution, caution.text);
	fill_devices(row, &admission->devices);
	fill_verdicts(row, admission, shape);
}

static void devices_release(struct top_device *devices, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(devices[i].resource);
	free(devices);
}

static void details_release(struct top_details *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n_spans; i++) {
		free(d->spans[i].pod);
		free(d->spans[i].cpus);
		free(d->spans[i].reason);
	}
	free(d->spans);
	free(d->pool);
	free(d->picture);
	free(d);
}

void top_row_release(struct top_row *row)
{
	free(row->name);
	free(row->status);
	free(row->label);
	free(row->exporter);
	for (size_t i = 0; i < row->n_reservations; i++)
		free(row->reservations[i].pod);
	free(row->reservations);
	free(row->unknown);
	free(row->caution);
	free(row->numa);
	devices_release(row->devices, row->n_devices);
	details_release(row->details);
	*row = (struct top_row){0};
}

/* ---- totals */

static void add_device(struct top_totals *t, const struct top_device *device)
{
	struct top_device *sum =
		t->n_devices > 0 ? bsearch(device, t->devices, t->n_devices, sizeof(*t->devices), by_resource)
				 : NULL;

	if (!sum) {
		char *resource = xstrdup(device->resource);

		sum = vec_push(&t->devices, &t->n_devices, &t->devices_size, sizeof(*t->devices));
		*sum = (struct top_device){resource, device->free, device->healthy};
		qsort(t->devices, t->n_devices, sizeof(*t->devices), by_resource);
		return;
	}
	sum->free += device->free;
	sum->healthy += device->healthy;
}

void top_totals(const struct top_row *rows, size_t n, struct top_totals *ret)
{
	CLEANUP(top_totals_release) struct top_totals t = {.n_nodes = n};

	for (const struct top_row *row = rows; row < rows + n; row++) {
		t.n_estimated += row->basis == CLUSTER_ESTIMATED;
		t.n_unusable += row->unusable;
		if (row->unusable)
			continue;
		t.free += row->free;
		t.allocatable += row->allocatable;
		t.stranded.known |= row->stranded.known;
		t.stranded.n += row->stranded.n;
		for (unsigned i = 0; i < TOP_LARGEST; i++) {
			t.largest[i].known |= row->largest[i].known;
			if (row->largest[i].n > t.largest[i].n)
				t.largest[i].n = row->largest[i].n;
		}
		for (size_t d = 0; d < row->n_devices; d++)
			add_device(&t, &row->devices[d]);
	}
	*ret = t;
	t = (struct top_totals){0};
}

void top_totals_release(struct top_totals *t)
{
	devices_release(t->devices, t->n_devices);
	*t = (struct top_totals){0};
}

static const char *const headings[] = {"NODE", "STATUS", "LABEL", "POLICY", "SCOPE", "NUMA", "FREE", "1-NUMA",
	"2-NUMA", "STRANDED", "AGE", "EXPORTER", "DEVICES", "ALLOCATABLE", "BASIS"};

_Static_assert(sizeof(headings) / sizeof(*headings) == TOP_COLUMN_COUNT, "a name for each column");

enum top_column top_column_find(const char *name)
{
	enum top_column c = 0;

	while (c < TOP_COLUMN_COUNT && strcasecmp(name, headings[c]) != 0)
		c++;
	return c;
}

/* The sort key of a number, in descending order; -1 = unknown. */
static int64_t key_of(const struct top_number *n)
{
	return n->known ? (int64_t)n->n : -1;
}

static int64_t free_devices(const struct top_row *row)
{
	int64_t sum = 0;

	for (size_t i = 0; i < row->n_devices; i++)
		sum += row->devices[i].free;
	return sum;
}

/* The sort key of a column with numbers; 0 for other columns. */
static int64_t number_key(const struct top_row *row, enum top_column column)
{
	switch (column) {
	case TOP_NUMA:
	case TOP_FREE:
		return row->free;
	case TOP_ONE_NUMA:
	case TOP_TWO_NUMA:
		return key_of(&row->largest[column - TOP_ONE_NUMA]);
	case TOP_STRANDED:
		return key_of(&row->stranded);
	case TOP_AGE:
		return row->age_s;
	case TOP_DEVICES:
		return free_devices(row);
	case TOP_ALLOCATABLE:
		return row->allocatable;
	case TOP_NODE:
	case TOP_STATUS:
	case TOP_LABEL:
	case TOP_POLICY:
	case TOP_SCOPE:
	case TOP_EXPORTER:
	case TOP_BASIS:
	case TOP_COLUMN_COUNT:
		break;
	}
	return 0;
}

/* The sort key of a column with texts; "" for other columns. */
static const char *text_key(const struct top_row *row, enum top_column column)
{
	if (column == TOP_STATUS)
		return text_or_empty(row->status);
	if (column == TOP_LABEL)
		return text_or_empty(row->label);
	if (column == TOP_POLICY)
		return topology_manager_policy_names[row->policy];
	if (column == TOP_SCOPE)
		return topology_manager_scope_names[row->scope];
	if (column == TOP_EXPORTER)
		return row->exporter;
	return column == TOP_BASIS ? cluster_basis_names[row->basis] : "";
}

static int compare_rows(const void *va, const void *vb, void *data)
{
	const struct top_row *a = va, *b = vb;
	enum top_column column = *(const enum top_column *)data;
	int64_t key_a = number_key(a, column), key_b = number_key(b, column);
	int r = strcmp(text_key(a, column), text_key(b, column));

	if (key_a != key_b)
		return key_a > key_b ? -1 : 1;
	return r ? r : text_compare_numbered(a->name, b->name);
}

void top_sort(struct top_row *rows, size_t n, enum top_column column)
{
	vec_sort(rows, n, sizeof(*rows), compare_rows, &column);
}

/* ---- fields of both formats */

#define CELL_MAX 1024 /* bytes of a cell; a longer text is cut */

/* How the free CPUs of NUMA nodes are drawn. */
struct layout {
	bool bars;
	bool digits;         /* a number beside each bar */
	size_t digits_width; /* of the largest number of free CPUs */
};

static size_t bars_width(const struct layout *l, const struct top_row *row)
{
	if (row->n_numa == 0)
		return 0;
	return l->digits ? row->n_numa * (l->digits_width + 2) - 1 : row->n_numa;
}

static void write_number(
	struct writer *w, const char *key, enum top_column column, bool estimated, const struct top_number *n)
{
	if (writer_is_doc(w))
		writer_number(w, key, NULL, n->known, (int64_t)n->n);
	else if (n->known)
		writer_cell(w, headings[column], "%s%zu", estimated ? "~" : "", n->n);
	else
		writer_cell(w, headings[column], "-");
}

static void write_cpus(
	struct writer *w, size_t free, size_t allocatable, bool estimated, const struct top_number *stranded)
{
	writer_map(w, "cpus");
	writer_number(w, "free", NULL, true, (int64_t)free);
	writer_number(w, "allocatable", NULL, true, (int64_t)allocatable);
	write_number(w, "stranded", TOP_STRANDED, estimated, stranded);
	writer_end(w);
	writer_cell(w, headings[TOP_FREE], "%zu/%zu", free, allocatable);
}

static void write_largest(struct writer *w, bool estimated, const struct top_number largest[TOP_LARGEST])
{
	writer_list(w, "largestPods");
	for (unsigned i = 0; i < TOP_LARGEST; i++)
		write_number(w, NULL, TOP_ONE_NUMA + i, estimated, &largest[i]);
	writer_end(w);
}

static void write_numa(struct writer *w, const struct layout *l, const struct top_row *row)
{
	CLEANUP(strbuf_release) struct strbuf free = STRBUF_INIT(CELL_MAX), all = STRBUF_INIT(CELL_MAX);

	writer_list(w, "numaNodes");
	for (size_t i = 0; i < row->n_numa; i++) {
		const struct top_numa *numa = &row->numa[i];

		writer_map(w, NULL);
		writer_number(w, "id", NULL, true, numa->id);
		writer_number(w, "free", NULL, numa->has_cpus, numa->free);
		writer_number(w, "allocatable", NULL, numa->has_cpus, numa->allocatable);
		writer_end(w);
		strbuf_addf(&free, numa->has_cpus ? "%s%u" : "%s-", i > 0 ? "," : "", numa->free);
		strbuf_addf(&all, numa->has_cpus ? "%s%u" : "%s-", i > 0 ? "," : "", numa->allocatable);
	}
	writer_end(w);
	if (l && l->bars)
		writer_cell(w, headings[TOP_NUMA], "%*s", (int)bars_width(l, row), "");
	else
		writer_string(w, NULL, headings[TOP_NUMA], free.text);
	writer_string(w, NULL, headings[TOP_ALLOCATABLE], all.text);
}

static void write_devices(struct writer *w, const struct top_device *devices, size_t n)
{
	CLEANUP(strbuf_release) struct strbuf cell = STRBUF_INIT(CELL_MAX);

	writer_map(w, "devices");
	for (size_t i = 0; i < n; i++) {
		writer_map(w, devices[i].resource);
		writer_number(w, "free", NULL, true, devices[i].free);
		writer_number(w, "healthy", NULL, true, devices[i].healthy);
		writer_end(w);
		strbuf_addf(&cell, "%s%s=%u/%u", i > 0 ? "," : "", devices[i].resource, devices[i].free,
			devices[i].healthy);
	}
	writer_end(w);
	writer_string(w, NULL, headings[TOP_DEVICES], cell.text);
}

static void write_reservations(struct writer *w, const struct top_row *row)
{
	writer_list(w, "reservations");
	for (size_t i = 0; i < row->n_reservations; i++) {
		writer_map(w, NULL);
		writer_string(w, "pod", NULL, row->reservations[i].pod);
		writer_number(w, "secondsLeft", NULL, true, row->reservations[i].left_s);
		writer_bool(w, "placed", true, row->reservations[i].placed);
		writer_end(w);
	}
	writer_end(w);
}

/* In a narrow table only the reason why a node is unusable. */
static void write_status(struct writer *w, const char *status)
{
	const char *comma = strchr(status, ',');
	int ready = comma ? (int)(comma - status) : 0;

	if (w->format == WRITER_WIDE || !comma)
		writer_string(w, NULL, headings[TOP_STATUS], status);
	else if (!strncmp(status, "NotReady", 8))
		writer_cell(w, headings[TOP_STATUS], "%.*s", ready, status);
	else
		writer_cell(w, headings[TOP_STATUS], "%s", comma + 1);
}

static void write_row(struct writer *w, const struct layout *l, const struct top_row *row)
{
	const char *policy = topology_manager_policy_names[row->policy];
	const char *scope = topology_manager_scope_names[row->scope];
	bool estimated = row->basis == CLUSTER_ESTIMATED;
	char age[AGE_TEXT_MAX];

	timestamp_print_age(row->age_s, age);
	writer_row(w);
	writer_text(w, "name", headings[TOP_NODE], row->name);
	writer_text(w, "status", NULL, text_or_empty(row->status));
	write_status(w, text_or_empty(row->status));
	writer_text(w, "label", headings[TOP_LABEL], text_or_empty(row->label));
	writer_text(w, "exporter", headings[TOP_EXPORTER], row->exporter);
	writer_number(w, "ageSeconds", NULL, row->age_s >= 0, row->age_s);
	writer_string(w, NULL, headings[TOP_AGE], age);
	writer_string(w, "basis", headings[TOP_BASIS], cluster_basis_names[row->basis]);
	writer_text(w, "reason", NULL, row->unknown);
	writer_map(w, "topologyManager");
	writer_text(w, "policy", NULL, row->policy == TOPOLOGY_MANAGER_UNKNOWN ? "" : policy);
	writer_text(w, "scope", NULL, row->scope == TOPOLOGY_SCOPE_UNKNOWN ? "" : scope);
	writer_end(w);
	writer_string(w, NULL, headings[TOP_POLICY], policy);
	writer_string(w, NULL, headings[TOP_SCOPE], scope);
	write_cpus(w, row->free, row->allocatable, estimated, &row->stranded);
	write_largest(w, estimated, row->largest);
	write_numa(w, l, row);
	write_devices(w, row->devices, row->n_devices);
	write_reservations(w, row);
	writer_end(w);
}

/* In a table: the last row, with empty cells in columns without a total. */
static void write_totals(struct writer *w, const struct top_totals *t)
{
	if (writer_is_doc(w))
		writer_map(w, "totals");
	else
		writer_row(w);
	for (enum top_column c = 0; c < TOP_COLUMN_COUNT; c++)
		writer_cell(w, headings[c], "%s", "");
	writer_number(w, "nodes", NULL, true, (int64_t)t->n_nodes);
	writer_cell(w, headings[TOP_NODE], "%zu node%s", t->n_nodes, t->n_nodes == 1 ? "" : "s");
	writer_number(w, "unusable", NULL, true, (int64_t)t->n_unusable);
	writer_number(w, "estimated", NULL, true, (int64_t)t->n_estimated);
	write_cpus(w, t->free, t->allocatable, t->n_estimated > 0, &t->stranded);
	write_largest(w, t->n_estimated > 0, t->largest);
	write_devices(w, t->devices, t->n_devices);
	writer_end(w);
}

void top_write(struct writer *w, const struct top_row *rows, size_t n, const struct top_totals *totals)
{
	writer_list(w, "nodes");
	for (size_t i = 0; i < n; i++)
		write_row(w, NULL, &rows[i]);
	writer_end(w);
	write_totals(w, totals);
}

void top_table(struct writer *w, const struct top_row *rows, size_t n, const struct top_totals *totals)
{
	writer_columns(w, headings, TOP_COLUMN_COUNT);
	for (size_t i = 0; i < n; i++)
		write_row(w, NULL, &rows[i]);
	write_totals(w, totals);
}

/* ---- the table on a canvas */

#define GAP          2  /* spaces between columns */
#define DIGITS_MAX   16 /* NUMA nodes whose bars have numbers */
#define RESERVED_MAX 5  /* reservations that have a line */

static size_t count_digits(unsigned n)
{
	return (size_t)snprintf(NULL, 0, "%u", n);
}

static void lay_out(struct layout *l, const struct top_row *rows, size_t n)
{
	size_t max_numa = 0;

	l->digits_width = 1;
	for (size_t i = 0; i < n; i++) {
		max_numa = rows[i].n_numa > max_numa ? rows[i].n_numa : max_numa;
		for (size_t k = 0; k < rows[i].n_numa; k++)
			if (count_digits(rows[i].numa[k].free) > l->digits_width)
				l->digits_width = count_digits(rows[i].numa[k].free);
	}
	l->digits = max_numa <= DIGITS_MAX;
}

/* The columns of a table. */
struct columns {
	enum top_column items[TOP_COLUMN_COUNT];
	const char *names[TOP_COLUMN_COUNT]; /* of writer_columns() */
	size_t widths[TOP_COLUMN_COUNT];
	size_t n;
};

static void choose_columns(
	const struct top_look *look, const struct top_totals *totals, unsigned omitted, struct columns *ret)
{
	ret->n = 0;
	for (enum top_column c = 0; c < (look->wide ? TOP_COLUMN_COUNT : TOP_WIDE); c++) {
		if (omitted >> c & 1 || (c == TOP_LABEL && !look->label) ||
			(c == TOP_STATUS && !look->wide && totals->n_unusable == 0))
			continue;
		ret->items[ret->n] = c;
		ret->names[ret->n++] = headings[c];
	}
}

/* What is drawn of the rows. */
struct drawing {
	const struct top_row *rows;
	size_t n;
	const struct top_totals *totals;
	const struct top_look *look;
	struct layout layout;
	unsigned omitted; /* columns, as bits */
	struct columns columns;
	size_t widths[TOP_COLUMN_COUNT]; /* of each column, whether it is omitted or not */
	size_t narrow_bars;              /* width of TOP_NUMA without digits */
};

static void fill_table(struct drawing *d, struct writer *w)
{
	writer_columns(w, d->columns.names, d->columns.n);
	for (size_t i = 0; i < d->n; i++)
		write_row(w, &d->layout, &d->rows[i]);
	if (w->headings)
		write_totals(w, d->totals);
}

/* Fills in the table with all columns, and measures them. */
static void measure_columns(struct drawing *d, struct writer *w)
{
	struct layout narrow = d->layout;
	CLEANUP(freep) size_t *measured = NULL;

	choose_columns(d->look, d->totals, 0, &d->columns);
	fill_table(d, w);
	measured = table_widths(&w->table, w->headings);
	for (size_t i = 0; i < d->columns.n; i++) {
		enum top_column c = d->columns.items[i];
		size_t heading = c == TOP_LABEL && w->headings ? strlen(d->look->label) : 0;

		d->widths[c] = measured[i] > heading ? measured[i] : heading;
	}
	narrow.digits = false;
	d->narrow_bars = w->headings ? strlen(headings[TOP_NUMA]) : 0;
	for (size_t i = 0; i < d->n; i++)
		if (bars_width(&narrow, &d->rows[i]) > d->narrow_bars)
			d->narrow_bars = bars_width(&narrow, &d->rows[i]);
}

/* Sets the columns that are not omitted. Returns the table's width. */
static size_t set_columns(struct drawing *d)
{
	size_t width = 0;

	choose_columns(d->look, d->totals, d->omitted, &d->columns);
	for (size_t i = 0; i < d->columns.n; i++) {
		enum top_column c = d->columns.items[i];
		bool narrow = c == TOP_NUMA && d->layout.bars && !d->layout.digits;

		d->columns.widths[i] = narrow ? d->narrow_bars : d->widths[c];
		width += d->columns.widths[i] + (i > 0 ? GAP : 0);
	}
	return width;
}

/* In a wide table only the digits beside the bars. */
static void omit(struct drawing *d, enum top_column column, bool omitted)
{
	if (column == TOP_NUMA)
		d->layout.digits = !omitted;
	else if (!d->look->wide)
		d->omitted = omitted ? d->omitted | 1u << column : d->omitted & ~(1u << column);
}

/* Omits columns, the least important ones first, until the table fits the width. Returns the table's width. */
static size_t fit_columns(struct drawing *d)
{
	static const enum top_column order[] = {
		TOP_EXPORTER, TOP_SCOPE, TOP_POLICY, TOP_AGE, TOP_NUMA, TOP_DEVICES, TOP_TWO_NUMA};
	size_t width = set_columns(d), limit = d->look->width, n = 0;

	if (limit == 0 || width <= limit)
		return width;
	if (d->totals->n_devices == 0)
		omit(d, TOP_DEVICES, true);
	for (; n < ARRAY_SIZE(order) && width > limit; n++) {
		if (order[n] == TOP_NUMA && !d->layout.digits)
			continue;
		omit(d, order[n], true);
		width = set_columns(d);
	}
	/* A column that was omitted last may have left space for others. */
	for (; n > 1 && !d->look->wide; n--) {
		if (order[n - 2] == TOP_NUMA)
			continue;
		omit(d, order[n - 2], false);
		if (set_columns(d) > limit)
			omit(d, order[n - 2], true);
	}
	return set_columns(d);
}

/* Fills in the table with the columns for which there is room. Returns its width. */
static size_t fit_table(struct drawing *d, struct writer *w)
{
	bool digits = d->layout.digits;
	size_t n_measured, width;

	measure_columns(d, w);
	n_measured = d->columns.n;
	width = fit_columns(d);
	if (d->columns.n != n_measured || d->layout.digits != digits)
		fill_table(d, w);
	return width;
}

static enum canvas_style style_of(const struct top_row *row, enum top_column column)
{
	if (!row)
		return STYLE_STRONG;
	if (column == TOP_STRANDED && row->stranded.known && row->stranded.n > 0)
		return STYLE_NOTE;
	if (column == TOP_STATUS && row->unusable)
		return STYLE_NOTE;
	if (column == TOP_AGE || column == TOP_EXPORTER || column == TOP_BASIS || column == TOP_STATUS)
		return STYLE_FAINT;
	return column == TOP_NODE ? STYLE_STRONG : STYLE_PLAIN;
}

static void draw_bars(
	struct canvas *c, size_t at, size_t col, const struct layout *l, const struct top_row *row)
{
	for (size_t i = 0; i < row->n_numa; i++) {
		const struct top_numa *numa = &row->numa[i];
		unsigned level = numa->free >= numa->allocatable
					 ? 8
					 : (unsigned)(numa->free * 8ULL / numa->allocatable);
		char text[16];

		level = numa->free == 0 ? 0 : level == 0 ? 1 : level;
		canvas_put(c, at, col, numa->has_cpus ? GLYPH_LEVEL_0 + level : '-',
			numa->free > 0 ? STYLE_FREE : STYLE_FAINT);
		col++;
		if (!l->digits)
			continue;
		snprintf(text, sizeof(text), "%u", numa->free);
		canvas_text_right(c, at, col, l->digits_width, numa->free > 0 ? STYLE_PLAIN : STYLE_FAINT,
			numa->has_cpus ? text : "");
		col += l->digits_width + 1;
	}
}

/* Draws the texts of one line: a row, or (`row` NULL) the totals. */
static void draw_line(struct canvas *c, size_t at, const struct layout *l, const struct columns *columns,
	const struct top_row *row, const char *const *texts)
{
	size_t col = 0;

	for (size_t i = 0; i < columns->n; i++) {
		enum top_column column = columns->items[i];
		enum canvas_style style = style_of(row, column);
		bool right = column >= TOP_FREE && column <= TOP_AGE;

		if (row && column == TOP_NUMA && l->bars)
			draw_bars(c, at, col, l, row);
		else if (right)
			canvas_text_right(c, at, col, columns->widths[i], style, texts[i]);
		else
			canvas_text(c, at, col, columns->widths[i], style, texts[i]);
		col += columns->widths[i] + GAP;
	}
}

static void draw_headings(
	struct canvas *c, const struct layout *l, const struct columns *columns, const struct top_look *look)
{
	const char *texts[TOP_COLUMN_COUNT];

	for (size_t i = 0; i < columns->n; i++)
		texts[i] = columns->items[i] == TOP_LABEL ? look->label : columns->names[i];
	draw_line(c, 0, l, columns, NULL, texts);
}

/* ---- the lines below the table */

static void note_reservations(const struct top_row *rows, size_t n, struct strv *ret)
{
	size_t more = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < rows[i].n_reservations; k++) {
			const struct top_reservation *r = &rows[i].reservations[k];
			char age[AGE_TEXT_MAX];

			if (ret->n_items == RESERVED_MAX) {
				more++;
				continue;
			}
			timestamp_print_age(r->left_s, age);
			strv_take(ret, xasprintf("reserved: %s for %s, %s left%s", rows[i].name, r->pod, age,
					       r->placed ? "" : ", other pods must leave first"));
		}
	if (more > 0)
		strv_take(ret, xasprintf("reserved: %zu more place%s", more, more == 1 ? "" : "s"));
}

/* Why the first node has dashes instead of the kubelet's numbers. */
/* Notes the text of the first row that has one, and how many others have one. */
static void note_first(const char *before, const struct top_row *rows, size_t n,
	const char *(*text_of)(const struct top_row *row), struct strv *ret)
{
	const struct top_row *first = NULL;
	size_t more = 0;

	for (size_t i = 0; i < n; i++) {
		if (!*text_of(&rows[i]))
			continue;
		more += first != NULL;
		first = first ? first : &rows[i];
	}
	if (first && more > 0)
		strv_take(ret, xasprintf("%snode '%s' (and %zu more): %s", before, first->name, more,
				       text_of(first)));
	else if (first)
		strv_take(ret, xasprintf("%snode '%s': %s", before, first->name, text_of(first)));
}

static const char *unknown_of(const struct top_row *row)
{
	return text_or_empty(row->unknown);
}

static const char *caution_of(const struct top_row *row)
{
	return text_or_empty(row->caution);
}

void top_notes(const struct top_row *rows, size_t n, const struct top_totals *totals, struct strv *ret)
{
	note_reservations(rows, n, ret);
	if (totals->n_unusable > 0)
		strv_take(ret,
			xasprintf(
				"the totals omit %zu node%s that %s not ready, not schedulable or without a Node object",
				totals->n_unusable, totals->n_unusable == 1 ? "" : "s",
				totals->n_unusable == 1 ? "is" : "are"));
	if (totals->n_estimated > 0)
		strv_push(ret, "~ estimated by the zones: the object has no node state");
	note_first("- ", rows, n, unknown_of, ret);
	note_first("", rows, n, caution_of, ret);
}

static size_t widest(const struct strv *lines)
{
	size_t width = 0;

	for (size_t i = 0; i < lines->n_items; i++)
		if (strlen(lines->items[i]) > width)
			width = strlen(lines->items[i]);
	return width;
}

/* Draws the notes, each on as many lines as it takes. */
static void draw_notes(struct canvas *c, size_t at, size_t width, const struct strv *notes)
{
	for (size_t i = 0; i < notes->n_items; i++)
		at += canvas_wrap(c, at, 0, width, STYLE_FAINT, notes->items[i]);
}

void top_draw(const struct top_row *rows, size_t n, const struct top_totals *totals,
	const struct top_look *look, struct canvas *c)
{
	CLEANUP(writer_release) struct writer w;
	CLEANUP(strv_release) struct strv notes = {0};
	struct drawing d = {
		.rows = rows, .n = n, .totals = totals, .look = look, .layout = {.bars = look->bars}};
	size_t at = look->headers, width, notes_width = 0;
	const char *const *cells;

	writer_init(&w, look->wide ? "wide" : "text", look->headers, NULL);
	lay_out(&d.layout, rows, n);
	width = fit_table(&d, &w);
	if (look->headers) {
		top_notes(rows, n, totals, &notes);
		notes_width = widest(&notes);
		if (look->width > 0 && notes_width > look->width)
			notes_width = look->width;
	}
	canvas_init(c, width > notes_width ? width : notes_width);
	if (look->headers)
		draw_headings(c, &d.layout, &d.columns, look);
	cells = (const char *const *)w.table.cells.items;
	for (size_t i = 0; i < n; i++, cells += d.columns.n)
		draw_line(c, at++, &d.layout, &d.columns, &rows[i], cells);
	if (!look->headers)
		return;
	at++; /* an empty line */
	draw_line(c, at++, &d.layout, &d.columns, NULL, cells);
	draw_notes(c, at, c->width, &notes);
}
