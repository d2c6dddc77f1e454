/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Parses NodeResourceTopology objects of any exporter, v1alpha1 or v1alpha2.
 */
#include "common/doc.h"
#include "common/err.h"
#include "common/node_state.h"
#include "scoring/nrt_match.h"

#define NRT_MAX_RESOURCES 1024 /* names per object: the inventory is a matrix of NUMA nodes and names */

/*
 * The inventory of the Node zones, in the object's order, with the effective Topology Manager settings. Ignores zones
 * that are not of type "Node" or not named node-<id>, as every reader does. 0; -EINVAL with one line: no zones, more
 * than MACHINE_MAX_NODES zones or NRT_MAX_RESOURCES resources, an invalid quantity; -ERANGE: a quantity that is too
 * large. `ret` is untouched on failure.
 */
int nrt_inventory(const struct doc *object, struct inventory *ret, struct err *err);

/* ---- parts of an object that schedulers do not read */

/* The NUMA node id of a Node zone, or -1 for a zone that nrt_inventory() ignores. */
int nrt_zone_node(const struct doc *zone);

/* The attributes of an object or a zone that have a name and a value, in order. Borrows the texts. Returns their number. */
#define NRT_MAX_ATTRIBUTES 256
size_t nrt_attributes(const struct doc *owner, struct nrt_attribute ret[NRT_MAX_ATTRIBUTES]);

/* The value of an attribute of the object, the last value if there are several; NULL = none. Valid as long as the object. */
const char *nrt_attribute(const struct doc *object, const char *name);

/* The value of a choice, such as cpuManagerPolicy, from the attribute of its name; 0 = omitted, or the value is not known. */
unsigned nrt_policy(const struct doc *object, enum setting what);

/* Sets the members of `config` that the object contains, as the scheduler plugins read them. */
void nrt_topology_settings(const struct doc *object, struct topology_manager_config *config);

/*
 * Sets the members of `config` that the object contains, for estimates of the kubelet's verdict. The scheduler plugins ignore policies other than
 * those that name a scope. This function reads the API's other constants, whose scope is unknown ("Restricted"); any other policy is unknown
 * ("SingleNUMANode").
 */
void nrt_kubelet_topology(const struct doc *object, struct topology_manager_config *config);
