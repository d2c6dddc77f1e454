/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/check/check_files.h"

#include <errno.h>
#include <limits.h>

#include "agent/base/fs.h"
#include "agent/node/observe/allocations_files.h"
#include "agent/node/observe/state_cpu.h"
#include "agent/node/observe/state_devices.h"
#include "agent/node/observe/state_memory.h"
#include "common/cleanup.h"

/* ---- formats; the readers accept all of them and do not report which */

static bool has(const struct doc *map, const char *name)
{
	const struct doc *member = map->kind == DOC_MAP ? doc_get_fold(map, name) : NULL;

	return member && member->kind != DOC_NULL;
}

static unsigned format_of_cpus(const struct state_file *file)
{
	const struct doc *entries = doc_get_fold(&file->top, "entries");

	if (file->data.kind != DOC_NULL)
		return 4;
	if (has(&file->top, "podEntries"))
		return 3;
	return entries && entries->n_items > 0 && entries->items[0].kind == DOC_STRING ? 1 : 2;
}

static unsigned format_of_memory(const struct state_file *file)
{
	if (file->data.kind != DOC_NULL)
		return 3;
	return has(&file->top, "podEntries") ? 2 : 1;
}

static unsigned format_of_devices(const struct state_file *file)
{
	const struct doc *data = doc_get_fold(&file->top, "Data");
	const struct doc *entries = data ? doc_get_fold(data, "PodDeviceEntries") : NULL;
	const struct doc *first = entries && entries->n_items > 0 ? &entries->items[0] : NULL;
	const struct doc *ids = first && first->kind == DOC_MAP ? doc_get_fold(first, "DeviceIDs") : NULL;

	return ids && ids->kind == DOC_LIST ? 1 : 2;
}

/* ---- contents */

static void print_cpus(const struct kubelet_state *state, struct strbuf *text)
{
	strbuf_addf(text, "policy '%s', %zu containers with exclusive CPUs", state->policy,
		state->allocations.n_items);
}

static void print_memory(const struct kubelet_state *state, struct strbuf *text)
{
	strbuf_addf(
		text, "policy '%s', %zu containers with memory", state->policy, state->allocations.n_items);
}

static void print_devices(const struct kubelet_state *state, struct strbuf *text)
{
	strbuf_addf(text, "%zu resources of device plugins, %zu containers with devices", state->n_registered,
		state->allocations.n_items);
}

static const struct kind {
	const char *file, *source;
	const struct state_kind *state;
	unsigned (*format)(const struct state_file *file);
	void (*print)(const struct kubelet_state *state, struct strbuf *text);
} kinds[] = {
	{STATE_CPU_FILE, "CPU state", &state_cpu, format_of_cpus, print_cpus},
	{STATE_MEMORY_FILE, "memory state", &state_memory, format_of_memory, print_memory},
	{STATE_DEVICES_FILE, "device state", &state_devices, format_of_devices, print_devices},
};

/* ---- one file */

const char *check_state_of(int r)
{
	return r == -ENOENT || r == -ENOTDIR ? "absent" : r == -EACCES || r == -EPERM ? "denied" : "broken";
}

static void add_remedy(struct check_item *item, int r)
{
	if (r == -ENOENT || r == -ENOTDIR)
		check_report_set(&item->remedy,
			"in a container mount the kubelet's root directory (the directory, not the file), and name it by --kubelet-root");
	else if (r == -EACCES || r == -EPERM)
		check_report_set(&item->remedy,
			"only root may read it: run as root, or give the process CAP_DAC_READ_SEARCH");
	else
		check_report_set(&item->remedy,
			"the kubelet would not start with it either: drain the node, stop the kubelet, remove the file, start it");
}

/* Its format, or 0. */
static unsigned read_format(const struct kind *kind, const char *sysroot, const char *path)
{
	CLEANUP(state_file_release) struct state_file file = STATE_FILE_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(kind->state->max);

	if (fs_read(sysroot, path, &text, NULL) < 0 ||
		state_file_parse(text.text, text.len, kind->state->max, &file, NULL) < 0)
		return 0;
	return kind->format(&file);
}

static void set_age(const char *sysroot, const char *path, struct check_item *item)
{
	struct stat st;
	time_t now = time(NULL);

	if (fs_stat(sysroot, path, &st) == 0)
		item->age_s = now > st.st_mtime ? now - st.st_mtime : 0;
}

static bool check_file(const struct kind *kind, const char *sysroot, const char *kubelet_root,
	const struct machine *machine, struct check_report *report)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
	CLEANUP(kubelet_state_release) struct kubelet_state state = {0};
	CLEANUP(notes_release) struct notes notes = {0};
	struct err err = {""};
	char path[PATH_MAX];
	struct check_item *item;
	unsigned format;
	int r;

	snprintf(path, sizeof(path), "%s/%s", kubelet_root, kind->file);
	r = state_read(kind->state, sysroot, path, machine, NULL, &state, &notes, &err);
	if (r == 0)
		kind->print(&state, &text);
	for (size_t i = 0; i < notes.lines.n_items; i++)
		strbuf_addf(&text, "%s%s", text.len > 0 ? "; " : "", notes.lines.items[i]);
	item = check_report_add(report, r < 0 || notes.lines.n_items > 0 ? CHECK_WARN : CHECK_OK,
		kind->source, "%s",
		r == 0                          ? text.text
		: r == -ENOENT || r == -ENOTDIR ? ""
						: err.text);
	if (!item)
		return false;
	item->state = r == 0 ? "read" : check_state_of(r);
	check_report_set(&item->path, "%s%s", sysroot, path);
	set_age(sysroot, path, item);
	format = read_format(kind, sysroot, path);
	if (format > 0)
		check_report_set(&item->format, "v%u", format);
	if (r < 0)
		add_remedy(item, r);
	return r == 0;
}

void check_files(const char *sysroot, const char *kubelet_root, const struct machine *machine,
	struct check_report *report, struct check_files *ret)
{
	ret->cpus = check_file(&kinds[0], sysroot, kubelet_root, machine, report);
	ret->memory = check_file(&kinds[1], sysroot, kubelet_root, machine, report);
	ret->devices = check_file(&kinds[2], sysroot, kubelet_root, machine, report);
}

void check_files_spare(struct check_report *report)
{
	for (size_t i = 0; i < report->n_items; i++) {
		struct check_item *item = &report->items[i];
		bool file = false;

		for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
			file = file || item->source == kinds[k].source;
		if (!file || !item->state || strcmp(item->state, "absent") != 0)
			continue;
		item->level = CHECK_NOTE;
		check_report_set(&item->text, "the pod-resources API reports who holds what");
		free(item->remedy);
		item->remedy = NULL;
	}
}
