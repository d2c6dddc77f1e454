/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a NodeResourceTopology object of any exporter says of its node, as an observation. It serves who looks
 * at a machine from afar. The object is of v1alpha1 or v1alpha2.
 */
#include "agent/base/doc.h"
#include "common/err.h"
#include "common/node_state.h"
#include "common/notes.h"

/*
 * Of `object`, which is taken apart, to `ret`.
 *
 * The machine has the NUMA nodes of the Node zones, without those that only fill a gap in the ids; CPUs where
 * the zone has the attribute "cpus"; sockets from the Socket zones and the zones' parents; the costs as
 * distances. Cores, caches and offline CPUs are unknown: no core is counted. The inventory has the zones'
 * amounts by ascending NUMA node id, the settings what attributes and topologyPolicies say, the rest
 * unknown, and the notes what the object does not have. Nobody holds anything.
 *
 * 0; -EINVAL with one line (no zones, a zone that appears twice, a bad list of CPUs, a bad or negative
 * quantity, what nrt_inventory() refuses); -ERANGE (a quantity too large, a CPU of MACHINE_MAX_CPUS or
 * above). `ret` is untouched on failure.
 */
int observe_nrt(struct doc *object, struct node_state *ret, struct notes *ret_notes, struct err *err);
