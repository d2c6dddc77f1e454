/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * admission: the kubelet's whole answer to a pod, and what is found by asking again. The answer is the
 * managers' verdict and then whether the node has the amounts at all. Asked again, it says how many such pods
 * fit, and the nearest request that would. Depends on common/ and scoring/ only.
 */
#include "common/request.h"
#include "scoring/kubelet.h"

struct admission_node {
	const struct kubelet *kubelet;
	struct kubelet_workspace *ws;
	/*
	 * At most this much of the whole node can still be requested. Names every size of hugepages that the node
	 * has; other resources that are not named are unknown and not checked.
	 */
	const struct resource_list *free;
	/* So much more may be free, since what init containers held need not count any more. NULL = nothing.
	 */
	const struct resource_list *unsure;
};

struct admission {
	enum kubelet_answer answer;
	struct kubelet_verdict managers; /* points into the workspace, until it is used again */
	const char *
		short_of; /* the first resource that the node has too little of (pod's name for it), or NULL */
	const char *unsure_of; /* nothing else is short, but that may be (pod's name for it), or NULL */
	qty_t wanted, free;    /* of the one or the other */
};

/*
 * Admitted when the managers admit and the node has the amounts; a pod that the node has too little for is
 * rejected also where the managers' verdict is not known. The kubelet asks the managers first, so that where
 * both reject theirs is the reason in the pod's status. A pod that is admitted only if some of the unsure
 * amount is free gets no answer.
 */
void admission_judge(const struct admission_node *node, const struct pod_request *pod, enum qos_class qos,
	struct admission *ret);

/*
 * Copies are counted up to this, and a search for the nearest request asks for at most so many verdicts. On
 * more NUMA nodes than ..._NODES each verdict takes long, and each further node halves the number; so does
 * each doubling of the containers beyond ADMISSION_CONTAINERS.
 */
#define ADMISSION_COPIES_MAX    1000u
#define ADMISSION_COPIES_NODES  14u
#define ADMISSION_NEAREST_MAX   4096u
#define ADMISSION_NEAREST_NODES 11u
#define ADMISSION_CONTAINERS    16u

/* Whatever these limits allow, no more is asked after so many steps (scoring/work.h), a few seconds. */
#define ADMISSION_WORK_MAX (256 * KUBELET_WORK_MAX)

/* The limit `most` for this node and pod, 1 at least. */
size_t admission_limit(
	const struct admission_node *node, const struct pod_request *pod, size_t most, unsigned nodes);

struct admission_copies {
	size_t n;
	bool at_least; /* there may be more */
};

/* How many such pods the node admits one after the other, as if no init container of the earlier ones had
 * finished. */
void admission_copies(const struct admission_node *node, const struct pod_request *pod, enum qos_class qos,
	struct admission_copies *ret);

/* A container's amount of one resource, lowered. */
struct admission_nearest {
	bool found;
	bool complete; /* nothing was left out for the sake of time, and no verdict was unknown */
	size_t container;
	const char *resource; /* the pod's */
	qty_t from, to;
};

/*
 * The nearest request that is admitted: one container's amount of one resource lowered, all else unchanged.
 * Of each amount the largest smaller one is sought: whole CPUs for exclusive ones, whole devices, whole
 * pages, bytes of memory; never 0. Of those, the one that is lowered by the smallest part.
 *
 * Memory is tried at every amount where the managers' decision can change: what sets of NUMA nodes hold or
 * have free, less what other containers of the pod ask for.
 *
 * `pod` is changed meanwhile and the same again afterwards.
 */
void admission_nearest(const struct admission_node *node, struct pod_request *pod, enum qos_class qos,
	struct admission_nearest *ret);
