/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A score report as a table for a person, and as a document for programs. */
#include "agent/base/doc.h"
#include "agent/report/score_report.h"
#include "common/strbuf.h"

/*
 * What the kubelet says, as one word: "admit", the reason in the pod's status ("TopologyAffinityError"), "reject"
 * where it has none, "?" where the answer is not known; with "~" before an estimate.
 */
void kubelet_word(enum kubelet_answer answer, const char *rejection, enum cluster_basis basis, char ret[64]);

/*
 * A row a node. `wide`: the scores of every strategy and Volcano's, the amounts in the reasons. 0 or -EFBIG.
 */
int score_table(const struct score_report *report, bool wide, bool headings, struct strbuf *out);

/* "node/NAME" of each node that takes the pod, a line each, in the report's order. */
void score_names(const struct score_report *report, struct strbuf *out);

/*
 * {"nodes": [{"name", "kubelet": {"answer", "rejection", "reason", "basis"}, "filter": {"passed", "reason"},
 * "numaNodes": [ids] or null, "minDistance", "scores": {"LeastNUMANodes", "MostAllocated", "LeastAllocated",
 * "BalancedAllocation", "Volcano"}, "volcano": {"admitted", "reason"}}]}; answer is "admit", "reject" or
 * "unknown", basis "exact", "estimated" or "unknown". A score that is not known, and minDistance when it is
 * unknown, is null.
 */
void score_to_doc(const struct score_report *report, struct doc *ret);
