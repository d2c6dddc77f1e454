/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The NodeResourceTopology object (topology.node.k8s.io/v1alpha2) of one node, as a document.
 */
#include "agent/base/doc.h"
#include "agent/node/render/fingerprint.h"
#include "common/node_state.h"
#include "common/notes.h"

/* How the operator wants the object. */
struct nrt_config {
	enum fingerprint_method fingerprint;
	bool deprecated_policies; /* with the list topologyPolicies */
	bool node_state;          /* with the attribute nrtd.dev/node-state */
	bool koordinator;         /* with what Koordinator's scheduler reads */
};

/*
 * Render the object. The rules that keep its readers well (DESIGN.md, "What is published"):
 *   - "Node" zones first, node-<id> for every id from 0 to the highest, ascending: an id that the machine
 *     does not have becomes a zone without resources, because readers index their zone list by id;
 *   - a NUMA node above NRT_MAX_NODE_ID cannot be published; it is left out and noted;
 *   - then one "Socket" zone per package, without resources, so that no reader counts them twice;
 *   - attributes each once; what is unknown is absent;
 *   - the pods' fingerprint as attributes and annotation, unless the method is FINGERPRINT_NONE; left out
 *     and noted when the pods are not known;
 *   - with it, under policy single-numa-node, the placement of containers (agent/node/render/placement.h); left out and
 *     noted when it is not known;
 *   - with the node state (agent/state/node_state_codec.h) where that is wanted; left out and noted when it is too
 *     long;
 *   - with Koordinator's annotations (agent/node/render/koordinator.h) where they are wanted; then the zones' CPUs are
 *     allocatable with the reserved ones, unless the annotations are left out;
 *   - the last attribute, nrtd.dev/content-hash, is the XXH64 of the object's compact JSON without that
 *     attribute.
 */
int nrt_render(
	const struct node_state *node, const struct nrt_config *config, struct doc *ret, struct notes *notes);
