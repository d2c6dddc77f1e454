/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "common/cleanup.h"
#include "scoring/cpu_topology.h"
#include "tests/lib/synthetic.h"

static void elements_are_nested(void **state)
{
	const struct synthetic s = {.sockets = 2, .numas = 2, .uncores = 2, .cores = 3, .threads = 2};
	struct cpu_topology t;
	struct machine m;

	(void)state;
	synthetic_machine(&s, &m);
	assert_int_equal(cpu_topology_init(&t, &m), 0);
	assert_int_equal(t.n_cpus, 48);
	assert_int_equal(t.levels[CPU_LEVEL_CORE].n, 24);
	assert_int_equal(t.levels[CPU_LEVEL_UNCORE].n, 8);
	assert_int_equal(t.levels[CPU_LEVEL_NUMA].n, 4);
	assert_int_equal(t.levels[CPU_LEVEL_SOCKET].n, 2);
	assert_int_equal(cpu_topology_average(&t, CPU_LEVEL_CORE), 2);
	assert_int_equal(cpu_topology_average(&t, CPU_LEVEL_SOCKET), 24);
	/* CPU 24 is the second thread of core 0. */
	assert_int_equal(t.levels[CPU_LEVEL_CORE].of[24], 0);
	for (enum cpu_level level = 0; level < CPU_LEVEL_COUNT; level++) {
		const struct cpu_elements *e = &t.levels[level];
		size_t total = 0;

		for (size_t x = 0; x < e->n; x++) {
			total += cpu_element_size(&t, level, x);
			assert_int_equal(cpu_element_find(&t, level, e->ids[x]), x);
			for (uint32_t k = e->first[x]; k < e->first[x + 1]; k++)
				assert_int_equal(e->of[e->cpus[k]], x);
		}
		assert_int_equal(total, t.n_cpus);
	}
	assert_int_equal(cpu_element_find(&t, CPU_LEVEL_NUMA, 4), -1);
	cpu_topology_release(&t);
	machine_release(&m);
}

/* CPU ids and element ids with holes, and a CPU that no NUMA node has. */
static void ids_may_have_holes(void **state)
{
	struct cpu cpus[] = {
		{.id = 2, .core = 2, .socket = 1, .numa = 5, .uncore = 9},
		{.id = 7, .core = 2, .socket = 1, .numa = 5, .uncore = 9},
		{.id = 8, .core = 8, .socket = -1, .numa = MACHINE_NONE, .uncore = 0},
		{.id = 90, .core = 90, .socket = -1, .numa = 3, .uncore = -1},
	};
	const struct machine m = {.cpus = cpus, .n_cpus = ARRAY_SIZE(cpus)};
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;
	struct cpu_topology t;
	bool flags[4];

	(void)state;
	assert_int_equal(cpu_topology_init(&t, &m), 0);
	assert_int_equal(t.n_cpus, 3);
	assert_int_equal(t.ids[2], 90);
	assert_int_equal(t.levels[CPU_LEVEL_NUMA].ids[0], 3);
	assert_int_equal(t.levels[CPU_LEVEL_NUMA].of[0], 1);
	assert_int_equal(t.levels[CPU_LEVEL_SOCKET].ids[0], -1);
	assert_int_equal(cpuset_parse("2,8,90", &set, NULL), 0);
	assert_int_equal(cpu_set_from_bitmap(&t, set, flags), 2);
	assert_int_equal(cpu_set_size(&t, flags), 2);
	cpu_set_to_bitmap(&t, flags, set);
	assert_int_equal(cpuset_size(set), 2);
	assert_false(hwloc_bitmap_isset(set, 8));
	assert_int_equal(cpu_set_from_bitmap(&t, NULL, flags), 0);
	cpu_topology_release(&t);
}

/* They are found in another way, but the elements are the same. */
static void ids_may_be_far_apart(void **state)
{
	const struct synthetic s = {.sockets = 2, .numas = 2, .uncores = 2, .cores = 3, .threads = 2};
	struct cpu_topology near, far;
	struct machine m;

	(void)state;
	synthetic_machine(&s, &m);
	assert_int_equal(cpu_topology_init(&near, &m), 0);
	for (size_t i = 0; i < m.n_cpus; i++) {
		m.cpus[i].core *= 1000;
		m.cpus[i].uncore *= 1000;
		m.cpus[i].numa *= 1000;
		m.cpus[i].socket *= 1000;
	}
	assert_int_equal(cpu_topology_init(&far, &m), 0);
	for (enum cpu_level level = 0; level < CPU_LEVEL_COUNT; level++) {
		const struct cpu_elements *a = &near.levels[level], *b = &far.levels[level];

		assert_int_equal(a->n, b->n);
		for (size_t x = 0; x < a->n; x++)
			assert_int_equal(a->ids[x] * 1000, b->ids[x]);
		assert_memory_equal(a->of, b->of, near.n_cpus * sizeof(*a->of));
		assert_memory_equal(a->first, b->first, (a->n + 1) * sizeof(*a->first));
		assert_memory_equal(a->cpus, b->cpus, near.n_cpus * sizeof(*a->cpus));
	}
	cpu_topology_release(&near);
	cpu_topology_release(&far);
	machine_release(&m);
}

static void a_machine_may_be_empty_or_too_large(void **state)
{
	const struct machine none = {0}, huge = {.n_cpus = 65536};
	struct cpu_topology t;

	(void)state;
	assert_int_equal(cpu_topology_init(&t, &none), 0);
	assert_int_equal(t.n_cpus, 0);
	assert_int_equal(cpu_topology_average(&t, CPU_LEVEL_CORE), 0);
	assert_int_equal(cpu_element_find(&t, CPU_LEVEL_NUMA, 0), -1);
	cpu_topology_release(&t);
	assert_int_equal(cpu_topology_init(&t, &huge), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_are_nested),
		cmocka_unit_test(ids_may_have_holes),
		cmocka_unit_test(ids_may_be_far_apart),
		cmocka_unit_test(a_machine_may_be_empty_or_too_large),
	};

	return cmocka_run_group_tests_name("cpu_topology", tests, NULL, NULL);
}
