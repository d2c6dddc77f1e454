/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * From NodeResourceTopology objects, of any exporter and of v1alpha1 or v1alpha2, to inventories.
 */
#include "agent/base/doc.h"
#include "common/inventory.h"
#include "scoring/nrt_rules.h"

#define NRT_MAX_RESOURCES 1024 /* names in an object: a matrix of NUMA nodes by them is made */

/*
 * The Node zones in the object's order, and its effective Topology Manager settings. Zones that are not of type
 * "Node" or not named node-<id> are passed over, as every reader does. 0; -EINVAL with one line (no zones, more than
 * MACHINE_MAX_NODES zones or NRT_MAX_RESOURCES resources, a bad quantity); -ERANGE (one too large). `ret`
 * is untouched on failure.
 */
int nrt_inventory(const struct doc *object, struct inventory *ret, struct err *err);

/* ---- parts of an object, for who wants more of it than the schedulers do */

/* The NUMA node id of a zone that readers keep, or -1. */
int nrt_zone_node(const struct doc *zone);

/* The attributes of an object or a zone that have name and value, in order; texts are borrowed. Returns how
 * many there are. */
#define NRT_MAX_ATTRIBUTES 256
size_t nrt_attributes(const struct doc *owner, struct nrt_attribute ret[NRT_MAX_ATTRIBUTES]);

/* The value of an attribute of the object, of several the last; NULL = it has none. Valid as long as the object. */
const char *nrt_attribute(const struct doc *object, const char *name);

/* The attributes cpuManagerPolicy and memoryManagerPolicy; unknown where there is none, or another value. */
enum cpu_manager_policy nrt_cpu_manager(const struct doc *object);
enum memory_manager_policy nrt_memory_manager(const struct doc *object);

/* Change `config` to what the object says of the Topology Manager; what it does not say stays. */
void nrt_topology_settings(const struct doc *object, struct topology_manager_config *config);
