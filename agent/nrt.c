/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/nrt.h"

#include <errno.h>

#include "agent/hash.h"
#include "agent/json.h"
#include "common/cleanup.h"

#define NRT_TEXT_MAX   (16u << 20)
#define NAME_MAX_BYTES 32
#define MAX_NODES_CAP  50u /* scheduler-plugins gives no distance bonus when the value passes 50 */

static void zone_name(char name[NAME_MAX_BYTES], const char *prefix, int id)
{
	snprintf(name, NAME_MAX_BYTES, "%s-%d", prefix, id);
}

static int add_attribute(struct doc *list, const char *name, const char *value)
{
	struct doc *map = doc_add_map(list, NULL);

	return doc_add_string(map, "name", name) && doc_add_string(map, "value", value) ? 0 : -ENOMEM;
}

static int add_attribute_if(struct doc *list, bool known, const char *name, const char *value)
{
	return known && value ? add_attribute(list, name, value) : 0;
}

/* ---- object attributes */

unsigned nrt_max_numa_nodes(const struct settings *s, unsigned zones)
{
	unsigned max = s->topology.max_numa_nodes > zones ? s->topology.max_numa_nodes : zones;

	if (s->topology.policy == TOPOLOGY_MANAGER_UNKNOWN)
		return TOPOLOGY_MANAGER_DEFAULT_MAX_NUMA_NODES;
	return max > MAX_NODES_CAP && zones <= MAX_NODES_CAP ? MAX_NODES_CAP : max;
}

static int add_max_numa_nodes(struct doc *list, const struct settings *s, unsigned zones)
{
	unsigned max = nrt_max_numa_nodes(s, zones);
	char text[NAME_MAX_BYTES];

	if (max == TOPOLOGY_MANAGER_DEFAULT_MAX_NUMA_NODES)
		return 0;
	snprintf(text, sizeof(text), "%u", max);
	return add_attribute(list, "topologyManagerMaxNUMANodes", text);
}

static int add_attributes(struct doc *object, const struct settings *s, unsigned zones)
{
	struct doc *list = doc_add_list(object, "attributes");
	bool topology = s->topology.policy != TOPOLOGY_MANAGER_UNKNOWN;
	enum topology_manager_scope scope =
		s->topology.scope == TOPOLOGY_SCOPE_POD ? TOPOLOGY_SCOPE_POD : TOPOLOGY_SCOPE_CONTAINER;
	int r = list ? 0 : -ENOMEM;

	if (r == 0)
		r = add_attribute_if(list, topology, "topologyManagerPolicy",
			topology_manager_policy_names[s->topology.policy]);
	if (r == 0)
		r = add_attribute_if(
			list, topology, "topologyManagerScope", topology_manager_scope_names[scope]);
	if (r == 0)
		r = add_max_numa_nodes(list, s, zones);
	if (r == 0)
		r = add_attribute_if(
			list, topology, "topologyManagerPolicyOptions", s->topology_options_text);
	if (r == 0)
		r = add_attribute_if(list, s->cpu_manager != CPU_MANAGER_UNKNOWN, "cpuManagerPolicy",
			cpu_manager_policy_names[s->cpu_manager]);
	if (r == 0)
		r = add_attribute_if(list, true, "cpuManagerPolicyOptions", s->cpu_options_text);
	if (r == 0)
		r = add_attribute_if(list, s->memory_manager != MEMORY_MANAGER_UNKNOWN, "memoryManagerPolicy",
			memory_manager_policy_names[s->memory_manager]);
	return r;
}

/*
 * The deprecated field. Readers of entry 0 (scheduler-plugins, KAI) take the "...Level" names, Koordinator
 * scans for the plain ones, so two entries serve both.
 */
static int add_topology_policies(struct doc *object, const struct settings *s)
{
	static const char *const entries[TOPOLOGY_MANAGER_POLICY_COUNT][3] = {
		[TOPOLOGY_MANAGER_NONE] = {"None", "None", NULL},
		[TOPOLOGY_MANAGER_BEST_EFFORT] = {"BestEffortContainerLevel", "BestEffortPodLevel",
			"BestEffort"},
		[TOPOLOGY_MANAGER_RESTRICTED] = {"RestrictedContainerLevel", "RestrictedPodLevel",
			"Restricted"},
		[TOPOLOGY_MANAGER_SINGLE_NUMA_NODE] = {"SingleNUMANodeContainerLevel",
			"SingleNUMANodePodLevel", NULL},
	};
	const char *const *names = entries[s->topology.policy];
	struct doc *list;

	if (s->topology.policy == TOPOLOGY_MANAGER_UNKNOWN)
		return 0;
	list = doc_add_list(object, "topologyPolicies");
	if (!doc_add_string(list, NULL, names[s->topology.scope == TOPOLOGY_SCOPE_POD]))
		return -ENOMEM;
	return names[2] && !doc_add_string(list, NULL, names[2]) ? -ENOMEM : 0;
}

/* ---- zones */

static int add_cpus_attribute(struct doc *zone, hwloc_const_bitmap_t cpus)
{
	CLEANUP(freep) char *text = NULL;

	if (hwloc_bitmap_iszero(cpus))
		return 0;
	text = cpuset_print(cpus);
	return text ? add_attribute(doc_add_list(zone, "attributes"), "cpus", text) : -ENOMEM;
}

static int add_costs(struct doc *zone, const struct inventory *inv, size_t from)
{
	struct doc *list = doc_add_list(zone, "costs");

	for (size_t to = 0; to < inv->n_nodes; to++) {
		unsigned cost = inv->costs[from * inv->n_nodes + to];
		char name[NAME_MAX_BYTES];
		struct doc *map;

		if (cost == INVENTORY_COST_UNKNOWN || inv->nodes[to].id > NRT_MAX_NODE_ID)
			continue;
		zone_name(name, "node", (int)inv->nodes[to].id);
		map = doc_add_map(list, NULL);
		if (!doc_add_string(map, "name", name) || !doc_add_number(map, "value", cost))
			return -ENOMEM;
	}
	return list ? 0 : -ENOMEM;
}

static bool add_quantity(struct doc *map, const char *key, qty_t nano)
{
	struct quantity q = {.nano = nano, .format = QUANTITY_DECIMAL_SI};
	char text[QUANTITY_TEXT_MAX];

	quantity_print(q, text);
	return doc_add_string(map, key, text);
}

static int add_resources(struct doc *zone, const struct inventory *inv, size_t node)
{
	struct doc *list = doc_add_list(zone, "resources");

	for (size_t i = 0; i < inv->n_resources; i++) {
		const struct inventory_amount *amount = inventory_amount(inv, node, i);
		struct doc *map;

		if (!amount->present)
			continue;
		map = doc_add_map(list, NULL);
		if (!doc_add_string(map, "name", inv->resources[i]) ||
			!add_quantity(map, "capacity", amount->capacity) ||
			!add_quantity(map, "allocatable", amount->allocatable) ||
			!add_quantity(map, "available", amount->available))
			return -ENOMEM;
	}
	return list ? 0 : -ENOMEM;
}

static struct doc *add_zone(struct doc *zones, const char *prefix, int id, const char *type)
{
	struct doc *zone = doc_add_map(zones, NULL);
	char name[NAME_MAX_BYTES];

	zone_name(name, prefix, id);
	return doc_add_string(zone, "name", name) && doc_add_string(zone, "type", type) ? zone : NULL;
}

static int add_node_zone(struct doc *zones, const struct machine *m, const struct inventory *inv, unsigned id)
{
	struct doc *zone = add_zone(zones, "node", (int)id, "Node");
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = NULL;
	int at = machine_node_index(m, id), r;
	char parent[NAME_MAX_BYTES];

	if (!zone || at < 0)
		return zone ? 0 : -ENOMEM;
	if (m->nodes[at].socket != MACHINE_NONE) {
		zone_name(parent, "socket", m->nodes[at].socket);
		if (!doc_add_string(zone, "parent", parent))
			return -ENOMEM;
	}
	r = machine_own_cpus(m, (size_t)at, &cpus);
	if (r == 0)
		r = add_cpus_attribute(zone, cpus);
	if (r == 0)
		r = add_costs(zone, inv, (size_t)at);
	return r < 0 ? r : add_resources(zone, inv, (size_t)at);
}

/* Number of Node zones: the highest id that can be published, plus one. */
static unsigned count_node_zones(const struct machine *m, struct notes *notes)
{
	unsigned zones = 0;

	for (size_t i = 0; i < m->n_nodes; i++) {
		if (m->nodes[i].id <= NRT_MAX_NODE_ID)
			zones = m->nodes[i].id + 1;
		else
			notes_add(notes, "NUMA node %u is left out: schedulers know ids up to %u only",
				m->nodes[i].id, NRT_MAX_NODE_ID);
	}
	return zones;
}

static int add_zones(
	struct doc *object, const struct machine *m, const struct inventory *inv, unsigned n_zones)
{
	struct doc *zones = doc_add_list(object, "zones");
	int r = zones ? 0 : -ENOMEM;

	for (unsigned id = 0; r == 0 && id < n_zones; id++)
		r = add_node_zone(zones, m, inv, id);
	for (size_t i = 0; r == 0 && i < m->n_sockets; i++) {
		struct doc *zone = add_zone(zones, "socket", m->sockets[i].id, "Socket");

		r = zone ? add_cpus_attribute(zone, m->sockets[i].cpus) : -ENOMEM;
	}
	return r;
}

/* ---- the object */

static int add_content_hash(struct doc *object)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(NRT_TEXT_MAX);
	char hash[HASH_TEXT_SIZE];
	int r = json_print_compact(object, &text);

	if (r < 0)
		return r;
	hash_text(text.text, text.len, hash);
	DOC_FOREACH (item, object)
		if (!strcmp(item->key, "attributes"))
			return add_attribute(item, NRT_CONTENT_HASH, hash);
	return -ENOMEM;
}

int nrt_render(const char *node_name, const struct machine *m, const struct settings *s,
	const struct inventory *inv, struct doc *ret, struct notes *notes)
{
	CLEANUP(doc_release) struct doc object = {.kind = DOC_MAP};
	unsigned n_zones = count_node_zones(m, notes);
	int r;

	if (!doc_add_string(&object, "apiVersion", "topology.node.k8s.io/v1alpha2") ||
		!doc_add_string(&object, "kind", "NodeResourceTopology") ||
		!doc_add_string(doc_add_map(&object, "metadata"), "name", node_name))
		return -ENOMEM;
	r = add_topology_policies(&object, s);
	if (r == 0)
		r = add_attributes(&object, s, n_zones);
	if (r == 0)
		r = add_zones(&object, m, inv, n_zones);
	if (r == 0)
		r = add_content_hash(&object);
	if (r < 0)
		return r;
	*ret = object;
	object = (struct doc)DOC_INIT;
	return 0;
}

const char *nrt_content_hash(const struct doc *nrt)
{
	const struct doc *attributes = doc_get(nrt, "attributes");

	if (!attributes || attributes->kind != DOC_LIST)
		return NULL;
	DOC_FOREACH (item, attributes) {
		const char *name = doc_string(doc_get(item, "name"));

		if (name && !strcmp(name, NRT_CONTENT_HASH))
			return doc_string(doc_get(item, "value"));
	}
	return NULL;
}
