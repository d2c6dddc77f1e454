/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * This process as Prometheus shows it under the standard names: start, resident memory, CPU time, open files.
 */
#include "common/strbuf.h"

struct process_stats {
	double start_s; /* seconds since 1970; 0 = not known */
};

/* Find when the process started. Once: a clock that is set later does not look like a restart. */
void process_stats_init(struct process_stats *p);

/* Append nrtd_build_info and the process_* families; what /proc does not have is left out. */
void process_stats_print(const struct process_stats *p, struct strbuf *out);
