/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the view of `nrtd show` as an SVG picture. */
#include "cli/report/show.h"

#include <string.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "common/xalloc.h"

#define SVG_LINE       18  /* pixels from one line of text to the next */
#define SVG_CHAR_WIDTH 7   /* of the fixed-width font, rounded up */
#define MARGIN         24  /* pixels between the edge and the picture */
#define PAD            14  /* padding within a socket and within a NUMA node */
#define GAP            12  /* between two sockets or NUMA nodes */
#define LABEL_MAX      14  /* characters of a resource's name where bars are narrow */
#define BAR_WIDE       160 /* wider bars give space to long names */
#define TILE_WIDTH     280 /* minimum width of a NUMA node */
#define DENSE_NODES    16  /* more NUMA nodes are drawn with the DENSE_* sizes */
#define DENSE_WIDTH    176
#define CELL           16 /* of a CPU */
#define DENSE_CELL     12
#define CELL_GAP       2
#define CORE_GAP       6
#define L3_GAP         12 /* between L3 caches of a NUMA node, including the borders */
#define L3_PAD         3  /* from a border to the CPUs within */
#define BAR_HEIGHT     10
#define TITLE_MAX      256
#define BODY_MAX       (64u << 20)
#define SWATCH         14 /* pixels of a legend's square */
#define MATRIX_TITLE   "distances between NUMA nodes"
#define NUMBERS_MAX    16  /* the distances of more NUMA nodes have no numbers */
#define BLOCKS_MAX     128 /* rows of cells; more NUMA nodes are drawn in blocks */
#define SMALL_CELL     5   /* minimum pixels of a cell */

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

/* A rectangle in the picture, in pixels. */
struct svg_box {
	size_t x, y, width, height;
};

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
static void svg_rect(struct strbuf *out, struct svg_box box, const char *class, const char *title)
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
static void svg_text(struct strbuf *out, size_t x, size_t y, const char *class, const char *text)
{
	strbuf_addf(out, "<text class=\"%s\" x=\"%zu\" y=\"%zu\">", class, x, y);
	svg_escape(out, text);
	strbuf_addstr(out, "</text>\n");
}

/* The class of a pod's colour. */
static const char *svg_holder_class(int holder)
{
	static const char *const classes[] = {"h0", "h1", "h2", "h3", "h4", "h5"};

	return classes[(size_t)holder % (sizeof(classes) / sizeof(classes[0]))];
}

/* The class of a CPU in this state; an exclusive CPU has its pod's class instead. */
static const char *svg_state_class(enum show_state state)
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

/* A square of `size` for one CPU or device; `key` is its letter, 0 = none. */
static void svg_cell(
	struct strbuf *out, size_t x, size_t y, size_t size, const char *class, char key, const char *title)
{
	const struct svg_box box = {x, y, size, size};
	const char text[2] = {key, '\0'};

	svg_rect(out, box, class, title);
	if (key)
		svg_text(out, x + size / 2, y + (size + 8) / 2, size < SWATCH ? "key small" : "key", text);
}

/* Text in lines of at most `width` pixels. Returns the y below the lines. */
static size_t svg_paragraph(
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

static size_t svg_legend(struct strbuf *out, size_t x, size_t y, size_t width, const struct show_view *v)
{
	size_t left = x, bars = 300;

	/* Bars may have a reserved part although no CPU is reserved. Offline CPUs are listed as text. */
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

static size_t svg_holders(struct strbuf *out, size_t x, size_t y, size_t width, const struct show_view *v)
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

static struct matrix measure_matrix(const struct show_view *v, size_t width)
{
	struct matrix m = {.heat = show_heat(v), .block = 1, .n_cells = v->n_distances, .label_width = 34};

	m.numbers = v->n_distances <= NUMBERS_MAX && m.label_width + m.n_cells * 32 <= width;
	m.cell_width = m.numbers ? 32 : 12;
	m.cell_height = m.numbers ? 22 : 12;
	if (m.numbers)
		return m;
	m.block = show_block_size(v, show_min(BLOCKS_MAX, (width - m.label_width) / SMALL_CELL));
	m.n_cells = (v->n_distances + m.block - 1) / m.block;
	while (m.cell_width > SMALL_CELL && m.label_width + m.n_cells * m.cell_width > width / 2)
		m.cell_width--;
	m.cell_height = m.cell_width;
	return m;
}

static size_t svg_matrix_width(const struct show_view *v, size_t width)
{
	struct matrix m;
	size_t used;

	if (v->n_distances == 0)
		return 0;
	m = measure_matrix(v, width);
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
	/* Omit ids that would overlap: an id of three digits takes about 24 pixels. */
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

static size_t svg_matrix(struct strbuf *out, size_t x, size_t y, size_t width, const struct show_view *v)
{
	struct matrix m;
	char text[96];

	if (v->n_distances == 0)
		return y;
	m = measure_matrix(v, width);
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
			m.heat.min, m.heat.max, m.block, m.block);
	else
		snprintf(text, sizeof(text), "from %u (pale) to %u (dark)", m.heat.min, m.heat.max);
	return svg_paragraph(out, x + m.label_width, y + 4, width, "mono faint", text);
}

/* The layout of all NUMA nodes, which have equal sizes. */
struct layout {
	bool dense;
	size_t cell;
	size_t columns;
	size_t tile_width; /* of a NUMA node, including padding */
	size_t frames;     /* sockets per line; 1 if the NUMA nodes of a socket need several lines */
	size_t frame_width;
	size_t label_max; /* characters of a resource's name */
	size_t label_width;
	size_t amount_width;
};

static struct layout lay_out(const struct show_view *v, size_t width)
{
	struct layout l = {.dense = v->n_nodes > DENSE_NODES};
	size_t nodes = 1, min_width = l.dense ? DENSE_WIDTH : TILE_WIDTH, label = 0, fit;

	l.cell = l.dense ? DENSE_CELL : CELL;
	for (size_t i = 0; i < v->n_groups; i++)
		nodes = show_max(nodes, v->groups[i].n_nodes);
	for (size_t i = 0; i < v->n_resources; i++)
		label = show_max(
			label, text_width(l.dense ? v->resources[i].short_label : v->resources[i].label));
	fit = show_max(1, show_min(nodes, (width - 2 * PAD + GAP) / (min_width + GAP)));
	l.columns = show_spread(nodes, fit);
	l.frames = 1;
	if (l.columns == nodes && v->n_groups > 0) {
		fit = (width + GAP) / (nodes * (min_width + GAP) - GAP + 2 * PAD + GAP);
		l.frames = show_spread(v->n_groups, show_max(1, show_min(v->n_groups, fit)));
	}
	l.frame_width = (width + GAP) / l.frames - GAP;
	l.tile_width = (l.frame_width - 2 * PAD + GAP) / l.columns - GAP;
	l.amount_width = (l.dense ? 7u : 17u) * SVG_CHAR_WIDTH;
	fit = l.amount_width + BAR_WIDE + 2 * PAD;
	fit = l.tile_width > fit ? (l.tile_width - fit) / SVG_CHAR_WIDTH : 0;
	l.label_max = show_min(label, show_max(fit, LABEL_MAX));
	l.label_width = l.label_max * SVG_CHAR_WIDTH + 8;
	return l;
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
static void advance(
	const struct layout *l, const struct show_node *node, size_t at, size_t width, struct cursor *c)
{
	bool first = node->cpus[at].core != node->cpus[at - 1].core;
	size_t core = first ? show_core_size(node, at) * (l->cell + CELL_GAP) - CELL_GAP : l->cell;

	c->left += l->cell + (first ? CORE_GAP : CELL_GAP);
	if (c->left + core > width) {
		c->left = 0;
		c->y += l->cell + CORE_GAP;
	}
}

/* The width and height of the L3 cache that begins at cpus[at], if drawn at the left edge. */
static struct svg_box measure_l3(
	const struct layout *l, const struct show_node *node, size_t at, size_t width)
{
	struct cursor c = {0};
	size_t max_width = l->cell;

	while (++at < node->n_cpus && !show_is_l3_first(node, at)) {
		advance(l, node, at, width, &c);
		max_width = show_max(max_width, c.left + l->cell);
	}
	return (struct svg_box){0, 0, max_width, c.y + l->cell};
}

/*
 * Draws the CPUs of a NUMA node, each L3 cache on one line or on lines of its own. Returns the y below the CPUs. With `out`
 * NULL only measures.
 */
static size_t draw_cpus(struct strbuf *out, size_t x, size_t y, size_t width, const struct layout *l,
	const struct show_view *v, const struct show_node *node)
{
	struct svg_box l3 = {0};
	struct cursor c = {.y = y};

	for (size_t i = 0; i < node->n_cpus; i++) {
		const struct show_cpu *cpu = &node->cpus[i];
		char title[TITLE_MAX];

		if (!show_is_l3_first(node, i)) {
			advance(l, node, i, width, &c);
		} else {
			bool tall = l3.height > l->cell;

			l3 = measure_l3(l, node, i, width);
			c.left += i > 0 ? l->cell + L3_GAP : 0;
			if (i > 0 && (tall || c.left + l3.width > width))
				c = (struct cursor){0, c.y + l->cell + L3_GAP};
			if (out && cpu->l3 != MACHINE_NONE)
				svg_rect(out,
					(struct svg_box){x + c.left - L3_PAD, c.y - L3_PAD,
						l3.width + 2 * L3_PAD, l3.height + 2 * L3_PAD},
					"l3", NULL);
		}
		if (!out)
			continue;
		cpu_title(v, cpu, title);
		if (cpu->state == SHOW_EXCLUSIVE)
			svg_cell(out, x + c.left, c.y, l->cell, svg_holder_class(cpu->holder),
				show_key(v, cpu->holder, 0), title);
		else
			svg_cell(out, x + c.left, c.y, l->cell, svg_state_class(cpu->state), 0, title);
	}
	return node->n_cpus > 0 ? c.y + l->cell + CORE_GAP : c.y;
}

/* ---- memory, hugepages, devices */

static void draw_bar(
	struct strbuf *out, size_t x, size_t y, size_t width, const struct inventory_amount *amount)
{
	struct show_bar bar = show_bar(amount, width);
	struct svg_box box = {x, y, width, BAR_HEIGHT};

	svg_rect(out, box, "free", NULL);
	box.width = bar.reserved;
	if (bar.reserved > 0)
		svg_rect(out, box, "reserved", NULL);
	box.x += bar.reserved;
	box.width = bar.held;
	if (bar.held > 0)
		svg_rect(out, box, "held", NULL);
}

static void draw_devices(struct strbuf *out, size_t x, size_t y, size_t width, const struct layout *l,
	const struct show_view *v, const struct show_node *node, size_t at)
{
	const struct show_devices *devices = &node->devices[at];
	const struct inventory_amount *amount = &node->amounts[at];
	size_t pitch = l->cell - 2 + CELL_GAP, max_cells = (width + CELL_GAP) / pitch;
	struct show_device_cells cells;
	size_t i;

	if (!show_device_cells(devices, amount, max_cells, &cells)) {
		if (amount->present)
			draw_bar(out, x, y + 4, width, amount);
		return;
	}
	for (i = 0; i < cells.reserved; i++, x += pitch)
		svg_cell(out, x, y + 1, l->cell - 2, "reserved", 0, "not allocatable");
	for (i = 0; i < devices->n_holders; i++, x += pitch)
		svg_cell(out, x, y + 1, l->cell - 2, svg_holder_class(devices->holders[i]),
			show_key(v, devices->holders[i], 0), v->holders[devices->holders[i]].name);
	for (i = 0; i < cells.held; i++, x += pitch)
		svg_cell(out, x, y + 1, l->cell - 2, "held", 0, "held");
	for (i = 0; i < cells.available; i++, x += pitch)
		svg_cell(out, x, y + 1, l->cell - 2, "free", 0, "available");
}

static void draw_resource(struct strbuf *out, size_t x, size_t y, size_t width, const struct layout *l,
	const struct show_view *v, const struct show_node *node, size_t at)
{
	const struct show_resource *r = &v->resources[at];
	const struct inventory_amount *amount = &node->amounts[at];
	size_t bar = width - l->label_width - l->amount_width;
	const char *label = l->dense ? r->short_label : r->label;
	CLEANUP(freep)
	char *cut =
		text_width(label) > l->label_max ? xasprintf("%.*s...", (int)l->label_max - 3, label) : NULL;
	char text[SHOW_AMOUNTS_SIZE];

	svg_text(out, x, y + 13, "mono faint", cut ? cut : label);
	show_amounts_text(v, node, at, l->dense, text);
	svg_text(out, x + width, y + 13, "mono r", text);
	if (r->kind == SHOW_DEVICES)
		draw_devices(out, x + l->label_width, y, bar, l, v, node, at);
	else if (amount->capacity > 0)
		draw_bar(out, x + l->label_width, y + 4, bar, amount);
}

/* ---- NUMA nodes and sockets */

static size_t node_height(const struct show_view *v, const struct layout *l, const struct show_node *node)
{
	size_t lines = 0;

	for (size_t i = 0; i < v->n_resources; i++)
		lines += show_has_line(v, node, i);
	return draw_cpus(NULL, 0, 0, l->tile_width - 2 * PAD, l, v, node) + 2 * PAD + SVG_LINE +
	       lines * SVG_LINE;
}

static void draw_node_head(struct strbuf *out, size_t x, size_t y, size_t width, const struct layout *l,
	const struct show_view *v, const struct show_node *node)
{
	char text[SHOW_AMOUNTS_SIZE], id[32];
	const char *list;
	size_t room, used;

	show_cpus_text(v, node, l->dense, text);
	if (node->id == MACHINE_NONE) {
		svg_text(out, x, y + 13, "h", l->dense ? "no NUMA" : "outside every NUMA node");
		return;
	}
	snprintf(id, sizeof(id), "NUMA %d", node->id);
	svg_text(out, x, y + 13, "h", id);
	svg_text(out, x + width, y + 13, "mono r", text);
	used = text_width(id) * 9 + 8;
	room = width > used + (text_width(text) + 1) * SVG_CHAR_WIDTH
		       ? (width - used) / SVG_CHAR_WIDTH - text_width(text) - 1
		       : 0;
	if (room < 4 || l->dense)
		return;
	list = text_width(node->cpu_list) <= room ? node->cpu_list : node->cpu_short;
	if (text_width(list) > room)
		snprintf(text, sizeof(text), "%.*s...", (int)show_min(room - 3, sizeof(text) - 4), list);
	else
		snprintf(text, sizeof(text), "%s", list);
	svg_text(out, x + used, y + 13, "mono faint", text);
}

static void draw_node(struct strbuf *out, struct svg_box box, const struct layout *l,
	const struct show_view *v, const struct show_node *node)
{
	size_t x = box.x + PAD, y = box.y + PAD - 4, width = box.width - 2 * PAD;

	svg_rect(out, box, "node", NULL);
	draw_node_head(out, x, y, width, l, v, node);
	y = draw_cpus(out, x, y + SVG_LINE + 4, width, l, v, node) + 4;
	for (size_t i = 0; i < v->n_resources; i++)
		if (show_has_line(v, node, i)) {
			draw_resource(out, x, y, width, l, v, node, i);
			y += SVG_LINE;
		}
}

/* The height of the line of NUMA nodes that begins with the group's node `first`. */
static size_t line_height(
	const struct show_view *v, const struct layout *l, const struct show_group *group, size_t first)
{
	size_t height = 0;

	for (size_t i = first; i < group->n_nodes && i < first + l->columns; i++)
		height = show_max(height, node_height(v, l, &v->nodes[group->first + i]));
	return height;
}

static size_t group_height(const struct show_view *v, const struct layout *l, const struct show_group *group)
{
	size_t height = PAD + SVG_LINE + 2;

	for (size_t first = 0; first < group->n_nodes; first += l->columns)
		height += line_height(v, l, group, first) + GAP;
	return height - GAP + PAD;
}

static void draw_group(struct strbuf *out, struct svg_box frame, const struct layout *l,
	const struct show_view *v, const struct show_group *group)
{
	size_t y = frame.y + PAD + SVG_LINE + 2;

	svg_rect(out, frame, "socket", NULL);
	svg_text(out, frame.x + PAD, frame.y + PAD + 11, "h", group->title);
	for (size_t first = 0; first < group->n_nodes; first += l->columns) {
		struct svg_box box = {frame.x + PAD, y, l->tile_width, line_height(v, l, group, first)};

		for (size_t i = first; i < group->n_nodes && i < first + l->columns; i++) {
			draw_node(out, box, l, v, &v->nodes[group->first + i]);
			box.x += l->tile_width + GAP;
		}
		y += box.height + GAP;
	}
}

/* Returns the y below the groups. */
static size_t draw_groups(struct strbuf *out, size_t y, size_t width, const struct show_view *v)
{
	const struct layout l = lay_out(v, width);

	for (size_t first = 0; first < v->n_groups; first += l.frames) {
		struct svg_box frame = {MARGIN, y, l.frame_width, 0};

		for (size_t i = first; i < v->n_groups && i < first + l.frames; i++)
			frame.height = show_max(frame.height, group_height(v, &l, &v->groups[i]));
		for (size_t i = first; i < v->n_groups && i < first + l.frames; i++) {
			draw_group(out, frame, &l, v, &v->groups[i]);
			frame.x += l.frame_width + GAP;
		}
		y += frame.height + GAP;
	}
	return y;
}

/* ---- the whole */

static size_t draw_head(struct strbuf *out, size_t y, size_t width, const struct show_view *v)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(BODY_MAX);

	svg_text(out, MARGIN, y + 18, "title", v->node_name);
	y = svg_paragraph(out, MARGIN, y + 28, width, "mono", v->machine);
	y = svg_paragraph(out, MARGIN, y, width, "mono", v->kubelet);
	strbuf_addf(&line, "reserved CPUs %s", v->reserved ? v->reserved : "are not known");
	if (!v->reserved || *v->reserved)
		y = svg_paragraph(out, MARGIN, y, width, "mono", line.text);
	strbuf_reset(&line);
	strbuf_addf(&line, "offline CPUs %s", v->offline);
	if (v->n_offline > 0)
		y = svg_paragraph(out, MARGIN, y, width, "mono", line.text);
	return y + 8;
}

/* Returns the y below the roots. */
static size_t draw_roots(struct strbuf *out, size_t y, size_t width, const struct show_view *v)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(BODY_MAX);

	if (v->n_roots == 0)
		return y;
	svg_text(out, MARGIN, y + 13, "h", SHOW_ROOTS_TITLE);
	y += SVG_LINE + 4;
	for (size_t i = 0; i < v->n_roots; i++) {
		strbuf_reset(&line);
		show_root_title(&v->roots[i], &line);
		y = svg_paragraph(out, MARGIN, y, width, "mono faint", line.text);
		strbuf_reset(&line);
		show_root_text(v, &v->roots[i], &line);
		y = svg_paragraph(out, MARGIN + 2 * PAD, y, width - 2 * PAD, "mono", line.text);
	}
	return y + GAP;
}

static size_t draw_body(struct strbuf *out, size_t width, const struct show_view *v)
{
	size_t inner = width - 2 * MARGIN, matrix = svg_matrix_width(v, inner), y, below;

	y = draw_head(out, MARGIN, inner, v);
	y = draw_groups(out, y, inner, v);
	y = draw_roots(out, y, inner, v);
	y = svg_legend(out, MARGIN, y, inner, v) + GAP + 6;
	if (v->n_holders > 0 && matrix > 0 && inner >= matrix + 2 * MARGIN + 320) {
		below = svg_matrix(out, width - MARGIN - matrix, y, inner, v);
		y = show_max(below, svg_holders(out, MARGIN, y, inner - matrix - 2 * MARGIN, v));
	} else {
		y = svg_holders(out, MARGIN, y, inner, v);
		y = svg_matrix(out, MARGIN, y + (v->n_holders > 0 ? GAP : 0), inner, v);
	}
	y += v->notes->lines.n_items > 0 ? GAP : 0;
	for (size_t i = 0; i < v->notes->lines.n_items; i++)
		y = svg_paragraph(out, MARGIN, y, inner, "mono note", v->notes->lines.items[i]);
	return y + MARGIN - 4;
}

/* Writes the description for screen readers. */
static void describe(struct strbuf *out, const struct show_view *v)
{
	svg_escape(out, v->machine);
	strbuf_addstr(out, ". ");
	svg_escape(out, v->kubelet);
	strbuf_addstr(out, ". Available of allocatable:");
	for (size_t n = 0; n < v->n_nodes; n++) {
		strbuf_addf(out, " NUMA node %d:", v->nodes[n].id);
		for (size_t i = 0; i < v->n_resources; i++) {
			char text[SHOW_AMOUNTS_SIZE];

			show_amounts_text(v, &v->nodes[n], i, false, text);
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
	struct svg_box page = {0, 0, show_max(width, SHOW_SVG_MIN_WIDTH), 0};

	page.height = draw_body(&body, page.width, v);
	strbuf_addf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" "
		"viewBox=\"0 0 %zu %zu\" role=\"img\" ",
		page.width, page.height, page.width, page.height);
	if (alone) {
		strbuf_addstr(out,
			"aria-labelledby=\"nrtd-title nrtd-desc\">\n<title id=\"nrtd-title\">NUMA topology of ");
		svg_escape(out, v->node_name);
		strbuf_addstr(out, "</title>\n<desc id=\"nrtd-desc\">");
		describe(out, v);
		strbuf_addf(out, "</desc>\n<style>\n%s</style>\n%s", show_svg_style, show_svg_defs);
	} else {
		strbuf_addstr(out, "aria-label=\"");
		describe(out, v);
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
