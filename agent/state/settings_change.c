/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/settings_change.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/state/node_derive.h"
#include "agent/state/reserved_memory.h"
#include "common/cleanup.h"
#include "common/machine.h"
#include "common/resource.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/kubelet_version.h"

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
	CLEANUP(strbuf_release) struct strbuf all = STRBUF_INIT(200);
	int found = settings_name_index(names, n, value);

	if (found >= 0) {
		*ret = found;
		return 0;
	}
	for (size_t i = 1; i < n; i++) /* the first is "unknown" */
		strbuf_addf(&all, "%s%s", i > 1 ? "|" : "", names[i]);
	return err_set(err, -EINVAL, "%s: '%.60s' is not one of %s", key, value, all.text);
}

/* Copies the text up to the separator and moves *at past the separator. "" at the end of the text. The
 * caller frees the copy. */
static char *next_part(const char **at, char separator)
{
	const char *begin = *at;
	size_t len = strcspn(begin, (const char[]){separator, '\0'});

	*at = begin + len + (begin[len] == separator);
	return xstrndup(begin, len);
}

/* "memory=1Gi" */
static int add_reservation(struct settings *s, unsigned node, const char *text, struct err *err)
{
	const char *equals = strchr(text, '=');
	CLEANUP(freep) char *type = equals ? xstrndup(text, (size_t)(equals - text)) : NULL;
	struct quantity q;

	if (!type || (strcmp(type, "memory") != 0 && !resource_name_is_hugepages(type)) ||
		quantity_parse(equals + 1, &q, NULL) < 0 || q.nano < 0)
		return err_set(err, -EINVAL,
			"reservedMemory: '%.60s' is not an amount of memory or hugepages such as memory=1Gi",
			text);
	*(struct memory_reservation *)vec_push(&s->memory_reservations, &s->n_memory_reservations,
		&s->memory_reservations_size, sizeof(*s->memory_reservations)) =
		(struct memory_reservation){.node = node, .type = TAKE(type), .bytes = q.nano};
	return 0;
}

/* "0:memory=1Gi,hugepages-1Gi=2Gi" */
static int add_reservations(struct settings *s, const char *text, struct err *err)
{
	const char *at = text;
	CLEANUP(freep) char *id = next_part(&at, ':');
	unsigned long node;
	int r = 0;

	if (!*at || !parse_number(id, MACHINE_MAX_NODES - 1, &node))
		return err_set(err, -EINVAL, "reservedMemory: '%.60s' is not NODE:TYPE=AMOUNT,...", text);
	while (r == 0 && *at) {
		CLEANUP(freep) char *limit = next_part(&at, ',');

		r = add_reservation(s, (unsigned)node, limit, err);
	}
	return r;
}

/* As the kubelet's flag --reserved-memory: "0:memory=1Gi;1:memory=2Gi". */
static int set_reserved_memory(struct settings *s, const char *value, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < s->n_memory_reservations; i++)
		free(s->memory_reservations[i].type);
	s->n_memory_reservations = 0;
	while (r == 0 && *value) {
		CLEANUP(freep) char *node = next_part(&value, ';');

		r = add_reservations(s, node, err);
	}
	return r;
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

static int set_reserved_list(struct settings *s, const char *value, struct err *err)
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

static int set_reserved_count(struct settings *s, const char *value, struct err *err)
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

static int set_release(struct settings *s, const char *value, struct err *err)
{
	struct kubelet_release release;
	int r = kubelet_release_parse(value, &release, err);

	if (r < 0)
		return r;
	if (release.minor < KUBELET_MINOR_OLDEST || release.minor > KUBELET_MINOR_COMPARED)
		return err_set(err, -EINVAL,
			"kubelet=%.60s: nrtd knows the rules of the kubelets 1.%u to 1.%u", value,
			KUBELET_MINOR_OLDEST, KUBELET_MINOR_COMPARED);
	settings_set_kubelet(s, release);
	return 0;
}

bool settings_change_is_proposed(const char *text)
{
	static const char key[] = "numa-allocation-strategy=";

	return !strncmp(text, key, strlen(key)) &&
	       strcmp(text + strlen(key), numa_allocation_names[NUMA_ALLOCATION_NONE]) != 0;
}

static int set_numa_allocation(struct settings *s, const char *value, struct err *err)
{
	for (int i = 0; i < NUMA_ALLOCATION_COUNT; i++)
		if (!strcmp(numa_allocation_names[i], value)) {
			s->topology.numa_allocation = (enum numa_allocation_strategy)i;
			return 0;
		}
	return err_set(err, -EINVAL, "numa-allocation-strategy has no value '%.60s'", value);
}

int settings_change(struct settings *s, const char *text, struct settings_changes *ret, struct err *err)
{
	const char *equals = strchr(text, '=');
	CLEANUP(freep) char *key = equals ? xstrndup(text, (size_t)(equals - text)) : NULL;
	enum memory_manager_policy before = s->memory_manager;
	int r;

	if (!equals)
		return err_set(err, -EINVAL, "'%.60s' is not KEY=VALUE", text);
	r = change_policy(s, key, equals + 1, err);
	ret->memory_manager = ret->memory_manager || s->memory_manager != before;
	if (r <= 0)
		return r;
	if (!strcmp(key, "kubelet"))
		return set_release(s, equals + 1, err);
	if (!strcmp(key, "reservedMemory")) {
		ret->reserved_memory = true;
		return set_reserved_memory(s, equals + 1, err);
	}
	if (!strcmp(key, "numa-allocation-strategy"))
		return set_numa_allocation(s, equals + 1, err);
	if (strcmp(key, "reservedSystemCPUs") != 0 && strcmp(key, "reservedCPUs") != 0)
		return settings_change_option(s, key, equals + 1, err);
	ret->reserved_cpus = true;
	return !strcmp(key, "reservedCPUs") ? set_reserved_count(s, equals + 1, err)
					    : set_reserved_list(s, equals + 1, err);
}

/* ---- the kubelet's check of reserved memory */

int settings_change_memory(struct node_state *node, const struct settings_changes *changes, struct err *err)
{
	struct settings *s = &node->settings;
	qty_t eviction = node_derive_eviction_threshold(node), sum = reserved_memory_sum(s);
	int r;

	if (s->memory_manager != MEMORY_MANAGER_STATIC ||
		(!changes->memory_manager && !changes->reserved_memory))
		return 0;
	if (changes->reserved_memory && s->eviction_hard_memory && sum >= eviction && sum > 0)
		s->system_reserved_memory = sum - eviction - s->kube_reserved_memory;
	r = reserved_memory_check(node, err);
	return r < 0 ? -EINVAL : 0;
}

struct kubelet_release node_kubelet_release(const struct doc *node)
{
	const struct doc *info = doc_get(doc_get(node, "status"), "nodeInfo");
	const char *version = doc_string(doc_get(info, "kubeletVersion"));
	struct kubelet_release release = {0};

	if (version)
		kubelet_release_parse(version, &release, NULL); /* else it stays unknown */
	return release;
}
