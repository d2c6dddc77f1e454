/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <math.h>

#include "cli/report/terminal.h"
#include "common/cleanup.h"

/* Relative luminance of a colour of the 256-colour palette (WCAG 2.1), from 0 to 1. */
static double luminance(int colour)
{
	static const int levels[] = {0, 95, 135, 175, 215, 255};
	static const double weights[] = {0.2126, 0.7152, 0.0722};
	double sum = 0;

	assert_true(colour >= 16 && colour < 256);
	for (int i = 0; i < 3; i++) {
		int n = colour - 16;
		int value = colour >= 232 ? 8 + (colour - 232) * 10
					  : levels[(i == 0          ? n / 36
							   : i == 1 ? n / 6
								    : n) %
						    6];
		double c = value / 255.0;

		sum += weights[i] * (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
	}
	return sum;
}

static double contrast(double a, double b)
{
	return a > b ? (a + 0.05) / (b + 0.05) : (b + 0.05) / (a + 0.05);
}

/* The colour behind "38;5;" or "48;5;", or -1. */
static int colour_of(const char *sgr, const char *which)
{
	const char *at = strstr(sgr, which);

	return at ? (int)strtol(at + strlen(which), NULL, 10) : -1;
}

static void colours_are_readable_on_dark_and_light(void **state)
{
	(void)state;
	for (enum canvas_style style = 0; style < STYLE_COUNT; style++) {
		const char *sgr = canvas_style_sgr(style);
		int fore = colour_of(sgr, "38;5;"), back = colour_of(sgr, "48;5;");
		bool good = true;

		assert_int_equal(*sgr, '0'); /* each style starts from none */
		if (back >= 0)
			good = contrast(luminance(fore), luminance(back)) >= 4.5;
		else if (fore >= 0)
			good = contrast(luminance(fore), 0) >= 3 && contrast(luminance(fore), 1) >= 3;
		if (!good)
			fail_msg("style %d: %s", (int)style, sgr);
	}
}

static void every_glyph_has_two_forms_of_one_column(void **state)
{
	(void)state;
	for (unsigned glyph = GLYPH_FIRST; glyph < GLYPH_END; glyph++) {
		char buffer[2];
		const char *utf8 = canvas_glyph_text(glyph, true, buffer), *ascii;

		assert_non_null(utf8);
		assert_true((unsigned char)*utf8 >= 0xc2);
		assert_true(strlen(utf8) == 2 || strlen(utf8) == 3);
		ascii = canvas_glyph_text(glyph, false, buffer);
		assert_int_equal(strlen(ascii), 1);
		assert_true(*ascii > ' ' && *ascii <= '~');
	}
}

/* What stands for different things beside each other looks different, in both forms. */
static void glyphs_of_one_kind_differ(void **state)
{
	static const unsigned kinds[][6] = {
		{GLYPH_FREE, GLYPH_RESERVED, GLYPH_HELD, GLYPH_OFFLINE, GLYPH_UNKNOWN, '+'},
		{GLYPH_SHADE_0, GLYPH_SHADE_1, GLYPH_SHADE_2, GLYPH_SHADE_3, GLYPH_SHADE_4, '?'},
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		for (size_t i = 0; i < ARRAY_SIZE(kinds[0]); i++)
			for (size_t j = 0; j < i; j++)
				for (int utf8 = 0; utf8 < 2; utf8++) {
					char a[2], b[2];

					assert_string_not_equal(canvas_glyph_text(kinds[k][i], utf8, a),
						canvas_glyph_text(kinds[k][j], utf8, b));
				}
}

static void text_is_cut_wrapped_and_aligned(void **state)
{
	CLEANUP(canvas_release) struct canvas c;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(4096);

	(void)state;
	canvas_init(&c, 10);
	assert_int_equal(canvas_text(&c, 0, 0, 10, STYLE_PLAIN, "abcdefghijkl"), 10);
	assert_int_equal(canvas_text(&c, 1, 2, 4, STYLE_STRONG, "ab"), 2);
	canvas_text_right(&c, 1, 5, 5, STYLE_PLAIN, "yz");
	assert_int_equal(canvas_wrap(&c, 2, 1, 5, STYLE_PLAIN, "one two"), 2);
	canvas_text(&c, 5, 8, 9, STYLE_PLAIN, "beyond"); /* the edge cuts without an ellipsis */
	assert_int_equal(canvas_print(&c, true, false, &out), 0);
	test_assert_text(
		"canvas", out.text, "abcdefghi~\n  \033[0;1mab    \033[0myz\n one\n two\n\n        be\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(colours_are_readable_on_dark_and_light),
		cmocka_unit_test(every_glyph_has_two_forms_of_one_column),
		cmocka_unit_test(glyphs_of_one_kind_differ),
		cmocka_unit_test(text_is_cut_wrapped_and_aligned),
	};

	return cmocka_run_group_tests_name("canvas", tests, NULL, NULL);
}
