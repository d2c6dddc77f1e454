/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "common/err.h"
#include "common/notes.h"
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
	assert_int_equal(text_set(&owned, "one"), 0);
	test_assert_text("first", owned, "one");
	assert_int_equal(text_set(&owned, owned), 0);
	test_assert_text("itself", owned, "one");
	assert_int_equal(text_set(&owned, "two"), 0);
	test_assert_text("second", owned, "two");
}

static void texts_from_outside_stay_one_line(void **state)
{
	struct err err = {""};
	char text[] = "a\nb\x1b[2J\t\x7f\xc3\xa9 z";
	CLEANUP(notes_release) struct notes notes = {0};

	(void)state;
	text_one_line(text);
	test_assert_text("text", text, "a?b?[2J??\xc3\xa9 z");
	err_wrap(&err, err_set(&err, -1, "pod '%s'", "x\ny"), "file '%s'", "\r");
	test_assert_text("error", err.text, "file '?': pod 'x?y'");
	notes_add(&notes, "option '%s'", "a\nb");
	test_assert_text("note", notes.lines[0], "option 'a?b'");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appended_texts_are_cut),
		cmocka_unit_test(owned_texts_are_replaced),
		cmocka_unit_test(texts_from_outside_stay_one_line),
		cmocka_unit_test(numbers_make_no_other_text),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
