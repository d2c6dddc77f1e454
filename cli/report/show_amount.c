/* SPDX-License-Identifier: Apache-2.0 */
/* Converts amounts of the view to texts, bars, keys and levels of the heat map. */
#include "cli/report/show.h"

#include <stdio.h>

#include "common/resource.h"
#include "common/text.h"

const char *const show_state_names[SHOW_STATE_COUNT] = {
	[SHOW_UNKNOWN] = "use not known",
	[SHOW_SHARED] = "shared",
	[SHOW_RESERVED] = "reserved",
	[SHOW_EXCLUSIVE] = "exclusive",
	[SHOW_OFFLINE] = "offline",
};

/* "512Mi", "1.5Gi": rounded down; one decimal below 100 units, so that the text stays short. */
static void bytes_text(uint64_t bytes, char text[SHOW_AMOUNT_SIZE])
{
	static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
	size_t unit = 0;
	uint64_t whole, tenths;

	while (unit + 1 < sizeof(units) / sizeof(units[0]) && bytes >> (10 * (unit + 1)) > 0)
		unit++;
	whole = bytes >> (10 * unit);
	tenths = unit > 0 ? ((bytes >> (10 * (unit - 1))) & 1023) * 10 / 1024 : 0;
	if (tenths > 0 && whole < 100)
		snprintf(text, SHOW_AMOUNT_SIZE, "%llu.%llu%s", (unsigned long long)whole,
			(unsigned long long)tenths, units[unit]);
	else
		snprintf(text, SHOW_AMOUNT_SIZE, "%llu%s", (unsigned long long)whole, units[unit]);
}

void show_amount_text(enum show_kind kind, qty_t nano, char text[SHOW_AMOUNT_SIZE])
{
	struct quantity q = {.nano = nano, .format = QUANTITY_DECIMAL_SI};

	if (kind == SHOW_BYTES && nano >= 0) {
		qty_t bytes = nano / QTY_UNIT;

		bytes_text(bytes > (qty_t)UINT64_MAX ? UINT64_MAX : (uint64_t)bytes, text);
		return;
	}
	quantity_print(q, text);
}

void show_available_text(const struct show_view *v, const struct show_node *node, size_t resource, bool brief,
	char text[SHOW_AMOUNTS_SIZE])
{
	const struct inventory_amount *a = &node->amounts[resource];
	enum show_kind kind = v->resources[resource].kind;
	char available[SHOW_AMOUNT_SIZE], allocatable[SHOW_AMOUNT_SIZE];

	show_amount_text(kind, a->available, available);
	show_amount_text(kind, a->allocatable, allocatable);
	*text = '\0';
	if (!a->present && node->devices[resource].n_holders > 0)
		snprintf(text, SHOW_AMOUNTS_SIZE, "%zu held", node->devices[resource].n_holders);
	else if (a->present && a->capacity == 0)
		snprintf(text, SHOW_AMOUNTS_SIZE, "none");
	else if (a->present && brief)
		snprintf(text, SHOW_AMOUNTS_SIZE, "%s", available);
	else if (a->present)
		snprintf(text, SHOW_AMOUNTS_SIZE, "%s of %s", available, allocatable);
}

void show_cpus_text(
	const struct show_view *v, const struct show_node *node, bool brief, char text[SHOW_AMOUNTS_SIZE])
{
	snprintf(text, SHOW_AMOUNTS_SIZE, "no CPUs");
	for (size_t i = 0; i < v->n_resources; i++) {
		if (v->resources[i].kind != SHOW_CPUS || !node->amounts[i].present)
			continue;
		show_available_text(v, node, i, brief, text);
		text_addf(text, SHOW_AMOUNTS_SIZE, " free");
	}
}

size_t show_core_size(const struct show_node *node, size_t at)
{
	size_t n = 1;

	while (at + n < node->n_cpus && node->cpus[at + n].core == node->cpus[at].core)
		n++;
	return n;
}

bool show_is_l3_first(const struct show_node *node, size_t at)
{
	return at == 0 || node->cpus[at].l3_rank != node->cpus[at - 1].l3_rank;
}

bool show_has_line(const struct show_view *v, const struct show_node *node, size_t at)
{
	if (v->resources[at].kind == SHOW_CPUS)
		return node->amounts[at].present && node->n_cpus == 0;
	return node->amounts[at].present || node->devices[at].n_holders > 0;
}

/* part/whole of `width` cells, rounded; at least one cell for a part that is not 0. A part may be larger than the whole in
 * another exporter's object: then all cells. */
static size_t cells_of(qty_t part, qty_t whole, size_t width)
{
	double cells;

	if (part <= 0 || whole <= 0)
		return 0;
	if (part >= whole)
		return width;
	cells = (double)part / (double)whole * (double)width;
	return cells < 1 ? 1 : (size_t)(cells + 0.5);
}

struct show_bar show_bar(const struct inventory_amount *amount, size_t width)
{
	/* The cells that a small free or held part keeps, so that the part is visible. */
	size_t min_free = amount->available > 0 && width > 0 ? 1 : 0, min_held;
	struct show_bar bar = {0, 0, 0};

	if (amount->capacity <= 0)
		return bar;
	bar.reserved = cells_of(qty_add(amount->capacity, -amount->allocatable), amount->capacity, width);
	bar.held = cells_of(qty_add(amount->allocatable, -amount->available), amount->capacity, width);
	min_held = bar.held > 0 && width > min_free ? 1 : 0;
	bar.reserved = show_min(bar.reserved, width - min_free - min_held);
	bar.held = show_min(bar.held, width - min_free - bar.reserved);
	bar.free = width - bar.reserved - bar.held;
	if (min_free > 0)
		return bar;
	/* Nothing is free: cells left over by rounding belong to another part. */
	if (bar.held > 0)
		bar.held += bar.free;
	else
		bar.reserved += bar.free;
	bar.free = 0;
	return bar;
}

struct show_heat show_heat(const struct show_view *v)
{
	struct show_heat heat = {0, 0};

	for (size_t i = 0; i < v->n_distances * v->n_distances; i++) {
		unsigned d = v->distances[i];

		if (d > heat.max)
			heat.max = d;
		if (d > 0 && (heat.min == 0 || d < heat.min))
			heat.min = d;
	}
	return heat;
}

size_t show_heat_level(const struct show_heat *heat, unsigned distance)
{
	unsigned span = heat->max - heat->min;

	if (distance <= heat->min || span == 0)
		return 0;
	/* Rounded up, so that only the smallest distance is at the lowest level. */
	return ((size_t)(distance - heat->min) * (SHOW_HEAT_LEVELS - 1) + span - 1) / span;
}

unsigned show_block_distance(const struct show_view *v, size_t block, size_t row, size_t col)
{
	unsigned largest = 0;

	for (size_t i = row * block; i < (row + 1) * block && i < v->n_distances; i++)
		for (size_t j = col * block; j < (col + 1) * block && j < v->n_distances; j++) {
			unsigned d = v->distances[i * v->n_distances + j];

			if (d == 0)
				return 0;
			largest = d > largest ? d : largest;
		}
	return largest;
}

char show_key(const struct show_view *v, int holder, char nobody)
{
	return holder >= 0 && (size_t)holder < v->n_holders ? v->holders[holder].key : nobody;
}
