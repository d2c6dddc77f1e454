/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/show/list_svg.h"

#include "agent/show/show_svg.h"
#include "agent/show/show_svg_parts.h"
#include "common/cleanup.h"
#include "tests/lib/list_rows.h"
#include "tests/lib/test.h"

static char *draw(const struct list_row *rows, size_t n, size_t width)
{
	CLEANUP(list_totals_release) struct list_totals totals = {0};
	struct strbuf out = STRBUF_INIT(64 << 20);

	assert_int_equal(list_totals(rows, n, &totals), 0);
	assert_int_equal(list_svg(rows, n, &totals, width, &out), 0);
	return strbuf_detach(&out);
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static void the_picture_equals_its_golden_file(void **state)
{
	CLEANUP(freep) char *text = NULL;
	struct list_row rows[TEST_LIST_PICTURE];

	(void)state;
	test_list_picture(rows);
	text = draw(rows, TEST_LIST_PICTURE, SHOW_SVG_WIDTH);
	test_assert_golden("../../man/pictures/list.svg", text);
	for (size_t i = 0; i < TEST_LIST_PICTURE; i++)
		list_row_release(&rows[i]);
}

/* No name is markup, and there is no control character. */
static void text_is_escaped(void **state)
{
	CLEANUP(freep) char *text = NULL;
	struct list_row rows[TEST_LIST_ROWS];

	(void)state;
	test_list_rows(rows);
	text = draw(rows, TEST_LIST_ROWS, SHOW_SVG_WIDTH);
	assert_int_equal(count(text, "bad?&lt;&amp;&quot;"), 1);
	assert_int_equal(count(text, "&lt;b&gt;?/x"), 3);
	assert_int_equal(count(text, "<b>"), 0);
	for (const char *p = text; *p; p++)
		assert_true(*p == '\n' || (*p >= ' ' && *p <= '~'));
	/* What a reader who does not see the picture is told. */
	assert_non_null(strstr(text,
		"<desc id=\"nrtd-desc\">173 of 259 CPUs free, ~5 of them stranded; largest pod 100 CPUs"));
	test_list_rows_release(rows);
}

/* Every NUMA node has its cell, and all is within the picture, however many nodes there are. */
static void nothing_is_cut_off(void **state)
{
	static const size_t sizes[] = {1, 40, 41, 333, 1000};

	(void)state;
	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
		CLEANUP(freep) struct list_row *rows = calloc(sizes[s], sizeof(*rows));
		CLEANUP(freep) char *text = NULL;
		struct list_row two[TEST_LIST_ROWS];
		size_t page_width, page_height, x, y, w, h, cells = 0;

		test_list_rows(two);
		assert_non_null(rows);
		for (size_t i = 0; i < sizes[s]; i++)
			rows[i] = two[i % 2];
		text = draw(rows, sizes[s], SHOW_SVG_WIDTH);
		assert_int_equal(
			sscanf(strstr(text, "viewBox"), "viewBox=\"0 0 %zu %zu\"", &page_width, &page_height),
			2);
		for (const char *p = text; (p = strstr(p, " x=\"")); p++) {
			char tag[96];
			int n;

			snprintf(tag, sizeof(tag), "%.*s", (int)strcspn(p, ">"), p);
			n = sscanf(tag, " x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%zu\"", &x, &y, &w, &h);
			if (n < 2 || x + (n == 4 ? w : 0) > page_width || y + (n == 4 ? h : 0) > page_height)
				fail_msg("%zu nodes: %.60s", sizes[s], p);
			cells += n == 4;
		}
		/* The page and the legend have eight. */
		assert_int_equal(cells, 8 + (sizes[s] + 1) / 2 * 8 + sizes[s] / 2 * 2);
		test_list_rows_release(two);
	}
}

/* The number that follows the words, which are there. */
static size_t number_after(const char **text, const char *words)
{
	const char *found = strstr(*text, words);

	assert_non_null(found);
	*text = found + strlen(words);
	return strtoul(*text, NULL, 10);
}

/* The title of the cells ends before that of the first number begins, however few NUMA nodes there are. */
static void headings_do_not_overlap(void **state)
{
	(void)state;
	for (size_t n_numa = 1; n_numa <= 8; n_numa++) {
		struct list_row rows[TEST_LIST_ROWS];
		CLEANUP(freep) char *text = NULL;
		const char *title, *number;
		size_t begin, end;

		test_list_rows(rows);
		rows[0].n_numa = n_numa;
		text = draw(rows, 1, SHOW_SVG_WIDTH);
		title = strstr(text, ">free CPUs of each NUMA node<");
		assert_non_null(title);
		while (title[-1] != '\n')
			title--;
		begin = number_after(&title, " x=\"");
		number = strstr(title, ">free<");
		assert_non_null(number);
		while (number[-1] != '\n')
			number--;
		end = number_after(&number, " x=\"") - strlen("free") * SVG_CHAR_WIDTH;
		if (begin + (strlen("free CPUs of each NUMA node") + 1) * SVG_CHAR_WIDTH > end)
			fail_msg("%zu NUMA nodes: from %zu to %zu", n_numa, begin, end);
		rows[0].n_numa = 8;
		test_list_rows_release(rows);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_picture_equals_its_golden_file),
		cmocka_unit_test(text_is_escaped),
		cmocka_unit_test(nothing_is_cut_off),
		cmocka_unit_test(headings_do_not_overlap),
	};

	return cmocka_run_group_tests_name("list_svg", tests, NULL, NULL);
}
