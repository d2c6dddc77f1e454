/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Simulates a few nodes with their pods, and makes a simulated cluster of their objects.
 */
#include "cluster/plan/simulated_cluster.h"
#include "tests/lib/node_sim.h"

#define NODES_MAX 4
#define PODS_MAX  64

struct planned_pod {
	unsigned cpus, gib, node;
	bool runs;
};

struct planned_cluster {
	struct node_sim sims[NODES_MAX];
	unsigned n_nodes, n_pods;
	struct planned_pod pods[PODS_MAX];
	char annotations[NODES_MAX][512]; /* of the Nodes */
	const char *metadata; /* further members of the pods' metadata, each with a comma; NULL = none */
	const char *owner;    /* the pods' owner reference; NULL = a ReplicaSet */
	struct simulated_cluster c;
};

/* Two NUMA nodes of four cores with two threads; the first core is reserved. */
extern const struct synthetic planned_machine;

void planned_cluster_init(struct planned_cluster *t, unsigned n_nodes, const struct node_sim_setup *setup);
void planned_cluster_release(struct planned_cluster *t);

/* Starts the pod of this number on a node. Its name and UID are "pN". Returns whether the kubelet admits the pod. */
bool planned_cluster_start(struct planned_cluster *t, unsigned number, unsigned node);

/* Adds a pod that runs on the node, if the kubelet admits the pod. */
bool planned_cluster_add(struct planned_cluster *t, unsigned node, unsigned cpus, unsigned gib);

void planned_cluster_end(struct planned_cluster *t, unsigned number);

/* Adds an object to the simulated cluster. */
void planned_cluster_object(struct planned_cluster *t, enum object_kind kind, const char *yaml);

/* Makes the simulated cluster of the nodes and the running pods. `extra`: further members of the pods' spec. */
void planned_cluster_publish(struct planned_cluster *t, const char *labels, const char *extra);

/* Adds copies of a wanted pod to the finished simulated cluster. */
size_t planned_cluster_want(struct planned_cluster *t, unsigned cpus, unsigned gib, size_t n);
