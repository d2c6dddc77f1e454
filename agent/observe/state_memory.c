/* SPDX-License-Identifier: Apache-2.0 */
/* The memory manager's state file, memory_manager_state. */
#include "agent/observe/state_file.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>

#include "common/cleanup.h"
#include "common/settings.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

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

/* The state of reading one file. */
struct memory_reader {
	const struct machine *machine;
	struct allocations *allocations;
	struct state_doubts *doubts;
	hwloc_bitmap_t absent; /* NUMA nodes that the machine does not have */
};

/* ---- machineState */

static uint64_t lower_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * What is wrong with the amounts; NULL = nothing. Go's arithmetic wraps: more reserved than there is makes an allocatable amount of
 * nearly 2^64.
 */
static const char *find_table_fault(const struct memory_table *t)
{
	uint64_t sum;

	if (__builtin_add_overflow(t->reserved, t->free, &sum) || sum != t->allocatable)
		return "reserved and free do not add up to allocatable";
	if (t->system_reserved + t->allocatable > t->total)
		return "systemReserved and allocatable exceed total";
	return NULL;
}

/* Make the amounts consistent; of amounts that contradict each other the lower free amount counts. */
static void repair_table(struct memory_table *t)
{
	uint64_t usable = t->total > t->system_reserved ? t->total - t->system_reserved : 0;

	t->system_reserved = lower_of(t->system_reserved, t->total);
	t->allocatable = lower_of(t->allocatable, usable);
	t->reserved = lower_of(t->reserved, t->allocatable);
	t->free = lower_of(t->free, t->allocatable - t->reserved);
	t->reserved = t->allocatable - t->free;
}

/* The amounts of one type of memory. A table that cannot be read has nothing free. */
static void read_node_table(
	struct memory_reader *rd, unsigned id, const struct doc *d, struct memory_table *table)
{
	struct err why = {""};
	struct state_members m = {.map = d, .err = &why};
	const char *fault;

	text_set(&table->type, d->key);
	table->total = state_uint64(&m, "total");
	table->system_reserved = state_uint64(&m, "systemReserved");
	table->allocatable = state_uint64(&m, "allocatable");
	table->reserved = state_uint64(&m, "reserved");
	table->free = state_uint64(&m, "free");
	fault = m.r < 0 ? why.text : find_table_fault(table);
	if (!fault)
		return;
	if (m.r < 0)
		table->free = 0;
	repair_table(table);
	state_doubt(rd->doubts, "machineState: node %u: %.100s: %s; %" PRIu64 " bytes count as free", id,
		table->type, fault, table->free);
}

static void read_node_tables(struct memory_reader *rd, const struct doc *memory_map, struct memory_node *node)
{
	CLEANUP(freep) const struct doc **sorted = doc_sorted(memory_map);

	vec_grow(&node->tables, &node->tables_size, memory_map->n_items, sizeof(*node->tables));
	for (size_t i = 0; i < memory_map->n_items; i++)
		read_node_table(rd, node->id, sorted[i], &node->tables[node->n_tables++]);
}

static void make_unavailable(struct memory_node *node)
{
	for (size_t i = 0; i < node->n_tables; i++) {
		node->tables[i].reserved = node->tables[i].allocatable;
		node->tables[i].free = 0;
	}
}

/* A node whose assignments or group cannot be read has nothing free. */
static void read_machine_node(struct memory_reader *rd, const struct doc *d, struct memory_node *node)
{
	struct err why = {""};
	struct state_members m = {.map = d, .err = &why};
	uint64_t assignments = state_uint64(&m, "numberOfAssignments");
	const struct doc *memory_map;

	if (m.r == 0 && assignments > MEMORY_ASSIGNMENTS_MAX)
		m.r = err_set(&why, -EINVAL, "numberOfAssignments: %" PRIu64 " is too many", assignments);
	node->assignments = m.r == 0 ? (unsigned)assignments : 0;
	node->cells = state_numa_nodes(&m, "cells");
	if (!node->cells)
		node->cells = cpuset_new();
	/* Reads the tables also after a failure, of which `m` reads nothing more. */
	if (d->kind == DOC_MAP) {
		struct state_members map = {.map = d, .err = &why};

		memory_map = state_member(&map, "memoryMap", DOC_MAP);
		m.r = m.r < 0 ? m.r : map.r;
		if (memory_map)
			read_node_tables(rd, memory_map, node);
	}
	if (m.r == 0)
		return;
	make_unavailable(node);
	state_doubt(rd->doubts, "machineState: node %u: %s; nothing of the node counts as free", node->id,
		why.text);
}

static int compare_node_ids(const void *va, const void *vb)
{
	const struct memory_node *a = va, *b = vb;

	return (a->id > b->id) - (a->id < b->id);
}

/* Of a node that appears twice the first counts, with nothing free. */
static void read_machine_state(struct memory_reader *rd, const struct doc *nodes)
{
	struct memory_state *state = &rd->allocations->memory;

	vec_grow(&state->nodes, &state->nodes_size, nodes->n_items, sizeof(*state->nodes));
	DOC_FOREACH (d, nodes) {
		struct memory_node *twin, *node;
		int64_t id;

		if (checksum_integer_key(d->key, &id) < 0 || id < 0 || id >= MACHINE_MAX_NODES) {
			state_doubt(rd->doubts, "machineState: '%.50s' is not a NUMA node id", d->key);
			continue;
		}
		twin = memory_state_node(state, (unsigned)id);
		if (twin) {
			make_unavailable(twin);
			state_doubt(rd->doubts,
				"machineState: node %u appears twice; nothing of the node counts as free",
				twin->id);
			continue;
		}
		node = &state->nodes[state->n_nodes++];
		node->id = (unsigned)id;
		read_machine_node(rd, d, node);
		if (rd->machine && machine_node_index(rd->machine, node->id) < 0)
			cpuset_set(rd->absent, node->id);
	}
	if (state->n_nodes > 1)
		qsort(state->nodes, state->n_nodes, sizeof(*state->nodes), compare_node_ids);
}

/* A group with a node that does not exist remains: the kubelet would not break it up either. */
static void check_cells(const struct memory_reader *rd)
{
	const struct memory_state *state = &rd->allocations->memory;

	for (size_t i = 0; i < state->n_nodes; i++) {
		const hwloc_bitmap_t cells = state->nodes[i].cells;

		for (int id = hwloc_bitmap_first(cells); id >= 0; id = hwloc_bitmap_next(cells, id))
			if (!memory_state_node(state, (unsigned)id))
				state_doubt(rd->doubts,
					"machineState: node %u: cells names node %d, which does not exist",
					state->nodes[i].id, id);
	}
}

/* ---- entries */

/* What is wrong with a block, "" = nothing: every NUMA node of the block has a table of its type. */
static void find_block_fault(
	const struct memory_state *state, const struct memory_block *block, struct err *ret)
{
	for (int id = hwloc_bitmap_first(block->nodes); id >= 0; id = hwloc_bitmap_next(block->nodes, id)) {
		const struct memory_node *node = memory_state_node(state, (unsigned)id);

		if (!node)
			err_set(ret, 0, "NUMA node %d is not in machineState", id);
		else if (!memory_node_table(node, block->type))
			err_set(ret, 0, "NUMA node %d has no '%.100s'", id, block->type);
	}
}

/* A block that cannot be read is skipped: machineState has the free amounts, which do not depend on blocks. */
static void read_entry_block(
	struct memory_reader *rd, const struct doc *d, const char *where, struct allocation *item)
{
	struct err why = {""};
	struct state_members m = {.map = d, .err = &why};
	CLEANUP(freep) char *type = xstrdup(state_string(&m, "type"));
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = NULL;
	uint64_t bytes = state_uint64(&m, "size");
	struct memory_block *block;

	nodes = state_numa_nodes(&m, "numaAffinity");
	if (m.r < 0) {
		state_doubt(rd->doubts, "%s: %s", where, why.text);
		return;
	}
	block = vec_push(&item->memory, &item->n_memory, &item->memory_size, sizeof(*block));
	*block = (struct memory_block){.type = TAKE(type), .bytes = bytes, .nodes = TAKE(nodes)};
	find_block_fault(&rd->allocations->memory, block, &why);
	if (why.text[0])
		state_doubt(rd->doubts, "%s: %s", where, why.text);
}

static void read_blocks(struct memory_reader *rd, const struct doc *blocks, const char *pod_uid,
	const char *container, const char *list)
{
	struct allocation *item;
	char where[200];

	if (blocks->kind == DOC_NULL)
		return;
	snprintf(where, sizeof(where), "%s: pod '%.50s'%s%.70s%s", list, pod_uid,
		*container ? ", container '" : "", container, *container ? "'" : "");
	item = allocations_add_container(rd->allocations, pod_uid, container);
	if (blocks->kind != DOC_LIST)
		state_doubt(rd->doubts, "%s: a list expected, not %s", where, doc_kind_name(blocks));
	DOC_FOREACH_ITEM (d, blocks) {
		char block[240];

		snprintf(block, sizeof(block), "%s, block %td", where, d - blocks->items);
		read_entry_block(rd, d, block, item);
	}
}

/* The blocks that a pod holds as a whole, NULL when it has none (the kubelet treats an empty list alike). */
static const struct doc *find_pod_blocks(const struct doc *pod_entries, const char *pod_uid, struct err *why)
{
	struct state_members m = {.map = doc_get(pod_entries, pod_uid), .err = why};
	const struct doc *blocks = m.map ? state_member(&m, "memoryBlocks", DOC_LIST) : NULL;

	return blocks && blocks->n_items > 0 ? blocks : NULL;
}

/* The blocks of the containers of a pod with podEntries are parts of the pod's blocks there. */
static void read_memory_entries(
	struct memory_reader *rd, const struct doc *entries, const struct doc *pod_entries)
{
	DOC_FOREACH (pod, entries) {
		struct err why = {""};

		if (!*pod->key)
			state_doubt(rd->doubts, "entries: pod '': its UID is empty");
		if (state_check_object(pod, &why) < 0)
			state_doubt(rd->doubts, "entries: pod '%.50s': %s", pod->key, why.text);
		else if (!find_pod_blocks(pod_entries, pod->key, NULL))
			DOC_FOREACH (container, pod)
				read_blocks(rd, container, pod->key, container->key, "entries");
	}
}

static void read_pod_memory_entries(struct memory_reader *rd, const struct doc *pod_entries)
{
	DOC_FOREACH (pod, pod_entries) {
		struct err why = {""};
		const struct doc *whole = find_pod_blocks(pod_entries, pod->key, &why);

		if (why.text[0])
			state_doubt(rd->doubts, "podEntries: pod '%.50s': %s", pod->key, why.text);
		else if (!*pod->key)
			state_doubt(rd->doubts, "podEntries: pod '': its UID is empty");
		if (whole)
			read_blocks(rd, whole, pod->key, "", "podEntries");
	}
}

/* ---- sums */

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

/*
 * Called if the checksum does not match. Where the blocks of a type exceed what machineState reserves, the difference counts as held on each
 * NUMA node. Where the blocks are fewer, what machineState reserves is held. Between the kubelet's two writes per change the sums differ too,
 * but then the checksum matches.
 */
static void reserve_held_excess(struct memory_reader *rd)
{
	struct allocations *a = rd->allocations;
	CLEANUP(strv_release) struct strv types = {0};

	memory_state_types(&a->memory, &types);
	for (size_t t = 0; t < types.n_items; t++) {
		const char *type = types.items[t];
		uint64_t held = sum_held(a, type), reserved = memory_state_reserved(&a->memory, type);

		if (held == reserved)
			continue;
		state_doubt(rd->doubts,
			"containers hold %" PRIu64 " bytes of %.100s, but %" PRIu64
			" are reserved; the larger amount counts as held",
			held, type, reserved);
		for (size_t i = 0; i < a->memory.n_nodes && held > reserved; i++) {
			struct memory_table *table = memory_node_table(&a->memory.nodes[i], type);
			uint64_t more = table ? lower_of(held - reserved, table->free) : 0;

			if (table) {
				table->free -= more;
				table->reserved += more;
			}
		}
	}
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

static int read_memory_content(
	struct memory_reader *rd, const struct doc *content, struct kubelet_state *state, struct err *err)
{
	struct state_members m = {.map = content, .err = err};
	const char *policy = state_string(&m, "policyName");
	const struct doc *nodes = state_member(&m, "machineState", DOC_MAP);
	const struct doc *entries = state_member(&m, "entries", DOC_MAP);
	const struct doc *pod_entries = state_member(&m, "podEntries", DOC_MAP);

	if (m.r < 0)
		return m.r;
	if (!*policy)
		return err_set(err, -EINVAL, "no policyName");
	text_set(&state->policy, policy);
	if (nodes)
		read_machine_state(rd, nodes);
	check_cells(rd);
	/* podEntries first, so that its errors are reported as its own. */
	if (pod_entries)
		read_pod_memory_entries(rd, pod_entries);
	if (entries)
		read_memory_entries(rd, entries, pod_entries);
	return 0;
}

static int compute_memory_checksum(
	const struct state_file *file, struct strbuf *text, struct checksum_match *ret)
{
	static const struct checksum_shape shapes[] = {{&go_v1, names}, {&go_v2, names}};
	const struct doc *content = state_file_content(file);
	const struct doc *pod_entries = doc_get_fold(content, "podEntries");
	bool pods = pod_entries && pod_entries->n_items > 0;

	/* Only podEntries that are not empty show which struct was hashed: without any, both are tried. */
	return state_file_checksum(file, content, pods ? &shapes[1] : shapes, pods ? 1 : 2, text, ret);
}

static void memory_reader_release(struct memory_reader *rd)
{
	hwloc_bitmap_free(rd->absent);
}

static int read_memory_state(struct state_file *file, const struct machine *machine,
	struct kubelet_state *state, struct notes *notes, struct err *err)
{
	struct state_doubts doubts = {.notes = notes};
	CLEANUP(memory_reader_release)
	struct memory_reader rd = {.machine = machine,
		.allocations = &state->allocations,
		.doubts = &doubts,
		.absent = cpuset_new()};
	struct checksum_match match;
	int r = read_memory_content(&rd, state_file_content(file), state, err);

	if (r < 0)
		return r;
	if (compute_memory_checksum(file, NULL, &match) < 0)
		notes_add(notes, STATE_NO_CHECKSUM);
	else if (!state_file_verify(file, &match, notes))
		reserve_held_excess(&rd);
	state_doubts_end(&doubts);
	state_note_absent_nodes(rd.absent, notes);
	note_wrapped(&state->allocations.memory, notes);
	state->allocations.memory_known =
		!strcmp(state->policy, memory_manager_policy_names[MEMORY_MANAGER_STATIC]);
	allocations_sort(&state->allocations);
	return 0;
}

static unsigned find_memory_format(const struct state_file *file)
{
	if (file->data.kind != DOC_NULL)
		return 3;
	return state_has_member(&file->top, "podEntries") ? 2 : 1;
}

const struct state_kind state_memory = {.max = STATE_MEMORY_FILE_MAX,
	.read = read_memory_state,
	.checksum = compute_memory_checksum,
	.format = find_memory_format};
