/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Writing SVG elements. Looks are classes; the document's own style sheet gives them. Depends on common/
 * only.
 */
#include "common/strbuf.h"

/* A place in the picture, in pixels. */
struct svg_box {
	size_t x, y, width, height;
};

/* Text with what XML needs escaped; what is not printable ASCII becomes '?'. */
void svg_escape(struct strbuf *out, const char *text);

/* A rectangle; `title` is what a pointer over it shows, NULL = nothing. */
void svg_rect(struct strbuf *out, struct svg_box box, const char *class, const char *title);

/* A line of text whose base line begins at (x, y), or ends there where the class anchors it so. */
void svg_text(struct strbuf *out, size_t x, size_t y, const char *class, const char *text);

/* A document, complete in itself: no scripts, no fonts or pictures from elsewhere. */
struct svg_page {
	size_t width, height;
	const char *title;                /* what it is a picture of */
	const struct strbuf *description; /* the text for a reader who does not see it */
	const char *style;                /* its <style> element, and definitions */
	const struct strbuf *body;        /* elements, drawn on a rectangle of class "page" */
};

/* 0 or -EFBIG when a buffer is too small. */
int svg_document(const struct svg_page *page, struct strbuf *out);
