/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The memory manager's machine state, put together from blocks: what the pod-resources API tells where
 * memory_manager_state is not there.
 */
#include "common/allocation.h"
#include "common/machine.h"

/*
 * Per node of the machine and type (memory, each hugepage pool): allocatable as the blocks `allocatable` say
 * (0 where none does), total as the hardware has it, reserved and free after the blocks of `held` are
 * charged.
 *
 * A block on several nodes does not tell how much lies on each. As the kubelet does it (memorymanager
 * policy_static.go, updateMachineState) it fills the free memory of its nodes in ascending order, so the sum
 * over the nodes of a group is exact; how it lies within the group is too, until a container of a group that
 * several share goes away: the kubelet then gives back in ascending order as well.
 *
 * *ret_over: bytes that no node of their block had room for, 0 unless the answer contradicts itself. 0 or
 * -ENOMEM; outputs are untouched on failure.
 */
int memory_state_from_blocks(const struct machine *machine, const struct memory_block *allocatable,
	size_t n_allocatable, const struct allocations *held, struct memory_state *ret, uint64_t *ret_over);
