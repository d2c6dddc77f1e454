/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Decides which pods one node's kubelet admits, how many copies of a pod, and which is the largest pod. All
 * callers (commands, hints, the extender, plans and simulations) get their verdicts on a node from a struct
 * node_admission, which is built from the node's state.
 */
#include "common/node_state.h"
#include "scoring/admit.h"
#include "scoring/exclusive_cpus.h"

struct node_admission {
	const struct node_state *state;
	struct settings settings; /* a shallow copy, which node_admission_what_if() changes */
	struct machine known;     /* the machine of the kubelet's start, if it differs from the hardware */
	const struct machine *machine; /* as the kubelet knows it: `known` or the state's */
	hwloc_bitmap_t reserved; /* reserved CPUs of that machine, if the running kubelet reports them */

	/*
	 * The registered devices of every resource for which the NUMA nodes of all devices are known (a
	 * device may have none). Devices that a container holds are allocated.
	 */
	struct device_inventory devices;

	/*
	 * free: the amounts that pods can still request of the whole node, for the kubelet's last check
	 * (OutOfcpu and the like). cpu and memory: the node's allocatable amounts (capacity minus
	 * kubeReserved, systemReserved and evictionHard, as the kubelet's GetNodeAllocatableReservation() and
	 * the node status have them) minus what is held exclusively. Upper bounds: pods of the shared pool
	 * take from them too, which no file shows, and an unknown reservation is not subtracted. Hugepages:
	 * every size that the node has, those of the machine whatever the zones omit, or those of the zones
	 * where the machine's pools are unknown. Devices: those that no container holds.
	 *
	 * unsure: amounts that may be free in addition: held by containers that may be init containers or may
	 * have been resized. The kubelet counts the most that a pod needs at one time, and no file shows
	 * which of its containers have been init containers. Of a resized container the kubelet counts what
	 * the container asks for now, while its managers keep what the container had.
	 */
	struct resource_list free, unsure;

	struct kubelet kubelet;
	struct kubelet_workspace *ws;
	struct admit_handlers handlers; /* for admit_copies() and nearest_request_find(), after a judge */
	uint64_t work_limit;            /* per judge; KUBELET_WORK_MAX unless the caller sets it */
	uint64_t steps;                 /* of the last judge */
};

/*
 * Uses the reserved CPUs that a running kubelet reports. Without a report the kubelet's settings decide; a
 * kubelet whose policy requires reserved CPUs and has none would not start. `state` must outlive `a`
 * unchanged. `a` must not be moved.
 */
void node_admission_init(struct node_admission *a, const struct node_state *state);
void node_admission_release(struct node_admission *a);

/* Replace the Topology Manager's configuration for all later verdicts, whatever the node's settings are. */
void node_admission_what_if(struct node_admission *a, const struct topology_manager_config *config);

/*
 * Limit what pods can request of the whole node to `requestable`: the node's allocatable amounts minus what
 * all its pods request, including pods of the shared pool. Amounts of the node's state that are lower stay.
 */
void node_admission_limit(struct node_admission *a, const struct resource_list *requestable);

/*
 * What pods can still request of the whole node, for node_admission_limit(), if all its pods request `requested`:
 * cpu, memory, hugepages and known devices. Where exclusive CPUs or memory can be resized in place, the kubelet counts
 * more than pods request while it resizes them; cpu or memory are then omitted. *ret is to be released.
 */
void node_admission_requestable(
	const struct node_state *state, const struct resource_list *requested, struct resource_list *ret);

/* The kubelet's verdict on a pod of class request_qos(), as admit_judge(). */
void node_admission_judge(
	struct node_admission *a, const struct pod_request *pod, struct kubelet_verdict *ret);

/* The node-level reason of a verdict: "insufficient cpu", "perhaps insufficient cpu", or "unknown" = none. The caller
 * frees the text. */
char *node_admission_explain_amounts(const struct kubelet_verdict *v);

/* What is known about the node's devices of one resource: which are free, and on which NUMA nodes. */
enum device_knowledge {
	DEVICES_KNOWN,
	DEVICES_ABSENT, /* the node has none: no plugin has registered the resource */
	DEVICES_UNKNOWN,
	DEVICES_COUNT
};

/* DEVICES_KNOWN also for native resources (cpu, memory, hugepages and the like), which are not devices. */
enum device_knowledge node_admission_devices(const struct node_admission *a, const char *resource);

#define DEVICES_NOT_KNOWN "which devices of %s are free is not known"

/* The first of these resources that is a device resource of which nothing is known; NULL = none. A verdict on a pod that requests the
 * resource does not count the resource. */
const char *node_admission_unknown_device(const struct node_admission *a, const struct resource_list *wanted);

/* How many copies of a pod the kubelet admits one after the other. */
struct pod_copies {
	bool known;
	bool at_least; /* there may be more */
	size_t n;
};

/* 0 copies if the first copy is rejected. Unknown if the verdict on the first copy or the requested devices
 * are unknown. */
void node_admission_copies(struct node_admission *a, const struct pod_request *pod, struct pod_copies *ret);

/*
 * The exclusive CPUs of the largest pod on at most `n_nodes` NUMA nodes, a pod of one Guaranteed container
 * that requests nothing else: the largest number in `admitted` (the CPU counts that the node's policy admits)
 * that is free on `n_nodes` NUMA nodes and on the node as a whole. 0 = no such pod is admitted. False if the
 * number is unknown.
 */
bool node_admission_largest(const struct node_admission *a, const struct exclusive_cpus_admitted *admitted,
	unsigned n_nodes, size_t *ret);

/*
 * Whole CPUs that can still be requested of the node as a whole: a pod that requests more is rejected
 * (OutOfcpu), whatever the NUMA nodes have free. CPUs that init containers may have held count as free.
 */
size_t node_admission_requestable_cpus(const struct node_admission *a);

/*
 * The free CPUs that remain on the NUMA nodes after the kubelet has admitted as many of the smallest pods in
 * `admitted` as it can. `admitted` must be known.
 */
size_t node_admission_stranded_cpus(
	const struct node_admission *a, const struct exclusive_cpus_admitted *admitted);

/*
 * The free CPUs that remain on the NUMA nodes after the kubelet has admitted `copies` of the pod, as computed
 * by node_admission_copies(). False if the number is unknown, or if the pod requests no CPUs.
 */
bool node_admission_copies_stranded_cpus(const struct node_admission *a, const struct pod_request *pod,
	const struct pod_copies *copies, size_t *ret);

/*
 * The CPU manager's shared pool, from the manager's state. Policy none keeps no state: then every online CPU
 * if no container holds a CPU, because a kubelet that changes to static starts with this pool. NULL =
 * unknown. Borrowed from `state`.
 */
hwloc_const_bitmap_t node_shared_cpus(const struct node_state *state);
