/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The node's kubelet as the scoring core takes it, made from a node's state: the one way from the one to the
 * other.
 */
#include "common/node_state.h"
#include "scoring/kubelet.h"

struct node_kubelet {
	struct kubelet_node node; /* points into the state and into `devices` */
	struct device_inventory devices;
};

/*
 * Devices: every registered one of each resource whose devices' NUMA nodes are all known (or known to be
 * none); of the other resources nothing can be said. Devices that some container holds are allocated.
 *
 * Reserved CPUs: those that a running kubelet reports; else the kubelet works them out from its settings, and
 * would not start where its policy needs some and there are none.
 *
 *  The state must outlive it and stay where it is; `ret` may not
 * be moved.
 */
void node_kubelet_init(struct node_kubelet *ret, const struct node_state *state);
void node_kubelet_release(struct node_kubelet *k);

/* Set for each device resource how many nobody holds, beside what node_free_amounts() gives. */
void node_kubelet_add_devices(const struct node_kubelet *k, struct resource_list *ret);

/* What is known of a device resource that a pod names: which of its devices are free, and on which NUMA nodes. */
enum node_device {
	NODE_DEVICE_KNOWN,
	NODE_DEVICE_ABSENT, /* the node has none: no plugin has registered it */
	NODE_DEVICE_UNKNOWN,
	NODE_DEVICE_COUNT
};

enum node_device node_kubelet_device(
	const struct node_kubelet *k, const struct node_state *state, const char *resource);
