/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Searches for the pods that must leave a node so that its kubelet admits another pod.
 *
 * The callers describe candidates (victim_candidates.h) and judge sets of them: victims_find() for one node's state, nrtd-extender for
 * /preempt, and plans of moves for all nodes of a cluster.
 */
#include "scoring/node/victim_candidates.h"

/* ---- sets of candidates, the lowest cost first */

/* A zeroed search has no nodes. */
struct victims_search {
	struct victim_candidates *nodes; /* or NUMA nodes, which pods may leave */
	size_t n_nodes, nodes_size;
	size_t max_pods;       /* no larger sets; 0 = no limit */
	victims_cost max_cost; /* no set of this cost or a higher one; 0 = no limit */
	struct victims_set *sets;
	size_t n_sets, sets_size;
	size_t *heap; /* indexes of sets, the lowest lower bound of the cost first */
	size_t n_heap, heap_size;
	bool *leaves; /* scratch, by pod: candidates of `leaves_node` */
	size_t leaves_size;
	uint32_t leaves_node;
};

void victims_search_release(struct victims_search *s);

/* Adds a node, whose candidates move. */
void victims_search_add(struct victims_search *s, struct victim_candidates *candidates);

struct victims_found {
	const struct victim_candidates *node;
	const bool *leaves; /* by pod: in the set */
	victims_cost cost;
};

/*
 * Finds the next set that may free enough; of equal candidates of one kind the first ones. All earlier sets cost the same or less.
 * *steps counts sets, most of which cannot free enough. False: there are no more sets, or *steps has reached `max_steps`. *ret is
 * valid until the next call.
 */
bool victims_search_next(
	struct victims_search *s, uint64_t *steps, uint64_t max_steps, struct victims_found *ret);

/* ---- sets that are enough */

struct victims_judge {
	/*
	 * Judges the node without the pods whose leaves[pod] is set. 1; 0 = the answer was known without a verdict; -ETIME when a
	 * work limit is reached first.
	 */
	int (*judge)(void *data, const bool *leaves, enum kubelet_answer *ret);
	void *data;
	size_t n_verdicts, max_verdicts;
	uint64_t max_steps; /* sets of a search, most of them without a verdict */
};

/*
 * Reprieves pods in this order: each pod without whose eviction the set is enough as well stays, as in kube-scheduler's preemption.
 * Sets that cannot free enough are not judged (`candidates` NULL = unknown). 0 or -ETIME.
 */
int victims_reprieve(struct victims_judge *j, const struct victim_candidates *candidates, const size_t *pods,
	size_t n_pods, bool *leaves);

/*
 * Replaces `leaves`, `n_pods` flags of a set that is enough and costs `cost`, by the cheapest set of these candidates that is enough, if
 * that set costs less. 0; -ETIME when a limit is reached first: there may be a cheaper set.
 */
int victims_improve(struct victims_judge *j, struct victim_candidates *candidates, victims_cost cost,
	bool *leaves, size_t n_pods);

/* ---- the smallest set for the state of one node */

/* The search gives up beyond these limits. */
#define VICTIMS_VERDICTS 4096u
#define VICTIMS_STEPS    1000000u /* sets examined, most of them without a verdict */

enum victims_answer {
	VICTIMS_NOT_ASKED,
	VICTIMS_UNKNOWN, /* the kubelet's verdict is unknown, now or without all candidates */
	VICTIMS_NOTHING, /* the pod is admitted as it is */
	VICTIMS_SET,
	VICTIMS_NO_SET, /* the kubelet rejects the pod even without all candidates */
	VICTIMS_ANSWER_COUNT
};

struct victim {
	char *namespace, *name; /* "" when unknown; a hash if the state comes from an object */
	char *uid;              /* "" when unknown */
	size_t cpus;            /* that the pod holds */
};

struct victims {
	enum victims_answer answer;
	bool gave_up;        /* there may be a smaller set, or one with fewer CPUs */
	struct victim *pods; /* by namespace, name and UID */
	size_t n_pods;
	size_t pods_size;
	size_t cpus;     /* that the pods hold together */
	size_t movable;  /* candidates: pods that may leave and hold something of what is requested */
	size_t verdicts; /* computed by the search */
};

void victims_release(struct victims *v);

/*
 * The smallest set by the number of pods, then by the CPUs that they hold. Candidates are only pods that hold
 * something of what `wanted` requests. The resources of a pod are freed as the kubelet's managers do.
 *
 * The search first asks whether the kubelet admits the pod on the node without all candidates. If not, the
 * answer is VICTIMS_NO_SET. (For a pod of several containers a kubelet may reject the pod on an emptier node
 * and admit it on a fuller node; such a set is not found.) For a pod that requests a device resource whose
 * free devices are unknown, the answer is unknown.
 */
void victims_find(const struct node_state *state, const struct pod_request *wanted,
	const struct victim_pods *pods, struct victims *ret);
