/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/io/yaml.h"
#include "tests/lib/parsed.h"

static int parse_config(const char *text, size_t len, struct doc *ret, struct err *err)
{
	return yaml_parse_config(text, len, false, ret, err);
}

static int parse_drop_in(const char *text, size_t len, struct doc *ret, struct err *err)
{
	return yaml_parse_config(text, len, true, ret, err);
}

struct yaml_case {
	const char *text;
	const char *want;    /* compact JSON; NULL = refused */
	const char *message; /* a part of the refusal */
};

static void check_cases(test_parse_fn *parse, const struct yaml_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++)
		test_check_parse(
			parse, cases[i].text, strlen(cases[i].text), cases[i].want, cases[i].message);
}

#define CHECK(parse, cases) check_cases(parse, cases, ARRAY_SIZE(cases))

static void merge_keys_insert_members(void **state)
{
	static const struct yaml_case cases[] = {
		{"a: &a {x: 1, w: 2}\nb:\n  <<: *a\n  z: 3\n",
			"{\"a\":{\"x\":1,\"w\":2},\"b\":{\"x\":1,\"w\":2,\"z\":3}}", NULL},
		/* The order decides, as in go-yaml: the last one counts. */
		{"a: &a {x: 1}\nb: {<<: *a, x: 2}\nc: {x: 2, <<: *a}\n",
			"{\"a\":{\"x\":1},\"b\":{\"x\":2},\"c\":{\"x\":1}}", NULL},
		/* In a list the first one counts. */
		{"a: &a {x: 1}\nb: &b {x: 2, w: 2}\nc: {<<: [*a, *b, {z: 3, w: 4}]}\n",
			"{\"a\":{\"x\":1},\"b\":{\"x\":2,\"w\":2},\"c\":{\"z\":3,\"w\":2,\"x\":1}}", NULL},
		{"a: &a {x: 1}\nb: &b {<<: *a, w: 2}\nc: {<<: *b}\n",
			"{\"a\":{\"x\":1},\"b\":{\"x\":1,\"w\":2},\"c\":{\"x\":1,\"w\":2}}", NULL},
		{"<<: {x: 1}\n", "{\"x\":1}", NULL},
		{"!!merge \"<<\": {x: 1}\n", "{\"x\":1}", NULL},
		{"\"<<\": {x: 1}\n", "{\"<<\":{\"x\":1}}", NULL},
		{"a: <<\n", "{\"a\":\"<<\"}", NULL},
		{"<<: []\n", "{}", NULL},
		{"a: &a [1]\nb: {<<: *a}\n", NULL,
			"line 2: '<<' requires a map or a list of maps, not a list"},
		{"\n<<: 1\n", NULL, "line 2: '<<' requires a map or a list of maps, not a number"},
		{"<<:\n- {x: 1}\n- 2\n", NULL, "'<<' requires a map or a list of maps, not a number"},
		{"<<: *none\n", NULL, "line 1: undefined alias 'none'"},
		{"<<: &l [{x: 1}]\n", NULL, "line 1: an anchor of a list after '<<'"},
	};

	(void)state;
	CHECK(yaml_parse, cases);
}

static void aliases_repeat_nodes(void **state)
{
	static const struct yaml_case cases[] = {
		{"- &a [1, &b x]\n- *a\n- *b\n", "[[1,\"x\"],[1,\"x\"],\"x\"]", NULL},
		{"- &a 1\n- &a 2\n- *a\n", "[1,2,2]", NULL},
		{"&k key: &v {a: *k}\nb: *v\n*k : 3\n", "{\"b\":{\"a\":\"key\"},\"key\":3}", NULL},
		{"- &a [&a 1, *a]\n- *a\n", "[[1,1],1]", NULL},
		{"- &a 1\n- &a [*a]\n", NULL, "line 2: anchor 'a' contains itself"},
		{"&a {x: {<<: *a}}\n", NULL, "line 1: anchor 'a' contains itself"},
		{"- *a\n- &a 1\n", NULL, "line 1: undefined alias 'a'"},
		{"? &a 1\n: x\n? *a\n: y\n", NULL,
			"line 3: a key that is an alias of something else than a string"},
	};

	(void)state;
	CHECK(yaml_parse, cases);
}

static void scalars_are_those_of_yaml_1_1(void **state)
{
	static const struct yaml_case cases[] = {
		{"[y, Y, yEs, n, on, Off, tRue, ~, Null, nUll]",
			"[true,true,\"yEs\",false,true,false,\"tRue\",null,null,\"nUll\"]", NULL},
		{"[010, 0o10, 0O17, 08, 0x1F, 0b11, -0x10, +7, 1_000, _1, 1__0_, 0x, 0b, 0x0x1]",
			"[8,8,15,8,31,3,-16,7,1000,\"_1\",10,\"0x\",\"0b\",\"0x0x1\"]", NULL},
		{"[0b-11, 0b+1, 0b-, -0b1]", "[-3,1,\"0b-\",-1]", NULL},
		{"[9223372036854775807, -9223372036854775808, 18446744073709551615, 18446744073709551616]",
			"[9223372036854775807,-9223372036854775808,18446744073709551615,18446744073709552000]",
			NULL},
		{"[+9223372036854775808, -9223372036854775809]", "[9223372036854776000,-9223372036854776000]",
			NULL},
		{"[1.0, 1.50, .5, 1e3, 1e-7, 1e21, 1e20, 0.1, -0.0, 1e400, 123456789012345678901234567890]",
			"[1,1.5,0.5,1000,1e-7,1e+21,100000000000000000000,0.1,-0,\"1e400\",1.2345678901234568e+29]",
			NULL},
		{"[.5_0, .5_, ._5, 1_0.5_0, 1e1_0]", "[0.5,\".5_\",\"._5\",10.5,10000000000]", NULL},
		{"1000000000000000000000000000000000000000000000000000000000000000000000000000000", "1e+78",
			NULL},
		{"[2001-01-01, 2001-12-14t21:59:43.10-05:00, 12:30]",
			"[\"2001-01-01\",\"2001-12-14t21:59:43.10-05:00\",\"12:30\"]", NULL},
		{"\n[.inf]", NULL, "line 2: JSON has no number '.inf'"},
		{"-.INF", NULL, "JSON has no number"},
		{".nan", NULL, "JSON has no number"},
	};

	(void)state;
	CHECK(yaml_parse, cases);
}

static void tags_decide_about_the_type(void **state)
{
	static const struct yaml_case cases[] = {
		{"[!!str 1, !!str ~, !!int \"0x10\", !!float 1, !!float '1.5', !!bool \"yes\", !!null '']",
			"[\"1\",\"~\",16,1,1.5,true,null]", NULL},
		{"[! \"12\", ! x, !local 12, !!set x, !!seq 1]", "[\"12\",\"x\",\"12\",\"x\",\"1\"]", NULL},
		{"!!map {a: !!seq [1]}", "{\"a\":[1]}", NULL},
		{"a:\n- !!int x\n", NULL, "line 2: 'x' is no value of the tag 'tag:yaml.org,2002:int'"},
		{"!!int 1.5", NULL, "is no value of the tag"},
		{"!!float x", NULL, "is no value of the tag"},
		{"!!float 18446744073709551615", NULL, "is no value of the tag"},
		{"!!bool 1", NULL, "is no value of the tag"},
		{"!!null x", NULL, "is no value of the tag"},
		{"a: !!binary aGk=", NULL, "line 1: the tag 'binary' is not supported"},
		{"a: !!timestamp 2001-01-01", NULL, "line 1: the tag 'timestamp' is not supported"},
	};

	(void)state;
	CHECK(yaml_parse, cases);
}

static void keys_become_strings(void **state)
{
	static const struct yaml_case cases[] = {
		{"{yes: 1, 010: 2, 0x10: 3, x: 4, 'no': 5}", "{\"true\":1,\"8\":2,\"16\":3,\"x\":4,\"no\":5}",
			NULL},
		{"a: 1\nb: 2\na: 3\n", "{\"b\":2,\"a\":3}", NULL},
		{"\n1: a\n\"1\": b\n", NULL, "key '1' appears twice in the map that begins at line 2"},
		{"true: a\nyes: b\n", NULL, "key 'true' appears twice"},
		{"1.5: a\n", NULL, "line 1: a key that is a fraction or a large number"},
		{"18446744073709551615: a\n", NULL, "a key that is a fraction or a large number"},
		{"a: 1\n~: 2\n", NULL, "line 2: a key that is null"},
		{"a: 1\n? \n: 2\n", NULL, "line 2: a key that is null"},
	};

	(void)state;
	CHECK(yaml_parse, cases);
}

/* Where libyaml and go-yaml differ. */
static void other_syntax_than_of_go_yaml_is_refused(void **state)
{
	static const struct yaml_case cases[] = {
		{"%YAML 1.1\n---\na: 1\n", "{\"a\":1}", NULL},
		{"%YAML 1.2\n---\na: 1\n", NULL, "line 1: Kubernetes reads YAML 1.1, not 1.2"},
		{"a: \"x\\/y\"", NULL, "line 1: YAML has no escape '\\/'"},
		{"\xc3\xa9: '\\/'\nb: \"/\\\\/\"\nc: |\n  \\/\n",
			"{\"\xc3\xa9\":\"\\\\/\",\"b\":\"/\\\\/\",\"c\":\"\\\\/\\n\"}", NULL},
		{"a: b\r\n\xc3\xa9:\r\n- \"\\/\"", NULL, "line 3: YAML has no escape"},
		{"a: [x, y?z]\n", NULL, "line 1: '?' within brackets requires quotes"},
		{"a: [x, 'y?z']\nb: y?z\n", "{\"a\":[\"x\",\"y?z\"],\"b\":\"y?z\"}", NULL},
		{"[!a,]", NULL, "line 1: a comma directly after a tag"},
		{"{a: b} x", NULL, "line 1, column 8: did not find expected <document start>"},
		{"a: b\n...\nx: [\n", "{\"a\":\"b\"}", NULL},
		{"{\"a\":\"\\ud83d\\ude00\"}", NULL, "not valid YAML at line 1"},
	};

	(void)state;
	CHECK(yaml_parse, cases);
}

static void encodings_are_recognized(void **state)
{
	static const char little[] = "\xff\xfe"
				     "a\0:\0 \0\xe9\0\n\0b\0:\0 \0\x3d\xd8\x00\xde";
	static const char big[] = "\xfe\xff\0a\0:\0 \0\xe9";
	static const struct yaml_case cases[] = {
		{"\xef\xbb\xbf"
		 "a: 1\n",
			"{\"a\":1}", NULL},
		{"\xef\xbb\xbf\xef\xbb\xbf"
		 "a: 1\n",
			NULL, "line 1: a byte order mark within the text"},
		{"a: 1\n\xef\xbb\xbf"
		 "b: 2\n",
			NULL, "line 2: a byte order mark within the text"},
		{"a: 1\nb: \xff\n", NULL, "not valid YAML at line 2: invalid leading UTF-8 octet"},
		{"a: 1\r\rb: \xc3(\n", NULL, "not valid YAML at line 3: invalid trailing UTF-8 octet"},
		{"a: 1\nb: \001\n", NULL, "not valid YAML at line 2: control characters are not allowed"},
	};

	(void)state;
	CHECK(yaml_parse, cases);
	test_check_parse(yaml_parse, little, sizeof(little) - 1,
		"{\"a\":\"\xc3\xa9\",\"b\":\"\xf0\x9f\x98\x80\"}", NULL);
	test_check_parse(yaml_parse, big, sizeof(big) - 1, "{\"a\":\"\xc3\xa9\"}", NULL);
	test_check_parse(yaml_parse, little, sizeof(little) - 2, NULL, "line 2: invalid UTF-16");
	test_check_parse(yaml_parse, little, sizeof(little) - 3, NULL, "line 2: invalid UTF-16");
}

static void strict_readers_refuse_a_key_twice(void **state)
{
	static const struct yaml_case cases[] = {
		{"a: 1\nb: {c: 1}\n", "{\"a\":1,\"b\":{\"c\":1}}", NULL},
		{"a: 1\nb:\n  c: 1\n  c: 2\n", NULL,
			"key 'c' appears twice in the map that begins at line 3"},
		{"a: &a {x: 1}\nb: {<<: *a, x: 2}\n", NULL,
			"key 'x' appears twice in the map that begins at line 2"},
	};

	(void)state;
	CHECK(yaml_parse_unique, cases);
	CHECK(parse_drop_in, cases);
}

/* A text that begins with a brace is JSON for the kubelet, and never YAML. */
static void a_configuration_is_json_or_yaml(void **state)
{
	static const struct yaml_case cases[] = {
		{"{\"a\":\t\"\\ud83d\\ude00\", \"b\": 1.0}", "{\"a\":\"\xf0\x9f\x98\x80\",\"b\":1.0}", NULL},
		{"a: {b: c}\n", "{\"a\":{\"b\":\"c\"}}", NULL},
		{"a: 1\na: 2\n", "{\"a\":2}", NULL},
		{"\xef\xbb\xbf{a: 1}", "{\"a\":1}", NULL},
		{"\n {a: 1}", NULL, "not valid JSON at line 2, byte 4"},
		{"{\"a\": 1,}", NULL, "not valid JSON at line 1, byte 9"},
		{"{\"a\": 1} # comment", NULL, "not valid JSON at line 1, byte 10"},
		{"{\n\"b\": {\"a\": 1, \"a\": 2}}", NULL,
			"key 'a' appears twice in the object that begins at line 2"},
		{"\n\xc2\xa0{\"a\": 1}", NULL, "line 2: white space that JSON does not have"},
		{"\v{\"a\": 1}", NULL, "line 1: white space that JSON does not have"},
		{"", NULL, "empty, no YAML document in it"},
		{"# comment", NULL, "empty, no YAML document in it"},
	};
	static const struct yaml_case drop_ins[] = {
		{"{\"a\": [1.0, 1e3, -0, 18446744073709551615]}", "{\"a\":[1,1000,0,18446744073709552000]}",
			NULL},
		{"a: 18446744073709551615", "{\"a\":18446744073709552000}", NULL},
		{"{a: 1}", NULL, "not valid JSON"},
	};

	(void)state;
	CHECK(parse_config, cases);
	CHECK(parse_drop_in, drop_ins);
}

/* The texts that Go's encoding/json prints. */
static void doubles_have_the_shortest_text(void **state)
{
	static const struct {
		double value;
		const char *want;
	} cases[] = {
		{0, "0"},
		{1, "1"},
		{-1.5, "-1.5"},
		{100, "100"},
		{0.1, "0.1"},
		{0.30000000000000004, "0.30000000000000004"},
		{1e-6, "0.000001"},
		{1.25e-5, "0.0000125"},
		{9.5e-7, "9.5e-7"},
		{1e-10, "1e-10"},
		{123456.789, "123456.789"},
		{1e20, "100000000000000000000"},
		{1e21, "1e+21"},
		{-1.5e300, "-1.5e+300"},
		{4.9406564584124654e-324, "5e-324"},
		{18446744073709551615.0, "18446744073709552000"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(doc_release) struct doc d = DOC_INIT;

		doc_set_double(&d, cases[i].value);
		test_assert_text("double", d.text, cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merge_keys_insert_members),
		cmocka_unit_test(aliases_repeat_nodes),
		cmocka_unit_test(scalars_are_those_of_yaml_1_1),
		cmocka_unit_test(tags_decide_about_the_type),
		cmocka_unit_test(keys_become_strings),
		cmocka_unit_test(other_syntax_than_of_go_yaml_is_refused),
		cmocka_unit_test(encodings_are_recognized),
		cmocka_unit_test(strict_readers_refuse_a_key_twice),
		cmocka_unit_test(a_configuration_is_json_or_yaml),
		cmocka_unit_test(doubles_have_the_shortest_text),
	};

	return cmocka_run_group_tests_name("yaml", tests, NULL, NULL);
}
