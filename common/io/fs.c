/* SPDX-License-Identifier: Apache-2.0 */
#include "common/io/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/text.h"

#define PIPE_MAX ((size_t)1 << 30)

/* ---- reading */

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
			err_set(err, r, "'%s': larger than %zu bytes", name, out->max);
			break;
		}
	}
	/* A buffer without memory is as it was. */
	if (out->size > 0) {
		out->len = before;
		out->text[before] = '\0';
		out->error = 0;
	}
	return r;
}

int fs_read_file(const char *path, struct strbuf *out, struct err *err)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	return fd < 0 ? err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno))
		      : fs_read_fd(fd, path, out, err);
}

int fs_open_argument(const char *path, struct err *err)
{
	int fd = strcmp(path, "-") != 0 ? open(path, O_RDONLY | O_CLOEXEC)
					: fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno)) : fd;
}

const char *fs_argument_name(const char *path)
{
	return strcmp(path, "-") ? path : "standard input";
}

int fs_read_argument(const char *path, struct strbuf *out, struct err *err)
{
	CLEANUP(closep) int fd = fs_open_argument(path, err);

	if (fd < 0)
		return fd;
	return fs_read_fd(fd, fs_argument_name(path), out, err);
}

/* ---- inputs that can be read only once */

bool fs_is_read_once(const char *path)
{
	struct stat st;

	return !strcmp(path, "-") || (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

static int copy_input(FILE *in, const char *path, FILE *copy, struct err *err)
{
	char chunk[65536];
	size_t n, total = 0;

	while ((n = fread(chunk, 1, sizeof(chunk), in)) > 0) {
		total += n;
		if (total > PIPE_MAX)
			return err_set(err, -EFBIG, "%s is larger than 1 GiB", fs_argument_name(path));
		if (fwrite(chunk, 1, n, copy) != n)
			return err_set(err, -EIO, "cannot write a temporary file");
	}
	if (ferror(in) || fflush(copy) != 0)
		return err_set(err, -EIO, "cannot read %s", fs_argument_name(path));
	return 0;
}

int fs_copy_argument(const char *path, FILE **copy, struct err *err)
{
	CLEANUP(closep) int fd = -1;
	FILE *in;
	int r;

	if (*copy) {
		rewind(*copy);
		return 0;
	}
	fd = fs_open_argument(path, err);
	if (fd < 0)
		return fd;
	*copy = tmpfile();
	if (!*copy)
		return err_set(err, -errno, "cannot create a temporary file: %s", strerror(errno));
	in = fdopen(fd, "r");
	if (!in)
		return err_set(err, -errno, "cannot read %s: %s", fs_argument_name(path), strerror(errno));
	fd = -1; /* `in` closes it */
	r = copy_input(in, path, *copy, err);
	fclose(in);
	rewind(*copy);
	return r;
}

/* ---- standard output */

int output_write(const char *text, size_t len)
{
	errno = 0;
	if (fwrite(text, 1, len, stdout) != len || fflush(stdout) != 0)
		return errno ? -errno : -EIO;
	return 0;
}

int output_text(struct strbuf *text)
{
	int r = strbuf_error(text);

	if (r < 0)
		return r;
	text_multi_line(text->text, text->len);
	return output_write(text->text, text->len);
}
