/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <ctype.h>
#include <errno.h>
#include <unistd.h>

#include "cli/opts.h"
#include "cli/opts_check.h"
#include "common/cleanup.h"
#include "common/xalloc.h"
#include "scoring/kubelet_version.h"

#define WORDS_MAX 8

static const struct program *const programs[] = {&program_nrtd, &program_extender, &program_numa};
static const struct command_def *const every = NULL; /* of a program's commands */

/* Parse the program's name followed by the words of a line. */
static int parse_for(const struct program *program, const char *line, struct options *ret, struct err *err)
{
	static char text[256];
	char *argv[WORDS_MAX + 2] = {(char[]){"nrtd"}};
	char *save = NULL;
	int argc = 1;

	snprintf(text, sizeof(text), "%s", line);
	for (char *word = strtok_r(text, " ", &save); word && argc <= WORDS_MAX;
		word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	return options_parse(program, argc, argv, ret, err);
}

static int parse(const char *line, struct options *ret, struct err *err)
{
	return parse_for(&program_nrtd, line, ret, err);
}

static int clean_environment(void **state)
{
	(void)state;
	for (size_t p = 0; p < ARRAY_SIZE(programs); p++)
		FOREACH_OPTION (def, programs[p], every)
			if (def->env)
				unsetenv(def->env);
	return 0;
}

static void flags_set_values(void **state)
{
	struct options o;

	(void)state;
	assert_int_equal(parse("dump -o json --what=machine -v --reserved-cpus 0-1", &o, NULL), 0);
	assert_int_equal(o.command->id, COMMAND_DUMP);
	test_assert_text("output", o.value[OPT_OUTPUT], "json");
	test_assert_text("origin", o.origin[OPT_OUTPUT], "--output");
	test_assert_text("what", o.value[OPT_WHAT], "machine");
	test_assert_text("reserved", o.value[OPT_RESERVED_CPUS], "0-1");
	assert_true(option_set(&o, OPT_VERBOSE));
	assert_false(option_set(&o, OPT_HELP));
}

static void timeouts_are_those_of_kubectl(void **state)
{
	static const struct {
		const char *line;
		uint64_t ms;
	} cases[] = {{"top --request-timeout 1", 1000}, {"top --request-timeout=1s", 1000},
		{"top --request-timeout 0", 0}, {"top --request-timeout 1m30s", 90000},
		{"top --request-timeout 90", 90000}, {"top --request-timeout 250ms", 250}};
	static const char *const bad[] = {"top --request-timeout -1", "top --request-timeout x",
		"top --request-timeout=", "top --request-timeout 1.",
		"top --request-timeout 99999999999999999999"};
	struct options o;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(parse_for(&program_numa, cases[i].line, &o, NULL), 0);
		assert_int_equal(option_timeout_ms(&o, OPT_REQUEST_TIMEOUT), cases[i].ms);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(parse_for(&program_numa, bad[i], &o, NULL), -EINVAL);
}

/* As kubectl's parser; tests/upstream/cmd/flags compares more of them with that parser. */
static void flags_are_read_as_kubectl_reads_them(void **state)
{
	static const struct {
		const char *line, *output;
		bool verbose;
		const char *word; /* NULL = none */
	} cases[] = {
		{"fit -o json", "json", false, NULL},
		{"fit -ojson", "json", false, NULL},
		{"fit -o=json", "json", false, NULL},
		{"fit -vo=json", "json", true, NULL},
		{"fit -vojson", "json", true, NULL},
		{"fit -vo json", "json", true, NULL},
		{"-o json fit", "json", false, NULL},
		{"-ojson fit node-1", "json", false, "node-1"},
		{"-v --output json fit node-1", "json", true, "node-1"},
		{"--output=json fit node-1 -v", "json", true, "node-1"},
		{"fit node-1 --verbose=true", "text", true, "node-1"},
		{"fit -v --verbose=false", "text", false, NULL},
		{"fit -v=true -v=false -v=1", "text", true, NULL},
		{"fit -- -v", "text", false, "-v"},
		{"fit -", "text", false, "-"},
		{"fit -o yaml --output json", "json", false, NULL},
	};
	struct options o;
	struct err err = {""};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (parse_for(&program_numa, cases[i].line, &o, &err) < 0)
			fail_msg("%s: %s", cases[i].line, err.text);
		assert_int_equal(o.command->id, COMMAND_NUMA_FIT);
		test_assert_text(cases[i].line, o.value[OPT_OUTPUT], cases[i].output);
		assert_int_equal(option_set(&o, OPT_VERBOSE), cases[i].verbose);
		assert_int_equal(o.n_words, cases[i].word != NULL);
		if (cases[i].word)
			test_assert_text(cases[i].line, o.words[0], cases[i].word);
	}
	assert_int_equal(parse("dump -o =json", &o, &err), -EINVAL);
	assert_non_null(strstr(err.text, "'=json'"));
	/* kubectl's parser takes "=" for the value. */
	assert_int_equal(parse_for(&program_numa, "pods -n=", &o, &err), -EINVAL);
	test_assert_text("message", err.text, "--namespace: '' is not a name");
	assert_int_equal(parse_for(&program_numa, "pods -l a=b -l= --node-selector=", &o, &err), 0);
	assert_false(option_set(&o, OPT_POD_SELECTOR) || option_set(&o, OPT_SELECTOR));
}

static void fallbacks_hold_where_nothing_is_given(void **state)
{
	struct options o;

	(void)state;
	assert_int_equal(parse("dump", &o, NULL), 0);
	test_assert_text("output", o.value[OPT_OUTPUT], "yaml");
	assert_null(o.origin[OPT_OUTPUT]);
	test_assert_text("sysroot", o.value[OPT_SYSROOT], "");
	assert_null(o.value[OPT_NODE_NAME]);
}

static void some_flags_repeat(void **state)
{
	struct options o;
	size_t pos = 0;

	(void)state;
	assert_int_equal(parse("fit --device a.com/x=1 --resource b=2 --device c.com/y=3", &o, NULL), 0);
	test_assert_text("first", options_next(&o, OPT_DEVICE, &pos), "a.com/x=1");
	test_assert_text("second", options_next(&o, OPT_DEVICE, &pos), "c.com/y=3");
	assert_null(options_next(&o, OPT_DEVICE, &pos));
	/* A flag replaces every value of the environment. */
	setenv("NRTD_EXCLUDE_RESOURCES", "a.com/x", 1);
	pos = 0;
	assert_int_equal(parse("run", &o, NULL), 0);
	test_assert_text("environment", options_next(&o, OPT_EXCLUDE_RESOURCES, &pos), "a.com/x");
	pos = 0;
	assert_int_equal(parse("run --exclude-resources b --exclude-resources c", &o, NULL), 0);
	test_assert_text("first", options_next(&o, OPT_EXCLUDE_RESOURCES, &pos), "b");
	test_assert_text("second", options_next(&o, OPT_EXCLUDE_RESOURCES, &pos), "c");
	assert_null(options_next(&o, OPT_EXCLUDE_RESOURCES, &pos));
	/* One flag, other values for another command. */
	assert_int_equal(parse("fit -o text", &o, NULL), 0);
	test_assert_text("output", o.value[OPT_OUTPUT], "text");
	assert_int_equal(parse("dump -o text", &o, NULL), -EINVAL);
}

static void the_environment_stands_between_flag_and_fallback(void **state)
{
	struct options o;
	struct err err = {""};

	(void)state;
	setenv("NRTD_FINGERPRINT", "none", 1);
	setenv("NRTD_VERBOSE", "true", 1);
	assert_int_equal(parse("run", &o, NULL), 0);
	test_assert_text("fingerprint", o.value[OPT_FINGERPRINT], "none");
	test_assert_text("origin", o.origin[OPT_FINGERPRINT], "NRTD_FINGERPRINT");
	assert_true(option_set(&o, OPT_VERBOSE));
	assert_int_equal(parse("run --fingerprint all", &o, NULL), 0);
	test_assert_text("fingerprint", o.value[OPT_FINGERPRINT], "all");
	setenv("NRTD_VERBOSE", "0", 1);
	assert_int_equal(parse("run", &o, NULL), 0);
	assert_false(option_set(&o, OPT_VERBOSE));
	setenv("NRTD_FINGERPRINT", "some", 1);
	assert_int_equal(parse("run", &o, &err), -EINVAL);
	test_assert_text("message", err.text,
		"NRTD_FINGERPRINT: 'some' is not one of all|with-exclusive-resources|none");
	/* The extender has no flag --fingerprint. */
	assert_int_equal(parse_for(&program_extender, "", &o, NULL), 0);
	setenv("NRTD_VERBOSE", "maybe", 1);
	assert_int_equal(parse_for(&program_extender, "", &o, &err), -EINVAL);
	test_assert_text("message", err.text, "NRTD_VERBOSE: 'maybe' is not true or false");
}

static unsigned daemons(void)
{
	unsigned mask = 0;

	for (size_t p = 0; p < ARRAY_SIZE(programs); p++)
		FOREACH_COMMAND (c, programs[p])
			mask |= c->daemon ? 1u << c->id : 0;
	return mask;
}

/* Only a daemon's flag has a variable, and other commands ignore the variable, whatever is in it. */
static void only_daemons_read_the_environment(void **state)
{
	(void)state;
	for (size_t p = 0; p < ARRAY_SIZE(programs); p++)
		FOREACH_OPTION (def, programs[p], every) {
			if (!def->env)
				continue;
			if (!(def->commands & daemons()))
				fail_msg("'%s' is no daemon's and has a variable", def->flag);
			setenv(def->env, "maybe", 1);
		}
	for (size_t p = 0; p < ARRAY_SIZE(programs); p++)
		FOREACH_COMMAND (c, programs[p]) {
			struct options o;
			struct err err = {""};
			int r = parse_for(programs[p], c->name, &o, &err);

			assert_int_equal(r, c->daemon ? -EINVAL : 0);
			for (enum option_id id = 0; id < OPT_COUNT && r == 0; id++)
				if (o.origin[id])
					fail_msg("'%s' has a value from '%s'", c->name, o.origin[id]);
		}
}

/* "--watch" and "--watch=5"; the word after it is no value. */
static void a_value_may_be_implied(void **state)
{
	struct options o;
	struct err err = {""};

	(void)state;
	assert_int_equal(parse("show", &o, NULL), 0);
	assert_false(option_set(&o, OPT_WATCH));
	test_assert_text("output", o.value[OPT_OUTPUT], "text");
	assert_int_equal(parse("show --watch -o svg", &o, NULL), 0);
	test_assert_text("watch", o.value[OPT_WATCH], "2");
	test_assert_text("output", o.value[OPT_OUTPUT], "svg");
	assert_int_equal(parse("show --watch=5", &o, NULL), 0);
	test_assert_text("watch", o.value[OPT_WATCH], "5");
	assert_int_equal(parse("show --watch=true -o svg", &o, NULL), 0);
	test_assert_text("watch", o.value[OPT_WATCH], "2");
	assert_int_equal(parse("show -w=3", &o, NULL), 0);
	test_assert_text("watch", o.value[OPT_WATCH], "3");
	assert_int_equal(parse("show -w --watch=false", &o, NULL), 0);
	assert_false(option_set(&o, OPT_WATCH));
	assert_int_equal(parse("show --watch 5", &o, &err), -EINVAL);
	test_assert_text("message", err.text, "unexpected word '5'");
	assert_int_equal(parse("show --watch=0", &o, &err), -EINVAL);
	test_assert_text("message", err.text, "--watch: '0' is not a whole number from 1 to 86400");
}

static void words_for_flags(void **state)
{
	struct options o;

	(void)state;
	assert_int_equal(parse("help", &o, NULL), 0);
	assert_true(!o.command && option_set(&o, OPT_HELP));
	assert_int_equal(parse("-v help fit", &o, NULL), 0);
	assert_true(o.command->id == COMMAND_FIT && option_set(&o, OPT_HELP));
	assert_int_equal(parse("help fit", &o, NULL), 0);
	assert_true(o.command->id == COMMAND_FIT && option_set(&o, OPT_HELP));
	assert_int_equal(parse("version", &o, NULL), 0);
	assert_true(!o.command && option_set(&o, OPT_VERSION) && !option_set(&o, OPT_HELP));
	assert_int_equal(parse("completion", &o, NULL), 0);
	test_assert_text("shell", o.value[OPT_SHELL], "bash");
	assert_int_equal(parse("completion zsh", &o, NULL), 0);
	test_assert_text("shell", o.value[OPT_SHELL], "zsh");
	assert_int_equal(parse("completion --shell fish", &o, NULL), 0);
	test_assert_text("shell", o.value[OPT_SHELL], "fish");
}

/* The list of commands has a gap before each text. */
/* The loops over tables end at a NULL, which a full array would not have. */
static void tables_end_with_null(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		assert_null(programs[i]->commands[PROGRAM_MAX_TABLES]);
		assert_null(programs[i]->options[PROGRAM_MAX_TABLES]);
	}
}

static void the_list_of_commands_has_columns(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1u << 16);

	(void)state;
	options_help(&program_nrtd, NULL, &text);
	FOREACH_COMMAND (c, &program_nrtd) {
		char line[256];

		snprintf(line, sizeof(line), "\n  %-12s%s\n", c->name, c->help);
		assert_non_null(strstr(text.text, line));
		assert_true(strlen(c->name) < 12);
	}
	assert_non_null(strstr(text.text, "\n  help "));
	assert_non_null(strstr(text.text, "\n  version "));
}

static void bad_usage_is_named(void **state)
{
	static const char *const cases[][2] = {
		{"", "no command; try 'nrtd --help'"},
		{"bogus", "unknown command 'bogus'; try 'nrtd --help'"},
		{"fti --cpus 4", "unknown command 'fti'; did you mean fit?"},
		{"hepl", "unknown command 'hepl'; did you mean help?"},
		{"explain", "unknown command 'explain'; try 'nrtd --help'"},
		{"nrt", "unknown command 'nrt'; try 'nrtd --help'"},
		{"help fits", "unknown command 'fits'; did you mean fit?"},
		{"help bogus", "unknown command 'bogus'; try 'nrtd --help'"},
		{"help fit show", "unexpected word 'show'"},
		{"version fit", "unexpected word 'fit'"},
		{"fit --cpu 4", "unknown flag '--cpu'; did you mean --cpus?"},
		{"fit --cpu=4", "unknown flag '--cpu=4'; did you mean --cpus?"},
		{"fit --memroy 4Gi", "unknown flag '--memroy'; did you mean --memory?"},
		{"dump --cpus 4", "'--cpus' is a flag of fit, not of dump"},
		{"dump bash", "unexpected word 'bash'"},
		{"completion csh", "--shell: 'csh' is not one of bash|zsh|fish"},
		{"completion bash zsh", "unexpected word 'zsh'"},
		{"completion --shell zsh bash", "unexpected word 'bash'"},
		{"dump --bogus", "unknown flag '--bogus'"},
		{"dump -x", "unknown flag '-x'"},
		{"dump -o", "flag '-o' needs a value"},
		{"dump --output", "flag '--output' needs a value"},
		{"dump --verbose=3", "--verbose: '3' is not true or false"},
		{"dump -v=3", "--verbose: '3' is not true or false"},
		{"dump --outp json", "unknown flag '--outp'; did you mean --output?"},
		{"dump ---output json", "unknown flag '---output'; did you mean --output?"},
		{"--bogus dump", "unknown flag '--bogus'"},
		{"dump -o xml", "--output: 'xml' is not one of yaml|json"},
		{"dump -o yaml|json", "--output: 'yaml|json' is not one of yaml|json"},
		{"dump --what=nr",
			"--what: 'nr' is not one of nrt|machine|inventory|pods|hints|numatopology|kai"},
		{"dump --koordinator yes", "--koordinator: 'yes' is not one of on|off"},
		{"dump extra", "unexpected word 'extra'"},
		{"check -f json", "'-f' is a flag of fit, not of check"},
		{"-o json", "no command; try 'nrtd --help'"},
		{"--output json", "no command; try 'nrtd --help'"},
		{"dump --node-name Upper",
			"--node-name: 'Upper' cannot name a Node: it is not a lower-case DNS name"},
		{"dump --node-name a..b",
			"--node-name: 'a..b' cannot name a Node: it is not a lower-case DNS name"},
		{"dump --node-name -a",
			"--node-name: '-a' cannot name a Node: it is not a lower-case DNS name"},
		{"dump --reserved-cpus 3-1", "--reserved-cpus: not a CPU list: '3-1'"},
		{"dump --topology-manager-policy Restricted",
			"--topology-manager-policy: 'Restricted' is not one of "
			"none|best-effort|restricted|single-numa-node"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct options o;
		struct err err = {""};

		assert_int_equal(parse(cases[i][0], &o, &err), -EINVAL);
		test_assert_text(cases[i][0], err.text, cases[i][1]);
	}
}

static void help_and_version_need_no_command(void **state)
{
	struct options o;

	(void)state;
	assert_int_equal(parse("--help", &o, NULL), 0);
	assert_null(o.command);
	assert_true(option_set(&o, OPT_HELP));
	assert_int_equal(parse("dump --help", &o, NULL), 0);
	assert_int_equal(o.command->id, COMMAND_DUMP);
}

/* Some option with this flag is the command's. */
static bool is_flag_of(const struct program *program, const struct command_def *c, const char *flag)
{
	FOREACH_OPTION (def, program, c)
		if (!strcmp(def->flag, flag))
			return true;
	return false;
}

static void check_help(const struct program *program, const struct command_def *c)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1u << 16);

	options_help(program, c, &text);
	FOREACH_OPTION (def, program, every) {
		bool own = def->commands & 1u << c->id;
		char left[128];

		/* "--memory QUANTITY", which "--memory-manager-policy POLICY" does not hold. */
		snprintf(left, sizeof(left), "%s%s%s", def->flag,
			def->implied ? "[="
			: def->arg   ? " "
				     : "",
			def->arg ? def->arg : "");
		if (is_flag_of(program, c, def->flag) != (strstr(text.text, left) != NULL) ||
			(own && def->env && c->daemon != (strstr(text.text, def->env) != NULL)))
			fail_msg("help of '%s %s' and flag '%s'", program->name, c->name, def->flag);
	}
}

static void help_names_every_flag_and_variable(void **state)
{
	(void)state;
	for (size_t p = 0; p < ARRAY_SIZE(programs); p++)
		FOREACH_COMMAND (c, programs[p])
			check_help(programs[p], c);
}

/* The text of a program's or a command's manual page in the repository, of section 1 or 8; NULL where there is none. */
static char *page(const char *program, const char *command)
{
	static const char sections[] = {'1', '8'};
	char name[96];

	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		snprintf(name, sizeof(name), "../../man/%s%s%s.%c", program, *command ? "-" : "", command,
			sections[i]);
		if (access(test_fixture(name), R_OK) == 0)
			return test_read_file(test_fixture(name), NULL);
	}
	return NULL;
}

/* Every flag, and every variable of a daemon, is in the command's page or in the program's: ".It Fl -flag" in mdoc. */
static void check_manual(const struct program *program, const struct command_def *c)
{
	CLEANUP(freep) char *own = page(program->name, c->name);
	CLEANUP(freep) char *common = page(program->name, "");
	char item[128];

	assert_non_null(common);
	FOREACH_OPTION (def, program, c) {
		snprintf(item, sizeof(item), "Fl -%s", def->flag + 2);
		if (!(own && strstr(own, item)) && !strstr(common, item))
			fail_msg("the manual of '%s %s' lacks '%s'", program->name, c->name, item);
		if (def->env && c->daemon && !(own && strstr(own, def->env)) && !strstr(common, def->env))
			fail_msg("the manual of '%s %s' lacks '%s'", program->name, c->name, def->env);
	}
	snprintf(item, sizeof(item), ".It Cm %s", c->name);
	if (*c->name && !strstr(common, item))
		fail_msg("the manual of '%s' lacks '%s'", program->name, item);
}

#define NEAR 60u /* bytes */

/* Whether the value, as a word, is near the word "default" in the first `len` bytes of the text. */
static bool has_default(const char *text, size_t len, const char *value)
{
	CLEANUP(freep) char *part = xstrndup(text, len);

	for (const char *at = part; (at = strstr(at, value)); at++) {
		size_t before = (size_t)(at - part) < NEAR ? (size_t)(at - part) : NEAR;
		CLEANUP(freep) char *around = xstrndup(at - before, before + strlen(value) + NEAR);
		bool is_word = !isalnum((unsigned char)at[strlen(value)]) &&
			       (before == 0 || !(isalnum((unsigned char)at[-1]) || at[-1] == '.'));

		if (is_word && strcasestr(around, "default"))
			return true;
	}
	return false;
}

/* Whether the page's item of the flag, or if it has none its text around the flag, says that the value is the default. */
static bool page_has_default(const char *text, const char *flag, const char *value)
{
	bool has_item = false, found = false;
	char name[64];

	snprintf(name, sizeof(name), "Fl -%s", flag + 2);
	for (const char *at = text; (at = strstr(at, name)) && !found; at++) {
		const char *line = at, *next = strstr(at, "\n.It Fl"), *from = at;
		bool is_item;

		if (at[strlen(name)] == '-' || isalnum((unsigned char)at[strlen(name)]))
			continue;
		while (line > text && line[-1] != '\n')
			line--;
		is_item = !strncmp(line, ".It", 3);
		if (!is_item)
			from = at - text < NEAR ? text : at - NEAR;
		if (is_item || !has_item)
			found = has_default(from, next ? (size_t)(next - from) : strlen(from), value);
		has_item = has_item || is_item;
	}
	return found;
}

/* The manual of a flag that several commands have is the page of the program, of fit, of nrtd's command, or of nrtd run. */
static void check_defaults(const struct program *program, const struct command_def *c)
{
	char *pages[] = {page(program->name, c->name), page(program->name, ""), page(program->name, "fit"),
		page("nrtd", c->name), page("nrtd", "run")};

	FOREACH_OPTION (def, program, c) {
		bool found = !def->fallback || !*def->fallback;

		for (size_t i = 0; i < ARRAY_SIZE(pages) && !found; i++)
			found = pages[i] && page_has_default(pages[i], def->flag, def->fallback);
		if (!found)
			fail_msg("the manual of '%s %s' lacks the default '%s' of '%s'", program->name,
				c->name, def->fallback, def->flag);
	}
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++)
		free(pages[i]);
}

static void the_manual_has_every_default(void **state)
{
	(void)state;
	for (size_t p = 0; p < ARRAY_SIZE(programs); p++)
		FOREACH_COMMAND (c, programs[p])
			check_defaults(programs[p], c);
}

static void the_manual_names_every_flag(void **state)
{
	(void)state;
	for (size_t p = 0; p < ARRAY_SIZE(programs); p++)
		FOREACH_COMMAND (c, programs[p])
			check_manual(programs[p], c);
}

/* The release that commands assume by default is in the help and in the manual. */
static void the_release_is_the_newest_recorded(void **state)
{
	CLEANUP(freep) char *manual = test_read_file(test_fixture("../../man/nrtd.8"), NULL);
	char text[64];

	(void)state;
	snprintf(text, sizeof(text), "else 1.%u)", KUBELET_MINOR_ASSUMED);
	FOREACH_OPTION (def, &program_nrtd, every)
		if (def->id == OPT_KUBELET_VERSION)
			assert_non_null(strstr(def->help, text));
	snprintf(text, sizeof(text), "the other commands use 1.%u.", KUBELET_MINOR_ASSUMED);
	assert_non_null(strstr(manual, text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(flags_set_values, clean_environment, clean_environment),
		cmocka_unit_test_setup_teardown(
			fallbacks_hold_where_nothing_is_given, clean_environment, clean_environment),
		cmocka_unit_test_setup_teardown(the_environment_stands_between_flag_and_fallback,
			clean_environment, clean_environment),
		cmocka_unit_test_setup_teardown(
			only_daemons_read_the_environment, clean_environment, clean_environment),
		cmocka_unit_test_setup_teardown(some_flags_repeat, clean_environment, clean_environment),
		cmocka_unit_test_setup_teardown(a_value_may_be_implied, clean_environment, clean_environment),
		cmocka_unit_test_setup_teardown(words_for_flags, clean_environment, clean_environment),
		cmocka_unit_test(timeouts_are_those_of_kubectl),
		cmocka_unit_test(flags_are_read_as_kubectl_reads_them),
		cmocka_unit_test(tables_end_with_null),
		cmocka_unit_test(the_list_of_commands_has_columns),
		cmocka_unit_test_setup_teardown(bad_usage_is_named, clean_environment, clean_environment),
		cmocka_unit_test_setup_teardown(
			help_and_version_need_no_command, clean_environment, clean_environment),
		cmocka_unit_test(help_names_every_flag_and_variable),
		cmocka_unit_test(the_manual_names_every_flag),
		cmocka_unit_test(the_manual_has_every_default),
		cmocka_unit_test(the_release_is_the_newest_recorded),
	};

	return cmocka_run_group_tests_name("opts", tests, NULL, NULL);
}
