/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The distances between NUMA nodes as a heat map, for show_text.c. */
#include "agent/report/canvas.h"
#include "agent/report/show_view.h"

/* Columns it takes when `width` are there: less, or `width`; 0 when the machine has no distances. */
size_t show_matrix_width(const struct show_view *v, size_t width);

/*
 * Draw it: the distances themselves where they fit, else one character for each, else one for each block of
 * nodes (the largest distance of the block). Returns the rows.
 */
size_t show_matrix_draw(
	struct canvas *c, size_t row, size_t col, size_t width, const struct show_view *v, bool colour);
