/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why the Topology Manager did not admit: one sentence with the numbers. It looks again at what was merged.
 */
#include "scoring/kubelet_workspace.h"

#include <string.h>

/* The resources are merged again one by one; the first with which nothing is admitted is to blame. */
struct blame {
	struct judgement *j;
	const char *policy;
	char agreed[96]; /* a resource that was still admitted, "" = none yet */
	uint64_t nodes;  /* where it would go, with the others so far */
	bool done;       /* the reason is written */
};

/* "11 CPUs", "4 vendor.com/nic", "16Gi memory" */
struct amount {
	uint64_t n;
	bool bytes;
	const char *name;
};

/* The number, in the form people write it in. */
static void print_number(uint64_t n, bool bytes, char text[QUANTITY_TEXT_MAX])
{
	struct err line = {""};

	if (bytes) {
		quantity_print(
			(struct quantity){.nano = (qty_t)n * QTY_UNIT, .format = QUANTITY_BINARY_SI}, text);
		return;
	}
	err_set(&line, 0, "%llu", (unsigned long long)n);
	memcpy(text, line.text, QUANTITY_TEXT_MAX - 1);
	text[QUANTITY_TEXT_MAX - 1] = '\0';
}

static void print_amount(struct amount a, char text[128])
{
	char number[QUANTITY_TEXT_MAX];
	struct err line = {""};

	print_number(a.n, a.bytes, number);
	err_set(&line, 0, "%s %s", number, a.name);
	memcpy(text, line.text, 127);
	text[127] = '\0';
}

static void print_nodes(unsigned n, char text[32])
{
	struct err line = {""};

	if (n == 1)
		err_set(&line, 0, "one NUMA node");
	else
		err_set(&line, 0, "%u NUMA nodes", n);
	memcpy(text, line.text, 31);
	text[31] = '\0';
}

/* Is there a hint of this resource that could be admitted alone? The narrowest in *ret_nodes. */
static bool find_preferred(const struct blame *b, uint64_t *ret_nodes)
{
	const struct topology_hints *hints = &b->j->ws->hints;
	bool single = b->j->k->rules.policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, found = false;

	for (size_t i = 0; i < hints->n_items; i++) {
		if (single ? !topology_single_node_hint(hints->items[i]) : !hints->items[i].preferred)
			continue;
		if (!found || node_mask_narrower(hints->items[i].nodes, *ret_nodes))
			*ret_nodes = hints->items[i].nodes;
		found = true;
	}
	return found;
}

/* No hint of this resource can be admitted: say why. */
static void explain_alone(const struct blame *b, struct amount a, struct resource_fit fit)
{
	struct err *reason = &b->j->verdict->reason;
	bool single = b->j->k->rules.policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	char wanted[128], nodes[32], free[QUANTITY_TEXT_MAX], capacity[QUANTITY_TEXT_MAX];

	print_amount(a, wanted);
	print_nodes(fit.min_nodes, nodes);
	print_number(fit.available < a.n ? fit.available : fit.free, a.bytes, free);
	print_number(fit.capacity, a.bytes, capacity);
	if (fit.available < a.n)
		err_set(reason, 0, "%s: %s wanted, %s available", b->policy, wanted, free);
	else if (single && fit.min_nodes != 1)
		err_set(reason, 0, "%s: %s need %s by size", b->policy, wanted,
			fit.min_nodes ? nodes : "more than all NUMA nodes");
	else if (fit.free < a.n)
		err_set(reason, 0, "%s: %s fit %s by size (%s), but the freest %s %s", b->policy, wanted,
			nodes, capacity, fit.min_nodes == 1 ? "has" : "have", free);
	else
		err_set(reason, 0,
			"%s: %s fit %s, but not together with the other memory asked for, or with how those are used",
			b->policy, wanted, nodes);
}

/* Count the steps of what comes next. False: they are too many, and the reason is one without numbers. */
static bool afford(struct blame *b, uint64_t steps)
{
	if (b->done || work_add(&b->j->ws->work, steps))
		return !b->done;
	err_set(&b->j->verdict->reason, 0, "%s: no NUMA nodes suit all that is asked for", b->policy);
	b->done = true;
	return false;
}

/* Merge the resource whose hints are in the workspace. */
static void blame_resource(struct blame *b, struct amount wanted, struct resource_fit fit)
{
	char text[128], list[NODE_MASK_TEXT_MAX], agreed[NODE_MASK_TEXT_MAX];
	struct kubelet_workspace *ws = b->j->ws;
	struct topology_hint best;
	uint64_t preferred = 0;
	bool admit;

	if (!afford(b, kubelet_blame_steps(b->j)))
		return;
	topology_merge_add(&ws->merge, &ws->hints);
	best = topology_merge_finish(&ws->merge, &admit);
	print_amount(wanted, text);
	if (admit) {
		if (!b->agreed[0] && !ws->hints.no_preference)
			memcpy(b->agreed, text, sizeof(b->agreed) - 1);
		b->nodes = best.nodes;
		return;
	}
	b->done = true;
	if (!find_preferred(b, &preferred)) {
		explain_alone(b, wanted, fit);
		return;
	}
	node_mask_print(preferred, list);
	node_mask_print(b->nodes, agreed);
	err_set(&b->j->verdict->reason, 0, "%s: no NUMA nodes suit all: %s would go to {%s}, %s to {%s}",
		b->policy, b->agreed, agreed, text, list);
}

/* The hints are the same for each type of memory; one that has no room by itself is blamed before the others.
 */
static void blame_memory(struct blame *b)
{
	const struct kubelet *k = b->j->k;
	struct kubelet_workspace *ws = b->j->ws;

	if (!afford(b, kubelet_memory_hint_steps(b->j)))
		return;
	memory_manager_hints(&k->memory, &ws->memory, &ws->needs, &ws->hints);
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < ws->needs.n_items && !b->done; i++) {
			const struct memory_need *need = &ws->needs.items[i];
			struct resource_fit fit;

			if (!afford(b, kubelet_fit_steps(k->memory.nodes)))
				return;
			fit = memory_manager_fit(&k->memory, &ws->memory, need);
			if ((fit.min_nodes == 0 || fit.free < need->bytes) != (pass == 0))
				continue;
			blame_resource(b, (struct amount){need->bytes, true, need->name}, fit);
		}
}

static void blame_cpus(struct blame *b, size_t n)
{
	const struct kubelet *k = b->j->k;
	struct kubelet_workspace *ws = b->j->ws;
	const struct amount wanted = {n, false, n == 1 ? "CPU" : "CPUs"};
	struct resource_fit fit;
	int some;

	if (!afford(b, kubelet_cpu_hint_steps(b->j) + kubelet_fit_steps(k->reach)))
		return;
	cpu_manager_available(&k->cpu, ws->shared, ws->available);
	some = cpu_manager_preferred_hints(&k->cpu, ws->available, ws->reusable, n, &ws->hints);
	if (some != 0)
		cpu_manager_hints(&k->cpu, ws->available, ws->reusable, n, &ws->hints);
	for (size_t i = 0; i < k->topology.n_cpus; i++)
		ws->available[i] = ws->available[i] || ws->reusable[i];
	fit = cpu_manager_fit(&k->cpu, ws->available, n);
	if (some != 0) {
		blame_resource(b, wanted, fit);
		return;
	}
	b->done = true;
	explain_alone(b, wanted, fit);
}

void kubelet_explain_affinity(struct judgement *j, const struct demand *demand)
{
	const struct kubelet *k = j->k;
	struct kubelet_workspace *ws = j->ws;
	struct blame b = {.j = j, .policy = topology_manager_policy_names[k->rules.policy]};

	topology_merge_start(&ws->merge, &k->rules);
	if (demand->cpus > 0)
		blame_cpus(&b, demand->cpus);
	for (size_t i = 0; i < ws->n_demands; i++) {
		size_t r = ws->demands[i].resource, n = ws->demands[i].n;
		const struct amount wanted = {n, false, k->devices.inventory->resources[r].name};

		/* Its hints, and how it fits. */
		if (!afford(&b, 2 * kubelet_device_hint_steps(j, &ws->demands[i])))
			return;
		device_manager_hints(&k->devices, &ws->devices, r, n, &ws->hints);
		blame_resource(&b, wanted, device_manager_fit(&k->devices, &ws->devices, r, n));
	}
	if (demand->memory)
		blame_memory(&b);
}
