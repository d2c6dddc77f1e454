/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "common/device_index.h"

static void add(struct allocation *item, const char *resource, int node, const char *id)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = hwloc_bitmap_alloc();

	if (node >= 0)
		hwloc_bitmap_set(nodes, (unsigned)node);
	device_blocks_add(&item->devices, &item->n_devices, &item->devices_size, resource, nodes, false, id);
}

static void devices_of_one_resource_and_place_are_one_block(void **state)
{
	CLEANUP(allocations_release) struct allocations a = {0};
	struct allocation *item = allocations_add(&a);

	(void)state;
	add(item, "a/x", 0, "1");
	add(item, "a/x", 1, "2");
	add(item, "a/x", 0, "3");
	add(item, "b/x", 0, "1");
	assert_int_equal(item->n_devices, 3);
	assert_int_equal(item->devices[0].ids.n_items, 2);
	assert_string_equal(item->devices[0].ids.items[1], "3");
}

static void every_held_device_is_found_once(void **state)
{
	CLEANUP(allocations_release) struct allocations a = {0};
	CLEANUP(device_index_release) struct device_index index = {0};
	const struct device_ref *found;

	(void)state;
	add(allocations_add(&a), "b/x", 1, "7");
	add(allocations_add(&a), "a/x", 0, "7");
	add(&a.items[1], "a/x", 0, "3");
	add(allocations_add(&a), "a/x", 0, "7"); /* an init container's, handed on */
	device_index_held(&a, &index);
	assert_int_equal(index.n_items, 3);
	assert_string_equal(index.items[0].id, "3");
	found = device_index_find(&index, "b/x", "7");
	assert_non_null(found);
	assert_true(hwloc_bitmap_isset(found->nodes, 1));
	assert_null(device_index_find(&index, "b/x", "3"));
	assert_null(device_index_find(&index, "c/x", "7"));
}

static void nothing_is_in_an_empty_index(void **state)
{
	CLEANUP(allocations_release) struct allocations a = {0};
	CLEANUP(device_index_release) struct device_index index = {0};

	(void)state;
	device_index_registered(&a, &index);
	assert_int_equal(index.n_items, 0);
	assert_null(device_index_find(&index, "a", "b"));
}

static void a_device_listed_once_a_node_becomes_one(void **state)
{
	CLEANUP(allocations_release) struct allocations a = {0};
	struct allocation *item = allocations_add(&a);

	(void)state;
	add(item, "a/x", 0, "1");
	add(item, "a/x", 1, "1");
	add(item, "a/x", 1, "2");
	add(item, "a/x", -1, "3");
	device_blocks_unite(&item->devices, &item->n_devices, &item->devices_size);
	assert_int_equal(item->n_devices, 3);
	assert_string_equal(item->devices[0].ids.items[0], "1");
	assert_int_equal(hwloc_bitmap_weight(item->devices[0].nodes), 2);
	assert_int_equal(hwloc_bitmap_weight(item->devices[1].nodes), 1);
	assert_true(hwloc_bitmap_iszero(item->devices[2].nodes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_of_one_resource_and_place_are_one_block),
		cmocka_unit_test(a_device_listed_once_a_node_becomes_one),
		cmocka_unit_test(every_held_device_is_found_once),
		cmocka_unit_test(nothing_is_in_an_empty_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
