/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Computes and caches each node's kubelet verdict on a pod class.
 */
#include <stddef.h>
#include <stdint.h>

#include "cluster/model/project_node.h"
#include "cluster/model/verdict_bound.h"
#include "scoring/combinations.h"
#include "scoring/nrt_match.h"

/* The verdict of one node's kubelet on a pod class. */
struct verdict {
	uint64_t version, amounts_version; /* of the node_info; version 0 = no verdict yet */
	char *reason;                      /* one sentence; NULL if the kubelet admits the pod */
	size_t free_on_numa_nodes;         /* CPUs that remain free on the assigned NUMA nodes */
	size_t free_on_node;               /* CPUs that remain free on the node */
	enum kubelet_answer answer;
	enum cluster_basis basis; /* CLUSTER_UNKNOWN: the answer is unknown too */
	unsigned numa_nodes;      /* that the kubelet would assign; 0 = none */
	int score;                /* 0 to 100, by the strategy */
	/* Not a verdict yet, but an upper bound of one in the order of /filter: `score`, `pci_pair`, `free_on_numa_nodes` and
	 * `free_on_node` are at least as good as those of the verdict, and the answer is unknown. */
	bool is_bound;
	bool by_amounts; /* node-level amounts decide: the kubelet's managers alone would answer otherwise */
	bool pci_pair;   /* a GPU and a NIC of the pod's resources are free below one PCIe root */
	bool too_slow;   /* rejected by max_kubelet_ns alone */
	bool unreached;  /* not judged before the work limit */
	bool confirmed;  /* by verdict_confirm() */
	bool unresolvable_known; /* verdict_rejects_always() was called; its result: */
	bool unresolvable;
};

/* The verdicts on one pod class. */
struct class_verdicts {
	uint64_t class_number; /* pod_class.number; 0 = no class */
	uint64_t last_lookup;  /* verdicts.n_lookups at the last look-up */
	struct verdict *items; /* by node slot */
	size_t items_size;
};

#define VERDICTS_CLASSES 64u /* pod classes with verdicts: up to 1 MB each for 5000 nodes with reasons */

struct verdicts {
	struct cluster *cluster; /* borrowed */
	struct projections projections;
	struct distances_kept distances; /* of the last judged machine */
	struct free_cpus *free_cpus;     /* by node slot */
	size_t free_cpus_size;
	struct class_verdicts classes[VERDICTS_CLASSES];
	struct class_verdicts *last; /* looked up; NULL = none */
	uint64_t n_lookups;
};

/* Borrows the cluster. */
void verdicts_init(struct verdicts *verdicts, struct cluster *cluster);
void verdicts_release(struct verdicts *verdicts);

/*
 * The verdict of the node's kubelet on the pod class, given the state that project_node() returns. Call verdict_confirm()
 * for an admitting verdict before a pod is assumed on the node. If VERDICTS_CLASSES classes have verdicts already, the
 * least recently looked-up class loses its verdicts.
 *
 * After the work limit is reached, cached verdicts are still returned. For all other nodes the answer is unknown, with
 * `unreached` set, and is not cached: the next request continues there. So is the answer for a node that has used up its own share
 * (project_node()). The result is valid until the next call for the same pod class and node, until a node is added, or
 * until the class loses its verdicts.
 */
const struct verdict *verdict_of(struct verdicts *verdicts, const struct pod_class *class,
	struct node_info *node, enum strategy strategy);

/*
 * The verdict if it is cached; with `or_bound` else an upper bound, if there is one (verdict_bound.h), which is cached in its place. NULL =
 * the node must be judged, by verdict_of(). Returns as verdict_of().
 */
const struct verdict *verdict_at_hand(struct verdicts *verdicts, const struct pod_class *class,
	struct node_info *node, enum strategy strategy, bool or_bound);

/*
 * Changes an admitting verdict that verdict_of() has just returned to a rejection if the kubelet would admit the pod
 * class and the in-flight pods only in some orders (in_flight_admit()). Costs more than the verdict. Returns as
 * verdict_of().
 */
const struct verdict *verdict_confirm(
	struct verdicts *verdicts, const struct pod_class *class, const struct node_info *node);

/*
 * For a verdict that admits the pod class: sets the score and what breaks ties between equal scores. `managers` is the last verdict of the
 * admission, `inv` the inventory of its state; `distances` keeps those of the last machine.
 */
void verdict_score(struct distances_kept *distances, const struct node_admission *admission,
	const struct inventory *inv, const struct pod_class *class, const struct kubelet_verdict *managers,
	enum strategy strategy, struct verdict *v);

/*
 * Whether a pod is better placed on the node of x than on that of y; both verdicts admit it, or are upper bounds. The higher score is
 * better. Ties: a node where a GPU and a NIC are free below one PCIe root, if the pod requests both; then the node with the fewest free CPUs
 * on the assigned NUMA nodes, then the fewest free CPUs on the node, then the first name. This order preserves the largest aligned capacity.
 */
bool verdict_is_better(
	const struct verdict *x, const char *x_node, const struct verdict *y, const char *y_node);

/*
 * pod_class_lacks() of the node; NULL without a Node object. To be asked of nodes that kube-scheduler has not checked: the scheduler excludes
 * a node without the resource, unless a DRA driver serves the resource there, of which nrtd knows nothing.
 */
const char *verdict_lacks(
	const struct cluster *cluster, const struct pod_class *class, const struct node_info *node);

/* False if the Node lists a resource of which too little is left for the pod class. True without a Node, and for a resource that the Node
 * does not list, which is verdict_lacks()'s. */
bool verdict_has_amounts(const struct node_info *node, const struct pod_class *class);

/*
 * The kubelet's answer to the pod class after the eviction of each node->pods[i] whose excluded[i] is set (`excluded` NULL =
 * without evictions). 0; -ETIME when the work limit is reached first.
 */
int verdict_without(struct verdicts *verdicts, const struct pod_class *class, const struct node_info *node,
	const bool *excluded, enum kubelet_answer *ret);

/* ---- unresolvable nodes: preemption cannot help, because the kubelet rejects the pod even without other pods */

/*
 * Whether the node's kubelet rejects the pod class whichever pods are evicted: the pod is larger than the node, or no combination of
 * NUMA nodes satisfies the request. False if this is not certain: the verdict is an estimate, or the kubelet rejects only a later
 * container, whose result may depend on the placement of earlier containers.
 */
bool verdict_rejects_always(const struct node_info *node, const struct pod_class *class);

/* Maximum number of nodes tested per request. Later requests test the remaining nodes. */
#define UNRESOLVABLE_MAX 256u

/*
 * Whether the node, which does not pass, is unresolvable; false if it has not been tested yet. The result is cached with the pod class's
 * verdicts. *n_tested counts the nodes that the request has tested.
 */
bool verdict_is_unresolvable(struct verdicts *verdicts, const struct node_info *node,
	const struct pod_class *class, unsigned *n_tested);
