/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a command looks at: this node, observed and modelled as its flags say.
 */
#include "agent/cli/opts.h"
#include "agent/cluster/cluster_node.h"
#include "agent/cluster/cluster_usage.h"
#include "agent/cluster/scheduling_constraints.h"
#include "agent/node/observe/observe.h"

/* With --nrt a machine is looked at by its object: -EINVAL with one line when a flag names another source for it. */
int check_nrt_conflicts(const struct options *options, struct err *err);

/* A warning for a node whose object has a node state that cannot be read: the first few are named, the others
 * counted in *n. */
void observe_local_warn(const struct cluster_node *node, size_t *n);

/* And how many others there were. */
void observe_local_warn_rest(size_t n);

/*
 * Add the Nodes and Pods that --nodes and --pods name, to the constraints too (NULL = none). 0 or as object_input_read() and
 * cluster_usage_add(); -EINVAL with one line for Pods that can have no part in the answer.
 */
int observe_local_usage(const struct options *options, struct cluster_usage *u,
	struct scheduling_constraints *constraints, struct err *err);

/* 0 or -errno with one line in `err`; `ret` (as after observation_init()) is to be released in any case. */
int observe_local(const struct options *options, struct observation *ret, struct err *err);
