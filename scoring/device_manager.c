/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/device_manager.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/vec.h"
#include "scoring/node_mask.h"

void device_inventory_init(struct device_inventory *inventory)
{
	memset(inventory, 0, sizeof(*inventory));
}

void device_inventory_release(struct device_inventory *inventory)
{
	for (size_t i = 0; i < inventory->n_resources; i++) {
		free(inventory->resources[i].name);
		free(inventory->resources[i].devices);
	}
	free(inventory->resources);
	device_inventory_init(inventory);
}

const struct device_resource *device_inventory_find(
	const struct device_inventory *inventory, const char *name)
{
	for (size_t i = 0; i < inventory->n_resources; i++)
		if (!strcmp(inventory->resources[i].name, name))
			return &inventory->resources[i];
	return NULL;
}

int device_inventory_add(struct device_inventory *inventory, const char *name, struct device device)
{
	size_t i = 0;
	struct device_resource *resource;

	while (i < inventory->n_resources && strcmp(inventory->resources[i].name, name) != 0)
		i++;
	if (i == inventory->n_resources) {
		char *copy = strdup(name);

		if (!copy || vec_grow(&inventory->resources, &inventory->resources_size, i + 1,
				     sizeof(*inventory->resources)) < 0) {
			free(copy);
			return -ENOMEM;
		}
		inventory->resources[inventory->n_resources++] = (struct device_resource){.name = copy};
	}
	resource = &inventory->resources[i];
	if (vec_grow(&resource->devices, &resource->devices_size, resource->n_devices + 1,
		    sizeof(*resource->devices)) < 0)
		return -ENOMEM;
	resource->devices[resource->n_devices++] = device;
	return 0;
}

int device_manager_init(struct device_manager *dm, const struct device_inventory *inventory, uint64_t nodes,
	const struct kubelet_version *version)
{
	*dm = (struct device_manager){.inventory = inventory,
		.nodes = nodes,
		.first = calloc(inventory->n_resources + 1, sizeof(*dm->first)),
		.hints_on_every_node = version->device_hints_on_every_node};
	if (!dm->first)
		return -ENOMEM;
	for (size_t r = 0; r < inventory->n_resources; r++) {
		size_t n = inventory->resources[r].n_devices;

		dm->first[r] = dm->n_devices;
		dm->n_devices += n;
		if (n > dm->n_most)
			dm->n_most = n;
	}
	return 0;
}

void device_manager_release(struct device_manager *dm)
{
	free(dm->first);
	memset(dm, 0, sizeof(*dm));
}

int device_books_init(struct device_books *books, const struct device_manager *dm)
{
	*books = (struct device_books){.allocated = calloc(dm->n_devices + 1, sizeof(bool)),
		.reusable = calloc(dm->n_devices + 1, sizeof(bool)),
		.groups = calloc(dm->n_most + 1, sizeof(*books->groups))};
	if (books->allocated && books->reusable && books->groups)
		return 0;
	device_books_release(books);
	return -ENOMEM;
}

void device_books_release(struct device_books *books)
{
	free(books->allocated);
	free(books->reusable);
	free(books->groups);
	memset(books, 0, sizeof(*books));
}

void device_books_begin_pod(struct device_books *books, const struct device_manager *dm)
{
	memset(books->reusable, 0, dm->n_devices * sizeof(*books->reusable));
}

void device_books_reset(struct device_books *books, const struct device_manager *dm)
{
	for (size_t r = 0; r < dm->inventory->n_resources; r++) {
		const struct device_resource *resource = &dm->inventory->resources[r];

		for (size_t i = 0; i < resource->n_devices; i++)
			books->allocated[dm->first[r] + i] = resource->devices[i].allocated;
	}
	device_books_begin_pod(books, dm);
}

/* The groups of one resource that `available` and `reusable` belong to. */
struct grouping {
	struct device_group *groups;
	size_t n_groups;
	uint64_t nodes; /* of all its devices */
	size_t available, reusable;
};

/* Count one device. */
static void group_device(struct grouping *g, uint64_t nodes, bool available, bool reusable)
{
	size_t i = 0;

	while (i < g->n_groups && g->groups[i].nodes != nodes)
		i++;
	if (i == g->n_groups)
		g->groups[g->n_groups++] = (struct device_group){.nodes = nodes};
	g->groups[i].total++;
	g->groups[i].available += available;
	g->groups[i].reusable += reusable;
	g->nodes |= nodes;
	g->available += available;
	g->reusable += reusable;
}

/* Group a resource's devices; those that are free and those that may be used again are counted apart. */
static struct grouping group_devices(const struct device_manager *dm, struct device_books *books, size_t r)
{
	const struct device_resource *resource = &dm->inventory->resources[r];
	struct grouping g = {.groups = books->groups};

	for (size_t i = 0; i < resource->n_devices; i++) {
		size_t at = dm->first[r] + i;

		group_device(&g, resource->devices[i].nodes,
			resource->devices[i].healthy && !books->allocated[at], books->reusable[at]);
	}
	return g;
}

/* generateDeviceTopologyHints() */
static void make_hints(
	const struct device_manager *dm, const struct grouping *g, size_t n, struct topology_hints *ret_hints)
{
	uint64_t nodes =
		dm->hints_on_every_node || !(g->nodes & dm->nodes) ? dm->nodes : g->nodes & dm->nodes;
	unsigned min_nodes = node_mask_count(nodes);
	struct node_mask_walk walk;
	uint64_t mask;

	node_mask_walk_start(&walk, nodes);
	while (node_mask_walk_next(&walk, &mask)) {
		size_t total = 0, matching = 0;
		bool all_reusable = true;

		for (size_t i = 0; i < g->n_groups; i++) {
			const struct device_group *group = &g->groups[i];

			if (group->nodes & mask) {
				total += group->total;
				matching += group->available + group->reusable;
			} else if (group->nodes && group->reusable) {
				all_reusable = false;
			}
		}
		if (total >= n && walk.size < min_nodes)
			min_nodes = walk.size;
		if (all_reusable && matching >= n)
			topology_hints_add(ret_hints, mask, false);
	}
	for (size_t i = 0; i < ret_hints->n_items; i++)
		ret_hints->items[i].preferred = node_mask_count(ret_hints->items[i].nodes) == min_nodes;
}

void device_manager_hints(const struct device_manager *dm, struct device_books *books, size_t r, size_t n,
	struct topology_hints *ret_hints)
{
	struct grouping g = group_devices(dm, books, r);

	topology_hints_clear(ret_hints);
	ret_hints->no_preference = g.nodes == 0;
	if (g.nodes && g.available + g.reusable >= n)
		make_hints(dm, &g, n, ret_hints);
}

static void count_mask(const void *ctx, uint64_t nodes, uint64_t *ret_capacity, uint64_t *ret_free)
{
	const struct grouping *g = ctx;

	*ret_capacity = *ret_free = 0;
	for (size_t i = 0; i < g->n_groups; i++)
		if (g->groups[i].nodes & nodes) {
			*ret_capacity += g->groups[i].total;
			*ret_free += g->groups[i].available + g->groups[i].reusable;
		}
}

struct resource_fit device_manager_fit(
	const struct device_manager *dm, struct device_books *books, size_t r, size_t n)
{
	struct grouping g = group_devices(dm, books, r);

	return resource_fit_find(g.nodes & dm->nodes, n, count_mask, &g);
}

/* In which turn a device is taken; the last turn is for those not to be taken at all. */
enum turn { TURN_REUSABLE, TURN_ALIGNED, TURN_UNALIGNED, TURN_WITHOUT_NODE, TURN_NEVER };

static enum turn turn_of(
	const struct device *device, bool allocated, bool reusable, struct topology_hint hint)
{
	if (reusable)
		return TURN_REUSABLE;
	if (!device->healthy || allocated)
		return TURN_NEVER;
	if (hint.any_node || device->nodes == 0)
		return TURN_WITHOUT_NODE;
	return device->nodes & hint.nodes ? TURN_ALIGNED : TURN_UNALIGNED;
}

enum device_take_status device_manager_allocate(const struct device_manager *dm, struct device_books *books,
	size_t r, size_t n, struct topology_hint hint, enum container_kind kind, size_t *ret_available)
{
	const struct device_resource *resource = &dm->inventory->resources[r];
	bool *allocated = books->allocated + dm->first[r], *reusable = books->reusable + dm->first[r];
	bool any_healthy = false;
	size_t available = 0, left = n;

	for (size_t i = 0; i < resource->n_devices; i++) {
		any_healthy = any_healthy || resource->devices[i].healthy;
		available += turn_of(&resource->devices[i], allocated[i], reusable[i], hint) != TURN_NEVER;
	}
	*ret_available = available;
	if (!any_healthy)
		return DEVICE_TAKE_NONE_HEALTHY;
	if (available < n)
		return DEVICE_TAKE_NOT_ENOUGH;
	for (enum turn turn = TURN_REUSABLE; turn < TURN_NEVER; turn++)
		for (size_t i = 0; i < resource->n_devices && left > 0; i++) {
			/* A device taken before is allocated by now: its turn is over. */
			if (turn_of(&resource->devices[i], allocated[i], reusable[i], hint) != turn)
				continue;
			allocated[i] = true;
			reusable[i] = kind == CONTAINER_INIT;
			left--;
		}
	return DEVICE_TAKE_OK;
}
