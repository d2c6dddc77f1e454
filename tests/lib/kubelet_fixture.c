/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/kubelet_fixture.h"

#include "tests/lib/test.h"

void kubelet_fixture_add_table(struct memory_node *node, const char *type, uint64_t bytes)
{
	node->tables = reallocarray(node->tables, node->n_tables + 1, sizeof(*node->tables));
	assert_non_null(node->tables);
	node->tables[node->n_tables++] =
		(struct memory_table){.type = strdup(type), .allocatable = bytes, .free = bytes};
}

static void add_memory(struct kubelet_fixture *f, uint64_t bytes)
{
	f->memory.nodes = calloc(f->machine.n_nodes, sizeof(*f->memory.nodes));
	assert_non_null(f->memory.nodes);
	for (size_t i = 0; i < f->machine.n_nodes; i++) {
		struct memory_node *node = &f->memory.nodes[f->memory.n_nodes++];

		node->id = f->machine.nodes[i].id;
		node->cells = hwloc_bitmap_alloc();
		assert_non_null(node->cells);
		hwloc_bitmap_set(node->cells, node->id);
		kubelet_fixture_add_table(node, "memory", bytes);
	}
}

void kubelet_fixture_init(
	struct kubelet_fixture *f, const struct synthetic *s, enum topology_manager_policy policy)
{
	memset(f, 0, sizeof(*f));
	synthetic_machine(s, &f->machine);
	settings_init(&f->settings);
	f->settings.cpu_manager = CPU_MANAGER_STATIC;
	f->settings.memory_manager = MEMORY_MANAGER_STATIC;
	f->settings.topology.policy = policy;
	f->settings.topology.scope = TOPOLOGY_SCOPE_CONTAINER;
	f->shared = hwloc_bitmap_dup(f->machine.online);
	f->reserved = hwloc_bitmap_alloc();
	assert_non_null(f->shared);
	assert_non_null(f->reserved);
	hwloc_bitmap_set(f->reserved, 0);
	add_memory(f, s->memory_bytes);
	f->devices = (struct device_inventory){0};
	f->node = (struct kubelet_node){.machine = &f->machine,
		.settings = &f->settings,
		.shared = f->shared,
		.reserved = f->reserved,
		.memory = &f->memory,
		.devices = &f->devices};
}

void kubelet_fixture_ready(struct kubelet_fixture *f)
{
	kubelet_init(&f->k, &f->node);
	f->ws = kubelet_workspace_new(&f->k);
}

void kubelet_fixture_release(struct kubelet_fixture *f)
{
	kubelet_workspace_freep(&f->ws);
	kubelet_release(&f->k);
	machine_release(&f->machine);
	settings_release(&f->settings);
	memory_state_release(&f->memory);
	device_inventory_release(&f->devices);
	hwloc_bitmap_free(f->shared);
	hwloc_bitmap_free(f->reserved);
}
