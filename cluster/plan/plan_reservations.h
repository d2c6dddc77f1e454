/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Counts the reservations that the steps of a plan need, so that no plan begins whose reservations a Node cannot hold.
 *
 * Reservations are annotations of the Node on which a pod starts. A tenant decides how large those of its pods are.
 */
#include <stdbool.h>
#include <stddef.h>

#include "cluster/plan/plan.h"
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

/* Adds the reservations of the steps. False, and no change: a Node cannot hold them. */
bool plan_reservations_add(struct plan_reservations *r, const struct plan_step *steps, size_t n);
