/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Makes the hardware of a hypothetical machine from a description such as "2x4x16,512Gi".
 */
#include "common/err.h"
#include "common/node_state.h"

/*
 * SOCKETSxNUMAxCORES[xTHREADS],MEMORY[,NAME=AMOUNT...]: sockets, NUMA nodes per socket, cores per NUMA node,
 * threads per core (default 2), and the memory of the whole machine. NAME is hugepages-SIZE (AMOUNT bytes of
 * the memory are set aside as these hugepages) or an extended resource such as vendor.com/gpu (the machine
 * has AMOUNT devices). Memory, hugepages and devices are spread evenly over the NUMA nodes. Each NUMA node
 * has its own L3 cache. CPU ids are numbered as on x86 servers: first the first thread of every core, then
 * the second threads. Distances: 10 within a NUMA node, 12 within a socket, 32 beyond.
 *
 * Sets the machine and the registered devices of *ret, which the caller releases. 0; -EINVAL with one line;
 * `ret` is untouched on failure.
 */
int machine_spec_parse(const char *text, struct node_state *ret, struct err *err);
