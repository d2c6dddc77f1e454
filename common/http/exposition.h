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

#define EXPOSITION_LABELS 2

/* The series of one name. Each program has its families in one table. */
struct exposition_family {
	const char *name, *help;
	enum exposition_kind kind;
	const char *labels[EXPOSITION_LABELS]; /* their names; NULL = no label */
};

struct exposition_histogram {
	const double *bounds;
	size_t n_bounds;
	const uint64_t
		*counts; /* in (bounds[i - 1], bounds[i]]; the last one, counts[n_bounds]: above all bounds */
	double sum;
};

/* The HELP and TYPE lines of a family; the samples follow. */
void exposition_head(struct strbuf *out, const struct exposition_family *f);

/*
 * A sample with the values of the family's labels, which are escaped; a label is omitted without a value (NULL), and a value without
 * a label. The number is the shortest decimal that parses to the same double, as other exporters print; "+Inf" and "-Inf".
 */
void exposition_sample(struct strbuf *out, const struct exposition_family *f, const char *label1,
	const char *label2, double value);

/* The samples of a histogram with these values of the labels. */
void exposition_histogram(struct strbuf *out, const struct exposition_family *f, const char *label1,
	const char *label2, const struct exposition_histogram *h);

/* A family of one series without labels. */
void exposition_one(struct strbuf *out, const struct exposition_family *f, double value);

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
