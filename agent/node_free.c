/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node_free.h"

#include <errno.h>

#include "agent/model.h"
#include "common/cleanup.h"
#include "common/resource_name.h"

/* CPUs that are online, less what the system reserves and what is held exclusively. */
static int free_cpus(const struct fit_input *in, qty_t *ret)
{
	const struct settings *s = in->settings;
	CLEANUP(cpuset_freep) hwloc_bitmap_t held = model_exclusive_cpus(in->allocations);
	hwloc_const_bitmap_t reserved = in->reserved ? in->reserved : s->reserved_system_cpus;
	qty_t taken;

	if (!held || hwloc_bitmap_and(held, held, in->machine->online) < 0)
		return -ENOMEM;
	if (reserved && hwloc_bitmap_andnot(held, held, reserved) < 0)
		return -ENOMEM;
	taken = (qty_t)cpuset_size(held) * QTY_UNIT;
	if (reserved && !hwloc_bitmap_iszero(reserved))
		taken += (qty_t)cpuset_size(reserved) * QTY_UNIT;
	else if (s->reserved_cpu_known)
		taken += s->kube_reserved_cpu + s->system_reserved_cpu;
	*ret = (qty_t)in->machine->n_cpus * QTY_UNIT - taken;
	return 0;
}

/* evictionHard's memory.available, an amount or a share of the capacity; 0 when it is not known. */
static qty_t eviction_threshold(const struct settings *s, qty_t capacity)
{
	struct quantity q;
	const char *text = s->eviction_hard_memory;
	size_t len = text ? strlen(text) : 0;

	if (len == 0)
		return 0;
	if (text[len - 1] == '%') { /* the kubelet holds the share in 32 bits */
		float share = strtof(text, NULL) / 100;
		double bytes = (double)(int64_t)(capacity / QTY_UNIT) * (double)share;

		return bytes >= 0 && bytes < (double)INT64_MAX ? (qty_t)(int64_t)bytes * QTY_UNIT : 0;
	}
	return quantity_parse(text, &q, NULL) == 0 ? q.nano : 0;
}

/* Memory or one hugepage size that containers hold, by the memory manager. */
static qty_t held_bytes(const struct allocations *a, const char *type)
{
	qty_t held = 0;

	for (size_t i = 0; a->memory_known && i < a->memory.n_nodes; i++) {
		const struct memory_table *table = memory_node_table(&a->memory.nodes[i], type);

		if (table && table->allocatable > table->free)
			held += (qty_t)(table->allocatable - table->free) * QTY_UNIT;
	}
	return held;
}

/* Memory that is no hugepage, as the node's allocatable amount counts it. */
static qty_t free_memory(const struct fit_input *in)
{
	const struct settings *s = in->settings;
	qty_t capacity = (qty_t)in->machine->memory_bytes * QTY_UNIT, hugepages = 0;

	for (size_t i = 0; i < in->machine->n_nodes; i++) {
		const struct numa_node *node = &in->machine->nodes[i];

		for (size_t p = 0; p < node->n_pools; p++)
			hugepages += (qty_t)(node->pools[p].page_bytes * node->pools[p].pages) * QTY_UNIT;
	}
	return capacity - hugepages - s->kube_reserved_memory - s->system_reserved_memory -
	       eviction_threshold(s, capacity) - held_bytes(in->allocations, "memory");
}

static qty_t free_pages(const struct fit_input *in, const char *name)
{
	int resource = inventory_resource(in->inventory, name);
	qty_t sum = 0;

	for (size_t i = 0; i < in->inventory->n_nodes && resource >= 0; i++)
		sum = qty_add(sum, inventory_amount(in->inventory, i, (size_t)resource)->available);
	return sum;
}

int node_free_amounts(
	const struct fit_input *in, const struct resource_list *wanted, struct resource_list *ret)
{
	struct quantity q = {.format = QUANTITY_DECIMAL_SI};
	int r = free_cpus(in, &q.nano);

	if (r == 0)
		r = resource_list_set(ret, "cpu", q);
	q = (struct quantity){.nano = free_memory(in), .format = QUANTITY_BINARY_SI};
	if (r == 0 && inventory_resource(in->inventory, "memory") >= 0)
		r = resource_list_set(ret, "memory", q);
	for (size_t i = 0; i < wanted->n_items && r == 0; i++) {
		const char *name = wanted->items[i].name;

		if (!resource_name_is_hugepages(name))
			continue;
		q.nano = free_pages(in, name);
		r = resource_list_set(ret, name, q);
	}
	return r;
}
