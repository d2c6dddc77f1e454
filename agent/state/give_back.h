/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Takes pods out of a node's allocations: what their containers held becomes free.
 */
#include "common/allocation.h"

/*
 * Take the items out whose pod has ended (ended[i] belongs to items[i]) and give back what they held, as the
 * kubelet's managers do (removeStaleState): CPUs to the shared pool; of each memory block what its NUMA nodes
 * have reserved, in ascending order (memorymanager policy_static.go, RemoveContainer), so that the state of a
 * group of nodes is the kubelet's own.
 */
void allocations_give_back(struct allocations *a, const bool *ended);

/*
 * The same as a view: `all` is unchanged, and *ret borrows everything from it but the items array, the shared pool
 * and the memory state. allocations_view_release() frees these.
 */
void allocations_view_without(const struct allocations *all, const bool *gone, struct allocations *ret);
void allocations_view_release(struct allocations *view);
