/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/base/doc_diff.h"

#include "agent/base/yaml.h"
#include "common/cleanup.h"
#include "tests/lib/test.h"

static void check(const char *from, const char *to, size_t n, const char *want)
{
	CLEANUP(doc_release) struct doc a = DOC_INIT;
	CLEANUP(doc_release) struct doc b = DOC_INIT;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(4096);

	assert_int_equal(yaml_parse(from, strlen(from), &a, NULL), 0);
	assert_int_equal(yaml_parse(to, strlen(to), &b, NULL), 0);
	assert_int_equal(doc_diff("", &a, &b, &out), n);
	test_assert_text(from, out.text, want);
}

static void differences(void **state)
{
	(void)state;
	check("{a: 1}", "{a: 1}", 0, "");
	check("{a: 1, b: x}", "{b: z, a: 1}", 1, "b: x -> z\n");
	check("{a: 1}", "{b: 2}", 2, "a: 1 -> (absent)\nb: (absent) -> 2\n");
	check("zones: [{name: n0, r: [{name: cpu, v: '13'}]}, {name: n1}]",
		"zones: [{name: n1}, {name: n0, r: [{name: cpu, v: '12'}]}, {name: n2, x: 1}]", 2,
		"zones[n0].r[cpu].v: 13 -> 12\nzones[n2]: (absent) -> (map of 2)\n");
	check("l: [a, b]", "l: [a, c, d]", 2, "l[1]: b -> c\nl[2]: (absent) -> d\n");
	check("{a: {b: 1}}", "{a: 1}", 1, "a: (map of 1) -> 1\n");
	check("{a: null}", "{a: null}", 0, "");
	check("{\"a\\nb\": \"\\e[31m\\nc\"}", "{}", 1, "a?b: ?[31m?c -> (absent)\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(differences)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
