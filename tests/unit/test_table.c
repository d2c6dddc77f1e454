/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "agent/report/table.h"
#include "common/cleanup.h"

static void columns_are_as_wide_as_what_is_in_them(void **state)
{
	static const char *const cells[] = {"NAME", "N", "WHY", "a-long-name", "", "x", "b", "12345", "-"};
	static const struct {
		bool headings;
		const char *want;
	} cases[] = {
		{true, "NAME         N      WHY\n"
		       "a-long-name  -      x\n"
		       "b            12345  -\n"},
		{false, "a-long-name  -      x\n"
			"b            12345  -\n"},
	};
	CLEANUP(table_release) struct table t = {.n_columns = 3};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cells); i++)
		table_add(&t, cells[i]);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(4096);

		table_print(&t, cases[i].headings, &out);
		test_assert_text("table", out.text, cases[i].want);
	}
}

/* A heading does not widen a column that is printed without it; an empty table has no line. */
static void what_is_not_printed_has_no_width(void **state)
{
	CLEANUP(table_release) struct table t = {.n_columns = 2};
	CLEANUP(strbuf_release) struct strbuf none = STRBUF_INIT(64), one = STRBUF_INIT(64);

	(void)state;
	table_add(&t, "A HEADING");
	table_addf(&t, "%d", 7);
	table_print(&t, false, &none);
	assert_int_equal(none.len, 0);
	table_addf(&t, "%s", "a");
	table_addf(&t, "%d", 8);
	table_print(&t, false, &one);
	test_assert_text("one", one.text, "a  8\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_as_wide_as_what_is_in_them),
		cmocka_unit_test(what_is_not_printed_has_no_width),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
