/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Names the pods in node states of objects, which have hashes instead of names.
 */
#include "cluster/model/cluster.h"

/* The pod of the node that holds the item; a mirror pod only if no other pod does. NULL = unknown. */
struct pod_info *named_pods_find(const struct node_info *node, const struct allocation *item);

/* Sets the namespace and the name of each known pod of the node in a state of the node, also in claims. `node` NULL = unknown. */
void named_pods_apply(const struct node_info *node, struct node_state *state);
