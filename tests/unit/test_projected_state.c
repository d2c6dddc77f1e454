/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/projected_state.h"

#include "common/cleanup.h"
#include "scoring/request.h"
#include "tests/lib/observations.h"
#include "tests/lib/pods.h"
#include "tests/lib/test.h"

#define GIB ((uint64_t)1 << 30)

/* What the pod would hold on the node, and on which NUMA node the memory of each container. */
static void item_of(struct node_admission *admission, const char *text, struct allocation *ret,
	const char *cpus, const char *const nodes[2])
{
	CLEANUP(pod_request_release) struct pod_request pod;
	CLEANUP(freep) char *got = NULL;
	struct kubelet_verdict v;

	pod_request_init(&pod);
	pod_from_text(&pod, text);
	kubelet_judge(&admission->kubelet, admission->ws, &pod, request_qos(&pod), &v);
	assert_int_equal(v.answer, KUBELET_ADMITS);
	projected_state_item(admission, &pod, &v, ret);
	assert_int_equal(hwloc_bitmap_list_asprintf(&got, ret->cpus) >= 0, 1);
	test_assert_text(text, got, cpus);
	for (size_t i = 0; i < ret->n_memory; i++) {
		CLEANUP(freep) char *of = NULL;

		assert_int_equal(hwloc_bitmap_list_asprintf(&of, ret->memory[i].nodes) >= 0, 1);
		test_assert_text(text, of, nodes[i]);
	}
}

/* Of all its containers: CPUs, and memory on the NUMA nodes where it is. */
static void an_admitted_pod_becomes_an_item(void **state)
{
	static const char *const first[] = {"0", "0"}, *const second[] = {"0", "1"};
	CLEANUP(observation_release) struct observation o;
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	CLEANUP(allocation_release) struct allocation item = {0};
	CLEANUP(allocation_release) struct allocation other = {0};

	(void)state;
	observation_init(&o);
	observation_of_kubelet("seed-2s-32cpu", "0", NULL, 0, &o);
	node_admission_init(&admission, &o.node);
	item_of(&admission, "app cpu=2 memory=1Gi; app cpu=4 memory=2Gi", &item, "2-7", first);
	/* One block for all that lies on the same NUMA nodes. */
	assert_int_equal(item.n_memory, 1);
	assert_true(item.memory[0].bytes == 3 * GIB);
	item_of(&admission, "app cpu=12 memory=1Gi; app cpu=12 memory=1Gi", &other, "2-13,16-27", second);

	assert_int_equal(other.n_memory, 2);
}

static void ask(struct container_request *c, const char *name, struct quantity q)
{
	resource_list_set(&c->requests, name, q);
	resource_list_set(&c->limits, name, q);
}

/* Memory of init containers is used again by those behind them, and many containers are one block. */
static void memory_of_many_containers_is_one_block(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	CLEANUP(allocation_release) struct allocation item = {0};
	CLEANUP(pod_request_release) struct pod_request pod;
	struct admission a;

	(void)state;
	observation_init(&o);
	observation_of_kubelet("seed-2s-32cpu", "0", NULL, 0, &o);
	node_admission_init(&admission, &o.node);
	pod_request_init(&pod);
	for (size_t i = 0; i < 1000; i++) {
		struct container_request *c =
			pod_request_add(&pod, i < 500 ? CONTAINER_INIT : CONTAINER_APP, "c");

		assert_non_null(c);
		ask(c, "cpu", quantity_from_units(0));
		ask(c, "memory", quantity_from_units(i < 500 ? 1 << 21 : 1 << 20));
	}
	pod.qos = QOS_GUARANTEED;
	node_admission_judge(&admission, &pod, &a);
	assert_int_equal(a.answer, KUBELET_ADMITS);
	projected_state_item(&admission, &pod, &a.managers, &item);
	assert_int_equal(item.n_memory, 1);
	assert_true(item.memory[0].bytes == UINT64_C(500) << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(an_admitted_pod_becomes_an_item),
		cmocka_unit_test(memory_of_many_containers_is_one_block)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
