/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where kubelet releases decide differently. Found by comparing the sources of 1.33.5, 1.34.4, 1.35.4,
 * 1.36.3, 1.37.2 and 1.38.0-alpha.0 (whose managers are those of 1.37.2), and their decisions in random
 * sequences (tests/upstream/releases).
 */
#include <stdbool.h>

struct kubelet_version {
	/*
	 * Up to 1.33: prefer-align-cpus-by-uncorecache counts whole cores only (rounds down), so an odd
	 * request on SMT is not aligned.
	 */
	bool uncore_rounds_down;
	/* Up to 1.35: device hints cover every NUMA node of the machine, not only those with a device. */
	bool device_hints_on_every_node;
	/*
	 * From 1.37: distribute-cpus-across-numa with align-by-socket prefers NUMA nodes of one socket, and
	 * takes from no NUMA node more CPUs than it has (cpu_assignment.go, takeByTopologyNUMADistributed).
	 */
	bool distribution_heeds_sockets;
	/*
	 * Up to 1.36: a restarted kubelet checks full-pcpus-only also for running containers, whose CPUs it does not
	 * count as free (cpumanager/policy_static.go, Allocate; since 1.37 allocateForAdd looks at the state first).
	 */
	bool smt_check_ignores_state;
};

#define KUBELET_MINOR_OLDEST   33u /* the oldest release whose sources were compared */
#define KUBELET_MINOR_ASSUMED  37u /* kubelet_version_of() assumes this release when it is unknown */
#define KUBELET_MINOR_COMPARED 38u /* the newest release whose decisions were compared */

/* The rules of kubelet 1.`minor`; 0 = unknown, the rules of KUBELET_MINOR_ASSUMED. */
static inline struct kubelet_version kubelet_version_of(unsigned minor)
{
	return (struct kubelet_version){
		.uncore_rounds_down = minor > 0 && minor <= 33,
		.device_hints_on_every_node = minor > 0 && minor <= 35,
		.distribution_heeds_sockets = minor == 0 || minor >= 37,
		.smt_check_ignores_state = minor > 0 && minor <= 36,
	};
}
