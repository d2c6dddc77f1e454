/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/exclusive_cpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/settings_table.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/kubelet.h"
#include "scoring/kubelet_slowest.h"

/* The ranges being found. */
struct range_finder {
	const struct kubelet *k;
	size_t step;
	struct exclusive_cpus_admitted *ret;
};

static void append_number(struct range_finder *f, size_t n)
{
	struct exclusive_cpus_admitted *a = f->ret;
	struct exclusive_cpu_range *range;

	if (a->n_ranges > 0 && a->ranges[a->n_ranges - 1].last + f->step == n) {
		a->ranges[a->n_ranges - 1].last = n;
		return;
	}
	range = vec_push(&a->ranges, &a->n_ranges, &a->ranges_size, sizeof(*range));
	*range = (struct exclusive_cpu_range){.first = n, .last = n};
}

/*
 * Whether a packed choice succeeds whenever enough CPUs are free: if all cores and all sockets have the same
 * size. The kubelet takes whole elements, then single CPUs. Because a kubelet up to 1.37 recognises a whole core or
 * socket by the machine's average size, it may take busy CPUs where sizes differ.
 */
static bool free_count_decides_packed(const struct cpu_manager *cm)
{
	return !cm->rules.version.whole_by_average ||
	       (cpu_topology_is_uniform(cm->topology, CPU_LEVEL_CORE) &&
		       cpu_topology_is_uniform(cm->topology, CPU_LEVEL_SOCKET));
}

static_assert(POLICY_OPTION_COUNT == 9, "does the number of free CPUs decide with the new option?");

/*
 * Whether the number of free CPUs alone decides. A distribution over NUMA nodes can fail although enough
 * CPUs are free, and a merge of hints can crash the kubelet.
 */
static bool free_count_decides(const struct kubelet *k)
{
	return !k->cpu.options.distribute_cpus_across_numa && !topology_may_panic(&k->rules) &&
	       free_count_decides_packed(&k->cpu);
}

/* Whether each element of `child` lies within one element of `parent`. */
static bool is_within(const struct cpu_topology *t, enum cpu_level child, enum cpu_level parent)
{
	const struct cpu_elements *c = &t->levels[child];
	const uint32_t *of = t->levels[parent].of;

	for (size_t i = 0; i < t->n_cpus; i++)
		if (of[i] != of[c->cpus[c->first[c->of[i]]]])
			return false;
	return true;
}

/* Whether each NUMA node gives any number of its free CPUs, so that the numbers decide a distribution. */
static bool nodes_give_any_number(const struct cpu_manager *cm)
{
	const struct cpu_topology *t = cm->topology;

	return free_count_decides_packed(cm) && is_within(t, CPU_LEVEL_CORE, CPU_LEVEL_NUMA) &&
	       (is_within(t, CPU_LEVEL_NUMA, CPU_LEVEL_SOCKET) ||
		       is_within(t, CPU_LEVEL_SOCKET, CPU_LEVEL_NUMA));
}

/* Find the ranges from sums over NUMA nodes: a number is admitted when the hints satisfy the policy. */
static void add_ranges_by_numbers(struct range_finder *f, const bool *available, size_t total)
{
	const struct cpu_manager *cm = &f->k->cpu;
	enum topology_manager_policy policy = f->k->rules.policy;
	struct cpu_widths widths;

	if (policy != TOPOLOGY_MANAGER_NONE)
		cpu_manager_widths(cm, available, &widths);
	for (size_t n = f->step; n <= total; n += f->step) {
		unsigned n_nodes = 0;
		bool preferred = policy == TOPOLOGY_MANAGER_NONE ||
				 cpu_manager_has_preferred(cm, &widths, n, &n_nodes);
		size_t physical;

		if (policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE && n_nodes > 1) /* drops these hints */
			preferred = false;
		if (topology_policy_admits(policy, preferred) &&
			cpu_manager_check_smt(cm, f->k->shared, n, &physical) == CPU_SMT_ALIGNED)
			append_number(f, n);
	}
}

/* Make a pod of one container that requests n CPUs. */
static void make_exclusive_pod(size_t n, struct pod_request *ret)
{
	pod_request_init(ret);
	pod_request_add(ret, CONTAINER_APP, "");
	resource_list_set(&ret->containers[0].requests, "cpu", quantity_from_units((int64_t)n));
}

/*
 * Find the ranges from the kubelet's verdict on each number. More than the `total` available CPUs can be
 * admitted only if busy CPUs are taken.
 */
static void add_ranges_by_trying(struct range_finder *f, size_t total)
{
	CLEANUP(kubelet_workspace_freep) struct kubelet_workspace *ws = NULL;
	CLEANUP(pod_request_release) struct pod_request pod;
	struct resource_list *requests;

	make_exclusive_pod(1, &pod);
	ws = kubelet_workspace_new(f->k);
	ws->counting = nodes_give_any_number(&f->k->cpu);
	if (!ws->counting)
		total = f->k->topology.n_cpus;
	requests = &pod.containers[0].requests;
	for (size_t n = f->step; n <= total; n += f->step) {
		struct kubelet_verdict verdict;

		requests->items[0].quantity = quantity_from_units((int64_t)n);
		kubelet_judge(f->k, ws, &pod, QOS_GUARANTEED, &verdict);
		if (verdict.answer == KUBELET_UNKNOWN) {
			f->ret->unknown = verdict.reason;
			f->ret->n_ranges = 0;
			return;
		}
		if (verdict.answer == KUBELET_ADMITS)
			append_number(f, n);
	}
}

/* The reason why no verdict on exclusive CPUs is possible, or NULL. */
static const struct err *find_unknown_manager(const struct kubelet *k)
{
	const struct err *reasons[] = {&k->cpu_unknown, &k->memory_unknown, &k->unknown};

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i]->text[0] != '\0')
			return reasons[i];
	return NULL;
}

/* Returns without ranges and without a reason in ret->unknown if the kubelet admits no number. */
void exclusive_cpus_find(const struct kubelet *k, struct exclusive_cpus_admitted *ret)
{
	CLEANUP(freep) bool *available = xcalloc(k->topology.n_cpus + 1, sizeof(*available));
	struct range_finder f = {.k = k, .step = 1, .ret = ret};
	size_t n_nodes = k->topology.levels[CPU_LEVEL_NUMA].n, total;
	const struct err *unknown = find_unknown_manager(k);

	*ret = (struct exclusive_cpus_admitted){.step = 1};
	if (kubelet_panics_for_every_pod(k))
		return; /* the kubelet admits no number */
	if (unknown) {
		ret->unknown = *unknown;
		return;
	}
	if (!k->cpu_static) {
		err_set(&ret->unknown, 0,
			"the CPU manager's policy is none: no container gets exclusive CPUs");
		return;
	}
	if (k->cpu.options.full_pcpus_only && k->cpu.cpus_per_core > 1)
		f.step = k->cpu.cpus_per_core;
	ret->step = (unsigned)f.step;
	if (k->memory_panics.text[0])
		return; /* the kubelet admits no number */
	if (k->cpu.options.distribute_cpus_across_numa && n_nodes > EXCLUSIVE_CPUS_MAX_DISTRIBUTED_NODES) {
		err_set(&ret->unknown, 0,
			"distributing CPUs over %zu NUMA nodes has too many outcomes (at most %u)", n_nodes,
			EXCLUSIVE_CPUS_MAX_DISTRIBUTED_NODES);
		return;
	}
	if (kubelet_find_fastest(k).ns > KUBELET_TIME_MAX)
		return; /* the kubelet admits no number in time */
	if (k->too_many_sets.text[0]) {
		ret->unknown = k->too_many_sets;
		return;
	}
	total = cpu_manager_available(&k->cpu, k->shared, available);
	if (!free_count_decides(k)) {
		add_ranges_by_trying(&f, total);
		return;
	}
	add_ranges_by_numbers(&f, available, total);
}

void exclusive_cpus_admitted_release(struct exclusive_cpus_admitted *a)
{
	free(a->ranges);
	*a = (struct exclusive_cpus_admitted){0};
}

size_t exclusive_cpus_largest(const struct exclusive_cpus_admitted *a, size_t max)
{
	size_t best = 0;

	for (size_t i = 0; i < a->n_ranges && a->ranges[i].first <= max; i++) {
		size_t last = a->ranges[i].last < max ? a->ranges[i].last : max;

		best = last - (last - a->ranges[i].first) % a->step;
	}
	return best;
}

/* Whether the CPUs of each core are all available or all unavailable. */
static bool cores_are_whole(const struct cpu_topology *t, const bool *available)
{
	const struct cpu_elements *cores = &t->levels[CPU_LEVEL_CORE];

	for (size_t c = 0; c < cores->n; c++)
		for (uint32_t i = cores->first[c]; i + 1 < cores->first[c + 1]; i++)
			if (available[cores->cpus[i]] != available[cores->cpus[i + 1]])
				return false;
	return true;
}

/* Judge pods of n CPUs until one is rejected; returns the CPUs of the admitted pods. */
static size_t count_usable_by_trying(const struct kubelet *k, struct kubelet_workspace *ws, size_t n)
{
	CLEANUP(pod_request_release) struct pod_request pod;
	struct kubelet_verdict verdict;
	size_t usable = 0;

	make_exclusive_pod(n, &pod);
	kubelet_judge(k, ws, &pod, QOS_GUARANTEED, &verdict);
	while (verdict.answer == KUBELET_ADMITS) {
		usable += n;
		kubelet_judge_next(k, ws, &pod, QOS_GUARANTEED, &verdict);
	}
	return usable;
}

size_t exclusive_cpus_usable(
	const struct kubelet *k, struct kubelet_workspace *ws, const struct exclusive_cpus_admitted *a)
{
	CLEANUP(freep) bool *available = xcalloc(k->topology.n_cpus + 1, sizeof(*available));
	size_t total = cpu_manager_available(&k->cpu, k->shared, available);

	if (a->n_ranges == 0)
		return 0;
	/* Then the smallest pods use up every free CPU. */
	if (free_count_decides(k) && a->ranges[0].first == a->step &&
		(!k->cpu.options.full_pcpus_only || cores_are_whole(&k->topology, available)))
		return total;
	return count_usable_by_trying(k, ws, a->ranges[0].first);
}

void exclusive_cpus_limit(struct exclusive_cpus_admitted *a, size_t max)
{
	while (a->n_ranges > 0 && a->ranges[a->n_ranges - 1].first > max)
		a->n_ranges--;
	if (a->n_ranges > 0 && a->ranges[a->n_ranges - 1].last > max) {
		struct exclusive_cpu_range *r = &a->ranges[a->n_ranges - 1];

		r->last = max - (max - r->first) % a->step;
	}
}
