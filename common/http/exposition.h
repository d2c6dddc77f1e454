/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Prints metrics in the text format of Prometheus, version 0.0.4. Includes the metrics that every nrtd
 * process has. Errors stay in the strbuf.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/strbuf.h"

enum exposition_kind { COUNTER, GAUGE, HISTOGRAM };

/* The HELP and TYPE lines of a family. */
void exposition_head(struct strbuf *out, const char *name, const char *help, enum exposition_kind kind);

/* name="value", with the value escaped. */
void exposition_label(struct strbuf *out, const char *name, const char *value);

/* The shortest decimal that parses to the same double, as other exporters print; "+Inf" and "-Inf". */
void exposition_number(struct strbuf *out, double value);

/* A family of one series without labels. */
void exposition_one(
	struct strbuf *out, const char *name, const char *help, enum exposition_kind kind, double value);

/* nrtd_certificate_expiry_timestamp_seconds with the label `use`: "client", "server". Prints nothing if
 * `until_s` (seconds since 1970) is 0: no certificate. */
void exposition_certificate(struct strbuf *out, const char *use, int64_t until_s);

/* ---- this process */

struct process_stats {
	double start_s; /* seconds since 1970; 0 = unknown */
};

/* Computes the start time of the process. Call once, so that a later change of the clock does not look like a
 * restart. */
void process_stats_init(struct process_stats *p);

/* Prints nrtd_build_info and the process_* families; values that /proc does not have are omitted. */
void process_stats_print(const struct process_stats *p, struct strbuf *out);
