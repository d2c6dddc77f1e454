/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time to print and to read the node state of one node with 8 NUMA nodes, 96 CPUs and 48 exclusive pods. A line each:
 * NAME: N us (goal G us, ok|missed)
 */

#include "common/cleanup.h"
#include "common/io/time.h"
#include "common/vec.h"
#include "scoring/node/node_derive.h"
#include "scoring/node/node_state_codec.h"
#include "tests/lib/synthetic.h"

#define N_PODS 48

/* Of this process: another program on the same CPU does not count. */
static double cpu_ms(void)
{
	return clock_s(CLOCK_PROCESS_CPUTIME_ID) * 1e3;
}

static void require(bool is)
{
	if (!is)
		abort();
}

/* A core and 1 GiB of its NUMA node for each pod. */
static void add_pod(struct node_state *node, size_t i)
{
	const struct cpu *cpu = &node->machine.cpus[i];
	struct allocation *item = allocations_add(&node->allocations);
	struct memory_block *block;

	require(item != NULL);
	free(item->pod_uid);
	require(asprintf(&item->pod_uid, "f5c1ffa3-6f1d-4d0a-8a5f-9d0f7f5a%04zx", i) > 0);
	block = vec_push(&item->memory, &item->n_memory, &item->memory_size, sizeof(*block));
	block->type = strdup("memory");
	block->bytes = 1ull << 30;
	block->nodes = hwloc_bitmap_alloc();
	require(hwloc_bitmap_set(block->nodes, (unsigned)cpu->numa) == 0 &&
		hwloc_bitmap_set(item->cpus, cpu->id) == 0 &&
		hwloc_bitmap_set(item->cpus, cpu->id + (unsigned)node->machine.n_cpus / 2) == 0);
}

static void add_memory(struct node_state *node, size_t i)
{
	struct memory_state *state = &node->allocations.memory;
	struct memory_node *to = vec_push(&state->nodes, &state->n_nodes, &state->nodes_size, sizeof(*to));
	struct memory_table *table;

	to->id = node->machine.nodes[i].id;
	to->cells = hwloc_bitmap_alloc();
	to->assignments = N_PODS / 8;
	table = vec_push(&to->tables, &to->n_tables, &to->tables_size, sizeof(*table));
	require(table != NULL && hwloc_bitmap_set(to->cells, to->id) == 0);
	table->type = strdup("memory");
	table->total = table->allocatable = node->machine.nodes[i].memory_bytes;
	table->reserved = (uint64_t)N_PODS / 8 << 30;
	table->free = table->allocatable - table->reserved;
}

static void make_node(struct node_state *node)
{
	static const struct synthetic shape = {2, 4, 1, 6, 2, false, 33554419ull << 10};
	const struct derive_config config = {0};
	struct settings *s = &node->settings;

	node_state_init(node);
	synthetic_machine(&shape, &node->machine);
	s->cpu_manager = CPU_MANAGER_STATIC;
	s->memory_manager = MEMORY_MANAGER_STATIC;
	s->topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
	s->topology.scope = TOPOLOGY_SCOPE_CONTAINER;
	s->reserved_known = true;
	s->kube_reserved_cpu = QTY_UNIT;
	node->allocations.cpus_known = node->allocations.memory_known = true;
	node->allocations.devices_known = node->allocations.registered_known = true;
	node->allocations.shared = hwloc_bitmap_alloc();
	for (size_t i = 0; i < node->machine.n_nodes; i++)
		add_memory(node, i);
	for (size_t i = 0; i < N_PODS; i++)
		add_pod(node, i);
	require(node_derive(&config, node, NULL, NULL) == 0);
}

static double parse_us(const char *text, bool model)
{
	const struct derive_config config = {0};
	double start = cpu_ms(), elapsed;
	size_t n = 0;

	do {
		struct node_state node;

		require(node_state_parse(text, &node, NULL) == 0);
		require(!model || node_derive(&config, &node, NULL, NULL) == 0);
		node_state_release(&node);
		n++;
		elapsed = cpu_ms() - start;
	} while (elapsed < 200);
	return elapsed * 1e3 / (double)n;
}

static double print_us(const struct node_state *node, struct strbuf *text)
{
	double start = cpu_ms(), elapsed;
	size_t n = 0;

	do {
		strbuf_reset(text);
		require(node_state_print(node, text) == 0);
		n++;
		elapsed = cpu_ms() - start;
	} while (elapsed < 200);
	return elapsed * 1e3 / (double)n;
}

static void print_line(const char *name, double us, double goal)
{
	printf("%s: %.1f us (goal %.0f us, %s)\n", name, us, goal, us <= goal ? "ok" : "missed");
}

int main(void)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(NODE_STATE_TEXT_MAX);
	CLEANUP(node_state_release) struct node_state node;

	make_node(&node);
	print_line("node state, 8 nodes, 96 CPUs, 48 pods: printed", print_us(&node, &text), 500);
	printf("  %zu bytes\n", text.len);
	print_line("  read", parse_us(text.text, false), 100);
	print_line("  read and modelled", parse_us(text.text, true), 150);
	return 0;
}
