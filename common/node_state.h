/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * node_state: everything known about one node at one moment, as plain data, with the inventory. The inventory
 * has the amounts that scheduler plugins read.
 *
 * agent/observe fills the facts, and scoring/node derives the rest; all other code only reads. Values that
 * no source reports are unknown, never zero. Depends on common/ only.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/allocation.h"
#include "common/claim.h"
#include "common/machine.h"
#include "common/resource.h"
#include "common/settings.h"

/* ---- inventory: machine + settings + allocations = capacity, allocatable and available per NUMA node and
 * resource. Made by scoring/node/node_derive.c for this node and from the zones of an NRT for other
 * nodes. */

#define INVENTORY_COST_UNKNOWN 0u /* the zone's costs have no such entry */

struct inventory_amount {
	bool present; /* the zone has this resource */
	qty_t capacity, allocatable, available;
};

struct inventory_node {
	unsigned id; /* NUMA node id */
};

struct inventory {
	struct inventory_node *nodes; /* in the order of the object; for this node: ascending id */
	size_t n_nodes;
	char **resources; /* names, sorted, unique; one memory block with the strings */
	size_t n_resources;
	struct inventory_amount *amounts; /* n_nodes rows of n_resources */
	unsigned *costs; /* n_nodes x n_nodes by position, row = from; INVENTORY_COST_UNKNOWN = unknown */
	struct topology_manager_config topology;
};

void inventory_init(struct inventory *inv);
void inventory_release(struct inventory *inv);

/*
 * Allocate the tables for `n_nodes` nodes and these resources (copied; sorted and unique). No amount is
 * present, and all costs are unknown. `inv` must be as after inventory_init().
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

/* CPUs that the kubelet never assigns exclusively. */
struct reserved_cpus {
	hwloc_bitmap_t cpus; /* NULL = unknown, which is not the empty set */
	bool observed; /* a running kubelet reports the CPUs; otherwise computed from its configuration */
	char *from;    /* the source, or why the CPUs are unknown; NULL until derived */
};

void reserved_cpus_release(struct reserved_cpus *r);

/* ---- where the kernel has put the memory of pods */

/* A pod that holds CPUs or memory exclusively. */
struct pod_memory {
	char *pod_uid, *namespace, *pod; /* "" when unknown */
	hwloc_bitmap_t cpus;             /* the pod's exclusive CPUs */
	/* The NUMA nodes of these CPUs; without exclusive CPUs, of the pod's memory blocks. Memory on other
	 * NUMA nodes is remote. */
	hwloc_bitmap_t near;
	const char *unknown; /* why the amounts are unknown, as static text; NULL = they are known */
	bool whole_pod;      /* the amounts are of all containers, not only of those with exclusive CPUs */
	/* Bytes by position in machine.nodes: ordinary memory with the page cache, and hugepages of all sizes. */
	uint64_t *memory, *hugepages;
};

struct pods_memory {
	struct pod_memory *items; /* in the order of the allocations */
	size_t n_items;
	size_t items_size;
};

void pods_memory_release(struct pods_memory *p);

/* A pod with more remote memory than this percentage counts as remote: some of the page cache always is. */
#define POD_MEMORY_REMOTE_PERCENT 10u

/* Sum up the memory of a pod whose amounts are known, hugepages included. Returns the remote bytes; *ret_total
 * = all bytes. */
uint64_t pod_memory_remote(const struct pod_memory *p, const struct machine *m, uint64_t *ret_total);

/* The percentage of remote memory, rounded; 0 without memory. */
unsigned pod_memory_remote_percent(const struct pod_memory *p, const struct machine *m);

struct node_state {
	/* facts */
	char *node_name;
	struct machine machine;
	struct settings settings;       /* with the kubelet's release */
	struct allocations allocations; /* of all namespaces, whatever --namespace is */
	/* Resources that DRA drivers allocated. The kubelet's managers do not know them: a claim's CPU may
	 * also be in the shared pool, or held by a container. */
	struct claims claims;
	bool pods_known; /* a source lists the pods (possibly none): only the pod-resources API does */
	struct pod_ref *pods;
	size_t n_pods;
	struct pods_memory pods_memory;           /* empty unless a caller asked for it; is not published */
	struct device_addresses device_addresses; /* PCI addresses of the plugins' devices */
	hwloc_bitmap_t
		allocatable_cpus; /* from the pod-resources API; empty under policy none, NULL = unknown */

	/* derived */
	struct reserved_cpus reserved;
	struct inventory inventory; /* the amounts that the zones show */
};

void node_state_init(struct node_state *s);
void node_state_release(struct node_state *s);
