/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Pods that may only run where a label of nrtd's says so, for `nrtd check`. A kubelet that restarts admits the
 * pods that run again, against labels which their own CPUs have lowered, and refuses them.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/base/doc.h"
#include "agent/kube/api_client.h"
#include "agent/node/check/check_report.h"

/* Whether a Node's document carries such labels. */
bool check_affinity_labelled(const struct doc *node);

/*
 * Append an item: which of the Node's pods require such a label, or that they cannot be listed. No request after
 * `until_ms` of CLOCK_MONOTONIC.
 */
void check_affinity(
	struct api_client *client, const char *node_name, int64_t until_ms, struct check_report *report);
