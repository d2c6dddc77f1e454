/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Simulates other kubelet settings, restarts of kubelets, and the loss of nodes: which pods would be rejected, and what would be
 * free.
 */
#include "cluster/plan/simulated_cluster.h"
#include "scoring/node/settings_change.h"

/* Machines that do not exist yet. */
struct simulated_addition {
	size_t n;
	struct node_state hardware; /* machine and registered devices */
};

#define SIMULATED_ADDITIONS_MAX 1000u /* machines of all additions together */

struct simulate_options {
	const char *const *settings; /* KEY=VALUE as for settings_change(); borrowed */
	size_t n_settings;
	bool restart;               /* kubelets restart while their pods run */
	const char *const *without; /* nodes that are gone; borrowed */
	size_t n_without;
	const struct simulated_addition *additions; /* borrowed */
	size_t n_additions;
	const char *like; /* the node whose settings, labels and taints added machines have; NULL = none */
	const struct pod_template *shape; /* whose copies are counted; NULL = none */
	const char *namespace;            /* of the shape */
};

/* What is free on a node. Unknown without the static CPU manager policy, and for a node with an obstacle. */
struct simulated_amounts {
	bool known;
	size_t free;              /* CPUs */
	size_t stranded;          /* free CPUs that no further pod can get aligned */
	size_t largest[2];        /* CPUs of the largest pod on one NUMA node, and on at most two */
	struct pod_copies copies; /* of the shape, on this node alone, within its scheduling constraints */
};

struct simulated_change {
	struct simulated_amounts before, after;
	size_t n_rejected, n_unknown; /* pods that ran on the node */
	size_t n_rejected_anyway;     /* of n_rejected: also if they were admitted again without the change */
	size_t n_wider, n_narrower;   /* pods on more NUMA nodes than before, and on fewer */
	bool changed;                 /* the node's kubelet has admitted the pods again */
	bool is_gone;                 /* the command names the node with --without-node */
	bool added;                   /* the machine does not exist yet */
	bool unusable;                /* not ready or cordoned: the totals omit the node */
	char *problem;                /* why the node could not be simulated; NULL = it could */
	char *action; /* what a person must do before the restarted kubelet starts; NULL = nothing */
	char *hazard; /* how a pod could crash or hang the changed kubelet, and the remedy; NULL = not known to */
};

enum simulated_effect {
	SIMULATED_REJECTED, /* the kubelet would reject the pod */
	SIMULATED_UNKNOWN,  /* the kubelet's verdict is unknown */
	SIMULATED_NO_PLACE, /* no other node takes the pod of a node that is gone */
	SIMULATED_MOVED,    /* a pod of a node that is gone starts on another node */
	SIMULATED_WIDER,    /* the pod gets more NUMA nodes than before */
	SIMULATED_EFFECT_COUNT
};

extern const char *const simulated_effect_names[SIMULATED_EFFECT_COUNT]; /* "rejected", "unknown", ... */

struct simulated_event {
	enum simulated_effect effect;
	size_t pod, node;       /* node: where the pod ran */
	size_t to;              /* of a moved pod, else SIMULATED_NOWHERE */
	uint64_t before, after; /* masks of the NUMA nodes of the pod; 0 = none */
	char *reason;           /* one sentence; "" = none */
};

/* What the loss of one node alone would mean. */
struct simulated_loss {
	size_t node;
	size_t n_moved;   /* pods that start on other nodes */
	size_t *unplaced; /* pods that no other node takes */
	size_t n_unplaced, unplaced_size;
	char *reason; /* of the first of these pods; NULL = there is none */
};

struct simulation {
	bool drained, restarted;       /* how the pods of nodes with other settings were admitted again */
	struct simulated_loss *losses; /* by simulate_losses(), in the order of the nodes */
	size_t n_losses, losses_size;
	struct simulated_change *nodes; /* one per node of the cluster */
	size_t n_nodes;
	struct simulated_event *events; /* by node, in the order of admission */
	size_t n_events, events_size;
	struct pod_copies copies_before, copies_after; /* of the shape, on all nodes together */
	struct strv not_evaluated;                     /* of the shape's scheduling constraints */
	char *proposed; /* a setting that no kubelet has yet, as it was given; NULL = none */
};

void simulation_release(struct simulation *s);

/* Simulates the loss of each node alone, after the changes of the simulation. Omits nodes without objects and nodes with an obstacle.
 * The cluster does not change. */
void simulate_losses(struct simulated_cluster *c, struct simulation *s);

/* Losses after which a pod has no place. */
size_t simulation_count_bad_losses(const struct simulation *s);

/* Nodes whose restarted kubelet does not start until a person acts. */
size_t simulation_count_actions(const struct simulation *s);

/*
 * Applies the changes to the cluster. If machines are added, the settings apply only to these; else to every node. The
 * pods of each node with changed settings end and are admitted again in the order of their creation, as if the node
 * were drained and the same pods came back; or, with `restart`, every kubelet restarts while its pods run. Then the
 * pods of nodes that are gone start on other nodes, the highest priority first; pods of DaemonSets and static pods end
 * with their node. Nodes with an obstacle do not change. 0; -EINVAL with one line: a bad setting, or no such node.
 */
int simulate(struct simulated_cluster *c, const struct simulate_options *options, struct simulation *ret,
	struct err *err);

/* Pods that lose their place, and pods whose verdict is unknown. */
size_t simulation_count_rejected(const struct simulation *s);
size_t simulation_count_rejected_anyway(const struct simulation *s);
size_t simulation_count_unknown(const struct simulation *s);

/* Nodes of which nothing is simulated although the command is about them. */
size_t simulation_count_left_alone(const struct simulation *s, const struct simulated_cluster *c);

/* ---- for the other files of this module */

/* The NUMA nodes of what the pod holds, as a mask. */
uint64_t simulation_find_numa(const struct simulated_cluster *c, size_t pod);

/* Adds an event of a pod that ran on the node. `reason` moves. */
void simulation_add_event(struct simulation *s, enum simulated_effect effect,
	const struct simulated_cluster *c, size_t pod, size_t node, uint64_t before, char *reason);

/* Counts a pod that its kubelet has not admitted again, and adds its event. `reason` moves. */
void simulation_count_lost(struct simulation *s, const struct simulated_cluster *c, size_t pod, size_t node,
	enum kubelet_answer answer, uint64_t before, char *reason);

/* Counts a pod that its kubelet has admitted again, if it has other NUMA nodes than before, and adds an event if it has more. */
void simulation_count_kept(
	struct simulation *s, const struct simulated_cluster *c, size_t pod, size_t node, uint64_t before);

/* The node's pods in the order of their creation; the caller frees the list. */
size_t *simulation_list_pods(const struct simulated_node *n);

/* 0; -EINVAL with one line: a bad setting. */
int simulation_check_settings(const struct simulate_options *options, struct err *err);

/* The amounts of a node that depend on its settings; simulation_change_settings() saves them before the change. */
struct simulated_setting_change {
	struct settings_changes changes;
	qty_t reserved_cpu,
		reserved_memory; /* before the change: kubeReserved and systemReserved, or reservedSystemCPUs */
};

/*
 * Changes the node's settings, and prepares the state for node_derive(): reserved CPUs follow from the settings if
 * these change them. 0; -EINVAL with one line.
 */
int simulation_change_settings(const struct simulate_options *options, struct node_state *state,
	struct simulated_setting_change *ret, struct err *err);

/* Derives reserved CPUs and inventory, and sets the simulated state to the state of the node's object. 0; -errno with
 * one line. */
int simulation_derive_node(struct simulated_cluster *c, struct simulated_node *n, struct err *err);

/* The Node's allocatable CPUs and memory change with what is reserved. */
void simulation_change_allocatable(struct simulated_node *n, const struct simulated_setting_change *change);

/* Adds the machines as nodes "new-1" and so on, without pods. 0; -EINVAL with one line. */
int simulation_add_machines(
	struct simulated_cluster *c, const struct simulate_options *options, struct err *err);

/*
 * Limits the copies of the shape that the kubelets admit, before or after the changes, to those that kube-scheduler would place
 * now (simulated_copies.c). To be called once for each.
 */
void simulation_place_copies(struct simulated_cluster *c, const struct simulate_options *options,
	struct simulation *s, bool after);

/* The kubelet of the node, with the changed settings, restarts while the node's pods run. */
void simulation_restart_node(struct simulated_cluster *c, size_t node, const struct simulate_options *options,
	struct simulation *s);
