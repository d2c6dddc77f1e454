/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Lists the options of the kubelet's policies, one row per option. settings.h makes the members of struct settings from the
 * rows, and settings_table.c makes policy_options[], which all programs read: a new option is one row. doc/kubelets.md has the rows too;
 * test_settings_table compares.
 *
 * Short cuts that assume that no other option matters, to be checked for a new option: free_count_decides() and
 * nodes_give_any_number() in scoring/exclusive_cpus.c, scoring/cpu_counts.c, the bounds of CPUs in scoring/node/victims.c, and print_cpus() of
 * scoring/node/victim_candidates.c, which takes holders with as many CPUs of each L3 cache for equal.
 */

#define TOPOLOGY_MANAGER_DEFAULT_MAX_NUMA_NODES 8u
/* The largest max-allowable-numa-nodes that is accepted from an object, as in the scheduler plugin. No
 * machine has more NUMA nodes. */
#define TOPOLOGY_MANAGER_MOST_MAX_NUMA_NODES 1024u

/*
 * row(type, member, name, fallback, alpha, beta, stable, decides, kind...): the member of struct cpu_manager_options or struct
 * topology_manager_config, which these rows declare; the kubelet's default; the minor releases in which the option became alpha, beta and
 * generally available (0 = not, or before a maturity that it had in 1.30; 30 = in 1.30 or before, as in release_names.c; all 0 = only
 * proposed), from policy_options.go of pkg/kubelet/cm/cpumanager and topologymanager, with which tests/upstream/releases/options.sh compares
 * them; what the option decides; the rest of struct policy_option. An alpha or beta option needs the gate CPUManagerPolicyAlphaOptions,
 * TopologyManagerPolicyBetaOptions, ... The node state has the options in the order of the rows: add a row at the end. No release has
 * removed an option.
 */
/* clang-format off */
#define CPU_MANAGER_OPTIONS(row) \
	row(bool, full_pcpus_only, "full-pcpus-only", 0, 0, 30, 33, \
		"a container gets whole cores; numbers of CPUs that are not a multiple of the CPUs per core are rejected", \
		.kind = OPTION_IS_BOOL) \
	row(bool, distribute_cpus_across_numa, "distribute-cpus-across-numa", 0, 30, 33, 0, \
		"CPUs come in equal parts from the NUMA nodes if one does not have enough", \
		.kind = OPTION_IS_BOOL) \
	row(bool, align_by_socket, "align-by-socket", 0, 30, 0, 0, \
		"CPUs on several NUMA nodes of one socket count as aligned", \
		.kind = OPTION_IS_BOOL) \
	row(bool, distribute_cpus_across_cores, "distribute-cpus-across-cores", 0, 31, 0, 0, \
		"CPUs come from as many cores as possible", \
		.kind = OPTION_IS_BOOL) \
	row(bool, strict_cpu_reservation, "strict-cpu-reservation", 0, 32, 33, 35, \
		"pods of the shared pool do not run on the reserved CPUs", \
		.kind = OPTION_IS_BOOL) \
	row(bool, prefer_align_cpus_by_uncorecache, "prefer-align-cpus-by-uncorecache", 0, 32, 34, 36, \
		"CPUs come from as few L3 caches as possible", \
		.kind = OPTION_IS_BOOL)

#define TOPOLOGY_MANAGER_OPTIONS(row) \
	row(unsigned, max_numa_nodes, "max-allowable-numa-nodes", TOPOLOGY_MANAGER_DEFAULT_MAX_NUMA_NODES, 0, 31, 35, \
		"on a machine with more NUMA nodes the kubelet does not start", \
		.kind = OPTION_IS_NUMBER, .most = TOPOLOGY_MANAGER_MOST_MAX_NUMA_NODES, .document_key = "maxNUMANodes") \
	row(bool, prefer_closest_numa_nodes, "prefer-closest-numa-nodes", 0, 0, 30, 32, \
		"of combinations of equally many NUMA nodes the kubelet takes one with the shortest distances", \
		.kind = OPTION_IS_BOOL, .document_key = "preferClosestNUMANodes") \
	row(enum numa_allocation_strategy, numa_allocation, "numa-allocation-strategy", 0, 0, 0, 0, \
		"of equally good combinations of NUMA nodes the kubelet takes the one of which the most or the least is allocated (KEP-6007)", \
		.kind = OPTION_IS_CHOICE, .names = numa_allocation_names, .n_names = NUMA_ALLOCATION_COUNT)
/* clang-format on */
