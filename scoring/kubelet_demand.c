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

/* The limit of one resource; 0 when it is not named. */
static qty_t limit_of(const struct container_request *container, const char *name, bool *ret_asked)
{
	const struct resource_quantity *q = resource_list_find(&container->limits, name);

	*ret_asked = *ret_asked || q;
	return q ? q->quantity.nano : 0;
}

size_t kubelet_devices_demanded(
	const struct judgement *j, const struct demand *demand, size_t r, bool *ret_asked)
{
	const char *name = j->k->devices.inventory->resources[r].name;
	struct request_peak peak = {0};
	int64_t n;

	*ret_asked = false;
	if (demand->container)
		peak.apps = limit_of(demand->container, name, ret_asked);
	for (size_t i = 0; !demand->container && i < j->pod->n_containers; i++) {
		const struct container_request *c = &j->pod->containers[i];

		request_peak_add(&peak, c->kind, limit_of(c, name, ret_asked));
	}
	n = qty_value(request_peak(&peak));
	return n > 0 ? (size_t)n : 0;
}
