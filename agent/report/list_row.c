/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report/list_row.h"

#include <errno.h>

#include "agent/state/node_admission.h"
#include "common/cleanup.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/request.h"

/* ---- what is there */

static unsigned whole(qty_t nano)
{
	return nano <= 0 ? 0 : nano / QTY_UNIT > UINT32_MAX ? UINT32_MAX : (unsigned)(nano / QTY_UNIT);
}

static void fill_numa(struct list_row *row, const struct inventory *inv)
{
	int cpu = inventory_resource(inv, "cpu");

	row->numa = xcalloc(inv->n_nodes + 1, sizeof(*row->numa));
	row->n_numa = inv->n_nodes;
	for (size_t i = 0; i < inv->n_nodes; i++) {
		struct list_numa *numa = &row->numa[i];
		const struct inventory_amount *amount =
			cpu >= 0 ? inventory_amount(inv, i, (size_t)cpu) : NULL;

		numa->id = inv->nodes[i].id;
		if (!amount || !amount->present)
			continue;
		numa->has_cpus = true;
		numa->free = whole(amount->available);
		numa->allocatable = whole(amount->allocatable);
		row->free += numa->free;
		row->allocatable += numa->allocatable;
	}
}

static int by_resource(const void *a, const void *b)
{
	return strcmp(((const struct list_device *)a)->resource, ((const struct list_device *)b)->resource);
}

static void fill_devices(struct list_row *row, const struct device_inventory *devices)
{
	row->devices = xcalloc(devices->n_resources + 1, sizeof(*row->devices));
	for (size_t i = 0; i < devices->n_resources; i++) {
		const struct device_resource *resource = &devices->resources[i];
		struct list_device *device = &row->devices[i];

		device->resource = xstrdup(resource->name);
		row->n_devices++;
		for (size_t d = 0; d < resource->n_devices; d++) {
			device->healthy += resource->devices[d].healthy;
			device->free += resource->devices[d].healthy && !resource->devices[d].allocated;
		}
	}
	qsort(row->devices, row->n_devices, sizeof(*row->devices), by_resource);
}

/* ---- what the kubelet would admit */

static struct list_number rest(size_t free, size_t used)
{
	return (struct list_number){.known = true, .n = free > used ? free - used : 0};
}

/* The free CPUs that copies of the shape leave. */
static void strand_by_shape(
	struct list_row *row, struct node_admission *admission, const struct pod_request *shape)
{
	CLEANUP(resource_list_release) struct resource_list wanted = {0};
	const struct resource_quantity *cpus;
	struct pod_copies copies = {0};

	request_of_node(shape, &wanted);
	cpus = resource_list_find(&wanted, "cpu");
	if (!cpus || cpus->quantity.nano <= 0)
		return;
	node_admission_copies(admission, shape, &copies);
	if (copies.known && !copies.at_least)
		row->stranded = rest(row->free, whole(cpus->quantity.nano * (qty_t)copies.n));
}

static void fill_verdicts(
	struct list_row *row, struct node_admission *admission, const struct pod_request *shape)
{
	CLEANUP(exclusive_cpus_admitted_release) struct exclusive_cpus_admitted admitted = {0};

	exclusive_cpus_find(&admission->kubelet, &admitted);
	row->unknown = xstrdup(admitted.unknown.text);
	for (unsigned i = 0; i < LIST_LARGEST; i++)
		row->largest[i].known =
			node_admission_largest(admission, &admitted, i + 1, &row->largest[i].n);
	if (shape) {
		strand_by_shape(row, admission, shape);
		return;
	}
	row->stranded.known = !*row->unknown;
	if (row->stranded.known)
		row->stranded.n = node_admission_stranded_cpus(admission, &admitted);
}

void list_row_fill(struct list_row *row, struct node_admission *admission, const struct pod_request *shape)
{
	fill_numa(row, &admission->state->inventory);
	row->policy = admission->settings.topology.policy;
	row->scope = admission->settings.topology.scope;
	fill_devices(row, &admission->devices);
	fill_verdicts(row, admission, shape);
}

static void devices_release(struct list_device *devices, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(devices[i].resource);
	free(devices);
}

void list_row_release(struct list_row *row)
{
	free(row->name);
	free(row->exporter);
	free(row->unknown);
	free(row->numa);
	devices_release(row->devices, row->n_devices);
	*row = (struct list_row){0};
}

/* ---- totals */

static void add_device(struct list_totals *t, const struct list_device *device)
{
	struct list_device *sum =
		t->n_devices > 0 ? bsearch(device, t->devices, t->n_devices, sizeof(*t->devices), by_resource)
				 : NULL;

	if (!sum) {
		char *resource = xstrdup(device->resource);

		sum = vec_push(&t->devices, &t->n_devices, &t->devices_size, sizeof(*t->devices));
		*sum = (struct list_device){resource, device->free, device->healthy};
		qsort(t->devices, t->n_devices, sizeof(*t->devices), by_resource);
		return;
	}
	sum->free += device->free;
	sum->healthy += device->healthy;
}

void list_totals(const struct list_row *rows, size_t n, struct list_totals *ret)
{
	CLEANUP(list_totals_release) struct list_totals t = {.n_nodes = n};

	for (const struct list_row *row = rows; row < rows + n; row++) {
		t.n_estimated += row->basis == CLUSTER_ESTIMATED;
		t.free += row->free;
		t.allocatable += row->allocatable;
		t.stranded.known |= row->stranded.known;
		t.stranded.n += row->stranded.n;
		for (unsigned i = 0; i < LIST_LARGEST; i++) {
			t.largest[i].known |= row->largest[i].known;
			if (row->largest[i].n > t.largest[i].n)
				t.largest[i].n = row->largest[i].n;
		}
		for (size_t d = 0; d < row->n_devices; d++)
			add_device(&t, &row->devices[d]);
	}
	*ret = t;
	t = (struct list_totals){0};
}

void list_totals_release(struct list_totals *t)
{
	devices_release(t->devices, t->n_devices);
	*t = (struct list_totals){0};
}
