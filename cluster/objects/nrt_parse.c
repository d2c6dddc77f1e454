/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/objects/nrt_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/machine.h"
#include "common/settings_table.h"
#include "common/vec.h"
#include "scoring/nrt_match.h"

/* ---- zones and resources */

int nrt_zone_node(const struct doc *zone)
{
	const char *type = doc_string(doc_get(zone, "type")), *name = doc_string(doc_get(zone, "name"));

	return type && name && !strcmp(type, "Node") ? nrt_zone_id(name) : -1;
}

struct names {
	const char **items; /* borrowed */
	size_t n_items;
	size_t items_size;
};

static void names_release(struct names *n)
{
	free(n->items);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The resource names of the Node zones, sorted and unique, and the number of these zones. */
static int collect_names(const struct doc *zones, struct names *names, size_t *ret_nodes, struct err *err)
{
	size_t kept = 0;

	*ret_nodes = 0;
	DOC_FOREACH (zone, zones) {
		const struct doc *resources = doc_get(zone, "resources");

		if (nrt_zone_node(zone) < 0)
			continue;
		(*ret_nodes)++;
		DOC_FOREACH_ITEM (item, resources) {
			const char *name = doc_string(doc_get(item, "name")), **slot;

			if (!name)
				return err_set(err, -EINVAL, "zone '%s': a resource without a name",
					doc_string(doc_get(zone, "name")));
			slot = vec_push(&names->items, &names->n_items, &names->items_size, sizeof(*slot));
			*slot = name;
		}
	}
	if (names->n_items > 0)
		qsort(names->items, names->n_items, sizeof(*names->items), by_text);
	for (size_t i = 0; i < names->n_items; i++)
		if (i == 0 || strcmp(names->items[i], names->items[kept - 1]) != 0)
			names->items[kept++] = names->items[i];
	names->n_items = kept;
	return 0;
}

/* ---- amounts and costs */

static int read_amount(const struct doc *resource, const char *key, qty_t *ret, struct err *err)
{
	const struct doc *d = doc_get(resource, key);
	struct quantity q;
	int r;

	if (!d || (d->kind != DOC_STRING && d->kind != DOC_NUMBER))
		return err_set(err, -EINVAL, "%s: a quantity is expected, not %s", key, doc_kind_name(d));
	r = quantity_parse(d->text, &q, err);
	if (r < 0)
		return err_wrap(err, r, "%s", key);
	*ret = q.nano;
	return 0;
}

static int read_resources(const struct doc *zone, struct inventory *inv, size_t at, struct err *err)
{
	const struct doc *resources = doc_get(zone, "resources");

	DOC_FOREACH_ITEM (item, resources) {
		const char *name = doc_string(doc_get(item, "name"));
		int resource = inventory_resource(inv, name); /* found: collect_names() has all names */
		struct inventory_amount *amount = inventory_amount(inv, at, (size_t)resource);
		int r = read_amount(item, "capacity", &amount->capacity, err);

		if (r == 0)
			r = read_amount(item, "allocatable", &amount->allocatable, err);
		if (r == 0)
			r = read_amount(item, "available", &amount->available, err);
		if (r < 0)
			return err_wrap(
				err, r, "zone '%s', resource '%s'", doc_string(doc_get(zone, "name")), name);
		amount->present = true;
	}
	return 0;
}

/* Reads the costs, which name zones. Ignores names that are not zones of the object. */
static void read_costs(const struct doc *zone, struct inventory *inv, size_t at)
{
	const struct doc *costs = doc_get(zone, "costs");

	DOC_FOREACH_ITEM (item, costs) {
		const char *name = doc_string(doc_get(item, "name"));
		int id = name ? nrt_zone_id(name) : -1;
		uint64_t value;

		if (id < 0 || doc_uint64(doc_get(item, "value"), &value) < 0)
			continue;
		for (size_t to = 0; to < inv->n_nodes; to++)
			if (inv->nodes[to].id == (unsigned)id)
				inv->costs[at * inv->n_nodes + to] =
					value > UINT32_MAX ? UINT32_MAX : (unsigned)value;
	}
}

static int read_zones(const struct doc *zones, struct inventory *inv, struct err *err)
{
	CLEANUP(names_release) struct names names = {0};
	size_t n_nodes, at = 0;
	int r;

	if (!zones || zones->kind != DOC_LIST)
		return err_set(err, -EINVAL, "no zones in it");
	r = collect_names(zones, &names, &n_nodes, err);
	if (r < 0)
		return r;
	if (n_nodes == 0)
		return err_set(err, -EINVAL, "no zone of type Node in it");
	if (n_nodes > MACHINE_MAX_NODES || names.n_items > NRT_MAX_RESOURCES)
		return err_set(err, -EINVAL,
			"%zu zones of type Node with %zu resources, %d and %d are supported", n_nodes,
			names.n_items, MACHINE_MAX_NODES, NRT_MAX_RESOURCES);
	inventory_shape(inv, n_nodes, names.items, names.n_items);
	/* All ids first: the costs of a zone refer to the ids of later zones. */
	DOC_FOREACH (zone, zones)
		if (nrt_zone_node(zone) >= 0)
			inv->nodes[at++].id = (unsigned)nrt_zone_node(zone);
	at = 0;
	DOC_FOREACH (zone, zones) {
		if (nrt_zone_node(zone) < 0)
			continue;
		read_costs(zone, inv, at);
		r = read_resources(zone, inv, at++, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- policies */

size_t nrt_attributes(const struct doc *owner, struct nrt_attribute ret[NRT_MAX_ATTRIBUTES])
{
	const struct doc *list = doc_get(owner, "attributes");
	size_t n = 0;

	DOC_FOREACH_ITEM (item, list) {
		const char *name = doc_string(doc_get(item, "name"));
		const char *value = doc_string(doc_get(item, "value"));

		if (name && value && n < NRT_MAX_ATTRIBUTES)
			ret[n++] = (struct nrt_attribute){.name = name, .value = value};
	}
	return n;
}

void nrt_topology_settings(const struct doc *object, struct topology_manager_config *config)
{
	const struct doc *policies = doc_list_items(doc_get(object, "topologyPolicies"));
	const char *first = policies ? doc_string(policies) : NULL;
	struct nrt_attribute attributes[NRT_MAX_ATTRIBUTES];
	size_t n = nrt_attributes(object, attributes);

	nrt_apply_policies(config, &first, first ? 1 : 0);
	nrt_apply_attributes(config, attributes, n);
}

void nrt_kubelet_topology(const struct doc *object, struct topology_manager_config *config)
{
	static const struct {
		const char *name;
		enum topology_manager_policy policy;
	} constants[] = {{"None", TOPOLOGY_MANAGER_NONE}, {"BestEffort", TOPOLOGY_MANAGER_BEST_EFFORT},
		{"Restricted", TOPOLOGY_MANAGER_RESTRICTED}};
	const char *attribute = nrt_attribute(object, settings_table[SETTING_TOPOLOGY_MANAGER_POLICY].name);
	const char *first = doc_string(doc_list_items(doc_get(object, "topologyPolicies")));
	struct topology_manager_config of_plugins = {
		.policy = TOPOLOGY_MANAGER_UNKNOWN, .scope = TOPOLOGY_SCOPE_UNKNOWN};

	nrt_topology_settings(object, config);
	nrt_topology_settings(object, &of_plugins);
	/* The plugins know the object's policy, or the object has none. */
	if (of_plugins.policy != TOPOLOGY_MANAGER_UNKNOWN || (!attribute && !first))
		return;
	config->policy = TOPOLOGY_MANAGER_UNKNOWN;
	config->scope = of_plugins.scope;
	/* An attribute replaces the list topologyPolicies, even if its value is not known. */
	if (attribute)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(constants); i++)
		if (!strcmp(first, constants[i].name))
			config->policy = constants[i].policy;
}

const char *nrt_attribute(const struct doc *object, const char *name)
{
	struct nrt_attribute attributes[NRT_MAX_ATTRIBUTES];
	const char *value = NULL;

	for (size_t i = 0, n = nrt_attributes(object, attributes); i < n; i++)
		if (!strcmp(attributes[i].name, name))
			value = attributes[i].value;
	return value;
}

unsigned nrt_policy(const struct doc *object, enum setting what)
{
	const struct setting_row *row = &settings_table[what];
	const char *text = nrt_attribute(object, row->name);
	int index = text ? settings_name_index(row->names, row->n_names, text) : -1;

	return index > 0 ? (unsigned)index : 0;
}

/* ---- objects */

int nrt_inventory(const struct doc *object, struct inventory *ret, struct err *err)
{
	CLEANUP(inventory_release) struct inventory inv;
	int r;

	inventory_init(&inv);
	r = read_zones(doc_get(object, "zones"), &inv, err);
	if (r < 0)
		return r;
	inv.topology = nrt_topology_manager(NULL, 0, NULL, 0); /* the plugin's defaults */
	nrt_topology_settings(object, &inv.topology);
	*ret = inv;
	inventory_init(&inv);
	return 0;
}
