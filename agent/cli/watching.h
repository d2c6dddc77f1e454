/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a command draws: once, or with --watch again and again until a signal ends it.
 */
#include "agent/cli/opts.h"
#include "agent/report/terminal.h"

/* Append one picture for this terminal to `out`. 0, or -errno with one line in `err`: under --watch that takes the
 * picture's place, for what cannot be read now may be readable the next time. */
typedef int watching_fn(
	const struct options *options, const struct terminal *terminal, struct strbuf *out, struct err *err);

/* One picture, or one every --watch seconds, drawn over each other on a terminal. Returns the exit status; it has logged
 * what went wrong. A file of --nrt that cannot be read is usage. */
int watching(const struct options *options, watching_fn *draw);
