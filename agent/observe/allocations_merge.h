/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Combines the two reports of who holds what: the pod-resources API, which names pods, and the state files,
 * which have their UIDs. Pairs the pods of both, removes pods that have ended, finds contradictions, and
 * makes one list.
 */
#include "agent/observe/pod_evidence.h"
#include "common/allocation.h"
#include "common/strbuf.h"

/*
 * Set the UIDs of the pods of `api` (sorted; it has only names) from the pods of `files` (which have only
 * UIDs). Two pods are the same if a container of the same name holds the same CPUs or devices; otherwise if
 * all containers with memory hold the same memory, and no log directory shows another name for the UID. If
 * several pods hold the same memory, as many pods as possible are paired, first those that the kubelet has
 * not forgotten. The order of items does not change.
 */
void allocations_set_uids(
	struct allocations *api, const struct allocations *files, const struct pod_evidence *e);

/* ---- pods that have ended */

/*
 * The kubelet removes ended pods from its state files only when it next admits a pod, before it decides.
 * Until then the files list resources of ended pods, although these resources are free. Both functions below
 * remove ended pods from `files`.
 *
 * Without the API: a pod has ended if the kubelet has forgotten it (pod_evidence_gone()). A completed pod
 * that is not deleted yet looks like a running pod.
 */
void allocations_end_by_files(struct allocations *files, const struct pod_evidence *e);

/* The pods of the API, and how far the list can be relied on. */
struct pods_listed {
	struct allocations *api; /* an item for each container, sorted; UIDs are set if they are found */
	const struct pod_ref *pods;
	size_t n_pods;
	bool young; /* the kubelet has just started: it may not list all of its pods yet */
};

/*
 * With the API: a pod of `files` that the API does not list has ended. Pods are compared by what their
 * containers hold (allocations_set_uids()), then by the name in the pod's logs. Some pods have ended only if
 * the kubelet has also forgotten them: a pod without a known name, because it may be a listed pod whose only
 * holders are ordinary init containers, which the API does not list; any pod just after the kubelet's start,
 * because the API may list it soon; and any pod while the logs are hidden.
 */
void allocations_end_by_api(
	struct allocations *files, const struct pods_listed *listed, const struct pod_evidence *e);

/* ---- one list */

/*
 * Compare both reports of one moment and append the contradictions, "; " between: "CPUs held: '4-5' by the
 * API, '' by the files". `api` has its memory state made from its blocks. Returns the number of
 * contradictions.
 *
 * The files may list more than the API: an ordinary init container keeps its resources until it is removed,
 * and the API does not list it. Ended pods must be removed from `files` first (allocations_end_by_api()): an
 * ended pod disappears from the API at once, from cpu_manager_state within the kubelet's reconcile period (10
 * s), but from the other files only when the kubelet next admits a pod, on a full node possibly never. The
 * files must have everything that the API lists. The registered devices and the allocatable amounts must be
 * equal. Parts that only one source reports are not compared.
 */
int cross_check(const struct allocations *api, const struct allocations *files, struct strbuf *out);

/*
 * Complete `api` (sorted afterwards) from `files`: holdings that only the files have are added, with the
 * pod's name where `api` has the UID. Memory is added only if `memory` is set, that is, if the files' memory
 * state is used.
 */
void allocations_add_from_files(struct allocations *api, const struct allocations *files, bool memory);
