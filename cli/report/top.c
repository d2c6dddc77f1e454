/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/top.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/writer.h"
#include "common/cleanup.h"
#include "common/io/time.h"
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

static char *print_cpus(hwloc_const_bitmap_t cpus)
{
	return cpus ? cpuset_print(cpus) : NULL;
}

void top_row_fill_cpus(struct top_row *row, const struct node_state *state)
{
	hwloc_const_bitmap_t isolated = state->machine.isolated, shared = state->allocations.shared;
	CLEANUP(cpuset_freep) hwloc_bitmap_t both = isolated ? cpuset_dup(isolated) : cpuset_new();

	row->reserved = print_cpus(state->reserved.cpus);
	row->shared = print_cpus(shared);
	row->isolated = print_cpus(isolated);
	if (shared)
		cpuset_and(both, both, shared);
	if (shared && !hwloc_bitmap_iszero(both)) {
		CLEANUP(freep) char *list = cpuset_print(both);

		row->isolation = xasprintf(
			"isolated CPUs are in the shared pool: %s; the kernel does not distribute threads over them",
			list);
	}
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
	free(row->reserved);
	free(row->shared);
	free(row->isolated);
	free(row->isolation);
	free(row->numa);
	devices_release(row->devices, row->n_devices);
	details_release(row->details);
	*row = (struct top_row){0};
}

/* ---- totals */

static void add_device(struct top_totals *t, const struct top_device *device)
{
	struct top_row *sum = &t->sum;
	struct top_device *same = sum->n_devices > 0 ? bsearch(device, sum->devices, sum->n_devices,
							       sizeof(*sum->devices), by_resource)
						     : NULL;

	if (!same) {
		char *resource = xstrdup(device->resource);

		same = vec_push(&sum->devices, &sum->n_devices, &t->devices_size, sizeof(*sum->devices));
		*same = (struct top_device){resource, device->free, device->healthy};
		qsort(sum->devices, sum->n_devices, sizeof(*sum->devices), by_resource);
		return;
	}
	same->free += device->free;
	same->healthy += device->healthy;
}

void top_totals(const struct top_row *rows, size_t n, struct top_totals *ret)
{
	struct top_totals t = {.n_nodes = n, .sum = {.age_s = -1}};
	struct top_row *sum = &t.sum;

	for (size_t at = 0; at < n; at++) {
		const struct top_row *row = &rows[at];

		t.n_estimated += row->basis == CLUSTER_ESTIMATED;
		t.n_unusable += row->unusable;
		t.n_without_object += row->no_object;
		if (row->unusable || row->no_object)
			continue;
		sum->free += row->free;
		sum->allocatable += row->allocatable;
		sum->stranded.known |= row->stranded.known;
		sum->stranded.n += row->stranded.n;
		for (unsigned i = 0; i < TOP_LARGEST; i++) {
			sum->largest[i].known |= row->largest[i].known;
			if (row->largest[i].n > sum->largest[i].n)
				sum->largest[i].n = row->largest[i].n;
		}
		for (size_t d = 0; d < row->n_devices; d++)
			add_device(&t, &row->devices[d]);
	}
	sum->basis = t.n_estimated > 0 ? CLUSTER_ESTIMATED : CLUSTER_EXACT;
	*ret = t;
}

void top_totals_release(struct top_totals *t)
{
	top_row_release(&t->sum);
	*t = (struct top_totals){0};
}

static int by_label(const void *va, const void *vb, void *data)
{
	(void)data;
	return text_compare_empty_last(
		((const struct top_row *)va)->label, ((const struct top_row *)vb)->label);
}

struct top_totals *top_pools(const struct top_row *rows, size_t n, size_t *ret_n)
{
	CLEANUP(freep) struct top_row *sorted = xcalloc(n + 1, sizeof(*sorted)); /* borrows from the rows */
	struct top_totals *pools = xcalloc(n + 1, sizeof(*pools));
	size_t n_pools = 0;

	if (n > 0)
		memcpy(sorted, rows, n * sizeof(*sorted));
	vec_sort(sorted, n, sizeof(*sorted), by_label, NULL);
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first + 1; end < n && !strcmp(sorted[end].label, sorted[first].label); end++)
			;
		top_totals(&sorted[first], end - first, &pools[n_pools]);
		pools[n_pools++].sum.name = xstrdup(sorted[first].label);
	}
	*ret_n = n_pools;
	return pools;
}

/* ---- cells and members that are more than a value */

#define DIGITS_MAX   16 /* NUMA nodes whose bars have numbers */
#define RESERVED_MAX 5  /* reservations that have a line */

/* How the free CPUs of NUMA nodes are drawn: table.report. */
struct layout {
	bool bars;
	bool digits;         /* a number beside each bar */
	size_t digits_width; /* of the largest number of free CPUs */
	size_t max_numa;     /* NUMA nodes of a row */
};

static size_t bars_width(const struct layout *l, const struct top_row *row)
{
	if (row->n_numa == 0)
		return 0;
	return l->digits ? row->n_numa * (l->digits_width + 2) - 1 : row->n_numa;
}

/* In a table that is not wide, of "NotReady,SchedulingDisabled" only "NotReady", of "Ready,SchedulingDisabled" the part behind the comma. */
static void status_cell(const struct table_cell *cell, struct strbuf *out)
{
	const char *status = column_value(cell->column, cell->row).text, *comma = strchr(status, ',');

	if (cell->table->kind != TABLE_TEXT || !comma)
		strbuf_addstr(out, status);
	else if (!strncmp(status, "NotReady", strlen("NotReady")))
		strbuf_add(out, status, (size_t)(comma - status));
	else
		strbuf_addstr(out, comma + 1);
}

static bool is_unusable(const void *data)
{
	const struct top_row *row = data;

	return row->unusable;
}

static bool has_stranded(const void *data)
{
	const struct top_row *row = data;

	return row->stranded.known && row->stranded.n > 0;
}

/* null in documents if unknown */
static struct column_value policy_value(const void *data)
{
	const struct top_row *row = data;

	return (struct column_value){row->policy != TOPOLOGY_MANAGER_UNKNOWN,
		row->no_object ? "" : topology_manager_policy_names[row->policy], 0};
}

static struct column_value scope_value(const void *data)
{
	const struct top_row *row = data;

	return (struct column_value){row->scope != TOPOLOGY_SCOPE_UNKNOWN,
		row->no_object ? "" : topology_manager_scope_names[row->scope], 0};
}

static struct column_value free_value(const void *data)
{
	const struct top_row *row = data;

	return (struct column_value){!row->no_object, NULL, (int64_t)row->free};
}

static struct column_value allocatable_value(const void *data)
{
	const struct top_row *row = data;

	return (struct column_value){!row->no_object, NULL, (int64_t)row->allocatable};
}

static struct column_value basis_value(const void *data)
{
	return (struct column_value){true, cluster_basis_names[((const struct top_row *)data)->basis], 0};
}

static struct column_value cpus_value(const char *list)
{
	return (struct column_value){list, text_or_empty(list), 0};
}

static struct column_value reserved_value(const void *data)
{
	return cpus_value(((const struct top_row *)data)->reserved);
}

static struct column_value shared_value(const void *data)
{
	return cpus_value(((const struct top_row *)data)->shared);
}

static struct column_value isolated_value(const void *data)
{
	return cpus_value(((const struct top_row *)data)->isolated);
}

static bool has_isolation(const void *data)
{
	return *text_or_empty(((const struct top_row *)data)->isolation);
}

static struct column_value spans_value(const void *data)
{
	return (struct column_value){true, NULL, (int64_t)((const struct top_row *)data)->details->n_spans};
}

static struct column_value devices_value(const void *data)
{
	const struct top_row *row = data;
	struct column_value sum = {.known = true};

	for (size_t i = 0; i < row->n_devices; i++)
		sum.number += row->devices[i].free;
	return sum;
}

static void number_cell(const struct table_cell *cell, struct strbuf *out)
{
	const struct top_row *row = cell->row;
	struct column_value v = column_value(cell->column, row);

	if (v.known)
		strbuf_addf(out, "%s%" PRId64, row->basis == CLUSTER_ESTIMATED ? "~" : "", v.number);
	else
		strbuf_addch(out, '-');
}

static void free_cell(const struct table_cell *cell, struct strbuf *out)
{
	const struct top_row *row = cell->row;

	if (!row->no_object)
		strbuf_addf(out, "%zu/%zu", row->free, row->allocatable);
}

/* Appends an item of the list "4,-,8": "-" for a NUMA node without CPUs. */
static void add_number(const struct top_numa *numa, unsigned n, struct strbuf *out)
{
	if (out->len > 0)
		strbuf_addch(out, ',');
	if (numa->has_cpus)
		strbuf_addf(out, "%u", n);
	else
		strbuf_addch(out, '-');
}

static void numa_cell(const struct table_cell *cell, struct strbuf *out)
{
	const struct top_row *row = cell->row;
	const struct layout *l = cell->table->report;

	/* draw_bars() draws over the blanks. */
	if (l && l->bars) {
		strbuf_addf(out, "%*s", (int)bars_width(l, row), "");
		return;
	}
	for (size_t i = 0; i < row->n_numa; i++)
		add_number(&row->numa[i], row->numa[i].free, out);
}

static void numa_member(struct writer *w, const char *key, const void *data)
{
	const struct top_row *row = data;

	writer_list(w, key);
	for (size_t i = 0; i < row->n_numa; i++) {
		const struct top_numa *numa = &row->numa[i];

		writer_map(w, NULL);
		writer_number(w, "id", NULL, true, numa->id);
		writer_number(w, "free", NULL, numa->has_cpus, numa->free);
		writer_number(w, "allocatable", NULL, numa->has_cpus, numa->allocatable);
		writer_end(w);
	}
	writer_end(w);
}

static void allocatable_cell(const struct table_cell *cell, struct strbuf *out)
{
	const struct top_row *row = cell->row;

	for (size_t i = 0; i < row->n_numa; i++)
		add_number(&row->numa[i], row->numa[i].allocatable, out);
}

static void cpus_cell(const struct table_cell *cell, struct strbuf *out)
{
	struct column_value v = column_value(cell->column, cell->row);

	strbuf_addstr(out, v.known && !*v.text ? "none" : v.text);
}

static void devices_cell(const struct table_cell *cell, struct strbuf *out)
{
	const struct top_row *row = cell->row;

	for (size_t i = 0; i < row->n_devices; i++)
		strbuf_addf(out, "%s%s=%u/%u", i > 0 ? "," : "", row->devices[i].resource,
			row->devices[i].free, row->devices[i].healthy);
}

static void devices_member(struct writer *w, const char *key, const void *data)
{
	const struct top_row *row = data;

	writer_map(w, key);
	for (size_t i = 0; i < row->n_devices; i++) {
		writer_map(w, row->devices[i].resource);
		writer_number(w, "free", NULL, true, row->devices[i].free);
		writer_number(w, "healthy", NULL, true, row->devices[i].healthy);
		writer_end(w);
	}
	writer_end(w);
}

static void reservations_member(struct writer *w, const char *key, const void *data)
{
	const struct top_row *row = data;

	writer_list(w, key);
	for (size_t i = 0; i < row->n_reservations; i++) {
		writer_map(w, NULL);
		writer_string(w, "pod", NULL, row->reservations[i].pod);
		writer_number(w, "secondsLeft", NULL, true, row->reservations[i].left_s);
		writer_bool(w, "placed", true, row->reservations[i].placed);
		writer_end(w);
	}
	writer_end(w);
}

/* ---- columns */

#define ALL           (TABLE_TEXT | TABLE_WIDE | TABLE_PAGE)
#define SUM           (ALL | TABLE_POOLS)
#define STRING(field) .type = COLUMN_STRING, .offset = offsetof(struct top_row, field)
#define NUMBER(field) .type = COLUMN_NUMBER, .offset = offsetof(struct top_row, field), .cell = number_cell
#define AGE(field)    .type = COLUMN_AGE, .offset = offsetof(struct top_row, field)

static const struct column columns[] = {
	{"NODE", "name", 1, STRING(name), .in = ALL, .style = STYLE_STRONG},
	{"STATUS", "status", 2, STRING(status), .cell = status_cell, .in = ALL, .style = STYLE_FAINT,
		.marked = is_unusable},
	{"POOL", STRING(name), .in = TABLE_POOLS},
	{"NODES", .in = TABLE_POOLS, .right = true, .total = true},
	{"LABEL", "label", 3, STRING(label)},
	{"POLICY", "topologyManager.policy", 8, .value = policy_value, .in = ALL, .rank = 3},
	{"SCOPE", "topologyManager.scope", 9, .value = scope_value, .rank = 2},
	{"NUMA", "numaNodes", 18, .value = free_value, .cell = numa_cell, .member = numa_member, .in = ALL,
		.rank = 5},
	{"FREE", "cpus.free", 10, .value = free_value, .cell = free_cell, .in = SUM, .right = true,
		.total = true},
	{"1-NUMA", "largestPods[]", 16, NUMBER(largest[0]), .in = SUM, .right = true, .total = true},
	{"2-NUMA", "largestPods[]", 17, NUMBER(largest[1]), .in = SUM, .right = true, .total = true,
		.rank = 7},
	{"STRANDED", "cpus.stranded", 12, NUMBER(stranded), .in = SUM, .right = true, .total = true,
		.marked = has_stranded},
	{"NOT ALIGNED", .value = spans_value, .in = TABLE_PAGE, .right = true, .rank = 9},
	{"AGE", "ageSeconds", 5, AGE(age_s), .in = ALL, .right = true, .rank = 4, .style = STYLE_FAINT},
	{"EXPORTER", "exporter", 4, STRING(exporter), .rank = 1, .style = STYLE_FAINT},
	{"DEVICES", "devices", 19, .value = devices_value, .cell = devices_cell, .member = devices_member,
		.in = SUM, .total = true, .rank = 6},
	{"ALLOCATABLE", "cpus.allocatable", 11, .value = allocatable_value, .cell = allocatable_cell,
		.in = TABLE_WIDE, .total = true},
	{"RESERVED", "cpus.reserved", 13, .value = reserved_value, .cell = cpus_cell, .in = TABLE_WIDE},
	{"SHARED", "cpus.shared", 14, .value = shared_value, .cell = cpus_cell, .in = TABLE_WIDE},
	{"ISOLATED", "cpus.isolated", 15, .value = isolated_value, .cell = cpus_cell, .in = TABLE_WIDE,
		.marked = has_isolation},
	{"BASIS", "basis", 6, .value = basis_value, .in = TABLE_WIDE | TABLE_PAGE, .style = STYLE_FAINT,
		.rank = 8},
	{NULL, "reason", 7, STRING(unknown)},
	{NULL, "reservations", 20, .member = reservations_member},
};

const struct column *top_column_find(const char *heading)
{
	return column_find(columns, ARRAY_SIZE(columns), heading);
}

bool top_column_is_of_pools(const struct column *column)
{
	return column == &columns[0] || (column->in & TABLE_POOLS);
}

void top_column_names(struct strbuf *out)
{
	column_names(columns, ARRAY_SIZE(columns), out);
}

static int compare_rows(const void *va, const void *vb, void *data)
{
	const struct top_row *a = va, *b = vb;
	const struct column *column = *(const struct column *const *)data;
	int r = a->details && b->details ? text_compare_empty_last(a->details->pool, b->details->pool) : 0;

	if (r == 0)
		r = a->no_object - b->no_object;
	/* columns[0] is the name. */
	if (r == 0 && column != &columns[0])
		r = column_compare(column, a, b);
	return r ? r : text_compare_numbered(a->name, b->name);
}

void top_sort(struct top_row *rows, size_t n, const struct column *column)
{
	vec_sort(rows, n, sizeof(*rows), compare_rows, &column);
}

static int compare_pools(const void *va, const void *vb, void *data)
{
	const struct top_totals *a = va, *b = vb;
	const struct column *column = *(const struct column *const *)data;
	int r = !*a->sum.name - !*b->sum.name; /* nodes without a pool are last */

	if (r == 0 && column != &columns[0])
		r = column_compare(column, &a->sum, &b->sum);
	return r ? r : text_compare_empty_last(a->sum.name, b->sum.name);
}

void top_sort_pools(struct top_totals *pools, size_t n, const struct column *column)
{
	vec_sort(pools, n, sizeof(*pools), compare_pools, &column);
}

/* ---- documents, and the tables of a page and of pools */

static void write_sum(struct writer *w, const struct top_totals *t)
{
	writer_number(w, "nodes", NULL, true, (int64_t)t->n_nodes);
	writer_number(w, "unusable", NULL, true, (int64_t)t->n_unusable);
	writer_number(w, "estimated", NULL, true, (int64_t)t->n_estimated);
	writer_number(w, "withoutObject", NULL, true, (int64_t)t->n_without_object);
	writer_members(w, columns, ARRAY_SIZE(columns), &t->sum, true);
}

void top_write(struct writer *w, const struct top_row *rows, size_t n, const struct top_totals *totals)
{
	writer_list(w, "nodes");
	for (size_t i = 0; i < n; i++) {
		writer_map(w, NULL);
		writer_members(w, columns, ARRAY_SIZE(columns), &rows[i], false);
		writer_end(w);
	}
	writer_end(w);
	writer_map(w, "totals");
	write_sum(w, totals);
	writer_end(w);
}

static void add_rows(const struct top_row *rows, size_t n, const struct top_totals *totals, struct table *t)
{
	for (size_t i = 0; i < n; i++)
		table_add_row(t, &rows[i], false);
	if (!totals)
		return;
	table_add_row(t, &totals->sum, true);
	table_set_cell(t, columns[0].heading, xasprintf("%zu node%s", n, n == 1 ? "" : "s"));
}

/* Columns that a page omits if each cell is this one or "-". */
static const struct {
	const char *heading, *cell;
} usual[] = {{"STATUS", "Ready"}, {"AGE", "-"}, {"DEVICES", "-"}, {"BASIS", "exact"}};

static bool has_only(const struct table *t, size_t column, size_t n, const char *cell)
{
	for (size_t i = 0; i < n; i++) {
		const char *other = t->cells.items[i * t->n_columns + column];

		if (strcmp(other, cell) != 0 && strcmp(other, "-") != 0)
			return false;
	}
	return true;
}

void top_page_table(const struct top_row *rows, size_t n, const struct top_totals *totals, struct table *ret)
{
	table_begin(ret, TABLE_PAGE, columns, ARRAY_SIZE(columns));
	add_rows(rows, n, totals, ret);
	for (size_t c = 0; c < ret->n_columns; c++)
		for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
			if (!strcmp(ret->columns[c].heading, usual[i].heading))
				ret->columns[c].omitted = has_only(ret, c, n, usual[i].cell);
}

/* The nodes of the pool, and how many of them the other columns count. */
static void add_pool(struct table *t, const struct top_totals *pool, bool is_totals)
{
	table_add_row(t, &pool->sum, is_totals);
	table_set_cell(t, "NODES",
		xasprintf(
			"%zu/%zu", pool->n_nodes - pool->n_unusable - pool->n_without_object, pool->n_nodes));
}

void top_write_pools(struct writer *w, const struct top_totals *pools, size_t n_pools,
	const struct top_row *rows, size_t n, const struct top_totals *totals)
{
	CLEANUP(table_release) struct table t = {0};
	CLEANUP(strv_release) struct strv notes = {0};

	table_begin(&t, TABLE_POOLS, columns, ARRAY_SIZE(columns));
	writer_list(w, "pools");
	for (size_t i = 0; i < n_pools; i++) {
		writer_map(w, NULL);
		writer_text(w, "name", NULL, pools[i].sum.name);
		write_sum(w, &pools[i]);
		writer_end(w);
		add_pool(&t, &pools[i], false);
	}
	writer_end(w);
	writer_map(w, "totals");
	write_sum(w, totals);
	writer_end(w);
	if (writer_is_doc(w))
		return;
	if (w->headings) {
		add_pool(&t, totals, true);
		table_set_cell(&t, "POOL", xasprintf("%zu pool%s", n_pools, n_pools == 1 ? "" : "s"));
		top_notes(rows, n, totals, &notes);
	}
	table_print(&t, w->headings, w->width, w->out);
	for (size_t i = 0; i < notes.n_items; i++)
		strbuf_addf(w->out, "%s\n", notes.items[i]);
}

/* ---- the table on a canvas */

static size_t count_digits(unsigned n)
{
	return (size_t)snprintf(NULL, 0, "%u", n);
}

static void lay_out(struct layout *l, const struct top_row *rows, size_t n)
{
	l->digits_width = 1;
	for (size_t i = 0; i < n; i++) {
		l->max_numa = rows[i].n_numa > l->max_numa ? rows[i].n_numa : l->max_numa;
		for (size_t k = 0; k < rows[i].n_numa; k++)
			if (count_digits(rows[i].numa[k].free) > l->digits_width)
				l->digits_width = count_digits(rows[i].numa[k].free);
	}
	l->digits = l->max_numa <= DIGITS_MAX;
}

/* Fills in the table with the columns for which there is room. */
static void fill_table(const struct top_row *rows, size_t n, const struct top_totals *totals,
	const struct top_look *look, struct layout *l, struct table *t)
{
	struct table_column *numa, *label, *status;

	table_begin(t, look->wide ? TABLE_WIDE : TABLE_TEXT, columns, ARRAY_SIZE(columns));
	t->report = l;
	label = table_find(t, "LABEL");
	label->omitted = !look->label;
	label->heading = look->label ? look->label : label->heading;
	status = table_find(t, "STATUS");
	status->omitted = !look->wide && totals->n_unusable + totals->n_without_object == 0;
	lay_out(l, rows, n);
	add_rows(rows, n, look->headers ? totals : NULL, t);
	table_measure(t, look->headers);
	if (look->width == 0 || table_width(t) <= look->width)
		return;
	/* The column NUMA becomes narrower without the numbers beside the bars. Without numbers or bars it is as narrow as it can be. */
	numa = table_find(t, "NUMA");
	numa->narrow = !l->bars || !l->digits || l->max_numa == 0;
	numa->narrow_width =
		look->headers && l->max_numa < strlen(numa->heading) ? strlen(numa->heading) : l->max_numa;
	if (totals->sum.n_devices == 0 && !look->wide)
		table_find(t, "DEVICES")->omitted = true;
	table_fit(t, look->width);
	l->digits = !numa->narrow;
}

unsigned top_bar_height(const struct top_numa *numa, unsigned max)
{
	unsigned height;

	if (numa->free == 0)
		return 0;
	if (numa->free >= numa->allocatable)
		return max;
	height = (unsigned)((uint64_t)numa->free * max / numa->allocatable);
	return height > 0 ? height : 1;
}

static void draw_bars(
	struct canvas *c, size_t at, size_t col, const struct layout *l, const struct top_row *row)
{
	for (size_t i = 0; i < row->n_numa; i++) {
		const struct top_numa *numa = &row->numa[i];
		char text[16];

		canvas_put(c, at, col, numa->has_cpus ? GLYPH_LEVEL_0 + top_bar_height(numa, 8) : '-',
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

/* Draws one line: a row, or (`row` NULL) the totals, or (`cells` NULL, too) the headings. */
static void draw_line(struct canvas *canvas, size_t at, const struct table *t, const struct top_row *row,
	char *const *cells)
{
	const struct layout *l = t->report;
	size_t col = 0;

	for (size_t i = 0; i < t->n_columns; i++) {
		const struct table_column *c = &t->columns[i];
		const char *text = cells ? cells[i] : c->heading;
		enum canvas_style style = c->def->style;

		if (c->omitted)
			continue;
		if (!row)
			style = STYLE_STRONG;
		else if (c->def->marked && c->def->marked(row))
			style = STYLE_NOTE;
		if (row && l->bars && c->def->cell == numa_cell)
			draw_bars(canvas, at, col, l, row);
		else if (c->def->right)
			canvas_text_right(canvas, at, col, c->width, style, text);
		else
			canvas_text(canvas, at, col, c->width, style, text);
		col += c->width + TABLE_GAP;
	}
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

/* Notes the first row whose text, the member at `offset`, is not empty, and how many other rows have such a text. */
static void note_first(
	const char *before, const struct top_row *rows, size_t n, size_t offset, struct strv *ret)
{
	const struct column text = {.type = COLUMN_STRING, .offset = offset};
	const struct top_row *first = NULL;
	size_t more = 0;

	for (size_t i = 0; i < n; i++) {
		if (rows[i].no_object || !column_value(&text, &rows[i]).known)
			continue;
		if (first)
			more++;
		else
			first = &rows[i];
	}
	if (first && more > 0)
		strv_take(ret, xasprintf("%snode '%s' (and %zu more): %s", before, first->name, more,
				       column_value(&text, first).text));
	else if (first)
		strv_take(ret,
			xasprintf("%snode '%s': %s", before, first->name, column_value(&text, first).text));
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
	if (totals->n_without_object > 0)
		strv_take(ret, xasprintf("%zu Node%s no object", totals->n_without_object,
				       totals->n_without_object == 1 ? " has" : "s have"));
	if (totals->n_estimated > 0)
		strv_push(ret, "~ estimated by the zones: the object has no node state");
	note_first("- ", rows, n, offsetof(struct top_row, unknown), ret);
	note_first("", rows, n, offsetof(struct top_row, caution), ret);
	note_first("", rows, n, offsetof(struct top_row, isolation), ret);
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
	CLEANUP(table_release) struct table t = {0};
	CLEANUP(strv_release) struct strv notes = {0};
	struct layout layout = {.bars = look->bars};
	size_t at = look->headers, width, notes_width = 0;
	char *const *cells;

	fill_table(rows, n, totals, look, &layout, &t);
	width = table_width(&t);
	if (look->headers) {
		top_notes(rows, n, totals, &notes);
		notes_width = widest(&notes);
		if (look->width > 0 && notes_width > look->width)
			notes_width = look->width;
	}
	canvas_init(c, width > notes_width ? width : notes_width);
	if (look->headers)
		draw_line(c, 0, &t, NULL, NULL);
	cells = t.cells.items;
	for (size_t i = 0; i < n; i++, cells += t.n_columns)
		draw_line(c, at++, &t, &rows[i], cells);
	if (!look->headers)
		return;
	at++;                                /* an empty line */
	draw_line(c, at++, &t, NULL, cells); /* the cells of the totals, which fill_table() added last */
	draw_notes(c, at, c->width, &notes);
}
