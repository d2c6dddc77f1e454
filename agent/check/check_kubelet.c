/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether the kubelet would start: its settings on this machine, and its state files under these settings. */
#include <string.h>

#include "agent/check/check.h"
#include "common/cleanup.h"
#include "common/settings_table.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "scoring/kubelet_version.h"
#include "scoring/node/kubelet_restart.h"
#include "scoring/node/node_start.h"

/* A running kubelet has not read such settings, and fails at its next start. */
static enum check_level level_of_failure(bool runs)
{
	return runs ? CHECK_WARN : CHECK_FAIL;
}

size_t check_kubelet_settings(const struct node_state *node, bool runs, struct check_report *report)
{
	struct kubelet_start_problems problems;

	node_start_find(node, NULL, &problems);
	for (size_t i = 0; i < problems.n; i++) {
		const struct kubelet_start_problem *p = &problems.items[i];
		const char *from = node->settings.from[p->setting];
		struct check_item *item = check_report_add(report, level_of_failure(runs), "kubelet start",
			"the kubelet would not start%s: %.460s", runs ? " again" : "", p->what.text);

		check_report_set(&item->remedy, "%s%s%.300s%s%s", p->remedy, from ? " (" : "",
			text_or_empty(from), from ? ")" : "", runs ? " before its next restart" : "");
	}
	return problems.n;
}

/* ---- the state files under the settings */

/* A copy of the node with what one state file has, under settings without the other file's manager. Borrows everything. */
static struct node_state make_node_of_file(const struct node_state *node, const struct allocations *file,
	const struct reserved_cpus *reserved, bool of_cpus)
{
	struct node_state copy = *node;

	copy.allocations = *file;
	copy.allocations.cpus_known = of_cpus;
	copy.allocations.memory_known = !of_cpus;
	copy.reserved = *reserved;
	if (of_cpus)
		copy.settings.memory_manager = MEMORY_MANAGER_NONE;
	else
		copy.settings.cpu_manager = CPU_MANAGER_NONE;
	if (copy.settings.kubelet_minor == 0)
		settings_set_kubelet(
			&copy.settings, (struct kubelet_release){.minor = KUBELET_MINOR_ASSUMED});
	return copy;
}

/* Checks a restart of a kubelet that has written the file under the file's policy, with the settings of the node. `what`: the
 * setting of this policy, which selects the file of the CPU manager or of the memory manager. */
static void check_restart_with_file(const struct check_state_files *files, const struct node_state *node,
	const struct reserved_cpus *reserved, enum setting what, bool runs, struct check_report *report)
{
	bool of_cpus = what == SETTING_CPU_MANAGER_POLICY;
	CLEANUP(kubelet_restart_release) struct kubelet_restart restart = {NULL};
	const struct settings_changes changes = {.reserved_cpus = of_cpus, .reserved_memory = !of_cpus};
	const struct setting_row *row = &settings_table[what];
	const struct kubelet_state *file = of_cpus ? &files->cpus : &files->memory;
	struct node_state copy = make_node_of_file(node, &file->allocations, reserved, of_cpus);
	struct settings before = copy.settings;
	int policy = file->policy ? settings_name_index(row->names, row->n_names, file->policy) : -1;
	const char *why, *name = of_cpus ? "cpu_manager_state" : "memory_manager_state";
	struct check_item *item;

	if (policy <= 0)
		return; /* the file's policy is unknown */
	if (!of_cpus && !node->settings.from[SETTING_RESERVED_MEMORY])
		return; /* it is unknown whether the reserved memory has changed */
	setting_set_choice(&before, what, (unsigned)policy);
	if (kubelet_restart_check(&before, &copy, &changes, &restart, NULL) < 0)
		return;
	why = of_cpus ? restart.cpus : restart.memory;
	if (!why)
		return;
	item = check_report_add(report, level_of_failure(runs), "kubelet start",
		"the kubelet would not start%s with its %s: %s", runs ? " again" : "", name, why);
	check_report_set(&item->remedy,
		"%s: drain the node, stop the kubelet, remove %s/%s, and start the kubelet; or set again what the file was written under",
		runs ? "when the kubelet is restarted with these settings" : "if these settings are wanted",
		files->kubelet_root, name);
}

void check_kubelet_files(const struct check_state_files *files, const struct node_state *node, bool runs,
	struct check_report *report)
{
	CLEANUP(reserved_cpus_release) struct reserved_cpus reserved = {NULL};

	/* By the settings alone: a running kubelet reports what it was started with. */
	if (node_derive_reserved_cpus(node, &reserved, NULL) < 0)
		return;
	check_restart_with_file(files, node, &reserved, SETTING_CPU_MANAGER_POLICY, runs, report);
	check_restart_with_file(files, node, &reserved, SETTING_MEMORY_MANAGER_POLICY, runs, report);
}
