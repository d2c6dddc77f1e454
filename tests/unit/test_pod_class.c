/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/objects/pod_class.h"

#include "common/cleanup.h"
#include "common/text.h"
#include "tests/lib/pods.h"
#include "tests/lib/test.h"

static struct pod_class *take(struct pod_classes *s, const char *text, const char *name)
{
	CLEANUP(pod_request_release) struct pod_request pod;
	struct pod_class *class;

	pod_request_init(&pod);
	pod_from_text(&pod, text);
	text_set(&pod.name, name);
	class = pod_classes_take(s, &pod);
	return class;
}

static void pods_with_equal_requests_share_a_class(void **state)
{
	static const char text[] = "init cpu=4 memory=1Gi; app cpu=2 memory=4Gi vendor.com/nic=1";
	CLEANUP(pod_classes_release) struct pod_classes s = {0};
	struct pod_class *first, *second;

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

/* Each pod differs from the first pod in one value. */
static void pods_with_different_requests_do_not(void **state)
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
	CLEANUP(pod_classes_release) struct pod_classes s = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(take(&s, texts[i], "pod")->users, 1);
		assert_int_equal(s.n, i + 1);
	}
}

/* Members that the text form of a pod cannot express. */
static void every_member_of_a_request_counts(void **state)
{
	CLEANUP(pod_classes_release) struct pod_classes s = {0};

	(void)state;
	for (int i = 0; i < 8; i++) {
		CLEANUP(pod_request_release) struct pod_request pod;
		struct pod_class *class;
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
			resource_list_set(lists[i - 4], "cpu", (struct quantity){.nano = QTY_UNIT});
		if (i == 7)
			resource_list_release(&pod.containers[0].limits);
		class = pod_classes_take(&s, &pod);
		assert_int_equal(class->users, 1);
		assert_int_equal(s.n, i + 1);
	}
}

static void unreferenced_classes_are_kept_for_a_while(void **state)
{
	CLEANUP(pod_classes_release) struct pod_classes s = {0};
	struct pod_class *first;
	char text[32];

	(void)state;
	pod_classes_drop(&s, NULL);
	first = take(&s, "app cpu=1", "pod");
	pod_classes_drop(&s, first);
	assert_ptr_equal(take(&s, "app cpu=1", "pod"), first);
	assert_int_equal(s.n, 1);
	pod_classes_drop(&s, first); /* in the idle ring buffer already */
	for (unsigned i = 2; i <= CLASSES_IDLE; i++) {
		snprintf(text, sizeof(text), "app cpu=%u", i);
		pod_classes_drop(&s, take(&s, text, "pod"));
	}
	assert_int_equal(s.n, CLASSES_IDLE);
	assert_ptr_equal(take(&s, "app cpu=1", "pod"), first);
	/* The oldest idle class is discarded, unless it has references. */
	pod_classes_drop(&s, take(&s, "app memory=1Gi", "pod"));
	assert_int_equal(s.n, CLASSES_IDLE + 1);
	pod_classes_drop(&s, take(&s, "app memory=2Gi", "pod"));
	assert_int_equal(s.n, CLASSES_IDLE + 1);
	assert_ptr_equal(take(&s, "app cpu=1", "pod"), first);
	assert_int_equal(first->users, 2);
}

/* ---- pods at the limits of the API server */

/* A pod with unique extended resources. */
static void hostile_pod(struct pod_request *pod, size_t containers, size_t resources)
{
	pod_request_init(pod);
	for (size_t c = 0; c < containers; c++) {
		struct container_request *added;
		char name[64];

		snprintf(name, sizeof(name), "c%zu", c);
		added = pod_request_add(pod, CONTAINER_APP, name);
		assert_non_null(added);
		resource_list_set(&added->requests, "cpu", quantity_from_units(1));
		for (size_t i = 0; i < resources; i++) {
			snprintf(name, sizeof(name), "a-name-that-is-long.example.com/r%zu-%05zu", c, i);
			resource_list_set(&added->requests, name, quantity_from_units(1));
		}
	}
}

/* The largest number of resource names that the API server accepts in a pod: more than 1 MiB of text. */
static void a_pod_of_any_size_has_a_class(void **state)
{
	CLEANUP(pod_classes_release) struct pod_classes s = {0};
	struct pod_class *classes[2];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		CLEANUP(pod_request_release) struct pod_request pod;

		hostile_pod(&pod, 44, 500);
		classes[i] = pod_classes_take(&s, &pod);
	}
	assert_ptr_equal(classes[0], classes[1]);
	assert_true(classes[0]->aligned);
	assert_int_equal(classes[0]->wanted.n_items, 1 + CLASSES_UNKNOWN_MAX);
	assert_true(resource_list_amount(&classes[0]->wanted, "cpu") == 44 * QTY_UNIT);
	assert_true(classes[0]->bytes < 65536);
}

static void know(struct pod_classes *s, struct strv *have, const char *name)
{
	CLEANUP(resource_list_release) struct resource_list allocatable = {0};

	if (name)
		resource_list_set(&allocatable, name, quantity_from_units(1));
	known_resources_of_node(&s->known, &allocatable, have);
}

/* Independently of the number and order of unknown names. */
static void resources_of_nodes_are_kept(void **state)
{
	CLEANUP(pod_classes_release) struct pod_classes s = {0};
	CLEANUP(strv_release) struct strv have = {0};
	CLEANUP(pod_request_release) struct pod_request pod;
	struct pod_class *before, *after;

	(void)state;
	hostile_pod(&pod, 1, 100);
	resource_list_set(&pod.containers[0].requests, "vendor.com/nic", quantity_from_units(2));
	before = pod_classes_take(&s, &pod);
	assert_null(resource_list_find(&before->wanted, "vendor.com/nic"));
	know(&s, &have, "vendor.com/nic");
	hostile_pod(&pod, 1, 100);
	resource_list_set(&pod.containers[0].requests, "vendor.com/nic", quantity_from_units(2));
	after = pod_classes_take(&s, &pod);
	assert_ptr_not_equal(before, after);
	assert_true(resource_list_amount(&after->wanted, "vendor.com/nic") == 2 * QTY_UNIT);
	know(&s, &have, NULL);
}

/* The kubelet rejects a pod for the first hugepage size that its node does not have: unknown extended resources must not displace it. */
static void page_sizes_are_kept_beside_extended_resources(void **state)
{
	CLEANUP(pod_classes_release) struct pod_classes s = {0};
	CLEANUP(pod_request_release) struct pod_request pod;
	struct pod_class *class;
	char name[64];

	(void)state;
	hostile_pod(&pod, 1, 100);
	for (unsigned i = 1; i <= 500; i++) {
		snprintf(name, sizeof(name), "hugepages-%uKi", 4 * i);
		resource_list_set(&pod.containers[0].requests, name, quantity_from_units(4096));
	}
	class = pod_classes_take(&s, &pod);
	assert_int_equal(class->wanted.n_items, 1 + 2 * CLASSES_UNKNOWN_MAX);
	assert_non_null(resource_list_find(&class->wanted, "hugepages-1000Ki"));
	assert_null(resource_list_find(&class->wanted, "hugepages-996Ki"));
}

static void a_forged_hash_does_not_make_classes_equal(void **state)
{
	CLEANUP(pod_classes_release) struct pod_classes s = {0}, others = {0};
	struct pod_class *one = take(&s, "app cpu=1 memory=1Gi", "pod");
	struct pod_class *two;

	(void)state;
	one->hash = take(&others, "app cpu=2 memory=1Gi", "pod")->hash;
	two = take(&s, "app cpu=2 memory=1Gi", "pod");
	assert_int_equal(one->hash, two->hash);
	assert_ptr_not_equal(one, two);
	assert_ptr_equal(take(&s, "app cpu=2 memory=1Gi", "pod"), two);
}

/* A too large pod counts with its node-level request; its containers are not stored. */
static void a_too_large_pod_keeps_its_node_level_request(void **state)
{
	CLEANUP(pod_classes_release) struct pod_classes s = {0};
	struct pod_class *classes[3];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		CLEANUP(pod_request_release) struct pod_request pod;

		hostile_pod(&pod, i < 2 ? 5000 : 5001, 1);
		classes[i] = pod_classes_take(&s, &pod);
		assert_true(classes[i]->too_large && classes[i]->aligned);
		assert_true(classes[i]->bytes < 4096);
	}
	assert_ptr_equal(classes[0], classes[1]);
	assert_ptr_not_equal(classes[0], classes[2]);
	assert_true(resource_list_amount(&classes[0]->wanted, "cpu") == 5000 * QTY_UNIT);
}

static void idle_classes_have_a_total_size(void **state)
{
	CLEANUP(pod_classes_release) struct pod_classes s = {0};
	struct pod_class *kept;

	(void)state;
	kept = take(&s, "app cpu=1", "pod");
	for (size_t i = 0; i < CLASSES_IDLE; i++) {
		CLEANUP(pod_request_release) struct pod_request pod;
		struct pod_class *class;

		hostile_pod(&pod, 900 + i, 2);
		class = pod_classes_take(&s, &pod);
		assert_true(class->bytes > CLASSES_IDLE_BYTES / CLASSES_IDLE);
		pod_classes_drop(&s, class);
		assert_true(s.idle_bytes <= CLASSES_IDLE_BYTES);
	}
	assert_true(s.n > 1 && s.n < CLASSES_IDLE);
	assert_ptr_equal(take(&s, "app cpu=1", "pod"), kept);
	assert_true(s.idle_bytes <= CLASSES_IDLE_BYTES);
}

/* A name stays known until the last object with it is deleted. */
static void resource_names_are_counted(void **state)
{
	CLEANUP(pod_classes_release) struct pod_classes s = {0};
	CLEANUP(strv_release) struct strv first = {0}, second = {0};

	(void)state;
	know(&s, &first, "vendor.com/nic");
	know(&s, &second, "vendor.com/nic");
	know(&s, &first, "vendor.com/nic");
	know(&s, &first, NULL);
	assert_true(known_resources_has(&s.known, "vendor.com/nic"));
	know(&s, &second, NULL);
	assert_false(known_resources_has(&s.known, "vendor.com/nic"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_with_equal_requests_share_a_class),
		cmocka_unit_test(pods_with_different_requests_do_not),
		cmocka_unit_test(every_member_of_a_request_counts),
		cmocka_unit_test(unreferenced_classes_are_kept_for_a_while),
		cmocka_unit_test(a_pod_of_any_size_has_a_class),
		cmocka_unit_test(resources_of_nodes_are_kept),
		cmocka_unit_test(page_sizes_are_kept_beside_extended_resources),
		cmocka_unit_test(a_forged_hash_does_not_make_classes_equal),
		cmocka_unit_test(a_too_large_pod_keeps_its_node_level_request),
		cmocka_unit_test(idle_classes_have_a_total_size),
		cmocka_unit_test(resource_names_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
