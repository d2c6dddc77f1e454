/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Why schedulers keep a pod away from a node whatever the node has free, and whatever pods are there: cordon, taints, the
 * node's readiness, node selector, required node affinity. kube-scheduler 1.35 is the model.
 */
#include "agent/base/doc.h"

/*
 * What keeps the pod (a Pod or a pod template, NULL = one that wants nothing of the kind) from the node (a Node): "cordoned",
 * "taint KEY=VALUE:EFFECT is not tolerated", "not ready", "nodeSelector KEY=VALUE does not match", "node affinity does not
 * match"; the first of these. `bound`: spec.nodeName names the node already, so no scheduler is asked, and the node's
 * kubelet looks at the labels and at taints with the effect NoExecute alone. *ret is malloc'd and the caller's, "" where
 * nothing keeps the pod away.
 */
void node_constraints_violated(const struct doc *pod, const struct doc *node, bool bound, char **ret);

/* The parts of it that topology spread constraints ask about: node selector and affinity; taints. */
bool node_constraints_select(const struct doc *pod, const struct doc *node);
bool node_constraints_tolerate(const struct doc *pod, const struct doc *node);

/* The pod has volumes that some nodes can mount and others cannot, at which nobody looks here. */
bool pod_has_volumes(const struct doc *pod);
