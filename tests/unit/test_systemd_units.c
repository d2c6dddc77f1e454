/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random unit files and drop-ins, read by nrtd and by systemd 252 in its test mode: whenever nrtd says that it has read a service whole,
 * systemd has the same command line and the same variables. Skipped without this systemd.
 */
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/observe/service_unit.h"
#include "common/cleanup.h"
#include "common/xalloc.h"

#define N_UNITS 150
#define UNITS   "etc/systemd/system"
#define NOBODY  65534

static const char systemd[] = "/lib/systemd/systemd";

/* ---- random units */

static void add_value(struct strbuf *out, size_t max, uint64_t *random)
{
	static const char *const pieces[] = {"a", "b", "--x=", "1", " ", "  ", "\t", "'", "\"", "\\", "\\\\",
		"\\x41", "\\s", "\\d", "\\101", "\\u00e9", "\\\"", "\\'", "%%", "%n", "%p", "%N", "%&", "$A",
		"${B}", "$$", ";", " ; ", "\\;", " \\; ", "=", "#", "\xc3\xa9", "-", "@", ":", "\\\n",
		"\\\n  ", "\\\n# c\n", ",", "{", "}", "~"};

	for (size_t n = test_random(random) % (max + 1); n > 0; n--)
		strbuf_addstr(out, pieces[test_random(random) % ARRAY_SIZE(pieces)]);
}

static void add_settings(struct strbuf *out, bool drop_in, uint64_t *random)
{
	static const char *const names[] = {"A=", "B=", "\"C=", "D=", "'E=", ""};

	strbuf_addstr(out, "[Service]\n");
	for (uint64_t lines = test_random(random) % 3; lines > 0; lines--) {
		strbuf_addstr(out, "Environment=");
		for (uint64_t n = test_random(random) % 3; n > 0; n--) {
			strbuf_addstr(out, names[test_random(random) % ARRAY_SIZE(names)]);
			add_value(out, 4, random);
			strbuf_addch(out, ' ');
		}
		strbuf_addch(out, '\n');
	}
	if (drop_in && test_random(random) % 2)
		return;
	/* ':' keeps variables, because systemd shows them as they are. */
	strbuf_addstr(out, drop_in ? "ExecStart=\nExecStart=:/bin/true " : "ExecStart=:/bin/true ");
	add_value(out, 12, random);
	strbuf_addch(out, '\n');
}

static void write_settings(const char *dir, const char *path, bool drop_in, uint64_t *random)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(65536);

	add_settings(&text, drop_in, random);
	test_write_file(dir, path, text.text);
}

static void write_units(const char *dir, uint64_t *random)
{
	CLEANUP(strbuf_release) struct strbuf target = STRBUF_INIT(65536);

	strbuf_addstr(&target, "[Unit]\n");
	for (int i = 0; i < N_UNITS; i++) {
		char path[128];

		snprintf(path, sizeof(path), UNITS "/u-%d.service", i);
		write_settings(dir, path, false, random);
		snprintf(path, sizeof(path), UNITS "/u-%d.service.d/10.conf", i);
		if (test_random(random) % 3 == 0)
			write_settings(dir, path, true, random);
		snprintf(path, sizeof(path), UNITS "/u-%d.service.d/20.conf", i);
		if (test_random(random) % 3 == 0)
			write_settings(dir, path, true, random);
		strbuf_addf(&target, "Wants=u-%d.service\n", i);
	}
	test_write_file(dir, UNITS "/u-.service.d/15.conf", "[Service]\nEnvironment=P=1\n");
	test_write_file(dir, UNITS "/service.d/20.conf", "[Service]\nEnvironment=S=1\n");
	test_write_file(dir, UNITS "/all.target", target.text);
}

/* ---- systemd's reading */

static void run_systemd(const char *dir, int out)
{
	CLEANUP(freep) char *home = xasprintf("HOME=%s/home", dir);
	CLEANUP(freep) char *run = xasprintf("XDG_RUNTIME_DIR=%s/home", dir);
	CLEANUP(freep) char *units = xasprintf("SYSTEMD_UNIT_PATH=%s/" UNITS ":", dir);
	char log[] = "SYSTEMD_LOG_LEVEL=crit";
	char *environment[] = {home, run, units, log, NULL};

	if (dup2(out, STDOUT_FILENO) < 0 || (geteuid() == 0 && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)))
		_exit(1);
	execle(systemd, systemd, "--test", "--user", "--unit=all.target", NULL, environment);
	_exit(1);
}

/* What systemd prints about all units; "" if it does not run here. */
static char *ask_systemd(const char *dir)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64u << 20);
	CLEANUP(freep) char *home = xasprintf("%s/home", dir);
	char buffer[65536];
	int ends[2], status;
	pid_t child;
	ssize_t n;

	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(mkdir(home, 0700), 0);
	assert_int_equal(geteuid() == 0 ? chown(home, NOBODY, NOBODY) : 0, 0);
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0)
		run_systemd(dir, ends[1]);
	close(ends[1]);
	while ((n = read(ends[0], buffer, sizeof(buffer))) > 0)
		strbuf_add(&text, buffer, (size_t)n);
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	return strbuf_detach(&text);
}

/* Append a command line's words as systemd quotes them, each with '|' behind it. */
static void add_unquoted(struct strbuf *out, const char *p)
{
	static const char letters[] = "abfnrtv", values[] = "\a\b\f\n\r\t\v";

	while (*p) {
		bool quoted = *p == '"';

		for (p += quoted; *p && *p != (quoted ? '"' : ' '); p++) {
			const char *letter = quoted && *p == '\\' && p[1] ? strchr(letters, *++p) : NULL;

			strbuf_addch(out, letter ? values[letter - letters] : *p);
		}
		p += quoted;
		p += *p == ' ';
		strbuf_addch(out, '|');
	}
}

/* Append "WORD|WORD|\n" for each command and then "NAME=VALUE\n", of the unit whose description begins at `p`. */
static void add_description(struct strbuf *out, const char *p)
{
	CLEANUP(strv_release) struct strv variables = {0};
	bool start = false;

	for (; *p && strncmp(p, "\t-> ", 4); p++) {
		CLEANUP(freep) char *line = xstrndup(p, strcspn(p, "\n"));

		if (!strncmp(line, "\t\t-> ", 5))
			start = !strcmp(line, "\t\t-> ExecStart:");
		if (!strncmp(line, "\t\tEnvironment: ", 15))
			strv_push(&variables, line + 15);
		if (start && !strncmp(line, "\t\t\tCommand Line: ", 17)) {
			add_unquoted(out, line + 17);
			strbuf_addch(out, '\n');
		}
		p += strlen(line);
		if (!*p)
			break;
	}
	strv_sort(&variables);
	for (size_t i = 0; i < variables.n_items; i++)
		strbuf_addf(out, "%s\n", variables.items[i]);
}

static const char *find_description(const char *text, const char *name)
{
	CLEANUP(freep) char *head = xasprintf("\t-> Unit %s:\n", name);
	const char *at = strstr(text, head);

	return at ? at + strlen(head) : "";
}

/* ---- the comparison */

/* False if nrtd has not read the service whole. */
static bool describe_ours(const char *dir, const char *name, struct strbuf *out)
{
	CLEANUP(service_unit_release) struct service_unit unit = {.gap = NULL};
	struct err err = {""};

	assert_int_equal(service_unit_read(dir, name, &unit, &err), 1);
	if (unit.gap)
		return false;
	for (size_t i = 0; i < unit.words.n_items; i++)
		strbuf_addf(out, "%s|", unit.words.items[i]);
	strbuf_addch(out, '\n');
	strv_sort(&unit.variables);
	for (size_t i = 0; i < unit.variables.n_items; i++)
		strbuf_addf(out, "%s\n", unit.variables.items[i]);
	return true;
}

static bool is_known_version(void)
{
	CLEANUP(freep) char *command = xasprintf("%s --version 2>/dev/null", systemd);
	FILE *in = popen(command, "r");
	char line[256] = "";
	bool known = in && fgets(line, sizeof(line), in) && !strncmp(line, "systemd 252 ", 12);

	if (in)
		pclose(in);
	return known;
}

static void systemd_reads_the_same(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(freep) char *text = NULL;
	uint64_t random = test_seed(252);
	int n = 0;

	(void)state;
	if (!is_known_version())
		test_skip("systemd 252 is not installed");
	write_units(dir, &random);
	text = ask_systemd(dir);
	if (!*text)
		test_skip("systemd does not run in its test mode here");
	for (int i = 0; i < N_UNITS; i++) {
		CLEANUP(strbuf_release) struct strbuf ours = STRBUF_INIT(1 << 20);
		CLEANUP(strbuf_release) struct strbuf theirs = STRBUF_INIT(1 << 20);
		char name[32];

		snprintf(name, sizeof(name), "u-%d.service", i);
		if (!describe_ours(dir, name, &ours))
			continue;
		add_description(&theirs, find_description(text, name));
		test_assert_text(name, ours.text, theirs.text);
		n++;
	}
	assert_true(n > N_UNITS / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(systemd_reads_the_same)};

	return cmocka_run_group_tests_name("systemd_units", tests, NULL, NULL);
}
