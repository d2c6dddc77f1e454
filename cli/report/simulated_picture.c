/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws a simulation as an SVG picture: a row per node, its NUMA nodes before and after.
 */
#include <stdio.h>
#include <string.h>

#include "cli/report/show.h"
#include "cli/report/simulated_report.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/xalloc.h"

/* In pixels */
#define MARGIN         24
#define ROW            22
#define BAR_HEIGHT     14u
#define CHAR_WIDTH     7   /* of the fixed-width font, rounded up */
#define HALF_WIDTH     300 /* of the bars before, and of those after */
#define GAP            4
#define RESULT_WIDTH   240
#define NAME_MAX_CHARS 40u

struct columns {
	size_t before, after, result, width; /* left edges, and the width of the picture */
};

static void draw_rect(struct strbuf *out, const char *class, size_t x, size_t y, size_t width)
{
	if (width > 0)
		strbuf_addf(out, "<rect class=\"%s\" x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%u\"/>\n",
			class, x, y, width, BAR_HEIGHT);
}

static void draw_text(struct strbuf *out, size_t x, size_t y, const char *class, const char *text)
{
	strbuf_addf(out, "<text class=\"%s\" x=\"%zu\" y=\"%zu\">", class, x, y);
	svg_escape(out, text);
	strbuf_addstr(out, "</text>\n");
}

/* The CPUs of one NUMA node; the tooltip has the numbers. */
static void draw_zone(struct strbuf *out, const struct simulated_zone *zone, size_t x, size_t y, size_t width)
{
	struct show_bar bar = show_bar(&zone->cpus, width);

	strbuf_addf(out, "<g><title>NUMA node %u: %lld of %lld CPUs free</title>\n", zone->id,
		(long long)(zone->cpus.available / QTY_UNIT), (long long)(zone->cpus.allocatable / QTY_UNIT));
	draw_rect(out, "reserved", x, y, bar.reserved);
	draw_rect(out, "held", x + bar.reserved, y, bar.held);
	draw_rect(out, "free", x + bar.reserved + bar.held, y, bar.free);
	strbuf_addstr(out, "</g>\n");
}

/* `missing`: what to say of a node without NUMA nodes. */
static void draw_zones(
	struct strbuf *out, const struct simulated_amounts *a, size_t x, size_t y, const char *missing)
{
	size_t width = a->n_zones > 0 ? HALF_WIDTH / a->n_zones : 0;

	if (a->n_zones == 0)
		draw_text(out, x, y + BAR_HEIGHT - 3, "faint", missing);
	for (size_t i = 0; i < a->n_zones; i++)
		draw_zone(out, &a->zones[i], x + i * width, y, width > 2 * GAP ? width - GAP : width);
}

static void draw_result(struct strbuf *out, const struct simulated_change *n, size_t x, size_t y)
{
	char text[64] = "";

	if (n->n_rejected > 0)
		text_addf(text, sizeof(text), "%zu rejected", n->n_rejected);
	if (n->n_unknown > 0)
		text_addf(text, sizeof(text), "%s%zu unknown", *text ? ", " : "", n->n_unknown);
	if (n->n_wider > 0)
		text_addf(text, sizeof(text), "%s%zu wider", *text ? ", " : "", n->n_wider);
	if (*text)
		draw_text(out, x, y + BAR_HEIGHT - 3, "note", text);
}

static void draw_node(struct strbuf *out, const char *name, const struct simulated_change *n,
	const struct columns *columns, size_t y)
{
	char cut[NAME_MAX_CHARS + 1];

	snprintf(cut, sizeof(cut), "%s", name);
	draw_text(out, MARGIN, y + BAR_HEIGHT - 3, "mono", cut);
	draw_zones(out, &n->before, columns->before, y, n->added ? "new" : "unknown");
	draw_zones(out, &n->after, columns->after, y, n->without ? "gone" : "unknown");
	draw_result(out, n, columns->result, y);
}

static void draw_legend(struct strbuf *out, size_t y)
{
	static const char *const classes[] = {"free", "held", "reserved"};
	size_t x = MARGIN;

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++, x += 100) {
		draw_rect(out, classes[i], x, y, BAR_HEIGHT);
		draw_text(out, x + BAR_HEIGHT + 6, y + BAR_HEIGHT - 3, "mono", classes[i]);
	}
}

/* *ret_rows: the nodes that are drawn. */
static struct columns place_columns(
	const struct simulated_cluster *c, const struct simulation *s, size_t *ret_rows)
{
	size_t longest = strlen("node");
	struct columns columns;

	*ret_rows = 0;
	for (size_t i = 0; i < s->n_nodes; i++) {
		size_t length = strlen(c->nodes[i].name);

		if (!simulate_is_shown(&s->nodes[i]))
			continue;
		++*ret_rows;
		longest = length > longest ? length : longest;
	}
	if (longest > NAME_MAX_CHARS)
		longest = NAME_MAX_CHARS;
	columns.before = MARGIN + longest * CHAR_WIDTH + MARGIN;
	columns.after = columns.before + HALF_WIDTH + MARGIN;
	columns.result = columns.after + HALF_WIDTH + MARGIN;
	columns.width = columns.result + RESULT_WIDTH;
	return columns;
}

int simulate_picture(const struct simulated_cluster *c, const struct simulation *s, struct strbuf *out)
{
	size_t n_rows, y = MARGIN;
	struct columns columns = place_columns(c, s, &n_rows);
	size_t height = 3 * MARGIN + (n_rows + 2) * ROW;
	CLEANUP(freep) char *proposed = xasprintf("proposed: %s", text_or_empty(s->proposed));

	strbuf_addf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" viewBox=\"0 0 %zu %zu\">\n<style>\n",
		columns.width, height, columns.width, height);
	strbuf_addstr(out, show_svg_style);
	strbuf_addstr(out, "</style>\n");
	strbuf_addstr(out, show_svg_defs);
	strbuf_addf(out, "<rect class=\"page\" x=\"1\" y=\"1\" width=\"%zu\" height=\"%zu\"/>\n",
		columns.width - 2, height - 2);
	draw_text(out, MARGIN, y + BAR_HEIGHT, "h", "node");
	draw_text(out, columns.before, y + BAR_HEIGHT, "h", "CPUs now");
	draw_text(out, columns.after, y + BAR_HEIGHT, "h", "simulated");
	draw_text(out, columns.result, y + BAR_HEIGHT, "h", "pods");
	y += ROW + GAP;
	for (size_t i = 0; i < s->n_nodes; i++)
		if (simulate_is_shown(&s->nodes[i])) {
			draw_node(out, c->nodes[i].name, &s->nodes[i], &columns, y);
			y += ROW;
		}
	draw_legend(out, y + MARGIN);
	if (s->proposed)
		draw_text(out, columns.after, y + MARGIN + BAR_HEIGHT - 3, "note", proposed);
	strbuf_addstr(out, "</svg>\n");
	return strbuf_error(out);
}
