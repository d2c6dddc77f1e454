/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "common/err.h"
#include "common/text.h"

static void appended_texts_are_cut(void **state)
{
	char text[8] = "";

	(void)state;
	text_addf(text, sizeof(text), "%s", "ab");
	text_addf(text, sizeof(text), "%d", 34);
	test_assert_text("whole", text, "ab34");
	text_addf(text, sizeof(text), "%s", "56789");
	test_assert_text("cut", text, "ab34567");
	text_addf(text, sizeof(text), "%s", "8");
	test_assert_text("full", text, "ab34567");
}

static void owned_texts_are_replaced(void **state)
{
	CLEANUP(freep) char *owned = NULL;

	(void)state;
	text_set(&owned, "one");
	test_assert_text("first", owned, "one");
	text_set(&owned, owned);
	test_assert_text("itself", owned, "one");
	text_set(&owned, "two");
	test_assert_text("second", owned, "two");
}

static void texts_from_outside_stay_one_line(void **state)
{
	struct err err = {""};
	char text[] = "a\nb\x1b[2J\t\x7f\xc2\x9b\xc3\xa9 z";
	CLEANUP(notes_release) struct notes notes = {0};

	(void)state;
	text_one_line(text);
	test_assert_text("text", text, "a?b?[2J????\xc3\xa9 z");
	err_wrap(&err, err_set(&err, -1, "pod '%s'", "x\ny"), "file '%s'", "\r");
	test_assert_text("error", err.text, "file '?': pod 'x?y'");
	notes_add(&notes, "option '%s'", "a\nb");
	test_assert_text("note", notes.lines.items[0], "option 'a?b'");
}

/* By the code points' ranges, of which the encodings are made here. */
static size_t encode(unsigned code, char text[5])
{
	size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	memset(text, 0, 5);
	for (size_t i = n; i-- > 1; code >>= 6)
		text[i] = (char)(0x80 | (code & 0x3f));
	text[0] = (char)(n == 1 ? code : (0xf00 >> n & 0xff) | code);
	return n;
}

static void every_character_is_printed_or_not(void **state)
{
	static const char *const broken[] = {"\x80", "\xbf", "\xc0\x9b", "\xc1\xbf", "\xe0\x80\x9b",
		"\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x80\x80\x9b", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
		"\xf8\x88\x80\x80", "\xfe", "\xff", "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xc3(", "\xe2\x82(",
		"\xf0\x9f\x98("};
	char text[8];

	(void)state;
	for (unsigned code = 1; code < 0x110000; code++) {
		bool control = code < ' ' || (code >= 0x7f && code < 0xa0);
		size_t n = encode(code, text);
		char before[8];

		if (code >= 0xd800 && code < 0xe000)
			continue;
		memcpy(before, text, sizeof(before));
		assert_int_equal(text_utf8_length(text, n), n);
		text_one_line(text);
		if (strcmp(text, control ? (n == 1 ? "?" : "??") : before) != 0)
			fail_msg("U+%04X became '%s'", code, text);
		memcpy(text, before, sizeof(text));
		text_multi_line(text, n);
		if (code == '\n')
			test_assert_text("newline", text, "\n");
	}
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		snprintf(text, sizeof(text), "%s", broken[i]);
		assert_int_equal(text_utf8_length(text, strlen(text)), 0);
		text_one_line(text);
		for (const char *p = text; *p; p++)
			assert_true(*p == '?' || *p == '(');
	}
	assert_int_equal(text_utf8_length("", 0), 0);
}

static void numbers_make_no_other_text(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} cases[] = {
		{"", "", true},
		{"after 5001 ms", "after 12 ms", true},
		{"after 5001 ms", "after ms", false},
		{"code 401", "code 4010", true},
		{"code 401", "code 401 ", false},
		{"7", "", false},
		{"x7", "y7", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(text_same_but_numbers(cases[i].a, cases[i].b), cases[i].same);
		assert_int_equal(text_same_but_numbers(cases[i].b, cases[i].a), cases[i].same);
	}
}

static int sign(int n)
{
	return (n > 0) - (n < 0);
}

/* Random names of few characters, against strverscmp(3). */
static void names_are_compared_by_their_numbers(void **state)
{
	static const char characters[] = "0019-a\xc3";
	uint64_t seed = test_seed(34);

	(void)state;
	assert_true(text_compare_numbered("node-2", "node-10") < 0);
	for (size_t n = 0; n < 200000; n++) {
		char names[2][8] = {"", ""};

		for (size_t k = 0; k < 2; k++)
			for (size_t i = 0, len = test_random(&seed) % 7; i < len; i++)
				names[k][i] = characters[test_random(&seed) % (sizeof(characters) - 1)];
		if (sign(text_compare_numbered(names[0], names[1])) != sign(strverscmp(names[0], names[1])))
			fail_msg("'%s' and '%s' compare as %d, not as %d", names[0], names[1],
				text_compare_numbered(names[0], names[1]), strverscmp(names[0], names[1]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appended_texts_are_cut),
		cmocka_unit_test(owned_texts_are_replaced),
		cmocka_unit_test(texts_from_outside_stay_one_line),
		cmocka_unit_test(every_character_is_printed_or_not),
		cmocka_unit_test(numbers_make_no_other_text),
		cmocka_unit_test(names_are_compared_by_their_numbers),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
