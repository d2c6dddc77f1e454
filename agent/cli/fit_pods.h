/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What `nrtd fit` and `kubectl numa fit` take from Pod objects: who may go, and who is gone.
 */
#include "agent/cli/opts.h"
#include "agent/cluster/cluster_usage.h"
#include "agent/report/fit_report.h"

/* The pods of --without-pod. */
void fit_pods_gone(const struct options *options, struct excluded_pods *ret);

/*
 * Add to the report which pods would have to go, by --what-frees and --below-priority, if that is asked for. `use` (NULL
 * = nothing is known) gives the holders in `state` their names, what they ask for of the shared pool, and their
 * priorities. `most` as for fit_report_make().
 */
void fit_pods_add_frees(const struct options *options, const struct node_usage *use,
	const struct resource_list *most, struct node_state *state, const struct pod_request *pod,
	struct fit_report *report);
