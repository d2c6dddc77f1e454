/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/render/dump_doc.h"

#include <inttypes.h>

#include "common/cleanup.h"
#include "common/settings.h"
#include "common/settings_table.h"
#include "common/xalloc.h"

static void add_bitmap(struct doc *map, const char *key, hwloc_const_bitmap_t set)
{
	CLEANUP(freep) char *text = set ? cpuset_print(set) : NULL;

	doc_add_string_or_null(map, key, text);
}

/* ---- the machine */

/* An id, or null for MACHINE_NONE. */
static const struct doc *add_id_or_null(struct doc *map, const char *key, int id)
{
	return id == MACHINE_NONE ? doc_add(map, key) : doc_add_number(map, key, id);
}

static void add_machine_cpus(const struct machine *m, struct doc *top)
{
	struct doc *list = doc_add_list(top, "cpus");

	for (size_t i = 0; i < m->n_cpus; i++) {
		const struct cpu *cpu = &m->cpus[i];
		struct doc *map = doc_add_map(list, NULL);

		doc_add_number(map, "id", cpu->id);
		doc_add_number(map, "core", cpu->core);
		if (cpu->hardware_core != cpu->core)
			doc_add_number(map, "hardwareCore", cpu->hardware_core);
		add_id_or_null(map, "socket", cpu->socket);
		add_id_or_null(map, "numaNode", cpu->numa);
		add_id_or_null(map, "l3Cache", cpu->l3);
		add_id_or_null(map, "uncoreCache", cpu->uncore);
	}
}

static void add_machine_sockets(const struct machine *m, struct doc *top)
{
	struct doc *list = doc_add_list(top, "sockets");

	for (size_t i = 0; i < m->n_sockets; i++) {
		struct doc *map = doc_add_map(list, NULL);

		add_id_or_null(map, "id", m->sockets[i].id);
		add_bitmap(map, "cpus", m->sockets[i].cpus);
	}
}

static void add_machine_node(const struct numa_node *node, struct doc *list)
{
	struct doc *map = doc_add_map(list, NULL), *pools;

	doc_add_number(map, "id", node->id);
	add_id_or_null(map, "socket", node->socket);
	add_bitmap(map, "cpus", node->cpus);
	doc_add_number(map, "memoryBytes", (int64_t)node->memory_bytes);
	pools = doc_add_list(map, "hugepages");
	for (size_t i = 0; i < node->n_pools; i++) {
		struct doc *pool = doc_add_map(pools, NULL);

		doc_add_number(pool, "pageBytes", (int64_t)node->pools[i].page_bytes);
		doc_add_number(pool, "pages", (int64_t)node->pools[i].pages);
	}
}

static void add_machine_nodes(const struct machine *m, struct doc *top)
{
	struct doc *list = doc_add_list(top, "numaNodes");

	for (size_t i = 0; i < m->n_nodes; i++)
		add_machine_node(&m->nodes[i], list);
}

static void add_machine_distances(const struct machine *m, struct doc *top)
{
	struct doc *rows = doc_add_list(top, "distances");

	for (size_t from = 0; m->distances && from < m->n_nodes; from++) {
		struct doc *row = doc_add_list(rows, NULL);

		for (size_t to = 0; to < m->n_nodes; to++) {
			unsigned distance = machine_distance(m, from, to);

			if (distance == 0)
				doc_add(row, NULL);
			else
				doc_add_number(row, NULL, distance);
		}
	}
}

static void add_pci_address(struct doc *map, const char *key, const struct pci_address *address)
{
	char text[PCI_ADDRESS_SIZE];

	pci_address_print(address, text);
	doc_add_string(map, key, text);
}

static void add_machine_pci(const struct machine *m, struct doc *top)
{
	struct doc *list;

	if (!m->pci_known) {
		doc_add(top, "pciDevices");
		return;
	}
	list = doc_add_list(top, "pciDevices");
	for (size_t i = 0; i < m->pci.n_items; i++) {
		const struct pci_device *d = &m->pci.items[i];
		struct doc *map = doc_add_map(list, NULL);
		char root[PCI_ROOT_SIZE];

		pci_root_print(&d->root, root);
		add_pci_address(map, "address", &d->address);
		doc_add_string(map, "kind", pci_kind_names[d->kind]);
		doc_add_string_or_null(map, "root", d->root_known ? root : NULL);
		add_id_or_null(map, "numaNode", d->numa);
		doc_add_bool(map, "virtualFunction", d->virtual_function);
		doc_add_words(map, "names", d->names);
	}
}

void machine_to_doc(const struct machine *m, struct doc *ret)
{
	ret->kind = DOC_MAP;
	add_machine_cpus(m, ret);
	add_bitmap(ret, "offlineCPUs", m->offline);
	add_machine_sockets(m, ret);
	doc_add_number(ret, "memoryBytes", (int64_t)m->memory_bytes);
	add_machine_nodes(m, ret);
	add_machine_distances(m, ret);
	add_machine_pci(m, ret);
}

/* ---- the inventory */

static void add_byte_count(struct doc *map, const char *key, uint64_t bytes)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%" PRIu64, bytes);
	struct doc *d = doc_add(map, key);

	doc_set_text(d, DOC_NUMBER, text, (size_t)n);
}

static void add_kubelet_settings(struct doc *top, const struct settings *s)
{
	struct doc *list = doc_add_list(top, "settings");

	for (enum setting what = 0; what < SETTING_COUNT; what++) {
		CLEANUP(freep) char *value = s->from[what] ? settings_text(s, what) : NULL;
		struct doc *map = doc_add_map(list, NULL);

		doc_add_string(map, "name", settings_table[what].name);
		doc_add_string_or_null(map, "value", value);
		doc_add_string_or_null(map, "from", s->from[what]);
	}
}

static void add_inventory_node(struct doc *list, const struct inventory *inv, size_t at)
{
	struct doc *node = doc_add_map(list, NULL), *resources, *costs;

	doc_add_number(node, "id", inv->nodes[at].id);
	resources = doc_add_list(node, "resources");
	for (size_t i = 0; i < inv->n_resources; i++) {
		const struct inventory_amount *amount = inventory_amount(inv, at, i);
		struct doc *map;

		if (!amount->present)
			continue;
		map = doc_add_map(resources, NULL);
		doc_add_string(map, "name", inv->resources[i]);
		doc_add_quantity(map, "capacity", amount->capacity);
		doc_add_quantity(map, "allocatable", amount->allocatable);
		doc_add_quantity(map, "available", amount->available);
	}
	costs = doc_add_list(node, "costs");
	for (size_t to = 0; to < inv->n_nodes; to++)
		doc_add_number(costs, NULL, inv->costs[at * inv->n_nodes + to]);
}

static void add_text_list(struct doc *map, const char *key, const struct strv *texts)
{
	struct doc *list = doc_add_list(map, key);

	for (size_t i = 0; i < texts->n_items; i++)
		doc_add_string(list, NULL, texts->items[i]);
}

static void add_memory_blocks(struct doc *map, const struct memory_block *blocks, size_t n)
{
	struct doc *list = doc_add_list(map, "memory");

	for (size_t i = 0; i < n; i++) {
		struct doc *block = doc_add_map(list, NULL);

		doc_add_string(block, "type", blocks[i].type);
		add_byte_count(block, "bytes", blocks[i].bytes);
		add_bitmap(block, "numaNodes", blocks[i].nodes);
	}
}

static void add_device_blocks(struct doc *map, const struct allocation *a)
{
	struct doc *list = doc_add_list(map, "devices");

	for (size_t i = 0; i < a->n_devices; i++) {
		struct doc *block = doc_add_map(list, NULL);

		doc_add_string(block, "resource", a->devices[i].resource);
		add_bitmap(block, "numaNodes", a->devices[i].nodes);
		add_text_list(block, "ids", &a->devices[i].ids);
	}
}

static void add_allocations(struct doc *top, const struct allocations *all)
{
	struct doc *list = doc_add_list(top, "allocations");

	for (size_t i = 0; i < all->n_items; i++) {
		const struct allocation *a = &all->items[i];
		struct doc *map = doc_add_map(list, NULL);

		doc_add_string(map, "podUID", a->pod_uid);
		doc_add_string(map, "namespace", a->namespace);
		doc_add_string(map, "pod", a->pod);
		doc_add_string(map, "container", a->container);
		add_bitmap(map, "cpus", a->cpus);
		add_memory_blocks(map, a->memory, a->n_memory);
		add_device_blocks(map, a);
	}
}

static void add_claim_pods(struct doc *map, const struct claim *c)
{
	struct doc *list = doc_add_list(map, "pods");

	for (size_t i = 0; i < c->n_pods; i++) {
		struct doc *pod = doc_add_map(list, NULL);

		doc_add_string(pod, "namespace", c->pods[i].namespace);
		doc_add_string(pod, "name", c->pods[i].name);
	}
}

static void add_claims(struct doc *top, const struct claims *claims)
{
	struct doc *list = doc_add_list(top, "claims");

	for (size_t i = 0; i < claims->n_items; i++) {
		const struct claim *c = &claims->items[i];
		struct doc *map = doc_add_map(list, NULL), *addresses;

		doc_add_string(map, "driver", c->driver);
		doc_add_string(map, "uid", c->uid);
		doc_add_string(map, "namespace", c->namespace);
		doc_add_string(map, "name", c->name);
		add_claim_pods(map, c);
		add_bitmap(map, "cpus", c->cpus);
		add_memory_blocks(map, c->memory, c->n_memory);
		add_text_list(map, "devices", &c->devices);
		add_text_list(map, "cdiDevices", &c->cdi);
		addresses = doc_add_list(map, "pciAddresses");
		for (size_t k = 0; k < c->n_addresses; k++)
			add_pci_address(addresses, NULL, &c->addresses[k]);
	}
}

static void add_device_addresses(struct doc *top, const struct device_addresses *a)
{
	struct doc *list = doc_add_list(top, "pciAddresses");

	for (size_t i = 0; i < a->n_items; i++) {
		struct doc *map = doc_add_map(list, NULL);

		doc_add_string(map, "resource", a->items[i].resource);
		doc_add_string(map, "id", a->items[i].id);
		add_pci_address(map, "address", &a->items[i].address);
	}
}

/* ---- the pods */

static void add_pod_memory(struct doc *map, const struct pod_memory *p, const struct machine *m)
{
	struct doc *top = doc_add_map(map, "memory"), *nodes;
	const char *scope = p->whole_pod ? "pod" : "containers";
	uint64_t total, remote;

	doc_add_string_or_null(top, "scope", p->unknown ? NULL : scope);
	doc_add_string_or_null(top, "unknown", p->unknown);
	if (p->unknown) {
		static const char *const members[] = {
			"totalBytes", "remoteBytes", "remotePercent", "numaNodes"};

		for (size_t i = 0; i < ARRAY_SIZE(members); i++)
			doc_add(top, members[i]);
		return;
	}
	remote = pod_memory_remote(p, m, &total);
	add_byte_count(top, "totalBytes", total);
	add_byte_count(top, "remoteBytes", remote);
	doc_add_number(top, "remotePercent", pod_memory_remote_percent(p, m));
	nodes = doc_add_list(top, "numaNodes");
	for (size_t i = 0; i < m->n_nodes; i++) {
		struct doc *node = doc_add_map(nodes, NULL);

		doc_add_number(node, "id", m->nodes[i].id);
		add_byte_count(node, "bytes", p->memory[i]);
		add_byte_count(node, "hugepageBytes", p->hugepages[i]);
	}
}

void pods_to_doc(const struct observation *o, struct doc *ret)
{
	struct doc *list;

	ret->kind = DOC_MAP;
	doc_add_string(ret, "node", o->node.node_name);
	list = doc_add_list(ret, "pods");
	for (size_t i = 0; i < o->node.pods_memory.n_items; i++) {
		const struct pod_memory *p = &o->node.pods_memory.items[i];
		struct doc *map = doc_add_map(list, NULL);

		doc_add_string(map, "namespace", p->namespace);
		doc_add_string(map, "pod", p->pod);
		doc_add_string(map, "podUID", p->pod_uid);
		add_bitmap(map, "cpus", p->cpus);
		add_bitmap(map, "numaNodes", p->near);
		add_pod_memory(map, p, &o->node.machine);
	}
}

/* ---- the inventory, as a whole */

void inventory_to_doc(const struct observation *o, struct doc *ret)
{
	CLEANUP(doc_release) struct doc top = {.kind = DOC_MAP};
	struct doc *reserved, *nodes;

	doc_add_string(&top, "node", o->node.node_name);
	doc_add_string(&top, "kubeletRoot", o->kubelet.root);
	add_kubelet_settings(&top, &o->node.settings);
	reserved = doc_add_map(&top, "reservedCPUs");
	add_bitmap(reserved, "cpus", o->node.reserved.cpus);
	doc_add_string_or_null(reserved, "from", o->node.reserved.from);
	add_bitmap(&top, "sharedCPUs", o->node.allocations.shared);
	nodes = doc_add_list(&top, "numaNodes");
	for (size_t i = 0; i < o->node.inventory.n_nodes; i++)
		add_inventory_node(nodes, &o->node.inventory, i);
	add_allocations(&top, &o->node.allocations);
	add_claims(&top, &o->node.claims);
	add_device_addresses(&top, &o->node.device_addresses);
	*ret = top;
	top = (struct doc)DOC_INIT;
}
