/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/objects/nrt_parse.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/io/json.h"
#include "tests/lib/test.h"

static int parse(const char *text, struct inventory *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;

	assert_int_equal(json_parse(text, strlen(text), &object, err), 0);
	return nrt_inventory(&object, ret, err);
}

/* Two NUMA nodes, not in order, among zones that are none. */
static void zones_resources_and_costs(void **state)
{
	static const char text[] =
		"{\"zones\":["
		"{\"type\":\"Node\",\"name\":\"node-4\",\"costs\":[{\"name\":\"node-1\",\"value\":21},"
		"{\"name\":\"socket-1\",\"value\":77},{\"name\":\"node-4\",\"value\":4294967296},"
		"{\"name\":\"node-9\",\"value\":3}],"
		"\"resources\":[{\"name\":\"memory\",\"capacity\":\"8\",\"allocatable\":\"7\",\"available\":\"6\"},"
		"{\"name\":\"cpu\",\"capacity\":\"4\",\"allocatable\":3,\"available\":\"2500m\"}]},"
		"{\"type\":\"Socket\",\"name\":\"node-2\",\"resources\":[{\"name\":\"other\"}]},"
		"{\"type\":\"Node\",\"name\":\"board\"},"
		"{\"type\":\"Node\",\"name\":\"node-1\",\"costs\":{},\"resources\":"
		"[{\"name\":\"cpu\",\"capacity\":\"2\",\"allocatable\":\"2\",\"available\":\"1\"}]},"
		"{\"type\":\"Node\",\"name\":\"node-0\",\"resources\":{}}]}";
	CLEANUP(inventory_release) struct inventory inv;
	struct err err = {""};
	int cpu, memory;

	(void)state;
	inventory_init(&inv);
	assert_int_equal(parse(text, &inv, &err), 0);
	assert_int_equal(inv.n_nodes, 3);
	assert_int_equal(inv.nodes[0].id, 4);
	assert_int_equal(inv.nodes[1].id, 1);
	assert_int_equal(inv.nodes[2].id, 0);
	assert_int_equal(inv.n_resources, 2);
	cpu = inventory_resource(&inv, "cpu");
	memory = inventory_resource(&inv, "memory");
	assert_int_equal(cpu, 0);
	assert_int_equal(memory, 1);
	assert_true(inventory_amount(&inv, 0, 0)->capacity == (qty_t)4 * QTY_UNIT);
	assert_true(inventory_amount(&inv, 0, 0)->allocatable == (qty_t)3 * QTY_UNIT);
	assert_true(inventory_amount(&inv, 0, 0)->available == (qty_t)5 * QTY_UNIT / 2);
	assert_true(inventory_amount(&inv, 0, 1)->available == (qty_t)6 * QTY_UNIT);
	assert_true(inventory_amount(&inv, 1, 0)->available == (qty_t)1 * QTY_UNIT);
	assert_true(inventory_amount(&inv, 1, 0)->present);
	assert_false(inventory_amount(&inv, 1, 1)->present);
	assert_false(inventory_amount(&inv, 2, 0)->present);
	assert_int_equal(inv.costs[0 * 3 + 0], UINT32_MAX);
	assert_int_equal(inv.costs[0 * 3 + 1], 21);
	assert_int_equal(inv.costs[0 * 3 + 2], INVENTORY_COST_UNKNOWN);
	assert_int_equal(inv.costs[1 * 3 + 0], INVENTORY_COST_UNKNOWN);
}

/* topologyPolicies counts with its first item; attributes come after it. */
static void policies(void **state)
{
	static const struct {
		const char *text;
		enum topology_manager_policy policy;
		enum topology_manager_scope scope;
	} cases[] = {
		{"\"x\":1", TOPOLOGY_MANAGER_NONE, TOPOLOGY_SCOPE_CONTAINER},
		{"\"topologyPolicies\":[]", TOPOLOGY_MANAGER_NONE, TOPOLOGY_SCOPE_CONTAINER},
		{"\"topologyPolicies\":[3]", TOPOLOGY_MANAGER_NONE, TOPOLOGY_SCOPE_CONTAINER},
		{"\"topologyPolicies\":[\"RestrictedPodLevel\"]", TOPOLOGY_MANAGER_RESTRICTED,
			TOPOLOGY_SCOPE_POD},
		{"\"topologyPolicies\":[\"RestrictedPodLevel\",\"SingleNUMANodeContainerLevel\"]",
			TOPOLOGY_MANAGER_RESTRICTED, TOPOLOGY_SCOPE_POD},
		{"\"topologyPolicies\":[\"RestrictedPodLevel\"],\"attributes\":[{\"name\":\"x\"},"
		 "{\"name\":\"topologyManagerPolicy\",\"value\":\"best-effort\"}]",
			TOPOLOGY_MANAGER_BEST_EFFORT, TOPOLOGY_SCOPE_POD},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(inventory_release) struct inventory inv;
		char text[512];
		struct err err = {""};

		inventory_init(&inv);
		snprintf(text, sizeof(text), "{\"zones\":[{\"type\":\"Node\",\"name\":\"node-0\"}],%s}",
			cases[i].text);
		assert_int_equal(parse(text, &inv, &err), 0);
		if (inv.topology.policy != cases[i].policy || inv.topology.scope != cases[i].scope)
			fail_msg("%s: policy %d, scope %d", cases[i].text, inv.topology.policy,
				inv.topology.scope);
	}
}

/* What the plugins take for their default is unknown, or what the API's constant says. */
static void policies_of_the_kubelet(void **state)
{
	static const struct {
		const char *text;
		enum topology_manager_policy policy;
		enum topology_manager_scope scope;
	} cases[] = {
		{"\"x\":1", TOPOLOGY_MANAGER_NONE, TOPOLOGY_SCOPE_CONTAINER},
		{"\"topologyPolicies\":[\"RestrictedPodLevel\"]", TOPOLOGY_MANAGER_RESTRICTED,
			TOPOLOGY_SCOPE_POD},
		{"\"topologyPolicies\":[\"Restricted\"]", TOPOLOGY_MANAGER_RESTRICTED,
			TOPOLOGY_SCOPE_UNKNOWN},
		{"\"topologyPolicies\":[\"BestEffort\"]", TOPOLOGY_MANAGER_BEST_EFFORT,
			TOPOLOGY_SCOPE_UNKNOWN},
		{"\"topologyPolicies\":[\"None\"]", TOPOLOGY_MANAGER_NONE, TOPOLOGY_SCOPE_UNKNOWN},
		{"\"topologyPolicies\":[\"SingleNUMANode\"]", TOPOLOGY_MANAGER_UNKNOWN,
			TOPOLOGY_SCOPE_UNKNOWN},
		{"\"topologyPolicies\":[\"Restricted\"],"
		 "\"attributes\":[{\"name\":\"topologyManagerScope\",\"value\":\"pod\"}]",
			TOPOLOGY_MANAGER_RESTRICTED, TOPOLOGY_SCOPE_POD},
		{"\"topologyPolicies\":[\"Restricted\"],"
		 "\"attributes\":[{\"name\":\"topologyManagerPolicy\",\"value\":\"strict\"}]",
			TOPOLOGY_MANAGER_UNKNOWN, TOPOLOGY_SCOPE_UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(doc_release) struct doc object = DOC_INIT;
		struct topology_manager_config config = {
			.policy = TOPOLOGY_MANAGER_NONE, .scope = TOPOLOGY_SCOPE_CONTAINER};
		char text[512];

		snprintf(text, sizeof(text), "{%s}", cases[i].text);
		assert_int_equal(json_parse(text, strlen(text), &object, NULL), 0);
		nrt_kubelet_topology(&object, &config);
		if (config.policy != cases[i].policy || config.scope != cases[i].scope)
			fail_msg("%s: policy %d, scope %d", cases[i].text, config.policy, config.scope);
	}
}

static void managers_and_attributes(void **state)
{
	static const char text[] =
		"{\"attributes\":[{\"name\":\"cpuManagerPolicy\",\"value\":\"none\"},{\"value\":\"y\"},"
		"{\"name\":\"memoryManagerPolicy\",\"value\":\"Static\"},"
		"{\"name\":\"cpuManagerPolicy\",\"value\":\"static\"}]}";
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	CLEANUP(doc_release) struct doc none = DOC_INIT;
	struct nrt_attribute attributes[NRT_MAX_ATTRIBUTES];
	struct err err = {""};

	(void)state;
	assert_int_equal(json_parse(text, sizeof(text) - 1, &object, &err), 0);
	assert_int_equal(json_parse("{\"attributes\":{}}", 17, &none, &err), 0);
	assert_int_equal(nrt_attributes(&object, attributes), 3);
	assert_int_equal(nrt_attributes(&none, attributes), 0);
	test_assert_text("the last", nrt_attribute(&object, "cpuManagerPolicy"), "static");
	assert_null(nrt_attribute(&object, "none"));
	assert_int_equal(nrt_policy(&object, SETTING_CPU_MANAGER_POLICY), CPU_MANAGER_STATIC);
	assert_int_equal(nrt_policy(&object, SETTING_MEMORY_MANAGER_POLICY), MEMORY_MANAGER_STATIC);
	assert_int_equal(nrt_policy(&none, SETTING_CPU_MANAGER_POLICY), CPU_MANAGER_UNKNOWN);
	assert_int_equal(nrt_policy(&none, SETTING_MEMORY_MANAGER_POLICY), MEMORY_MANAGER_UNKNOWN);
}

static void bad_objects_are_named(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"{}", "no zones in it"},
		{"{\"zones\":{}}", "no zones in it"},
		{"{\"zones\":[]}", "no zone of type Node in it"},
		{"{\"zones\":[{\"type\":\"Node\",\"name\":\"node-0\",\"resources\":[{\"x\":\"cpu\"}]}]}",
			"zone 'node-0': a resource without a name"},
		{"{\"zones\":[{\"type\":\"Node\",\"name\":\"node-0\",\"resources\":[{\"name\":\"cpu\"}]}]}",
			"zone 'node-0', resource 'cpu': capacity: a quantity is expected, not absent"},
		{"{\"zones\":[{\"type\":\"Node\",\"name\":\"node-0\",\"resources\":[{\"name\":\"cpu\","
		 "\"capacity\":\"1\",\"allocatable\":[],\"available\":\"1\"}]}]}",
			"zone 'node-0', resource 'cpu': allocatable: a quantity is expected, not a list"},
		{"{\"zones\":[{\"type\":\"Node\",\"name\":\"node-0\",\"resources\":[{\"name\":\"cpu\","
		 "\"capacity\":\"1\",\"allocatable\":\"1\",\"available\":true}]}]}",
			"zone 'node-0', resource 'cpu': available: a quantity is expected, not a boolean"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(inventory_release) struct inventory inv;
		struct err err = {""};

		inventory_init(&inv);
		assert_int_equal(parse(cases[i].text, &inv, &err), -EINVAL);
		test_assert_text(cases[i].text, err.text, cases[i].message);
		assert_int_equal(inv.n_nodes, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zones_resources_and_costs),
		cmocka_unit_test(policies),
		cmocka_unit_test(policies_of_the_kubelet),
		cmocka_unit_test(managers_and_attributes),
		cmocka_unit_test(bad_objects_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
