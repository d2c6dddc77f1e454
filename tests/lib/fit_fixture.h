/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A node as observed, a pod, and the report on it.
 */
#include "cli/report/pod_report.h"

struct fit_fixture {
	struct node_state node;
	struct pod_request pod;
	struct pod_report pods;
	struct node_report report;
};

/* Policies static, None, restricted, in scope container; the machine is the caller's to fill in. */
void fit_fixture_init(struct fit_fixture *f);
void fit_fixture_release(struct fit_fixture *f);

/* The CPUs of the shared pool; all others that are not reserved are held by some container. */
void fit_fixture_set_shared(struct fit_fixture *f, const char *shared, const char *reserved);

/* Report on the fixture's pod, or on the one of this text (tests/lib/pods.h). */
void fit_fixture_report(struct fit_fixture *f);
void fit_fixture_report_on(struct fit_fixture *f, const char *pod);
