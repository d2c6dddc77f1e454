/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads a Node: whether pods may start on it, and what it has for them.
 */
#include <stdbool.h>

#include "common/doc.h"
#include "common/err.h"
#include "common/request.h"

/* The status of a Node's condition Ready: "True", "False" or "Unknown"; "True" for a Node without the condition. */
const char *node_ready_status(const struct doc *node);

/* Whether spec.unschedulable is set. */
bool node_is_cordoned(const struct doc *node);

/* Whether the Node is ready and not cordoned: totals of free amounts omit other nodes. */
bool node_is_usable(const struct doc *node);

/*
 * Copies what the constraints of kube-scheduler read of a Node: the name, labels, taints, the cordon and the condition Ready. `ret` is to be
 * released.
 */
void node_copy_constraints(const struct doc *node, struct doc *ret);

/* status.allocatable of a Node. 0; -EINVAL with one line. */
int node_allocatable(const struct doc *node, struct resource_list *ret, struct err *err);
