/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/allocations_files.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#include "agent/device_affinity.h"
#include "agent/fs.h"
#include "agent/state_cpu.h"
#include "agent/state_devices.h"
#include "agent/state_memory.h"
#include "common/cleanup.h"
#include "common/strbuf.h"

void state_policies_release(struct state_policies *p)
{
	free(p->cpu);
	free(p->cpu_path);
	free(p->memory);
	free(p->memory_path);
	*p = (struct state_policies){0};
}

/* What one call reads from, and puts together. */
struct reading {
	const char *sysroot, *kubelet_root;
	const struct machine *machine;
	struct allocations *allocations;
	struct state_policies *policies;
	struct notes *notes;
	struct err *err;
};

static int no_memory(const struct reading *rd)
{
	return err_set(rd->err, -ENOMEM, "out of memory");
}

/* kubelet_root/name, NULL = out of memory. */
static char *path_of(const struct reading *rd, const char *name)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_MAX);

	strbuf_addf(&path, "%s/%s", rd->kubelet_root, name);
	return strbuf_detach(&path);
}

static int read_cpus(const struct reading *rd)
{
	CLEANUP(state_cpu_release) struct state_cpu state = STATE_CPU_INIT;
	CLEANUP(freep) char *path = path_of(rd, STATE_CPU_FILE);
	int r;

	if (!path)
		return no_memory(rd);
	r = state_cpu_read(rd->sysroot, path, rd->machine, &state, rd->notes, rd->err);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	rd->allocations->shared = TAKE(state.allocations.shared);
	rd->allocations->cpus_known = true;
	rd->policies->cpu = TAKE(state.policy);
	rd->policies->cpu_path = TAKE(path);
	return allocations_merge(rd->allocations, &state.allocations) < 0 ? no_memory(rd) : 0;
}

static int read_memory(const struct reading *rd)
{
	CLEANUP(state_memory_release) struct state_memory state = STATE_MEMORY_INIT;
	CLEANUP(freep) char *path = path_of(rd, STATE_MEMORY_FILE);
	int r;

	if (!path)
		return no_memory(rd);
	r = state_memory_read(rd->sysroot, path, rd->machine, &state, rd->notes, rd->err);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	rd->allocations->memory = state.allocations.memory;
	memory_state_init(&state.allocations.memory);
	rd->allocations->memory_known = state.allocations.memory_known;
	rd->policies->memory = TAKE(state.policy);
	rd->policies->memory_path = TAKE(path);
	return allocations_merge(rd->allocations, &state.allocations) < 0 ? no_memory(rd) : 0;
}

/* Seconds since the file was written; 0 when that is not known. */
static long long age_of(const struct reading *rd, const char *path)
{
	char full[PATH_MAX];
	struct stat st;
	time_t now = time(NULL);

	snprintf(full, sizeof(full), "%s%s", rd->sysroot, path);
	return stat(full, &st) == 0 && now > st.st_mtime ? now - st.st_mtime : 0;
}

static void drop_ended_pods(const struct reading *rd, const char *file, struct allocations *a)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/" PODS_FOLDER, rd->kubelet_root);
	if (!fs_exists(rd->sysroot, path) || age_of(rd, file) <= PODS_FOLDER_S)
		return;
	for (size_t i = a->n_items; i > 0; i--) {
		snprintf(path, sizeof(path), "%s/" PODS_FOLDER "/%s", rd->kubelet_root,
			a->items[i - 1].pod_uid);
		if (!strchr(a->items[i - 1].pod_uid, '/') && !fs_exists(rd->sysroot, path))
			allocations_remove(a, i - 1);
	}
}

static int read_devices(const struct reading *rd)
{
	CLEANUP(state_devices_release) struct state_devices state = STATE_DEVICES_INIT;
	CLEANUP(freep) char *path = path_of(rd, STATE_DEVICES_FILE);
	int r;

	if (!path)
		return no_memory(rd);
	r = state_devices_read(rd->sysroot, path, rd->machine, &state, rd->notes, rd->err);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	rd->allocations->devices_known = true;
	drop_ended_pods(rd, path, &state.allocations);
	if (device_affinity_fill(rd->sysroot, rd->machine, &state, rd->allocations) < 0)
		return no_memory(rd);
	return allocations_merge(rd->allocations, &state.allocations) < 0 ? no_memory(rd) : 0;
}

int allocations_from_files(const char *sysroot, const char *kubelet_root, const struct machine *machine,
	struct allocations *ret, struct state_policies *ret_policies, struct notes *notes, struct err *err)
{
	CLEANUP(allocations_release) struct allocations a = {0};
	CLEANUP(state_policies_release) struct state_policies policies = {0};
	const struct reading rd = {sysroot, kubelet_root, machine, &a, &policies, notes, err};
	int r = read_cpus(&rd);

	if (r == 0)
		r = read_memory(&rd);
	if (r == 0)
		r = read_devices(&rd);
	if (r < 0)
		return r;
	*ret = a;
	allocations_init(&a);
	if (ret_policies) {
		*ret_policies = policies;
		policies = (struct state_policies){0};
	}
	return 0;
}

/* ---- against the settings */

/* *policy is the setting's place in `names`, 0 = unknown; then it becomes the file's. */
static int check_policy(struct settings *s, enum setting what, const char *const *names, size_t count,
	const char *in_file, const char *path, int *policy, struct notes *notes)
{
	int found = settings_name_index(names, count, in_file);

	if (found < 0) {
		notes_add(notes, "%s: policyName '%.100s' is no %s", path, in_file, setting_names[what]);
		return 0;
	}
	if (*policy == 0) {
		*policy = found;
		return settings_set_from(s, what, path);
	}
	if (*policy != found)
		notes_add(notes, "%s was written under %s '%s', but %s says '%s': was the kubelet restarted?",
			path, setting_names[what], in_file, s->from[what] ? s->from[what] : "another source",
			names[*policy]);
	return 0;
}

int settings_check_state(struct settings *s, const struct state_policies *policies, struct notes *notes)
{
	int cpu = (int)s->cpu_manager, memory = (int)s->memory_manager, r = 0;

	if (policies->cpu)
		r = check_policy(s, SETTING_CPU_MANAGER_POLICY, cpu_manager_policy_names,
			CPU_MANAGER_POLICY_COUNT, policies->cpu, policies->cpu_path, &cpu, notes);
	if (r == 0 && policies->memory)
		r = check_policy(s, SETTING_MEMORY_MANAGER_POLICY, memory_manager_policy_names,
			MEMORY_MANAGER_POLICY_COUNT, policies->memory, policies->memory_path, &memory, notes);
	if (r < 0)
		return r;
	s->cpu_manager = (enum cpu_manager_policy)cpu;
	s->memory_manager = (enum memory_manager_policy)memory;
	return 0;
}
