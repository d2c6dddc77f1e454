/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * fit: the NUMA nodes a request needs on an inventory, as the plugin's LeastNUMANodes strategy finds them:
 * the fewest nodes whose amounts together cover the request, at the least average distance. Depends on
 * common/ and scoring/combinations.h.
 */
#include "common/inventory.h"
#include "common/request.h"
#include "scoring/combinations.h"

/*
 * A place to answer requests on one inventory: its available amounts, which requests may be subtracted from,
 * and the memory that the searches need, so that answering allocates nothing. One thread at a time.
 */
struct fit_space {
	const struct inventory *inventory;
	struct distances *distances;
	unsigned n_nodes;
	size_t n_resources;
	qty_t *available;    /* n_resources rows of n_nodes: what is left */
	qty_t *most;         /* per resource: what no position has more of */
	uint64_t *present;   /* per resource: the positions that have it */
	unsigned *by_id;     /* positions in ascending order of NUMA node id */
	uint64_t *same_id;   /* per position: the lowest position with its id, as a bit */
	uint64_t work_limit; /* steps one fit_required() may take; FIT_WORK_LIMIT unless changed */
	struct fit_scratch *scratch;
};

/* About 0.1 s; 16 NUMA nodes of any kind stay below it. */
#define FIT_WORK_LIMIT 1000000u

/*
 * `inv` and `d` (of the inventory's costs) must outlive the space, unchanged except by distances_search(), which a
 * question calls that one NUMA node does not answer. 0; -E2BIG (more than COMBINATION_MAX_NODES nodes); -EINVAL (d
 * is of another number of nodes). *ret is untouched on failure, else the caller releases it.
 */
int fit_space_init(struct fit_space *ret, const struct inventory *inv, struct distances *d);
void fit_space_release(struct fit_space *s);

/* Forget what was subtracted: available amounts are the inventory's again. */
void fit_space_reset(struct fit_space *s);

/* What is left of a resource (its index in the inventory) at a position. */
static inline qty_t *fit_available(const struct fit_space *s, size_t resource, size_t position)
{
	return &s->available[resource * s->n_nodes + position];
}

enum fit_verdict {
	FIT_NONE,    /* no combination covers the request */
	FIT_FOUND,   /* the fields below are exact */
	FIT_UNKNOWN, /* the work limit was met */
	FIT_VERDICT_COUNT
};

enum fit_min_distance {
	FIT_MIN_DISTANCE_NO,
	FIT_MIN_DISTANCE_YES,     /* no combination of this size is closer together, fitting or not */
	FIT_MIN_DISTANCE_UNKNOWN, /* the least distance of this size is not known */
	FIT_MIN_DISTANCE_COUNT
};

struct fit {
	enum fit_verdict verdict;
	uint64_t nodes;   /* positions in the inventory's list */
	unsigned n_nodes; /* NUMA nodes among them (positions of one id count once) */
	enum fit_min_distance min_distance;
};

/* Amounts of this resource are compared: shared cpu, memory and hugepages of pods that are not Guaranteed are
 * not, for the scheduler plugin takes them to be found anywhere. */
bool fit_counts(enum qos_class qos, const char *resource);

/*
 * The fit of a request on what is left. Every resource of the request must be present at every position of
 * the combination, those of quantity 0 too; amounts that count compare exactly. Among combinations of the
 * least size the least average distance wins (below DISTANCE_LIMIT, else none of them counts), and of those
 * the first in lexicographic order of positions.
 */
struct fit fit_required(struct fit_space *s, enum qos_class qos, const struct resource_list *request);

/* The answer that is this combination: `sum` is its distances_sum(). After distances_search() where it has more
 * than one position. */
struct fit fit_of(const struct fit_space *s, uint64_t nodes, uint64_t sum);

/* No resource of the request, by name, is present anywhere: NUMA nodes do not matter to it. */
bool fit_is_not_numa(const struct fit_space *s, const struct resource_list *request);

/* Take the request out of the positions in ascending order of NUMA node id, from each what it has. */
void fit_subtract(struct fit_space *s, const struct resource_list *request, uint64_t nodes);
