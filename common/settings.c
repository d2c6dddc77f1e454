/* SPDX-License-Identifier: Apache-2.0 */
#include "common/settings.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/xalloc.h"

const char *const cpu_manager_policy_names[] = {"unknown", "none", "static"};
const char *const memory_manager_policy_names[] = {"unknown", "None", "Static"};
const char *const topology_manager_policy_names[] = {
	"unknown", "none", "best-effort", "restricted", "single-numa-node"};
const char *const topology_manager_scope_names[] = {"unknown", "container", "pod"};
const char *const setting_names[] = {
	"cpuManagerPolicy",
	"cpuManagerPolicyOptions",
	"memoryManagerPolicy",
	"topologyManagerPolicy",
	"topologyManagerScope",
	"topologyManagerPolicyOptions",
	"reservedSystemCPUs",
	"kubeReserved",
	"systemReserved",
	"evictionHard",
	"reservedMemory",
	"featureGates",
};

static_assert(sizeof(setting_names) / sizeof(*setting_names) == SETTING_COUNT, "a name for each setting");

int settings_name_index(const char *const *names, size_t count, const char *text)
{
	for (size_t i = 1; i < count; i++)
		if (!strcmp(names[i], text))
			return (int)i;
	return -1;
}

bool *cpu_manager_option(struct cpu_manager_options *options, const char *name)
{
	const struct {
		const char *name;
		bool *value;
	} known[] = {
		{"full-pcpus-only", &options->full_pcpus_only},
		{"distribute-cpus-across-numa", &options->distribute_cpus_across_numa},
		{"align-by-socket", &options->align_by_socket},
		{"distribute-cpus-across-cores", &options->distribute_cpus_across_cores},
		{"strict-cpu-reservation", &options->strict_cpu_reservation},
		{"prefer-align-cpus-by-uncorecache", &options->prefer_align_cpus_by_uncorecache},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(known[i].name, name))
			return known[i].value;
	return NULL;
}

int settings_parse_release(const char *text, unsigned *ret, struct err *err)
{
	const char *minor = text + (*text == 'v');
	unsigned long n;
	char *end;

	if (strncmp(minor, "1.", 2) != 0 || minor[2] < '1' || minor[2] > '9')
		return err_set(err, -EINVAL, "'%.40s' is not a release of Kubernetes 1, like v1.35.4", text);
	n = strtoul(minor + 2, &end, 10);
	if (n > 999 || (*end && *end != '.' && *end != '+' && *end != '-'))
		return err_set(err, -EINVAL, "'%.40s' is not a release of Kubernetes 1, like v1.35.4", text);
	*ret = (unsigned)n;
	return 0;
}

void settings_init(struct settings *s)
{
	memset(s, 0, sizeof(*s));
	s->topology.max_numa_nodes = TOPOLOGY_MANAGER_DEFAULT_MAX_NUMA_NODES;
}

void settings_release(struct settings *s)
{
	hwloc_bitmap_free(s->reserved_system_cpus);
	free(s->eviction_hard_memory);
	for (size_t i = 0; i < s->n_memory_reservations; i++)
		free(s->memory_reservations[i].type);
	free(s->memory_reservations);
	free(s->cpu_options_text);
	free(s->topology_options_text);
	free(s->unknown_cpu_option);
	free(s->unknown_topology_option);
	free(s->unknown_feature_gate);
	free(s->unknown_field);
	free(s->feature_gates_text);
	for (size_t i = 0; i < SETTING_COUNT; i++)
		free(s->from[i]);
	settings_init(s);
}

void settings_set_from(struct settings *s, enum setting what, const char *from)
{
	char *copy = xstrdup(from);

	free(s->from[what]);
	s->from[what] = copy;
}
