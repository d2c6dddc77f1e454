/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/resource.h"
#include "common/vec.h"

static void default_missing(struct resource_list *list, const struct resource_quantity *q)
{
	if (!resource_list_find(list, q->name))
		resource_list_set(list, q->name, q->quantity);
}

/*
 * Pod-level resources that are set in part: limits of hugepages from the containers; requests of cpu and memory from the containers, else from
 * the pod-level limits (k8s.io/kubernetes pkg/apis/core/v1/defaults.go: defaultHugePagePodLimits, defaultPodRequests).
 */
static void default_pod_level(struct pod_request *pod)
{
	CLEANUP(resource_list_release) struct resource_list of_containers = {0};

	if (pod->pod_limits.n_items == 0 && pod->pod_requests.n_items == 0)
		return;
	request_of_containers(pod, &of_containers);
	for (size_t i = 0; i < of_containers.n_items; i++)
		if (resource_name_is_hugepages(of_containers.items[i].name) &&
			!resource_list_find(&pod->pod_requests, of_containers.items[i].name))
			default_missing(&pod->pod_limits, &of_containers.items[i]);
	for (size_t i = 0; i < of_containers.n_items && pod->pod_limits.n_items > 0; i++)
		if (!strcmp(of_containers.items[i].name, "cpu") ||
			!strcmp(of_containers.items[i].name, "memory"))
			default_missing(&pod->pod_requests, &of_containers.items[i]);
	for (size_t i = 0; i < pod->pod_limits.n_items; i++)
		default_missing(&pod->pod_requests, &pod->pod_limits.items[i]);
}

void request_default(struct pod_request *pod)
{
	for (size_t i = 0; i < pod->n_containers; i++)
		resource_list_default(&pod->containers[i].requests, &pod->containers[i].limits);
	default_pod_level(pod);
}

/* The amounts that decide the QoS class: cpu first, memory second. */
struct compute {
	qty_t amount[2];
	bool found[2];
};

static const char *const compute_names[2] = {"cpu", "memory"};

/* Add a list's positive cpu and memory; true when the list has both. */
static bool compute_add(struct compute *sum, const struct resource_list *list)
{
	unsigned found = 0;

	for (size_t i = 0; i < 2; i++) {
		const struct resource_quantity *q = resource_list_find(list, compute_names[i]);

		if (!q || q->quantity.nano <= 0)
			continue;
		sum->amount[i] = qty_add(sum->amount[i], q->quantity.nano);
		sum->found[i] = true;
		found++;
	}
	return found == 2;
}

enum qos_class request_qos(const struct pod_request *pod)
{
	struct compute requests = {0}, limits = {0};
	bool guaranteed = true;

	if (pod->qos != QOS_UNKNOWN)
		return pod->qos;
	if (pod->has_pod_resources) {
		compute_add(&requests, &pod->pod_requests);
		/* Without limits, the comparison with the requests decides. */
		guaranteed = compute_add(&limits, &pod->pod_limits) || pod->pod_limits.n_items == 0;
	}
	for (size_t i = 0; i < pod->n_containers && !pod->has_pod_resources; i++) {
		compute_add(&requests, &pod->containers[i].requests);
		if (!compute_add(&limits, &pod->containers[i].limits))
			guaranteed = false;
	}
	if (!requests.found[0] && !requests.found[1] && !limits.found[0] && !limits.found[1])
		return QOS_BEST_EFFORT;
	for (size_t i = 0; i < 2; i++)
		if (requests.found[i] != limits.found[i] || requests.amount[i] != limits.amount[i])
			guaranteed = false;
	return guaranteed ? QOS_GUARANTEED : QOS_BURSTABLE;
}

static bool has_equal_limit(const struct container_request *c, const char *name)
{
	const struct resource_quantity *request = resource_list_find(&c->requests, name);
	const struct resource_quantity *limit = resource_list_find(&c->limits, name);

	return request && limit && limit->quantity.nano > 0 &&
	       quantity_cmp(request->quantity, limit->quantity) == 0;
}

bool request_gap_of(const struct pod_request *pod, struct request_gap *ret)
{
	struct request_gap gap = {0};
	bool lacks_cpu = false, lacks_memory = false;

	if (request_qos(pod) != QOS_BURSTABLE || pod->has_pod_resources)
		return false;
	for (size_t i = 0; i < pod->n_containers; i++) {
		const struct container_request *c = &pod->containers[i];
		bool has_cpu = has_equal_limit(c, "cpu"), has_memory = has_equal_limit(c, "memory");

		lacks_cpu = lacks_cpu || !has_cpu;
		lacks_memory = lacks_memory || !has_memory;
		if (has_cpu && has_memory)
			continue;
		if (gap.n_containers == 0)
			gap.container = c->name;
		gap.n_containers++;
	}
	if (gap.n_containers == 0)
		return false;
	if (!lacks_memory)
		gap.resource = "cpu";
	else if (!lacks_cpu)
		gap.resource = "memory";
	else if (gap.n_containers == 1)
		gap.resource = "cpu and memory";
	else
		gap.resource = "cpu or memory"; /* a container may lack both limits, or only one */
	*ret = gap;
	return true;
}

/* ---- all requests of a pod, by name */

/* Merge the sorted entries left[0..n) and left[n..n + m), equal names in this order, into `out`. */
static void merge_entries(const struct request_entry *left, size_t n, size_t m, struct request_entry *out)
{
	const struct request_entry *right = left + n, *end = right + m;

	for (const struct request_entry *middle = right; left < middle || right < end;)
		if (left == middle || (right < end && strcmp(right->item->name, left->item->name) < 0))
			*out++ = *right++;
		else
			*out++ = *left++;
}

/* The entries of the containers from `first` to before `end`, whose lists are sorted, into `out`: each half into `scratch`, then both merged.
 * Returns their number. */
static size_t sort_entries(const struct pod_request *pod, size_t first, size_t end, struct request_entry *out,
	struct request_entry *scratch)
{
	size_t half = first + (end - first) / 2, n, m;

	if (end - first == 1) {
		const struct resource_list *requests = &pod->containers[first].requests;

		for (size_t i = 0; i < requests->n_items; i++)
			out[i] = (struct request_entry){&requests->items[i], first};
		return requests->n_items;
	}
	n = sort_entries(pod, first, half, scratch, out);
	m = sort_entries(pod, half, end, scratch + n, out + n);
	merge_entries(scratch, n, m, out);
	return n + m;
}

void request_entries_fill(struct request_entries *e, const struct pod_request *pod)
{
	size_t n = 0;

	e->n_items = 0;
	for (size_t i = 0; i < pod->n_containers; i++)
		n += pod->containers[i].requests.n_items;
	/* The second half is scratch memory. */
	vec_grow(&e->items, &e->items_size, 2 * n + 1, sizeof(*e->items));
	if (pod->n_containers > 0)
		e->n_items = sort_entries(pod, 0, pod->n_containers, e->items, e->items + n);
}

size_t request_entries_end(const struct request_entries *e, size_t first)
{
	size_t end = first + 1;

	while (end < e->n_items && !strcmp(e->items[end].item->name, e->items[first].item->name))
		end++;
	return end;
}

void request_entries_release(struct request_entries *e)
{
	free(e->items);
	*e = (struct request_entries){0};
}

/* The pod's amount of one resource, from all containers' amounts in their order. */
typedef struct quantity entries_fn(
	const struct pod_request *pod, const struct request_entry *entries, size_t n);

/* Make a list with one item per name. */
static void list_by_name(const struct pod_request *pod, entries_fn *fn, struct resource_list *ret)
{
	CLEANUP(request_entries_release) struct request_entries e = {0};

	*ret = (struct resource_list){0};
	request_entries_fill(&e, pod);
	for (size_t i = 0, end; i < e.n_items; i = end) {
		end = request_entries_end(&e, i);
		resource_list_append(ret, e.items[i].item->name, fn(pod, e.items + i, end - i));
	}
}

/* The sum of the app containers, or the largest other container if that is larger. */
static struct quantity plugin_amount(
	const struct pod_request *pod, const struct request_entry *entries, size_t n)
{
	struct quantity amount = {0};
	bool found = false;

	for (size_t i = 0; i < n; i++)
		if (pod->containers[entries[i].container].kind == CONTAINER_APP) {
			amount = found ? quantity_add(amount, entries[i].item->quantity)
				       : entries[i].item->quantity;
			found = true;
		}
	for (size_t i = 0; i < n; i++) {
		bool app = pod->containers[entries[i].container].kind == CONTAINER_APP;

		if (!app && (!found || quantity_cmp(entries[i].item->quantity, amount) > 0)) {
			amount = entries[i].item->quantity;
			found = true;
		}
	}
	return amount;
}

void request_effective_scheduler(const struct pod_request *pod, struct resource_list *ret)
{
	list_by_name(pod, plugin_amount, ret);
	resource_list_add(ret, &pod->overhead, 1);
}

int64_t request_whole_cpus(qty_t amount)
{
	int64_t cpus = qty_value(amount);

	return amount > 0 && (qty_t)cpus * 1000 == qty_milli_value(amount) ? cpus : 0;
}

void request_peak_add(struct request_peak *p, enum container_kind kind, qty_t amount)
{
	qty_t with_sidecars = qty_add(p->sidecars, amount);

	if (kind == CONTAINER_APP)
		p->apps = qty_add(p->apps, amount);
	else if (kind == CONTAINER_SIDECAR)
		p->sidecars = with_sidecars;
	else if (with_sidecars > p->init)
		p->init = with_sidecars;
}

qty_t request_peak(const struct request_peak *p)
{
	qty_t running = qty_add(p->apps, p->sidecars);

	return running > p->init ? running : p->init;
}

static struct quantity peak_amount(
	const struct pod_request *pod, const struct request_entry *entries, size_t n)
{
	struct quantity amount = entries[0].item->quantity;
	struct request_peak peak = {0};

	for (size_t i = 0; i < n; i++)
		request_peak_add(
			&peak, pod->containers[entries[i].container].kind, entries[i].item->quantity.nano);
	amount.nano = request_peak(&peak);
	return amount;
}

void request_of_node(const struct pod_request *pod, struct resource_list *ret)
{
	list_by_name(pod, peak_amount, ret);
	if (pod->has_pod_resources)
		resource_list_override(ret, &pod->pod_requests);
	resource_list_add(ret, &pod->overhead, 1);
}

void request_of_containers(const struct pod_request *pod, struct resource_list *ret)
{
	struct pod_request borrowed = *pod;

	borrowed.pod_requests = borrowed.pod_limits = borrowed.overhead = (struct resource_list){0};
	borrowed.has_pod_resources = false;
	request_of_node(&borrowed, ret);
}

bool request_has_non_native(const struct pod_request *pod)
{
	for (size_t i = 0; i < pod->n_containers; i++) {
		const struct resource_list *requests = &pod->containers[i].requests;

		for (size_t j = 0; j < requests->n_items; j++)
			if (!resource_name_is_native(requests->items[j].name))
				return true;
	}
	return false;
}

void request_plan_init(struct request_plan *ret, const struct pod_request *pod)
{
	*ret = (struct request_plan){
		.pod = pod, .qos = request_qos(pod), .has_non_native = request_has_non_native(pod)};
	request_effective_scheduler(pod, &ret->effective);
}

void request_plan_release(struct request_plan *plan)
{
	resource_list_release(&plan->effective);
	memset(plan, 0, sizeof(*plan));
}
