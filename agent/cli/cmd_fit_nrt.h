/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * nrtd fit --nrt: the nodes of a cluster.
 */
#include "agent/cli/opts.h"
#include "common/request.h"

/* Returns the command's exit status. */
int fit_nrt(const struct options *options, const struct pod_request *pod);
