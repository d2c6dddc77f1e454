/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/kubelet_explain.h"

#include <inttypes.h>
#include <string.h>

#include "common/text.h"

#define AMOUNT_TEXT_MAX 128

/* Merges the resources again one by one. The reason is the first resource with which nothing is admitted. */
struct explanation {
	struct judgement *j;
	const char *policy;
	char agreed[96]; /* an amount that was still admitted, "" = none yet */
	uint64_t nodes;  /* where that amount would go, together with the other resources so far */
	bool done;       /* the reason is written */
};

/* "11 CPUs", "4 vendor.com/nic", "16Gi memory" */
struct amount {
	uint64_t n;
	bool bytes;
	const char *name;
};

/* `bytes`: with a binary suffix. */
static void print_number(uint64_t n, bool bytes, char text[QUANTITY_TEXT_MAX])
{
	text[0] = '\0';
	if (bytes)
		quantity_print(
			(struct quantity){.nano = (qty_t)n * QTY_UNIT, .format = QUANTITY_BINARY_SI}, text);
	else
		text_addf(text, QUANTITY_TEXT_MAX, "%" PRIu64, n);
}

static void print_named_amount(struct amount a, char text[AMOUNT_TEXT_MAX])
{
	char number[QUANTITY_TEXT_MAX];

	print_number(a.n, a.bytes, number);
	text[0] = '\0';
	text_addf(text, AMOUNT_TEXT_MAX, "%s %s", number, a.name);
}

/* Whether the resource has a hint that alone would be admitted; *ret_nodes = the narrowest such hint. */
static bool find_preferred(const struct explanation *e, uint64_t *ret_nodes)
{
	const struct topology_hints *hints = &e->j->ws->hints;
	bool single = e->j->k->rules.policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, found = false;

	for (size_t i = 0; i < hints->n_items; i++) {
		bool preferred =
			single ? topology_single_node_hint(hints->items[i]) : hints->items[i].preferred;

		if (!preferred)
			continue;
		if (!found || node_mask_narrower(hints->items[i].nodes, *ret_nodes))
			*ret_nodes = hints->items[i].nodes;
		found = true;
	}
	return found;
}

/* The reason when no hint of this resource is admitted even alone. `reused`: the NUMA nodes of CPUs that the container must take over from init containers. */
static void explain_no_hint(
	const struct explanation *e, struct amount a, struct node_mask_fit fit, uint64_t reused)
{
	struct err *reason = &e->j->verdict->reason;
	bool single = e->j->k->rules.policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	char wanted[AMOUNT_TEXT_MAX], nodes[32] = "one NUMA node", free[QUANTITY_TEXT_MAX],
				      capacity[QUANTITY_TEXT_MAX];

	print_named_amount(a, wanted);
	if (fit.min_nodes != 1) {
		nodes[0] = '\0';
		text_addf(nodes, sizeof(nodes), "%u NUMA nodes", fit.min_nodes);
	}
	print_number(fit.available < a.n ? fit.available : fit.free, a.bytes, free);
	print_number(fit.capacity, a.bytes, capacity);
	if (fit.available < a.n) {
		err_set(reason, 0, "%s: %s wanted, %s available", e->policy, wanted, free);
		e->j->verdict->none_left = fit.available == 0;
	} else if (single && fit.min_nodes != 1)
		err_set(reason, 0, "%s: %s need %s by size", e->policy, wanted,
			fit.min_nodes ? nodes : "more than all NUMA nodes");
	else if (fit.free < a.n)
		err_set(reason, 0, "%s: %s fit %s by size (%s), but the freest %s %s", e->policy, wanted,
			nodes, capacity, fit.min_nodes == 1 ? "has" : "have", free);
	else if (reused) {
		char list[NODE_MASK_TEXT_MAX];

		node_mask_print(reused, list);
		err_set(reason, 0,
			"%s: %s fit %s, but this container must reuse the CPUs of an init container, which are on NUMA nodes {%s}",
			e->policy, wanted, nodes, list);
		e->j->verdict->reuses_cpus = true;
	} else
		err_set(reason, 0,
			"%s: %s fit %s, but not together with the pod's other memory or with memory groups in use",
			e->policy, wanted, nodes);
}

/* Count the steps of the next task. False: the reason is written, without numbers where the steps exceed the limit. */
static bool spend_for_reason(struct explanation *e, uint64_t steps)
{
	if (e->done || work_add(&e->j->ws->work, steps))
		return !e->done;
	err_set(&e->j->verdict->reason, 0, "%s: no combination of NUMA nodes satisfies all requests",
		e->policy);
	e->done = true;
	return false;
}

/* Merge the resource whose hints are in the workspace, and write the reason if nothing is admitted any more. */
static void explain_resource(
	struct explanation *e, struct amount wanted, struct node_mask_fit fit, uint64_t reused)
{
	char text[AMOUNT_TEXT_MAX], list[NODE_MASK_TEXT_MAX], agreed[NODE_MASK_TEXT_MAX];
	struct kubelet_workspace *ws = e->j->ws;
	struct topology_hint best;
	uint64_t preferred = 0;
	bool admit;

	if (!spend_for_reason(e, judgement_explain_steps(e->j)))
		return;
	topology_merge_add(&ws->merge, &ws->hints);
	best = topology_merge_finish(&ws->merge, &admit);
	print_named_amount(wanted, text);
	if (admit) {
		if (!e->agreed[0] && !ws->hints.no_preference)
			text_addf(e->agreed, sizeof(e->agreed), "%s", text);
		e->nodes = best.nodes;
		return;
	}
	e->done = true;
	if (!find_preferred(e, &preferred)) {
		explain_no_hint(e, wanted, fit, reused);
		return;
	}
	node_mask_print(preferred, list);
	node_mask_print(e->nodes, agreed);
	err_set(&e->j->verdict->reason, 0, "%s: %s NUMA nodes: %s would go to {%s}, %s to {%s}", e->policy,
		preferred & e->nodes ? "not the same" : "no common", e->agreed, agreed, text, list);
}

/* All types of memory have the same hints. A first pass names a type of which too much is requested, whatever the other types are. */
static void explain_memory(struct explanation *e)
{
	const struct kubelet *k = e->j->k;
	struct kubelet_workspace *ws = e->j->ws;

	if (!spend_for_reason(e, judgement_memory_hint_steps(e->j)))
		return;
	memory_manager_hints(&k->memory, &ws->memory, &ws->needs, &ws->hints);
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < ws->needs.n_items && !e->done; i++) {
			const struct memory_need *need = &ws->needs.items[i];
			struct node_mask_fit fit;
			bool too_much;

			if (!spend_for_reason(e, judgement_fit_steps(k->memory.nodes)))
				return;
			fit = memory_manager_fit(&k->memory, &ws->memory, need);
			too_much = fit.min_nodes == 0 || fit.free < need->bytes;
			if (too_much != (pass == 0))
				continue;
			explain_resource(e, (struct amount){need->bytes, true, need->name}, fit, 0);
		}
}

/* The NUMA nodes of the set's CPUs. */
static uint64_t find_nodes(const struct cpu_topology *t, const bool *set)
{
	const struct cpu_elements *numa = &t->levels[CPU_LEVEL_NUMA];
	uint64_t nodes = 0;

	for (size_t i = 0; i < t->n_cpus; i++)
		if (set[i])
			nodes |= node_mask_of((unsigned)numa->ids[numa->of[i]]);
	return nodes;
}

/* Explains the CPUs' part in the rejection. Without any preferred hint of the CPUs, no other resource matters. */
static void explain_cpus(struct explanation *e, size_t n)
{
	const struct kubelet *k = e->j->k;
	struct kubelet_workspace *ws = e->j->ws;
	const struct amount wanted = {n, false, n == 1 ? "CPU" : "CPUs"};
	struct node_mask_fit fit;
	uint64_t reused;
	int has_preferred;

	if (!spend_for_reason(e, judgement_cpu_hint_steps(e->j) + judgement_fit_steps(k->reach)))
		return;
	cpu_manager_available(&k->cpu, ws->shared, ws->available);
	has_preferred = cpu_manager_preferred_hints(&k->cpu, ws->available, ws->reusable, n, &ws->hints);
	if (has_preferred != 0)
		cpu_manager_hints(&k->cpu, ws->available, ws->reusable, n, &ws->hints);
	for (size_t i = 0; i < k->topology.n_cpus; i++)
		ws->available[i] = ws->available[i] || ws->reusable[i];
	reused = find_nodes(&k->topology, ws->reusable);
	fit = cpu_manager_fit(&k->cpu, ws->available, n);
	if (has_preferred != 0) {
		explain_resource(e, wanted, fit, reused);
		return;
	}
	e->done = true;
	explain_no_hint(e, wanted, fit, reused);
}

void kubelet_explain_affinity(struct judgement *j, const struct demand *demand)
{
	const struct kubelet *k = j->k;
	struct kubelet_workspace *ws = j->ws;
	struct explanation e = {.j = j, .policy = topology_manager_policy_names[k->rules.policy]};

	topology_merge_start(&ws->merge, &k->rules);
	if (demand->cpus > 0)
		explain_cpus(&e, demand->cpus);
	for (size_t i = 0; i < ws->n_demands; i++) {
		size_t r = ws->demands[i].resource, n = ws->demands[i].n;
		const struct amount wanted = {n, false, k->devices.inventory->resources[r].name};

		/* Twice: for device_manager_hints() and for device_manager_fit(). */
		if (!spend_for_reason(&e, 2 * judgement_device_hint_steps(j, &ws->demands[i])))
			return;
		device_manager_hints(&k->devices, &ws->devices, r, n, &ws->hints);
		explain_resource(&e, wanted, device_manager_fit(&k->devices, &ws->devices, r, n), 0);
	}
	if (demand->memory)
		explain_memory(&e);
}

void kubelet_explain_memory(struct judgement *j)
{
	const struct kubelet *k = j->k;
	const struct memory_needs *needs = &j->ws->needs;
	char all[AMOUNT_TEXT_MAX] = "";

	for (size_t i = 0; i < needs->n_items; i++) {
		const struct memory_need *need = &needs->items[i];
		char wanted[QUANTITY_TEXT_MAX], free[QUANTITY_TEXT_MAX];
		struct node_mask_fit fit = {.available = UINT64_MAX};

		print_number(need->bytes, true, wanted);
		text_addf(all, sizeof(all), "%s%s %s", i > 0 ? " and " : "", wanted, need->name);
		if (work_add(&j->ws->work, judgement_fit_steps(k->memory.nodes)))
			fit = memory_manager_fit(&k->memory, &j->ws->memory, need);
		if (fit.available >= need->bytes)
			continue;
		print_number(fit.available, true, free);
		err_set(&j->verdict->reason, 0, "%.60s: %s wanted, %s free", need->name, wanted, free);
		j->verdict->none_left = fit.available == 0;
		return;
	}
	err_set(&j->verdict->reason, 0, "no combination of NUMA nodes that may be used together has %s free",
		all);
}
