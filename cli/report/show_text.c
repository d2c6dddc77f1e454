/* SPDX-License-Identifier: Apache-2.0 */
/* The pen of `nrtd show` that draws on a terminal. All sizes are in columns and lines. */
#include <stdio.h>

#include "cli/report/show_pen.h"
#include "common/cleanup.h"
#include "common/text.h"

#define LABEL_WIDTH   9 /* columns before the text of lines with a label */
#define BAR_MIN       7
#define DENSE_BAR_MIN 5
#define BAR_WIDE      16 /* wider bars give columns to long names */
#define GAPPED_LINES  4  /* a node whose CPUs take more lines has no spaces between its cores */
#define LABEL_MAX     14 /* of a resource's name, as far as it decides the width of a NUMA node */
#define TICK          8  /* columns between two node ids above one-character cells */

static const struct show_units units = {
#define TERMINAL_UNIT(name, terminal, svg) .name = (terminal),
	SHOW_UNITS(TERMINAL_UNIT)};

/* ---- texts */

/* Draws a text, with a label before the first line. Returns the next row. */
static size_t text_labelled(
	struct canvas *c, size_t row, const char *label, enum canvas_style style, const char *text)
{
	canvas_text(c, row, 0, LABEL_WIDTH - 1, STYLE_FAINT, label);
	return row + canvas_wrap(c, row, LABEL_WIDTH, c->width - LABEL_WIDTH, style, text);
}

static size_t text_line(const struct show_pen *p, size_t row, enum show_line line, const char *text)
{
	static const char *const labels[SHOW_LINE_COUNT] = {[SHOW_LINE_NODE] = "node",
		[SHOW_LINE_MACHINE] = "machine",
		[SHOW_LINE_KUBELET] = "kubelet",
		[SHOW_LINE_RESERVED] = "reserved",
		[SHOW_LINE_OFFLINE] = "offline",
		[SHOW_LINE_FIRST_NOTE] = "notes",
		[SHOW_LINE_NOTE] = ""};
	static const enum canvas_style styles[SHOW_LINE_COUNT] = {[SHOW_LINE_NODE] = STYLE_STRONG,
		[SHOW_LINE_FIRST_NOTE] = STYLE_NOTE,
		[SHOW_LINE_NOTE] = STYLE_NOTE};
	struct canvas *c = p->canvas;
	size_t cells = show_min(p->view->n_offline, 8), col = LABEL_WIDTH + cells + 1;

	if (line != SHOW_LINE_OFFLINE)
		return text_labelled(c, row, labels[line], styles[line], text ? text : "CPUs not known");
	text_labelled(c, row, labels[line], STYLE_PLAIN, "");
	canvas_fill(c, row, LABEL_WIDTH, cells, GLYPH_OFFLINE, STYLE_OFFLINE);
	return row + canvas_wrap(c, row, col, c->width - col, STYLE_PLAIN, text);
}

static size_t text_text(const struct show_pen *p, size_t col, size_t row, size_t width, enum show_style style,
	const char *text)
{
	static const enum canvas_style styles[SHOW_STYLE_COUNT] = {[SHOW_HEADING] = STYLE_STRONG,
		[SHOW_STRONG] = STYLE_STRONG,
		[SHOW_FAINT] = STYLE_FAINT,
		[SHOW_PLAIN] = STYLE_PLAIN};

	if (style == SHOW_PLAIN)
		return row + canvas_wrap(p->canvas, row, col, width, STYLE_PLAIN, text);
	canvas_text(p->canvas, row, col, width, styles[style], text);
	return row + 1;
}

/* ---- cells and the legend */

static const struct {
	uint8_t glyph;
	enum canvas_style style;
} states[SHOW_STATE_COUNT] = {
	[SHOW_UNKNOWN] = {GLYPH_UNKNOWN, STYLE_FAINT},
	[SHOW_SHARED] = {GLYPH_FREE, STYLE_FREE},
	[SHOW_RESERVED] = {GLYPH_RESERVED, STYLE_RESERVED},
	[SHOW_EXCLUSIVE] = {GLYPH_HELD, STYLE_HELD},
	[SHOW_OFFLINE] = {GLYPH_OFFLINE, STYLE_OFFLINE},
};

static void text_cell(const struct show_pen *p, size_t col, size_t row, size_t size, enum show_state state,
	int holder, const char *title)
{
	(void)size;
	(void)title;
	if (holder == SHOW_NOBODY)
		canvas_put(p->canvas, row, col, states[state].glyph, states[state].style);
	else
		canvas_put(p->canvas, row, col, (unsigned char)show_key(p->view, holder, ' '),
			(enum canvas_style)(STYLE_HOLDER_0 + holder % CANVAS_HOLDER_STYLES));
}

/* Draws the next entry of the legend, on the next line if the current line is full. */
static void text_entry(
	struct canvas *c, size_t *row, size_t *col, unsigned glyph, enum canvas_style style, const char *text)
{
	size_t width = 2 + text_width(text);

	if (*col > LABEL_WIDTH && *col + width > c->width) {
		(*row)++;
		*col = LABEL_WIDTH;
	}
	canvas_put(c, *row, *col, glyph, style);
	canvas_text(c, *row, *col + 2, c->width - *col - 2, STYLE_PLAIN, text);
	*col += width + 3;
}

static size_t text_legend(const struct show_pen *p, size_t row)
{
	const struct show_view *v = p->view;
	struct canvas *c = p->canvas;
	size_t col = LABEL_WIDTH, top = row;

	for (enum show_state s = 0; s < SHOW_STATE_COUNT; s++)
		if (v->states[s] && s != SHOW_EXCLUSIVE)
			text_entry(c, &row, &col, states[s].glyph, states[s].style, show_state_names[s]);
	if (v->states[SHOW_EXCLUSIVE])
		text_entry(c, &row, &col, 'A', STYLE_HOLDER_0, "exclusive, a letter for each pod");
	if (v->l3_borders)
		text_entry(c, &row, &col, GLYPH_VERTICAL, STYLE_FAINT, "between L3 caches");
	if (col > LABEL_WIDTH) {
		canvas_text(c, top, 0, LABEL_WIDTH - 1, STYLE_FAINT, "CPUs");
		row++;
		col = LABEL_WIDTH;
	}
	canvas_text(c, row, 0, LABEL_WIDTH - 1, STYLE_FAINT, "bars");
	text_entry(c, &row, &col, GLYPH_RESERVED, STYLE_RESERVED, "reserved");
	text_entry(c, &row, &col, GLYPH_HELD, STYLE_HELD, "held");
	text_entry(c, &row, &col, GLYPH_FREE, STYLE_FREE, "available");
	return text_labelled(c, row + 1, "numbers", STYLE_PLAIN,
		p->places->n_items > SHOW_DENSE_NODES ? "available" : "available of allocatable");
}

/* ---- CPUs, one character each */

/* Columns of the CPUs of the L3 cache that begins at cpus[at]. `gapped`: a gap is between two cores. */
static size_t l3_width(const struct show_node *node, size_t at, bool gapped)
{
	size_t width = 1;

	while (++at < node->n_cpus && !show_is_l3_first(node, at))
		width += gapped && node->cpus[at].core != node->cpus[at - 1].core ? 2 : 1;
	return width;
}

/* Draws the CPUs, or with `draw` false only counts their lines. Returns the lines. A core or an L3 cache that fits on one line is not split. */
static size_t text_cpus(const struct show_pen *p, const struct show_layout *l, const struct show_node *node,
	struct show_box box, bool draw)
{
	size_t line = 0, x = 0, width = box.width;

	for (size_t at = 0, n; at < node->n_cpus; at += n) {
		bool border = at > 0 && show_is_l3_first(node, at);

		n = l->gapped ? show_core_size(node, at) : 1;
		if (border && draw && x < width)
			canvas_put(p->canvas, box.y + line, box.x + x, GLYPH_VERTICAL, STYLE_FAINT);
		/* The column of the gap or the border before these CPUs. */
		if (x > 0 && (l->gapped || border))
			x++;
		if (x > 0 && x + (border ? l3_width(node, at, l->gapped) : n) > width) {
			line++;
			x = 0;
		}
		for (size_t i = at; i < at + n; i++, x++) {
			const struct show_cpu *cpu = &node->cpus[i];

			/* A core or an L3 cache that is wider than a line. */
			if (x == width) {
				line++;
				x = 0;
			}
			if (draw)
				text_cell(p, box.x + x, box.y + line, 1, cpu->state, cpu->holder, NULL);
		}
	}
	return node->n_cpus > 0 ? line + 1 : 0;
}

/* ---- NUMA nodes and sockets */

static void text_frame(const struct show_pen *p, struct show_box box, const char *title)
{
	struct canvas *c = p->canvas;
	size_t right = box.x + box.width - 1, end = box.y + box.height - 1, used;

	canvas_fill(c, box.y, box.x, box.width, GLYPH_HORIZONTAL, STYLE_FAINT);
	canvas_fill(c, end, box.x, box.width, GLYPH_HORIZONTAL, STYLE_FAINT);
	for (size_t i = box.y + 1; i < end; i++) {
		canvas_put(c, i, box.x, GLYPH_VERTICAL, STYLE_FAINT);
		canvas_put(c, i, right, GLYPH_VERTICAL, STYLE_FAINT);
	}
	canvas_put(c, box.y, box.x, GLYPH_TOP_LEFT, STYLE_FAINT);
	canvas_put(c, box.y, right, GLYPH_TOP_RIGHT, STYLE_FAINT);
	canvas_put(c, end, box.x, GLYPH_BOTTOM_LEFT, STYLE_FAINT);
	canvas_put(c, end, right, GLYPH_BOTTOM_RIGHT, STYLE_FAINT);
	canvas_put(c, box.y, box.x + 2, ' ', STYLE_PLAIN);
	used = canvas_text(c, box.y, box.x + 3, box.width - 6, STYLE_STRONG, title);
	canvas_put(c, box.y, box.x + 3 + used, ' ', STYLE_PLAIN);
}

static bool has_any_line(const struct show_view *v, size_t resource)
{
	for (size_t i = 0; i < v->n_nodes; i++)
		if (show_has_line(v, &v->nodes[i], resource))
			return true;
	return false;
}

static void text_measure(const struct show_pen *p, struct show_layout *l)
{
	const struct show_view *v = p->view;

	for (size_t i = 0; i < v->n_resources; i++) {
		const struct show_resource *r = &v->resources[i];

		if (r->kind == SHOW_CPUS && !has_any_line(v, i))
			continue;
		l->label_max = show_max(l->label_max, text_width(l->dense ? r->short_label : r->label));
		for (size_t n = 0; n < v->n_nodes; n++) {
			char text[SHOW_AMOUNTS_SIZE];

			show_available_text(v, &v->nodes[n], i, l->dense, text);
			l->amount_width = show_max(l->amount_width, text_width(text));
		}
	}
	l->label_width = show_min(l->label_max, LABEL_MAX) + 1;
	l->amount_width++;
	l->node_width = show_max(
		l->node_width, l->label_width + l->amount_width + (l->dense ? DENSE_BAR_MIN : BAR_MIN));
}

static void text_fit(const struct show_pen *p, struct show_layout *l)
{
	const struct show_view *v = p->view;
	struct show_box box = {.width = l->node_width};
	size_t lines = 0, bar_width;
	bool threads = false;

	l->amount_width = show_min(l->amount_width, l->node_width - l->label_width);
	bar_width = l->node_width - l->label_width - l->amount_width;
	if (bar_width > BAR_WIDE)
		l->label_width = show_min(l->label_max + 1, l->label_width + bar_width - BAR_WIDE);
	l->gapped = true; /* for text_cpus() */
	for (size_t i = 0; i < v->n_nodes; i++) {
		for (size_t at = 0; at < v->nodes[i].n_cpus && !threads; at++)
			threads = show_core_size(&v->nodes[i], at) > 1;
		lines = show_max(lines, text_cpus(p, l, &v->nodes[i], box, false));
	}
	/* Gaps show which threads are of one core, and cost lines. */
	l->gapped = threads && lines <= (l->dense ? 1 : GAPPED_LINES);
}

/* Where both texts overlap, the id is on top. */
static void text_node(const struct show_pen *p, const struct show_layout *l, struct show_box box,
	const char *id, const char *amount)
{
	canvas_text_right(p->canvas, box.y, box.x, l->node_width, STYLE_PLAIN, amount);
	if (id)
		canvas_text(p->canvas, box.y, box.x, l->node_width, STYLE_STRONG, id);
}

static void text_cpu_list(const struct show_pen *p, size_t col, size_t row, size_t columns, const char *list)
{
	canvas_text(p->canvas, row, col, columns, STYLE_FAINT, list);
}

static void text_resource(const struct show_pen *p, const struct show_layout *l, struct show_box box,
	const char *label, const char *amount)
{
	size_t width = l->amount_width - 1;

	canvas_text(p->canvas, box.y, box.x, l->label_width - 1, STYLE_FAINT, label);
	canvas_text_right(p->canvas, box.y, box.x + box.width - width, width, STYLE_PLAIN, amount);
}

static void text_bar(const struct show_pen *p, size_t col, size_t row, size_t width, struct show_bar bar)
{
	(void)width;
	canvas_fill(p->canvas, row, col, bar.reserved, GLYPH_RESERVED, STYLE_RESERVED);
	canvas_fill(p->canvas, row, col + bar.reserved, bar.held, GLYPH_HELD, STYLE_HELD);
	canvas_fill(p->canvas, row, col + bar.reserved + bar.held, bar.free, GLYPH_FREE, STYLE_FREE);
}

/* ---- distances */

static void text_matrix_id(
	const struct show_pen *p, const struct show_matrix *m, size_t x, size_t y, size_t i, const char *id)
{
	size_t col = x + m->id_width + i * m->cell_width;

	canvas_text_right(p->canvas, y + 1 + i, x, m->id_width - 1, STYLE_FAINT, id);
	if (m->numbers)
		canvas_text_right(p->canvas, y, col, m->cell_width - 1, STYLE_FAINT, id);
	else if (i % TICK == 0 && i + text_width(id) <= m->n_cells)
		canvas_text(p->canvas, y, col, TICK, STYLE_FAINT, id);
}

static void text_shade(const struct show_pen *p, size_t col, size_t row, int level, bool coloured)
{
	canvas_put(p->canvas, row, col, GLYPH_SHADE_0 + (unsigned)level,
		coloured ? (enum canvas_style)((int)STYLE_SHADE_0 + level) : STYLE_PLAIN);
}

/* " 21 " on its level's background, or "21▓" without colours; "█" where cells have one character. */
static void text_distance(const struct show_pen *p, const struct show_matrix *m, struct show_box box,
	int level, const char *text, const char *title)
{
	bool heat = level >= 0 && p->colour;
	enum canvas_style style = heat ? (enum canvas_style)((int)STYLE_HEAT_0 + level) : STYLE_PLAIN;

	(void)title;
	if (m->numbers) {
		canvas_fill(p->canvas, box.y, box.x, box.width, ' ', style);
		canvas_text_right(p->canvas, box.y, box.x, box.width - 1, style, text);
		if (level >= 0 && !p->colour)
			text_shade(p, box.x + box.width - 1, box.y, level, false);
	} else if (level >= 0) {
		text_shade(p, box.x, box.y, level, true);
	} else {
		canvas_put(p->canvas, box.y, box.x, '?', STYLE_FAINT);
	}
}

/* The legend of the levels, "10 ·░▒▓█ 32". */
static size_t text_scale(const struct show_pen *p, const struct show_matrix *m, size_t col, size_t row)
{
	struct canvas *c = p->canvas;
	char text[64];

	snprintf(text, sizeof(text), "%u ", m->heat.min);
	col += canvas_text(c, row, col, c->width - col, STYLE_PLAIN, text);
	for (int level = 0; level < SHOW_HEAT_LEVELS; level++)
		text_shade(p, col++, row, level, true);
	snprintf(text, sizeof(text), " %u", m->heat.max);
	if (m->block > 1)
		text_addf(text, sizeof(text), ", the largest of %zu by %zu", m->block, m->block);
	canvas_text(c, row, col, c->width - col, STYLE_PLAIN, text);
	return row + 1;
}

/* ---- the whole */

void show_text_draw(const struct show_view *v, bool colour, struct canvas *c)
{
	CLEANUP(show_places_release) struct show_places places;
	const struct show_pen pen = {.view = v,
		.units = &units,
		.places = &places,
		.width = c->width,
		.line = text_line,
		.text = text_text,
		.legend = text_legend,
		.frame = text_frame,
		.node = text_node,
		.cpu_list = text_cpu_list,
		.cpus = text_cpus,
		.resource = text_resource,
		.bar = text_bar,
		.cell = text_cell,
		.matrix_id = text_matrix_id,
		.distance = text_distance,
		.scale = text_scale,
		.fit = text_fit,
		.measure = text_measure,
		.canvas = c,
		.colour = colour};

	show_places_find(v, &places);
	show_lay_out(&pen);
}

int show_text(const struct show_view *v, size_t width, bool colour, bool utf8, struct strbuf *out)
{
	CLEANUP(canvas_release) struct canvas c;

	canvas_init(&c, show_max(width, TERMINAL_MIN_WIDTH));
	show_text_draw(v, colour, &c);
	return canvas_print(&c, colour, utf8, out);
}
