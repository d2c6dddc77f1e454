/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One list of holders from two: the API knows pods by name, the state files by UID.
 */
#include "common/allocation.h"

/*
 * Complete `api` (by name, sorted afterwards) from `files` (by UID): a pod of the API gets its UID where one
 * of its containers is the same in both, by name and by the CPUs or devices it holds; what only the files
 * hold is added, with the pod's name where the UID is known. Memory is the API's. 0 or -ENOMEM.
 */
int allocations_join(struct allocations *api, const struct allocations *files);
