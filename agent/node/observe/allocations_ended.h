/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Pods that have ended, taken out of what the state files list. The kubelet cleans its files when it next
 * decides about a pod, and decides as if they were clean; until then what such a pod held is free and still
 * listed.
 */
#include "agent/node/observe/pod_evidence.h"
#include "common/allocation.h"
#include "common/pod_ref.h"

/*
 * By the files alone: a pod has ended when the kubelet has forgotten it (pod_evidence_gone()). A pod that is
 * completed and not deleted looks like a running one.
 */
void allocations_end_by_files(struct allocations *files, const struct pod_evidence *e);

/* What the API says about pods, and how far it can be relied on. */
struct pods_listed {
	struct allocations
		*api; /* an item for each container, sorted; UIDs are filled in where they are found out */
	const struct pod_ref *pods;
	size_t n_pods;
	bool young; /* the kubelet has just started: it may not list all of its pods yet */
};

/*
 * With the API: a pod that it does not list has ended. Which pod is listed is found out by what its
 * containers hold (allocations_find_uids()), then by its logs. A pod whose name stays unknown may be a listed
 * one that holds something by ordinary init containers only, because these are not listed. A pod that a kubelet
 * does not list just after its start may be listed soon. Both have ended only when the kubelet has forgotten
 * them.
 */
void allocations_end_by_api(
	struct allocations *files, const struct pods_listed *listed, const struct pod_evidence *e);
