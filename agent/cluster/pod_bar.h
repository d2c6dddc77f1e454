/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Why schedulers keep a pod away from a node whatever it has free: node selector, taints, cordons.
 */
#include "agent/base/doc.h"
#include "common/strv.h"

/*
 * What keeps the pod (a Pod) from the node (a Node): "cordoned", "taint KEY=VALUE:EFFECT is not tolerated",
 * "nodeSelector KEY=VALUE does not match"; the first that does. *ret is malloc'd and the caller's, "" where none of
 * the three does. A toleration of an operator that is not known tolerates. 0 or -ENOMEM.
 */
int pod_bar_find(const struct doc *pod, const struct doc *node, char **ret);

/* What else of the pod schedulers look at and pod_bar_find() does not: "node affinity", "volumes". 0 or -ENOMEM. */
int pod_bar_others(const struct doc *pod, struct strv *ret);
