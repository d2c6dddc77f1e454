/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Which CPUs the kubelet's static policy takes from a set of available ones: packed, spread over cores,
 * aligned by uncore cache, or distributed over NUMA nodes (pkg/kubelet/cm/cpumanager/cpu_assignment.go).
 * The choice equals the kubelet's CPU by CPU. Depends on common/ and scoring/ only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scoring/cpu_topology.h"
#include "scoring/kubelet_version.h"
#include "scoring/work.h"

struct cpu_take_rules {
	bool spread;     /* distribute-cpus-across-cores */
	bool uncore;     /* prefer-align-cpus-by-uncorecache; packed only */
	bool distribute; /* distribute-cpus-across-numa */
	bool by_socket;  /* align-by-socket; counts for a distribution, in releases that heed it there */
	unsigned group;  /* CPUs are distributed in groups of this many; 1 at least */
	struct kubelet_version version;
};

enum cpu_take_status {
	CPU_TAKE_OK,
	CPU_TAKE_NOT_ENOUGH, /* "not enough cpus available to satisfy request" */
	CPU_TAKE_MISCOUNTED, /* the kubelet's "accounting error, not enough CPUs allocated" */
	/* More combinations than CPU_TAKE_MAX_STEPS, more work than its limit, or the kubelet would never return. */
	CPU_TAKE_UNKNOWN
};

/* Combinations of NUMA nodes (and of remainders within one) that are weighed before giving up: all there are
 * on 12 NUMA nodes, a few milliseconds. */
#define CPU_TAKE_MAX_STEPS (1u << 20)

struct cpu_take {
	enum cpu_take_status status;
	size_t requested, available; /* of the call */
	long remaining;              /* CPU_TAKE_MISCOUNTED: CPUs that were not found */
};

/* Scratch memory for taking, made once for a topology; one user at a time. */
struct cpu_workspace;

struct cpu_workspace *cpu_workspace_new(const struct cpu_topology *t);
void cpu_workspace_freep(struct cpu_workspace **ws);

/*
 * takeByTopology(): choose `n` of the `available` CPUs. taken[] (which may not be available[]) becomes the
 * choice, or the empty set when the status is not CPU_TAKE_OK. Allocates nothing.
 */
struct cpu_take cpu_take(struct cpu_workspace *ws, const struct cpu_take_rules *rules, const bool *available,
	size_t n, bool *taken);

/* The same without choosing a CPU, for rules that distribute and where each NUMA node gives any number of its free
 * CPUs: the status is the same. */
struct cpu_take cpu_take_counted(
	struct cpu_workspace *ws, const struct cpu_take_rules *rules, const bool *available, size_t n);

struct cpu_accumulator {
	bool *free;                        /* [n_cpus] CPUs that may still be taken */
	uint32_t *n_free[CPU_LEVEL_COUNT]; /* free CPUs in each element */
	bool *taken;                       /* [n_cpus] the result; the caller's */
	long need;                         /* CPUs still wanted */
};

struct cpu_workspace {
	const struct cpu_topology *topology;
	struct work *work, unlimited; /* the caller's, or `unlimited` */
	bool numa_first;              /* NUMA nodes are above the sockets, or equal to them */
	struct cpu_accumulator packed, distributed;
	bool *inner_taken;                /* [n_cpus] of the packed choice within a distribution */
	uint32_t *lists[CPU_LEVEL_COUNT]; /* the order of each level; see cpu_workspace_new() */
	uint32_t *uncore_walk;            /* a copy of the uncore order while it is made again */
	uint32_t *cpu_list;               /* the order of the CPUs */
	uint64_t *seen[CPU_LEVEL_COUNT];  /* turn in which an element was last listed */
	uint64_t turn;
	/* Distribution over NUMA nodes; each [n NUMA nodes]. */
	uint32_t *combo, *best_combo, *subset, *best_subset, *local_best_subset;
	uint32_t *numas, *candidates;
	long *left, *left_after; /* CPUs left on each NUMA node */
	unsigned char *block;    /* what all of the above lies in */
};

/* Begin with `available` and nothing taken. */
void cpu_accumulator_start(
	struct cpu_workspace *ws, struct cpu_accumulator *acc, const bool *available, long n, bool *taken);

/* Take one CPU without counting it. */
void cpu_accumulator_take(struct cpu_workspace *ws, struct cpu_accumulator *acc, uint32_t cpu);

/* NUMA nodes with a free CPU, in the order they are considered, into ws->lists[CPU_LEVEL_NUMA]. */
size_t cpu_accumulator_order_numas(struct cpu_workspace *ws, const struct cpu_accumulator *acc);

/* Elements with a free CPU, or only those that count as entirely free, in the order they are considered, into
 * ws->lists[level]; single CPUs into ws->cpu_list. The number. */
size_t cpu_accumulator_order(
	struct cpu_workspace *ws, const struct cpu_accumulator *acc, enum cpu_level level);
size_t cpu_accumulator_order_whole(
	struct cpu_workspace *ws, const struct cpu_accumulator *acc, enum cpu_level level);
size_t cpu_accumulator_order_cpus(
	struct cpu_workspace *ws, const struct cpu_take_rules *rules, const struct cpu_accumulator *acc);

/* takeByTopologyNUMAPacked(), using ws->packed. */
struct cpu_take cpu_take_packed(struct cpu_workspace *ws, const struct cpu_take_rules *rules,
	const bool *available, size_t n, bool *taken);

/* The same of those available CPUs that are on one NUMA node, by its element. */
struct cpu_take cpu_take_packed_within(struct cpu_workspace *ws, const struct cpu_take_rules *rules,
	const bool *available, uint32_t numa, size_t n, bool *taken);

/* takeByTopologyNUMADistributed(), using ws->distributed and ws->packed. */
struct cpu_take cpu_take_distributed(struct cpu_workspace *ws, const struct cpu_take_rules *rules,
	const bool *available, size_t n, bool *taken);
