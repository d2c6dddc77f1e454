/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Whether the API server restricts this identity to its own node's objects, for `nrtd check`.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/kube/api_client.h"
#include "agent/node/check/check_report.h"

struct own_node_check {
	struct api_client *client;
	const char *node_name;
	const char *user; /* who the API server says we are; NULL = it does not say */
	bool is_node;     /* a kubelet's identity */
	int64_t until_ms; /* no request after this, CLOCK_MONOTONIC */
};

/*
 * Append one item. It is from dry runs of writes that the admission policy nrtd-own-node denies: the object of a node that
 * does not exist, and an annotation of this Node that is not under nrtd.dev/. A kubelet may write the second for its own
 * reasons, so for a kubelet's identity only the first is tried. Nothing is changed on the API server.
 */
void check_own_node(const struct own_node_check *c, struct check_report *report);
