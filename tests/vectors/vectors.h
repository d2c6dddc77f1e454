/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * build/vectors FILE...: recorded decisions of the real schedulers and of the kubelet, compared with the
 * scoring core's. A format is a recogniser and a runner; main.c holds the table of them.
 */
#include <stdbool.h>

#include "tests/vectors/vectors_json.h"

/* Counts of one file; filled through the functions below, printed by main.c. */
struct vectors_run;

/* Start a case; every comparison until vectors_end() belongs to it. The id must live until then. */
void vectors_begin(struct vectors_run *run, const char *id);

/* A value differs: prints "ID: TEXT", the text saying what, nrtd's value and the recorded one. */
__attribute__((format(printf, 2, 3))) void vectors_differ(struct vectors_run *run, const char *fmt, ...);

/* A value differs and that is an upstream defect which nrtd does not copy: the caller has verified that the
 * input triggers the defect and that nrtd's answer is the one its table of defects states. `defect` is a
 * string of static storage such as "D1 zone ids with holes". */
void vectors_explain(struct vectors_run *run, const char *defect);

/* Count the case as failed if anything differed, else as passed. */
void vectors_end(struct vectors_run *run);

struct vectors_format {
	const char *name;
	bool (*recognise)(const struct vj_file *file); /* by content alone, never by the file's name */
	void (*run)(struct vectors_run *run, const struct vj_file *file);
};

extern const struct vectors_format vectors_scheduler; /* scheduler.json */
extern const struct vectors_format
	vectors_scheduler_scenarios; /* scheduler_scenarios.jsonl, edge_cases.json */
extern const struct vectors_format vectors_scheduler_upstream; /* upstream_cases.json */
