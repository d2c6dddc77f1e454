/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the two ways of `nrtd fit` share: this machine, and a cluster's nodes.
 */
#include "agent/cli/fit_report.h"
#include "agent/cli/opts.h"

/* The settings as --policy, --scope and --option ask for them. 0; -EINVAL with one line for a bad --option; -ENOMEM. */
int fit_what_if(const struct options *options, struct settings *s, struct err *err);

/* The exit status of the answer; why there is none is logged. */
int fit_status(const struct fit_report *report);

/* The command with --nrt. Returns its exit status. */
int fit_nrt(const struct options *options, const struct pod_request *pod);
