/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * admission: the kubelet's complete answer to a pod: the managers' verdict and whether the node has the
 * amounts at all. Also counts how many copies of a pod fit, and finds the nearest request that would be
 * admitted. Depends on common/ and scoring/ only.
 */
#include "common/request.h"
#include "scoring/kubelet.h"

struct admission_node {
	const struct kubelet *kubelet;
	struct kubelet_workspace *ws;
	/*
	 * The amounts of the whole node that can still be requested, at most. Lists every size of hugepages that
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

struct admission {
	enum kubelet_answer answer;
	struct kubelet_verdict managers; /* points into the workspace, until it is used again */
	const char *
		short_of; /* the first resource that the node has too little of (the pod's string), or NULL */
	const char *unsure_of; /* the first resource that the node may have too little of, if none is short */
	bool other_may_be_short; /* the kubelet may name another resource than short_of, which it checks earlier */
	qty_t wanted, free;      /* of this resource */
};

/*
 * Admitted when the managers admit and the node has the amounts. A pod that the node has too little for is
 * rejected even if the managers' verdict is unknown. The kubelet asks the managers first: if both reject,
 * the managers' reason is in the pod's status. Unknown if the pod is admitted only when some of the unsure
 * amount is free.
 */
void admission_judge(const struct admission_node *node, const struct pod_request *pod, enum qos_class qos,
	struct admission *ret);

/*
 * Limits for the number of copies, and for the number of verdicts in a search for the nearest request. With
 * more NUMA nodes than ..._NODES each verdict takes long, and each further node halves the limit; so does
 * each doubling of the containers beyond ADMISSION_CONTAINERS.
 */
#define ADMISSION_COPIES_MAX    1000u
#define ADMISSION_COPIES_NODES  14u
#define ADMISSION_NEAREST_MAX   4096u
#define ADMISSION_NEAREST_NODES 11u
#define ADMISSION_CONTAINERS    16u

/*
 * Steps (scoring/work.h), a few seconds, after which no further verdict is made, whatever the limits above
 * allow.
 */
#define ADMISSION_WORK_MAX (256 * KUBELET_WORK_MAX)

/* The limit `max` reduced for this node and pod, at least 1. `nodes` is the ..._NODES of the limit. */
size_t admission_limit(
	const struct admission_node *node, const struct pod_request *pod, size_t max, unsigned nodes);

struct admission_copies {
	size_t n;
	bool at_least; /* there may be more */
};

/*
 * How many copies of the pod the node admits one after the other, if no init container of the earlier
 * copies has finished.
 */
void admission_copies(const struct admission_node *node, const struct pod_request *pod, enum qos_class qos,
	struct admission_copies *ret);

/* One container's amount of one resource, changed; or that of spec.resources, if `container` is the number of containers. */
struct admission_change {
	size_t container;
	const char *resource; /* the pod's string */
	qty_t from, to;
};

#define ADMISSION_CHANGES_MAX 6u

struct admission_nearest {
	bool found;
	bool complete; /* no limit cut the search short, and no verdict was unknown */
	size_t n_changes;
	struct admission_change changes[ADMISSION_CHANGES_MAX];
};

/*
 * The nearest request that is admitted. First with one container's amount of one resource changed, all else unchanged: for each amount the
 * search finds the largest smaller one that is admitted (whole CPUs for exclusive CPUs, whole devices, whole pages, bytes of memory; never 0),
 * and with full-pcpus-only also the number of CPUs rounded up to whole cores. Of these the amount that changes by the smallest fraction wins.
 *
 * If no single change suffices, up to ADMISSION_CHANGES_MAX amounts are changed, each of them needed. The search starts with the amounts of as
 * few resources as possible at their smallest. Each of these amounts is restored if the pod is still admitted, the smaller ones of a resource
 * first. Then each amount that could not be restored is set to the largest one that is admitted, until none can be larger.
 *
 * If the kubelet rejects the pod because a container must reuse an init container's CPUs, a fraction of a CPU for init containers is tried before
 * all that.
 *
 * Memory is tried at every amount at which the managers' decision can change: what sets of NUMA nodes hold
 * or have free, minus what other containers of the pod request.
 *
 * The search changes `pod` and restores it.
 */
void admission_nearest(const struct admission_node *node, struct pod_request *pod, enum qos_class qos,
	struct admission_nearest *ret);

/* Sets each amount of the pod to the smallest one that the search tries. */
void admission_shrink(const struct admission_node *node, struct pod_request *pod, enum qos_class qos);
