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
 * RemoveContainer() (policy_static.go). The NUMA nodes of a block, in ascending order, free what they have
 * reserved of the block's type until the block's size is reached. Each of these nodes then has one assignment
 * less, and a node without assignments leaves its group. The result is the state that the kubelet itself
 * would have.
 */
void allocations_give_back(struct allocations *a, const bool *ended);

/*
 * As allocations_give_back(), but `all` is unchanged: *ret is a view without the excluded items (`excluded`
 * NULL = none). The view borrows everything from `all` except the items array, the shared pool and the memory
 * state, which allocations_view_release() frees.
 */
void allocations_view_without(const struct allocations *all, const bool *excluded, struct allocations *ret);
void allocations_view_release(struct allocations *view);

/*
 * Add a block: its NUMA nodes, in ascending order, reserve what they have free of the block's type until the
 * block's size is reached. Returns the bytes that are left, because no node has them free.
 */
uint64_t memory_state_charge(struct memory_state *state, const struct memory_block *block);

/*
 * Rebuild the machine state. Per NUMA node of the machine, and per NUMA node that `allocatable` names because the
 * machine had it when the kubelet started, and type (memory, each hugepage pool): allocatable as the blocks
 * `allocatable` say (0 if no block does; the lower amount if several do), total as the hardware has it (0 on a node
 * without allocatable amounts), reserved and free after the blocks of `held` are charged. An amount that wrapped around below 0 stays above the total
 * (memory_table_wrapped()). A block of `allocatable` on several nodes is allocatable on each of them.
 *
 * The API does not report how a block is split between several nodes. As the kubelet does (policy_static.go,
 * updateMachineState), this function fills the free memory of the block's nodes in ascending order. The sum
 * over the nodes of a group is exact. If several containers share the group, the split is exact until the
 * first of them ends, because the kubelet also frees memory in ascending order.
 *
 * Returns the bytes of blocks that did not fit into the free memory of the block's nodes: 0 if the source is
 * consistent.
 */
uint64_t memory_state_from_blocks(const struct machine *machine, const struct memory_block *allocatable,
	size_t n_allocatable, const struct allocations *held, struct memory_state *ret);
