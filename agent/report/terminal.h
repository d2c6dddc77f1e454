/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the terminal can do, and drawing on it again and again.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/strbuf.h"

#define TERMINAL_WIDTH 80 /* where no other is known */

struct terminal {
	bool is_terminal;
	size_t width;
	size_t height; /* 0 = not a terminal, or unknown */
	bool colour;
	bool utf8;
};

/*
 * The terminal behind a file descriptor. Width: `width` where not NULL (checked by the options), else
 * COLUMNS, else what the terminal says, else TERMINAL_WIDTH. Colour: `colour` is "always", "never", or
 * "auto": on a terminal that is not TERM=dumb, unless NO_COLOR is set and not empty (no-color.org). UTF-8: as
 * the locale of LC_ALL, LC_CTYPE or LANG has it; where this system does not have that locale, as its name says.
 */
void terminal_detect(int fd, const char *colour, const char *width, struct terminal *ret);

/* The screen can be drawn over: a terminal, and TERM names one that can move its cursor. */
bool terminal_can_redraw(const struct terminal *t);

/* Control sequences: begin to draw on a screen of our own, and give the user's back as it was. */
extern const char terminal_enter[];
extern const char terminal_leave[];

/*
 * A text as one frame over what is on the screen, line over line, so that nothing flickers. Of more lines
 * than `height` the last one that fits says how many are not shown. 0 or -EFBIG.
 */
int terminal_frame(const char *text, size_t height, struct strbuf *out);
