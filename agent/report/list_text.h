/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The rows of `kubectl numa top` as a table for people: for a terminal, or plain for a pipe.
 */
#include "agent/report/list_column.h"
#include "agent/report/terminal.h"

struct list_look {
	bool wide;    /* all columns */
	bool headers; /* with titles and totals */
	bool bars;    /* free CPUs of each NUMA node as a bar too, not only as a number */
	size_t width; /* columns to keep to as far as can be, 0 = as many as it takes */
};

/*
 * Draw the table on a canvas, which gets as wide as the table is. Columns are as wide as what is in them. "~" is
 * before numbers that are estimated, "-" is what is not known.
 */
int list_text_draw(const struct list_row *rows, size_t n, const struct list_totals *totals,
	const struct list_look *look, struct canvas *c);
