/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One-line warnings that a function leaves for its caller. The caller decides whether to log, print or count
 * them.
 */
#include "common/strv.h"

struct notes {
	struct strv lines;
};

void notes_init(struct notes *n);
void notes_release(struct notes *n);

/* Append a line. `n` may be NULL: then nobody wants to know. */
__attribute__((format(printf, 2, 3))) void notes_add(struct notes *n, const char *fmt, ...);

/* Append the lines of `from`, each as "PREFIX: line"; `from` is empty afterwards. `n` may be NULL. */
void notes_move(struct notes *n, struct notes *from, const char *prefix);
