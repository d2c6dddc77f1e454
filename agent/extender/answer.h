/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a scheduler is answered: which nodes' kubelets take the pod, which of them is the best, and whose eviction
 * makes a kubelet take it. What is answered is promised.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/extender/cluster_cache.h"
#include "agent/extender/extender_api.h"
#include "scoring/strategies.h"

#define ANSWER_BY_VOLCANO STRATEGY_COUNT

struct answer_config {
	/* How the nodes that take the pod are ranked: an enum strategy, or ANSWER_BY_VOLCANO: a pod with the annotation
	 * volcano.sh/numa-topology-policy goes only to nodes of that policy, and there by LeastNUMANodes. */
	int strategy;
	bool all;          /* every node that takes the pod is answered, and nothing promised */
	bool pass_unknown; /* unknown nodes take every pod, after all others */
};

/* What became of a question, for people. */
struct answer_counts {
	size_t n_asked, n_taking, n_unknown, n_passing;
	size_t n_unreached; /* the work limit was reached before; they do not pass */
	size_t n_aligning;  /* of those that take it, nodes whose kubelet chooses NUMA nodes for it */
	const char *node;   /* that was promised, NULL = none; valid as long as the cluster cache is locked */
};

struct answer {
	struct extender_verdict
		*verdicts;        /* by name; reasons are valid as long as the cluster cache is locked */
	int *scores;              /* 0 to EXTENDER_SCORE_MAX */
	struct node_info **nodes; /* NULL where nothing is known of it; the cache's */
	struct answer_counts counts;
	struct pod_class *class; /* kept, so that the reasons stay */
};

void answer_release(struct answer *a, struct cluster_cache *cache);

/*
 * The answer to /filter. A pod that no kubelet has to align goes to all nodes. Another one gets the best node by default:
 * it is promised to the pod, instead of what it was promised before. The only node that passes is promised too,
 * where no kubelet aligns anything of the pod. No node passes while the pod's namespace has too many promises. Unknown nodes are taken
 * if there is no other. Where no node is answered, those are named on which no preemption helps.
 *
 * Among nodes of the same score the one wins on whose NUMA nodes the least remains free, then the fullest, then the
 * first by name: so the largest aligned places stay where they are. 0 or -ENOMEM; `ret` (zeroed) is to be released in
 * either case.
 */
int answer_filter(struct cluster_cache *cache, const struct answer_config *config, struct extender_args *args,
	uint64_t now_ms, struct answer *ret);

/* The answer to /prioritize: scores alone, and nothing is promised. Returns as above. */
int answer_prioritize(struct cluster_cache *cache, const struct answer_config *config,
	struct extender_args *args, struct answer *ret);

/*
 * The answer to /preempt about a pod of the pod class. The first ret->n_passing nodes of `args` stay: their kubelets admit the pod
 * once the victims are evicted. The other nodes follow, and so do nodes that the work limit left no time for. Where the
 * scheduler's victims are not enough, pods of lower priority are added, those of the lowest priority first, and only pods that
 * must go. Each added victim counts as a violation of a PodDisruptionBudget. 0 or -ENOMEM.
 */
int answer_preempt(struct cluster_cache *cache, const struct answer_config *config,
	struct extender_preemption *args, struct pod_class *class, struct answer_counts *ret);
