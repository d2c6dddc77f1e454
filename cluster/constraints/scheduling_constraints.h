/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Evaluates the constraints of kube-scheduler on one pod, and places copies of the pod.
 *
 * Constraints are all reasons against a node other than amounts and NUMA nodes: cordon, taints, readiness, node selector, node
 * affinity, pod affinity and anti-affinity, topology spread, host ports. kube-scheduler 1.35 is the model.
 */
#include "cluster/constraints/domain_rules.h"
#include "cluster/objects/object_input.h"
#include "cluster/objects/pod_parse.h"
#include "common/hash.h"
#include "scoring/node/pod_names.h"

/* A node with a Node object. */
struct constrained_node {
	char *name;
	struct doc labels;
	bool selected, tolerated; /* node selector and affinity match; the pod tolerates the taints */
	char *violation;          /* why the first copy cannot go to the node, "" = no known reason */
	bool temporary;           /* the violation may end when copies are placed on other nodes */
	size_t *domains;          /* per rule */
};

/* A pod of the cluster that matches rules of the constrained pod. */
struct constrained_match {
	char *node;
	uint64_t mask; /* of the rules */
};

/* A required anti-affinity term of a pod of the cluster, which selects the constrained pod. */
struct constrained_term {
	char *node, *key;
};

struct scheduling_constraints {
	const struct doc *pod;  /* a Pod or pod template; NULL = a pod without constraints; borrowed */
	const char *bound_node; /* spec.nodeName that the user has set; NULL = a scheduler chooses the node */
	bool one_per_node;      /* the pods are those of a DaemonSet */
	const char *only;       /* the node in question; NULL = all nodes; borrowed */
	struct excluded_pods *excluded; /* pods that do not count; NULL = none; borrowed */
	struct strv
		not_evaluated; /* what was not evaluated: "volumes"; complete after scheduling_constraints_finish() */
	bool nodes_known; /* there are Node objects */
	bool pods_known;  /* there are Node and Pod objects; valid after scheduling_constraints_finish() */
	bool selects_by_namespaces; /* an anti-affinity term of another pod depends on labels of namespaces */
	struct domain_rules rules;
	struct constrained_node *nodes;
	size_t n_nodes, nodes_size;
	struct name_table by_name; /* indexes into `nodes`, plus 1 */
	struct constrained_match *matches;
	size_t n_matches, matches_size;
	struct constrained_term *terms;
	size_t n_terms, terms_size;
	struct strv pod_nodes; /* names of the nodes with pods, unique */
	struct name_table pod_nodes_seen;
};

/*
 * The constraints of a Pod or pod template in the namespace (NULL or "" = default). `bound`: the user has set
 * spec.nodeName, not a scheduler. `ret` is to be released, and must not be moved.
 */
void scheduling_constraints_init(
	struct scheduling_constraints *ret, const struct doc *pod, const char *namespace, bool bound);

/* As scheduling_constraints_init(), of a template's pods. `namespace`: of a template without one. */
void scheduling_constraints_init_template(
	struct scheduling_constraints *ret, const struct pod_template *template, const char *namespace);
void scheduling_constraints_release(struct scheduling_constraints *sc);

/* Adds a Node or a Pod. Ignores objects without a name, pods without a node, and ended pods. */
void scheduling_constraints_add(
	struct scheduling_constraints *sc, enum object_kind kind, const struct doc *object);

/* To be called after the last object. */
void scheduling_constraints_finish(struct scheduling_constraints *sc);

/*
 * Why the first copy cannot go to the node: as scheduling_constraints_of_node(), "pod anti-affinity: a matching pod in
 * KEY=VALUE", or "there is no such Node" if other nodes have Node objects. "" = no known reason. Valid as long as the
 * constraints.
 */
const char *scheduling_constraints_violated_by_first(
	const struct scheduling_constraints *sc, const char *node);

/* Whether some copy may go to the node: the first copy, or a later copy if only topology spread excludes the first copy. */
bool scheduling_constraints_allow_any(const struct scheduling_constraints *sc, const char *node);

/* NULL = the node has no Node object. */
const struct constrained_node *scheduling_constraints_node(
	const struct scheduling_constraints *sc, const char *name);

/*
 * Why the Node excludes the pod (a Pod or pod template; NULL = a pod without constraints), regardless of other pods.
 * The first of: "cordoned", "taint KEY=VALUE:EFFECT is not tolerated", "not ready", "nodeSelector KEY=VALUE does not
 * match", "node affinity does not match"; "" = none. `bound`: no scheduler is involved, and the node's kubelet checks
 * only labels and taints with the effect NoExecute. The caller frees the text.
 */
char *scheduling_constraints_of_node(const struct doc *pod, const struct doc *node, bool bound);

/* ---- copies of the pod (copies_placement.c) */

struct copies_node {
	const char *name;
	size_t admitted; /* copies that the node's kubelet admits */
	size_t placed;   /* of all copies */
	size_t replicas; /* of the first `wanted` copies */
};

/*
 * Places copies one after another until no node can take another copy. Each copy goes to the first node of `nodes` whose
 * kubelet admits the copy and that the constraints allow. The first of pods with affinity to each other goes to the
 * domain whose kubelets admit the most copies. *ret_complete is false if the search ended at its work limit. Changes the
 * constraints' counts: to be called once.
 */
void copies_placement_find(struct scheduling_constraints *sc, struct copies_node *nodes, size_t n,
	size_t wanted, bool *ret_complete);

/* Whether a DaemonSet, host ports, or anti-affinity of the copies to each other, exclude a second copy from the node. */
bool copies_placement_one_per_node(const struct scheduling_constraints *sc, const char *node);
