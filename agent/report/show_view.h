/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * show_view: what `nrtd show` draws, as plain data: the observation sorted into sockets, NUMA nodes, cores and
 * CPUs, with a letter for each pod that holds something. No layout and no colours.
 */
#include <stddef.h>

#include "common/allocation.h"
#include "common/err.h"
#include "common/machine.h"
#include "common/node_state.h"
#include "common/resource.h"

/* In the order of the legends. */
enum show_state {
	SHOW_RESERVED,
	SHOW_SHARED,  /* the pool of all pods without exclusive CPUs */
	SHOW_UNKNOWN, /* online; its use is not known */
	SHOW_OFFLINE,
	SHOW_EXCLUSIVE,
	SHOW_STATE_COUNT
};

#define SHOW_NOBODY (-1) /* "no holder" where the index of one can be */

struct show_cpu {
	unsigned id;
	unsigned core;  /* lowest CPU id of its core */
	int l3;         /* id of its L3 cache where its NUMA node has several, else MACHINE_NONE */
	size_t l3_rank; /* their order; 0 where its NUMA node has not several */
	enum show_state state;
	int holder; /* index into holders[]; SHOW_NOBODY unless the state is SHOW_EXCLUSIVE */
};

enum show_kind { SHOW_CPUS, SHOW_BYTES, SHOW_DEVICES, SHOW_KIND_COUNT };

/* A resource that some NUMA node has, or with devices that a pod holds. */
struct show_resource {
	const char *name;
	char *label;       /* as short as possible: "memory", "1Gi pages", "nic" */
	char *short_label; /* "mem", "1Gi", "nic" */
	enum show_kind kind;
};

/* Who holds the devices of one resource on one NUMA node, one entry a device, in the order of holders. */
struct show_devices {
	int *holders;
	size_t n_holders;
	size_t holders_size;
};

struct show_node {
	int id;                /* NUMA node id; MACHINE_NONE for the CPUs outside every NUMA node */
	char *cpu_list;        /* "0-5,48-53"; "" without CPUs */
	struct show_cpu *cpus; /* by L3 cache, core, id */
	size_t n_cpus;
	struct inventory_amount
		*amounts;             /* one per resources[]; devices nobody has counted are not present */
	struct show_devices *devices; /* one per resources[] */
};

/* NUMA nodes of the same socket (or the same sockets, or none). */
struct show_group {
	char *title;  /* "socket 0", "socket L#1 (P#36)", "sockets 0-1", "no socket" */
	size_t first; /* of nodes[] */
	size_t n_nodes;
};

struct show_holder {
	char key; /* its letter, or SHOW_KEY_MORE */
	/* "namespace/pod (container, container)", "pod 3f2a9c51 (container)", "claim namespace/name (dra.cpu, pod
	 * namespace/pod)" */
	char *name;
	char *holds;                    /* "8 CPUs 1-4,49-52; memory 16Gi on 0; 2 vendor.com/nic on 0" */
	hwloc_bitmap_t cpus;            /* exclusive CPUs of all its containers */
	const struct allocation *items; /* the pod's run of the allocations, borrowed; a claim has none */
	size_t n_items;
};

#define SHOW_KEYS     "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
#define SHOW_KEY_MORE '+' /* of every pod after the last key */

struct show_view {
	const char *node_name;
	char *machine;  /* "2 sockets, 8 NUMA nodes, 48 cores, 96 CPUs, 256Gi memory" */
	char *kubelet;  /* "CPU manager static, memory manager Static, ..." */
	char *reserved; /* the reserved CPUs as a list, NULL = unknown */
	char *offline;  /* "3,12-13"; "" when all are online */
	size_t n_offline;
	struct show_group *groups; /* lowest socket first, "no socket" last */
	size_t n_groups;
	size_t groups_size;
	struct show_node *nodes; /* group by group, ascending id within */
	size_t n_nodes;
	size_t nodes_size;
	struct show_resource *resources; /* cpu, memory, hugepages by page size, devices by name */
	size_t n_resources;
	size_t resources_size;
	struct show_holder *holders; /* by lowest CPU; those without CPUs last, by name */
	size_t n_holders;
	size_t holders_size;
	bool states[SHOW_STATE_COUNT]; /* which occur */
	bool cores_known;              /* else each CPU is alone */
	bool l3_borders;               /* a NUMA node has several L3 caches */
	const unsigned *distances; /* n_distances x n_distances, ascending node id, row = from; 0 = unknown */
	const struct numa_node *distance_nodes; /* the nodes of its rows */
	size_t n_distances;                     /* 0 = the machine has none, or has one node */
	const struct notes *notes;
};

static inline size_t show_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

static inline size_t show_max(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* How many of `n` things to put on a line where `most` fit, so that the lines are evenly filled: four where
 * three fit are 2 + 2, not 3 + 1. */
static inline size_t show_spread(size_t n, size_t most)
{
	size_t lines = (n + most - 1) / most;

	return (n + lines - 1) / lines;
}
