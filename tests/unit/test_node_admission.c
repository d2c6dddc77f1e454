/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/node/node_admission.h"

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/vec.h"
#include "tests/lib/observations.h"
#include "tests/lib/pods.h"
#include "tests/lib/synthetic.h"
#include "tests/lib/test.h"

static void open_admission(struct observation *o, struct node_admission *admission)
{
	observation_init(o);
	observation_of_kubelet("seed-2s-32cpu", "0", NULL, 0, o);
	node_admission_init(admission, &o->node);
}

static void judge(struct node_admission *admission, const char *text, struct kubelet_verdict *ret,
	struct pod_request *pod)
{
	pod_from_text(pod, text);
	node_admission_judge(admission, pod, ret);
}

/* The node has no hugepages of these sizes, and the judge keeps nothing of a question. */
static void hugepages_that_the_node_does_not_have(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	size_t n_free;

	(void)state;
	open_admission(&o, &admission);
	n_free = admission.free.n_items;
	for (unsigned i = 0; i < 100; i++) {
		CLEANUP(pod_request_release) struct pod_request pod;
		struct kubelet_verdict a;
		char text[64];

		snprintf(text, sizeof(text), "app cpu=100m hugepages-%uKi=1Gi", 3 + i);
		judge(&admission, text, &a, &pod);
		assert_int_equal(a.answer, KUBELET_REJECTS);
		snprintf(text, sizeof(text), "hugepages-%uKi", 3 + i);
		test_assert_text("short of", a.short_of, text);
		assert_true(a.free == 0 && a.wanted == (qty_t)QTY_UNIT << 30);
	}
	assert_int_equal(admission.free.n_items, n_free);
}

/* Requestable amounts count where they are lower, also for names that the state does not have. */
static void limits_from_elsewhere(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	CLEANUP(resource_list_release) struct resource_list most = {0};
	qty_t memory;

	(void)state;
	open_admission(&o, &admission);
	memory = resource_list_amount(&admission.free, "memory");
	resource_list_set(&most, "cpu", quantity_from_units(3));
	resource_list_set(&most, "a.io/x", quantity_from_units(5));
	resource_list_set(&most, "memory", quantity_from_units(INT64_MAX));
	node_admission_limit(&admission, &most);
	assert_true(resource_list_amount(&admission.free, "cpu") == 3 * QTY_UNIT);
	assert_true(resource_list_amount(&admission.free, "a.io/x") == 5 * QTY_UNIT);
	assert_true(resource_list_amount(&admission.free, "memory") >= memory);
	assert_true(resource_list_amount(&admission.unsure, "cpu") == 0);
	for (size_t i = 1; i < admission.free.n_items; i++)
		assert_true(strcmp(admission.free.items[i - 1].name, admission.free.items[i].name) < 0);
}

/* A caller limits the work of a question, and gets the number of its steps. */
static void work_is_bounded_and_counted(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	CLEANUP(pod_request_release) struct pod_request pod;
	struct kubelet_verdict a;
	uint64_t steps;

	(void)state;
	open_admission(&o, &admission);
	assert_true(admission.work_limit == KUBELET_WORK_MAX);
	judge(&admission, "app cpu=2 memory=1Gi", &a, &pod);
	assert_int_equal(a.answer, KUBELET_ADMITS);
	steps = admission.steps;
	assert_true(steps > 0 && steps < KUBELET_WORK_MAX / 100);
	admission.work_limit = steps / 2;
	node_admission_judge(&admission, &pod, &a);
	assert_int_equal(a.answer, KUBELET_UNKNOWN);
	assert_true(a.beyond_limit && !a.short_of && !a.unsure_of);
	test_assert_text(
		"reason", a.reason.text, "the verdict takes too many steps: 1 container on this node");
	admission.work_limit = steps;
	node_admission_judge(&admission, &pod, &a);
	assert_int_equal(a.answer, KUBELET_ADMITS);
}

/*
 * ---- what pods can request of the whole node: as much CPU as is allocatable, which need not be whole CPUs
 */

/* Free of 16 CPUs, in thousandths. */
static long free_millis(const char *list, const char *observed, long amount, const char *held)
{
	static const struct synthetic two = {
		.sockets = 2, .numas = 1, .uncores = 1, .cores = 8, .threads = 1, .memory_bytes = 1 << 30};
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	CLEANUP(node_state_release) struct node_state node;
	struct settings *s = &node.settings;
	long millis;

	node_state_init(&node);
	synthetic_machine(&two, &node.machine);
	s->reserved_known = amount >= 0;
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
	node_admission_init(&admission, &node);
	millis = (long)(resource_list_find(&admission.free, "cpu")->quantity.nano / (QTY_UNIT / 1000));
	return millis;
}

static void reserved_by_an_amount(void **state)
{
	(void)state;
	assert_int_equal(free_millis(NULL, NULL, 0, NULL), 16000);
	assert_int_equal(free_millis(NULL, NULL, 1250, NULL), 14750);
	assert_int_equal(free_millis(NULL, NULL, 1250, "4-6"), 11750);
	/* The kubelet reserves two whole CPUs; pods can request all but the amount. */
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

/* A resized pod requests less than it holds: what it holds may be free. */
static void resized_containers_leave_it_open(void **state)
{
	static const struct synthetic two = {
		.sockets = 2, .numas = 1, .uncores = 1, .cores = 8, .threads = 1, .memory_bytes = 1 << 30};

	(void)state;
	for (unsigned on = 0; on < 2; on++) {
		CLEANUP(node_admission_release) struct node_admission admission = {0};
		CLEANUP(node_state_release) struct node_state node;
		const long bytes = on ? 4096 : 0;
		struct hugepage_pool *pool;
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
		pool = vec_push(&node.machine.nodes[0].pools, &node.machine.nodes[0].n_pools,
			&node.machine.nodes[0].pools_size, sizeof(*pool));
		*pool = (struct hugepage_pool){.page_bytes = 2 << 20, .pages = 1};
		node_admission_init(&admission, &node);
		assert_int_equal(resource_list_find(&admission.free, "cpu")->quantity.nano, 13 * QTY_UNIT);
		assert_int_equal(
			resource_list_find(&admission.unsure, "cpu")->quantity.nano, (on ? 3 : 0) * QTY_UNIT);
		assert_int_equal(
			resource_list_find(&admission.unsure, "memory")->quantity.nano, bytes * QTY_UNIT);
		assert_int_equal(resource_list_find(&admission.unsure, "hugepages-2Mi")->quantity.nano, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hugepages_that_the_node_does_not_have),
		cmocka_unit_test(limits_from_elsewhere),
		cmocka_unit_test(work_is_bounded_and_counted),
		cmocka_unit_test(reserved_by_an_amount),
		cmocka_unit_test(reserved_by_a_list),
		cmocka_unit_test(reserved_by_what_the_kubelet_reports),
		cmocka_unit_test(resized_containers_leave_it_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
