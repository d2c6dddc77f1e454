/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/run/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "tests/lib/test.h"

static void the_younger_waits(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(closep) int fd = -1;
	char path[512], want[700];
	struct err err = {""};
	int mine, status;
	pid_t elder;
	int ends[2];

	(void)state;
	snprintf(path, sizeof(path), "%s/nrtd/n1.lock", dir);
	assert_int_equal(pipe(ends), 0);
	elder = fork();
	assert_int_not_equal(elder, -1);
	if (elder == 0) {
		if (lock_try(path, &mine, NULL) == 0 && write(ends[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ends[0], want, 1), 1);
	assert_int_equal(lock_try(path, &fd, &err), -EWOULDBLOCK);
	snprintf(want, sizeof(want), "'%s' is held by another nrtd, pid %d", path, (int)elder);
	test_assert_text("busy", err.text, want);
	/* However it ends, the lock is free then. */
	assert_int_equal(kill(elder, SIGKILL), 0);
	assert_int_equal(waitpid(elder, &status, 0), elder);
	assert_int_equal(lock_try(path, &fd, &err), 0);
	close(ends[0]);
	close(ends[1]);
}

static void nothing_is_left(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(closep) int waiting = -1;
	char path[512];
	int fd = -1;

	(void)state;
	snprintf(path, sizeof(path), "%s/lock", dir);
	lock_release(path, &fd);
	assert_int_equal(lock_try(path, &fd, NULL), 0);
	assert_int_equal(access(path, F_OK), 0);
	waiting = open(path, O_RDWR | O_CLOEXEC);
	assert_true(waiting >= 0);
	lock_release(path, &fd);
	assert_int_equal(fd, -1);
	assert_int_equal(access(path, F_OK), -1);
	/* Who holds the removed file holds nothing. */
	assert_int_equal(flock(waiting, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(lock_try(path, &fd, NULL), 0);
	lock_release(path, &fd);
}

/* As a pod without capabilities beside the service, whose file is its own user's. */
static void a_file_of_another_user(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(closep) int fd = -1;
	char path[512], want[700];
	struct err err = {""};
	int status, r;
	pid_t other;

	(void)state;
	if (geteuid() != 0) {
		print_message("skipped: only root can be another user\n");
		return;
	}
	snprintf(path, sizeof(path), "%s/lock", dir);
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(lock_try(path, &fd, NULL), 0);
	assert_int_equal(fchmod(fd, 0600), 0);
	snprintf(want, sizeof(want), "'%s' belongs to user 0, whose nrtd holds it or did not end cleanly",
		path);
	other = fork();
	assert_int_not_equal(other, -1);
	if (other == 0) {
		r = setresuid(65534, 65534, 65534) == 0 ? lock_try(path, &fd, &err) : 0;
		_exit(r == -EWOULDBLOCK && !strcmp(err.text, want) ? 0 : 1);
	}
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_int_equal(status, 0);
}

/* A write of `room` bytes at most, as on a full /run; 0 when the lock is held and its file is empty. */
static int lock_with_room(const char *path, rlim_t room)
{
	const struct rlimit limit = {room, room};
	struct stat st;
	int fd = -1;

	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit) < 0 || lock_try(path, &fd, NULL) < 0)
		return 1;
	return fstat(fd, &st) == 0 && st.st_size == 0 ? 0 : 2;
}

static void a_full_file_system_is_no_obstacle(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	char path[512];

	(void)state;
	snprintf(path, sizeof(path), "%s/lock", dir);
	for (rlim_t room = 0; room < 2; room++) {
		pid_t child = fork();
		int status;

		assert_int_not_equal(child, -1);
		if (child == 0)
			_exit(lock_with_room(path, room));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

static void trouble_is_named(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	char path[512], want[700];
	struct err err = {""};
	int fd = -1;

	(void)state;
	snprintf(path, sizeof(path), "%s/a/b/lock", dir);
	assert_int_equal(lock_try(path, &fd, &err), -ENOENT);
	snprintf(want, sizeof(want),
		"cannot make '%s/a/b': No such file or directory (--lock=none uses no lock)", dir);
	test_assert_text("no folder", err.text, want);
	assert_int_equal(lock_try(dir, &fd, &err), -EISDIR);
	assert_int_equal(fd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_younger_waits),
		cmocka_unit_test(nothing_is_left), cmocka_unit_test(a_file_of_another_user),
		cmocka_unit_test(a_full_file_system_is_no_obstacle), cmocka_unit_test(trouble_is_named)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
