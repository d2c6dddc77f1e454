/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Writes HTML pages, one file each without external parts, whose only script filters the page.
 *
 * The Content-Security-Policy of a page allows only the page's own style sheet and script, by their hashes. The script filters
 * the elements that html_item() begins. Without the script, all elements are shown and the filter is not.
 */
#include "cli/report/writer.h"

/* Begins a page with this title. */
void html_begin(struct strbuf *out, const char *title);
void html_end(struct strbuf *out);

/*
 * A filter by name, by one of the pools, and by the mark. `pools` has the pool of each node, "" without one, and is
 * then sorted, each pool once; no choice of a pool if no node has one. The page's address may contain the filter's first values:
 * "?name=worker&pool=hpc&mark".
 */
void html_filter(struct strbuf *out, struct strv *pools, const char *mark);

/* Begins an element that the filter shows or hides; the caller ends the element. `marked`: the filter's mark applies. */
void html_item(struct strbuf *out, const char *element, const char *id, const char *name, const char *pool,
	bool marked);

/* An element with this text. `class` is NULL or one of the classes of the style sheet: "note", "number". */
void html_text(struct strbuf *out, const char *element, const char *class, const char *text);

/* The pictures' <defs>, once per page. */
void html_pictures(struct strbuf *out);
