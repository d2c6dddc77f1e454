/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kubelet's static policy makes of its state file when it starts: validateState() of
 * pkg/kubelet/cm/cpumanager/policy_static.go, in its words.
 */
#include "scoring/cpu_manager.h"

#include <errno.h>
#include <string.h>

#include "common/cleanup.h"

/* The sets that are compared. */
struct check {
	hwloc_bitmap_t all;   /* the machine's CPUs, without the strictly reserved */
	hwloc_bitmap_t known; /* the shared pool and every allocation */
	hwloc_bitmap_t reserved, overlap;
};

static void check_release(struct check *c)
{
	hwloc_bitmap_free(c->all);
	hwloc_bitmap_free(c->known);
	hwloc_bitmap_free(c->reserved);
	hwloc_bitmap_free(c->overlap);
}

static int check_init(struct check *c, const struct cpu_manager *cm, const struct allocations *a)
{
	const struct cpu_topology *t = cm->topology;

	*c = (struct check){.all = hwloc_bitmap_alloc(),
		.known = a->shared ? hwloc_bitmap_dup(a->shared) : hwloc_bitmap_alloc(),
		.reserved = hwloc_bitmap_alloc(),
		.overlap = hwloc_bitmap_alloc()};
	if (!c->all || !c->known || !c->reserved || !c->overlap ||
		cpu_set_to_bitmap(t, cm->reserved, c->reserved) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < t->n_cpus; i++)
		if (!(cm->options.strict_cpu_reservation && cm->reserved[i]) &&
			hwloc_bitmap_set(c->all, t->ids[i]) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < a->n_items; i++)
		if (hwloc_bitmap_or(c->known, c->known, a->items[i].cpus) < 0)
			return -ENOMEM;
	return 0;
}

/* Two sets as text, both or neither. */
static int print_sets(hwloc_const_bitmap_t a, hwloc_const_bitmap_t b, char **ret_a, char **ret_b)
{
	*ret_a = cpuset_print(a);
	*ret_b = cpuset_print(b);
	return *ret_a && *ret_b ? 0 : -ENOMEM;
}

static int check_reserved(
	const struct cpu_manager *cm, const struct check *c, hwloc_const_bitmap_t shared, struct err *err)
{
	CLEANUP(freep) char *one = NULL;
	CLEANUP(freep) char *two = NULL;

	hwloc_bitmap_and(c->overlap, c->reserved, shared);
	if (cm->options.strict_cpu_reservation) {
		if (hwloc_bitmap_iszero(c->overlap))
			return 0;
		if (print_sets(c->overlap, shared, &one, &two) < 0)
			return -ENOMEM;
		return err_set(err, -EINVAL,
			"some of strictly reserved cpus: \"%s\" are present in defaultCpuSet: \"%s\"", one,
			two);
	}
	if (hwloc_bitmap_isequal(c->overlap, c->reserved))
		return 0;
	if (print_sets(c->reserved, shared, &one, &two) < 0)
		return -ENOMEM;
	return err_set(
		err, -EINVAL, "not all reserved cpus: \"%s\" are present in defaultCpuSet: \"%s\"", one, two);
}

static int check_assignments(const struct check *c, const struct allocations *a, struct err *err)
{
	CLEANUP(freep) char *one = NULL;
	CLEANUP(freep) char *two = NULL;

	for (size_t i = 0; i < a->n_items; i++) {
		if (!hwloc_bitmap_intersects(a->shared, a->items[i].cpus))
			continue;
		if (print_sets(a->items[i].cpus, a->shared, &one, &two) < 0)
			return -ENOMEM;
		return err_set(err, -EINVAL,
			"pod: %s, container: %s cpuset: \"%s\" overlaps with default cpuset \"%s\"",
			a->items[i].pod_uid, a->items[i].container, one, two);
	}
	if (hwloc_bitmap_isequal(c->known, c->all))
		return 0;
	if (print_sets(c->all, c->known, &one, &two) < 0)
		return -ENOMEM;
	return err_set(err, -EINVAL,
		"current set of available CPUs \"%s\" doesn't match with CPUs in state \"%s\"", one, two);
}

int cpu_manager_check_state(
	const struct cpu_manager *cm, const struct allocations *a, bool *shared, struct err *err)
{
	CLEANUP(check_release) struct check c = {0};
	int r = check_init(&c, cm, a);

	if (r < 0)
		return r;
	if (!a->shared || hwloc_bitmap_iszero(a->shared)) {
		for (size_t i = 0; i < a->n_items; i++)
			if (!hwloc_bitmap_iszero(a->items[i].cpus))
				return err_set(err, -EINVAL, "default cpuset cannot be empty");
		cpu_set_from_bitmap(cm->topology, c.all, shared);
		return 0;
	}
	r = check_reserved(cm, &c, a->shared, err);
	if (r == 0)
		r = check_assignments(&c, a, err);
	if (r == 0)
		cpu_set_from_bitmap(cm->topology, a->shared, shared);
	return r;
}
