/* SPDX-License-Identifier: Apache-2.0 */
/* The pen of `nrtd show` that writes SVG. All sizes are in pixels. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cli/report/show_pen.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/xalloc.h"

#define LABEL_MAX  14  /* characters of a resource's name where bars are narrow */
#define BAR_WIDE   160 /* wider bars give space to long names */
#define CORE_GAP   6
#define L3_GAP     12 /* between L3 caches of a NUMA node, including the borders */
#define L3_PAD     3  /* from a border to the CPUs within */
#define BAR_HEIGHT 10
#define TITLE_MAX  256
#define BODY_MAX   (64u << 20)
#define SWATCH     14 /* of a legend's square */

static const struct show_units units = {
#define SVG_UNIT(name, terminal, svg) .name = (svg),
	SHOW_UNITS(SVG_UNIT)};

/*
 * Colours: light by default, dark if the reader prefers dark. The six colours of pods have a contrast of 4.5 to 1 with
 * their white letters, and differ for people with red-green colour blindness.
 */
const char show_svg_style[] =
	"text{font:12px sans-serif;fill:#1f2328}\n"
	".mono,.n{font:11px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace}\n"
	".title{font:bold 20px sans-serif}.h{font:bold 13px sans-serif}.strong{font-weight:bold}\n"
	".faint{fill:#59636e}.r{text-anchor:end}.n{text-anchor:middle}\n"
	".key{font:bold 11px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;text-anchor:middle;fill:#fff}"
	".small{font-size:9px}\n"
	".page{rx:8px}.socket{rx:6px}.node{rx:5px}.free,.held,.reserved,.unknown,.h0,.h1,.h2,.h3,.h4,.h5{rx:2px}\n"
	".page{fill:#fff;stroke:#d1d9e0}.socket{fill:#f6f8fa;stroke:#d1d9e0}.node{fill:#fff;stroke:#d1d9e0}\n"
	".free{fill:#e3f4ec;stroke:#3d8b68}.held{fill:#57779a;stroke:#57779a}\n"
	".reserved{fill:url(#nrtd-reserved);stroke:#6e7781}.hatch{stroke:#6e7781;stroke-width:2}\n"
	".l3{fill:none;stroke:#8c959f;rx:4px}\n"
	".unknown{fill:none;stroke:#6e7781;stroke-dasharray:2 2}\n"
	".note{fill:#9a4a00}\n"
	".h0{fill:#0969b8}.h1{fill:#b84a00}.h2{fill:#8d4b9e}.h3{fill:#7a6200}.h4{fill:#00708a}.h5{fill:#b0305c}\n"
	".d0{fill:#e3f6fb}.d1{fill:#b3d7f2}.d2{fill:#6cb0e4}.d3{fill:#1f6fb2}.d4{fill:#0b3d73}\n"
	".dark{fill:#10243a}.light{fill:#fff}\n"
	"@media (prefers-color-scheme:dark){\n"
	"text{fill:#e6edf3}.faint{fill:#9198a1}.note{fill:#f0a35c}.key,.light{fill:#fff}.dark{fill:#10243a}\n"
	".page{fill:#0d1117;stroke:#3d444d}.socket{fill:#151b23;stroke:#3d444d}.node{fill:#0d1117;stroke:#3d444d}\n"
	".free{fill:#12352a;stroke:#3fa37a}.held{fill:#6d8fb5;stroke:#6d8fb5}\n"
	".unknown,.reserved,.hatch{stroke:#9198a1}.l3{stroke:#656c76}\n"
	"}\n";

const char show_svg_defs[] =
	"<defs><pattern id=\"nrtd-reserved\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
	"<path class=\"hatch\" d=\"M1 0V5\"/></pattern></defs>\n";

/* ---- elements; the classes are those of the style sheet */

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

/* `title` is the tooltip; NULL = none. */
static void svg_rect(struct strbuf *out, struct show_box box, const char *class, const char *title)
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

/* A line of text with its base line at y. The text begins at x, or ends at x if its class says so. */
static void svg_put_text(struct strbuf *out, size_t x, size_t y, const char *class, const char *text)
{
	strbuf_addf(out, "<text class=\"%s\" x=\"%zu\" y=\"%zu\">", class, x, y);
	svg_escape(out, text);
	strbuf_addstr(out, "</text>\n");
}

/* The classes of pods, in turn. */
static const char *const holder_classes[CANVAS_HOLDER_STYLES] = {"h0", "h1", "h2", "h3", "h4", "h5"};

/* The class of a CPU or device in this state, unless its holder is known. */
static const char *const state_classes[SHOW_STATE_COUNT] = {
	[SHOW_UNKNOWN] = "unknown",
	[SHOW_SHARED] = "free",
	[SHOW_RESERVED] = "reserved",
	[SHOW_EXCLUSIVE] = "held",
	[SHOW_OFFLINE] = "unknown",
};

/* A square of `size` for one CPU or device; `key` is its letter, 0 = none. */
static void svg_square(
	struct strbuf *out, size_t x, size_t y, size_t size, const char *class, char key, const char *title)
{
	const struct show_box box = {x, y, size, size};
	const char text[2] = {key, '\0'};

	svg_rect(out, box, class, title);
	if (key)
		svg_put_text(
			out, x + size / 2, y + (size + 8) / 2, size < SWATCH ? "key small" : "key", text);
}

/* Text in lines of at most `width` pixels. Returns the y below the lines. */
static size_t svg_paragraph(
	struct strbuf *out, size_t x, size_t y, size_t width, const char *class, const char *text)
{
	size_t columns = width / units.column > 0 ? width / units.column : 1;

	do {
		size_t len = text_line_length(text, columns);
		char line[512];

		if (len >= sizeof(line))
			len = sizeof(line) - 1;
		memcpy(line, text, len);
		line[len] = '\0';
		svg_put_text(out, x, y + units.line - 5, class, line);
		y += units.line;
		text += len;
		text += strspn(text, " ");
	} while (*text);
	return y;
}

static size_t svg_line(const struct show_pen *p, size_t y, enum show_line line, const char *text)
{
	static const char *const before[SHOW_LINE_COUNT] = {
		[SHOW_LINE_RESERVED] = "reserved CPUs ", [SHOW_LINE_OFFLINE] = "offline CPUs "};
	CLEANUP(freep)
	char *all = xasprintf("%s%s", text_or_empty(before[line]), text ? text : "are not known");

	if (line == SHOW_LINE_NODE) {
		svg_put_text(p->svg, units.margin, y + 18, "title", text);
		return y + 28;
	}
	return svg_paragraph(p->svg, units.margin, y, p->width - 2 * units.margin,
		line >= SHOW_LINE_FIRST_NOTE ? "mono note" : "mono", all);
}

static size_t svg_text(
	const struct show_pen *p, size_t x, size_t y, size_t width, enum show_style style, const char *text)
{
	static const char *const classes[SHOW_STYLE_COUNT] = {[SHOW_HEADING] = "h",
		[SHOW_STRONG] = "mono strong",
		[SHOW_FAINT] = "mono faint",
		[SHOW_PLAIN] = "mono"};

	if (style != SHOW_HEADING)
		return svg_paragraph(p->svg, x, y, width, classes[style], text);
	svg_put_text(p->svg, x, y + 13, classes[style], text);
	return y + units.line;
}

/* ---- cells and the legend */

static void svg_cell(const struct show_pen *p, size_t x, size_t y, size_t size, enum show_state state,
	int holder, const char *title)
{
	if (holder == SHOW_NOBODY)
		svg_square(p->svg, x, y, size, state_classes[state], 0, title);
	else
		svg_square(p->svg, x, y, size, holder_classes[holder % CANVAS_HOLDER_STYLES],
			show_key(p->view, holder, ' '), title);
}

static void svg_entry(struct strbuf *out, size_t *x, size_t y, const char *class, char key, const char *text)
{
	svg_square(out, *x, y + 2, SWATCH, class, key, NULL);
	svg_put_text(out, *x + SWATCH + 6, y + 13, "mono", text);
	*x += SWATCH + 6 + text_width(text) * units.column + 20;
}

static size_t svg_legend(const struct show_pen *p, size_t y)
{
	const struct show_view *v = p->view;
	struct strbuf *out = p->svg;
	size_t x = units.margin, bars_width = 300; /* of the last two entries, about */

	/* Bars may have a reserved part although no CPU is reserved. Offline CPUs are listed as text. */
	for (enum show_state state = 0; state < SHOW_OFFLINE; state++)
		if (state == SHOW_RESERVED || v->states[state])
			svg_entry(out, &x, y, state_classes[state], 0, show_state_names[state]);
	if (v->states[SHOW_EXCLUSIVE])
		svg_entry(out, &x, y, holder_classes[0], 'A', "exclusive, a letter for each pod");
	if (v->l3_borders)
		svg_entry(out, &x, y, "l3", 0, "L3 cache");
	if (x + bars_width > p->width - units.margin) {
		x = units.margin;
		y += units.line + 4;
	}
	svg_entry(out, &x, y, "held", 0, "held");
	svg_entry(out, &x, y, "free", 0, "available");
	return y + units.line + 18;
}

/* ---- CPUs */

static void cpu_title(const struct show_view *v, const struct show_cpu *cpu, char title[TITLE_MAX])
{
	const char *use =
		cpu->state == SHOW_EXCLUSIVE ? v->holders[cpu->holder].name : show_state_names[cpu->state];
	char core[32] = "", l3[32] = "";

	if (v->cores_known)
		snprintf(core, sizeof(core), ", core %u", cpu->core);
	if (cpu->l3 != MACHINE_NONE)
		snprintf(l3, sizeof(l3), ", L3 cache %d", cpu->l3);
	snprintf(title, TITLE_MAX, "CPU %u%s%s: %s", cpu->id, core, l3, use);
}

/* The position of a cell: pixels from the left edge, and y of the line. */
struct cursor {
	size_t left, y;
};

/* Moves the cursor to cpus[at], which has the same L3 cache as cpus[at - 1]. A core that fits on one line is not split. */
static void svg_next_cpu(
	const struct show_layout *l, const struct show_node *node, size_t at, size_t width, struct cursor *c)
{
	bool begins_core = node->cpus[at].core != node->cpus[at - 1].core;
	size_t width_needed = begins_core
				      ? show_core_size(node, at) * (l->cell + units.cell_gap) - units.cell_gap
				      : l->cell;

	c->left += l->cell + (begins_core ? CORE_GAP : units.cell_gap);
	if (c->left + width_needed > width) {
		c->left = 0;
		c->y += l->cell + CORE_GAP;
	}
}

/* The width and height of the L3 cache that begins at cpus[at], if drawn at the left edge. */
static struct show_box measure_l3(
	const struct show_layout *l, const struct show_node *node, size_t at, size_t width)
{
	struct cursor c = {0};
	size_t max_width = l->cell;

	while (++at < node->n_cpus && !show_is_l3_first(node, at)) {
		svg_next_cpu(l, node, at, width, &c);
		max_width = show_max(max_width, c.left + l->cell);
	}
	return (struct show_box){0, 0, max_width, c.y + l->cell};
}

/* Each L3 cache is on one line or on lines of its own. */
static size_t svg_cpus(const struct show_pen *p, const struct show_layout *l, const struct show_node *node,
	struct show_box box, bool draw)
{
	size_t cell = l->cell;
	struct show_box l3 = {0};
	struct cursor c = {0};

	for (size_t i = 0; i < node->n_cpus; i++) {
		const struct show_cpu *cpu = &node->cpus[i];
		char title[TITLE_MAX];

		if (!show_is_l3_first(node, i)) {
			svg_next_cpu(l, node, i, box.width, &c);
		} else {
			bool previous_has_lines = l3.height > cell;

			l3 = measure_l3(l, node, i, box.width);
			/* An L3 cache with several lines shares no line with another L3 cache. */
			c.left += i > 0 ? cell + L3_GAP : 0;
			if (i > 0 && (previous_has_lines || c.left + l3.width > box.width))
				c = (struct cursor){0, c.y + cell + L3_GAP};
			if (draw && cpu->l3 != MACHINE_NONE)
				svg_rect(p->svg,
					(struct show_box){box.x + c.left - L3_PAD, box.y + c.y - L3_PAD,
						l3.width + 2 * L3_PAD, l3.height + 2 * L3_PAD},
					"l3", NULL);
		}
		if (!draw)
			continue;
		cpu_title(p->view, cpu, title);
		svg_cell(p, box.x + c.left, box.y + c.y, cell, cpu->state, cpu->holder, title);
	}
	return node->n_cpus > 0 ? c.y + cell + CORE_GAP : 0;
}

/* ---- NUMA nodes and sockets */

static void svg_frame(const struct show_pen *p, struct show_box box, const char *title)
{
	svg_rect(p->svg, box, "socket", NULL);
	svg_put_text(p->svg, box.x + units.node_x, box.y + 25, "h", title);
}

/* A label has the space beside the amount and a bar of BAR_WIDE, and at least LABEL_MAX characters. */
static void svg_fit(const struct show_pen *p, struct show_layout *l)
{
	size_t used, label_fit;

	l->amount_width = (l->dense ? 7u : 17u) * units.column;
	used = l->amount_width + BAR_WIDE + 2 * units.node_x;
	label_fit = l->node_width > used ? (l->node_width - used) / units.column : 0;
	for (size_t i = 0; i < p->view->n_resources; i++) {
		const struct show_resource *r = &p->view->resources[i];

		l->label_max = show_max(l->label_max, text_width(l->dense ? r->short_label : r->label));
	}
	l->label_max = show_min(l->label_max, show_max(label_fit, LABEL_MAX));
	l->label_width = l->label_max * units.column + 8;
}

static void svg_node(const struct show_pen *p, const struct show_layout *l, struct show_box box,
	const char *id, const char *amount)
{
	size_t x = box.x + units.node_x, y = box.y + units.node_x + 9;

	svg_rect(p->svg, box, "node", NULL);
	if (!id) {
		svg_put_text(p->svg, x, y, "h", l->dense ? "no NUMA" : amount);
		return;
	}
	svg_put_text(p->svg, x, y, "h", id);
	svg_put_text(p->svg, x + box.width - 2 * units.node_x, y, "mono r", amount);
}

static void svg_cpu_list(const struct show_pen *p, size_t x, size_t y, size_t columns, const char *list)
{
	char text[SHOW_AMOUNTS_SIZE];

	if (text_width(list) > columns)
		snprintf(text, sizeof(text), "%.*s...", (int)show_min(columns - 3, sizeof(text) - 4), list);
	else
		snprintf(text, sizeof(text), "%s", list);
	svg_put_text(p->svg, x, y + 13, "mono faint", text);
}

static void svg_resource(const struct show_pen *p, const struct show_layout *l, struct show_box box,
	const char *label, const char *amount)
{
	CLEANUP(freep)
	char *cut =
		text_width(label) > l->label_max ? xasprintf("%.*s...", (int)l->label_max - 3, label) : NULL;

	svg_put_text(p->svg, box.x, box.y + 13, "mono faint", cut ? cut : label);
	svg_put_text(p->svg, box.x + box.width, box.y + 13, "mono r", amount);
}

static void svg_bar(const struct show_pen *p, size_t x, size_t y, size_t width, struct show_bar bar)
{
	struct show_box box = {x, y + 4, width, BAR_HEIGHT};

	svg_rect(p->svg, box, "free", NULL);
	box.width = bar.reserved;
	if (bar.reserved > 0)
		svg_rect(p->svg, box, "reserved", NULL);
	box.x += bar.reserved;
	box.width = bar.held;
	if (bar.held > 0)
		svg_rect(p->svg, box, "held", NULL);
}

/* ---- distances */

#define ID_WIDTH 24u /* pixels of an id of three digits, about */

static void svg_matrix_id(
	const struct show_pen *p, const struct show_matrix *m, size_t x, size_t y, size_t i, const char *id)
{
	size_t right = x + m->id_width, row = y + units.line + i * m->cell_height;

	/* Omit ids that would overlap. Cells without numbers are square. */
	if (!m->numbers && i % (ID_WIDTH / m->cell_width + 1) > 0)
		return;
	svg_put_text(p->svg, right + i * m->cell_width + m->cell_width / 2, y + 12, "n faint", id);
	svg_put_text(p->svg, right - 6, row + m->cell_height / 2 + 4, "mono faint r", id);
}

static void svg_distance(const struct show_pen *p, const struct show_matrix *m, struct show_box box,
	int level, const char *text, const char *title)
{
	static const char *const rects[SHOW_HEAT_LEVELS] = {"d0", "d1", "d2", "d3", "d4"};
	static const char *const texts[SHOW_HEAT_LEVELS] = {
		"n dark", "n dark", "n dark", "n light", "n light"};

	svg_rect(p->svg, box, level >= 0 ? rects[level] : "unknown", title);
	if (m->numbers)
		svg_put_text(
			p->svg, box.x + box.width / 2, box.y + 15, level >= 0 ? texts[level] : "n", text);
}

static size_t svg_scale(const struct show_pen *p, const struct show_matrix *m, size_t x, size_t y)
{
	char text[96];

	snprintf(text, sizeof(text), "from %u (pale) to %u (dark)", m->heat.min, m->heat.max);
	if (m->block > 1)
		text_addf(text, sizeof(text), ", the largest of %zu by %zu nodes", m->block, m->block);
	return svg_paragraph(p->svg, x + m->id_width, y + 4, p->width - 2 * units.margin, "mono faint", text);
}

/* ---- the whole */

/* Writes the description for screen readers. */
static void describe(struct strbuf *out, const struct show_view *v, const struct show_places *places)
{
	svg_escape(out, v->machine);
	strbuf_addstr(out, ". ");
	svg_escape(out, v->kubelet);
	strbuf_addstr(out, ". Available of allocatable:");
	for (size_t n = 0; n < places->n_items; n++) {
		const struct show_place *place = &places->items[n];

		/* CPUs outside every NUMA node are no zone, and have no amounts. */
		if (place->node->id == MACHINE_NONE)
			continue;
		if (place->ids)
			strbuf_addf(out, " each of NUMA nodes %s:", place->ids);
		else
			strbuf_addf(out, " NUMA node %d:", place->node->id);
		for (size_t i = 0; i < v->n_resources; i++) {
			char text[SHOW_AMOUNTS_SIZE];

			show_available_text(v, place->node, i, false, text);
			if (!*text)
				continue;
			strbuf_addch(out, ' ');
			svg_escape(out, v->resources[i].label);
			strbuf_addf(out, " %s;", text);
		}
	}
}

/* `alone`: a document, else a picture within an HTML page. */
static int draw_svg(const struct show_view *v, size_t width, bool alone, struct strbuf *out)
{
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(BODY_MAX);
	struct show_box page = {0, 0, show_max(width, SHOW_SVG_MIN_WIDTH), 0};
	CLEANUP(show_places_release) struct show_places places;
	const struct show_pen pen = {.view = v,
		.units = &units,
		.places = &places,
		.width = page.width,
		.line = svg_line,
		.text = svg_text,
		.legend = svg_legend,
		.frame = svg_frame,
		.node = svg_node,
		.cpu_list = svg_cpu_list,
		.cpus = svg_cpus,
		.resource = svg_resource,
		.bar = svg_bar,
		.cell = svg_cell,
		.matrix_id = svg_matrix_id,
		.distance = svg_distance,
		.scale = svg_scale,
		.fit = svg_fit,
		.svg = &body};

	show_places_find(v, &places);
	page.height = show_lay_out(&pen) + units.margin - 4;
	strbuf_addf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" "
		"viewBox=\"0 0 %zu %zu\" role=\"img\" ",
		page.width, page.height, page.width, page.height);
	if (alone) {
		strbuf_addstr(out,
			"aria-labelledby=\"nrtd-title nrtd-desc\">\n<title id=\"nrtd-title\">NUMA topology of ");
		svg_escape(out, v->node_name);
		strbuf_addstr(out, "</title>\n<desc id=\"nrtd-desc\">");
		describe(out, v, &places);
		strbuf_addf(out, "</desc>\n<style>\n%s</style>\n%s", show_svg_style, show_svg_defs);
	} else {
		strbuf_addstr(out, "aria-label=\"");
		describe(out, v, &places);
		strbuf_addstr(out, "\">\n");
	}
	svg_rect(out, page, "page", NULL);
	strbuf_add(out, body.text, body.len);
	strbuf_addstr(out, "</svg>\n");
	return strbuf_error(&body) < 0 ? strbuf_error(&body) : strbuf_error(out);
}

int show_svg(const struct show_view *v, size_t width, struct strbuf *out)
{
	return draw_svg(v, width, true, out);
}

int show_svg_inline(const struct show_view *v, size_t width, struct strbuf *out)
{
	return draw_svg(v, width, false, out);
}
