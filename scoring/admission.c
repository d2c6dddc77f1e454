/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/admission.h"

#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/resource_name.h"
#include "scoring/request.h"

/* The kubelet looks at cpu first, then at memory, then at the rest. */
static int rank(const char *resource)
{
	return !strcmp(resource, "cpu") ? 0 : !strcmp(resource, "memory") ? 1 : 2;
}

/* What is free at least, or at most; nothing where the node has none of it. */
static qty_t free_of(const struct admission_node *node, const struct resource_quantity *free, bool most)
{
	const struct resource_quantity *unsure =
		free && most && node->unsure ? resource_list_find(node->unsure, free->name) : NULL;

	if (!free)
		return 0;
	return qty_add(free->quantity.nano, unsure ? unsure->quantity.nano : 0);
}

/* Where the pod itself has a name that is in its request of the node. */
static const char *name_in_pod(const struct pod_request *pod, const char *name)
{
	const struct resource_quantity *q = resource_list_find(&pod->overhead, name);

	if (!q)
		q = resource_list_find(&pod->pod_requests, name);
	for (size_t i = 0; i < pod->n_containers && !q; i++)
		q = resource_list_find(&pod->containers[i].requests, name);
	return q ? q->name : NULL;
}

/* The first resource that the node has too little of, with its amounts; NULL = it has enough of each. */
static const char *lacking(const struct admission_node *node, const struct pod_request *pod,
	const struct resource_list *wanted, bool most, struct admission *ret)
{
	const char *found = NULL;

	for (size_t i = 0; i < wanted->n_items; i++) {
		const struct resource_quantity *item = &wanted->items[i];
		const struct resource_quantity *free = resource_list_find(node->free, item->name);
		qty_t amount = item->quantity.nano;

		if ((!free && !resource_name_is_hugepages(item->name)) || amount == 0 ||
			amount <= free_of(node, free, most) || (found && rank(found) <= rank(item->name)))
			continue;
		found = item->name;
		ret->wanted = amount;
		ret->free = free ? free->quantity.nano : 0;
	}
	return found ? name_in_pod(pod, found) : NULL;
}

void admission_judge(const struct admission_node *node, const struct pod_request *pod, enum qos_class qos,
	struct admission *ret)
{
	CLEANUP(resource_list_release) struct resource_list wanted = {0};
	struct admission a = {0};

	kubelet_judge(node->kubelet, node->ws, pod, qos, &a.managers);
	/* What is too much to be judged is too much to be added up. */
	if (!a.managers.beyond_limit)
		request_of_node(pod, &wanted);
	a.answer = a.managers.answer;
	a.short_of = lacking(node, pod, &wanted, true, &a);
	if (a.short_of)
		a.answer = KUBELET_REJECTS;
	else if (a.answer == KUBELET_ADMITS)
		a.unsure_of = lacking(node, pod, &wanted, false, &a);
	if (a.unsure_of)
		a.answer = KUBELET_UNKNOWN;
	*ret = a;
}

size_t admission_limit(
	const struct admission_node *node, const struct pod_request *pod, size_t most, unsigned nodes)
{
	unsigned n = node_mask_count(node->kubelet->reach | node->kubelet->memory.nodes);

	if (n > nodes)
		most >>= n - nodes;
	for (size_t c = pod->n_containers; c > ADMISSION_CONTAINERS; c /= 2)
		most /= 2;
	return most > 0 ? most : 1;
}

/* Copies that the amounts allow, counted up to `most`. */
static size_t copies_by_amounts(
	const struct admission_node *node, const struct resource_list *wanted, size_t most)
{
	qty_t copies = (qty_t)most;

	for (size_t i = 0; i < wanted->n_items; i++) {
		const struct resource_quantity *free = resource_list_find(node->free, wanted->items[i].name);

		if (free && wanted->items[i].quantity.nano > 0 &&
			free->quantity.nano / wanted->items[i].quantity.nano < copies)
			copies = free->quantity.nano / wanted->items[i].quantity.nano;
	}
	return (size_t)copies;
}

void admission_copies(const struct admission_node *node, const struct pod_request *pod, enum qos_class qos,
	struct admission_copies *ret)
{
	CLEANUP(resource_list_release) struct resource_list wanted = {0};
	struct admission_copies copies = {0};
	struct kubelet_verdict verdict = {.answer = KUBELET_ADMITS};
	size_t limit = admission_limit(node, pod, ADMISSION_COPIES_MAX, ADMISSION_COPIES_NODES), most;
	uint64_t steps = 0;

	request_of_node(pod, &wanted);
	most = copies_by_amounts(node, &wanted, limit);
	for (size_t i = 0; i < most && verdict.answer == KUBELET_ADMITS; i++) {
		if (i == 0)
			kubelet_judge(node->kubelet, node->ws, pod, qos, &verdict);
		else
			kubelet_judge_next(node->kubelet, node->ws, pod, qos, &verdict);
		copies.n += verdict.answer == KUBELET_ADMITS;
		steps += kubelet_workspace_steps(node->ws);
		if (steps > ADMISSION_WORK_MAX)
			most = i + 1; /* GCOVR_EXCL_LINE: takes seconds */
	}
	copies.at_least =
		copies.n == limit || steps > ADMISSION_WORK_MAX || verdict.answer == KUBELET_UNKNOWN;
	*ret = copies;
}
