/* SPDX-License-Identifier: Apache-2.0 */
#include "common/machine.h"

#include <string.h>

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
	hwloc_bitmap_free(m->online);
	hwloc_bitmap_free(m->offline);
	machine_init(m);
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
	size_t lo = 0, hi = m->n_cpus;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->cpus[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < m->n_cpus && m->cpus[lo].id == id ? &m->cpus[lo] : NULL;
}

unsigned machine_distance(const struct machine *m, size_t from, size_t to)
{
	return m->distances ? m->distances[from * m->n_nodes + to] : 0;
}

unsigned machine_cpus_per_core(const struct machine *m)
{
	return m->n_cores > 0 && m->n_cpus > m->n_cores ? (unsigned)(m->n_cpus / m->n_cores) : 1;
}
