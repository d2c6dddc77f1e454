/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/check/check_libnuma.h"

#include <errno.h>
#include <numa.h>

#include "common/cleanup.h"

/*
 * libnuma calls these two in place of its own, which print to stderr and may exit. Every call made here
 * reports by its return value as well, so there is nothing left to do.
 */
void numa_error(char *where)
{
	(void)where;
}

void numa_warn(int num, char *fmt, ...)
{
	(void)num;
	(void)fmt;
}

static void bitmaskp(struct bitmask **mask)
{
	if (*mask)
		numa_bitmask_free(*mask);
	*mask = NULL;
}

static int compare_ids(const struct machine *m, struct strbuf *out)
{
	int differences = 0;

	for (unsigned id = 0; id < MACHINE_MAX_NODES; id++) {
		bool ours = machine_node_index(m, id) >= 0;
		bool theirs = numa_bitmask_isbitset(numa_nodes_ptr, id);

		if (ours == theirs)
			continue;
		strbuf_addf(out, "NUMA node %u: %s\n", id,
			ours ? "libnuma does not see it" : "only libnuma sees it");
		differences++;
	}
	return differences;
}

/* libnuma's CPUs of a node as one of our sets; NULL when it does not know or memory ran out. */
static hwloc_bitmap_t node_cpus(unsigned id)
{
	CLEANUP(bitmaskp) struct bitmask *mask = numa_allocate_cpumask();
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = hwloc_bitmap_alloc();

	if (!mask || !set || numa_node_to_cpus((int)id, mask) < 0)
		return NULL;
	for (unsigned cpu = 0; cpu < mask->size; cpu++) {
		if (numa_bitmask_isbitset(mask, cpu) && hwloc_bitmap_set(set, cpu) < 0)
			return NULL;
	}
	return TAKE(set);
}

static int compare_cpus(const struct numa_node *node, struct strbuf *out)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t theirs = node_cpus(node->id);
	CLEANUP(freep) char *our_text = cpuset_print(node->cpus);
	CLEANUP(freep) char *their_text = theirs ? cpuset_print(theirs) : NULL;

	if (theirs && hwloc_bitmap_isequal(theirs, node->cpus))
		return 0;
	strbuf_addf(out, "NUMA node %u: CPUs '%s', libnuma says %s%s%s\n", node->id,
		our_text ? our_text : "?", their_text ? "'" : "", their_text ? their_text : "nothing",
		their_text ? "'" : "");
	return 1;
}

static int compare_distances(const struct machine *m, size_t from, struct strbuf *out)
{
	int differences = 0;

	for (size_t to = 0; to < m->n_nodes; to++) {
		unsigned ours = machine_distance(m, from, to);
		int theirs = numa_distance((int)m->nodes[from].id, (int)m->nodes[to].id);

		if (ours == 0 || (int)ours == theirs)
			continue;
		strbuf_addf(out, "NUMA node %u to %u: distance %u, libnuma says %d\n", m->nodes[from].id,
			m->nodes[to].id, ours, theirs);
		differences++;
	}
	return differences;
}

int libnuma_compare(const struct machine *m, struct strbuf *differences, struct err *err)
{
	int n;

	if (numa_available() < 0)
		return err_set(err, -ENODEV, "libnuma: the kernel has no NUMA policy");
	if (numa_bitmask_weight(numa_nodes_ptr) == 0)
		return err_set(err, -ENODEV, "libnuma sees no NUMA node");
	n = compare_ids(m, differences);
	for (size_t i = 0; i < m->n_nodes; i++) {
		if (!numa_bitmask_isbitset(numa_nodes_ptr, m->nodes[i].id))
			continue;
		n += compare_cpus(&m->nodes[i], differences);
		n += compare_distances(m, i, differences);
	}
	if (strbuf_error(differences) < 0)
		return err_set(err, strbuf_error(differences), "the list of differences does not fit");
	return n;
}
