/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Draws a command's picture once, or with --watch repeatedly until a signal ends the watch.
 */
#include "cli/opts.h"
#include "cli/report/terminal.h"
#include "common/err.h"
#include "common/node_state.h"

/* Append one picture for this terminal to `out`. 0, or -errno with one line, which --watch prints in the picture's place.
 * `data` is that of watching(). */
typedef int watching_fn(const struct options *options, void *data, const struct terminal *terminal,
	struct strbuf *out, struct err *err);

/* Draws one picture, or with --watch one picture every SECONDS; on a terminal each picture replaces the previous one.
 * Logs errors. Returns the exit status, which is `failed` if a single picture cannot be drawn. */
int watching(const struct options *options, watching_fn *draw, void *data, int failed);

/* Check the flags of `show` that exclude each other. 0; -EINVAL with one line. */
int watching_check(const struct options *options, struct err *err);

/* Append the picture of a node, in the format of --output. 0, or -errno with one line. */
int watching_draw(const struct options *options, const struct node_state *state, const struct notes *notes,
	const struct terminal *terminal, struct strbuf *out, struct err *err);
