/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/admission.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/resource.h"
#include "common/vec.h"
#include "scoring/request.h"

/* The order in which the kubelet checks resources: cpu, memory, the rest. */
static int resource_order(const char *resource)
{
	return !strcmp(resource, "cpu") ? 0 : !strcmp(resource, "memory") ? 1 : 2;
}

/* The free amount: the lower bound, or the upper bound (`upper`); 0 if the node has none. */
static qty_t free_amount(const struct admission_node *node, const struct resource_quantity *free, bool upper)
{
	const struct resource_quantity *unsure =
		free && upper && node->unsure ? resource_list_find(node->unsure, free->name) : NULL;

	if (!free)
		return 0;
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

/*
 * The first resource (the pod's string) that the node has too little of, with its amounts in *ret; NULL =
 * enough of each. `upper`: compare with the upper bounds of the free amounts.
 */
static const char *find_short_resource(const struct admission_node *node, const struct pod_request *pod,
	const struct resource_list *wanted, bool upper, struct admission *ret)
{
	const char *found = NULL;

	for (size_t i = 0; i < wanted->n_items; i++) {
		const struct resource_quantity *item = &wanted->items[i];
		const struct resource_quantity *free = resource_list_find(node->free, item->name);
		qty_t amount = item->quantity.nano;

		if ((!free && !resource_name_is_hugepages(item->name)) || amount == 0 ||
			amount <= free_amount(node, free, upper) ||
			(found && resource_order(found) <= resource_order(item->name)))
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
	kubelet_limit_time(&a.managers, node->max_kubelet_ns);
	/* A pod that exceeds the work limit of the verdict is too large to sum up. */
	if (!a.managers.beyond_limit)
		request_of_node(pod, &wanted);
	a.answer = a.managers.answer;
	a.short_of = find_short_resource(node, pod, &wanted, true, &a);
	if (a.short_of) {
		struct admission lower;

		a.answer = KUBELET_REJECTS;
		a.other_may_be_short = find_short_resource(node, pod, &wanted, false, &lower) != a.short_of;
	} else if (a.answer == KUBELET_ADMITS)
		a.unsure_of = find_short_resource(node, pod, &wanted, false, &a);
	if (a.unsure_of)
		a.answer = KUBELET_UNKNOWN;
	*ret = a;
}

size_t admission_limit(
	const struct admission_node *node, const struct pod_request *pod, size_t max, unsigned nodes)
{
	unsigned n = node_mask_count(node->kubelet->reach | node->kubelet->memory.nodes);

	if (n > nodes)
		max >>= n - nodes;
	for (size_t c = pod->n_containers; c > ADMISSION_CONTAINERS; c /= 2)
		max /= 2;
	return max > 0 ? max : 1;
}

/* The number of copies that the amounts allow, at most `max`. */
static size_t copies_by_amounts(
	const struct admission_node *node, const struct resource_list *wanted, size_t max)
{
	qty_t copies = (qty_t)max;

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
	size_t limit = admission_limit(node, pod, ADMISSION_COPIES_MAX, ADMISSION_COPIES_NODES), max_copies;
	uint64_t steps = 0;

	request_of_node(pod, &wanted);
	max_copies = copies_by_amounts(node, &wanted, limit);
	for (size_t i = 0; i < max_copies && verdict.answer == KUBELET_ADMITS; i++) {
		if (i == 0)
			kubelet_judge(node->kubelet, node->ws, pod, qos, &verdict);
		else
			kubelet_judge_next(node->kubelet, node->ws, pod, qos, &verdict);
		kubelet_limit_time(&verdict, node->max_kubelet_ns);
		copies.n += verdict.answer == KUBELET_ADMITS;
		steps += node->ws->work.steps;
		if (steps > ADMISSION_WORK_MAX)
			max_copies = i + 1; /* GCOVR_EXCL_LINE: takes seconds */
	}
	copies.at_least =
		copies.n == limit || steps > ADMISSION_WORK_MAX || verdict.answer == KUBELET_UNKNOWN;
	*ret = copies;
}

/* ---- the nearest request that the kubelet would admit */

#define AMOUNTS_MAX ((size_t)1 << 18) /* distinct amounts to try */
#define LIMITS_MAX  ((size_t)1 << 16) /* sets of NUMA nodes: all of 16 */
#define OTHERS_MAX  8                 /* containers whose amounts are combined, in any choice */

/* Distinct amounts, descending. */
struct amounts {
	qty_t *items;
	size_t n_items;
	size_t items_size;
};

static void candidate_amounts_release(struct amounts *a)
{
	free(a->items);
	*a = (struct amounts){0};
}

struct search {
	const struct admission_node *node;
	struct pod_request *pod;
	enum qos_class qos;
	size_t judged, limit;
	uint64_t steps;
	struct admission_nearest best;
};

static int descending(const void *a, const void *b)
{
	const qty_t *x = a, *y = b;

	return (*x < *y) - (*x > *y);
}

static void sort_distinct(struct amounts *a)
{
	size_t kept = 0;

	if (a->n_items > 1)
		qsort(a->items, a->n_items, sizeof(*a->items), descending);
	for (size_t i = 0; i < a->n_items; i++)
		if (kept == 0 || a->items[kept - 1] != a->items[i])
			a->items[kept++] = a->items[i];
	a->n_items = kept;
}

static void add_candidate_amount(struct amounts *a, qty_t amount)
{
	qty_t *item = vec_push(&a->items, &a->n_items, &a->items_size, sizeof(*item));

	*item = amount;
}

/* Add what the first LIMITS_MAX sets of NUMA nodes hold and have free of one type of memory, and the whole node's free amount. */
static void add_memory_limits(struct search *s, const char *name, struct amounts *ret)
{
	const struct memory_manager *mm = &s->node->kubelet->memory;
	const struct resource_quantity *free = resource_list_find(s->node->free, name);
	const struct resource_quantity *overhead = resource_list_find(&s->pod->overhead, name);
	struct node_mask_walk walk;
	size_t type = 0;
	uint64_t mask;

	if (free)
		add_candidate_amount(ret, free->quantity.nano - (overhead ? overhead->quantity.nano : 0));
	while (type < mm->n_types && strcmp(mm->types[type], name) != 0)
		type++;
	if (type == mm->n_types)
		return;
	node_mask_walk_start(&walk, mm->nodes);
	for (size_t n = 0; node_mask_walk_next(&walk, &mask); n++) {
		struct memory_amount sum = memory_manager_sum(mm, &mm->now, type, mask);

		if (n == LIMITS_MAX) {
			s->best.complete = false;
			break;
		}
		add_candidate_amount(ret, (qty_t)sum.allocatable * QTY_UNIT);
		add_candidate_amount(ret, (qty_t)sum.free * QTY_UNIT);
	}
	sort_distinct(ret);
}

/* Add every sum of the amounts of some other containers; only the first OTHERS_MAX are combined. */
static void add_sums_of_others(struct search *s, size_t container, const char *name, struct amounts *ret)
{
	size_t n_others = 0;

	add_candidate_amount(ret, 0);
	for (size_t i = 0; i < s->pod->n_containers; i++) {
		const struct resource_quantity *q = resource_list_find(&s->pod->containers[i].requests, name);
		size_t n = ret->n_items;

		if (i == container || !q || q->quantity.nano == 0)
			continue;
		if (++n_others > OTHERS_MAX) {
			s->best.complete = false;
			break;
		}
		for (size_t k = 0; k < n; k++)
			add_candidate_amount(ret, qty_add(ret->items[k], q->quantity.nano));
	}
	sort_distinct(ret);
}

/* The granularity of a resource: pages, bytes, milli-CPUs. */
static qty_t resource_step(const char *name)
{
	struct quantity page;

	if (resource_name_is_hugepages(name) &&
		quantity_parse(name + strlen("hugepages-"), &page, NULL) == 0 && page.nano > 0)
		return page.nano;
	return !strcmp(name, "cpu") ? QTY_UNIT / 1000 : QTY_UNIT;
}

/* Whether the list is full: sorting it again would free less than half. */
static bool is_full(struct amounts *a)
{
	if (a->n_items < AMOUNTS_MAX)
		return false;
	/*
	 * GCOVR_EXCL_START: needs 16 unequal NUMA nodes and nine containers; the search after it takes many
	 * seconds
	 */
	sort_distinct(a);
	return a->n_items > AMOUNTS_MAX / 2;
	/* GCOVR_EXCL_STOP */
}

/* Add every amount below `from` at which a decision can change. */
static void add_memory_amounts(
	struct search *s, size_t container, const char *name, qty_t from, struct amounts *ret)
{
	CLEANUP(candidate_amounts_release) struct amounts limits = {0}, others = {0};
	qty_t step = resource_step(name);
	bool full = false;

	add_memory_limits(s, name, &limits);
	add_sums_of_others(s, container, name, &others);
	for (size_t i = 0; i < limits.n_items && !full; i++)
		for (size_t k = 0; k < others.n_items && !full; k++) {
			qty_t amount = limits.items[i] - others.items[k];

			amount -= amount % step;
			if (amount <= 0 || amount >= from)
				continue;
			full = is_full(ret);
			add_candidate_amount(ret, amount);
		}
	if (full)
		s->best.complete = false; /* GCOVR_EXCL_LINE: see is_full() */
	sort_distinct(ret);
}

/* Add from - 1, ..., 1 units, without numbers that exceed what the node has. */
static void add_unit_amounts(const struct search *s, const char *name, qty_t from, struct amounts *ret)
{
	const struct kubelet *k = s->node->kubelet;
	const struct resource_quantity *free = resource_list_find(s->node->free, name);
	qty_t units = (from - 1) / QTY_UNIT,
	      max_units = (qty_t)k->topology.n_cpus + (qty_t)k->devices.n_devices;

	if (free && free->quantity.nano / QTY_UNIT > max_units)
		max_units = free->quantity.nano / QTY_UNIT;
	if (units > max_units)
		units = max_units;
	for (; units > 0; units--)
		add_candidate_amount(ret, units * QTY_UNIT);
}

/* Set the request, and the limit if it is equal. */
static void set_container_amount(struct container_request *c, const char *name, qty_t from, qty_t to)
{
	struct resource_list *lists[] = {&c->requests, &c->limits};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const struct resource_quantity *q = resource_list_find(lists[i], name);
		struct quantity new;

		if (!q || q->quantity.nano != from)
			continue;
		new = q->quantity;
		new.nano = to;
		resource_list_set(lists[i], name, new);
	}
}

/*
 * Whether lowering `from` to `to` is a smaller fraction than the best so far, each in the steps of its
 * resource.
 */
static bool is_nearer(const struct search *s, const char *name, qty_t from, qty_t to)
{
	qty_t step = resource_step(name);

	if (!s->best.found)
		return true;
	return (to / step) * (s->best.from / resource_step(s->best.resource)) >
	       (s->best.to / resource_step(s->best.resource)) * (from / step);
}

/* Judge the amounts from the largest down, as long as one could become the best. */
static void try_amounts(
	struct search *s, size_t container, const struct resource_quantity *q, const struct amounts *amounts)
{
	struct container_request *c = &s->pod->containers[container];
	qty_t from = q->quantity.nano, now = from;
	const char *name = q->name;

	for (size_t i = 0; i < amounts->n_items && is_nearer(s, name, from, amounts->items[i]); i++) {
		struct admission a;

		if (s->judged == s->limit || s->steps > ADMISSION_WORK_MAX) {
			s->best.complete = false;
			break;
		}
		s->judged++;
		set_container_amount(c, name, now, amounts->items[i]);
		now = amounts->items[i];
		admission_judge(s->node, s->pod, s->qos, &a);
		s->steps += s->node->ws->work.steps;
		if (a.answer == KUBELET_UNKNOWN)
			s->best.complete = false;
		if (a.answer != KUBELET_ADMITS)
			continue;
		s->best.found = true;
		s->best.container = container;
		s->best.resource = name;
		s->best.from = from;
		s->best.to = now;
		break;
	}
	set_container_amount(c, name, now, from);
}

static void try_resource(struct search *s, size_t container, const struct resource_quantity *q)
{
	const struct container_request *c = &s->pod->containers[container];
	CLEANUP(candidate_amounts_release) struct amounts amounts = {0};
	bool exclusive = !strcmp(q->name, "cpu") && kubelet_exclusive_cpus(c, s->qos) > 0;

	if (q->quantity.nano <= 0)
		return;
	if (exclusive || device_inventory_find(s->node->kubelet->devices.inventory, q->name))
		add_unit_amounts(s, q->name, q->quantity.nano, &amounts);
	else
		add_memory_amounts(s, container, q->name, q->quantity.nano, &amounts);
	try_amounts(s, container, q, &amounts);
}

void admission_nearest(const struct admission_node *node, struct pod_request *pod, enum qos_class qos,
	struct admission_nearest *ret)
{
	struct search s = {.node = node,
		.pod = pod,
		.qos = qos,
		.limit = admission_limit(node, pod, ADMISSION_NEAREST_MAX, ADMISSION_NEAREST_NODES),
		.best = {.complete = true}};

	for (size_t i = 0; i < pod->n_containers; i++)
		for (size_t k = 0; k < pod->containers[i].requests.n_items; k++)
			try_resource(&s, i, &pod->containers[i].requests.items[k]);
	*ret = s.best;
}
