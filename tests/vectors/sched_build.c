/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/vectors/sched_build.h"

#include "common/cleanup.h"
#include "common/vec.h"

static void need_memory(int r)
{
	if (r < 0)
		vj_die(NULL, "out of memory or a broken inventory (%d)", r);
}

struct resource_list list_from_map(const vj *map)
{
	struct resource_list list = {0};

	VJ_FOREACH (q, map)
		resource_list_set(&list, vj_key(q), vj_quantity(q));
	return list;
}

void zones_release(struct zones *zones)
{
	for (size_t i = 0; i < zones->n; i++) {
		resource_list_release(&zones->items[i].available);
		resource_list_release(&zones->items[i].allocatable);
	}
	*zones = (struct zones){0};
}

static struct zone *add_zone(struct zones *zones, const vj *json, unsigned id)
{
	if (zones->n == MAX_ZONES)
		vj_die(json, "more than %d zones", MAX_ZONES);
	zones->items[zones->n] = (struct zone){.id = id};
	return &zones->items[zones->n++];
}

/* The plugin keeps costs by id: of two zones with one id both have those of the later one. */
static void share_costs(struct zones *zones)
{
	for (size_t i = 0; i < zones->n; i++)
		for (size_t j = i + 1; j < zones->n; j++)
			if (zones->items[j].id == zones->items[i].id)
				memcpy(zones->items[i].cost, zones->items[j].cost,
					sizeof(zones->items[i].cost));
}

void zones_from_nrt(struct zones *zones, const vj *list)
{
	*zones = (struct zones){0};
	VJ_FOREACH (json, list) {
		const char *name = vj_string(vj_need(json, "name"));
		struct zone *zone;

		if (strcmp(vj_string(vj_need(json, "type")), "Node") != 0)
			continue;
		zones->has_id_64 = zones->has_id_64 || !strcmp(name, "node-64");
		if (nrt_zone_id(name) < 0)
			continue;
		zone = add_zone(zones, json, (unsigned)nrt_zone_id(name));
		VJ_FOREACH (r, vj_get(json, "resources")) {
			const char *resource = vj_string(vj_need(r, "name"));

			resource_list_set(&zone->available, resource, vj_quantity(vj_need(r, "available")));
			resource_list_set(
				&zone->allocatable, resource, vj_quantity(vj_need(r, "allocatable")));
		}
		VJ_FOREACH (cost, vj_get(json, "costs")) {
			int to = nrt_zone_id(vj_string(vj_need(cost, "name")));

			if (to >= 0)
				zone->cost[to] = vj_unsigned(vj_need(cost, "value"));
		}
	}
	share_costs(zones);
}

void zones_from_map(struct zones *zones, const vj *list)
{
	*zones = (struct zones){0};
	VJ_FOREACH (json, list) {
		const vj *id = vj_get(json, "id"), *amounts = vj_get(json, "available");
		struct zone *zone = add_zone(zones, json, vj_unsigned(id ? id : vj_need(json, "numa_id")));

		zone->available = list_from_map(amounts ? amounts : vj_need(json, "resources"));
		zone->allocatable = list_from_map(amounts ? amounts : vj_need(json, "resources"));
		VJ_FOREACH (cost, vj_get(json, "costs")) {
			unsigned long to = strtoul(vj_key(cost), NULL, 10);

			if (to < COMBINATION_MAX_NODES)
				zone->cost[to] = vj_unsigned(cost);
		}
	}
	share_costs(zones);
}

void node_init(struct node *node, const struct zones *zones)
{
	struct resource_list names = {0};
	const char **list;

	*node = (struct node){0};
	inventory_init(&node->inv);
	for (size_t i = 0; i < zones->n; i++)
		for (size_t j = 0; j < zones->items[i].available.n_items; j++)
			resource_list_set(
				&names, zones->items[i].available.items[j].name, (struct quantity){0});
	list = calloc(names.n_items + 1, sizeof(*list));
	for (size_t i = 0; list && i < names.n_items; i++)
		list[i] = names.items[i].name;
	inventory_shape(&node->inv, zones->n, list, names.n_items);
	free(list);
	for (size_t i = 0; i < zones->n; i++) {
		const struct zone *zone = &zones->items[i];

		node->inv.nodes[i].id = zone->id;
		for (size_t j = 0; j < zones->n; j++)
			node->inv.costs[i * zones->n + j] = zone->cost[zones->items[j].id];
		for (size_t r = 0; r < names.n_items; r++) {
			struct inventory_amount *amount = inventory_amount(&node->inv, i, r);
			const struct resource_quantity *q =
				resource_list_find(&zone->available, names.items[r].name);

			if (!q)
				continue;
			amount->present = true;
			amount->available = q->quantity.nano;
			amount->allocatable =
				resource_list_find(&zone->allocatable, names.items[r].name)->quantity.nano;
		}
	}
	resource_list_release(&names);
	need_memory(distances_init(&node->distances, node->inv.costs, zones->n, DISTANCES_WORK_LIMIT));
	need_memory(fit_space_init(&node->space, &node->inv, &node->distances));
}

void node_release(struct node *node)
{
	fit_space_release(&node->space);
	distances_release(&node->distances);
	inventory_release(&node->inv);
}

static void add_containers(struct pod_request *pod, const vj *list, bool init)
{
	VJ_FOREACH (json, list) {
		const vj *name = vj_get(json, "name"), *restart = vj_get(json, "restartPolicy");
		bool sidecar = init && restart && !strcmp(vj_string(restart), "Always");
		enum container_kind kind = sidecar ? CONTAINER_SIDECAR
					   : init  ? CONTAINER_INIT
						   : CONTAINER_APP;
		struct container_request *c = pod_request_add(pod, kind, name ? vj_string(name) : "");

		need_memory(c ? 0 : -1);
		c->requests = list_from_map(vj_get(json, "requests"));
		c->limits = list_from_map(vj_get(json, "limits"));
	}
}

void pod_from_json(struct pod_request *pod, const vj *json)
{
	const vj *qos = vj_get(json, "qos"), *whole = vj_get(json, "podLevelResources");

	pod_request_init(pod);
	for (int i = 1; qos && i < QOS_COUNT; i++)
		if (!strcmp(qos_class_names[i], vj_string(qos)))
			pod->qos = (enum qos_class)i;
	add_containers(pod, vj_get(json, "initContainers"), true);
	add_containers(pod, vj_get(json, "containers"), false);
	pod->overhead = list_from_map(vj_get(json, "overhead"));
	pod->has_pod_resources = whole != NULL;
	if (!whole)
		return;
	pod->pod_requests = list_from_map(vj_get(whole, "requests"));
	pod->pod_limits = list_from_map(vj_get(whole, "limits"));
}

struct topology_manager_config config_from_json(const vj *json)
{
	const char *policy = vj_string(vj_need(json, "policy")), *scope = vj_string(vj_need(json, "scope"));
	struct topology_manager_config config = {
		.max_numa_nodes = vj_unsigned(vj_need(json, "max_numa_nodes")),
	};
	int p = settings_name_index(topology_manager_policy_names, TOPOLOGY_MANAGER_POLICY_COUNT, policy);
	int s = settings_name_index(topology_manager_scope_names, TOPOLOGY_SCOPE_COUNT, scope);

	if ((p < 0 && *policy) || (s < 0 && *scope))
		vj_die(json, "no policy or scope of the Topology Manager");
	config.policy = p < 0 ? TOPOLOGY_MANAGER_UNKNOWN : (enum topology_manager_policy)p;
	config.scope = s < 0 ? TOPOLOGY_SCOPE_UNKNOWN : (enum topology_manager_scope)s;
	return config;
}

struct nrt_attribute *attributes_from_json(const vj *list, size_t *ret_n)
{
	struct nrt_attribute *attributes = calloc(vj_count(list) + 1, sizeof(*attributes));
	size_t n = 0;

	need_memory(attributes ? 0 : -1);
	VJ_FOREACH (json, list) {
		attributes[n].name = vj_string(vj_need(json, "name"));
		attributes[n++].value = vj_string(vj_need(json, "value"));
	}
	*ret_n = n;
	return attributes;
}

struct topology_manager_config config_from_nrt(const vj *nrt)
{
	const vj *list = vj_get(nrt, "topologyPolicies");
	struct topology_manager_config config;
	struct nrt_attribute *attributes;
	const char *first = NULL;
	size_t n;

	attributes = attributes_from_json(vj_get(nrt, "attributes"), &n);
	if (vj_first(list))
		first = vj_string(vj_first(list));
	config = nrt_topology_manager(&first, first ? vj_count(list) : 0, attributes, n);
	free(attributes);
	return config;
}

struct resource_weights weights_from_map(const vj *map)
{
	struct resource_weight *items = calloc(vj_count(map) + 1, sizeof(*items));
	size_t n = 0;

	need_memory(items ? 0 : -1);
	VJ_FOREACH (w, map)
		items[n++] = (struct resource_weight){.name = vj_key(w), .weight = vj_int(w)};
	return (struct resource_weights){.items = items, .n_items = n};
}

void check_filter(struct vectors_run *run, const struct filter_result *got, const char *code,
	const char *reason, bool prefix)
{
	static const char *const codes[FILTER_VERDICT_COUNT] = {"Success", "Unschedulable", "Error"};
	bool same = prefix ? !strncmp(got->reason, reason, strlen(reason)) : !strcmp(got->reason, reason);

	if (strcmp(codes[got->verdict], code) != 0 || !same)
		vectors_differ(run, "filter: %s '%s', recorded %s '%s'", codes[got->verdict], got->reason,
			code, reason);
	if ((got->verdict == FILTER_PASS) != (got->detail[0] == '\0'))
		vectors_differ(run, "filter: %s with detail '%s'", codes[got->verdict], got->detail);
}
