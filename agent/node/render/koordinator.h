/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The annotations of a NodeResourceTopology object that Koordinator's scheduler reads.
 */
#include "agent/base/doc.h"
#include "common/node_state.h"
#include "common/notes.h"

#define KOORDINATOR_CPU_TOPOLOGY       "node.koordinator.sh/cpu-topology"
#define KOORDINATOR_POD_CPU_ALLOCS     "node.koordinator.sh/pod-cpu-allocs"
#define KOORDINATOR_CPU_MANAGER_POLICY "kubelet.koordinator.sh/cpu-manager-policy"
#define KOORDINATOR_SHARED_POOLS       "node.koordinator.sh/cpu-shared-pools"
#define KOORDINATOR_BE_SHARED_POOLS    "node.koordinator.sh/be-cpu-shared-pools"
/* The API server takes 256 KiB of annotations in all; the object has others, which are short. */
#define KOORDINATOR_MAX_BYTES (240u << 10)

/*
 * Render them as koordlet does for its scheduler's plugin NodeNUMAResource (koordinator v1.6.0,
 * pkg/koordlet/statesinformer/impl, pkg/scheduler/plugins/nodenumaresource/topology_options.go): *ret is a map of strings.
 *   - cpu-topology: NUMA node, socket and core of each CPU. Sockets and cores have numbers in the order of their first CPU,
 *     for the plugin takes CPUs in the order of these numbers. lscpu, which koordlet asks, gives the same, but it begins again with
 *     each type of CPUs;
 *   - cpu-manager-policy: the CPU manager's policy, its options, and under policy static the reserved CPUs;
 *   - pod-cpu-allocs: the pods with exclusive CPUs, by UID. The plugin passes over a pod without UID: where no source
 *     reports it NAMESPACE/NAME is in its place;
 *   - cpu-shared-pools, be-cpu-shared-pools: the CPUs of each NUMA node that no pod holds, with the reserved ones.
 *
 * The plugin takes the CPUs of the first three away from the CPUs that it may bind, and newer releases also from what each zone
 * has allocatable. So the zones of such an object must have the reserved CPUs among the allocatable ones, as koordlet's do;
 * what is reserved would be taken away twice otherwise.
 *
 * The map is empty, and it is noted why, where it is not known who holds CPUs or which are reserved (the plugin would bind
 * pods to CPUs that others have; without cpu-topology it binds none), and where all of it is longer than
 * KOORDINATOR_MAX_BYTES.
 */
int koordinator_render(const struct node_state *node, struct doc *ret, struct notes *notes);
