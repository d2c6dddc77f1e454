/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The memory manager's machine state and its blocks: put together from them, as the pod-resources API reports
 * them where memory_manager_state is not there, and less those of containers that are gone.
 */
#include "common/allocation.h"
#include "common/machine.h"

/*
 * Take a block out as the kubelet does (memorymanager policy_static.go, RemoveContainer): its nodes give back
 * what they have reserved of the type in ascending order until its size is reached, and each counts one
 * assignment less; a node without any is in no group any more.
 */
void memory_state_give_back(struct memory_state *state, const struct memory_block *block);

/* Put a block in: its nodes reserve of the type what they have free, in ascending order, until its size is reached. What
 * found no room is added to *over. */
void memory_state_charge(struct memory_state *state, const struct memory_block *block, uint64_t *over);

/*
 * Per node of the machine and type (memory, each hugepage pool): allocatable as the blocks `allocatable` say
 * (0 where none does), total as the hardware has it, reserved and free after the blocks of `held` are
 * charged.
 *
 * A block on several nodes does not say how much lies on each. As the kubelet does it (memorymanager
 * policy_static.go, updateMachineState) it fills the free memory of its nodes in ascending order, so the sum
 * over the nodes of a group is exact; how it lies within the group is too, until a container of a group that
 * several share goes away: the kubelet then gives back in ascending order as well.
 *
 * *ret_over: bytes that no node of their block had room for, 0 unless the answer contradicts itself.
 */
void memory_state_from_blocks(const struct machine *machine, const struct memory_block *allocatable,
	size_t n_allocatable, const struct allocations *held, struct memory_state *ret, uint64_t *ret_over);
