/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/commands.h"

#include <errno.h>

#include "agent/check_api.h"
#include "agent/check_files.h"
#include "agent/check_libnuma.h"
#include "agent/check_publish.h"
#include "agent/discover.h"
#include "agent/json.h"
#include "agent/observe.h"
#include "agent/output.h"
#include "agent/render.h"
#include "agent/settings_text.h"
#include "common/cleanup.h"
#include "common/log.h"

#define CHECK_MAX (8u << 20)

/* ---- the machine */

static bool check_machine(const struct options *options, struct machine *m, struct check_report *report)
{
	const struct machine_source source = {
		.root = options->value[OPT_SYSROOT], .xml = options->value[OPT_MACHINE]};
	struct check_item *item;
	struct err err = {""};
	int r = machine_discover(&source, m, &err);

	if (r < 0) {
		item = check_report_add(report, CHECK_FAIL, "machine", "%s", err.text);
		if (item)
			check_report_set(report, &item->remedy, "%s",
				source.xml ? "give --machine an XML file that lstopo has written"
					   : "in a container mount the host's /sys read-only, at /sys or "
					     "below the directory that --sysroot names");
		return false;
	}
	check_report_add(report, CHECK_OK, "machine",
		"%zu packages, %zu NUMA nodes, %zu cores, %zu CPUs online, %zu offline, SLIT %s",
		m->n_sockets, m->n_nodes, m->n_cores, m->n_cpus, cpuset_size(m->offline),
		m->distances ? "known" : "not told");
	return true;
}

/* libnuma sees the running system only. */
static void check_libnuma(const struct options *options, const struct machine *m, struct check_report *report)
{
	CLEANUP(strbuf_release) struct strbuf lines = STRBUF_INIT(CHECK_MAX);
	struct err err = {""};
	char *save = NULL;
	int n;

	if (*options->value[OPT_SYSROOT] || option_set(options, OPT_MACHINE)) {
		check_report_add(
			report, CHECK_OK, "libnuma", "not compared: it sees the running system only");
		return;
	}
	n = libnuma_compare(m, &lines, &err);
	if (n == 0)
		check_report_add(report, CHECK_OK, "libnuma", "agrees on node ids, distances and CPU lists");
	else if (n < 0)
		check_report_add(report, CHECK_WARN, "libnuma", "not compared: %s",
			n == -ENODEV ? err.text : strerror(-n));
	for (char *line = n > 0 ? strtok_r(lines.text, "\n", &save) : NULL; line;
		line = strtok_r(NULL, "\n", &save))
		check_report_add(report, CHECK_FAIL, "libnuma", "%s", line);
}

/* ---- the kubelet */

static void check_settings(const struct settings *s, struct check_report *report)
{
	size_t known = 0;
	struct check_item *item;

	for (enum setting what = 0; what < SETTING_COUNT; what++) {
		CLEANUP(freep) char *value = s->from[what] ? settings_text(s, what) : NULL;

		known += value != NULL;
		if (value)
			check_report_add(report, CHECK_OK, "setting", "%s = '%s' (%s)", setting_names[what],
				value, s->from[what]);
		else
			check_report_add(report, CHECK_WARN, "setting", "%s is unknown", setting_names[what]);
	}
	if (known == SETTING_COUNT)
		return;
	item = check_report_add(report, CHECK_WARN, "kubelet", "%s",
		known > 0 ? "not all of its settings are known" : "none of its settings is known");
	if (item)
		check_report_set(report, &item->remedy,
			"share the host's PID namespace so that its command line can be read, or name its "
			"configuration by --kubelet-config");
}

static void check_reserved(const struct observation *o, struct check_report *report)
{
	CLEANUP(freep) char *reserved = o->reserved.cpus ? cpuset_print(o->reserved.cpus) : NULL;
	struct check_item *item = check_report_add(report, reserved ? CHECK_OK : CHECK_WARN, "reserved",
		"CPUs %s%s%s (%s)", reserved ? "'" : "", reserved ? reserved : "unknown", reserved ? "'" : "",
		o->reserved.from);

	if (item && !reserved)
		check_report_set(report, &item->remedy,
			"name them by --reserved-cpus, or let the pod-resources API be read");
}

/* What the static policies hand out must be known by someone. */
static void check_enough(const struct observation *o, struct check_report *report)
{
	bool cpus = o->settings.cpu_manager == CPU_MANAGER_STATIC && !o->allocations.cpus_known;
	bool memory = o->settings.memory_manager == MEMORY_MANAGER_STATIC && !o->allocations.memory_known;
	struct check_item *item;

	if (!cpus && !memory) {
		check_report_add(report, CHECK_OK, "accounting", "from %s",
			o->from_files && o->from_api ? "the state files and the pod-resources API"
			: o->from_api                ? "the pod-resources API"
			: o->from_files              ? "the state files"
						     : "the hardware alone: nobody tells what is held");
		return;
	}
	item = check_report_add(report, CHECK_FAIL, "accounting",
		"policy static, and no source tells which %s containers hold",
		cpus && memory ? "CPUs and memory"
		: cpus         ? "CPUs"
			       : "memory");
	if (item)
		check_report_set(report, &item->remedy,
			"make the state files or the pod-resources socket readable, one of both is enough");
}

/* `ret_nrt` becomes the object that would be published; it stays null when there is none. */
static void check_observation(const struct options *options, struct check_report *report, struct doc *ret_nrt)
{
	CLEANUP(observation_release) struct observation o;
	struct err err = {""};

	observation_init(&o);
	if (observe(options, &o, &err) < 0) {
		check_report_add(report, CHECK_FAIL, "observation", "%s", err.text);
		return;
	}
	check_report_add(report, CHECK_OK, "node", "%s", o.node_name);
	check_settings(&o.settings, report);
	check_reserved(&o, report);
	if (o.from_files && o.from_api && o.contradictions == 0)
		check_report_add(report, CHECK_OK, "comparison", "API and state files agree");
	check_enough(&o, report);
	if (render_nrt(options, &o, ret_nrt, &o.notes) < 0)
		report->error = -ENOMEM;
	for (size_t i = 0; i < o.notes.n_lines; i++)
		check_report_add(report, CHECK_WARN, "note", "%s", o.notes.lines[i]);
}

/* The kubelet's root directory, as an observation would find it; NULL = out of memory or it cannot. */
static char *find_root(const struct options *options)
{
	CLEANUP(settings_release) struct settings settings;
	char *root = NULL;

	settings_init(&settings);
	if (observe_settings(options, &settings, &root, NULL, NULL) < 0)
		root = strdup(option_set(options, OPT_KUBELET_ROOT) ? options->value[OPT_KUBELET_ROOT]
								    : "/var/lib/kubelet");
	return root;
}

static void check_node(const struct options *options, struct check_report *report, struct doc *ret_nrt)
{
	CLEANUP(machine_release) struct machine machine;
	CLEANUP(freep) char *root = find_root(options);
	struct check_files files;

	machine_init(&machine);
	if (!root) {
		report->error = -ENOMEM;
		return;
	}
	if (!check_machine(options, &machine, report))
		return;
	check_libnuma(options, &machine, report);
	if (strcmp(options->value[OPT_STATE_FILES], "none") != 0)
		check_files(options->value[OPT_SYSROOT], root, &machine, report, &files);
	check_api(options, root, &machine, report);
	check_observation(options, report, ret_nrt);
}

static int print(const struct options *options, const struct check_report *report)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(CHECK_MAX);
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	int r = report->error;

	if (r == 0 && !strcmp(options->value[OPT_CHECK_OUTPUT], "json")) {
		r = check_report_doc(report, &doc);
		if (r == 0)
			r = json_print(&doc, &text);
	} else if (r == 0) {
		check_report_text(report, &text);
	}
	if (r == 0)
		r = strbuf_error(&text);
	return r < 0 ? r : output_write(text.text, text.len);
}

int command_check(const struct options *options)
{
	CLEANUP(check_report_release) struct check_report report = {0};
	CLEANUP(doc_release) struct doc nrt = DOC_INIT;
	int r;

	check_node(options, &report, &nrt);
	check_publish(options, nrt.kind == DOC_MAP ? &nrt : NULL, &report);
	r = print(options, &report);
	if (r < 0) {
		log_error("cannot print: %s", strerror(-r));
		return EXIT_FAILURE;
	}
	return check_report_level(&report) == CHECK_FAIL ? EXIT_FAILURE : EXIT_SUCCESS;
}
