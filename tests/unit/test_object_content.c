/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests what is read of an object without the model of the cluster, and that it is not read again while it stays the same.
 */
#include <errno.h>

#include "tests/lib/test.h"

#include "cluster/model/cluster.h"
#include "common/cleanup.h"
#include "common/io/yaml.h"
#include "common/xalloc.h"

static void read_content(
	enum object_kind kind, const char *yaml, const char *known_hash, struct object_content *ret)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct err err = {""};

	if (yaml_parse(yaml, strlen(yaml), &object, &err) < 0)
		fail_msg("%s", err.text);
	object_content_read(kind, &object, known_hash, ret);
}

#define ZONES(AVAILABLE)                                                                                        \
	"{metadata: {name: node-a}, zones: [{name: node-0, type: Node, resources: [{name: cpu, capacity: '4', " \
	"allocatable: '4', available: '" AVAILABLE "'}]}]}"

static void known_zones_are_not_read(void **state)
{
	CLEANUP(object_content_release) struct object_content first, same, other, damaged;

	(void)state;
	read_content(OBJECT_NRT, ZONES("3"), "", &first);
	assert_int_equal(first.error, 0);
	assert_false(first.unchanged);
	assert_string_equal(first.zones.state.node_name, "node-a");
	read_content(OBJECT_NRT, ZONES("3"), first.hash, &same);
	assert_true(same.unchanged);
	assert_null(same.zones.state.node_name);
	read_content(OBJECT_NRT, ZONES("2"), first.hash, &other);
	assert_false(other.unchanged);
	assert_string_equal(other.zones.state.node_name, "node-a");
	read_content(OBJECT_NRT, ZONES("many"), first.hash, &damaged);
	assert_int_equal(damaged.error, -EINVAL);
	assert_non_null(strstr(damaged.why.text, "NodeResourceTopology 'node-a'"));
}

#define NODE(ANNOTATIONS, CPUS) \
	"{metadata: {name: node-a, annotations: {" ANNOTATIONS "}}, status: {allocatable: {cpu: " CPUS "}}}"
#define RESERVATION                                                                                                \
	"reservation.nrtd.dev/a: '{\"namespace\":\"x\",\"pod\":\"p\",\"created\":\"2026-01-01T00:00:00.000000Z\"," \
	"\"expires\":\"2096-01-01T00:00:00.000000Z\",\"step\":1,\"spec\":{\"containers\":[{\"resources\":{}}]}}'"

static void known_reservations_are_not_read(void **state)
{
	CLEANUP(object_content_release) struct object_content none, first, same, gone, damaged;

	(void)state;
	read_content(OBJECT_NODE, NODE("a: b", "4"), "", &none);
	assert_int_equal(none.error, 0);
	assert_true(none.unchanged);
	read_content(OBJECT_NODE, NODE("a: b, " RESERVATION, "4"), none.hash, &first);
	assert_int_equal(first.n_reservations, 1);
	assert_string_equal(first.reservations[0].pod, "p");
	read_content(OBJECT_NODE, NODE(RESERVATION ", c: d", "5"), first.hash, &same);
	assert_true(same.unchanged);
	assert_int_equal(same.n_reservations, 0);
	assert_int_equal(same.allocatable.n_items, 1);
	read_content(OBJECT_NODE, NODE("a: b", "4"), first.hash, &gone);
	assert_false(gone.unchanged);
	read_content(OBJECT_NODE, NODE("", "x"), "", &damaged);
	assert_int_equal(damaged.error, -EINVAL);
	assert_non_null(strstr(damaged.why.text, "Node 'node-a'"));
}

#define POD(SPEC, CPUS)                                     \
	"{metadata: {name: p, namespace: x, uid: u}, " SPEC \
	"containers: [{name: c, resources: {limits: {cpu: " CPUS "}}}]}}"

static void requests_are_read_of_pods_with_a_node(void **state)
{
	CLEANUP(object_content_release) struct object_content pending, bound, ended, damaged;

	(void)state;
	read_content(OBJECT_POD, POD("spec: {", "many"), "", &pending);
	assert_int_equal(pending.error, 0);
	assert_int_equal(pending.request.n_containers, 0);
	read_content(OBJECT_POD, POD("spec: {nodeName: node-a, ", "4"), "", &bound);
	assert_int_equal(bound.error, 0);
	assert_int_equal(bound.request.n_containers, 1);
	read_content(
		OBJECT_POD, POD("status: {phase: Failed}, spec: {nodeName: node-a, ", "many"), "", &ended);
	assert_int_equal(ended.error, 0);
	read_content(OBJECT_POD, POD("status: {nominatedNodeName: node-a}, spec: {", "many"), "", &damaged);
	assert_int_equal(damaged.error, -EINVAL);
	assert_non_null(strstr(damaged.why.text, "Pod 'x/p'"));
}

/* What is known is what the model says. */
static void the_model_knows_what_it_was_given(void **state)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct cluster_config config = {.assume_ms = 1000};
	struct cluster cluster;
	struct err err = {""};

	(void)state;
	cluster_init(&cluster, &config);
	assert_int_equal(yaml_parse(ZONES("3"), strlen(ZONES("3")), &object, &err), 0);
	assert_string_equal(cluster_known_hash(&cluster, OBJECT_NRT, &object), "");
	assert_int_equal(cluster_update(&cluster, OBJECT_NRT, &object, 0, &err), 0);
	assert_string_not_equal(cluster_known_hash(&cluster, OBJECT_NRT, &object), "");
	assert_string_equal(cluster_known_hash(&cluster, OBJECT_NODE, &object), "");
	assert_string_equal(cluster_known_hash(&cluster, OBJECT_POD, &object), "");
	cluster_delete(&cluster, OBJECT_NRT, &object, 0);
	assert_string_equal(cluster_known_hash(&cluster, OBJECT_NRT, &object), "");
	cluster_release(&cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_zones_are_not_read),
		cmocka_unit_test(known_reservations_are_not_read),
		cmocka_unit_test(requests_are_read_of_pods_with_a_node),
		cmocka_unit_test(the_model_knows_what_it_was_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
