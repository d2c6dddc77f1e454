/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/model/node_asker.h"

#include "common/cleanup.h"
#include "tests/lib/observations.h"
#include "tests/lib/pods.h"
#include "tests/lib/test.h"

static void open_asker(struct observation *o, struct node_asker *asker)
{
	observation_init(o);
	observation_of_kubelet("seed-2s-32cpu", "0", NULL, 0, o);
	assert_int_equal(node_asker_init(asker, &o->node), 0);
}

static void judge(struct node_asker *asker, const char *text, struct admission *ret, struct pod_request *pod)
{
	pod_from_text(pod, text);
	assert_int_equal(node_asker_judge(asker, pod, ret), 0);
}

/* The node has none of them, whatever their sizes are called; and nothing is kept of the question. */
static void hugepages_that_the_node_does_not_have(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(node_asker_release) struct node_asker asker = {0};
	size_t n_free;

	(void)state;
	open_asker(&o, &asker);
	n_free = asker.free.n_items;
	for (unsigned i = 0; i < 100; i++) {
		CLEANUP(pod_request_release) struct pod_request pod;
		struct admission a;
		char text[64];

		snprintf(text, sizeof(text), "app cpu=100m hugepages-%uKi=1Gi", 3 + i);
		judge(&asker, text, &a, &pod);
		assert_int_equal(a.answer, KUBELET_REJECTS);
		snprintf(text, sizeof(text), "hugepages-%uKi", 3 + i);
		test_assert_text("short of", a.short_of, text);
		assert_true(a.free == 0 && a.wanted == (qty_t)QTY_UNIT << 30);
	}
	assert_int_equal(asker.free.n_items, n_free);
}

/* What is known from elsewhere counts where it is lower, for names that the state does not have too. */
static void limits_from_elsewhere(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(node_asker_release) struct node_asker asker = {0};
	CLEANUP(resource_list_release) struct resource_list most = {0};
	qty_t memory;

	(void)state;
	open_asker(&o, &asker);
	memory = resource_list_amount(&asker.free, "memory");
	assert_int_equal(resource_list_set(&most, "cpu", quantity_from_units(3)), 0);
	assert_int_equal(resource_list_set(&most, "a.io/x", quantity_from_units(5)), 0);
	assert_int_equal(resource_list_set(&most, "memory", quantity_from_units(INT64_MAX)), 0);
	assert_int_equal(node_asker_limit(&asker, &most), 0);
	assert_true(resource_list_amount(&asker.free, "cpu") == 3 * QTY_UNIT);
	assert_true(resource_list_amount(&asker.free, "a.io/x") == 5 * QTY_UNIT);
	assert_true(resource_list_amount(&asker.free, "memory") >= memory);
	assert_true(resource_list_amount(&asker.unsure, "cpu") == 0);
	for (size_t i = 1; i < asker.free.n_items; i++)
		assert_true(strcmp(asker.free.items[i - 1].name, asker.free.items[i].name) < 0);
}

/* A caller bounds each question, and learns what it took. */
static void work_is_bounded_and_counted(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(node_asker_release) struct node_asker asker = {0};
	CLEANUP(pod_request_release) struct pod_request pod;
	struct admission a;
	uint64_t steps;

	(void)state;
	open_asker(&o, &asker);
	assert_true(asker.work_limit == KUBELET_WORK_MAX);
	judge(&asker, "app cpu=2 memory=1Gi", &a, &pod);
	assert_int_equal(a.answer, KUBELET_ADMITS);
	steps = asker.steps;
	assert_true(steps > 0 && steps < KUBELET_WORK_MAX / 100);
	asker.work_limit = steps / 2;
	assert_int_equal(node_asker_judge(&asker, &pod, &a), 0);
	assert_int_equal(a.answer, KUBELET_UNKNOWN);
	assert_true(a.managers.beyond_limit && !a.short_of && !a.unsure_of);
	test_assert_text("reason", a.managers.reason.text,
		"the pod asks for more than is judged: 1 container on this node");
	asker.work_limit = steps;
	assert_int_equal(node_asker_judge(&asker, &pod, &a), 0);
	assert_int_equal(a.answer, KUBELET_ADMITS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hugepages_that_the_node_does_not_have),
		cmocka_unit_test(limits_from_elsewhere),
		cmocka_unit_test(work_is_bounded_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
