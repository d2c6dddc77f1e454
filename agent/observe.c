/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe.h"

#include <errno.h>

#include "agent/allocations_files.h"
#include "agent/discover.h"
#include "agent/node_name.h"
#include "agent/settings_find.h"
#include "common/cleanup.h"

void observation_init(struct observation *o)
{
	memset(o, 0, sizeof(*o));
	machine_init(&o->machine);
	settings_init(&o->settings);
	allocations_init(&o->allocations);
	inventory_init(&o->inventory);
	notes_init(&o->notes);
}

static void release_pods(struct observation *o)
{
	for (size_t i = 0; i < o->n_pods; i++) {
		free(o->pods[i].namespace);
		free(o->pods[i].name);
	}
	free(o->pods);
}

void observation_release(struct observation *o)
{
	free(o->node_name);
	free(o->kubelet_root);
	machine_release(&o->machine);
	settings_release(&o->settings);
	allocations_release(&o->allocations);
	release_pods(o);
	reserved_cpus_release(&o->reserved);
	inventory_release(&o->inventory);
	notes_release(&o->notes);
	observation_init(o);
}

static int read_machine(const struct options *options, struct machine *ret, struct err *err)
{
	const struct machine_source source = {
		.root = options->value[OPT_SYSROOT],
		.xml = options->value[OPT_MACHINE],
	};

	return machine_discover(&source, ret, err);
}

static int read_settings(const struct options *options, struct observation *o, struct err *err)
{
	static const struct {
		enum option_id option;
		enum setting setting;
	} flags[] = {
		{OPT_CPU_MANAGER_POLICY, SETTING_CPU_MANAGER_POLICY},
		{OPT_CPU_MANAGER_POLICY_OPTIONS, SETTING_CPU_MANAGER_POLICY_OPTIONS},
		{OPT_MEMORY_MANAGER_POLICY, SETTING_MEMORY_MANAGER_POLICY},
		{OPT_TOPOLOGY_MANAGER_POLICY, SETTING_TOPOLOGY_MANAGER_POLICY},
		{OPT_TOPOLOGY_MANAGER_SCOPE, SETTING_TOPOLOGY_MANAGER_SCOPE},
		{OPT_TOPOLOGY_MANAGER_POLICY_OPTIONS, SETTING_TOPOLOGY_MANAGER_POLICY_OPTIONS},
		{OPT_RESERVED_CPUS, SETTING_RESERVED_SYSTEM_CPUS},
	};
	struct settings_overrides overrides = {
		.kubelet_config = options->value[OPT_KUBELET_CONFIG],
		.kubelet_root = options->value[OPT_KUBELET_ROOT],
		.proc = options->value[OPT_PROC],
	};

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		overrides.settings[flags[i].setting].value = options->value[flags[i].option];
		overrides.settings[flags[i].setting].from = options->origin[flags[i].option];
	}
	return settings_find(
		options->value[OPT_SYSROOT], &overrides, &o->settings, &o->kubelet_root, &o->notes, err);
}

static int read_allocations(const struct options *options, struct observation *o, struct err *err)
{
	CLEANUP(state_policies_release) struct state_policies policies = {0};
	int r = allocations_from_files(options->value[OPT_SYSROOT], o->kubelet_root, &o->machine,
		&o->allocations, &policies, &o->notes, err);

	if (r < 0)
		return r;
	r = settings_check_state(&o->settings, &policies, &o->notes);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

static int make_inventory(struct observation *o, struct notes *notes, struct err *err)
{
	int r = model_reserved_cpus(&o->machine, &o->settings, &o->reserved, err);

	if (r < 0)
		return r;
	r = model_inventory(
		&o->machine, &o->settings, &o->allocations, o->reserved.cpus, &o->inventory, notes);
	if (r < 0 || o->notes.error < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

int observe_again(struct observation *o, struct err *err)
{
	reserved_cpus_release(&o->reserved);
	inventory_release(&o->inventory);
	return make_inventory(o, NULL, err);
}

/* Every step; what was read before a failure stays in `o` for its owner to release. */
static int read_all(const struct options *options, struct observation *o, struct err *err)
{
	int r = node_name_find(options->value[OPT_NODE_NAME], &o->node_name, err);

	if (r == 0)
		r = read_machine(options, &o->machine, err);
	if (r == 0)
		r = read_settings(options, o, err);
	if (r == 0)
		r = read_allocations(options, o, err);
	return r < 0 ? r : make_inventory(o, &o->notes, err);
}

int observe(const struct options *options, struct observation *ret, struct err *err)
{
	CLEANUP(observation_release) struct observation o;
	int r;

	observation_init(&o);
	r = read_all(options, &o, err);
	if (r < 0)
		return r;
	*ret = o;
	observation_init(&o);
	return 0;
}
