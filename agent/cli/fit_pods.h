/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What `nrtd fit` and `kubectl numa fit` take from Pod objects: the excluded pods, and the possible victims.
 */
#include "agent/cli/opts.h"
#include "agent/cluster/cluster_usage.h"
#include "agent/report/pod_report.h"

/* The pods of --without-pod. */
void fit_pods_gone(const struct options *options, struct excluded_pods *ret);

/*
 * Adds to the report which pods must be evicted, as --what-frees and --below-priority ask. `use` (NULL =
 * unknown) gives the holders in `state` their names, their requests, and their priorities.
 */
void fit_pods_add_victims(const struct options *options, const struct node_usage *use,
	struct node_state *state, const struct pod_request *pod, struct node_report *n);
