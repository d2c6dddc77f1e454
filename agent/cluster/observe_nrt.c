/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Observes a remote machine through its NodeResourceTopology object.
 */
#include "agent/cluster/nrt_parse.h"

#include <errno.h>
#include <limits.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define SOCKET_PREFIX "socket-"
#define SOCKET_MAX    65535

struct nrt_observation {
	struct node_state node;
	struct notes notes;
};

static void nrt_observation_init(struct nrt_observation *o)
{
	node_state_init(&o->node);
	o->notes = (struct notes){0};
}

static void nrt_observation_release(struct nrt_observation *o)
{
	node_state_release(&o->node);
	notes_release(&o->notes);
}

/* ---- zones */

static struct doc *zones_of(struct doc *object)
{
	struct doc *zones = NULL;

	DOC_FOREACH (member, object)
		if (member->key && !strcmp(member->key, "zones") && member->kind == DOC_LIST)
			zones = member;
	return zones;
}

static bool is_type(const struct doc *zone, const char *want)
{
	const char *type = doc_string(doc_get(zone, "type"));

	return type && !strcmp(type, want);
}

/* Exporters list every id up to the highest, because readers index the list by id. A zone that fills a gap has only a name. */
static bool is_filler(const struct doc *zone)
{
	return nrt_zone_node(zone) >= 0 && !doc_get(zone, "resources") && !doc_get(zone, "attributes") &&
	       !doc_get(zone, "costs");
}

/* NUMA nodes by id, then all other zones. */
static int by_node(const void *va, const void *vb)
{
	int a = nrt_zone_node(va), b = nrt_zone_node(vb);

	if (a < 0 || b < 0)
		return (a < 0) - (b < 0);
	return (a > b) - (a < b);
}

/* Removes fillers and sorts the zones. */
static int arrange_zones(struct doc *zones, struct err *err)
{
	size_t kept = 0;

	for (size_t i = 0; i < zones->n_items; i++) {
		if (is_filler(&zones->items[i]))
			doc_release(&zones->items[i]);
		else
			zones->items[kept++] = zones->items[i];
	}
	zones->n_items = kept;
	if (kept > 1)
		qsort(zones->items, kept, sizeof(*zones->items), by_node);
	for (size_t i = 1; i < kept; i++) {
		int id = nrt_zone_node(&zones->items[i]);

		if (id >= 0 && id == nrt_zone_node(&zones->items[i - 1]))
			return err_set(err, -EINVAL, "NUMA node %d appears twice", id);
	}
	return 0;
}

/* The attribute "cpus" of a zone; an empty set if the zone has no such attribute. */
static int read_cpus(const struct doc *zone, hwloc_bitmap_t *ret, struct err *err)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = NULL;
	struct nrt_attribute attributes[NRT_MAX_ATTRIBUTES];
	size_t n = nrt_attributes(zone, attributes);
	const char *list = "";
	int r;

	for (size_t i = 0; i < n; i++)
		if (!strcmp(attributes[i].name, "cpus"))
			list = attributes[i].value;
	r = cpuset_parse(list, &cpus, err);
	if (r == 0 && hwloc_bitmap_last(cpus) >= MACHINE_MAX_CPUS)
		r = err_set(err, -ERANGE, "CPU %d: an id of %d or above is not supported",
			hwloc_bitmap_last(cpus), MACHINE_MAX_CPUS);
	if (r < 0)
		return err_wrap(err, r, "zone '%.60s', attribute 'cpus'", doc_string(doc_get(zone, "name")));
	*ret = TAKE(cpus);
	return 0;
}

/* ---- sockets */

/* The id in the name of a Socket zone such as "socket-1", else the index among the Socket zones; MACHINE_NONE = no such
 * zone. */
static int socket_id(const struct doc *zones, const char *name)
{
	int at = 0;

	if (name && !strncmp(name, SOCKET_PREFIX, strlen(SOCKET_PREFIX))) {
		const char *digits = name + strlen(SOCKET_PREFIX);
		unsigned long id = strtoul(digits, NULL, 10);

		if (*digits && strspn(digits, "0123456789") == strlen(digits) && id <= SOCKET_MAX)
			return (int)id;
	}
	DOC_FOREACH (zone, zones) {
		const char *other = doc_string(doc_get(zone, "name"));

		if (!is_type(zone, "Socket"))
			continue;
		if (name && other && !strcmp(name, other))
			return at;
		at++;
	}
	return MACHINE_NONE;
}

/* Adds CPUs to the socket with this id. */
static void add_socket(struct machine *m, int id, hwloc_const_bitmap_t cpus)
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

static int socket_of_cpu(const struct machine *m, unsigned id)
{
	for (size_t i = 0; i < m->n_sockets; i++)
		if (hwloc_bitmap_isset(m->sockets[i].cpus, id))
			return m->sockets[i].id;
	return MACHINE_NONE;
}

/* ---- the machine */

/* Adds a zone's NUMA node and socket, and their CPUs to `all`. */
static int add_zone(struct nrt_observation *o, const struct doc *zones, const struct doc *zone,
	hwloc_bitmap_t all, struct err *err)
{
	const char *name = doc_string(doc_get(zone, "name")), *parent = doc_string(doc_get(zone, "parent"));
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = NULL;
	struct machine *m = &o->node.machine;
	int node = nrt_zone_node(zone), socket, r;
	struct numa_node *slot;

	if (node < 0 && !is_type(zone, "Socket")) {
		if (is_type(zone, "Node"))
			notes_add(&o->notes,
				"zone '%s' is omitted: schedulers know only the names node-0 to node-63",
				name ? name : "");
		return 0;
	}
	r = read_cpus(zone, &cpus, err);
	if (r < 0)
		return r;
	socket = socket_id(zones, node >= 0 ? parent : name);
	cpuset_or(all, all, cpus);
	if (socket >= 0)
		add_socket(m, socket, cpus);
	if (node < 0)
		return 0;
	slot = vec_push(&m->nodes, &m->n_nodes, &m->nodes_size, sizeof(*slot));
	slot->id = (unsigned)node;
	slot->cpus = TAKE(cpus);
	return 0;
}

/* Sets what machine_derive() cannot know: memory, and the socket of a NUMA node whose CPUs are unknown. */
static void finish_nodes(struct nrt_observation *o, const struct doc *zones)
{
	int memory = inventory_resource(&o->node.inventory, "memory");

	for (size_t i = 0; i < o->node.machine.n_nodes; i++) {
		struct numa_node *node = &o->node.machine.nodes[i];
		qty_t bytes = memory < 0 ? 0
					 : inventory_amount(&o->node.inventory, i, (size_t)memory)->capacity /
						   QTY_UNIT;

		if (node->socket == MACHINE_NONE && hwloc_bitmap_iszero(node->cpus))
			node->socket = socket_id(zones, doc_string(doc_get(&zones->items[i], "parent")));
		node->memory_bytes = bytes > (qty_t)UINT64_MAX ? UINT64_MAX : (uint64_t)bytes;
	}
}

/* Copies the costs, unless only the costs of NUMA nodes to themselves are known. */
static void copy_distances(const struct inventory *inv, struct machine *m)
{
	size_t n = inv->n_nodes;
	bool known = false;

	for (size_t i = 0; i < n * n; i++)
		known = known || (i / n != i % n && inv->costs[i] != INVENTORY_COST_UNKNOWN);
	if (!known)
		return;
	m->distances = xcalloc(n * n, sizeof(*m->distances));
	memcpy(m->distances, inv->costs, n * n * sizeof(*m->distances));
}

/* The nodes of the inventory, which is set already, are the first zones. */
static int make_machine(const struct doc *zones, struct nrt_observation *o, struct err *err)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t all = cpuset_new();
	struct machine *m = &o->node.machine;
	int r = 0;

	for (size_t i = 0; r == 0 && i < zones->n_items; i++)
		r = add_zone(o, zones, &zones->items[i], all, err);
	if (r < 0)
		return r;
	for (int id = hwloc_bitmap_first(all); id >= 0; id = hwloc_bitmap_next(all, id)) {
		struct cpu *cpu = vec_push(&m->cpus, &m->n_cpus, &m->cpus_size, sizeof(*cpu));

		*cpu = (struct cpu){.id = (unsigned)id,
			.core = (unsigned)id,
			.socket = socket_of_cpu(m, (unsigned)id),
			.numa = MACHINE_NONE,
			.l3 = MACHINE_NONE};
	}
	machine_derive(m);
	m->n_cores = 0;
	finish_nodes(o, zones);
	copy_distances(&o->node.inventory, m);
	return 0;
}

/* ---- amounts and settings */

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

static void read_settings(const struct doc *object, struct settings *s)
{
	struct nrt_attribute attributes[NRT_MAX_ATTRIBUTES];
	size_t n = nrt_attributes(object, attributes);
	char **text;

	s->cpu_manager = nrt_cpu_manager(object);
	s->memory_manager = nrt_memory_manager(object);
	nrt_topology_settings(object, &s->topology);
	for (size_t i = 0; i < n; i++) {
		text = NULL;
		if (!strcmp(attributes[i].name, "cpuManagerPolicyOptions"))
			text = &s->cpu_options_text;
		else if (!strcmp(attributes[i].name, "topologyManagerPolicyOptions"))
			text = &s->topology_options_text;
		if (!text)
			continue;
		free(*text);
		*text = xstrdup(attributes[i].value);
	}
}

static void note_unknowns(struct nrt_observation *o)
{
	size_t without_cpus = 0;

	for (size_t i = 0; i < o->node.machine.n_nodes; i++) {
		int cpu = inventory_resource(&o->node.inventory, "cpu");

		without_cpus += hwloc_bitmap_iszero(o->node.machine.nodes[i].cpus) && cpu >= 0 &&
				inventory_amount(&o->node.inventory, i, (size_t)cpu)->capacity > 0;
	}
	notes_add(&o->notes,
		"drawn from a NodeResourceTopology object, which does not name the holders of resources");
	if (without_cpus > 0)
		notes_add(&o->notes, "CPUs of zones without the attribute 'cpus' are counted and not drawn");
}

/* ---- the observation */

static int read_inventory(
	const struct doc *object, const char *name, struct nrt_observation *o, struct err *err)
{
	int r;

	if (!name)
		return err_set(err, -EINVAL, "a NodeResourceTopology without a name");
	r = nrt_inventory(object, &o->node.inventory, err);
	if (r < 0)
		return err_wrap(err, r, "NodeResourceTopology '%s'", name);
	o->node.node_name = xstrdup(name);
	return 0;
}

static int read_rest(
	const struct doc *object, const struct doc *zones, struct nrt_observation *o, struct err *err)
{
	int r = check_amounts(&o->node.inventory, err);

	if (r == 0)
		r = make_machine(zones, o, err);
	if (r < 0)
		return r;
	read_settings(object, &o->node.settings);
	if (o->node.settings.cpu_manager == CPU_MANAGER_NONE)
		o->node.reserved.cpus = cpuset_new(); /* no CPU is reserved */
	note_unknowns(o);
	return 0;
}

int observe_nrt(struct doc *object, struct node_state *ret, struct notes *ret_notes, struct err *err)
{
	CLEANUP(nrt_observation_release) struct nrt_observation o;
	const char *name = doc_string(doc_get(doc_get(object, "metadata"), "name"));
	struct doc *zones = zones_of(object);
	int r;

	nrt_observation_init(&o);
	if (!zones)
		return err_set(err, -EINVAL, "NodeResourceTopology '%s': no zones in it", name ? name : "");
	r = arrange_zones(zones, err);
	if (r < 0)
		return err_wrap(err, r, "NodeResourceTopology '%s'", name ? name : "");
	r = read_inventory(object, name, &o, err);
	if (r < 0)
		return r;
	r = read_rest(object, zones, &o, err);
	if (r < 0)
		return err_wrap(err, r, "NodeResourceTopology '%s'", o.node.node_name);
	*ret = o.node;
	*ret_notes = o.notes;
	nrt_observation_init(&o);
	return 0;
}
