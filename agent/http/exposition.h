/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The text that Prometheus reads, version 0.0.4: heads of families, labels, numbers. Errors stay in the strbuf.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/strbuf.h"

enum exposition_kind { COUNTER, GAUGE, HISTOGRAM };

/* The two lines before a family's series. */
void exposition_head(struct strbuf *out, const char *name, const char *help, enum exposition_kind kind);

/* name="value", with what has to be escaped in the value. */
void exposition_label(struct strbuf *out, const char *name, const char *value);

/* The shortest decimal that reads back as the same double, as other exporters print; "+Inf" and "-Inf". */
void exposition_number(struct strbuf *out, double value);

/* A family of one series without labels. */
void exposition_one(
	struct strbuf *out, const char *name, const char *help, enum exposition_kind kind, double value);

/* When a certificate ends, in seconds since 1970, and what it is used for: "client", "server". `until_s` 0 = there is
 * none, and nothing is printed. */
void exposition_certificate(struct strbuf *out, const char *use, int64_t until_s);
