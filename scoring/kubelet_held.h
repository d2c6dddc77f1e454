/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Makes the hints with which a restarted kubelet admits a running pod again. These hints follow from what the pod
 * holds by the managers' state files, not from what is free. The rules are those of
 * pkg/kubelet/cm/cpumanager/policy_static.go, memorymanager/policy_static.go (regenerateHints),
 * devicemanager/topology_hints.go and manager.go (devicesToAllocate) in 1.34.12, 1.35.8, 1.36.5, 1.37.2 and
 * 1.38.0-beta.0.
 * For kubelet_judge.c alone. Depends on common/ and scoring/ only.
 */
#include "scoring/kubelet.h"

/*
 * Whether the state files determine the hints of the CPU manager (if by_cpu_manager) and of the memory
 * manager (if by_memory_manager); if not, `reason` says why.
 */
bool kubelet_held_is_known(const struct kubelet *k, struct kubelet_workspace *ws,
	const struct kubelet_held *held, const struct pod_request *pod, enum qos_class qos,
	bool by_cpu_manager, bool by_memory_manager, struct err *reason);

/*
 * Whether the files have what the device manager's hints for resource `r` of the inventory depend on; if not,
 * `reason` names the resource. Devices of ordinary init containers are unknown: a kubelet may reject the pod
 * (kubernetes/kubernetes#138446).
 */
bool kubelet_held_knows_devices(const struct kubelet *k, const struct kubelet_held *held,
	const struct pod_request *pod, size_t r, struct err *reason);

/*
 * Sets ws->hints to the hints for what container `i` of the pod holds, or the whole pod if `i` is the number of containers: `n`
 * exclusive CPUs; memory for one of the needs in the workspace; `n` devices of resource `r`. Only for what is known by the
 * functions above.
 */
void kubelet_held_cpu_hints(const struct kubelet *k, struct kubelet_workspace *ws,
	const struct kubelet_held *held, const struct pod_request *pod, size_t i, size_t n);
void kubelet_held_memory_hints(struct kubelet_workspace *ws, const struct kubelet_held *held,
	const struct pod_request *pod, size_t i, const struct memory_need *need);
void kubelet_held_device_hints(const struct kubelet *k, struct kubelet_workspace *ws,
	const struct kubelet_held *held, const struct pod_request *pod, size_t i, size_t r, size_t n);

/* Why the Topology Manager rejects what the pod holds, in one sentence. False, without a sentence: the pod holds nothing of NUMA nodes. */
bool kubelet_held_explain(const struct kubelet *k, const struct kubelet_held *held,
	const struct pod_request *pod, struct err *ret);
