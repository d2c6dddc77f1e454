/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Makes the hardware of a machine that does not exist from a description such as "2x4x16,512Gi".
 */
#include "common/err.h"
#include "common/node_state.h"

/*
 * SOCKETSxNUMAxCORES[xTHREADS],MEMORY[,NAME=AMOUNT...]: sockets, NUMA nodes per socket, cores per NUMA node, threads per core (default
 * 2), and the memory of the whole machine. NAME is hugepages-SIZE, whose AMOUNT is set aside of the memory, or an extended resource
 * ("vendor.com/gpu"), of which the machine has AMOUNT devices. Memory, pages and devices are spread evenly over the NUMA nodes, each
 * of which has its own L3 cache. The ids of CPUs are those of x86 servers: the second threads of all cores follow the first. Distances:
 * 10 within a NUMA node, 12 within a socket, 32 beyond.
 *
 * Sets machine and registered devices of *ret, which is to be released. 0; -EINVAL with one line; `ret` is untouched on failure.
 */
int machine_spec_parse(const char *text, struct node_state *ret, struct err *err);
