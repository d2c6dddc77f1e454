/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Draws what a command shows: once, or with --watch repeatedly until a signal ends it.
 */
#include "agent/cli/opts.h"
#include "agent/report/terminal.h"
#include "common/err.h"
#include "common/node_state.h"

/* Append one picture for this terminal to `out`. 0, or -errno with one line in `err`: under --watch that takes the
 * picture's place, for what cannot be read now may be readable the next time. */
typedef int watching_fn(const struct options *options, void *data, const struct terminal *terminal,
	struct strbuf *out, struct err *err);

/* One picture, or one every --watch seconds, drawn over each other on a terminal. Returns the exit status; it has logged
 * what went wrong. `failed` is the exit status when a single picture cannot be made. */
int watching(const struct options *options, watching_fn *draw, void *data, int failed);

/* The flags of `show` that exclude each other. 0; -EINVAL with one line. */
int watching_check(const struct options *options, struct err *err);

/* Draws a node as --output has it, appended to `out`. 0, or -errno with one line. */
int watching_draw(const struct options *options, const struct node_state *state, const struct notes *notes,
	const struct terminal *terminal, struct strbuf *out, struct err *err);
