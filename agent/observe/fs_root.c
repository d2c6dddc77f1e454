/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/fs_root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/xalloc.h"

#define FS_PATH_MAX ((size_t)2 * PATH_MAX) /* a root and a path below it */
#define LINKS_MAX   40                     /* symbolic links in one path; the kernel has the same limit */

static int join_path(const char *root, const char *path, struct strbuf *out)
{
	strbuf_addstr(out, root);
	strbuf_addstr(out, path);
	return strbuf_error(out);
}

static void truncate_to(struct strbuf *text, size_t len)
{
	/* An empty buffer without memory of its own has the constant strbuf_empty as its text. */
	if (text->size > 0) {
		text->len = len;
		text->text[len] = '\0';
	}
}

/* ---- below a root */

/* The length of "/proc/PID/root" at the start of the path, otherwise 0. */
static size_t process_root_length(const char *path)
{
	static const char proc[] = "/proc/", root[] = "/root/";
	size_t n = strlen(proc), digits;

	if (strncmp(path, proc, n) != 0)
		return 0;
	digits = strspn(path + n, "0123456789");
	if (digits == 0 || strncmp(path + n + digits, root, strlen(root)) != 0)
		return 0;
	return n + digits + strlen(root) - 1;
}

/*
 * Split root + *path: `ret` becomes the root directory, `root` or the process root at the start of the path,
 * and *path the rest. In a saved tree a process root is a directory; a symbolic link there would lead out of
 * the tree. 0 or -errno.
 */
static int split_root(const char *root, const char **path, struct strbuf *ret)
{
	size_t n = process_root_length(*path);
	struct stat st;

	strbuf_addstr(ret, root);
	if (n > 0) {
		strbuf_add(ret, *path, n);
		if (strbuf_error(ret) == 0 && (!*root || (lstat(ret->text, &st) == 0 && S_ISDIR(st.st_mode))))
			*path += n;
		else if (strbuf_error(ret) == 0)
			truncate_to(ret, strlen(root));
	}
	return strbuf_error(ret);
}

/* rest = target + tail: replace a symbolic link in a path with its target. `tail` is a part of `rest`. */
static int prepend_target(char rest[FS_PATH_MAX], const char *target, size_t n, const char *tail)
{
	char text[FS_PATH_MAX];
	int len = snprintf(text, sizeof(text), "%.*s%s", (int)n, target, tail);

	if ((size_t)len >= sizeof(text))
		return -ENAMETOOLONG;
	memcpy(rest, text, (size_t)len + 1);
	return 0;
}

/* Resolve the symbolic links in root + path into the empty `out`. 0 or -errno. `out` grows name by name, `rest` from `p` on is not resolved yet;
 * neither ".." nor an absolute target leads above the root. */
static int resolve_links(const char *root, const char *path, struct strbuf *out)
{
	char rest[FS_PATH_MAX], target[PATH_MAX];
	size_t base = strlen(root), len;
	unsigned links = 0;

	if (strlen(path) >= sizeof(rest))
		return -ENAMETOOLONG;
	memcpy(rest, path, strlen(path) + 1);
	strbuf_addstr(out, root);
	for (const char *p = rest + strspn(rest, "/"); *p; p += strspn(p, "/")) {
		size_t above = out->len;
		ssize_t n;

		len = strcspn(p, "/");
		if (len == 2 && !strncmp(p, "..", len)) {
			const char *slash = strrchr(out->text + base, '/');

			truncate_to(out, slash ? (size_t)(slash - out->text) : base);
		}
		if (*p == '.' && (len == 1 || (len == 2 && p[1] == '.'))) {
			p += len;
			continue;
		}
		strbuf_addf(out, "/%.*s", (int)len, p);
		if (strbuf_error(out) < 0)
			return strbuf_error(out);
		p += len;
		n = readlink(out->text, target, sizeof(target));
		if (n <= 0) /* no symbolic link */
			continue;
		if (++links > LINKS_MAX)
			return -ELOOP;
		truncate_to(out, *target == '/' ? base : above);
		if (prepend_target(rest, target, (size_t)n, p) < 0)
			return -ENAMETOOLONG;
		p = rest;
	}
	if (*path && path[strlen(path) - 1] == '/')
		strbuf_addch(out, '/');
	return strbuf_error(out);
}

/* For kernels and system call filters without openat2(2). Not safe against a tree that changes at the same
 * time. */
static int open_resolved(const char *root, const char *path, int flags)
{
	CLEANUP(strbuf_release) struct strbuf full = STRBUF_INIT(FS_PATH_MAX);
	int fd, r = resolve_links(root, path, &full);

	if (r < 0)
		return r;
	fd = open(full.text, flags | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

static int open_below(const char *root, const char *path, int flags)
{
	const struct open_how how = {.flags = (unsigned)flags, .resolve = RESOLVE_IN_ROOT};
	CLEANUP(closep) int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	long fd;

	if (dir < 0)
		return -errno;
	fd = syscall(__NR_openat2, dir, path, &how, sizeof(how));
	if (fd >= 0)
		return (int)fd;
	/* EAGAIN: a directory was renamed while the kernel resolved "..". */
	return errno == ENOSYS || errno == EPERM || errno == EAGAIN ? open_resolved(root, path, flags)
								    : -errno;
}

int fs_open(const char *root, const char *path, int flags)
{
	CLEANUP(strbuf_release) struct strbuf base = STRBUF_INIT(FS_PATH_MAX);
	int fd, r = split_root(root, &path, &base);

	if (r < 0)
		return r;
	if (base.len > 0)
		return open_below(base.text, path, flags | O_CLOEXEC);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int fs_stat(const char *root, const char *path, struct stat *ret)
{
	CLEANUP(closep) int fd = fs_open(root, path, O_PATH);

	if (fd < 0)
		return fd;
	return fstat(fd, ret) < 0 ? -errno : 0;
}

int fs_resolve(const char *root, const char *path, struct strbuf *out)
{
	CLEANUP(strbuf_release) struct strbuf base = STRBUF_INIT(FS_PATH_MAX);
	int r = split_root(root, &path, &base);

	if (r == 0 && base.len > 0)
		return resolve_links(base.text, path, out);
	strbuf_addstr(out, path);
	return r < 0 ? r : strbuf_error(out);
}

/* ---- reading */

int fs_read(const char *root, const char *path, struct strbuf *out, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf full = STRBUF_INIT(FS_PATH_MAX);
	CLEANUP(closep) int fd = -1;
	int r = join_path(root, path, &full);

	if (r < 0)
		return err_set(err, r, "path too long");
	fd = fs_open(root, path, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return err_set(err, fd, "cannot open '%s': %s", full.text, strerror(-fd));
	return fs_read_fd(fd, full.text, out, err);
}

/* -ELOOP: the path has a symbolic link. */
static int read_below(int directory, const char *path, struct strbuf *out)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
	CLEANUP(closep) int fd = (int)syscall(__NR_openat2, directory, path, &how, sizeof(how));
	struct err err;

	return fd < 0 ? -errno : fs_read_fd(fd, path, out, &err);
}

int fs_read_in(const struct fs_directory *d, const char *name, struct strbuf *out, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(FS_PATH_MAX);
	int r = d->fd >= 0 ? read_below(d->fd, name, out) : -EBADF;

	if (r == 0)
		return 0;
	/* After -ENOENT fs_read() would not find the file either; after other failures, such as -ENOSYS or -ELOOP, it may. */
	strbuf_addf(&path, "%s/%s", d->path, name);
	if (strbuf_error(&path) < 0)
		return err_set(err, strbuf_error(&path), "path too long");
	if (r == -ENOENT)
		return err_set(err, r, "cannot open '%s%.4000s': %s", d->root, path.text, strerror(-r));
	return fs_read(d->root, path.text, out, err);
}

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
	*dir = NULL;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Whether `name` is prefix + number + suffix, and the number. */
static bool match_number(const char *name, const char *prefix, const char *suffix, uint64_t *ret)
{
	uint64_t number = 0;
	const char *p, *digits;

	if (strncmp(name, prefix, strlen(prefix)) != 0)
		return false;
	p = digits = name + strlen(prefix);
	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(number, 10, &number) ||
			__builtin_add_overflow(number, *p - '0', &number))
			number = UINT64_MAX;
	}
	if (p == digits || (*digits == '0' && p > digits + 1) || strcmp(p, suffix) != 0)
		return false;
	*ret = number;
	return true;
}

/* List the numbers of the matching names in an open directory; -errno of readdir(3). */
static int collect_numbers(
	DIR *dir, const char *prefix, const char *suffix, uint64_t **ret_numbers, size_t *ret_n)
{
	size_t n = 0, size = 8;
	CLEANUP(freep) uint64_t *numbers = xcalloc(size, sizeof(*numbers));
	const struct dirent *entry;

	for (errno = 0; (entry = readdir(dir)); errno = 0) {
		uint64_t number;

		if (!match_number(entry->d_name, prefix, suffix, &number))
			continue;
		vec_grow(&numbers, &size, n + 1, sizeof(*numbers));
		numbers[n++] = number;
	}
	if (errno != 0)
		return -errno;
	qsort(numbers, n, sizeof(*numbers), by_number);
	*ret_numbers = TAKE(numbers);
	*ret_n = n;
	return 0;
}

static int open_dir(const char *root, const char *path, DIR **ret)
{
	CLEANUP(closep) int fd = fs_open(root, path, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir)
		return fd < 0 ? fd : -errno;
	fd = -1; /* closedir() closes the descriptor */
	*ret = dir;
	return 0;
}

/* Open a directory; `full` becomes its path for messages. */
static int open_named_dir(const char *root, const char *path, struct strbuf *full, DIR **ret, struct err *err)
{
	int r = join_path(root, path, full);

	if (r < 0)
		return err_set(err, r, "path too long");
	r = open_dir(root, path, ret);
	return r < 0 ? err_set(err, r, "cannot open '%s': %s", full->text, strerror(-r)) : 0;
}

static int collect_entry_names(DIR *dir, struct strv *ret)
{
	const struct dirent *entry;

	for (errno = 0; (entry = readdir(dir)); errno = 0)
		if (entry->d_name[0] != '.')
			strv_push(ret, entry->d_name);
	if (errno != 0)
		return -errno;
	strv_sort(ret);
	return 0;
}

int fs_list(const char *root, const char *path, struct strv *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf full = STRBUF_INIT(FS_PATH_MAX);
	CLEANUP(closedirp) DIR *dir = NULL;
	int r = open_named_dir(root, path, &full, &dir, err);

	if (!dir)
		return r;
	r = collect_entry_names(dir, ret);
	return r < 0 ? err_set(err, r, "cannot read '%s': %s", full.text, strerror(-r)) : 0;
}

int fs_list_numbers(const char *root, const char *path, const char *prefix, const char *suffix,
	uint64_t **ret_numbers, size_t *ret_n, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf full = STRBUF_INIT(FS_PATH_MAX);
	CLEANUP(closedirp) DIR *dir = NULL;
	int r = open_named_dir(root, path, &full, &dir, err);

	if (!dir)
		return r;
	r = collect_numbers(dir, prefix, suffix, ret_numbers, ret_n);
	return r < 0 ? err_set(err, r, "cannot read '%s': %s", full.text, strerror(-r)) : 0;
}

bool fs_is_absent(int r)
{
	return r == -ENOENT || r == -ENODEV || r == -ESRCH;
}

bool fs_is_transient(int r)
{
	static const int transient[] = {EMFILE, ENFILE, ENOMEM, ENOBUFS, EAGAIN, EINTR, EIO, ETIMEDOUT};

	for (size_t i = 0; i < ARRAY_SIZE(transient); i++)
		if (r == -transient[i])
			return true;
	return false;
}

int fs_lookup(const char *root, const char *path, struct err *err)
{
	struct stat st;
	int r = fs_stat(root, path, &st);

	if (r < 0 && !fs_is_absent(r) && r != -ENOTDIR)
		return err_set(err, r, "cannot look up '%s%.4000s': %s", root, path, strerror(-r));
	return r == 0;
}

bool fs_reads_add(struct fs_reads *reads, int r)
{
	if (reads->r == 0 && fs_is_transient(r)) {
		reads->r = r;
		reads->err = reads->last;
	}
	return r >= 0;
}

int fs_reads_result(const struct fs_reads *reads, struct err *err)
{
	return reads->r < 0 ? err_set(err, reads->r, "%s", reads->err.text) : 0;
}
