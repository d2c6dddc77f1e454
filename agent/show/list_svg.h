/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The rows of `nrtd list` as a picture: a line for each node, on it a cell for each NUMA node, coloured by free share.
 */
#include "agent/cluster/list_row.h"
#include "common/strbuf.h"

/*
 * One SVG document of `width` pixels (SHOW_SVG_MIN_WIDTH at least), complete in itself, light or dark as its reader
 * prefers. Up to LIST_SVG_DETAILED nodes have numbers in their cells and what else the table has; more have
 * smaller cells, several nodes beside each other; what is left out a pointer over a cell shows. 0, -ENOMEM, or
 * -EFBIG when `out` is too small.
 */
#define LIST_SVG_DETAILED 40
int list_svg(const struct list_row *rows, size_t n, const struct list_totals *totals, size_t width,
	struct strbuf *out);
