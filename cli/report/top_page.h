/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Writes the nodes of `kubectl numa top` as an HTML page: a table, the pods that are not aligned, and a picture per node.
 */
#include "cli/report/top.h"

#define TOP_PICTURES_MAX (64u << 20) /* bytes of all pictures of a page; the next pictures are omitted */

/*
 * Fills in the spans, and the picture if `picture`, else "". `state` is that of cluster_node_read_picture(), its allocations
 * with the names of pods where the names are known.
 */
void top_details_fill(
	struct top_details *d, const struct node_state *state, const struct notes *notes, bool picture);

struct top_page_about {
	const char *made;    /* "2026-11-26 12:33:25 UTC" */
	const char *cluster; /* its name; NULL = unknown */
	const char *file;    /* from which the objects are; NULL = the API server */
};

/* Appends the page. Each row has details, and the rows of a pool are adjacent. 0 or -EFBIG. */
int top_page(const struct top_row *rows, size_t n, const struct top_totals *totals,
	const struct top_page_about *about, struct strbuf *out);
