/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Shows on a terminal how far long work is: one line on standard error, which is rewritten, and removed at the end. Prints nothing if
 * standard error is no terminal.
 */
#include <stddef.h>

/* Starts the work of a command. Lines of the log appear above the progress from now on, until progress_end(). */
void progress_begin(void);

/* "3 of 10 pods planned" (done, total, what); without a total (0) "3 objects read". May be called often: shows a line from half a second
 * after progress_begin() on, ten times per second at most. No effect unless progress_begin() was called. */
void progress_show(const char *what, size_t done, size_t total);

/* Removes the line. */
void progress_end(void);
