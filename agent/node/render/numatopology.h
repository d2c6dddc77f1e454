/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The Numatopology object (nodeinfo.volcano.sh/v1alpha1) of one node, as a document: what Volcano's scheduler reads.
 */
#include "agent/base/doc.h"
#include "common/node_state.h"
#include "common/notes.h"

/*
 * Render the object as Volcano's plugin numa-aware reads it (volcano.sh/volcano v1.15.0, pkg/scheduler/cache getNumaInfo,
 * pkg/scheduler/plugins/numaaware):
 *   - policies: CPUManagerPolicy and TopologyManagerPolicy in the kubelet's words; what is unknown is absent;
 *   - numares: the CPUs that a container can still get exclusively, and how many the machine has;
 *   - cpuDetail: NUMA node, socket and core of each CPU. A core is named by its lowest CPU: the plugin takes the names for
 *     unique on the machine, and the kernel's are not;
 *   - resReserved: 0. The plugin would guess the reserved CPUs from their number, and they are not in numares. It is not
 *     absent, because what an exporter before nrtd has left there would stay.
 * Where it is not known which CPUs are free, numares has none, which is noted: the plugin then sends no pod there that wants
 * a policy. It is never absent, because Volcano's scheduler ends with a panic when it disappears from an object.
 *
 */
void numatopology_render(const struct node_state *node, struct doc *ret, struct notes *notes);
