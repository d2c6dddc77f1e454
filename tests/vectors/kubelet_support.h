/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the kubelet formats share: machines made from recorded topologies, hints and masks as JSON.
 */
#include "common/allocation.h"
#include "common/machine.h"
#include "scoring/cpu_manager.h"
#include "scoring/topology_manager.h"
#include "tests/vectors/vectors.h"

extern const struct vectors_format kubelet_cpu_manager_format;
extern const struct vectors_format kubelet_topology_manager_format;
extern const struct vectors_format kubelet_cases_format;
extern const struct vectors_format kubelet_pods_format;

/* Add an online CPU to a machine under construction (ascending ids), with its NUMA node and socket. */
void kv_add_cpu(struct machine *m, unsigned id, unsigned core, int socket, int numa, int uncore);

/* The node alone, unless it is there: one without CPUs. */
void kv_add_node(struct machine *m, unsigned id, int socket);

/* The memory manager's machineState; the caller releases it. */
void kv_memory_state(const vj *machine_state, struct memory_state *ret);

/* Give the machine's nodes the distances of a list of rows, one a node in ascending order. */
void kv_set_distances(struct machine *m, const vj *rows);

/* The same, for nodes without a machine: ids 0..n-1. */
void kv_nodes(struct topology_nodes *ret, size_t n, const vj *rows);

/* [0,2] as a mask. */
uint64_t kv_mask(const vj *list_of_ids);

/* [{"numa": [0] | null, "preferred": true}] or [[[0] | null, true]] or null, as the hints of one resource. */
void kv_hints(const vj *list, struct topology_hints *ret);

/* Compare a list of hints, in order, with the recorded one (either form). */
void kv_check_hints(
	struct vectors_run *run, const char *what, const struct topology_hints *got, const vj *want);

/* Compare a merged hint with a mask (or null) and a flag. */
void kv_check_hint(struct vectors_run *run, const char *what, struct topology_hint got, const vj *want_numa,
	bool want_preferred);

/* "restricted+prefer-closest-numa-nodes" */
struct topology_rules kv_rules(const char *text, const struct topology_nodes *nodes);

/* ["full-pcpus-only", ...] or {"full-pcpus-only": true, ...} */
struct cpu_manager_options kv_cpu_options(const vj *options);

/* A static policy over a machine, with its workspace and five sets of CPUs for the case to use. */
struct kv_policy {
	struct machine machine;
	struct cpu_topology topology;
	struct cpu_manager manager;
	struct cpu_workspace *ws;
	bool *shared, *available, *reusable, *taken;
	bool *scratch[2];
};

/* machine_init() and kv_add_cpu() first. A NULL `reserved` lets the policy pick n_reserved CPUs. False, with
 * the reason in *err, when the policy cannot be made; *p is to be released all the same. */
bool kv_policy_init(struct kv_policy *p, struct cpu_manager_options options, hwloc_const_bitmap_t reserved,
	size_t n_reserved, struct err *err);
void kv_policy_release(struct kv_policy *p);

/* The kubelet's error for a take that failed; "" when it did not. */
void kv_take_error(struct cpu_take take, char *text, size_t size);

/* The kubelet's error of full-pcpus-only for n CPUs; "" when there is none. */
void kv_smt_error(const struct kv_policy *p, size_t n, char *text, size_t size);

/* set[] = a recorded list of the topology's CPUs. */
void kv_read_set(const struct cpu_topology *t, const vj *list, bool *set);

/* Compare a set of CPUs with a recorded list. */
void kv_check_cpus(struct vectors_run *run, const char *what, const struct cpu_topology *t, const bool *got,
	const char *want);
