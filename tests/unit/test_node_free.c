/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What pods can ask of the node as a whole: of CPUs as much as its allocatable amount, which need not be whole CPUs.
 */
#include "tests/lib/test.h"

#include "agent/state/node_free.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/vec.h"
#include "tests/lib/synthetic.h"

/* Free of 16 CPUs, in thousandths. */
static long free_millis(const char *list, const char *observed, long amount, const char *held)
{
	static const struct synthetic two = {
		.sockets = 2, .numas = 1, .uncores = 1, .cores = 8, .threads = 1, .memory_bytes = 1 << 30};
	CLEANUP(resource_list_release) struct resource_list free = {0}, unsure = {0};
	CLEANUP(node_state_release) struct node_state node;
	struct settings *s = &node.settings;
	long millis;

	node_state_init(&node);
	synthetic_machine(&two, &node.machine);
	s->reserved_cpu_known = amount >= 0;
	s->system_reserved_cpu = amount >= 0 ? amount * (QTY_UNIT / 1000) : 0;
	if (list)
		assert_int_equal(cpuset_parse(list, &s->reserved_system_cpus, NULL), 0);
	node.reserved.observed = observed != NULL;
	if (observed)
		assert_int_equal(cpuset_parse(observed, &node.reserved.cpus, NULL), 0);
	if (held) {
		struct allocation *item = allocations_add_container(&node.allocations, "u", "c");
		CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = NULL;

		assert_non_null(item);
		assert_int_equal(cpuset_parse(held, &cpus, NULL), 0);
		assert_int_equal(hwloc_bitmap_copy(item->cpus, cpus), 0);
	}
	node_free_amounts(&node, &free, &unsure);
	millis = (long)(resource_list_find(&free, "cpu")->quantity.nano / (QTY_UNIT / 1000));
	return millis;
}

static void reserved_by_an_amount(void **state)
{
	(void)state;
	assert_int_equal(free_millis(NULL, NULL, 0, NULL), 16000);
	assert_int_equal(free_millis(NULL, NULL, 1250, NULL), 14750);
	assert_int_equal(free_millis(NULL, NULL, 1250, "4-6"), 11750);
	/* The kubelet keeps two CPUs for it; what pods may ask for is the amount's rest all the same. */
	assert_int_equal(free_millis(NULL, "0-1", 1250, "4-6"), 11750);
}

static void reserved_by_a_list(void **state)
{
	(void)state;
	assert_int_equal(free_millis("0-2", NULL, 1250, NULL), 13000);
	assert_int_equal(free_millis("0-2", "0-2", 1250, NULL), 13000);
}

static void reserved_by_what_the_kubelet_reports(void **state)
{
	(void)state;
	assert_int_equal(free_millis(NULL, "0-2", -1, NULL), 13000);
	/* The settings are those of another kubelet. */
	assert_int_equal(free_millis(NULL, "0-2", 1250, NULL), 13000);
	assert_int_equal(free_millis("0", "0-2", -1, NULL), 13000);
	assert_int_equal(free_millis(NULL, NULL, -1, NULL), 16000);
}

/* A pod that was resized asks for less than it holds: what it holds may be free. */
static void resized_containers_leave_it_open(void **state)
{
	static const struct synthetic two = {
		.sockets = 2, .numas = 1, .uncores = 1, .cores = 8, .threads = 1, .memory_bytes = 1 << 30};

	(void)state;
	for (unsigned on = 0; on < 2; on++) {
		CLEANUP(resource_list_release) struct resource_list free = {0}, unsure = {0};
		CLEANUP(node_state_release) struct node_state node;
		const long bytes = on ? 4096 : 0;
		struct allocation *item;

		node_state_init(&node);
		synthetic_machine(&two, &node.machine);
		item = allocations_add_container(&node.allocations, "u", "c");
		assert_non_null(item);
		assert_int_equal(hwloc_bitmap_set_range(item->cpus, 4, 6), 0);
		for (unsigned i = 0; i < 2; i++) {
			struct memory_block *block = vec_push(
				&item->memory, &item->n_memory, &item->memory_size, sizeof(*item->memory));

			assert_non_null(block);
			*block = (struct memory_block){.type = strdup(i == 0 ? "memory" : "hugepages-2Mi"),
				.bytes = 4096,
				.nodes = hwloc_bitmap_alloc()};
		}
		node.allocations.memory_known = true;
		if (on)
			node.settings.feature_gates_text =
				strdup("InPlacePodVerticalScalingExclusiveCPUs=true,"
				       "InPlacePodVerticalScalingExclusiveMemory=true");
		node_free_amounts(&node, &free, &unsure);
		node_free_pages(&node, "hugepages-2Mi", &free, &unsure);
		assert_int_equal(resource_list_find(&free, "cpu")->quantity.nano, 13 * QTY_UNIT);
		assert_int_equal(resource_list_find(&unsure, "cpu")->quantity.nano, (on ? 3 : 0) * QTY_UNIT);
		assert_int_equal(resource_list_find(&unsure, "memory")->quantity.nano, bytes * QTY_UNIT);
		assert_int_equal(resource_list_find(&unsure, "hugepages-2Mi")->quantity.nano, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reserved_by_an_amount),
		cmocka_unit_test(reserved_by_a_list),
		cmocka_unit_test(reserved_by_what_the_kubelet_reports),
		cmocka_unit_test(resized_containers_leave_it_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
