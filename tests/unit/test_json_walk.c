/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of a text in memory, found without a tree. A text in pieces: the same parts wherever the pieces end, and
 * an error for what is not valid JSON.
 */
#include "tests/lib/test.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/io/json.h"

#define TEXT_MAX (80u << 20)

/* ---- a text in memory */

/* The members of a map or the elements of a list as lines; `ret_at` = where the walk stopped. */
static int walk(const char *text, char open, struct strbuf *out, size_t *ret_at)
{
	struct json_piece whole, key = {"-", 1}, value;
	struct json_walk w;
	int r = json_walk_text(text, strlen(text), &whole);

	if (r < 0 || !json_walk_begin(&w, whole, open))
		return -ENOENT;
	while ((r = json_walk_next(&w, open == '{' ? &key : NULL, &value)) > 0)
		strbuf_addf(out, "%.*s %.*s\n", (int)key.len, key.text, (int)value.len, value.text);
	*ret_at = (size_t)(w.at - text);
	return r;
}

static void values_are_found(void **state)
{
	static const struct {
		const char *text;
		char open;
		int want;
		const char *values;
		size_t at; /* of an error */
	} cases[] = {
		{"{}", '{', 0, "", 0},
		{" [ ] ", '[', 0, "", 0},
		{"{\"a\" : 1 ,\n\"b\\\"\":{\"c\":[\"}\",\"\\\\\"]}}", '{', 0,
			"\"a\" 1\n\"b\\\"\" {\"c\":[\"}\",\"\\\\\"]}\n", 0},
		{"[null,-1e9,\"]\\\"]\",[[{}],[]]]", '[', 0, "- null\n- -1e9\n- \"]\\\"]\"\n- [[{}],[]]\n",
			0},
		/* Of a value only the end is looked for. */
		{"[nul,{]]", '[', 0, "- nul\n- {]\n", 0},
		{"[1 2]", '[', -EINVAL, "- 1\n", 3},
		{"[1,]", '[', -EINVAL, "- 1\n", 2},
		{"{\"a\" 1}", '{', -EINVAL, "", 1},
		{"{a:1}", '{', -EINVAL, "", 1},
		{"{\"a\":}", '{', -EINVAL, "", 1},
		/* Another kind, no value, two of them, a value without an end. */
		{"[]", '{', -ENOENT, "", 0},
		{"7", '[', -ENOENT, "", 0},
		{"", '{', -ENOENT, "", 0},
		{"{}{}", '{', -ENOENT, "", 0},
		{"{\"a\":[}", '{', -ENOENT, "", 0},
		{"{\"a\":\"}", '{', -ENOENT, "", 0},
		{"{\"a\":\"\\", '{', -ENOENT, "", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(4096);
		size_t at = 0;

		assert_int_equal(walk(cases[i].text, cases[i].open, &out, &at), cases[i].want);
		test_assert_text(cases[i].text, out.text, cases[i].values);
		if (cases[i].want == -EINVAL)
			assert_int_equal(at, cases[i].at);
	}
}

static void strings_are_decoded(void **state)
{
	static const struct {
		const char *text, *value; /* NULL = an error */
	} cases[] = {
		{"\"\"", ""},
		{"\"worker-00001.cluster.example\"", "worker-00001.cluster.example"},
		{"\"a\\\"\\u0041\\n\"", "a\"A\n"},
		{"\"\xc3\xa4\"", "\xc3\xa4"},
		{"\"\x7f\"", "\x7f"},
		{"\"\xff\"", NULL},
		{"\"\\x\"", NULL},
		{"\"", NULL},
		{"17", NULL},
		{"null", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json_piece p = {cases[i].text, strlen(cases[i].text)};
		char value[64];

		if (cases[i].value) {
			assert_int_equal(json_piece_string(p, value), strlen(cases[i].value) + 1);
			assert_string_equal(value, cases[i].value);
		} else {
			assert_int_equal(json_piece_string(p, value), -EINVAL);
		}
	}
}

static void keys_are_compared_ignoring_case(void **state)
{
	static const char text[] = "\"nodeNames\"";
	const struct json_piece key = {text, strlen(text)};

	(void)state;
	assert_true(json_piece_is_key(key, "NodeNames"));
	assert_false(json_piece_is_key(key, "NodeName"));
	assert_false(json_piece_is_key(key, "NodeNames2"));
	assert_true(json_piece_is_null((struct json_piece){"null", 4}));
	assert_false(json_piece_is_null((struct json_piece){"nul", 3}));
}

/* ---- a text in pieces */

/* Each part as a line: what it is, the List's kind, the part. */
static int note(
	enum json_stream_part what, struct doc *part, const struct doc *list, void *data, struct err *err)
{
	static const char *const words[JSON_STREAM_PART_COUNT] = {"item", "list", "document"};
	struct strbuf *out = data;
	const char *kind = doc_string(doc_get(list, "kind"));

	assert_int_equal(part->kind, DOC_MAP);
	assert_int_equal(what == JSON_STREAM_ITEM, list != NULL);
	strbuf_addf(out, "%s %s ", words[what], kind ? kind : "-");
	assert_int_equal(json_print_compact(part, out), 0);
	strbuf_addch(out, '\n');
	return doc_get(part, "stop") ? err_set(err, -ECANCELED, "stopped") : 0;
}

static int feed(const char *text, size_t len, size_t piece, struct strbuf *out, struct err *err)
{
	CLEANUP(json_stream_release) struct json_stream stream;
	int r = 0;

	json_stream_init(&stream, note, out);
	for (size_t at = 0; at < len && r == 0; at += piece)
		r = json_stream_feed(&stream, text + at, len - at < piece ? len - at : piece, err);
	return r < 0 ? r : json_stream_end(&stream, err);
}

/* In pieces of every size up to 9, of two sizes around a chunk's, and as a whole. */
static void check(const char *text, int want, const char *parts, const char *message)
{
	static const size_t pieces[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 4096, SIZE_MAX / 2};

	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(TEXT_MAX);
		struct err err = {""};

		assert_int_equal(feed(text, strlen(text), pieces[i], &out, &err), want);
		test_assert_text(text, out.text, parts);
		test_assert_text("message", err.text, message);
	}
}

static void parts_are_cut_out(void **state)
{
	static const struct {
		const char *text, *parts;
	} cases[] = {
		{"", ""},
		{" \n\t\r ", ""},
		{"{}", "document - {}\n"},
		{"{}{} \n {\"a\":[{},[1]]}", "document - {}\ndocument - {}\ndocument - {\"a\":[{},[1]]}\n"},
		{"{\"kind\":\"List\",\"items\":[]}", "list - {\"kind\":\"List\",\"items\":[]}\n"},
		/* The List's kind is there when it comes before the items. */
		{"{\"kind\":\"PodList\",\"items\":[{\"a\":1}]}",
			"item PodList {\"a\":1}\nlist - {\"kind\":\"PodList\",\"items\":[]}\n"},
		{"{\"items\" : [ {\"a\":1} , {} ] , \"kind\":\"List\"}",
			"item - {\"a\":1}\nitem - {}\nlist - {\"items\":[],\"kind\":\"List\"}\n"},
		/* What looks like JSON in strings is text. */
		{"{\"items\":[{\"}],[{\\\"\":\"\\\\\",\"b\":\"]}\\\\\\\"[\"}]}",
			"item - {\"}],[{\\\"\":\"\\\\\",\"b\":\"]}\\\\\\\"[\"}\nlist - {\"items\":[]}\n"},
		{"{\"a\\\"items\":[{}],\"b\":\"items\",\"c\":{\"items\":[{}]}}",
			"document - {\"a\\\"items\":[{}],\"b\":\"items\",\"c\":{\"items\":[{}]}}\n"},
		{"{\"items\":[{\"a\":\"\\n\",\"b\":\"\\u0041\"}]}",
			"item - {\"a\":\"\\n\",\"b\":\"A\"}\nlist - {\"items\":[]}\n"},
		/* No list, no List. */
		{"{\"items\":7}", "document - {\"items\":7}\n"},
		{"{\"items\":{\"items\":[{}]}}", "document - {\"items\":{\"items\":[{}]}}\n"},
		{"{\"items\":[{\"items\":[{}]}]}{}",
			"item - {\"items\":[{}]}\nlist - {\"items\":[]}\ndocument - {}\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check(cases[i].text, 0, cases[i].parts, "");
}

static void what_is_no_json_is_refused(void **state)
{
	static const struct {
		const char *text, *parts, *message;
	} cases[] = {
		{"[]", "", "not valid JSON at line 1: an object is expected"},
		{"{}\n,{}", "document - {}\n", "not valid JSON at line 2: an object is expected"},
		{"{", "", "not valid JSON at line 1, byte 2"},
		{"{\"a\":\"", "", "not valid JSON at line 1, byte 7"},
		{"{\"a\":1]", "", "not valid JSON at line 1, byte 7"},
		{"{}\n\n{\"a\"}", "document - {}\n",
			"the object that begins at line 3: not valid JSON at line 1, byte 5"},
		{"{\"items\":[", "", "not valid JSON: the text ends at line 1 within a List, after item 0"},
		{"{\"items\":[{}", "item - {}\n",
			"not valid JSON: the text ends at line 1 within a List, after item 1"},
		{"{\"items\":[{},\n{\"a\":", "item - {}\n",
			"not valid JSON: the text ends at line 2 within a List, in item 2"},
		{"{\"items\":[{}]", "item - {}\n",
			"not valid JSON: the text ends at line 1 within a List, after item 1"},
		{"{\"items\":[1]}", "", "not valid JSON at line 1: an object or ']' is expected in the List"},
		{"{\"items\":[{},]}", "item - {}\n",
			"not valid JSON at line 1: an object is expected in the List"},
		{"{\"items\":[{}{}]}", "item - {}\n",
			"not valid JSON at line 1: an object after a comma, or ']', is expected in the List"},
		{"{\"items\":[{},\n{\"a\":nul}]}", "item - {}\n",
			"item 2, which begins at line 2: not valid JSON at line 1, byte 6"},
		{"{\"items\":[{\"a\":1]]}", "",
			"item 1, which begins at line 1: not valid JSON at line 1, byte 7"},
		{"{\"kind\" \"List\",\"items\":[{}]}", "", "not valid JSON at line 1, byte 9"},
		{"{\"items\":[{}],\"items\":[]}", "item - {}\n", "line 1: a List with two members 'items'"},
		{"{\"items\":[{}]x}", "item - {}\n", "not valid JSON at line 1, byte 12"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check(cases[i].text, -EINVAL, cases[i].parts, cases[i].message);
}

static void the_caller_can_stop_it(void **state)
{
	(void)state;
	check("{\"items\":[{},{\"stop\":1},{}]}", -ECANCELED, "item - {}\nitem - {\"stop\":1}\n", "stopped");
}

/* Nesting costs no stack here, and the parser has a limit. */
static void nesting_is_harmless(void **state)
{
	enum { DEPTH = 200000 };
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(TEXT_MAX);
	struct err err = {""};

	(void)state;
	strbuf_addstr(&text, "{\"items\":[{\"a\":");
	for (size_t i = 0; i < DEPTH; i++)
		strbuf_addch(&text, '[');
	for (size_t i = 0; i < DEPTH; i++)
		strbuf_addch(&text, ']');
	strbuf_addstr(&text, "}]}");
	assert_int_equal(feed(text.text, text.len, 65536, &out, &err), -EINVAL);
	assert_non_null(strstr(err.text, "item 1, which begins at line 1: line 1: JSON nested too deeply"));
	/* Without an end. */
	err = (struct err){""};
	assert_int_equal(feed(text.text, DEPTH, 65536, &out, &err), -EINVAL);
	assert_non_null(strstr(err.text, "within a List, in item 1"));
	err = (struct err){""};
	memcpy(text.text, "{\"other\":[{\"a\":", 15);
	assert_int_equal(feed(text.text, text.len, 65536, &out, &err), -EINVAL);
}

static bool wants_nothing(void *data, const char *kind)
{
	(void)data;
	(void)kind;
	return false;
}

/* A part that has no end is not read for ever, also if it is not wanted. */
static void a_part_has_a_size(void **state)
{
	static const char *const begins[] = {
		"{\"items\":[{\"", "{\"", "{\"items\":[{\"kind\":\"Event\",\"a\":\""};
	static char chunk[65536];

	(void)state;
	memset(chunk, 'a', sizeof(chunk));
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
		CLEANUP(json_stream_release) struct json_stream stream;
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(TEXT_MAX);
		struct err err = {""};
		size_t n = 0;
		int r;

		json_stream_init(&stream, note, &out);
		stream.wants = wants_nothing;
		r = json_stream_feed(&stream, begins[i], strlen(begins[i]), &err);
		for (; r == 0 && n <= JSON_STREAM_PART_MAX; n += sizeof(chunk))
			r = json_stream_feed(&stream, chunk, sizeof(chunk), &err);
		assert_int_equal(r, -EFBIG);
		test_assert_text("message", err.text, "line 1: an object of more than 67108864 bytes");
	}
}

static void note_skip(void *data, const struct err *err)
{
	struct strbuf *out = data;

	strbuf_addf(out, "skip: %s\n", err->text);
}

/* Whatever is wrong with one of them, the others come. */
static void bad_objects_are_passed_over(void **state)
{
	static const struct {
		const char *text, *parts;
	} cases[] = {
		{"{\"items\":[{\"a\":1},{\"a\" 2},{\"a\":3}]}",
			"item - {\"a\":1}\nskip: item 2, which begins at line 1: not valid JSON at line 1, byte 6\n"
			"item - {\"a\":3}\nlist - {\"items\":[]}\n"},
		{"{\"items\":[{\"a\":\"\xff\"},{}]}",
			"skip: item 1, which begins at line 1: not valid JSON: invalid UTF-8 at line 1\n"
			"item - {}\nlist - {\"items\":[]}\n"},
		{"{\"items\":[{\"a\":1e400},{}]}",
			"skip: item 1, which begins at line 1: line 1: number too large\n"
			"item - {}\nlist - {\"items\":[]}\n"},
		{"{\"a\":1}{\"a\":-}{\"a\":3}",
			"document - {\"a\":1}\nskip: not valid JSON at line 1, byte 7\ndocument - {\"a\":3}\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (size_t piece = 1; piece < 40; piece++) {
			CLEANUP(json_stream_release) struct json_stream stream;
			CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(TEXT_MAX);
			size_t len = strlen(cases[i].text);

			json_stream_init(&stream, note, &out);
			stream.skip = note_skip;
			for (size_t at = 0; at < len; at += piece)
				assert_int_equal(json_stream_feed(&stream, cases[i].text + at,
							 len - at < piece ? len - at : piece, NULL),
					0);
			assert_int_equal(json_stream_end(&stream, NULL), 0);
			test_assert_text(cases[i].text, out.text, cases[i].parts);
		}
}

/* An item, then a document, each larger than may be; brackets nested deeper than the parser goes. */
static void large_objects_are_passed_over(void **state)
{
	static const char *const around[][2] = {
		{"{\"items\":[{\"a\":\"", "\"},{\"b\":1}]}"}, {"{\"a\":\"", "\"}{\"b\":1}"}};
	CLEANUP(strbuf_release) struct strbuf deep = STRBUF_INIT(TEXT_MAX), said = STRBUF_INIT(TEXT_MAX);
	CLEANUP(json_stream_release) struct json_stream deep_stream;
	char filler[65536];

	(void)state;
	memset(filler, 'x', sizeof(filler));
	for (size_t i = 0; i < ARRAY_SIZE(around); i++) {
		CLEANUP(json_stream_release) struct json_stream stream;
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(TEXT_MAX);

		json_stream_init(&stream, note, &out);
		stream.skip = note_skip;
		assert_int_equal(json_stream_feed(&stream, around[i][0], strlen(around[i][0]), NULL), 0);
		for (size_t n = 0; n <= JSON_STREAM_PART_MAX; n += sizeof(filler))
			assert_int_equal(json_stream_feed(&stream, filler, sizeof(filler), NULL), 0);
		assert_int_equal(json_stream_feed(&stream, around[i][1], strlen(around[i][1]), NULL), 0);
		assert_int_equal(json_stream_end(&stream, NULL), 0);
		test_assert_text("parts", out.text,
			i == 0 ? "skip: line 1: an object of more than 67108864 bytes\n"
				 "item - {\"b\":1}\nlist - {\"items\":[]}\n"
			       : "skip: line 1: an object of more than 67108864 bytes\ndocument - {\"b\":1}\n");
	}
	strbuf_addstr(&deep, "{\"items\":[{\"a\":");
	for (size_t i = 0; i < 5000; i++)
		strbuf_addch(&deep, '[');
	for (size_t i = 0; i < 5000; i++)
		strbuf_addch(&deep, ']');
	strbuf_addstr(&deep, "},{}]}");
	json_stream_init(&deep_stream, note, &said);
	deep_stream.skip = note_skip;
	assert_int_equal(json_stream_feed(&deep_stream, deep.text, deep.len, NULL), 0);
	assert_non_null(
		strstr(said.text, "skip: item 1, which begins at line 1: line 1: JSON nested too deeply"));
	assert_non_null(strstr(said.text, "\nitem - {}\nlist - "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_found),
		cmocka_unit_test(strings_are_decoded),
		cmocka_unit_test(keys_are_compared_ignoring_case),
		cmocka_unit_test(parts_are_cut_out),
		cmocka_unit_test(bad_objects_are_passed_over),
		cmocka_unit_test(large_objects_are_passed_over),
		cmocka_unit_test(what_is_no_json_is_refused),
		cmocka_unit_test(the_caller_can_stop_it),
		cmocka_unit_test(nesting_is_harmless),
		cmocka_unit_test(a_part_has_a_size),
	};

	return cmocka_run_group_tests_name("json_walk", tests, NULL, NULL);
}
