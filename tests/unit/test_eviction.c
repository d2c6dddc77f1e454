/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "tests/lib/nodes.h"
#include "tests/lib/peers.h"

static const char *const zones[] = {"cpu=8 memory=8Gi v.io/d=2", "cpu=8 memory=8Gi", NULL};

/* A node with nothing free, and a victim with an init container, a sidecar and an app container. */
static void fixture(struct test_node *node, struct pod_request *pod)
{
	test_node_init(node, zones);
	for (size_t i = 0; i < node->inv.n_nodes * node->inv.n_resources; i++)
		node->inv.amounts[i].available = 0;
	pod_from_text(pod,
		"init cpu=8 memory=8Gi; sidecar cpu=1 memory=1Gi; app cpu=2500m memory=2Gi v.io/d=1 v.io/other=1");
	pod->qos = QOS_GUARANTEED;
}

static qty_t left(const struct test_node *node, size_t position, const char *name)
{
	int r = inventory_resource(&node->inv, name);

	return inventory_amount(&node->inv, position, (size_t)r)->available;
}

static void exclusive_amounts_come_back(void **state)
{
	struct pod_request pod;
	struct test_node node;

	(void)state;
	fixture(&node, &pod);
	{
		const struct eviction_victim victims[] = {{&pod, &pod.containers[0], 0},
			{&pod, &pod.containers[1], 1}, {&pod, &pod.containers[2], 0},
			{&pod, &pod.containers[2], -1}};

		assert_int_equal(eviction_simulate(&node.inv, victims, 4), EVICTION_DONE);
	}
	assert_true(left(&node, 0, "cpu") == 0); /* shared: not a whole number of CPUs */
	assert_true(left(&node, 0, "memory") == QTY_UNIT << 31);
	assert_true(left(&node, 0, "v.io/d") == QTY_UNIT);
	assert_true(left(&node, 1, "cpu") == QTY_UNIT);
	assert_true(left(&node, 1, "memory") == QTY_UNIT << 30);
	assert_true(left(&node, 1, "v.io/d") == 0);
	test_assert_text("message", eviction_messages[EVICTION_DONE], "");
	pod_request_release(&pod);
	test_node_release(&node);
}

static void refused_simulations_change_nothing(void **state)
{
	struct pod_request pod;
	struct test_node node;

	(void)state;
	fixture(&node, &pod);
	{
		const struct eviction_victim nowhere[] = {
			{&pod, &pod.containers[2], -1}, {&pod, &pod.containers[0], 0}};
		const struct eviction_victim five[] = {{&pod, &pod.containers[2], 0},
			{&pod, &pod.containers[2], 0}, {&pod, &pod.containers[2], 0},
			{&pod, &pod.containers[1], 1}};

		assert_int_equal(eviction_simulate(&node.inv, NULL, 0), EVICTION_NOTHING_TO_ADD);
		assert_int_equal(eviction_simulate(&node.inv, nowhere, 2), EVICTION_NOTHING_TO_ADD);
		assert_int_equal(eviction_simulate(&node.inv, five, 4), EVICTION_EXCEEDS);
	}
	for (size_t i = 0; i < node.inv.n_nodes * node.inv.n_resources; i++)
		assert_true(node.inv.amounts[i].available == 0);
	assert_non_null(strstr(eviction_messages[EVICTION_EXCEEDS], "exceeds NUMA allocatable"));
	pod_request_release(&pod);
	test_node_release(&node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exclusive_amounts_come_back),
		cmocka_unit_test(refused_simulations_change_nothing),
	};

	return cmocka_run_group_tests_name("eviction", tests, NULL, NULL);
}
