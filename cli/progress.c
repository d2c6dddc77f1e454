/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/io/time.h"
#include "common/log.h"

#define FIRST_MS 500
#define NEXT_MS  100

#define REMOVE_LINE "\r\033[K"

/* A process has one standard error. */
static struct {
	bool active, shown;
	int64_t next_ms; /* when the next line may be shown */
} progress;

static void remove_progress(void)
{
	if (progress.shown)
		fputs(REMOVE_LINE, stderr);
	progress.shown = false;
}

/* The sink of the log: writes the line in place of the progress, by the default sink, which this function has replaced. */
static void log_above(enum log_level level, const char *line, void *data)
{
	remove_progress();
	log_set_sink(NULL, NULL);
	log_line(level, "%s", line);
	log_set_sink(log_above, data);
}

void progress_begin(void)
{
	const char *term = getenv("TERM");

	if (!isatty(STDERR_FILENO) || !term || !strcmp(term, "dumb"))
		return;
	progress.active = true;
	progress.next_ms = clock_ms(CLOCK_MONOTONIC) + FIRST_MS;
	log_set_sink(log_above, NULL);
}

void progress_show(const char *what, size_t done, size_t total)
{
	int64_t now_ms;

	if (!progress.active)
		return;
	now_ms = clock_ms(CLOCK_MONOTONIC);
	if (now_ms < progress.next_ms)
		return;
	progress.next_ms = now_ms + NEXT_MS;
	progress.shown = true;
	if (total > 0)
		fprintf(stderr, REMOVE_LINE "%zu of %zu %s", done, total, what);
	else
		fprintf(stderr, REMOVE_LINE "%zu %s", done, what);
}

void progress_end(void)
{
	if (!progress.active)
		return;
	remove_progress();
	progress.active = false;
	log_set_sink(NULL, NULL);
}
