/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/check_files.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#include "agent/allocations_files.h"
#include "agent/fs.h"
#include "agent/state_cpu.h"
#include "agent/state_devices.h"
#include "agent/state_memory.h"
#include "common/cleanup.h"

/* ---- formats; the readers accept all of them and do not tell */

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

static int read_cpus(const char *sysroot, const char *path, const struct machine *machine,
	struct strbuf *text, struct notes *notes, struct err *err)
{
	CLEANUP(state_cpu_release) struct state_cpu state = STATE_CPU_INIT;
	int r = state_cpu_read(sysroot, path, machine, &state, notes, err);

	if (r == 0)
		strbuf_addf(text, "policy '%s', %zu containers with exclusive CPUs", state.policy,
			state.allocations.n_items);
	return r;
}

static int read_memory(const char *sysroot, const char *path, const struct machine *machine,
	struct strbuf *text, struct notes *notes, struct err *err)
{
	CLEANUP(state_memory_release) struct state_memory state = STATE_MEMORY_INIT;
	int r = state_memory_read(sysroot, path, machine, &state, notes, err);

	if (r == 0)
		strbuf_addf(text, "policy '%s', %zu containers with memory", state.policy,
			state.allocations.n_items);
	return r;
}

static int read_devices(const char *sysroot, const char *path, const struct machine *machine,
	struct strbuf *text, struct notes *notes, struct err *err)
{
	CLEANUP(state_devices_release) struct state_devices state = STATE_DEVICES_INIT;
	int r = state_devices_read(sysroot, path, machine, &state, notes, err);

	if (r == 0)
		strbuf_addf(text, "%zu resources of device plugins, %zu containers with devices",
			state.n_registered, state.allocations.n_items);
	return r;
}

static const struct kind {
	const char *file, *source;
	size_t max;
	unsigned (*format)(const struct state_file *file);
	int (*read)(const char *sysroot, const char *path, const struct machine *machine, struct strbuf *text,
		struct notes *notes, struct err *err);
} kinds[] = {
	{STATE_CPU_FILE, "CPU state", STATE_CPU_FILE_MAX, format_of_cpus, read_cpus},
	{STATE_MEMORY_FILE, "memory state", STATE_MEMORY_FILE_MAX, format_of_memory, read_memory},
	{STATE_DEVICES_FILE, "device state", STATE_DEVICES_FILE_MAX, format_of_devices, read_devices},
};

/* ---- one file */

const char *check_state_of(int r)
{
	return r == -ENOENT || r == -ENOTDIR ? "absent" : r == -EACCES || r == -EPERM ? "denied" : "broken";
}

static void add_remedy(struct check_report *report, struct check_item *item, int r)
{
	if (r == -ENOENT || r == -ENOTDIR)
		check_report_set(report, &item->remedy,
			"in a container mount the kubelet's root directory (the directory, not the file), "
			"and "
			"name it by --kubelet-root");
	else if (r == -EACCES || r == -EPERM)
		check_report_set(report, &item->remedy,
			"only root may read it: run as root, or give the process CAP_DAC_READ_SEARCH");
	else
		check_report_set(report, &item->remedy,
			"the kubelet would not start with it either: drain the node, stop the kubelet, "
			"remove the file, start it");
}

/* Its format, or 0. */
static unsigned read_format(const struct kind *kind, const char *sysroot, const char *path)
{
	CLEANUP(state_file_release) struct state_file file = STATE_FILE_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(kind->max);

	if (fs_read(sysroot, path, &text, NULL) < 0 ||
		state_file_parse(text.text, text.len, kind->max, &file, NULL) < 0)
		return 0;
	return kind->format(&file);
}

static void set_age(const char *sysroot, const char *path, struct check_item *item)
{
	char full[PATH_MAX];
	struct stat st;
	time_t now = time(NULL);

	snprintf(full, sizeof(full), "%s%s", sysroot, path);
	if (stat(full, &st) == 0)
		item->age_s = now > st.st_mtime ? now - st.st_mtime : 0;
}

static bool check_file(const struct kind *kind, const char *sysroot, const char *kubelet_root,
	const struct machine *machine, struct check_report *report)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
	CLEANUP(notes_release) struct notes notes = {0};
	struct err err = {""};
	char path[PATH_MAX];
	struct check_item *item;
	unsigned format;
	int r;

	snprintf(path, sizeof(path), "%s/%s", kubelet_root, kind->file);
	r = kind->read(sysroot, path, machine, &text, &notes, &err);
	for (size_t i = 0; i < notes.n_lines; i++)
		strbuf_addf(&text, "%s%s", text.len > 0 ? "; " : "", notes.lines[i]);
	item = check_report_add(report, r < 0 || notes.n_lines > 0 ? CHECK_WARN : CHECK_OK, kind->source,
		"%s",
		r == 0                          ? text.text
		: r == -ENOENT || r == -ENOTDIR ? ""
						: err.text);
	if (!item)
		return false;
	item->state = r == 0 ? "read" : check_state_of(r);
	check_report_set(report, &item->path, "%s%s", sysroot, path);
	set_age(sysroot, path, item);
	format = read_format(kind, sysroot, path);
	if (format > 0)
		check_report_set(report, &item->format, "v%u", format);
	if (r < 0)
		add_remedy(report, item, r);
	return r == 0;
}

void check_files(const char *sysroot, const char *kubelet_root, const struct machine *machine,
	struct check_report *report, struct check_files *ret)
{
	ret->cpus = check_file(&kinds[0], sysroot, kubelet_root, machine, report);
	ret->memory = check_file(&kinds[1], sysroot, kubelet_root, machine, report);
	ret->devices = check_file(&kinds[2], sysroot, kubelet_root, machine, report);
}
