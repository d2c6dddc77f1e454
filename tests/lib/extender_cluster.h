/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A few simulated nodes, and the extender's cluster cache of them: for tests of what schedulers are answered. Objects and pods
 * come to the cluster cache only when the test has them reported.
 */
#include "agent/extender/answer.h"
#include "tests/lib/node_sim.h"

#define CLUSTER_NODES 4
#define CLUSTER_PODS  200

extern const struct answer_config answer_best, answer_all;

struct cluster_pod_sim {
	char name[16];    /* and its UID */
	const char *text; /* tests/lib/pods.h */
	size_t node;
	int priority;
	uint64_t version; /* the resourceVersion that a scheduler asks with; 0 = none */
	bool begun, reported, runs,
		ended; /* on the node; to the cluster cache; as running, or not any more */
};

struct extender_cluster {
	struct cluster_cache cache;
	struct node_sim sims[CLUSTER_NODES];
	char names[CLUSTER_NODES][16]; /* "node-0" */
	char *asked[CLUSTER_NODES];
	struct cluster_pod_sim pods[CLUSTER_PODS];
	size_t n_pods;
	uint64_t seed;
};

/* Nodes of these machines with drawn settings. */
void extender_cluster_draw(struct node_sim_setup setups[CLUSTER_NODES], const struct synthetic *machines,
	size_t n_machines, uint64_t *seed);

/* A promise ends after 60 s, a refusal counts for 30 s. */
void extender_cluster_init(
	struct extender_cluster *c, const struct node_sim_setup setups[CLUSTER_NODES], uint64_t seed);

/* The same where all nodes are alike, and each has published its object. */
void extender_cluster_init_alike(struct extender_cluster *c, const struct node_sim_setup *setup);
void extender_cluster_release(struct extender_cluster *c);

/* The node's object as it is now. */
void extender_cluster_publish(struct extender_cluster *c, size_t node, uint64_t now_ms);

/* Its Node, which has allocatable what the simulated node has free. */
void extender_cluster_report_node(struct extender_cluster *c, size_t node);

/* A pod "pN" of that text, which nobody knows yet. */
struct cluster_pod_sim *extender_cluster_pod(struct extender_cluster *c, const char *text);

/* The pod begins on its simulated node. Returns whether its kubelet admits it. */
bool extender_cluster_begin(struct extender_cluster *c, struct cluster_pod_sim *pod, size_t node);

/* The pod as the API server has it: with its node and in this phase; NULL = Pending. */
void extender_cluster_report(
	struct extender_cluster *c, struct cluster_pod_sim *pod, const char *phase, uint64_t now_ms);
void extender_cluster_report_gone(struct extender_cluster *c, const struct cluster_pod_sim *pod);

/* What a scheduler asks about the pod; to be released by extender_cluster_args_release(). */
void extender_cluster_args(
	struct extender_cluster *c, const struct cluster_pod_sim *pod, struct extender_args *ret);
void extender_cluster_args_release(struct extender_args *args);

/* Which nodes pass /filter, a bit each. */
unsigned extender_cluster_ask(struct extender_cluster *c, const struct answer_config *how,
	const struct cluster_pod_sim *pod, uint64_t now_ms);

/* Whether the node's own kubelet would admit the pod now. */
bool extender_cluster_admits(const struct extender_cluster *c, size_t node, const char *text);
