/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "cli/report/writer.h"
#include "common/cleanup.h"

struct pod {
	const char *name, *owner;
	struct column_number cpus, size, left;
	int64_t age_s;
};

static void cpus_cell(const struct table_cell *cell, struct strbuf *out)
{
	const struct pod *pod = cell->row;

	strbuf_addf(out, cell->table->kind == TABLE_WIDE ? "%zu CPUs" : "%zu", pod->cpus.n);
}

static struct column_value kind_value(const void *row)
{
	return (struct column_value){true, ((const struct pod *)row)->cpus.n > 9 ? "large" : "", 0};
}

static void sizes_member(struct writer *w, const char *key, const void *row)
{
	writer_number(w, key, NULL, true, (int64_t)((const struct pod *)row)->size.n * 2);
}

#define AT(member) .offset = offsetof(struct pod, member)

static const struct column columns[] = {
	{"NAME", "name", 1, COLUMN_STRING, AT(name)},
	{"OWNER", "owner", 2, COLUMN_STRING, AT(owner), .rank = 1},
	{"CPUS", "cpus.all", 4, COLUMN_NUMBER, AT(cpus), .cell = cpus_cell, .total = true},
	{"LEFT", "cpus.left", 5, COLUMN_NUMBER, AT(left), .rank = 3, .total = true},
	{"AGE", "age", 3, COLUMN_AGE, AT(age_s), .rank = 2},
	{"SIZE", "sizes[]", 6, COLUMN_NUMBER, AT(size), .in = TABLE_WIDE},
	{NULL, "sizes[]", 7, .member = sizes_member},
	{"KIND", .value = kind_value, .in = TABLE_PAGE},
};

static const struct pod pods[] = {
	{"web-10\n", NULL, {true, 10}, {true, 3}, {true, 4}, 200},
	{"web-2", "a-long-owner", {true, 2}, {true, 5}, {false, 0}, -1},
};
static const struct pod sum = {"", "", {true, 12}, {true, 8}, {true, 4}, -1};

static void fill(struct table *t, enum table_kind kind)
{
	table_begin(t, kind, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
		table_add_row(t, &pods[i], false);
	table_add_row(t, &sum, true);
}

static void each_kind_of_table_has_its_columns(void **state)
{
	static const struct {
		enum table_kind kind;
		const char *want;
	} cases[] = {
		{TABLE_TEXT, "NAME     OWNER         CPUS  LEFT  AGE\n"
			     "web-10?  -             10    4     3m\n"
			     "web-2    a-long-owner  2     -     -\n"
			     "                       12    4     \n"},
		{TABLE_WIDE, "NAME     OWNER         CPUS     LEFT  AGE  SIZE\n"
			     "web-10?  -             10 CPUs  4     3m   3\n"
			     "web-2    a-long-owner  2 CPUs   -     -    5\n"
			     "                       12 CPUs  4          \n"},
		{TABLE_PAGE, "KIND\nlarge\n\n\n"}, /* a known empty text is no dash */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(4096);
		CLEANUP(table_release) struct table t = {0};

		fill(&t, cases[i].kind);
		table_print(&t, true, 0, &out);
		test_assert_text("table", out.text, cases[i].want);
	}
}

static void the_report_sets_cells(void **state)
{
	static const struct column own[] = {
		COLUMN("A"), COLUMN("B", .in = TABLE_WIDE), COLUMN("C"), COLUMN("D")};
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(4096);
	CLEANUP(table_release) struct table t = {0};

	(void)state;
	table_begin(&t, TABLE_TEXT, own, ARRAY_SIZE(own));
	table_set_cell(&t, "A", strdup("before the first row"));
	table_add_cells(&t);
	table_set_cell(&t, "A", strdup("1"));
	table_set_cell(&t, "B", strdup("no such column"));
	table_set_cell(&t, NULL, strdup("no column"));
	table_set_cell(&t, "D", strdup("4"));
	assert_null(table_find(&t, "B"));
	table_find(&t, "C")->omitted = true;
	table_find(&t, "D")->heading = "DDD";
	table_print(&t, true, 0, &out);
	test_assert_text("table", out.text, "A  DDD\n1  4\n");
}

static void equal_rows_are_folded(void **state)
{
	static const struct column own[] = {COLUMN("NODE"), COLUMN("REASON")};
	static const struct {
		const char *node, *reason;
		bool folds;
	} rows[] = {{"a", "full", false}, {"b", "full", true}, {"c", "cordoned", true}, {"d", "full", true},
		{"e", "full", true}, {"f", "full", false}, {"g", "cordoned", true}};
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(4096);
	CLEANUP(table_release) struct table t = {0};

	(void)state;
	table_begin(&t, TABLE_TEXT, own, ARRAY_SIZE(own));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		table_add_cells(&t);
		table_set_cell(&t, "NODE", strdup(rows[i].node));
		table_set_cell(&t, "REASON", strdup(rows[i].reason));
		if (rows[i].folds)
			table_fold_row(&t);
	}
	table_print(&t, false, 0, &out);
	test_assert_text("table", out.text, "a     full\nb +2  full\nc +1  cordoned\nf     full\n");
}

static void narrow_tables_omit_columns_by_rank(void **state)
{
	static const struct {
		size_t limit, narrow;
		const char *omitted; /* of OWNER, AGE and LEFT in this order */
		size_t width;
	} cases[] = {
		{36, 0, "100", 24}, /* one at least */
		{24, 0, "100", 24},
		{23, 0, "110", 19},
		{18, 0, "101", 18}, /* AGE returns */
		{17, 0, "111", 13},
		{5, 0, "111", 13},
		{30, 3, "000", 29}, /* OWNER has become narrower */
		{28, 3, "010", 24},
		{22, 3, "011", 18},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(table_release) struct table t = {0};
		char omitted[4];

		fill(&t, TABLE_TEXT);
		table_measure(&t, true);
		assert_int_equal(table_width(&t), 38);
		table_find(&t, "OWNER")->narrow_width = cases[i].narrow;
		table_fit(&t, cases[i].limit);
		snprintf(omitted, sizeof(omitted), "%d%d%d", table_find(&t, "OWNER")->omitted,
			table_find(&t, "AGE")->omitted, table_find(&t, "LEFT")->omitted);
		test_assert_text("omitted", omitted, cases[i].omitted);
		assert_int_equal(table_width(&t), cases[i].width);
		assert_int_equal(table_find(&t, "OWNER")->narrow, cases[i].narrow > 0);
	}
}

static void a_column_returns_if_a_wider_one_is_omitted(void **state)
{
	static const struct column own[] = {
		COLUMN("A", .rank = 1), COLUMN("WIDE COLUMN", .rank = 2), COLUMN("B")};
	CLEANUP(table_release) struct table t = {0};

	(void)state;
	table_begin(&t, TABLE_TEXT, own, ARRAY_SIZE(own));
	table_measure(&t, true);
	table_fit(&t, 10);
	assert_false(table_find(&t, "A")->omitted);
	assert_true(table_find(&t, "WIDE COLUMN")->omitted);
	table_begin(&t, TABLE_WIDE, own, ARRAY_SIZE(own));
	table_measure(&t, true);
	table_fit(&t, 10);
	assert_int_equal(table_width(&t), 17);
}

static void columns_order_rows(void **state)
{
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT(256);

	(void)state;
	column_names(columns, ARRAY_SIZE(columns), &names);
	test_assert_text("names", names.text, "name|owner|cpus|left|age|size");
	assert_null(column_find(columns, ARRAY_SIZE(columns), "kind"));
	assert_true(
		column_compare(column_find(columns, ARRAY_SIZE(columns), "name"), &pods[0], &pods[1]) < 0);
	assert_true(
		column_compare(column_find(columns, ARRAY_SIZE(columns), "owner"), &pods[0], &pods[1]) < 0);
	assert_true(
		column_compare(column_find(columns, ARRAY_SIZE(columns), "Cpus"), &pods[0], &pods[1]) < 0);
	assert_true(
		column_compare(column_find(columns, ARRAY_SIZE(columns), "left"), &pods[1], &pods[0]) > 0);
	assert_true(
		column_compare(column_find(columns, ARRAY_SIZE(columns), "size"), &pods[1], &pods[0]) < 0);
	assert_int_equal(column_compare(&columns[0], &pods[0], &pods[0]), 0);
}

static void documents_have_the_members(void **state)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(4096);
	CLEANUP(writer_release) struct writer w;

	(void)state;
	writer_init(&w, "yaml", true, &out);
	writer_members(&w, columns, ARRAY_SIZE(columns), &pods[1], false);
	writer_map(&w, "totals");
	writer_members(&w, columns, ARRAY_SIZE(columns), &sum, true);
	writer_end(&w);
	assert_int_equal(writer_finish(&w), 0);
	test_assert_text("members", out.text,
		"name: web-2\nowner: a-long-owner\nage: null\ncpus:\n  all: 2\n  left: null\nsizes: [5, 10]\n"
		"totals:\n  cpus:\n    all: 12\n    left: 4\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_of_table_has_its_columns),
		cmocka_unit_test(the_report_sets_cells),
		cmocka_unit_test(equal_rows_are_folded),
		cmocka_unit_test(narrow_tables_omit_columns_by_rank),
		cmocka_unit_test(a_column_returns_if_a_wider_one_is_omitted),
		cmocka_unit_test(columns_order_rows),
		cmocka_unit_test(documents_have_the_members),
	};

	return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
