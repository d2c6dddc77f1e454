/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Counts the reservations that a plan needs of each Node, which can hold RESERVATIONS_MAX at most.
 *
 * Reservations are annotations of the Node on which a pod starts. A tenant decides how large those of its pods are.
 */
#include <stdbool.h>
#include <stddef.h>

#include "cluster/plan/simulated_cluster.h"

/* Bytes of all reservations of a Node: half of what the API server accepts of annotations. */
#define PLAN_RESERVATIONS_BYTES ((size_t)128 << 10)

struct plan_reservations {
	const struct simulated_cluster *c;
	size_t *bytes, *n; /* per node */
};

void plan_reservations_release(struct plan_reservations *r);

/* Counts the cluster's reservations that no pod of the cluster uses. After simulated_apply_reservations(). */
void plan_reservations_init(struct plan_reservations *r, const struct simulated_cluster *c);

/* Whether a reservation of the pod is too large for any Node. */
bool plan_reservations_too_large(const struct simulated_pod *pod);

/*
 * Adds the reservation of a pod that is to start on the node, unless the pod needs none: it starts nowhere (SIMULATED_NOWHERE), or no
 * kubelet has to align it. False, and no change, if the Node cannot hold the reservation: it would have more than RESERVATIONS_MAX, or too many
 * bytes. plan_reservations_remove() removes the reservation again.
 */
bool plan_reservations_add(struct plan_reservations *r, size_t pod, size_t node);
void plan_reservations_remove(struct plan_reservations *r, size_t pod, size_t node);
