/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Tells whether a node's kubelet would start with the settings in the node's state. The rules are those of scoring/kubelet_start.h.
 */
#include "common/err.h"
#include "common/node_state.h"
#include "scoring/kubelet_start.h"

/* What the node's state says about the kubelet's start, for kubelet_start_find(). Pointers are borrowed from `node`. */
struct kubelet_start node_start_of(const struct node_state *node, hwloc_const_bitmap_t reserved);

/* Finds all problems. `reserved`: the reserved CPUs that the running kubelet reports; NULL = the settings decide. */
void node_start_find(
	const struct node_state *node, hwloc_const_bitmap_t reserved, struct kubelet_start_problems *ret);

/* 0; -EINVAL with "the kubelet would not start: " and the first problem. */
int node_start_check(const struct node_state *node, hwloc_const_bitmap_t reserved, struct err *err);
