/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/synthetic.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "common/vec.h"

static void *allocate(size_t n, size_t size)
{
	void *p = calloc(n + 1, size);

	if (!p)
		abort();
	return p;
}

static hwloc_bitmap_t new_set(void)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();

	if (!set)
		abort();
	return set;
}

/* Place of the CPU with this id. */
static struct cpu make_cpu(const struct synthetic *s, unsigned n_cores, unsigned id)
{
	unsigned core = s->siblings_adjacent ? id / s->threads : id % n_cores;
	unsigned uncore = core / s->cores, numa = uncore / s->uncores;

	return (struct cpu){.id = id,
		.core = s->siblings_adjacent ? core * s->threads : core,
		.hardware_core = s->siblings_adjacent ? core * s->threads : core,
		.socket = (int)(numa / s->numas),
		.numa = (int)numa,
		.l3 = (int)uncore,
		.uncore = (int)uncore};
}

void synthetic_machine(const struct synthetic *s, struct machine *ret)
{
	unsigned n_nodes = s->sockets * s->numas, n_cores = n_nodes * s->uncores * s->cores;

	machine_init(ret);
	ret->n_cores = n_cores;
	ret->cpus_size = (size_t)n_cores * s->threads;
	ret->nodes_size = n_nodes;
	ret->sockets_size = s->sockets;
	ret->cpus = allocate((size_t)n_cores * s->threads, sizeof(*ret->cpus));
	ret->nodes = allocate(n_nodes, sizeof(*ret->nodes));
	ret->sockets = allocate(s->sockets, sizeof(*ret->sockets));
	ret->distances = allocate((size_t)n_nodes * n_nodes, sizeof(*ret->distances));
	ret->online = new_set();
	ret->offline = new_set();
	for (unsigned i = 0; i < n_nodes; i++) {
		ret->nodes[ret->n_nodes++] = (struct numa_node){.id = i,
			.socket = (int)(i / s->numas),
			.cpus = new_set(),
			.memory_bytes = s->memory_bytes};
		ret->memory_bytes += s->memory_bytes;
		for (unsigned j = 0; j < n_nodes; j++)
			ret->distances[i * n_nodes + j] = i == j                         ? 10
							  : i / s->numas == j / s->numas ? 12
											 : 32;
	}
	for (unsigned i = 0; i < s->sockets; i++)
		ret->sockets[ret->n_sockets++] = (struct socket_info){.id = (int)i, .cpus = new_set()};
	for (unsigned id = 0; id < n_cores * s->threads; id++) {
		struct cpu cpu = make_cpu(s, n_cores, id);

		ret->cpus[ret->n_cpus++] = cpu;
		hwloc_bitmap_set(ret->online, id);
		hwloc_bitmap_set(ret->nodes[cpu.numa].cpus, id);
		hwloc_bitmap_set(ret->sockets[cpu.socket].cpus, id);
	}
}

static hwloc_bitmap_t set_of(const char *list)
{
	hwloc_bitmap_t set = NULL;

	if (cpuset_parse(list, &set, NULL) < 0)
		abort();
	return set;
}

struct numa_node *machine_add_node(
	struct machine *m, unsigned id, int socket, const char *cpus, uint64_t memory_bytes)
{
	struct numa_node *node = vec_push(&m->nodes, &m->n_nodes, &m->nodes_size, sizeof(*node));
	struct socket_info *s;

	*node = (struct numa_node){
		.id = id, .socket = socket, .memory_bytes = memory_bytes, .cpus = set_of(cpus)};
	if (socket == MACHINE_NONE)
		return node;
	s = vec_push(&m->sockets, &m->n_sockets, &m->sockets_size, sizeof(*s));
	*s = (struct socket_info){.id = socket, .cpus = set_of(cpus)};
	return node;
}

void bare_machine(struct machine *ret, const char *online, const char *offline, const char *nodes)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t ids = set_of(nodes);

	machine_init(ret);
	ret->online = set_of(online);
	ret->offline = set_of(offline);
	for (int id = hwloc_bitmap_first(ids); id >= 0; id = hwloc_bitmap_next(ids, id))
		machine_add_node(ret, (unsigned)id, MACHINE_NONE, "", 0);
}
