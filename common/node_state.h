/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What is known of one node at one moment. Plain data, no I/O.
 *
 * The observing stage fills the facts, the model what follows from them; every other stage only reads. What
 * no source reports is unknown, never zero.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/allocation.h"
#include "common/claim.h"
#include "common/machine.h"
#include "common/resource.h"
#include "common/settings.h"

/* ---- inventory */

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

/* ---- node state */

/* CPUs that no container gets exclusively. */
struct reserved_cpus {
	hwloc_bitmap_t cpus; /* NULL = unknown: not even that there are none */
	bool observed;       /* a running kubelet reports them; else they follow from its configuration */
	char *from;          /* the source, or why they are unknown; NULL until the model has run */
};

void reserved_cpus_release(struct reserved_cpus *r);

struct node_state {
	/* facts */
	char *node_name;
	struct machine machine;
	struct settings settings;       /* with the kubelet's release */
	struct allocations allocations; /* all that is handed out, whatever --namespace says */
	/* What DRA drivers gave to claims. The kubelet's managers do not know of it: a CPU of a claim may be in the
	 * shared pool, or a container's too. */
	struct claims claims;
	bool pods_known; /* a source lists the pods (possibly none): only the pod-resources API does */
	struct pod_ref *pods;
	size_t n_pods;
	size_t pods_size;
	hwloc_bitmap_t
		allocatable_cpus; /* by the pod-resources API; empty under policy none, NULL = not known */

	/* what follows from them */
	struct reserved_cpus reserved;
	struct inventory inventory; /* what the zones show */
};

void node_state_init(struct node_state *s);
void node_state_release(struct node_state *s);
