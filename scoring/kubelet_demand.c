/* SPDX-License-Identifier: Apache-2.0 */
/* What a container, or a pod as a whole, asks of the kubelet's managers. */
#include "scoring/kubelet_workspace.h"

#include "scoring/request.h"

size_t kubelet_exclusive_cpus(const struct container_request *container, enum qos_class qos)
{
	const struct resource_quantity *q = resource_list_find(&container->requests, "cpu");

	return qos == QOS_GUARANTEED && q ? (size_t)request_whole_cpus(q->quantity.nano) : 0;
}

size_t kubelet_pod_exclusive_cpus(const struct pod_request *pod, enum qos_class qos)
{
	struct request_peak peak = {0};

	for (size_t i = 0; i < pod->n_containers; i++)
		request_peak_add(&peak, pod->containers[i].kind,
			(qty_t)kubelet_exclusive_cpus(&pod->containers[i], qos));
	return (size_t)request_peak(&peak);
}

static void add_demand(struct kubelet_workspace *ws, size_t resource, qty_t amount)
{
	int64_t n = qty_value(amount);

	ws->demands[ws->n_demands++] = (struct device_demand){resource, n > 0 ? (size_t)n : 0};
}

/* The position of a device resource, false when the node does not have it. */
static bool find_resource(const struct judgement *j, const char *name, size_t *ret)
{
	const struct device_inventory *inventory = j->k->devices.inventory;
	const struct device_resource *resource = device_inventory_find(inventory, name);

	if (!resource)
		return false;
	*ret = (size_t)(resource - inventory->resources);
	return true;
}

static void demand_of_pod(const struct judgement *j)
{
	struct kubelet_workspace *ws = j->ws;
	size_t n = j->k->devices.inventory->n_resources, r;

	for (r = 0; r < n; r++) {
		ws->peaks[r] = (struct request_peak){0};
		ws->asked[r] = false;
	}
	for (size_t i = 0; i < j->pod->n_containers; i++) {
		const struct container_request *c = &j->pod->containers[i];

		for (size_t k = 0; k < c->limits.n_items; k++) {
			if (!find_resource(j, c->limits.items[k].name, &r))
				continue;
			request_peak_add(&ws->peaks[r], c->kind, c->limits.items[k].quantity.nano);
			ws->asked[r] = true;
		}
	}
	for (r = 0; r < n; r++)
		if (ws->asked[r])
			add_demand(ws, r, request_peak(&ws->peaks[r]));
}

void kubelet_demand_devices(const struct judgement *j, const struct container_request *container)
{
	j->ws->n_demands = 0;
	if (j->k->devices.inventory->n_resources == 0)
		return;
	if (!container) {
		demand_of_pod(j);
		return;
	}
	/* Limits and resources are sorted alike. */
	for (size_t k = 0; k < container->limits.n_items; k++) {
		size_t r;

		if (find_resource(j, container->limits.items[k].name, &r))
			add_demand(j->ws, r, container->limits.items[k].quantity.nano);
	}
}
