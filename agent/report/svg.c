/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report/svg.h"

#include "common/text.h"

void svg_escape(struct strbuf *out, const char *text)
{
	for (; *text; text++) {
		if (text_is_continuation(*text))
			continue;
		switch (*text) {
		case '&':
			strbuf_addstr(out, "&amp;");
			break;
		case '<':
			strbuf_addstr(out, "&lt;");
			break;
		case '>':
			strbuf_addstr(out, "&gt;");
			break;
		case '"':
			strbuf_addstr(out, "&quot;");
			break;
		default:
			strbuf_addch(out, text_printable(*text));
		}
	}
}

void svg_rect(struct strbuf *out, struct svg_box box, const char *class, const char *title)
{
	strbuf_addf(out, "<rect class=\"%s\" x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%zu\"", class, box.x,
		box.y, box.width, box.height);
	if (!title) {
		strbuf_addstr(out, "/>\n");
		return;
	}
	strbuf_addstr(out, "><title>");
	svg_escape(out, title);
	strbuf_addstr(out, "</title></rect>\n");
}

void svg_text(struct strbuf *out, size_t x, size_t y, const char *class, const char *text)
{
	strbuf_addf(out, "<text class=\"%s\" x=\"%zu\" y=\"%zu\">", class, x, y);
	svg_escape(out, text);
	strbuf_addstr(out, "</text>\n");
}

int svg_document(const struct svg_page *page, struct strbuf *out)
{
	const struct svg_box box = {0, 0, page->width, page->height};

	strbuf_addf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" "
		"viewBox=\"0 0 %zu %zu\" role=\"img\" aria-labelledby=\"nrtd-title nrtd-desc\">\n"
		"<title id=\"nrtd-title\">",
		box.width, box.height, box.width, box.height);
	svg_escape(out, page->title);
	strbuf_addstr(out, "</title>\n<desc id=\"nrtd-desc\">");
	svg_escape(out, page->description->text);
	strbuf_addstr(out, "</desc>\n");
	strbuf_addstr(out, page->style);
	svg_rect(out, box, "page", NULL);
	strbuf_add(out, page->body->text, page->body->len);
	strbuf_addstr(out, "</svg>\n");
	if (strbuf_error(page->body) < 0)
		return strbuf_error(page->body);
	return strbuf_error(page->description) < 0 ? strbuf_error(page->description) : strbuf_error(out);
}
