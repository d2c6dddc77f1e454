/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Inside of fit_report.h: the scheduler plugin's side of a fit report. */
#include "agent/report/fit_report.h"

/* Filter, fit and scores of the pod on the inventory as it is published. */
int fit_scheduler_make(
	const struct node_state *node, const struct pod_request *pod, struct fit_scheduler *ret);
