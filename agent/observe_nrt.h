/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a NodeResourceTopology object, of any exporter and of v1alpha1 or v1alpha2, tells of its node, as an
 * observation: for who wants to look at a machine from afar.
 */
#include "agent/doc.h"
#include "agent/observe.h"

/*
 * Of `object`, which is taken apart, to `ret`.
 *
 * The machine has the NUMA nodes of the Node zones, without those that only fill a gap in the ids; CPUs where
 * the zone has the attribute "cpus"; sockets from the Socket zones and the zones' parents; the costs as
 * distances. Cores, caches and offline CPUs are not told: no core is counted. The inventory has the zones'
 * amounts by ascending NUMA node id, the settings what attributes and topologyPolicies tell, the rest
 * unknown, and the notes what the object does not tell. Nobody holds anything.
 *
 * 0; -EINVAL with one line (no zones, a zone that is there twice, a bad list of CPUs, a bad or negative
 * quantity); -ERANGE (one too large); -ENOMEM. `ret` is untouched on failure.
 */
int observe_nrt(struct doc *object, struct observation *ret, struct err *err);
