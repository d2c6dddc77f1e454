/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A grid of characters with styles, for terminals. What is drawn does not depend on what the terminal can do:
 * each glyph has a UTF-8 and an ASCII form, each style may be printed or not. Depends on common/ only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/strbuf.h"

/* Printable ASCII characters are themselves; these are the others. */
enum canvas_glyph {
	GLYPH_FIRST = 128,
	GLYPH_HORIZONTAL = GLYPH_FIRST,
	GLYPH_VERTICAL,
	GLYPH_TOP_LEFT,
	GLYPH_TOP_RIGHT,
	GLYPH_BOTTOM_LEFT,
	GLYPH_BOTTOM_RIGHT,
	GLYPH_ELLIPSIS,
	GLYPH_FREE,     /* a shared CPU, what is free in a bar */
	GLYPH_RESERVED, /* a reserved CPU, what is reserved in a bar */
	GLYPH_HELD,     /* what is held in a bar */
	GLYPH_OFFLINE,
	GLYPH_UNKNOWN, /* a CPU whose use is not known */
	GLYPH_SHADE_0, /* five levels, least first */
	GLYPH_SHADE_1,
	GLYPH_SHADE_2,
	GLYPH_SHADE_3,
	GLYPH_SHADE_4,
	GLYPH_LEVEL_0, /* nine heights of a bar of one character, least first */
	GLYPH_LEVEL_8 = GLYPH_LEVEL_0 + 8,
	GLYPH_END
};

/*
 * Colours are of the 256-colour palette, which no theme changes, and of a lightness that has a contrast of 3
 * to 1 and more with black and with white alike; the exceptions set their background too. Neighbouring ones
 * differ for people who do not see red and green as different.
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
	STYLE_HOLDER_0, /* six in turn */
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
	uint8_t glyph; /* 0 = never drawn: a space */
	uint8_t style;
};

struct canvas {
	size_t width;  /* given at the start; what is drawn beyond it is not there */
	size_t height; /* rows drawn so far */
	struct canvas_cell *cells;
	size_t cells_size;
	int error; /* 0 or -EFBIG: sticky, something was not drawn */
};

void canvas_init(struct canvas *c, size_t width);
void canvas_release(struct canvas *c);

/* One glyph, or `width` times the same. */
void canvas_put(struct canvas *c, size_t row, size_t col, unsigned glyph, enum canvas_style style);
void canvas_fill(
	struct canvas *c, size_t row, size_t col, size_t width, unsigned glyph, enum canvas_style style);

/*
 * A text on one line; what does not fit in `width` is cut with an ellipsis. Returns the columns used. Bytes
 * that are not printable ASCII become '?', one for a UTF-8 sequence, so that no text can steer a terminal.
 */
size_t canvas_text(
	struct canvas *c, size_t row, size_t col, size_t width, enum canvas_style style, const char *text);

/* The same, ending at column col + width. */
void canvas_text_right(
	struct canvas *c, size_t row, size_t col, size_t width, enum canvas_style style, const char *text);

/* A text over as many lines as it takes, broken behind spaces and commas where it can. Returns the lines. */
size_t canvas_wrap(
	struct canvas *c, size_t row, size_t col, size_t width, enum canvas_style style, const char *text);

/* The UTF-8 or the ASCII form of a glyph. */
const char *canvas_glyph_text(unsigned glyph, bool utf8, char buffer[2]);

/* The parameters of the control sequence that sets a style (ECMA-48 SGR): "0;1;38;5;33". */
const char *canvas_style_sgr(enum canvas_style style);

/* All rows, each closed by a newline, without trailing spaces; nothing of `out` is lost on failure. 0 or -EFBIG. */
int canvas_print(const struct canvas *c, bool colour, bool utf8, struct strbuf *out);
