/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/check/check_host.h"

#include <errno.h>

#include "agent/node/check/check_files.h"
#include "agent/node/check/check_libnuma.h"
#include "agent/node/check/check_pod_resources.h"
#include "agent/node/observe/discover.h"
#include "agent/node/observe/settings_text.h"
#include "agent/node/render/render.h"
#include "common/cleanup.h"
#include "common/xalloc.h"

#define LINES_MAX (8u << 20)

/* ---- the machine */

static bool check_machine(const struct check_config *config, struct machine *m, struct check_report *report)
{
	const struct machine_source source = {
		.root = config->observe.sysroot, .xml = config->observe.machine_xml};
	struct check_item *item;
	struct err err = {""};
	int r = machine_discover(&source, m, &err);

	if (r < 0) {
		item = check_report_add(report, CHECK_FAIL, "machine", "%s", err.text);
		if (item)
			check_report_set(&item->remedy, "%s",
				source.xml
					? "give --machine an XML file that lstopo has written"
					: "in a container mount the host's /sys read-only, at /sys or below the directory that --sysroot names");
		return false;
	}
	check_report_add(report, CHECK_OK, "machine",
		"%zu packages, %zu NUMA nodes, %zu cores, %zu CPUs online, %zu offline, SLIT %s",
		m->n_sockets, m->n_nodes, m->n_cores, m->n_cpus, cpuset_size(m->offline),
		m->distances ? "known" : "not known");
	return true;
}

/* libnuma sees the running system only. */
static void check_libnuma(
	const struct check_config *config, const struct machine *m, struct check_report *report)
{
	CLEANUP(strbuf_release) struct strbuf lines = STRBUF_INIT(LINES_MAX);
	struct err err = {""};
	char *save = NULL;
	int n;

	if (*config->observe.sysroot || config->observe.machine_xml) {
		check_report_add(
			report, CHECK_OK, "libnuma", "not compared: it sees the running system only");
		return;
	}
	n = libnuma_compare(m, &lines, &err);
	if (n == 0)
		check_report_add(report, CHECK_OK, "libnuma", "agrees on node ids, distances and CPU lists");
	else if (n < 0)
		check_report_add(report, CHECK_WARN, "libnuma", "not compared: %s",
			n == -ENODEV || n == -ENOENT ? err.text : strerror(-n));
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
		check_report_set(&item->remedy,
			"share the host's PID namespace so that its command line can be read, or name its configuration by --kubelet-config");
}

/* Only what a process runs with is sure; files may say something else by now. */
static void check_process(
	const struct check_config *config, const struct sources *sources, struct check_report *report)
{
	bool elsewhere = *config->observe.sysroot || config->observe.machine_xml;
	struct check_item *item;

	if (config->observe.settings.kubelet_config)
		return;
	if (sources->settings.pid) {
		check_report_add(report, CHECK_OK, "kubelet", "runs (pid %u)", sources->settings.pid);
		return;
	}
	item = check_report_add(report, elsewhere ? CHECK_NOTE : CHECK_WARN, "kubelet",
		"none is seen to run: what it is started with may be different from what files say");
	if (item)
		check_report_set(&item->remedy,
			"start it; in a container mount the host's /proc and name it by --proc");
}

static void check_reserved(const struct observation *o, struct check_report *report)
{
	CLEANUP(freep) char *reserved = o->node.reserved.cpus ? cpuset_print(o->node.reserved.cpus) : NULL;
	struct check_item *item = check_report_add(report, reserved ? CHECK_OK : CHECK_WARN, "reserved",
		"CPUs %s%s%s (%s)", reserved ? "'" : "", reserved ? reserved : "unknown", reserved ? "'" : "",
		o->node.reserved.from);

	if (item && !reserved)
		check_report_set(
			&item->remedy, "name them by --reserved-cpus, or let the pod-resources API be read");
}

/* What the static policies hand out must be known by someone. */
static void check_enough(const struct observation *o, struct check_report *report)
{
	bool cpus = o->node.settings.cpu_manager == CPU_MANAGER_STATIC && !o->node.allocations.cpus_known;
	bool memory =
		o->node.settings.memory_manager == MEMORY_MANAGER_STATIC && !o->node.allocations.memory_known;
	struct check_item *item;

	if (!cpus && !memory) {
		check_report_add(report, CHECK_OK, "accounting", "from %s",
			o->from_files && o->from_api ? "the state files and the pod-resources API"
			: o->from_api                ? "the pod-resources API"
			: o->from_files              ? "the state files"
					: "the hardware alone: what containers hold is not known");
		return;
	}
	item = check_report_add(report, CHECK_FAIL, "accounting",
		"policy static, and no source reports which %s containers hold",
		cpus && memory ? "CPUs and memory"
		: cpus         ? "CPUs"
			       : "memory");
	if (item)
		check_report_set(&item->remedy,
			"make the state files or the pod-resources socket readable; one of them is enough");
}

static void check_claims(const struct observation *o, struct check_report *report)
{
	const struct claims *claims = &o->node.claims;
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = claims_cpus(claims);
	CLEANUP(freep) char *text = cpuset_print(cpus);

	if (claims->n_items > 0)
		check_report_add(report, CHECK_OK, "claims", "%zu of DRA drivers, with %s%s%s",
			claims->n_items, *text ? "CPUs '" : "no CPU", text, *text ? "'" : "");
}

/* `ret_nrt` becomes the object that would be published; it stays null when there is none. */
static void check_observation(
	const struct check_config *config, struct check_report *report, struct doc *ret_nrt)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(sources_release) struct sources sources = {.machine_known = false};
	struct err err = {""};

	observation_init(&o);
	if (observe_with(&sources, &config->observe, &o, &err) < 0 ||
		node_derive(&config->model, &o.node, &o.notes, &err) < 0) {
		check_report_add(report, CHECK_FAIL, "observation", "%s", err.text);
		return;
	}
	check_report_add(report, CHECK_OK, "node", "%s", o.node.node_name);
	check_process(config, &sources, report);
	check_settings(&o.node.settings, report);
	check_reserved(&o, report);
	if (o.from_files && o.from_api && o.contradictions == 0)
		check_report_add(report, CHECK_OK, "comparison", "API and state files agree");
	check_enough(&o, report);
	check_claims(&o, report);
	nrt_render(&o.node, &config->nrt, ret_nrt, &o.notes);
	for (size_t i = 0; i < o.notes.lines.n_items; i++)
		check_report_add(report, CHECK_WARN, "note", "%s", o.notes.lines.items[i]);
}

/* The kubelet's root directory, as an observation would find it. */
static char *find_root(const struct check_config *config)
{
	CLEANUP(settings_release) struct settings settings;
	char *root = NULL;

	settings_init(&settings);
	if (observe_settings(&config->observe, &settings, &root, NULL, NULL) < 0)
		root = xstrdup(config->observe.settings.kubelet_root ? config->observe.settings.kubelet_root
								     : KUBELET_ROOT);
	return root;
}

void check_host(const struct check_config *config, struct check_report *report, struct doc *ret_nrt)
{
	CLEANUP(machine_release) struct machine machine;
	CLEANUP(freep) char *root = find_root(config);
	struct check_files files;

	machine_init(&machine);
	if (!check_machine(config, &machine, report))
		return;
	check_libnuma(config, &machine, report);
	if (config->observe.state_files)
		check_files(config->observe.sysroot, root, &machine, report, &files);
	if (check_pod_resources(&config->observe, root, &machine, report))
		check_files_spare(report);
	check_observation(config, report, ret_nrt);
}
