/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/pods_report.h"

#include <stdlib.h>
#include <string.h>

#include "cli/report/show.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define ROOTS_MAX (64u << 10) /* bytes of the roots of a pod */

static void row_release(struct pods_row *row)
{
	free(row->namespace);
	free(row->pod);
	free(row->node);
	free(row->cpus);
	free(row->cpu_nodes);
	free(row->memory_nodes);
	free(row->device_nodes);
	free(row->reason);
	strv_release(&row->roots);
	hwloc_bitmap_free(row->core.pods);
	hwloc_bitmap_free(row->l3.pods);
}

void pods_report_release(struct pods_report *r)
{
	for (size_t i = 0; i < r->n_rows; i++)
		row_release(&r->rows[i]);
	free(r->rows);
	strv_release(&r->names);
	strv_release(&r->out_of_date);
	*r = (struct pods_report){0};
}

static struct pods_row *add_row(
	struct pods_report *r, const char *namespace, const char *pod, const char *node, const char *reason)
{
	struct pods_row *row = vec_push(&r->rows, &r->n_rows, &r->rows_size, sizeof(*row));

	row->namespace = xstrdup(namespace);
	row->pod = xstrdup(pod);
	row->node = xstrdup(node);
	row->reason = xstrdup(reason);
	return row;
}

static void copy_shared(const struct shared_hardware *from, struct shared_hardware *ret)
{
	*ret = *from;
	if (from->pods)
		ret->pods = cpuset_dup(from->pods);
}

static struct pods_row *add_pods_row(
	struct pods_report *r, const char *node, const struct pod_alignment *p, size_t first_name)
{
	struct pods_row *row = add_row(r, p->namespace, p->name, node, p->reason.text);

	row->known = true;
	row->n_cpus = cpuset_size(p->cpus);
	row->n_devices = p->n_devices;
	row->n_claim_devices = p->n_claim_devices;
	row->is_claim_unplaced = p->is_claim_unplaced;
	for (size_t i = 0; i < p->roots.n_items; i++)
		strv_push(&row->roots, p->roots.items[i]);
	row->memory_bytes = p->memory_bytes;
	row->cpus = cpuset_print(p->cpus);
	row->cpu_nodes = cpuset_print(p->cpu_nodes);
	row->memory_nodes = cpuset_print(p->memory_nodes);
	row->device_nodes = cpuset_print(p->device_nodes);
	copy_shared(&p->core, &row->core);
	copy_shared(&p->l3, &row->l3);
	row->first_name = first_name;
	row->alignment = p->alignment;
	return row;
}

void pods_report_add(struct pods_report *r, const char *node, const struct pod_alignments *all,
	enum pod_listing (*choose)(const struct pod_alignment *p, const char *node, void *data), void *data)
{
	size_t first_name = r->names.n_items;

	for (size_t i = 0; i < all->n_items; i++) {
		const struct pod_alignment *p = &all->items[i];
		CLEANUP(freep)
		char *name = xasprintf("%s%s%s", p->namespace, *p->namespace ? "/" : "", p->name);
		enum pod_listing listing;
		struct pods_row *row;

		strv_push(&r->names, name);
		listing = choose(p, node, data);
		if (listing == POD_OMITTED)
			continue;
		row = add_pods_row(r, node, p, first_name);
		if (listing != POD_CONTRADICTED)
			continue;
		free(row->reason);
		row->reason = xasprintf("%s%sthe node's object has this pod, but no such Pod was read",
			p->reason.text, *p->reason.text ? "; " : "");
		strv_push_new(&r->out_of_date, node);
	}
}

void pods_report_add_unknown(struct pods_report *r, const char *namespace, const char *pod, const char *node,
	const char *reason, bool out_of_date)
{
	add_row(r, namespace, pod, node, reason)->alignment = ALIGNMENT_UNKNOWN;
	if (out_of_date)
		strv_push_new(&r->out_of_date, node);
}

void pods_report_keep_misaligned(struct pods_report *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->n_rows; i++) {
		if (alignment_is_misaligned(r->rows[i].alignment))
			r->rows[kept++] = r->rows[i];
		else
			row_release(&r->rows[i]);
	}
	r->n_removed += r->n_rows - kept;
	r->n_rows = kept;
}

bool pods_report_is_empty(const struct pods_report *r)
{
	return r->n_rows + r->n_removed == 0;
}

static int compare_rows(const void *va, const void *vb)
{
	const struct pods_row *a = va, *b = vb;
	int r = strcmp(a->namespace, b->namespace);

	if (r == 0)
		r = text_compare_numbered(a->pod, b->pod);
	return r ? r : text_compare_numbered(a->node, b->node);
}

void pods_report_sort(struct pods_report *r)
{
	if (r->n_rows > 1)
		qsort(r->rows, r->n_rows, sizeof(*r->rows), compare_rows);
}

/* ---- fields */

/* A list of ids, as cpuset_print() prints it. */
static void write_ids(struct writer *w, const char *key, const char *list)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t ids = NULL;

	writer_list(w, key);
	if (writer_is_doc(w) && *list && cpuset_parse(list, &ids, NULL) == 0)
		for (int id = hwloc_bitmap_first(ids); id >= 0; id = hwloc_bitmap_next(ids, id))
			writer_number(w, NULL, NULL, true, id);
	writer_end(w);
}

/* "8 on 0", "2" without NUMA nodes. */
static void write_cell(struct writer *w, const char *heading, const char *amount, const char *nodes)
{
	writer_cell(w, heading, "%s%s%s", amount, *nodes ? " on " : "", nodes);
}

static void write_cpus(struct writer *w, const struct pods_row *row)
{
	char amount[32];

	writer_map(w, "cpus");
	writer_number(w, "count", NULL, true, (int64_t)row->n_cpus);
	writer_string(w, "ids", "CPU IDS", row->cpus);
	write_ids(w, "numaNodes", row->cpu_nodes);
	writer_end(w);
	snprintf(amount, sizeof(amount), "%zu", row->n_cpus);
	if (row->n_cpus > 0)
		write_cell(w, "CPUS", amount, row->cpu_nodes);
}

static void write_memory(struct writer *w, const struct pods_row *row)
{
	char amount[SHOW_AMOUNT_SIZE];

	writer_map(w, "memory");
	writer_number(w, "bytes", NULL, true, (int64_t)row->memory_bytes);
	write_ids(w, "numaNodes", row->memory_nodes);
	writer_end(w);
	show_amount_text(SHOW_BYTES, (qty_t)row->memory_bytes * QTY_UNIT, amount);
	if (row->memory_bytes > 0)
		write_cell(w, "MEMORY", amount, row->memory_nodes);
}

static void write_devices(struct writer *w, const struct pods_row *row)
{
	CLEANUP(strbuf_release) struct strbuf roots = STRBUF_INIT(ROOTS_MAX);
	char amount[80];

	writer_map(w, "devices");
	writer_number(w, "count", NULL, true, (int64_t)row->n_devices);
	write_ids(w, "numaNodes", row->device_nodes);
	writer_strings(w, "pcieRoots", &row->roots);
	writer_end(w);
	for (size_t i = 0; i < row->roots.n_items; i++)
		strbuf_addf(&roots, "%s%s", i > 0 ? "," : "", row->roots.items[i]);
	if (roots.len > 0)
		writer_cell(w, "PCIE ROOTS", "%s", roots.text);
	writer_number(w, "claimDevices", NULL, true, (int64_t)row->n_claim_devices);
	snprintf(amount, sizeof(amount), "%zu", row->n_devices + row->n_claim_devices);
	if (row->n_devices + row->n_claim_devices > 0)
		write_cell(w, "DEVICES", amount, row->is_claim_unplaced ? "?" : row->device_nodes);
}

#define NAMED 3u /* pods or nodes of a list in text */

/* The names of the pods that share the hardware, sorted. */
static void find_sharers(const struct pods_report *r, const struct pods_row *row,
	const struct shared_hardware *h, struct strv *ret)
{
	for (int i = h->pods ? hwloc_bitmap_first(h->pods) : -1; i >= 0; i = hwloc_bitmap_next(h->pods, i))
		strv_push(ret, r->names.items[row->first_name + (size_t)i]);
	strv_sort(ret);
}

/* "a, b, c, and 4 more, the shared pool" */
static void print_sharers(const struct strv *pods, bool pool, struct strbuf *out)
{
	strbuf_add_list(out, pods, NAMED);
	if (pool)
		strbuf_addf(out, "%sthe shared pool", pods->n_items > 0 ? ", " : "");
}

/* Writes which pods share the hardware: in a column of a wide table, else behind `reason`. */
static void write_sharers(struct writer *w, const struct pods_report *r, const struct pods_row *row,
	const struct shared_hardware *h, const char *key, const char *heading, const char *what,
	struct strbuf *reason)
{
	CLEANUP(strbuf_release) struct strbuf cell = STRBUF_INIT(ROOTS_MAX);
	CLEANUP(strv_release) struct strv pods = {0};

	if (!row->known || h->sharing == SHARING_UNKNOWN) {
		writer_null(w, key);
		return;
	}
	find_sharers(r, row, h, &pods);
	writer_map(w, key);
	writer_strings(w, "pods", &pods);
	writer_bool(w, "sharedPool", true, h->pool);
	writer_end(w);
	if (h->sharing != SHARING_OTHERS)
		return;
	print_sharers(&pods, h->pool, &cell);
	writer_cell(w, heading, "%s", cell.text);
	if (w->format != WRITER_WIDE)
		strbuf_addf(reason, "%s%s shared with %s", reason->len > 0 ? "; " : "", what, cell.text);
}

/* "core,L3": the hardware that others may use, too. The cell of the reason names the others. */
static void write_sharing(struct writer *w, const struct pods_report *r, const struct pods_row *row)
{
	CLEANUP(strbuf_release) struct strbuf reason = STRBUF_INIT(ROOTS_MAX);
	bool core = row->core.sharing == SHARING_OTHERS, l3 = row->l3.sharing == SHARING_OTHERS;

	strbuf_addstr(&reason, row->reason);
	writer_bool(w, "sharesCore", row->known, core);
	write_sharers(w, r, row, &row->core, "coreSharedWith", "CORES WITH", "core", &reason);
	writer_bool(w, "sharesL3", row->known && row->l3.sharing != SHARING_UNKNOWN, l3);
	write_sharers(w, r, row, &row->l3, "l3SharedWith", "L3 WITH", "L3", &reason);
	if (core || l3)
		writer_cell(w, "SHARES", "%s%s%s", core ? "core" : "", core && l3 ? "," : "", l3 ? "L3" : "");
	if (reason.len > 0)
		writer_cell(w, "REASON", "%s", reason.text);
}

static void write_row(struct writer *w, const struct pods_report *r, const struct pods_row *row)
{
	writer_row(w);
	writer_text(w, "namespace", "NAMESPACE", row->namespace);
	writer_string(w, "name", "POD", row->pod);
	writer_string(w, "node", "NODE", row->node);
	writer_string(w, "alignment", "ALIGNMENT", alignment_names[row->alignment]);
	writer_bool(w, "misaligned", row->alignment != ALIGNMENT_UNKNOWN,
		alignment_is_misaligned(row->alignment));
	writer_string(w, "reason", NULL, row->reason);
	if (row->known) {
		write_cpus(w, row);
		write_memory(w, row);
		write_devices(w, row);
	} else {
		writer_null(w, "cpus");
		writer_null(w, "memory");
		writer_null(w, "devices");
		writer_null(w, "claimDevices");
	}
	write_sharing(w, r, row);
	writer_end(w);
}

/* ---- the report */

/* "12 pods: 9 aligned, 3 remote" */
static void write_totals(struct writer *w, const struct pods_report *r)
{
	size_t counts[ALIGNMENT_COUNT] = {0};
	const char *separator = ": ";

	for (size_t i = 0; i < r->n_rows; i++)
		counts[r->rows[i].alignment]++;
	writer_map(w, "totals");
	for (enum alignment a = 0; a < ALIGNMENT_COUNT; a++)
		writer_number(w, alignment_names[a], NULL, true, (int64_t)counts[a]);
	writer_end(w);
	if (writer_is_doc(w) || !w->headings || pods_report_is_empty(r))
		return;
	strbuf_addf(w->out, "\n%zu pod%s", r->n_rows, r->n_rows == 1 ? "" : "s");
	for (enum alignment a = 0; a < ALIGNMENT_COUNT; a++) {
		if (counts[a] == 0)
			continue;
		strbuf_addf(w->out, "%s%zu %s", separator, counts[a], alignment_names[a]);
		separator = ", ";
	}
	strbuf_addch(w->out, '\n');
}

static void write_objects(struct writer *w, const struct pods_report *r)
{
	const struct strv *nodes = &r->out_of_date;

	if (r->n_compared == 0) {
		writer_null(w, "objects");
		return;
	}
	writer_map(w, "objects");
	writer_number(w, "compared", NULL, true, (int64_t)r->n_compared);
	writer_strings(w, "outOfDate", nodes);
	writer_end(w);
	if (writer_is_doc(w) || !w->headings)
		return;
	strbuf_addf(w->out, "%zu object%s: ", r->n_compared, r->n_compared == 1 ? "" : "s");
	strbuf_addstr(w->out, nodes->n_items > 0
				      ? "out of date: "
				      : "up to date with the running pods that have exclusive CPUs");
	strbuf_add_list(w->out, nodes, NAMED);
	strbuf_addch(w->out, '\n');
}

static void write_names(struct writer *w, const struct pods_report *r)
{
	for (size_t i = 0; i < r->n_rows; i++)
		writer_name(w, "pod", r->rows[i].pod);
}

void pods_report_write(struct writer *w, const struct pods_report *r, bool namespaces)
{
	static const struct column columns[] = {COLUMN("NAMESPACE"), COLUMN("POD"), COLUMN("NODE"),
		COLUMN("CPUS", .rank = 4), COLUMN("CPU IDS", .in = TABLE_WIDE), COLUMN("MEMORY", .rank = 2),
		COLUMN("DEVICES", .rank = 3), COLUMN("PCIE ROOTS", .in = TABLE_WIDE),
		COLUMN("SHARES", .rank = 1), COLUMN("CORES WITH", .in = TABLE_WIDE),
		COLUMN("L3 WITH", .in = TABLE_WIDE), COLUMN("ALIGNMENT"), COLUMN("REASON")};

	if (w->format == WRITER_NAME) {
		write_names(w, r);
		return;
	}
	writer_columns(w, columns, ARRAY_SIZE(columns));
	table_find(&w->table, "NAMESPACE")->omitted = !namespaces;
	writer_list(w, "pods");
	for (size_t i = 0; i < r->n_rows; i++)
		write_row(w, r, &r->rows[i]);
	writer_end(w);
	if (!writer_is_doc(w) && !pods_report_is_empty(r))
		writer_table(w);
	write_totals(w, r);
	write_objects(w, r);
}
