/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/doc.h"
#include "common/io/json.h"
#include "common/io/yaml.h"
#include "tests/lib/parsed.h"

static void json_reads_what_json_is(void **state)
{
	static const char *const cases[][2] = {
		{"{}", "{}"},
		{" [1, -2, 0.5, 1e3]\n", "[1,-2,0.5,1e3]"},
		{"{\"a\":null,\"b\":true,\"c\":\"x\\u00e9\"}", "{\"a\":null,\"b\":true,\"c\":\"x\xc3\xa9\"}"},
		{"9007199254740992", "9007199254740992"},
		{"-9007199254740993", "-9007199254740993"},
		{"18446744073709551615", "18446744073709551615"},
		{"123456789012345678901234567890", "123456789012345678901234567890"},
		{"[1.0, -0, -0.0, 1E+2]", "[1.0,-0,-0.0,1E+2]"},
		{"[\"\\ud83d\\ude00\", \"\\ud800\", \"\\udc00x\", \"\\ud800\\u0041\"]",
			"[\"\xf0\x9f\x98\x80\",\"\xef\xbf\xbd\",\"\xef\xbf\xbdx\",\"\xef\xbf\xbd"
			"A\"]"},
		{"[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", "[\"\\\"\\\\/\\b\\f\\n\\r\\t\"]"},
		{"{\"1\\\"-2\":[3,-4.5e+6],\"a\":18446744073709551616 ,\"b\":[[0]],\"c\":\"7\",\"d\":-9007199254740993}",
			"{\"1\\\"-2\":[3,-4.5e+6],\"a\":18446744073709551616,\"b\":[[0]],\"c\":\"7\",\"d\":-9007199254740993}"},
		{"{\"checksum\":4294967295}", "{\"checksum\":4294967295}"},
		{"{\"a\":{\"b\":[{}]}}", "{\"a\":{\"b\":[{}]}}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		test_check_parse(json_parse, cases[i][0], strlen(cases[i][0]), cases[i][1], NULL);
}

static void json_refuses_the_rest(void **state)
{
	static const char *const cases[][2] = {
		{"", "empty"},
		{"{", "not valid JSON"},
		{"{}x", "not valid JSON"},
		{"{} {}", "not valid JSON"},
		{"{\n\"a\":}", "line 2"},
		{"[1,\n1e400]", "line 2: number too large"},
		{"009007199254740993", "line 1, byte 2"},
		{"[1,]", "line 1, byte 4"},
		{"{\"a\":1,}", "line 1, byte 8"},
		{"{a: 1}", "line 1, byte 2"},
		{"[1.]", "not valid JSON"},
		{"[+1]", "not valid JSON"},
		{"[.5]", "not valid JSON"},
		{"[1e]", "not valid JSON"},
		{"[nulls]", "not valid JSON"},
		{"[1\001]", "not valid JSON"},
		{"[\v1]", "not valid JSON"},
		{"[\"a\tb\"]", "not valid JSON"},
		{"[\"\\x\"]", "not valid JSON"},
		{"[\"\\u12g4\"]", "not valid JSON"},
		{"\xef\xbb\xbf{}", "line 1, byte 1"},
		{"{\n\"a\\u0000b\":1}", "line 2: a string has a NUL character"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		test_check_parse(json_parse, cases[i][0], strlen(cases[i][0]), NULL, cases[i][1]);
	{
		static const char bad_utf8[] = "{\n\"a\":\"\xc0\x9b\"}";
		struct doc d = DOC_INIT;

		assert_int_equal(json_parse("{}\0{}", 5, &d, NULL), -EINVAL);
		assert_int_equal(json_parse("\"a\0\"", 4, &d, NULL), -EINVAL);
		test_check_parse(json_parse, bad_utf8, strlen(bad_utf8), NULL, "invalid UTF-8 at line 2");
	}
}

static void yaml_resolves_as_kubernetes_does(void **state)
{
	static const char *const cases[][2] = {
		{"a: 1\nb: [x, \"2\", '3']\n", "{\"a\":1,\"b\":[\"x\",\"2\",\"3\"]}"},
		{"a:\nb: ~\nc: null\nd: \"\"\n", "{\"a\":null,\"b\":null,\"c\":null,\"d\":\"\"}"},
		{"[true, False, yes, off, \"true\"]", "[true,false,true,false,\"true\"]"},
		{"[0x1F, 0b101, 017, 0o17, 1_000, -0, +5]", "[31,5,15,15,1000,0,5]"},
		{"[1.5, .5, 1e3, 1e, 1.2.3, 0-3, 10s, 64Mi, 08]",
			"[1.5,0.5,1000,\"1e\",\"1.2.3\",\"0-3\",\"10s\",\"64Mi\",8]"},
		{"a: &x {k: v}\nb: *x\n", "{\"a\":{\"k\":\"v\"},\"b\":{\"k\":\"v\"}}"},
		{"---\na: 1\n---\nb: 2\n", "{\"a\":1}"},
		{"a: |\n  text\n", "{\"a\":\"text\\n\"}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		test_check_parse(yaml_parse, cases[i][0], strlen(cases[i][0]), cases[i][1], NULL);
}

static void yaml_refuses_the_rest(void **state)
{
	static const char *const cases[][2] = {
		{"", "empty"},
		{"a: [1\n", "line 2"},
		{"a: b: c\n", "line 1"},
		{"[a]: b\n", "line 1: a key that is not a scalar"},
		{"a: *x\n", "undefined alias"},
		{"a: &a [*a]\n", "line 1: anchor 'a' contains itself"},
		{"\"a\\0b\": 1\n", "line 1: a string has a NUL byte"},
		{"a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c "
		 "[*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
		 "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: "
		 "[*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n",
			"nested or repeated too much"},
		{"a: \"\\0\"\n", "NUL byte"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		test_check_parse(yaml_parse, cases[i][0], strlen(cases[i][0]), NULL, cases[i][1]);
}

/* A megabyte of what a reader could take hours for. */
static void yaml_takes_no_time_to_refuse(void **state)
{
	static const struct {
		const char *what, *again, *after; /* with `after` it is numbered */
		const char *message;
	} cases[] = {
		{"lists in lists", "[", NULL, "line 1: YAML nested or repeated too much"},
		{"maps in maps", "{a: ", NULL, "line 1: YAML nested or repeated too much"},
		{"on a line each", "[\n", NULL, "line 302: YAML nested or repeated too much"},
		{"lists by dashes", "- ", NULL, "line 1: YAML nested or repeated too much"},
		{"keys of keys", "? ", NULL, "line 1: a key that is not a scalar"},
		{"keys of lists", "[? ", NULL, "line 1: a key that is not a scalar"},
		{"anchors", "- &a", " x\n", "line 101: YAML nested or repeated too much"},
		{"directives", "%TAG !a", "! b\n", "more than 100 lines of %TAG"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(2u << 20);
		CLEANUP(doc_release) struct doc d = DOC_INIT;
		struct err err = {""};
		clock_t begin;

		for (size_t n = 0; text.len < 1u << 20; n++) {
			strbuf_addstr(&text, cases[i].again);
			if (cases[i].after)
				strbuf_addf(&text, "%zu%s", n, cases[i].after);
		}
		begin = clock();
		assert_int_equal(yaml_parse(text.text, text.len, &d, &err), -EINVAL);
		if (!strstr(err.text, cases[i].message))
			fail_msg("%s: message '%s' lacks '%s'", cases[i].what, err.text, cases[i].message);
		if (clock() - begin > CLOCKS_PER_SEC)
			fail_msg("%s: %ld ms", cases[i].what, (clock() - begin) * 1000 / CLOCKS_PER_SEC);
	}
}

static void yaml_is_as_deep_and_as_long_as_it_may_be(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4u << 20);
	CLEANUP(doc_release) struct doc d = DOC_INIT;
	struct err err = {""};

	(void)state;
	for (size_t i = 0; i < 300; i++)
		strbuf_addstr(&text, "[");
	strbuf_addstr(&text, "x");
	for (size_t i = 0; i < 300; i++)
		strbuf_addstr(&text, "]");
	assert_int_equal(yaml_parse(text.text, text.len, &d, &err), 0);
	doc_release(&d);
	strbuf_reset(&text);
	while (text.len < 3u << 20)
		strbuf_addstr(&text, "- x\n");
	assert_int_equal(yaml_parse(text.text, text.len, &d, &err), 0);
	assert_int_equal(d.n_items, 3u << 18);
}

/* 2453 nodes are copied up to `l`, and 11110 for each list in it; 100000 may be. */
static void yaml_limits_what_a_document_repeats(void **state)
{
	static const char anchors[] = "a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
				      "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nl:\n";
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1u << 20);

	(void)state;
	strbuf_addstr(&text, anchors);
	for (size_t n = 0; n < 4000; n++)
		strbuf_addstr(&text, "- x\n"); /* otherwise more than 99 % are in aliases */
	for (size_t n = 1; n <= 9; n++) {
		CLEANUP(doc_release) struct doc d = DOC_INIT;
		struct err err = {""};

		strbuf_addf(&text, "- [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n");
		assert_int_equal(yaml_parse(text.text, text.len, &d, &err) < 0, n == 9);
		assert_int_equal(
			n == 9, strstr(err.text, "line 4013: YAML nested or repeated too much") != NULL);
	}
}

static void yaml_prints_what_reads_back(void **state)
{
	static const char *const texts[] = {"plain", "10", "0x1f", "true", "no", "null", "", "~", "1.5",
		"a: b", "- x", "# c", "it's", "say \"hi\"", "line\nbreak", "0-3,8", "trailing ", " leading",
		"64Mi", "é", "*x", "&y", "1e3", "0o17", "1_0", "@at", "%d", "!t", "tab\there", "<<", ".inf",
		"0b-1"};
	CLEANUP(doc_release) struct doc d = {.kind = DOC_MAP};
	CLEANUP(doc_release) struct doc again = DOC_INIT;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(1u << 20);
	struct err err = {""};
	struct doc *list = doc_add_list(&d, "list");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_non_null(doc_add_string(list, NULL, texts[i]));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_non_null(doc_add_string(&d, texts[i], texts[i]));
	assert_int_equal(yaml_print(&d, &out), 0);
	if (yaml_parse(out.text, out.len, &again, &err) < 0)
		fail_msg("%s in:\n%s", err.text, out.text);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		test_assert_text("list item", doc_string(&again.items[0].items[i]), texts[i]);
		test_assert_text("map key", again.items[i + 1].key, texts[i]);
		test_assert_text("map value", doc_string(&again.items[i + 1]), texts[i]);
	}
}

static void printers_have_one_layout(void **state)
{
	CLEANUP(doc_release) struct doc d = {.kind = DOC_MAP};
	CLEANUP(strbuf_release) struct strbuf yaml = STRBUF_INIT(4096), json = STRBUF_INIT(4096);
	struct doc *zones, *zone, *row;

	(void)state;
	assert_non_null(doc_add_string(&d, "kind", "K"));
	assert_non_null(doc_add_map(&d, "empty"));
	zones = doc_add_list(&d, "zones");
	zone = doc_add_map(zones, NULL);
	assert_non_null(doc_add_string(zone, "name", "node-0"));
	assert_non_null(doc_add_string(zone, "value", "10"));
	row = doc_add_list(zones, NULL);
	assert_non_null(doc_add_number(row, NULL, 10));
	assert_non_null(doc_add_number(row, NULL, -21));
	assert_non_null(doc_add_bool(&d, "yes", true));
	assert_int_equal(yaml_print(&d, &yaml), 0);
	test_assert_text("yaml", yaml.text,
		"kind: K\nempty: {}\nzones:\n- {name: node-0, value: \"10\"}\n- [10, -21]\n\"yes\": true\n");
	assert_int_equal(json_print(&d, &json), 0);
	test_assert_text("json", json.text,
		"{\n  \"kind\": \"K\",\n  \"empty\": {\n  },\n  \"zones\": [{\n      "
		"\"name\": \"node-0\",\n      "
		"\"value\": \"10\"\n    }, [10, -21]],\n  \"yes\": true\n}\n");
}

/* DEL and the control characters of 8 bits are characters of JSON, and a terminal obeys them. */
static void json_prints_no_control_character(void **state)
{
	static const char text[] = "\"\\u001b\x7f\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0\xc3\xa9\"";
	CLEANUP(doc_release) struct doc d = DOC_INIT;
	CLEANUP(doc_release) struct doc again = DOC_INIT;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(4096);

	(void)state;
	assert_int_equal(json_parse(text, strlen(text), &d, NULL), 0);
	assert_int_equal(json_print_compact(&d, &out), 0);
	test_assert_text("JSON", out.text, "\"\\u001b\\u007f\\u0080\\u009b\\u009f\xc2\xa0\xc3\xa9\"");
	assert_int_equal(json_parse(out.text, out.len, &again, NULL), 0);
	test_assert_text("again", again.text, d.text);
}

/* What a byte is printed as, wherever it is among others: bytes are passed over by eights. */
static void each_byte_is_printed_alike_everywhere(void **state)
{
	(void)state;
	for (unsigned byte = 1; byte < 256; byte++)
		for (size_t at = 0; at < 24; at++) {
			CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(256), want = STRBUF_INIT(256);
			char text[] = "abcdefgh\x7d ~!#[]^zABCDEFG";

			text[at] = (char)byte;
			json_add_string(&out, text);
			strbuf_addf(&want, "\"%.*s", (int)at, text);
			if (byte == '"' || byte == '\\')
				strbuf_addf(&want, "\\%c", (char)byte);
			else if (byte < ' ' || byte == 0x7f)
				strbuf_addf(&want, "\\u%04x", byte);
			else if (byte > 0x7f)
				strbuf_addstr(&want, "\\ufffd");
			else
				strbuf_addch(&want, (char)byte);
			strbuf_addf(&want, "%s\"", text + at + 1);
			assert_string_equal(out.text, want.text);
		}
}

static void getters_are_strict(void **state)
{
	CLEANUP(doc_release) struct doc d = DOC_INIT;
	const char *text = "{\"a\":\"1\",\"n\":18446744073709551615,\"m\":-9,\"A\":2,\"f\":1.5,\"big\":"
			   "184467440737095516150}";
	uint64_t u = 7;
	int64_t i = 7;

	(void)state;
	assert_int_equal(yaml_parse_first(text, strlen(text), &d, NULL), 0);
	assert_int_equal(doc_uint64(doc_get(&d, "a"), &u), -EINVAL);
	assert_int_equal(doc_uint64(doc_get(&d, "m"), &u), -EINVAL);
	assert_int_equal(doc_uint64(doc_get(&d, "f"), &u), -EINVAL);
	assert_int_equal(doc_uint64(doc_get(&d, "big"), &u), -EINVAL);
	assert_int_equal(doc_uint64(doc_get(&d, "none"), &u), -EINVAL);
	assert_int_equal(u, 7);
	assert_int_equal(doc_uint64(doc_get(&d, "n"), &u), 0);
	assert_true(u == UINT64_MAX);
	assert_int_equal(doc_int64(doc_get(&d, "n"), &i), -EINVAL);
	assert_int_equal(doc_int64(doc_get(&d, "m"), &i), 0);
	assert_int_equal(i, -9);
	assert_null(doc_string(doc_get(&d, "m")));
	test_assert_text("exact key", doc_string(doc_get(&d, "a")), "1");
	test_assert_text("the last one wins", doc_get_fold(&d, "a")->text, "2");
	assert_null(doc_get(&d.items[0], "a"));
	test_assert_text("kind", doc_kind_name(NULL), "absent");
	test_assert_text("kind", doc_kind_name(&d), "a map");
}

/* The address sanitizer and valgrind see it when a reader looks behind the text. */
static void texts_need_no_closing_nul(void **state)
{
	static const char *const texts[] = {" ", "{", "[1]", "a: b", "\n- x"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP(freep) char *copy = malloc(strlen(texts[i]));
		CLEANUP(doc_release) struct doc yaml = DOC_INIT;
		CLEANUP(doc_release) struct doc json = DOC_INIT;

		assert_non_null(copy);
		memcpy(copy, texts[i], strlen(texts[i]));
		assert_int_equal(yaml_parse(copy, strlen(texts[i]), &yaml, NULL) == 0, i > 1);
		assert_int_equal(json_parse(copy, strlen(texts[i]), &json, NULL) == 0, i == 2);
	}
}

/* ---- differences */

static void check_diff(const char *from, const char *to, size_t n, const char *want)
{
	CLEANUP(doc_release) struct doc a = DOC_INIT;
	CLEANUP(doc_release) struct doc b = DOC_INIT;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(4096);

	assert_int_equal(yaml_parse(from, strlen(from), &a, NULL), 0);
	assert_int_equal(yaml_parse(to, strlen(to), &b, NULL), 0);
	assert_int_equal(doc_diff("", &a, &b, &out), n);
	test_assert_text(from, out.text, want);
}

#define TEN     "0123456789"
#define FORTY   TEN TEN TEN TEN
#define HUNDRED FORTY FORTY TEN TEN
#define UMLAUT  "\303\274" /* two bytes */ "012345678" TEN TEN TEN

static void differences_are_lines(void **state)
{
	(void)state;
	check_diff("{a: 1}", "{a: 1}", 0, "");
	check_diff("{a: 1, b: x}", "{b: z, a: 1}", 1, "b: x -> z\n");
	check_diff("{a: 1}", "{b: 2}", 2, "a: 1 -> (absent)\nb: (absent) -> 2\n");
	check_diff("zones: [{name: n0, r: [{name: cpu, v: '13'}]}, {name: n1}]",
		"zones: [{name: n1}, {name: n0, r: [{name: cpu, v: '12'}]}, {name: n2, x: 1}]", 2,
		"zones[n0].r[cpu].v: 13 -> 12\nzones[n2]: (absent) -> (map of 2)\n");
	check_diff("l: [a, b]", "l: [a, c, d]", 2, "l[1]: b -> c\nl[2]: (absent) -> d\n");
	check_diff("{a: {b: 1}}", "{a: 1}", 1, "a: (map of 1) -> 1\n");
	check_diff("{a: null}", "{a: null}", 0, "");
	/* Of long texts the part with the first difference, not in the middle of a character. */
	check_diff("a: " HUNDRED HUNDRED HUNDRED "x", "a: " HUNDRED HUNDRED HUNDRED "yz", 1,
		"a: ..." FORTY "x -> ..." FORTY "yz\n");
	check_diff("a: " HUNDRED "x" HUNDRED HUNDRED, "a: 1", 1,
		"a: " HUNDRED "x" FORTY FORTY "0123456789012345678... -> 1\n");
	check_diff("a: " HUNDRED HUNDRED UMLAUT "x", "a: " HUNDRED HUNDRED UMLAUT "y", 1,
		"a: ..." UMLAUT "x -> ..." UMLAUT "y\n");
	check_diff("{\"a\\nb\": \"\\e[31m\\nc\"}", "{}", 1, "a?b: ?[31m?c -> (absent)\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_reads_what_json_is),
		cmocka_unit_test(json_refuses_the_rest),
		cmocka_unit_test(yaml_resolves_as_kubernetes_does),
		cmocka_unit_test(yaml_refuses_the_rest),
		cmocka_unit_test(yaml_takes_no_time_to_refuse),
		cmocka_unit_test(yaml_is_as_deep_and_as_long_as_it_may_be),
		cmocka_unit_test(yaml_limits_what_a_document_repeats),
		cmocka_unit_test(yaml_prints_what_reads_back),
		cmocka_unit_test(printers_have_one_layout),
		cmocka_unit_test(json_prints_no_control_character),
		cmocka_unit_test(each_byte_is_printed_alike_everywhere),
		cmocka_unit_test(getters_are_strict),
		cmocka_unit_test(texts_need_no_closing_nul),
		cmocka_unit_test(differences_are_lines),
	};

	return cmocka_run_group_tests_name("doc", tests, NULL, NULL);
}
