/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The memory manager's machine state: per NUMA node and memory type, what is there, reserved and free.
 * As in the kubelet's memory_manager_state file. Depends on common/cpuset.h only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cpuset.h"

struct memory_table {
	char *type;                                                   /* "memory", "hugepages-1Gi" */
	uint64_t total, system_reserved, allocatable, reserved, free; /* bytes */
};

struct memory_node {
	unsigned id;          /* NUMA node id */
	unsigned assignments; /* numberOfAssignments: containers x memory types */
	hwloc_bitmap_t
		cells; /* the group the node is part of; {id} or empty when it is used alone or not at all */
	struct memory_table *tables; /* sorted by type */
	size_t n_tables;
	size_t tables_size;
};

struct memory_state {
	struct memory_node *nodes; /* ascending id */
	size_t n_nodes;
	size_t nodes_size;
};

void memory_state_init(struct memory_state *s);
void memory_state_release(struct memory_state *s);

/* The table of `type` on the node, or NULL. */
const struct memory_table *memory_node_table(const struct memory_node *node, const char *type);

/* The kubelet's subtraction of what is reserved went below 0, and allocatable is near 2^64. */
bool memory_table_wrapped(const struct memory_table *table);

/* What all nodes have reserved of the type; the API does not report how a block lies on several. */
uint64_t memory_state_reserved(const struct memory_state *s, const char *type);
