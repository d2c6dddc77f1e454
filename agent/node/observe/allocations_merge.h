/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One list of holders from two: the API knows pods by name, the state files by UID.
 */
#include "agent/node/observe/pod_evidence.h"
#include "common/allocation.h"

/*
 * Give a pod of `api` (by name, sorted) the UID of the pod of `files` that is the same: one of its containers
 * holds the same CPUs or devices under the same name; else all that hold memory hold the same, and no log gives
 * that UID to a pod of another name. Where several pods hold the same memory, as many of `api` as can be find one
 * of `files`, rather those that the kubelet has not forgotten. The order of items is kept.
 */
void allocations_find_uids(
	struct allocations *api, const struct allocations *files, const struct pod_evidence *e);

/* The first item of the pod with this UID (not ""), or NULL. */
const struct allocation *allocations_pod_with(const struct allocations *a, const char *uid);

/*
 * Complete `api` (sorted afterwards) from `files`: what only the files hold is added, with the pod's name
 * where the UID is known in `api`. Of memory only where `memory` says that the files' state of it counts: what an init
 * container keeps is its pod's.
 */
void allocations_join(struct allocations *api, const struct allocations *files, bool memory);
