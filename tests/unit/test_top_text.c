/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/top.h"

#include "common/cleanup.h"
#include "tests/lib/test.h"
#include "tests/lib/top_rows.h"

/* Returns the width of the canvas. */
static size_t check(const struct top_look *look, bool utf8, const char *golden)
{
	CLEANUP(canvas_release) struct canvas c;
	CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(1 << 20);
	CLEANUP(top_totals_release) struct top_totals totals = {0};
	struct top_row rows[TEST_TOP_ROWS];

	test_top_rows(rows);
	top_totals(rows, TEST_TOP_ROWS, &totals);
	top_draw(rows, TEST_TOP_ROWS, &totals, look, &c);
	assert_int_equal(canvas_print(&c, false, utf8, &got), 0);
	test_assert_golden(golden, got.text);
	test_top_rows_release(rows);
	return c.width;
}

static void tables_equal_their_golden_files(void **state)
{
	(void)state;
	check(&(struct top_look){.headers = true}, false, "top/plain.txt");
	check(&(struct top_look){.headers = false}, false, "top/no-headers.txt");
	check(&(struct top_look){.headers = true, .wide = true}, false, "top/wide.txt");
	check(&(struct top_look){.headers = true, .bars = true, .width = 200}, true, "top/terminal.txt");
	check(&(struct top_look){.headers = true, .bars = true, .width = 200}, false, "top/ascii.txt");
	assert_in_range(
		check(&(struct top_look){.headers = true, .bars = true, .width = 100, .label = "POOL"}, true,
			"top/label.txt"),
		80, 100);
	assert_in_range(
		check(&(struct top_look){.headers = true, .bars = true, .width = 80}, true, "top/narrow.txt"),
		60, 80);
}

static void nothing_at_all(void **state)
{
	static const struct top_look look = {.headers = true, .bars = true};
	CLEANUP(canvas_release) struct canvas c;
	struct top_totals totals = {0};

	(void)state;
	top_draw(NULL, 0, &totals, &look, &c);
	assert_int_equal(c.height, 3);
}

/* The order of the rows node-10, node-2, edge-1, far and the one of a strange name, each by its first letters. */
static void rows_are_sorted(void **state)
{
	static const struct {
		const char *column, *want;
	} cases[] = {
		{"node", "\033[2J edge-1 far node-2 node-10"},
		{"FREE", "far node-10 node-2 edge-1 \033[2J"},
		{"numa", "far node-10 node-2 edge-1 \033[2J"},
		{"1-NUMA", "far node-2 node-10 \033[2J edge-1"},
		{"2-numa", "far node-10 node-2 \033[2J edge-1"},
		{"stranded", "far node-10 node-2 \033[2J edge-1"},
		{"Age", "far node-2 node-10 \033[2J edge-1"},
		{"label", "\033[2J edge-1 far node-2 node-10"},
		{"status", "\033[2J edge-1 far node-2 node-10"},
		{"policy", "far edge-1 node-10 node-2 \033[2J"},
		{"scope", "node-10 node-2 \033[2J edge-1 far"},
		{"exporter", "edge-1 far node-2 node-10 \033[2J"},
		{"devices", "node-10 \033[2J node-2 edge-1 far"},
		{"allocatable", "far node-10 node-2 edge-1 \033[2J"},
		{"reserved", "\033[2J edge-1 far node-2 node-10"},
		{"shared", "\033[2J edge-1 far node-10 node-2"},
		{"isolated", "\033[2J edge-1 far node-10 node-2"},
		{"basis", "far \033[2J edge-1 node-2 node-10"},
	};
	struct top_row rows[TEST_TOP_ROWS];
	const struct column *column;

	(void)state;
	test_top_rows(rows);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(1024);

		column = top_column_find(cases[i].column);
		assert_non_null(column);
		top_sort(rows, TEST_TOP_ROWS, column);
		for (size_t k = 0; k < TEST_TOP_ROWS; k++)
			strbuf_addf(&got, "%s%.*s", k > 0 ? " " : "", rows[k].name[0] == '\033' ? 4 : 20,
				rows[k].name);
		test_assert_text(cases[i].column, got.text, cases[i].want);
	}
	assert_null(top_column_find("size"));
	test_top_rows_release(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_equal_their_golden_files),
		cmocka_unit_test(nothing_at_all),
		cmocka_unit_test(rows_are_sorted),
	};

	return cmocka_run_group_tests_name("top_text", tests, NULL, NULL);
}
