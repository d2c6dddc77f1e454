/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Adds the amounts of the whole node to the kubelet's verdict on a pod, and counts the admitted copies.
 */
#include "common/request.h"
#include "scoring/kubelet.h"

/* The kubelet's admit handlers: its managers, and the check of the node's amounts (lifecycle/predicate.go). */
struct admit_handlers {
	const struct kubelet *kubelet;
	struct kubelet_workspace *ws;
	/*
	 * The amounts of the whole node that can certainly still be requested. Lists every size of hugepages that
	 * the node has; any other resource that is not listed is unknown and not checked.
	 */
	const struct resource_list *free;
	/*
	 * Amounts that may be free in addition, because resources that init containers held may no longer
	 * count. NULL = none.
	 */
	const struct resource_list *unsure;
	uint64_t max_kubelet_ns; /* see kubelet_limit_time() */
};

/*
 * The complete verdict. Admitted when the managers admit and the node has the amounts. A pod that the node has too little for is
 * rejected even if the managers' verdict is unknown, except beyond the work limit. ret->rejection stays that of the managers. The kubelet asks the managers first: if both reject,
 * the managers' reason is in the pod's status. Unknown if the pod is admitted only when some of the unsure
 * amount is free.
 */
void admit_judge(const struct admit_handlers *handlers, const struct pod_request *pod, enum qos_class qos,
	struct kubelet_verdict *ret);

/*
 * Limit for the number of copies. With more NUMA nodes than ADMIT_COPIES_NODES each verdict takes long, and each
 * further node halves the limit; so does each doubling of the containers beyond ADMIT_CONTAINERS.
 */
#define ADMIT_COPIES_MAX   1000u
#define ADMIT_COPIES_NODES 14u
#define ADMIT_CONTAINERS   16u

/*
 * Steps (scoring/work.h), a few seconds, after which no further verdict is made, whatever the limits above
 * allow.
 */
#define ADMIT_WORK_MAX (256 * KUBELET_WORK_MAX)

/* The limit `max` reduced for this node and pod, at least 1. `nodes` is the ..._NODES of the limit. */
size_t admit_limit(
	const struct admit_handlers *handlers, const struct pod_request *pod, size_t max, unsigned nodes);

struct admit_copies {
	size_t n;
	bool at_least; /* there may be more */
};

/*
 * How many copies of the pod the node admits one after the other, if no init container of the earlier
 * copies has finished.
 */
void admit_copies(const struct admit_handlers *handlers, const struct pod_request *pod, enum qos_class qos,
	struct admit_copies *ret);
