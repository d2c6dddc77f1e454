/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "cli/report/writer.h"
#include "common/cleanup.h"

/* Two rows with a field for both formats, one for the table, one for documents; and one value that is unknown. */
static void write_report(struct writer *w)
{
	static const struct column columns[] = {COLUMN("NAME"), COLUMN("N"), COLUMN("WHY")};

	writer_columns(w, columns, ARRAY_SIZE(columns));
	writer_list(w, "items");
	writer_row(w);
	writer_string(w, "why", "WHY", "x");
	writer_string(w, "name", "NAME", "a-long-name");
	writer_number(w, "n", "N", false, 7);
	writer_name(w, "node", "a-long-name");
	writer_end(w);
	writer_row(w);
	writer_string(w, "name", "NAME", "b\nc");
	writer_text(w, "why", "WHY", "");
	writer_number(w, "n", "N", true, 12345);
	writer_cell(w, "OTHER", "%d", 1);
	writer_ids(w, "ids", true, 0x8001);
	writer_bool(w, "yes", true, true);
	writer_end(w);
	writer_end(w);
	if (w->format == WRITER_TEXT)
		writer_table(w);
}

static void a_report_has_every_format(void **state)
{
	static const struct {
		const char *output;
		bool headings;
		const char *want;
	} cases[] = {
		{"text", true,
			"NAME         N      WHY\n"
			"a-long-name  -      x\n"
			"b?c          12345  -\n"},
		/* Without headings the headings do not widen the columns. */
		{"text", false,
			"a-long-name  -      x\n"
			"b?c          12345  -\n"},
		{"name", true, "node/a-long-name\n"},
		{"json", true,
			"{\n  \"items\": [{\n      \"why\": \"x\",\n      \"name\": \"a-long-name\",\n"
			"      \"n\": null\n    }, {\n      \"name\": \"b\\nc\",\n      \"why\": null,\n"
			"      \"n\": 12345,\n      \"ids\": [0, 15],\n      \"yes\": true\n    }]\n}\n"},
		{"yaml", true,
			"items:\n- {why: x, name: a-long-name, \"n\": null}\n- name: 'b\n\n    c'\n  why: null\n"
			"  \"n\": 12345\n  ids: [0, 15]\n  \"yes\": true\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(4096);
		CLEANUP(writer_release) struct writer w;

		writer_init(&w, cases[i].output, cases[i].headings, &out);
		write_report(&w);
		assert_int_equal(writer_finish(&w), 0);
		test_assert_text(cases[i].output, out.text, cases[i].want);
	}
}

static void wide_lines_are_broken_on_a_terminal(void **state)
{
	static const char text[] = "a line\n\n  remedy: one two three four five six seven\nrest\n"
				   "a /path/that/is/longer/than/a/line/of/the/terminal: b";
	static const struct {
		const char *output;
		size_t width;
		const char *want;
	} cases[] = {
		{"text", 40,
			"a line\n\n  remedy: one two three four five six\n    seven\nrest\n"
			"a\n    /path/that/is/longer/than/a/line/of/the/terminal:\n    b\n"},
		{"text", 30,
			"a line\n\n  remedy: one two three four\n    five six seven\nrest\n"
			"a\n    /path/that/is/longer/than/a/line/of/the/terminal:\n    b\n"},
		{"text", 0, text},
		{"wide", 30, text},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(4096);
		CLEANUP(writer_release) struct writer w;

		writer_init(&w, cases[i].output, true, &out);
		w.width = cases[i].width;
		strbuf_addstr(&out, text);
		assert_int_equal(writer_finish(&w), 0);
		test_assert_text(cases[i].output, out.text, cases[i].want);
	}
}

static void a_table_without_rows_has_no_lines(void **state)
{
	static const struct column columns[] = {COLUMN("A HEADING")};
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(64);
	CLEANUP(writer_release) struct writer w;

	(void)state;
	writer_init(&w, "text", false, &out);
	writer_columns(&w, columns, 1);
	writer_table(&w);
	assert_int_equal(out.len, 0);
	w.headings = true;
	writer_table(&w);
	test_assert_text("headings", out.text, "A HEADING\n");
}

static void a_text_that_is_too_long_is_an_error(void **state)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(8);
	CLEANUP(writer_release) struct writer w;

	(void)state;
	writer_init(&w, "text", true, &out);
	strbuf_addstr(&out, "0123456789");
	assert_int_equal(writer_finish(&w), -EFBIG);
}

/* A row of five columns, of which OWNER has no content. */
static void print_narrow(size_t width, struct strbuf *out)
{
	static const struct column columns[] = {COLUMN("POD"), COLUMN("OWNER"), COLUMN("FROM", .rank = 2),
		COLUMN("COST", .rank = 1), COLUMN("REASON")};
	CLEANUP(writer_release) struct writer w;

	writer_init(&w, "text", true, out);
	w.width = width;
	writer_columns(&w, columns, ARRAY_SIZE(columns));
	writer_row(&w);
	writer_cell(&w, "POD", "default/web-0");
	writer_cell(&w, "FROM", "node-1");
	writer_cell(&w, "COST", "12");
	writer_cell(&w, "REASON", "no NUMA node has enough free CPUs for it");
	writer_row(&w);
	writer_cell(&w, "POD", "a");
	writer_cell(&w, "REASON", "none");
	writer_table(&w);
}

static void a_table_fits_its_terminal(void **state)
{
	static const struct {
		size_t width;
		const char *want;
	} cases[] = {
		{0, "POD            OWNER  FROM    COST  REASON\n"
		    "default/web-0  -      node-1  12    no NUMA node has enough free CPUs for it\n"
		    "a              -      -       -     none\n"},
		{80, "POD            OWNER  FROM    COST  REASON\n"
		     "default/web-0  -      node-1  12    no NUMA node has enough free CPUs for it\n"
		     "a              -      -       -     none\n"},
		{62, "POD            OWNER  FROM    COST  REASON\n"
		     "default/web-0  -      node-1  12    no NUMA node has enough\n"
		     "                                    free CPUs for it\n"
		     "a              -      -       -     none\n"},
		{55, "POD            FROM    COST  REASON\n"
		     "default/web-0  node-1  12    no NUMA node has enough\n"
		     "                             free CPUs for it\n"
		     "a              -       -     none\n"},
		{48, "POD            FROM    REASON\n"
		     "default/web-0  node-1  no NUMA node has enough\n"
		     "                       free CPUs for it\n"
		     "a              -       none\n"},
		{40, "POD            REASON\n"
		     "default/web-0  no NUMA node has enough\n"
		     "               free CPUs for it\n"
		     "a              none\n"},
		{36, "POD            REASON\n"
		     "default/web-0  \n"
		     "    no NUMA node has enough free\n"
		     "    CPUs for it\n"
		     "a              none\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(4096);

		print_narrow(cases[i].width, &out);
		test_assert_text("table", out.text, cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report_has_every_format),
		cmocka_unit_test(wide_lines_are_broken_on_a_terminal),
		cmocka_unit_test(a_table_without_rows_has_no_lines),
		cmocka_unit_test(a_table_fits_its_terminal),
		cmocka_unit_test(a_text_that_is_too_long_is_an_error),
	};

	return cmocka_run_group_tests_name("writer", tests, NULL, NULL);
}
