/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/vec.h"

#define FS_PATH_MAX ((size_t)2 * PATH_MAX) /* a root and a path below it */

static int join(const char *root, const char *path, struct strbuf *out)
{
	strbuf_addstr(out, root);
	strbuf_addstr(out, path);
	return strbuf_error(out);
}

int fs_read_fd(int fd, const char *name, struct strbuf *out, struct err *err)
{
	char chunk[16384];
	size_t before = out->len;
	int r;

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			r = -errno;
			err_set(err, r, "cannot read '%s': %s", name, strerror(-r));
			break;
		}
		if (n == 0)
			return 0;
		strbuf_add(out, chunk, (size_t)n);
		r = strbuf_error(out);
		if (r < 0) {
			err_set(err, r, "'%s': %s", name,
				r == -EFBIG ? "larger than allowed" : "out of memory");
			break;
		}
	}
	if (out->size > 0) {
		out->len = before;
		out->text[before] = '\0';
		out->error = 0;
	}
	return r;
}

int fs_read(const char *root, const char *path, struct strbuf *out, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf full = STRBUF_INIT(FS_PATH_MAX);
	CLEANUP(closep) int fd = -1;
	int r = join(root, path, &full);

	if (r < 0)
		return err_set(err, r, "path too long");
	fd = open(full.text, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		r = -errno;
		return err_set(err, r, "cannot open '%s': %s", full.text, strerror(-r));
	}
	return fs_read_fd(fd, full.text, out, err);
}

int fs_read_argument(const char *path, struct strbuf *out, struct err *err)
{
	CLEANUP(closep) int fd = -1;

	if (!strcmp(path, "-"))
		return fs_read_fd(STDIN_FILENO, "standard input", out, err);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		int r = -errno;

		return err_set(err, r, "cannot open '%s': %s", path, strerror(-r));
	}
	return fs_read_fd(fd, path, out, err);
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

/* Whether `name` is prefix + number + suffix. */
static bool match_number(const char *name, const char *prefix, const char *suffix, uint64_t *ret)
{
	uint64_t number = 0;
	const char *p = name + strlen(prefix), *digits = p;

	if (strncmp(name, prefix, strlen(prefix)) != 0)
		return false;
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

/* The matching names of an open directory; -errno of readdir(3). */
static int collect_numbers(
	DIR *dir, const char *prefix, const char *suffix, uint64_t **ret_numbers, size_t *ret_n)
{
	size_t n = 0, size = 8;
	CLEANUP(freep) uint64_t *numbers = calloc(size, sizeof(*numbers));
	const struct dirent *entry;

	for (errno = 0; numbers && (entry = readdir(dir)); errno = 0) {
		uint64_t number;

		if (!match_number(entry->d_name, prefix, suffix, &number))
			continue;
		if (vec_grow(&numbers, &size, n + 1, sizeof(*numbers)) < 0)
			return -ENOMEM;
		numbers[n++] = number;
	}
	if (!numbers || errno != 0)
		return numbers ? -errno : -ENOMEM;
	qsort(numbers, n, sizeof(*numbers), by_number);
	*ret_numbers = TAKE(numbers);
	*ret_n = n;
	return 0;
}

int fs_list_numbers(const char *root, const char *path, const char *prefix, const char *suffix,
	uint64_t **ret_numbers, size_t *ret_n, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf full = STRBUF_INIT(FS_PATH_MAX);
	CLEANUP(closedirp) DIR *dir = NULL;
	int r = join(root, path, &full);

	if (r < 0)
		return err_set(err, r, "path too long");
	dir = opendir(full.text);
	if (!dir) {
		r = -errno;
		return err_set(err, r, "cannot open '%s': %s", full.text, strerror(-r));
	}
	r = collect_numbers(dir, prefix, suffix, ret_numbers, ret_n);
	return r < 0 ? err_set(err, r, "cannot read '%s': %s", full.text, strerror(-r)) : 0;
}

bool fs_exists(const char *root, const char *path)
{
	CLEANUP(strbuf_release) struct strbuf full = STRBUF_INIT(FS_PATH_MAX);

	return join(root, path, &full) == 0 && access(full.text, F_OK) == 0;
}
