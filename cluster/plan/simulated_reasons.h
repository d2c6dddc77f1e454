/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds why no node of a simulated cluster takes a pod, with the number of nodes per reason.
 */
#include "cluster/model/node_reasons.h"
#include "cluster/plan/simulated_cluster.h"

/*
 * Why no node takes the pod, which runs nowhere: a scheduling constraint or the kubelet's verdict; the most frequent reason first. Nodes
 * that are not selected do not count, and neither do excluded nodes (one flag per node; NULL = none).
 */
void simulated_reasons_find(
	struct simulated_cluster *c, size_t pod, const bool *excluded, struct node_reasons *ret);
