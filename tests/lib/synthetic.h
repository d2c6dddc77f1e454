/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Regular machines made up for tests and benchmarks.
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
