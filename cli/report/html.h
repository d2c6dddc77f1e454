/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Writes HTML pages, each one file without external parts, with a script that filters and sorts.
 *
 * The Content-Security-Policy of a page allows only the page's own style sheet and script, by their hashes. The script filters
 * the elements that html_item() begins, hides an element with the attribute data-group if it has no such element to show, and sorts tables of the
 * class "p-sorted" by their headings, within each <tbody>: by the cells' attribute data-v, a number or "" = unknown, else by their text.
 * Without the script, all elements are shown and the filter is not.
 */
#include "cli/report/writer.h"

/* Begins a page with this title. */
void html_begin(struct strbuf *out, const char *title);
void html_end(struct strbuf *out);

/*
 * A filter by name, by one of `pools` ("" = no pool; without pools there is no choice), and by the mark. The table with the id "p-nodes" has
 * a row per node. The page's address may contain the filter's first values: "?name=worker&pool=hpc&mark".
 */
void html_filter(struct strbuf *out, const struct strv *pools, const char *mark);

/* Begins an element that the filter shows or hides; the caller ends the element. `marked`: the filter's mark applies. */
void html_item(struct strbuf *out, const char *element, const char *id, const char *name, const char *pool,
	bool marked);

/* An element, "td" or with attributes "th scope=\"col\"", with this text. `class` is NULL or classes of the style sheet without the first "p-". */
void html_text(struct strbuf *out, const char *element, const char *class, const char *text);

/* A part that scrolls by itself if it is wider than the page. `label` names the part for screen readers. */
void html_wide_begin(struct strbuf *out, const char *label);
void html_wide_end(struct strbuf *out);

/* The pictures' <defs>, once per page. */
void html_pictures(struct strbuf *out);
