/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "tests/lib/claims.h"
#include "tests/lib/synthetic.h"

#include <errno.h>

#include "common/claim.h"
#include "common/cleanup.h"
#include "common/resource.h"
#include "common/text.h"
#include "common/vec.h"
#include "scoring/node/node_derive.h"

#define GIB (1ull << 30)

/* Two NUMA nodes of 4 CPUs and 8 GiB, 2 of them in 1 GiB pages, plus a node 4 with memory only. */
static void make_machine(struct machine *m)
{
	static const struct synthetic shape = {
		.sockets = 2, .numas = 1, .uncores = 1, .cores = 4, .threads = 1, .memory_bytes = 8 * GIB};

	synthetic_machine(&shape, m);
	free(TAKE(m->distances));
	machine_add_node(m, 4, MACHINE_NONE, "", 8 * GIB);
	for (size_t i = 0; i < m->n_nodes; i++) {
		struct numa_node *node = &m->nodes[i];
		struct hugepage_pool *pool =
			vec_push(&node->pools, &node->n_pools, &node->pools_size, sizeof(*pool));

		*pool = (struct hugepage_pool){.page_bytes = GIB, .pages = i < 2 ? 2 : 0};
	}
}

static hwloc_bitmap_t set_of(const char *list)
{
	hwloc_bitmap_t set = NULL;

	assert_int_equal(cpuset_parse(list, &set, NULL), 0);
	return set;
}

struct world {
	struct node_state node;
	struct notes notes;
};

/* The static policy, with these CPUs in the shared pool. */
static void share(struct world *w, const char *shared)
{
	w->node.settings.cpu_manager = CPU_MANAGER_STATIC;
	w->node.allocations.cpus_known = true;
	w->node.allocations.shared = set_of(shared);
}

/* A container. */
static struct allocation *hold(struct world *w, const char *cpus)
{
	struct allocation *item = allocations_add(&w->node.allocations);

	hwloc_bitmap_free(item->cpus);
	item->cpus = set_of(cpus);
	return item;
}

/* A NUMA node of the memory manager's state. Valid until the next one. */
static struct memory_node *add_memory_node(struct world *w, unsigned id)
{
	struct memory_state *m = &w->node.allocations.memory;
	struct memory_node *node = vec_push(&m->nodes, &m->n_nodes, &m->nodes_size, sizeof(*node));

	w->node.allocations.memory_known = true;
	w->node.settings.memory_manager = MEMORY_MANAGER_STATIC;
	node->id = id;
	return node;
}

/* Of plain memory; `table->type` is set. */
static void add_table(struct memory_node *node, struct memory_table table)
{
	struct memory_table *t = vec_push(&node->tables, &node->n_tables, &node->tables_size, sizeof(*t));

	table.type = strdup("memory");
	*t = table;
}

/* Amounts of one cell in whole units. */
static void check(const struct world *w, size_t node, const char *name, uint64_t capacity,
	uint64_t allocatable, uint64_t available)
{
	const struct inventory *inv = &w->node.inventory;
	int resource = inventory_resource(inv, name);
	const struct inventory_amount *amount;

	assert_true(resource >= 0);
	amount = inventory_amount(inv, node, (size_t)resource);
	assert_true(amount->present);
	assert_int_equal((uint64_t)(amount->capacity / QTY_UNIT), capacity);
	assert_int_equal((uint64_t)(amount->allocatable / QTY_UNIT), allocatable);
	assert_int_equal((uint64_t)(amount->available / QTY_UNIT), available);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	node_state_init(&w->node);
	make_machine(&w->node.machine);
	w->notes = (struct notes){0};
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	node_state_release(&w->node);
	notes_release(&w->notes);
	free(w);
	return 0;
}

static void build(struct world *w, hwloc_const_bitmap_t reserved)
{
	w->node.reserved.cpus = reserved ? hwloc_bitmap_dup(reserved) : NULL;
	node_derive_inventory(&w->node, &w->node.inventory, &w->notes);
}

static bool noted(const struct world *w, const char *text)
{
	for (size_t i = 0; i < w->notes.lines.n_items; i++)
		if (strstr(w->notes.lines.items[i], text))
			return true;
	return false;
}

static void hardware_alone_gives_a_useful_inventory(void **state)
{
	struct world *w = *state;

	build(w, NULL);
	check(w, 0, "cpu", 4, 4, 4);
	check(w, 0, "memory", 8 * GIB, 6 * GIB, 6 * GIB);
	check(w, 0, "hugepages-1Gi", 2 * GIB, 2 * GIB, 2 * GIB);
	check(w, 2, "hugepages-1Gi", 0, 0, 0);
	assert_false(
		inventory_amount(&w->node.inventory, 2, (size_t)inventory_resource(&w->node.inventory, "cpu"))
			->present);
	assert_int_equal(w->node.inventory.costs[0], 10);
	assert_int_equal(w->node.inventory.costs[1], INVENTORY_COST_UNKNOWN);
	assert_true(noted(w, "CPU manager policy is not known"));
}

/* CPUs that came after the kubelet's start are in no set of its state. */
static void cpus_that_the_kubelet_does_not_know_are_not_allocatable(void **state)
{
	struct world *w = *state;
	CLEANUP(cpuset_freep) hwloc_bitmap_t reserved = set_of("0");

	share(w, "0,2-3");
	hold(w, "1");
	build(w, reserved);
	check(w, 0, "cpu", 4, 3, 2);
	check(w, 1, "cpu", 4, 0, 0);
}

static void exclusive_and_reserved_cpus_are_subtracted_as_sets(void **state)
{
	struct world *w = *state;
	CLEANUP(cpuset_freep) hwloc_bitmap_t reserved = set_of("0,4");

	share(w, "0,3-4,7");
	hold(w, "1-2");
	hold(w, "2");
	hold(w, "4-6"); /* 4 is reserved as well: counted once */
	build(w, reserved);
	check(w, 0, "cpu", 4, 3, 1);
	check(w, 1, "cpu", 4, 3, 1);
	assert_int_equal(w->notes.lines.n_items, 0);
}

static void the_seed_example_leaves_seven_cpus_a_node(void **state)
{
	struct world *w = *state;

	w->node.settings.cpu_manager = CPU_MANAGER_STATIC;
	w->node.machine.n_cpus = 0;
	for (unsigned i = 0; i < 2; i++) {
		hwloc_bitmap_zero(w->node.machine.nodes[i].cpus);
		hwloc_bitmap_set_range(w->node.machine.nodes[i].cpus, i * 16, (int)i * 16 + 15);
	}
	w->node.allocations.shared = set_of("0,10-15,25-31");
	hold(w, "16-24");
	hold(w, "1-9");
	build(w, NULL);
	check(w, 0, "cpu", 16, 16, 7);
	check(w, 1, "cpu", 16, 16, 7);
	assert_true(noted(w, "reserved CPUs are not known"));
}

static void memory_state_beats_the_hardware(void **state)
{
	struct world *w = *state;

	w->node.settings.cpu_manager = CPU_MANAGER_NONE;
	add_table(add_memory_node(w, 1),
		(struct memory_table){
			.total = 8 * GIB, .allocatable = 5 * GIB, .reserved = GIB, .free = 4 * GIB});
	add_memory_node(w, 9);
	build(w, NULL);
	check(w, 1, "memory", 8 * GIB, 5 * GIB, 4 * GIB);
	/* The kubelet knows neither NUMA node 0 nor pages of 1 GiB. */
	check(w, 0, "memory", 8 * GIB, 0, 0);
	check(w, 1, "hugepages-1Gi", 2 * GIB, 0, 0);
	assert_true(noted(w, "NUMA node 0: none of its CPUs, memory, hugepages and devices is available"));
	assert_true(noted(w, "NUMA node 1: 2147483648 bytes of hugepages-1Gi are not available"));
	assert_false(noted(w, "NUMA node 9"));
	assert_true(noted(w, "'none'"));
}

/* A kubelet that sees no memory on the NUMA node: what the hardware has counts. */
static void amounts_below_zero_are_not_published(void **state)
{
	struct world *w = *state;
	struct memory_node *node = add_memory_node(w, 0);
	struct memory_table *table;

	add_table(node, (struct memory_table){.system_reserved = GIB,
				.allocatable = 0 - (uint64_t)GIB,
				.reserved = 2 * GIB,
				.free = 0 - (uint64_t)(3 * GIB)});
	table = &node->tables[0];
	build(w, NULL);
	check(w, 0, "memory", 8 * GIB, 5 * GIB, 3 * GIB);
	table->free -= 4 * GIB;
	table->reserved += 4 * GIB;
	inventory_release(&w->node.inventory);
	build(w, NULL);
	check(w, 0, "memory", 8 * GIB, 5 * GIB, 0);
}

/* On a kernel without NUMA the memory manager sees no memory and no hugepages. The kubelet counts the machine's hugepages. */
static void pages_count_without_numa(void **state)
{
	struct world *w = *state;

	add_table(add_memory_node(w, 0),
		(struct memory_table){
			.system_reserved = GIB, .allocatable = 0 - (uint64_t)GIB, .free = 0 - (uint64_t)GIB});
	build(w, NULL);
	check(w, 0, "hugepages-1Gi", 2 * GIB, 2 * GIB, 2 * GIB);
}

static void reserved_memory_never_goes_below_zero(void **state)
{
	struct world *w = *state;
	struct memory_reservation *r;

	for (unsigned i = 0; i < 2; i++) {
		r = vec_push(&w->node.settings.memory_reservations, &w->node.settings.n_memory_reservations,
			&w->node.settings.memory_reservations_size, sizeof(*r));
		*r = (struct memory_reservation){.node = i,
			.type = strdup("memory"),
			.bytes = (qty_t)(i ? 100 * GIB : GIB) * QTY_UNIT};
	}
	build(w, NULL);
	check(w, 0, "memory", 8 * GIB, 5 * GIB, 5 * GIB);
	check(w, 1, "memory", 8 * GIB, 0, 0);
}

static void distances_become_costs(void **state)
{
	struct world *w = *state;
	static const unsigned slit[] = {10, 21, 30, 22, 10, 31, 0, 0, 10};

	w->node.machine.distances = malloc(sizeof(slit));
	memcpy(w->node.machine.distances, slit, sizeof(slit));
	build(w, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(slit); i++)
		assert_int_equal(w->node.inventory.costs[i], slit[i]);
}

static void reserved_cpus_come_from_the_settings(void **state)
{
	struct world *w = *state;
	struct reserved_cpus reserved = {0};
	struct err err = {""};

	/* Nothing known: unknown, not empty. */
	assert_int_equal(node_derive_reserved_cpus(&w->node, &reserved, NULL), 0);
	assert_null(reserved.cpus);
	reserved_cpus_release(&reserved);

	w->node.settings.cpu_manager = CPU_MANAGER_NONE;
	assert_int_equal(node_derive_reserved_cpus(&w->node, &reserved, NULL), 0);
	assert_true(hwloc_bitmap_iszero(reserved.cpus));
	reserved_cpus_release(&reserved);

	w->node.settings.cpu_manager = CPU_MANAGER_STATIC;
	w->node.settings.reserved_system_cpus = set_of("0,4");
	text_set(&w->node.settings.from[SETTING_RESERVED_SYSTEM_CPUS], "config.yaml");
	assert_int_equal(node_derive_reserved_cpus(&w->node, &reserved, NULL), 0);
	assert_true(hwloc_bitmap_isequal(reserved.cpus, w->node.settings.reserved_system_cpus));
	test_assert_text("from", reserved.from, "config.yaml");
	reserved_cpus_release(&reserved);

	hwloc_bitmap_set(w->node.settings.reserved_system_cpus, 99);
	assert_int_equal(node_derive_reserved_cpus(&w->node, &reserved, &err), -EINVAL);
	test_assert_text("message", err.text,
		"config.yaml: reserved CPUs '0,4,99' are not all online on this machine");
	assert_null(reserved.cpus);
}

/* Kubelets up to 1.37 reserve the lowest CPU ids of a count here, later ones a CPU of each core. */
static void reserved_cpus_of_a_count_depend_on_the_release(void **state)
{
	static const struct {
		unsigned minor;
		const char *cpus, *from;
	} cases[] = {
		{37, "0-1", "the kubelet's choice for kubeReserved and systemReserved"},
		{38, "0,2", "the kubelet's choice for kubeReserved and systemReserved"},
		{0, "0-2",
			"the choices of older and newer kubelets for kubeReserved and systemReserved: the kubelet's release is not known"},
	};
	struct world *w = *state;
	struct reserved_cpus none;
	struct err err = {""};

	w->node.settings.cpu_manager = CPU_MANAGER_STATIC;
	w->node.settings.reserved_known = true;
	w->node.settings.kube_reserved_cpu = 2 * QTY_UNIT;
	w->node.settings.cpu_options.distribute_cpus_across_cores = true;
	for (size_t i = 0; i < w->node.machine.n_cpus; i++)
		w->node.machine.cpus[i].core = (unsigned)i / 2;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct reserved_cpus reserved = {0};
		CLEANUP(freep) char *cpus = NULL;

		w->node.settings.kubelet_minor = cases[i].minor;
		assert_int_equal(node_derive_reserved_cpus(&w->node, &reserved, NULL), 0);
		cpus = cpuset_print(reserved.cpus);
		test_assert_text("CPUs", cpus, cases[i].cpus);
		test_assert_text("from", reserved.from, cases[i].from);
		reserved_cpus_release(&reserved);
	}
	/* More than the machine has: the line says which file wants so many. */
	w->node.settings.kube_reserved_cpu = 99 * QTY_UNIT;
	w->node.settings.from[SETTING_KUBE_RESERVED] = strdup("/etc/kubelet.yaml");
	assert_int_equal(node_derive_reserved_cpus(&w->node, &none, &err), -EINVAL);
	test_assert_text("too many", err.text,
		"/etc/kubelet.yaml: reserving 99 CPUs as the kubelet would: unable to reserve the required amount of CPUs (size of  did not equal 99)");
}

static void hugepage_names_are_the_kubelet_s(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *name;
	} cases[] = {{2u << 20, "hugepages-2Mi"}, {GIB, "hugepages-1Gi"}, {64u << 10, "hugepages-64Ki"},
		{16 * GIB, "hugepages-16Gi"}, {32u << 20, "hugepages-32Mi"}, {1000, "hugepages-1k"}};
	char name[RESOURCE_NAME_HUGEPAGES_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		resource_name_of_hugepages(cases[i].bytes, name);
		test_assert_text("name", name, cases[i].name);
	}
}

/* ---- devices */

static void offer(
	struct allocations *a, const char *resource, const char *nodes, bool unknown, const char *id)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = set_of(nodes);

	a->registered_known = true;
	device_blocks_add(&a->registered, &a->n_registered, &a->registered_size, resource, set, unknown, id);
}

static void take(struct allocations *a, const char *resource, const char *nodes, const char *id)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = set_of(nodes);
	struct allocation *item = allocations_add(a);

	a->devices_known = true;
	device_blocks_add(&item->devices, &item->n_devices, &item->devices_size, resource, set, false, id);
}

static void devices_count_on_every_node_they_are_near(void **state)
{
	struct world *w = *state;
	struct allocations *a = &w->node.allocations;

	offer(a, "v/nic", "0", false, "n0");
	offer(a, "v/nic", "0,4", false, "n1");
	offer(a, "v/nic", "1", false, "n2");
	offer(a, "v/nic", "", false, "n3");
	offer(a, "v/far", "", false, "f0");
	offer(a, "v/gpu", "", true, "g0");
	offer(a, "v/gpu", "1", false, "g1");
	take(a, "v/nic", "0,4", "n1");
	take(a, "v/nic", "0,4", "n1"); /* an init container's, handed on */
	take(a, "v/nic", "1", "gone"); /* no longer healthy */
	build(w, NULL);
	check(w, 0, "v/nic", 2, 2, 1);
	check(w, 1, "v/nic", 2, 1, 1);
	check(w, 2, "v/nic", 1, 1, 0);
	check(w, 0, "v/gpu", 0, 0, 0);
	check(w, 1, "v/gpu", 1, 1, 1);
	assert_int_equal(inventory_resource(&w->node.inventory, "v/far"), -1);
	assert_true(noted(w, "v/gpu: the NUMA nodes of 1 of 2 devices are not known"));
	assert_false(noted(w, "v/nic"));
}

static void held_devices_alone_make_no_zeros(void **state)
{
	struct world *w = *state;

	take(&w->node.allocations, "v/nic", "0", "n1");
	build(w, NULL);
	assert_int_equal(inventory_resource(&w->node.inventory, "v/nic"), -1);
	assert_true(noted(w, "the devices of the plugins are not known"));
}

/* A CPU that a container holds too, or that is reserved, is not subtracted again; nothing goes below 0. */
static void claims_are_subtracted_once(void **state)
{
	struct world *w = *state;
	CLEANUP(cpuset_freep) hwloc_bitmap_t reserved = set_of("0");

	share(w, "0,3-7");
	hold(w, "1-2");
	test_add_claim(&w->node.claims, "dra.cpu", "a", "0,2-3,99", "memory", GIB, 0);
	test_add_claim(&w->node.claims, "dra.cpu", "b", "3-5", "memory", 99 * GIB, 1);
	test_add_claim(&w->node.claims, "dra.memory", "c", "", "hugepages-1Gi", GIB, 0);
	test_add_claim(&w->node.claims, "dra.memory", "d", "", "memory", GIB, 0);
	build(w, reserved);
	check(w, 0, "cpu", 4, 3, 0);
	check(w, 1, "cpu", 4, 4, 2);
	check(w, 0, "memory", 8 * GIB, 6 * GIB, 4 * GIB);
	check(w, 1, "memory", 8 * GIB, 6 * GIB, 0);
	check(w, 0, "hugepages-1Gi", 2 * GIB, 2 * GIB, GIB);
}

/* The policy that the drivers ask for. */
static void claims_hold_cpus_under_policy_none(void **state)
{
	struct world *w = *state;
	qty_t pages = 0;

	w->node.settings.cpu_manager = CPU_MANAGER_NONE;
	test_add_claim(&w->node.claims, "dra.cpu", "a", "2-4", "hugepages-1Gi", GIB, 0);
	build(w, NULL);
	check(w, 0, "cpu", 4, 4, 2);
	check(w, 1, "cpu", 4, 4, 3);
	assert_true(noted(w, "all but those that claims hold count as available"));
	/* The kubelet's own count knows no claim. */
	assert_true(node_derive_free_pages(&w->node, "hugepages-1Gi", &pages));
	assert_int_equal((uint64_t)(pages / QTY_UNIT), 4 * GIB);
}

/* ---- what the user excludes */

static void derive(struct world *w, const struct derive_config *config)
{
	struct err err = {""};

	if (node_derive(config, &w->node, &w->notes, &err) < 0)
		fail_msg("%s", err.text);
}

static void resources_go_by_name_or_pattern(void **state)
{
	static const char *const patterns[] = {"hugepages-*", "v.com/a"};
	const struct derive_config config = {
		.filter = {.resources = patterns, .n_resources = ARRAY_SIZE(patterns)}};
	struct world *w = *state;

	for (size_t i = 0; i < w->node.machine.n_nodes; i++) {
		struct numa_node *node = &w->node.machine.nodes[i];
		struct hugepage_pool *pool =
			vec_push(&node->pools, &node->n_pools, &node->pools_size, sizeof(*pool));

		*pool = (struct hugepage_pool){.page_bytes = GIB / 512, .pages = 1};
	}
	offer(&w->node.allocations, "v.com/a", "0-1", false, "a0");
	offer(&w->node.allocations, "v.com/b", "1", false, "b0");
	offer(&w->node.allocations, "v.com/b", "4", false, "b1");
	offer(&w->node.allocations, "v.com/b", "4", false, "b2");
	derive(w, &config);
	assert_int_equal(w->node.inventory.n_resources, 3);
	assert_int_equal(inventory_resource(&w->node.inventory, "hugepages-2Mi"), -1);
	assert_int_equal(inventory_resource(&w->node.inventory, "v.com/a"), -1);
	assert_int_equal(inventory_resource(&w->node.inventory, "v.com/b"), 2);
	for (size_t i = 0; i < 3; i++) {
		uint64_t pages = i < 2 ? 2 * GIB + GIB / 512 : GIB / 512;

		if (i < 2)
			check(w, i, "cpu", 4, 4, 4);
		check(w, i, "memory", 8 * GIB, 8 * GIB - pages, 8 * GIB - pages);
		check(w, i, "v.com/b", i, i, i);
	}
}

static struct allocation *hold_memory(
	struct world *w, const char *namespace, const char *pod, const char *cpus, uint64_t gib)
{
	struct allocation *item = hold(w, cpus);
	struct memory_block *block;

	text_set(&item->namespace, namespace);
	text_set(&item->pod, pod);
	block = vec_push(&item->memory, &item->n_memory, &item->memory_size, sizeof(*block));
	*block = (struct memory_block){.type = strdup("memory"), .bytes = gib * GIB, .nodes = set_of("0-1")};
	return item;
}

/* A NUMA node has 5 GiB allocatable, of which some are reserved. */
static void reserve_memory(struct world *w, unsigned id, uint64_t gib)
{
	add_table(add_memory_node(w, id), (struct memory_table){.total = 8 * GIB,
						  .allocatable = 5 * GIB,
						  .reserved = gib * GIB,
						  .free = (5 - gib) * GIB});
}

static void only_named_namespaces_and_nameless_pods_count(void **state)
{
	static const char *const namespaces[] = {"a", "b"};
	const struct derive_config config = {.filter = {.namespaces = namespaces,
						     .n_namespaces = ARRAY_SIZE(namespaces),
						     .namespaces_from = "--namespace"}};
	struct world *w = *state;
	struct allocations *all = &w->node.allocations;

	share(w, "4-7");
	hold_memory(w, "a", "p", "0", 1);
	hold_memory(w, "c", "p", "1", 7);
	/* Such a name decides nothing that is published. */
	hold_memory(w, "c", "q", "3", 0)->named_by_logs = true;
	hold_memory(w, "", "", "2", 1);
	reserve_memory(w, 0, 5);
	reserve_memory(w, 1, 4);
	derive(w, &config);
	check(w, 0, "cpu", 4, 4, 1);
	check(w, 0, "memory", 8 * GIB, 5 * GIB, 5 * GIB);
	check(w, 1, "memory", 8 * GIB, 5 * GIB, 3 * GIB);
	assert_true(noted(w, "--namespace: no source reports the pods' namespaces"));
	/* The allocations themselves are unchanged. */
	assert_int_equal(all->n_items, 4);
	assert_true(all->memory.nodes[1].tables[0].free == GIB);
	assert_false(hwloc_bitmap_isset(all->shared, 1));
}

static void claims_count_by_their_namespaces(void **state)
{
	static const char *const namespaces[] = {"a"};
	const struct derive_config config = {.filter = {.namespaces = namespaces, .n_namespaces = 1}};
	static const struct {
		const char *namespace, *cpus;
	} claims[] = {{"b", "0"}, {"a", "4-5"}, {"", "6"}};
	struct world *w = *state;

	w->node.pods_known = true;
	for (size_t i = 0; i < ARRAY_SIZE(claims); i++) {
		struct claim *c = test_add_claim(&w->node.claims, "d", "x", claims[i].cpus, NULL, 0, 0);

		text_set(&c->namespace, claims[i].namespace);
	}
	derive(w, &config);
	check(w, 0, "cpu", 4, 4, 4);
	check(w, 1, "cpu", 4, 4, 1);
	assert_false(noted(w, "namespaces"));
	assert_int_equal(w->node.claims.n_items, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(hardware_alone_gives_a_useful_inventory, setup, teardown),
		cmocka_unit_test_setup_teardown(
			cpus_that_the_kubelet_does_not_know_are_not_allocatable, setup, teardown),
		cmocka_unit_test_setup_teardown(
			exclusive_and_reserved_cpus_are_subtracted_as_sets, setup, teardown),
		cmocka_unit_test_setup_teardown(the_seed_example_leaves_seven_cpus_a_node, setup, teardown),
		cmocka_unit_test_setup_teardown(memory_state_beats_the_hardware, setup, teardown),
		cmocka_unit_test_setup_teardown(amounts_below_zero_are_not_published, setup, teardown),
		cmocka_unit_test_setup_teardown(pages_count_without_numa, setup, teardown),
		cmocka_unit_test_setup_teardown(reserved_memory_never_goes_below_zero, setup, teardown),
		cmocka_unit_test_setup_teardown(distances_become_costs, setup, teardown),
		cmocka_unit_test_setup_teardown(reserved_cpus_come_from_the_settings, setup, teardown),
		cmocka_unit_test_setup_teardown(
			reserved_cpus_of_a_count_depend_on_the_release, setup, teardown),
		cmocka_unit_test(hugepage_names_are_the_kubelet_s),
		cmocka_unit_test_setup_teardown(devices_count_on_every_node_they_are_near, setup, teardown),
		cmocka_unit_test_setup_teardown(held_devices_alone_make_no_zeros, setup, teardown),
		cmocka_unit_test_setup_teardown(claims_are_subtracted_once, setup, teardown),
		cmocka_unit_test_setup_teardown(claims_hold_cpus_under_policy_none, setup, teardown),
		cmocka_unit_test_setup_teardown(resources_go_by_name_or_pattern, setup, teardown),
		cmocka_unit_test_setup_teardown(
			only_named_namespaces_and_nameless_pods_count, setup, teardown),
		cmocka_unit_test_setup_teardown(claims_count_by_their_namespaces, setup, teardown),
	};

	return cmocka_run_group_tests_name("node_derive", tests, NULL, NULL);
}
