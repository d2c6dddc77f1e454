/* SPDX-License-Identifier: Apache-2.0 */
/* Discovery beside other threads, which may be reading the environment that hwloc is steered by. */
#include "tests/lib/test.h"

#include <errno.h>
#include <semaphore.h>

#include "agent/observe/discover.h"
#include "common/cleanup.h"
#include "common/io/thread.h"
#include "tests/lib/sysfs.h"

static sem_t done;

static void *wait_for_it(void *arg)
{
	sem_wait(&done);
	return arg;
}

static int start(void **state)
{
	pthread_t *thread = malloc(sizeof(*thread));

	*state = thread;
	unsetenv("HWLOC_FSROOT");
	setenv("HWLOC_HIDE_ERRORS", "0", 1);
	return thread ? sem_init(&done, 0, 0) : -1;
}

static int discover(const char *root, struct err *err)
{
	CLEANUP(machine_release) struct machine m;
	const struct machine_source source = {.root = root};

	machine_init(&m);
	return machine_discover(&source, &m, err);
}

static void without_threads_it_is_set(void **state)
{
	struct err err = {""};

	assert_int_equal(discover(test_machine_tree("ccx"), &err), 0);
	assert_string_equal(getenv("HWLOC_FSROOT"), test_machine_tree("ccx"));
	assert_string_equal(getenv("HWLOC_HIDE_ERRORS"), "2");
	assert_int_equal(discover("", &err), 0);
	assert_null(getenv("HWLOC_FSROOT"));
	(void)state;
}

static void with_threads_it_stays(void **state)
{
	const char *tree = test_machine_tree("ccx");
	struct err err = {""};

	assert_int_equal(thread_start(*state, wait_for_it, NULL), 0);
	assert_int_equal(discover(tree, &err), -EBUSY);
	assert_string_equal(err.text, "HWLOC_FSROOT must be set before the first thread starts");
	assert_null(getenv("HWLOC_FSROOT"));
	sem_post(&done);
	thread_join(*(pthread_t *)*state);
	assert_int_equal(discover(tree, &err), 0);
}

static void what_was_prepared_is_enough(void **state)
{
	const struct machine_source source = {.root = test_machine_tree("ccx")};
	struct err err = {""};

	assert_int_equal(machine_prepare(&source, &err), 0);
	assert_int_equal(thread_start(*state, wait_for_it, NULL), 0);
	assert_int_equal(discover(source.root, &err), 0);
	assert_int_equal(discover("", &err), -EBUSY);
	sem_post(&done);
	thread_join(*(pthread_t *)*state);
}

static int end(void **state)
{
	free(*state);
	return sem_destroy(&done);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_threads_it_is_set, start, end),
		cmocka_unit_test_setup_teardown(with_threads_it_stays, start, end),
		cmocka_unit_test_setup_teardown(what_was_prepared_is_enough, start, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
