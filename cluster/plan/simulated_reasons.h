/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds why no node of a simulated cluster takes a pod, with the number of nodes per reason.
 */
#include <stddef.h>

#include "cluster/plan/simulated_cluster.h"

struct simulated_reason {
	char *text;
	size_t n_nodes;
};

struct simulated_reasons {
	struct simulated_reason *items;
	size_t n_items, items_size;
};

void simulated_reasons_release(struct simulated_reasons *r);

/* Counts a node for a reason, which moves. */
void simulated_reasons_count(struct simulated_reasons *r, char *text);

/*
 * Why no node takes the pod, which runs nowhere: a scheduling constraint or the kubelet's verdict; the most frequent reason first. Nodes
 * that are not selected do not count, and neither do excluded nodes (one flag per node; NULL = none).
 */
void simulated_reasons_find(
	struct simulated_cluster *c, size_t pod, const bool *excluded, struct simulated_reasons *ret);
