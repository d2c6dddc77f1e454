/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "agent/state/give_back.h"
#include "agent/state/zone_filter.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "tests/lib/claims.h"

static void resources_go_by_name_or_pattern(void **state)
{
	static const char *const names[] = {
		"cpu", "hugepages-1Gi", "hugepages-2Mi", "memory", "v.com/a", "v.com/b"};
	static const char *const patterns[] = {"hugepages-*", "v.com/a"};
	const struct zone_filter filter = {.resources = patterns, .n_resources = ARRAY_SIZE(patterns)};
	CLEANUP(inventory_release) struct inventory inv;

	(void)state;
	inventory_init(&inv);
	inventory_shape(&inv, 3, names, ARRAY_SIZE(names));
	for (size_t n = 0; n < 3; n++)
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			inventory_amount(&inv, n, i)->capacity = (qty_t)(10 * n + i);
	zone_filter_resources(&filter, &inv);
	assert_int_equal(inv.n_resources, 3);
	assert_int_equal(inventory_resource(&inv, "hugepages-2Mi"), -1);
	assert_int_equal(inventory_resource(&inv, "v.com/b"), 2);
	for (size_t n = 0; n < 3; n++) {
		assert_int_equal((uint64_t)inventory_amount(&inv, n, 0)->capacity, 10 * n);
		assert_int_equal((uint64_t)inventory_amount(&inv, n, 1)->capacity, 10 * n + 3);
		assert_int_equal((uint64_t)inventory_amount(&inv, n, 2)->capacity, 10 * n + 5);
	}
}

static struct allocation *add(
	struct allocations *a, const char *namespace, const char *pod, const char *cpus, uint64_t memory)
{
	struct allocation *item = allocations_add(a);
	struct memory_block *block =
		vec_push(&item->memory, &item->n_memory, &item->memory_size, sizeof(*block));

	text_set(&item->namespace, namespace);
	text_set(&item->pod, pod);
	hwloc_bitmap_free(item->cpus);
	assert_int_equal(cpuset_parse(cpus, &item->cpus, NULL), 0);
	block->type = strdup("memory");
	block->bytes = memory;
	assert_int_equal(cpuset_parse("0-1", &block->nodes, NULL), 0);
	return item;
}

static void only_named_namespaces_and_nameless_pods_count(void **state)
{
	static const char *const namespaces[] = {"a", "b"};
	const struct zone_filter filter = {.namespaces = namespaces, .n_namespaces = ARRAY_SIZE(namespaces)};
	CLEANUP(allocations_release) struct allocations all = {0};
	CLEANUP(allocations_view_release) struct allocations view = {0};

	(void)state;
	add(&all, "a", "p", "0", 5);
	add(&all, "c", "p", "1", 15);
	add(&all, "c", "q", "3", 0)->named_by_logs = true; /* such a name decides nothing that is published */
	add(&all, "", "", "2", 1);
	all.memory_known = true;
	for (unsigned id = 0; id < 2; id++) {
		struct memory_node *node = vec_push(
			&all.memory.nodes, &all.memory.n_nodes, &all.memory.nodes_size, sizeof(*node));
		struct memory_table *t =
			vec_push(&node->tables, &node->n_tables, &node->tables_size, sizeof(*t));

		node->id = id;
		*t = (struct memory_table){.type = strdup("memory"),
			.allocatable = 20,
			.reserved = id ? 11 : 10,
			.free = id ? 9 : 10};
	}
	zone_filter_view(&filter, &all, &view);
	assert_int_equal(view.n_items, 3);
	assert_string_equal(view.items[0].namespace, "a");
	assert_string_equal(view.items[1].pod, "q");
	assert_string_equal(view.items[2].pod, "");
	assert_int_equal(view.memory.nodes[0].tables[0].free, 20);
	assert_int_equal(view.memory.nodes[1].tables[0].free, 14);
	assert_int_equal(all.memory.nodes[1].tables[0].free, 9);
	assert_int_equal(all.n_items, 4);
}

static void claims_count_by_their_namespaces(void **state)
{
	static const char *const namespaces[] = {"a"};
	const struct zone_filter filter = {.namespaces = namespaces, .n_namespaces = 1};
	CLEANUP(claims_release) struct claims all = {0};
	struct claims some = {0};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct claim *c = test_add_claim(&all, "d",
			i == 0   ? "x"
			: i == 1 ? "y"
				 : "z",
			"", NULL, 0, 0);

		text_set(&c->namespace, i == 0 ? "b" : i == 1 ? "a" : "");
	}
	zone_filter_claims(&filter, &all, &some);
	assert_int_equal(some.n_items, 2);
	assert_string_equal(some.items[0].uid, "y");
	assert_string_equal(some.items[1].uid, "z");
	free(some.items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resources_go_by_name_or_pattern),
		cmocka_unit_test(only_named_namespaces_and_nameless_pods_count),
		cmocka_unit_test(claims_count_by_their_namespaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
