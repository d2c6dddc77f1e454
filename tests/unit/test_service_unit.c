/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/observe/service_unit.h"
#include "common/cleanup.h"
#include "common/strbuf.h"
#include "common/xalloc.h"
#include "tests/lib/kubelet_tree.h"

#define UNIT      "etc/systemd/system/a-b.service"
#define DROP_INS  "etc/systemd/system/a-b.service.d/"
#define MAX_FILES 8

/* "WORD|WORD|" and "\nGAP"; "none" without a unit. */
static void check_unit(const char *what, const char *dir, const char *want)
{
	CLEANUP(service_unit_release) struct service_unit unit = {.gap = NULL};
	CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(65536);
	struct err err = {""};
	int r = service_unit_read(dir, "a-b.service", &unit, &err);

	assert_true(r >= 0);
	if (r == 0)
		strbuf_addstr(&got, "none");
	for (size_t i = 0; i < unit.words.n_items; i++)
		strbuf_addf(&got, "%s|", unit.words.items[i]);
	if (unit.gap) {
		const char *at = strstr(unit.gap, dir);

		strbuf_addf(&got, "\n%.*s%s", at ? (int)(at - unit.gap) : (int)strlen(unit.gap), unit.gap,
			at ? at + strlen(dir) : "");
	}
	test_assert_text(what, got.text, want);
}

static void commands(void **state)
{
	static const struct {
		const char *name;
		struct test_tree_file files[MAX_FILES];
		const char *want;
	} cases[] = {
		{"no unit", {{"etc/systemd/system/a.service", "[Service]\nExecStart=/a\n"}}, "none"},
		{"a command",
			{{UNIT, "[Unit]\nExecStart=/x\n[Service]\nExecStart = /a 'b c' \\\n\td \\x41\n[Install]\nExecStart=/x\n"}},
			"/a|b c|d|A|"},
		{"prefixes", {{UNIT, "[Service]\nExecStart=-+@/a name $B b\nEnvironment=B=1\n"}}, "/a|1|b|"},
		{"no variables", {{UNIT, "[Service]\nExecStart=:/a $B ${B}\nEnvironment=B=1\n"}},
			"/a|$B|${B}|"},
		{"variables of the unit",
			{{UNIT, "[Service]\nEnvironment=\"A=1 2\" 'B=3' C=%N D=\\d E=5\nEnvironment=F=6\nExecStart=/a $A ${A} $B$ ${B}x "
				"$C $D $E $F\n"}},
			"/a|1|2|1 2|3x|a-b|6|\n'/" UNIT
			"': Environment= has a quote without its end or an unknown escape"},
		{"environment is reset",
			{{UNIT, "[Service]\nEnvironment=A=1\nEnvironment=\nEnvironment=B=2\nExecStart=/a $A $B\n"}},
			"/a|2|"},
		{"ExecStart= of a drop-in resets",
			{{UNIT, "[Service]\nExecStart=/old\n"},
				{DROP_INS "10-a.conf",
					"[Service]\nExecStart=\nExecStart=/new $A\nEnvironment=A=1\n"},
				{DROP_INS "20-b.conf", "[Service]\nEnvironment=A=2\n"},
				{DROP_INS "30-c.txt", "[Service]\nEnvironment=A=3\n"}},
			"/new|2|"},
		{"without a reset there are two commands",
			{{UNIT, "[Service]\nExecStart=/old\n"},
				{DROP_INS "10.conf", "[Service]\nExecStart=/new\n"}},
			"/new|\na-b.service has 2 ExecStart= commands, not 1"},
		{"commands on one line", {{UNIT, "[Service]\nExecStart=/a b\\; \\; c ; /d\n"}},
			"/a|b\\;|;|c|\n'/" UNIT "' has several commands in ExecStart="},
		{"no command", {{UNIT, "[Service]\nType=simple\n"}},
			"\na-b.service has 0 ExecStart= commands, not 1"},
		{"a quote without its end", {{UNIT, "[Service]\nExecStart=/a 'b\n"}},
			"\n'/" UNIT "': ExecStart= has a quote without its end"},
		{"such a command that a drop-in replaces",
			{{UNIT, "[Service]\nExecStart=/a 'b\n"},
				{DROP_INS "1.conf", "[Service]\nExecStart=\nExecStart=/c\n"}},
			"/c|\n'/" UNIT "': ExecStart= has a quote without its end"},
		{"the unit of /etc counts, drop-ins of everywhere do",
			{{"usr/lib/systemd/system/a-b.service", "[Service]\nExecStart=/usr\n"},
				{"run/systemd/system/a-b.service", "[Service]\nExecStart=/run\n"},
				{UNIT, "[Service]\nExecStart=/etc $A $B $C\n"},
				{"usr/lib/systemd/system/a-b.service.d/20.conf",
					"[Service]\nEnvironment=A=usr B=usr\n"},
				{DROP_INS "20.conf", "[Service]\nEnvironment=A=etc\n"},
				{"run/systemd/system/a-b.service.d/10.conf",
					"[Service]\nEnvironment=A=run C=run\n"},
				{"lib/systemd/system/a-b.service.d/30.conf",
					"[Service]\nEnvironment=B=lib\n"}},
			"/etc|etc|lib|run|"},
		{"the unit of /run counts before /usr",
			{{"usr/lib/systemd/system/a-b.service", "[Service]\nExecStart=/usr\n"},
				{"run/systemd/system/a-b.service", "[Service]\nExecStart=/run\n"}},
			"/run|"},
		{"the unit of /usr/local",
			{{"usr/local/lib/systemd/system/a-b.service", "[Service]\nExecStart=/local\n"}},
			"/local|"},
		{"drop-ins of a prefix and of all services",
			{{UNIT, "[Service]\nExecStart=/a $A $B $C\n"},
				{"etc/systemd/system/service.d/10.conf",
					"[Service]\nEnvironment=A=all B=all C=all\n"},
				{"etc/systemd/system/a-.service.d/10.conf",
					"[Service]\nEnvironment=A=prefix\n"},
				{"etc/systemd/system/a-.service.d/20.conf",
					"[Service]\nEnvironment=B=prefix\n"},
				{DROP_INS "20.conf", "[Service]\nEnvironment=B=own\n"}},
			"/a|prefix|own|"},
		{"an empty unit file masks",
			{{UNIT, ""}, {"usr/lib/systemd/system/a-b.service", "[Service]\nExecStart=/usr\n"},
				{DROP_INS "1.conf", "[Service]\n"}},
			"none"},
		{"drop-ins alone", {{DROP_INS "20.conf", "[Service]\nEnvironment=A=1\nExecStart=/a $A\n"}},
			"/a|1|\na-b.service has drop-ins but no unit file"},
		{"environment files replace Environment=",
			{{UNIT, "[Service]\nEnvironmentFile=-/etc/default/%N\nEnvironmentFile=/etc/two\nEnvironmentFile=relative\nExecStart=/a $A $B "
				"$C\n"},
				{DROP_INS "1.conf", "[Service]\nEnvironment=A=unit B=unit C=unit\n"},
				{"etc/default/a-b", "A=one\nB=one\n"}, {"etc/two", "# c\nB='t w o'\n"}},
			"/a|one|t|w|o|unit|"},
		{"the list of environment files is reset",
			{{UNIT, "[Service]\nEnvironmentFile=/etc/one\nEnvironmentFile=\nEnvironmentFile=-/etc/none\nExecStart=/a $A\n"},
				{"etc/one", "A=1\n"}},
			"/a|"},
		{"a missing environment file",
			{{UNIT, "[Service]\nEnvironmentFile=/etc/none\nExecStart=/a $A\n"}},
			"/a|\na-b.service needs the environment file '/etc/none', which does not exist"},
		{"a pattern of environment files",
			{{UNIT, "[Service]\nEnvironmentFile=-/etc/*.env\nExecStart=/a $A\n"}},
			"/a|\na-b.service: nrtd does not follow EnvironmentFile=-/etc/*.env"},
		{"a variable of the manager", {{UNIT, "[Service]\nPassEnvironment=A\nExecStart=/a $A\n"}},
			"/a|\n'/" UNIT "' sets PassEnvironment=, which nrtd does not follow"},
		{"a specifier of the running system", {{UNIT, "[Service]\nExecStart=/a --b %H --c=%H --d\n"}},
			"/a|--d|\na-b.service: only the running system knows a specifier of '%H'"},
		{"the same in Environment=",
			{{UNIT, "[Service]\nEnvironment=A=%H B=1\nExecStart=/a $A $B\n"}},
			"/a|1|\n'/" UNIT "': only the running system knows a specifier of Environment="},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(test_rmtree) char *dir = test_tmpdir();

		test_write_tree(dir, cases[i].files);
		check_unit(cases[i].name, dir, cases[i].want);
	}
}

static void link_to(const char *dir, const char *path, const char *target)
{
	CLEANUP(freep) char *link = xasprintf("%s/%s", dir, path);

	unlink(link);
	assert_int_equal(symlink(target, link), 0);
}

static void masks(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();

	(void)state;
	test_write_file(dir, "usr/lib/systemd/system/a-b.service", "[Service]\nExecStart=/a $A\n");
	test_write_file(dir, "usr/lib/systemd/system/a-b.service.d/10.conf", "[Service]\nEnvironment=A=1\n");
	test_write_file(dir, DROP_INS "20.conf", "");
	check_unit("no mask", dir, "/a|1|");
	link_to(dir, DROP_INS "10.conf", "/dev/null");
	check_unit("a masked drop-in", dir, "/a|");
	link_to(dir, "etc/systemd/system/a-b.service", "/dev/null");
	check_unit("a masked unit", dir, "none");
	link_to(dir, "etc/systemd/system/a-b.service", "/usr/lib/systemd/system/a-b.service");
	check_unit("a linked unit", dir, "/a|");
}

static void what_cannot_be_read_is_a_gap(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(freep) char *unit = xasprintf("%s/" UNIT, dir);
	CLEANUP(freep) char *drop_ins = xasprintf("%s/" DROP_INS, dir);
	CLEANUP(freep) char *environment = xasprintf("%s/etc/environment", dir);
	bool root = geteuid() == 0;

	(void)state;
	assert_int_equal(chmod(dir, 0755), 0);
	test_write_file(dir, UNIT, "[Service]\nEnvironmentFile=-/etc/environment\nExecStart=/a $A\n");
	test_write_file(dir, DROP_INS "10.conf", "[Service]\n");
	test_write_file(dir, "etc/environment", "A=1\n");
	assert_int_equal(chmod(environment, 0), 0);
	assert_int_equal(root ? seteuid(65534) : 0, 0);
	check_unit("an environment file", dir, "/a|\ncannot open '/etc/environment': Permission denied");
	assert_int_equal(root ? seteuid(0) : 0, 0);
	assert_int_equal(chmod(environment, 0644), 0);
	assert_int_equal(chmod(drop_ins, 0), 0);
	assert_int_equal(root ? seteuid(65534) : 0, 0);
	check_unit(
		"drop-ins", dir, "/a|1|\ncannot open '/etc/systemd/system/a-b.service.d': Permission denied");
	assert_int_equal(root ? seteuid(0) : 0, 0);
	assert_int_equal(chmod(drop_ins, 0755), 0);
	assert_int_equal(chmod(unit, 0), 0);
	assert_int_equal(root ? seteuid(65534) : 0, 0);
	check_unit("the unit", dir, "\ncannot open '/" UNIT "': Permission denied");
	assert_int_equal(root ? seteuid(0) : 0, 0);
}

static void bounds(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1 << 20);
	CLEANUP(service_unit_release) struct service_unit unit = {.gap = NULL};
	struct err err = {""};

	(void)state;
	for (int i = 0; i < 300; i++) {
		char path[128];

		snprintf(path, sizeof(path), DROP_INS "%03d.conf", i);
		test_write_file(dir, path, "[Service]\n");
	}
	test_write_file(dir, UNIT, "[Service]\nExecStart=/a\n");
	check_unit("drop-ins", dir, "/a|\na-b.service has 256 drop-ins or more");
	test_rmtree(&dir);
	dir = test_tmpdir();
	strbuf_addstr(&text, "[Service]\nExecStart=/a");
	for (int i = 0; i < 5000; i++)
		strbuf_addstr(&text, " b");
	test_write_file(dir, UNIT, text.text);
	assert_int_equal(service_unit_read(dir, "a-b.service", &unit, &err), 1);
	assert_int_equal(unit.words.n_items, 4096);
	assert_string_equal(unit.gap, "a-b.service: ExecStart= has more than 4096 words");
}

static void states_of_services(void **state)
{
	static const char *const want[] = {
		"a.service|b.service|c.service|d.service|", "b.service|c.service|", "c.service|"};
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(service_units_release) struct service_units units = {0};
	struct err err = {""};

	(void)state;
	test_write_file(dir, "etc/systemd/system/a.service", "");
	test_write_file(dir, "etc/systemd/system/a.socket", "");
	test_write_file(dir, "usr/lib/systemd/system/b.service", "");
	test_write_file(dir, "usr/lib/systemd/system/c.service", "");
	test_write_file(dir, "etc/systemd/system/d.service.d/10.conf", "");
	test_write_file(dir, "etc/systemd/system/multi-user.target.wants/b.service", "");
	test_write_file(dir, "usr/lib/systemd/system/other.service.requires/c.service", "");
	test_write_file(dir, "run/systemd/units/log-level-max:a.service", "");
	link_to(dir, "run/systemd/units/invocation:c.service", "0123456789abcdef0123456789abcdef");
	assert_int_equal(service_units_list(dir, &units, &err), 0);
	for (int i = 0; i < SERVICE_STATE_COUNT; i++) {
		CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(4096);

		for (size_t n = 0; n < units.names[i].n_items; n++)
			strbuf_addf(&got, "%s|", units.names[i].items[n]);
		test_assert_text("state", got.text, want[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands),
		cmocka_unit_test(masks),
		cmocka_unit_test(what_cannot_be_read_is_a_gap),
		cmocka_unit_test(bounds),
		cmocka_unit_test(states_of_services),
	};

	return cmocka_run_group_tests_name("service_unit", tests, NULL, NULL);
}
