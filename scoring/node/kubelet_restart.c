/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/node/kubelet_restart.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/allocation.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/machine.h"
#include "common/xalloc.h"
#include "scoring/kubelet_version.h"
#include "scoring/node/node_derive.h"

#define RESTART_MINOR_MIN 34u /* minor number of the oldest release whose restart code was read */

void kubelet_restart_release(struct kubelet_restart *r)
{
	free(r->cpus);
	free(r->memory);
	*r = (struct kubelet_restart){NULL};
}

static int check_restart_release(unsigned before, unsigned after, struct err *err)
{
	if (after == 0)
		return err_set(err, -ENOTSUP,
			"the kubelet's release is not known; its Node's status has the release");
	if (after < RESTART_MINOR_MIN || after > KUBELET_MINOR_COMPARED)
		return err_set(err, -ENOTSUP,
			"how kubelet 1.%u restarts is not known: nrtd knows 1.%u to 1.%u", after,
			RESTART_MINOR_MIN, KUBELET_MINOR_COMPARED);
	/* A newer kubelet may have written a format that the older one does not read. */
	if (after < before)
		return err_set(err, -ENOTSUP,
			"whether kubelet 1.%u reads the state files of 1.%u is not known", after, before);
	return 0;
}

static char *print_policy_mismatch(const char *after, const char *before)
{
	return xasprintf(
		"configured policy \"%s\" differs from state checkpoint policy \"%s\"", after, before);
}

/* ---- cpu_manager_state */

/* validateState(): the reserved CPUs against the shared pool. NULL = they agree. */
static char *check_reserved_cpus(
	hwloc_const_bitmap_t shared, hwloc_const_bitmap_t reserved, bool strictly_reserved)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t both = cpuset_new();
	CLEANUP(freep) char *pool = cpuset_print(shared), *some = NULL;

	hwloc_bitmap_and(both, shared, reserved);
	if (strictly_reserved && !hwloc_bitmap_iszero(both)) {
		some = cpuset_print(both);
		return xasprintf(
			"some of strictly reserved cpus: \"%s\" are present in defaultCpuSet: \"%s\"", some,
			pool);
	}
	if (!strictly_reserved && !hwloc_bitmap_isequal(both, reserved)) {
		some = cpuset_print(reserved);
		return xasprintf(
			"not all reserved cpus: \"%s\" are present in defaultCpuSet: \"%s\"", some, pool);
	}
	return NULL;
}

/* validateState(): the CPUs in the file, shared and exclusive, against the machine's. NULL = they agree. */
static char *check_all_cpus(
	const struct node_state *node, hwloc_const_bitmap_t reserved, bool strictly_reserved)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t all = machine_counted_cpus(&node->machine);
	CLEANUP(cpuset_freep) hwloc_bitmap_t known = allocations_exclusive_cpus(&node->allocations);
	CLEANUP(freep) char *want = NULL, *have = NULL;

	cpuset_or(known, known, node->allocations.shared);
	if (strictly_reserved)
		cpuset_andnot(all, all, reserved);
	if (hwloc_bitmap_isequal(all, known))
		return NULL;
	want = cpuset_print(all);
	have = cpuset_print(known);
	return xasprintf(
		"current set of available CPUs \"%s\" doesn't match with CPUs in state \"%s\"", want, have);
}

static bool any_container_holds_cpus(const struct allocations *a)
{
	for (size_t i = 0; i < a->n_items; i++)
		if (!hwloc_bitmap_iszero(a->items[i].cpus))
			return true;
	return false;
}

/* validateState(): kubelets have given CPUs of the shared pool to containers. NULL = no container has such a CPU. */
static char *check_overlap(const struct allocations *a)
{
	for (size_t i = 0; i < a->n_items; i++)
		if (hwloc_bitmap_intersects(a->items[i].cpus, a->shared)) {
			CLEANUP(freep) char *cpus = cpuset_print(a->items[i].cpus);
			CLEANUP(freep) char *shared = cpuset_print(a->shared);

			return xasprintf("a container's cpuset: \"%s\" overlaps with default cpuset \"%s\"",
				cpus, shared);
		}
	return NULL;
}

/*
 * *ret: the error with which a kubelet with the new settings rejects cpu_manager_state, as validateState() in policy_static.go; NULL =
 * none.
 */
static int check_cpu_state(
	const struct settings *before, const struct node_state *node, char **ret, struct err *err)
{
	const struct settings *after = &node->settings;
	hwloc_const_bitmap_t shared = node->allocations.shared, reserved = node->reserved.cpus;
	bool strictly_reserved = after->cpu_options.strict_cpu_reservation;

	if (after->cpu_manager == CPU_MANAGER_UNKNOWN || before->cpu_manager == CPU_MANAGER_UNKNOWN)
		return err_set(err, -ENOTSUP, "the CPU manager's policy is not known");
	if (after->cpu_manager != before->cpu_manager) {
		*ret = print_policy_mismatch(cpu_manager_policy_names[after->cpu_manager],
			cpu_manager_policy_names[before->cpu_manager]);
		return 0;
	}
	if (after->cpu_manager == CPU_MANAGER_NONE)
		return 0;
	if (!reserved || !shared || !node->allocations.cpus_known)
		return err_set(err, -ENOTSUP, "the reserved CPUs or the CPU manager's state are not known");
	if (hwloc_bitmap_iszero(shared) && !any_container_holds_cpus(&node->allocations))
		return 0; /* the kubelet makes a new shared pool */
	*ret = hwloc_bitmap_iszero(shared) ? xstrdup("default cpuset cannot be empty")
					   : check_reserved_cpus(shared, reserved, strictly_reserved);
	if (!*ret)
		*ret = check_overlap(&node->allocations);
	if (!*ret)
		*ret = check_all_cpus(node, reserved, strictly_reserved);
	return 0;
}

/* ---- memory_manager_state */

/* Whether the settings leave as much allocatable as the file has (areMachineStatesEqual()). */
static bool is_equal_table(
	const struct node_state *node, const struct memory_node *n, const struct memory_table *table)
{
	uint64_t not_allocatable = node_derive_reserved_memory(&node->settings, n->id, table->type);

	/* Of the memory, what is set aside as hugepages is not allocatable either. */
	for (size_t i = 0; i < n->n_tables && !strcmp(table->type, "memory"); i++)
		if (&n->tables[i] != table)
			not_allocatable += n->tables[i].total;
	return table->total - not_allocatable == table->allocatable;
}

static bool is_equal_state(const struct node_state *node)
{
	const struct memory_state *m = &node->allocations.memory;
	bool equal = true;

	for (size_t i = 0; i < m->n_nodes && equal; i++)
		for (size_t t = 0; t < m->nodes[i].n_tables && equal; t++)
			equal = is_equal_table(node, &m->nodes[i], &m->nodes[i].tables[t]);
	return equal;
}

#define UNEQUAL_STATE "the expected machine state is different from the real one"

/* The NUMA nodes of the containers' blocks that include `node`, in *ret, which is unchanged if no block does. False if the blocks differ. */
static bool find_memory_group(const struct allocations *a, unsigned node, hwloc_const_bitmap_t *ret)
{
	hwloc_const_bitmap_t first = NULL;

	for (size_t i = 0; i < a->n_items; i++)
		for (size_t b = 0; b < a->items[i].n_memory; b++) {
			hwloc_const_bitmap_t nodes = a->items[i].memory[b].nodes;

			if (!hwloc_bitmap_isset(nodes, node))
				continue;
			if (first && !hwloc_bitmap_isequal(first, nodes))
				return false;
			*ret = first = nodes;
		}
	return true;
}

/*
 * validateState() makes the groups of NUMA nodes from the containers' blocks, in the order of a Go map, and compares them with the
 * groups of the file. A node that was assigned alone and then in a group, or the other way round, may have another group in the file.
 */
static int check_groups(const struct allocations *a, char **ret, struct err *err)
{
	for (size_t i = 0; i < a->memory.n_nodes && !*ret; i++) {
		const struct memory_node *node = &a->memory.nodes[i];
		CLEANUP(cpuset_freep) hwloc_bitmap_t alone = cpuset_new();
		hwloc_const_bitmap_t expected = alone;

		cpuset_set(alone, node->id);
		if (!find_memory_group(a, node->id, &expected))
			return err_set(err, -ENOTSUP,
				"whether the kubelet starts with its memory_manager_state is by chance: NUMA node %u is in two groups",
				node->id);
		if (!hwloc_bitmap_isequal(expected, hwloc_bitmap_iszero(node->cells) ? alone : node->cells))
			*ret = xstrdup(UNEQUAL_STATE);
	}
	return 0;
}

/* *ret: the error with which a kubelet with the new settings rejects memory_manager_state; NULL = none. */
static int check_memory_state(const struct settings *before, const struct node_state *node,
	bool reservation_changed, char **ret, struct err *err)
{
	const struct settings *after = &node->settings;

	if (after->memory_manager == MEMORY_MANAGER_UNKNOWN ||
		before->memory_manager == MEMORY_MANAGER_UNKNOWN)
		return err_set(err, -ENOTSUP, "the memory manager's policy is not known");
	if (after->memory_manager != before->memory_manager)
		*ret = print_policy_mismatch(memory_manager_policy_names[after->memory_manager],
			memory_manager_policy_names[before->memory_manager]);
	else if (after->memory_manager == MEMORY_MANAGER_STATIC && reservation_changed &&
		 !is_equal_state(node))
		*ret = xstrdup(UNEQUAL_STATE);
	else if (after->memory_manager == MEMORY_MANAGER_STATIC)
		return check_groups(&node->allocations, ret, err);
	return 0;
}

int kubelet_restart_check(const struct settings *before, const struct node_state *node,
	const struct settings_changes *changes, struct kubelet_restart *ret, struct err *err)
{
	CLEANUP(kubelet_restart_release) struct kubelet_restart found = {NULL};
	int r = check_restart_release(before->kubelet_minor, node->settings.kubelet_minor, err);

	if (r < 0)
		return r;
	r = check_cpu_state(before, node, &found.cpus, err);
	if (r < 0)
		return r;
	r = check_memory_state(before, node, changes->reserved_memory, &found.memory, err);
	if (r < 0)
		return r;
	*ret = found;
	found = (struct kubelet_restart){NULL};
	return 0;
}
