/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/vectors/kubelet_support.h"

#include "common/cleanup.h"
#include "common/settings_table.h"
#include "common/vec.h"
#include "common/xalloc.h"

static int find_socket(const struct machine *m, int id)
{
	for (size_t i = 0; i < m->n_sockets; i++)
		if (m->sockets[i].id == id)
			return (int)i;
	return -1;
}

void kv_add_node(struct machine *m, unsigned id, int socket)
{
	size_t at = m->n_nodes;

	if (machine_node_index(m, id) >= 0)
		return;
	vec_grow(&m->nodes, &m->nodes_size, m->n_nodes + 1, sizeof(*m->nodes));
	for (; at > 0 && m->nodes[at - 1].id > id; at--)
		m->nodes[at] = m->nodes[at - 1];
	m->nodes[at] = (struct numa_node){.id = id, .socket = socket};
	m->n_nodes++;
}

void kv_add_cpu(struct machine *m, unsigned id, unsigned core, int socket, int numa, int uncore)
{
	bool new_core = true;

	for (size_t i = 0; i < m->n_cpus; i++)
		new_core = new_core && m->cpus[i].core != core;
	m->n_cores += new_core;
	vec_grow(&m->cpus, &m->cpus_size, m->n_cpus + 1, sizeof(*m->cpus));
	vec_grow(&m->sockets, &m->sockets_size, m->n_sockets + 1, sizeof(*m->sockets));
	m->cpus[m->n_cpus++] = (struct cpu){
		.id = id, .core = core, .socket = socket, .numa = numa, .l3 = uncore, .uncore = uncore};
	if (find_socket(m, socket) < 0)
		m->sockets[m->n_sockets++].id = socket;
	kv_add_node(m, (unsigned)numa, socket);
}

void kv_set_distances(struct machine *m, const vj *rows)
{
	size_t i = 0;

	if (vj_count(rows) != m->n_nodes)
		vj_die(rows, "not one row of distances for each of %zu NUMA nodes", m->n_nodes);
	m->distances = calloc(m->n_nodes * m->n_nodes + 1, sizeof(*m->distances));
	VJ_FOREACH (row, rows) {
		if (vj_count(row) != m->n_nodes)
			vj_die(row, "not a distance to each of %zu NUMA nodes", m->n_nodes);
		VJ_FOREACH (distance, row)
			m->distances[i++] = vj_unsigned(distance);
	}
}

void kv_nodes(struct topology_nodes *ret, size_t n, const vj *rows)
{
	unsigned from = 0;

	topology_nodes_release(ret);
	ret->distance = xcalloc(NODE_MASK_MAX_ID + 1, sizeof(*ret->distance));
	if (n > NODE_MASK_MAX_ID + 1)
		vj_die(rows, "more than %d NUMA nodes", NODE_MASK_MAX_ID + 1);
	for (unsigned id = 0; id < n; id++)
		ret->all |= node_mask_of(id);
	ret->distances_known = true;
	VJ_FOREACH (row, rows) {
		unsigned to = 0;

		VJ_FOREACH (distance, row) {
			if (from > NODE_MASK_MAX_ID || to > NODE_MASK_MAX_ID)
				vj_die(row, "too many distances");
			ret->distance[from][to++] = vj_unsigned(distance);
		}
		from++;
	}
}

uint64_t kv_mask(const vj *list_of_ids)
{
	uint64_t mask = 0;

	VJ_FOREACH (id, list_of_ids) {
		if (vj_unsigned(id) > NODE_MASK_MAX_ID)
			vj_die(list_of_ids, "an id above %d", NODE_MASK_MAX_ID);
		mask |= node_mask_of(vj_unsigned(id));
	}
	return mask;
}

/* A hint of either form; its "numa" into *ret_numa, its "preferred" returned. */
static bool hint_parts(const vj *hint, const vj **ret_numa)
{
	if (vj_is_map(hint)) {
		*ret_numa = vj_need(hint, "numa");
		return vj_bool(vj_need(hint, "preferred"));
	}
	if (vj_count(hint) != 2)
		vj_die(hint, "not a hint");
	*ret_numa = vj_first(hint);
	return vj_bool(vj_next(*ret_numa));
}

void kv_hints(const vj *list, struct topology_hints *ret)
{
	size_t n = vj_count(list);

	*ret = (struct topology_hints){.items = calloc(n + 1, sizeof(*ret->items)), .items_size = n};
	ret->no_preference = vj_is_null(list);
	VJ_FOREACH (item, list) {
		struct topology_hint *hint = &ret->items[ret->n_items++];
		const vj *numa;

		hint->preferred = hint_parts(item, &numa);
		hint->any_node = vj_is_null(numa);
		hint->nodes = hint->any_node ? 0 : kv_mask(numa);
	}
}

static void print_hint(struct topology_hint hint, char *text, size_t size)
{
	char nodes[NODE_MASK_TEXT_MAX];

	node_mask_print(hint.nodes, nodes);
	snprintf(text, size, "{%s} %s", hint.any_node ? "any" : nodes,
		hint.preferred ? "preferred" : "not preferred");
}

void kv_check_hint(struct vectors_run *run, const char *what, struct topology_hint got, const vj *want_numa,
	bool want_preferred)
{
	struct topology_hint want = {.any_node = vj_is_null(want_numa), .preferred = want_preferred};
	char got_text[256], want_text[256];

	want.nodes = kv_mask(want_numa);
	if (got.any_node == want.any_node && got.preferred == want.preferred &&
		(got.any_node || got.nodes == want.nodes))
		return;
	print_hint(got, got_text, sizeof(got_text));
	print_hint(want, want_text, sizeof(want_text));
	vectors_differ(run, "%s: %s, recorded %s", what, got_text, want_text);
}

void kv_check_hints(
	struct vectors_run *run, const char *what, const struct topology_hints *got, const vj *want)
{
	size_t i = 0;

	if (got->no_preference != vj_is_null(want) || got->n_items != vj_count(want)) {
		vectors_differ(run, "%s: %zu hints%s, recorded %zu%s", what, got->n_items,
			got->no_preference ? " (no preference)" : "", vj_count(want),
			vj_is_null(want) ? " (no preference)" : "");
		return;
	}
	VJ_FOREACH (item, want) {
		const vj *numa;
		bool preferred = hint_parts(item, &numa);

		kv_check_hint(run, what, got->items[i++], numa, preferred);
	}
}

struct topology_rules kv_rules(const char *text, const struct topology_nodes *nodes)
{
	const char *plus = strchr(text, '+');
	CLEANUP(freep) char *name = plus ? strndup(text, (size_t)(plus - text)) : strdup(text);
	struct topology_rules rules = {.nodes = nodes, .prefer_closest = plus != NULL};
	int policy;

	policy = settings_name_index(topology_manager_policy_names, TOPOLOGY_MANAGER_POLICY_COUNT, name);
	if (policy < 0 || (plus && strcmp(plus, "+prefer-closest-numa-nodes") != 0))
		vj_die(NULL, "unknown Topology Manager policy '%s'", text);
	rules.policy = (enum topology_manager_policy)policy;
	return rules;
}

struct cpu_manager_options kv_cpu_options(const vj *options)
{
	struct settings s = {.cpu_options = {0}};

	VJ_FOREACH (item, options) {
		const char *name = vj_is_map(options) ? vj_key(item) : vj_string(item);
		const struct policy_option *o = policy_option_of(SETTING_CPU_MANAGER_POLICY_OPTIONS, name);

		if (!o)
			vj_die(item, "unknown option '%s'", name);
		policy_option_set(o, !vj_is_map(options) || vj_bool(item), &s);
	}
	return s.cpu_options;
}

bool kv_policy_init(struct kv_policy *p, struct cpu_manager_options options, hwloc_const_bitmap_t reserved,
	size_t n_reserved, struct err *err)
{
	bool **sets[] = {&p->shared, &p->available, &p->reusable, &p->taken, &p->scratch[0], &p->scratch[1]};
	const struct kubelet_version version = kubelet_version_of(36);

	if (cpu_topology_init(&p->topology, &p->machine) < 0)
		vj_die(NULL, "too many CPUs");
	if (cpu_manager_init(&p->manager, &p->topology, &options, TOPOLOGY_MANAGER_UNKNOWN, &version,
		    reserved, n_reserved, err) < 0)
		return false;
	p->ws = cpu_workspace_new(&p->topology);
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		*sets[i] = calloc(p->topology.n_cpus + 1, sizeof(bool));
	return true;
}

void kv_policy_release(struct kv_policy *p)
{
	bool *sets[] = {p->shared, p->available, p->reusable, p->taken, p->scratch[0], p->scratch[1]};

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		free(sets[i]);
	cpu_workspace_freep(&p->ws);
	cpu_manager_release(&p->manager);
	cpu_topology_release(&p->topology);
	machine_release(&p->machine);
	memset(p, 0, sizeof(*p));
}

void kv_take_error(struct cpu_take take, char *text, size_t size)
{
	switch (take.status) {
	case CPU_TAKE_OK:
		text[0] = '\0';
		return;
	case CPU_TAKE_NOT_ENOUGH:
		snprintf(text, size,
			"not enough cpus available to satisfy request: requested=%zu, available=%zu",
			take.requested, take.available);
		return;
	case CPU_TAKE_MISCOUNTED:
		snprintf(text, size, "accounting error, %s CPUs allocated, remaining: %ld",
			take.remaining > 0 ? "not enough" : "too many", take.remaining);
		return;
	case CPU_TAKE_ENDLESS:
	case CPU_TAKE_UNKNOWN:
		break;
	}
	snprintf(text, size, "unknown");
}

void kv_smt_error(const struct kv_policy *p, size_t n, char *text, size_t size)
{
	size_t physical;

	text[0] = '\0';
	switch (cpu_manager_check_smt(&p->manager, p->shared, n, &physical)) {
	case CPU_SMT_NOT_MULTIPLE:
		snprintf(text, size,
			"SMT Alignment Error: requested %zu cpus not multiple cpus per core = %u", n,
			p->manager.cpus_per_core);
		break;
	case CPU_SMT_NOT_ENOUGH_CORES:
		snprintf(text, size,
			"SMT Alignment Error: not enough free physical CPUs: available physical CPUs = %zu, "
			"requested CPUs = %zu, CPUs per core = %u",
			physical, n, p->manager.cpus_per_core);
		break;
	case CPU_SMT_ALIGNED:
		break;
	}
}

void kv_read_set(const struct cpu_topology *t, const vj *list, bool *set)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t bitmap = vj_cpuset(list);

	if (cpu_set_from_bitmap(t, bitmap, set) != cpuset_size(bitmap))
		vj_die(list, "CPUs that the topology lacks");
}

void kv_check_cpus(struct vectors_run *run, const char *what, const struct cpu_topology *t, const bool *got,
	const char *want)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t got_set = hwloc_bitmap_alloc();
	CLEANUP(cpuset_freep) hwloc_bitmap_t want_set = NULL;
	CLEANUP(freep) char *text = NULL;

	cpu_set_to_bitmap(t, got, got_set);
	if (cpuset_parse(want, &want_set, NULL) < 0)
		vj_die(NULL, "%s: cannot compare with '%s'", what, want);
	if (hwloc_bitmap_isequal(got_set, want_set))
		return;
	text = cpuset_print(got_set);
	vectors_differ(run, "%s: CPUs %s, recorded %s", what, text ? text : "?", want);
}

void kv_memory_state(const vj *machine_state, struct memory_state *ret)
{
	size_t n = vj_count(machine_state);

	memory_state_init(ret);
	ret->nodes = calloc(n + 1, sizeof(*ret->nodes));
	VJ_FOREACH (node, machine_state) {
		unsigned id = (unsigned)strtoul(vj_key(node), NULL, 10);
		const vj *tables = vj_need(node, "memoryMap");
		size_t at = ret->n_nodes++;
		struct memory_node *to;

		/* The map's keys are sorted as text. */
		for (; at > 0 && ret->nodes[at - 1].id > id; at--)
			ret->nodes[at] = ret->nodes[at - 1];
		to = &ret->nodes[at];
		memset(to, 0, sizeof(*to));
		to->id = id;
		to->assignments = vj_unsigned(vj_need(node, "numberOfAssignments"));
		to->cells = vj_ids(vj_need(node, "cells"));
		to->tables = calloc(vj_count(tables) + 1, sizeof(*to->tables));
		VJ_FOREACH (table, tables) {
			to->tables[to->n_tables++] = (struct memory_table){.type = strdup(vj_key(table)),
				.allocatable = (uint64_t)vj_int(vj_need(table, "allocatable")),
				.free = (uint64_t)vj_int(vj_need(table, "free"))};
		}
	}
}
