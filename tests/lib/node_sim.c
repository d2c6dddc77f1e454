/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/node_sim.h"

#include "common/cleanup.h"
#include "common/resource.h"
#include "common/text.h"
#include "common/vec.h"
#include "scoring/node/manager_state.h"
#include "scoring/node/node_admission.h"
#include "scoring/node/node_derive.h"
#include "tests/lib/pods.h"
#include "tests/lib/test.h"

#define GIB ((uint64_t)1 << 30)
#define NIC "vendor.com/nic"

#define PLAIN                              \
	.machine = {.sockets = 2,          \
		.numas = 1,                \
		.uncores = 1,              \
		.cores = 8,                \
		.threads = 1,              \
		.memory_bytes = 16 * GIB}, \
	.policy = TOPOLOGY_MANAGER_RESTRICTED, .scope = TOPOLOGY_SCOPE_CONTAINER
const struct node_sim_setup node_sim_plain = {PLAIN};
const struct node_sim_setup node_sim_nics = {PLAIN, .nics = 2, .near = 1};
const struct node_sim_setup node_sim_threads = {
	.machine = {.sockets = 2, .numas = 1, .uncores = 1, .cores = 2, .threads = 2, .memory_bytes = GIB},
	.policy = TOPOLOGY_MANAGER_RESTRICTED,
	.scope = TOPOLOGY_SCOPE_POD};

static void model(struct node_state *s)
{
	inventory_release(&s->inventory);
	node_derive_inventory(s, &s->inventory, NULL);
}

static void add_nics(struct node_state *s, const struct node_sim_setup *setup)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
	struct allocations *a = &s->allocations;
	char id[48];

	for (size_t i = 0; i < s->machine.n_nodes; i++)
		for (unsigned k = 0; k < setup->nics; k++) {
			hwloc_bitmap_zero(nodes);
			for (unsigned j = 0; j < setup->near; j++)
				hwloc_bitmap_set(nodes, s->machine.nodes[(i + j) % s->machine.n_nodes].id);
			snprintf(id, sizeof(id), "nic%zu.%u", i, k);
			device_blocks_add(
				&a->registered, &a->n_registered, &a->registered_size, NIC, nodes, false, id);
		}
	a->registered_known = a->devices_known = true;
}

/* Nobody holds anything yet. */
static void add_memory(struct node_state *s, const struct node_sim_setup *setup)
{
	char types[2][16] = {"memory", "hugepages-1Gi"};
	struct memory_block blocks[2] = {{.type = types[0]}, {.type = types[1]}};

	for (size_t i = 0; i < s->machine.n_nodes; i++) {
		struct numa_node *node = &s->machine.nodes[i];
		struct hugepage_pool *pool =
			vec_push(&node->pools, &node->n_pools, &node->pools_size, sizeof(*pool));

		assert_non_null(pool);
		*pool = (struct hugepage_pool){.page_bytes = GIB, .pages = setup->pages_1gi};
	}
	if (!setup->memory_static)
		return;
	for (size_t b = 0; b < 2; b++) {
		blocks[b].nodes = hwloc_bitmap_alloc();
		for (size_t i = 0; i < s->machine.n_nodes; i++)
			hwloc_bitmap_set(blocks[b].nodes, s->machine.nodes[i].id);
	}
	blocks[0].bytes = setup->machine.memory_bytes - (setup->pages_1gi + 1) * GIB;
	blocks[1].bytes = setup->pages_1gi * GIB;
	memory_state_from_blocks(&s->machine, blocks, 2, &s->allocations, &s->allocations.memory);
	hwloc_bitmap_free(blocks[0].nodes);
	hwloc_bitmap_free(blocks[1].nodes);
	s->allocations.memory_known = true;
}

void node_sim_init(struct node_sim *sim, const struct node_sim_setup *setup)
{
	struct node_state *s = &sim->state;

	*sim = (struct node_sim){0};
	node_state_init(s);
	synthetic_machine(&setup->machine, &s->machine);
	s->settings.cpu_manager = CPU_MANAGER_STATIC;
	s->settings.cpu_options.full_pcpus_only = setup->full_pcpus_only;
	s->settings.memory_manager = setup->memory_static ? MEMORY_MANAGER_STATIC : MEMORY_MANAGER_NONE;
	s->settings.topology.policy = setup->policy;
	s->settings.topology.scope = setup->scope;
	if (s->machine.n_nodes > s->settings.topology.max_numa_nodes)
		s->settings.topology.max_numa_nodes = (unsigned)s->machine.n_nodes;
	s->allocations.cpus_known = true;
	s->allocations.shared = hwloc_bitmap_dup(s->machine.online);
	s->reserved = (struct reserved_cpus){.cpus = hwloc_bitmap_alloc(), .observed = true};
	for (size_t i = 0; i < s->machine.n_cpus; i++)
		if (s->machine.cpus[i].core == s->machine.cpus[0].core)
			hwloc_bitmap_set(s->reserved.cpus, s->machine.cpus[i].id);
	add_nics(s, setup);
	add_memory(s, setup);
	model(s);
}

void node_sim_release(struct node_sim *sim)
{
	node_state_release(&sim->state);
}

/* ---- a pod begins */

/* As the memory manager charges a block: its nodes in ascending order. */
static void charge(struct memory_state *state, const struct memory_block *block)
{
	uint64_t left = block->bytes;

	for (size_t i = 0; i < state->n_nodes; i++) {
		struct memory_node *node = &state->nodes[i];

		if (!hwloc_bitmap_isset(block->nodes, node->id))
			continue;
		node->assignments++;
		hwloc_bitmap_copy(node->cells, block->nodes);
		for (size_t t = 0; t < node->n_tables; t++) {
			struct memory_table *table = &node->tables[t];
			uint64_t part = table->free < left ? table->free : left;

			if (strcmp(table->type, block->type) != 0)
				continue;
			table->free -= part;
			table->reserved += part;
			left -= part;
		}
	}
	assert_int_equal(left, 0);
}

static void take_memory(
	struct node_state *s, const struct container_request *c, uint64_t nodes, struct allocation *item)
{
	for (size_t i = 0; nodes && i < c->requests.n_items; i++) {
		const struct resource_quantity *q = &c->requests.items[i];
		struct memory_block *block;

		if ((strcmp(q->name, "memory") != 0 && !resource_name_is_hugepages(q->name)) ||
			q->quantity.nano == 0)
			continue;
		block = vec_push(&item->memory, &item->n_memory, &item->memory_size, sizeof(*block));
		*block = (struct memory_block){.type = strdup(q->name),
			.bytes = (uint64_t)(q->quantity.nano / QTY_UNIT),
			.nodes = hwloc_bitmap_alloc()};
		hwloc_bitmap_from_ulong(block->nodes, nodes);
		charge(&s->allocations.memory, block);
	}
}

static bool is_held(const struct allocations *a, const char *id)
{
	for (size_t i = 0; i < a->n_items; i++)
		for (size_t b = 0; b < a->items[i].n_devices; b++)
			for (size_t d = 0; d < a->items[i].devices[b].ids.n_items; d++)
				if (!strcmp(a->items[i].devices[b].ids.items[d], id))
					return true;
	return false;
}

/* Devices near the hint's NUMA nodes first. */
static void take_nics(struct node_state *s, const struct container_request *c,
	const struct topology_hint *hint, struct allocation *item)
{
	const struct resource_quantity *q = resource_list_find(&c->requests, NIC);
	qty_t left = q ? q->quantity.nano / QTY_UNIT : 0;
	struct allocations *a = &s->allocations;

	for (unsigned near = hint->any_node ? 2 : 1; near <= 2; near++)
		for (size_t b = 0; b < a->n_registered; b++)
			for (size_t d = 0; d < a->registered[b].ids.n_items && left > 0; d++) {
				const struct device_block *block = &a->registered[b];
				bool is_near = hwloc_bitmap_to_ulong(block->nodes) & hint->nodes;

				if ((near == 1 && !is_near) || is_held(a, block->ids.items[d]))
					continue;
				device_blocks_add(&item->devices, &item->n_devices, &item->devices_size, NIC,
					block->nodes, false, block->ids.items[d]);
				left--;
			}
	assert_true(left == 0);
}

static void begin(struct node_sim *sim, const struct cpu_topology *topology, const struct pod_request *pod,
	const struct kubelet_verdict *v)
{
	struct node_state *s = &sim->state;
	char name[16];

	snprintf(name, sizeof(name), "p%u", sim->n_begun++);
	for (size_t i = 0; i < v->n_placements; i++) {
		const struct kubelet_placement *p = &v->placements[i];
		struct allocation *item =
			allocations_add_container(&s->allocations, name, pod->containers[i].name);

		assert_non_null(item);
		text_set(&item->namespace, "default");
		text_set(&item->pod, name);
		if (p->cpus)
			cpu_set_to_bitmap(topology, p->cpus, item->cpus);
		hwloc_bitmap_andnot(s->allocations.shared, s->allocations.shared, item->cpus);
		take_memory(s, &pod->containers[i], p->memory_nodes, item);
		take_nics(s, &pod->containers[i], &p->hint, item);
	}
	allocations_sort(&s->allocations);
}

bool node_sim_begin(struct node_sim *sim, const char *text)
{
	struct node_admission admission;
	struct pod_request pod;
	struct kubelet_verdict v;
	bool admitted;

	pod_from_text(&pod, text);
	node_admission_init(&admission, &sim->state);
	node_admission_judge(&admission, &pod, &v);
	admitted = v.answer == KUBELET_ADMITS;
	if (admitted) {
		begin(sim, &admission.kubelet.topology, &pod, &v);
		model(&sim->state);
	}
	node_admission_release(&admission);
	pod_request_release(&pod);
	return admitted;
}

void node_sim_end(struct node_sim *sim, size_t item)
{
	struct allocations *a = &sim->state.allocations;
	CLEANUP(freep) bool *ended = calloc(a->n_items + 1, sizeof(*ended));

	assert_non_null(ended);
	for (size_t i = 0; i < a->n_items; i++)
		ended[i] = !strcmp(a->items[i].pod_uid, a->items[item].pod_uid);
	allocations_give_back(a, ended);
	model(&sim->state);
}

void node_sim_add_pci_device(struct node_state *s, const char *resource, const char *id, enum pci_kind kind,
	uint8_t root, uint8_t bus)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t near = cpuset_new();
	const struct pci_device d = {
		.address = {0, bus, 0}, .root = {0, root}, .root_known = true, .kind = kind};
	struct allocations *a = &s->allocations;

	cpuset_set(near, 0);
	a->registered_known = a->devices_known = true;
	device_blocks_add(&a->registered, &a->n_registered, &a->registered_size, resource, near, false, id);
	s->machine.pci_known = true;
	*(struct pci_device *)vec_push(
		&s->machine.pci.items, &s->machine.pci.n_items, &s->machine.pci.items_size, sizeof(d)) = d;
	pci_devices_sort(&s->machine.pci);
	device_addresses_add(&s->device_addresses, resource, id, &d.address);
	device_addresses_sort(&s->device_addresses);
}
