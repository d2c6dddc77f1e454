/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * machine: the hardware: CPUs, NUMA nodes, sockets and distances. A source (agent/observe/discover_*.c,
 * the node state codec) fills the struct, which is then read-only. All ids are the kernel's (hwloc os_index).
 * Depends on common/ only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cpuset.h"
#include "common/pci.h"

/* Instead of an id: the CPU has no NUMA node, socket or L3 cache; the NUMA node has no CPUs or several
 * sockets. */
#define MACHINE_NONE      (-1)
#define MACHINE_MAX_CPUS  8192
#define MACHINE_MAX_NODES 1024

/* The kernel's name of a CPU's core. The same name occurs in other packages, and on some machines twice in
 * one package. */
struct core_name {
	bool known;
	int core;         /* core_id */
	int book, drawer; /* s390: a drawer contains books, a book packages; 0 elsewhere */
};

/* One online logical CPU (hardware thread). */
struct cpu {
	unsigned id;
	unsigned core;          /* the core as the kubelet sees it: its lowest CPU id; for CPU assignments */
	unsigned hardware_core; /* the lowest CPU id of the real core (thread siblings) */
	struct core_name core_name;
	int socket; /* physical_package_id, or MACHINE_NONE */
	int numa;   /* NUMA node id, or MACHINE_NONE */
	int l3;     /* id of its L3 cache (hwloc os_index, sysfs "id"), or MACHINE_NONE */
	int uncore; /* the kubelet's uncore cache id: l3, or socket when the L3 spans the whole NUMA node */
};

struct hugepage_pool {
	uint64_t page_bytes;
	uint64_t pages; /* nr_hugepages: the size of the pool, not the free pages */
};

struct numa_node {
	unsigned id;
	int socket; /* the socket of all its CPUs; MACHINE_NONE without CPUs or with several sockets */
	hwloc_bitmap_t cpus;         /* online CPUs; empty for CXL, HBM and GPU memory nodes */
	uint64_t memory_bytes;       /* MemTotal, including hugepages; 0 on a node without memory */
	struct hugepage_pool *pools; /* ascending page_bytes; pools of size 0 included */
	size_t n_pools;
	size_t pools_size;
	bool lists_distances; /* the kernel lists some, which may be 0: that says nothing, but the kubelet accepts it */
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
	hwloc_bitmap_t offline; /* present CPUs that are offline */
	/* CPUs without the kernel's load balancing: isolcpus, and cpuset partitions of the kind isolated. NULL = unknown. Decides nothing
	 * about admission. */
	hwloc_bitmap_t isolated;
	size_t n_cores;        /* hardware cores */
	uint64_t memory_bytes; /* MemTotal of /proc/meminfo, otherwise the sum of the nodes */
	unsigned *distances;   /* n_nodes x n_nodes by position, row = from; 0 = unknown. NULL = no SLIT */
	/* The kernel has no NUMA: nodes[] are the packages, as for the kubelet. The first node has the memory. */
	bool without_numa;
	bool pci_known; /* `pci` was read (possibly there are none) */
	struct pci_devices pci;
};

void machine_init(struct machine *m);
void machine_release(struct machine *m); /* the struct is then as after machine_init() */

/* A deep copy. What *ret was is not released. */
void machine_copy(const struct machine *from, struct machine *ret);

/*
 * Sort cpus[] and nodes[], and compute the members that follow from them.
 *
 * Inputs: per CPU its id, core (the id of one of its thread siblings), core_name, socket and l3; per node all
 * members except socket. nodes[].cpus is as the source lists the CPUs: CPUs that are not online are removed,
 * NULL means all CPUs. memory_bytes may be 0 for unknown.
 *
 * Outputs: memory_bytes, online, sockets, n_cores; per node its socket; per CPU its numa, hardware_core, core
 * and uncore. A CPU that several nodes list belongs to the last of them in the order of their directory
 * names, as for the kubelet.
 *
 * core follows the kubelet (cadvisor utils/sysinfo getCoresInfo): the CPUs of one NUMA node with the same
 * core name and socket are one core. Without a core name, core is the hardware's.
 *
 * uncore follows the kubelet (cadvisor utils/sysinfo addCacheInfo, kubelet cpumanager/topology
 * getUncoreCacheID): an L3 with as many CPUs as the node's cores times this core's threads is the node's
 * cache and not an uncore cache. In this case, and when the L3 id is unknown, uncore is the socket id.
 */
void machine_derive(struct machine *m);

/* Position of NUMA node `id` in nodes[], or -1. */
int machine_node_index(const struct machine *m, unsigned id);

/* The CPU with this id, or NULL when it is not online. */
const struct cpu *machine_cpu(const struct machine *m, unsigned id);

/* SLIT distance between two positions of nodes[], 0 = unknown. */
unsigned machine_distance(const struct machine *m, size_t from, size_t to);

/* Bytes in hugepages of this size on the node. */
uint64_t machine_node_pages(const struct numa_node *node, uint64_t page_bytes);

/* The smallest size of hugepages above `above` bytes on any node, 0 = none. A node without memory may have no pools. */
uint64_t machine_next_page_size(const struct machine *m, uint64_t above);

/* The CPUs of all NUMA nodes: the kubelet ignores other CPUs. A new bitmap that the caller owns. */
hwloc_bitmap_t machine_counted_cpus(const struct machine *m);

/* The CPUs that belong to the node at this position: nodes[].cpus minus CPUs that belong to another node
 * (several nodes may list one CPU). A new bitmap that the caller owns. */
hwloc_bitmap_t machine_own_cpus(const struct machine *m, size_t node);
