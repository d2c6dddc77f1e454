/* SPDX-License-Identifier: Apache-2.0 */
/* Renders the NodeResourceTopology object. */

#include <stdlib.h>

#include "agent/render/render.h"
#include "common/cleanup.h"
#include "common/hash.h"
#include "common/io/json.h"
#include "common/settings_table.h"
#include "common/xalloc.h"
#include "scoring/kubelet_release.h"
#include "scoring/node/node_state_codec.h"
#include "scoring/nrt_match.h"

#define NAME_MAX_BYTES 32
#define CAUTION_ATTRIBUTE \
	"nrtd.dev/caution" /* only if there is something to say about the verdicts on the node */

static void print_zone_name(char name[NAME_MAX_BYTES], const char *prefix, int id)
{
	snprintf(name, NAME_MAX_BYTES, "%s-%d", prefix, id);
}

static void add_nrt_attribute(struct doc *list, const char *name, const char *value)
{
	struct doc *map = doc_add_map(list, NULL);

	doc_add_string(map, "name", name);
	doc_add_string(map, "value", value);
}

/* Adds to the object's existing list of attributes. */
static void add_object_attribute(struct doc *object, const char *name, const char *value)
{
	DOC_FOREACH (item, object)
		if (!strcmp(item->key, "attributes")) {
			add_nrt_attribute(item, name, value);
			return;
		}
}

/* Adds no attribute that is not known, or whose value is NULL. */
static void add_nrt_attribute_if(struct doc *list, bool known, const char *name, const char *value)
{
	if (known && value)
		add_nrt_attribute(list, name, value);
}

/* ---- object attributes */

/* The default is omitted, because schedulers assume it. */
static void add_max_numa_nodes(struct doc *list, const struct settings *s, unsigned zones)
{
	unsigned max = nrt_max_numa_nodes(s, zones);
	char text[NAME_MAX_BYTES];

	if (max == TOPOLOGY_MANAGER_DEFAULT_MAX_NUMA_NODES)
		return;
	snprintf(text, sizeof(text), "%u", max);
	add_nrt_attribute(list, "topologyManagerMaxNUMANodes", text);
}

/* NULL = unknown. The Topology Manager's settings are published only together: an unknown scope as the kubelet's
 * default. */
static const char *attribute_value(const struct settings *s, enum setting what)
{
	const struct setting_row *row = &settings_table[what];
	unsigned choice;

	if (row->manager == MANAGER_TOPOLOGY && s->topology.policy == TOPOLOGY_MANAGER_UNKNOWN)
		return NULL;
	if (row->kind == SETTING_IS_OPTIONS)
		return setting_options_text(s, what);
	choice = setting_choice(s, what);
	if (choice == 0 && what == SETTING_TOPOLOGY_MANAGER_SCOPE)
		choice = row->fallback;
	return choice > 0 ? row->names[choice] : NULL;
}

/* Other exporters publish only the Topology Manager's settings, so these are first. */
static void add_settings_attributes(struct doc *list, const struct settings *s, unsigned zones)
{
	static const enum kubelet_manager managers[] = {MANAGER_TOPOLOGY, MANAGER_CPU, MANAGER_MEMORY};

	for (size_t i = 0; i < ARRAY_SIZE(managers); i++)
		for (enum setting what = 0; what < SETTING_COUNT; what++) {
			const char *value;

			if (settings_table[what].manager != managers[i])
				continue;
			if (what == SETTING_TOPOLOGY_MANAGER_POLICY_OPTIONS)
				add_max_numa_nodes(list, s, zones);
			value = attribute_value(s, what);
			add_nrt_attribute_if(list, value != NULL, settings_table[what].name, value);
		}
}

/* ---- the node's pods */

/* An empty fingerprint, and a placement without metadata and vectors, are not published. */
struct pod_attributes {
	enum fingerprint_method method;
	char fingerprint[FINGERPRINT_SIZE];
	struct placement placement;
};

static void pod_attributes_release(struct pod_attributes *pods)
{
	placement_release(&pods->placement);
}

/* The placement means something only under policy single-numa-node, where each container is on one NUMA node. */
static void find_placement(
	const struct node_state *node, unsigned zones, struct placement *ret, struct notes *notes)
{
	struct err err = {""};

	if (node->settings.topology.policy != TOPOLOGY_MANAGER_SINGLE_NUMA_NODE || zones == 0)
		return;
	if (placement_encode(&node->allocations, &node->machine, zones, ret, &err) < 0)
		notes_add(notes, "the placement of containers is omitted: %s", err.text);
}

static void find_pod_attributes(const struct node_state *node, enum fingerprint_method method, unsigned zones,
	struct pod_attributes *ret, struct notes *notes)
{
	if (method == FINGERPRINT_NONE)
		return;
	if (!node->pods_known) {
		notes_add(notes,
			"the pods' fingerprint is omitted: only the pod-resources API reports the pods' names");
		return;
	}
	if (method == FINGERPRINT_WITH_EXCLUSIVE_RESOURCES &&
		node->settings.memory_manager != MEMORY_MANAGER_STATIC)
		notes_add(notes,
			"fingerprint method '%s' without the memory manager's policy Static: schedulers count every Guaranteed pod that asks for memory, but the kubelet does not report them",
			fingerprint_method_names[method]);
	ret->method = method;
	fingerprint_pods(node->pods, node->n_pods, method, ret->fingerprint);
	find_placement(node, zones, &ret->placement, notes);
}

static void add_attributes(
	struct doc *object, const struct node_state *node, const struct pod_attributes *pods, unsigned zones)
{
	struct doc *list = doc_add_list(object, "attributes");
	bool has_fingerprint = *pods->fingerprint != '\0';
	struct err caution;

	add_settings_attributes(list, &node->settings, zones);
	kubelet_release_caution(settings_kubelet(&node->settings), &caution);
	add_nrt_attribute_if(list, caution.text[0] != '\0', CAUTION_ATTRIBUTE, caution.text);
	add_nrt_attribute_if(list, has_fingerprint, FINGERPRINT_ATTRIBUTE, pods->fingerprint);
	add_nrt_attribute_if(
		list, has_fingerprint, FINGERPRINT_METHOD_ATTRIBUTE, fingerprint_method_names[pods->method]);
	add_nrt_attribute_if(list, *pods->placement.metadata != '\0', PLACEMENT_METADATA_ATTRIBUTE,
		pods->placement.metadata);
}

/* ---- node state and metadata */

static void add_node_state(struct doc *object, const struct node_state *node, struct notes *notes)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(NODE_STATE_TEXT_MAX);

	if (node_state_print(node, &text) < 0)
		notes_add(notes,
			"the node state is omitted: it is longer than %u bytes, or an id in it is too large",
			NODE_STATE_TEXT_MAX);
	else
		add_object_attribute(object, NODE_STATE_ATTRIBUTE, text.text);
}

/* `more`: a map of annotations. */
static void add_nrt_metadata(
	struct doc *object, const char *node_name, const struct pod_attributes *pods, const struct doc *more)
{
	struct doc *metadata = doc_add_map(object, "metadata"), *annotations;

	doc_add_string(metadata, "name", node_name);
	if (!*pods->fingerprint && !more->n_items)
		return;
	annotations = doc_add_map(metadata, "annotations");
	if (*pods->fingerprint)
		doc_add_string(annotations, FINGERPRINT_ANNOTATION, pods->fingerprint);
	DOC_FOREACH (item, more)
		doc_add_string(annotations, item->key, item->text);
}

/* The deprecated field. scheduler-plugins and KAI read the "...Level" names in entry 0, Koordinator searches
 * the plain names, so the list has both. */
static void add_topology_policies(struct doc *object, const struct settings *s)
{
	static const struct {
		const char *container_level, *pod_level;
		const char *plain; /* NULL = no further name */
	} entries[TOPOLOGY_MANAGER_POLICY_COUNT] = {
		[TOPOLOGY_MANAGER_NONE] = {"None", "None", NULL},
		[TOPOLOGY_MANAGER_BEST_EFFORT] = {"BestEffortContainerLevel", "BestEffortPodLevel",
			"BestEffort"},
		[TOPOLOGY_MANAGER_RESTRICTED] = {"RestrictedContainerLevel", "RestrictedPodLevel",
			"Restricted"},
		[TOPOLOGY_MANAGER_SINGLE_NUMA_NODE] = {"SingleNUMANodeContainerLevel",
			"SingleNUMANodePodLevel", NULL},
	};
	enum topology_manager_policy policy = s->topology.policy;
	bool pod_level = s->topology.scope == TOPOLOGY_SCOPE_POD;
	struct doc *list;

	if (policy == TOPOLOGY_MANAGER_UNKNOWN)
		return;
	list = doc_add_list(object, "topologyPolicies");
	doc_add_string(list, NULL, pod_level ? entries[policy].pod_level : entries[policy].container_level);
	if (entries[policy].plain)
		doc_add_string(list, NULL, entries[policy].plain);
}

/* ---- zones */

/* `vector`: of the placement, or NULL. */
static void add_zone_attributes(struct doc *zone, hwloc_const_bitmap_t cpus, const char *vector)
{
	CLEANUP(freep) char *text = NULL;
	bool any = !hwloc_bitmap_iszero(cpus);
	struct doc *list;

	if (!any && !vector)
		return;
	list = doc_add_list(zone, "attributes");
	text = cpuset_print(cpus);
	add_nrt_attribute_if(list, any, "cpus", text);
	add_nrt_attribute_if(list, true, PLACEMENT_VECTOR_ATTRIBUTE, vector);
}

static void add_costs(struct doc *zone, const struct inventory *inv, size_t from)
{
	struct doc *list = doc_add_list(zone, "costs");

	for (size_t to = 0; to < inv->n_nodes; to++) {
		unsigned cost = inv->costs[from * inv->n_nodes + to];
		char name[NAME_MAX_BYTES];
		struct doc *map;

		if (cost == INVENTORY_COST_UNKNOWN || inv->nodes[to].id > NRT_MAX_NODE_ID)
			continue;
		print_zone_name(name, "node", (int)inv->nodes[to].id);
		map = doc_add_map(list, NULL);
		doc_add_string(map, "name", name);
		doc_add_number(map, "value", cost);
	}
}

static void add_zone_amount(
	struct doc *list, const char *name, const struct inventory_amount *amount, qty_t allocatable)
{
	struct doc *map = doc_add_map(list, NULL);

	doc_add_string(map, "name", name);
	doc_add_quantity(map, "capacity", amount->capacity);
	doc_add_quantity(map, "allocatable", allocatable);
	doc_add_quantity(map, "available", amount->available);
}

/* Koordinator subtracts the reserved CPUs itself: for Koordinator they are allocatable. */
static void add_zone_resources(
	struct doc *zone, const struct inventory *inv, size_t node, bool for_koordinator)
{
	struct doc *list = doc_add_list(zone, "resources");

	for (size_t i = 0; i < inv->n_resources; i++) {
		const struct inventory_amount *amount = inventory_amount(inv, node, i);
		bool all = for_koordinator && !strcmp(inv->resources[i], "cpu");

		if (amount->present)
			add_zone_amount(list, inv->resources[i], amount,
				all ? amount->capacity : amount->allocatable);
	}
}

static struct doc *append_zone(struct doc *zones, const char *prefix, int id, const char *type)
{
	struct doc *zone = doc_add_map(zones, NULL);
	char name[NAME_MAX_BYTES];

	print_zone_name(name, prefix, id);
	doc_add_string(zone, "name", name);
	doc_add_string(zone, "type", type);
	return zone;
}

static void add_node_zone(struct doc *zones, const struct node_state *node, const struct placement *placement,
	bool for_koordinator, unsigned id)
{
	const struct machine *m = &node->machine;
	struct doc *zone = append_zone(zones, "node", (int)id, "Node");
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = NULL;
	int at = machine_node_index(m, id);
	char parent[NAME_MAX_BYTES];

	/* A gap in the ids: the zone has only its name, because schedulers index zones by id. */
	if (at < 0)
		return;
	/* Koordinator gets no zones of sockets, so its zones have no parent. */
	if (m->nodes[at].socket != MACHINE_NONE && !for_koordinator) {
		print_zone_name(parent, "socket", m->nodes[at].socket);
		doc_add_string(zone, "parent", parent);
	}
	cpus = machine_own_cpus(m, (size_t)at);
	add_zone_attributes(zone, cpus, placement->vectors ? placement->vectors[id] : NULL);
	add_costs(zone, &node->inventory, (size_t)at);
	add_zone_resources(zone, &node->inventory, (size_t)at, for_koordinator);
}

/* The highest id that can be published, plus one. The machine lists its nodes by ascending id. */
static unsigned count_node_zones(const struct machine *m, struct notes *notes)
{
	unsigned zones = 0;

	for (size_t i = 0; i < m->n_nodes; i++) {
		if (m->nodes[i].id <= NRT_MAX_NODE_ID)
			zones = m->nodes[i].id + 1;
		else
			notes_add(notes, "NUMA node %u is omitted: schedulers know only ids up to %u",
				m->nodes[i].id, NRT_MAX_NODE_ID);
	}
	return zones;
}

/* Returns the list of zones. Koordinator's koord-manager takes every zone for a NUMA node. */
static struct doc *add_zones(struct doc *object, const struct node_state *node,
	const struct placement *placement, bool for_koordinator, unsigned n_zones)
{
	const struct machine *m = &node->machine;
	struct doc *zones = doc_add_list(object, "zones");

	for (unsigned id = 0; id < n_zones; id++)
		add_node_zone(zones, node, placement, for_koordinator, id);
	for (size_t i = 0; i < m->n_sockets && !for_koordinator; i++) {
		struct doc *zone = append_zone(zones, "socket", m->sockets[i].id, "Socket");

		add_zone_attributes(zone, m->sockets[i].cpus, NULL);
	}
	return zones;
}

/* ---- zones of PCIe roots */

/* The plugins' devices by root: those that are registered, and those that are only held. */
struct root_devices {
	const struct node_state *node;
	struct device_index registered, held;
};

static void root_devices_release(struct root_devices *d)
{
	device_index_release(&d->registered);
	device_index_release(&d->held);
}

static bool is_same_root(const struct pci_device *a, const struct pci_device *b)
{
	return a->root_known && b->root_known && pci_root_compare(&a->root, &b->root) == 0;
}

static bool is_device_below_root(
	const struct node_state *node, const struct device_ref *ref, const struct pci_device *root)
{
	const struct pci_address *address =
		device_addresses_find(&node->device_addresses, ref->block->resource, ref->id);
	const struct pci_device *d = address ? pci_devices_find(&node->machine.pci, address) : NULL;

	return d && is_same_root(d, root);
}

/* The amounts of a resource below the root. Held devices that are no longer registered count only as capacity,
 * as in the amounts of NUMA nodes. */
static struct inventory_amount count_root_devices(
	const struct root_devices *devices, const char *resource, const struct pci_device *root)
{
	const struct device_index *registered = &devices->registered, *held = &devices->held;
	struct inventory_amount amount = {.present = true};
	size_t end, at;

	for (at = device_index_range(registered, resource, &end); at < end; at++) {
		const struct device_ref *ref = &registered->items[at];

		if (!is_device_below_root(devices->node, ref, root))
			continue;
		amount.allocatable += QTY_UNIT;
		if (!device_index_find(held, resource, ref->id))
			amount.available += QTY_UNIT;
	}
	amount.capacity = amount.allocatable;
	for (at = device_index_range(held, resource, &end); at < end; at++)
		if (!device_index_find(registered, resource, held->items[at].id) &&
			is_device_below_root(devices->node, &held->items[at], root))
			amount.capacity += QTY_UNIT;
	return amount;
}

/* The devices of the root that are no virtual functions, an attribute per kind. */
static void add_root_attributes(
	struct doc *zone, const struct pci_devices *all, const struct pci_device *root)
{
	static const char *const names[PCI_KIND_COUNT] = {[PCI_GPU] = "gpus",
		[PCI_ACCELERATOR] = "accelerators",
		[PCI_NIC] = "nics",
		[PCI_NVME] = "nvmes"};
	struct doc *list = doc_add_list(zone, "attributes");

	for (enum pci_kind kind = 0; kind < PCI_KIND_COUNT; kind++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(SIZE_MAX);

		for (size_t i = 0; i < all->n_items; i++) {
			const struct pci_device *d = &all->items[i];
			char address[PCI_ADDRESS_SIZE];

			if (d->kind != kind || d->virtual_function || !is_same_root(d, root))
				continue;
			pci_address_print(&d->address, address);
			strbuf_addf(&text, "%s%s", text.len > 0 ? "," : "", address);
		}
		add_nrt_attribute_if(list, text.len > 0, names[kind], text.text);
	}
}

/* `root`: the root's first device. */
static void add_root_zone(
	struct doc *zones, const struct root_devices *devices, const struct pci_device *root)
{
	const struct inventory *inv = &devices->node->inventory;
	struct doc *zone = doc_add_map(zones, NULL), *resources;
	char name[PCI_ROOT_SIZE], parent[NAME_MAX_BYTES];

	pci_root_print(&root->root, name);
	doc_add_string(zone, "name", name);
	doc_add_string(zone, "type", "PCIeRoot");
	if (root->numa != MACHINE_NONE && root->numa <= (int)NRT_MAX_NODE_ID) {
		print_zone_name(parent, "node", root->numa);
		doc_add_string(zone, "parent", parent);
	}
	add_root_attributes(zone, &devices->node->machine.pci, root);
	resources = doc_add_list(zone, "resources");
	for (size_t i = 0; i < inv->n_resources; i++) {
		struct inventory_amount amount = count_root_devices(devices, inv->resources[i], root);

		if (amount.capacity > 0)
			add_zone_amount(resources, inv->resources[i], &amount, amount.allocatable);
	}
}

static int compare_pci_roots(const void *va, const void *vb)
{
	const struct pci_device *const *a = va, *const *b = vb;

	return pci_root_compare(&(*a)->root, &(*b)->root);
}

/* A zone per PCIe root with GPUs, accelerators, NICs or NVMe disks, by name. */
static void add_root_zones(struct doc *zones, const struct node_state *node)
{
	CLEANUP(root_devices_release) struct root_devices devices = {.node = node};
	const struct pci_devices *all = &node->machine.pci;
	CLEANUP(freep) const struct pci_device **roots = xcalloc(all->n_items + 1, sizeof(*roots));
	size_t n = 0;

	/* roots[]: the first device of each root */
	for (size_t i = 0; i < all->n_items; i++) {
		bool is_first = all->items[i].root_known;

		for (size_t k = 0; k < n && is_first; k++)
			is_first = !is_same_root(roots[k], &all->items[i]);
		if (is_first)
			roots[n++] = &all->items[i];
	}
	if (n > 1)
		qsort(roots, n, sizeof(*roots), compare_pci_roots);
	device_index_registered(&node->allocations, &devices.registered);
	device_index_held(&node->allocations, &devices.held);
	for (size_t i = 0; i < n; i++)
		add_root_zone(zones, &devices, roots[i]);
}

/* ---- the object */

static void add_content_hash(struct doc *object)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(SIZE_MAX);
	char hash[HASH_TEXT_SIZE];

	json_print_compact(object, &text);
	hash_text(text.text, text.len, hash);
	add_object_attribute(object, NRT_CONTENT_HASH, hash);
}

void nrt_render(
	const struct node_state *node, const struct nrt_config *config, struct doc *ret, struct notes *notes)
{
	CLEANUP(pod_attributes_release) struct pod_attributes pods = {0};
	CLEANUP(doc_release) struct doc koordinator = DOC_INIT;
	unsigned n_zones = count_node_zones(&node->machine, notes);
	struct doc object = {.kind = DOC_MAP}, *zones;

	find_pod_attributes(node, config->fingerprint, n_zones, &pods, notes);
	if (config->koordinator)
		koordinator_render(node, &koordinator, notes);
	doc_add_string(&object, "apiVersion", "topology.node.k8s.io/v1alpha2");
	doc_add_string(&object, "kind", "NodeResourceTopology");
	add_nrt_metadata(&object, node->node_name, &pods, &koordinator);
	if (config->deprecated_policies)
		add_topology_policies(&object, &node->settings);
	add_attributes(&object, node, &pods, n_zones);
	if (config->node_state)
		add_node_state(&object, node, notes);
	zones = add_zones(&object, node, &pods.placement, koordinator.n_items > 0, n_zones);
	if (config->pcie_roots)
		add_root_zones(zones, node);
	add_content_hash(&object);
	*ret = object;
}
