/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Combines the two reports of who holds what: the pod-resources API, which names pods, and the state files,
 * which have their UIDs. Pairs the pods of both, removes pods that have ended, finds contradictions, and
 * makes one list.
 */
#include "agent/node/observe/pod_evidence.h"
#include "common/allocation.h"
#include "common/strbuf.h"

/*
 * Give each pod of `api` (by name, sorted) the UID of the same pod in `files`: one of its containers holds
 * the same CPUs or devices under the same name; else all its containers that hold memory hold the same, and
 * no log gives that UID to a pod of another name. Where several pods hold the same memory, as many pods of
 * `api` as possible are paired with one of `files`, preferring pods that the kubelet has not forgotten. The
 * order of items is kept.
 */
void allocations_find_uids(
	struct allocations *api, const struct allocations *files, const struct pod_evidence *e);

/* ---- pods that have ended */

/*
 * The kubelet removes an ended pod from its state files when it next admits a pod, and decides as if the
 * files were clean already. Until then the resources of such a pod are free and still listed. Both
 * functions take these pods out of `files`.
 *
 * By the files alone: a pod has ended when the kubelet has forgotten it (pod_evidence_gone()). A pod that
 * is completed and not deleted looks like a running pod.
 */
void allocations_end_by_files(struct allocations *files, const struct pod_evidence *e);

/* The pods of the API, and how far the list can be relied on. */
struct pods_listed {
	struct allocations
		*api; /* an item for each container, sorted; UIDs are filled in where they are found out */
	const struct pod_ref *pods;
	size_t n_pods;
	bool young; /* the kubelet has just started: it may not list all of its pods yet */
};

/*
 * By the API: a pod that the API does not list has ended. Which pod is listed is determined by what its
 * containers hold (allocations_find_uids()), then by its logs. A pod whose name stays unknown may be a
 * listed pod that holds something by ordinary init containers only, because the API does not list these. A
 * pod that a kubelet does not list just after its start may be listed soon. Both have ended only when the
 * kubelet has forgotten them.
 */
void allocations_end_by_api(
	struct allocations *files, const struct pods_listed *listed, const struct pod_evidence *e);

/* ---- one list */

/*
 * Compare both reports of one moment and append the contradictions, "; " between: "CPUs held: '4-5' by the
 * API, '' by the files". `api` has its memory state made from its blocks. Returns the number of
 * contradictions.
 *
 * The files may hold more than the API lists, which is no contradiction: an ordinary init container keeps
 * its resources until it is removed, and the API does not list it; and an ended pod leaves the API at once,
 * cpu_manager_state within the kubelet's reconcile period (10 s), but memory and devices only when the
 * kubelet next admits a pod, which on a full node is never. So `files` must be without ended pods
 * (allocations_end_by_api()). What the API lists the files must have. The registered devices and the
 * allocatable amounts must be equal. A part that one of them does not report is not compared.
 */
int cross_check(const struct allocations *api, const struct allocations *files, struct strbuf *out);

/*
 * Complete `api` (sorted afterwards) from `files`: holdings that only the files have are added, with the
 * pod's name where `api` has the UID. Memory only if `memory` (the files' memory state counts): what an
 * init container keeps is its pod's.
 */
void allocations_join(struct allocations *api, const struct allocations *files, bool memory);
