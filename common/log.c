/* SPDX-License-Identifier: Apache-2.0 */
#include "common/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/text.h"

static enum log_level max_level = LOG_LEVEL_WARNING;
static void (*log_sink)(enum log_level level, const char *line, void *data);
static void *log_sink_data;
static const char *program_name = "nrtd";

void log_set_level(enum log_level level)
{
	max_level = level;
}

void log_set_program(const char *name)
{
	program_name = name;
}

void log_set_sink(void (*sink)(enum log_level level, const char *line, void *data), void *data)
{
	log_sink = sink;
	log_sink_data = data;
}

void log_line(enum log_level level, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (level > max_level)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	text_one_line(line);
	if (log_sink)
		log_sink(level, line, log_sink_data);
	else if (getenv("JOURNAL_STREAM"))
		fprintf(stderr, "<%d>%s\n", (int)level, line);
	else
		fprintf(stderr, "%s: %s%s\n", program_name, level == LOG_LEVEL_WARNING ? "warning: " : "",
			line);
}

void log_notes(const struct notes *notes)
{
	for (size_t i = 0; i < notes->lines.n_items; i++)
		log_warning("%s", notes->lines.items[i]);
}
