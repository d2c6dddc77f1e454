/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"

static int busy(int fd, const char *path, struct err *err)
{
	char pid[16];
	ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

	pid[n > 0 ? n : 0] = '\0';
	pid[strspn(pid, "0123456789")] = '\0';
	return err_set(
		err, -EWOULDBLOCK, "'%.200s' is held by another nrtd%s%s", path, *pid ? ", pid " : "", pid);
}

int lock_try(const char *path, int *ret_fd, struct err *err)
{
	CLEANUP(closep) int fd = -1;
	CLEANUP(freep) char *folder = strdup(path);
	char *slash = folder ? strrchr(folder, '/') : NULL;
	char pid[16];
	int n;

	if (!folder)
		return err_set(err, -ENOMEM, "out of memory");
	if (slash && slash > folder) {
		*slash = '\0';
		if (mkdir(folder, 0755) < 0 && errno != EEXIST)
			return err_set(err, -errno, "cannot make '%.200s': %s (--lock=none does without)",
				folder, strerror(errno));
	}
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return err_set(err, -errno, "cannot open '%.200s': %s (--lock=none does without)", path,
			strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK
			       ? busy(fd, path, err)
			       : err_set(err, -errno, "cannot lock '%.200s': %s", path, strerror(errno));
	n = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	/* Only for people to read. */
	if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)n, 0) != n)
		return err_set(err, -errno, "cannot write '%.200s': %s", path, strerror(errno));
	*ret_fd = fd;
	fd = -1;
	return 0;
}
