/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/settings_change.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/machine.h"
#include "common/text.h"
#include "common/xalloc.h"

/* A number from 0 to `max`. */
static bool parse_number(const char *text, unsigned long max, unsigned long *ret)
{
	char *end;

	errno = 0;
	*ret = strtoul(text, &end, 10);
	return !errno && !*end && *text >= '0' && *text <= '9' && *ret <= max;
}

int settings_change_option(struct settings *s, const char *name, const char *value, struct err *err)
{
	unsigned long n;
	bool *flag;

	if (!strcmp(name, "max-allowable-numa-nodes")) {
		if (!parse_number(value, MACHINE_MAX_NODES, &n))
			return err_set(err, -EINVAL, "'%.60s' is not a number of NUMA nodes", value);
		s->topology.max_numa_nodes = (unsigned)n;
		return 0;
	}
	flag = !strcmp(name, "prefer-closest-numa-nodes") ? &s->topology.prefer_closest_numa_nodes
							  : cpu_manager_option(&s->cpu_options, name);
	if (!flag)
		return err_set(err, -EINVAL, "unknown policy option '%.60s'", name);
	return text_parse_bool(value, flag) ? 0
					    : err_set(err, -EINVAL, "'%.60s' is not true or false", value);
}

static int set_policy(
	const char *const *names, size_t n, const char *key, const char *value, int *ret, struct err *err)
{
	int found = settings_name_index(names, n, value);

	if (found < 0)
		return err_set(err, -EINVAL, "%s has no value '%.60s'", key, value);
	*ret = found;
	return 0;
}

/* 1 = KEY names no policy. */
static int change_policy(struct settings *s, const char *key, const char *value, struct err *err)
{
	int found = 0, r = 1;

	if (!strcmp(key, "topologyManagerPolicy")) {
		r = set_policy(topology_manager_policy_names, TOPOLOGY_MANAGER_POLICY_COUNT, key, value,
			&found, err);
		if (r == 0)
			s->topology.policy = (enum topology_manager_policy)found;
	} else if (!strcmp(key, "topologyManagerScope")) {
		r = set_policy(topology_manager_scope_names, TOPOLOGY_SCOPE_COUNT, key, value, &found, err);
		if (r == 0)
			s->topology.scope = (enum topology_manager_scope)found;
	} else if (!strcmp(key, "cpuManagerPolicy")) {
		r = set_policy(cpu_manager_policy_names, CPU_MANAGER_POLICY_COUNT, key, value, &found, err);
		if (r == 0)
			s->cpu_manager = (enum cpu_manager_policy)found;
	} else if (!strcmp(key, "memoryManagerPolicy")) {
		r = set_policy(
			memory_manager_policy_names, MEMORY_MANAGER_POLICY_COUNT, key, value, &found, err);
		if (r == 0)
			s->memory_manager = (enum memory_manager_policy)found;
	}
	return r;
}

static int reserve_list(struct settings *s, const char *value, struct err *err)
{
	hwloc_bitmap_t set = NULL;
	int r = cpuset_parse(value, &set, err);

	if (r < 0)
		return err_wrap(err, -EINVAL, "reservedSystemCPUs");
	hwloc_bitmap_free(s->reserved_system_cpus);
	s->reserved_system_cpus = set;
	text_set(&s->from[SETTING_RESERVED_SYSTEM_CPUS], "reservedSystemCPUs");
	return 0;
}

static int reserve_count(struct settings *s, const char *value, struct err *err)
{
	unsigned long n;

	if (!parse_number(value, MACHINE_MAX_CPUS, &n))
		return err_set(err, -EINVAL, "reservedCPUs: '%.60s' is not a number of CPUs", value);
	hwloc_bitmap_free(s->reserved_system_cpus);
	s->reserved_system_cpus = NULL;
	s->reserved_cpu_known = true;
	s->kube_reserved_cpu = (qty_t)n * QTY_UNIT;
	s->system_reserved_cpu = 0;
	return 0;
}

int settings_change(struct settings *s, const char *text, bool *ret_reserved, struct err *err)
{
	const char *equals = strchr(text, '=');
	CLEANUP(freep) char *key = equals ? xstrndup(text, (size_t)(equals - text)) : NULL;
	int r;

	if (!equals)
		return err_set(err, -EINVAL, "'%.60s' is not KEY=VALUE", text);
	r = change_policy(s, key, equals + 1, err);
	if (r <= 0)
		return r;
	if (!strcmp(key, "kubelet"))
		return settings_parse_release(equals + 1, &s->kubelet_minor, err);
	if (strcmp(key, "reservedSystemCPUs") != 0 && strcmp(key, "reservedCPUs") != 0)
		return settings_change_option(s, key, equals + 1, err);
	*ret_reserved = true;
	return !strcmp(key, "reservedCPUs") ? reserve_count(s, equals + 1, err)
					    : reserve_list(s, equals + 1, err);
}
