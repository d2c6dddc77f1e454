/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reports a plan of moves, and what a simulation of other settings changes.
 */
#include "cli/report/writer.h"
#include "cluster/plan/plan.h"
#include "cluster/plan/simulate.h"

/* Writes the steps, the outcome and, unless the plan is full, why. `c` is the cluster as the plan left it. */
void plan_report(struct writer *w, struct simulated_cluster *c, const struct plan *plan);

/* Writes the nodes that change, the pods that are affected, and totals. `copies`: copies of a shape were counted. */
void simulate_report(
	struct writer *w, const struct simulated_cluster *c, const struct simulation *s, bool copies);

/* Writes a row per node whose loss alone leaves pods without a place; with WRITER_WIDE and in documents per node. */
void simulate_report_losses(struct writer *w, const struct simulated_cluster *c, const struct simulation *s);
