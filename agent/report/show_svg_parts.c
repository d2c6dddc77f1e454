/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report/show_svg_parts.h"

#include "agent/report/show_amount.h"
#include "common/text.h"

#define SWATCH       14 /* pixels of a legend's square */
#define MATRIX_TITLE "distances between NUMA nodes"
#define NUMBERS_MAX  16  /* NUMA nodes whose distances are numbers */
#define BLOCKS_MAX   128 /* rows of cells; more NUMA nodes are drawn in blocks */
#define SMALL_CELL   5   /* pixels of a cell at least */

const char *svg_holder_class(int holder)
{
	static const char *const classes[] = {"h0", "h1", "h2", "h3", "h4", "h5"};

	return classes[(size_t)holder % (sizeof(classes) / sizeof(classes[0]))];
}

const char *svg_state_class(enum show_state state)
{
	static const char *const classes[SHOW_STATE_COUNT] = {
		[SHOW_UNKNOWN] = "unknown",
		[SHOW_SHARED] = "free",
		[SHOW_RESERVED] = "reserved",
		[SHOW_EXCLUSIVE] = "held",
		[SHOW_OFFLINE] = "unknown",
	};

	return classes[state];
}

void svg_cell(
	struct strbuf *out, size_t x, size_t y, size_t size, const char *class, char key, const char *title)
{
	const struct svg_box box = {x, y, size, size};
	const char text[2] = {key, '\0'};

	svg_rect(out, box, class, title);
	if (key)
		svg_text(out, x + size / 2, y + (size + 8) / 2, size < SWATCH ? "key small" : "key", text);
}

size_t svg_paragraph(
	struct strbuf *out, size_t x, size_t y, size_t width, const char *class, const char *text)
{
	size_t columns = width / SVG_CHAR_WIDTH > 0 ? width / SVG_CHAR_WIDTH : 1;

	do {
		size_t len = text_line_length(text, columns);
		char line[512];

		if (len >= sizeof(line))
			len = sizeof(line) - 1;
		memcpy(line, text, len);
		line[len] = '\0';
		svg_text(out, x, y + SVG_LINE - 5, class, line);
		y += SVG_LINE;
		text += len;
		text += strspn(text, " ");
	} while (*text);
	return y;
}

/* ---- legend */

static void legend_entry(
	struct strbuf *out, size_t *x, size_t y, const char *class, char key, const char *text)
{
	svg_cell(out, *x, y + 2, SWATCH, class, key, NULL);
	svg_text(out, *x + SWATCH + 6, y + 13, "mono", text);
	*x += SWATCH + 6 + text_width(text) * SVG_CHAR_WIDTH + 20;
}

size_t svg_legend(struct strbuf *out, size_t x, size_t y, size_t width, const struct show_view *v)
{
	size_t left = x, bars = 300;

	/* Bars may have a reserved part where no CPU is reserved; offline CPUs are named in words. */
	for (enum show_state state = 0; state < SHOW_OFFLINE; state++)
		if (state == SHOW_RESERVED || v->states[state])
			legend_entry(out, &left, y, svg_state_class(state), 0, show_state_names[state]);
	if (v->states[SHOW_EXCLUSIVE])
		legend_entry(out, &left, y, svg_holder_class(0), 'A', "exclusive, a letter for each pod");
	if (v->l3_borders)
		legend_entry(out, &left, y, "l3", 0, "L3 cache");
	if (left + bars > x + width) {
		left = x;
		y += SVG_LINE + 4;
	}
	legend_entry(out, &left, y, "held", 0, "held");
	legend_entry(out, &left, y, "free", 0, "available");
	return y + SVG_LINE;
}

/* ---- pods */

size_t svg_holders(struct strbuf *out, size_t x, size_t y, size_t width, const struct show_view *v)
{
	if (v->n_holders == 0)
		return y;
	svg_text(out, x, y + 13, "h", "pods");
	y += SVG_LINE + 6;
	for (size_t i = 0; i < v->n_holders; i++) {
		const struct show_holder *h = &v->holders[i];

		svg_cell(out, x, y + 1, 16, svg_holder_class((int)i), h->key, NULL);
		y = svg_paragraph(out, x + 26, y, width - 26, "mono strong", h->name);
		y = svg_paragraph(out, x + 26, y, width - 26, "mono", h->holds) + 4;
	}
	return y;
}

/* ---- distances */

struct matrix {
	struct show_heat heat;
	bool numbers;
	size_t cell_width, cell_height;
	size_t block, n_cells;
	size_t label_width;
};

static struct matrix measure(const struct show_view *v, size_t width)
{
	struct matrix m = {.heat = show_heat(v), .block = 1, .n_cells = v->n_distances, .label_width = 34};

	m.numbers = v->n_distances <= NUMBERS_MAX && m.label_width + m.n_cells * 32 <= width;
	m.cell_width = m.numbers ? 32 : 12;
	m.cell_height = m.numbers ? 22 : 12;
	if (m.numbers)
		return m;
	while (m.n_cells > BLOCKS_MAX || m.n_cells * SMALL_CELL + m.label_width > width) {
		m.block++;
		m.n_cells = (v->n_distances + m.block - 1) / m.block;
	}
	while (m.cell_width > SMALL_CELL && m.label_width + m.n_cells * m.cell_width > width / 2)
		m.cell_width--;
	m.cell_height = m.cell_width;
	return m;
}

size_t svg_matrix_width(const struct show_view *v, size_t width)
{
	struct matrix m;
	size_t used;

	if (v->n_distances == 0)
		return 0;
	m = measure(v, width);
	used = m.label_width + m.n_cells * m.cell_width;
	return used > 220 ? used : 220;
}

static void draw_cell(struct strbuf *out, const struct matrix *m, struct svg_box box, unsigned distance,
	unsigned from, unsigned to)
{
	static const char *const rects[SHOW_HEAT_LEVELS] = {"d0", "d1", "d2", "d3", "d4"};
	static const char *const texts[SHOW_HEAT_LEVELS] = {
		"n dark", "n dark", "n dark", "n light", "n light"};
	size_t level = show_heat_level(&m->heat, distance);
	char text[16], title[64];

	snprintf(title, sizeof(title), distance > 0 ? "%u to %u: %u" : "%u to %u: unknown", from, to,
		distance);
	svg_rect(out, box, distance > 0 ? rects[level] : "unknown", title);
	if (!m->numbers)
		return;
	snprintf(text, sizeof(text), distance > 0 ? "%u" : "?", distance);
	svg_text(out, box.x + box.width / 2, box.y + 15, distance > 0 ? texts[level] : "n", text);
}

static void draw_ids(
	struct strbuf *out, size_t x, size_t y, const struct matrix *m, const struct show_view *v)
{
	/* As many ids as have room: one of three digits takes about 24 pixels. */
	size_t step = m->numbers ? 1 : 24 / m->cell_height + 1;

	for (size_t i = 0; i < m->n_cells; i += step) {
		char text[16];

		snprintf(text, sizeof(text), "%u", v->distance_nodes[i * m->block].id);
		svg_text(out, x + m->label_width + i * m->cell_width + m->cell_width / 2, y + 12, "n faint",
			text);
		svg_text(out, x + m->label_width - 6,
			y + SVG_LINE + i * m->cell_height + m->cell_height / 2 + 4, "mono faint r", text);
	}
}

size_t svg_matrix(struct strbuf *out, size_t x, size_t y, size_t width, const struct show_view *v)
{
	struct matrix m;
	char text[96];

	if (v->n_distances == 0)
		return y;
	m = measure(v, width);
	svg_text(out, x, y + 13, "h", MATRIX_TITLE);
	y += SVG_LINE + 6;
	draw_ids(out, x, y, &m, v);
	y += SVG_LINE;
	for (size_t i = 0; i < m.n_cells; i++, y += m.cell_height)
		for (size_t j = 0; j < m.n_cells; j++) {
			const struct svg_box box = {
				x + m.label_width + j * m.cell_width, y, m.cell_width, m.cell_height};

			draw_cell(out, &m, box, show_block_distance(v, m.block, i, j),
				v->distance_nodes[i * m.block].id, v->distance_nodes[j * m.block].id);
		}
	if (m.numbers)
		return y;
	if (m.block > 1)
		snprintf(text, sizeof(text), "from %u (pale) to %u (dark), the largest of %zu by %zu nodes",
			m.heat.least, m.heat.most, m.block, m.block);
	else
		snprintf(text, sizeof(text), "from %u (pale) to %u (dark)", m.heat.least, m.heat.most);
	return svg_paragraph(out, x + m.label_width, y + 4, width, "mono faint", text);
}
