/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * nrtd fit --nrt: the nodes of a cluster.
 */
#include "agent/cli/opts.h"
#include "agent/cluster/pod_parse.h"

/* Returns the command's exit status. */
int fit_nrt(const struct options *options, const struct pod_template *pod);
