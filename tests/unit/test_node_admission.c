/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/node_admission.h"

#include "common/cleanup.h"
#include "tests/lib/observations.h"
#include "tests/lib/pods.h"
#include "tests/lib/test.h"

static void open_admission(struct observation *o, struct node_admission *admission)
{
	observation_init(o);
	observation_of_kubelet("seed-2s-32cpu", "0", NULL, 0, o);
	node_admission_init(admission, &o->node);
}

static void judge(
	struct node_admission *admission, const char *text, struct admission *ret, struct pod_request *pod)
{
	pod_from_text(pod, text);
	node_admission_judge(admission, pod, ret);
}

/* The node has none of them, whatever their sizes are called; and nothing is kept of the question. */
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
		struct admission a;
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

/* What is known from elsewhere counts where it is lower, for names that the state does not have too. */
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

/* A caller bounds each question, and learns what it took. */
static void work_is_bounded_and_counted(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	CLEANUP(pod_request_release) struct pod_request pod;
	struct admission a;
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
	assert_true(a.managers.beyond_limit && !a.short_of && !a.unsure_of);
	test_assert_text("reason", a.managers.reason.text,
		"the pod asks for more than is judged: 1 container on this node");
	admission.work_limit = steps;
	node_admission_judge(&admission, &pod, &a);
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
