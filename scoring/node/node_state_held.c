/* SPDX-License-Identifier: Apache-2.0 */
/* The kubelet managers' state, as sections of the node state: the shared pool, memory, devices. */
#include "scoring/node/node_state_sections.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/resource.h"
#include "common/vec.h"
#include "common/xalloc.h"

/* ---- unknown facts */

struct fact {
	const char *name;
	size_t offset; /* of a bool in struct allocations */
};

static const struct fact facts[] = {
	{"cpus", offsetof(struct allocations, cpus_known)},
	{"memory", offsetof(struct allocations, memory_known)},
	{"devices", offsetof(struct allocations, devices_known)},
	{"registered", offsetof(struct allocations, registered_known)},
};

static bool print_unknown(const struct node_state_printer *p)
{
	const char *base = (const char *)&p->state->allocations, *comma = "";

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		if (!*(const bool *)(base + facts[i].offset)) {
			strbuf_addf(p->out, "%s%s", comma, facts[i].name);
			comma = ",";
		}
	return *comma != '\0';
}

void node_state_know_all(struct node_state_parser *p)
{
	char *base = (char *)&p->state.allocations;

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		*(bool *)(base + facts[i].offset) = true;
}

/* node_state_know_all() has set every fact to known: the section lists those that are not. */
static void parse_unknown(struct node_state_parser *p)
{
	char *base = (char *)&p->state.allocations;
	struct token_reader *r = &p->reader;

	do {
		size_t i = 0;

		while (i < ARRAY_SIZE(facts) && !token_reader_skip_word(r, facts[i].name))
			i++;
		if (i == ARRAY_SIZE(facts))
			token_reader_fail(r, "an unknown word");
		else
			*(bool *)(base + facts[i].offset) = false;
	} while (token_reader_skip(r, ','));
}

/* ---- the shared pool: nearly always the rest of the CPUs */

/* The CPUs that the kubelet counts, minus held CPUs, and minus `reserved` unless NULL. A new bitmap. */
static hwloc_bitmap_t subtract_held_cpus(const struct node_state *state, hwloc_const_bitmap_t reserved)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t held = allocations_exclusive_cpus(&state->allocations);
	hwloc_bitmap_t set = machine_counted_cpus(&state->machine);

	cpuset_andnot(set, set, held);
	if (reserved)
		cpuset_andnot(set, set, reserved);
	return set;
}

static bool print_shared(const struct node_state_printer *p)
{
	const struct node_state *s = p->state;
	hwloc_const_bitmap_t shared = s->allocations.shared,
			     reserved = s->reserved.observed ? s->reserved.cpus : NULL;
	CLEANUP(cpuset_freep) hwloc_bitmap_t rest = NULL;
	CLEANUP(cpuset_freep) hwloc_bitmap_t unreserved = NULL;

	if (!shared)
		return false;
	rest = subtract_held_cpus(s, NULL);
	unreserved = subtract_held_cpus(s, reserved);
	if (hwloc_bitmap_isequal(shared, rest))
		strbuf_addstr(p->out, "rest");
	else if (hwloc_bitmap_isequal(shared, unreserved))
		strbuf_addstr(p->out, "unreserved");
	else
		token_add_set(p->out, shared, MACHINE_MAX_CPUS - 1);
	return true;
}

static void parse_shared(struct node_state_parser *p)
{
	if (token_reader_skip_word(&p->reader, "rest"))
		p->shared = PARSED_SHARED_REST;
	else if (token_reader_skip_word(&p->reader, "unreserved"))
		p->shared = PARSED_SHARED_UNRESERVED;
	else
		p->state.allocations.shared = token_reader_set(&p->reader, MACHINE_MAX_CPUS - 1);
}

void node_state_finish_shared(struct node_state_parser *p)
{
	hwloc_const_bitmap_t reserved = p->shared == PARSED_SHARED_UNRESERVED ? p->reserved : NULL;

	if (!p->reader.error && p->shared != PARSED_SHARED_LISTED)
		p->state.allocations.shared = subtract_held_cpus(&p->state, reserved);
}

/* ---- types of memory, which later sections name by small letters */

static bool print_types(const struct node_state_printer *p)
{
	for (size_t i = 0; i < p->types.n_items; i++) {
		strbuf_addstr(p->out, i > 0 ? "," : "");
		token_add_name(p->out, p->types.items[i]);
	}
	return p->types.n_items > 0;
}

static void parse_types(struct node_state_parser *p)
{
	struct token_reader *r = &p->reader;
	struct strv *types = &p->types;

	do {
		char *name = token_reader_name(r);

		if (name)
			strv_take(types, name);
		if (r->error)
			return;
		if (types->n_items > NODE_STATE_MAX_TYPES ||
			(types->n_items > 1 && strcmp(types->items[types->n_items - 2], name) >= 0))
			token_reader_fail(r, "types are not in ascending order, or too many");
	} while (token_reader_skip(r, ','));
}

size_t node_state_type(const struct node_state_printer *p, const char *name)
{
	size_t i = 0;

	while (i < p->types.n_items && strcmp(p->types.items[i], name) != 0)
		i++;
	return i;
}

/* ---- reservedMemory: "b0:1Gi" */

static bool print_numa_reserved(const struct node_state_printer *p)
{
	const struct settings *s = &p->state->settings;

	for (size_t i = 0; i < s->n_memory_reservations; i++) {
		const struct memory_reservation *m = &s->memory_reservations[i];

		strbuf_addstr(p->out, i > 0 ? "," : "");
		token_add_letters(p->out, 'a', node_state_type(p, m->type));
		strbuf_addf(p->out, "%u:", m->node);
		token_add_quantity(p->out, m->bytes);
	}
	return s->n_memory_reservations > 0;
}

static void parse_numa_reserved(struct node_state_parser *p)
{
	struct settings *s = &p->state.settings;
	struct token_reader *r = &p->reader;

	do {
		size_t type = token_reader_letters(r, 'a', p->types.n_items);
		unsigned node = (unsigned)token_reader_number(r, MACHINE_MAX_NODES - 1);
		struct memory_reservation *m;

		token_reader_expect(r, ':');
		if (r->error)
			return;
		m = vec_push(&s->memory_reservations, &s->n_memory_reservations, &s->memory_reservations_size,
			sizeof(*m));
		*m = (struct memory_reservation){.node = node, .type = xstrdup(p->types.items[type])};
		m->bytes = token_reader_quantity(r);
	} while (token_reader_skip(r, ','));
}

/* ---- the memory manager's tables */

/* The total of a table that the text omits: what the machine's NUMA node has. */
static uint64_t default_total(const struct machine *m, unsigned id, const char *type)
{
	static const char hugepages[] = "hugepages-";
	int at = machine_node_index(m, id);
	struct quantity size;

	if (at < 0)
		return 0;
	if (!strcmp(type, "memory"))
		return m->nodes[at].memory_bytes;
	if (strncmp(type, hugepages, strlen(hugepages)) != 0 ||
		quantity_parse(type + strlen(hugepages), &size, NULL) < 0)
		return 0;
	for (size_t i = 0; i < m->nodes[at].n_pools; i++) {
		const struct hugepage_pool *pool = &m->nodes[at].pools[i];

		if ((qty_t)pool->page_bytes * QTY_UNIT == size.nano)
			return pool->page_bytes * pool->pages;
	}
	return 0;
}

/* The allocatable amount that the text omits. As the kubelet counts: the total without what the system reserves, and for memory without
 * the hugepages. */
static uint64_t default_allocatable(const struct memory_node *node, const struct memory_table *t)
{
	uint64_t amount = t->total - t->system_reserved;

	for (size_t i = 0; i < node->n_tables && !strcmp(t->type, "memory"); i++)
		if (resource_name_is_hugepages(node->tables[i].type))
			amount -= node->tables[i].total;
	return amount;
}

/* `values`: pairs of value and default. Prints nothing for a value that is its default; those at the end lack their '/' too. */
static void print_table_values(struct strbuf *out, const uint64_t (*values)[2], size_t n)
{
	size_t end = n;

	while (end > 0 && values[end - 1][0] == values[end - 1][1])
		end--;
	for (size_t i = 0; i < end; i++) {
		strbuf_addstr(out, i > 0 ? "/" : "");
		if (values[i][0] != values[i][1])
			token_add_bytes(out, values[i][0]);
	}
}

static void print_memory_table(
	const struct node_state_printer *p, const struct memory_node *node, const struct memory_table *t)
{
	const uint64_t values[][2] = {
		{t->system_reserved, 0},
		{t->reserved, 0},
		{t->total, default_total(&p->state->machine, node->id, t->type)},
		{t->allocatable, default_allocatable(node, t)},
		{t->free, t->allocatable - t->reserved},
	};

	print_table_values(p->out, values, ARRAY_SIZE(values));
}

/* "0@0-1*2:1g//4g:-": after '@' the group of the node (`cells`), unless it is the node alone; then its assignments and its tables by type. */
static void print_memory_node(const struct node_state_printer *p, const struct memory_node *node)
{
	strbuf_addf(p->out, "%u", node->id);
	if (!node->cells || hwloc_bitmap_iszero(node->cells))
		strbuf_addstr(p->out, "@");
	else if (hwloc_bitmap_weight(node->cells) != 1 || !hwloc_bitmap_isset(node->cells, node->id)) {
		strbuf_addch(p->out, '@');
		token_add_set(p->out, node->cells, MACHINE_MAX_NODES - 1);
	}
	strbuf_addf(p->out, "*%u", node->assignments);
	for (size_t i = 0; i < p->types.n_items; i++) {
		const struct memory_table *t = memory_node_table(node, p->types.items[i]);

		strbuf_addch(p->out, ':');
		if (t)
			print_memory_table(p, node, t);
		else
			strbuf_addch(p->out, '-');
	}
}

static bool print_memory_nodes(const struct node_state_printer *p)
{
	const struct allocations *a = &p->state->allocations;

	for (size_t i = 0; i < a->memory.n_nodes && a->memory_known; i++) {
		strbuf_addstr(p->out, i > 0 ? "|" : "");
		print_memory_node(p, &a->memory.nodes[i]);
	}
	return a->memory_known && a->memory.n_nodes > 0;
}

/* The next value, `otherwise` if the text omits it. `is_first`: without the '/' that precedes the others. */
static uint64_t read_table_value(struct token_reader *r, bool is_first, uint64_t otherwise)
{
	if (!is_first && !token_reader_skip(r, '/'))
		return otherwise;
	return *r->at >= '0' && *r->at <= '9' ? token_reader_bytes(r) : otherwise;
}

static void read_memory_table(struct node_state_parser *p, struct memory_node *node, const char *type)
{
	struct token_reader *r = &p->reader;
	struct memory_table *t;

	token_reader_expect(r, ':');
	if (r->error || token_reader_skip(r, '-'))
		return;
	t = vec_push(&node->tables, &node->n_tables, &node->tables_size, sizeof(*t));
	t->type = xstrdup(type);
	/* In this order: the default of each value depends on the values before. */
	t->system_reserved = read_table_value(r, true, 0);
	t->reserved = read_table_value(r, false, 0);
	t->total = read_table_value(r, false, default_total(&p->state.machine, node->id, type));
	t->allocatable = read_table_value(r, false, default_allocatable(node, t));
	t->free = read_table_value(r, false, t->allocatable - t->reserved);
}

static void read_memory_node(struct node_state_parser *p)
{
	struct memory_state *state = &p->state.allocations.memory;
	struct memory_node *node =
		vec_push(&state->nodes, &state->n_nodes, &state->nodes_size, sizeof(*node));
	struct token_reader *r = &p->reader;

	node->id = (unsigned)token_reader_number(r, MACHINE_MAX_NODES - 1);
	if (state->n_nodes > 1 && state->nodes[state->n_nodes - 2].id >= node->id)
		token_reader_fail(r, "NUMA nodes are not in ascending order");
	if (token_reader_skip(r, '@'))
		node->cells = token_reader_set(r, MACHINE_MAX_NODES - 1);
	else {
		node->cells = cpuset_new();
		cpuset_set(node->cells, node->id);
	}
	token_reader_expect(r, '*');
	node->assignments = (unsigned)token_reader_number(r, MEMORY_ASSIGNMENTS_MAX);
	for (size_t i = 0; i < p->types.n_items && !r->error; i++)
		read_memory_table(p, node, p->types.items[i]);
}

static void parse_memory_nodes(struct node_state_parser *p)
{
	do
		read_memory_node(p);
	while (token_reader_skip(&p->reader, '|'));
}

/*
 * ---- devices: "vendor.com/nic:0*4/1*4!0", by NUMA nodes in the order of their ids; after '!' held devices
 * that are not registered
 */

void node_state_id(size_t position, char ret[NODE_STATE_ID_SIZE])
{
	ret[NODE_STATE_ID_SIZE - 1] = '\0';
	for (size_t i = NODE_STATE_ID_SIZE - 1; i > 0; i--, position /= 10)
		ret[i - 1] = (char)('0' + position % 10);
}

static void print_device_run(struct strbuf *out, const struct device_ref *d, size_t n)
{
	if (d->block->nodes_unknown || hwloc_bitmap_iszero(d->block->nodes))
		strbuf_addch(out, d->block->nodes_unknown ? '?' : '-');
	else
		token_add_set(out, d->block->nodes, MACHINE_MAX_NODES - 1);
	if (n > 1)
		strbuf_addf(out, "*%zu", n);
}

static bool have_same_nodes(const struct device_ref *a, const struct device_ref *b)
{
	return a->block->nodes_unknown == b->block->nodes_unknown &&
	       (a->block->nodes_unknown || hwloc_bitmap_isequal(a->block->nodes, b->block->nodes));
}

static void print_device_runs(struct strbuf *out, const struct device_index *index, size_t first, size_t n)
{
	for (size_t i = first, end; i < first + n; i = end) {
		const struct device_ref *d = &index->items[i];

		for (end = i + 1; end < first + n && have_same_nodes(d, &index->items[end]);)
			end++;
		strbuf_addstr(out, i > first ? "/" : "");
		print_device_run(out, d, end - i);
	}
}

/* For each resource its registered devices, and after '!' the held devices that are not registered. */
static bool print_devices(const struct node_state_printer *p)
{
	for (size_t i = 0; i < p->resources.n_items; i++) {
		const struct printed_resource *d = &p->printed[i];

		strbuf_addstr(p->out, i > 0 ? "|" : "");
		token_add_name(p->out, p->resources.items[i]);
		strbuf_addch(p->out, ':');
		print_device_runs(p->out, &p->registered, d->first, d->n);
		if (d->n_held_only > 0) {
			strbuf_addch(p->out, '!');
			print_device_runs(p->out, &p->held, d->first_held_only, d->n_held_only);
		}
	}
	return p->resources.n_items > 0;
}

/* A run of *ret_n devices, NULL after a failure: "0-1*4", '?' if the NUMA nodes are unknown, '-' if the devices are near none. */
static struct parsed_run *read_device_run(struct node_state_parser *p, size_t *ret_n)
{
	struct token_reader *r = &p->reader;
	struct parsed_run *run = vec_push(&p->runs, &p->n_runs, &p->runs_size, sizeof(*run));
	bool unknown = token_reader_skip(r, '?'), none = token_reader_skip(r, '-');
	uint64_t n;

	run->nodes_unknown = unknown;
	run->nodes = unknown || none ? cpuset_new() : token_reader_set(r, MACHINE_MAX_NODES - 1);
	n = token_reader_skip(r, '*') ? token_reader_number(r, NODE_STATE_MAX_DEVICES) : 1;
	if (n == 0 || p->n_devices + n > NODE_STATE_MAX_DEVICES)
		token_reader_fail(r, "no device, or more than %u", NODE_STATE_MAX_DEVICES);
	*ret_n = (size_t)n;
	return r->error ? NULL : run;
}

/* A block of the run's devices, whose ids are their positions. */
static void register_run(
	struct allocations *a, const char *resource, const struct parsed_run *run, size_t first, size_t n)
{
	struct device_block *block =
		vec_push(&a->registered, &a->n_registered, &a->registered_size, sizeof(*block));
	char id[NODE_STATE_ID_SIZE];

	block->nodes_unknown = run->nodes_unknown;
	block->resource = xstrdup(resource);
	block->nodes = cpuset_dup(run->nodes);
	for (size_t i = 0; i < n; i++) {
		node_state_id(first + i, id);
		strv_push(&block->ids, id);
	}
}

/* The runs of the last resource, separated by '/': of registered devices, or of devices that are only held. */
static void read_device_runs(struct node_state_parser *p, bool registered)
{
	const char *resource = p->resources.items[p->resources.n_items - 1];
	size_t first = p->first_device[p->resources.n_items - 1];

	do {
		size_t n;
		const struct parsed_run *run = read_device_run(p, &n);

		if (!run)
			return;
		if (registered)
			register_run(&p->state.allocations, resource, run, p->n_devices - first, n);
		vec_grow(&p->run_of, &p->run_of_size, p->n_devices + n, sizeof(*p->run_of));
		for (size_t i = 0; i < n; i++)
			p->run_of[p->n_devices++] = (uint32_t)(p->n_runs - 1);
	} while (token_reader_skip(&p->reader, '/'));
}

/* The name of a resource, and the resource's devices. first_device[] gets their first position and the position behind their last. */
static void read_device_resource(struct node_state_parser *p)
{
	struct token_reader *r = &p->reader;
	struct strv *names = &p->resources;
	char *name = token_reader_name(r);

	if (name)
		strv_take(names, name);
	token_reader_expect(r, ':');
	if (r->error)
		return;
	if (names->n_items > NODE_STATE_MAX_RESOURCES ||
		(names->n_items > 1 && strcmp(names->items[names->n_items - 2], name) >= 0)) {
		token_reader_fail(r, "resources are not in ascending order, or too many");
		return;
	}
	p->first_device[names->n_items - 1] = p->n_devices;
	if (*r->at != '!')
		read_device_runs(p, true);
	if (token_reader_skip(r, '!'))
		read_device_runs(p, false);
	p->first_device[names->n_items] = p->n_devices;
}

static void parse_devices(struct node_state_parser *p)
{
	uint64_t nodes = p->state.machine.n_nodes;

	p->first_device = xcalloc(NODE_STATE_MAX_RESOURCES + 1, sizeof(*p->first_device));
	do
		read_device_resource(p);
	while (token_reader_skip(&p->reader, '|'));
	if (nodes * p->resources.n_items > NODE_STATE_MAX_AMOUNTS ||
		nodes * p->n_devices > NODE_STATE_MAX_WORK)
		token_reader_fail(&p->reader, "too many devices on too many NUMA nodes");
}

const struct node_state_section node_state_held_sections[] = {
	{"unknown", false, print_unknown, parse_unknown},
	{"shared", false, print_shared, parse_shared},
	{"types", false, print_types, parse_types},
	{"numa-reserved", false, print_numa_reserved, parse_numa_reserved},
	{"memory-nodes", false, print_memory_nodes, parse_memory_nodes},
	{"devices", false, print_devices, parse_devices},
	{0},
};
