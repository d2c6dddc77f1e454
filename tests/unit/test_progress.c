/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/strbuf.h"
#include "tests/lib/test.h"

#define PAUSE_US 600000

/* What `work` writes to standard error, which is `to`; `from` is the other end. */
static char *capture(int to, int from, void (*work)(void))
{
	int saved = dup(STDERR_FILENO);
	char text[4096] = "";
	size_t len = 0;

	assert_true(saved >= 0);
	fflush(stderr);
	assert_int_equal(dup2(to, STDERR_FILENO), STDERR_FILENO);
	work();
	log_warning("end");
	fflush(stderr);
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	close(saved);
	while (!strstr(text, "warning: end")) {
		ssize_t n = read(from, text + len, sizeof(text) - 1 - len);

		assert_true(n > 0);
		len += (size_t)n;
		text[len] = '\0';
	}
	return strdup(text);
}

static void work_long(void)
{
	progress_begin();
	progress_show("objects read", 1, 0); /* too early */
	usleep(PAUSE_US);
	progress_show("objects read", 7, 0);
	progress_show("objects read", 8, 0); /* too soon after the last */
	log_warning("a node is damaged");
	usleep(PAUSE_US);
	progress_show("pods planned", 3, 10);
	progress_end();
	progress_show("pods planned", 4, 10);
}

static void a_terminal_has_one_line(void **state)
{
	CLEANUP(closep) int terminal = posix_openpt(O_RDWR | O_NOCTTY), other = -1;
	CLEANUP(freep) char *text = NULL;

	(void)state;
	assert_true(terminal >= 0);
	assert_int_equal(grantpt(terminal), 0);
	assert_int_equal(unlockpt(terminal), 0);
	other = open(ptsname(terminal), O_RDWR | O_NOCTTY);
	assert_true(other >= 0);
	setenv("TERM", "xterm", 1);
	text = capture(other, terminal, work_long);
	test_assert_text("terminal", text,
		"\r\033[K7 objects read\r\033[Knrtd: warning: a node is damaged\r\n"
		"\r\033[K3 of 10 pods planned\r\033[Knrtd: warning: end\r\n");
	setenv("TERM", "dumb", 1);
	freep(&text);
	text = capture(other, terminal, work_long);
	test_assert_text("dumb", text, "nrtd: warning: a node is damaged\r\nnrtd: warning: end\r\n");
	close(other);
}

static void a_pipe_has_none(void **state)
{
	CLEANUP(freep) char *text = NULL;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	setenv("TERM", "xterm", 1);
	text = capture(ends[1], ends[0], work_long);
	test_assert_text("pipe", text, "nrtd: warning: a node is damaged\nnrtd: warning: end\n");
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_terminal_has_one_line),
		cmocka_unit_test(a_pipe_has_none),
	};

	unsetenv("JOURNAL_STREAM");
	return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
