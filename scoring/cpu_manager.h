/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The kubelet's CPU manager, policy static (pkg/kubelet/cm/cpumanager/policy_static.go, 1.36.2): reserved
 * CPUs, topology hints, SMT alignment and exclusive allocation. CPUs are sets of scoring/cpu_topology.h.
 * Depends on common/ and scoring/ only.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/allocation.h"
#include "common/err.h"
#include "common/settings.h"
#include "scoring/cpu_assignment.h"
#include "scoring/node_mask.h"
#include "scoring/topology_manager.h"

struct cpu_manager {
	const struct cpu_topology *topology; /* outlives the manager */
	struct cpu_manager_options options;
	struct cpu_take_rules rules;
	unsigned cpus_per_core;
	bool *reserved;          /* CPUs that no container gets */
	bool *reserved_physical; /* the reserved CPUs and their siblings */
	size_t n_reserved;
};

/*
 * Why the kubelet rejects these options: a sentence in static storage, or NULL when it accepts them. Checks
 * mutually exclusive options, and align-by-socket under Topology Manager policy single-numa-node or with
 * more sockets than NUMA nodes.
 */
const char *cpu_manager_options_conflict(const struct cpu_manager_options *options,
	enum topology_manager_policy policy, const struct cpu_topology *t);

/*
 * The number of CPUs that the kubelet reserves for kubeReserved and systemReserved together, in nano-CPUs:
 * rounded up.
 */
size_t cpu_manager_reserved_count(qty_t reserved_cpu);

/*
 * `reserved` is reservedSystemCPUs (NULL = not set; then the kubelet chooses n_reserved CPUs itself, with
 * the options in force). Returns 0; -EINVAL with the kubelet's reason when it would not start: conflicting
 * options, or n_reserved CPUs cannot be reserved; -E2BIG: choosing the reserved CPUs takes too many steps.
 */
int cpu_manager_init(struct cpu_manager *cm, const struct cpu_topology *t,
	const struct cpu_manager_options *options, enum topology_manager_policy policy,
	const struct kubelet_version *version, hwloc_const_bitmap_t reserved, size_t n_reserved,
	struct err *err);
void cpu_manager_release(struct cpu_manager *cm);

/*
 * generateCPUTopologyHints(): the hints for n of the `available` CPUs, if the CPUs of `reusable` are used
 * first. At most NODE_MASK_WALK_MAX NUMA nodes with ids up to NODE_MASK_MAX_ID.
 */
void cpu_manager_hints(const struct cpu_manager *cm, const bool *available, const bool *reusable, size_t n,
	struct topology_hints *ret_hints);

/*
 * Only the preferred hints of cpu_manager_hints(): those of the fewest NUMA nodes that have n CPUs by size.
 * They decide if no other manager has hints, because each of them is better than all other hints; and if
 * there are none, the managers agree on no preferred hint. Returns 1: there are preferred hints; 0: none;
 * -ENOTSUP: with the option align-by-socket, or too many NUMA nodes; call cpu_manager_hints() then.
 */
int cpu_manager_preferred_hints(const struct cpu_manager *cm, const bool *available, const bool *reusable,
	size_t n, struct topology_hints *ret_hints);

/* Score the hints by the exclusive CPUs on their nodes (topology_hints_score()). */
void cpu_manager_score(const struct cpu_manager *cm, const bool *available, struct topology_hints *hints);

/* The sums that decide cpu_manager_hints(), for all numbers of CPUs at once. */
struct cpu_widths {
	size_t capacity[NODE_MASK_WALK_MAX + 1]; /* the most CPUs on i NUMA nodes */
	size_t free[NODE_MASK_WALK_MAX + 1];     /* the most available CPUs on i NUMA nodes */
	size_t by_socket[64 + 1];                /* the most available CPUs on the NUMA nodes of i sockets */
};

/* Same limits as for the hints. */
void cpu_manager_widths(const struct cpu_manager *cm, const bool *available, struct cpu_widths *ret);

/*
 * Whether the hints for n CPUs, none of them reused, have a preferred hint. *ret_nodes: the number of NUMA
 * nodes that the kubelet prefers for n CPUs.
 */
bool cpu_manager_has_preferred(
	const struct cpu_manager *cm, const struct cpu_widths *widths, size_t n, unsigned *ret_nodes);

/* How n CPUs fit the fewest NUMA nodes, for an explanation. Same limits as for the hints. */
struct node_mask_fit cpu_manager_fit(const struct cpu_manager *cm, const bool *available, size_t n);

enum cpu_smt_status {
	CPU_SMT_ALIGNED,
	CPU_SMT_NOT_MULTIPLE,    /* n is not a multiple of the CPUs per core */
	CPU_SMT_NOT_ENOUGH_CORES /* fewer CPUs on cores without reserved siblings */
};

/* The check of full-pcpus-only; always aligned without the option. *ret_physical: the CPUs that count. */
enum cpu_smt_status cpu_manager_check_smt(
	const struct cpu_manager *cm, const bool *shared, size_t n, size_t *ret_physical);

/* Set available[] to the shared pool without the reserved CPUs. Returns its size. */
size_t cpu_manager_available(const struct cpu_manager *cm, const bool *shared, bool *available);

/*
 * allocateCPUs(): take n CPUs for a container, first from the NUMA nodes of `hint` (with align-by-socket
 * from their sockets; without preference for any_node), then from anywhere. `reusable`: CPUs of the
 * pod's ended init containers; NULL = none. On CPU_TAKE_OK taken[] is the result and is removed from shared[];
 * otherwise shared[] is unchanged and taken[] is empty. scratch: two more sets. Allocates nothing.
 */
struct cpu_take cpu_manager_allocate(const struct cpu_manager *cm, struct cpu_workspace *ws, bool *shared,
	const bool *reusable, size_t n, struct topology_hint hint, bool *scratch[2], bool *taken);

/*
 * The result and the time of cpu_manager_allocate(), without choosing CPUs where numbers decide. Requires nodes_give_any_number()
 * (exclusive_cpus.c). taken[] and shared[] are unspecified afterwards.
 */
struct cpu_take cpu_manager_allocate_counted(const struct cpu_manager *cm, struct cpu_workspace *ws,
	bool *shared, const bool *reusable, size_t n, struct topology_hint hint, bool *scratch[2],
	bool *taken);
