/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "scoring/request.h"
#include "tests/lib/nodes.h"
#include "tests/lib/peers.h"

struct qos_case {
	const char *name, *pod;                /* tests/lib/pods.h */
	const char *pod_requests, *pod_limits; /* NULL = no pod-level resources */
	enum qos_class want;
};

static void qos_classes(void **state)
{
	static const struct qos_case cases[] = {
		{"no container", "", NULL, NULL, QOS_BEST_EFFORT},
		{"nothing asked", "app |", NULL, NULL, QOS_BEST_EFFORT},
		{"device alone", "app v.io/d=1", NULL, NULL, QOS_BEST_EFFORT},
		{"zero is nothing", "app cpu=0 memory=0", NULL, NULL, QOS_BEST_EFFORT},
		{"equal", "app cpu=1 memory=1Gi", NULL, NULL, QOS_GUARANTEED},
		{"equal in value", "app cpu=1000m memory=1Gi | cpu=1 memory=1024Mi", NULL, NULL,
			QOS_GUARANTEED},
		{"fractional", "app cpu=500m memory=1Gi", NULL, NULL, QOS_GUARANTEED},
		{"lower request", "app cpu=1 memory=1Gi | cpu=2 memory=1Gi", NULL, NULL, QOS_BURSTABLE},
		{"limit of cpu alone", "app cpu=1", NULL, NULL, QOS_BURSTABLE},
		{"a request of cpu", "app cpu=1 |", NULL, NULL, QOS_BURSTABLE},
		{"a request of memory", "app memory=1Gi |", NULL, NULL, QOS_BURSTABLE},
		{"no request, a limit of cpu", "app | cpu=1", NULL, NULL, QOS_BURSTABLE},
		{"no request, a limit of memory", "app | memory=1Gi", NULL, NULL, QOS_BURSTABLE},
		{"one without limits", "app cpu=1 memory=1Gi; app |", NULL, NULL, QOS_BURSTABLE},
		{"init counts", "init cpu=1 |; app cpu=1 memory=1Gi", NULL, NULL, QOS_BURSTABLE},
		{"sums are compared",
			"app cpu=1 memory=1Gi | cpu=2 memory=1Gi; app cpu=2 memory=1Gi | cpu=1 memory=1Gi",
			NULL, NULL, QOS_GUARANTEED},
		{"pod level", "app |", "cpu=1 memory=1Gi", "cpu=1 memory=1Gi", QOS_GUARANTEED},
		{"pod level rules alone", "app cpu=1 memory=1Gi", "cpu=1", "", QOS_BURSTABLE},
		{"pod level cpu alone", "app |", "cpu=1", "cpu=1", QOS_BURSTABLE},
		{"pod level empty", "app cpu=1", "", "", QOS_BEST_EFFORT},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pod_request pod;
		enum qos_class got;

		pod_from_text(&pod, cases[i].pod);
		pod.has_pod_resources = cases[i].pod_requests != NULL;
		if (pod.has_pod_resources) {
			pod.pod_requests = resources_from_text(cases[i].pod_requests);
			pod.pod_limits = resources_from_text(cases[i].pod_limits);
		}
		got = request_qos(&pod);
		test_assert_text(cases[i].name, qos_class_names[got], qos_class_names[cases[i].want]);
		pod.qos = QOS_BURSTABLE;
		assert_int_equal(request_qos(&pod), QOS_BURSTABLE);
		pod_request_release(&pod);
	}
}

/* "containers resource" */
static void what_keeps_a_pod_from_being_guaranteed(void **state)
{
	static const struct {
		const char *pod, *want;
	} cases[] = {
		{"app |", ""},
		{"app cpu=1 memory=1Gi", ""},
		{"app cpu=1", "1 memory"},
		{"app cpu=1 memory=1Gi | cpu=2 memory=1Gi", "1 cpu"},
		{"app cpu=1 memory=1Gi |", "1 cpu and memory"},
		{"app cpu=1 memory=1Gi; app |", "1 cpu and memory"},
		{"init cpu=1 |; app cpu=1 memory=1Gi", "1 cpu and memory"},
		{"app cpu=1; app cpu=2; app cpu=1 memory=1Gi", "2 memory"},
		{"app cpu=1; app memory=1Gi", "2 cpu or memory"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct request_gap gap = {0};
		struct pod_request pod;
		char text[64] = "";

		pod_from_text(&pod, cases[i].pod);
		if (request_gap_of(&pod, &gap))
			snprintf(text, sizeof(text), "%zu %s", gap.n_containers, gap.resource);
		test_assert_text(cases[i].pod, text, cases[i].want);
		pod.has_pod_resources = true;
		assert_false(request_gap_of(&pod, &gap));
		pod_request_release(&pod);
	}
}

static void limits_become_requests(void **state)
{
	struct pod_request pod;

	(void)state;
	pod_request_init(&pod);
	pod_add_from_text(&pod, "app memory=1Gi | cpu=2 memory=2Gi");
	assert_int_equal(request_qos(&pod), QOS_BURSTABLE);
	request_default(&pod);
	assert_true(resource_list_find(&pod.containers[0].requests, "cpu")->quantity.nano == 2 * QTY_UNIT);
	assert_true(
		resource_list_find(&pod.containers[0].requests, "memory")->quantity.nano == QTY_UNIT << 30);
	pod_request_release(&pod);
}

static void check_list(const char *name, const struct resource_list *got, const char *want_text)
{
	struct resource_list want = resources_from_text(want_text);

	if (got->n_items != want.n_items)
		fail_msg("%s: %zu resources, want %s", name, got->n_items, want_text);
	for (size_t i = 0; i < want.n_items; i++) {
		char text[QUANTITY_TEXT_MAX], want_amount[QUANTITY_TEXT_MAX];

		test_assert_text(name, got->items[i].name, want.items[i].name);
		quantity_print(got->items[i].quantity, text);
		quantity_print(want.items[i].quantity, want_amount);
		test_assert_text(name, text, want_amount);
	}
	resource_list_release(&want);
}

/* Sidecars count as init containers; the overhead comes on top; fractions and zero quantities stay. */
static void effective_requests(void **state)
{
	static const struct {
		const char *name, *pod, *overhead;
		enum qos_class qos;
		bool pod_level;
		const char *want;
	} cases[] = {
		{"sum", "app cpu=1 memory=1Gi |; app cpu=2 v.io/d=1 |", "", QOS_GUARANTEED, false,
			"cpu=3 memory=1Gi v.io/d=1"},
		{"init", "init cpu=5 |; init cpu=2 memory=4Gi |; app cpu=1 memory=1Gi |", "", QOS_GUARANTEED,
			false, "cpu=5 memory=4Gi"},
		{"sidecar first", "sidecar cpu=2 |; init cpu=4 |; app cpu=3 |", "", QOS_GUARANTEED, false,
			"cpu=4"},
		{"sidecar last", "init cpu=4 |; sidecar cpu=2 |; app cpu=1 |", "", QOS_GUARANTEED, false,
			"cpu=4"},
		{"overhead", "app cpu=1 |", "cpu=250m memory=64Mi", QOS_GUARANTEED, false,
			"cpu=1250m memory=64Mi"},
		{"fraction", "app cpu=1500m memory=1Gi |; app cpu=2 |", "", QOS_GUARANTEED, false,
			"cpu=3500m memory=1Gi"},
		{"burstable", "app cpu=2 hugepages-2Mi=4Mi memory=1Gi v.io/d=1 |", "", QOS_BURSTABLE, false,
			"cpu=2 hugepages-2Mi=4Mi memory=1Gi v.io/d=1"},
		{"pod level", "app cpu=2 v.io/d=1 |", "", QOS_GUARANTEED, true, "cpu=2 v.io/d=1"},
		{"zero and storage", "app cpu=2 ephemeral-storage=1Gi v.io/d=0 |", "", QOS_GUARANTEED, false,
			"cpu=2 ephemeral-storage=1Gi v.io/d=0"},
		{"nothing", "", "", QOS_BEST_EFFORT, false, ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct resource_list list = {0};
		struct pod_request pod;

		pod_from_text(&pod, cases[i].pod);
		pod.qos = cases[i].qos;
		pod.has_pod_resources = cases[i].pod_level;
		pod.overhead = resources_from_text(cases[i].overhead);
		request_effective_scheduler(&pod, &list);
		check_list(cases[i].name, &list, cases[i].want);
		resource_list_release(&list);
		pod_request_release(&pod);
	}
}

/* Pod-level resources replace what they name; the overhead comes on top. */
static void amounts_of_the_node(void **state)
{
	struct resource_list got;
	struct pod_request pod;

	(void)state;
	pod_from_text(&pod, "sidecar cpu=1 memory=10; init cpu=9; cpu=2 memory=20 v.io/d=1");
	pod.overhead = resources_from_text("cpu=500m");
	request_of_node(&pod, &got);
	check_list("containers", &got, "cpu=10500m memory=30 v.io/d=1");
	resource_list_release(&got);
	pod.has_pod_resources = true;
	pod.pod_requests = resources_from_text("cpu=4");
	request_of_node(&pod, &got);
	check_list("pod", &got, "cpu=4500m memory=30 v.io/d=1");
	resource_list_release(&got);
	pod_request_release(&pod);
}

static void exclusive_amounts(void **state)
{
	static const char *const zones[] = {"cpu=1 vendor.com/gpu=1", NULL};
	struct test_node node;

	(void)state;
	test_node_init(&node, zones);
	assert_true(request_is_exclusive(QOS_GUARANTEED, "cpu", 2 * QTY_UNIT, &node.inv));
	assert_false(request_is_exclusive(QOS_GUARANTEED, "cpu", 3 * QTY_UNIT / 2, &node.inv));
	assert_false(request_is_exclusive(QOS_GUARANTEED, "cpu", 0, &node.inv));
	assert_false(request_is_exclusive(QOS_BURSTABLE, "cpu", 2 * QTY_UNIT, &node.inv));
	assert_true(request_is_exclusive(QOS_GUARANTEED, "memory", 1, &node.inv));
	assert_true(request_is_exclusive(QOS_GUARANTEED, "hugepages-2Mi", 1, &node.inv));
	assert_false(request_is_exclusive(QOS_GUARANTEED, "ephemeral-storage", 1, &node.inv));
	assert_true(request_is_exclusive(QOS_BEST_EFFORT, "vendor.com/gpu", QTY_UNIT, &node.inv));
	assert_false(request_is_exclusive(QOS_GUARANTEED, "vendor.com/nic", QTY_UNIT, &node.inv));
	test_node_release(&node);
}

static void exclusive_pods(void **state)
{
	static const char *const zones[] = {"cpu=1 vendor.com/gpu=1", NULL};
	struct test_node node;
	struct pod_request pod;

	(void)state;
	test_node_init(&node, zones);
	pod_request_init(&pod);
	pod_add_from_text(&pod, "init cpu=1 memory=1Gi vendor.com/gpu=1");
	assert_true(request_has_non_native(&pod));
	assert_false(request_pod_is_exclusive(&pod, &node.inv));
	pod.containers[0].kind = CONTAINER_SIDECAR;
	assert_true(request_pod_is_exclusive(&pod, &node.inv));
	pod_request_release(&pod);
	pod_add_from_text(&pod, "cpu=500m");
	assert_false(request_has_non_native(&pod));
	assert_false(request_pod_is_exclusive(&pod, &node.inv));
	pod_request_release(&pod);
	test_node_release(&node);
}

static void whole_numbers_of_cpus(void **state)
{
	(void)state;
	assert_int_equal(request_whole_cpus(3 * QTY_UNIT), 3);
	assert_int_equal(request_whole_cpus(3 * QTY_UNIT + QTY_UNIT / 1000), 0);
	assert_int_equal(
		request_whole_cpus(QTY_UNIT - 1), 1); /* rounded to the thousandth, as upstream does */
	assert_int_equal(request_whole_cpus(0), 0);
	assert_int_equal(request_whole_cpus(-QTY_UNIT), 0);
}

static void what_a_pod_takes_of_the_node(void **state)
{
	static const struct {
		const char *pod;
		const char *overhead, *pod_requests; /* NULL = none */
		const char *want;
	} cases[] = {
		{"app cpu=1 memory=1Gi |; app cpu=500m memory=1Gi |", NULL, NULL, "cpu=1500m memory=2Gi"},
		{"init cpu=4 |; app cpu=1 memory=1Gi |", NULL, NULL, "cpu=4 memory=1Gi"},
		{"sidecar cpu=1 |; init cpu=4 |; app cpu=2 |", NULL, NULL, "cpu=5"},
		{"init cpu=4 |; sidecar cpu=1 |; app cpu=2 |", NULL, NULL, "cpu=4"},
		{"init cpu=4 |; app cpu=2 |", "cpu=250m", NULL, "cpu=4250m"},
		{"app cpu=2 hugepages-2Mi=2Mi |", "cpu=1", "cpu=8", "cpu=9 hugepages-2Mi=2Mi"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct resource_list got = {0}, want = resources_from_text(cases[i].want);
		struct pod_request pod;

		pod_from_text(&pod, cases[i].pod);
		pod.overhead = resources_from_text(cases[i].overhead ? cases[i].overhead : "");
		pod.has_pod_resources = cases[i].pod_requests != NULL;
		pod.pod_requests = resources_from_text(cases[i].pod_requests ? cases[i].pod_requests : "");
		request_of_node(&pod, &got);
		assert_int_equal(got.n_items, want.n_items);
		for (size_t k = 0; k < got.n_items; k++) {
			test_assert_text("resource", got.items[k].name, want.items[k].name);
			if (quantity_cmp(got.items[k].quantity, want.items[k].quantity) != 0)
				fail_msg("case %zu: %s", i, cases[i].want);
		}
		resource_list_release(&got);
		resource_list_release(&want);
		pod_request_release(&pod);
	}
}

static void lists_are_equal_by_names_and_amounts(void **state)
{
	CLEANUP(resource_list_release) struct resource_list a = {0}, b = {0};
	const struct quantity one = {.nano = QTY_UNIT},
			      bytes = {.nano = QTY_UNIT, .format = QUANTITY_BINARY_SI};

	(void)state;
	assert_true(resource_list_equal(&a, &b));
	resource_list_set(&a, "cpu", one);
	assert_false(resource_list_equal(&a, &b));
	resource_list_set(&b, "memory", one);
	assert_false(resource_list_equal(&a, &b));
	resource_list_set(&b, "cpu", bytes);
	resource_list_set(&a, "memory", bytes);
	assert_true(resource_list_equal(&a, &b));
	resource_list_set(&a, "memory", (struct quantity){.nano = 2});
	assert_false(resource_list_equal(&a, &b));
}

/* ---- many names and containers */

static void name_of(size_t i, char name[32])
{
	snprintf(name, 32, "a.io/%zu", i);
}

/* Of items in any order a list is made at once; of two with one name the last stays. */
static void lists_of_many_items(void **state)
{
	const size_t n = 200000, stride = 77773; /* a prime: every name comes up */
	CLEANUP(resource_list_release) struct resource_list list = {0};
	char name[32];

	(void)state;
	for (size_t i = 0; i < n + 10; i++) {
		name_of(i * stride % n, name);
		resource_list_append(&list, name, quantity_from_units((int64_t)i));
	}
	resource_list_sort(&list);
	assert_int_equal(list.n_items, n);
	for (size_t i = 1; i < n; i++)
		assert_true(strcmp(list.items[i - 1].name, list.items[i].name) < 0);
	name_of(3 * stride % n, name);
	assert_true(resource_list_amount(&list, name) == (qty_t)(n + 3) * QTY_UNIT);
	name_of(11 * stride % n, name);
	assert_true(resource_list_amount(&list, name) == 11 * QTY_UNIT);
}

/* Lists that alternate are merged without moving each item again and again. */
static void large_lists_are_merged(void **state)
{
	CLEANUP(resource_list_release) struct resource_list even = {0};
	CLEANUP(resource_list_release) struct resource_list odd = {0};
	const size_t n = 100000;
	char name[32];

	(void)state;
	for (size_t i = 0; i < n; i++) {
		name_of(i, name);
		resource_list_append(i % 2 ? &odd : &even, name, quantity_from_units(2));
	}
	resource_list_sort(&even);
	resource_list_sort(&odd);
	for (int times = 0; times < 2; times++)
		resource_list_add(&even, &odd, 1);
	resource_list_add(&even, &odd, -1);
	assert_int_equal(even.n_items, n);
	for (size_t i = 0; i < n; i++) {
		assert_true(even.items[i].quantity.nano == 2 * QTY_UNIT);
		assert_true(i == 0 || strcmp(even.items[i - 1].name, even.items[i].name) < 0);
	}
}

/* 5000 containers that name 25 000 resources in all, and as many limits that become requests. */
static void pods_of_many_containers(void **state)
{
	CLEANUP(resource_list_release) struct resource_list node = {0};
	CLEANUP(resource_list_release) struct resource_list effective = {0};
	CLEANUP(pod_request_release) struct pod_request pod;
	char name[32];

	(void)state;
	pod_request_init(&pod);
	for (size_t i = 0; i < 5000; i++) {
		struct container_request *c = pod_request_add(&pod, CONTAINER_APP, "c");

		assert_non_null(c);
		for (size_t k = 0; k < 5; k++) {
			name_of(k * 5000 + i, name);
			resource_list_append(&c->limits, name, quantity_from_units(1));
		}
		resource_list_append(&c->limits, "cpu", quantity_from_units(1));
		resource_list_sort(&c->limits);
	}
	request_default(&pod);
	request_of_node(&pod, &node);
	request_effective_scheduler(&pod, &effective);
	assert_int_equal(node.n_items, 25001);
	assert_true(resource_list_amount(&node, "cpu") == 5000 * QTY_UNIT);
	assert_true(resource_list_equal(&node, &effective));
}

/* As pkg/apis/core/v1/defaults.go does. */
static void pod_level_resources_get_defaults(void **state)
{
	static const struct {
		const char *containers, *requests, *limits, *want_requests, *want_limits;
	} cases[] = {
		{"app |", "", "", "", ""},
		{"app cpu=1 | cpu=2", "", "", "", ""},
		{"app |", "", "cpu=16 memory=8Gi", "cpu=16 memory=8Gi", "cpu=16 memory=8Gi"},
		{"app cpu=1 |; app cpu=2 |", "", "cpu=16 memory=8Gi", "cpu=3 memory=8Gi",
			"cpu=16 memory=8Gi"},
		{"app cpu=1 |", "cpu=4", "cpu=16", "cpu=4", "cpu=16"},
		{"app cpu=1 |", "memory=1Gi", "", "memory=1Gi", ""},
		{"app hugepages-2Mi=4Mi", "", "cpu=2", "cpu=2 hugepages-2Mi=4Mi", "cpu=2 hugepages-2Mi=4Mi"},
		{"app hugepages-2Mi=4Mi", "hugepages-2Mi=8Mi", "", "hugepages-2Mi=8Mi", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(pod_request_release) struct pod_request pod;

		pod_from_text(&pod, cases[i].containers);
		pod.has_pod_resources = true;
		pod.pod_requests = resources_from_text(cases[i].requests);
		pod.pod_limits = resources_from_text(cases[i].limits);
		request_default(&pod);
		check_list(cases[i].containers, &pod.pod_requests, cases[i].want_requests);
		check_list(cases[i].containers, &pod.pod_limits, cases[i].want_limits);
	}
}

/* One name after the other, over all containers. */
static qty_t amount_of_one(const struct pod_request *pod, const char *name, bool plugin)
{
	struct request_peak peak = {0};
	qty_t apps = 0, others = 0;

	for (size_t i = 0; i < pod->n_containers; i++) {
		qty_t amount = resource_list_amount(&pod->containers[i].requests, name);

		request_peak_add(&peak, pod->containers[i].kind, amount);
		if (pod->containers[i].kind == CONTAINER_APP)
			apps += amount;
		else if (amount > others)
			others = amount;
	}
	return !plugin ? request_peak(&peak) : apps > others ? apps : others;
}

/* Grouping by names gives what looking for each name gives. */
static void groups_by_name_are_right(void **state)
{
	uint64_t seed = test_seed(20261125);

	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		CLEANUP(resource_list_release) struct resource_list node = {0};
		CLEANUP(resource_list_release) struct resource_list effective = {0};
		CLEANUP(pod_request_release) struct pod_request pod;
		size_t n = test_random(&seed) % 12;
		char name[32];

		pod_request_init(&pod);
		for (size_t i = 0; i < n; i++) {
			struct container_request *c = pod_request_add(
				&pod, (enum container_kind)(test_random(&seed) % CONTAINER_KIND_COUNT), "c");

			assert_non_null(c);
			for (size_t k = test_random(&seed) % 6; k > 0; k--) {
				name_of(test_random(&seed) % 20, name);
				resource_list_set(&c->requests, name,
					quantity_from_units((int64_t)(test_random(&seed) % 5)));
			}
		}
		request_of_node(&pod, &node);
		request_effective_scheduler(&pod, &effective);
		for (size_t i = 0; i < 20; i++) {
			bool named = false;

			name_of(i, name);
			for (size_t k = 0; k < n; k++)
				named = named || resource_list_find(&pod.containers[k].requests, name);
			assert_int_equal(resource_list_find(&node, name) != NULL, named);
			assert_int_equal(resource_list_find(&effective, name) != NULL, named);
			assert_true(resource_list_amount(&node, name) == amount_of_one(&pod, name, false));
			assert_true(
				resource_list_amount(&effective, name) == amount_of_one(&pod, name, true));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_many_items),
		cmocka_unit_test(large_lists_are_merged),
		cmocka_unit_test(pods_of_many_containers),
		cmocka_unit_test(groups_by_name_are_right),
		cmocka_unit_test(lists_are_equal_by_names_and_amounts),
		cmocka_unit_test(what_a_pod_takes_of_the_node),
		cmocka_unit_test(qos_classes),
		cmocka_unit_test(what_keeps_a_pod_from_being_guaranteed),
		cmocka_unit_test(limits_become_requests),
		cmocka_unit_test(pod_level_resources_get_defaults),
		cmocka_unit_test(effective_requests),
		cmocka_unit_test(amounts_of_the_node),
		cmocka_unit_test(exclusive_amounts),
		cmocka_unit_test(exclusive_pods),
		cmocka_unit_test(whole_numbers_of_cpus),
	};

	return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}
