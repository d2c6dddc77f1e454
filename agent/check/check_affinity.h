/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Pods that may only run where a label of nrtd's says so, for `nrtd check`. A kubelet that restarts admits the
 * pods that run again, against labels which their own CPUs have lowered, and refuses them.
 */
#include <stdbool.h>

#include "agent/base/doc.h"
#include "agent/check/check_report.h"
#include "common/strv.h"

/* Whether a Node's document carries such labels. */
bool check_affinity_labelled(const struct doc *node);

/* Append "NAMESPACE/NAME" of each pod in a PodList that requires one. 0 or -ENOMEM. */
int check_affinity_pods(const struct doc *list, struct strv *ret);

/* Append an item that names some of them. */
void check_affinity_report(const struct strv *pods, struct check_report *report);
