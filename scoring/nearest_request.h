/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds the smallest change of a rejected pod's request with which the kubelet admits the pod.
 */
#include "scoring/admit.h"

/* A changed amount of one resource: a container's, or spec.resources' if `container` is the number of containers. */
struct request_change {
	size_t container;
	const char *resource; /* the pod's string */
	qty_t from, to;
};

/* Whether a changes its amount by a smaller fraction than b, each in the steps of its resource. */
bool request_change_is_nearer(const struct request_change *a, const struct request_change *b);

#define NEAREST_CHANGES_MAX 6u

/* Limit for the number of verdicts in a search. NUMA nodes beyond NEAREST_REQUESTS_NODES and many containers lower the limit, as that of
 * copies (scoring/admit.h). */
#define NEAREST_REQUESTS_MAX   4096u
#define NEAREST_REQUESTS_NODES 11u

struct nearest_request {
	bool found;
	bool complete; /* no limit cut the search short, and no verdict was unknown */
	size_t n_changes;
	struct request_change changes[NEAREST_CHANGES_MAX];
};

/*
 * The nearest request that is admitted. First with one container's amount of one resource changed, all else unchanged: for each amount the
 * search finds the largest smaller amount that is admitted (whole CPUs for exclusive CPUs, whole devices, whole pages, bytes of memory; never 0),
 * and with full-pcpus-only also the number of CPUs rounded up to whole cores. Of these the amount that changes by the smallest fraction wins.
 *
 * If no single change suffices, up to NEAREST_CHANGES_MAX amounts are changed, each of them needed. The search starts with the amounts of as
 * few resources as possible at their smallest. Each of these amounts is restored if the pod is still admitted, the smaller amounts of a
 * resource first. Then each amount that could not be restored is set to the largest admitted amount, until no amount can be larger.
 *
 * If the kubelet rejects the pod because a container must reuse an init container's CPUs, the search first tries a fraction of a CPU for init
 * containers.
 *
 * Memory is tried at every amount at which the managers' decision can change: what sets of NUMA nodes hold
 * or have free, minus what other containers of the pod request.
 *
 * The search changes `pod` and restores it.
 */
void nearest_request_find(const struct admit_handlers *handlers, struct pod_request *pod, enum qos_class qos,
	struct nearest_request *ret);

/* Sets each amount of the pod to the smallest one that the search tries. */
void nearest_request_shrink(
	const struct admit_handlers *handlers, struct pod_request *pod, enum qos_class qos);
