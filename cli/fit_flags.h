/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Applies the flags that `nrtd fit` and `kubectl numa fit` have in common, and finds the exit status.
 */
#include "cli/opts.h"
#include "cli/report/pod_report.h"
#include "cluster/model/cluster.h"

/* Set --policy, --scope and --option in the settings. 0; -EINVAL with one line for an invalid --option. */
int fit_flags_assume(const struct options *options, struct settings *s, struct err *err);

/* The pods of --without-pod. */
void fit_flags_exclude(const struct options *options, struct excluded_pods *ret);

/*
 * With --what-frees: add to the report which pods must be evicted, by --below-priority. The pods of `node` (NULL = unknown) give the
 * holders in `state` their names, their requests, and their priorities. `requestable`: what pods can still request of
 * the node in total; NULL = unknown.
 */
void fit_flags_add_victims(const struct options *options, const struct node_info *node,
	const struct resource_list *requestable, const struct node_state *state,
	const struct pod_request *pod, struct node_report *n);

/* The exit status of the verdict. Logs the reason of an unknown verdict. */
int fit_flags_status(const struct node_report *n);
