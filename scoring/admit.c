/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/admit.h"

#include <string.h>

#include "common/cleanup.h"
#include "common/resource.h"
#include "scoring/request.h"

/* The order in which the kubelet checks resources: cpu, memory, all others. */
static int resource_order(const char *resource)
{
	if (!strcmp(resource, "cpu"))
		return 0;
	return !strcmp(resource, "memory") ? 1 : 2;
}

enum bound { LOWER, UPPER };

/* The bound of the free amount; 0 if the node has none. */
static qty_t free_amount(
	const struct admit_handlers *handlers, const struct resource_quantity *free, enum bound bound)
{
	const struct resource_quantity *unsure = NULL;

	if (!free)
		return 0;
	if (bound == UPPER && handlers->unsure)
		unsure = resource_list_find(handlers->unsure, free->name);
	return qty_add(free->quantity.nano, unsure ? unsure->quantity.nano : 0);
}

/* The pod's own string with this resource name. */
static const char *name_in_pod(const struct pod_request *pod, const char *name)
{
	const struct resource_quantity *q = resource_list_find(&pod->overhead, name);

	if (!q)
		q = resource_list_find(&pod->pod_requests, name);
	for (size_t i = 0; i < pod->n_containers && !q; i++)
		q = resource_list_find(&pod->containers[i].requests, name);
	return q ? q->name : NULL;
}

/* A resource that the node has too little of. */
struct shortage {
	const char *resource; /* the pod's string; NULL = the node has enough of each */
	qty_t wanted;
	qty_t free; /* the bound of the free amount */
};

/* Of the resources of which more is wanted than this bound of the free amount, the one that the kubelet checks first. */
static struct shortage find_shortage(const struct admit_handlers *handlers, const struct pod_request *pod,
	const struct resource_list *wanted, enum bound bound)
{
	struct shortage found = {0};

	for (size_t i = 0; i < wanted->n_items; i++) {
		const struct resource_quantity *item = &wanted->items[i];
		const struct resource_quantity *free = resource_list_find(handlers->free, item->name);
		qty_t amount = item->quantity.nano, available = free_amount(handlers, free, bound);

		/* Not listed: unknown and not checked; or a size of hugepages that the node does not have. */
		if (!free && !resource_name_is_hugepages(item->name))
			continue;
		if (amount == 0 || amount <= available)
			continue;
		if (found.resource && resource_order(found.resource) <= resource_order(item->name))
			continue;
		found = (struct shortage){item->name, amount, available};
	}
	if (found.resource)
		found.resource = name_in_pod(pod, found.resource);
	return found;
}

void admit_judge(const struct admit_handlers *handlers, const struct pod_request *pod, enum qos_class qos,
	struct kubelet_verdict *ret)
{
	CLEANUP(resource_list_release) struct resource_list wanted = {0};
	struct shortage certain, possible;

	kubelet_judge(handlers->kubelet, handlers->ws, pod, qos, ret);
	kubelet_limit_time(ret, handlers->max_kubelet_ns);
	ret->managers_answer = ret->answer;
	/* A pod that exceeds the work limit of the verdict is too large to sum up. */
	if (!ret->beyond_limit)
		request_of_node(pod, &wanted);
	/* More than the upper bound is certainly not free; more than the lower bound is perhaps not. */
	certain = find_shortage(handlers, pod, &wanted, UPPER);
	possible = find_shortage(handlers, pod, &wanted, LOWER);
	if (certain.resource) {
		ret->answer = KUBELET_REJECTS;
		ret->short_of = certain.resource;
		ret->other_may_be_short = possible.resource != certain.resource;
		ret->wanted = certain.wanted;
		ret->free = certain.free;
		if (ret->managers_answer != KUBELET_REJECTS) /* else none_left belongs to their rejection */
			ret->none_left = certain.free <= 0;
	} else if (possible.resource && ret->answer == KUBELET_ADMITS) {
		ret->answer = KUBELET_UNKNOWN;
		ret->unsure_of = possible.resource;
		ret->wanted = possible.wanted;
		ret->free = possible.free;
	}
}

size_t admit_limit(
	const struct admit_handlers *handlers, const struct pod_request *pod, size_t max, unsigned nodes)
{
	unsigned n = node_mask_count(handlers->kubelet->reach | handlers->kubelet->memory.nodes);

	if (n > nodes)
		max >>= n - nodes;
	for (size_t c = pod->n_containers; c > ADMIT_CONTAINERS; c /= 2)
		max /= 2;
	return max > 0 ? max : 1;
}

/* The number of copies that the amounts allow, at most `max`. Callers ask only for a pod that fits once, so no such amount is negative. */
static size_t copies_by_amounts(
	const struct admit_handlers *handlers, const struct resource_list *wanted, size_t max)
{
	qty_t copies = (qty_t)max;

	for (size_t i = 0; i < wanted->n_items; i++) {
		const struct resource_quantity *free =
			resource_list_find(handlers->free, wanted->items[i].name);

		if (free && wanted->items[i].quantity.nano > 0 &&
			free->quantity.nano / wanted->items[i].quantity.nano < copies)
			copies = free->quantity.nano / wanted->items[i].quantity.nano;
	}
	return (size_t)copies;
}

void admit_copies(const struct admit_handlers *handlers, const struct pod_request *pod, enum qos_class qos,
	struct admit_copies *ret)
{
	CLEANUP(resource_list_release) struct resource_list wanted = {0};
	struct admit_copies copies = {0};
	struct kubelet_verdict verdict = {.answer = KUBELET_ADMITS};
	size_t limit = admit_limit(handlers, pod, ADMIT_COPIES_MAX, ADMIT_COPIES_NODES), max_copies;
	uint64_t steps = 0;

	request_of_node(pod, &wanted);
	max_copies = copies_by_amounts(handlers, &wanted, limit);
	for (size_t i = 0; i < max_copies && verdict.answer == KUBELET_ADMITS; i++) {
		if (i == 0)
			kubelet_judge(handlers->kubelet, handlers->ws, pod, qos, &verdict);
		else
			kubelet_judge_next(handlers->kubelet, handlers->ws, pod, qos, &verdict);
		kubelet_limit_time(&verdict, handlers->max_kubelet_ns);
		copies.n += verdict.answer == KUBELET_ADMITS;
		steps += handlers->ws->work.steps;
		if (steps > ADMIT_WORK_MAX)
			break; /* GCOVR_EXCL_LINE: takes seconds */
	}
	copies.at_least = copies.n == limit || steps > ADMIT_WORK_MAX || verdict.answer == KUBELET_UNKNOWN;
	*ret = copies;
}
