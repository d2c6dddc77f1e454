/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Inside of kubelet.h: the memory a verdict is made in, and the sentences that explain one.
 */
#include "scoring/kubelet.h"
#include "scoring/request.h"
#include "scoring/work.h"

/* So many devices of a resource, by its position in the node's inventory, are asked for; maybe 0. */
struct device_demand {
	size_t resource, n;
};

struct kubelet_workspace {
	struct work work; /* of the verdict; its limit */
	struct cpu_workspace *cpu;
	bool counting; /* only whether CPUs can be taken is asked, not which: see cpu_manager_try() */
	bool *sets;    /* what the next six lie in */
	bool *shared, *reusable, *available, *taken, *scratch[2];
	struct memory_books memory;
	struct memory_needs needs;
	struct device_books devices;
	struct device_demand *demands; /* sorted by resource */
	size_t n_demands;
	struct request_peak *peaks; /* scratch: per resource */
	bool *asked;
	struct topology_hints hints;
	struct topology_merge merge;
	struct kubelet_placement *placements;
	size_t placements_size;
	bool *cpus; /* the sets of the placements with exclusive CPUs */
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

/* What is asked for at one merge: by one container, or by the whole pod. ws->demands holds the devices. */
struct demand {
	const struct container_request *container; /* NULL = the pod */
	size_t cpus;                               /* exclusive ones */
	bool memory;                               /* ws->needs holds what is asked for */
};

/* Fill ws->demands: of a container, or of the pod as a whole when it is NULL. */
void kubelet_demand_devices(const struct judgement *j, const struct container_request *container);

/* ---- what a verdict costs, in steps (scoring/work.h) */

/* Reading the pod: its requests and limits, and the node's state. */
uint64_t kubelet_reading_steps(const struct judgement *j);

/* Making the hints for a number of CPUs, of one device resource, and for ws->needs. */
uint64_t kubelet_cpu_hint_steps(const struct judgement *j);
uint64_t kubelet_device_hint_steps(const struct judgement *j, const struct device_demand *demand);
uint64_t kubelet_memory_hint_steps(const struct judgement *j);

/* Making and merging the hints of a demand. */
uint64_t kubelet_merge_steps(const struct judgement *j, const struct demand *demand);

/* Merging one more resource to see whether something is still admitted, and looking up how an amount fits `nodes`. */
uint64_t kubelet_blame_steps(const struct judgement *j);
uint64_t kubelet_fit_steps(uint64_t nodes);

/* Allocating a container, without the choice of its CPUs and without memory hints. */
uint64_t kubelet_place_steps(const struct judgement *j, const struct demand *demand);

/* How often the memory manager's hints are merged: once a need, but from some number on nothing changes. */
size_t kubelet_memory_merges(const struct judgement *j);

/* reason = why the Topology Manager did not admit the demand; without the numbers where the work limit is met. */
void kubelet_explain_affinity(struct judgement *j, const struct demand *demand);
