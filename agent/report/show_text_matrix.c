/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report/show_text_matrix.h"

#include "agent/report/show_amount.h"
#include "common/text.h"

#define TITLE       "distances between NUMA nodes"
#define TICK        8  /* columns between two node ids above one-character cells */
#define NUMBERS_MAX 32 /* NUMA nodes whose distances are still numbers */

struct matrix {
	struct show_heat heat;
	size_t id_width;   /* of the widest node id */
	size_t cell_width; /* 1 = one character */
	size_t block;      /* nodes in a row and column of cells; 1 but where they do not fit */
	size_t n_cells;    /* in a row */
};

static size_t digits(unsigned n)
{
	return n < 10 ? 1 : 1 + digits(n / 10);
}

static struct matrix measure(const struct show_view *v, size_t width)
{
	struct matrix m = {.heat = show_heat(v), .block = 1, .n_cells = v->n_distances};
	size_t numbers;

	m.id_width = digits(v->distance_nodes[v->n_distances - 1].id);
	numbers = digits(m.heat.most) > m.id_width ? digits(m.heat.most) : m.id_width;
	m.cell_width = numbers + 2;
	if (v->n_distances <= NUMBERS_MAX && m.id_width + 1 + m.n_cells * m.cell_width <= width)
		return m;
	m.cell_width = 1;
	while (m.id_width + 1 + m.n_cells > width) {
		m.block++;
		m.n_cells = (v->n_distances + m.block - 1) / m.block;
	}
	return m;
}

size_t show_matrix_width(const struct show_view *v, size_t width)
{
	struct matrix m;
	size_t used;

	if (v->n_distances == 0)
		return 0;
	m = measure(v, width);
	used = m.id_width + 1 + m.n_cells * m.cell_width;
	if (used < sizeof(TITLE) - 1)
		used = sizeof(TITLE) - 1;
	return used < width ? used : width;
}

/* " 21 " on its level's background, or "21▓" without colours; "█" where cells have one character. */
static void draw_cell(
	struct canvas *c, size_t row, size_t col, const struct matrix *m, unsigned distance, bool colour)
{
	unsigned level = (unsigned)show_heat_level(&m->heat, distance);
	enum canvas_style style = (enum canvas_style)(STYLE_HEAT_0 + level);
	char text[16];

	if (m->cell_width == 1) {
		if (distance == 0)
			canvas_put(c, row, col, '?', STYLE_FAINT);
		else
			canvas_put(c, row, col, GLYPH_SHADE_0 + level,
				(enum canvas_style)(STYLE_SHADE_0 + level));
		return;
	}
	snprintf(text, sizeof(text), distance > 0 ? "%u" : "?", distance);
	if (distance == 0 || !colour)
		style = STYLE_PLAIN;
	canvas_fill(c, row, col, m->cell_width, ' ', style);
	canvas_text_right(c, row, col, m->cell_width - 1, style, text);
	if (distance > 0 && !colour)
		canvas_put(c, row, col + m->cell_width - 1, GLYPH_SHADE_0 + level, STYLE_PLAIN);
}

static void draw_ids(
	struct canvas *c, size_t row, size_t col, const struct matrix *m, const struct show_view *v)
{
	size_t step = m->cell_width > 1 ? 1 : TICK;
	char text[16];

	for (size_t i = 0; i < m->n_cells; i += step) {
		unsigned id = v->distance_nodes[i * m->block].id;

		snprintf(text, sizeof(text), "%u", id);
		if (m->cell_width > 1)
			canvas_text_right(c, row, col + m->id_width + 1 + i * m->cell_width,
				m->cell_width - 1, STYLE_FAINT, text);
		else if (i + digits(id) <= m->n_cells)
			canvas_text(c, row, col + m->id_width + 1 + i, TICK, STYLE_FAINT, text);
	}
}

/* "10 ·   12 ░   32 █": what a level means; only where cells have no numbers. */
static void draw_scale(struct canvas *c, size_t row, size_t col, size_t width, const struct matrix *m)
{
	char text[64];
	size_t used;

	snprintf(text, sizeof(text), "%u ", m->heat.least);
	used = canvas_text(c, row, col, width, STYLE_PLAIN, text);
	for (unsigned level = 0; level < SHOW_HEAT_LEVELS; level++)
		canvas_put(c, row, col + used++, GLYPH_SHADE_0 + level,
			(enum canvas_style)(STYLE_SHADE_0 + level));
	snprintf(text, sizeof(text), " %u", m->heat.most);
	used += canvas_text(c, row, col + used, width - used, STYLE_PLAIN, text);
	if (m->block > 1) {
		snprintf(text, sizeof(text), ", the largest of %zu by %zu", m->block, m->block);
		canvas_text(c, row, col + used, width - used, STYLE_PLAIN, text);
	}
}

size_t show_matrix_draw(
	struct canvas *c, size_t row, size_t col, size_t width, const struct show_view *v, bool colour)
{
	struct matrix m;
	size_t top = row;

	if (v->n_distances == 0)
		return 0;
	m = measure(v, width);
	canvas_text(c, row++, col, width, STYLE_STRONG, TITLE);
	draw_ids(c, row++, col, &m, v);
	for (size_t i = 0; i < m.n_cells; i++, row++) {
		char text[16];

		snprintf(text, sizeof(text), "%u", v->distance_nodes[i * m.block].id);
		canvas_text_right(c, row, col, m.id_width, STYLE_FAINT, text);
		for (size_t j = 0; j < m.n_cells; j++)
			draw_cell(c, row, col + m.id_width + 1 + j * m.cell_width, &m,
				show_block_distance(v, m.block, i, j), colour);
	}
	if (m.cell_width == 1)
		draw_scale(c, row++, col, width, &m);
	return row - top;
}
