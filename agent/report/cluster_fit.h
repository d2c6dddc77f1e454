/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * cluster_fit: what `kubectl numa fit` reports about one pod and many nodes. No I/O.
 */
#include "agent/cluster/cluster_node.h"
#include "agent/cluster/cluster_usage.h"
#include "agent/cluster/scheduling_constraints.h"
#include "agent/report/fit_report.h"

/* One node, small: thousands of them are kept. */
struct cluster_fit_row {
	char *name, *exporter;
	enum cluster_basis basis; /* of the answer; unknown where there is none */
	char *why;                /* of a basis that is not exact, "" */
	enum topology_manager_policy policy;
	enum topology_manager_scope scope;
	enum kubelet_answer answer;
	char *rejection;                /* the reason in the pod's status; "" when not rejected */
	char *reason;                   /* one sentence, "" when admitted */
	char *nearest;                  /* the nearest request that would be admitted, "8 CPUs"; "" */
	bool any_node;                  /* the first copy has no affinity to NUMA nodes */
	uint64_t numa;                  /* else those that its containers use, by id */
	struct admission_copies copies; /* 0 unless admitted */
	size_t room; /* copies that the constraints may let onto the node, now or once others are elsewhere */
	size_t replicas; /* of those that were asked for, so many go here */
};

struct cluster_fit {
	const struct pod_request *pod;              /* NULL where no node is asked */
	const struct cluster_usage *usage;          /* NULL = only the objects are known */
	struct scheduling_constraints *constraints; /* NULL = kubelets alone are asked; borrowed */
	struct cluster_fit_row *rows;
	size_t n_rows;
	size_t rows_size;
	size_t n_admit, n_unknown, n_estimated;
	size_t copies;         /* of all nodes together */
	bool at_least;         /* there may be more */
	size_t wanted, placed; /* replicas */
};

void cluster_fit_release(struct cluster_fit *fit);

/*
 * A row for the node. Where its Node and its pods are known the whole node's amounts are what they leave. A node that the
 * constraints keep the pod away from does not take the pod.
 */
void cluster_fit_add(struct cluster_fit *fit, const struct cluster_node *node);

/*
 * The order: nodes that admit the most copies first, then those whose answer is not known; then by name as people
 * sort it. And `replicas` are placed: in this order each node gets as many as it admits and as the constraints allow, which
 * takes the fewest nodes where no constraint spreads the copies.
 */
void cluster_fit_finish(struct cluster_fit *fit, size_t replicas);
