/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/node_free.h"

#include <errno.h>
#include <string.h>

#include "agent/state/inventory_build.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "scoring/cpu_manager.h"
#include "scoring/kubelet.h"

/* What pods hold of one resource, in units of it. */
struct held {
	uint64_t sum;  /* all of it */
	uint64_t sure; /* of each pod at least the most that one of its containers holds */
};

/* The end of the pod whose first item is `first`: items are sorted by pod. */
static size_t pod_end(const struct allocations *a, size_t first)
{
	size_t end = first + 1;

	/* Version 1 of the file knows containers only. */
	while (end < a->n_items && *a->items[first].pod_uid &&
		!strcmp(a->items[end].pod_uid, a->items[first].pod_uid))
		end++;
	return end;
}

/* A CPU that two pods hold counts for each, and one that is reserved counts too, as their requests do. */
static void held_cpus(const struct node_state *node, struct held *ret)
{
	const struct allocations *a = &node->allocations;
	CLEANUP(cpuset_freep) hwloc_bitmap_t pod = cpuset_new();

	*ret = (struct held){0};
	for (size_t first = 0, end; first < a->n_items; first = end) {
		size_t most = 0;

		end = pod_end(a, first);
		hwloc_bitmap_zero(pod);
		for (size_t i = first; i < end; i++) {
			size_t own = cpuset_size(a->items[i].cpus);

			cpuset_or(pod, pod, a->items[i].cpus);
			most = own > most ? own : most;
		}
		ret->sum += cpuset_size(pod);
		ret->sure += most;
	}
	/* A container that was resized keeps its CPUs, and the kubelet counts what it asks for now. */
	if (kubelet_has_gate(&node->settings, KUBELET_RESIZE_CPUS))
		ret->sure = 0;
}

static uint64_t block_bytes(const struct allocation *item, const char *type)
{
	uint64_t sum = 0;

	for (size_t b = 0; b < item->n_memory; b++)
		if (!strcmp(item->memory[b].type, type))
			sum += item->memory[b].bytes;
	return sum;
}

/* Memory or one hugepage size that containers hold, by the memory manager. */
static struct held held_bytes(const struct node_state *node, const char *type)
{
	const struct allocations *a = &node->allocations;
	struct held held = {0};

	for (size_t first = 0, end; a->memory_known && first < a->n_items; first = end) {
		uint64_t most = 0;

		end = pod_end(a, first);
		for (size_t i = first; i < end; i++) {
			uint64_t bytes = block_bytes(&a->items[i], type);

			held.sum += bytes;
			most = bytes > most ? bytes : most;
		}
		held.sure += most;
	}
	if (!strcmp(type, "memory") && kubelet_has_gate(&node->settings, KUBELET_RESIZE_MEMORY))
		held.sure = 0;
	return held;
}

static qty_t unsure_of(struct held held)
{
	return (qty_t)(held.sum - held.sure) * QTY_UNIT;
}

/*
 * What the system reserves: so many CPUs as reservedSystemCPUs lists, else kubeReserved and systemReserved together, which
 * need not be whole CPUs. Where the kubelet reports another number of CPUs than these make, they are another kubelet's.
 */
static qty_t reserved_cpu(const struct node_state *node)
{
	const struct settings *s = &node->settings;
	hwloc_const_bitmap_t set = node->reserved.observed ? node->reserved.cpus : s->reserved_system_cpus;
	bool listed = s->reserved_system_cpus && !hwloc_bitmap_iszero(s->reserved_system_cpus);
	qty_t sum = s->kube_reserved_cpu + s->system_reserved_cpu;

	if (s->reserved_cpu_known && !listed && (!set || cpuset_size(set) == cpu_manager_reserved_count(sum)))
		return sum;
	return set ? (qty_t)cpuset_size(set) * QTY_UNIT : 0;
}

/* CPUs that the kubelet counts, less what the system reserves and what is held exclusively. */
static void free_cpus(const struct node_state *node, qty_t *ret, qty_t *ret_unsure)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t all = NULL;
	struct held held;

	held_cpus(node, &held);
	machine_counted_cpus(&node->machine, &all);
	*ret = ((qty_t)cpuset_size(all) - (qty_t)held.sum) * QTY_UNIT - reserved_cpu(node);
	*ret_unsure = unsure_of(held);
}

qty_t node_free_eviction_threshold(const struct node_state *node)
{
	struct quantity q;
	const char *text = node->settings.eviction_hard_memory;
	size_t len = text ? strlen(text) : 0;

	if (len == 0)
		return 0;
	if (text[len - 1] == '%') { /* the kubelet holds the share in 32 bits */
		float share = strtof(text, NULL) / 100;
		double bytes = (double)(int64_t)node->machine.memory_bytes * (double)share;

		return bytes >= 0 && bytes < (double)INT64_MAX ? (qty_t)(int64_t)bytes * QTY_UNIT : 0;
	}
	return quantity_parse(text, &q, NULL) == 0 ? q.nano : 0;
}

/* Memory that is not in hugepages, as the node's allocatable amount counts it. */
static qty_t free_memory(const struct node_state *node)
{
	const struct settings *s = &node->settings;
	qty_t capacity = (qty_t)node->machine.memory_bytes * QTY_UNIT, hugepages = 0;

	for (size_t i = 0; i < node->machine.n_nodes; i++) {
		const struct numa_node *numa = &node->machine.nodes[i];

		for (size_t p = 0; p < numa->n_pools; p++)
			hugepages += (qty_t)(numa->pools[p].page_bytes * numa->pools[p].pages) * QTY_UNIT;
	}
	return capacity - hugepages - s->kube_reserved_memory - s->system_reserved_memory -
	       node_free_eviction_threshold(node) - (qty_t)held_bytes(node, "memory").sum * QTY_UNIT;
}

static void set_amount(
	struct resource_list *list, const char *name, qty_t amount, enum quantity_format format)
{
	resource_list_set(list, name, (struct quantity){.nano = amount, .format = format});
}

/* Memory or one hugepage size. */
static void set_bytes(const struct node_state *node, const char *name, qty_t free, struct resource_list *ret,
	struct resource_list *ret_unsure)
{
	set_amount(ret, name, free, QUANTITY_BINARY_SI);
	set_amount(ret_unsure, name, unsure_of(held_bytes(node, name)), QUANTITY_BINARY_SI);
}

void node_free_amounts(
	const struct node_state *node, struct resource_list *ret, struct resource_list *ret_unsure)
{
	qty_t cpus, unsure;

	free_cpus(node, &cpus, &unsure);
	set_amount(ret, "cpu", cpus, QUANTITY_DECIMAL_SI);
	set_amount(ret_unsure, "cpu", unsure, QUANTITY_DECIMAL_SI);
	if (node->machine.memory_bytes > 0)
		set_bytes(node, "memory", free_memory(node), ret, ret_unsure);
}

void node_free_pages(const struct node_state *node, const char *name, struct resource_list *ret,
	struct resource_list *ret_unsure)
{
	int resource = inventory_resource(&node->inventory, name);
	qty_t sum = 0;

	if (inventory_free_pages(&node->machine, &node->settings, &node->allocations, name, &sum)) {
		set_bytes(node, name, sum, ret, ret_unsure);
		return;
	}
	for (size_t i = 0; i < node->inventory.n_nodes && resource >= 0; i++)
		sum = qty_add(sum, inventory_amount(&node->inventory, i, (size_t)resource)->available);
	set_bytes(node, name, sum, ret, ret_unsure);
}
