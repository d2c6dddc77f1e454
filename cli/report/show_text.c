/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the view of `nrtd show` for a terminal. */
#include "cli/report/show.h"

#include <string.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "common/xalloc.h"

#define LABEL_WIDTH   9  /* columns before the text of lines with a label */
#define TILE_WIDTH    35 /* minimum width of a NUMA node */
#define FRAME         4  /* columns of a socket's frame */
#define GAP           3  /* columns between two NUMA nodes */
#define BAR_MIN       7
#define BAR_WIDE      16 /* wider bars give columns to long names */
#define DENSE_NODES   16 /* more NUMA nodes are drawn with the DENSE_* sizes */
#define DENSE_WIDTH   17
#define DENSE_GAP     2
#define DENSE_BAR_MIN 5
#define GAPPED_LINES  4  /* a node whose CPUs take more lines has no spaces between its cores */
#define LABEL_MAX     14 /* of a resource's name, as far as it decides the width of a NUMA node */
#define HOLDERS_MIN   40 /* minimum width of the list of pods beside the distances */
#define ROOT_TEXT_MAX (256u << 10)
#define TITLE         "distances between NUMA nodes"
#define TICK          8  /* columns between two node ids above one-character cells */
#define NUMBERS_MAX   32 /* NUMA nodes whose distances are still numbers */

struct matrix {
	struct show_heat heat;
	size_t id_width;   /* of the widest node id */
	size_t cell_width; /* 1 = one character */
	size_t block;      /* a cell represents block x block NUMA nodes; 1 if all cells fit */
	size_t n_cells;    /* in a row */
};

static size_t digits(unsigned n)
{
	return n < 10 ? 1 : 1 + digits(n / 10);
}

static struct matrix measure_matrix(const struct show_view *v, size_t width)
{
	struct matrix m = {.heat = show_heat(v), .block = 1, .n_cells = v->n_distances};
	size_t numbers;

	m.id_width = digits(v->distance_nodes[v->n_distances - 1].id);
	numbers = digits(m.heat.max) > m.id_width ? digits(m.heat.max) : m.id_width;
	m.cell_width = numbers + 2;
	if (v->n_distances <= NUMBERS_MAX && m.id_width + 1 + m.n_cells * m.cell_width <= width)
		return m;
	m.cell_width = 1;
	m.block = show_block_size(v, width - m.id_width - 1);
	m.n_cells = (v->n_distances + m.block - 1) / m.block;
	return m;
}

/* ---- the distances between NUMA nodes as a heat map */

/* The width of the matrix, at most `width`; 0 if the machine has no distances. */
static size_t matrix_width(const struct show_view *v, size_t width)
{
	struct matrix m;
	size_t used;

	if (v->n_distances == 0)
		return 0;
	m = measure_matrix(v, width);
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

/* The legend of the levels, "10 ·░▒▓█ 32", for cells without numbers. */
static void draw_scale(struct canvas *c, size_t row, size_t col, size_t width, const struct matrix *m)
{
	char text[64];
	size_t used;

	snprintf(text, sizeof(text), "%u ", m->heat.min);
	used = canvas_text(c, row, col, width, STYLE_PLAIN, text);
	for (unsigned level = 0; level < SHOW_HEAT_LEVELS; level++)
		canvas_put(c, row, col + used++, GLYPH_SHADE_0 + level,
			(enum canvas_style)(STYLE_SHADE_0 + level));
	snprintf(text, sizeof(text), " %u", m->heat.max);
	used += canvas_text(c, row, col + used, width - used, STYLE_PLAIN, text);
	if (m->block > 1) {
		snprintf(text, sizeof(text), ", the largest of %zu by %zu", m->block, m->block);
		canvas_text(c, row, col + used, width - used, STYLE_PLAIN, text);
	}
}

/*
 * Draws the distances: as numbers if there is space, else as one character per distance, else as one
 * character per block of nodes, the largest distance of the block. Returns the rows.
 */
static size_t draw_matrix(
	struct canvas *c, size_t row, size_t col, size_t width, const struct show_view *v, bool colour)
{
	struct matrix m;
	size_t top = row;

	if (v->n_distances == 0)
		return 0;
	m = measure_matrix(v, width);
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

/* The layout of all NUMA nodes: equal sizes, so that they form columns. */
struct layout {
	bool dense;         /* many NUMA nodes: only the available amounts have numbers */
	bool gapped;        /* a space between cores */
	size_t label_width; /* of a resource's name */
	size_t label_full;  /* of the longest name */
	size_t amount_width;
	size_t tile_width;
	size_t columns; /* NUMA nodes per line */
	size_t gap;     /* spaces between two NUMA nodes */
	size_t frames;  /* sockets per line; 1 if the NUMA nodes of a socket need several lines */
	size_t frame_width;
};

static const char *label_of(const struct layout *l, const struct show_resource *r)
{
	return l->dense ? r->short_label : r->label;
}

/* ---- CPUs, one character each */

static unsigned state_glyph(enum show_state state)
{
	static const uint8_t glyphs[SHOW_STATE_COUNT] = {
		[SHOW_UNKNOWN] = GLYPH_UNKNOWN,
		[SHOW_SHARED] = GLYPH_FREE,
		[SHOW_RESERVED] = GLYPH_RESERVED,
		[SHOW_EXCLUSIVE] = GLYPH_HELD,
		[SHOW_OFFLINE] = GLYPH_OFFLINE,
	};

	return glyphs[state];
}

static enum canvas_style state_style(enum show_state state)
{
	static const enum canvas_style styles[SHOW_STATE_COUNT] = {
		[SHOW_UNKNOWN] = STYLE_FAINT,
		[SHOW_SHARED] = STYLE_FREE,
		[SHOW_RESERVED] = STYLE_RESERVED,
		[SHOW_EXCLUSIVE] = STYLE_HELD,
		[SHOW_OFFLINE] = STYLE_OFFLINE,
	};

	return styles[state];
}

static enum canvas_style holder_style(int holder)
{
	return (enum canvas_style)(STYLE_HOLDER_0 + holder % CANVAS_HOLDER_STYLES);
}

static void put_holder(struct canvas *c, size_t row, size_t col, const struct show_view *v, int holder)
{
	canvas_put(c, row, col, (unsigned char)show_key(v, holder, ' '), holder_style(holder));
}

/* Columns of the CPUs of the L3 cache that begins at cpus[at]. */
static size_t l3_width(const struct show_node *node, size_t at, bool gapped)
{
	size_t width = 1;

	while (++at < node->n_cpus && !show_is_l3_first(node, at))
		width += gapped && node->cpus[at].core != node->cpus[at - 1].core ? 2 : 1;
	return width;
}

/*
 * Draws the CPUs of a NUMA node at (row, col). A core or an L3 cache that fits on one line is not split. Returns the
 * number of lines. With `c` NULL only counts the lines.
 */
static size_t draw_cpus(struct canvas *c, size_t row, size_t col, size_t width, bool gapped,
	const struct show_view *v, const struct show_node *node)
{
	size_t line = 0, x = 0;

	for (size_t at = 0, n; at < node->n_cpus; at += n) {
		bool border = at > 0 && show_is_l3_first(node, at);

		n = gapped ? show_core_size(node, at) : 1;
		if (border && c && x < width)
			canvas_put(c, row + line, col + x, GLYPH_VERTICAL, STYLE_FAINT);
		if (x > 0 && (gapped || border))
			x++;
		if (x > 0 && x + (border ? l3_width(node, at, gapped) : n) > width) {
			line++;
			x = 0;
		}
		for (size_t i = at; i < at + n; i++, x++) {
			const struct show_cpu *cpu = &node->cpus[i];

			if (x == width) {
				line++;
				x = 0;
			}
			if (!c)
				continue;
			if (cpu->state == SHOW_EXCLUSIVE)
				put_holder(c, row + line, col + x, v, cpu->holder);
			else
				canvas_put(c, row + line, col + x, state_glyph(cpu->state),
					state_style(cpu->state));
		}
	}
	return node->n_cpus > 0 ? line + 1 : 0;
}

/* ---- one NUMA node */

static void draw_bar(
	struct canvas *c, size_t row, size_t col, size_t width, const struct inventory_amount *amount)
{
	struct show_bar bar = show_bar(amount, width);

	canvas_fill(c, row, col, bar.reserved, GLYPH_RESERVED, STYLE_RESERVED);
	canvas_fill(c, row, col + bar.reserved, bar.held, GLYPH_HELD, STYLE_HELD);
	canvas_fill(c, row, col + bar.reserved + bar.held, bar.free, GLYPH_FREE, STYLE_FREE);
}

/* Draws one character per device. False, and draws nothing, if the devices do not fit. */
static bool draw_devices(struct canvas *c, size_t row, size_t col, size_t width, const struct show_view *v,
	const struct show_devices *devices, const struct inventory_amount *amount)
{
	struct show_device_cells cells;

	if (!show_device_cells(devices, amount, width, &cells))
		return false;
	canvas_fill(c, row, col, cells.reserved, GLYPH_RESERVED, STYLE_RESERVED);
	col += cells.reserved;
	for (size_t i = 0; i < devices->n_holders; i++)
		put_holder(c, row, col++, v, devices->holders[i]);
	canvas_fill(c, row, col, cells.held, GLYPH_HELD, STYLE_HELD);
	canvas_fill(c, row, col + cells.held, cells.available, GLYPH_FREE, STYLE_FREE);
	return true;
}

static void draw_resource(struct canvas *c, size_t row, size_t col, const struct layout *l,
	const struct show_view *v, const struct show_node *node, size_t at)
{
	const struct show_resource *r = &v->resources[at];
	const struct inventory_amount *amount = &node->amounts[at];
	size_t bar_col = col + l->label_width + 1;
	size_t bar_width = l->tile_width - l->label_width - l->amount_width - 2;
	char text[SHOW_AMOUNTS_SIZE];

	canvas_text(c, row, col, l->label_width, STYLE_FAINT, label_of(l, r));
	show_amounts_text(v, node, at, l->dense, text);
	canvas_text_right(c, row, bar_col + bar_width + 1, l->amount_width, STYLE_PLAIN, text);
	if (r->kind != SHOW_DEVICES ||
		!draw_devices(c, row, bar_col, bar_width, v, &node->devices[at], amount))
		draw_bar(c, row, bar_col, bar_width, amount);
}

/* "NUMA 0  0-5,48-53     4 of 10 free" */
static void draw_node_head(struct canvas *c, size_t row, size_t col, const struct layout *l,
	const struct show_view *v, const struct show_node *node)
{
	char text[SHOW_AMOUNTS_SIZE];
	size_t used, right;

	show_cpus_text(v, node, l->dense, text);
	if (node->id == MACHINE_NONE)
		snprintf(text, sizeof(text), "outside every NUMA node");
	right = text_width(text);
	canvas_text_right(c, row, col, l->tile_width, STYLE_PLAIN, text);
	if (node->id == MACHINE_NONE)
		return;
	snprintf(text, sizeof(text), "NUMA %d", node->id);
	used = canvas_text(c, row, col, l->tile_width, STYLE_STRONG, text) + 2;
	if (!l->dense && l->tile_width > used + right + 2) {
		size_t room = l->tile_width - used - right - 2;
		bool fits = text_width(node->cpu_list) <= room;

		canvas_text(c, row, col + used, room, STYLE_FAINT, fits ? node->cpu_list : node->cpu_short);
	}
}

/* Heights, in lines, of a line of NUMA nodes. */
struct lines {
	size_t cpus; /* maximum over the NUMA nodes */
	bool *resources; /* per resource other than devices: a NUMA node has a bar, so all NUMA nodes keep a line for it */
	size_t n_devices; /* maximum over the NUMA nodes */
};

static bool has_devices(const struct show_view *v, const struct show_node *node, size_t at)
{
	return v->resources[at].kind == SHOW_DEVICES && show_has_line(v, node, at);
}

static void draw_node(struct canvas *c, size_t row, size_t col, const struct layout *l,
	const struct lines *lines, const struct show_view *v, const struct show_node *node)
{
	draw_node_head(c, row++, col, l, v, node);
	draw_cpus(c, row, col, l->tile_width, l->gapped, v, node);
	row += lines->cpus;
	for (size_t i = 0; i < v->n_resources; i++) {
		if (lines->resources[i] && show_has_line(v, node, i))
			draw_resource(c, row, col, l, v, node, i);
		row += lines->resources[i];
	}
	for (size_t i = 0; i < v->n_resources; i++)
		if (has_devices(v, node, i))
			draw_resource(c, row++, col, l, v, node, i);
}

/* ---- all NUMA nodes, socket by socket */

static bool has_any_line(const struct show_view *v, size_t resource)
{
	for (size_t i = 0; i < v->n_nodes; i++)
		if (show_has_line(v, &v->nodes[i], resource))
			return true;
	return false;
}

static void measure_labels(const struct show_view *v, struct layout *l)
{
	for (size_t i = 0; i < v->n_resources; i++) {
		if (v->resources[i].kind == SHOW_CPUS && !has_any_line(v, i))
			continue;
		l->label_width = show_max(l->label_width, text_width(label_of(l, &v->resources[i])));
		for (size_t n = 0; n < v->n_nodes; n++) {
			char text[SHOW_AMOUNTS_SIZE];

			show_amounts_text(v, &v->nodes[n], i, l->dense, text);
			l->amount_width = show_max(l->amount_width, text_width(text));
		}
	}
	l->label_full = l->label_width;
	l->label_width = show_min(l->label_width, LABEL_MAX);
}

static struct layout lay_out(const struct show_view *v, size_t width)
{
	struct layout l = {.dense = v->n_nodes > DENSE_NODES, .frames = 1};
	size_t min_width, bar_width, nodes = 1, lines = 0, gap = l.dense ? DENSE_GAP : GAP;
	bool threads = false;

	measure_labels(v, &l);
	min_width = show_max(l.dense ? DENSE_WIDTH : TILE_WIDTH,
		l.label_width + l.amount_width + 2 + (l.dense ? DENSE_BAR_MIN : BAR_MIN));
	for (size_t i = 0; i < v->n_groups; i++)
		nodes = show_max(nodes, v->groups[i].n_nodes);
	l.columns =
		show_spread(nodes, show_max(1, show_min(nodes, (width - FRAME + gap) / (min_width + gap))));
	if (l.columns == nodes && v->n_groups > 0) {
		size_t frame = nodes * (min_width + gap) - gap + FRAME;

		l.frames = show_spread(
			v->n_groups, show_max(1, show_min(v->n_groups, (width + 1) / (frame + 1))));
	}
	l.frame_width = (width + 1) / l.frames - 1;
	width = l.frame_width - FRAME;
	l.tile_width = (width - gap * (l.columns - 1)) / l.columns;
	l.gap = l.columns > 1 ? (width - l.columns * l.tile_width) / (l.columns - 1) : 0;
	l.amount_width = show_min(l.amount_width, l.tile_width - l.label_width - 2);
	bar_width = l.tile_width - l.label_width - l.amount_width - 2;
	if (bar_width > BAR_WIDE)
		l.label_width = show_min(l.label_full, l.label_width + bar_width - BAR_WIDE);
	for (size_t i = 0; i < v->n_nodes; i++) {
		for (size_t at = 0; at < v->nodes[i].n_cpus && !threads; at++)
			threads = show_core_size(&v->nodes[i], at) > 1;
		lines = show_max(lines, draw_cpus(NULL, 0, 0, l.tile_width, true, v, &v->nodes[i]));
	}
	l.gapped = threads && lines <= (l.dense ? 1 : GAPPED_LINES);
	return l;
}

/* Draws the frame of a group from line `row` to line `end`, inclusive. */
static void draw_frame(struct canvas *c, size_t row, size_t end, size_t left, size_t width, const char *title)
{
	size_t right = left + width - 1, used;

	canvas_fill(c, row, left, width, GLYPH_HORIZONTAL, STYLE_FAINT);
	canvas_fill(c, end, left, width, GLYPH_HORIZONTAL, STYLE_FAINT);
	for (size_t i = row + 1; i < end; i++) {
		canvas_put(c, i, left, GLYPH_VERTICAL, STYLE_FAINT);
		canvas_put(c, i, right, GLYPH_VERTICAL, STYLE_FAINT);
	}
	canvas_put(c, row, left, GLYPH_TOP_LEFT, STYLE_FAINT);
	canvas_put(c, row, right, GLYPH_TOP_RIGHT, STYLE_FAINT);
	canvas_put(c, end, left, GLYPH_BOTTOM_LEFT, STYLE_FAINT);
	canvas_put(c, end, right, GLYPH_BOTTOM_RIGHT, STYLE_FAINT);
	canvas_put(c, row, left + 2, ' ', STYLE_PLAIN);
	used = canvas_text(c, row, left + 3, width - 6, STYLE_STRONG, title);
	canvas_put(c, row, left + 3 + used, ' ', STYLE_PLAIN);
}

static void count_lines(const struct show_view *v, const struct layout *l, const struct show_node *nodes,
	size_t n, struct lines *lines)
{
	lines->cpus = lines->n_devices = 0;
	memset(lines->resources, 0, v->n_resources * sizeof(*lines->resources));
	for (size_t i = 0; i < n; i++) {
		size_t devices = 0;

		lines->cpus =
			show_max(lines->cpus, draw_cpus(NULL, 0, 0, l->tile_width, l->gapped, v, &nodes[i]));
		for (size_t k = 0; k < v->n_resources; k++) {
			devices += has_devices(v, &nodes[i], k);
			if (v->resources[k].kind != SHOW_DEVICES && show_has_line(v, &nodes[i], k))
				lines->resources[k] = true;
		}
		lines->n_devices = show_max(lines->n_devices, devices);
	}
}

/* Draws the NUMA nodes of a group. Returns the next row. `lines` is scratch memory. */
static size_t draw_group(struct canvas *c, size_t row, size_t left, const struct layout *l,
	struct lines *lines, const struct show_view *v, const struct show_group *group)
{
	for (size_t first = 0; first < group->n_nodes; first += l->columns) {
		const struct show_node *nodes = &v->nodes[group->first + first];
		size_t n = show_min(l->columns, group->n_nodes - first);

		count_lines(v, l, nodes, n, lines);
		row += first > 0 && !l->dense; /* an empty line in between */
		for (size_t i = 0; i < n; i++)
			draw_node(c, row, left + i * (l->tile_width + l->gap), l, lines, v, &nodes[i]);
		row += 1 + lines->cpus + lines->n_devices;
		for (size_t i = 0; i < v->n_resources; i++)
			row += lines->resources[i];
	}
	return row;
}

/* Returns the next row. */
static size_t draw_groups(
	struct canvas *c, size_t row, const struct layout *l, struct lines *lines, const struct show_view *v)
{
	for (size_t first = 0; first < v->n_groups; first += l->frames) {
		size_t n = show_min(l->frames, v->n_groups - first), end = row;
		size_t pitch = l->frames > 1 ? (c->width - l->frame_width) / (l->frames - 1) : 0;

		for (size_t i = 0; i < n; i++)
			end = show_max(end, draw_group(c, row + 1, i * pitch + FRAME / 2, l, lines, v,
						    &v->groups[first + i]));
		for (size_t i = 0; i < n; i++)
			draw_frame(c, row, end, i * pitch, l->frame_width, v->groups[first + i].title);
		row = end + 1;
	}
	return row;
}

/* ---- head, legend and lists */

/* Draws a text, with a label before the first line. Returns the next row. */
static size_t draw_line(
	struct canvas *c, size_t row, const char *label, enum canvas_style style, const char *text)
{
	canvas_text(c, row, 0, LABEL_WIDTH - 1, STYLE_FAINT, label);
	return row + canvas_wrap(c, row, LABEL_WIDTH, c->width - LABEL_WIDTH, style, text);
}

static size_t draw_head(struct canvas *c, size_t row, const struct show_view *v)
{
	row = draw_line(c, row, "node", STYLE_STRONG, v->node_name);
	row = draw_line(c, row, "machine", STYLE_PLAIN, v->machine);
	row = draw_line(c, row, "kubelet", STYLE_PLAIN, v->kubelet);
	if (!v->reserved)
		row = draw_line(c, row, "reserved", STYLE_PLAIN, "CPUs not known");
	else if (*v->reserved)
		row = draw_line(c, row, "reserved", STYLE_PLAIN, v->reserved);
	if (v->n_offline > 0) {
		size_t cells = show_min(v->n_offline, 8);

		canvas_fill(c, row, LABEL_WIDTH, cells, GLYPH_OFFLINE, STYLE_OFFLINE);
		canvas_text(c, row, 0, LABEL_WIDTH - 1, STYLE_FAINT, "offline");
		row += canvas_wrap(c, row, LABEL_WIDTH + cells + 1, c->width - LABEL_WIDTH - cells - 1,
			STYLE_PLAIN, v->offline);
	}
	return row;
}

/* Draws the next entry of the legend, on the next line if the current line is full. */
static void draw_entry(
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

static size_t draw_legend(struct canvas *c, size_t row, const struct show_view *v)
{
	size_t col = LABEL_WIDTH, top = row;

	for (enum show_state s = 0; s < SHOW_STATE_COUNT; s++)
		if (v->states[s] && s != SHOW_EXCLUSIVE)
			draw_entry(c, &row, &col, state_glyph(s), state_style(s), show_state_names[s]);
	if (v->states[SHOW_EXCLUSIVE])
		draw_entry(c, &row, &col, 'A', holder_style(0), "exclusive, a letter for each pod");
	if (v->l3_borders)
		draw_entry(c, &row, &col, GLYPH_VERTICAL, STYLE_FAINT, "between L3 caches");
	if (col > LABEL_WIDTH) {
		canvas_text(c, top, 0, LABEL_WIDTH - 1, STYLE_FAINT, "CPUs");
		row++;
		col = LABEL_WIDTH;
	}
	canvas_text(c, row, 0, LABEL_WIDTH - 1, STYLE_FAINT, "bars");
	draw_entry(c, &row, &col, GLYPH_RESERVED, STYLE_RESERVED, "reserved");
	draw_entry(c, &row, &col, GLYPH_HELD, STYLE_HELD, "held");
	draw_entry(c, &row, &col, GLYPH_FREE, STYLE_FREE, "available");
	return draw_line(c, row + 1, "numbers", STYLE_PLAIN,
		v->n_nodes > DENSE_NODES ? "available" : "available of allocatable");
}

/* Draws a line per PCIe root, and its devices below it. Returns the next row. */
static size_t draw_roots(struct canvas *c, size_t row, const struct show_view *v)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(ROOT_TEXT_MAX);

	if (v->n_roots == 0)
		return row;
	canvas_text(c, row++, 0, c->width, STYLE_STRONG, SHOW_ROOTS_TITLE);
	for (size_t i = 0; i < v->n_roots; i++) {
		strbuf_reset(&text);
		show_root_title(&v->roots[i], &text);
		canvas_text(c, row++, 0, c->width, STYLE_FAINT, text.text);
		strbuf_reset(&text);
		show_root_text(v, &v->roots[i], &text);
		row += canvas_wrap(c, row, 3, c->width - 3, STYLE_PLAIN, text.text);
	}
	return row + 1;
}

/* Draws the pods: name and holdings in two columns if both fit, else the holdings below the name. Returns the number of rows. */
static size_t draw_holders(struct canvas *c, size_t top, size_t width, const struct show_view *v)
{
	size_t names = 0, holds = 0, row = top;
	bool beside;

	for (size_t i = 0; i < v->n_holders; i++) {
		names = show_max(names, text_width(v->holders[i].name));
		holds = show_max(holds, text_width(v->holders[i].holds));
	}
	beside = 3 + names + 3 + holds <= width;
	for (size_t i = 0; i < v->n_holders; i++) {
		const struct show_holder *h = &v->holders[i];

		put_holder(c, row, 0, v, (int)i);
		canvas_text(c, row, 3, width - 3, STYLE_STRONG, h->name);
		if (beside)
			canvas_text(c, row++, 3 + names + 3, holds, STYLE_PLAIN, h->holds);
		else
			row += 1 + canvas_wrap(c, row + 1, 3, width - 3, STYLE_PLAIN, h->holds);
	}
	return row - top;
}

/* Draws the list of pods and the distances, side by side if both fit. Returns the next row. */
static size_t draw_lists(struct canvas *c, size_t row, const struct show_view *v, bool colour)
{
	size_t matrix = matrix_width(v, c->width), rows = 0;

	if (v->n_holders > 0 && matrix > 0 && c->width >= HOLDERS_MIN + GAP + matrix) {
		rows = draw_matrix(c, row, c->width - matrix, matrix, v, colour);
		return row + show_max(rows, draw_holders(c, row, c->width - matrix - GAP, v));
	}
	if (v->n_holders > 0)
		rows = draw_holders(c, row, c->width, v);
	if (rows > 0 && matrix > 0)
		rows++;
	return row + rows + draw_matrix(c, row + rows, 0, c->width, v, colour);
}

void show_text_draw(const struct show_view *v, bool colour, struct canvas *c)
{
	CLEANUP(freep) bool *resources = xcalloc(v->n_resources + 1, sizeof(*resources));
	struct lines lines = {.resources = resources};
	struct layout l = lay_out(v, c->width);
	size_t row = draw_head(c, 0, v) + 1;

	row = draw_groups(c, row, &l, &lines, v);
	row = draw_roots(c, row, v);
	row = draw_legend(c, row, v);
	if (v->n_holders > 0 || v->n_distances > 0)
		row = draw_lists(c, row + 1, v, colour);
	for (size_t i = 0; i < v->notes->lines.n_items; i++)
		row = draw_line(
			c, row + (i == 0), i == 0 ? "notes" : "", STYLE_NOTE, v->notes->lines.items[i]);
}

int show_text(const struct show_view *v, size_t width, bool colour, bool utf8, struct strbuf *out)
{
	CLEANUP(canvas_release) struct canvas c;

	canvas_init(&c, show_max(width, TERMINAL_MIN_WIDTH));
	show_text_draw(v, colour, &c);
	return canvas_print(&c, colour, utf8, out);
}
