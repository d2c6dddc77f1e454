/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Adds to the picture of a node what pods will hold that the node's object does not report yet.
 */
#include "cluster/model/project_node.h"

/*
 * Adds items to a state of cluster_node_read_picture(): for pods that are bound to the node as containers "expected", for pods that the
 * scheduler makes room for as containers "nominated", and for the pods of reservations as containers "reserved". Adds a line to `notes`
 * for each reservation that has no place, or whose place is unknown because the object has no node state. Discards the node's projection.
 */
void show_add_expected(
	struct projections *p, const struct node_info *node, struct node_state *state, struct notes *notes);
