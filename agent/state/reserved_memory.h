/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Checks reservedMemory as a kubelet with the Static memory manager does when it starts. The rules are those of
 * pkg/kubelet/apis/config/validation/validation_reserved_memory.go and cm/memorymanager/memory_manager.go in 1.37.2.
 */
#include "common/err.h"
#include "common/node_state.h"

/*
 * Each reservation must name a NUMA node of the machine, once per type, and must not be 0. Per type, the sum must equal what
 * kubeReserved, systemReserved and evictionHard keep free. They cannot reserve hugepages, so neither can reservedMemory. 0 if the memory
 * manager is not Static or the kubelet would start; -EINVAL with one line that says why it would not; -ENODATA with one line if that is
 * unknown.
 */
int reserved_memory_check(const struct node_state *node, struct err *err);

/* The sum of the NUMA nodes' reservations of ordinary memory, in nano-units of a byte. */
qty_t reserved_memory_sum(const struct settings *s);
