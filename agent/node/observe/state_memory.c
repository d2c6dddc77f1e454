/* SPDX-License-Identifier: Apache-2.0 */
/* The memory manager's state file, memory_manager_state. */
#include "agent/node/observe/state_file.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>

#include "common/cleanup.h"
#include "common/settings.h"
#include "common/text.h"
#include "common/vec.h"

/* ---- the Go structs under the checksum */

static const struct go_type go_int = {.kind = GO_INTEGER, .name = "int"};
static const struct go_type go_uint64 = {.kind = GO_INTEGER, .name = "uint64"};
static const struct go_type go_resource = {.kind = GO_STRING, .name = "v1.ResourceName"};
static const struct go_type go_ints = {.kind = GO_LIST, .name = "[]int", .element = &go_int};

static const struct go_field table_fields[] = {{"TotalMemSize", "total", &go_uint64},
	{"SystemReserved", "systemReserved", &go_uint64}, {"Allocatable", "allocatable", &go_uint64},
	{"Reserved", "reserved", &go_uint64}, {"Free", "free", &go_uint64}};
static const struct go_type go_table = GO_STRUCT_OF(NULL, table_fields);
static const struct go_type go_table_pointer = {.kind = GO_POINTER, .element = &go_table};
static const struct go_type go_memory_map = {
	.kind = GO_MAP, .name = "map[v1.ResourceName]*state.MemoryTable", .element = &go_table_pointer};

static const struct go_field node_fields[] = {{"NumberOfAssignments", "numberOfAssignments", &go_int},
	{"MemoryMap", "memoryMap", &go_memory_map}, {"Cells", "cells", &go_ints}};
static const struct go_type go_node = GO_STRUCT_OF(NULL, node_fields);
static const struct go_type go_node_pointer = {.kind = GO_POINTER, .element = &go_node};
static const struct go_type go_nodes = {
	.kind = GO_INT_MAP, .name = "state.NUMANodeMap", .element = &go_node_pointer};

static const struct go_field block_fields[] = {{"NUMAAffinity", "numaAffinity", &go_ints},
	{"Type", "type", &go_resource}, {"Size", "size", &go_uint64}};
static const struct go_type go_block = GO_STRUCT_OF(NULL, block_fields);
static const struct go_type go_blocks = {.kind = GO_LIST, .name = "[]state.Block", .element = &go_block};
static const struct go_type go_containers = {.kind = GO_MAP, .element = &go_blocks};
static const struct go_type go_entries = {
	.kind = GO_MAP, .name = "state.ContainerMemoryAssignments", .element = &go_containers};

static const struct go_field pod_entry_fields[] = {{"MemoryBlocks", "memoryBlocks", &go_blocks}};
static const struct go_type go_pod_entry = GO_STRUCT_OF(NULL, pod_entry_fields);
static const struct go_type go_pod_entries = {
	.kind = GO_MAP, .name = "state.PodMemoryAssignments", .element = &go_pod_entry};

static const struct go_field v1_fields[] = {{"PolicyName", "policyName", &go_string},
	{"MachineState", "machineState", &go_nodes}, {"Entries", "entries", &go_entries},
	{"Checksum", "checksum", &go_checksum}};
static const struct go_field v2_fields[] = {{"PolicyName", "policyName", &go_string},
	{"MachineState", "machineState", &go_nodes}, {"Entries", "entries", &go_entries},
	{"PodEntries", "podEntries", &go_pod_entries}, {"Checksum", "checksum", &go_checksum}};
static const struct go_type go_v1 = GO_STRUCT_OF(NULL, v1_fields);
static const struct go_type go_v2 = GO_STRUCT_OF(NULL, v2_fields);

/* Each version of the struct has or once had the plain name, and older versions are hashed under that name. */
static const char *const names[] = {"*state.MemoryManagerCheckpoint", "*state.MemoryManagerCheckpointV1",
	"*state.MemoryManagerCheckpointV2", "*state.MemoryManagerCheckpointV3", NULL};

/* ---- machineState */

static int read_table(const struct doc *d, struct memory_table *table, struct err *err)
{
	struct state_members m = {.map = d, .err = err};
	uint64_t sum;

	table->total = state_uint64(&m, "total");
	table->system_reserved = state_uint64(&m, "systemReserved");
	table->allocatable = state_uint64(&m, "allocatable");
	table->reserved = state_uint64(&m, "reserved");
	table->free = state_uint64(&m, "free");
	if (m.r < 0)
		return m.r;
	if (__builtin_add_overflow(table->reserved, table->free, &sum) || sum != table->allocatable)
		return err_set(err, -EINVAL,
			"reserved %" PRIu64 " and free %" PRIu64 " are not allocatable %" PRIu64,
			table->reserved, table->free, table->allocatable);
	/* Go's arithmetic wraps: more reserved than there is makes an allocatable amount of nearly 2^64. */
	if (table->system_reserved + table->allocatable > table->total)
		return err_set(err, -EINVAL,
			"systemReserved %" PRIu64 " and allocatable %" PRIu64 " exceed total %" PRIu64,
			table->system_reserved, table->allocatable, table->total);
	return 0;
}

static int read_tables(const struct doc *memory_map, struct memory_node *node, struct err *err)
{
	CLEANUP(freep) const struct doc **sorted = doc_sorted(memory_map);

	vec_grow(&node->tables, &node->tables_size, memory_map->n_items, sizeof(*node->tables));
	for (size_t i = 0; i < memory_map->n_items; i++) {
		struct memory_table *table = &node->tables[node->n_tables];
		int r;

		text_set(&table->type, sorted[i]->key);
		node->n_tables++;
		r = read_table(sorted[i], table, err);
		if (r < 0)
			return err_wrap(err, r, "%.100s", table->type);
	}
	return 0;
}

static int read_node(const struct doc *d, struct memory_node *node, struct err *err)
{
	struct state_members m = {.map = d, .err = err};
	uint64_t assignments = state_uint64(&m, "numberOfAssignments");
	const struct doc *memory_map = state_member(&m, "memoryMap", DOC_MAP);

	node->cells = state_numa_nodes(&m, "cells");
	if (m.r < 0)
		return m.r;
	if (assignments > UINT_MAX)
		return err_set(err, -EINVAL, "numberOfAssignments: %" PRIu64 " is too many", assignments);
	node->assignments = (unsigned)assignments;
	return memory_map ? read_tables(memory_map, node, err) : 0;
}

static int compare_nodes(const void *va, const void *vb)
{
	const struct memory_node *a = va, *b = vb;

	return (a->id > b->id) - (a->id < b->id);
}

static int read_machine_state(const struct doc *nodes, struct memory_state *state, struct err *err)
{
	vec_grow(&state->nodes, &state->nodes_size, nodes->n_items, sizeof(*state->nodes));
	DOC_FOREACH (d, nodes) {
		struct memory_node *node = &state->nodes[state->n_nodes++];
		int64_t id;
		int r;

		if (checksum_integer_key(d->key, &id) < 0 || id < 0 || id >= MACHINE_MAX_NODES)
			return err_set(err, -EINVAL, "'%.50s' is not a NUMA node id", d->key);
		node->id = (unsigned)id;
		r = read_node(d, node, err);
		if (r < 0)
			return err_wrap(err, r, "node %u", node->id);
	}
	if (state->n_nodes > 1)
		qsort(state->nodes, state->n_nodes, sizeof(*state->nodes), compare_nodes);
	for (size_t i = 1; i < state->n_nodes; i++)
		if (state->nodes[i - 1].id == state->nodes[i].id)
			return err_set(err, -EINVAL, "node %u appears twice", state->nodes[i].id);
	return 0;
}

/* ---- entries */

static int read_block(const struct doc *d, struct allocation *item, struct err *err)
{
	struct state_members m = {.map = d, .err = err};
	struct memory_block *block =
		vec_push(&item->memory, &item->n_memory, &item->memory_size, sizeof(*block));

	text_set(&block->type, state_string(&m, "type"));
	block->bytes = state_uint64(&m, "size");
	block->nodes = state_numa_nodes(&m, "numaAffinity");
	return m.r;
}

static int read_blocks(const struct doc *blocks, struct allocations *a, const char *pod_uid,
	const char *container, struct err *err)
{
	struct allocation *item;

	if (blocks->kind == DOC_NULL)
		return 0;
	if (blocks->kind != DOC_LIST)
		return err_set(err, -EINVAL, "a list expected, not %s", doc_kind_name(blocks));
	item = allocations_add_container(a, pod_uid, container);
	DOC_FOREACH (d, blocks) {
		int r = read_block(d, item, err);

		if (r < 0)
			return err_wrap(err, r, "block %td", d - blocks->items);
	}
	return 0;
}

/* The blocks that a pod holds as a whole, NULL when it has none (the kubelet treats an empty list alike). */
static int find_pod_blocks(
	const struct doc *pod_entries, const char *pod_uid, const struct doc **ret, struct err *err)
{
	struct state_members m = {.map = doc_get(pod_entries, pod_uid), .err = err};
	const struct doc *blocks;

	*ret = NULL;
	if (!*pod_uid)
		return err_set(err, -EINVAL, "its UID is empty");
	if (!m.map)
		return 0;
	blocks = state_member(&m, "memoryBlocks", DOC_LIST);
	*ret = blocks && blocks->n_items > 0 ? blocks : NULL;
	return m.r;
}

/* The blocks of the containers of a pod with podEntries are parts of the pod's blocks there: they are only checked. */
static int read_pod(
	const struct doc *pod, const struct doc *pod_entries, struct allocations *a, struct err *err)
{
	CLEANUP(allocations_release) struct allocations checked_only = {0};
	const struct doc *whole;
	int r = find_pod_blocks(pod_entries, pod->key, &whole, err);

	if (r < 0)
		return r;
	r = state_check_object(pod, err);
	if (r < 0)
		return r;
	DOC_FOREACH (container, pod) {
		r = read_blocks(container, whole ? &checked_only : a, pod->key, container->key, err);
		if (r < 0)
			return err_wrap(err, r, "container '%.100s'", container->key);
	}
	return 0;
}

static int read_entries(
	const struct doc *entries, const struct doc *pod_entries, struct allocations *a, struct err *err)
{
	DOC_FOREACH (pod, entries) {
		int r = read_pod(pod, pod_entries, a, err);

		if (r < 0)
			return err_wrap(err, r, "entries: pod '%.100s'", pod->key);
	}
	return 0;
}

static int read_pod_entries(const struct doc *pod_entries, struct allocations *a, struct err *err)
{
	DOC_FOREACH (pod, pod_entries) {
		const struct doc *whole;
		int r = find_pod_blocks(pod_entries, pod->key, &whole, err);

		if (r == 0 && whole)
			r = read_blocks(whole, a, pod->key, "", err);
		if (r < 0)
			return err_wrap(err, r, "podEntries: pod '%.100s'", pod->key);
	}
	return 0;
}

/* ---- consistency */

static const struct memory_node *find_node(const struct memory_state *state, unsigned id)
{
	struct memory_node key = {.id = id};

	return state->n_nodes ? bsearch(&key, state->nodes, state->n_nodes, sizeof(key), compare_nodes)
			      : NULL;
}

/* Every NUMA node of the block has a table of its type. */
static int check_block(const struct memory_state *state, const struct memory_block *block, struct err *err)
{
	for (int id = hwloc_bitmap_first(block->nodes); id >= 0; id = hwloc_bitmap_next(block->nodes, id)) {
		const struct memory_node *node = find_node(state, (unsigned)id);

		if (!node)
			return err_set(err, -EINVAL, "NUMA node %d is not in machineState", id);
		if (!memory_node_table(node, block->type))
			return err_set(err, -EINVAL, "NUMA node %d has no '%.100s'", id, block->type);
	}
	return 0;
}

static int check_nodes(const struct memory_state *state, const struct machine *machine, struct err *err)
{
	for (size_t i = 0; i < state->n_nodes; i++) {
		const struct memory_node *node = &state->nodes[i];
		const hwloc_bitmap_t cells = node->cells;

		if (machine && machine_node_index(machine, node->id) < 0)
			return err_set(err, -EINVAL, "machineState: node %u does not exist on this machine",
				node->id);
		for (int id = hwloc_bitmap_first(cells); id >= 0; id = hwloc_bitmap_next(cells, id))
			if (!find_node(state, (unsigned)id))
				return err_set(err, -EINVAL,
					"machineState: node %u: cells names node %d, which does not exist",
					node->id, id);
	}
	return 0;
}

static int check_entries(const struct allocations *a, struct err *err)
{
	for (size_t i = 0; i < a->n_items; i++)
		for (size_t b = 0; b < a->items[i].n_memory; b++) {
			int r = check_block(&a->memory, &a->items[i].memory[b], err);

			if (r < 0)
				return err_wrap(err, r, "pod '%.100s', container '%.100s'",
					a->items[i].pod_uid, a->items[i].container);
		}
	return 0;
}

/* Sum of the blocks of one type in bytes; UINT64_MAX on overflow. */
static uint64_t sum_held(const struct allocations *a, const char *type)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < a->n_items; i++)
		for (size_t b = 0; b < a->items[i].n_memory; b++)
			if (!strcmp(a->items[i].memory[b].type, type) &&
				__builtin_add_overflow(sum, a->items[i].memory[b].bytes, &sum))
				return UINT64_MAX;
	return sum;
}

static uint64_t sum_reserved(const struct memory_state *state, const char *type)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < state->n_nodes; i++) {
		const struct memory_table *table = memory_node_table(&state->nodes[i], type);

		if (table && __builtin_add_overflow(sum, table->reserved, &sum))
			return UINT64_MAX;
	}
	return sum;
}

/* The blocks of every type add up to the amount that machineState reserves. */
static int check_sums(const struct allocations *a, struct err *err)
{
	for (size_t i = 0; i < a->memory.n_nodes; i++)
		for (size_t t = 0; t < a->memory.nodes[i].n_tables; t++) {
			const char *type = a->memory.nodes[i].tables[t].type;

			if (sum_held(a, type) != sum_reserved(&a->memory, type))
				return err_set(err, -EINVAL,
					"containers hold %" PRIu64 " bytes of %.100s, but %" PRIu64
					" are reserved",
					sum_held(a, type), type, sum_reserved(&a->memory, type));
		}
	return 0;
}

static void note_wrapped(const struct memory_state *state, struct notes *notes)
{
	for (size_t i = 0; i < state->n_nodes; i++)
		for (size_t t = 0; t < state->nodes[i].n_tables; t++) {
			const struct memory_table *table = &state->nodes[i].tables[t];

			if (memory_table_wrapped(table))
				notes_add(notes,
					"node %u has %" PRIu64 " bytes of %.100s and %" PRIu64
					" are reserved; the kubelet counts it as unlimited",
					state->nodes[i].id, table->total, table->type,
					table->system_reserved);
		}
}

/* ---- the file */

static int read_content(const struct doc *content, const struct machine *machine, struct kubelet_state *state,
	struct err *err)
{
	struct allocations *a = &state->allocations;
	struct state_members m = {.map = content, .err = err};
	const char *policy = state_string(&m, "policyName");
	const struct doc *nodes = state_member(&m, "machineState", DOC_MAP);
	const struct doc *entries = state_member(&m, "entries", DOC_MAP);
	const struct doc *pod_entries = state_member(&m, "podEntries", DOC_MAP);
	int r;

	if (m.r < 0)
		return m.r;
	if (!*policy)
		return err_set(err, -EINVAL, "no policyName");
	text_set(&state->policy, policy);
	r = nodes ? read_machine_state(nodes, &a->memory, err) : 0;
	if (r < 0)
		return err_wrap(err, r, "machineState");
	/* podEntries first, so that its errors are reported as its own. */
	r = pod_entries ? read_pod_entries(pod_entries, a, err) : 0;
	if (r < 0)
		return r;
	r = entries ? read_entries(entries, pod_entries, a, err) : 0;
	if (r < 0)
		return r;
	r = check_nodes(&a->memory, machine, err);
	if (r < 0)
		return r;
	return check_entries(a, err);
}

static int compute_checksum(const struct state_file *file, struct strbuf *text, struct checksum_match *ret)
{
	static const struct checksum_shape shapes[] = {{&go_v1, names}, {&go_v2, names}};
	const struct doc *content = state_file_content(file);
	const struct doc *pod_entries = doc_get_fold(content, "podEntries");
	bool pods = pod_entries && pod_entries->n_items > 0;

	return state_file_checksum(file, content, pods ? &shapes[1] : shapes, pods ? 1 : 2, text, ret);
}

static int check_checksum(
	const struct state_file *file, const struct allocations *a, struct notes *notes, struct err *err)
{
	struct checksum_match match;
	int r = compute_checksum(file, NULL, &match);

	if (r < 0)
		return err_set(err, r, "cannot take the checksum of this content");
	if (state_file_verify(file, &match, notes))
		return 0;
	r = check_sums(a, err);
	return r < 0 ? err_wrap(err, r, "%s is wrong, and the content contradicts itself",
			       file->checksum_member)
		     : 0;
}

static int read_file(const struct state_file *file, const struct machine *machine,
	struct kubelet_state *state, struct notes *notes, struct err *err)
{
	int r = read_content(state_file_content(file), machine, state, err);

	if (r < 0)
		return r;
	r = check_checksum(file, &state->allocations, notes, err);
	if (r < 0)
		return r;
	note_wrapped(&state->allocations.memory, notes);
	state->allocations.memory_known =
		!strcmp(state->policy, memory_manager_policy_names[MEMORY_MANAGER_STATIC]);
	allocations_sort(&state->allocations);
	return 0;
}

const struct state_kind state_memory = {
	.max = STATE_MEMORY_FILE_MAX, .read = read_file, .checksum = compute_checksum};
