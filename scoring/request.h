/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a pod's specification means to the schedulers and the kubelet: QoS class, effective request,
 * exclusive CPUs. Depends on common/ only.
 */
#include "common/node_state.h"
#include "common/request.h"

/*
 * Set defaults as the API server does when a pod is created: a container's missing request becomes its
 * limit, and so do missing pod-level resources, as far as the containers do not decide them. Call this once for a pod that comes from a manifest instead of the API.
 */
void request_default(struct pod_request *pod);

/*
 * The pod's QoS class: from the pod's status, else computed from cpu and memory of all containers and init
 * containers, or of the pod-level resources if the pod has them (k8s.io/kubernetes
 * pkg/apis/core/v1/helper/qos).
 */
enum qos_class request_qos(const struct pod_request *pod);

/* Why a Burstable pod is not Guaranteed. */
struct request_gap {
	size_t n_containers;   /* containers with the gap */
	const char *container; /* the name of the first of them */
	const char *
		resource; /* "cpu", "memory", or both: "cpu and memory" of one container, "cpu or memory" of several */
};

/*
 * True if containers keep the pod from being Guaranteed, because they have no request and limit that are equal. False for any
 * other pod, and for a pod with pod-level resources: then *ret is undefined. Strings in *ret are the pod's.
 */
bool request_gap_of(const struct pod_request *pod, struct request_gap *ret);

/* One request of one container. */
struct request_entry {
	const struct resource_quantity *item; /* the pod's */
	size_t container;                     /* its position */
};

/* All requests of a pod's containers: sorted by name, requests of one name in the order of the containers. */
struct request_entries {
	struct request_entry *items;
	size_t n_items;
	size_t items_size;
};

/*
 * Replace the entries by those of the pod, which must outlive them. Allocates only for a pod with more
 * requests than any before.
 */
void request_entries_fill(struct request_entries *e, const struct pod_request *pod);
void request_entries_release(struct request_entries *e);

/* The index after the last entry with the same name as the entry `first`. */
size_t request_entries_end(const struct request_entries *e, size_t first);

/*
 * The request that the scheduler plugin aligns in pod scope: per resource the larger of the largest init
 * container (sidecars count as such) and the sum of the app containers, plus the pod's overhead. Ignores
 * pod-level resources; keeps resources of quantity 0. *ret is to be released.
 */
void request_effective_scheduler(const struct pod_request *pod, struct resource_list *ret);

/*
 * The pod's request of the whole node, for the scheduler and for the kubelet's last check (OutOfcpu and
 * similar): per resource the larger of (each init container plus the sidecars started before it) and (app
 * containers plus all sidecars); pod-level resources replace the resources that they name; plus the
 * overhead (k8s.io/component-helpers/resource PodRequests). *ret is to be released.
 */
void request_of_node(const struct pod_request *pod, struct resource_list *ret);

/* The same for the containers alone, without pod-level resources and overhead (AggregateContainerRequests). *ret is to be released. */
void request_of_containers(const struct pod_request *pod, struct resource_list *ret);

/*
 * The largest amount that a pod's containers hold at one time: each init container runs beside the sidecars
 * started before it, the app containers run beside all sidecars. Starts at {0}; add the containers in the
 * pod's order.
 */
struct request_peak {
	qty_t init, sidecars, apps;
};

void request_peak_add(struct request_peak *p, enum container_kind kind, qty_t amount);
qty_t request_peak(const struct request_peak *p);

/*
 * The number of CPUs if the amount is whole, to the milli-CPU as in the kubelet and the schedulers; else 0.
 */
int64_t request_whole_cpus(qty_t amount);

/* Whether a container or init container requests a resource that is not native, in any quantity. */
bool request_has_non_native(const struct pod_request *pod);

/*
 * A pod with the values that functions per node need, computed once. The pod must outlive the plan
 * unchanged.
 */
struct request_plan {
	const struct pod_request *pod;
	enum qos_class qos;
	bool has_non_native;
	struct resource_list effective; /* as request_effective_scheduler() */
};

/* *ret is to be released. */
void request_plan_init(struct request_plan *ret, const struct pod_request *pod);
void request_plan_release(struct request_plan *plan);
