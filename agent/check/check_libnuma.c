/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the discovered machine with libnuma. */
#include "agent/check/check.h"

#include <dlfcn.h>
#include <errno.h>
#include <numa.h>

#include "common/cleanup.h"
#include "common/cpuset.h"

#define LIBRARY "libnuma.so.1"

/* libnuma; the types of its functions are those of its header. */
struct library {
	void *handle;
	struct bitmask **nodes_ptr;
	__typeof__(&numa_available) available;
	__typeof__(&numa_allocate_cpumask) allocate_cpumask;
	__typeof__(&numa_bitmask_free) bitmask_free;
	__typeof__(&numa_bitmask_isbitset) bitmask_isbitset;
	__typeof__(&numa_bitmask_weight) bitmask_weight;
	__typeof__(&numa_distance) distance;
	__typeof__(&numa_node_to_cpus) node_to_cpus;
};

/* Sets the member to libnuma's function numa_<name>; NULL if the library lacks the function. */
#define LOAD(lib, name) ((lib)->name = (__typeof__((lib)->name))dlsym((lib)->handle, "numa_" #name))

/* libnuma reads the machine when it is loaded, so it is not loaded when nrtd starts. It stays loaded, because
 * it leaks memory when it is unloaded. */
static int library_load(struct library *lib, struct err *err)
{
	lib->handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!lib->handle)
		return err_set(err, -ENOENT, "%s", dlerror());
	if (!LOAD(lib, nodes_ptr) || !LOAD(lib, available) || !LOAD(lib, allocate_cpumask) ||
		!LOAD(lib, bitmask_free) || !LOAD(lib, bitmask_isbitset) || !LOAD(lib, bitmask_weight) ||
		!LOAD(lib, distance) || !LOAD(lib, node_to_cpus)) {
		dlclose(lib->handle);
		return err_set(err, -ENOENT, "a function is missing in " LIBRARY);
	}
	return 0;
}

/*
 * libnuma calls these two functions, which the linker exports from the program, instead of its own, which
 * print to stderr and may exit. They do nothing: every call here also reports errors by its return value.
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

static int compare_ids(const struct library *lib, const struct machine *m, struct strbuf *out)
{
	int differences = 0;

	for (unsigned id = 0; id < MACHINE_MAX_NODES; id++) {
		bool ours = machine_node_index(m, id) >= 0;
		bool theirs = lib->bitmask_isbitset(*lib->nodes_ptr, id);

		if (ours == theirs)
			continue;
		strbuf_addf(out, "NUMA node %u: %s\n", id,
			ours ? "libnuma does not see it" : "only libnuma sees it");
		differences++;
	}
	return differences;
}

/* libnuma's CPUs of a node as a bitmap; NULL if they are unknown. */
static hwloc_bitmap_t libnuma_node_cpus(const struct library *lib, unsigned id)
{
	struct bitmask *mask = lib->allocate_cpumask();
	hwloc_bitmap_t set = NULL;

	if (mask && lib->node_to_cpus((int)id, mask) >= 0) {
		set = cpuset_new();
		for (unsigned cpu = 0; cpu < mask->size; cpu++)
			if (lib->bitmask_isbitset(mask, cpu))
				cpuset_set(set, cpu);
	}
	if (mask)
		lib->bitmask_free(mask);
	return set;
}

static int compare_node_cpus(const struct library *lib, const struct numa_node *node, struct strbuf *out)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t theirs = libnuma_node_cpus(lib, node->id);
	CLEANUP(freep) char *our_text = cpuset_print(node->cpus);
	CLEANUP(freep) char *their_text = theirs ? cpuset_print(theirs) : NULL;

	if (theirs && hwloc_bitmap_isequal(theirs, node->cpus))
		return 0;
	strbuf_addf(out, "NUMA node %u: CPUs '%s', libnuma says %s%s%s\n", node->id, our_text,
		their_text ? "'" : "", their_text ? their_text : "nothing", their_text ? "'" : "");
	return 1;
}

static int compare_distances(
	const struct library *lib, const struct machine *m, size_t from, struct strbuf *out)
{
	int differences = 0;

	for (size_t to = 0; to < m->n_nodes; to++) {
		unsigned ours = machine_distance(m, from, to);
		int theirs = lib->distance((int)m->nodes[from].id, (int)m->nodes[to].id);

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
	struct library library = {0};
	const struct library *lib = &library;
	int n = library_load(&library, err);

	if (n < 0)
		return n;
	if (lib->available() < 0)
		return err_set(err, -ENODEV, "libnuma: the kernel has no NUMA policy");
	if (lib->bitmask_weight(*lib->nodes_ptr) == 0)
		return err_set(err, -ENODEV, "libnuma sees no NUMA node");
	n = compare_ids(lib, m, differences);
	for (size_t i = 0; i < m->n_nodes; i++) {
		if (!lib->bitmask_isbitset(*lib->nodes_ptr, m->nodes[i].id))
			continue;
		n += compare_node_cpus(lib, &m->nodes[i], differences);
		n += compare_distances(lib, m, i, differences);
	}
	if (strbuf_error(differences) < 0)
		return err_set(err, strbuf_error(differences), "too many differences to list");
	return n;
}
