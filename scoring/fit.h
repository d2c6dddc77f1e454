/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * fit: the NUMA nodes that a request needs, as the plugin's LeastNUMANodes strategy finds them: the fewest
 * nodes of an inventory whose amounts together cover the request, at the least average distance. Depends on
 * common/ and scoring/combinations.h.
 */
#include "common/node_state.h"
#include "common/request.h"
#include "scoring/combinations.h"

/*
 * The available amounts of one inventory, which requests can be subtracted from, and the memory for
 * searches, so that fit_required() allocates nothing. One thread at a time.
 */
struct fit_space {
	const struct inventory *inventory;
	struct distances *distances;
	unsigned n_nodes;
	size_t n_resources;
	qty_t *available;    /* n_resources rows of n_nodes: the amounts that are left */
	qty_t *most;         /* per resource: the largest amount of a position */
	uint64_t *present;   /* per resource: the positions that have it */
	unsigned *by_id;     /* positions in ascending order of NUMA node id */
	uint64_t *same_id;   /* per position: the lowest position with the same id, as a bit */
	uint64_t work_limit; /* steps one fit_required() may take; FIT_WORK_LIMIT unless changed */
	struct fit_scratch *scratch;
};

/* About 0.1 s; the search on 16 NUMA nodes of any kind stays below this. */
#define FIT_WORK_LIMIT 1000000u

/*
 * `inv` and `d` (the distances of the inventory's costs) must outlive the space unchanged, except for
 * distances_find_sums(), which a request calls when no single NUMA node satisfies it. Returns 0; -E2BIG (more
 * than COMBINATION_MAX_NODES nodes); -EINVAL (`d` is for another number of nodes). *ret is untouched on
 * failure, else the caller releases it.
 */
int fit_space_init(struct fit_space *ret, const struct inventory *inv, struct distances *d);
void fit_space_release(struct fit_space *s);

/* Reset the available amounts to the inventory's. */
void fit_space_reset(struct fit_space *s);

/* The amount left of a resource (by its index in the inventory) at a position. */
static inline qty_t *fit_available(const struct fit_space *s, size_t resource, size_t position)
{
	return &s->available[resource * s->n_nodes + position];
}

enum fit_verdict {
	FIT_NONE,    /* no combination covers the request */
	FIT_FOUND,   /* the fields below are exact */
	FIT_UNKNOWN, /* the search exceeded the work limit */
	FIT_VERDICT_COUNT
};

enum fit_min_distance {
	FIT_MIN_DISTANCE_NO,
	FIT_MIN_DISTANCE_YES,     /* no combination of this size has a smaller distance, fitting or not */
	FIT_MIN_DISTANCE_UNKNOWN, /* the least distance of this size is unknown */
	FIT_MIN_DISTANCE_COUNT
};

struct fit {
	enum fit_verdict verdict;
	uint64_t nodes;   /* positions in the inventory's list */
	unsigned n_nodes; /* NUMA nodes among them (positions with the same id count once) */
	enum fit_min_distance min_distance;
};

/*
 * Whether a pod of this QoS class needs NUMA nodes for this resource. For cpu, memory and hugepages only Guaranteed pods
 * do: the scheduler plugin assumes that other pods find them anywhere.
 */
bool fit_needs_numa_nodes(enum qos_class qos, const char *resource);

/*
 * The fit of a request on the available amounts. Every resource of the request, also one of quantity 0,
 * must be present at every position of the combination; amounts that count compare exactly. Among the
 * combinations of the least size the one with the least average distance wins (if it is below
 * DISTANCE_LIMIT; else no combination of that size counts), then the first in lexicographic order of
 * positions.
 */
struct fit fit_required(struct fit_space *s, enum qos_class qos, const struct resource_list *request);

/*
 * The fit for this combination; `sum` is its distances_sum(). For more than one position call
 * distances_find_sums() before.
 */
struct fit fit_of(const struct fit_space *s, uint64_t nodes, uint64_t sum);

/* Whether no position has any resource of the request: the request does not depend on NUMA nodes. */
bool fit_is_not_numa(const struct fit_space *s, const struct resource_list *request);

/*
 * Subtract the request from the positions in ascending order of NUMA node id, from each up to the amount
 * that is left.
 */
void fit_subtract(struct fit_space *s, const struct resource_list *request, uint64_t nodes);
