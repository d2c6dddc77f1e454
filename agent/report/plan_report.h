/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reports a plan of moves.
 */
#include "agent/cluster/plan.h"
#include "agent/report/writer.h"

/* Writes the steps, the outcome and, unless the plan is full, why. `c` is the cluster as the plan left it. */
void plan_report(struct writer *w, struct simulated_cluster *c, const struct plan *plan);
