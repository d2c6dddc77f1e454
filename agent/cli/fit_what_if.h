/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What `nrtd fit` and `kubectl numa fit` share: the settings as asked for, and the exit status of an answer.
 */
#include "agent/cli/opts.h"
#include "agent/report/pod_report.h"

/* The settings as --policy, --scope and --option ask for them. 0; -EINVAL with one line for a bad --option. */
int fit_what_if(const struct options *options, struct settings *s, struct err *err);

/* The exit status of the verdict. Logs the reason of an unknown verdict. */
int fit_status(const struct node_report *n);
