/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/observe/allocations_files.h"

#include <errno.h>
#include <limits.h>

#include "agent/node/observe/device_affinity.h"
#include "agent/node/observe/state_file.h"
#include "common/cleanup.h"
#include "common/strbuf.h"
#include "common/xalloc.h"

void state_policies_release(struct state_policies *p)
{
	free(p->cpu);
	free(p->cpu_path);
	free(p->memory);
	free(p->memory_path);
	*p = (struct state_policies){0};
}

void state_texts_release(struct state_texts *t)
{
	free(t->root);
	free(t->cpu);
	free(t->memory);
	free(t->devices);
	*t = (struct state_texts){0};
}

/* What one call reads from, and puts together. */
struct reading {
	const char *sysroot, *kubelet_root;
	const struct machine *machine;
	struct state_texts *last; /* NULL = not kept */
	bool *gone;
	struct allocations *allocations;
	struct state_policies *policies;
	struct notes *notes;
	struct err *err;
};

/* kubelet_root/name. */
static char *path_of(const struct reading *rd, const char *name)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_MAX);

	strbuf_addf(&path, "%s/%s", rd->kubelet_root, name);
	return strbuf_detach(&path);
}

/* 1 and *ret_path when the file was read, 0 when there is none. */
static int read_state(const struct reading *rd, const struct state_kind *kind, const char *name, char **last,
	struct kubelet_state *ret, char **ret_path)
{
	CLEANUP(freep) char *path = path_of(rd, name);
	int r = state_read(kind, rd->sysroot, path, rd->machine, last, ret, rd->notes, rd->err);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	*rd->gone = *rd->gone || r > 0;
	*ret_path = TAKE(path);
	return 1;
}

static int read_cpus(const struct reading *rd)
{
	CLEANUP(kubelet_state_release) struct kubelet_state state = {0};
	int r = read_state(rd, &state_cpu, STATE_CPU_FILE, rd->last ? &rd->last->cpu : NULL, &state,
		&rd->policies->cpu_path);

	if (r <= 0)
		return r;
	rd->allocations->shared = TAKE(state.allocations.shared);
	rd->allocations->cpus_known = true;
	rd->policies->cpu = TAKE(state.policy);
	allocations_merge(rd->allocations, &state.allocations);
	return 0;
}

static int read_memory(const struct reading *rd)
{
	CLEANUP(kubelet_state_release) struct kubelet_state state = {0};
	int r = read_state(rd, &state_memory, STATE_MEMORY_FILE, rd->last ? &rd->last->memory : NULL, &state,
		&rd->policies->memory_path);

	if (r <= 0)
		return r;
	rd->allocations->memory = state.allocations.memory;
	memory_state_init(&state.allocations.memory);
	rd->allocations->memory_known = state.allocations.memory_known;
	rd->policies->memory = TAKE(state.policy);
	allocations_merge(rd->allocations, &state.allocations);
	return 0;
}

static int read_devices(const struct reading *rd)
{
	CLEANUP(kubelet_state_release) struct kubelet_state state = {0};
	CLEANUP(freep) char *path = NULL;
	int r = read_state(
		rd, &state_devices, STATE_DEVICES_FILE, rd->last ? &rd->last->devices : NULL, &state, &path);

	if (r <= 0)
		return r;
	rd->allocations->devices_known = true;
	device_affinity_fill(rd->sysroot, rd->machine, &state, rd->allocations);
	allocations_merge(rd->allocations, &state.allocations);
	return 0;
}

/* What another kubelet's files said says nothing of this one's. */
static void keep_of_root(struct state_texts *last, const char *kubelet_root)
{
	if (!last || (last->root && !strcmp(last->root, kubelet_root)))
		return;
	state_texts_release(last);
	last->root = xstrdup(kubelet_root);
}

int allocations_from_files(const char *sysroot, const char *kubelet_root, const struct machine *machine,
	struct state_texts *last, struct allocations *ret, struct state_policies *ret_policies,
	struct notes *notes, struct err *err)
{
	CLEANUP(allocations_release) struct allocations a = {0};
	CLEANUP(state_policies_release) struct state_policies policies = {0};
	bool gone = false;
	const struct reading rd = {sysroot, kubelet_root, machine, last, &gone, &a, &policies, notes, err};
	int r;

	keep_of_root(last, kubelet_root);
	r = read_cpus(&rd);
	if (r == 0)
		r = read_memory(&rd);
	if (r == 0 && last)
		last->gone = gone;
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
	return gone;
}

/* ---- against the settings */

/* *policy is the setting's place in `names`, 0 = unknown; then it becomes the file's. */
static void check_policy(struct settings *s, enum setting what, const char *const *names, size_t count,
	const char *in_file, const char *path, int *policy, struct notes *notes)
{
	int found = settings_name_index(names, count, in_file);

	if (found < 0) {
		notes_add(notes, "%s: policyName '%.100s' is not a value of %s", path, in_file,
			setting_names[what]);
		return;
	}
	if (*policy == 0) {
		*policy = found;
		settings_set_from(s, what, path);
		return;
	}
	if (*policy != found)
		notes_add(notes, "%s was written under %s '%s', but %s says '%s': was the kubelet restarted?",
			path, setting_names[what], in_file, s->from[what] ? s->from[what] : "another source",
			names[*policy]);
}

void settings_check_state(struct settings *s, const struct state_policies *policies, struct notes *notes)
{
	int cpu = (int)s->cpu_manager, memory = (int)s->memory_manager;

	if (policies->cpu)
		check_policy(s, SETTING_CPU_MANAGER_POLICY, cpu_manager_policy_names,
			CPU_MANAGER_POLICY_COUNT, policies->cpu, policies->cpu_path, &cpu, notes);
	if (policies->memory)
		check_policy(s, SETTING_MEMORY_MANAGER_POLICY, memory_manager_policy_names,
			MEMORY_MANAGER_POLICY_COUNT, policies->memory, policies->memory_path, &memory, notes);
	s->cpu_manager = (enum cpu_manager_policy)cpu;
	s->memory_manager = (enum memory_manager_policy)memory;
}
