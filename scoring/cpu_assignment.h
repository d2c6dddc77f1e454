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
	CPU_TAKE_UNKNOWN,
	CPU_TAKE_STATUS_COUNT
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
void cpu_workspace_free(struct cpu_workspace *ws);
void cpu_workspace_freep(struct cpu_workspace **ws);

/* Count the steps of taking in `work`, which outlives the workspace, and heed its limit. At first there is none. */
void cpu_workspace_count_in(struct cpu_workspace *ws, struct work *work);

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
