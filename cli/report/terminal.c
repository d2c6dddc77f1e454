/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/terminal.h"

#include <assert.h>
#include <langinfo.h>
#include <locale.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

/* Draws `len` bytes in at most `width` columns, one column for each UTF-8 sequence. Returns the columns. */
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
			/* A blank needs no control sequence: the style before it does not show, unless that style has a background. */
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
	return strbuf_error(out);
}

/* The alternate screen; no cursor; lines are cut, not wrapped. */
const char terminal_enter[] = "\033[?1049h\033[?25l\033[?7l";
const char terminal_leave[] = "\033[?7h\033[?25h\033[?1049l";

/* The first of the three variables that is set and not empty, in the order of setlocale(3). */
static const char *locale_name(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return value;
	}
	return "";
}

static bool names_utf8(const char *text)
{
	return strcasestr(text, "utf-8") || strcasestr(text, "utf8");
}

/* Whether the user's locale has UTF-8. The process itself keeps the locale "C". */
static bool is_utf8(void)
{
	bool utf8 = names_utf8(setlocale(LC_CTYPE, "") ? nl_langinfo(CODESET) : locale_name());

	setlocale(LC_CTYPE, "C");
	return utf8;
}

/* A number of columns that can be drawn, or 0. */
static size_t read_columns(const char *text)
{
	char *end;
	unsigned long n = text ? strtoul(text, &end, 10) : 0;

	return n > 0 && *end == '\0' && n <= TERMINAL_MAX_WIDTH ? n : 0;
}

void terminal_detect(int fd, const char *colour, const char *width, struct terminal *ret)
{
	const char *no_color = getenv("NO_COLOR");
	struct winsize size = {0};
	struct terminal t = {.is_terminal = isatty(fd) == 1, .utf8 = is_utf8()};

	if (t.is_terminal && ioctl(fd, TIOCGWINSZ, &size) == 0)
		t.height = size.ws_row;
	t.width = read_columns(width ? width : getenv("COLUMNS"));
	if (t.width == 0)
		t.width = size.ws_col <= TERMINAL_MAX_WIDTH ? size.ws_col : TERMINAL_MAX_WIDTH;
	if (t.width == 0)
		t.width = TERMINAL_WIDTH;
	if (!strcmp(colour, "auto"))
		t.colour = terminal_can_redraw(&t) && !(no_color && *no_color);
	else
		t.colour = !strcmp(colour, "always");
	*ret = t;
}

size_t terminal_table_width(int fd)
{
	struct terminal t;

	terminal_detect(fd, "never", NULL, &t);
	return t.is_terminal ? t.width : 0;
}

bool terminal_can_redraw(const struct terminal *t)
{
	const char *term = getenv("TERM");

	return t->is_terminal && term && *term && strcmp(term, "dumb") != 0;
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

int terminal_frame(const char *text, size_t height, struct strbuf *out)
{
	size_t lines = count_lines(text), shown = lines;

	if (height > 0 && lines > height)
		shown = height - 1;
	/* Synchronized update (mode 2026) where the terminal knows it; home; then line over line. */
	strbuf_addstr(out, "\033[?2026h\033[H");
	for (size_t i = 0; i < shown; i++) {
		size_t len = strcspn(text, "\n");

		/* Erases the line before the text: behind a text of full width the cursor stays on the last
		 * character. */
		strbuf_addstr(out, i > 0 ? "\r\n\033[K" : "\033[K");
		strbuf_add(out, text, len);
		text += len + 1;
	}
	if (shown < lines)
		strbuf_addf(out, "\r\n\033[K%zu more lines", lines - shown);
	else if (height == 0 || lines < height)
		strbuf_addstr(out, "\r\n\033[J");
	strbuf_addstr(out, "\033[?2026l");
	return strbuf_error(out);
}
