/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * inventory: machine + settings + allocations = per NUMA node and resource: capacity, allocatable, available.
 * The local one is made by agent/state/node_derive.c; the same struct holds a foreign node's NRT, so that the scoring
 * core reads one thing. Depends on common/ only.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/quantity.h"
#include "common/settings.h"

#define INVENTORY_COST_UNKNOWN 0u /* no such entry in the zone's costs */

struct inventory_amount {
	bool present; /* the zone has this resource at all */
	qty_t capacity, allocatable, available;
};

struct inventory_node {
	unsigned id; /* NUMA node id */
};

struct inventory {
	struct inventory_node *nodes; /* in the order of the object; the local inventory: ascending id */
	size_t n_nodes;
	char **resources; /* names, sorted, unique; one allocation with their texts */
	size_t n_resources;
	struct inventory_amount *amounts; /* n_nodes rows of n_resources */
	unsigned *costs; /* n_nodes x n_nodes by position, row = from; INVENTORY_COST_UNKNOWN = unknown */
	struct topology_manager_config topology;
};

void inventory_init(struct inventory *inv);
void inventory_release(struct inventory *inv);

/*
 * Make room: `n_nodes` nodes, the `n_resources` names (copied; the caller sorts and makes them unique), all
 * amounts absent, all costs unknown. `inv` must be as after inventory_init().
 */
void inventory_shape(struct inventory *inv, size_t n_nodes, const char *const *resources, size_t n_resources);

/* Position of a resource name, or -1. */
int inventory_resource(const struct inventory *inv, const char *name);

static inline struct inventory_amount *inventory_amount(
	const struct inventory *inv, size_t node, size_t resource)
{
	return &inv->amounts[node * inv->n_resources + resource];
}
