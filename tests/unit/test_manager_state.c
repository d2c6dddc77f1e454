/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "common/vec.h"
#include "scoring/node/manager_state.h"
#include "tests/lib/states.h"
#include "tests/lib/synthetic.h"

#define GIB (1ull << 30)

static struct memory_block block(const char *type, uint64_t bytes, const char *nodes)
{
	struct memory_block b = {.type = strdup(type), .bytes = bytes};

	assert_int_equal(cpuset_parse(nodes, &b.nodes, NULL), 0);
	return b;
}

static void hold(struct allocations *a, const char *type, uint64_t bytes, const char *nodes)
{
	struct allocation *item = allocations_add(a);
	struct memory_block *b = vec_push(&item->memory, &item->n_memory, &item->memory_size, sizeof(*b));

	*b = block(type, bytes, nodes);
}

/* Three nodes of 8 GiB, the first with two pages of 1 GiB. */
static void make_machine(struct machine *m)
{
	struct hugepage_pool *pool;

	bare_machine(m, "0-5", "", "0-2");
	for (size_t i = 0; i < m->n_nodes; i++)
		m->nodes[i].memory_bytes = 8 * GIB;
	pool = vec_push(&m->nodes[0].pools, &m->nodes[0].n_pools, &m->nodes[0].pools_size, sizeof(*pool));
	*pool = (struct hugepage_pool){.page_bytes = GIB, .pages = 2};
}

/* The free memory of a NUMA node, in GiB. */
static uint64_t left(const struct memory_state *s, size_t node)
{
	return memory_node_table(&s->nodes[node], "memory")->free / GIB;
}

static void groups_are_filled_in_ascending_order_after_single_nodes(void **state)
{
	CLEANUP(machine_release) struct machine m;
	CLEANUP(allocations_release) struct allocations held = {0};
	CLEANUP(memory_state_release) struct memory_state s = {0};
	struct memory_block allocatable[] = {block("memory", 5 * GIB, "0"), block("memory", 8 * GIB, "1"),
		block("memory", 8 * GIB, "2"), block("hugepages-1Gi", 2 * GIB, "0")};
	const struct memory_table *pages;
	uint64_t over;

	(void)state;
	make_machine(&m);
	hold(&held, "memory", 6 * GIB, "0-1");
	hold(&held, "memory", 3 * GIB, "0-1");
	hold(&held, "memory", 2 * GIB, "2");
	hold(&held, "hugepages-1Gi", GIB, "0-1");
	over = memory_state_from_blocks(&m, allocatable, ARRAY_SIZE(allocatable), &held, &s);
	assert_int_equal(over, 0);
	assert_int_equal(s.n_nodes, 3);
	assert_int_equal(left(&s, 0), 0);
	assert_int_equal(left(&s, 1), 4);
	assert_int_equal(left(&s, 2), 6);
	assert_int_equal(memory_node_table(&s.nodes[0], "memory")->system_reserved, GIB);
	pages = memory_node_table(&s.nodes[0], "hugepages-1Gi");
	assert_int_equal(pages->free, GIB);
	assert_int_equal(pages->total, 2 * GIB);
	assert_true(hwloc_bitmap_isset(s.nodes[1].cells, 0) && hwloc_bitmap_isset(s.nodes[1].cells, 1));
	assert_int_equal(hwloc_bitmap_weight(s.nodes[2].cells), 1);
	assert_int_equal(s.nodes[1].assignments, 2);
	for (size_t i = 0; i < ARRAY_SIZE(allocatable); i++) {
		free(allocatable[i].type);
		hwloc_bitmap_free(allocatable[i].nodes);
	}
}

static void bytes_that_no_node_has_free_are_returned(void **state)
{
	CLEANUP(machine_release) struct machine m;
	CLEANUP(allocations_release) struct allocations held = {0};
	CLEANUP(memory_state_release) struct memory_state s = {0};
	struct memory_block allocatable = block("memory", 5 * GIB, "0");
	uint64_t over;

	(void)state;
	make_machine(&m);
	hold(&held, "memory", 6 * GIB, "0");
	hold(&held, "memory", GIB, ""); /* a block without a NUMA node does not count */
	over = memory_state_from_blocks(&m, &allocatable, 1, &held, &s);
	assert_int_equal(over, GIB);
	assert_int_equal(left(&s, 0), 0);
	assert_int_equal(left(&s, 1), 0);
	free(allocatable.type);
	hwloc_bitmap_free(allocatable.nodes);
}

/* The API of a kubelet that knows more NUMA nodes than the machine has now, of a kernel without NUMA, and doubtful blocks. */
static void allocatable_blocks_in_doubt(void **state)
{
	static const uint64_t wrapped = 0 - GIB;
	CLEANUP(machine_release) struct machine m;
	CLEANUP(allocations_release) struct allocations held = {0};
	CLEANUP(memory_state_release) struct memory_state s = {0};
	struct memory_block allocatable[] = {block("memory", 5 * GIB, "7"), block("memory", 3 * GIB, "5"),
		block("memory", 6 * GIB, "0"), block("memory", 4 * GIB, "0"), block("memory", wrapped, "1"),
		block("hugepages-2Mi", GIB, "2")};

	(void)state;
	make_machine(&m);
	hold(&held, "memory", 2 * GIB, "0,7");
	hold(&held, "memory", GIB, "7");
	assert_int_equal(memory_state_from_blocks(&m, allocatable, ARRAY_SIZE(allocatable), &held, &s), 0);
	assert_int_equal(s.n_nodes, 5);
	assert_int_equal(s.nodes[3].id, 5);
	assert_int_equal(s.nodes[4].id, 7);
	assert_int_equal(left(&s, 3), 3);
	assert_int_equal(left(&s, 4), 4);
	/* Of two blocks the smaller one counts. */
	assert_int_equal(left(&s, 0), 2);
	assert_true(memory_table_wrapped(memory_node_table(&s.nodes[1], "memory")));
	assert_int_equal(memory_node_table(&s.nodes[1], "memory")->total, 8 * GIB);
	assert_int_equal(memory_node_table(&s.nodes[2], "hugepages-2Mi")->free, GIB);
	for (size_t i = 0; i < ARRAY_SIZE(allocatable); i++) {
		free(allocatable[i].type);
		hwloc_bitmap_free(allocatable[i].nodes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_are_filled_in_ascending_order_after_single_nodes),
		cmocka_unit_test(bytes_that_no_node_has_free_are_returned),
		cmocka_unit_test(allocatable_blocks_in_doubt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
