/* SPDX-License-Identifier: Apache-2.0 */
/* Renders the annotations of pods that KAI-Scheduler reads. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/render/render.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/io/node_name.h"
#include "common/text.h"

/* What a pod holds of one resource on one NUMA node. */
struct amount {
	char zone[24];        /* "node-1" */
	const char *resource; /* borrowed from the node state */
	uint64_t units;
};

struct amounts {
	struct amount *items;
	size_t n_items;
	size_t items_size;
};

static void node_amounts_release(struct amounts *a)
{
	free(a->items);
}

void kai_pods_release(struct kai_pods *p)
{
	for (size_t i = 0; i < p->n_items; i++) {
		free(p->items[i].namespace);
		free(p->items[i].name);
		free(p->items[i].uid);
		free(p->items[i].value);
	}
	free(p->items);
	*p = (struct kai_pods){0};
}

static void add_node_amount(struct amounts *all, unsigned node, const char *resource, uint64_t units)
{
	char zone[sizeof(all->items->zone)];
	struct amount *a;

	if (units == 0)
		return;
	snprintf(zone, sizeof(zone), "node-%u", node);
	for (size_t i = 0; i < all->n_items; i++)
		if (!strcmp(all->items[i].zone, zone) && !strcmp(all->items[i].resource, resource)) {
			all->items[i].units += units;
			return;
		}
	a = vec_push(&all->items, &all->n_items, &all->items_size, sizeof(*a));
	memcpy(a->zone, zone, sizeof(zone));
	a->resource = resource;
	a->units = units;
}

static void add_memory_on_nodes(const struct allocation *a, struct amounts *all)
{
	for (size_t i = 0; i < a->n_memory; i++) {
		const struct memory_block *block = &a->memory[i];

		if (hwloc_bitmap_weight(block->nodes) == 1)
			add_node_amount(
				all, (unsigned)hwloc_bitmap_first(block->nodes), block->type, block->bytes);
	}
}

static void add_devices_on_nodes(const struct allocation *a, struct amounts *all)
{
	for (size_t i = 0; i < a->n_devices; i++) {
		const struct device_block *block = &a->devices[i];
		hwloc_const_bitmap_t nodes = block->nodes;

		for (int id = hwloc_bitmap_first(nodes); id >= 0; id = hwloc_bitmap_next(nodes, id))
			add_node_amount(all, (unsigned)id, block->resource, block->ids.n_items);
	}
}

/* By bytes: KAI's exporter, written in Go, sorts the zones' names and the keys of maps so. */
static int compare_amounts(const void *va, const void *vb)
{
	const struct amount *a = va, *b = vb;
	int order = strcmp(a->zone, b->zone);

	return order ? order : strcmp(a->resource, b->resource);
}

/* The annotation's value, a new string; NULL if the value exceeds KAI_VALUE_MAX. Sorts the amounts. */
static char *print_node_amounts(struct amounts *all)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(KAI_VALUE_MAX);
	CLEANUP(doc_release) struct doc zones = {.kind = DOC_LIST};
	struct doc *amount = NULL;

	qsort(all->items, all->n_items, sizeof(*all->items), compare_amounts);
	for (size_t i = 0; i < all->n_items; i++) {
		const struct amount *a = &all->items[i];
		char quantity[QUANTITY_TEXT_MAX];

		if (i == 0 || strcmp(a->zone, a[-1].zone) != 0) {
			struct doc *zone = doc_add_map(&zones, NULL);

			doc_add_string(zone, "zone", a->zone);
			amount = doc_add_map(zone, "amount");
		}
		/* Amounts are far below 2^63: the mask only makes the conversion defined. */
		quantity_print(quantity_from_units((int64_t)(a->units & INT64_MAX)), quantity);
		doc_add_string(amount, a->resource, quantity);
	}
	return json_print_compact(&zones, &text) < 0 ? NULL : strbuf_detach(&text);
}

/* Whether the API server can have the pod: the names become part of a URL. */
static bool has_valid_name(const struct allocation *a)
{
	return !a->named_by_logs && node_name_check(a->namespace, NULL) == 0 &&
	       node_name_check(a->pod, NULL) == 0;
}

/* Adds the pod of the items from `from` to before `to`. Joins their CPUs before counting, because several containers
 * of a pod may list the same CPU. */
static void add_kai_pod(
	const struct node_state *node, size_t from, size_t to, struct kai_pods *ret, struct notes *notes)
{
	const struct machine *m = &node->machine;
	const struct allocation *items = node->allocations.items;
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = cpuset_new();
	CLEANUP(node_amounts_release) struct amounts all = {0};
	struct kai_pod *pod;
	char *value;

	for (size_t i = from; i < to; i++) {
		if (items[i].unlisted)
			continue;
		cpuset_or(cpus, cpus, items[i].cpus);
		add_memory_on_nodes(&items[i], &all);
		add_devices_on_nodes(&items[i], &all);
	}
	for (size_t i = 0; i < m->n_cpus; i++)
		if (m->cpus[i].numa != MACHINE_NONE && hwloc_bitmap_isset(cpus, m->cpus[i].id))
			add_node_amount(&all, (unsigned)m->cpus[i].numa, "cpu", 1);
	if (all.n_items == 0)
		return;
	value = print_node_amounts(&all);
	if (!value) {
		notes_add(notes, "pod %s/%s has no annotation " KAI_OBSERVED ": it would exceed %u bytes",
			items[from].namespace, items[from].pod, KAI_VALUE_MAX);
		return;
	}
	pod = vec_push(&ret->items, &ret->n_items, &ret->items_size, sizeof(*pod));
	pod->value = value;
	text_set(&pod->namespace, items[from].namespace);
	text_set(&pod->name, items[from].pod);
	text_set(&pod->uid, items[from].pod_uid);
}

void kai_render(const struct node_state *node, struct kai_pods *ret, struct notes *notes)
{
	const struct allocations *a = &node->allocations;

	for (size_t i = 0, next; i < a->n_items; i = next) {
		const struct allocation *first = &a->items[i];

		for (next = i; next < a->n_items && allocation_same_pod(first, &a->items[next]); next++)
			;
		if (has_valid_name(first))
			add_kai_pod(node, i, next, ret, notes);
	}
}
