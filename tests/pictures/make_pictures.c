/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_pictures DIR: draw what doc/examples.md and the README show: DIR/show.txt and DIR/show.svg as `nrtd show` prints them,
 * and DIR/show-terminal.svg and DIR/list-terminal.svg, the coloured text of `nrtd show` and `kubectl numa top` as a dark terminal
 * has it.
 */
#include "cli/report/show.h"
#include "cli/report/top.h"
#include "common/cleanup.h"
#include "tests/lib/observations.h"
#include "tests/lib/test.h"
#include "tests/lib/top_rows.h"

#define PICTURE_MAX   (64u << 20)
#define PICTURE_WIDTH 100
#define CELL_WIDTH    8
#define CELL_HEIGHT   17
#define MARGIN        14

/* A colour of the 256-colour palette as xterm defines it. */
static unsigned palette(unsigned n)
{
	static const unsigned levels[] = {0, 95, 135, 175, 215, 255};

	assert_true(n >= 16 && n < 256);
	if (n >= 232)
		return (8 + (n - 232) * 10) * 0x10101;
	n -= 16;
	return levels[n / 36] << 16 | levels[n / 6 % 6] << 8 | levels[n % 6];
}

/* What a control sequence sets, "0;1;38;5;33". */
struct look {
	bool bold;
	int fore, back; /* of the palette, -1 = the terminal's own */
};

static struct look look_of(const char *sgr)
{
	struct look look = {.fore = -1, .back = -1};
	int *colour = NULL;

	for (char *end; *sgr; sgr = *end == ';' ? end + 1 : end) {
		long n = strtol(sgr, &end, 10);

		if (colour && n != 5) {
			*colour = (int)n;
			colour = NULL;
		} else if (n == 38 || n == 48) {
			colour = n == 38 ? &look.fore : &look.back;
		} else if (n == 1) {
			look.bold = true;
		}
	}
	return look;
}

static const struct canvas_cell *cell_at(const struct canvas *c, size_t row, size_t col)
{
	return &c->cells[row * c->width + col];
}

/* The background of one cell, where its style has one. */
static void add_background(struct strbuf *out, const struct canvas *c, size_t row, size_t col)
{
	struct look look = look_of(canvas_style_sgr(cell_at(c, row, col)->style));

	if (look.back >= 0)
		strbuf_addf(out, "<rect x=\"%zu\" y=\"%zu\" width=\"%d\" height=\"%d\" fill=\"#%06x\"/>\n",
			MARGIN + col * CELL_WIDTH, MARGIN + row * CELL_HEIGHT, CELL_WIDTH, CELL_HEIGHT,
			palette((unsigned)look.back));
}

/* Cells from `col` on that make one word of one look; 0 = a space. */
static size_t word_length(const struct canvas *c, size_t row, size_t col)
{
	size_t n = 0;

	while (col + n < c->width && cell_at(c, row, col + n)->glyph != 0 &&
		cell_at(c, row, col + n)->glyph != ' ' &&
		cell_at(c, row, col + n)->style == cell_at(c, row, col)->style)
		n++;
	return n;
}

static void add_word(struct strbuf *out, const struct canvas *c, size_t row, size_t col, size_t n)
{
	const struct canvas_cell *cells = cell_at(c, row, col);
	struct look look = look_of(canvas_style_sgr(cells->style));

	strbuf_addf(out, "<text x=\"%zu\" y=\"%zu\" textLength=\"%zu\"", MARGIN + col * CELL_WIDTH,
		MARGIN + row * CELL_HEIGHT + 13, n * CELL_WIDTH);
	if (look.bold)
		strbuf_addstr(out, " font-weight=\"bold\"");
	if (look.fore >= 0)
		strbuf_addf(out, " fill=\"#%06x\"", palette((unsigned)look.fore));
	strbuf_addch(out, '>');
	for (size_t i = 0; i < n; i++) {
		char ascii[2];
		const char *text = canvas_glyph_text(cells[i].glyph, true, ascii);

		if (text == ascii)
			svg_escape(out, text);
		else
			strbuf_addstr(out, text);
	}
	strbuf_addstr(out, "</text>\n");
}

static void terminal_svg(const struct canvas *c, const char *title, struct strbuf *out)
{
	size_t width = 2 * MARGIN + c->width * CELL_WIDTH, height = 2 * MARGIN + c->height * CELL_HEIGHT;

	strbuf_addf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" viewBox=\"0 0 %zu "
		"%zu\" "
		"role=\"img\" font-family=\"'DejaVu Sans Mono',Menlo,Consolas,monospace\" "
		"font-size=\"13.29\" "
		"fill=\"#d8dee9\">\n"
		"<title>%s in a terminal</title>\n"
		"<rect width=\"100%%\" height=\"100%%\" rx=\"8\" fill=\"#16191d\"/>\n",
		width, height, width, height, title);
	for (size_t row = 0; row < c->height; row++) {
		for (size_t col = 0; col < c->width; col++)
			add_background(out, c, row, col);
		for (size_t col = 0, n; col<c->width; col += n> 0 ? n : 1) {
			n = word_length(c, row, col);
			if (n > 0)
				add_word(out, c, row, col, n);
		}
	}
	strbuf_addstr(out, "</svg>\n");
}

static void write_picture(const char *dir, const char *name, struct strbuf *text)
{
	assert_int_equal(strbuf_error(text), 0);
	test_write_file(dir, name, text->text);
	strbuf_reset(text);
}

static void draw_show(const char *dir)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(show_view_release) struct show_view v;
	CLEANUP(canvas_release) struct canvas c;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(PICTURE_MAX);

	observation_of_picture(&o);
	show_view_init(&v);
	show_view(&o.node, &o.notes, &v);
	assert_int_equal(show_text(&v, 80, false, true, &out), 0);
	write_picture(dir, "show.txt", &out);
	assert_int_equal(show_svg(&v, SHOW_SVG_WIDTH, &out), 0);
	write_picture(dir, "show.svg", &out);
	canvas_init(&c, PICTURE_WIDTH);
	show_text_draw(&v, true, &c);
	terminal_svg(&c, "nrtd show", &out);
	write_picture(dir, "show-terminal.svg", &out);
}

static void draw_list(const char *dir)
{
	static const struct top_look look = {.headers = true, .bars = true};
	CLEANUP(canvas_release) struct canvas c;
	CLEANUP(top_totals_release) struct top_totals totals = {0};
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(PICTURE_MAX);
	struct top_row rows[TEST_TOP_PICTURE];

	test_top_picture(rows);
	top_totals(rows, TEST_TOP_PICTURE, &totals);
	top_draw(rows, TEST_TOP_PICTURE, &totals, &look, &c);
	terminal_svg(&c, "kubectl numa top", &out);
	write_picture(dir, "list-terminal.svg", &out);
	for (size_t i = 0; i < TEST_TOP_PICTURE; i++)
		top_row_release(&rows[i]);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: make_pictures DIR\n");
		return 2;
	}
	draw_show(argv[1]);
	draw_list(argv[1]);
	return 0;
}
