/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/http/exposition.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const kind_names[] = {"counter", "gauge", "histogram"};

void exposition_head(struct strbuf *out, const char *name, const char *help, enum exposition_kind kind)
{
	strbuf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind_names[kind]);
}

void exposition_label(struct strbuf *out, const char *name, const char *value)
{
	strbuf_addf(out, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			strbuf_addch(out, '\\');
		if (*value == '\n')
			strbuf_addstr(out, "\\n");
		else
			strbuf_addch(out, *value);
	}
	strbuf_addch(out, '"');
}

void exposition_number(struct strbuf *out, double value)
{
	char text[32];

	if (isinf(value)) {
		strbuf_addstr(out, value > 0 ? "+Inf" : "-Inf");
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (!(strtod(text, NULL) < value || strtod(text, NULL) > value))
			break;
	}
	strbuf_addstr(out, text);
}

void exposition_one(
	struct strbuf *out, const char *name, const char *help, enum exposition_kind kind, double value)
{
	exposition_head(out, name, help, kind);
	strbuf_addf(out, "%s ", name);
	exposition_number(out, value);
	strbuf_addch(out, '\n');
}

void exposition_certificate(struct strbuf *out, const char *use, int64_t until_s)
{
	static const char name[] = "nrtd_certificate_expiry_timestamp_seconds";

	if (until_s == 0)
		return;
	exposition_head(out, name, "When the certificate that nrtd shows ends, by its use.", GAUGE);
	strbuf_addf(out, "%s{use=\"%s\"} %" PRId64 "\n", name, use, until_s);
}
