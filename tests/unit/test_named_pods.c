/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/model/named_pods.h"

#include <stdio.h>

#include "common/cleanup.h"
#include "common/io/json.h"
#include "tests/lib/test.h"

/* Adds a Pod with these further metadata members and this phase. */
static void add_pod(struct cluster *cluster, const char *name, const char *uid, const char *node,
	const char *more, const char *phase)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	char text[512];

	snprintf(text, sizeof(text),
		"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"%s\",\"uid\":\"%s\"%s},"
		"\"spec\":{\"nodeName\":\"%s\",\"containers\":[{\"name\":\"c\"}]},\"status\":{\"phase\":\"%s\"}}",
		name, uid, more, node, phase);
	assert_int_equal(json_parse(text, strlen(text), &object, NULL), 0);
	assert_int_equal(cluster_update(cluster, OBJECT_POD, &object, 0, NULL), 0);
}

/* Adds an item as an object has it: with a hash of the UID, and an empty name. */
static void add_item(struct node_state *state, const char *uid)
{
	char hash[POD_NAMES_HASH_SIZE];

	pod_names_hash_uid(uid, hash);
	allocations_add_container(&state->allocations, hash, "");
}

static void pods_get_the_names_of_their_objects(void **state)
{
	CLEANUP(cluster_release) struct cluster cluster = {.n_nodes = 0};
	CLEANUP(node_state_release) struct node_state node;
	const struct allocation *items;

	(void)state;
	node_state_init(&node);
	add_item(&node, "u1");
	add_item(&node, "u2");
	add_item(&node, "u3");
	add_pod(&cluster, "one", "u1", "b", "", "Running");
	add_pod(&cluster, "elsewhere", "u2", "a", "", "Running");
	add_pod(&cluster, "before", "u9", "a", "", "Running");
	add_pod(&cluster, "ended", "u3", "b", "", "Succeeded");
	add_pod(&cluster, "waits", "u3", "", "", "Pending");
	named_pods_apply(cluster_find_node(&cluster, "b"), &node);
	items = node.allocations.items;
	test_assert_text("namespace", items[0].namespace, "ns");
	test_assert_text("name", items[0].pod, "one");
	test_assert_text("a pod of another node", items[1].pod, "");
	test_assert_text("a pod that has ended", items[2].pod, "");
	assert_non_null(named_pods_find(cluster_find_node(&cluster, "b"), &items[0]));
	assert_null(named_pods_find(cluster_find_node(&cluster, "b"), &items[1]));
	named_pods_apply(cluster_find_node(&cluster, "c"), &node); /* unknown */
	test_assert_text("name", items[0].pod, "one");
}

/* In an object a claim's pod has the hash of its namespace and name. */
static void pods_of_claims_too(void **state)
{
	CLEANUP(cluster_release) struct cluster cluster = {.n_nodes = 0};
	CLEANUP(node_state_release) struct node_state node;
	struct claim claim = {0};
	char hash[POD_NAMES_HASH_SIZE];

	(void)state;
	node_state_init(&node);
	claim_init(&claim, "dra.example.com", "", "", "");
	pod_names_hash_pod("ns", "one", hash);
	claim_add_pod(&claim, "", hash);
	claim_add_pod(&claim, "", "#AAAAAA");
	claims_append(&node.claims, &claim);
	add_pod(&cluster, "one", "u1", "b", "", "Running");
	named_pods_apply(cluster_find_node(&cluster, "b"), &node);
	test_assert_text("namespace", node.claims.items[0].pods[0].namespace, "ns");
	test_assert_text("name", node.claims.items[0].pods[0].name, "one");
	test_assert_text("unknown", node.claims.items[0].pods[1].name, "#AAAAAA");
}

/* Anyone may write a mirror pod's annotation: a pod with the UID itself takes precedence. */
static void mirror_pods_come_last(void **state)
{
	static const char mirror[] = ",\"annotations\":{\"kubernetes.io/config.mirror\":\"u1\"}";
	CLEANUP(cluster_release) struct cluster cluster = {.n_nodes = 0};
	CLEANUP(node_state_release) struct node_state node;

	(void)state;
	node_state_init(&node);
	add_item(&node, "u1");
	add_pod(&cluster, "forged", "u7", "b", mirror, "Running");
	named_pods_apply(cluster_find_node(&cluster, "b"), &node);
	test_assert_text("the UID alone does not name a mirror pod", node.allocations.items[0].pod, "");
	add_pod(&cluster, "one", "u1", "b", "", "Running");
	named_pods_apply(cluster_find_node(&cluster, "b"), &node);
	test_assert_text("the pod", node.allocations.items[0].pod, "one");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_get_the_names_of_their_objects),
		cmocka_unit_test(pods_of_claims_too),
		cmocka_unit_test(mirror_pods_come_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
