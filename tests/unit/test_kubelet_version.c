/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/kubelet_version.h"

#include "common/cleanup.h"
#include "common/strbuf.h"
#include "tests/lib/test.h"

/* A row is in the documentation with its releases and its words. */
static void the_documentation_has_each_rule(void **state)
{
	static const struct {
		unsigned first, last;
		const char *what;
	} rules[] = {
#define RULE(member, first, last, what) {first, last, what},
		KUBELET_RULES(RULE)
#undef RULE
	};
	CLEANUP(freep) char *page = test_read_file(test_fixture("../../doc/kubelets.md"), NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		CLEANUP(strbuf_release) struct strbuf row = STRBUF_INIT(1024);

		if (rules[i].first == KUBELET_MINOR_ANY)
			strbuf_addf(&row, "| up to 1.%u | %s |", rules[i].last, rules[i].what);
		else
			strbuf_addf(&row, "| from 1.%u | %s |", rules[i].first, rules[i].what);
		/* No rule begins and ends with releases that nrtd supports. */
		assert_true(rules[i].first == KUBELET_MINOR_ANY || rules[i].last == KUBELET_MINOR_ANY);
		if (!strstr(page, row.text))
			fail_msg("doc/kubelets.md lacks the row '%s'", row.text);
	}
}

static void rules_hold_in_their_releases(void **state)
{
	const struct kubelet_version v33 = kubelet_version_of(33), v36 = kubelet_version_of(36),
				     v37 = kubelet_version_of(37), v38 = kubelet_version_of(38),
				     unknown = kubelet_version_of(0);

	(void)state;
	assert_true(v33.uncore_rounds_down && v33.device_hints_on_every_node && v33.whole_by_average);
	assert_true(!v33.distribution_heeds_sockets && !v33.spread_over_cores);
	assert_true(
		v36.smt_check_ignores_state && !v36.uncore_rounds_down && !v36.device_hints_on_every_node);
	assert_true(
		v37.distribution_heeds_sockets && v37.combinations_share_memory && !v37.full_uncores_first);
	assert_true(v38.full_uncores_first && v38.distribution_heeds_hint && v38.distribution_heeds_sockets);
	assert_true(!v38.combinations_share_memory && !v38.whole_by_average && !v38.remainder_counts_cpus);
	assert_memory_equal(&unknown, &v37, sizeof(v37));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_documentation_has_each_rule),
		cmocka_unit_test(rules_hold_in_their_releases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
