/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The memory manager's state file, memory_manager_state: per NUMA node what of each memory type is reserved
 * and free, and the blocks containers hold. Formats v1 (kubelet 1.21) to v3 (1.37). Source of the formats:
 * pkg/kubelet/cm/memorymanager/state/{checkpoint,state}.go, policy_static.go.
 */
#include "agent/node/observe/state_file.h"

#define STATE_MEMORY_FILE_MAX (1024u * 1024u) /* bytes */

/*
 * policy is "None" or "Static". Of the allocations items (with memory blocks), memory and memory_known are filled.
 * memory_known is false under another policy than Static, which keeps no machine state. A block on several NUMA
 * nodes does not say how much lies on each: `memory` does. A pod with memoryBlocks in podEntries is one item with
 * container "", and its containers' entries, which are parts of that, make no items.
 *
 * The content is taken only if it is consistent: all NUMA nodes named are in machineState and in `machine`, and
 * per node and type reserved + free = allocatable and systemReserved + allocatable do not exceed total (an amount
 * that wrapped around below 0 does not, either: a kubelet on a kernel without NUMA knows of no memory to reserve
 * from, and there is a note). A wrong checksum is a note if moreover the blocks add up to what is reserved (in
 * between the kubelet's two writes a change they need not), else an error.
 */
extern const struct state_kind state_memory;

/*
 * The checksum of a parsed file, whose content was found well formed, and in `text` (unless NULL) what it is
 * taken over. 0; -EINVAL (the content is not what the kubelet writes), -EFBIG.
 */
int state_memory_checksum(const struct state_file *file, struct strbuf *text, struct checksum_match *ret);
