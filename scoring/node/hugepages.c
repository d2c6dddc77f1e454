/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/node/hugepages.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "common/strbuf.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node/node_derive.h"

const char *const hugepages_problem_texts[HUGEPAGES_PROBLEM_COUNT] = {
	"the memory manager aligns them",
	"the kubelet aligns neither CPUs nor memory",
	"the memory manager's policy is not known",
	"all are on one NUMA node: containers on other NUMA nodes get them from there or are rejected",
	"the memory manager's policy None does not align them: a pod's pages may be on any NUMA node",
	"the kubelet has counted other pages at its start, and admits pods by that number",
};

const char *const hugepages_remedies[HUGEPAGES_PROBLEM_COUNT] = {
	"",
	"",
	"",
	"write the number of pages into /sys/devices/system/node/nodeN/hugepages/hugepages-SIZEkB/nr_hugepages of each NUMA node at boot, before the kubelet starts",
	"set memoryManagerPolicy: Static in the kubelet's configuration, and reservedMemory with as much memory as kubeReserved, systemReserved and evictionHard have together",
	"drain the node, stop the kubelet, remove memory_manager_state, and start the kubelet: it counts hugepages only at its start, and does not start with the old file",
};

void hugepages_list_release(struct hugepages_list *l)
{
	for (size_t i = 0; i < l->n_items; i++)
		free(l->items[i].where);
	free(l->items);
	*l = (struct hugepages_list){0};
}

/* "4Gi on NUMA node 0, 2Gi on NUMA node 1" or "4Gi on each of 2 NUMA nodes". */
static char *print_where(const struct machine *m, uint64_t page_bytes)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(1u << 17);
	uint64_t first = machine_node_pages(&m->nodes[0], page_bytes);
	bool equal = m->n_nodes > 1;

	for (size_t i = 0; i < m->n_nodes; i++) {
		uint64_t bytes = machine_node_pages(&m->nodes[i], page_bytes);
		char text[QUANTITY_TEXT_MAX];

		equal = equal && bytes == first;
		if (bytes == 0)
			continue;
		quantity_print((struct quantity){(qty_t)bytes * QTY_UNIT, QUANTITY_BINARY_SI}, text);
		strbuf_addf(&out, "%s%s on NUMA node %u", out.len > 0 ? ", " : "", text, m->nodes[i].id);
	}
	if (equal) {
		char text[QUANTITY_TEXT_MAX];

		quantity_print((struct quantity){(qty_t)first * QTY_UNIT, QUANTITY_BINARY_SI}, text);
		strbuf_reset(&out);
		strbuf_addf(&out, "%s on each of %zu NUMA nodes", text, m->n_nodes);
	}
	return strbuf_detach(&out);
}

/* `n_with_pages` and `n_with_cpus`: the NUMA nodes with pages and with CPUs. On one NUMA node with CPUs nothing needs to be aligned. */
static enum hugepages_problem classify_pages(
	const struct node_state *node, bool uncounted, size_t n_with_pages, size_t n_with_cpus)
{
	if (uncounted)
		return HUGEPAGES_UNCOUNTED;
	if (n_with_cpus < 2)
		return HUGEPAGES_FINE;
	if (n_with_pages == 1)
		return HUGEPAGES_ONE_NODE;
	if (node->settings.memory_manager == MEMORY_MANAGER_STATIC)
		return HUGEPAGES_FINE;
	if (node->settings.memory_manager == MEMORY_MANAGER_UNKNOWN)
		return HUGEPAGES_UNKNOWN;
	return node->settings.cpu_manager == CPU_MANAGER_NONE ? HUGEPAGES_NO_POLICY : HUGEPAGES_UNALIGNED;
}

/* Adds the pages of one size. The pages are uncounted if the kubelet found another number of pages at its start. */
static void add_page_size(const struct node_state *node, uint64_t page_bytes, struct hugepages_list *ret)
{
	struct hugepages h = {.bytes = 0};
	size_t n_with_pages = 0, n_with_cpus = 0;
	bool uncounted = false;

	resource_name_of_hugepages(page_bytes, h.name);
	for (size_t i = 0; i < node->machine.n_nodes; i++) {
		const struct numa_node *n = &node->machine.nodes[i];
		uint64_t bytes = machine_node_pages(n, page_bytes);
		const struct memory_table *table =
			memory_node_table(allocations_memory_node(&node->allocations, n->id), h.name);

		if (!hwloc_bitmap_iszero(n->cpus))
			n_with_cpus++;
		if (bytes > 0)
			n_with_pages++;
		/* A NUMA node that the kubelet did not find has no table. On a kernel without NUMA no table has the pages (DEFECTS.md, K13). */
		if (node->allocations.memory_known && !node->machine.without_numa &&
			bytes != (table ? table->total : 0))
			uncounted = true;
		h.bytes += bytes;
		h.reserved += table ? table->system_reserved
				    : node_derive_reserved_memory(&node->settings, n->id, h.name);
		h.assigned += table ? table->reserved : 0;
	}
	if (h.bytes == 0)
		return;
	h.where = print_where(&node->machine, page_bytes);
	h.problem = classify_pages(node, uncounted, n_with_pages, n_with_cpus);
	*(struct hugepages *)vec_push(&ret->items, &ret->n_items, &ret->items_size, sizeof(h)) = h;
}

void hugepages_find(const struct node_state *node, struct hugepages_list *ret)
{
	const struct machine *m = &node->machine;

	*ret = (struct hugepages_list){0};
	for (uint64_t size = machine_next_page_size(m, 0); size > 0; size = machine_next_page_size(m, size))
		add_page_size(node, size, ret);
}
