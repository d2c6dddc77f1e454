/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * fs_root: reads files and directories below a root directory. The root "" is the live system.
 *
 * Symbolic links below a root resolve as in a process with this root directory (chroot(2)) and never lead out
 * of the root. A path that begins with /proc/PID/root is below the root of that process in the same way.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "common/err.h"
#include "common/strbuf.h"
#include "common/vec.h"

/* open(2) root + path with O_CLOEXEC. Returns a file descriptor that the caller closes, or -errno. */
int fs_open(const char *root, const char *path, int flags);

/* stat(2) root + path. 0 or -errno; *ret is untouched on failure. */
int fs_stat(const char *root, const char *path, struct stat *ret);

/*
 * Resolve the symbolic links in root + path as they are now, and write the result to the empty `out`: for
 * functions that take a path and would follow links out of the root. With "" as the root, only the links of a path
 * below /proc/PID/root are resolved. A '/' at the end is kept. 0; -ELOOP, -ENAMETOOLONG.
 */
int fs_resolve(const char *root, const char *path, struct strbuf *out);

/* Append the content of the file root + path to `out`. Returns and `out` as fs_read_file(). */
int fs_read(const char *root, const char *path, struct strbuf *out, struct err *err);

/* A directory of which many small files are read. The caller fills it in. */
struct fs_directory {
	const char *root, *path; /* borrowed */
	int fd; /* fs_open(root, path, O_PATH | O_DIRECTORY); a negative number if that failed */
};

/*
 * Appends the content of a file below the directory to `out`. Returns and `out` as fs_read(), but cheaper, because only `name` is looked
 * up. Without openat2(2) or d->fd, and for a name with symbolic links, which only fs_read() follows, this is fs_read().
 */
int fs_read_in(const struct fs_directory *d, const char *name, struct strbuf *out, struct err *err);

/*
 * List the numbers N of all entries of the directory root + path with the name prefix + N + suffix,
 * ascending: fs_list_numbers(root, "/sys/devices/system/node", "node", "", ...). N is decimal without leading
 * zeros; a number beyond 64 bits becomes UINT64_MAX. *ret_numbers is malloc'd and the caller's, also for no
 * numbers. 0 or -errno as fs_read(); outputs untouched on failure.
 */
int fs_list_numbers(const char *root, const char *path, const char *prefix, const char *suffix,
	uint64_t **ret_numbers, size_t *ret_n, struct err *err);

/*
 * Append the names of the entries of the directory root + path, ascending, to the empty `ret`; names that
 * begin with '.' are skipped. 0 or -errno as fs_list_numbers(); after a failure `ret` may have some names.
 */
int fs_list(const char *root, const char *path, struct strv *ret, struct err *err);

/*
 * Look up root + path, of any file type: 1 if it exists, 0 if it certainly does not, -errno with one line if that is unknown,
 * for example because permissions hide it.
 */
int fs_lookup(const char *root, const char *path, struct err *err);

/*
 * What the -errno of a function above says. Absent: the file does not exist, or the process or the device that it is of has
 * gone. Transient: nrtd or the system has run out of something, and the same call may succeed later. All others: the file exists, and
 * cannot be read or is damaged.
 */
bool fs_is_absent(int r);
bool fs_is_transient(int r);

/* For a source of many files, of which each may be missing, hidden or damaged: keeps the first transient failure. Zeroed is the
 * start. */
struct fs_reads {
	struct err last; /* of the call that is passed to fs_reads_add(): its last argument */
	int r;           /* the first transient failure, and its line */
	struct err err;
};

/* Whether the call that got &reads->last and returned `r` has succeeded. Keeps `r` and its line if this is the first transient failure. */
bool fs_reads_add(struct fs_reads *reads, int r);

/* 0; or -errno of the first transient failure, with one line. */
int fs_reads_result(const struct fs_reads *reads, struct err *err);
