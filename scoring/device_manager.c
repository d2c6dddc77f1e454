/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/device_manager.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node_mask.h"

void device_inventory_release(struct device_inventory *inventory)
{
	for (size_t i = 0; i < inventory->n_resources; i++) {
		free(inventory->resources[i].name);
		free(inventory->resources[i].devices);
	}
	free(inventory->resources);
	*inventory = (struct device_inventory){0};
}

const struct device_resource *device_inventory_find(
	const struct device_inventory *inventory, const char *name)
{
	size_t at = VEC_LOWER_BOUND(inventory->resources, inventory->n_resources, name, name);

	return at < inventory->n_resources && !strcmp(inventory->resources[at].name, name)
		       ? &inventory->resources[at]
		       : NULL;
}

void device_inventory_add(struct device_inventory *inventory, const char *name, struct device device)
{
	size_t at = VEC_LOWER_BOUND(inventory->resources, inventory->n_resources, name, name);
	struct device_resource *resource;
	struct device *slot;

	if (at == inventory->n_resources || strcmp(inventory->resources[at].name, name) != 0) {
		vec_push(&inventory->resources, &inventory->n_resources, &inventory->resources_size,
			sizeof(*resource));
		resource = &inventory->resources[at];
		memmove(resource + 1, resource, (inventory->n_resources - 1 - at) * sizeof(*resource));
		*resource = (struct device_resource){.name = xstrdup(name)};
	}
	resource = &inventory->resources[at];
	slot = vec_push(&resource->devices, &resource->n_devices, &resource->devices_size, sizeof(*slot));
	*slot = device;
}

static int compare_masks(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Fill group_nodes[] and group_of[] for one resource, whose devices begin at `first` and whose groups are to begin at
 * `first_group`. Returns the number of groups. */
static size_t fill_device_groups(
	struct device_manager *dm, const struct device_resource *resource, size_t first, size_t first_group)
{
	uint64_t *nodes = dm->group_nodes + first_group;
	size_t n = 0;

	/* Adjacent devices mostly belong to one group. */
	for (size_t i = 0; i < resource->n_devices; i++)
		if (n == 0 || nodes[n - 1] != resource->devices[i].nodes)
			nodes[n++] = resource->devices[i].nodes;
	if (n > 1) {
		size_t kept = 0;

		qsort(nodes, n, sizeof(*nodes), compare_masks);
		for (size_t i = 0; i < n; i++)
			if (kept == 0 || nodes[kept - 1] != nodes[i])
				nodes[kept++] = nodes[i];
		n = kept;
	}
	for (size_t i = 0; i < resource->n_devices; i++) {
		const uint64_t *own = &resource->devices[i].nodes;
		const uint64_t *group = bsearch(own, nodes, n, sizeof(*nodes), compare_masks);

		if (group)
			dm->group_of[first + i] = (uint32_t)(group - nodes);
	}
	return n;
}

void device_manager_init(struct device_manager *dm, const struct device_inventory *inventory, uint64_t nodes,
	const struct kubelet_version *version)
{
	size_t n = inventory->n_resources, n_devices = 0, n_groups = 0;

	for (size_t r = 0; r < n; r++)
		n_devices += inventory->resources[r].n_devices;
	*dm = (struct device_manager){.inventory = inventory,
		.nodes = nodes,
		.n_devices = n_devices,
		.first = xcalloc(n + 1, sizeof(*dm->first)),
		.first_group = xcalloc(n + 1, sizeof(*dm->first_group)),
		.group_of = xcalloc(n_devices + 1, sizeof(*dm->group_of)),
		.group_nodes = xcalloc(n_devices + 1, sizeof(*dm->group_nodes)),
		.hints_on_every_node = version->device_hints_on_every_node};
	for (size_t r = 0; r < n; r++) {
		const struct device_resource *resource = &inventory->resources[r];
		size_t own = fill_device_groups(dm, resource, dm->first[r], n_groups);

		n_groups += own;
		dm->first[r + 1] = dm->first[r] + resource->n_devices;
		dm->first_group[r + 1] = n_groups;
		dm->most_groups = own > dm->most_groups ? own : dm->most_groups;
	}
}

void device_manager_release(struct device_manager *dm)
{
	free(dm->first);
	free(dm->first_group);
	free(dm->group_of);
	free(dm->group_nodes);
	memset(dm, 0, sizeof(*dm));
}

size_t device_manager_groups(const struct device_manager *dm, size_t r)
{
	return dm->first_group[r + 1] - dm->first_group[r];
}

uint64_t device_manager_hint_nodes(const struct device_manager *dm, size_t r)
{
	uint64_t nodes = 0;

	for (size_t i = dm->first_group[r]; i < dm->first_group[r + 1]; i++)
		nodes |= dm->group_nodes[i];
	if (nodes == 0)
		return 0;
	nodes &= dm->nodes;
	/* No node is left if the machine has none of the devices' nodes. */
	return dm->hints_on_every_node || nodes == 0 ? dm->nodes : nodes;
}

void device_books_init(struct device_books *books, const struct device_manager *dm)
{
	*books = (struct device_books){.allocated = xcalloc(dm->n_devices + 1, sizeof(bool)),
		.reusable = xcalloc(dm->n_devices + 1, sizeof(bool)),
		.groups = xcalloc(dm->most_groups + 1, sizeof(*books->groups))};
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

/* The groups of one resource, with sums over them. */
struct grouping {
	struct device_group *groups;
	size_t n_groups;
	uint64_t nodes; /* of all its devices */
	size_t available, reusable;
};

/* Group a resource's devices, and count available (healthy, not allocated) and reusable devices separately. The groups are valid until the next call. */
static struct grouping group_devices(const struct device_manager *dm, struct device_books *books, size_t r)
{
	const struct device_resource *resource = &dm->inventory->resources[r];
	const uint64_t *nodes = dm->group_nodes + dm->first_group[r];
	struct grouping g = {.groups = books->groups, .n_groups = device_manager_groups(dm, r)};

	for (size_t i = 0; i < g.n_groups; i++) {
		g.groups[i] = (struct device_group){.nodes = nodes[i]};
		g.nodes |= nodes[i];
	}
	for (size_t i = 0; i < resource->n_devices; i++) {
		size_t at = dm->first[r] + i;
		struct device_group *group = &g.groups[dm->group_of[at]];
		bool available = resource->devices[i].healthy && !books->allocated[at];

		group->total++;
		group->available += available;
		group->reusable += books->reusable[at];
		g.available += available;
		g.reusable += books->reusable[at];
	}
	return g;
}

/* generateDeviceTopologyHints() */
static void add_hints(uint64_t nodes, const struct grouping *g, size_t n, struct topology_hints *ret_hints)
{
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
				all_reusable = false; /* the kubelet takes reusable devices first */
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
		add_hints(device_manager_hint_nodes(dm, r), &g, n, ret_hints);
}

static void count_devices_in_mask(const void *ctx, uint64_t nodes, uint64_t *ret_capacity, uint64_t *ret_free)
{
	const struct grouping *g = ctx;

	*ret_capacity = *ret_free = 0;
	for (size_t i = 0; i < g->n_groups; i++)
		if (g->groups[i].nodes & nodes) {
			*ret_capacity += g->groups[i].total;
			*ret_free += g->groups[i].available + g->groups[i].reusable;
		}
}

void device_manager_score(
	const struct device_manager *dm, struct device_books *books, size_t r, struct topology_hints *hints)
{
	const struct device_resource *resource = &dm->inventory->resources[r];
	struct grouping g = group_devices(dm, books, r);

	/* Here the capacity is the healthy devices, and reusable devices are not free. */
	for (size_t i = 0; i < g.n_groups; i++)
		g.groups[i].total = g.groups[i].reusable = 0;
	for (size_t i = 0; i < resource->n_devices; i++)
		g.groups[dm->group_of[dm->first[r] + i]].total += resource->devices[i].healthy;
	topology_hints_score(hints, count_devices_in_mask, &g);
}

struct node_mask_fit device_manager_fit(
	const struct device_manager *dm, struct device_books *books, size_t r, size_t n)
{
	struct grouping g = group_devices(dm, books, r);

	return node_mask_find_fit(g.nodes & dm->nodes, n, count_devices_in_mask, &g);
}

/* The pass in which a device is taken; devices in the last pass are not taken. */
enum pass { PASS_REUSABLE, PASS_ALIGNED, PASS_UNALIGNED, PASS_WITHOUT_NODE, PASS_NEVER };

/* `reusable`: an init container of the pod has held the device. */
static enum pass find_pass(
	const struct device *device, bool allocated, bool reusable, struct topology_hint hint)
{
	if (reusable)
		return PASS_REUSABLE;
	if (!device->healthy || allocated)
		return PASS_NEVER;
	if (hint.any_node || device->nodes == 0)
		return PASS_WITHOUT_NODE;
	return device->nodes & hint.nodes ? PASS_ALIGNED : PASS_UNALIGNED;
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
		available += find_pass(&resource->devices[i], allocated[i], reusable[i], hint) != PASS_NEVER;
	}
	*ret_available = available;
	if (!any_healthy)
		return DEVICE_TAKE_NONE_HEALTHY;
	if (available < n)
		return DEVICE_TAKE_NOT_ENOUGH;
	for (enum pass pass = PASS_REUSABLE; pass < PASS_NEVER; pass++)
		for (size_t i = 0; i < resource->n_devices && left > 0; i++) {
			/* A device that was taken before is allocated now: its pass is over. */
			if (find_pass(&resource->devices[i], allocated[i], reusable[i], hint) != pass)
				continue;
			allocated[i] = true;
			reusable[i] = kind == CONTAINER_INIT;
			left--;
		}
	return DEVICE_TAKE_OK;
}
