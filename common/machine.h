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

/* What the kernel calls a CPU's core. It repeats in other packages, and on some machines within one. */
struct core_name {
	bool known;
	int core;         /* core_id */
	int book, drawer; /* s390: a package is in a book, that in a drawer; 0 elsewhere */
};

/* One online logical CPU (hardware thread). */
struct cpu {
	unsigned id;
	unsigned core;          /* the kubelet's core, named by the lowest CPU id in it: what decides */
	unsigned hardware_core; /* the same of the core as it is: by thread siblings */
	struct core_name core_name;
	int socket; /* physical_package_id, or MACHINE_NONE */
	int numa;   /* NUMA node id, or MACHINE_NONE */
	int l3;     /* id of its L3 cache (hwloc os_index, sysfs "id"), or MACHINE_NONE */
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
	size_t n_cores;         /* of the hardware */
	uint64_t memory_bytes;  /* of the whole machine: MemTotal of /proc/meminfo, else the nodes' sum */
	unsigned *distances;    /* n_nodes x n_nodes by position, row = from; 0 = unknown. NULL = no SLIT */
};

void machine_init(struct machine *m);
void machine_release(struct machine *m); /* free what it owns; the struct is as after init */

/* A copy that shares nothing. `ret` must be as after machine_init(). */
void machine_copy(const struct machine *from, struct machine *ret);

/*
 * Bring cpus[] and nodes[] into their order and fill what follows from them.
 *
 * Wants of cpus[] id, core (the id of one of them, by thread siblings), core_name, socket and l3, of nodes[] all but socket,
 * with cpus as
 * the source lists them: CPUs that are not online are taken out, NULL means every CPU; memory_bytes may
 * be 0 for unknown. Fills memory_bytes, online, sockets, n_cores, each node's socket, each CPU's numa,
 * hardware_core, core and uncore. Where several nodes list a CPU it belongs to the last of them in the order of their names, as for
 * the kubelet.
 *
 * core is as the kubelet has it (cadvisor utils/sysinfo getCoresInfo): the CPUs of a NUMA node whose kernel gives core and
 * package the same names. Where the names are not known it is the hardware's.
 *
 * uncore is as the kubelet has it (cadvisor utils/sysinfo addCacheInfo, kubelet cpumanager/topology
 * getUncoreCacheID): an L3 whose CPUs are as many as the NUMA node's cores times this core's threads is the
 * node's and not an uncore cache. Then the socket id replaces it, as it does where no L3 id is known.
 *
 * 0, with `m` still releasable.
 */
void machine_derive(struct machine *m);

/* Position of NUMA node `id` in nodes[], or -1. */
int machine_node_index(const struct machine *m, unsigned id);

/* The CPU with this id, or NULL when it is not online. */
const struct cpu *machine_cpu(const struct machine *m, unsigned id);

/* SLIT distance between two positions of nodes[], 0 = unknown. */
unsigned machine_distance(const struct machine *m, size_t from, size_t to);

/* The CPUs of all NUMA nodes: for the kubelet there are no others. *ret is a new bitmap the caller owns. */
void machine_counted_cpus(const struct machine *m, hwloc_bitmap_t *ret);

/* The CPUs that belong to the node at this position: nodes[].cpus without those that belong to another node
 * that lists them too. *ret is a new bitmap the caller owns. */
void machine_own_cpus(const struct machine *m, size_t node, hwloc_bitmap_t *ret);
