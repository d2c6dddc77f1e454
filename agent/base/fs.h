/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reading files under a root directory ("" = the live system), with a cap on every size. A link below a root
 * is followed as by a process whose root directory it is: it never leads out of it. A path that begins with
 * /proc/PID/root is below the root of that process in the same way.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "common/err.h"
#include "common/strbuf.h"
#include "common/vec.h"

#define FS_FILE_MAX (1024u * 1024u) /* cap of an ordinary configuration or state file, in bytes */

/* open(2) of root + path, with O_CLOEXEC: a file descriptor that the caller closes, or -errno. */
int fs_open(const char *root, const char *path, int flags);

/*
 * Append what the file holds to `out`; `path` is below the folder that fs_open() opened with O_PATH. For many small
 * files of one folder, whose own path is walked once. 0 or -errno with `out` unchanged; -ELOOP where a link is on the
 * way, which only fs_read() follows; -ENOSYS or -EPERM without openat2(2).
 */
int fs_read_below(int folder, const char *path, struct strbuf *out);

/* stat(2) of root + path. 0 or -errno, *ret then untouched. */
int fs_stat(const char *root, const char *path, struct stat *ret);

/*
 * root + path with the links followed that are there by now, into the empty `out`: for what takes a path and
 * follows links by itself. "" as the root leaves that to the system. A '/' at the end stays. 0; -ELOOP,
 * -ENAMETOOLONG.
 */
int fs_resolve(const char *root, const char *path, struct strbuf *out);

/*
 * Read the whole of root + path into `out` (appended; out->max is the cap). 0 or -errno; the error names the
 * path. -ENOENT and -EACCES are as open(2) gives them, -EFBIG when the file is larger than the cap, -EISDIR
 * for a directory. `out` is unchanged on failure.
 */
int fs_read(const char *root, const char *path, struct strbuf *out, struct err *err);

/* A file that the user named, for reading: waits for pipes, "-" is standard input. A file descriptor that the
 * caller closes, or -errno. */
int fs_open_argument(const char *path, struct err *err);

/* The whole of one. Returns and `out` as fs_read(). */
int fs_read_argument(const char *path, struct strbuf *out, struct err *err);

/*
 * The numbers N of all entries of the directory root + path that are named prefix + N + suffix, N decimal
 * without leading zeros, ascending: fs_list_numbers(root, "/sys/devices/system/node", "node", "", ...). A
 * number beyond 64 bits reads as UINT64_MAX. *ret_numbers is malloc'd and the caller's, also for no numbers.
 * 0 or -errno as fs_read(); outputs untouched on failure.
 */
int fs_list_numbers(const char *root, const char *path, const char *prefix, const char *suffix,
	uint64_t **ret_numbers, size_t *ret_n, struct err *err);

/*
 * The names of the directory root + path, ascending, without those that begin with '.'; appended to `ret`. 0 or -errno
 * as fs_list_numbers(); `ret` may then hold some.
 */
int fs_list(const char *root, const char *path, struct strv *ret, struct err *err);

/* root + path exist (any kind of file) and can be reached. */
bool fs_exists(const char *root, const char *path);

/* root + path certainly do not exist: one that cannot be looked at may. */
bool fs_is_absent(const char *root, const char *path);

/* ---- standard output */

/* Write to standard output, and out of its buffer, so that a full disk or a closed pipe is noticed. 0 or
 * -errno.
 */
int output_write(const char *text, size_t len);

/*
 * The same for text of a buffer that people read and that has no control sequences of ours: names in it may come
 * from anywhere, and none of them reaches a terminal as one (text_multi_line()). 0, -errno, or the buffer's error.
 */
int output_text(struct strbuf *text);
