/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/nearest_request.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/resource.h"
#include "common/vec.h"
#include "scoring/request.h"

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

/* In all functions container n_containers stands for the pod-level resources. */
struct search {
	const struct admit_handlers *handlers;
	struct pod_request *pod;
	enum qos_class qos;
	size_t judged, limit;
	uint64_t steps;
	struct nearest_request best;
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

/* Add the whole node's free amount, and of a type of memory what the first LIMITS_MAX sets of NUMA nodes hold and have free. */
static void add_limits(struct search *s, const char *name, struct amounts *ret)
{
	const struct memory_manager *mm = &s->handlers->kubelet->memory;
	const struct resource_quantity *free = resource_list_find(s->handlers->free, name);
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
	if (container == s->pod->n_containers) /* pod-level resources, to which no amount is added */
		return;
	for (size_t i = 0; i < s->pod->n_containers; i++) {
		const struct resource_quantity *q = resource_list_find(&s->pod->containers[i].requests, name);
		size_t n = ret->n_items; /* the sums without this amount */

		if (i == container || !q || q->quantity.nano == 0)
			continue;
		n_others++;
		if (n_others > OTHERS_MAX) {
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

/* Sorts a list that is full. True if that frees less than half. */
static bool compact_if_full(struct amounts *a)
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
static void add_threshold_amounts(
	struct search *s, size_t container, const char *name, qty_t from, struct amounts *ret)
{
	CLEANUP(candidate_amounts_release) struct amounts limits = {0}, others = {0};
	qty_t step = resource_step(name);
	bool full = false;

	/* The limits are for sums over containers: the container's part is a limit minus what some of the other containers request. */
	add_limits(s, name, &limits);
	add_sums_of_others(s, container, name, &others);
	for (size_t i = 0; i < limits.n_items && !full; i++)
		for (size_t k = 0; k < others.n_items && !full; k++) {
			qty_t amount = limits.items[i] - others.items[k];

			amount -= amount % step;
			if (amount <= 0 || amount >= from)
				continue;
			full = compact_if_full(ret);
			add_candidate_amount(ret, amount);
		}
	if (full)
		s->best.complete = false; /* GCOVR_EXCL_LINE: see compact_if_full() */
	sort_distinct(ret);
}

/* Add from - 1, ..., 1 units, without numbers that exceed what the node has. */
static void add_whole_amounts(const struct search *s, const char *name, qty_t from, struct amounts *ret)
{
	const struct kubelet *k = s->handlers->kubelet;
	const struct resource_quantity *free = resource_list_find(s->handlers->free, name);
	qty_t units = (from - 1) / QTY_UNIT,
	      max_units = (qty_t)k->topology.n_cpus + (qty_t)k->devices.n_devices;

	if (free && free->quantity.nano / QTY_UNIT > max_units)
		max_units = free->quantity.nano / QTY_UNIT;
	if (units > max_units)
		units = max_units;
	for (; units > 0; units--)
		add_candidate_amount(ret, units * QTY_UNIT);
}

/* A container's requests; the pod-level requests if `container` is the number of containers. */
static struct resource_list *requests_of(struct pod_request *pod, size_t container)
{
	return container < pod->n_containers ? &pod->containers[container].requests : &pod->pod_requests;
}

/* Set the request from `from` to `to`, and the limit if it is `from`, too. */
static void set_amount(struct pod_request *pod, size_t container, const char *name, qty_t from, qty_t to)
{
	struct resource_list *lists[] = {requests_of(pod, container),
		container < pod->n_containers ? &pod->containers[container].limits : &pod->pod_limits};

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

/* ---- one change */

/* For a change to a larger amount: the amount that is smaller by the same difference. */
static qty_t lowered_as_much(qty_t from, qty_t to)
{
	return to > from ? from - (to - from) : to;
}

bool request_change_is_nearer(const struct request_change *a, const struct request_change *b)
{
	qty_t a_step = resource_step(a->resource), b_step = resource_step(b->resource);

	/* Whether a keeps a larger fraction, to / from, than b. */
	return (lowered_as_much(a->from, a->to) / a_step) * (b->from / b_step) >
	       (lowered_as_much(b->from, b->to) / b_step) * (a->from / a_step);
}

/* Whether the change is nearer than the best so far. */
static bool is_nearer(const struct search *s, const char *name, qty_t from, qty_t to)
{
	const struct request_change change = {.resource = name, .from = from, .to = to};

	return !s->best.found || request_change_is_nearer(&change, &s->best.changes[0]);
}

/* Whether the pod-level resources cover those of the containers, as the API server requires. */
static bool covers_containers(const struct pod_request *pod)
{
	CLEANUP(resource_list_release) struct resource_list sums = {0};

	if (pod->pod_requests.n_items > 0)
		request_of_containers(pod, &sums);
	for (size_t i = 0; i < pod->pod_requests.n_items; i++)
		if (resource_list_amount(&sums, pod->pod_requests.items[i].name) >
			pod->pod_requests.items[i].quantity.nano)
			return false;
	return true;
}

/* Whether the kubelet admits the pod as it is now. False when a limit is reached. */
static bool admits_now(struct search *s)
{
	struct kubelet_verdict v;

	if (s->judged == s->limit || s->steps > ADMIT_WORK_MAX) {
		s->best.complete = false;
		return false;
	}
	s->judged++;
	if (!covers_containers(s->pod))
		return false;
	admit_judge(s->handlers, s->pod, s->qos, &v);
	s->steps += s->handlers->ws->work.steps;
	if (v.answer == KUBELET_UNKNOWN)
		s->best.complete = false;
	return v.answer == KUBELET_ADMITS;
}

/* The managers leave pods with pod-level resources alone. */
static bool is_exclusive(const struct search *s, size_t container, const char *name)
{
	return !strcmp(name, "cpu") && container < s->pod->n_containers && !s->pod->has_pod_resources &&
	       kubelet_exclusive_cpus(&s->pod->containers[container], s->qos) > 0;
}

/* Add every amount below `from` that may be admitted, descending. */
static void add_smaller_amounts(
	struct search *s, size_t container, const char *name, qty_t from, struct amounts *ret)
{
	if (is_exclusive(s, container, name) ||
		device_inventory_find(s->handlers->kubelet->devices.inventory, name))
		add_whole_amounts(s, name, from, ret);
	else
		add_threshold_amounts(s, container, name, from, ret);
}

/* The number of CPUs in whole cores, if full-pcpus-only requires them and `from` is not a multiple; else 0, also if the machine has fewer CPUs. */
static qty_t round_up_to_cores(const struct search *s, size_t container, const char *name, qty_t from)
{
	const struct cpu_manager *cm = &s->handlers->kubelet->cpu;
	qty_t core = (qty_t)cm->cpus_per_core * QTY_UNIT;

	if (!cm->options.full_pcpus_only || core == 0 || !is_exclusive(s, container, name) ||
		from % core == 0)
		return 0;
	return from + core - from % core;
}

#define SMALL_MEMORY (((qty_t)1 << 20) * QTY_UNIT) /* 1Mi */

/* The smallest amount that is tried in place of `from`. Pod-level resources must cover the smallest amounts of all containers. */
static qty_t smallest_amount(const struct search *s, size_t container, const char *name, qty_t from)
{
	const struct cpu_manager *cm = &s->handlers->kubelet->cpu;
	qty_t smallest = !strcmp(name, "memory") && from > SMALL_MEMORY ? SMALL_MEMORY : resource_step(name);

	if (is_exclusive(s, container, name))
		return QTY_UNIT * (cm->options.full_pcpus_only ? (qty_t)cm->cpus_per_core : 1);
	if (container < s->pod->n_containers)
		return smallest;
	return smallest * (qty_t)s->pod->n_containers;
}

/* Judges the amount if it is nearer than the best one. Returns whether smaller amounts need no trial: they are farther, or a limit is reached. */
static bool try_amount(struct search *s, size_t container, const char *name, qty_t from, qty_t to)
{
	bool admits;

	if (!is_nearer(s, name, from, to))
		return true;
	set_amount(s->pod, container, name, from, to);
	admits = admits_now(s);
	set_amount(s->pod, container, name, to, from);
	if (!admits)
		return s->judged == s->limit || s->steps > ADMIT_WORK_MAX;
	s->best.found = true;
	s->best.n_changes = 1;
	s->best.changes[0] = (struct request_change){container, name, from, to};
	return true;
}

static void try_resource(struct search *s, size_t container, const struct resource_quantity *q)
{
	CLEANUP(candidate_amounts_release) struct amounts amounts = {0};
	const char *name = q->name;
	qty_t from = q->quantity.nano, up = round_up_to_cores(s, container, name, from);

	if (from <= 0)
		return;
	add_smaller_amounts(s, container, name, from, &amounts);
	for (size_t i = 0; i < amounts.n_items; i++)
		if (try_amount(s, container, name, from, amounts.items[i]))
			break;
	if (up > 0)
		try_amount(s, container, name, from, up);
}

static void try_single(struct search *s)
{
	for (size_t i = 0; i <= s->pod->n_containers; i++) {
		const struct resource_list *requests = requests_of(s->pod, i);

		for (size_t k = 0; k < requests->n_items; k++)
			try_resource(s, i, &requests->items[k]);
	}
}

/* ---- several changes */

#define VARIABLES_MAX 48u

/* An amount of the pod. */
struct variable {
	struct request_change change; /* `to` is the amount that the pod has now */
	qty_t smallest;
	qty_t sum; /* of all containers, of this resource */
	unsigned resource_number;
};

static void set_variable(struct search *s, struct variable *v, qty_t to)
{
	set_amount(s->pod, v->change.container, v->change.resource, v->change.to, to);
	v->change.to = to;
}

static int by_container(const void *a, const void *b)
{
	const struct variable *x = a, *y = b;

	if (x->change.container != y->change.container)
		return x->change.container < y->change.container ? -1 : 1;
	return strcmp(x->change.resource, y->change.resource);
}

/* Smaller parts of a resource first, so that the containers that request most give way. */
static int by_part(const void *a, const void *b)
{
	const struct variable *x = a, *y = b;
	qty_t part = x->change.from * 1000000 / x->sum, other = y->change.from * 1000000 / y->sum;

	if (part != other)
		return part < other ? -1 : 1;
	return by_container(a, b);
}

static qty_t sum_of_containers(const struct pod_request *pod, const char *name)
{
	qty_t sum = 0;

	for (size_t i = 0; i < pod->n_containers; i++)
		sum = qty_add(sum, resource_list_amount(&pod->containers[i].requests, name));
	return sum;
}

/* Lists the pod's positive amounts as by_part() sorts. Returns their number; 0 also if they are more than VARIABLES_MAX. */
static size_t collect_variables(const struct search *s, struct variable ret[VARIABLES_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i <= s->pod->n_containers; i++) {
		const struct resource_list *requests = requests_of(s->pod, i);

		for (size_t k = 0; k < requests->n_items; k++) {
			const struct resource_quantity *q = &requests->items[k];

			if (q->quantity.nano <= 0)
				continue;
			if (n == VARIABLES_MAX)
				return 0;
			ret[n++] =
				(struct variable){.change = {i, q->name, q->quantity.nano, q->quantity.nano},
					.smallest = smallest_amount(s, i, q->name, q->quantity.nano),
					.sum = i < s->pod->n_containers ? sum_of_containers(s->pod, q->name)
									: q->quantity.nano};
		}
	}
	qsort(ret, n, sizeof(*ret), by_part);
	return n;
}

/* Sets the amount to the largest one that is admitted, at least what it is now. Returns whether the amount has changed. */
static bool enlarge(struct search *s, struct variable *v)
{
	CLEANUP(candidate_amounts_release) struct amounts amounts = {0};
	qty_t now = v->change.to;

	if (now >= v->change.from)
		return false;
	set_variable(s, v, v->change.from);
	if (admits_now(s))
		return true;
	add_smaller_amounts(s, v->change.container, v->change.resource, v->change.from, &amounts);
	for (size_t i = 0; i < amounts.n_items && amounts.items[i] > now; i++) {
		set_variable(s, v, amounts.items[i]);
		if (admits_now(s))
			return true;
	}
	set_variable(s, v, now);
	return false;
}

/* Restores each amount that can be restored, and enlarges the other amounts until none can be enlarged: a larger amount of one resource may need
 * more NUMA nodes, on which more of another resource fits. Returns the number of amounts that have changed. */
static size_t enlarge_variables(struct search *s, struct variable *variables, size_t n)
{
	size_t n_changed = 0;
	bool any = true;

	for (size_t i = 0; i < n; i++) {
		qty_t smallest = variables[i].change.to;

		set_variable(s, &variables[i], variables[i].change.from);
		if (!admits_now(s))
			set_variable(s, &variables[i], smallest);
	}
	while (any) {
		any = false;
		for (size_t i = 0; i < n; i++)
			any |= enlarge(s, &variables[i]);
	}
	for (size_t i = 0; i < n; i++)
		n_changed += variables[i].change.to != variables[i].change.from;
	return n_changed;
}

#define LOWERED_MAX 5u       /* resources: of more, all are lowered at once */
#define LOWERED_ALL UINT_MAX /* the set of all resources */

/* Numbers the resources of the variables. Returns the number of resources. */
static unsigned number_resources(struct variable *variables, size_t n)
{
	unsigned n_resources = 0;

	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < i && strcmp(variables[k].change.resource, variables[i].change.resource) != 0)
			k++;
		variables[i].resource_number = k < i ? variables[k].resource_number : n_resources++;
	}
	return n_resources;
}

/* Sets the amounts of the resources in `lowered`, one bit per resource, to the smallest amounts, and all other amounts to the request's. */
static bool admits_lowered(struct search *s, struct variable *variables, size_t n, unsigned lowered)
{
	for (size_t i = 0; i < n; i++) {
		struct variable *v = &variables[i];
		bool is_lowered = lowered == LOWERED_ALL ||
				  (v->resource_number < LOWERED_MAX && lowered >> v->resource_number & 1);

		set_variable(s, v, is_lowered ? v->smallest : v->change.from);
	}
	return admits_now(s);
}

/* Lowers as few resources as possible. Whether the pod is admitted then. */
static bool lower_resources(struct search *s, struct variable *variables, size_t n)
{
	unsigned n_resources = number_resources(variables, n);

	for (unsigned n_lowered = 1; n_lowered < n_resources && n_resources <= LOWERED_MAX; n_lowered++)
		for (unsigned lowered = 1; lowered < 1u << n_resources; lowered++)
			if ((unsigned)__builtin_popcount(lowered) == n_lowered &&
				admits_lowered(s, variables, n, lowered))
				return true;
	return admits_lowered(s, variables, n, LOWERED_ALL);
}

/* Finds a request with several changes, after no single change was found. Changes the pod and restores it. */
static void try_several(struct search *s)
{
	struct variable variables[VARIABLES_MAX];
	size_t n = collect_variables(s, variables);

	if (n > 0 && lower_resources(s, variables, n)) {
		s->best.found = enlarge_variables(s, variables, n) <= NEAREST_CHANGES_MAX;
		s->best.complete = s->best.complete && s->best.found;
	}
	/* Under this policy a smaller amount may fit fewer NUMA nodes than the pod's other resources need. */
	if (!s->best.found && s->handlers->kubelet->rules.policy == TOPOLOGY_MANAGER_RESTRICTED)
		s->best.complete = false;
	qsort(variables, n, sizeof(*variables), by_container);
	for (size_t i = 0; i < n; i++) {
		if (s->best.found && variables[i].change.to != variables[i].change.from)
			s->best.changes[s->best.n_changes++] = variables[i].change;
		set_variable(s, &variables[i], variables[i].change.from);
	}
}

/* ---- init containers without exclusive CPUs */

/* Requests half a CPU less, so that the container has no exclusive CPUs that later containers must reuse, and notes the change. False: the
 * container has no exclusive CPUs, or is no init container. */
static bool release_cpus(struct search *s, size_t container)
{
	struct container_request *c = &s->pod->containers[container];
	qty_t from = resource_list_amount(&c->requests, "cpu");
	const struct resource_quantity *q = resource_list_find(&c->requests, "cpu");

	if (c->kind != CONTAINER_INIT || !is_exclusive(s, container, "cpu"))
		return false;
	s->best.changes[s->best.n_changes++] =
		(struct request_change){container, q->name, from, from - QTY_UNIT / 2};
	set_amount(s->pod, container, "cpu", from, from - QTY_UNIT / 2);
	return true;
}

static void restore_changes(struct search *s)
{
	for (size_t i = 0; i < s->best.n_changes; i++) {
		const struct request_change *c = &s->best.changes[i];

		set_amount(s->pod, c->container, c->resource, c->to, c->from);
	}
}

/* Tries a fraction of a CPU for each init container, then for all. */
static void try_fractions(struct search *s)
{
	for (size_t i = 0; i <= s->pod->n_containers && !s->best.found; i++) {
		bool all = i == s->pod->n_containers, any = false;

		s->best.n_changes = 0;
		for (size_t k = 0; k < s->pod->n_containers && s->best.n_changes < NEAREST_CHANGES_MAX; k++)
			if ((all || k == i) && release_cpus(s, k))
				any = true;
		s->best.found = any && admits_now(s);
		restore_changes(s);
	}
	if (!s->best.found)
		s->best.n_changes = 0;
}

void nearest_request_find(const struct admit_handlers *handlers, struct pod_request *pod, enum qos_class qos,
	struct nearest_request *ret)
{
	struct search s = {.handlers = handlers,
		.pod = pod,
		.qos = qos,
		.limit = admit_limit(handlers, pod, NEAREST_REQUESTS_MAX, NEAREST_REQUESTS_NODES),
		.best = {.complete = true}};
	struct kubelet_verdict v;

	admit_judge(handlers, pod, qos, &v);
	if (v.reuses_cpus)
		try_fractions(&s);
	if (!s.best.found)
		try_single(&s);
	if (!s.best.found) {
		s.judged = 0; /* several changes have the limit for themselves */
		try_several(&s);
	}
	*ret = s.best;
}

void nearest_request_shrink(
	const struct admit_handlers *handlers, struct pod_request *pod, enum qos_class qos)
{
	struct search s = {.handlers = handlers, .pod = pod, .qos = qos};
	struct variable variables[VARIABLES_MAX];
	size_t n = collect_variables(&s, variables);

	for (size_t i = 0; i < n; i++)
		set_variable(&s, &variables[i], variables[i].smallest);
}
