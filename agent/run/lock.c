/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/run/lock.h"

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

static int set_busy(int fd, const char *path, struct err *err)
{
	char pid[16];
	ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

	pid[n > 0 ? n : 0] = '\0';
	pid[strspn(pid, "0123456789")] = '\0';
	return err_set(
		err, -EWOULDBLOCK, "'%.200s' is held by another nrtd%s%s", path, *pid ? ", pid " : "", pid);
}

/* Another user's file that may not be opened counts as held: its owner removes it. */
static int set_cannot_open(const char *path, struct err *err)
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
	char *slash = strrchr(folder, '/');

	if (!slash || slash == folder)
		return 0;
	*slash = '\0';
	if (mkdir(folder, 0755) < 0 && errno != EEXIST)
		return err_set(err, -errno, "cannot make '%.200s': %s (--lock=none uses no lock)", folder,
			strerror(errno));
	return 0;
}

/* Whether the locked file still has this name: its last holder may have removed it in between. */
static bool is_same_file(int fd, const char *path)
{
	struct stat locked, named;

	return fstat(fd, &locked) == 0 && stat(path, &named) == 0 && locked.st_dev == named.st_dev &&
	       locked.st_ino == named.st_ino;
}

/* For people only: the lock works without the process id, which may not be writable (full file system). */
static void write_pid(int fd)
{
	char pid[16];
	int n = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	bool written = ftruncate(fd, 0) == 0 && pwrite(fd, pid, (size_t)n, 0) == n;

	/* A part of the number would name another process: remove it. If this fails too, there is nothing left to do. */
	if (!written && ftruncate(fd, 0) < 0)
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
			return set_cannot_open(path, err);
		if (flock(fd, LOCK_EX | LOCK_NB) < 0)
			return errno == EWOULDBLOCK ? set_busy(fd, path, err)
						    : err_set(err, -errno, "cannot lock '%.200s': %s", path,
							      strerror(errno));
	} while (!is_same_file(fd, path));
	write_pid(fd);
	*ret_fd = fd;
	fd = -1;
	return 0;
}

void lock_release(const char *path, int *fd)
{
	if (*fd < 0)
		return;
	/* Before unlocking, so that no other process's file is removed. If the file remains, nobody has
	 * locked it. */
	(void)unlink(path);
	closep(fd);
}
