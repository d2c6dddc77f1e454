/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How the scheduler plugin understands the names and values in a NodeResourceTopology object: zone names, the
 * effective Topology Manager configuration, where the pods' fingerprint is. Pure functions over texts;
 * who parses the object calls them. Depends on common/ only.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/settings.h"

/* An attribute or annotation. */
struct nrt_attribute {
	const char *name, *value;
};

#define NRT_MAX_NODE_ID 63u /* readers keep NUMA ids in 64-bit masks and crash or skip beyond */

/* The NUMA node id in a zone's or a cost's name, "node-3": 0..63, or -1 when the name has none (also
 * "node--1", "numa-0", ids above 63). A sign and leading zeros are accepted, as the plugin does. */
int nrt_zone_id(const char *name);

/*
 * The Topology Manager configuration that the plugin takes from the object: scope container, policy none and
 * 8 NUMA nodes at first; then the first of `policies` (the deprecated topologyPolicies) sets policy and scope
 * if it is one that the plugin knows; then each valid attribute in order replaces a value. The result never
 * holds an unknown.
 */
struct topology_manager_config nrt_topology_manager(const char *const *policies, size_t n_policies,
	const struct nrt_attribute *attributes, size_t n_attributes);

/* The two halves of it, for values that are already there. */
void nrt_apply_policies(
	struct topology_manager_config *config, const char *const *policies, size_t n_policies);
void nrt_apply_attributes(
	struct topology_manager_config *config, const struct nrt_attribute *attributes, size_t n_attributes);

/* What the plugin divides a score by for a node with this many Node zones: at least the number of zones. */
unsigned nrt_max_numa_nodes(const struct settings *s, unsigned zones);
