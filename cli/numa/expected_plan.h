/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Compares a plan of moves with a plan that a person has reviewed: `kubectl numa plan --apply --expect FILE`.
 */
#include "cluster/plan/plan.h"
#include "cluster/plan/simulated_cluster.h"
#include "common/doc.h"
#include "common/err.h"

/* Reads a plan from a file of `kubectl numa plan -o json` or `-o yaml`; "-" = standard input. The caller releases *ret. 0; -EINVAL
 * with one line for another file; errors of fs_read_argument(). */
int expected_plan_read(const char *path, struct doc *ret, struct err *err);

/*
 * Whether the expected plan has every step of the plan: the same action for the same pod, from and to the same nodes. It may have
 * more steps, which have been done. 0; -EPERM with one line that names a step. `path` is for the line.
 */
int expected_plan_check(const struct doc *expected, const char *path, const struct simulated_cluster *c,
	const struct plan *plan, struct err *err);
