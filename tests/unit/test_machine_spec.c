/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "tests/lib/test.h"

#include "common/allocation.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "scoring/node/machine_spec.h"

#define GIB ((uint64_t)1 << 30)

static void a_machine_has_the_described_layout(void **state)
{
	CLEANUP(node_state_release) struct node_state s;
	CLEANUP(freep) char *cpus = NULL;
	struct err err = {""};

	(void)state;
	if (machine_spec_parse("2x2x4x2,64Gi,hugepages-1Gi=8Gi,vendor.com/gpu=8", &s, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(s.machine.n_cpus, 32);
	assert_int_equal(s.machine.n_cores, 16);
	assert_int_equal(s.machine.n_nodes, 4);
	assert_int_equal(s.machine.n_sockets, 2);
	assert_int_equal(s.machine.memory_bytes, 64 * GIB);
	assert_int_equal(s.machine.nodes[3].memory_bytes, 16 * GIB);
	assert_int_equal(s.machine.nodes[3].pools[0].pages, 2);
	assert_int_equal(s.machine.nodes[1].socket, 0);
	assert_int_equal(s.machine.nodes[2].socket, 1);
	cpus = cpuset_print(s.machine.nodes[1].cpus);
	assert_string_equal(cpus, "4-7,20-23");
	assert_int_equal(machine_cpu(&s.machine, 20)->core, 4);
	assert_int_equal(machine_distance(&s.machine, 0, 0), 10);
	assert_int_equal(machine_distance(&s.machine, 0, 1), 12);
	assert_int_equal(machine_distance(&s.machine, 0, 2), 32);
	/* Two devices near each NUMA node */
	assert_int_equal(s.allocations.n_registered, 4);
	assert_int_equal(s.allocations.registered[2].ids.n_items, 2);
	assert_true(hwloc_bitmap_isset(s.allocations.registered[2].nodes, 2));
}

static void two_threads_are_the_default(void **state)
{
	static const struct {
		const char *text;
		size_t cpus;
	} cases[] = {{"1x1x8,16Gi", 16}, {"1x1x8x1,16Gi", 8}, {"2x4x16,512Gi", 256}, {"1x8x16x4,1Ti", 512}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(node_state_release) struct node_state s;
		struct err err = {""};

		if (machine_spec_parse(cases[i].text, &s, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(s.machine.n_cpus, cases[i].cpus);
	}
}

static void other_texts_are_refused(void **state)
{
	static const char *const cases[] = {"", "2x4", "2x4x16", "2x4x16,", "2x4x16,0", "0x4x16,1Gi",
		"2x4x16x,1Gi", "2x4x16x2x2,1Gi", "2x4x-16,1Gi", "9000x1x1,1Gi", "8x1024x2,1Gi",
		"1x1x8192,1Gi", "2x4x16,512Qi", "2x4x16,1.5", "2x4x16,1Gi,hugepages-1Gi=2Gi",
		"2x4x16,1Gi,hugepages-0=1Gi", "2x4x16,1Gi,cpu=3", "2x4x16,1Gi,vendor.com/gpu",
		"2x4x16,1Gi,vendor.com/gpu=100000", "2x4x16,1Gi,vendor.com/gpu=0"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct node_state s;
		struct err err = {""};

		if (machine_spec_parse(cases[i], &s, &err) != -EINVAL)
			fail_msg("'%s' is accepted", cases[i]);
		assert_non_null(strstr(err.text, "is not SOCKETSxNUMAxCORES[xTHREADS],MEMORY"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_machine_has_the_described_layout),
		cmocka_unit_test(two_threads_are_the_default),
		cmocka_unit_test(other_texts_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
