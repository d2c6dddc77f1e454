/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Which CPUs the kubelet's static policy takes from a set of available CPUs: packed, spread over cores,
 * aligned by uncore cache, or distributed over NUMA nodes (pkg/kubelet/cm/cpumanager/cpu_assignment.go).
 * The choice equals the kubelet's CPU by CPU. Depends on common/ and scoring/ only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scoring/cpu_topology.h"
#include "scoring/kubelet_time.h"
#include "scoring/kubelet_version.h"
#include "scoring/work.h"

struct cpu_take_rules {
	bool spread;     /* distribute-cpus-across-cores */
	bool uncore;     /* prefer-align-cpus-by-uncorecache; packed only */
	bool distribute; /* distribute-cpus-across-numa */
	bool by_socket; /* align-by-socket; affects a distribution in some releases (struct kubelet_version) */
	unsigned group; /* CPUs are distributed in groups of this size; at least 1 */
	/* A distribution uses at least this many NUMA nodes, if the CPUs can be distributed over as many. */
	unsigned min_numas;
	struct kubelet_version version;
};

enum cpu_take_status {
	CPU_TAKE_OK,
	CPU_TAKE_NOT_ENOUGH, /* "not enough cpus available to satisfy request" */
	CPU_TAKE_MISCOUNTED, /* the kubelet's "accounting error, not enough CPUs allocated" */
	CPU_TAKE_ENDLESS,    /* the kubelet would loop forever (DEFECTS.md, K1 and K2) */
	CPU_TAKE_UNKNOWN     /* more combinations than CPU_TAKE_MAX_STEPS, or more work than the limit */
};

/*
 * Limit of the combinations of NUMA nodes (and of remainders within a combination) that are tried: enough for
 * all combinations of 12 NUMA nodes, which take a few milliseconds.
 */
#define CPU_TAKE_MAX_STEPS (1u << 20)

struct cpu_take {
	enum cpu_take_status status;
	size_t requested, available; /* of the call */
	long remaining;              /* CPU_TAKE_MISCOUNTED: CPUs that were not taken */
	struct kubelet_time
		time; /* of the kubelet, to distribute the CPUs; else 0. An estimate also with CPU_TAKE_UNKNOWN */
};

/* Scratch memory for taking CPUs, made for one topology; one user at a time. */
struct cpu_workspace;

struct cpu_workspace *cpu_workspace_new(const struct cpu_topology *t);
void cpu_workspace_freep(struct cpu_workspace **ws);

/*
 * takeByTopology(): choose `n` of the `available` CPUs. Sets taken[] (which must not be available[]) to the
 * choice, or to the empty set when the status is not CPU_TAKE_OK. Allocates nothing.
 */
struct cpu_take cpu_take(struct cpu_workspace *ws, const struct cpu_take_rules *rules, const bool *available,
	size_t n, bool *taken);

/*
 * The status of cpu_take() without a choice of CPUs, for rules that distribute and machines on which each
 * NUMA node gives any number of its free CPUs.
 */
struct cpu_take cpu_take_counted(
	struct cpu_workspace *ws, const struct cpu_take_rules *rules, const bool *available, size_t n);

/* ---- between cpu_assignment.c and cpu_distribution.c: cpuAccumulator and takeByTopologyNUMAPacked */

struct cpu_accumulator {
	bool *free;                        /* [n_cpus] CPUs that can still be taken */
	uint32_t *n_free[CPU_LEVEL_COUNT]; /* free CPUs in each element */
	bool *taken;                       /* [n_cpus] the result; owned by the caller */
	long need;                         /* CPUs still to be taken */
};

struct cpu_workspace {
	const struct cpu_topology *topology;
	struct work *work, unlimited; /* counts the steps: the caller's, or `unlimited` at first */
	bool numa_first;              /* NUMA nodes are above the sockets, or equal to them */
	struct cpu_accumulator packed, distributed;
	bool *inner_taken;                /* [n_cpus] the packed choice within a distribution */
	uint32_t *lists[CPU_LEVEL_COUNT]; /* the order of each level; see lay_out_workspace() */
	uint32_t *uncore_walk;            /* a copy of the uncore order, which is recomputed meanwhile */
	uint32_t *cpu_list;               /* the order of the CPUs */
	uint64_t *seen[CPU_LEVEL_COUNT];  /* the value of `pass` when an element was last listed */
	uint64_t pass;
	/* Distribution over NUMA nodes; each [n NUMA nodes]. `numas`, `candidates` and both best subsets have NUMA nodes; `combo` and
	 * `best_combo` have positions in numas[], and `subset` has positions in candidates[]. */
	uint32_t *combo, *best_combo, *subset, *best_subset, *local_best_subset;
	uint32_t *numas, *candidates;
	long *left, *left_after; /* CPUs left on each NUMA node */
	long *most_counted;      /* [n_cpus] of the endless loop's search */
	unsigned char *block;    /* owns the memory of all arrays above */
};

/* Begin with the CPUs `available` and none taken. */
void cpu_accumulator_start(
	struct cpu_workspace *ws, struct cpu_accumulator *acc, const bool *available, long n, bool *taken);

/* Take one CPU, and leave acc->need to the caller. */
void cpu_accumulator_take(struct cpu_workspace *ws, struct cpu_accumulator *acc, uint32_t cpu);

/*
 * List the NUMA nodes with a free CPU in the kubelet's order, in ws->lists[CPU_LEVEL_NUMA]; returns their
 * number.
 */
size_t cpu_accumulator_order_numas(struct cpu_workspace *ws, const struct cpu_accumulator *acc);

/*
 * List the elements with a free CPU, or only those that count as entirely free, in the kubelet's order:
 * elements in ws->lists[level], single CPUs in ws->cpu_list. Return their number.
 */
size_t cpu_accumulator_order(
	struct cpu_workspace *ws, const struct cpu_accumulator *acc, enum cpu_level level);
size_t cpu_accumulator_order_whole(struct cpu_workspace *ws, const struct cpu_take_rules *rules,
	const struct cpu_accumulator *acc, enum cpu_level level);
size_t cpu_accumulator_order_cpus(
	struct cpu_workspace *ws, const struct cpu_take_rules *rules, const struct cpu_accumulator *acc);

/* takeByTopologyNUMAPacked(), using ws->packed. */
struct cpu_take cpu_take_packed(struct cpu_workspace *ws, const struct cpu_take_rules *rules,
	const bool *available, size_t n, bool *taken);

/* takeByTopologyNUMAPacked() of the available CPUs of one NUMA node (its element). */
struct cpu_take cpu_take_packed_within(struct cpu_workspace *ws, const struct cpu_take_rules *rules,
	const bool *available, uint32_t numa, size_t n, bool *taken);
