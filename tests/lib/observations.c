/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/observations.h"

#include <glob.h>

#include "agent/observe/discover.h"
#include "common/cleanup.h"
#include "common/resource.h"
#include "common/text.h"
#include "common/vec.h"
#include "tests/lib/test.h"

#define GIB (1ull << 30)
#define MIB (1ull << 20)

void observation_machines(struct strv *ret)
{
	CLEANUP(freep) char *pattern = strdup(test_fixture("machines/*.spec"));
	glob_t g;

	assert_non_null(pattern);
	assert_int_equal(glob(pattern, 0, NULL, &g), 0);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		*strrchr(g.gl_pathv[i], '.') = '\0';
		strv_push_new(ret, strrchr(g.gl_pathv[i], '/') + 1);
	}
	globfree(&g);
	assert_true(ret->n_items >= 20);
}

static char *copy(const char *text)
{
	char *s = strdup(text ? text : "");

	assert_non_null(s);
	return s;
}

static void replace(char **slot, const char *text)
{
	free(*slot);
	*slot = copy(text);
}

static hwloc_bitmap_t set_of(const char *list)
{
	hwloc_bitmap_t set = NULL;

	assert_int_equal(cpuset_parse(list ? list : "", &set, NULL), 0);
	return set;
}

static void read_machine(const char *name, struct observation *o)
{
	const struct machine_source source = {.root = *name == '/' ? name : test_machine_tree(name)};
	struct err err = {""};

	observation_init(o);
	if (machine_discover(&source, &o->node.machine, &err) < 0)
		fail_msg("%s", err.text);
	o->node.node_name = copy(name);
	o->kubelet.root = copy("/var/lib/kubelet");
}

static void account(struct observation *o)
{
	assert_int_equal(node_derive_reserved_cpus(&o->node, &o->node.reserved, NULL), 0);
	node_derive_inventory(&o->node, &o->node.inventory, &o->notes);
}

void observation_of_machine(const char *name, struct observation *ret)
{
	read_machine(name, ret);
	account(ret);
}

static void add_memory(struct allocation *a, const char *type, uint64_t bytes, const char *nodes)
{
	struct memory_block *block;

	if (bytes == 0)
		return;
	block = vec_push(&a->memory, &a->n_memory, &a->memory_size, sizeof(*block));
	assert_non_null(block);
	*block = (struct memory_block){.type = copy(type), .bytes = bytes, .nodes = set_of(nodes)};
}

static void add_devices(struct allocation *a, const struct holding *h)
{
	struct device_block *block;

	if (!h->resource)
		return;
	block = vec_push(&a->devices, &a->n_devices, &a->devices_size, sizeof(*block));
	assert_non_null(block);
	block->resource = copy(h->resource);
	block->nodes = set_of(h->near);
	block->nodes_unknown = !h->near;
	for (size_t i = 0; i < ARRAY_SIZE(h->ids) && h->ids[i]; i++)
		strv_push(&block->ids, h->ids[i]);
}

static void hold(struct allocations *all, const struct holding *h)
{
	struct allocation *a = allocations_add(all);

	assert_non_null(a);
	replace(&a->pod_uid, h->uid);
	replace(&a->namespace, h->namespace);
	replace(&a->pod, h->pod);
	replace(&a->container, h->container);
	cpuset_freep(&a->cpus);
	a->cpus = set_of(h->cpus);
	add_memory(a, "memory", h->memory, h->nodes);
	add_memory(a, "hugepages-2Mi", h->pages_2mi, h->nodes);
	add_devices(a, h);
}

/* Bytes of a type that pods hold on a NUMA node. */
static uint64_t held_on(const struct allocations *all, unsigned node, const char *type)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < all->n_items; i++)
		for (size_t k = 0; k < all->items[i].n_memory; k++) {
			const struct memory_block *b = &all->items[i].memory[k];

			if (!strcmp(b->type, type) && hwloc_bitmap_isset(b->nodes, node))
				sum += b->bytes / cpuset_size(b->nodes);
		}
	return sum;
}

/* pages: what of the total is set aside as hugepages. */
static void add_table(struct memory_node *state, const struct allocations *all, const char *type,
	uint64_t total, uint64_t pages, uint64_t reserved)
{
	struct memory_table *t = vec_push(&state->tables, &state->n_tables, &state->tables_size, sizeof(*t));
	uint64_t held = held_on(all, state->id, type);

	assert_non_null(t);
	assert_true(held + reserved + pages <= total);
	*t = (struct memory_table){.type = copy(type),
		.total = total,
		.system_reserved = reserved,
		.allocatable = total - pages - reserved,
		.reserved = held,
		.free = total - pages - reserved - held};
}

static void keep_memory_state(struct observation *o)
{
	struct memory_state *s = &o->node.allocations.memory;

	o->node.allocations.memory_known = true;
	for (size_t i = 0; i < o->node.machine.n_nodes; i++) {
		const struct numa_node *node = &o->node.machine.nodes[i];
		struct memory_node *state = vec_push(&s->nodes, &s->n_nodes, &s->nodes_size, sizeof(*state));
		uint64_t pages = 0;

		assert_non_null(state);
		state->id = node->id;
		for (size_t p = 0; p < node->n_pools; p++) {
			char name[RESOURCE_NAME_HUGEPAGES_SIZE];

			resource_name_of_hugepages(node->pools[p].page_bytes, name);
			add_table(state, &o->node.allocations, name,
				node->pools[p].page_bytes * node->pools[p].pages, 0, 0);
			pages += node->pools[p].page_bytes * node->pools[p].pages;
		}
		add_table(state, &o->node.allocations, "memory", node->memory_bytes, pages, i == 0 ? GIB : 0);
	}
}

void observation_of_kubelet(const char *name, const char *reserved, const struct holding *holdings,
	size_t n_holdings, struct observation *ret)
{
	struct settings *s = &ret->node.settings;
	hwloc_bitmap_t exclusive;

	read_machine(name, ret);
	s->cpu_manager = CPU_MANAGER_STATIC;
	s->memory_manager = MEMORY_MANAGER_STATIC;
	s->topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
	s->topology.scope = TOPOLOGY_SCOPE_CONTAINER;
	s->cpu_options.full_pcpus_only = true;
	s->cpu_options_text = copy("full-pcpus-only=true");
	s->reserved_system_cpus = set_of(reserved);
	text_set(&s->from[SETTING_RESERVED_SYSTEM_CPUS], "a test");
	for (size_t i = 0; i < n_holdings; i++)
		hold(&ret->node.allocations, &holdings[i]);
	allocations_sort(&ret->node.allocations);
	exclusive = allocations_exclusive_cpus(&ret->node.allocations);
	ret->node.allocations.cpus_known = ret->node.allocations.devices_known = true;
	ret->node.allocations.shared = hwloc_bitmap_dup(ret->node.machine.online);
	assert_non_null(exclusive);
	assert_int_equal(
		hwloc_bitmap_andnot(ret->node.allocations.shared, ret->node.allocations.shared, exclusive),
		0);
	hwloc_bitmap_free(exclusive);
	keep_memory_state(ret);
	account(ret);
}

/* Devices that a plugin has, n on a NUMA node; those that are held are among them by their ids. */
static void register_devices(
	struct allocations *a, const char *resource, const char *node, const char *const *ids)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = set_of(node);

	a->registered_known = true;
	for (; *ids; ids++)
		device_blocks_add(
			&a->registered, &a->n_registered, &a->registered_size, resource, nodes, false, *ids);
}

static void account_again(struct observation *o)
{
	reserved_cpus_release(&o->node.reserved);
	inventory_release(&o->node.inventory);
	notes_release(&o->notes);
	account(o);
}

void observation_of_picture(struct observation *ret)
{
	static const struct holding holdings[] = {
		{.uid = "1c5e",
			.namespace = "telecom",
			.pod = "upf-0",
			.container = "upf",
			.cpus = "1-4,49-52",
			.nodes = "0",
			.memory = 16 * GIB,
			.pages_2mi = 512 * MIB,
			.resource = "vendor.com/nic",
			.ids = {"0000:17:02.0", "0000:17:02.1"},
			.near = "0"},
		{.uid = "2d6f",
			.namespace = "prod",
			.pod = "postgres-0",
			.container = "postgres",
			.cpus = "6-8,54-56",
			.nodes = "1",
			.memory = 20 * GIB},
		{.uid = "2d6f",
			.namespace = "prod",
			.pod = "postgres-0",
			.container = "exporter",
			.cpus = "9,57",
			.nodes = "1",
			.memory = 512 * MIB},
		{.uid = "3e7a",
			.namespace = "ai",
			.pod = "train-7f9c",
			.container = "worker",
			.cpus = "12-23,60-71",
			.nodes = "2-3",
			.memory = 56 * GIB,
			.resource = "vendor.com/gpu",
			.ids = {"gpu-0", "gpu-1"},
			.near = "2"},
		{.uid = "4f8b",
			.namespace = "telecom",
			.pod = "upf-1",
			.container = "upf",
			.cpus = "25-28,73-76",
			.nodes = "4",
			.memory = 16 * GIB,
			.pages_2mi = GIB,
			.resource = "vendor.com/nic",
			.ids = {"0000:ca:02.0"},
			.near = "4"},
		{.uid = "5a9c41d7-53c8-4d0e-9a41-6f2f0b7c5e11",
			.container = "main",
			.cpus = "37-38,85-86",
			.nodes = "6",
			.memory = 2560 * MIB},
	};

	observation_of_kubelet("2s-snc4", "0,24,48,72", holdings, ARRAY_SIZE(holdings), ret);
	replace(&ret->node.node_name, "worker-7");
	register_devices(&ret->node.allocations, "vendor.com/nic", "0",
		(const char *const[]){"0000:17:02.0", "0000:17:02.1", "0000:17:02.2", "0000:17:02.3", NULL});
	register_devices(&ret->node.allocations, "vendor.com/nic", "4",
		(const char *const[]){"0000:ca:02.0", "0000:ca:02.1", NULL});
	register_devices(
		&ret->node.allocations, "vendor.com/gpu", "2", (const char *const[]){"gpu-0", "gpu-1", NULL});
	account_again(ret);
}
