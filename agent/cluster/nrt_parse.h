/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * From NodeResourceTopology objects, of any exporter and of v1alpha1 or v1alpha2, to inventories.
 */
#include "agent/base/doc.h"
#include "common/inventory.h"
#include "scoring/nrt_rules.h"

struct nrt_node {
	char *name; /* the Node's */
	struct inventory
		inventory; /* its Node zones in the object's order, its effective Topology Manager settings */
	enum cpu_manager_policy
		cpu_manager; /* attribute cpuManagerPolicy, unknown where the exporter does not publish it */
};

struct nrt_nodes {
	struct nrt_node *items;
	size_t n_items;
	size_t items_size;
};

void nrt_nodes_release(struct nrt_nodes *n);

#define NRT_MAX_RESOURCES 1024 /* names in an object: a matrix of NUMA nodes by them is made */

/*
 * Append one object. Zones that are not of type "Node" or not named node-<id> are
 * passed over, as every reader does. 0; -EINVAL with one line (no name, no zones, more than MACHINE_MAX_NODES
 * zones or NRT_MAX_RESOURCES resources, a bad quantity); -ERANGE
 * (one too large); -ENOMEM. On failure `nodes` is as before.
 */
int nrt_nodes_add(const struct doc *object, struct nrt_nodes *nodes, struct err *err);

/* ---- parts of an object, for who wants more of it than the schedulers do */

/* The NUMA node id of a zone that readers keep, or -1. */
int nrt_zone_node(const struct doc *zone);

/* The attributes of an object or a zone that have name and value, in order; texts are borrowed. Returns how
 * many there are. */
#define NRT_MAX_ATTRIBUTES 256
size_t nrt_attributes(const struct doc *owner, struct nrt_attribute ret[NRT_MAX_ATTRIBUTES]);

/* Change `config` to what the object says of the Topology Manager; what it does not say stays. */
void nrt_topology_settings(const struct doc *object, struct topology_manager_config *config);
