/* SPDX-License-Identifier: Apache-2.0 */
#include "common/machine.h"

#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/vec.h"
#include "common/xalloc.h"

void machine_init(struct machine *m)
{
	memset(m, 0, sizeof(*m));
}

void machine_release(struct machine *m)
{
	for (size_t i = 0; i < m->n_nodes; i++) {
		hwloc_bitmap_free(m->nodes[i].cpus);
		free(m->nodes[i].pools);
	}
	for (size_t i = 0; i < m->n_sockets; i++)
		hwloc_bitmap_free(m->sockets[i].cpus);
	free(m->cpus);
	free(m->nodes);
	free(m->sockets);
	free(m->distances);
	pci_devices_release(&m->pci);
	hwloc_bitmap_free(m->online);
	hwloc_bitmap_free(m->offline);
	hwloc_bitmap_free(m->isolated);
	machine_init(m);
}

static int by_cpu_id(const void *a, const void *b)
{
	const struct cpu *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int by_node_id(const void *a, const void *b)
{
	const struct numa_node *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int by_socket_id(const void *a, const void *b)
{
	const struct socket_info *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

/* By L3 cache, then CPU id. */
static int by_l3(const void *a, const void *b)
{
	const struct cpu *const *x = a, *const *y = b;

	if ((*x)->l3 != (*y)->l3)
		return (*x)->l3 < (*y)->l3 ? -1 : 1;
	return by_cpu_id(*x, *y);
}

/* Position of the CPU in cpus[], or n_cpus. */
static size_t cpu_index(const struct machine *m, unsigned id)
{
	size_t lo = 0, hi = m->n_cpus;

	if (id < hi && m->cpus[id].id == id) /* nearly always: no CPU is offline */
		return id;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->cpus[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < m->n_cpus && m->cpus[lo].id == id ? lo : m->n_cpus;
}

/* Add a CPU to its socket; create the socket if the machine does not have it yet. */
static void add_to_socket(struct machine *m, const struct cpu *cpu)
{
	struct socket_info *socket = NULL;

	for (size_t i = 0; i < m->n_sockets && !socket; i++)
		if (m->sockets[i].id == cpu->socket)
			socket = &m->sockets[i];
	if (!socket) {
		socket = vec_push(&m->sockets, &m->n_sockets, &m->sockets_size, sizeof(*socket));
		*socket = (struct socket_info){.id = cpu->socket, .cpus = cpuset_new()};
	}
	cpuset_set(socket->cpus, cpu->id);
}

/* The socket that has all CPUs of the node; MACHINE_NONE without CPUs, or if they are of several sockets. */
static int find_socket_of_node(const struct machine *m, const struct numa_node *node)
{
	if (hwloc_bitmap_iszero(node->cpus))
		return MACHINE_NONE;
	for (size_t i = 0; i < m->n_sockets; i++)
		if (hwloc_bitmap_isincluded(node->cpus, m->sockets[i].cpus))
			return m->sockets[i].id;
	return MACHINE_NONE;
}

/*
 * Sets cpu.uncore by the kubelet's rule (machine_derive()): the L3 cache; or the socket, if the L3 is unknown or has as many CPUs
 * as the NUMA node. `threads`: CPUs per core, by core id. `cores`: cores per NUMA node, by the node's position.
 */
static void fill_uncore(struct machine *m, const size_t *threads, const size_t *cores)
{
	CLEANUP(freep) struct cpu **order = xcalloc(m->n_cpus + 1, sizeof(struct cpu *));
	size_t end;

	for (size_t i = 0; i < m->n_cpus; i++)
		order[i] = &m->cpus[i];
	qsort(order, m->n_cpus, sizeof(struct cpu *), by_l3);
	for (size_t start = 0; start < m->n_cpus; start = end) { /* for each L3 cache */
		for (end = start + 1; end < m->n_cpus && order[end]->l3 == order[start]->l3;)
			end++;
		for (size_t i = start; i < end; i++) {
			struct cpu *cpu = order[i];
			int node = cpu->numa < 0 ? -1 : machine_node_index(m, (unsigned)cpu->numa);
			size_t node_cpus = node < 0 ? 0 : cores[node] * threads[cpu->core];

			cpu->uncore = cpu->l3 < 0 || end - start == node_cpus ? cpu->socket : cpu->l3;
		}
	}
}

/* Counts the CPUs of each core and the cores of each NUMA node, from which fill_uncore() sees whether an L3 cache spans the node. */
static void derive_uncore(struct machine *m)
{
	size_t n_ids = m->n_cpus > 0 ? m->cpus[m->n_cpus - 1].id + 1 : 0;
	CLEANUP(freep) size_t *threads = xcalloc(n_ids + 1, sizeof(*threads));
	CLEANUP(freep) size_t *cores = xcalloc(m->n_nodes + 1, sizeof(*cores));

	for (size_t i = 0; i < m->n_cpus; i++) {
		const struct cpu *cpu = &m->cpus[i];
		int node = cpu->numa < 0 ? -1 : machine_node_index(m, (unsigned)cpu->numa);

		threads[cpu->core]++;
		if (cpu->id == cpu->core && node >= 0) /* once per core: at its lowest CPU */
			cores[node]++;
	}
	fill_uncore(m, threads, cores);
}

static void derive_sockets(struct machine *m)
{
	for (size_t i = 0; i < m->n_cpus; i++) {
		const struct cpu *cpu = &m->cpus[i];

		cpuset_set(m->online, cpu->id);
		if (cpu->socket != MACHINE_NONE)
			add_to_socket(m, cpu);
	}
	if (m->n_sockets > 0)
		qsort(m->sockets, m->n_sockets, sizeof(*m->sockets), by_socket_id);
}

/* The kubelet lists node directories by name (node0, node1, node10, node2); a CPU belongs to the last
 * directory that lists the CPU. */
static bool listed_after(unsigned node, unsigned other)
{
	char a[16], b[16];

	snprintf(a, sizeof(a), "%u", node);
	snprintf(b, sizeof(b), "%u", other);
	return strcmp(a, b) > 0;
}

static void derive_nodes(struct machine *m)
{
	for (size_t i = 0; i < m->n_cpus; i++)
		m->cpus[i].numa = MACHINE_NONE;
	for (size_t i = 0; i < m->n_nodes; i++) {
		struct numa_node *node = &m->nodes[i];

		if (!node->cpus) /* all CPUs */
			node->cpus = cpuset_dup(m->online);
		cpuset_and(node->cpus, node->cpus, m->online);
		node->socket = find_socket_of_node(m, node);
		for (int id = hwloc_bitmap_first(node->cpus); id >= 0;
			id = hwloc_bitmap_next(node->cpus, id)) {
			struct cpu *cpu = &m->cpus[cpu_index(m, (unsigned)id)];

			if (cpu->numa == MACHINE_NONE || listed_after(node->id, (unsigned)cpu->numa))
				cpu->numa = (int)node->id;
		}
	}
}

static int compare_ints(int a, int b)
{
	return (a > b) - (a < b);
}

/* Orders the CPUs of one core, as the kubelet sees it, next to each other. */
static int by_core_name(const void *a, const void *b)
{
	const struct cpu *x = *(const struct cpu *const *)a, *y = *(const struct cpu *const *)b;
	int r = compare_ints(x->core_name.known, y->core_name.known);

	r = r != 0 ? r : compare_ints(x->numa, y->numa);
	r = r != 0 ? r : compare_ints(x->socket, y->socket);
	r = r != 0 ? r : compare_ints(x->core_name.drawer, y->core_name.drawer);
	r = r != 0 ? r : compare_ints(x->core_name.book, y->core_name.book);
	return r != 0 ? r : compare_ints(x->core_name.core, y->core_name.core);
}

static int by_core_name_and_id(const void *a, const void *b)
{
	int r = by_core_name(a, b);

	return r != 0 ? r : by_cpu_id(*(const struct cpu *const *)a, *(const struct cpu *const *)b);
}

/* On entry cpu.core is the hardware's core, afterwards the kubelet's (machine_derive()). Both are the core's lowest CPU id. */
static void derive_cores(struct machine *m)
{
	CLEANUP(freep) struct cpu **order = xcalloc(m->n_cpus + 1, sizeof(struct cpu *));
	unsigned first = 0;

	m->n_cores = 0;
	for (size_t i = 0; i < m->n_cpus; i++) {
		order[i] = &m->cpus[i];
		m->cpus[i].hardware_core = m->cpus[i].core;
		m->n_cores += m->cpus[i].id == m->cpus[i].core;
	}
	qsort(order, m->n_cpus, sizeof(struct cpu *), by_core_name_and_id);
	for (size_t i = 0; i < m->n_cpus; i++) {
		if (i == 0 || by_core_name(&order[i - 1], &order[i]) != 0)
			first = order[i]->id;
		if (order[i]->core_name.known && order[i]->numa != MACHINE_NONE)
			order[i]->core = first;
	}
}

hwloc_bitmap_t machine_own_cpus(const struct machine *m, size_t node)
{
	hwloc_bitmap_t set = cpuset_dup(m->nodes[node].cpus);

	for (int id = hwloc_bitmap_first(set); id >= 0; id = hwloc_bitmap_next(set, id)) {
		const struct cpu *cpu = machine_cpu(m, (unsigned)id);

		if (cpu && cpu->numa != (int)m->nodes[node].id)
			cpuset_clr(set, (unsigned)id);
	}
	return set;
}

uint64_t machine_node_pages(const struct numa_node *node, uint64_t page_bytes)
{
	for (size_t i = 0; i < node->n_pools; i++)
		if (node->pools[i].page_bytes == page_bytes)
			return node->pools[i].pages * page_bytes;
	return 0;
}

uint64_t machine_next_page_size(const struct machine *m, uint64_t above)
{
	uint64_t next = 0;

	for (size_t i = 0; i < m->n_nodes; i++)
		for (size_t k = 0; k < m->nodes[i].n_pools; k++) {
			uint64_t size = m->nodes[i].pools[k].page_bytes;

			if (size > above && (next == 0 || size < next))
				next = size;
		}
	return next;
}

hwloc_bitmap_t machine_counted_cpus(const struct machine *m)
{
	hwloc_bitmap_t set = cpuset_new();

	for (size_t i = 0; i < m->n_cpus; i++)
		if (m->cpus[i].numa != MACHINE_NONE)
			cpuset_set(set, m->cpus[i].id);
	return set;
}

void machine_derive(struct machine *m)
{
	if (m->n_cpus > 0)
		qsort(m->cpus, m->n_cpus, sizeof(*m->cpus), by_cpu_id);
	if (m->n_nodes > 0)
		qsort(m->nodes, m->n_nodes, sizeof(*m->nodes), by_node_id);
	hwloc_bitmap_free(m->online);
	m->online = cpuset_new();
	derive_sockets(m);
	derive_nodes(m);
	derive_cores(m);
	if (m->memory_bytes == 0)
		for (size_t i = 0; i < m->n_nodes; i++)
			m->memory_bytes += m->nodes[i].memory_bytes;
	derive_uncore(m);
}

int machine_node_index(const struct machine *m, unsigned id)
{
	size_t lo = 0, hi = m->n_nodes;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->nodes[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < m->n_nodes && m->nodes[lo].id == id ? (int)lo : -1;
}

const struct cpu *machine_cpu(const struct machine *m, unsigned id)
{
	size_t i = cpu_index(m, id);

	return i < m->n_cpus ? &m->cpus[i] : NULL;
}

unsigned machine_distance(const struct machine *m, size_t from, size_t to)
{
	return m->distances ? m->distances[from * m->n_nodes + to] : 0;
}

/* ---- copying */

/* Copy n items of `size` bytes. Never NULL, not even for 0 items. */
static void *copy_array(const void *from, size_t n, size_t size)
{
	void *copy = xcalloc(n + 1, size);

	if (n > 0)
		memcpy(copy, from, n * size);
	return copy;
}

void machine_copy(const struct machine *from, struct machine *ret)
{
	struct machine m = *from;

	m.cpus = copy_array(from->cpus, from->n_cpus, sizeof(*from->cpus));
	m.nodes = copy_array(from->nodes, from->n_nodes, sizeof(*from->nodes));
	m.sockets = copy_array(from->sockets, from->n_sockets, sizeof(*from->sockets));
	m.cpus_size = m.n_cpus;
	m.nodes_size = m.n_nodes;
	m.sockets_size = m.n_sockets;
	for (size_t i = 0; i < m.n_nodes; i++) {
		const struct numa_node *node = &from->nodes[i];

		m.nodes[i].cpus = cpuset_dup(node->cpus);
		m.nodes[i].pools = copy_array(node->pools, node->n_pools, sizeof(*node->pools));
		m.nodes[i].pools_size = node->n_pools;
	}
	for (size_t i = 0; i < m.n_sockets; i++)
		m.sockets[i].cpus = cpuset_dup(from->sockets[i].cpus);
	m.online = cpuset_dup(from->online);
	m.offline = cpuset_dup(from->offline);
	m.isolated = from->isolated ? cpuset_dup(from->isolated) : NULL;
	if (from->distances)
		m.distances =
			copy_array(from->distances, from->n_nodes * from->n_nodes, sizeof(*from->distances));
	m.pci = (struct pci_devices){0};
	pci_devices_copy(&from->pci, &m.pci);
	*ret = m;
}
