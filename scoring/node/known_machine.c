/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/node/known_machine.h"

#include <stdlib.h>
#include <string.h>

#include "common/allocation.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/resource.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/cpu_manager.h"

/* Smaller differences of a NUMA node's MemTotal come from the kernel's own bookkeeping. Linux adds memory in blocks of this size or
 * larger. */
#define MEMORY_BLOCK ((uint64_t)128 << 20)

/* ---- CPUs */

/* The CPUs that the CPU manager's state has; NULL if there is no such state, or if the kubelet has not filled it in yet. */
static hwloc_bitmap_t known_cpus_of_state(const struct node_state *node)
{
	const struct allocations *a = &node->allocations;
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = NULL;

	if (node->settings.cpu_manager != CPU_MANAGER_STATIC || !a->cpus_known || !a->shared)
		return NULL;
	cpus = allocations_exclusive_cpus(a);
	cpuset_or(cpus, cpus, a->shared);
	return hwloc_bitmap_iszero(cpus) ? NULL : TAKE(cpus);
}

/* The CPUs that reservedSystemCPUs lists; NULL = none. */
static hwloc_const_bitmap_t listed_reserved(const struct settings *s)
{
	return s->reserved_system_cpus && !hwloc_bitmap_iszero(s->reserved_system_cpus)
		       ? s->reserved_system_cpus
		       : NULL;
}

/* The CPUs that the running kubelet reports as allocatable; NULL = no report. A node state instead has the CPUs that are not allocatable, as
 * observed reserved CPUs. */
static hwloc_bitmap_t reported_allocatable(const struct node_state *node)
{
	hwloc_bitmap_t cpus;

	if (node->allocatable_cpus && !hwloc_bitmap_iszero(node->allocatable_cpus))
		return cpuset_dup(node->allocatable_cpus);
	if (!node->reserved.observed)
		return NULL;
	cpus = machine_counted_cpus(&node->machine);
	cpuset_andnot(cpus, cpus, node->reserved.cpus);
	return cpus;
}

hwloc_bitmap_t known_machine_cpus(const struct node_state *node)
{
	const struct settings *s = &node->settings;
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = known_cpus_of_state(node);
	CLEANUP(cpuset_freep) hwloc_bitmap_t allocatable = reported_allocatable(node);
	hwloc_const_bitmap_t reserved = listed_reserved(s) ? listed_reserved(s) : node->reserved.cpus;

	if (!cpus || (s->cpu_options.strict_cpu_reservation && !reserved))
		return NULL;
	/* A kubelet that does not reserve strictly has the reserved CPUs in the shared pool. A state without any reserved CPU is of
	 * a kubelet that reserved them strictly, whatever the settings are now. */
	if (reserved && (s->cpu_options.strict_cpu_reservation || !hwloc_bitmap_intersects(reserved, cpus)))
		cpuset_or(cpus, cpus, reserved);
	if (allocatable)
		cpuset_or(cpus, cpus, allocatable);
	return TAKE(cpus);
}

/* ---- NUMA nodes */

/* Whether the memory manager's state counts memory or hugepages on the NUMA node, even if all of them are reserved. */
static bool counts_memory(const struct memory_node *state)
{
	for (size_t t = 0; state && t < state->n_tables; t++)
		if (state->tables[t].total > 0)
			return true;
	return false;
}

/*
 * The CPUs that show whether the kubelet knows a NUMA node of which the memory manager counts nothing. Without state files the shared pool
 * is not the kubelet's own (node_derive()), but the allocatable CPUs are. NULL if no source shows them.
 */
static hwloc_bitmap_t reported_cpus(const struct node_state *node)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = NULL;
	CLEANUP(cpuset_freep) hwloc_bitmap_t allocatable = reported_allocatable(node);

	if (!allocatable)
		return known_machine_cpus(node);
	cpus = allocations_exclusive_cpus(&node->allocations);
	cpuset_or(cpus, cpus, allocatable);
	if (listed_reserved(&node->settings))
		cpuset_or(cpus, cpus, node->settings.reserved_system_cpus);
	return TAKE(cpus);
}

/* The NUMA nodes of these CPUs, a new bitmap; with `cpus` NULL, of all CPUs. A CPU that several nodes list belongs to one of them. */
static hwloc_bitmap_t nodes_of_cpus(const struct machine *m, hwloc_const_bitmap_t cpus)
{
	hwloc_bitmap_t nodes = cpuset_new();

	for (size_t i = 0; i < m->n_cpus; i++)
		if (m->cpus[i].numa != MACHINE_NONE && (!cpus || hwloc_bitmap_isset(cpus, m->cpus[i].id)))
			cpuset_set(nodes, (unsigned)m->cpus[i].numa);
	return nodes;
}

hwloc_bitmap_t known_machine_nodes(const struct node_state *node)
{
	const struct machine *m = &node->machine;
	bool has_memory_state = node->allocations.memory_known && node->allocations.memory.n_nodes > 0;
	CLEANUP(cpuset_freep)
	hwloc_bitmap_t known_cpus = has_memory_state ? reported_cpus(node) : known_machine_cpus(node);
	CLEANUP(cpuset_freep) hwloc_bitmap_t with_cpus = nodes_of_cpus(m, NULL);
	CLEANUP(cpuset_freep) hwloc_bitmap_t with_known_cpus = nodes_of_cpus(m, known_cpus);
	hwloc_bitmap_t nodes = cpuset_new();

	for (size_t i = 0; i < m->n_nodes; i++) {
		unsigned id = m->nodes[i].id;
		const struct memory_node *state = allocations_memory_node(&node->allocations, id);
		bool known = hwloc_bitmap_isset(with_known_cpus, id);

		if (has_memory_state) {
			/* If no source shows CPUs, all count as known: then the memory manager's state must list the node too. */
			if (!known_cpus && !state)
				known = false;
			if (counts_memory(state) || (state && m->nodes[i].memory_bytes == 0))
				known = true;
		} else if (!known_cpus || !hwloc_bitmap_isset(with_cpus, id)) {
			known = true; /* nothing can show that the kubelet does not know the node */
		}
		if (known)
			cpuset_set(nodes, id);
	}
	return nodes;
}

/* ---- memory */

struct known_memory known_machine_memory(const struct node_state *node)
{
	const struct machine *m = &node->machine;
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = known_machine_nodes(node);
	struct known_memory known = {.bytes = m->memory_bytes};
	uint64_t new_bytes = 0; /* that appeared after the kubelet's start */

	for (size_t i = 0; i < m->n_nodes; i++) {
		const struct numa_node *numa = &m->nodes[i];
		const struct memory_node *state = allocations_memory_node(&node->allocations, numa->id);
		const struct memory_table *memory = memory_node_table(state, "memory");

		if (!hwloc_bitmap_isset(nodes, numa->id)) {
			new_bytes += numa->memory_bytes;
			continue;
		}
		if (memory && memory->total > 0 && numa->memory_bytes > memory->total)
			new_bytes += numa->memory_bytes - memory->total;
		for (size_t p = 0; p < numa->n_pools; p++) {
			uint64_t bytes = numa->pools[p].page_bytes * numa->pools[p].pages;
			char name[RESOURCE_NAME_HUGEPAGES_SIZE];
			const struct memory_table *pages;

			resource_name_of_hugepages(numa->pools[p].page_bytes, name);
			pages = memory_node_table(state, name);
			known.hugepages += pages ? pages->total : bytes;
		}
	}
	known.bytes = known.bytes > new_bytes ? known.bytes - new_bytes : 0;
	return known;
}

/* ---- the kubelet's machine */

/* Remove the NUMA nodes outside `nodes`, with their CPUs. */
static void known_machine_remove_nodes(struct machine *m, hwloc_const_bitmap_t nodes)
{
	size_t n_before = m->n_nodes, kept = 0, n_cpus = 0;
	unsigned *distances = NULL;

	for (size_t i = 0; i < m->n_cpus; i++)
		if (m->cpus[i].numa == MACHINE_NONE || hwloc_bitmap_isset(nodes, (unsigned)m->cpus[i].numa))
			m->cpus[n_cpus++] = m->cpus[i];
	m->n_cpus = n_cpus;
	/* The rows and columns of the nodes that stay. */
	if (m->distances)
		distances = xcalloc(n_before * n_before + 1, sizeof(*distances));
	for (size_t i = 0, row = 0; i < n_before; i++) {
		if (!hwloc_bitmap_isset(nodes, m->nodes[i].id))
			continue;
		for (size_t k = 0, column = 0, n = (size_t)hwloc_bitmap_weight(nodes); k < n_before; k++)
			if (distances && hwloc_bitmap_isset(nodes, m->nodes[k].id))
				distances[row * n + column++] = machine_distance(m, i, k);
		row++;
	}
	free(m->distances);
	m->distances = distances;
	for (size_t i = 0; i < n_before; i++) {
		if (hwloc_bitmap_isset(nodes, m->nodes[i].id)) {
			m->nodes[kept++] = m->nodes[i];
			continue;
		}
		hwloc_bitmap_free(m->nodes[i].cpus);
		free(m->nodes[i].pools);
	}
	m->n_nodes = kept;
}

/* Where the CPUs that vanished were: a guess by what is missing in a regular machine. */
struct known_machine_guess {
	size_t n_missing;
	size_t threads;    /* of a complete core: a core with fewer CPUs lacks a thread */
	unsigned stride;   /* between the ids of two threads of a core; 0 = unknown */
	size_t most_cpus;  /* of a NUMA node */
	size_t *node_cpus; /* the number of CPUs, by position in nodes[] */
	size_t *core_size; /* the number of CPUs, by the core's name, which is its lowest CPU */
};

static void known_machine_guess_release(struct known_machine_guess *g)
{
	free(g->node_cpus);
	free(g->core_size);
}

/*
 * Counts the CPUs of each core and NUMA node. A core that lacks threads has as many as the largest core; the ids of a core's threads are as
 * far apart as in the first core that has two.
 */
static void known_machine_guess_init(struct known_machine_guess *g, const struct machine *m, size_t n_missing)
{
	bool has_empty_node = false;
	size_t n_cores = 0;

	*g = (struct known_machine_guess){.n_missing = n_missing,
		.node_cpus = xcalloc(m->n_nodes + 1, sizeof(*g->node_cpus)),
		.core_size = xcalloc(MACHINE_MAX_CPUS, sizeof(*g->core_size))};
	for (size_t i = 0; i < m->n_cpus; i++) {
		size_t *size = &g->core_size[m->cpus[i].core];

		if (*size == 0)
			n_cores++;
		++*size;
		g->threads = *size > g->threads ? *size : g->threads;
	}
	for (size_t i = 0; i < m->n_nodes; i++) {
		CLEANUP(cpuset_freep) hwloc_bitmap_t own = machine_own_cpus(m, i);

		g->node_cpus[i] = cpuset_size(own);
		g->most_cpus = g->node_cpus[i] > g->most_cpus ? g->node_cpus[i] : g->most_cpus;
		has_empty_node = has_empty_node || g->node_cpus[i] == 0;
	}
	for (size_t i = 0; i < m->n_cpus && g->stride == 0; i++)
		g->stride = m->cpus[i].id - m->cpus[i].core;
	/* Equally many CPUs per core are missing: simultaneous multithreading was turned off. If a NUMA node has no CPUs, the
	 * missing CPUs are that node's instead. */
	if (n_cores > 0 && n_missing % n_cores == 0 && !has_empty_node) {
		g->threads += n_missing / n_cores;
		/* As x86 servers number CPUs: first the first thread of every core. */
		g->stride = g->stride > 0 ? g->stride : (unsigned)n_cores;
	}
}

/* The position of the NUMA node that lacks most CPUs: the node with the fewest, of nodes with equally many the first. A node without CPUs
 * counts only if a whole node's CPUs are missing. n_nodes if there is none. */
static size_t known_machine_guess_node(const struct known_machine_guess *g, const struct machine *m)
{
	size_t best = m->n_nodes;

	for (size_t i = 0; i < m->n_nodes; i++)
		if ((g->node_cpus[i] > 0 || g->n_missing >= g->most_cpus) &&
			(best == m->n_nodes || g->node_cpus[i] < g->node_cpus[best]))
			best = i;
	return best;
}

/* A CPU of a core that lacks a thread, whose id is that of another thread of `id`; or NULL. */
static const struct cpu *known_machine_guess_twin(
	const struct known_machine_guess *g, const struct machine *m, unsigned id)
{
	for (size_t i = 0; i < m->n_cpus && g->stride > 0; i++) {
		const struct cpu *cpu = &m->cpus[i];

		if ((cpu->id + g->stride == id || cpu->id == id + g->stride) && cpu->numa != MACHINE_NONE &&
			g->core_size[cpu->core] < g->threads)
			return cpu;
	}
	return NULL;
}

/* A CPU of the NUMA node, of a core that lacks a thread if there is one; NULL if the node has no CPU. */
static const struct cpu *known_machine_guess_neighbour(
	const struct known_machine_guess *g, const struct machine *m, unsigned numa)
{
	const struct cpu *neighbour = NULL;

	for (size_t i = 0; i < m->n_cpus; i++) {
		const struct cpu *cpu = &m->cpus[i];

		if (cpu->numa != (int)numa)
			continue;
		if (g->core_size[cpu->core] < g->threads)
			return cpu;
		neighbour = cpu;
	}
	return neighbour;
}

/* A core's name is its lowest CPU: after a lower CPU was added to the core, its other CPUs need the new name. */
static void known_machine_rename_core(
	struct known_machine_guess *g, struct machine *m, unsigned before, unsigned after)
{
	for (size_t i = 0; i < m->n_cpus && before != after; i++)
		if (m->cpus[i].core == before)
			m->cpus[i].core = after;
	if (before != after) {
		g->core_size[after] = g->core_size[before];
		g->core_size[before] = 0;
	}
}

/* Adds a CPU that vanished: to the core of its other threads; if these are unknown, on the NUMA node that lacks most CPUs to a core
 * that lacks a thread, or as a core of its own. */
static void known_machine_add_cpu(struct known_machine_guess *g, struct machine *m, unsigned id)
{
	const struct cpu *neighbour = known_machine_guess_twin(g, m, id);
	size_t at = neighbour ? (size_t)machine_node_index(m, (unsigned)neighbour->numa)
			      : known_machine_guess_node(g, m);
	struct cpu cpu = {.id = id,
		.core = id,
		.socket = MACHINE_NONE,
		.numa = MACHINE_NONE,
		.l3 = MACHINE_NONE,
		.uncore = MACHINE_NONE};

	if (at == m->n_nodes)
		return;
	cpu.numa = (int)m->nodes[at].id;
	if (!neighbour)
		neighbour = known_machine_guess_neighbour(g, m, m->nodes[at].id);
	if (neighbour) {
		cpu.socket = neighbour->socket;
		cpu.uncore = neighbour->uncore;
	}
	if (neighbour && g->core_size[neighbour->core] < g->threads) {
		cpu.core = neighbour->core < id ? neighbour->core : id;
		known_machine_rename_core(g, m, neighbour->core, cpu.core);
	}
	cpu.hardware_core = cpu.core;
	g->core_size[cpu.core]++;
	g->node_cpus[at]++;
	cpuset_set(m->nodes[at].cpus, id);
	*(struct cpu *)vec_push(&m->cpus, &m->n_cpus, &m->cpus_size, sizeof(cpu)) = cpu;
}

/* Adds nothing if more CPUs are missing than the machine has: then the state is of another machine. */
static void known_machine_add_cpus(struct machine *m, hwloc_const_bitmap_t missing)
{
	CLEANUP(known_machine_guess_release) struct known_machine_guess g = {0};
	size_t n_missing = cpuset_size(missing);

	if (n_missing > m->n_cpus || hwloc_bitmap_last(missing) >= MACHINE_MAX_CPUS)
		return;
	known_machine_guess_init(&g, m, n_missing);
	for (int id = hwloc_bitmap_first(missing); id >= 0; id = hwloc_bitmap_next(missing, id))
		known_machine_add_cpu(&g, m, (unsigned)id);
}

static int known_machine_by_cpu(const void *va, const void *vb)
{
	const struct cpu *a = va, *b = vb;

	return (a->id > b->id) - (a->id < b->id);
}

/* Sorts cpus[], which additions have left unsorted, and sets the members that follow from cpus[]. */
static void known_machine_recount(struct machine *m)
{
	if (m->n_cpus > 0)
		qsort(m->cpus, m->n_cpus, sizeof(*m->cpus), known_machine_by_cpu);
	hwloc_bitmap_zero(m->online);
	for (size_t i = 0; i < m->n_cpus; i++)
		cpuset_set(m->online, m->cpus[i].id);
	for (size_t s = 0; s < m->n_sockets; s++) {
		hwloc_bitmap_zero(m->sockets[s].cpus);
		for (size_t i = 0; i < m->n_cpus; i++)
			if (m->cpus[i].socket == m->sockets[s].id)
				cpuset_set(m->sockets[s].cpus, m->cpus[i].id);
	}
}

static bool known_machine_has_equal_cores(const struct machine *m)
{
	CLEANUP(cpu_topology_release) struct cpu_topology topology = {0};

	return cpu_topology_init(&topology, m) < 0 || cpu_topology_is_uniform(&topology, CPU_LEVEL_CORE);
}

bool known_machine_assigns_reserved(const struct node_state *node, hwloc_const_bitmap_t reserved)
{
	const struct settings *s = &node->settings;
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = known_cpus_of_state(node);
	CLEANUP(cpuset_freep) hwloc_bitmap_t now = machine_counted_cpus(&node->machine);

	if (!cpus || !reserved || !s->cpu_options.strict_cpu_reservation)
		return false;
	if (!hwloc_bitmap_intersects(cpus, reserved))
		return false;
	/* K29: only these kubelets assign reserved CPUs, and only on machines with unequal cores. */
	if (!kubelet_version_of(s->kubelet_minor).whole_by_average ||
		known_machine_has_equal_cores(&node->machine))
		return false;
	cpuset_or(cpus, cpus, reserved);
	return hwloc_bitmap_isequal(cpus, now);
}

/*
 * `state_cpus`: the CPUs of the CPU manager's state. Under strict-cpu-reservation the reserved CPUs are not among them, so the machine of
 * the kubelet's start had as many more CPUs as are reserved. Adds the lowest unused ids until today's machine has that many CPUs: no source
 * shows which ids the missing CPUs had.
 */
static void known_machine_add_missing_reserved(const struct node_state *node, hwloc_bitmap_t state_cpus)
{
	const struct settings *s = &node->settings;
	CLEANUP(cpuset_freep) hwloc_bitmap_t now = NULL;
	size_t at_start;

	/* A source shows the ids of the reserved CPUs, or no source shows how many CPUs are reserved. */
	if (listed_reserved(s) || node->reserved.observed || !s->reserved_known)
		return;
	if (!s->cpu_options.strict_cpu_reservation)
		return;
	if (known_machine_assigns_reserved(node, node->reserved.cpus))
		return;
	at_start = cpuset_size(state_cpus) +
		   cpu_manager_reserved_count(s->kube_reserved_cpu + s->system_reserved_cpu);
	now = machine_counted_cpus(&node->machine);
	cpuset_or(now, now, state_cpus);
	for (unsigned id = 0; cpuset_size(now) < at_start && id < MACHINE_MAX_CPUS; id++)
		if (!hwloc_bitmap_isset(now, id)) {
			cpuset_set(now, id);
			cpuset_set(state_cpus, id);
		}
}

/* CPUs that the kubelet counts and the machine does not have; NULL = none. */
static hwloc_bitmap_t known_machine_missing_cpus(const struct node_state *node)
{
	const struct settings *s = &node->settings;
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = known_cpus_of_state(node);

	if (!cpus)
		return NULL;
	known_machine_add_missing_reserved(node, cpus);
	if (s->cpu_options.strict_cpu_reservation && listed_reserved(s))
		cpuset_or(cpus, cpus, s->reserved_system_cpus);
	cpuset_andnot(cpus, cpus, node->machine.online);
	return hwloc_bitmap_iszero(cpus) ? NULL : TAKE(cpus);
}

bool known_machine_differs(const struct node_state *node, struct machine *ret)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = known_machine_nodes(node);
	CLEANUP(cpuset_freep) hwloc_bitmap_t missing = known_machine_missing_cpus(node);
	bool all_nodes = cpuset_size(nodes) == node->machine.n_nodes;

	if (all_nodes && !missing)
		return false;
	machine_init(ret);
	machine_copy(&node->machine, ret);
	if (!all_nodes)
		known_machine_remove_nodes(ret, nodes);
	if (missing)
		known_machine_add_cpus(ret, missing);
	known_machine_recount(ret);
	return true;
}

/* ---- notes */

#define RESTART_TO_USE \
	"the kubelet knows the machine of its start; to use it, drain the node, stop the kubelet, remove cpu_manager_state and memory_manager_state, and start the kubelet"

static void note_new_nodes(const struct machine *m, hwloc_const_bitmap_t nodes, struct notes *notes)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		if (!hwloc_bitmap_isset(nodes, m->nodes[i].id))
			notes_add(notes,
				"NUMA node %u: none of its CPUs, memory, hugepages and devices is available: " RESTART_TO_USE,
				m->nodes[i].id);
}

/* Notes the CPUs that have appeared since the kubelet's start on the NUMA nodes `nodes`, which it knows. */
static void note_new_cpus(const struct node_state *node, hwloc_const_bitmap_t nodes, struct notes *notes)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t known = known_machine_cpus(node);
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = NULL;
	CLEANUP(freep) char *list = NULL;

	if (!known)
		return;
	cpus = machine_counted_cpus(&node->machine);
	cpuset_andnot(cpus, cpus, known);
	for (size_t i = 0; i < node->machine.n_nodes; i++)
		if (!hwloc_bitmap_isset(nodes, node->machine.nodes[i].id))
			cpuset_andnot(cpus, cpus, node->machine.nodes[i].cpus);
	if (hwloc_bitmap_iszero(cpus))
		return;
	list = cpuset_print(cpus);
	notes_add(notes, "CPUs %.200s are not available: " RESTART_TO_USE, list);
}

/* Notes that the NUMA node now has at least `min_increase` bytes more than the kubelet counted at its start. The total of a table that
 * wrapped around is no amount that the kubelet counted (DEFECTS.md, K13). */
static void note_more_memory(const struct memory_node *state, const char *type, uint64_t bytes,
	uint64_t min_increase, struct notes *notes)
{
	const struct memory_table *table = memory_node_table(state, type);
	uint64_t known = table ? table->total : 0;

	if (bytes >= known + min_increase && !(table && memory_table_wrapped(table)))
		notes_add(notes, "NUMA node %u: %llu bytes of %.100s are not available: " RESTART_TO_USE,
			state->id, (unsigned long long)(bytes - known), type);
}

static void known_machine_note_memory(const struct node_state *node, struct notes *notes)
{
	for (size_t i = 0; i < node->machine.n_nodes; i++) {
		const struct numa_node *numa = &node->machine.nodes[i];
		const struct memory_node *state = allocations_memory_node(&node->allocations, numa->id);

		/* A node that the kubelet has not counted has its own note. On a kernel without NUMA the first node has the memory of all. */
		if (!counts_memory(state) || node->machine.without_numa)
			continue;
		note_more_memory(state, "memory", numa->memory_bytes, MEMORY_BLOCK, notes);
		for (size_t p = 0; p < numa->n_pools; p++) {
			char name[RESOURCE_NAME_HUGEPAGES_SIZE];

			resource_name_of_hugepages(numa->pools[p].page_bytes, name);
			note_more_memory(state, name, numa->pools[p].page_bytes * numa->pools[p].pages,
				numa->pools[p].page_bytes, notes);
		}
	}
}

void known_machine_note(const struct node_state *node, struct notes *notes)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = known_machine_nodes(node);

	note_new_nodes(&node->machine, nodes, notes);
	note_new_cpus(node, nodes, notes);
	known_machine_note_memory(node, notes);
}
