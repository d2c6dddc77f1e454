/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A fit report for a person at a terminal.
 */
#include "agent/report/fit_report.h"
#include "common/strbuf.h"

/* What is said of a pod with resourceClaims. */
#define FIT_CLAIMS "not looked at: its resourceClaims; the answer is without what they ask for"

/* "16 CPUs, 32Gi memory (Guaranteed)" */
void fit_text_request(const struct resource_list *wanted, enum qos_class qos, struct strbuf *out);

/* "12 CPUs instead of 16", of a report that has found a nearest request. */
void fit_text_nearest(const struct fit_report *report, struct strbuf *out);

/* Append the text, a few lines. What failed is in the buffer's sticky error. */
void fit_text(const struct fit_report *report, const struct inventory *inventory, struct strbuf *out);
