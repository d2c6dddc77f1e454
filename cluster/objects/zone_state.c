/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a node's state from its zones: an estimate, or only what the zones contain.
 */
#include "cluster/objects/cluster_node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects/nrt_parse.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/resource.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

/* Integral amounts of one resource in one zone; available <= allocatable <= capacity. */
struct units {
	uint64_t capacity, allocatable, available;
};

/* The whole units of an amount, limited so that the sum over MACHINE_MAX_NODES zones fits in 63 bits. */
static uint64_t integral(qty_t amount)
{
	const qty_t max = INT64_MAX / MACHINE_MAX_NODES;
	qty_t units = amount / QTY_UNIT;

	return units <= 0 ? 0 : (uint64_t)(units > max ? max : units);
}

static struct units units_of(const struct inventory *inv, size_t at, int resource)
{
	const struct inventory_amount *a;
	struct units u = {0};

	if (resource < 0)
		return u;
	a = inventory_amount(inv, at, (size_t)resource);
	if (!a->present)
		return u;
	u = (struct units){integral(a->capacity), integral(a->allocatable), integral(a->available)};
	if (u.allocatable < u.available)
		u.allocatable = u.available;
	if (u.capacity < u.allocatable)
		u.capacity = u.allocatable;
	return u;
}

/* The zones that are NUMA nodes. A zone without resources only fills a gap in the ids. */
struct zones {
	const struct zone_facts *facts;
	const struct inventory *inv;
	size_t *order; /* indexes in the inventory, by ascending id */
	size_t n;
	int cpu; /* the resource, or -1 */
};

static void zones_release(struct zones *z)
{
	free(z->order);
}

static bool is_empty(const struct inventory *inv, size_t at)
{
	for (size_t r = 0; r < inv->n_resources; r++)
		if (inventory_amount(inv, at, r)->present)
			return false;
	return true;
}

static int by_id(const void *va, const void *vb, void *data)
{
	const struct inventory *inv = data;
	unsigned a = inv->nodes[*(const size_t *)va].id, b = inv->nodes[*(const size_t *)vb].id;

	return (a > b) - (a < b);
}

static int zones_init(struct zones *z, const struct zone_facts *facts, struct err *err)
{
	const struct inventory *inv = facts->inventory;
	uint64_t cpus = 0;

	*z = (struct zones){.facts = facts, .inv = inv, .cpu = inventory_resource(inv, "cpu")};
	z->order = xcalloc(inv->n_nodes + 1, sizeof(*z->order));
	for (size_t i = 0; i < inv->n_nodes; i++)
		if (!is_empty(inv, i))
			z->order[z->n++] = i;
	vec_sort(z->order, z->n, sizeof(*z->order), by_id, facts->inventory);
	for (size_t i = 0; i < z->n; i++) {
		uint64_t own = units_of(inv, z->order[i], z->cpu).capacity;

		if (i > 0 && inv->nodes[z->order[i]].id == inv->nodes[z->order[i - 1]].id)
			return err_set(
				err, -EINVAL, "NUMA node %u appears twice", inv->nodes[z->order[i]].id);
		/* Without a sum if this zone alone has too many CPUs. */
		cpus = own > MACHINE_MAX_CPUS ? own : cpus + own;
		if (cpus > MACHINE_MAX_CPUS)
			return err_set(err, -ERANGE, "%llu CPUs, at most %d are supported",
				(unsigned long long)cpus, MACHINE_MAX_CPUS);
	}
	return 0;
}

/* ---- CPUs */

/* Adds a CPU to the NUMA node that was added last, whose id is `node`: each zone counts as a socket. */
static void add_cpu(struct node_state *s, unsigned id, unsigned core, unsigned node)
{
	struct machine *m = &s->machine;
	struct cpu *cpu = vec_push(&m->cpus, &m->n_cpus, &m->cpus_size, sizeof(*cpu));

	*cpu = (struct cpu){
		.id = id, .core = core, .socket = (int)node, .numa = MACHINE_NONE, .l3 = MACHINE_NONE};
	cpuset_set(m->nodes[m->n_nodes - 1].cpus, id);
}

/* Adds the NUMA node of the zone at index `at`. The first CPUs are reserved and the last CPUs are available; the other CPUs are added to
 * `held`. Reserved CPUs are in the shared pool, too. Under full-pcpus-only two CPUs are a core. *next: the next CPU's id. */
static void add_numa_node(
	const struct zones *z, size_t at, unsigned *next, struct node_state *s, hwloc_bitmap_t held)
{
	const struct units u = units_of(z->inv, at, z->cpu);
	struct machine *m = &s->machine;
	struct numa_node *node = vec_push(&m->nodes, &m->n_nodes, &m->nodes_size, sizeof(*node));
	unsigned core = 0;

	node->id = z->inv->nodes[at].id;
	node->cpus = cpuset_new();
	node->memory_bytes = units_of(z->inv, at, inventory_resource(z->inv, "memory")).capacity;
	for (uint64_t i = 0; i < u.capacity; i++) {
		bool reserved = i < u.capacity - u.allocatable, available = i >= u.capacity - u.available;
		unsigned id = (*next)++;

		if (i % 2 == 0 || !z->facts->full_pcpus_only)
			core = id;
		add_cpu(s, id, core, node->id);
		if (reserved)
			cpuset_set(s->reserved.cpus, id);
		if (reserved || available)
			cpuset_set(s->allocations.shared, id);
		if (!reserved && !available)
			cpuset_set(held, id);
	}
}

/* The costs between NUMA nodes. */
static void copy_distances(const struct zones *z, struct machine *m)
{
	m->distances = xcalloc(z->n * z->n + 1, sizeof(*m->distances));
	for (size_t i = 0; i < z->n; i++)
		for (size_t j = 0; j < z->n; j++)
			m->distances[i * z->n + j] =
				z->inv->costs[z->order[i] * z->inv->n_nodes + z->order[j]];
}

static void make_machine(const struct zones *z, struct node_state *s, hwloc_bitmap_t held)
{
	unsigned next = 0;

	for (size_t i = 0; i < z->n; i++)
		add_numa_node(z, z->order[i], &next, s, held);
	machine_derive(&s->machine);
	copy_distances(z, &s->machine);
}

/* ---- memory */

static bool is_memory(const char *resource)
{
	return !strcmp(resource, "memory") || resource_name_is_hugepages(resource);
}

/* Whether memory or hugepages are not available in some zone. The capacity of memory includes hugepages, the available amount does not. */
static bool has_unavailable_memory(const struct zones *z)
{
	for (size_t i = 0; i < z->n; i++) {
		uint64_t memory = 0, memory_available = 0, hugepages = 0;

		for (size_t r = 0; r < z->inv->n_resources; r++) {
			struct units u = units_of(z->inv, z->order[i], (int)r);

			if (resource_name_is_hugepages(z->inv->resources[r])) {
				hugepages += u.capacity;
				if (u.available < u.capacity)
					return true;
			} else if (!strcmp(z->inv->resources[r], "memory")) {
				memory = u.capacity;
				memory_available = u.available;
			}
		}
		if (hugepages < memory && memory_available < memory - hugepages)
			return true;
	}
	return false;
}

static void add_table(struct memory_node *node, const char *type, struct units u)
{
	struct memory_table *t = vec_push(&node->tables, &node->n_tables, &node->tables_size, sizeof(*t));

	*t = (struct memory_table){.type = xstrdup(type),
		.total = u.capacity,
		.system_reserved = u.capacity - u.allocatable,
		.allocatable = u.allocatable,
		.reserved = u.allocatable - u.available,
		.free = u.available};
	node->assignments += t->reserved > 0;
}

static void add_block(struct allocation *holder, const char *type, uint64_t bytes, unsigned node)
{
	struct memory_block *b;

	if (bytes == 0)
		return;
	b = vec_push(&holder->memory, &holder->n_memory, &holder->memory_size, sizeof(*b));
	*b = (struct memory_block){.type = xstrdup(type), .bytes = bytes, .nodes = cpuset_new()};
	cpuset_set(b->nodes, node);
}

/* The memory manager's tables. A NUMA node whose memory is held is a group of its own. */
static void make_memory(const struct zones *z, struct node_state *s, struct allocation *holder)
{
	struct memory_state *m = &s->allocations.memory;

	s->allocations.memory_known = true;
	for (size_t i = 0; i < z->n; i++) {
		unsigned id = z->inv->nodes[z->order[i]].id;
		struct memory_node *node = vec_push(&m->nodes, &m->n_nodes, &m->nodes_size, sizeof(*node));

		node->id = id;
		node->cells = cpuset_new();
		cpuset_set(node->cells, id);
		for (size_t r = 0; r < z->inv->n_resources; r++) {
			const char *type = z->inv->resources[r];
			struct units u = units_of(z->inv, z->order[i], (int)r);

			if (is_memory(type)) {
				add_table(node, type, u);
				add_block(holder, type, u.allocatable - u.available, id);
			}
		}
	}
}

/* ---- devices */

/* Adds a block with the devices `first` to `end` - 1 of the NUMA node. */
static void add_devices(struct device_block **blocks, size_t *n_blocks, size_t *blocks_size,
	const char *resource, unsigned node, uint64_t first, uint64_t end)
{
	struct device_block *block;

	if (first >= end)
		return;
	block = vec_push(blocks, n_blocks, blocks_size, sizeof(*block));
	*block = (struct device_block){.resource = xstrdup(resource), .nodes = cpuset_new()};
	cpuset_set(block->nodes, node);
	for (uint64_t i = first; i < end; i++)
		strv_take(&block->ids, xasprintf("node-%u/%llu", node, (unsigned long long)i));
}

/* Makes devices "node-ID/0" and on of each NUMA node, of which the holder has those that are not available: the last ones. */
static int make_devices(
	const struct zones *z, struct node_state *s, struct allocation *holder, struct err *err)
{
	struct allocations *a = &s->allocations;
	uint64_t all = 0;

	a->devices_known = true;
	for (size_t r = 0; r < z->inv->n_resources; r++) {
		const char *name = z->inv->resources[r];

		for (size_t i = 0; i < z->n && !resource_name_is_native(name); i++) {
			struct units u = units_of(z->inv, z->order[i], (int)r);
			unsigned node = z->inv->nodes[z->order[i]].id;

			/* Limited before the sum, which could overflow. */
			all = u.allocatable > ZONE_STATE_MAX_DEVICES ? u.allocatable : all + u.allocatable;
			if (all > ZONE_STATE_MAX_DEVICES)
				return err_set(err, -ERANGE, "%.100s: %llu devices, at most %d are supported",
					name, (unsigned long long)all, ZONE_STATE_MAX_DEVICES);
			add_devices(&a->registered, &a->n_registered, &a->registered_size, name, node, 0,
				u.allocatable);
			add_devices(&holder->devices, &holder->n_devices, &holder->devices_size, name, node,
				u.available, u.allocatable);
		}
	}
	return 0;
}

/* ---- settings */

static bool are_distances_known(const struct machine *m)
{
	for (size_t i = 0; i < m->n_nodes * m->n_nodes; i++)
		if (m->distances[i] == INVENTORY_COST_UNKNOWN)
			return false;
	return true;
}

/*
 * Sets unknown settings to values with which a kubelet starts, because the node's kubelet runs: a Topology Manager policy and
 * full-pcpus-only are of use with the CPU manager's policy static only (zone_state_make()).
 */
static void make_settings(const struct zones *z, struct node_state *s)
{
	const struct zone_facts *f = z->facts;
	struct settings *to = &s->settings;
	const struct topology_manager_config *topology = f->topology ? f->topology : &z->inv->topology;
	bool needs_static = topology->policy != TOPOLOGY_MANAGER_NONE || f->full_pcpus_only;
	int memory = inventory_resource(z->inv, "memory");

	to->topology = *topology;
	if (to->topology.max_numa_nodes < z->n)
		to->topology.max_numa_nodes = (unsigned)z->n;
	to->topology.prefer_closest_numa_nodes =
		to->topology.prefer_closest_numa_nodes && are_distances_known(&s->machine);
	to->cpu_options.full_pcpus_only = f->full_pcpus_only;
	to->cpu_manager = f->cpu_manager;
	if (to->cpu_manager == CPU_MANAGER_UNKNOWN)
		to->cpu_manager = needs_static ? CPU_MANAGER_STATIC : CPU_MANAGER_NONE;
	to->memory_manager = f->memory_manager;
	if (to->memory_manager == MEMORY_MANAGER_UNKNOWN)
		to->memory_manager = has_unavailable_memory(z) ? MEMORY_MANAGER_STATIC : MEMORY_MANAGER_NONE;
	/* Static has memory blocks, which say what pods hold. Without them all memory that is not available counts as reserved. */
	for (size_t i = 0; i < z->n; i++) {
		struct units u = units_of(z->inv, z->order[i], memory);
		bool has_blocks = to->memory_manager == MEMORY_MANAGER_STATIC;

		to->system_reserved_memory +=
			(qty_t)(u.capacity - (has_blocks ? u.allocatable : u.available)) * QTY_UNIT;
	}
}

static int make_state(const struct zones *z, struct node_state *s, struct err *err)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t held = cpuset_new();
	struct allocation *holder = allocations_add(&s->allocations);

	s->allocations.cpus_known = true;
	s->allocations.shared = cpuset_new();
	s->reserved =
		(struct reserved_cpus){.cpus = cpuset_new(), .observed = true, .from = xstrdup("the zones")};
	make_machine(z, s, held);
	make_settings(z, s);
	cpuset_copy(holder->cpus, held);
	if (s->settings.memory_manager == MEMORY_MANAGER_STATIC)
		make_memory(z, s, holder);
	return make_devices(z, s, holder, err);
}

int zone_state_make(
	const char *node_name, const struct zone_facts *facts, struct node_state *ret, struct err *err)
{
	CLEANUP(zones_release) struct zones zones = {0};
	CLEANUP(node_state_release) struct node_state s;
	int r = zones_init(&zones, facts, err);

	node_state_init(&s);
	if (r < 0)
		return r;
	s.node_name = xstrdup(node_name);
	r = make_state(&zones, &s, err);
	if (r < 0)
		return r;
	s.inventory = *facts->inventory;
	inventory_init(facts->inventory);
	*ret = s;
	node_state_init(&s);
	return 0;
}

/* ---- without an estimate */

static int check_amounts(const struct inventory *inv, struct err *err)
{
	for (size_t i = 0; i < inv->n_nodes * inv->n_resources; i++) {
		const struct inventory_amount *a = &inv->amounts[i];

		if (a->capacity < 0 || a->allocatable < 0 || a->available < 0)
			return err_set(err, -EINVAL, "zone 'node-%u', resource '%s': %s is negative",
				inv->nodes[i / inv->n_resources].id, inv->resources[i % inv->n_resources],
				a->capacity < 0      ? "capacity"
				: a->allocatable < 0 ? "allocatable"
						     : "available");
	}
	return 0;
}

/* The zones' inventory, a row per NUMA node of the machine. */
static void copy_inventory(const struct zones *z, struct inventory *ret)
{
	const struct inventory *from = z->inv;

	inventory_shape(ret, z->n, (const char *const *)from->resources, from->n_resources);
	ret->topology = from->topology;
	for (size_t i = 0; i < z->n; i++) {
		ret->nodes[i] = from->nodes[z->order[i]];
		for (size_t r = 0; r < from->n_resources; r++)
			*inventory_amount(ret, i, r) = *inventory_amount(from, z->order[i], r);
	}
}

static const struct doc *find_zone(const struct doc *zones, unsigned id)
{
	DOC_FOREACH_ITEM (zone, zones)
		if (nrt_zone_node(zone) == (int)id)
			return zone;
	return NULL;
}

/* The attribute "cpus", an empty set without it. */
static int read_cpus(const struct doc *zone, hwloc_bitmap_t *ret, struct err *err)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = NULL;
	const char *list = nrt_attribute(zone, "cpus");
	int r = cpuset_parse(text_or_empty(list), &cpus, err);

	if (r == 0 && hwloc_bitmap_last(cpus) >= MACHINE_MAX_CPUS)
		r = err_set(err, -ERANGE, "CPU %d: an id of %d or above is not supported",
			hwloc_bitmap_last(cpus), MACHINE_MAX_CPUS);
	if (r < 0)
		return err_wrap(err, r, "zone '%.60s', attribute 'cpus'", doc_text(zone, "name"));
	*ret = TAKE(cpus);
	return 0;
}

/* N of a parent "socket-N", else MACHINE_NONE. */
static int socket_of(const struct doc *zone)
{
	static const char prefix[] = "socket-";
	const char *parent = doc_text(zone, "parent"), *digits;

	if (strncmp(parent, prefix, sizeof(prefix) - 1) != 0)
		return MACHINE_NONE;
	digits = parent + sizeof(prefix) - 1;
	if (!*digits || strlen(digits) > 5 || strspn(digits, "0123456789") != strlen(digits))
		return MACHINE_NONE;
	return (int)strtoul(digits, NULL, 10);
}

static void add_to_socket(struct machine *m, int id, hwloc_const_bitmap_t cpus)
{
	struct socket_info *s = NULL;

	for (size_t i = 0; i < m->n_sockets && !s; i++)
		if (m->sockets[i].id == id)
			s = &m->sockets[i];
	if (!s) {
		s = vec_push(&m->sockets, &m->n_sockets, &m->sockets_size, sizeof(*s));
		s->id = id;
		s->cpus = cpuset_new();
	}
	cpuset_or(s->cpus, s->cpus, cpus);
}

/* A CPU on several nodes belongs to the first. */
static void add_cpus_of_nodes(struct machine *m)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t all = cpuset_new();

	for (size_t i = 0; i < m->n_nodes; i++)
		cpuset_or(all, all, m->nodes[i].cpus);
	for (int id = hwloc_bitmap_first(all); id >= 0; id = hwloc_bitmap_next(all, id)) {
		struct cpu *cpu = vec_push(&m->cpus, &m->n_cpus, &m->cpus_size, sizeof(*cpu));

		*cpu = (struct cpu){.id = (unsigned)id,
			.core = (unsigned)id,
			.socket = MACHINE_NONE,
			.numa = MACHINE_NONE,
			.l3 = MACHINE_NONE};
		for (size_t i = 0; i < m->n_sockets && cpu->socket == MACHINE_NONE; i++)
			if (hwloc_bitmap_isset(m->sockets[i].cpus, cpu->id))
				cpu->socket = m->sockets[i].id;
	}
	machine_derive(m);
	m->n_cores = 0; /* unknown: above, each CPU is a core only because a CPU needs one */
}

static int add_numa_nodes(const struct zones *z, const struct doc *zones, struct machine *m, struct err *err)
{
	int memory = inventory_resource(z->inv, "memory");

	for (size_t i = 0; i < z->n; i++) {
		unsigned id = z->inv->nodes[z->order[i]].id;
		const struct doc *zone = find_zone(zones, id);
		hwloc_bitmap_t cpus = NULL;
		struct numa_node *node;
		int r = read_cpus(zone, &cpus, err);

		if (r < 0)
			return r;
		node = vec_push(&m->nodes, &m->n_nodes, &m->nodes_size, sizeof(*node));
		node->id = id;
		node->cpus = cpus;
		node->memory_bytes = units_of(z->inv, z->order[i], memory).capacity;
		if (socket_of(zone) != MACHINE_NONE)
			add_to_socket(m, socket_of(zone), cpus);
	}
	add_cpus_of_nodes(m);
	/* machine_derive() has set the socket of each node with CPUs, from its CPUs. */
	for (size_t i = 0; i < m->n_nodes; i++)
		if (hwloc_bitmap_iszero(m->nodes[i].cpus))
			m->nodes[i].socket = socket_of(find_zone(zones, m->nodes[i].id));
	return 0;
}

/* No distances if none between two different NUMA nodes is known. */
static void add_distances(const struct zones *z, struct machine *m)
{
	copy_distances(z, m);
	for (size_t i = 0; i < m->n_nodes * m->n_nodes; i++)
		if (i / m->n_nodes != i % m->n_nodes && m->distances[i] != INVENTORY_COST_UNKNOWN)
			return;
	free(m->distances);
	m->distances = NULL;
}

int zone_state_known(const char *node_name, const struct zone_facts *facts, const struct doc *zones,
	struct node_state *ret, struct err *err)
{
	CLEANUP(zones_release) struct zones z = {0};
	CLEANUP(node_state_release) struct node_state s;
	int r = check_amounts(facts->inventory, err);

	node_state_init(&s);
	if (r < 0)
		return r;
	r = zones_init(&z, facts, err);
	if (r < 0)
		return r;
	r = add_numa_nodes(&z, zones, &s.machine, err);
	if (r < 0)
		return r;
	s.node_name = xstrdup(node_name);
	add_distances(&z, &s.machine);
	copy_inventory(&z, &s.inventory);
	s.settings.cpu_manager = facts->cpu_manager;
	s.settings.memory_manager = facts->memory_manager;
	if (facts->cpu_manager == CPU_MANAGER_NONE)
		s.reserved.cpus = cpuset_new(); /* no CPU is reserved */
	*ret = s;
	node_state_init(&s);
	return 0;
}
