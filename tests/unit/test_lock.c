/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/lock.h"

#include <errno.h>
#include <stdio.h>
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
		"cannot make '%s/a/b': No such file or directory (--lock=none does without)", dir);
	test_assert_text("no folder", err.text, want);
	assert_int_equal(lock_try(dir, &fd, &err), -EISDIR);
	assert_int_equal(fd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_younger_waits), cmocka_unit_test(trouble_is_named)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
