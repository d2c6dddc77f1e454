/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * show_amount: amounts of the view as text, the lengths of bars and the levels of the heat map.
 */
#include "agent/report/show_view.h"

extern const char *const show_state_names[SHOW_STATE_COUNT]; /* "use not known", "shared", ... */

/* Threads of the core that begins at cpus[at]. */
size_t show_core_size(const struct show_node *node, size_t at);

/* cpus[at] is the first of its L3 cache: there is a border before it, unless it is the first of its node. */
bool show_is_l3_first(const struct show_node *node, size_t at);

/* Resource `at` has a line among what the node has: memory, hugepages, devices, and CPUs that are counted but
 * not listed one by one. */
bool show_has_line(const struct show_view *v, const struct show_node *node, size_t at);

/* "31.9Gi", "512Mi", "12": rounded down to what fits in 7 characters for amounts below 10^5 of the unit. */
#define SHOW_AMOUNT_SIZE QUANTITY_TEXT_MAX
void show_amount_text(enum show_kind kind, qty_t nano, char text[SHOW_AMOUNT_SIZE]);

/*
 * What a node shows of a resource: "12.5Gi of 31.9Gi" (available of allocatable), only "12.5Gi" when `brief`,
 * "none" where the capacity is 0, "2 held" for devices nobody has counted, "" for nothing.
 */
#define SHOW_AMOUNTS_SIZE (2 * SHOW_AMOUNT_SIZE + 8)
void show_amounts_text(const struct show_view *v, const struct show_node *node, size_t resource, bool brief,
	char text[SHOW_AMOUNTS_SIZE]);

/* "2 of 10 free" ("2 free" when brief), "no CPUs". */
void show_cpus_text(
	const struct show_view *v, const struct show_node *node, bool brief, char text[SHOW_AMOUNTS_SIZE]);

/*
 * Split a bar of `width` cells: reserved (capacity - allocatable), held (allocatable - available), the rest
 * is free. A part that is not 0 has a cell as long as there are enough.
 */
struct show_bar {
	size_t reserved, held, free;
};
struct show_bar show_bar(const struct inventory_amount *amount, size_t width);

/* Levels of the heat map: 0 for the least distance of the matrix, SHOW_HEAT_LEVELS - 1 for the largest. */
#define SHOW_HEAT_LEVELS 5
struct show_heat {
	unsigned least, most;
};
struct show_heat show_heat(const struct show_view *v);
size_t show_heat_level(const struct show_heat *heat, unsigned distance);

/*
 * The distance to show for a block of `block` by `block` NUMA nodes, the one in this row and column of such
 * blocks: the largest, or 0 when one of it is unknown.
 */
unsigned show_block_distance(const struct show_view *v, size_t block, size_t row, size_t col);
