/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/filter.h"

#include <string.h>

#include "common/resource_name.h"
#include "common/text.h"

/* The node has the resource at all, in the scheduler's accounts. */
static bool node_has(const struct resource_list *node, const char *name)
{
	if (!node || !strcmp(name, "cpu") || !strcmp(name, "memory") || !strcmp(name, "pods") ||
		!strcmp(name, "ephemeral-storage"))
		return true;
	return resource_name_is_scalar(name) && resource_list_find(node, name);
}

/* Positions as bits of the first position with the same NUMA node id. */
static uint64_t ids_of(const struct fit_space *s, uint64_t positions)
{
	uint64_t ids = 0;

	for (; positions; positions &= positions - 1)
		ids |= s->same_id[__builtin_ctzll(positions)];
	return ids;
}

/* One position suits one resource of the request. */
static bool position_suits(const struct fit_space *s, enum qos_class qos,
	const struct resource_quantity *wanted, int resource, unsigned position)
{
	if (resource < 0 || !(s->present[resource] & UINT64_C(1) << position))
		return false;
	return !fit_counts(qos, wanted->name) ||
	       *fit_available(s, (size_t)resource, position) >= wanted->quantity.nano;
}

/* The NUMA nodes that suit one resource of the request; false when it does not depend on NUMA nodes. */
static bool suitable(const struct fit_space *s, enum qos_class qos, const struct resource_quantity *wanted,
	const struct resource_list *node, uint64_t *ret_ids)
{
	int r = inventory_resource(s->inventory, wanted->name);
	uint64_t set = 0;

	if (wanted->quantity.nano == 0)
		return false;
	if (node_has(node, wanted->name)) {
		if ((r < 0 || !s->present[r]) && resource_name_is_host_level(wanted->name))
			return false;
		for (unsigned position = 0; position < s->n_nodes; position++)
			if (position_suits(s, qos, wanted, r, position))
				set |= UINT64_C(1) << position;
	}
	*ret_ids = ids_of(s, set);
	return true;
}

/*
 * The NUMA node the kubelet would choose: the lowest id that suits every resource, false when there is none.
 * A request that depends on no NUMA node fits even where the inventory has none; *ret_id is 0 then.
 */
static bool find_node(const struct fit_space *s, enum qos_class qos, const struct resource_list *request,
	const struct resource_list *node, unsigned *ret_id)
{
	uint64_t ids = UINT64_MAX, suits;
	bool bound = false;
	unsigned at = 0;

	for (size_t i = 0; i < request->n_items; i++) {
		if (!suitable(s, qos, &request->items[i], node, &suits))
			continue;
		ids &= suits;
		bound = true;
	}
	*ret_id = 0;
	if (!bound)
		return true;
	while (at < s->n_nodes && !(ids & UINT64_C(1) << s->by_id[at]))
		at++;
	if (at < s->n_nodes)
		*ret_id = s->inventory->nodes[s->by_id[at]].id;
	return at < s->n_nodes;
}

/* An amount that is left, in the form people write that resource in. */
static void print_amount(const char *name, qty_t amount, char text[QUANTITY_TEXT_MAX])
{
	bool bytes = !strcmp(name, "memory") || resource_name_is_hugepages(name);

	quantity_print(
		(struct quantity){.nano = amount, .format = bytes ? QUANTITY_BINARY_SI : QUANTITY_DECIMAL_SI},
		text);
}

/* "; node 3 has cpu 2" or "; node 3 has no cpu": the first resource for which the position does not suit. */
static void append_obstacle(const struct fit_space *s, enum qos_class qos,
	const struct resource_list *request, unsigned position, char text[FILTER_DETAIL_MAX])
{
	unsigned id = s->inventory->nodes[position].id;

	for (size_t i = 0; i < request->n_items; i++) {
		const struct resource_quantity *wanted = &request->items[i];
		int r = inventory_resource(s->inventory, wanted->name);
		bool somewhere = r >= 0 && s->present[r];
		char amount[QUANTITY_TEXT_MAX];

		if (wanted->quantity.nano == 0 || position_suits(s, qos, wanted, r, position))
			continue;
		if (!somewhere && resource_name_is_host_level(wanted->name))
			continue;
		if (!somewhere || !(s->present[r] & UINT64_C(1) << position)) {
			text_addf(text, FILTER_DETAIL_MAX, "; node %u has no %s", id, wanted->name);
			return;
		}
		print_amount(wanted->name, *fit_available(s, (size_t)r, position), amount);
		text_addf(text, FILTER_DETAIL_MAX, "; node %u has %s %s", id, wanted->name, amount);
		return;
	}
}

/* The rest of the sentence for a person: what is wanted, and for each NUMA node what excludes it. */
static void explain(const struct fit_space *s, enum qos_class qos, const struct resource_list *request,
	const struct resource_list *node, char text[FILTER_DETAIL_MAX])
{
	bool absent = false;

	text_addf(text, FILTER_DETAIL_MAX, " needs");
	for (size_t i = 0; i < request->n_items; i++) {
		char amount[QUANTITY_TEXT_MAX];

		quantity_print(request->items[i].quantity, amount);
		text_addf(text, FILTER_DETAIL_MAX, "%s %s %s", i > 0 ? "," : "", request->items[i].name,
			amount);
	}
	text_addf(text, FILTER_DETAIL_MAX, " on one NUMA node");
	for (size_t i = 0; i < request->n_items; i++) {
		if (request->items[i].quantity.nano == 0 || node_has(node, request->items[i].name))
			continue;
		text_addf(text, FILTER_DETAIL_MAX, "; the machine has no %s", request->items[i].name);
		absent = true;
	}
	for (unsigned at = 0; at < s->n_nodes && !absent; at++)
		append_obstacle(s, qos, request, s->by_id[at], text);
}

bool filter_subtract(struct fit_space *s, enum qos_class qos, const struct resource_list *request,
	unsigned id, char ret_reason[FILTER_REASON_MAX])
{
	for (unsigned position = 0; position < s->n_nodes; position++) {
		for (size_t i = 0; i < request->n_items && s->inventory->nodes[position].id == id; i++) {
			const struct resource_quantity *wanted = &request->items[i];
			int r = inventory_resource(s->inventory, wanted->name);
			char want[QUANTITY_TEXT_MAX], have[QUANTITY_TEXT_MAX];
			qty_t *left;

			if (r < 0 || !(s->present[r] & UINT64_C(1) << position) ||
				wanted->quantity.nano == 0 || !fit_counts(qos, wanted->name))
				continue;
			left = fit_available(s, (size_t)r, position);
			if (*left >= wanted->quantity.nano) {
				*left -= wanted->quantity.nano;
				continue;
			}
			quantity_print(wanted->quantity, want);
			print_amount(wanted->name, *left, have);
			ret_reason[0] = '\0';
			text_addf(ret_reason, FILTER_REASON_MAX,
				"resource \"%.40s\" request %s exceeds NUMA %u availability %s", wanted->name,
				want, id, have);
			return false;
		}
	}
	return true;
}

static struct filter_result reject(enum filter_verdict verdict, const char *reason)
{
	struct filter_result result = {.verdict = verdict};

	text_addf(result.reason, sizeof(result.reason), "%s", reason);
	return result;
}

/* Containers one after the other; init containers and sidecars leave nothing subtracted. */
static struct filter_result filter_containers(
	struct fit_space *s, const struct request_plan *plan, const struct resource_list *node)
{
	static const char *const reasons[CONTAINER_KIND_COUNT] = {
		"cannot align init container", "cannot align sidecar container", "cannot align container"};

	for (size_t i = 0; i < plan->pod->n_containers; i++) {
		const struct container_request *c = &plan->pod->containers[i];
		char inner[FILTER_REASON_MAX];
		struct filter_result result;
		unsigned id;

		if (!find_node(s, plan->qos, &c->requests, node, &id)) {
			result = reject(FILTER_UNSCHEDULABLE, reasons[c->kind]);
			text_addf(result.detail, FILTER_DETAIL_MAX, "container '%.60s'", c->name);
			explain(s, plan->qos, &c->requests, node, result.detail);
			return result;
		}
		if (c->kind != CONTAINER_APP || filter_subtract(s, plan->qos, &c->requests, id, inner))
			continue;
		result = reject(FILTER_ERROR, "inconsistent resource accounting, ");
		text_addf(result.reason, FILTER_REASON_MAX, "%s", inner);
		text_addf(result.detail, FILTER_DETAIL_MAX, "NUMA node %u is listed twice: %s", id, inner);
		return result;
	}
	return (struct filter_result){.verdict = FILTER_PASS};
}

struct filter_result filter_pod(struct fit_space *s, const struct request_plan *plan,
	const struct topology_manager_config *topology, const struct resource_list *node)
{
	struct filter_result result = {.verdict = FILTER_PASS};
	unsigned id;

	fit_space_reset(s);
	if (plan->qos == QOS_BEST_EFFORT && !plan->has_non_native)
		return result;
	if (topology->policy != TOPOLOGY_MANAGER_SINGLE_NUMA_NODE)
		return result;
	if (topology->scope != TOPOLOGY_SCOPE_POD)
		return filter_containers(s, plan, node);
	if (find_node(s, plan->qos, &plan->effective, node, &id))
		return result;
	result = reject(FILTER_UNSCHEDULABLE, "cannot align pod");
	text_addf(result.detail, FILTER_DETAIL_MAX, "the pod");
	explain(s, plan->qos, &plan->effective, node, result.detail);
	return result;
}
