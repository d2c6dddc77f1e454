/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/io/manifest.h"
#include "tests/lib/parsed.h"

struct manifest_case {
	const char *text;
	const char *want;    /* the list of documents; NULL = refused */
	const char *message; /* a part of the refusal */
};

static void check_manifests(const struct manifest_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++)
		test_check_parse(manifest_parse_all, cases[i].text, strlen(cases[i].text), cases[i].want,
			cases[i].message);
}

static void lines_separate_yaml_documents(void **state)
{
	static const struct manifest_case cases[] = {
		{"a: 1\n---\nb: 2\n", "[{\"a\":1},{\"b\":2}]", NULL},
		{"---\na: 1\n--- # comment\nb: 2", "[{\"a\":1},{\"b\":2}]", NULL},
		{"a: 1\r\n---\r\nb: |\r\n  x\r\n", "[{\"a\":1},{\"b\":\"x\\n\"}]", NULL},
		{"# comment\n---\na: 1\n---\n", "[null,{\"a\":1}]", NULL},
		{"---\n---\na: 1\n", "[null,{\"a\":1}]", NULL},
		{"[1]\n---\nx\n", "[[1],\"x\"]", NULL},
		{"a: 1\n...\nb: 2\n", "[{\"a\":1}]", NULL},
		{"a: 1\n--- b\n", NULL, "line 2: text after the '---' that separates documents"},
		{"a: 1\n----\n", NULL, "line 2: text after the '---'"},
		{"%YAML 1.1\n---\na: 1\n", NULL, "not valid YAML at line"},
		{"a: \"x\n---\ny\"\n", NULL, "not valid YAML at line"},
		{"a: &x 1\n---\nb: *x\n", NULL, "line 3: undefined alias 'x'"},
		{"a: 1\n---\n\nb: [\n", NULL, "line 5"},
		{"", NULL, "no YAML document"},
	};

	(void)state;
	check_manifests(cases, ARRAY_SIZE(cases));
}

static void json_values_follow_each_other(void **state)
{
	static const struct manifest_case cases[] = {
		{"{\"a\":\t\"\\ud83d\\ude00\"}", "[{\"a\":\"\xf0\x9f\x98\x80\"}]", NULL},
		{"\n\t\r {\"a\":1}\n", "[{\"a\":1}]", NULL},
		{"{\"a\":1}{\"b\":2}\n[3] null", "[{\"a\":1},{\"b\":2},[3],null]", NULL},
		{"{\"a\":1}\n{\"b\":2}\n\n{\"c\":}", NULL, "not valid JSON at line 4"},
	};

	(void)state;
	check_manifests(cases, ARRAY_SIZE(cases));
}

/* kubectl reads as YAML what is not JSON. */
static void json_turns_into_yaml(void **state)
{
	static const struct manifest_case cases[] = {
		{"{a: 1}", "[{\"a\":1}]", NULL},
		{"{\"a\": 1,}", "[{\"a\":1}]", NULL},
		{"{\"a\": 1}\n---\nb: 2\n", "[{\"a\":1},{\"b\":2}]", NULL},
		{"{\"a\": 1}\n---\n{\"b\": 2}\n", "[{\"a\":1},{\"b\":2}]", NULL},
		{"{\"a\": 1} # comment\n", "[{\"a\":1},null]", NULL},
		{"{a}", NULL, "not valid JSON at line 1"},
		{"{\"a\":1}\n{\"a\":1,}\xc2\xa0x: 1\n", NULL, "not valid JSON at line 2"},
		{"{\"a\": [", NULL, "not valid JSON at line 1"},
		{"{\"a\":1}{\"b\":2}\n---\nc: 3\n", NULL, "not valid JSON at line 2"},
		{"{\"a\": 1e400}", NULL, "line 1: number too large"},
		{"{\"a\": \"\\u0000\"}", NULL, "line 1"},
	};

	(void)state;
	check_manifests(cases, ARRAY_SIZE(cases));
}

static void values_are_those_of_objects_without_a_type(void **state)
{
	static const struct manifest_case cases[] = {
		{"{\"a\":1,\"b\":{\"c\":1,\"c\":2},\"a\":[1.0,0.10,1e3,-0,18446744073709551615]}",
			"[{\"b\":{\"c\":2},\"a\":[1,0.1,1000,0,18446744073709552000]}]", NULL},
		{"a: 18446744073709551615\n", "[{\"a\":18446744073709552000}]", NULL},
		{"a: -0.0\n", "[{\"a\":0}]", NULL},
	};

	(void)state;
	check_manifests(cases, ARRAY_SIZE(cases));
}

static void byte_order_marks_are_removed(void **state)
{
	static const char utf16[] = "\xff\xfe{\0\"\0a\0\"\0:\0"
				    "1\0}\0";
	static const struct manifest_case cases[] = {
		{"\xef\xbb\xbf{\"a\":1}", "[{\"a\":1}]", NULL},
		{"\xef\xbb\xbf"
		 "a: 1\n---\nb: 2\n",
			"[{\"a\":1},{\"b\":2}]", NULL},
	};

	(void)state;
	check_manifests(cases, ARRAY_SIZE(cases));
	test_check_parse(manifest_parse_all, utf16, sizeof(utf16) - 1, "[{\"a\":1}]", NULL);
	test_check_parse(manifest_parse_all, utf16, sizeof(utf16) - 2, NULL, "line 1: invalid UTF-16");
}

static int stop_at_second(struct doc *document, void *data, struct err *err)
{
	size_t *n = data;

	assert_int_equal(document->kind, DOC_MAP);
	return ++*n == 2 ? err_set(err, -EBUSY, "enough") : 0;
}

static void the_function_stops_the_reader(void **state)
{
	static const char *const texts[] = {"a: 1\n---\nb: 2\n---\nc: 3\n", "{\"a\":1}{\"b\":2}{\"c\":3}"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct err err = {""};
		size_t n = 0;

		assert_int_equal(
			manifest_parse_each(texts[i], strlen(texts[i]), stop_at_second, &n, &err), -EBUSY);
		assert_int_equal(n, 2);
		test_assert_text("message", err.text, "enough");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_separate_yaml_documents),
		cmocka_unit_test(json_values_follow_each_other),
		cmocka_unit_test(json_turns_into_yaml),
		cmocka_unit_test(values_are_those_of_objects_without_a_type),
		cmocka_unit_test(byte_order_marks_are_removed),
		cmocka_unit_test(the_function_stops_the_reader),
	};

	return cmocka_run_group_tests_name("manifest", tests, NULL, NULL);
}
