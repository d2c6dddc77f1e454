/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/nrt_rules.h"

#include <stdint.h>
#include <string.h>

#include "scoring/combinations.h"

#define ZONE_PREFIX   "node-"
#define MAX_NODES_CAP 50u /* scheduler-plugins gives no distance bonus when the value passes 50 */

/* Go's strconv.Atoi: optional sign, then digits only, within int64 (its least value apart). */
static bool parse_go_int(const char *text, int64_t *ret)
{
	const char *p = text + (*text == '-' || *text == '+');
	int64_t value = 0;

	if (*p == '\0')
		return false;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, *p - '0', &value))
			return false;
	*ret = *text == '-' ? -value : value;
	return *p == '\0';
}

int nrt_zone_id(const char *name)
{
	int64_t id;

	if (strncmp(name, ZONE_PREFIX, strlen(ZONE_PREFIX)) != 0 ||
		!parse_go_int(name + strlen(ZONE_PREFIX), &id))
		return -1;
	return id >= 0 && id < (int64_t)COMBINATION_MAX_NODES ? (int)id : -1;
}

void nrt_apply_policies(
	struct topology_manager_config *config, const char *const *policies, size_t n_policies)
{
	static const struct {
		const char *name;
		enum topology_manager_policy policy;
		enum topology_manager_scope scope;
	} known[] = {
		{"SingleNUMANodePodLevel", TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, TOPOLOGY_SCOPE_POD},
		{"SingleNUMANodeContainerLevel", TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, TOPOLOGY_SCOPE_CONTAINER},
		{"BestEffortPodLevel", TOPOLOGY_MANAGER_BEST_EFFORT, TOPOLOGY_SCOPE_POD},
		{"BestEffortContainerLevel", TOPOLOGY_MANAGER_BEST_EFFORT, TOPOLOGY_SCOPE_CONTAINER},
		{"RestrictedPodLevel", TOPOLOGY_MANAGER_RESTRICTED, TOPOLOGY_SCOPE_POD},
		{"RestrictedContainerLevel", TOPOLOGY_MANAGER_RESTRICTED, TOPOLOGY_SCOPE_CONTAINER},
	};

	for (size_t i = 0; n_policies > 0 && i < sizeof(known) / sizeof(*known); i++) {
		if (strcmp(policies[0], known[i].name) != 0)
			continue;
		config->policy = known[i].policy;
		config->scope = known[i].scope;
	}
}

void nrt_apply_attributes(
	struct topology_manager_config *config, const struct nrt_attribute *attributes, size_t n_attributes)
{
	for (size_t i = 0; i < n_attributes; i++) {
		const char *name = attributes[i].name, *value = attributes[i].value;
		int64_t max;
		int index;

		if (!strcmp(name, "topologyManagerScope")) {
			index = settings_name_index(
				topology_manager_scope_names, TOPOLOGY_SCOPE_COUNT, value);
			if (index > 0)
				config->scope = (enum topology_manager_scope)index;
		} else if (!strcmp(name, "topologyManagerPolicy")) {
			index = settings_name_index(
				topology_manager_policy_names, TOPOLOGY_MANAGER_POLICY_COUNT, value);
			if (index > 0)
				config->policy = (enum topology_manager_policy)index;
		} else if (!strcmp(name, "topologyManagerMaxNUMANodes")) {
			/* The plugin refuses 1, although its comment calls 1 the least value. */
			if (parse_go_int(value, &max) && max > 1)
				config->max_numa_nodes = max < TOPOLOGY_MANAGER_MOST_MAX_NUMA_NODES
								 ? (unsigned)max
								 : TOPOLOGY_MANAGER_MOST_MAX_NUMA_NODES;
		}
	}
}

struct topology_manager_config nrt_topology_manager(const char *const *policies, size_t n_policies,
	const struct nrt_attribute *attributes, size_t n_attributes)
{
	struct topology_manager_config config = {
		.policy = TOPOLOGY_MANAGER_NONE,
		.scope = TOPOLOGY_SCOPE_CONTAINER,
		.max_numa_nodes = TOPOLOGY_MANAGER_DEFAULT_MAX_NUMA_NODES,
	};

	nrt_apply_policies(&config, policies, n_policies);
	nrt_apply_attributes(&config, attributes, n_attributes);
	return config;
}

unsigned nrt_max_numa_nodes(const struct settings *s, unsigned zones)
{
	unsigned max = s->topology.max_numa_nodes > zones ? s->topology.max_numa_nodes : zones;

	if (s->topology.policy == TOPOLOGY_MANAGER_UNKNOWN)
		return TOPOLOGY_MANAGER_DEFAULT_MAX_NUMA_NODES;
	return max > MAX_NODES_CAP && zones <= MAX_NODES_CAP ? MAX_NODES_CAP : max;
}
