/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/html.h"

#include <string.h>

#include "cli/report/show.h"
#include "common/text.h"

/* Of the contents of <style> and <script>. After a change of these, tests/scenario/test_html.sh prints the new hashes. */
#define STYLE_HASH  "sha256-8CvzPUXlWXl5Y0b5k6G5sTLQVqviNHhgQ49SB9rMch0="
#define SCRIPT_HASH "sha256-p1t63udmO6glTQSD2MLp6gYzWSTeSHu96Qw/vGoRNsE="

/* Below 700 pixels, as on a phone, minor columns are hidden; wide parts scroll by themselves, and the page does not. */
static const char style_sheet[] =
	":root{color-scheme:light dark}\n"
	"*{box-sizing:border-box}\n"
	"body{margin:0;background:#f6f8fa;color:#1f2328;font:14px/1.45 system-ui,sans-serif}\n"
	"main{max-width:1376px;margin:0 auto;padding:24px 16px}\n"
	"h1{font-size:24px;margin:0 0 4px;overflow-wrap:anywhere}h2{font-size:18px;margin:28px 0 8px}h3{font-size:15px;margin:16px 0 4px}\n"
	"p{margin:4px 0;overflow-wrap:anywhere}.p-note{color:#59636e}\n"
	"table{border-collapse:collapse;background:#fff;font-size:13px}\n"
	".p-wide{overflow-x:auto;max-width:100%}\n"
	"th,td{border:1px solid #d1d9e0;padding:4px 8px;text-align:left;vertical-align:top}\n"
	"thead th,tfoot th,tfoot td,.p-group th{background:#eef1f4;font-weight:bold}tbody th{font-weight:normal;background:#fff}\n"
	"th,td{white-space:nowrap}.p-text{white-space:normal;min-width:12em}.p-number{text-align:right}\n"
	"td.p-number{font-variant-numeric:tabular-nums}\n"
	"thead button{all:unset;cursor:pointer}thead button:focus-visible{outline:2px solid #0969b8;outline-offset:2px}\n"
	"[aria-sort] button::after{content:\" \\25b2\"}[aria-sort=descending] button::after{content:\" \\25bc\"}\n"
	"td.p-stranded{background:#fff1e0;color:#7a3b00;font-weight:bold}\n"
	".p-bars{display:flex;flex-wrap:wrap;gap:2px 4px;max-width:304px;min-width:76px}\n"
	".p-bars span{display:flex;gap:3px;min-width:34px;font-variant-numeric:tabular-nums}\n"
	".p-bars svg{flex:none;width:8px;height:16px;margin-top:1px;background:#d1d9e0}.p-bars path{fill:#2c7a55}\n"
	".p-many{gap:2px;max-width:318px}.p-many span{min-width:0}\n"
	".p-many b{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}.p-bars b{font-weight:normal}\n"
	"a{color:#0969b8}\n"
	"details{margin:8px 0;padding:8px 12px;background:#fff;border:1px solid #d1d9e0;border-radius:6px;content-visibility:auto;"
	"contain-intrinsic-size:auto 40px;scroll-margin-top:72px}\n"
	"summary{cursor:pointer;overflow-wrap:anywhere}summary b{font-size:15px}\n"
	"svg[aria-hidden]{position:absolute}.p-bars svg[aria-hidden]{position:static}details svg{display:block;height:auto;margin-top:8px}\n"
	".p-filter{display:flex;flex-wrap:wrap;gap:8px 16px;align-items:center;position:sticky;top:0;z-index:1;margin:12px 0;"
	"padding:8px 12px;background:#fff;border:1px solid #d1d9e0;border-radius:6px}\n"
	"input,select{font:inherit;max-width:100%}[hidden]{display:none!important}\n"
	"@media (max-width:700px){\n"
	"main{padding:12px 8px}.p-minor{display:none}.p-filter{position:static}details{scroll-margin-top:8px}\n"
	"table{font-size:12px}th,td{padding:4px 5px}thead th,tfoot th{white-space:normal}\n"
	"tbody th,.p-breaks{white-space:normal;overflow-wrap:anywhere;min-width:76px}\n"
	".p-bars,.p-many{max-width:80px;min-width:80px}td .p-note{white-space:normal}\n"
	"}\n"
	"@media (prefers-color-scheme:dark){\n"
	"body{background:#010409;color:#e6edf3}.p-note{color:#9198a1}\n"
	"table,details,.p-filter,tbody th{background:#0d1117;border-color:#3d444d}\n"
	"th,td{border-color:#3d444d}thead th,tfoot th,tfoot td,.p-group th{background:#151b23}a{color:#6cb0e4}\n"
	"td.p-stranded{background:#3a2408;color:#f0a35c}thead button:focus-visible{outline-color:#6cb0e4}\n"
	".p-bars svg{background:#3d444d}.p-bars path{fill:#3fa37a}\n"
	"}\n"
	"@media print{.p-filter{display:none}}\n";

/* The headings of a table with the class p-sorted become buttons, which sort the rows of each of its groups; unknown numbers are last. */
static const char script[] =
	"\"use strict\";(function(){\n"
	"var get=function(id){return document.getElementById(id)};\n"
	"var all=function(selector,root){return Array.prototype.slice.call((root||document).querySelectorAll(selector))};\n"
	"var compare=new Intl.Collator(\"en\",{numeric:true}).compare;\n"
	"function key(row,i){var c=row.cells[i],v=c.dataset.v;return v===undefined?c.textContent:v===\"\"?null:+v}\n"
	"function sort(table,heads,i){\n"
	"var head=heads[i],was=head.getAttribute(\"aria-sort\"),numbers=!!table.querySelector(\"tbody td[data-v]:nth-child(\"+(i+1)+\")\");\n"
	"var down=was?was===\"ascending\":numbers;\n"
	"heads.forEach(function(h){h.removeAttribute(\"aria-sort\")});\n"
	"head.setAttribute(\"aria-sort\",down?\"descending\":\"ascending\");\n"
	"all(\"tbody\",table).forEach(function(body){\n"
	"var rows=all(\"[data-name]\",body);\n"
	"rows.sort(function(a,b){\n"
	"var x=key(a,i),y=key(b,i);\n"
	"if(x===null||y===null)return (x===null)-(y===null);\n"
	"return (down?-1:1)*(typeof x===\"number\"?x-y:compare(x,y))});\n"
	"rows.forEach(function(r){body.appendChild(r)})});\n"
	"}\n"
	"all(\".p-sorted\").forEach(function(table){\n"
	"var heads=all(\"thead th\",table);\n"
	"heads.forEach(function(h,i){\n"
	"var b=document.createElement(\"button\");b.type=\"button\";b.textContent=h.textContent;h.textContent=\"\";h.appendChild(b);\n"
	"b.addEventListener(\"click\",function(){sort(table,heads,i)})});\n"
	"});\n"
	"function show(){var e=location.hash&&get(location.hash.slice(1));if(e&&e.localName===\"details\")e.open=true}\n"
	"addEventListener(\"hashchange\",show);show();\n"
	"var bar=get(\"p-filter\");if(!bar)return;\n"
	"var name=get(\"p-name\"),pool=get(\"p-pool\"),mark=get(\"p-mark\"),count=get(\"p-count\");\n"
	"var items=all(\"[data-name]\"),groups=all(\"[data-group]\");\n"
	"function apply(){\n"
	"var text=name.value.toLowerCase(),shown=0,n=0;\n"
	"items.forEach(function(e){\n"
	"var d=e.dataset,ok=d.name.toLowerCase().indexOf(text)>=0&&(!pool||!pool.value||d.pool===pool.value.slice(1))&&\n"
	"(!mark.checked||d.mark===\"1\");\n"
	"e.hidden=!ok;if(e.closest(\"#p-nodes\")){n++;if(ok)shown++}\n"
	"});\n"
	"groups.forEach(function(g){g.hidden=!g.querySelector(\"[data-name]:not([hidden])\")});\n"
	"count.textContent=shown+\" of \"+n+\" nodes\";\n"
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
	strbuf_addf(out, "</%.*s>\n", (int)strcspn(element, " "), element);
}

void html_wide_begin(struct strbuf *out, const char *label)
{
	strbuf_addstr(out, "<div class=\"p-wide\" role=\"region\" tabindex=\"0\" aria-label=\"");
	svg_escape(out, label);
	strbuf_addstr(out, "\">\n");
}

void html_wide_end(struct strbuf *out)
{
	strbuf_addstr(out, "</div>\n");
}

static void add_attribute(struct strbuf *out, const char *name, const char *value)
{
	strbuf_addf(out, " %s=\"", name);
	svg_escape(out, value);
	strbuf_addch(out, '"');
}

void html_filter(struct strbuf *out, const struct strv *pools, const char *mark)
{
	strbuf_addstr(out, "<div class=\"p-filter\" id=\"p-filter\" role=\"search\" hidden>\n"
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
	strbuf_addstr(out, "<span class=\"p-note\" id=\"p-count\" role=\"status\"></span>\n</div>\n");
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
