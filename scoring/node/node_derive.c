/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/node/node_derive.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include "common/allocation.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/resource.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/cpu_manager.h"
#include "scoring/node/known_machine.h"
#include "scoring/node/manager_state.h"

#define DISTANCE_SELF 10u /* ACPI's SLIT: a node's distance to itself */

/* ---- reserved CPUs */

/* `cpus` moves. */
static void set_reserved_from(struct reserved_cpus *ret, hwloc_bitmap_t cpus, const char *from)
{
	*ret = (struct reserved_cpus){.cpus = cpus, .from = xstrdup(from)};
}

/* The n CPUs that kubelet 1.`minor` reserves on a machine, under the node's policy options. */
static int reserve_on_machine(const struct settings *s, const struct machine *machine, size_t n,
	unsigned minor, hwloc_bitmap_t *ret, struct err *err)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = cpuset_new();
	CLEANUP(cpu_topology_release) struct cpu_topology topology = {0};
	CLEANUP(cpu_manager_release) struct cpu_manager manager = {0};
	const struct kubelet_version version = kubelet_version_of(minor);
	int r;

	r = cpu_topology_init(&topology, machine);
	if (r < 0)
		return r;
	r = cpu_manager_init(
		&manager, &topology, &s->cpu_options, s->topology.policy, &version, NULL, n, err);
	if (r < 0)
		return r;
	cpu_set_to_bitmap(&topology, manager.reserved, set);
	*ret = TAKE(set);
	return 0;
}

/*
 * Whether the choice on the kubelet's machine may be wrong, because known_machine_differs() guessed where vanished CPUs were: no
 * container can hold a CPU that the kubelet chose, and a choice with vanished CPUs rests on the guess.
 */
static bool is_choice_doubtful(const struct node_state *node, hwloc_const_bitmap_t at_start)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t held = allocations_exclusive_cpus(&node->allocations);

	return hwloc_bitmap_intersects(at_start, held) ||
	       !hwloc_bitmap_isincluded(at_start, node->machine.online);
}

/* Returns the kubelet's choice on the machine of its start. If that choice is doubtful, adds the choice on today's machine. */
static int reserve_by_count(
	const struct node_state *node, size_t n, unsigned minor, hwloc_bitmap_t *ret, struct err *err)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t at_start = NULL;
	CLEANUP(cpuset_freep) hwloc_bitmap_t today = NULL;
	CLEANUP(machine_release) struct machine start_machine;
	int r;

	machine_init(&start_machine);
	r = reserve_on_machine(&node->settings, &node->machine, n, minor, &today, err);
	if (r < 0)
		return r;
	/* A kubelet runs, so its choice cannot have failed: if it fails on the guessed machine, the guess is wrong. */
	if (!known_machine_differs(node, &start_machine) || known_machine_assigns_reserved(node, today) ||
		reserve_on_machine(&node->settings, &start_machine, n, minor, &at_start, NULL) < 0) {
		*ret = TAKE(today);
		return 0;
	}
	if (is_choice_doubtful(node, at_start))
		cpuset_or(at_start, at_start, today);
	cpuset_and(at_start, at_start, node->machine.online);
	*ret = TAKE(at_start);
	return 0;
}

/*
 * The kubelet's own choice of n CPUs. If the release is not known, the CPUs that an older or a newer kubelet would
 * choose: too many CPUs are reserved rather than too few.
 */
static int reserve_by_release(
	const struct node_state *node, size_t n, struct reserved_cpus *ret, struct err *err)
{
	unsigned minor = node->settings.kubelet_minor;
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL, newer = NULL;
	bool depends;
	int r = reserve_by_count(node, n, minor ? minor : KUBELET_MINOR_ASSUMED, &set, err);

	if (r < 0)
		return r;
	r = minor ? 0 : reserve_by_count(node, n, KUBELET_MINOR_COMPARED, &newer, err);
	if (r < 0)
		return r;
	depends = newer && !hwloc_bitmap_isequal(set, newer);
	if (depends)
		cpuset_or(set, set, newer);
	set_reserved_from(ret, TAKE(set),
		depends ? "the choices of older and newer kubelets for kubeReserved and systemReserved: the kubelet's release is not known"
			: "the kubelet's choice for kubeReserved and systemReserved");
	return 0;
}

/* reservedSystemCPUs. CPUs that the kubelet counted at its start may be offline or gone now: they are omitted, and no error. */
static int reserve_as_listed(const struct node_state *node, struct reserved_cpus *ret, struct err *err)
{
	const struct settings *s = &node->settings;
	const char *from = s->from[SETTING_RESERVED_SYSTEM_CPUS];
	CLEANUP(machine_release) struct machine known;
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = cpuset_dup(s->reserved_system_cpus);
	hwloc_const_bitmap_t online = node->machine.online;
	/* If every CPU is reserved strictly, the kubelet's state has no CPU, and so cannot show which of them have vanished. */
	bool all_strict = s->cpu_options.strict_cpu_reservation && node->allocations.cpus_known &&
			  node->allocations.shared && hwloc_bitmap_iszero(node->allocations.shared);

	machine_init(&known);
	if (!hwloc_bitmap_isincluded(set, online) && known_machine_differs(node, &known))
		online = known.online;
	if (!all_strict && !hwloc_bitmap_isincluded(set, online)) {
		CLEANUP(freep) char *text = cpuset_print(set);

		return err_set(err, -EINVAL, "%s: reserved CPUs '%s' are not all online on this machine",
			from, text ? text : "");
	}
	cpuset_and(set, set, node->machine.online);
	set_reserved_from(ret, TAKE(set), from);
	return 0;
}

int node_derive_reserved_cpus(const struct node_state *node, struct reserved_cpus *ret, struct err *err)
{
	const struct settings *s = &node->settings;
	size_t n = cpu_manager_reserved_count(s->kube_reserved_cpu + s->system_reserved_cpu);
	const char *count_from =
		s->from[s->kube_reserved_cpu > 0 ? SETTING_KUBE_RESERVED : SETTING_SYSTEM_RESERVED];
	int r;

	if (s->reserved_system_cpus && !hwloc_bitmap_iszero(s->reserved_system_cpus))
		return reserve_as_listed(node, ret, err);
	if (s->cpu_manager == CPU_MANAGER_NONE || (s->reserved_known && n == 0)) {
		set_reserved_from(ret, cpuset_new(), "nothing reserves a CPU as a whole");
		return 0;
	}
	if (s->cpu_manager != CPU_MANAGER_STATIC || !s->reserved_known) {
		set_reserved_from(ret, NULL,
			"neither reservedSystemCPUs nor kubeReserved and systemReserved are known");
		return 0;
	}
	r = reserve_by_release(node, n, ret, err);
	return r < 0 ? err_wrap(err, r, "%s: reserving %zu CPU%s as the kubelet would",
			       count_from ? count_from : "kubeReserved and systemReserved", n,
			       n == 1 ? "" : "s")
		     : 0;
}

static int derive_reserved_cpus(const struct derive_config *config, struct node_state *node, struct err *err)
{
	bool reported = node->allocatable_cpus && !hwloc_bitmap_iszero(node->allocatable_cpus);
	hwloc_bitmap_t set;

	if (!reported || config->reserved_named)
		return node_derive_reserved_cpus(node, &node->reserved, err);
	/* The report has priority over the configuration, which may have changed since the kubelet started. CPUs that
	 * appeared since then count as reserved too. */
	set = machine_counted_cpus(&node->machine);
	cpuset_andnot(set, set, node->allocatable_cpus);
	set_reserved_from(&node->reserved, set, "the pod-resources API");
	node->reserved.observed = true;
	return 0;
}

/*
 * The shared pool, if no file has it: the allocatable CPUs that are not held, plus the reserved CPUs unless
 * strict-cpu-reservation is set. Unknown if no running kubelet reports its allocatable CPUs.
 */
static void derive_shared_cpus(struct node_state *node)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t held = NULL;
	CLEANUP(cpuset_freep) hwloc_bitmap_t shared = NULL;

	if (node->allocations.shared || !node->reserved.observed)
		return;
	held = allocations_exclusive_cpus(&node->allocations);
	if (node->settings.cpu_options.strict_cpu_reservation)
		shared = cpuset_dup(node->allocatable_cpus);
	else
		shared = machine_counted_cpus(&node->machine);
	cpuset_andnot(shared, shared, held);
	node->allocations.shared = TAKE(shared);
}

/* ---- reserved memory */

qty_t node_derive_eviction_threshold(const struct node_state *node)
{
	struct quantity q;
	const char *text = node->settings.eviction_hard_memory;
	size_t len = text ? strlen(text) : 0;

	if (len == 0)
		return 0;
	if (text[len - 1] == '%') { /* the kubelet holds the percentage in 32 bits */
		float share = strtof(text, NULL) / 100;
		double bytes = (double)(int64_t)node->machine.memory_bytes * (double)share;

		/* An amount that is negative or too large is of no valid percentage. */
		return bytes >= 0 && bytes < (double)INT64_MAX ? (qty_t)(int64_t)bytes * QTY_UNIT : 0;
	}
	return quantity_parse(text, &q, NULL) == 0 ? q.nano : 0;
}

/* ---- devices */

/* Registered and held devices; both empty if it is unknown which are registered. */
struct known_devices {
	struct device_index registered, held;
	hwloc_bitmap_t nodes; /* the NUMA nodes that the kubelet knows */
};

static void known_devices_release(struct known_devices *d)
{
	hwloc_bitmap_free(d->nodes);
	device_index_release(&d->registered);
	device_index_release(&d->held);
}

static void known_devices_init(struct known_devices *d, const struct node_state *node)
{
	const struct allocations *a = &node->allocations;

	d->nodes = known_machine_nodes(node);
	if (!a->registered_known)
		return;
	device_index_registered(a, &d->registered);
	device_index_held(a, &d->held);
}

static bool has_affinity(const struct machine *m, const struct device_ref *device)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		if (hwloc_bitmap_isset(device->block->nodes, m->nodes[i].id))
			return true;
	return false;
}

/* ---- resource names: cpu, memory, every hugepage size of any node, devices with affinity; sorted */

static void add_device_names(const struct machine *m, const struct device_index *devices, struct strv *names)
{
	const char *last = "";

	for (size_t i = 0; i < devices->n_items; i++) {
		const char *resource = devices->items[i].block->resource;

		/* One device with affinity is enough; the devices are sorted by resource. */
		if (!strcmp(resource, last) || !has_affinity(m, &devices->items[i]))
			continue;
		strv_push_new(names, resource);
		last = resource;
	}
}

static void collect_resource_names(
	const struct machine *m, const struct known_devices *devices, struct strv *names)
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
struct cpu_sets {
	hwloc_const_bitmap_t reserved; /* NULL = unknown */
	hwloc_bitmap_t taken;          /* exclusively or by claims; a CPU of both counts once */
	hwloc_bitmap_t known;          /* to the kubelet, which counts CPUs at its start; NULL = unknown */
	hwloc_const_bitmap_t nodes;    /* NUMA nodes that the kubelet knows */
};

static void cpu_sets_release(struct cpu_sets *sets)
{
	hwloc_bitmap_free(sets->taken);
	hwloc_bitmap_free(sets->known);
}

static void cpu_sets_init(struct cpu_sets *sets, const struct node_state *node, hwloc_const_bitmap_t nodes)
{
	const struct allocations *a = &node->allocations;
	CLEANUP(cpuset_freep) hwloc_bitmap_t of_claims = claims_cpus(&node->claims);

	sets->nodes = nodes;
	sets->reserved = node->reserved.cpus;
	sets->taken = allocations_exclusive_cpus(a);
	if (node->settings.cpu_manager == CPU_MANAGER_STATIC && a->cpus_known && a->shared) {
		sets->known = cpuset_dup(a->shared);
		cpuset_or(sets->known, sets->known, sets->taken);
	}
	cpuset_or(sets->taken, sets->taken, of_claims);
}

/* CPUs are counted by set, so one that is both reserved and held is subtracted once. */
static void fill_cpu(
	const struct machine *m, size_t at, const struct cpu_sets *cpus, struct inventory_amount *amount)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t usable = NULL;
	size_t capacity, allocatable;

	usable = machine_own_cpus(m, at);
	capacity = cpuset_size(usable);
	if (capacity == 0)
		return;
	if (cpus->reserved)
		cpuset_andnot(usable, usable, cpus->reserved);
	if (cpus->known)
		cpuset_and(usable, usable, cpus->known);
	if (!hwloc_bitmap_isset(cpus->nodes, m->nodes[at].id))
		hwloc_bitmap_zero(usable);
	allocatable = cpuset_size(usable);
	set_amount(amount, capacity, allocatable, allocatable - count_both(usable, cpus->taken));
}

uint64_t node_derive_reserved_memory(const struct settings *s, unsigned node, const char *type)
{
	qty_t sum = 0;

	for (size_t i = 0; i < s->n_memory_reservations; i++)
		if (s->memory_reservations[i].node == node && !strcmp(s->memory_reservations[i].type, type))
			sum += s->memory_reservations[i].bytes;
	sum /= QTY_UNIT;
	return sum > INT64_MAX ? INT64_MAX : (uint64_t)sum;
}

/* Whether the kubelet sees no memory on the NUMA node although the node has some: on a kernel without NUMA (DEFECTS.md, K13). */
static bool sees_no_memory(const struct memory_node *state)
{
	const struct memory_table *table = memory_node_table(state, "memory");

	return table && memory_table_wrapped(table);
}

static void subtract_claims(
	const struct claims *claims, const char *type, unsigned node, struct inventory_amount *amount)
{
	qty_t bytes = (qty_t)claims_bytes(claims, type, node) * QTY_UNIT;

	amount->available = bytes < amount->available ? amount->available - bytes : 0;
}

/*
 * Memory or hugepages of one size on a NUMA node: as the memory manager's state says, else from the hardware
 * and reservedMemory. `pages`: bytes of `capacity` that are set aside as hugepages. Nothing is allocatable on a node or
 * of a type that the kubelet does not know (`known`: the NUMA nodes that the kubelet knows). On a kernel without NUMA the
 * memory manager knows no hugepages, but the kubelet counts those of the whole machine.
 */
static void fill_memory(const struct node_state *node, unsigned numa, const char *type, uint64_t capacity,
	uint64_t pages, hwloc_const_bitmap_t known, struct inventory_amount *amount)
{
	const struct memory_node *state = allocations_memory_node(&node->allocations, numa);
	const struct memory_table *table = memory_node_table(state, type);
	uint64_t reserved =
		(table ? table->system_reserved : node_derive_reserved_memory(&node->settings, numa, type)) +
		pages;
	uint64_t usable = capacity > reserved ? capacity - reserved : 0;

	if (table && !memory_table_wrapped(table))
		set_amount(amount, capacity, table->allocatable, table->free);
	else if (table) /* the kubelet's own amounts are near 2^64: the hardware's instead */
		set_amount(amount, capacity, usable, usable > table->reserved ? usable - table->reserved : 0);
	else if ((node->allocations.memory_known && !sees_no_memory(state)) ||
		 !hwloc_bitmap_isset(known, numa))
		set_amount(amount, capacity, 0, 0);
	else
		set_amount(amount, capacity, usable, usable);
}

bool node_derive_free_pages(const struct node_state *node, const char *name, qty_t *ret)
{
	const struct machine *m = &node->machine;
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = known_machine_nodes(node);
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
			fill_memory(node, m->nodes[i].id, name, pool->page_bytes * pool->pages, 0, nodes,
				&amount);
			sum = qty_add(sum, amount.available);
		}
	if (known)
		*ret = sum;
	return known;
}

static void fill_numa_node(
	const struct node_state *node, size_t at, const struct cpu_sets *cpus, struct inventory *inv)
{
	const struct numa_node *numa = &node->machine.nodes[at];
	struct inventory_amount *amount;
	uint64_t hugepages = 0;

	inv->nodes[at].id = numa->id;
	for (size_t p = 0; p < numa->n_pools; p++) {
		char name[RESOURCE_NAME_HUGEPAGES_SIZE];
		uint64_t bytes = numa->pools[p].page_bytes * numa->pools[p].pages;

		resource_name_of_hugepages(numa->pools[p].page_bytes, name);
		amount = inventory_amount(inv, at, (size_t)inventory_resource(inv, name));
		fill_memory(node, numa->id, name, bytes, 0, cpus->nodes, amount);
		subtract_claims(&node->claims, name, numa->id, amount);
		hugepages += bytes;
	}
	if (numa->memory_bytes > 0) {
		amount = inventory_amount(inv, at, (size_t)inventory_resource(inv, "memory"));
		fill_memory(node, numa->id, "memory", numa->memory_bytes, hugepages, cpus->nodes, amount);
		subtract_claims(&node->claims, "memory", numa->id, amount);
	}
	amount = inventory_amount(inv, at, (size_t)inventory_resource(inv, "cpu"));
	fill_cpu(&node->machine, at, cpus, amount);
}

/* Count a device on each NUMA node that it is near. The kubelet gives no device for its nearness to a node that the kubelet does not
 * know (`known`: the nodes that the kubelet knows). */
static void count_device(const struct machine *m, struct inventory *inv, size_t resource,
	hwloc_const_bitmap_t nodes, hwloc_const_bitmap_t known, unsigned allocatable, unsigned available)
{
	for (size_t at = 0; at < m->n_nodes; at++) {
		struct inventory_amount *amount = inventory_amount(inv, at, resource);

		if (!hwloc_bitmap_isset(nodes, m->nodes[at].id))
			continue;
		amount->capacity += QTY_UNIT;
		if (!hwloc_bitmap_isset(known, m->nodes[at].id))
			continue;
		amount->allocatable += allocatable * QTY_UNIT;
		amount->available += available * QTY_UNIT;
	}
}

/*
 * A device that is near several NUMA nodes counts on each of them, free or held: each node by itself could
 * give it, as the kubelet's own hints have it. Held devices that are not registered any more, because they are
 * no longer healthy, are capacity only.
 */
static void fill_devices(
	const struct machine *m, const struct known_devices *devices, struct inventory *inv, size_t resource)
{
	const char *name = inv->resources[resource];
	size_t end, first = device_index_range(&devices->registered, name, &end);
	size_t held_end, held_first = device_index_range(&devices->held, name, &held_end);

	if (first == end && held_first == held_end)
		return; /* `resource` is cpu, memory or hugepages */
	for (size_t at = 0; at < m->n_nodes; at++)
		*inventory_amount(inv, at, resource) = (struct inventory_amount){.present = true};
	for (size_t i = first; i < end; i++) {
		const struct device_ref *d = &devices->registered.items[i];
		bool is_held = device_index_find(&devices->held, name, d->id) != NULL;

		count_device(m, inv, resource, d->block->nodes, devices->nodes, 1, is_held ? 0 : 1);
	}
	for (size_t i = held_first; i < held_end; i++) {
		const struct device_ref *d = &devices->held.items[i];

		if (!device_index_find(&devices->registered, name, d->id))
			count_device(m, inv, resource, d->block->nodes, devices->nodes, 0, 0);
	}
}

static void fill_costs(const struct machine *m, struct inventory *inv)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		for (size_t j = 0; j < m->n_nodes; j++) {
			unsigned distance = machine_distance(m, i, j); /* 0 = unknown */

			if (distance == 0)
				distance = i == j ? DISTANCE_SELF : INVENTORY_COST_UNKNOWN;
			inv->costs[i * m->n_nodes + j] = distance;
		}
}

/* One note per resource with devices whose NUMA nodes are unknown. */
static void note_unplaced(const struct allocations *a, struct notes *notes)
{
	for (size_t i = 0; i < a->n_registered; i++) {
		const struct device_block *b = &a->registered[i];
		size_t all = 0;

		if (!b->nodes_unknown)
			continue;
		for (size_t k = 0; k < a->n_registered; k++)
			if (!strcmp(a->registered[k].resource, b->resource))
				all += a->registered[k].ids.n_items;
		notes_add(notes,
			"%.100s: the NUMA nodes of %zu of %zu devices are not known without the pod-resources API; the zones omit them",
			b->resource, b->ids.n_items, all);
	}
}

/* Notes that the zones omit devices, if a pod holds one. Call this while the registered devices are unknown. */
static void note_uncounted(const struct allocations *a, struct notes *notes)
{
	for (size_t i = 0; i < a->n_items; i++)
		if (a->items[i].n_devices > 0) {
			notes_add(notes, "the devices of the plugins are not known; the zones omit devices");
			return;
		}
}

static bool claims_hold_cpus(const struct claims *claims)
{
	for (size_t i = 0; i < claims->n_items; i++)
		if (!hwloc_bitmap_iszero(claims->items[i].cpus))
			return true;
	return false;
}

/* Add notes for readers of the object: the values that no source reported. */
static void note_unknowns(const struct node_state *node, struct notes *notes)
{
	const struct settings *s = &node->settings;
	const struct allocations *a = &node->allocations;

	if (s->cpu_manager != CPU_MANAGER_STATIC && s->cpu_manager != CPU_MANAGER_NONE)
		notes_add(notes,
			"the kubelet's CPU manager policy is not known; allocatable is what the hardware has");
	else if (s->cpu_manager == CPU_MANAGER_NONE)
		notes_add(notes,
			"CPU manager policy is 'none': no CPU is handed out exclusively, all%s count as available",
			claims_hold_cpus(&node->claims) ? " but those that claims hold" : "");
	if (s->cpu_manager == CPU_MANAGER_STATIC && !node->reserved.cpus)
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
	known_machine_note(node, notes);
}

void node_derive_inventory(const struct node_state *node, struct inventory *ret, struct notes *notes)
{
	const struct machine *m = &node->machine;
	CLEANUP(strv_release) struct strv names = {0};
	CLEANUP(known_devices_release) struct known_devices devices = {0};
	CLEANUP(cpu_sets_release) struct cpu_sets cpus = {0};

	known_devices_init(&devices, node);
	cpu_sets_init(&cpus, node, devices.nodes);
	collect_resource_names(m, &devices, &names);
	inventory_init(ret);
	inventory_shape(ret, m->n_nodes, (const char *const *)names.items, names.n_items);
	for (size_t i = 0; i < m->n_nodes; i++)
		fill_numa_node(node, i, &cpus, ret);
	for (size_t i = 0; i < ret->n_resources; i++)
		fill_devices(m, &devices, ret, i);
	fill_costs(m, ret);
	ret->topology = node->settings.topology;
	if (notes)
		note_unknowns(node, notes);
}

/* ---- what the user excludes */

static bool excludes_resource(const struct zone_filter *filter, const char *resource)
{
	for (size_t i = 0; i < filter->n_resources; i++)
		if (!strcmp(filter->resources[i], resource) ||
			fnmatch(filter->resources[i], resource, 0) == 0)
			return true;
	return false;
}

static void filter_resources(const struct zone_filter *filter, struct inventory *inv)
{
	size_t n = inv->n_resources, kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (excludes_resource(filter, inv->resources[i]))
			continue;
		for (size_t node = 0; node < inv->n_nodes; node++)
			inv->amounts[node * n + kept] = inv->amounts[node * n + i];
		inv->resources[kept++] = inv->resources[i];
	}
	/* Each row now begins with the kept amounts: move the rows together, in ascending order, so that none overwrites the next. */
	for (size_t node = 1; node < inv->n_nodes; node++)
		memmove(&inv->amounts[node * kept], &inv->amounts[node * n], kept * sizeof(*inv->amounts));
	inv->n_resources = kept;
}

static bool includes_namespace(const struct zone_filter *filter, const char *namespace)
{
	for (size_t i = 0; i < filter->n_namespaces; i++)
		if (!strcmp(filter->namespaces[i], namespace))
			return true;
	return false;
}

/* The claims that count; their array is new, its items are borrowed. */
static struct claims filter_claims(const struct zone_filter *filter, const struct claims *all)
{
	struct claims some = {.items = xcalloc(all->n_items + 1, sizeof(*some.items))};

	for (size_t i = 0; i < all->n_items; i++)
		if (!*all->items[i].namespace || includes_namespace(filter, all->items[i].namespace))
			some.items[some.n_items++] = all->items[i];
	return some;
}

/* A view without the items of other namespaces. Items whose namespace is unknown stay, also if only the pod's log directory names it. */
static void filter_allocations(
	const struct zone_filter *filter, const struct allocations *all, struct allocations *ret)
{
	CLEANUP(freep) bool *excluded = xcalloc(all->n_items + 1, sizeof(*excluded));

	for (size_t i = 0; i < all->n_items; i++)
		excluded[i] = *all->items[i].pod && !all->items[i].named_by_logs &&
			      !includes_namespace(filter, all->items[i].namespace);
	allocations_view_without(all, excluded, ret);
}

/* The inventory of what the filter leaves. */
static void derive_zones(const struct zone_filter *filter, struct node_state *node, struct notes *notes)
{
	CLEANUP(allocations_view_release) struct allocations view = {0};
	CLEANUP(freep) struct claim *counted_claims = NULL;
	struct node_state counted = *node; /* borrows */
	bool filtered = filter->n_namespaces > 0;

	if (filtered) {
		filter_allocations(filter, &node->allocations, &view);
		counted.allocations = view;
		counted.claims = filter_claims(filter, &node->claims);
		counted_claims = counted.claims.items;
	}
	node_derive_inventory(&counted, &node->inventory, notes);
	if (filtered && !node->pods_known)
		notes_add(notes, "%s: no source reports the pods' namespaces; all pods count",
			filter->namespaces_from);
	filter_resources(filter, &node->inventory);
}

int node_derive(
	const struct derive_config *config, struct node_state *node, struct notes *notes, struct err *err)
{
	int r = derive_reserved_cpus(config, node, err);

	if (r < 0)
		return r;
	derive_shared_cpus(node);
	derive_zones(&config->filter, node, notes);
	return 0;
}
