/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report/canvas.h"

#include <assert.h>
#include <errno.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"

static const struct {
	const char *utf8;
	char ascii;
} glyphs[GLYPH_END - GLYPH_FIRST] = {
	[GLYPH_HORIZONTAL - GLYPH_FIRST] = {"─", '-'},
	[GLYPH_VERTICAL - GLYPH_FIRST] = {"│", '|'},
	[GLYPH_TOP_LEFT - GLYPH_FIRST] = {"┌", '+'},
	[GLYPH_TOP_RIGHT - GLYPH_FIRST] = {"┐", '+'},
	[GLYPH_BOTTOM_LEFT - GLYPH_FIRST] = {"└", '+'},
	[GLYPH_BOTTOM_RIGHT - GLYPH_FIRST] = {"┘", '+'},
	[GLYPH_ELLIPSIS - GLYPH_FIRST] = {"…", '~'},
	[GLYPH_FREE - GLYPH_FIRST] = {"·", '.'},
	[GLYPH_RESERVED - GLYPH_FIRST] = {"▒", '#'},
	[GLYPH_HELD - GLYPH_FIRST] = {"█", '='},
	[GLYPH_OFFLINE - GLYPH_FIRST] = {"×", '-'},
	[GLYPH_UNKNOWN - GLYPH_FIRST] = {"□", '?'},
	[GLYPH_SHADE_0 - GLYPH_FIRST] = {"·", '.'},
	[GLYPH_SHADE_1 - GLYPH_FIRST] = {"░", ':'},
	[GLYPH_SHADE_2 - GLYPH_FIRST] = {"▒", '+'},
	[GLYPH_SHADE_3 - GLYPH_FIRST] = {"▓", '*'},
	[GLYPH_SHADE_4 - GLYPH_FIRST] = {"█", '#'},
	[GLYPH_LEVEL_0 - GLYPH_FIRST] = {"·", '.'},
	[GLYPH_LEVEL_0 + 1 - GLYPH_FIRST] = {"▁", '_'},
	[GLYPH_LEVEL_0 + 2 - GLYPH_FIRST] = {"▂", '_'},
	[GLYPH_LEVEL_0 + 3 - GLYPH_FIRST] = {"▃", '-'},
	[GLYPH_LEVEL_0 + 4 - GLYPH_FIRST] = {"▄", '-'},
	[GLYPH_LEVEL_0 + 5 - GLYPH_FIRST] = {"▅", '='},
	[GLYPH_LEVEL_0 + 6 - GLYPH_FIRST] = {"▆", '='},
	[GLYPH_LEVEL_0 + 7 - GLYPH_FIRST] = {"▇", '#'},
	[GLYPH_LEVEL_8 - GLYPH_FIRST] = {"█", '#'},
};

static const char *const styles[STYLE_COUNT] = {
	[STYLE_PLAIN] = "0",
	[STYLE_STRONG] = "0;1",
	[STYLE_FAINT] = "0;38;5;243",
	[STYLE_FREE] = "0;1;38;5;29",
	[STYLE_RESERVED] = "0;38;5;243",
	[STYLE_HELD] = "0;38;5;67",
	[STYLE_OFFLINE] = "0;38;5;160",
	[STYLE_NOTE] = "0;38;5;166",
	[STYLE_HOLDER_0] = "0;1;38;5;33",
	[STYLE_HOLDER_1] = "0;1;38;5;166",
	[STYLE_HOLDER_2] = "0;1;38;5;133",
	[STYLE_HOLDER_3] = "0;1;38;5;136",
	[STYLE_HOLDER_4] = "0;1;38;5;31",
	[STYLE_HOLDER_5] = "0;1;38;5;161",
	[STYLE_HEAT_0] = "0;38;5;16;48;5;195",
	[STYLE_HEAT_1] = "0;38;5;16;48;5;153",
	[STYLE_HEAT_2] = "0;38;5;16;48;5;75",
	[STYLE_HEAT_3] = "0;38;5;16;48;5;32",
	[STYLE_HEAT_4] = "0;38;5;231;48;5;25",
	[STYLE_SHADE_0] = "0;38;5;243",
	[STYLE_SHADE_1] = "0;38;5;31",
	[STYLE_SHADE_2] = "0;38;5;67",
	[STYLE_SHADE_3] = "0;38;5;61",
	[STYLE_SHADE_4] = "0;38;5;25",
};

void canvas_init(struct canvas *c, size_t width)
{
	*c = (struct canvas){.width = width};
}

void canvas_release(struct canvas *c)
{
	free(c->cells);
	canvas_init(c, c->width);
}

void canvas_put(struct canvas *c, size_t row, size_t col, unsigned glyph, enum canvas_style style)
{
	assert(glyph < GLYPH_END && style < STYLE_COUNT);
	if (col >= c->width)
		return;
	if (row >= c->height) {
		vec_grow(&c->cells, &c->cells_size, (row + 1) * c->width, sizeof(*c->cells));
		c->height = row + 1;
	}
	c->cells[row * c->width + col] =
		(struct canvas_cell){.glyph = (uint8_t)glyph, .style = (uint8_t)style};
}

void canvas_fill(
	struct canvas *c, size_t row, size_t col, size_t width, unsigned glyph, enum canvas_style style)
{
	for (size_t i = 0; i < width; i++)
		canvas_put(c, row, col + i, glyph, style);
}

/* `len` bytes, one column each except the rest of UTF-8 sequences. Returns the columns. */
static size_t put_bytes(struct canvas *c, size_t row, size_t col, enum canvas_style style, const char *text,
	size_t len, size_t width)
{
	size_t used = 0;

	for (size_t i = 0; i < len && used < width; i++) {
		if (text_is_continuation(text[i]))
			continue;
		canvas_put(c, row, col + used++, (unsigned char)text_printable(text[i]), style);
	}
	return used;
}

size_t canvas_text(
	struct canvas *c, size_t row, size_t col, size_t width, enum canvas_style style, const char *text)
{
	size_t used;

	if (width == 0)
		return 0;
	used = put_bytes(c, row, col, style, text, strlen(text), width);
	if (text_width(text) > width)
		canvas_put(c, row, col + width - 1, GLYPH_ELLIPSIS, style);
	return used;
}

void canvas_text_right(
	struct canvas *c, size_t row, size_t col, size_t width, enum canvas_style style, const char *text)
{
	size_t used = text_width(text);
	size_t left = used < width ? width - used : 0;

	canvas_text(c, row, col + left, width - left, style, text);
}

size_t canvas_wrap(
	struct canvas *c, size_t row, size_t col, size_t width, enum canvas_style style, const char *text)
{
	size_t lines = 0;

	if (width == 0)
		return 0;
	do {
		size_t len = text_line_length(text, width);

		put_bytes(c, row + lines++, col, style, text, len, width);
		text += len;
		text += strspn(text, " ");
	} while (*text);
	return lines;
}

const char *canvas_glyph_text(unsigned glyph, bool utf8, char buffer[2])
{
	buffer[0] = (char)glyph;
	buffer[1] = '\0';
	if (glyph < GLYPH_FIRST)
		return buffer;
	if (utf8)
		return glyphs[glyph - GLYPH_FIRST].utf8;
	buffer[0] = glyphs[glyph - GLYPH_FIRST].ascii;
	return buffer;
}

const char *canvas_style_sgr(enum canvas_style style)
{
	return styles[style];
}

static bool is_blank(const struct canvas_cell *cell)
{
	bool background = cell->style >= STYLE_HEAT_0 && cell->style <= STYLE_HEAT_4;

	return cell->glyph == 0 || (cell->glyph == ' ' && !background);
}

int canvas_print(const struct canvas *c, bool colour, bool utf8, struct strbuf *out)
{
	for (size_t row = 0; row < c->height; row++) {
		const struct canvas_cell *cells = &c->cells[row * c->width];
		size_t end = c->width;
		unsigned style = STYLE_PLAIN;

		while (end > 0 && is_blank(&cells[end - 1]))
			end--;
		for (size_t i = 0; i < end; i++) {
			/* The style of a blank does not show: keep the one before. */
			unsigned want = is_blank(&cells[i]) && style < STYLE_HEAT_0 ? style : cells[i].style;
			char buffer[2];

			if (colour && want != style)
				strbuf_addf(out, "\033[%sm", styles[want]);
			style = want;
			strbuf_addstr(
				out, cells[i].glyph ? canvas_glyph_text(cells[i].glyph, utf8, buffer) : " ");
		}
		if (colour && style != STYLE_PLAIN)
			strbuf_addstr(out, "\033[0m");
		strbuf_addch(out, '\n');
	}
	return c->error < 0 ? c->error : strbuf_error(out);
}
