/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/pod_copies.h"

#include "common/cleanup.h"
#include "common/resource_name.h"
#include "scoring/request.h"

/* What is known of the devices that are asked for: the least of each. */
static enum node_device devices_of(const struct node_admission *admission, const struct resource_list *wanted)
{
	enum node_device worst = NODE_DEVICE_KNOWN;

	for (size_t i = 0; i < wanted->n_items && worst != NODE_DEVICE_ABSENT; i++) {
		const char *name = wanted->items[i].name;
		enum node_device device =
			resource_name_is_native(name)
				? NODE_DEVICE_KNOWN
				: node_kubelet_device(&admission->known, admission->state, name);

		if (device != NODE_DEVICE_KNOWN)
			worst = device;
	}
	return worst;
}

void pod_copies_find(struct node_admission *admission, const struct pod_request *pod, struct pod_copies *ret)
{
	CLEANUP(resource_list_release) struct resource_list wanted = {0};
	struct admission_copies copies = {0};
	struct admission first = {.answer = KUBELET_REJECTS};
	enum node_device devices;

	*ret = (struct pod_copies){0};
	request_of_node(pod, &wanted);
	devices = devices_of(admission, &wanted);
	if (devices == NODE_DEVICE_UNKNOWN)
		return;
	if (devices == NODE_DEVICE_KNOWN)
		node_admission_judge(admission, pod, &first);
	if (first.answer == KUBELET_ADMITS)
		admission_copies(&admission->node, pod, request_qos(pod), &copies);
	if (first.answer != KUBELET_UNKNOWN)
		*ret = (struct pod_copies){.known = true, .at_least = copies.at_least, .n = copies.n};
}
