/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"

static int join(const char *root, const char *path, struct strbuf *out)
{
	strbuf_addstr(out, root);
	strbuf_addstr(out, path);
	return strbuf_error(out);
}

int fs_read(const char *root, const char *path, struct strbuf *out, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf full = STRBUF_INIT(2 * PATH_MAX);
	CLEANUP(closep) int fd = -1;
	char chunk[16384];
	size_t before = out->len;
	int r = join(root, path, &full);

	if (r < 0)
		return err_set(err, r, "path too long");
	fd = open(full.text, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		r = -errno;
		return err_set(err, r, "cannot open '%s': %s", full.text, strerror(-r));
	}
	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			r = -errno;
			err_set(err, r, "cannot read '%s': %s", full.text, strerror(-r));
			break;
		}
		if (n == 0)
			return 0;
		strbuf_add(out, chunk, (size_t)n);
		r = strbuf_error(out);
		if (r < 0) {
			err_set(err, r, "'%s': %s", full.text,
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

bool fs_exists(const char *root, const char *path)
{
	CLEANUP(strbuf_release) struct strbuf full = STRBUF_INIT(2 * PATH_MAX);

	return join(root, path, &full) == 0 && access(full.text, F_OK) == 0;
}
