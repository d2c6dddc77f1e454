/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Draws on terminals.
 *
 * Finds out what the terminal can do, draws on a grid of characters with styles, and prints the grid once or as a
 * frame over the previous frame. Drawing on the grid does not depend on the terminal: each glyph has a UTF-8 and
 * an ASCII form, and styles are printed or omitted.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/strbuf.h"

#define TERMINAL_WIDTH     80 /* if the width is not known */
#define TERMINAL_MIN_WIDTH 40
#define TERMINAL_MAX_WIDTH 1000

/* ---- the terminal */

struct terminal {
	bool is_terminal;
	size_t width;  /* in columns */
	size_t height; /* in lines; 0 = not a terminal, or unknown */
	bool colour;
	bool utf8;
};

/*
 * Describes the terminal behind a file descriptor. Width: `width` (checked by the options) unless NULL, else
 * COLUMNS, else the terminal's width, else TERMINAL_WIDTH. Colour: `colour` is "always", "never" or "auto":
 * if terminal_can_redraw(), unless NO_COLOR is set and not empty (no-color.org). UTF-8: the encoding of the
 * locale in LC_ALL, LC_CTYPE or LANG. If the system does not have this locale, its name decides.
 */
void terminal_detect(int fd, const char *colour, const char *width, struct terminal *ret);

/* The width to which tables on this file are limited: that of terminal_detect(), or 0 if the file is no terminal. */
size_t terminal_table_width(int fd);

/*
 * Whether a frame can be drawn over the previous one: the file is a terminal, and TERM is set to a terminal
 * that can move its cursor.
 */
bool terminal_can_redraw(const struct terminal *t);

/* Control sequences: switch to the alternate screen, and restore the user's screen. */
extern const char terminal_enter[];
extern const char terminal_leave[];

/*
 * Appends a text as a frame that replaces the previous frame line by line, without flicker. If the text has
 * more lines than `height`, the last line is the number of lines that are not shown. 0 or -EFBIG.
 */
int terminal_frame(const char *text, size_t height, struct strbuf *out);

/* ---- the grid */

/* Printable ASCII characters stand for themselves. The other glyphs: */
enum canvas_glyph {
	GLYPH_FIRST = 128,
	GLYPH_HORIZONTAL = GLYPH_FIRST,
	GLYPH_VERTICAL,
	GLYPH_TOP_LEFT,
	GLYPH_TOP_RIGHT,
	GLYPH_BOTTOM_LEFT,
	GLYPH_BOTTOM_RIGHT,
	GLYPH_ELLIPSIS,
	GLYPH_FREE,     /* a shared CPU, the free part of a bar */
	GLYPH_RESERVED, /* a reserved CPU, the reserved part of a bar */
	GLYPH_HELD,     /* the held part of a bar */
	GLYPH_OFFLINE,
	GLYPH_UNKNOWN, /* a CPU whose use is unknown */
	GLYPH_SHADE_0, /* five levels, lowest first */
	GLYPH_SHADE_1,
	GLYPH_SHADE_2,
	GLYPH_SHADE_3,
	GLYPH_SHADE_4,
	GLYPH_LEVEL_0, /* nine heights of a bar of one character, lowest first */
	GLYPH_LEVEL_8 = GLYPH_LEVEL_0 + 8,
	GLYPH_END
};

/*
 * Colours are from the 256-colour palette, which themes do not change. Each has a contrast of at least 3 to 1
 * both with black and with white, or sets its background too. Neighbouring colours differ for people with
 * red-green colour blindness.
 */
enum canvas_style {
	STYLE_PLAIN,
	STYLE_STRONG,
	STYLE_FAINT,
	STYLE_FREE,
	STYLE_RESERVED,
	STYLE_HELD,
	STYLE_OFFLINE,
	STYLE_NOTE,
	STYLE_HOLDER_0, /* six colours in turn */
	STYLE_HOLDER_1,
	STYLE_HOLDER_2,
	STYLE_HOLDER_3,
	STYLE_HOLDER_4,
	STYLE_HOLDER_5,
	STYLE_HEAT_0, /* five levels as backgrounds */
	STYLE_HEAT_1,
	STYLE_HEAT_2,
	STYLE_HEAT_3,
	STYLE_HEAT_4,
	STYLE_SHADE_0, /* the same levels as foregrounds */
	STYLE_SHADE_1,
	STYLE_SHADE_2,
	STYLE_SHADE_3,
	STYLE_SHADE_4,
	STYLE_COUNT
};

#define CANVAS_HOLDER_STYLES 6

struct canvas_cell {
	uint8_t glyph; /* 0 = not drawn: a space */
	uint8_t style;
};

struct canvas {
	size_t width;  /* fixed; drawing beyond the width has no effect */
	size_t height; /* rows drawn so far */
	struct canvas_cell *cells;
	size_t cells_size;
};

void canvas_init(struct canvas *c, size_t width);
void canvas_release(struct canvas *c);

/* Draws a glyph once, or `width` times. */
void canvas_put(struct canvas *c, size_t row, size_t col, unsigned glyph, enum canvas_style style);
void canvas_fill(
	struct canvas *c, size_t row, size_t col, size_t width, unsigned glyph, enum canvas_style style);

/*
 * Draws a text on one line. If the text is wider than `width`, it is cut and ends with an ellipsis. Bytes
 * other than printable ASCII become '?', one per UTF-8 sequence, so that no text can send control sequences
 * to the terminal. Returns the columns used.
 */
size_t canvas_text(
	struct canvas *c, size_t row, size_t col, size_t width, enum canvas_style style, const char *text);

/* As canvas_text(), but the text ends at column col + width. */
void canvas_text_right(
	struct canvas *c, size_t row, size_t col, size_t width, enum canvas_style style, const char *text);

/*
 * Draws a text on as many lines as necessary, broken after spaces and commas if possible. Returns the number
 * of lines.
 */
size_t canvas_wrap(
	struct canvas *c, size_t row, size_t col, size_t width, enum canvas_style style, const char *text);

/* The UTF-8 or ASCII form of a glyph. Returns `buffer` or a constant. */
const char *canvas_glyph_text(unsigned glyph, bool utf8, char buffer[2]);

/* The parameters of the control sequence that sets a style (ECMA-48 SGR): "0;1;38;5;33". */
const char *canvas_style_sgr(enum canvas_style style);

/* Appends all rows as lines without trailing spaces. 0 or -EFBIG. */
int canvas_print(const struct canvas *c, bool colour, bool utf8, struct strbuf *out);
