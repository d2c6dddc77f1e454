/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * machine: what the hardware is. Filled by a discovery source (agent/discover_*.c), then read-only.
 * All ids are the kernel's (hwloc os_index). Depends on common/cpuset.h only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cpuset.h"

#define MACHINE_NONE                                                                          \
	(-1) /* "no such id": a CPU outside every NUMA node, a NUMA node outside every socket \
	      */
#define MACHINE_MAX_CPUS  8192
#define MACHINE_MAX_NODES 1024

/* One online logical CPU (hardware thread). */
struct cpu {
	unsigned id;
	unsigned core; /* the lowest CPU id among the online threads of its core: the kubelet's core id */
	int socket;    /* physical_package_id, or MACHINE_NONE */
	int numa;      /* NUMA node id, or MACHINE_NONE */
	int l3;        /* id of its L3 cache (hwloc os_index, sysfs "id"), or MACHINE_NONE */
	int uncore; /* the kubelet's uncore cache id: l3, or socket where the L3 spans the whole NUMA node */
};

struct hugepage_pool {
	uint64_t page_bytes;
	uint64_t pages; /* nr_hugepages: the pool's size, not what is free */
};

struct numa_node {
	unsigned id;
	int socket;          /* the socket of all its CPUs; MACHINE_NONE when it has none or spans several */
	hwloc_bitmap_t cpus; /* online CPUs; empty for CXL, HBM and GPU memory nodes */
	uint64_t memory_bytes;       /* MemTotal, hugepage memory included; 0 on a memory-less node */
	struct hugepage_pool *pools; /* ascending page_bytes; pools of size 0 included */
	size_t n_pools;
	size_t pools_size;
};

struct socket_info {
	int id; /* physical_package_id */
	hwloc_bitmap_t cpus;
};

struct machine {
	struct cpu *cpus; /* ascending id */
	size_t n_cpus;
	size_t cpus_size;
	struct numa_node *nodes; /* ascending id; ids may have holes */
	size_t n_nodes;
	size_t nodes_size;
	struct socket_info *sockets; /* ascending id */
	size_t n_sockets;
	size_t sockets_size;
	hwloc_bitmap_t online;  /* ids of cpus[] */
	hwloc_bitmap_t offline; /* CPUs the kernel knows and that are offline */
	size_t n_cores;
	unsigned *distances; /* n_nodes x n_nodes by position, row = from; 0 = not told. NULL = no SLIT at all
			      */
};

void machine_init(struct machine *m);
void machine_release(struct machine *m); /* free what it owns; the struct is as after init */

/* Position of NUMA node `id` in nodes[], or -1. */
int machine_node_index(const struct machine *m, unsigned id);

/* The CPU with this id, or NULL when it is not online. */
const struct cpu *machine_cpu(const struct machine *m, unsigned id);

/* SLIT distance between two positions of nodes[], 0 = unknown. */
unsigned machine_distance(const struct machine *m, size_t from, size_t to);

/* The kubelet's CPUsPerCore: floor(CPUs / cores), 1 at least. */
unsigned machine_cpus_per_core(const struct machine *m);
