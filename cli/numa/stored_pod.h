/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds the pod that the API server would store for a manifest: LimitRanges, RuntimeClasses, PriorityClasses and webhooks change pods, and the
 * API server refuses some.
 *
 * With an API server it is asked by a dry run (dryRun=All), which stores nothing. Without one, or without the right to create pods, the pod is
 * taken as written, with the defaults of pod_parse.h.
 */
#include "cli/numa/source.h"
#include "cli/opts.h"
#include "cli/report/fit_report.h"
#include "cluster/objects/pod_parse.h"

struct stored_pod {
	struct doc object;            /* of the dry run; null = the pod as written */
	struct pod_template template; /* of `object` */
	struct pod_form form;
};

void stored_pod_release(struct stored_pod *p);

/*
 * Replaces *picked, a template of the command's file or flags, by that of the stored pod; `ret`, which must not be moved, owns it. Pods of
 * flags, and Pods with a UID, stay as they are. 0; -EINVAL with one line: the API server refuses the pod; with --dry-run=server also other
 * errors.
 */
int stored_pod_find(const struct options *options, struct source *source, const struct pod_template **picked,
	struct stored_pod *ret, struct err *err);
