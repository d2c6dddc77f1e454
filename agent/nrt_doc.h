/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * From NodeResourceTopology objects, of any exporter and of v1alpha1 or v1alpha2, to inventories.
 */
#include "agent/doc.h"
#include "common/inventory.h"

struct nrt_node {
	char *name; /* the Node's */
	struct inventory
		inventory; /* its Node zones in the object's order, its effective Topology Manager settings */
	enum cpu_manager_policy
		cpu_manager; /* attribute cpuManagerPolicy, unknown where the exporter does not tell */
};

struct nrt_nodes {
	struct nrt_node *items;
	size_t n_items;
	size_t items_size;
};

void nrt_nodes_release(struct nrt_nodes *n);

/*
 * Append the object, or every object of a List, to `nodes`. Zones that are no "Node" or not named node-<id>
 * are passed over, as every reader does. 0; -EINVAL with one line (another kind, no zones, a bad quantity);
 * -ENOMEM. On failure the objects in front of the bad one are in `nodes`.
 */
int nrt_nodes_add(const struct doc *object, struct nrt_nodes *nodes, struct err *err);
