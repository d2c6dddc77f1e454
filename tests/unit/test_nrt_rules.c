/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "scoring/nrt_match.h"
#include "tests/lib/peers.h"

static void zone_names(void **state)
{
	static const struct {
		const char *name;
		int want;
	} cases[] = {{"node-0", 0}, {"node-63", 63}, {"node-007", 7}, {"node-+1", 1}, {"node--0", 0},
		{"node-64", -1}, {"node-65", -1}, {"node--3", -1}, {"node-", -1}, {"node-+", -1},
		{"node-1a", -1}, {"node- 1", -1}, {"numa-2", -1}, {"Node-1", -1}, {"", -1},
		{"node-99999999999999999999", -1}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (nrt_zone_id(cases[i].name) != cases[i].want)
			fail_msg("'%s': %d, want %d", cases[i].name, nrt_zone_id(cases[i].name),
				cases[i].want);
}

static void check(const char *what, struct topology_manager_config got, enum topology_manager_policy policy,
	enum topology_manager_scope scope, unsigned max)
{
	test_assert_text(
		what, topology_manager_policy_names[got.policy], topology_manager_policy_names[policy]);
	test_assert_text(what, topology_manager_scope_names[got.scope], topology_manager_scope_names[scope]);
	assert_int_equal(got.max_numa_nodes, max);
}

static void deprecated_policies(void **state)
{
	static const struct {
		const char *text;
		enum topology_manager_policy policy;
		enum topology_manager_scope scope;
	} cases[] = {
		{"SingleNUMANodePodLevel", TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, TOPOLOGY_SCOPE_POD},
		{"SingleNUMANodeContainerLevel", TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, TOPOLOGY_SCOPE_CONTAINER},
		{"BestEffortPodLevel", TOPOLOGY_MANAGER_BEST_EFFORT, TOPOLOGY_SCOPE_POD},
		{"BestEffortContainerLevel", TOPOLOGY_MANAGER_BEST_EFFORT, TOPOLOGY_SCOPE_CONTAINER},
		{"RestrictedPodLevel", TOPOLOGY_MANAGER_RESTRICTED, TOPOLOGY_SCOPE_POD},
		{"RestrictedContainerLevel", TOPOLOGY_MANAGER_RESTRICTED, TOPOLOGY_SCOPE_CONTAINER},
		{"Restricted", TOPOLOGY_MANAGER_NONE, TOPOLOGY_SCOPE_CONTAINER},
		{"None", TOPOLOGY_MANAGER_NONE, TOPOLOGY_SCOPE_CONTAINER},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *list[] = {cases[i].text, "SingleNUMANodePodLevel"};

		check(cases[i].text, nrt_topology_manager(list, 2, NULL, 0), cases[i].policy, cases[i].scope,
			8);
	}
	check("none", nrt_topology_manager(NULL, 0, NULL, 0), TOPOLOGY_MANAGER_NONE, TOPOLOGY_SCOPE_CONTAINER,
		8);
}

static void last_valid_attribute_wins(void **state)
{
	static const char *const policies[] = {"SingleNUMANodePodLevel"};
	static const struct nrt_attribute attributes[] = {{"topologyManagerPolicy", "restricted"},
		{"topologyManagerPolicy", "best-effort"}, {"topologyManagerPolicy", "Restricted"},
		{"topologyManagerPolicy", "unknown"}, {"topologyManagerScope", "container"},
		{"topologyManagerScope", "unknown"}, {"topologyManagerScope", "Pod"},
		{"topologymanagerscope", "pod"}, {"topologyManagerMaxNUMANodes", "16"}};

	(void)state;
	check("all", nrt_topology_manager(policies, 1, attributes, ARRAY_SIZE(attributes)),
		TOPOLOGY_MANAGER_BEST_EFFORT, TOPOLOGY_SCOPE_CONTAINER, 16);
	check("first", nrt_topology_manager(policies, 1, attributes, 1), TOPOLOGY_MANAGER_RESTRICTED,
		TOPOLOGY_SCOPE_POD, 8);
}

static void numbers_of_numa_nodes(void **state)
{
	static const struct {
		const char *text;
		unsigned want;
	} cases[] = {{"2", 2}, {"+16", 16}, {"0016", 16}, {"1024", 1024}, {"65535", 1024},
		{"99999999999", 1024}, {"99999999999999999999", 8}, {"1", 8}, {"0", 8}, {"-2", 8}, {" 8", 8},
		{"8 ", 8}, {"0x10", 8}, {"", 8}, {"x", 8}, {"+", 8}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nrt_attribute a = {"topologyManagerMaxNUMANodes", cases[i].text};
		unsigned got = nrt_topology_manager(NULL, 0, &a, 1).max_numa_nodes;

		if (got != cases[i].want)
			fail_msg("'%s': %u, want %u", cases[i].text, got, cases[i].want);
	}
}

static void fingerprints(void **state)
{
	static const struct nrt_attribute all[] = {{"other", "x"}, {"nodeTopologyPodsFingerprint", "first"},
		{"nodeTopologyPodsFingerprint", "second"},
		{"nodeTopologyPodsFingerprintMethod", "with-exclusive-resources"}};
	static const struct nrt_attribute annotation = {"topology.node.k8s.io/fingerprint", "annotated"};
	bool exclusive;

	(void)state;
	test_assert_text("attribute", nrt_fingerprint(all, 4, &annotation, 1, &exclusive), "first");
	assert_true(exclusive);
	test_assert_text("no method", nrt_fingerprint(all, 3, &annotation, 1, &exclusive), "first");
	assert_false(exclusive);
	/* The annotation is always over all pods. */
	test_assert_text("annotation", nrt_fingerprint(all + 3, 1, &annotation, 1, &exclusive), "annotated");
	assert_false(exclusive);
	assert_null(nrt_fingerprint(all, 1, NULL, 0, &exclusive));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zone_names),
		cmocka_unit_test(deprecated_policies),
		cmocka_unit_test(last_valid_attribute_wins),
		cmocka_unit_test(numbers_of_numa_nodes),
		cmocka_unit_test(fingerprints),
	};

	return cmocka_run_group_tests_name("nrt_rules", tests, NULL, NULL);
}
