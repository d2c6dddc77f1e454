/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reports what a simulation of other settings changes.
 */
#include "agent/cluster/simulate.h"
#include "agent/report/writer.h"

/* Writes the nodes that change, the pods that are affected, and totals. `copies`: copies of a shape were counted. */
void simulate_report(
	struct writer *w, const struct simulated_cluster *c, const struct simulation *s, bool copies);

/* Pods that lose their place, and pods whose verdict is unknown. */
size_t simulate_count_lost(const struct simulation *s);
size_t simulate_count_unknown(const struct simulation *s);
