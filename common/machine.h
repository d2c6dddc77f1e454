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

/* "No such id": a CPU outside every NUMA node, a NUMA node outside every socket. */
#define MACHINE_NONE      (-1)
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
	uint64_t memory_bytes; /* of the whole machine: MemTotal of /proc/meminfo, else the sum of the nodes'
				*/
	unsigned *distances; /* n_nodes x n_nodes by position, row = from; 0 = not told. NULL = no SLIT at all
			      */
};

void machine_init(struct machine *m);
void machine_release(struct machine *m); /* free what it owns; the struct is as after init */

/* A copy that shares nothing. 0 or -ENOMEM; `ret` (as after machine_init()) is untouched on failure. */
int machine_copy(const struct machine *from, struct machine *ret);

/*
 * Bring cpus[] and nodes[] into their order and fill what follows from them.
 *
 * Wants of cpus[] id, core (the id of one of them), socket and l3, of nodes[] all but socket, with cpus as
 * the source lists them: CPUs that are not online are taken out, NULL stands for every CPU; memory_bytes may
 * be 0 for not told. Fills memory_bytes, online, sockets, n_cores, each node's socket, each CPU's numa and
 * uncore. Where several nodes list a CPU it belongs to the last of them in the order of their names, as for
 * the kubelet.
 *
 * uncore is as the kubelet has it (cadvisor utils/sysinfo addCacheInfo, kubelet cpumanager/topology
 * getUncoreCacheID): an L3 whose CPUs are as many as the NUMA node's cores times this core's threads is the
 * node's and no uncore cache, then the socket id stands for it, as it does where no L3 id is known.
 *
 * 0; -ENOMEM, with `m` still releasable.
 */
int machine_derive(struct machine *m);

/* Position of NUMA node `id` in nodes[], or -1. */
int machine_node_index(const struct machine *m, unsigned id);

/* The CPU with this id, or NULL when it is not online. */
const struct cpu *machine_cpu(const struct machine *m, unsigned id);

/* SLIT distance between two positions of nodes[], 0 = unknown. */
unsigned machine_distance(const struct machine *m, size_t from, size_t to);

/* The kubelet's CPUsPerCore: floor(CPUs / cores), 1 at least. */
unsigned machine_cpus_per_core(const struct machine *m);

/* The CPUs that belong to the node at this position: nodes[].cpus without those that belong to another node
 * that lists them too. *ret is a new bitmap the caller owns. 0 or -ENOMEM. */
int machine_own_cpus(const struct machine *m, size_t node, hwloc_bitmap_t *ret);
