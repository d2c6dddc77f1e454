/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/show/list_svg.h"

#include "agent/base/text_lines.h"
#include "agent/show/show_svg.h"
#include "agent/show/show_svg_parts.h"
#include "common/cleanup.h"

#define MARGIN      24  /* pixels from the edge to what is drawn */
#define GAP         24  /* between nodes beside each other */
#define LEGEND      14  /* pixels of a legend's square */
#define NAME_MAX    26  /* characters of a node's name; longer ones are cut */
#define CELLS_MAX   480 /* pixels of a node's cells; so many NUMA nodes have smaller ones */
#define TEXT_EDGE   280 /* pixels from the cells to the text behind them and their numbers */
#define TEXT_LEAST  210
#define TITLE_SIZE  512
#define CELLS_TITLE "free CPUs of each NUMA node"
#define BODY_MAX    (64u << 20)

/* Colours: from the held ones of `nrtd show` to its free ones, in even steps of lightness; on a dark page what is held is
 * the lighter one. */
static const char style_sheet[] =
	"<style>\n"
	"text{font:12px sans-serif;fill:#1f2328}\n"
	".mono,.n{font:11px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace}\n"
	".title{font:bold 20px sans-serif}.strong{font-weight:bold}.small{font-size:9px}\n"
	".faint{fill:#59636e}.r{text-anchor:end}.n{text-anchor:middle}\n"
	".page{rx:8px;fill:#fff;stroke:#d1d9e0}.s0,.s1,.s2,.s3,.s4,.s5,.none{rx:2px;stroke:#57779a}\n"
	".s0{fill:#57779a}.s1{fill:#86a3bd}.s2{fill:#a9c2cf}.s3{fill:#c5dbdd}.s4{fill:#d8ece6}.s5{fill:#effaf4}\n"
	".none{fill:none;stroke-dasharray:2 2}.dark{fill:#10243a}.light{fill:#fff}\n"
	"@media (prefers-color-scheme:dark){\n"
	"text{fill:#e6edf3}.faint{fill:#9198a1}.dark{fill:#fff}.light{fill:#10243a}\n"
	".page{fill:#0d1117;stroke:#3d444d}.s0,.s1,.s2,.s3,.s4,.s5,.none{stroke:#6d8fb5}\n"
	".s0{fill:#8fb0d6}.s1{fill:#4c7094}.s2{fill:#3d607b}.s3{fill:#2e5061}.s4{fill:#204246}.s5{fill:#12352a}\n"
	"}\n"
	"</style>\n";

struct layout {
	bool detailed;
	size_t line;                    /* pixels from one node to the next */
	size_t cell_width, cell_height; /* without the pixel between two */
	bool numbers;                   /* in the cells */
	size_t name_width, cells_width;
	size_t columns, per_column; /* of nodes */
	size_t page_width;
};

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* The columns of numbers behind the cells, by their right edges, and the texts behind these. */
#define N_NUMBERS 4
static const char *const number_titles[N_NUMBERS] = {"free", "1 NUMA", "2 NUMA", "stranded"};
static const size_t number_edges[N_NUMBERS] = {76, 134, 192, 264};

/* So wide are the cells at least: their title ends two characters before that of the first number. */
static size_t titles_width(void)
{
	return (text_width(CELLS_TITLE) + 2 + text_width(number_titles[0])) * SVG_CHAR_WIDTH -
	       number_edges[0];
}

/* The page is at least as wide as a node's line with the least of its text. */
static struct layout lay_out(const struct list_row *rows, size_t n, size_t width)
{
	struct layout l = {.detailed = n <= LIST_SVG_DETAILED};
	size_t most = 1, name = 4, each;

	for (size_t i = 0; i < n; i++) {
		most = larger(most, rows[i].n_numa);
		name = larger(name, text_width(rows[i].name));
	}
	l.line = l.detailed ? 24 : 14;
	l.cell_height = l.detailed ? 20 : 11;
	l.cell_width = l.detailed ? 30 : 12;
	while (l.cell_width > 4 && most * (l.cell_width + 2) > CELLS_MAX)
		l.cell_width--;
	l.numbers = l.detailed && l.cell_width >= 24;
	l.name_width = (name < NAME_MAX ? name : NAME_MAX) * SVG_CHAR_WIDTH + 8;
	l.cells_width = most * (l.cell_width + 2);
	if (l.detailed)
		l.cells_width = larger(l.cells_width, titles_width());
	each = l.name_width + l.cells_width;
	l.page_width = larger(width, 2 * MARGIN + each + (l.detailed ? TEXT_EDGE + TEXT_LEAST : 0));
	l.columns = l.detailed ? 1 : (l.page_width - 2 * MARGIN + GAP) / (each + GAP);
	l.per_column = (n + l.columns - 1) / l.columns;
	return l;
}

/* ---- cells */

/* None free, up to a quarter, a half, three quarters, less than all, all. */
#define N_SHARES 6
static const char *const share_names[N_SHARES] = {
	"none free", "up to 25 %", "up to 50 %", "up to 75 %", "below 100 %", "all free"};
static const char *const share_classes[N_SHARES] = {"s0", "s1", "s2", "s3", "s4", "s5"};

static size_t share_of(const struct list_numa *numa)
{
	if (numa->free == 0 || numa->allocatable == 0)
		return 0;
	if (numa->free >= numa->allocatable)
		return N_SHARES - 1;
	return 1 + (numa->free * UINT64_C(4) - 1) / numa->allocatable;
}

static void draw_cell(struct strbuf *out, size_t x, size_t y, const struct layout *l,
	const struct list_row *row, const struct list_numa *numa)
{
	const struct svg_box box = {x, y, l->cell_width, l->cell_height};
	size_t share = share_of(numa);
	char title[TITLE_SIZE], text[16];

	if (numa->has_cpus)
		snprintf(title, sizeof(title), "%.253s, NUMA node %u: %u of %u CPUs free", row->name,
			numa->id, numa->free, numa->allocatable);
	else
		snprintf(title, sizeof(title), "%.253s, NUMA node %u: no CPUs", row->name, numa->id);
	svg_rect(out, box, numa->has_cpus ? share_classes[share] : "none", title);
	if (!l->numbers || !numa->has_cpus)
		return;
	snprintf(text, sizeof(text), "%u", numa->free);
	svg_text(out, x + l->cell_width / 2, y + l->cell_height / 2 + 4, share > 0 ? "n dark" : "n light",
		text);
}

/* ---- nodes */

static void number_text(const struct list_number *n, bool estimated, char text[24])
{
	if (n->known)
		snprintf(text, 24, "%s%zu", estimated ? "~" : "", n->n);
	else
		snprintf(text, 24, "-");
}

static void draw_numbers(struct strbuf *out, size_t x, size_t y, const struct list_row *row)
{
	char texts[N_NUMBERS][24];

	snprintf(texts[0], sizeof(texts[0]), "%u/%u", row->free, row->allocatable);
	number_text(&row->largest[0], row->basis == CLUSTER_ESTIMATED, texts[1]);
	number_text(&row->largest[1], row->basis == CLUSTER_ESTIMATED, texts[2]);
	number_text(&row->stranded, row->basis == CLUSTER_ESTIMATED, texts[3]);
	for (size_t i = 0; i < N_NUMBERS; i++)
		svg_text(out, x + number_edges[i], y, "mono r", texts[i]);
}

/* A text that may be cut, in `width` pixels. */
static void draw_cut(
	struct strbuf *out, size_t x, size_t y, size_t width, const char *class, const char *text)
{
	size_t most = width / SVG_CHAR_WIDTH, columns = 0, len = 0;
	char line[TITLE_SIZE];

	if (text_width(text) <= most) {
		svg_text(out, x, y, class, text);
		return;
	}
	for (; text[len] && columns + 3 < most; len++)
		columns += !text_is_continuation(text[len]);
	snprintf(line, sizeof(line), "%.*s...", (int)len, text);
	svg_text(out, x, y, class, line);
}

static void draw_policy(
	struct strbuf *out, size_t x, size_t y, const struct layout *l, const struct list_row *row)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TITLE_SIZE);

	strbuf_addf(&text, "%s, %s", topology_manager_policy_names[row->policy],
		topology_manager_scope_names[row->scope]);
	for (size_t i = 0; i < row->n_devices; i++)
		strbuf_addf(&text, "; %s %u/%u", row->devices[i].resource, row->devices[i].free,
			row->devices[i].healthy);
	draw_cut(out, x, y, l->page_width - MARGIN - x, "mono faint", text.text);
}

static void draw_node(
	struct strbuf *out, size_t x, size_t y, const struct layout *l, const struct list_row *row)
{
	size_t base = y + l->cell_height / 2 + 4;

	draw_cut(out, x, base, l->name_width, "mono strong", row->name);
	x += l->name_width;
	for (size_t i = 0; i < row->n_numa; i++)
		draw_cell(out, x + i * (l->cell_width + 2), y, l, row, &row->numa[i]);
	if (!l->detailed)
		return;
	x += l->cells_width;
	draw_numbers(out, x, base, row);
	draw_policy(out, x + TEXT_EDGE, base, l, row);
}

static size_t draw_titles(struct strbuf *out, size_t y, const struct layout *l)
{
	size_t x = MARGIN + l->name_width;

	if (!l->detailed)
		return y;
	svg_text(out, x, y + 12, "mono faint", CELLS_TITLE);
	x += l->cells_width;
	for (size_t i = 0; i < N_NUMBERS; i++)
		svg_text(out, x + number_edges[i], y + 12, "mono faint r", number_titles[i]);
	return y + SVG_LINE;
}

static size_t draw_nodes(
	struct strbuf *out, size_t y, const struct layout *l, const struct list_row *rows, size_t n)
{
	y = draw_titles(out, y, l);
	for (size_t i = 0; i < n; i++)
		draw_node(out, MARGIN + i / l->per_column * (l->name_width + l->cells_width + GAP),
			y + i % l->per_column * l->line, l, &rows[i]);
	return y + l->per_column * l->line;
}

/* ---- the whole */

static void totals_text(const struct list_totals *t, struct strbuf *out)
{
	strbuf_addf(out, "%zu of %zu CPUs free", t->free, t->allocatable);
	if (t->stranded.known)
		strbuf_addf(out, ", %s%zu of them stranded", t->n_estimated > 0 ? "~" : "", t->stranded.n);
	for (size_t i = 0; i < LIST_LARGEST; i++)
		if (t->largest[i].known)
			strbuf_addf(out, "%s %zu CPUs on %s", i > 0 ? "," : "; largest pod", t->largest[i].n,
				i > 0 ? "two NUMA nodes" : "one");
	for (size_t i = 0; i < t->n_devices; i++)
		strbuf_addf(out, "; %s %u of %u free", t->devices[i].resource, t->devices[i].free,
			t->devices[i].healthy);
	if (t->n_estimated > 0)
		strbuf_addf(out, "; %zu of the nodes %s estimated (~)", t->n_estimated,
			t->n_estimated == 1 ? "is" : "are");
}

static size_t draw_legend(struct strbuf *out, size_t y)
{
	size_t x = MARGIN;

	for (size_t i = 0; i <= N_SHARES; i++) {
		const char *name = i < N_SHARES ? share_names[i] : "no CPUs";
		const struct svg_box box = {x, y, LEGEND, LEGEND};

		svg_rect(out, box, i < N_SHARES ? share_classes[i] : "none", NULL);
		svg_text(out, x + LEGEND + 6, y + 11, "mono", name);
		x += LEGEND + 6 + strlen(name) * SVG_CHAR_WIDTH + 16;
	}
	return y + LEGEND;
}

int list_svg(const struct list_row *rows, size_t n, const struct list_totals *totals, size_t width,
	struct strbuf *out)
{
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(BODY_MAX);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(BODY_MAX);
	struct svg_page page = {.style = style_sheet, .body = &body, .description = &text};
	char title[64];
	struct layout l;
	size_t y;

	l = lay_out(rows, n, larger(width, SHOW_SVG_MIN_WIDTH));
	page.width = l.page_width;
	snprintf(title, sizeof(title), "%zu node%s", n, n == 1 ? "" : "s");
	page.title = title;
	totals_text(totals, &text);
	svg_text(&body, MARGIN, MARGIN + 18, "title", title);
	y = svg_paragraph(&body, MARGIN, MARGIN + 28, page.width - 2 * MARGIN, "mono", text.text) + 8;
	y = draw_nodes(&body, y, &l, rows, n);
	y = draw_legend(&body, y + 12);
	page.height = y + MARGIN;
	return svg_document(&page, out);
}
