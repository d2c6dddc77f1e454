/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lays out the picture of `nrtd show`, for the terminal and as SVG.
 *
 * Decides which parts the picture has, in which order and where. The pens of show_pen.h draw the parts.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/show_pen.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/text.h"
#include "common/xalloc.h"

#define ROOT_TEXT_MAX (64u << 20)
#define IDS_MAX       256 /* bytes of a box's title; longer lists of ids are cut */

/* ---- the boxes */

/* Only NUMA nodes without CPUs and without held devices share a box. The inventory may count CPUs that are not in cpus[]. */
static bool may_share(const struct show_view *v, const struct show_node *node)
{
	for (size_t i = 0; i < v->n_resources; i++)
		if (node->devices[i].n_holders > 0 ||
			(v->resources[i].kind == SHOW_CPUS && node->amounts[i].capacity > 0))
			return false;
	return node->n_cpus == 0 && node->id != MACHINE_NONE;
}

static bool is_equal(const struct show_view *v, const struct show_node *a, const struct show_node *b)
{
	for (size_t i = 0; i < v->n_resources; i++) {
		const struct inventory_amount *x = &a->amounts[i], *y = &b->amounts[i];

		if (x->present != y->present || x->capacity != y->capacity ||
			x->allocatable != y->allocatable || x->available != y->available)
			return false;
	}
	return true;
}

/*
 * Adds the NUMA node to the box of the equal nodes among the places from index `first` on, else as a box of its own. ids[]: per box the ids of
 * the NUMA nodes; NULL = the box cannot be shared.
 */
static void add_place(const struct show_view *v, struct show_places *places, hwloc_bitmap_t *ids,
	size_t first, const struct show_node *node)
{
	bool shares = may_share(v, node);
	size_t at = first;

	while (at < places->n_items && !(shares && ids[at] && is_equal(v, places->items[at].node, node)))
		at++;
	if (at == places->n_items) {
		places->items[places->n_items++].node = node;
		ids[at] = shares ? cpuset_new() : NULL;
	}
	places->items[at].n++;
	if (shares)
		cpuset_set(ids[at], (unsigned)node->id);
}

void show_places_find(const struct show_view *v, struct show_places *ret)
{
	hwloc_bitmap_t *ids = xcalloc(v->n_nodes + 1, sizeof(*ids));

	*ret = (struct show_places){.items = xcalloc(v->n_nodes + 1, sizeof(*ret->items)),
		.first = xcalloc(v->n_groups + 1, sizeof(*ret->first))};
	for (size_t g = 0; g < v->n_groups; g++) {
		const struct show_group *group = &v->groups[g];

		ret->first[g] = ret->n_items;
		for (size_t i = 0; i < group->n_nodes; i++)
			add_place(v, ret, ids, ret->first[g], &v->nodes[group->first + i]);
	}
	ret->first[v->n_groups] = ret->n_items;
	for (size_t i = 0; i < ret->n_items; i++) {
		if (ret->items[i].n > 1)
			ret->items[i].ids = cpuset_print(ids[i]);
		cpuset_freep(&ids[i]);
	}
	free(ids);
}

void show_places_release(struct show_places *places)
{
	for (size_t i = 0; i < places->n_items; i++)
		free(places->items[i].ids);
	free(places->items);
	free(places->first);
	*places = (struct show_places){0};
}

/* ---- the resources of a NUMA node */

/* Draws n devices; `holders` NULL: of unknown holders, or free. Returns the x after the devices. */
static size_t draw_cells(const struct show_pen *p, const struct show_layout *l, size_t x, size_t y, size_t n,
	enum show_state state, const int *holders, const char *title)
{
	for (size_t i = 0; i < n; i++, x += l->cell)
		p->cell(p, x, y, l->cell - p->units->cell_gap, state, holders ? holders[i] : SHOW_NOBODY,
			holders ? p->view->holders[holders[i]].name : title);
	return x;
}

/* Draws a cell per device. False, and draws nothing, if the devices do not fit. */
static bool draw_devices(const struct show_pen *p, const struct show_layout *l,
	const struct show_devices *devices, const struct inventory_amount *amount, struct show_box box)
{
	size_t n = devices->n_holders, x = box.x, y = box.y + p->units->cell_y;
	size_t reserved = 0, held = 0, available = 0;

	if (amount->present) {
		reserved = qty_whole_units(amount->capacity - amount->allocatable);
		held = qty_whole_units(amount->allocatable - amount->available);
		/* The rest is held by unknown holders. */
		held = held > n ? held - n : 0;
		available = qty_whole_units(amount->available);
	}
	if (reserved + held + available + n > (box.width + p->units->cell_gap) / l->cell)
		return false;
	x = draw_cells(p, l, x, y, reserved, SHOW_RESERVED, NULL, "not allocatable");
	x = draw_cells(p, l, x, y, n, SHOW_EXCLUSIVE, devices->holders, NULL);
	x = draw_cells(p, l, x, y, held, SHOW_EXCLUSIVE, NULL, "held");
	draw_cells(p, l, x, y, available, SHOW_SHARED, NULL, "available");
	return true;
}

static void draw_resource(const struct show_pen *p, const struct show_layout *l, const struct show_node *node,
	size_t at, struct show_box box)
{
	const struct show_resource *r = &p->view->resources[at];
	const struct inventory_amount *amount = &node->amounts[at];
	char text[SHOW_AMOUNTS_SIZE];

	show_available_text(p->view, node, at, l->dense, text);
	p->resource(p, l, box, l->dense ? r->short_label : r->label, text);
	box.x += l->label_width;
	box.width -= l->label_width + l->amount_width;
	if (r->kind == SHOW_DEVICES && draw_devices(p, l, &node->devices[at], amount, box))
		return;
	if (r->kind == SHOW_DEVICES ? amount->present : amount->capacity > 0)
		p->bar(p, box.x, box.y, box.width, show_bar(amount, box.width));
}

/* ---- one NUMA node */

/* "NUMA 3-9,11-17,...     28 equal, no CPUs": as many ids as there is room for. */
static void draw_shared_head(const struct show_pen *p, const struct show_layout *l,
	const struct show_place *place, struct show_box box)
{
	const struct show_units *u = p->units;
	size_t columns = (box.width - 2 * u->node_x) / u->id_column, len;
	char id[IDS_MAX], amount[64];

	snprintf(amount, sizeof(amount), l->dense ? "x%zu" : "%zu equal, no CPUs", place->n);
	len = (size_t)snprintf(id, sizeof(id), "NUMA %s", place->ids);
	/* In a narrow box the texts overlap: there is always room for "NUMA 0,...". */
	columns = show_max(columns, text_width(amount) + sizeof("NUMA 0,... ")) - text_width(amount) - 2;
	/* Cut behind a whole id. */
	if (len > columns || len >= sizeof(id)) {
		len = show_min(columns, sizeof(id) - 1) - strlen(",...");
		while (len > strlen("NUMA ") && id[len] != ',')
			len--;
		snprintf(id + len, sizeof(id) - len, "%s", id[len] == ',' ? ",..." : "...");
	}
	p->node(p, l, box, id, amount);
}

/* "NUMA 0  0-5,48-53     4 of 10 free" */
static void draw_node_head(const struct show_pen *p, const struct show_layout *l,
	const struct show_place *place, struct show_box box)
{
	const struct show_node *node = place->node;
	const struct show_units *u = p->units;
	size_t width = box.width - 2 * u->node_x, left; /* in units of the pen */
	size_t right_columns, list_columns = 0;
	char id[32], amount[SHOW_AMOUNTS_SIZE];

	if (place->ids) {
		draw_shared_head(p, l, place, box);
		return;
	}
	if (node->id == MACHINE_NONE) {
		p->node(p, l, box, NULL, "outside every NUMA node");
		return;
	}
	snprintf(id, sizeof(id), "NUMA %d", node->id);
	show_cpus_text(p->view, node, l->dense, amount);
	p->node(p, l, box, id, amount);
	left = text_width(id) * u->id_column + u->id_gap;
	right_columns = text_width(amount) + u->list_gap;
	if (width > left + right_columns * u->column)
		list_columns = (width - left) / u->column - right_columns;
	if (list_columns >= u->list_min && !l->dense)
		p->cpu_list(p, box.x + u->node_x + left, box.y + u->node_y, list_columns,
			text_width(node->cpu_list) <= list_columns ? node->cpu_list : node->cpu_short);
}

/* The boxes on one line of a frame. */
struct line {
	const struct show_place *places;
	size_t n_places;
};

/* Whether all boxes of the line have space for resource `at`, because one of the NUMA nodes has the resource. */
static bool has_common_line(const struct show_pen *p, const struct line *line, size_t at)
{
	if (!p->units->align || p->view->resources[at].kind == SHOW_DEVICES)
		return false;
	for (size_t i = 0; i < line->n_places; i++)
		if (show_has_line(p->view, line->places[i].node, at))
			return true;
	return false;
}

/* Returns the height of the box; only measures unless `draw`. */
static size_t draw_node(const struct show_pen *p, const struct show_layout *l, const struct line *line,
	const struct show_place *place, struct show_box box, bool draw)
{
	const struct show_units *u = p->units;
	const struct show_node *node = place->node;
	struct show_box inner = {
		box.x + u->node_x, box.y + u->node_y + u->node_head, l->node_width - 2 * u->node_x, 0};
	size_t cpus_height;

	if (draw)
		draw_node_head(p, l, place, box);
	cpus_height = p->cpus(p, l, node, inner, draw);
	/* All boxes of the line leave room for the highest picture of CPUs. */
	for (size_t i = 0; u->align && i < line->n_places; i++)
		cpus_height = show_max(cpus_height, p->cpus(p, l, line->places[i].node, inner, false));
	inner.y += cpus_height + u->below_cpus;
	for (size_t i = 0; i < p->view->n_resources; i++) {
		bool has_line = show_has_line(p->view, node, i);

		if (has_line && draw)
			draw_resource(p, l, node, i, inner);
		if (has_line || has_common_line(p, line, i))
			inner.y += u->line;
	}
	return inner.y + u->node_y - box.y;
}

/* ---- all NUMA nodes, socket by socket */

/* Draws the boxes of a line. Returns the height of the line; only measures unless `draw`. */
static size_t draw_nodes(const struct show_pen *p, const struct show_layout *l, const struct line *line,
	struct show_box box, bool draw)
{
	for (size_t i = 0; i < line->n_places; i++)
		box.height = show_max(box.height, draw_node(p, l, line, &line->places[i], box, false));
	for (size_t i = 0; i < line->n_places && draw; i++, box.x += l->node_pitch)
		draw_node(p, l, line, &line->places[i], box, true);
	return box.height;
}

/* Draws the NUMA nodes of a socket in its frame. Returns the height of the frame; only measures unless `draw`. */
static size_t draw_group(
	const struct show_pen *p, const struct show_layout *l, size_t group, struct show_box frame, bool draw)
{
	const struct show_units *u = p->units;
	size_t first_place = p->places->first[group], n = p->places->first[group + 1] - first_place;
	struct show_box box = {frame.x + u->frame_x, frame.y + u->frame_top, l->node_width, 0};

	if (draw)
		p->frame(p, frame, p->view->groups[group].title);
	for (size_t first = 0; first < n; first += l->columns) {
		const struct line line = {
			&p->places->items[first_place + first], show_min(l->columns, n - first)};

		box.y += first > 0 ? (l->dense ? u->dense_node_gap_y : u->node_gap_y) : 0;
		box.y += draw_nodes(p, l, &line, box, draw);
	}
	return box.y + u->frame_bottom - frame.y;
}

/* Returns the y below the groups. */
static size_t draw_groups(const struct show_pen *p, const struct show_layout *l, size_t y)
{
	const struct show_view *v = p->view;

	for (size_t first = 0; first < v->n_groups; first += l->frames) {
		size_t end = show_min(first + l->frames, v->n_groups);
		struct show_box frame = {p->units->margin, y, l->frame_width, 0};

		for (size_t i = first; i < end; i++)
			frame.height = show_max(frame.height, draw_group(p, l, i, frame, false));
		for (size_t i = first; i < end; i++, frame.x += l->frame_pitch)
			draw_group(p, l, i, frame, true);
		y += frame.height + p->units->frame_gap_y;
	}
	return y;
}

/*
 * How many of n items of at least `min` to put on a line of `width`, so that the lines are evenly filled: four items with space
 * for three are 2 + 2, not 3 + 1.
 */
static size_t per_line(size_t n, size_t width, size_t min, size_t gap)
{
	size_t max = show_max(1, show_min(n, (width + gap) / (min + gap)));
	size_t lines = (n + max - 1) / max;

	return (n + lines - 1) / lines;
}

/* The distance from one of n items on a line to the next. */
static size_t pitch(const struct show_pen *p, size_t n, size_t width, size_t item, size_t gap)
{
	return p->units->stretch && n > 1 ? (width - item) / (n - 1) : item + gap;
}

/*
 * As many NUMA nodes per line as the width permits. If all nodes of a socket are in one line, several sockets may be side by side. What is
 * left of the width makes the nodes wider.
 */
static struct show_layout arrange_nodes(const struct show_pen *p, size_t width)
{
	const struct show_view *v = p->view;
	const struct show_units *u = p->units;
	bool dense = p->places->n_items > SHOW_DENSE_NODES;
	struct show_layout l = {.dense = dense,
		.frames = 1,
		.node_width = dense ? u->dense_node_width : u->node_width,
		.cell = dense ? u->dense_cell : u->cell};
	size_t max_places = 1, gap = dense ? u->dense_node_gap_x : u->node_gap_x, inner;

	if (p->measure)
		p->measure(p, &l);
	for (size_t i = 0; i < v->n_groups; i++)
		max_places = show_max(max_places, p->places->first[i + 1] - p->places->first[i]);
	l.columns = per_line(max_places, width - 2 * u->frame_x, l.node_width, gap);
	if (l.columns == max_places && v->n_groups > 0)
		l.frames = per_line(v->n_groups, width,
			max_places * (l.node_width + gap) - gap + 2 * u->frame_x, u->frame_gap_x);
	l.frame_width = (width + u->frame_gap_x) / l.frames - u->frame_gap_x;
	l.frame_pitch = pitch(p, l.frames, width, l.frame_width, u->frame_gap_x);
	inner = l.frame_width - 2 * u->frame_x;
	l.node_width = (inner + gap) / l.columns - gap;
	l.node_pitch = pitch(p, l.columns, inner, l.node_width, gap);
	p->fit(p, &l);
	return l;
}

/* ---- the distances between NUMA nodes as a heat map */

static size_t digits(unsigned n)
{
	return n < 10 ? 1 : 1 + digits(n / 10);
}

/* Decides how to draw the distances: as numbers if there is space, else one cell per distance or per block of distances. */
static struct show_matrix measure_matrix(const struct show_pen *p, size_t width)
{
	const struct show_view *v = p->view;
	const struct show_units *u = p->units;
	struct show_matrix m = {.heat = show_heat(v), .block = 1, .n_cells = v->n_distances};
	size_t id_digits = digits(v->distance_nodes[v->n_distances - 1].id), max_cells;

	m.id_width = u->id + id_digits * u->id_digit;
	m.cell_width = u->number + show_max(digits(m.heat.max), id_digits) * u->number_digit;
	m.cell_height = u->number_height;
	m.numbers = v->n_distances <= u->numbers_max && m.id_width + m.n_cells * m.cell_width <= width;
	if (m.numbers)
		return m;
	max_cells = show_min(u->cells_max, (width - m.id_width) / u->cell_min);
	m.block = (v->n_distances + max_cells - 1) / max_cells;
	m.n_cells = (v->n_distances + m.block - 1) / m.block;
	m.cell_width = show_min(u->cell_max, show_max(u->cell_min, (width / 2 - m.id_width) / m.n_cells));
	m.cell_height = m.cell_width;
	return m;
}

static void draw_distance(
	const struct show_pen *p, const struct show_matrix *m, size_t row, size_t col, struct show_box box)
{
	const struct numa_node *nodes = p->view->distance_nodes;
	unsigned distance = show_block_distance(p->view, m->block, row, col);
	char text[16], title[64];

	snprintf(text, sizeof(text), distance > 0 ? "%u" : "?", distance);
	snprintf(title, sizeof(title), "%u to %u: %s", nodes[row * m->block].id, nodes[col * m->block].id,
		distance > 0 ? text : "unknown");
	p->distance(p, m, box, distance > 0 ? (int)show_heat_level(&m->heat, distance) : -1, text, title);
}

/* Returns the y below the matrix. */
static size_t draw_matrix(const struct show_pen *p, const struct show_matrix *m, size_t x, size_t y)
{
	const struct show_units *u = p->units;
	struct show_box box = {.width = m->cell_width, .height = m->cell_height};

	y = p->text(p, x, y, p->width - u->margin - x, SHOW_HEADING, "distances between NUMA nodes") +
	    u->below_title;
	for (size_t i = 0; i < m->n_cells; i++) {
		char id[16];

		snprintf(id, sizeof(id), "%u", p->view->distance_nodes[i * m->block].id);
		p->matrix_id(p, m, x, y, i, id);
	}
	box.y = y + u->line;
	for (size_t i = 0; i < m->n_cells; i++, box.y += box.height) {
		box.x = x + m->id_width;
		for (size_t j = 0; j < m->n_cells; j++, box.x += box.width)
			draw_distance(p, m, i, j, box);
	}
	return m->numbers ? box.y : p->scale(p, m, x, box.y);
}

/* ---- lists and the whole */

/* Draws the pods: name and holdings in two columns if both fit, else the holdings below the name. Returns the y below the pods. */
static size_t draw_holders(const struct show_pen *p, size_t x, size_t y, size_t width)
{
	const struct show_view *v = p->view;
	const struct show_units *u = p->units;
	size_t names_width = 0, holds_width = 0, gap = u->holds_gap, left = x + u->key_width;
	bool beside;

	if (v->n_holders > 0 && u->holders_title)
		y = p->text(p, x, y, width, SHOW_HEADING, "pods") + u->below_title;
	for (size_t i = 0; i < v->n_holders; i++) {
		names_width = show_max(names_width, text_width(v->holders[i].name) * u->column);
		holds_width = show_max(holds_width, text_width(v->holders[i].holds) * u->column);
	}
	width -= u->key_width;
	beside = gap > 0 && names_width + gap + holds_width <= width;
	for (size_t i = 0; i < v->n_holders; i++) {
		const struct show_holder *h = &v->holders[i];

		p->cell(p, x, y + u->cell_y, u->key, SHOW_EXCLUSIVE, (int)i, NULL);
		if (beside)
			p->text(p, left + names_width + gap, y, holds_width, SHOW_PLAIN, h->holds);
		y = p->text(p, left, y, width, SHOW_STRONG, h->name);
		if (!beside)
			y = p->text(p, left, y, width, SHOW_PLAIN, h->holds);
		y += u->below_holder;
	}
	return y;
}

/* Draws the list of pods and the distances, side by side if both fit. Returns the y below the lists. */
static size_t draw_lists(const struct show_pen *p, size_t x, size_t y, size_t width)
{
	const struct show_view *v = p->view;
	const struct show_units *u = p->units;
	struct show_matrix m;
	size_t matrix_width, below;

	if (v->n_distances == 0)
		return draw_holders(p, x, y, width) + (v->n_holders > 0 ? u->below_holders : 0);
	m = measure_matrix(p, width);
	matrix_width = show_min(width, show_max(u->matrix_min, m.id_width + m.n_cells * m.cell_width));
	if (v->n_holders > 0 && width >= u->holders_min + u->lists_gap + matrix_width) {
		below = draw_matrix(p, &m, x + width - matrix_width, y);
		return show_max(below, draw_holders(p, x, y, width - matrix_width - u->lists_gap));
	}
	if (v->n_holders > 0)
		y = draw_holders(p, x, y, width) + u->below_holders + u->above_distances;
	return draw_matrix(p, &m, x, y);
}

/* Draws a line per PCIe root, and its devices below it. Returns the y below the roots. */
static size_t draw_roots(const struct show_pen *p, size_t x, size_t y, size_t width)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(ROOT_TEXT_MAX);
	const struct show_view *v = p->view;
	const struct show_units *u = p->units;

	if (v->n_roots == 0)
		return y;
	y = p->text(p, x, y, width, SHOW_HEADING, "PCIe roots") + u->below_roots_title;
	for (size_t i = 0; i < v->n_roots; i++) {
		strbuf_reset(&text);
		show_root_title(&v->roots[i], &text);
		y = p->text(p, x, y, width, SHOW_FAINT, text.text);
		strbuf_reset(&text);
		show_root_text(v, &v->roots[i], &text);
		y = p->text(p, x + u->indent, y, width - u->indent, SHOW_PLAIN, text.text);
	}
	return y + u->below_roots;
}

static size_t draw_head(const struct show_pen *p, size_t y)
{
	const struct show_view *v = p->view;

	y = p->line(p, y, SHOW_LINE_NODE, v->node_name);
	y = p->line(p, y, SHOW_LINE_MACHINE, v->machine);
	y = p->line(p, y, SHOW_LINE_KUBELET, v->kubelet);
	if (!v->reserved || *v->reserved)
		y = p->line(p, y, SHOW_LINE_RESERVED, v->reserved);
	if (v->n_offline > 0)
		y = p->line(p, y, SHOW_LINE_OFFLINE, v->offline);
	return y;
}

size_t show_lay_out(const struct show_pen *p)
{
	const struct show_view *v = p->view;
	const struct show_units *u = p->units;
	size_t x = u->margin, width = p->width - 2 * x, y;
	const struct show_layout l = arrange_nodes(p, width);

	y = draw_head(p, u->margin) + u->below_head;
	y = draw_groups(p, &l, y);
	y = draw_roots(p, x, y, width);
	y = p->legend(p, y);
	if (v->n_holders > 0 || v->n_distances > 0)
		y = draw_lists(p, x, y + u->above_lists, width);
	for (size_t i = 0; i < v->notes->lines.n_items; i++)
		y = p->line(p, i == 0 ? y + u->above_notes : y,
			i == 0 ? SHOW_LINE_FIRST_NOTE : SHOW_LINE_NOTE, v->notes->lines.items[i]);
	return y;
}
