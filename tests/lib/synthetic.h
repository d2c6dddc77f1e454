/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Machines made up for tests and benchmarks: regular ones, and ones NUMA node by NUMA node.
 */
#include <stdbool.h>

#include "common/machine.h"

struct synthetic {
	unsigned sockets, numas, uncores, cores, threads; /* each within one of the one before */
	bool siblings_adjacent; /* threads of a core are neighbours; else the second threads follow all cores
				 */
	uint64_t memory_bytes;  /* of each NUMA node */
};

/* Distances: 10 to itself, 12 within the socket, 32 beyond. Aborts when out of memory. */
void synthetic_machine(const struct synthetic *s, struct machine *ret);

/* A machine of CPUs and NUMA nodes, as lists of ids, of which nothing else is known. */
void bare_machine(struct machine *ret, const char *online, const char *offline, const char *nodes);

/* Append a NUMA node with a list of CPUs, and its socket unless that is MACHINE_NONE. Valid until the next one. */
struct numa_node *machine_add_node(
	struct machine *m, unsigned id, int socket, const char *cpus, uint64_t memory_bytes);
