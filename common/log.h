/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Writes one line per event to stderr: lower case, no full stop, 'quoted' subjects, key=value tail. Under
 * journald (JOURNAL_STREAM is set) each line starts with the syslog level, "<4>". scoring/ and common/ return what went
 * wrong; of these folders only common/kube/ and common/xalloc.c log. Depends on libc only.
 */
#include "common/err.h"

enum log_level { LOG_LEVEL_ERROR = 3, LOG_LEVEL_WARNING = 4, LOG_LEVEL_INFO = 6 };

/* Log this level and more severe levels (default: LOG_LEVEL_WARNING). */
void log_set_level(enum log_level level);

/* Set the name printed before each line, except under journald (default: "nrtd"). Borrowed. */
void log_set_program(const char *name);

/* Send lines elsewhere (tests); NULL restores stderr. */
void log_set_sink(void (*sink)(enum log_level level, const char *line, void *data), void *data);

__attribute__((format(printf, 2, 3))) void log_line(enum log_level level, const char *fmt, ...);

/* Log each note as a warning. */
void log_notes(const struct notes *notes);

#define log_error(...)   log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)    log_line(LOG_LEVEL_INFO, __VA_ARGS__)
