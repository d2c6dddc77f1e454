/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads the cluster for which kubectl-numa plans or simulates.
 */
#include "cli/numa/source.h"
#include "cluster/plan/simulated_cluster.h"

/* Reads the whole cluster: NodeResourceTopology objects, Nodes, Pods and PodDisruptionBudgets. A denied list is an error. `c` is
 * initialized, and finished on success. */
int read_cluster(struct source *s, struct simulated_cluster *c, struct err *err);
