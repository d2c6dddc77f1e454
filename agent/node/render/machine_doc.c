/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/render/machine_doc.h"

#include <errno.h>

#include "common/cleanup.h"

/* An id, or null for MACHINE_NONE. */
static const struct doc *add_id(struct doc *map, const char *key, int id)
{
	return id == MACHINE_NONE ? doc_add(map, key) : doc_add_number(map, key, id);
}

static const struct doc *add_set(struct doc *map, const char *key, hwloc_const_bitmap_t set)
{
	CLEANUP(freep) char *text = cpuset_print(set);

	return doc_add_string(map, key, text);
}

static void add_cpus(const struct machine *m, struct doc *top)
{
	struct doc *list = doc_add_list(top, "cpus");

	for (size_t i = 0; i < m->n_cpus; i++) {
		const struct cpu *cpu = &m->cpus[i];
		struct doc *map = doc_add_map(list, NULL);

		doc_add_number(map, "id", cpu->id);
		doc_add_number(map, "core", cpu->core);
		if (cpu->hardware_core != cpu->core)
			doc_add_number(map, "hardwareCore", cpu->hardware_core);
		add_id(map, "socket", cpu->socket);
		add_id(map, "numaNode", cpu->numa);
		add_id(map, "l3Cache", cpu->l3);
		add_id(map, "uncoreCache", cpu->uncore);
	}
}

static void add_sockets(const struct machine *m, struct doc *top)
{
	struct doc *list = doc_add_list(top, "sockets");

	for (size_t i = 0; i < m->n_sockets; i++) {
		struct doc *map = doc_add_map(list, NULL);

		add_id(map, "id", m->sockets[i].id);
		add_set(map, "cpus", m->sockets[i].cpus);
	}
}

static void add_node(const struct numa_node *node, struct doc *list)
{
	struct doc *map = doc_add_map(list, NULL), *pools;

	doc_add_number(map, "id", node->id);
	add_id(map, "socket", node->socket);
	add_set(map, "cpus", node->cpus);
	doc_add_number(map, "memoryBytes", (int64_t)node->memory_bytes);
	pools = doc_add_list(map, "hugepages");
	for (size_t i = 0; i < node->n_pools; i++) {
		struct doc *pool = doc_add_map(pools, NULL);

		doc_add_number(pool, "pageBytes", (int64_t)node->pools[i].page_bytes);
		doc_add_number(pool, "pages", (int64_t)node->pools[i].pages);
	}
}

static void add_nodes(const struct machine *m, struct doc *top)
{
	struct doc *list = doc_add_list(top, "numaNodes");

	for (size_t i = 0; i < m->n_nodes; i++)
		add_node(&m->nodes[i], list);
}

static void add_distances(const struct machine *m, struct doc *top)
{
	struct doc *rows = doc_add_list(top, "distances");

	for (size_t from = 0; m->distances && from < m->n_nodes; from++) {
		struct doc *row = doc_add_list(rows, NULL);

		for (size_t to = 0; to < m->n_nodes; to++) {
			unsigned distance = machine_distance(m, from, to);

			if (distance == 0)
				doc_add(row, NULL);
			else
				doc_add_number(row, NULL, distance);
		}
	}
}

void machine_to_doc(const struct machine *m, struct doc *ret)
{
	ret->kind = DOC_MAP;
	add_cpus(m, ret);
	add_set(ret, "offlineCPUs", m->offline);
	add_sockets(m, ret);
	doc_add_number(ret, "memoryBytes", (int64_t)m->memory_bytes);
	add_nodes(m, ret);
	add_distances(m, ret);
}
