/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The largest pod that a node's kubelet admits on so many NUMA nodes: one Guaranteed container with exclusive
 * CPUs and nothing else. It serves the Node's labels and the view of a cluster.
 */
#include "agent/state/node_admission.h"
#include "scoring/exclusive_cpus.h"

/*
 * Its CPUs, for `n_nodes` NUMA nodes or fewer: the largest number in `admitted` (of the node's policy) that is free
 * on some of them and on the node as a whole. 0 = none. False when it is not known.
 */
bool largest_pod(const struct node_admission *admission, const struct exclusive_cpus_admitted *admitted,
	unsigned n_nodes, size_t *ret);

/* Whole CPUs that can still be asked of the node, whatever its managers could do: a pod that asks for more is
 * rejected (OutOfcpu). What init containers may have held counts as free. */
size_t largest_pod_limit(const struct node_admission *admission);

/* The free CPUs of the NUMA nodes that remain when as many of the smallest pods in `admitted`, which is known, are placed
 * as the kubelet admits one after the other. */
void largest_pod_stranded(
	const struct node_admission *admission, const struct exclusive_cpus_admitted *admitted, size_t *ret);
