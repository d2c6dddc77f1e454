/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Computes in advance how many steps (scoring/work.h) a verdict takes. The number follows from the sizes of the pod and
 * of the node. Also bounds and counts the kubelet's own time.
 * For kubelet_judge.c alone. Depends on common/ and scoring/ only.
 */
#include "scoring/kubelet_held.h"

/* The verdict on one pod in progress. */
struct judgement {
	const struct kubelet *k;
	struct kubelet_workspace *ws;
	const struct pod_request *pod;
	enum qos_class qos;
	bool uses_cpu_manager, uses_memory_manager;
	const struct kubelet_held *held; /* of a pod that is admitted again; NULL = a new pod */
	bool plugins_return;             /* `held`: the device plugins have registered again */
	struct kubelet_verdict *verdict;
};

/* The resources of one merge: what a container, or the whole pod, requests. ws->demands has the devices. */
struct demand {
	const struct container_request *container; /* NULL = the pod */
	size_t cpus;                               /* exclusive */
	bool memory;                               /* ws->needs has the amounts */
};

/* Reading the pod's requests and limits, and the node's state. */
uint64_t judgement_reading_steps(const struct judgement *j);

/* The hints of one resource. Memory has the needs in the workspace. */
uint64_t judgement_device_hint_steps(const struct judgement *j, const struct device_demand *demand);
uint64_t judgement_memory_hint_steps(const struct judgement *j);
uint64_t judgement_cpu_hint_steps(const struct judgement *j);

/*
 * How often the hints of the memory needs, which are all the same, are merged: once per need, but at most one more time
 * than there are NUMA nodes. A set in a merge is the AND of hints, and each AND removes at least one node, so after that
 * many merges every set has been reached. Without hints only the first merge changes anything.
 */
size_t judgement_memory_merges(const struct judgement *j);

/* Making and merging the hints of a demand. */
uint64_t judgement_demand_steps(const struct judgement *j, const struct demand *demand);

/* The most hints that the kubelet's managers make for the demand, and their time for it. */
struct kubelet_merge judgement_bound_merge(const struct judgement *j, const struct demand *demand);

/* Merges the hints of one resource, which are in the workspace, and counts them in `merge`. */
void judgement_merge_resource(const struct judgement *j, struct kubelet_merge *merge);

/* Merging one more resource to see whether anything is still admitted. */
uint64_t judgement_explain_steps(const struct judgement *j);

/* Finding how an amount fits the sets of `nodes`. */
uint64_t judgement_fit_steps(uint64_t nodes);

/* Allocating a container, without choosing its CPUs and without memory hints. */
uint64_t judgement_allocation_steps(const struct judgement *j, const struct demand *demand);
