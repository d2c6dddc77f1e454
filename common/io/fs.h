/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * fs: reads files and file arguments of commands with a limit on their size, and writes standard output.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/err.h"
#include "common/strbuf.h"

#define FS_FILE_MAX (1024u * 1024u) /* maximum size of an ordinary configuration or state file, in bytes */

/*
 * Append the content of the file to `out`, whose `max` is the size limit. Does not wait for a pipe's writer. 0
 * or -errno; the error names the path. -ENOENT and -EACCES come from open(2); -EFBIG: the file is larger than
 * the limit; -EISDIR: a directory. `out` is unchanged on failure.
 */
int fs_read_file(const char *path, struct strbuf *out, struct err *err);

/* Append the rest of an open file to `out`, as fs_read_file(). `name` is for errors. */
int fs_read_fd(int fd, const char *name, struct strbuf *out, struct err *err);

/* Open a file argument of a command for reading: waits for pipes, "-" is standard input. Returns a file
 * descriptor that the caller closes, or -errno. */
int fs_open_argument(const char *path, struct err *err);

/* How messages name a file argument: `path` itself, or "standard input" for "-". */
const char *fs_argument_name(const char *path);

/* Read a file argument. Returns and `out` as fs_read_file(). */
int fs_read_argument(const char *path, struct strbuf *out, struct err *err);

/* Whether a file argument can be read only once: standard input or a pipe. */
bool fs_is_read_once(const char *path);

/* Sets *copy to a temporary file with the content of the file argument, at its start. The first call, with NULL in *copy, reads the argument:
 * at most 1 GiB. The caller closes *copy, also after an error. 0 or -errno. */
int fs_copy_argument(const char *path, FILE **copy, struct err *err);

/* ---- standard output of commands */

/* Write to standard output and flush it, so that a full disk or a closed pipe is an error. 0 or -errno. */
int output_write(const char *text, size_t len);

/*
 * Write a text for people that has no control sequences of its own. text_multi_line() makes names from
 * outside safe for a terminal. 0, -errno, or the buffer's error.
 */
int output_text(struct strbuf *text);
