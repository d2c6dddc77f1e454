/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where kubelet releases decide differently: one row per rule. The managers read the rules of a node's release
 * from struct kubelet_version; test_kubelet_version compares the rows with the table in doc/kubelets.md. The
 * rows come from comparing the sources of 1.33.5, 1.34.12, 1.35.8, 1.36.5, 1.37.2 and 1.38.0-beta.0, and the
 * decisions of their managers in random sequences (tests/upstream/releases).
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/settings.h"

/*
 * row(member, first, last, what): the member of struct kubelet_version; the first and the last minor release with
 * the rule (KUBELET_MINOR_ANY: no bound); what the kubelet does, as in doc/kubelets.md.
 */
#define KUBELET_MINOR_ANY 0u
/* clang-format off */
#define KUBELET_RULES(row) \
	row(uncore_rounds_down, KUBELET_MINOR_ANY, 33, \
		"prefer-align-cpus-by-uncorecache counts whole cores only: an odd number of CPUs is not aligned") \
	row(device_hints_on_every_node, KUBELET_MINOR_ANY, 35, \
		"hints for devices cover all NUMA nodes, not only the NUMA nodes with such devices") \
	row(distribution_heeds_sockets, 37, KUBELET_MINOR_ANY, \
		"distribute-cpus-across-numa with align-by-socket prefers NUMA nodes of one socket, and takes no more CPUs from a NUMA node than it has") \
	row(smt_check_ignores_state, KUBELET_MINOR_ANY, 36, \
		"after a restart, full-pcpus-only rejects a running pod if fewer CPUs are free on whole cores than the pod requests: what the pod holds does not count (`kubectl numa simulate --restart`)") \
	row(combinations_share_memory, KUBELET_MINOR_ANY, 37, \
		"combinations of four and more NUMA nodes overwrite each other (K20 in scoring/DEFECTS.md)") \
	row(remainder_counts_cpus, KUBELET_MINOR_ANY, 37, \
		"distribute-cpus-across-numa with full-pcpus-only loops forever if the CPUs left on some NUMA nodes suffice but their whole cores do not (K1)") \
	row(distribution_heeds_hint, 38, KUBELET_MINOR_ANY, \
		"distribute-cpus-across-numa uses at least as many NUMA nodes as the Topology Manager's hint has") \
	row(whole_by_average, KUBELET_MINOR_ANY, 37, \
		"a core or socket counts as whole if its free CPUs equal the machine's average (K21)") \
	row(spread_over_cores, 38, KUBELET_MINOR_ANY, \
		"distribute-cpus-across-cores takes one CPU of each core in turn, not the lowest CPU ids") \
	row(full_uncores_first, 38, KUBELET_MINOR_ANY, \
		"prefer-align-cpus-by-uncorecache takes all whole L3 caches before any part of one, and compares each with its own size") \
	row(pod_memory_counts_init, 38, KUBELET_MINOR_ANY, \
		"in scope pod, memory types that only init containers request get hints (K26)") \
	row(held_memory_per_container, 38, KUBELET_MINOR_ANY, \
		"in scope pod, a restarted kubelet compares the memory of a running pod's first container with that container's request, not with the pod's (`kubectl numa simulate --restart`)") \
	row(preferred_hints_first, 38, KUBELET_MINOR_ANY, \
		"the Topology Manager merges the preferred hints first, and all hints only if no preferred hint results") \
	row(hints_have_scores, 38, KUBELET_MINOR_ANY, \
		"the Topology Manager also averages the scores of hints, which decide nothing, so a permutation takes it longer")
/* clang-format on */

struct kubelet_version {
#define KUBELET_RULE_MEMBER(member, first, last, what) bool member;
	KUBELET_RULES(KUBELET_RULE_MEMBER)
#undef KUBELET_RULE_MEMBER
};

#define KUBELET_MINOR_OLDEST  33u /* the oldest release whose sources were compared */
#define KUBELET_MINOR_ASSUMED 37u /* kubelet_version_of() assumes this release when it is unknown */
/*
 * The newest release whose decisions were compared: a release with all its patch releases, or, if KUBELET_PRERELEASE_COMPARED is not 0,
 * this pre-release only. Patch releases have only backported fixes; from a pre-release to the release rules still change.
 */
#define KUBELET_MINOR_COMPARED      38u
#define KUBELET_PRERELEASE_COMPARED (KUBELET_BETA + 0u)

/* False if the release is newer than the newest that was compared. An unknown release is assumed to be a compared one. */
static inline bool kubelet_is_compared(struct kubelet_release release)
{
	const unsigned newest = KUBELET_PRERELEASE_COMPARED;

	if (release.minor != KUBELET_MINOR_COMPARED || newest == 0)
		return release.minor <= KUBELET_MINOR_COMPARED;
	return release.prerelease > 0 && release.prerelease <= newest;
}

static inline bool kubelet_rule_holds(unsigned minor, unsigned first, unsigned last)
{
	return minor >= first && (last == KUBELET_MINOR_ANY || minor <= last);
}

/* The rules of kubelet 1.`minor`; 0 = unknown, the rules of KUBELET_MINOR_ASSUMED. */
static inline struct kubelet_version kubelet_version_of(unsigned minor)
{
	const unsigned m = minor ? minor : KUBELET_MINOR_ASSUMED;

	return (struct kubelet_version){
#define KUBELET_RULE_VALUE(member, first, last, what) .member = kubelet_rule_holds(m, first, last),
		KUBELET_RULES(KUBELET_RULE_VALUE)
#undef KUBELET_RULE_VALUE
	};
}
