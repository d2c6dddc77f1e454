/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a NodeResourceTopology object, of any exporter and of v1alpha1 or v1alpha2, tells of its node, as an
 * observation: for who wants to look at a machine from afar.
 */
#include "agent/doc.h"
#include "agent/observe.h"

/*
 * Of `object`, which is taken apart, to `ret`:
 *   machine    the NUMA nodes of its Node zones, without those that only fill a gap in the ids; their CPUs
 * where the zone has the attribute "cpus", no CPU otherwise; sockets from the Socket zones and the zones'
 * parents; costs as distances. Cores, caches and offline CPUs are not told: no core is counted. inventory its
 * amounts, by ascending NUMA node id. settings   what its attributes and topologyPolicies tell, the rest
 * unknown. notes      what it does not tell. Nobody holds anything in it. 0; -EINVAL with one line (no zones,
 * a zone that is there twice, a bad list of CPUs, a bad or negative quantity); -ENOMEM. `ret` is untouched on
 * failure.
 */
int observe_nrt(struct doc *object, struct observation *ret, struct err *err);
