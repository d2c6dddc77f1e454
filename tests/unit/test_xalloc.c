/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that each allocation succeeds or ends the process. */
#include "tests/lib/test.h"

#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/vec.h"
#include "common/xalloc.h"

/* Volatile: the compiler must not see that nobody has so much. */
static volatile size_t too_much = PTRDIFF_MAX;

static void by_malloc(void)
{
	free(xmalloc(too_much));
}

static void by_calloc(void)
{
	free(xcalloc(too_much, 2));
}

static void by_reallocarray(void)
{
	free(xreallocarray(NULL, too_much, 4));
}

static void by_vec(void)
{
	char **items = NULL;
	size_t size = 0;

	vec_grow(&items, &size, too_much, sizeof(*items));
	free(items);
}

static void the_process_ends_with_one_line(void **state)
{
	static void (*const ways[])(void) = {by_malloc, by_calloc, by_reallocarray, by_vec};

	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	test_skip("the sanitizer's allocator ends the process itself");
#endif
	if (getenv("LD_PRELOAD") && strstr(getenv("LD_PRELOAD"), "vgpreload"))
		test_skip("valgrind reports the abort itself");
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		char text[256] = "";
		int fds[2], status;
		ssize_t n;
		pid_t pid;

		assert_return_code(pipe(fds), 0);
		pid = fork();
		if (pid == 0) {
			dup2(fds[1], STDERR_FILENO);
			signal(SIGABRT, SIG_DFL);
			ways[i]();
			_exit(0);
		}
		close(fds[1]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		n = read(fds[0], text, sizeof(text) - 1);
		close(fds[0]);
		assert_true(n >= 0);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
		/* QEMU adds a line of its own. */
		text[strcspn(text, "\n")] = '\0';
		assert_string_equal(text, "test_xalloc: out of memory");
	}
}

static void nothing_is_something(void **state)
{
	CLEANUP(freep) void *none = xmalloc(0);
	CLEANUP(freep) void *no_items = xcalloc(0, 8);
	CLEANUP(freep) char *text = xasprintf("%d%s", 1, "a");
	CLEANUP(freep) char *part = xstrndup("abc", 2);
	CLEANUP(freep) void *grown = xreallocarray(NULL, 0, 8);

	(void)state;
	assert_non_null(none);
	assert_non_null(no_items);
	assert_non_null(grown);
	assert_string_equal(text, "1a");
	assert_string_equal(part, "ab");
}

static void sets_are_copied(void **state)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = cpuset_new();
	CLEANUP(cpuset_freep) hwloc_bitmap_t copy = NULL;
	CLEANUP(freep) char *text = NULL;

	(void)state;
	cpuset_set_range(set, 2, 5);
	cpuset_clr(set, 3);
	copy = cpuset_dup(set);
	cpuset_set(copy, 9);
	cpuset_andnot(copy, copy, set);
	text = cpuset_print(copy);
	assert_string_equal(text, "9");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_process_ends_with_one_line),
		cmocka_unit_test(nothing_is_something),
		cmocka_unit_test(sets_are_copied),
	};

	return cmocka_run_group_tests_name("xalloc", tests, NULL, NULL);
}
