/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * fit_hints: what a scheduler would have to compute about this node, computed once: the fit of any request
 * (scoring/frontier.h), the numbers of exclusive CPUs its kubelet would admit (scoring/exclusive_cpus.h), and
 * the score of the request shapes that the operator names. Depends on common/ and scoring/ only.
 */
#include "scoring/exclusive_cpus.h"
#include "scoring/fit.h"
#include "scoring/nrt_match.h"

/*
 * frontier: the fits of every possible request, as one table. The combinations of NUMA nodes are in the
 * order in which the scheduler plugin accepts them: fewer nodes first, within a size by distance, then
 * lexicographic. Each has the amounts available in it. The first entry that covers a request is the answer
 * that fit_required() gives. Depends on common/ and scoring/fit.h.
 *
 * Why that is exact. Let a request be a vector with a component for each resource of the inventory: absent
 * (-1) where the request does not name the resource, otherwise the amount that counts, 0 at least. Let a
 * combination be such a vector too: absent where one of its nodes does not have the resource, otherwise the sum of
 * the nodes' amounts, 0 at least. A combination admits a request exactly when no component of its vector is
 * below the request's:
 *   - what the request does not name is -1, which nothing is below;
 *   - what it names with quantity 0 is 0: absent is below it and every present amount is not, which is the
 *     rule that a resource of quantity 0 must be present and is not compared;
 *   - what it names with more must be present, and available in that amount.
 * (Holding negative sums at 0 changes nothing: a positive amount exceeds both.) A request with a resource
 * that the inventory does not have is admitted by no combination and has no vector.
 *
 * Let L be all combinations whose average distance is below DISTANCE_LIMIT, by (size, distance, lexicographic
 * order). fit_required() gives the first one of L that admits the request: it takes the least size with any
 * that does, there the least distance, there the lexicographically first; and minDistance follows from size
 * and distance alone. The combinations at the minimum distance of their size need no rule of their own, for
 * none is nearer.
 *
 * The table T is L without each combination x that an earlier one y covers: no component of y below x's.
 * Since "not below" is transitive, y then admits every request that x admits. The first one of L that admits
 * a request is therefore never left out, so it is the first one of T that does; and T admits nothing that L
 * does not. T could not be shorter either: each entry is the answer to the request that is its own vector, because
 * no earlier entry covers it.
 *
 * A table that was cut short is the beginning of T, so that what is found in it is exact as well.
 */

/* Bounds of the making of a table; whatever is met first cuts it short. */
struct frontier_limits {
	size_t entries;
	uint64_t work; /* combinations looked at and comparisons of two of them */
};

/* More entries than an annotation holds; a tenth of a second. */
#define FRONTIER_MAX_ENTRIES 1024u
#define FRONTIER_WORK_LIMIT  (UINT64_C(1) << 24)

/* Combinations of one size that are held to be put in order; sizes that have more end the table. All there
 * are on 19 NUMA nodes. */
#define FRONTIER_MAX_COMBINATIONS ((size_t)1 << 17)

/* A resource that some node of the combination does not have. */
#define FRONTIER_ABSENT ((qty_t)-1)

struct frontier {
	const struct inventory *inventory; /* outlives the frontier */
	struct fit *entries;               /* verdict FIT_FOUND; their order is the answer's */
	size_t n_entries;
	size_t entries_size;
	qty_t *amounts; /* n_entries rows of the inventory's resources, FRONTIER_ABSENT or 0 and more */
	size_t amounts_size;
	bool truncated; /* entries are missing at the end */
	qty_t *wanted;  /* room for one request */
};

/*
 * The frontier of what is left in the space. *ret is to be released. The space is only read and may go.
 */
void frontier_init(struct frontier *ret, const struct fit_space *s, const struct frontier_limits *limits);
void frontier_release(struct frontier *f);

static inline qty_t frontier_amount(const struct frontier *f, size_t entry, size_t resource)
{
	return f->amounts[entry * f->inventory->n_resources + resource];
}

/*
 * The answer of fit_required(), by looking it up. FIT_NONE: no combination covers the request; FIT_UNKNOWN:
 * no entry does, but some are missing. Allocates nothing; one thread at a time.
 */
struct fit frontier_find(struct frontier *f, enum qos_class qos, const struct resource_list *request);

/* A pod to be scored under a name. */
struct request_shape {
	const char *name;
	const struct pod_request *pod;
};

struct shape_hint {
	const char *name; /* the shape's own */
	struct pod_fit fit;
	int score; /* 0..100 or SCORE_UNKNOWN, all resources weighing 1 */
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
	const struct kubelet *kubelet; /* NULL = nothing is known of it */
	const struct request_shape *shapes;
	size_t n_shapes;
	enum strategy strategy; /* of the shapes' scores */
	struct distances_kept
		*kept; /* the inventory's distances, from one call to the next; NULL = not kept */
	struct frontier_limits limits;
};

/*
 * Steps that the search for a shape's request may take, less than where a person asks: the hints are made at every
 * change. 16 NUMA nodes of any kind stay below it, and 64 take 3 ms. Beyond it the shape's fit and score are unknown.
 */
#define FIT_HINTS_WORK_LIMIT 32768u

/*
 * 0; -E2BIG (more than COMBINATION_MAX_NODES NUMA nodes). *ret is untouched on failure, else the
 * caller releases it before the inventory and the shapes' names go.
 */
int fit_hints_init(struct fit_hints *ret, const struct fit_hints_input *input);
void fit_hints_release(struct fit_hints *h);
