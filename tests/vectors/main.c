/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vectors FILE...: a line for each file, before it a line for each value that differs; the last line is
 * "N passed, N failed". Status 0, 1 when anything failed, 2 when a file is not what it seems.
 */
#include "tests/vectors/vectors.h"

#include <stdarg.h>

#include "common/cleanup.h"
#include "tests/vectors/kubelet_support.h"

#define MAX_DEFECTS 32

struct vectors_run {
	const char *id;
	bool differed;
	unsigned long passed, failed, explained;
	struct {
		const char *name;
		unsigned long count;
	} defects[MAX_DEFECTS];
	size_t n_defects;
};

/* The first recogniser that says yes runs the file. */
static const struct vectors_format *const formats[] = {
	&vectors_scheduler,
	&vectors_scheduler_scenarios,
	&vectors_scheduler_upstream,
	&kubelet_cases_format,
	&kubelet_cpu_manager_format,
	&kubelet_pods_format,
	&kubelet_topology_manager_format,
	NULL,
};

void vectors_begin(struct vectors_run *run, const char *id)
{
	run->id = id;
	run->differed = false;
}

void vectors_differ(struct vectors_run *run, const char *fmt, ...)
{
	va_list ap;

	printf("  %s: ", run->id);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	run->differed = true;
}

void vectors_explain(struct vectors_run *run, const char *defect)
{
	size_t i = 0;

	while (i < run->n_defects && strcmp(run->defects[i].name, defect) != 0)
		i++;
	if (i == MAX_DEFECTS) {
		vectors_differ(run, "more than %d kinds of defects", MAX_DEFECTS);
		return;
	}
	if (i == run->n_defects)
		run->defects[run->n_defects++].name = defect;
	run->defects[i].count++;
	run->explained++;
}

void vectors_end(struct vectors_run *run)
{
	if (run->differed)
		run->failed++;
	else
		run->passed++;
}

static const struct vectors_format *find_format(const struct vj_file *file)
{
	size_t i = 0;

	if (!vj_first_case(file))
		return NULL;
	while (formats[i] && !formats[i]->recognise(file))
		i++;
	return formats[i];
}

static void print_line(const char *path, const char *format, const struct vectors_run *run)
{
	printf("%-6s %s (%s): %lu passed, %lu failed", run->failed ? "FAIL" : "ok", path, format, run->passed,
		run->failed);
	if (run->explained > 0)
		printf(", explained: %lu (", run->explained);
	for (size_t i = 0; i < run->n_defects; i++)
		printf("%s%s: %lu", i > 0 ? "; " : "", run->defects[i].name, run->defects[i].count);
	puts(run->explained > 0 ? ")" : "");
}

static void run_file(const char *path, struct vectors_run *run)
{
	const struct vectors_format *format;
	struct vj_file file = {0};
	struct err err = {""};

	run->id = path;
	if (vj_load(path, &file, &err) < 0) {
		vectors_differ(run, "%s", err.text);
		run->failed++;
		return;
	}
	format = find_format(&file);
	if (format)
		format->run(run, &file);
	else
		vectors_differ(run, "a format that is not known here");
	if (!format || run->passed + run->failed == 0)
		run->failed++;
	print_line(path, format ? format->name : "unknown", run);
	vj_release(&file);
}

int main(int argc, char **argv)
{
	unsigned long passed = 0, failed = 0;

	if (argc < 2) {
		fputs("usage: vectors FILE...\n", stderr);
		return 2;
	}
	for (int i = 1; i < argc; i++) {
		struct vectors_run run = {0};

		run_file(argv[i], &run);
		passed += run.passed;
		failed += run.failed;
	}
	printf("%lu passed, %lu failed\n", passed, failed);
	return failed > 0 ? 1 : 0;
}
