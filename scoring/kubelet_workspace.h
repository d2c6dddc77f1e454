/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Inside of kubelet.h: the memory a verdict is made in, and the sentences that explain one.
 */
#include "scoring/kubelet.h"

struct kubelet_workspace {
	struct cpu_workspace *cpu;
	bool counting; /* only whether CPUs can be taken is asked, not which: see cpu_manager_try() */
	bool *sets;    /* what the next six lie in */
	bool *shared, *reusable, *available, *taken, *scratch[2];
	struct memory_books memory;
	struct memory_needs needs;
	struct device_books devices;
	struct topology_hints hints;
	struct topology_merge merge;
	struct kubelet_placement *placements;
	size_t placements_size;
	bool *cpus; /* the placements' sets */
	size_t cpus_size;
};

/* One pod on its way. */
struct judgement {
	const struct kubelet *k;
	struct kubelet_workspace *ws;
	const struct pod_request *pod;
	enum qos_class qos;
	bool cpu, memory; /* the CPU and the memory manager have a say */
	struct kubelet_verdict *verdict;
};

/* What is asked for at one merge: by one container, or by the whole pod. */
struct demand {
	const struct container_request *container; /* NULL = the pod */
	size_t cpus;                               /* exclusive ones */
	bool memory;                               /* ws->needs holds what is asked for */
};

/* How many devices of resource `r` are demanded; *ret_asked says whether the resource is named at all. */
size_t kubelet_devices_demanded(
	const struct judgement *j, const struct demand *demand, size_t r, bool *ret_asked);

/* reason = why the Topology Manager did not admit the demand. */
void kubelet_explain_affinity(struct judgement *j, const struct demand *demand);
