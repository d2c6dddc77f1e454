/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "agent/observe/systemd_syntax.h"
#include "common/cleanup.h"
#include "common/strbuf.h"

static void lines_of_unit_files(void **state)
{
	static const struct {
		const char *text, *want; /* with '|' behind each line */
	} cases[] = {
		{"", ""},
		{"a\nb", "a|b|"},
		{"  a \t\n\n\r\nb\r\n", "a|||b|"},
		{"# c\n  ; c\na#b\n", "a#b|"},
		{"a\\\n  b \\\r\n\tc\nd\n", "a   b  \tc|d|"},
		{"a \\\n# comment\n  b\n", "a    b|"},
		{"a \\\n\nb\n", "a|b|"},
		{"a\\\\\nb\n", "a\\\\|b|"},
		{"a\\\\\\\nb\n", "a\\\\ b|"},
		{"a\\", "a|"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(4096);
		CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(4096);
		const char *p = cases[i].text;

		for (; systemd_next_line(&p, &line); strbuf_reset(&line))
			strbuf_addf(&got, "%s|", line.text);
		test_assert_text(cases[i].text, got.text, cases[i].want);
	}
}

static void words_and_escapes(void **state)
{
	static const struct {
		enum systemd_words rules;
		const char *text, *want; /* with '|' behind each word, '!' for an error */
	} cases[] = {
		{SYSTEMD_COMMAND, "", ""},
		{SYSTEMD_COMMAND, " a  b\tc ", "a|b|c|"},
		{SYSTEMD_COMMAND, "'a b' \"c d\" e'f g'h \"\"", "a b|c d|ef gh||"},
		{SYSTEMD_COMMAND, "a\\x20b \\u00e9 \\101 \\s\\t\\\\", "a b|\xc3\xa9|A| \t\\|"},
		{SYSTEMD_COMMAND, "'a\\'b' \"c\\\"d\"", "a'b|c\"d|"},
		{SYSTEMD_COMMAND, "a\\d \\x0 \\400", "a\\d|\\x0|\\400|"},
		{SYSTEMD_COMMAND, "a 'b", "a|!"},
		{SYSTEMD_ASSIGNMENT, "A=\\d", "!"},
		{SYSTEMD_ASSIGNMENT, "\"A=b c\" D=e", "A=b c|D=e|"},
		{SYSTEMD_VARIABLE, "'a b' c\\ d \\n \"e f", "a b|c d|n|e f|"},
		{SYSTEMD_VARIABLE, "a\\", "a|"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf word = STRBUF_INIT(4096);
		CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(4096);
		const char *p = cases[i].text;
		int r;

		for (; (r = systemd_next_word(&p, cases[i].rules, &word)) > 0; strbuf_reset(&word))
			strbuf_addf(&got, "%s|", word.text);
		if (r < 0)
			strbuf_addch(&got, '!');
		test_assert_text(cases[i].text, got.text, cases[i].want);
	}
}

static void environment_files(void **state)
{
	static const struct {
		const char *text, *want; /* with '|' behind each variable */
	} cases[] = {
		{"", ""},
		{"A=1\nB=2", "A=1|B=2|"},
		{" A = 1 # c \n;B=2\n#C=3\nD=\n", "A=1 # c|D=|"},
		{"A=1\nA=2\n", "A=2|"},
		{"export A=1\n1A=1\nnonsense\nA-B=1\nB=2\n", "B=2|"},
		{"A='x y' \"z\"\nB=x\"y\"\nC=x 'y z'\n", "A=x yz|B=x\"y\"|C=x 'y z'|"},
		{"A=\"a\\\"b\\$c\\d\\\\\"\n", "A=a\"b$c\\d\\|"},
		{"A=\"a \\\nb\"\nB='c\\\nd'\n", "A=a b|B=c\\\nd|"},
		{"A=a \\\n b\\ \nB=\\x\n", "A=a  b |B=x|"},
		{"A='open\nB=1", "A=open\nB=1|"},
		{"A=1\r\nB=2\r\n", "A=1|B=2|"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strv_release) struct strv variables = {0};
		CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(4096);

		systemd_add_environment(&variables, cases[i].text);
		for (size_t n = 0; n < variables.n_items; n++)
			strbuf_addf(&got, "%s|", variables.items[n]);
		test_assert_text(cases[i].text, got.text, cases[i].want);
	}
}

/* The examples are those of systemd.service(5). */
static void variables_become_arguments(void **state)
{
	static const struct {
		const char *word, *want;
	} cases[] = {
		{"$ONE", "one|"},
		{"$TWO", "two two|too|"},
		{"${TWO}", "'two two' too|"},
		{"$THREE", ""},
		{"${THREE}", "|"},
		{"$UNSET", ""},
		{"a${ONE}b${UNSET}", "a'one'b|"},
		{"--x=$ONE", "--x=$ONE|"},
		{"$$ONE", "$ONE|"},
		{"a$$b${ONE", "a$b${ONE|"},
		{"$", ""},
		{"", "|"},
	};
	CLEANUP(strv_release) struct strv variables = {0};

	(void)state;
	systemd_set_variable(&variables, "ONE='one'");
	systemd_set_variable(&variables, "TWO=x");
	systemd_set_variable(&variables, "TWO='two two' too");
	systemd_set_variable(&variables, "THREE=");
	systemd_set_variable(&variables, "no name=x");
	assert_int_equal(variables.n_items, 3);
	assert_null(systemd_find_variable(&variables, "ON"));
	assert_string_equal(systemd_find_variable(&variables, "THREE"), "");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strv_release) struct strv words = {0};
		CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(4096);

		systemd_expand_word(cases[i].word, &variables, &words);
		for (size_t n = 0; n < words.n_items; n++)
			strbuf_addf(&got, "%s|", words.items[n]);
		test_assert_text(cases[i].word, got.text, cases[i].want);
	}
}

static void specifiers(void **state)
{
	static const struct {
		const char *text, *want;
		bool known;
	} cases[] = {
		{"/etc/default/%N", "/etc/default/k3s-agent", true},
		{"%n %p %P", "k3s-agent.service k3s-agent k3s-agent", true},
		{"100%% %t%", "100% /run%", true},
		{"%H", "%H", false},
		{"a%mb", "a%mb", false},
		{"%&", "%&", true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(4096);

		assert_int_equal(
			systemd_add_specifiers(cases[i].text, "k3s-agent.service", &got), cases[i].known);
		test_assert_text(cases[i].text, got.text, cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_unit_files),
		cmocka_unit_test(words_and_escapes),
		cmocka_unit_test(environment_files),
		cmocka_unit_test(variables_become_arguments),
		cmocka_unit_test(specifiers),
	};

	return cmocka_run_group_tests_name("systemd_syntax", tests, NULL, NULL);
}
