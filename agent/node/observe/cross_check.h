/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Do the pod-resources API and the state files say the same?
 */
#include "common/allocation.h"
#include "common/strbuf.h"

/*
 * Compare what both report of one moment and append what contradicts, "; " between: "CPUs held: '4-5' by the
 * API, '' by the files". `api` has its memory state made from its blocks.
 *
 * The files may hold more than the API lists, and that does not contradict: an ordinary init container keeps
 * what it held until it is removed and the API does not list it; and a pod that has ended leaves the API at
 * once, cpu_manager_state within the kubelet's reconcile period (10 s), but memory and devices only when the
 * kubelet next decides about a pod, which on a full node is never. So `files` are compared after such pods
 * were left out (allocations_ended.h). What the API lists the files must have. What is registered and what is
 * allocatable must be equal. Parts that one of them does not report are not compared.
 *
 * The number of contradictions,.
 */
int cross_check(const struct allocations *api, const struct allocations *files, struct strbuf *out);
