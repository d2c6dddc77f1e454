/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Describes the pods that may leave a node, and what each of them frees of what another pod requests.
 */
#include "common/resource.h"
#include "scoring/node/node_admission.h"

/* ---- the pods of a node */

struct victim_pod {
	const char *namespace, *name, *uid;   /* borrowed; "" = unknown */
	const struct resource_list *requests; /* all that the pod requests, borrowed; NULL = unknown */
	bool may_leave;
	bool violates; /* the pod's eviction violates a PodDisruptionBudget */
	int32_t priority;
	size_t cpus; /* that the pod costs at least, whatever it holds */
};

struct victim_pods {
	struct victim_pod *items;
	size_t n_items, items_size;
	/* By item of the state's allocations: the index of the pod that holds the item; an index of no pod = none of these. */
	size_t *owners;
	size_t owners_size;
	/* What can still be requested of the whole node, to which the requests of pods that leave are added; borrowed. NULL = unknown. */
	const struct resource_list *requestable;
	bool by_requests; /* pods are candidates also if they free only what they request: requires `requestable` */
};

void victim_pods_release(struct victim_pods *pods);

/* Adds a pod, unless there is one of these names, and returns it. A new pod may leave if a name or the UID is known. The result is valid until the
 * next call. */
struct victim_pod *victim_pods_add(
	struct victim_pods *pods, const char *namespace, const char *name, const char *uid);

/* As victim_pods_add(), and sets the pod as the owner of an item. Items are added in ascending order. */
struct victim_pod *victim_pods_add_item(
	struct victim_pods *pods, size_t item, const char *namespace, const char *name, const char *uid);

/* The order in which pods of equal cost leave: by namespace, name and UID. */
int victim_pod_compare(const struct victim_pod *a, const struct victim_pod *b);

/* ---- candidates: pods that may leave */

/* A set of pods costs the sum of the costs of its pods, which are victim_cost(), or the caller's. */
__extension__ typedef unsigned __int128 victims_cost;

/* The fewest violations of PodDisruptionBudgets, then the fewest pods, then the lowest sum of priorities, then the fewest CPUs. */
victims_cost victim_cost(bool violates, int32_t priority, size_t cpus);

struct victim_candidate {
	size_t pod;  /* the caller's number of the pod */
	size_t cpus; /* that the pod holds */
	victims_cost cost;
	char *kind; /* pods of one kind free the same for every verdict; NULL = a kind of its own */
};

/*
 * The requesting pod has several needs. Enough must become free for each need at one of the need's places: the whole node, or a set of
 * NUMA nodes. This is necessary for the kubelet's admission, not sufficient.
 */
struct victims_place {
	size_t need;
	qty_t missing; /* at most 0: enough is free here */
	qty_t *frees;  /* by candidate: at most what becomes free here when the pod leaves */
};

struct victim_candidates {
	size_t node;                    /* the caller's number of the node */
	struct victim_candidate *items; /* in the order of victim_candidates_sort() */
	size_t n_items, items_size;
	struct victims_place *places; /* by need */
	size_t n_places, places_size;
	qty_t *largest;        /* scratch, by candidate */
	victims_cost min_cost; /* no set that frees enough costs less */
};

void victim_candidates_release(struct victim_candidates *c);

/* Adds a candidate without a kind. */
void victim_candidates_add(struct victim_candidates *c, size_t pod, victims_cost cost);

/* To be called after the last candidate: sorts by cost, then by kind, then by name (`pods` NULL = by number). */
void victim_candidates_sort(struct victim_candidates *c, const struct victim_pods *pods);

/* Adds a place after all candidates, for the need of the last place, or for a new need. The caller fills in `frees`, which is zero. */
struct victims_place *victim_candidates_add_place(struct victim_candidates *c, bool new_need, qty_t missing);

/*
 * Sets min_cost, if there is one place, which counts in small units such as CPUs: the lowest cost of candidates that free enough, or
 * a lower bound where that takes too long to find. Many equal nodes with a bound that no set reaches would have all their cheaper
 * sets considered first.
 */
void victim_candidates_set_min_cost(struct victim_candidates *c);

/* Whether the pods whose leaves[pod] is set, and any `more` of the candidates from items[from] on, may free enough. */
bool victim_candidates_may_free(
	const struct victim_candidates *c, const bool *leaves, size_t from, size_t more);

/*
 * Finds the pods that may leave and free something of what `wanted` requests, with their victim_cost(). Their numbers are indexes of
 * `pods`. `admission` must not be limited to what can be requested of the whole node. `ret` is to be released.
 */
void victim_candidates_find(const struct node_admission *admission, const struct pod_request *wanted,
	const struct victim_pods *pods, struct victim_candidates *ret);
