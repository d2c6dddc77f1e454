/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Simulates a few nodes, and fills an extender's cluster from them.
 *
 * The cluster gets an object or a pod only when the test calls extender_cluster_publish() or extender_cluster_report().
 */
#include "cluster/extender/verbs.h"
#include "cluster/objects/reservation.h"
#include "tests/lib/node_sim.h"

#define CLUSTER_NODES 4
#define CLUSTER_PODS  200

extern const struct verb_config answer_best, answer_all;

struct cluster_pod_sim {
	char name[16];    /* also its UID */
	const char *text; /* tests/lib/pods.h */
	size_t node;
	int priority;
	const char *controller; /* its UID; NULL = none */
	int64_t created_s;      /* metadata.creationTimestamp; 0 = none */
	const char *gang;       /* name of its PodGroup; NULL = none */
	const char *nominated;  /* its nominated node in the scheduler's request; NULL = none */
	const char *app;        /* its label app; NULL = no labels */
	bool repels;            /* it has podAntiAffinity */
	const char *reason;     /* status.reason of the failed pod; NULL = "TopologyAffinityError" */
	uint64_t version;       /* resourceVersion in the scheduler's request; 0 = none */
	uint64_t arrival;       /* of the scheduler's request */
	bool begun, reported, runs,
		ended; /* begun on the simulated node; reported to the cluster, also as running; ended */
};

struct extender_cluster {
	struct cluster cluster;
	struct verdicts verdicts;
	struct node_sim sims[CLUSTER_NODES];
	char names[CLUSTER_NODES][16];  /* "node-0" */
	char *requested[CLUSTER_NODES]; /* NodeNames of the requests */
	struct resource_list allocatable[CLUSTER_NODES];
	struct doc reservations[CLUSTER_NODES]; /* the Nodes' annotations */
	struct cluster_pod_sim pods[CLUSTER_PODS];
	size_t n_pods;
	uint64_t seed;
};

/* Draws a machine and settings for each node. */
void extender_cluster_draw(struct node_sim_setup setups[CLUSTER_NODES], const struct synthetic *machines,
	size_t n_machines, uint64_t *seed);

/* Assumed pods expire after 60 s, rejections after 30 s. */
void extender_cluster_init(
	struct extender_cluster *c, const struct node_sim_setup setups[CLUSTER_NODES], uint64_t seed);

/* Initializes equal nodes and publishes their objects. */
void extender_cluster_init_alike(struct extender_cluster *c, const struct node_sim_setup *setup);
void extender_cluster_release(struct extender_cluster *c);

/* The objects of a node and of a pod that is bound to its node; `phase` NULL = "Pending". To be released. */
void extender_cluster_nrt(const struct extender_cluster *c, size_t node, struct doc *ret);
void extender_cluster_node(const struct extender_cluster *c, size_t node, struct doc *ret);
void extender_cluster_pod_object(const struct extender_cluster *c, const struct cluster_pod_sim *pod,
	const char *phase, struct doc *ret);

/* Passes the node's current NodeResourceTopology object to the cluster. */
void extender_cluster_publish(struct extender_cluster *c, size_t node, uint64_t now_ms);

#define CLUSTER_ORDERS 6

/* Restarts the extender: a new cluster lists the Nodes, the nodes' objects, and the pods that have been reported and not ended, in one of
 * CLUSTER_ORDERS orders. */
void extender_cluster_restart(struct extender_cluster *c, unsigned order);

/* Passes a Node object to the cluster. */
void extender_cluster_report_node(struct extender_cluster *c, size_t node);

/* Reserves what the pod requests on the node, or with `pod` NULL removes the reservation of this id; reports the Node. */
void extender_cluster_reserve(struct extender_cluster *c, size_t node, const struct reservation *reservation,
	const struct cluster_pod_sim *pod);

/* Adds a pod "pN". Neither the node nor the cluster knows the pod yet. */
struct cluster_pod_sim *extender_cluster_pod(struct extender_cluster *c, const char *text);

/* Starts the pod on the simulated node. Returns whether the kubelet admits the pod. */
bool extender_cluster_begin(struct extender_cluster *c, struct cluster_pod_sim *pod, size_t node);

/* Passes the Pod object, bound to its node and in this phase (NULL = Pending), to the cluster. */
void extender_cluster_report(
	struct extender_cluster *c, struct cluster_pod_sim *pod, const char *phase, uint64_t now_ms);
void extender_cluster_report_deleted(
	struct extender_cluster *c, const struct cluster_pod_sim *pod, uint64_t now_ms);

/* The scheduler's request for the pod; to be released by extender_cluster_args_release(). */
void extender_cluster_args(
	struct extender_cluster *c, const struct cluster_pod_sim *pod, struct extender_args *ret);
void extender_cluster_args_release(struct extender_args *args);

/* Sends a /filter request. Returns the passing nodes, one bit per node. */
unsigned extender_cluster_ask(struct extender_cluster *c, const struct verb_config *how,
	const struct cluster_pod_sim *pod, uint64_t now_ms);

/* Whether the simulated kubelet would admit the pod now. */
bool extender_cluster_admits(const struct extender_cluster *c, size_t node, const char *text);
