/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/kubelet_steps.h"

/* Weights, measured: steps for each ... */
#define STEPS_CONTAINER 100u /* container */
#define STEPS_ITEM      120u /* request or limit */
#define STEPS_HINT      4u   /* set of NUMA nodes that is checked as a hint */
#define STEPS_PICK      6u   /* set of NUMA nodes that is compared for the best hint */
#define STEPS_CPU       10u  /* CPU, per container */
#define STEPS_DEVICE    6u   /* device, per container */

static uint64_t count_walked_sets(uint64_t nodes)
{
	unsigned n = node_mask_count(nodes);

	return UINT64_C(1) << (n < NODE_MASK_WALK_MAX ? n : NODE_MASK_WALK_MAX);
}

uint64_t judgement_reading_steps(const struct judgement *j)
{
	const struct kubelet *k = j->k;
	uint64_t items = 0;

	for (size_t i = 0; i < j->pod->n_containers; i++)
		items += j->pod->containers[i].requests.n_items + j->pod->containers[i].limits.n_items;
	return STEPS_CONTAINER * (uint64_t)j->pod->n_containers + STEPS_ITEM * items + k->topology.n_cpus +
	       k->devices.n_devices + k->memory.n_nodes * k->memory.n_types;
}

/* Adding the hints of one resource to a merge; `first`: of the first resource. */
static uint64_t merge_add_steps(const struct judgement *j, bool first)
{
	const struct topology_merge *merge = &j->ws->merge;

	return (UINT64_C(1) << merge->bits) * (STEPS_PICK + (first ? 0 : 2 * merge->bits));
}

/*
 * Finding the best merged hint. With prefer-closest-numa-nodes it sums the distances of sets of one size, at most a
 * quarter of all sets.
 */
static uint64_t merge_finish_steps(const struct judgement *j)
{
	const struct topology_merge *merge = &j->ws->merge;
	uint64_t distances = j->k->rules.prefer_closest ? merge->bits * merge->bits / 8 : 0;

	return (UINT64_C(1) << merge->bits) * (STEPS_PICK + distances);
}

uint64_t judgement_device_hint_steps(const struct judgement *j, const struct device_demand *demand)
{
	const struct device_manager *dm = &j->k->devices;

	return STEPS_DEVICE * (uint64_t)dm->inventory->resources[demand->resource].n_devices +
	       count_walked_sets(dm->nodes & j->k->reach) *
		       (STEPS_HINT + 2 * device_manager_groups(dm, demand->resource));
}

uint64_t judgement_memory_hint_steps(const struct judgement *j)
{
	const struct kubelet_workspace *ws = j->ws;
	size_t n_walks = 0;

	for (size_t i = 0; i < ws->needs.n_items; i++)
		n_walks += ws->needs.items[i].type < j->k->memory.n_types;
	return ws->needs.n_items + count_walked_sets(j->k->memory.nodes) *
					   (STEPS_HINT + n_walks * (STEPS_HINT + 2 * ws->memory.n_reuse));
}

uint64_t judgement_cpu_hint_steps(const struct judgement *j)
{
	return STEPS_CPU * (uint64_t)j->k->topology.n_cpus + STEPS_HINT * count_walked_sets(j->k->reach);
}

size_t judgement_memory_merges(const struct judgement *j)
{
	size_t n = j->ws->needs.n_items, limit = j->ws->hints.n_items > 0 ? j->ws->merge.bits + 1 : 1;

	/* With a strategy each type has scores of its own. */
	return n < limit || j->k->rules.strategy != NUMA_ALLOCATION_NONE ? n : limit;
}

uint64_t judgement_demand_steps(const struct judgement *j, const struct demand *demand)
{
	const struct kubelet_workspace *ws = j->ws;
	uint64_t steps = merge_finish_steps(j);
	size_t n_added = 0, n_needs = demand->memory ? ws->needs.n_items : 0;
	bool scored = j->k->rules.strategy != NUMA_ALLOCATION_NONE;

	if (n_needs > ws->merge.bits + 1 && !scored) /* at most judgement_memory_merges() */
		n_needs = ws->merge.bits + 1;
	if (scored)
		steps += (ws->n_demands + 1 + n_needs) * judgement_fit_steps(j->k->reach);
	for (size_t i = 0; i < ws->n_demands; i++, n_added++)
		steps += judgement_device_hint_steps(j, &ws->demands[i]) + merge_add_steps(j, n_added == 0);
	if (demand->cpus > 0) {
		steps += judgement_cpu_hint_steps(j) + merge_add_steps(j, n_added == 0);
		n_added++;
	}
	if (demand->memory)
		steps += judgement_memory_hint_steps(j);
	for (size_t i = 0; i < n_needs; i++, n_added++)
		steps += merge_add_steps(j, n_added == 0);
	return steps;
}

struct kubelet_merge judgement_bound_merge(const struct judgement *j, const struct demand *demand)
{
	const struct kubelet *k = j->k;
	enum topology_manager_policy policy = k->rules.policy;
	struct kubelet_merge merge = KUBELET_MERGE_INIT(k->hints_have_scores);
	size_t n_needs = demand->memory && !(j->held && j->held->memory) ? j->ws->needs.n_items : 0;
	bool aligns = policy != TOPOLOGY_MANAGER_NONE;

	/* Not counted are the few hints for what a running pod holds: devices, and perhaps CPUs and memory. */
	for (size_t i = 0; i < j->ws->n_demands && aligns && !j->held; i++) {
		size_t r = j->ws->demands[i].resource;
		uint64_t nodes = device_manager_hint_nodes(&k->devices, r);

		kubelet_merge_make(&merge, nodes, k->devices.inventory->resources[r].n_devices);
		kubelet_merge_add_all(&merge, policy, nodes);
	}
	if (demand->cpus > 0 && aligns && !(j->held && j->held->cpus)) {
		kubelet_merge_make(&merge, k->cpu_nodes, k->topology.n_cpus);
		kubelet_merge_add_all(&merge, policy, k->cpu_nodes);
	}
	for (size_t i = 0; i < n_needs; i++)
		kubelet_merge_add_all(&merge, policy, k->memory.nodes);
	if (n_needs > 0)
		kubelet_merge_make(&merge, k->memory.nodes, n_needs * k->memory.n_nodes);
	return merge;
}

void judgement_merge_resource(const struct judgement *j, struct kubelet_merge *merge)
{
	kubelet_merge_add(merge, j->k->rules.policy, &j->ws->hints, 1);
	topology_merge_add(&j->ws->merge, &j->ws->hints);
}

uint64_t judgement_explain_steps(const struct judgement *j)
{
	return merge_add_steps(j, false) + merge_finish_steps(j);
}

uint64_t judgement_fit_steps(uint64_t nodes)
{
	return count_walked_sets(nodes) * NODE_MASK_WALK_MAX;
}

uint64_t judgement_allocation_steps(const struct judgement *j, const struct demand *demand)
{
	const struct kubelet_workspace *ws = j->ws;
	uint64_t steps = STEPS_CPU * (uint64_t)(demand->cpus > 0 ? j->k->topology.n_cpus : 0);

	for (size_t i = 0; i < ws->n_demands; i++)
		steps += STEPS_DEVICE *
			 (uint64_t)j->k->devices.inventory->resources[ws->demands[i].resource].n_devices;
	if (demand->memory)
		steps += ws->needs.n_items * (4 * j->k->memory.n_nodes + 4 * ws->memory.n_reuse);
	return steps;
}
