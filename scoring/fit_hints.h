/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * fit_hints: precomputed answers for schedulers about this node: the fit of any request (the frontier), the
 * numbers of exclusive CPUs that its kubelet would admit (scoring/exclusive_cpus.h), and the scores of the
 * pod shapes that the operator configures. Depends on common/ and scoring/ only.
 */
#include "scoring/exclusive_cpus.h"
#include "scoring/fit.h"
#include "scoring/nrt_match.h"

/*
 * The frontier: the fits of every possible request, as one table. Its entries are combinations of NUMA
 * nodes in the order in which the scheduler plugin accepts them: fewer nodes first, within a size by
 * distance, then lexicographic. Each entry has the amounts available in the combination. The first entry
 * that covers a request is the answer of fit_required().
 *
 * Proof. Let a request be a vector with a component for each resource of the inventory: absent (-1) if the
 * request does not name the resource, else the amount that counts, at least 0. Let a combination be such a
 * vector too: absent if one of its nodes does not have the resource, else the sum of the nodes' amounts, at
 * least 0. A combination satisfies a request exactly when no component of its vector is below the
 * request's:
 *   - a resource that the request does not name is -1, and nothing is below -1;
 *   - a resource with quantity 0 is 0: absent is below 0 and no present amount is, which is the rule that a
 *     resource of quantity 0 must be present and is not compared;
 *   - a resource with a larger quantity must be present, and available in that amount.
 * (Raising negative sums to 0 changes nothing: a positive amount exceeds both.) A request with a resource
 * that the inventory does not have is satisfied by no combination and has no vector.
 *
 * Let L be all combinations whose average distance is below DISTANCE_LIMIT, by (size, distance,
 * lexicographic order). fit_required() gives the first member of L that satisfies the request: it takes the
 * least size with any such member, there the least distance, there the lexicographically first; minDistance
 * follows from size and distance alone. The combinations at the minimum distance of their size need no rule
 * of their own, because none has a smaller distance.
 *
 * The table T is L without each combination x that an earlier combination y covers: no component of y is
 * below x's. "Not below" is transitive, so y then satisfies every request that x satisfies. Therefore the
 * first member of L that satisfies a request is never omitted and is the first member of T that does; and
 * every member of T is in L. No shorter table has this property: each entry is the answer to the request
 * that equals its vector, because no earlier entry covers it.
 *
 * A table that was cut short is the beginning of T, so each answer found in it is exact too.
 */

/* Limits of a table; the first one that is reached cuts the table short. */
struct frontier_limits {
	size_t entries;
	uint64_t work; /* combinations visited plus comparisons of two combinations */
};

/* More entries than fit into an annotation; 0.1 s. */
#define FRONTIER_MAX_ENTRIES 1024u
#define FRONTIER_WORK_LIMIT  (UINT64_C(1) << 24)

/*
 * Combinations of one size that are sorted in memory: all there are on 19 NUMA nodes. A size with more ends
 * the table.
 */
#define FRONTIER_MAX_COMBINATIONS ((size_t)1 << 17)

/* The amount of a resource that some node of the combination does not have. */
#define FRONTIER_ABSENT ((qty_t)-1)

struct frontier {
	const struct inventory *inventory; /* outlives the frontier */
	struct fit *entries;               /* verdict FIT_FOUND, in the order of the table */
	size_t n_entries;
	size_t entries_size;
	qty_t *amounts; /* n_entries rows of the inventory's resources, FRONTIER_ABSENT or at least 0 */
	size_t amounts_size;
	bool truncated; /* entries are missing at the end */
};

/* The frontier of the amounts left in the space. *ret is to be released. The space need not outlive *ret. */
void frontier_init(struct frontier *ret, const struct fit_space *s, const struct frontier_limits *limits);
void frontier_release(struct frontier *f);

static inline qty_t frontier_amount(const struct frontier *f, size_t entry, size_t resource)
{
	return f->amounts[entry * f->inventory->n_resources + resource];
}

/*
 * The answer of fit_required(), from the table: what a reader of the annotation computes. Only tests and benchmarks call this
 * function. FIT_NONE: no combination covers the request; FIT_UNKNOWN: no entry does, but the table was cut short.
 */
struct fit frontier_find(const struct frontier *f, enum qos_class qos, const struct resource_list *request);

/* A pod to be scored, under the name of its shape. */
struct request_shape {
	const char *name;
	const struct pod_request *pod;
};

struct shape_hint {
	const char *name; /* borrowed from the shape */
	struct pod_fit fit;
	int score; /* 0..100 or SCORE_UNKNOWN; all weights are 1 */
};

struct fit_hints {
	const struct inventory *inventory;
	struct frontier frontier;
	bool has_exclusive; /* the node's kubelet was given */
	struct exclusive_cpus_admitted exclusive;
	struct shape_hint *shapes; /* in the order given */
	size_t n_shapes;
};

struct fit_hints_input {
	const struct inventory *inventory;
	const struct kubelet *kubelet; /* NULL = unknown */
	const struct request_shape *shapes;
	size_t n_shapes;
	enum strategy strategy;      /* of the shapes' scores */
	struct distances_kept *kept; /* keeps the distances between calls; NULL = not kept */
	struct frontier_limits limits;
};

/*
 * Steps of the search for a shape's request; fewer than for an interactive request, because the hints are
 * made at every change. The search on 16 NUMA nodes of any kind stays below this; on 64 it takes 3 ms.
 * Beyond it the shape's fit and score are unknown.
 */
#define FIT_HINTS_WORK_LIMIT 32768u

/*
 * Returns 0; -E2BIG (more than COMBINATION_MAX_NODES NUMA nodes). *ret is untouched on failure, else the
 * caller releases it, before the inventory and the shapes' names.
 */
int fit_hints_init(struct fit_hints *ret, const struct fit_hints_input *input);
void fit_hints_release(struct fit_hints *h);
