/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Changes a cluster in memory, step by step and back: pods are evicted and started, and each node's kubelet admits and rejects them and
 * takes back what they held. `kubectl numa plan` and `kubectl numa simulate` build on it.
 *
 * The start is the model of the cluster (cluster.h) with each node as projected (project_node.h). Scheduling constraints are those of
 * scheduling_constraints.h.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/constraints/scheduling_constraints.h"
#include "cluster/model/verdicts.h"
#include "cluster/objects/pod_status.h"
#include "common/doc.h"
#include "common/hash.h"
#include "scoring/node/node_admission.h"

#define SIMULATED_NOWHERE SIZE_MAX /* the node of a pod that runs nowhere */

struct simulated_pod {
	char *namespace, *name;
	char *uid;        /* metadata.uid; "" for an added pod */
	char *owner;      /* "ReplicaSet 'web-1'": the controller, which would recreate the pod; "" = none */
	char *controller; /* its UID; "" = none */
	char *scheduler;  /* spec.schedulerName */
	struct pod_names names;
	struct pod_class *class;
	size_t constraints; /* index in simulated_cluster.constraints */
	char *key;          /* pod_key(), until simulated_cluster_finish() */
	char *bound;        /* spec.nodeName, until then; "" = none */
	size_t node;        /* or SIMULATED_NOWHERE */
	int32_t priority;
	int64_t created_s;                /* metadata.creationTimestamp, in seconds since the epoch */
	struct disruption_budget *budget; /* of the model; NULL = none selects the pod */
	size_t n_budgets;                 /* PodDisruptionBudgets that select the pod */
	int64_t grace_s;                  /* spec.terminationGracePeriodSeconds */
	bool priority_known, daemon, local_storage, bound_volumes, responders, terminating, gated;
	bool recreated;  /* by a controller of a kind that is known to do so */
	bool marked;     /* by an annotation, not to be disrupted */
	bool gang;       /* starts and ends with other pods */
	bool finalizers; /* of others than controllers of pods */
	bool added;      /* no object of the cluster: a copy, or the pod of a reservation */
	bool reserved;   /* stands for the pod of a reservation, or for a nominated pod */
	bool unreadable; /* the requests of the Pod cannot be read, so the pod is never moved */
};

/* Why no pod may start on a node, and none may leave. */
enum simulated_obstacle {
	SIMULATED_NO_OBSTACLE,
	SIMULATED_NO_OBJECT, /* no NodeResourceTopology object */
	SIMULATED_NOT_EXACT, /* verdicts on the node would be estimates */
	SIMULATED_OUTDATED,  /* the object has not been written for too long */
	SIMULATED_NO_NODE,   /* no Node object: what pods request is not known */
	SIMULATED_UNSETTLED, /* the object does not report yet what one of the node's pods holds, and this is not known otherwise */
	SIMULATED_NO_PODS, /* the object reports pods, but the cluster has no Pods */
	SIMULATED_RESERVED, /* the kubelet would not admit the pod of a reservation yet: room is being made for the pod */
	SIMULATED_OVERCOMMITTED, /* of plans: the pods request more than the node has, so the kubelet may reject one of them */
	SIMULATED_NOT_SELECTED, /* the command is about other nodes */
	SIMULATED_NOT_ALIGNED,  /* of simulated_require_alignment(): the kubelet aligns no pods */
	SIMULATED_OBSTACLE_COUNT
};

extern const char *const simulated_obstacle_names[SIMULATED_OBSTACLE_COUNT];

struct simulated_node {
	const char *name; /* of `info` */
	/* In the model. Simulated settings change its object's state and its allocatable amounts; its pods stay as they were read. */
	struct node_info *info;
	struct node_state
		state; /* as simulated; borrows from info->object except allocations.items, .shared, .memory */
	bool adds_unreported; /* before any change: `state` has pods that the object does not report */
	struct doc node;      /* the Node, as far as scheduling constraints depend on it */
	struct resource_list requested; /* by `pods` */
	size_t *pods;                   /* indexes in simulated_cluster.pods */
	size_t n_pods, pods_size;
	uint64_t version;                 /* changes with every change of the node */
	struct node_admission *admission; /* of `state`; NULL = not made */
	bool admission_kept;              /* counts in simulated_cluster.admission_cpus */
	enum simulated_obstacle obstacle;
	bool gone; /* assumed to be no node of the cluster */
};

/* A reservation of a node that no pod of the node uses. */
struct simulated_reservation {
	const struct node_reservation *info; /* in the model */
	size_t node;
	size_t user; /* the wanted pod that gets the reservation; or SIMULATED_NOWHERE */
};

/* Pods with the same namespace, labels and constraints. */
struct simulated_constraints {
	char key[HASH_TEXT_SIZE]; /* identifies the constraints */
	struct doc object;        /* metadata and spec as far as constraints depend on them, without a name */
	struct scheduling_constraints *evaluated;
	bool depends_on_pods;
	uint64_t version; /* simulated_cluster.placement_version at the evaluation */
};

#define SIMULATED_EVALUATED 16u /* evaluated constraints; each takes memory for every node */
/* CPUs of the nodes whose admission is kept. An admission takes about 350 bytes per CPU: 180 MB for all of them. */
#define SIMULATED_ADMISSION_CPUS ((size_t)1 << 19)

struct simulated_undo;
struct simulated_cache_entry;

struct simulated_cluster {
	struct cluster model;         /* as read */
	struct simulated_node *nodes; /* by name after simulated_cluster_finish() */
	size_t n_nodes, nodes_size;
	struct name_table nodes_by_name; /* indexes */
	struct simulated_pod *pods;
	size_t n_pods, pods_size;
	struct name_table pods_by_key;              /* indexes, until simulated_cluster_finish() */
	struct simulated_reservation *reservations; /* after simulated_apply_reservations() */
	size_t n_reservations, reservations_size;
	struct simulated_constraints **constraints;
	size_t n_constraints, constraints_size;
	struct name_table constraints_by_key; /* indexes */
	size_t evaluated
		[SIMULATED_EVALUATED]; /* a ring buffer of indexes plus 1: constraints that are evaluated */
	size_t next_evaluated;
	size_t *admissions; /* indexes of nodes: `admission_kept` */
	size_t n_admissions, admissions_size;
	size_t admission_cpus; /* of these nodes */
	uint64_t random;       /* which admission is discarded next */
	size_t n_anti_affinity,
		n_added_anti_affinity; /* pods whose required anti-affinity may exclude other pods */
	struct allocation *
		*items; /* what started pods hold; owned, because states and saved states borrow it */
	size_t n_items, items_size;
	struct simulated_undo *undo; /* newest last */
	size_t n_undo, undo_size;
	struct simulated_cache_entry *cache; /* verdicts */
	struct distances_kept distances;     /* of the last judged machine */
	uint64_t last_version, placement_version;
	uint64_t n_verdicts; /* computed so far: the work of a search */
	/* Called often while plans and simulations are computed, as "DONE of TOTAL WHAT", with TOTAL 0 as "DONE WHAT"; or NULL. */
	void (*progress)(const char *what, size_t done, size_t total);
};

static inline void simulated_show_progress(
	const struct simulated_cluster *c, const char *what, size_t done, size_t total)
{
	if (c->progress)
		c->progress(what, done, total);
}

void simulated_cluster_init(struct simulated_cluster *c);
void simulated_cluster_release(struct simulated_cluster *c);

/* Adds a NodeResourceTopology object, which moves. */
void simulated_cluster_add_node(struct simulated_cluster *c, struct cluster_node *node);

/*
 * Adds a Node, a Pod or a PodDisruptionBudget. Ended pods, and Pods that were added before, are ignored. A Pod whose requests cannot be
 * read stays where it is. 0; -EINVAL with one line.
 */
int simulated_cluster_add_object(
	struct simulated_cluster *c, enum object_kind kind, struct doc *object, struct err *err);

/*
 * Adds a node without pods to a finished cluster, from whose admissions nothing is borrowed afterwards. The content of
 * the state, the Node and its allocatable amounts moves. The state's name must be new.
 */
void simulated_cluster_add_empty_node(struct simulated_cluster *c, struct node_state *state, struct doc *node,
	struct resource_list *allocatable);

/* To be called after the last object. Reservations and nominated pods do not count until simulated_apply_reservations(). */
void simulated_cluster_finish(struct simulated_cluster *c);

/* Sets nodes aside whose object was last written before this time, in seconds since 1970: they get an obstacle. To be called after
 * simulated_cluster_finish(). */
void simulated_set_aside_outdated(struct simulated_cluster *c, int64_t before_s);

/*
 * Judges kubelets with the topology manager policy best-effort as if it was restricted: pods start only where the
 * best-effort policy aligns them too, because both policies choose the same NUMA nodes and only the admission differs.
 * Leaves nodes with the policy none alone. To be called after simulated_cluster_finish().
 */
void simulated_require_alignment(struct simulated_cluster *c);

/*
 * Sets nodes aside whose objects report pods, if the cluster has no Pods at all. To be called after simulated_cluster_finish(). Returns
 * the number of these nodes.
 */
size_t simulated_set_aside_without_pods(struct simulated_cluster *c);

/* Nodes without an obstacle whose objects report pods that have no Pod object. */
size_t simulated_count_unlisted(const struct simulated_cluster *c);

/*
 * Adds `n` copies of a pod template, which run nowhere: NAME, or NAME-1 to NAME-n. Returns the index of the first copy; the
 * others follow. The request moves.
 */
size_t simulated_cluster_add_copies(struct simulated_cluster *c, const struct doc *owner,
	const char *namespace, const char *name, struct pod_request *request, size_t n);

/*
 * Starts a pod for each reservation, unless the reservation's pod runs already, is one of the wanted pods, or must not use the
 * reservation yet; and one for each nominated pod, unless it is wanted, or its priority is lower than that of every wanted pod. To be
 * called once, after the wanted pods are known.
 */
void simulated_apply_reservations(struct simulated_cluster *c, const size_t *wanted, size_t n_wanted);

/* The node of the wanted pod's reservation; SIMULATED_NOWHERE = none. */
size_t simulated_reserved_node(const struct simulated_cluster *c, size_t wanted);

/* SIZE_MAX = no such node. */
size_t simulated_cluster_find(const struct simulated_cluster *c, const char *node);

/* ---- questions about a pod that runs nowhere: a wanted pod, or a pod that simulated_evict() has evicted */

/* The verdict of the node's kubelet on the pod, without a reason, which simulated_explain() says. Unknown for a node with an obstacle. */
struct verdict simulated_judge(struct simulated_cluster *c, size_t node, size_t pod);

/* The answer of simulated_judge() for the node without some of its pods; without[i] belongs to nodes[node].pods[i]. */
enum kubelet_answer simulated_judge_without(
	struct simulated_cluster *c, size_t node, const bool *without, size_t pod);

/* Why a scheduler would not bind the pod to the node, "" = no known reason. Valid until the next change of the cluster. */
const char *simulated_constraint(struct simulated_cluster *c, size_t node, size_t pod);

/* The verdict on the pod as text: "admitted" or one sentence. The caller frees the text. */
char *simulated_explain(struct simulated_cluster *c, size_t node, size_t pod);

/*
 * Completes initialized constraints with the nodes and with the current placement of all pods, and finishes them. Nodes that are
 * excluded (one flag per node) do not exist; NULL = gone nodes are no domains of rules. Returns whether the constraints depend on other pods.
 */
bool simulated_evaluate(struct simulated_cluster *c, struct scheduling_constraints *sc, const bool *excluded);

/* Whether a pod may start on the node at all: the node is not excluded (one flag per node), has no obstacle, and satisfies the
 * pod's constraints. */
bool simulated_is_usable(struct simulated_cluster *c, size_t node, size_t pod, const bool *excluded);

/* The best of the usable nodes whose kubelets admit the pod, as verdict_is_better(). SIMULATED_NOWHERE = no kubelet admits the pod. */
size_t simulated_find_place(struct simulated_cluster *c, size_t pod, const bool *excluded);

/* What the pod holds on its node: its CPUs, and the NUMA nodes of its CPUs, memory and devices. To be released. */
void simulated_held(const struct simulated_cluster *c, size_t pod, struct pod_held *ret);

/* ---- changes */

/* Starts the pod on the node. False, and no change, unless the kubelet admits the pod. */
bool simulated_start(struct simulated_cluster *c, size_t node, size_t pod);

/* Starts the pod on the node with what a verdict of `a`, the admission of the node's state, assigns. */
void simulated_assign(struct simulated_cluster *c, size_t node, size_t pod, const struct node_admission *a,
	const struct kubelet_verdict *v);

/* The pod ends on its node, whose kubelet takes back what the pod held. */
void simulated_evict(struct simulated_cluster *c, size_t pod);

/*
 * simulated_undo() reverts all changes since simulated_mark() returned `mark`: simulated_start(), simulated_assign() and
 * simulated_evict(). The pods must be where these changes have left them.
 */
size_t simulated_mark(const struct simulated_cluster *c);
void simulated_undo(struct simulated_cluster *c, size_t mark);

/* Makes all changes final. */
void simulated_forget_undo(struct simulated_cluster *c);

/* ---- for the other files of this module and simulate.c */

/* Sets the node's simulated state to the state of its object, which may have changed. The previous state must be released. */
void simulated_begin_state(struct simulated_cluster *c, struct simulated_node *n);

/* Sets the constraints of a new pod, whose object moves. The first member of its spec is nodeName. */
void simulated_set_constraints(struct simulated_cluster *c, struct simulated_pod *p, struct doc *object);

void simulated_constraints_release(struct simulated_constraints *k);

/* Adds the pod to the node's list at this position; what the kubelet assigns does not change. simulated_undo() does not revert this. */
void simulated_add_to_node(struct simulated_cluster *c, size_t node, size_t pod, size_t position);

/* Removes the pod from the node's list; simulated_undo() does not revert this. Returns the pod's position, which simulated_add_to_node() takes. */
size_t simulated_remove_from_node(struct simulated_cluster *c, size_t pod);
