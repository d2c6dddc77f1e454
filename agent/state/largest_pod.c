/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/largest_pod.h"

#include "scoring/combinations.h"

/* The most CPUs that are free on any `n_nodes` NUMA nodes, or fewer. */
static size_t free_on(const struct inventory *inv, size_t cpu, unsigned n_nodes)
{
	qty_t most[COMBINATION_MAX_NODES] = {0}; /* the largest amounts, descending */
	qty_t sum = 0;

	if (n_nodes > COMBINATION_MAX_NODES)
		n_nodes = COMBINATION_MAX_NODES;
	for (size_t i = 0; i < inv->n_nodes; i++) {
		const struct inventory_amount *amount = inventory_amount(inv, i, cpu);
		qty_t rest = amount->present ? amount->available : 0;

		for (unsigned at = 0; at < n_nodes && rest > 0; at++) {
			qty_t before = most[at];

			if (rest > before) {
				most[at] = rest;
				rest = before;
			}
		}
	}
	for (unsigned at = 0; at < n_nodes; at++)
		sum = qty_add(sum, most[at]);
	return (size_t)(sum / QTY_UNIT);
}

size_t largest_pod_limit(const struct node_admission *admission)
{
	const struct resource_quantity *cpus = resource_list_find(&admission->free, "cpu");
	const struct resource_quantity *more = resource_list_find(&admission->unsure, "cpu");
	qty_t most = cpus->quantity.nano + more->quantity.nano;

	return most > 0 ? (size_t)(most / QTY_UNIT) : 0;
}

bool largest_pod(const struct node_admission *admission, const struct exclusive_cpus_admitted *admitted,
	unsigned n_nodes, size_t *ret)
{
	const struct inventory *inv = &admission->state->inventory;
	int cpu = inventory_resource(inv, "cpu");
	size_t limit = largest_pod_limit(admission), most;

	if (cpu < 0 || admitted->unknown.text[0] || admitted->step == 0)
		return false;
	most = free_on(inv, (size_t)cpu, n_nodes);
	*ret = exclusive_cpus_largest(admitted, most < limit ? most : limit);
	return true;
}

void largest_pod_stranded(
	const struct node_admission *admission, const struct exclusive_cpus_admitted *admitted, size_t *ret)
{
	const struct inventory *inv = &admission->state->inventory;
	int cpu = inventory_resource(inv, "cpu");
	size_t usable, free = 0, limit = largest_pod_limit(admission);

	exclusive_cpus_usable(&admission->kubelet, admission->ws, admitted, &usable);
	for (size_t i = 0; i < inv->n_nodes && cpu >= 0; i++) {
		const struct inventory_amount *amount = inventory_amount(inv, i, (size_t)cpu);

		if (amount->present && amount->available > 0)
			free += (size_t)(amount->available / QTY_UNIT);
	}
	usable = usable < limit ? usable : limit;
	*ret = free > usable ? free - usable : 0;
}
