/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/run/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/xalloc.h"

static int busy(int fd, const char *path, struct err *err)
{
	char pid[16];
	ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

	pid[n > 0 ? n : 0] = '\0';
	pid[strspn(pid, "0123456789")] = '\0';
	return err_set(
		err, -EWOULDBLOCK, "'%.200s' is held by another nrtd%s%s", path, *pid ? ", pid " : "", pid);
}

/* What this process may not open is taken for held when it is another user's: whoever made it removes it. */
static int cannot_open(const char *path, struct err *err)
{
	int r = -errno;
	struct stat st;

	if (r == -EACCES && stat(path, &st) == 0 && st.st_uid != geteuid())
		return err_set(err, -EWOULDBLOCK,
			"'%.200s' belongs to user %u, whose nrtd holds it or did not end cleanly", path,
			(unsigned)st.st_uid);
	return err_set(err, r, "cannot open '%.200s': %s (--lock=none uses no lock)", path, strerror(-r));
}

static int make_folder(const char *path, struct err *err)
{
	CLEANUP(freep) char *folder = xstrdup(path);
	char *slash = folder ? strrchr(folder, '/') : NULL;

	if (!slash || slash == folder)
		return 0;
	*slash = '\0';
	if (mkdir(folder, 0755) < 0 && errno != EEXIST)
		return err_set(err, -errno, "cannot make '%.200s': %s (--lock=none uses no lock)", folder,
			strerror(errno));
	return 0;
}

/* The locked file is still the one of that name; its last holder may have removed it in between. */
static bool still_there(int fd, const char *path)
{
	struct stat locked, named;

	return fstat(fd, &locked) == 0 && stat(path, &named) == 0 && locked.st_dev == named.st_dev &&
	       locked.st_ino == named.st_ino;
}

/* Only for people to read: where it cannot be written (a full file system) the lock is as good without it. */
static void leave_pid(int fd)
{
	char pid[16];
	int n = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	bool left = ftruncate(fd, 0) == 0 && pwrite(fd, pid, (size_t)n, 0) == n;

	/* A part of it would name another process. */
	if (!left && ftruncate(fd, 0) < 0)
		return;
}

int lock_try(const char *path, int *ret_fd, struct err *err)
{
	CLEANUP(closep) int fd = -1;
	int r = make_folder(path, err);

	if (r < 0)
		return r;
	do {
		closep(&fd);
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
		if (fd < 0)
			return cannot_open(path, err);
		if (flock(fd, LOCK_EX | LOCK_NB) < 0)
			return errno == EWOULDBLOCK ? busy(fd, path, err)
						    : err_set(err, -errno, "cannot lock '%.200s': %s", path,
							      strerror(errno));
	} while (!still_there(fd, path));
	leave_pid(fd);
	*ret_fd = fd;
	fd = -1;
	return 0;
}

void lock_release(const char *path, int *fd)
{
	if (*fd < 0)
		return;
	/* While it is still held, so that nobody else's is removed. A file that stays is locked by nobody. */
	(void)unlink(path);
	closep(fd);
}
