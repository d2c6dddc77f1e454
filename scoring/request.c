/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/request.h"

#include <errno.h>
#include <string.h>

#include "common/resource_name.h"

int request_default(struct pod_request *pod)
{
	for (size_t i = 0; i < pod->n_containers; i++) {
		struct container_request *c = &pod->containers[i];

		for (size_t j = 0; j < c->limits.n_items; j++) {
			const struct resource_quantity *limit = &c->limits.items[j];

			if (resource_list_find(&c->requests, limit->name))
				continue;
			if (resource_list_set(&c->requests, limit->name, limit->quantity) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

/* What the QoS class looks at, cpu first, memory second. */
struct compute {
	qty_t amount[2];
	bool found[2];
};

static const char *const compute_names[2] = {"cpu", "memory"};

/* Add a list's positive cpu and memory; true when it has both. */
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

static bool is_equal_and_there(const struct container_request *c, const char *name)
{
	const struct resource_quantity *request = resource_list_find(&c->requests, name);
	const struct resource_quantity *limit = resource_list_find(&c->limits, name);

	return request && limit && limit->quantity.nano > 0 &&
	       quantity_cmp(request->quantity, limit->quantity) == 0;
}

bool request_gap_of(const struct pod_request *pod, struct request_gap *ret)
{
	struct request_gap gap = {0};
	bool lacks[2] = {false, false};

	if (request_qos(pod) != QOS_BURSTABLE || pod->has_pod_resources)
		return false;
	for (size_t i = 0; i < pod->n_containers; i++) {
		const struct container_request *c = &pod->containers[i];
		bool whole = true;

		for (size_t k = 0; k < 2; k++) {
			bool fine = is_equal_and_there(c, compute_names[k]);

			whole = whole && fine;
			lacks[k] = lacks[k] || !fine;
		}
		if (!whole && gap.n_containers++ == 0)
			gap.container = c->name;
	}
	if (gap.n_containers == 0 || (gap.n_containers > 1 && lacks[0] && lacks[1]))
		return false;
	gap.resource = lacks[0] && lacks[1] ? "cpu and memory" : compute_names[lacks[0] ? 0 : 1];
	*ret = gap;
	return true;
}

/* Add a quantity to an entry, or make the entry. */
static int add_to(struct resource_list *list, const char *name, struct quantity q)
{
	const struct resource_quantity *old = resource_list_find(list, name);

	return resource_list_set(list, name, old ? quantity_add(old->quantity, q) : q);
}

static int add_all(struct resource_list *sum, const struct resource_list *list)
{
	for (size_t i = 0; i < list->n_items; i++)
		if (add_to(sum, list->items[i].name, list->items[i].quantity) < 0)
			return -ENOMEM;
	return 0;
}

static int raise_all(struct resource_list *largest, const struct resource_list *list)
{
	for (size_t i = 0; i < list->n_items; i++) {
		const struct resource_quantity *new = &list->items[i];
		const struct resource_quantity *old = resource_list_find(largest, new->name);

		if (old && quantity_cmp(new->quantity, old->quantity) <= 0)
			continue;
		if (resource_list_set(largest, new->name, new->quantity) < 0)
			return -ENOMEM;
	}
	return 0;
}

int request_effective_scheduler(const struct pod_request *pod, struct resource_list *ret)
{
	struct resource_list sum = {0};
	int r = 0;

	for (size_t i = 0; i < pod->n_containers && r == 0; i++)
		if (pod->containers[i].kind == CONTAINER_APP)
			r = add_all(&sum, &pod->containers[i].requests);
	for (size_t i = 0; i < pod->n_containers && r == 0; i++)
		if (pod->containers[i].kind != CONTAINER_APP)
			r = raise_all(&sum, &pod->containers[i].requests);
	if (r == 0)
		r = add_all(&sum, &pod->overhead);
	if (r < 0)
		resource_list_release(&sum);
	else
		*ret = sum;
	return r;
}

int64_t request_whole_cpus(qty_t amount)
{
	int64_t cpus = qty_value(amount);

	return amount > 0 && (qty_t)cpus * 1000 == qty_milli_value(amount) ? cpus : 0;
}

void request_peak_add(struct request_peak *p, enum container_kind kind, qty_t amount)
{
	qty_t with = qty_add(p->sidecars, amount);

	if (kind == CONTAINER_APP)
		p->apps = qty_add(p->apps, amount);
	else if (kind == CONTAINER_SIDECAR)
		p->sidecars = with;
	else if (with > p->init)
		p->init = with;
}

qty_t request_peak(const struct request_peak *p)
{
	qty_t running = qty_add(p->apps, p->sidecars);

	return running > p->init ? running : p->init;
}

static int set_all(struct resource_list *list, const struct resource_list *from)
{
	for (size_t i = 0; i < from->n_items; i++)
		if (resource_list_set(list, from->items[i].name, from->items[i].quantity) < 0)
			return -ENOMEM;
	return 0;
}

static qty_t peak_of(const struct pod_request *pod, const char *name)
{
	struct request_peak peak = {0};

	for (size_t i = 0; i < pod->n_containers; i++)
		request_peak_add(&peak, pod->containers[i].kind,
			resource_list_amount(&pod->containers[i].requests, name));
	return request_peak(&peak);
}

int request_of_node(const struct pod_request *pod, struct resource_list *ret)
{
	struct resource_list all = {0};
	int r = 0;

	for (size_t i = 0; i < pod->n_containers && r == 0; i++) {
		const struct resource_list *requests = &pod->containers[i].requests;

		for (size_t j = 0; j < requests->n_items && r == 0; j++) {
			struct quantity sum = requests->items[j].quantity;

			if (resource_list_find(&all, requests->items[j].name))
				continue;
			sum.nano = peak_of(pod, requests->items[j].name);
			r = resource_list_set(&all, requests->items[j].name, sum);
		}
	}
	if (r == 0 && pod->has_pod_resources)
		r = set_all(&all, &pod->pod_requests);
	if (r == 0)
		r = add_all(&all, &pod->overhead);
	if (r < 0)
		resource_list_release(&all);
	else
		*ret = all;
	return r;
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

int request_plan_init(struct request_plan *ret, const struct pod_request *pod)
{
	struct request_plan plan = {.pod = pod, .qos = request_qos(pod)};
	int r = request_effective_scheduler(pod, &plan.effective);

	if (r < 0)
		return r;
	plan.has_non_native = request_has_non_native(pod);
	*ret = plan;
	return 0;
}

void request_plan_release(struct request_plan *plan)
{
	resource_list_release(&plan->effective);
	memset(plan, 0, sizeof(*plan));
}
