/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The kubelet's pod-resources API, for `nrtd check`.
 */
#include "agent/node/check/check_report.h"
#include "agent/node/observe/observe.h"
#include "common/machine.h"

/* An item for the socket: its state, the API's version, how long an answer takes, what is in it; and one for
 * each call that the kubelet does not offer, with the feature gate that it wants. True when it has answered. */
bool check_pod_resources(const struct observe_config *config, const char *kubelet_root,
	const struct machine *machine, struct check_report *report);
