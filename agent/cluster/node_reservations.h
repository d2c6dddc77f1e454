/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Keeps the reservations of the cluster cache's nodes, for cluster_cache.c. cluster_cache.h has the functions for the extender.
 */
#include "agent/cluster/cluster_cache.h"

/* Reads the reservations of a Node, which has changed. Invalid reservations are logged and ignored. */
void node_reservations_update(
	struct cluster_cache *cache, struct node_info *node, const struct doc *object, uint64_t now_ms);

/* Forgets the node's reservations, or those that have expired. */
void node_reservations_drop(struct cluster_cache *cache, struct node_info *node);
void node_reservations_expire(struct cluster_cache *cache, struct node_info *node, uint64_t now_ms);

/* The pod with this UID no longer uses a reservation of the node. */
void node_reservations_reopen(struct cluster_cache *cache, struct node_info *node, const char *uid);

/* Frees the memory of a node that is being freed. */
void node_reservations_release(struct node_info *node);
