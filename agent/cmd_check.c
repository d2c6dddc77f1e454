/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/commands.h"

#include <errno.h>
#include <stdarg.h>

#include "agent/check_libnuma.h"
#include "agent/observe.h"
#include "agent/settings_text.h"
#include "common/cleanup.h"
#include "common/log.h"

#define CHECK_MAX (1u << 20)

/* One line of the report: "ok", "warn" or "FAIL", the subject, what there is to say. */
__attribute__((format(printf, 3, 4))) static void report(
	const char *level, const char *subject, const char *fmt, ...)
{
	va_list ap;

	printf("%-4s  %-12s  ", level, subject);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

static void report_machine(const struct machine *m)
{
	report("ok", "machine",
		"%zu packages, %zu NUMA nodes, %zu cores, %zu CPUs online, %zu offline, SLIT %s",
		m->n_sockets, m->n_nodes, m->n_cores, m->n_cpus, cpuset_size(m->offline),
		m->distances ? "known" : "not told");
}

/* libnuma sees the running system only. Number of differences. */
static int report_libnuma(const struct options *options, const struct machine *m)
{
	CLEANUP(strbuf_release) struct strbuf lines = STRBUF_INIT(CHECK_MAX);
	struct err err = {""};
	char *save = NULL;
	int n;

	if (*options->value[OPT_SYSROOT] || option_set(options, OPT_MACHINE)) {
		report("ok", "libnuma", "not compared: it sees the running system only");
		return 0;
	}
	n = libnuma_compare(m, &lines, &err);
	if (n == 0)
		report("ok", "libnuma", "agrees on node ids, distances and CPU lists");
	else if (n < 0)
		report("warn", "libnuma", "not compared: %s", n == -ENODEV ? err.text : strerror(-n));
	for (char *line = n > 0 ? strtok_r(lines.text, "\n", &save) : NULL; line;
		line = strtok_r(NULL, "\n", &save))
		report("FAIL", "libnuma", "%s", line);
	return n > 0 ? n : 0;
}

static void report_settings(const struct settings *s)
{
	for (enum setting what = 0; what < SETTING_COUNT; what++) {
		CLEANUP(freep) char *value = s->from[what] ? settings_text(s, what) : NULL;

		if (value)
			report("ok", "setting", "%s = '%s' (%s)", setting_names[what], value, s->from[what]);
		else
			report("warn", "setting", "%s is unknown", setting_names[what]);
	}
}

static void report_allocations(const struct observation *o)
{
	static const char *const files[] = {"cpu_manager_state", "memory_manager_state", "device checkpoint"};
	const bool known[] = {
		o->allocations.cpus_known, o->allocations.memory_known, o->allocations.devices_known};
	CLEANUP(freep) char *reserved = o->reserved.cpus ? cpuset_print(o->reserved.cpus) : NULL;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (known[i])
			report("ok", "state", "%s read below '%s'", files[i], o->kubelet_root);
		else
			report("warn", "state", "%s tells nothing below '%s'", files[i], o->kubelet_root);
	}
	report(reserved ? "ok" : "warn", "reserved", "CPUs %s%s%s (%s)", reserved ? "'" : "",
		reserved ? reserved : "unknown", reserved ? "'" : "", o->reserved.from);
}

int command_check(const struct options *options)
{
	CLEANUP(observation_release) struct observation o;
	struct err err = {""};
	int differences;

	observation_init(&o);
	if (observe(options, &o, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_FAILURE;
	}
	report("ok", "node", "%s", o.node_name);
	report_machine(&o.machine);
	differences = report_libnuma(options, &o.machine);
	report_settings(&o.settings);
	report_allocations(&o);
	for (size_t i = 0; i < o.notes.n_lines; i++)
		report("warn", "note", "%s", o.notes.lines[i]);
	if (fflush(stdout) != 0) {
		log_error("cannot print: %s", strerror(errno));
		return EXIT_FAILURE;
	}
	return differences > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
