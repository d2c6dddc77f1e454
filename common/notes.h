/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Notes: one-line warnings that a function leaves for its caller, who decides whether to log, print or count
 * them. Depends on libc only.
 */
#include <stddef.h>

struct notes {
	char **lines;
	size_t n_lines;
	size_t lines_size;
	int error; /* 0 or -ENOMEM: sticky, a note was lost */
};

void notes_init(struct notes *n);
void notes_release(struct notes *n);

/* Append a line. `n` may be NULL: then nobody wants to know. */
__attribute__((format(printf, 2, 3))) void notes_add(struct notes *n, const char *fmt, ...);

/* Append the lines of `from`, each as "PREFIX: line"; `from` is empty afterwards. `n` may be NULL. */
void notes_move(struct notes *n, struct notes *from, const char *prefix);
