/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Draws the parts of the picture of a node. show_layout.c decides which parts there are, and where.
 *
 * There are two pens: show_text.c draws on the grid of a terminal, show_svg.c writes SVG. All positions and sizes are in the units
 * of the pen: columns and lines of the terminal, or pixels. y is the upper edge of a part.
 */
#include <stdint.h>

#include "cli/report/show.h"

#define SHOW_DENSE_NODES 16 /* more boxes are drawn with the sizes dense_* */

/* The sizes of the parts and the spaces between them: row(name, on a terminal, in SVG). */
/* clang-format off */
#define SHOW_UNITS(row) \
	row(line, 1, 18)          /* from one line of text to the next */ \
	row(column, 1, 7)         /* of a character, rounded up */ \
	row(margin, 0, 24)        /* around the picture */ \
	row(indent, 3, 28)        /* of the devices of a PCIe root */ \
	/* the frame of a socket: from the frame to its contents, and between two frames */ \
	row(frame_x, 2, 14) row(frame_top, 1, 34) row(frame_bottom, 1, 14) row(frame_gap_x, 1, 12) row(frame_gap_y, 0, 12) \
	/* a NUMA node: minimum width, between two NUMA nodes, from the edges to the contents */ \
	row(node_width, 35, 280) row(dense_node_width, 17, 176) \
	row(node_gap_x, 3, 12) row(dense_node_gap_x, 2, 12) row(node_gap_y, 1, 12) row(dense_node_gap_y, 0, 12) \
	row(node_x, 0, 14) row(node_y, 0, 10) row(node_head, 1, 22) row(below_cpus, 0, 4) \
	row(stretch, 1, 0)        /* 1 = gaps between frames, and between NUMA nodes, grow to the right edge */ \
	row(align, 1, 0)          /* 1 = a resource has the same y in all NUMA nodes on a line */ \
	row(id_column, 1, 9)      /* of a character of the id */ \
	row(id_gap, 2, 8)         /* from the id to the CPU list */ \
	row(list_gap, 2, 1)       /* characters after the CPU list */ \
	row(list_min, 1, 4)       /* characters: with less space the CPU list is omitted */ \
	row(cell, 1, 16)          /* from one CPU or device to the next */ \
	row(dense_cell, 1, 12) \
	row(cell_gap, 0, 2)       /* between two devices */ \
	row(cell_y, 0, 1)         /* above a device or a key */ \
	row(holders_title, 0, 1)  /* 1 = the list of pods has a title */ \
	row(holders_min, 40, 320) /* minimum width of the list of pods beside the distances */ \
	row(lists_gap, 3, 48)     /* between the list of pods and the distances */ \
	row(key, 1, 16)           /* the letter of a pod */ \
	row(key_width, 3, 26)     /* from the left edge of the letter to the name of the pod */ \
	row(holds_gap, 3, 0)      /* from the name to what the pod holds; 0 = never on one line */ \
	row(matrix_min, 28, 240)  /* minimum width, for the title */ \
	row(numbers_max, 32, 16)  /* NUMA nodes; the distances of more NUMA nodes have no numbers */ \
	row(cells_max, SIZE_MAX, 128) /* cells without numbers on a line */ \
	row(cell_min, 1, 5) row(cell_max, 1, 12) \
	/* the width of the ids and of a number: a constant, and for each digit */ \
	row(id, 1, 34) row(id_digit, 1, 0) row(number, 2, 32) row(number_digit, 1, 0) row(number_height, 1, 22) \
	/* between the parts of the picture */ \
	row(below_head, 1, 8) row(below_title, 0, 6) row(below_roots_title, 0, 4) row(below_roots, 1, 12) row(above_lists, 1, 0) \
	row(below_holder, 0, 4) row(below_holders, 0, 12) row(above_distances, 1, 0) row(above_notes, 1, 12)
/* clang-format on */

struct show_units {
#define SHOW_UNIT(name, terminal, svg) size_t name;
	SHOW_UNITS(SHOW_UNIT)
#undef SHOW_UNIT
};

struct show_box {
	size_t x, y, width, height;
};

/* A box of the picture: a NUMA node, or several equal NUMA nodes without CPUs. */
struct show_place {
	const struct show_node *node; /* the first of these NUMA nodes */
	size_t n;                     /* NUMA nodes */
	char *ids;                    /* of several: "2-33"; else NULL */
};

struct show_places {
	struct show_place *items; /* by group */
	size_t n_items;
	size_t *first; /* per group, and one more: the index of its first place */
};

/* Finds the boxes of a view. NUMA nodes of a group are equal if they have no CPUs, nobody's devices and the same amounts. */
void show_places_find(const struct show_view *v, struct show_places *ret);
void show_places_release(struct show_places *places);

/* The layout of all NUMA nodes, which have equal sizes and form columns. */
struct show_layout {
	bool dense;     /* only the available amounts have numbers */
	size_t columns; /* NUMA nodes per line */
	size_t node_width, node_pitch;
	size_t cell;   /* from one CPU or device to the next */
	size_t frames; /* sockets per line; 1 if the NUMA nodes of a socket need several lines */
	size_t frame_width, frame_pitch;
	size_t label_width, amount_width; /* of a resource, including the space between text and bar */
	size_t label_max;                 /* characters of a label */
	bool gapped;                      /* on terminals: a space between cores */
};

struct show_matrix {
	struct show_heat heat;
	bool numbers; /* cells contain the distances */
	size_t id_width, cell_width, cell_height;
	size_t block, n_cells; /* a cell represents block x block NUMA nodes; cells per line */
};

enum show_line {
	SHOW_LINE_NODE,
	SHOW_LINE_MACHINE,
	SHOW_LINE_KUBELET,
	SHOW_LINE_RESERVED, /* text NULL = unknown */
	SHOW_LINE_OFFLINE,
	SHOW_LINE_FIRST_NOTE,
	SHOW_LINE_NOTE,
	SHOW_LINE_COUNT
};

/* A text that is too long continues on the next line. Exception: on a terminal all but SHOW_PLAIN is cut. */
enum show_style { SHOW_HEADING, SHOW_STRONG, SHOW_FAINT, SHOW_PLAIN, SHOW_STYLE_COUNT };

struct show_pen {
	const struct show_view *view;
	const struct show_units *units;
	const struct show_places *places; /* of the view */
	size_t width;                     /* of the picture */

	/* Draw a line of the head or a note, other text, the legend. These functions return the y below. */
	size_t (*line)(const struct show_pen *p, size_t y, enum show_line line, const char *text);
	size_t (*text)(const struct show_pen *p, size_t x, size_t y, size_t width, enum show_style style,
		const char *text);
	size_t (*legend)(const struct show_pen *p, size_t y);

	/* Draws the frame of a socket. */
	void (*frame)(const struct show_pen *p, struct show_box box, const char *title);

	/* Draws the first line of a NUMA node; `id` NULL = the CPUs outside every NUMA node. Then its CPU list. */
	void (*node)(const struct show_pen *p, const struct show_layout *l, struct show_box box,
		const char *id, const char *amount);
	void (*cpu_list)(const struct show_pen *p, size_t x, size_t y, size_t columns, const char *list);

	/* Draws the CPUs of a NUMA node. Returns the height; only measures unless `draw`. */
	size_t (*cpus)(const struct show_pen *p, const struct show_layout *l, const struct show_node *node,
		struct show_box box, bool draw);

	/* Draw the texts at both ends of the line of a resource, and the bar in between. */
	void (*resource)(const struct show_pen *p, const struct show_layout *l, struct show_box box,
		const char *label, const char *amount);
	void (*bar)(const struct show_pen *p, size_t x, size_t y, size_t width, struct show_bar bar);

	/* Draws a CPU or device, with the letter of its holder unless SHOW_NOBODY. `title` is a tooltip. */
	void (*cell)(const struct show_pen *p, size_t x, size_t y, size_t size, enum show_state state,
		int holder, const char *title);

	/* Draw the matrix: the id of row and column i, a distance with its level (-1 = unknown), the legend of the levels. */
	void (*matrix_id)(const struct show_pen *p, const struct show_matrix *m, size_t x, size_t y, size_t i,
		const char *id);
	void (*distance)(const struct show_pen *p, const struct show_matrix *m, struct show_box box,
		int level, const char *text, const char *title);
	size_t (*scale)(const struct show_pen *p, const struct show_matrix *m, size_t x, size_t y);

	/* Sets the members of the layout for resources and `gapped`; all other members are set. */
	void (*fit)(const struct show_pen *p, struct show_layout *l);

	/* Raises the minimum of node_width if the resources need more, before `fit`. NULL = they do not. */
	void (*measure)(const struct show_pen *p, struct show_layout *l);

	struct canvas *canvas; /* of the terminal */
	bool colour;           /* of the terminal */
	struct strbuf *svg;
};

/* Draws the view of a pen. Returns the y below the picture. */
size_t show_lay_out(const struct show_pen *p);
