/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The scheduler plugin's side of a fit report.
 */
#include "agent/fit_report.h"

/* Filter, fit and scores of the pod on the inventory as it is published. 0 or -ENOMEM. */
int fit_scheduler_make(const struct fit_input *in, const struct pod_request *pod, struct fit_scheduler *ret);
