/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Which nodes kube-scheduler keeps one pod away from, whatever their kubelets say. Judged by Node and Pod objects.
 */
#include "agent/base/name_table.h"
#include "agent/cluster/domain_rules.h"
#include "agent/cluster/object_input.h"
#include "agent/state/pod_names.h"

/* A node with a Node object; without any Node objects one that was asked about. */
struct constrained_node {
	char *name;
	struct doc labels;
	bool selected, tolerated; /* the pod's node selector and affinity match; it tolerates the taints */
	char *bar;                /* what keeps the pod away, "" = nothing */
	bool for_now;             /* once copies are on other nodes it may no longer do so */
	size_t *domains;          /* by rule */
};

/* A pod that is there and counts for the rules of `mask`. */
struct constrained_match {
	char *node;
	uint64_t mask;
};

/* A term of required anti-affinity of a pod that is there, which selects the pod. */
struct constrained_term {
	char *node, *key;
};

struct scheduling_constraints {
	const struct doc *pod;      /* a Pod or pod template, NULL = a pod without constraints; borrowed */
	const char *bound;          /* the node that spec.nodeName names, or NULL */
	const char *only;           /* the node that is asked about, NULL = all nodes; borrowed */
	struct excluded_pods *gone; /* pods that are left out, NULL = none; borrowed */
	struct strv not_looked_at;  /* "volumes"; complete after scheduling_constraints_finish() */
	bool nodes_known;           /* there are Node objects */
	bool pods_known;            /* there are Pod objects */
	bool selects_by_namespaces; /* a term of another pod depends on labels of namespaces */
	struct domain_rules rules;
	struct constrained_node *nodes;
	size_t n_nodes, nodes_size;
	struct name_table by_name; /* the nodes' places, from 1 */
	struct constrained_match *matches;
	size_t n_matches, matches_size;
	struct constrained_term *terms;
	size_t n_terms, terms_size;
	struct strv pod_nodes; /* names of nodes with pods, each once */
	struct name_table pod_nodes_seen;
};

/*
 * Constraints of a Pod or pod template in the namespace (NULL or "" = default). `bound`: spec.nodeName is the user's own wish,
 * and not what a scheduler wrote there. `ret` is to be released. It may not be moved after this.
 */
void scheduling_constraints_init(
	struct scheduling_constraints *ret, const struct doc *pod, const char *namespace, bool bound);
void scheduling_constraints_release(struct scheduling_constraints *sc);

/* Add a Node or a Pod; objects without a name, pods without a node and pods that have ended are passed over. */
void scheduling_constraints_add(
	struct scheduling_constraints *sc, enum object_kind kind, const struct doc *object);

/* After the last object. */
void scheduling_constraints_finish(struct scheduling_constraints *sc);

/*
 * What keeps the first copy away from the node: what node_constraints_violated() says, "pod anti-affinity with KEY=VALUE",
 * "there is no such
 * Node" where other nodes have Node objects; "" = nothing that is known. Valid as long as the constraints.
 */
const char *scheduling_constraints_violated(const struct scheduling_constraints *sc, const char *node);

/* Copies may go to the node, the first one or, where topology spread keeps that away, a later one. */
bool scheduling_constraints_lets(const struct scheduling_constraints *sc, const char *node);

/* The node of that name, NULL = it has no Node object. */
const struct constrained_node *scheduling_constraints_node(
	const struct scheduling_constraints *sc, const char *name);
