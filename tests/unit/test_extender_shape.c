/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/shape.h"

#include "common/cleanup.h"
#include "common/text.h"
#include "tests/lib/pods.h"
#include "tests/lib/test.h"

static struct shape *take(struct shapes *s, const char *text, const char *name)
{
	CLEANUP(pod_request_release) struct pod_request pod;
	struct shape *shape;

	pod_request_init(&pod);
	pod_from_text(&pod, text);
	assert_int_equal(text_set(&pod.name, name), 0);
	assert_int_equal(shapes_take(s, &pod, &shape), 0);
	return shape;
}

static void pods_that_ask_for_the_same_share_it(void **state)
{
	static const char text[] = "init cpu=4 memory=1Gi; app cpu=2 memory=4Gi vendor.com/nic=1";
	CLEANUP(shapes_release) struct shapes s = {0};
	struct shape *first, *second;

	(void)state;
	first = take(&s, text, "one");
	second = take(&s, text, "two");
	assert_ptr_equal(first, second);
	assert_int_equal(first->users, 2);
	assert_int_equal(s.n, 1);
	test_assert_text("name", first->pod.name, "");
	assert_int_equal(first->qos, QOS_GUARANTEED);
	assert_int_equal(first->cpus, 4);
	assert_true(first->aligned);
	assert_false(take(&s, "app memory=1Gi", "three")->aligned); /* no CPU: Burstable */
}

/* Each differs from the first one in a single thing, also in the last of a list. */
static void pods_that_ask_for_something_else_do_not(void **state)
{
	static const char *const texts[] = {
		"init cpu=4 memory=1Gi; app cpu=2 memory=4Gi vendor.com/nic=1",
		"init cpu=4 memory=1Gi; app cpu=2 memory=4Gi vendor.com/nic=2",
		"init cpu=4 memory=1Gi; app cpu=2 memory=4Gi vendor.com/gpu=1",
		"init cpu=4 memory=1Gi; app cpu=2 memory=4Gi",
		"init cpu=4 memory=2Gi; app cpu=2 memory=4Gi vendor.com/nic=1",
		"init cpu=4 memory=1Gi; app cpu=1999m memory=4Gi vendor.com/nic=1",
		"sidecar cpu=4 memory=1Gi; app cpu=2 memory=4Gi vendor.com/nic=1",
		"app cpu=4 memory=1Gi; app cpu=2 memory=4Gi vendor.com/nic=1",
		"init cpu=4 memory=1Gi",
		"app cpu=2 memory=4Gi vendor.com/nic=1",
	};
	CLEANUP(shapes_release) struct shapes s = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(take(&s, texts[i], "pod")->users, 1);
		assert_int_equal(s.n, i + 1);
	}
}

/* What a line of text cannot say. */
static void all_of_a_pod_counts(void **state)
{
	CLEANUP(shapes_release) struct shapes s = {0};

	(void)state;
	for (int i = 0; i < 8; i++) {
		CLEANUP(pod_request_release) struct pod_request pod;
		struct shape *shape;
		struct resource_list *const lists[] = {&pod.overhead, &pod.pod_requests, &pod.pod_limits};

		pod_request_init(&pod);
		pod_from_text(&pod, "app cpu=2 memory=4Gi");
		if (i == 1)
			pod.qos = QOS_BURSTABLE;
		if (i == 2)
			pod.has_pod_resources = true;
		if (i == 3)
			pod.has_claims = true;
		if (i >= 4 && i < 7)
			assert_int_equal(
				resource_list_set(lists[i - 4], "cpu", (struct quantity){.nano = QTY_UNIT}),
				0);
		if (i == 7)
			resource_list_release(&pod.containers[0].limits);
		assert_int_equal(shapes_take(&s, &pod, &shape), 0);
		assert_int_equal(shape->users, 1);
		assert_int_equal(s.n, i + 1);
	}
}

static void some_are_kept_without_a_user(void **state)
{
	CLEANUP(shapes_release) struct shapes s = {0};
	struct shape *first;
	char text[32];

	(void)state;
	shapes_drop(&s, NULL);
	first = take(&s, "app cpu=1", "pod");
	shapes_drop(&s, first);
	assert_ptr_equal(take(&s, "app cpu=1", "pod"), first);
	assert_int_equal(s.n, 1);
	shapes_drop(&s, first); /* it is among the kept ones already */
	for (unsigned i = 2; i <= SHAPES_IDLE; i++) {
		snprintf(text, sizeof(text), "app cpu=%u", i);
		shapes_drop(&s, take(&s, text, "pod"));
	}
	assert_int_equal(s.n, SHAPES_IDLE);
	assert_ptr_equal(take(&s, "app cpu=1", "pod"), first);
	/* The oldest of them makes room, and stays as long as it has a user. */
	shapes_drop(&s, take(&s, "app memory=1Gi", "pod"));
	assert_int_equal(s.n, SHAPES_IDLE + 1);
	shapes_drop(&s, take(&s, "app memory=2Gi", "pod"));
	assert_int_equal(s.n, SHAPES_IDLE + 1);
	assert_ptr_equal(take(&s, "app cpu=1", "pod"), first);
	assert_int_equal(first->users, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_that_ask_for_the_same_share_it),
		cmocka_unit_test(pods_that_ask_for_something_else_do_not),
		cmocka_unit_test(all_of_a_pod_counts),
		cmocka_unit_test(some_are_kept_without_a_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
