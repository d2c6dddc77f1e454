/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/inventory_build.h"

#include <errno.h>
#include <inttypes.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/device_index.h"
#include "common/resource_name.h"
#include "common/strv.h"
#include "common/xalloc.h"
#include "scoring/cpu_manager.h"

#define DISTANCE_SELF 10u /* ACPI's SLIT: a node's distance to itself */

static void reserved_set(struct reserved_cpus *ret, hwloc_bitmap_t cpus, const char *from)
{
	char *text = xstrdup(from);

	*ret = (struct reserved_cpus){.cpus = cpus, .from = text};
}

/* The kubelet's own choice of n CPUs, under the options in force. */
static int reserve_by_count(
	const struct machine *m, const struct settings *s, size_t n, hwloc_bitmap_t *ret, struct err *err)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = cpuset_new();
	CLEANUP(cpu_topology_release) struct cpu_topology topology = {0};
	CLEANUP(cpu_manager_release) struct cpu_manager manager = {0};
	const struct kubelet_version version = kubelet_version_of(s->kubelet_minor);
	int r;

	r = cpu_topology_init(&topology, m);
	if (r == 0)
		r = cpu_manager_init(
			&manager, &topology, &s->cpu_options, s->topology.policy, &version, NULL, n, err);
	if (r == 0)
		cpu_set_to_bitmap(&topology, manager.reserved, set);
	if (r == 0)
		*ret = TAKE(set);
	return r;
}

static int reserved_as_listed(
	const struct machine *m, const struct settings *s, struct reserved_cpus *ret, struct err *err)
{
	hwloc_bitmap_t set;

	if (!hwloc_bitmap_isincluded(s->reserved_system_cpus, m->online)) {
		CLEANUP(freep) char *text = cpuset_print(s->reserved_system_cpus);

		return err_set(err, -EINVAL, "%s: reserved CPUs '%s' are not all online on this machine",
			s->from[SETTING_RESERVED_SYSTEM_CPUS], text ? text : "");
	}
	set = cpuset_dup(s->reserved_system_cpus);
	reserved_set(ret, set, s->from[SETTING_RESERVED_SYSTEM_CPUS]);
	return 0;
}

int inventory_reserved_cpus(
	const struct machine *m, const struct settings *s, struct reserved_cpus *ret, struct err *err)
{
	size_t n = cpu_manager_reserved_count(s->kube_reserved_cpu + s->system_reserved_cpu);
	hwloc_bitmap_t set = NULL;
	int r;

	if (s->reserved_system_cpus && !hwloc_bitmap_iszero(s->reserved_system_cpus))
		return reserved_as_listed(m, s, ret, err);
	if (s->cpu_manager == CPU_MANAGER_NONE || (s->reserved_cpu_known && n == 0)) {
		set = cpuset_new();
		reserved_set(ret, set, "nothing reserves a CPU as a whole");
		return 0;
	}
	if (s->cpu_manager != CPU_MANAGER_STATIC || !s->reserved_cpu_known) {
		reserved_set(ret, NULL,
			"neither reservedSystemCPUs nor kubeReserved and systemReserved are known");
		return 0;
	}
	r = reserve_by_count(m, s, n, &set, err);
	if (r < 0)
		return err_wrap(err, r, "reserving %zu CPUs as the kubelet would", n);
	reserved_set(ret, set, "the kubelet's choice for kubeReserved and systemReserved");
	return 0;
}

/* ---- devices */

/* What is registered and what is held; empty where it is not known what is registered. */
struct device_books {
	struct device_index registered, held;
};

static void device_books_release(struct device_books *d)
{
	device_index_release(&d->registered);
	device_index_release(&d->held);
}

static void device_books_init(struct device_books *d, const struct allocations *a)
{
	if (!a->registered_known)
		return;
	device_index_registered(a, &d->registered);
	device_index_held(a, &d->held);
}

static bool has_affinity(const struct machine *m, const struct device_ref *device)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		if (hwloc_bitmap_isset(device->nodes, m->nodes[i].id))
			return true;
	return false;
}

/* ---- resource names: cpu, memory, every hugepage size of any node, devices with affinity; sorted */

static void add_device_names(const struct machine *m, const struct device_index *devices, struct strv *names)
{
	const char *last = "";

	for (size_t i = 0; i < devices->n_items; i++) {
		const char *resource = devices->items[i].resource;

		if (!strcmp(resource, last) || !has_affinity(m, &devices->items[i]))
			continue;
		strv_push_new(names, resource);
		last = resource;
	}
}

static void collect_names(const struct machine *m, const struct device_books *devices, struct strv *names)
{
	char name[RESOURCE_NAME_HUGEPAGES_SIZE];

	strv_push_new(names, "cpu");
	strv_push_new(names, "memory");
	for (size_t i = 0; i < m->n_nodes; i++)
		for (size_t p = 0; p < m->nodes[i].n_pools; p++) {
			resource_name_of_hugepages(m->nodes[i].pools[p].page_bytes, name);
			strv_push_new(names, name);
		}
	add_device_names(m, &devices->registered, names);
	add_device_names(m, &devices->held, names);
	strv_sort(names);
}

/* ---- amounts */

static size_t count_both(hwloc_const_bitmap_t a, hwloc_const_bitmap_t b)
{
	size_t n = 0;
	int id;

	for (id = hwloc_bitmap_first(a); id >= 0; id = hwloc_bitmap_next(a, id))
		n += hwloc_bitmap_isset(b, (unsigned)id) > 0;
	return n;
}

static void set_amount(
	struct inventory_amount *amount, uint64_t capacity, uint64_t allocatable, uint64_t available)
{
	if (available > allocatable)
		available = allocatable;
	if (capacity < allocatable)
		capacity = allocatable;
	*amount = (struct inventory_amount){
		.present = true,
		.capacity = (qty_t)capacity * QTY_UNIT,
		.allocatable = (qty_t)allocatable * QTY_UNIT,
		.available = (qty_t)available * QTY_UNIT,
	};
}

/* Which CPUs the inventory counts. */
struct cpu_books {
	hwloc_const_bitmap_t reserved; /* NULL = not known */
	hwloc_bitmap_t taken;          /* exclusively, or by claims: a CPU of both is there once */
	hwloc_bitmap_t known; /* those that the kubelet has: it counts them at its start; NULL = not known */
};

static void cpu_books_release(struct cpu_books *b)
{
	hwloc_bitmap_free(b->taken);
	hwloc_bitmap_free(b->known);
}

static void cpu_books_init(struct cpu_books *b, const struct settings *s, const struct allocations *a,
	const struct claims *claims)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t of_claims = claims_cpus(claims);

	b->taken = allocations_exclusive_cpus(a);
	if (s->cpu_manager == CPU_MANAGER_STATIC && a->cpus_known && a->shared) {
		b->known = cpuset_dup(a->shared);
		cpuset_or(b->known, b->known, b->taken);
	}
	cpuset_or(b->taken, b->taken, of_claims);
}

/* CPUs are counted by set, so one that is both reserved and held is subtracted once. */
static void fill_cpu(
	const struct machine *m, size_t at, const struct cpu_books *cpus, struct inventory_amount *amount)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t usable = NULL;
	size_t capacity, allocatable;

	machine_own_cpus(m, at, &usable);
	capacity = cpuset_size(usable);
	if (capacity == 0)
		return;
	if (cpus->reserved)
		cpuset_andnot(usable, usable, cpus->reserved);
	if (cpus->known)
		cpuset_and(usable, usable, cpus->known);
	allocatable = cpuset_size(usable);
	set_amount(amount, capacity, allocatable, allocatable - count_both(usable, cpus->taken));
}

static uint64_t reserved_memory(const struct settings *s, unsigned node, const char *type)
{
	qty_t sum = 0;

	for (size_t i = 0; i < s->n_memory_reservations; i++)
		if (s->memory_reservations[i].node == node && !strcmp(s->memory_reservations[i].type, type))
			sum += s->memory_reservations[i].bytes;
	sum /= QTY_UNIT;
	return sum > INT64_MAX ? INT64_MAX : (uint64_t)sum;
}

static const struct memory_node *state_of(const struct allocations *a, unsigned node)
{
	for (size_t i = 0; a->memory_known && i < a->memory.n_nodes; i++)
		if (a->memory.nodes[i].id == node)
			return &a->memory.nodes[i];
	return NULL;
}

static void subtract_claims(
	const struct claims *claims, const char *type, unsigned node, struct inventory_amount *amount)
{
	qty_t bytes = (qty_t)claims_bytes(claims, type, node) * QTY_UNIT;

	amount->available = bytes < amount->available ? amount->available - bytes : 0;
}

/* Memory or one hugepage size: as the memory manager's state says, else from the hardware and reservedMemory.
 */
static void fill_memory(const struct settings *s, const struct memory_node *state, unsigned node,
	const char *type, uint64_t capacity, uint64_t taken, struct inventory_amount *amount)
{
	const struct memory_table *table = state ? memory_node_table(state, type) : NULL;
	uint64_t reserved = (table ? table->system_reserved : reserved_memory(s, node, type)) + taken;
	uint64_t usable = capacity > reserved ? capacity - reserved : 0;

	if (table && !memory_table_wrapped(table))
		set_amount(amount, capacity, table->allocatable, table->free);
	else if (table)
		set_amount(amount, capacity, usable, usable > table->reserved ? usable - table->reserved : 0);
	else
		set_amount(amount, capacity, usable, usable);
}

bool inventory_free_pages(const struct machine *m, const struct settings *s, const struct allocations *a,
	const char *name, qty_t *ret)
{
	bool known = false;
	qty_t sum = 0;

	for (size_t i = 0; i < m->n_nodes; i++)
		for (size_t p = 0; p < m->nodes[i].n_pools; p++) {
			const struct hugepage_pool *pool = &m->nodes[i].pools[p];
			struct inventory_amount amount = {0};
			char own[RESOURCE_NAME_HUGEPAGES_SIZE];

			resource_name_of_hugepages(pool->page_bytes, own);
			if (strcmp(own, name) != 0)
				continue;
			known = true;
			fill_memory(s, state_of(a, m->nodes[i].id), m->nodes[i].id, name,
				pool->page_bytes * pool->pages, 0, &amount);
			sum = qty_add(sum, amount.available);
		}
	if (known)
		*ret = sum;
	return known;
}

static void fill_node(const struct machine *m, size_t at, const struct settings *s,
	const struct allocations *a, const struct claims *claims, const struct cpu_books *cpus,
	struct inventory *inv)
{
	const struct numa_node *node = &m->nodes[at];
	const struct memory_node *state = state_of(a, node->id);
	struct inventory_amount *amount;
	uint64_t hugepages = 0;

	inv->nodes[at].id = node->id;
	for (size_t p = 0; p < node->n_pools; p++) {
		char name[RESOURCE_NAME_HUGEPAGES_SIZE];
		uint64_t bytes = node->pools[p].page_bytes * node->pools[p].pages;

		resource_name_of_hugepages(node->pools[p].page_bytes, name);
		amount = inventory_amount(inv, at, (size_t)inventory_resource(inv, name));
		fill_memory(s, state, node->id, name, bytes, 0, amount);
		subtract_claims(claims, name, node->id, amount);
		hugepages += bytes;
	}
	if (node->memory_bytes > 0) {
		amount = inventory_amount(inv, at, (size_t)inventory_resource(inv, "memory"));
		fill_memory(s, state, node->id, "memory", node->memory_bytes, hugepages, amount);
		subtract_claims(claims, "memory", node->id, amount);
	}
	fill_cpu(m, at, cpus, inventory_amount(inv, at, (size_t)inventory_resource(inv, "cpu")));
}

/* Count a device on each of its NUMA nodes. */
static void count_device(const struct machine *m, struct inventory *inv, size_t resource,
	hwloc_const_bitmap_t nodes, unsigned capacity, unsigned allocatable, unsigned available)
{
	for (size_t at = 0; at < m->n_nodes; at++) {
		struct inventory_amount *amount = inventory_amount(inv, at, resource);

		if (!hwloc_bitmap_isset(nodes, m->nodes[at].id))
			continue;
		amount->capacity += capacity * QTY_UNIT;
		amount->allocatable += allocatable * QTY_UNIT;
		amount->available += available * QTY_UNIT;
	}
}

/*
 * A device that is near several nodes is counted on each, free or held: each node by itself could give it, as
 * the kubelet's own hints have it. Held ones that are no longer healthy are capacity only.
 */
static void fill_devices(
	const struct machine *m, const struct device_books *devices, struct inventory *inv, size_t resource)
{
	const char *name = inv->resources[resource];
	size_t end, held_end, first = device_index_run(&devices->registered, name, &end),
			      held_first = device_index_run(&devices->held, name, &held_end);

	if (first == end && held_first == held_end)
		return; /* not a device */
	for (size_t at = 0; at < m->n_nodes; at++)
		*inventory_amount(inv, at, resource) = (struct inventory_amount){.present = true};
	for (size_t i = first; i < end; i++) {
		const struct device_ref *d = &devices->registered.items[i];

		count_device(
			m, inv, resource, d->nodes, 1, 1, !device_index_find(&devices->held, name, d->id));
	}
	for (size_t i = held_first; i < held_end; i++) {
		const struct device_ref *d = &devices->held.items[i];

		if (!device_index_find(&devices->registered, name, d->id))
			count_device(m, inv, resource, d->nodes, 1, 0, 0);
	}
}

static void fill_costs(const struct machine *m, struct inventory *inv)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		for (size_t j = 0; j < m->n_nodes; j++) {
			unsigned d = machine_distance(m, i, j);

			inv->costs[i * m->n_nodes + j] = d > 0    ? d
							 : i == j ? DISTANCE_SELF
								  : INVENTORY_COST_UNKNOWN;
		}
}

/* One note for each resource with devices on unknown nodes. */
static void note_unplaced(const struct allocations *a, struct notes *notes)
{
	for (size_t i = 0; i < a->n_registered; i++) {
		const struct device_block *b = &a->registered[i];
		size_t all = 0;

		for (size_t k = 0; b->nodes_unknown && k < a->n_registered; k++)
			all += strcmp(a->registered[k].resource, b->resource) ? 0
									      : a->registered[k].ids.n_items;
		if (b->nodes_unknown)
			notes_add(notes,
				"%.100s: the NUMA nodes of %zu of %zu devices are not known without the pod-resources API; they are left out of the zones",
				b->resource, b->ids.n_items, all);
	}
}

/* Devices that pods hold, of plugins whose devices are not known. */
static void note_uncounted(const struct allocations *a, struct notes *notes)
{
	for (size_t i = 0; i < a->n_items; i++)
		if (a->items[i].n_devices > 0) {
			notes_add(notes, "which devices the plugins have is not known; devices are left out");
			return;
		}
}

static bool hold_cpus(const struct claims *claims)
{
	for (size_t i = 0; i < claims->n_items; i++)
		if (!hwloc_bitmap_iszero(claims->items[i].cpus))
			return true;
	return false;
}

/* Things that no source reported, as a reader of the object should know. */
static void note_unknowns(const struct machine *m, const struct settings *s, const struct allocations *a,
	bool claimed, hwloc_const_bitmap_t reserved, struct notes *notes)
{
	if (s->cpu_manager != CPU_MANAGER_STATIC && s->cpu_manager != CPU_MANAGER_NONE)
		notes_add(notes,
			"the kubelet's CPU manager policy is not known; allocatable is what the hardware has");
	else if (s->cpu_manager == CPU_MANAGER_NONE)
		notes_add(notes,
			"CPU manager policy is 'none': no CPU is handed out exclusively, all%s count as available",
			claimed ? " but those that claims hold" : "");
	if (s->cpu_manager == CPU_MANAGER_STATIC && !reserved)
		notes_add(notes, "the reserved CPUs are not known; none is subtracted from allocatable");
	if (s->cpu_manager == CPU_MANAGER_STATIC && !a->cpus_known)
		notes_add(notes,
			"no source reports which CPUs are held exclusively; none is subtracted from available");
	if (s->memory_manager == MEMORY_MANAGER_STATIC && !a->memory_known)
		notes_add(notes,
			"no source reports which memory is held exclusively; none is subtracted from available");
	if (a->devices_known && !a->registered_known)
		note_uncounted(a, notes);
	note_unplaced(a, notes);
	for (size_t i = 0; i < a->memory.n_nodes && a->memory_known; i++)
		if (machine_node_index(m, a->memory.nodes[i].id) < 0)
			notes_add(notes,
				"memory_manager_state names NUMA node %u, which this machine does not have",
				a->memory.nodes[i].id);
}

void inventory_build(const struct machine *m, const struct settings *s, const struct allocations *a,
	const struct claims *claims, hwloc_const_bitmap_t reserved, struct inventory *ret,
	struct notes *notes)
{
	CLEANUP(strv_release) struct strv names = {0};
	CLEANUP(device_books_release) struct device_books devices = {0};
	CLEANUP(inventory_release) struct inventory inv;
	CLEANUP(cpu_books_release) struct cpu_books cpus = {.reserved = reserved};

	inventory_init(&inv);
	device_books_init(&devices, a);
	cpu_books_init(&cpus, s, a, claims);
	collect_names(m, &devices, &names);
	inventory_shape(&inv, m->n_nodes, (const char *const *)names.items, names.n_items);
	for (size_t i = 0; i < m->n_nodes; i++)
		fill_node(m, i, s, a, claims, &cpus, &inv);
	for (size_t i = 0; i < inv.n_resources; i++)
		fill_devices(m, &devices, &inv, i);
	fill_costs(m, &inv);
	inv.topology = s->topology;
	if (notes)
		note_unknowns(m, s, a, hold_cpus(claims), reserved, notes);
	*ret = inv;
	inventory_init(&inv);
}
