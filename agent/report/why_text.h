/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A report of why_report.h for a person, and as a document for programs. */
#include "agent/base/doc.h"
#include "agent/report/why_report.h"
#include "common/strbuf.h"

/* What became of the pod, a table of the nodes where they are asked, and its events. 0 or -EFBIG. */
int why_text(const struct why_report *r, struct strbuf *out);

/*
 * {"pod": {"namespace", "name", "uid", "stage", "phase", "reason", "message", "node", "owner", "qosClass", "requests":
 * {NAME: QUANTITY}, "schedulerMessage", "schedulingGates": bool}, "alignment", "notGuaranteed", "held": {"cpus",
 * "numaNodes": [ids]} or null, "takes", "unknown", "estimated", "nodes": [the items of cluster_fit_to_doc(), each
 * with "keptAway": what keeps the pod from it, or ""], "notLookedAt": [texts], "events": [{"type", "reason", "message",
 * "source", "count", "ageSeconds": or null}], or null where they were not read}. takes, unknown and estimated are null
 * and nodes is empty for a pod that has its node.
 */
void why_to_doc(const struct why_report *r, struct doc *ret);
