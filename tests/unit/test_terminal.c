/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/report/terminal.h"
#include "common/cleanup.h"
#include "common/text.h"

static const char *const variables[] = {"COLUMNS", "NO_COLOR", "TERM", "LC_ALL", "LC_CTYPE", "LANG"};

static int clean_environment(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		unsetenv(variables[i]);
	return 0;
}

/* A terminal of 132 columns and 43 lines. */
static void open_terminal(int *ret_master, int *ret_slave)
{
	const struct winsize size = {.ws_row = 43, .ws_col = 132};

	if (openpty(ret_master, ret_slave, NULL, NULL, &size) < 0)
		test_skip("no pseudo terminals");
}

static void a_terminal_tells_its_size(void **state)
{
	CLEANUP(closep) int master = -1, slave = -1;
	struct terminal t;

	(void)state;
	open_terminal(&master, &slave);
	setenv("TERM", "xterm", 1);
	terminal_detect(slave, "auto", NULL, &t);
	assert_true(t.is_terminal && t.colour && terminal_can_redraw(&t));
	assert_int_equal(t.width, 132);
	assert_int_equal(t.height, 43);
	setenv("COLUMNS", "100", 1);
	terminal_detect(slave, "auto", NULL, &t);
	assert_int_equal(t.width, 100);
	terminal_detect(slave, "auto", "90", &t);
	assert_int_equal(t.width, 90);
	setenv("COLUMNS", "many", 1);
	terminal_detect(slave, "auto", NULL, &t);
	assert_int_equal(t.width, 132);
}

static void colours_are_for_terminals_that_want_them(void **state)
{
	CLEANUP(closep) int master = -1, slave = -1;
	struct terminal t;

	(void)state;
	open_terminal(&master, &slave);
	terminal_detect(slave, "auto", NULL, &t);
	assert_false(t.colour); /* no TERM */
	setenv("TERM", "dumb", 1);
	terminal_detect(slave, "auto", NULL, &t);
	assert_false(t.colour || terminal_can_redraw(&t));
	setenv("TERM", "xterm", 1);
	setenv("NO_COLOR", "1", 1);
	terminal_detect(slave, "auto", NULL, &t);
	assert_false(t.colour);
	assert_true(terminal_can_redraw(&t));
	terminal_detect(slave, "always", NULL, &t);
	assert_true(t.colour);
	setenv("NO_COLOR", "", 1);
	terminal_detect(slave, "auto", NULL, &t);
	assert_true(t.colour);
	terminal_detect(slave, "never", NULL, &t);
	assert_false(t.colour);
}

static void a_file_is_no_terminal(void **state)
{
	CLEANUP(closep) int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct terminal t;

	(void)state;
	setenv("TERM", "xterm", 1);
	terminal_detect(fd, "auto", NULL, &t);
	assert_false(t.is_terminal || t.colour || terminal_can_redraw(&t));
	assert_int_equal(t.width, TERMINAL_WIDTH);
	assert_int_equal(t.height, 0);
}

static void the_locale_tells_utf8(void **state)
{
	static const struct {
		const char *all, *ctype, *lang;
		bool utf8;
	} cases[] = {
		{NULL, NULL, NULL, false},
		{"C", "C.UTF-8", "C.UTF-8", false},
		{NULL, "C.UTF-8", "C", true},
		{"", "", "C.UTF-8", true},
		{NULL, NULL, "xx_XX.utf8", true}, /* not on this system: its name counts */
		{NULL, NULL, "xx_XX.ISO-8859-1", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct terminal t;

		clean_environment(NULL);
		if (cases[i].all)
			setenv("LC_ALL", cases[i].all, 1);
		if (cases[i].ctype)
			setenv("LC_CTYPE", cases[i].ctype, 1);
		if (cases[i].lang)
			setenv("LANG", cases[i].lang, 1);
		terminal_detect(STDOUT_FILENO, "auto", NULL, &t);
		if (t.utf8 != cases[i].utf8)
			fail_msg("case %zu", i);
	}
}

static void frames_never_scroll(void **state)
{
	static const struct {
		size_t height;
		const char *want;
	} cases[] = {
		{0, "\033[?2026h\033[H\033[Ka\r\n\033[Kb\r\n\033[Kc\r\n\033[J\033[?2026l"},
		{4, "\033[?2026h\033[H\033[Ka\r\n\033[Kb\r\n\033[Kc\r\n\033[J\033[?2026l"},
		{3, "\033[?2026h\033[H\033[Ka\r\n\033[Kb\r\n\033[Kc\033[?2026l"},
		{2, "\033[?2026h\033[H\033[Ka\r\n\033[K2 more lines\033[?2026l"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(4096);

		assert_int_equal(terminal_frame("a\nb\nc\n", cases[i].height, &out), 0);
		test_assert_text("frame", out.text, cases[i].want);
	}
}

static void lines_break_at_good_places(void **state)
{
	static const struct {
		const char *text;
		size_t width;
		const char *first;
	} cases[] = {
		{"short", 10, "short"},
		{"one two three", 8, "one two "},
		{"one two three", 7, "one two "}, /* the space may stand beyond the edge */
		{"0,2,4,6,8", 4, "0,2,"},
		{"abcdefgh", 3, "abc"},
		{"CPU manager static, memory manager Static", 38, "CPU manager static, "},
		{"a, b c d e f g h i j", 12, "a, b c d e f "},
		{"\xc3\xa9\xc3\xa9\xc3\xa9", 2, "\xc3\xa9\xc3\xa9"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = text_line_length(cases[i].text, cases[i].width);
		char got[64];

		snprintf(got, sizeof(got), "%.*s", (int)len, cases[i].text);
		test_assert_text(cases[i].text, got, cases[i].first);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_terminal_tells_its_size, clean_environment, clean_environment),
		cmocka_unit_test_setup_teardown(
			colours_are_for_terminals_that_want_them, clean_environment, clean_environment),
		cmocka_unit_test_setup_teardown(a_file_is_no_terminal, clean_environment, clean_environment),
		cmocka_unit_test_setup_teardown(the_locale_tells_utf8, clean_environment, clean_environment),
		cmocka_unit_test(frames_never_scroll),
		cmocka_unit_test(lines_break_at_good_places),
	};

	return cmocka_run_group_tests_name("terminal", tests, NULL, NULL);
}
