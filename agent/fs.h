/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reading files under a root directory ("" = the live system), with a cap on every size.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/strbuf.h"

#define FS_FILE_MAX (1024u * 1024u) /* cap of an ordinary configuration or state file, in bytes */

/*
 * Read the whole of root + path into `out` (appended; out->max is the cap). 0 or -errno; the error names the
 * path. -ENOENT and -EACCES are as open(2) gives them, -EFBIG when the file is larger than the cap, -EISDIR
 * for a directory. `out` is unchanged on failure.
 */
int fs_read(const char *root, const char *path, struct strbuf *out, struct err *err);

/* The rest of an open file; `name` is what errors call it. Returns and `out` as fs_read(). */
int fs_read_fd(int fd, const char *name, struct strbuf *out, struct err *err);

/* A file that the user named: waits for pipes, "-" is standard input. Returns and `out` as fs_read(). */
int fs_read_argument(const char *path, struct strbuf *out, struct err *err);

/*
 * The numbers N of all entries of the directory root + path that are named prefix + N + suffix, N decimal
 * without leading zeros, ascending: fs_list_numbers(root, "/sys/devices/system/node", "node", "", ...). A
 * number beyond 64 bits reads as UINT64_MAX. *ret_numbers is malloc'd and the caller's, also for no numbers.
 * 0 or -errno as fs_read(); outputs untouched on failure.
 */
int fs_list_numbers(const char *root, const char *path, const char *prefix, const char *suffix,
	uint64_t **ret_numbers, size_t *ret_n, struct err *err);

/* root + path exist (any kind of file). */
bool fs_exists(const char *root, const char *path);
