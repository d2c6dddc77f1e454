/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A score report as a table for a person, and as a document for programs. */
#include "agent/base/doc.h"
#include "agent/cli/score_report.h"
#include "common/strbuf.h"

/* Columns as wide as what is in them; a node that does not pass has its reason at the end. 0 or
 * -ENOMEM/-EFBIG. */
int score_table(const struct score_row *rows, size_t n, struct strbuf *out);

/*
 * {"nodes": [{"name", "filter": {"passed", "reason"}, "numaNodes": [ids] or null, "minDistance", "scores":
 * {"LeastNUMANodes", "MostAllocated", "LeastAllocated", "BalancedAllocation", "Volcano"}, "volcano":
 * {"admitted", "reason"}}]}; a score that is not known, and minDistance when it is unknown, is null. 0 or
 * -ENOMEM.
 */
int score_to_doc(const struct score_row *rows, size_t n, struct doc *ret);
