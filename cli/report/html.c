/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/html.h"

#include <stdlib.h>
#include <string.h>

#include "cli/report/show.h"
#include "common/text.h"

/* Of the contents of <style> and <script>. After a change of these, tests/scenario/test_html.sh prints the new hashes. */
#define STYLE_HASH  "sha256-znGULREdsrdi9jlRJy2jYE+DCskAfF+9kM3r4Agxhnc="
#define SCRIPT_HASH "sha256-F0zdVUEk/FyMlPlNTtj++WLKJY5F0hcGeIEUFEjF/WQ="

static const char style_sheet[] =
	":root{color-scheme:light dark}\n"
	"body{margin:0;background:#f6f8fa;color:#1f2328;font:14px/1.45 system-ui,sans-serif}\n"
	"main{max-width:1040px;margin:0 auto;padding:24px 16px}\n"
	"h1{font-size:24px;margin:0 0 4px}h2{font-size:18px;margin:28px 0 8px}\n"
	"p{margin:4px 0}.p-note{color:#59636e}\n"
	"table{border-collapse:collapse;background:#fff;font-size:13px}\n"
	".p-wide{overflow-x:auto}\n"
	"th,td{border:1px solid #d1d9e0;padding:4px 8px;text-align:left;vertical-align:top}\n"
	"th{background:#eef1f4}th,td{white-space:nowrap}.p-number{text-align:right}td.p-number{font-variant-numeric:tabular-nums}\n"
	"td.p-stranded{background:#fff1e0;color:#7a3b00;font-weight:bold}\n"
	"a{color:#0969b8}\n"
	"details{margin:8px 0;padding:8px 12px;background:#fff;border:1px solid #d1d9e0;border-radius:6px;content-visibility:auto;"
	"contain-intrinsic-size:auto 40px}\n"
	"summary{cursor:pointer}summary b{font-size:15px}\n"
	"svg[aria-hidden]{position:absolute}details svg{display:block;max-width:100%;height:auto;margin-top:8px}\n"
	".p-filter{display:flex;flex-wrap:wrap;gap:8px 16px;align-items:center;position:sticky;top:0;z-index:1;margin:12px 0;"
	"padding:8px 12px;background:#fff;border:1px solid #d1d9e0;border-radius:6px}\n"
	"input,select{font:inherit}[hidden]{display:none!important}\n"
	"@media (prefers-color-scheme:dark){\n"
	"body{background:#010409;color:#e6edf3}.p-note{color:#9198a1}\n"
	"table,details,.p-filter{background:#0d1117;border-color:#3d444d}\n"
	"th,td{border-color:#3d444d}th{background:#151b23}a{color:#6cb0e4}\n"
	"td.p-stranded{background:#3a2408;color:#f0a35c}\n"
	"}\n"
	"@media print{.p-filter{display:none}}\n";

static const char script[] =
	"\"use strict\";(function(){\n"
	"var get=function(id){return document.getElementById(id)};\n"
	"var bar=get(\"p-filter\");if(!bar)return;\n"
	"var name=get(\"p-name\"),pool=get(\"p-pool\"),mark=get(\"p-mark\"),count=get(\"p-count\");\n"
	"var items=Array.prototype.slice.call(document.querySelectorAll(\"[data-name]\"));\n"
	"function apply(){\n"
	"var text=name.value.toLowerCase(),shown=0,all=0;\n"
	"items.forEach(function(e){\n"
	"var d=e.dataset,ok=d.name.toLowerCase().indexOf(text)>=0&&(!pool||!pool.value||d.pool===pool.value.slice(1))&&\n"
	"(!mark.checked||d.mark===\"1\");\n"
	"e.hidden=!ok;if(e.localName===\"details\"){all++;if(ok)shown++}\n"
	"});\n"
	"count.textContent=shown+\" of \"+all+\" nodes\";\n"
	"}\n"
	"var query=new URLSearchParams(location.search);\n"
	"name.value=query.get(\"name\")||\"\";mark.checked=query.has(\"mark\");\n"
	"if(pool&&query.has(\"pool\"))pool.value=\"=\"+query.get(\"pool\");\n"
	"bar.hidden=false;bar.addEventListener(\"input\",apply);apply();\n"
	"})();\n";

void html_begin(struct strbuf *out, const char *title)
{
	strbuf_addstr(out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '" STYLE_HASH
		"'; script-src '" SCRIPT_HASH "'; base-uri 'none'; form-action 'none'\">\n"
		"<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
		"<meta name=\"generator\" content=\"nrtd " NRTD_VERSION "\">\n");
	html_text(out, "title", NULL, title);
	strbuf_addstr(out, "<style>");
	strbuf_addstr(out, style_sheet);
	strbuf_addstr(out, show_svg_style);
	strbuf_addstr(out, "</style>\n</head>\n<body>\n<main>\n");
	html_text(out, "h1", NULL, title);
}

void html_end(struct strbuf *out)
{
	strbuf_addstr(out, "</main>\n<script>");
	strbuf_addstr(out, script);
	strbuf_addstr(out, "</script>\n</body>\n</html>\n");
}

void html_text(struct strbuf *out, const char *element, const char *class, const char *text)
{
	strbuf_addf(out, "<%s", element);
	if (class)
		strbuf_addf(out, " class=\"p-%s\"", class);
	strbuf_addch(out, '>');
	svg_escape(out, text);
	strbuf_addf(out, "</%s>\n", element);
}

static void add_attribute(struct strbuf *out, const char *name, const char *value)
{
	strbuf_addf(out, " %s=\"", name);
	svg_escape(out, value);
	strbuf_addch(out, '"');
}

static int by_text(const void *a, const void *b)
{
	return text_compare_numbered(*(char *const *)a, *(char *const *)b);
}

static void sort_pools(struct strv *pools)
{
	strv_sort_unique(pools);
	if (pools->n_items > 1)
		qsort(pools->items, pools->n_items, sizeof(*pools->items), by_text);
	if (pools->n_items == 1 && !*pools->items[0])
		strv_release(pools);
}

void html_filter(struct strbuf *out, struct strv *pools, const char *mark)
{
	sort_pools(pools);
	strbuf_addstr(out, "<div class=\"p-filter\" id=\"p-filter\" hidden>\n"
			   "<label>name <input type=\"search\" id=\"p-name\"></label>\n");
	if (pools->n_items > 0) {
		strbuf_addstr(out, "<label>pool <select id=\"p-pool\"><option value=\"\">all</option>\n");
		for (size_t i = 0; i < pools->n_items; i++) {
			/* A leading '=' distinguishes nodes without a pool from all nodes. */
			strbuf_addstr(out, "<option value=\"=");
			svg_escape(out, pools->items[i]);
			strbuf_addstr(out, "\">");
			svg_escape(out, *pools->items[i] ? pools->items[i] : "no pool");
			strbuf_addstr(out, "</option>\n");
		}
		strbuf_addstr(out, "</select></label>\n");
	}
	strbuf_addstr(out, "<label><input type=\"checkbox\" id=\"p-mark\"> ");
	svg_escape(out, mark);
	strbuf_addstr(out, "</label>\n");
	strbuf_addstr(out, "<span class=\"p-note\" id=\"p-count\"></span>\n</div>\n");
}

void html_item(struct strbuf *out, const char *element, const char *id, const char *name, const char *pool,
	bool marked)
{
	strbuf_addf(out, "<%s", element);
	if (id)
		add_attribute(out, "id", id);
	add_attribute(out, "data-name", name);
	add_attribute(out, "data-pool", pool);
	strbuf_addf(out, " data-mark=\"%d\">", marked);
}

void html_pictures(struct strbuf *out)
{
	strbuf_addf(out, "<svg width=\"0\" height=\"0\" aria-hidden=\"true\">%s</svg>\n", show_svg_defs);
}
