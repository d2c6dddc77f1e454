/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The parts of show_svg.c's picture that are below the machine: the legend, the pods, the distances.
 * Each is drawn from (x, y) down and returns the y below it.
 */
#include "agent/report/show_view.h"
#include "agent/report/svg.h"

#define SVG_LINE       18 /* pixels from one line of text to the next */
#define SVG_CHAR_WIDTH 7  /* of the fixed-width font, rounded up */

/* "h0" to "h5": the class of a pod's colour. */
const char *svg_holder_class(int holder);

/* A class for a CPU of this state; exclusive ones have their pod's instead. */
const char *svg_state_class(enum show_state state);

/* A square of `size` for one CPU or device; `key` is the letter on it, 0 = none. */
void svg_cell(
	struct strbuf *out, size_t x, size_t y, size_t size, const char *class, char key, const char *title);

/* Text in lines of at most `width` pixels. */
size_t svg_paragraph(
	struct strbuf *out, size_t x, size_t y, size_t width, const char *class, const char *text);

size_t svg_legend(struct strbuf *out, size_t x, size_t y, size_t width, const struct show_view *v);
size_t svg_holders(struct strbuf *out, size_t x, size_t y, size_t width, const struct show_view *v);

/* Pixels that the distances take when `width` are there; 0 when the machine has none. */
size_t svg_matrix_width(const struct show_view *v, size_t width);
size_t svg_matrix(struct strbuf *out, size_t x, size_t y, size_t width, const struct show_view *v);
