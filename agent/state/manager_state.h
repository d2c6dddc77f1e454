/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Keeps the state of the kubelet's managers when containers come and go, as the managers themselves do: the
 * CPU manager's shared pool and the memory manager's machine state. Also rebuilds the machine state from
 * memory blocks, which the pod-resources API reports if memory_manager_state is missing.
 */
#include "common/allocation.h"
#include "common/machine.h"

/*
 * Remove the items whose pod has ended (ended[i] belongs to items[i]) and give back what they held, as the
 * kubelet's managers do (removeStaleState): CPUs to the shared pool; memory as the memory manager's
 * RemoveContainer() (policy_static.go). Of each block its NUMA nodes give back, in ascending order, what they
 * have reserved of the type until the block's size is reached, and each counts one assignment less; a node
 * without assignments leaves its group. So the state of a group of nodes is the kubelet's own.
 */
void allocations_give_back(struct allocations *a, const bool *ended);

/*
 * The same as a view (`excluded` NULL: without any): `all` is unchanged, and *ret borrows everything from it but the items array, the shared
 * pool and the memory state, which allocations_view_release() frees.
 */
void allocations_view_without(const struct allocations *all, const bool *excluded, struct allocations *ret);
void allocations_view_release(struct allocations *view);

/*
 * Add a block: its NUMA nodes reserve of the type what they have free, in ascending order, until the block's
 * size is reached. Returns the rest, which no node has free.
 */
uint64_t memory_state_charge(struct memory_state *state, const struct memory_block *block);

/*
 * Rebuild the machine state. Per NUMA node of the machine and type (memory, each hugepage pool): allocatable
 * as the blocks `allocatable` say (0 if no block does), total as the hardware has it, reserved and free after
 * the blocks of `held` are charged.
 *
 * A block on several nodes does not say how much lies on each. As the kubelet (policy_static.go,
 * updateMachineState), this fills the free memory of the block's nodes in ascending order. The sum over the
 * nodes of a group is exact; the distribution within the group is exact until a container of a group that
 * several containers share ends, because the kubelet then gives back in ascending order as well.
 *
 * Returns the bytes that no node of their block had free, 0 unless the source contradicts itself.
 */
uint64_t memory_state_from_blocks(const struct machine *machine, const struct memory_block *allocatable,
	size_t n_allocatable, const struct allocations *held, struct memory_state *ret);
