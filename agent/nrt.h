/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The NodeResourceTopology object (topology.node.k8s.io/v1alpha2) of one node, as a document.
 */
#include "agent/doc.h"
#include "agent/fingerprint.h"
#include "common/allocation.h"
#include "common/inventory.h"
#include "common/machine.h"
#include "common/notes.h"
#include "common/settings.h"

#define NRT_CONTENT_HASH "nrtd.dev/content-hash"
#define NRT_MAX_NODE_ID  63u /* readers keep NUMA ids in 64-bit masks and crash or skip beyond */

/* What the scheduler plugin divides its score by, with that many Node zones: at least their number. */
unsigned nrt_max_numa_nodes(const struct settings *s, unsigned zones);

/* What the object is made of; all of it is only read. */
struct nrt_input {
	const char *node_name;
	const struct machine *machine;
	const struct settings *settings;
	const struct inventory *inventory;
	const struct allocations *allocations; /* who holds what, for the placement of containers */
	bool pods_known;                       /* a source told which pods there are (possibly none) */
	const struct pod_ref *pods;
	size_t n_pods;
	enum fingerprint_method fingerprint;
};

/*
 * Render the object. The rules that keep its readers well (DESIGN.md, "What is published"):
 *   - "Node" zones first, node-<id> for every id from 0 to the highest, ascending: an id that the machine
 * lacks becomes a zone without resources, because readers index their zone list by id;
 *   - a NUMA node above NRT_MAX_NODE_ID cannot be published; it is left out and noted;
 *   - then one "Socket" zone per package, without resources, so that no reader counts them twice;
 *   - attributes each once; what is unknown is absent;
 *   - the pods' fingerprint as attributes and annotation, unless the method is FINGERPRINT_NONE; left out
 * and noted when the pods are not known;
 *   - with it, under policy single-numa-node, the placement of containers (agent/placement.h); left out and
 * noted when it cannot be told;
 *   - the last attribute, nrtd.dev/content-hash, is the XXH64 of the object's compact JSON without that
 * attribute. 0 or -ENOMEM; `ret` is untouched on failure.
 */
int nrt_render(const struct nrt_input *in, struct doc *ret, struct notes *notes);

/* The object's attribute nrtd.dev/content-hash, NULL where it has none. Valid as long as the object. */
const char *nrt_content_hash(const struct doc *nrt);
