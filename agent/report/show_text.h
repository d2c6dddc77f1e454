/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The view of `nrtd show` for a terminal.
 */
#include "agent/report/canvas.h"
#include "agent/report/show_view.h"

#define SHOW_TEXT_MIN_WIDTH 40
#define SHOW_TEXT_MAX_WIDTH 1000

/* Draw the view on an empty canvas, using its width (SHOW_TEXT_MIN_WIDTH at least). */
int show_text_draw(const struct show_view *v, bool colour, struct canvas *c);

/*
 * The view as lines of at most `width` columns (SHOW_TEXT_MIN_WIDTH at least). Everything that colour shows,
 * characters show too. 0 or -EFBIG when `out` is too small.
 */
int show_text(const struct show_view *v, size_t width, bool colour, bool utf8, struct strbuf *out);
