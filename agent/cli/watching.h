/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * --watch: what a command prints, drawn again and again until a signal ends it.
 */
#include "agent/cli/opts.h"
#include "agent/show/terminal.h"

#define WATCHING_MAX (256u << 20) /* bytes of a picture */

/* The terminal that standard output is, as --color and --width have it. */
void watching_terminal(const struct options *options, struct terminal *ret);

/* Append one picture for this terminal to `out`. 0, or -errno with one line in `err`: that takes the picture's place,
 * for what cannot be read now may be readable the next time. */
typedef int watching_fn(
	const struct options *options, const struct terminal *terminal, struct strbuf *out, struct err *err);

/* Pictures every --watch seconds, drawn over each other on a terminal. Returns the exit status; it has logged what
 * went wrong. */
int watching(const struct options *options, watching_fn *draw);
