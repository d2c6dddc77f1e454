/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Answers a scheduler's requests from the cluster: filter, prioritize, preempt, and those of /v1.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/extender/extender_api.h"
#include "cluster/model/verdicts.h"

#define VERB_STRATEGY_VOLCANO STRATEGY_COUNT

struct verb_config {
	/* Ranks the nodes that admit the pod: an enum strategy, or VERB_STRATEGY_VOLCANO, which ranks by LeastNUMANodes. With
	 * VERB_STRATEGY_VOLCANO only nodes of the policy in the pod's annotation volcano.sh/numa-topology-policy pass, if any. */
	int strategy;
	bool all; /* of several nodes, /filter returns every node that admits the pod and assumes the pod on none */
	bool pass_unknown; /* nodes with an unknown verdict pass, ranked behind all other nodes */
};

/* cluster_hide_for_request() the pod, until cluster_end_request(). */
static inline void hide_for(
	struct cluster *cluster, const struct extender_pod *pod, const struct pod_class *class)
{
	const struct reservation_user user = {
		.namespace = pod->namespace, .uid = pod->uid, .controller = pod->controller};

	cluster_hide_for_request(cluster, &user, pod->priority, class);
}

/* The nodes of one answer, counted for logs and metrics. */
struct verb_counts {
	size_t n_nodes, n_admitting, n_unknown, n_passing;
	size_t n_unreached;       /* not judged before the work limit; these nodes do not pass */
	size_t n_slow;            /* the kubelet would need too much time for the pod */
	size_t n_bounded;         /* not judged, because another node is better; not in the other counts */
	size_t n_aligning;        /* admitting nodes whose kubelet assigns NUMA nodes to the pod */
	const char *assumed_node; /* NULL = not assumed; valid while the cluster is locked */
	bool settling;            /* of /preempt: see extender_preempt() */
};

struct verb_answer {
	/* Per requested node; per Node of the cluster if args->all_nodes is set: */
	struct extender_failure *failures; /* reasons are valid while the cluster is locked */
	int *scores;                       /* 0 to EXTENDER_SCORE_MAX */
	struct node_info **nodes;          /* owned by the cluster; NULL = not in the cluster */
	size_t *chosen;                    /* of /v1/choose: indexes into `nodes`, the best node first */
	size_t n_chosen;
	bool passes_all; /* every node passes: no kubelet has to align the pod, or the cluster is stale */
	struct verb_counts counts;
	struct pod_class *class;   /* a reference */
	struct node_info *outside; /* of /filter: see extender_filter() */
	char *outside_reason;      /* memory of reasons; NULL = none */
};

void verb_answer_release(struct verb_answer *a, struct cluster *cluster);

/*
 * Answers /filter. A pod that no kubelet has to align passes every node. Any other pod passes only the best node, and
 * is assumed on this node; an earlier assumption is forgotten. If no kubelet aligns the pod, and the pod has no reservation of the
 * best node, the pod passes every node that admits the pod, and is assumed only if this is one node.
 *
 * With config->all, the pod passes every node that admits the pod, and is not assumed, unless the request has one node: the
 * scheduler has chosen this node then. With config->pass_unknown, unknown nodes pass too: with config->all always, else only
 * if no kubelet aligns the pod. No node passes if the pod's namespace has reached its limit of assumed pods, or if a request that
 * arrived later has assumed the pod already. If no node passes, `failures` marks the nodes on which preemption cannot help.
 *
 * If no node passes and args->search_outside is set, ret->outside is the best other Node that admits the pod and that no constraint of the Node
 * excludes (scheduling_constraints_of_node()); else, with config->pass_unknown, a Node with an unknown verdict. The pod is assumed on
 * ret->outside, unless its verdict is unknown. Constraints about other pods and volumes are not evaluated. NULL = no such node.
 *
 * The best node: a node with a reservation that the pod may use, then the order of verdict_is_better(). A node whose upper bound (verdict_at_hand()) is not better than the best verdict is not judged. `ret` is to be released.
 */
void extender_filter(struct verdicts *verdicts, const struct verb_config *config, struct extender_args *args,
	uint64_t now_ms, struct verb_answer *ret);

/*
 * Answers /v1/choose with the args->limit best nodes, in the order of extender_filter(). With args->all_nodes, these are Nodes that no constraint
 * of the Node excludes, as ret->outside of extender_filter(). With config->pass_unknown, nodes with an unknown verdict follow if no kubelet aligns
 * the pod. With args->assume, the pod is assumed on the first node, unless its verdict is unknown, and no node passes if the pod's
 * namespace has reached its limit. An earlier assumption is forgotten in either case. config->all has no effect. `ret` is to be
 * released.
 */
void extender_choose(struct verdicts *verdicts, const struct verb_config *config, struct extender_args *args,
	uint64_t now_ms, struct verb_answer *ret);

/* Answers /v1/admit as extender_filter() with config->all, but never assumes the pod. `ret` is to be released. */
void extender_admit(struct verdicts *verdicts, const struct verb_config *config, struct extender_args *args,
	uint64_t now_ms, struct verb_answer *ret);

/* Forgets the pod, unless it is bound, or assumed by a request that arrived later. */
void extender_forget(struct cluster *cluster, const struct extender_pod *pod);

/* Whether the pod is assumed by a request that arrived later. Then the scheduler has given this request up, and may be binding the pod. */
bool extender_is_outdated(const struct cluster *cluster, const struct extender_pod *pod);

/*
 * Whether the request is about the pod's nominated node while pods of lower priority are being deleted there. The scheduler
 * requests this node again when it knows that the pods have been deleted.
 */
bool extender_has_victims(const struct cluster *cluster, const struct extender_args *args);

/* Answers /prioritize with scores. The pod is not assumed. `ret` is to be released. */
void extender_prioritize(struct verdicts *verdicts, const struct verb_config *config,
	struct extender_args *args, struct verb_answer *ret);

/*
 * Answers /preempt for a pod of the class. A node passes if the kubelet admits the pod after the eviction of the
 * victims, and if the node has no reservation for another pod. Moves the passing nodes to the first ret->n_passing
 * places of args->items; all other nodes follow, including nodes not judged before the work limit. Changes the victims
 * of a node if the scheduler's do not suffice (choose_victims.h). For a pod that kubelets align, no node without
 * victims passes.
 *
 * ret->settling: the request is to fail. The pod's victims on its nominated node have ended, the pod fits there, and only the start order of
 * other pods is not known yet. Victims on another node would be in vain. After a failed request the pod stays nominated, and the scheduler
 * tries the pod again.
 */
void extender_preempt(struct verdicts *verdicts, const struct verb_config *config,
	struct extender_preemption *args, struct pod_class *class, uint64_t now_ms, struct verb_counts *ret);
