/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * check_report: what `nrtd check` found, source by source, as plain data; printed as text or JSON.
 */
#include <stdint.h>

#include "agent/base/doc.h"
#include "common/strbuf.h"

enum check_level {
	CHECK_OK,
	CHECK_NOTE, /* nothing is wrong, but some of what nrtd can do will not be done */
	CHECK_WARN, /* something is not known; nrtd does what it can */
	CHECK_FAIL, /* nrtd cannot do its work */
	CHECK_LEVEL_COUNT
};

extern const char *const check_level_names[CHECK_LEVEL_COUNT]; /* "ok", "note", "warn", "FAIL" */

#define CHECK_NO_AGE (-1)

/* Texts are owned; NULL = there is none. */
struct check_item {
	enum check_level level;
	const char *source; /* "cpu_manager_state"; borrowed */
	char *path;         /* of the file or socket */
	const char *state;  /* "read", "absent", "denied", "broken", ...; borrowed */
	char *format;       /* "v2" */
	int64_t age_s;      /* since the file was written, or CHECK_NO_AGE */
	char *text;         /* what there is to say */
	char *remedy;       /* what to do about it */
};

struct check_report {
	struct check_item *items;
	size_t n_items;
	size_t items_size;
	int error; /* 0, sticky */
};

void check_report_release(struct check_report *r);

/* Append an item with a text; its other members are the caller's to set. Valid until the next one. */
__attribute__((format(printf, 4, 5))) struct check_item *check_report_add(
	struct check_report *r, enum check_level level, const char *source, const char *fmt, ...);

/* Append an item that has no path. `state` is borrowed; `remedy` may be NULL. */
void check_report_line(struct check_report *r, enum check_level level, const char *source, const char *state,
	const char *text, const char *remedy);

/* Set a text of an item. `item` may be NULL, a failure is remembered. */
__attribute__((format(printf, 2, 3))) void check_report_set(char **slot, const char *fmt, ...);

/* A span of time as people say it: "90 s", "12 min", "5 h", "3 days". */
void check_span(int64_t seconds, struct strbuf *out);

/* The worst level. */
enum check_level check_report_level(const struct check_report *r);

/* One line an item, a second for a remedy. */
void check_report_text(const struct check_report *r, struct strbuf *out);

/* {level, sources: [{level, source, path, state, format, ageSeconds, text, remedy}]}; null = there is none. */
void check_report_doc(const struct check_report *r, struct doc *ret);
