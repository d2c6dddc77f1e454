/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Explains why the Topology Manager does not admit a pod, in one sentence with the numbers. For kubelet_judge.c alone.
 * Depends on common/ and scoring/ only.
 */
#include "scoring/kubelet_steps.h"

/*
 * Sets the verdict's reason for a demand that is not admitted: the first resource that is not admitted, alone or with those before it. Uses
 * the workspace. Beyond the work limit the reason has no numbers.
 */
void kubelet_explain_affinity(struct judgement *j, const struct demand *demand);

/*
 * Sets the verdict's reason for the memory needs in the workspace for which no NUMA nodes have enough: the first type that is short on the whole
 * node, or all types. Beyond the work limit all types.
 */
void kubelet_explain_memory(struct judgement *j);
