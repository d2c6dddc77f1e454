/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "common/allocation.h"
#include "common/cleanup.h"
#include "common/vec.h"

/* One container with a CPU and, where `type` is given, a memory block. */
static void add(struct allocations *a, const char *pod, const char *container, unsigned cpu, const char *type)
{
	struct allocation *item = allocations_add_container(a, pod, container);

	assert_non_null(item);
	hwloc_bitmap_set(item->cpus, cpu);
	if (!type)
		return;
	vec_grow(&item->memory, &item->memory_size, 1, sizeof(*item->memory));
	item->memory[item->n_memory++] =
		(struct memory_block){.type = strdup(type), .bytes = 1, .nodes = hwloc_bitmap_alloc()};
}

static void describe(const struct allocations *a, struct strbuf *out)
{
	for (size_t i = 0; i < a->n_items; i++) {
		const struct allocation *item = &a->items[i];
		CLEANUP(freep) char *cpus = cpuset_print(item->cpus);

		strbuf_addf(out, "%s/%s:%s", item->pod_uid, item->container, cpus);
		for (size_t m = 0; m < item->n_memory; m++)
			strbuf_addf(out, " %s", item->memory[m].type);
		strbuf_addch(out, ';');
	}
}

static void merging_unites_a_container(void **state)
{
	CLEANUP(allocations_release) struct allocations a = {0};
	CLEANUP(allocations_release) struct allocations b = {0};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);

	(void)state;
	add(&a, "q", "one", 3, NULL);
	add(&a, "p", "one", 1, "memory");
	add(&b, "p", "two", 2, NULL);
	add(&b, "p", "one", 4, "hugepages-2Mi");
	add(&b, "a", "", 5, NULL);
	allocations_merge(&a, &b);
	assert_int_equal(b.n_items, 0);
	describe(&a, &text);
	test_assert_text("merged", text.text, "a/:5;p/one:1,4 memory hugepages-2Mi;p/two:2;q/one:3;");
}

static void one_that_lists_a_container_is_enough(void **state)
{
	CLEANUP(allocations_release) struct allocations a = {0};
	CLEANUP(allocations_release) struct allocations b = {0};

	(void)state;
	add(&a, "p", "both", 1, NULL);
	add(&b, "p", "both", 2, NULL);
	add(&b, "p", "files", 3, NULL);
	b.items[0].unlisted = b.items[1].unlisted = true;
	allocations_merge(&a, &b);
	assert_int_equal(a.n_items, 2);
	assert_false(a.items[0].unlisted);
	assert_true(a.items[1].unlisted);
}

static void merging_nothing_changes_nothing(void **state)
{
	CLEANUP(allocations_release) struct allocations a = {0};
	CLEANUP(allocations_release) struct allocations b = {0};

	(void)state;
	allocations_merge(&a, &b);
	assert_int_equal(a.n_items, 0);
	add(&a, "p", "c", 0, NULL);
	allocations_merge(&a, &b);
	assert_int_equal(a.n_items, 1);
}

/* ---- devices */

static void add_device(struct allocation *item, const char *resource, int node, const char *id)
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
	add_device(item, "a/x", 0, "1");
	add_device(item, "a/x", 1, "2");
	add_device(item, "a/x", 0, "3");
	add_device(item, "b/x", 0, "1");
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
	add_device(allocations_add(&a), "b/x", 1, "7");
	add_device(allocations_add(&a), "a/x", 0, "7");
	add_device(&a.items[1], "a/x", 0, "3");
	add_device(allocations_add(&a), "a/x", 0, "7"); /* an init container's, handed on */
	device_index_held(&a, &index);
	assert_int_equal(index.n_items, 3);
	assert_string_equal(index.items[0].id, "3");
	found = device_index_find(&index, "b/x", "7");
	assert_non_null(found);
	assert_true(hwloc_bitmap_isset(found->block->nodes, 1));
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
	add_device(item, "a/x", 0, "1");
	add_device(item, "a/x", 1, "1");
	add_device(item, "a/x", 1, "2");
	add_device(item, "a/x", -1, "3");
	device_blocks_merge(&item->devices, &item->n_devices, &item->devices_size);
	assert_int_equal(item->n_devices, 3);
	assert_string_equal(item->devices[0].ids.items[0], "1");
	assert_int_equal(hwloc_bitmap_weight(item->devices[0].nodes), 2);
	assert_int_equal(hwloc_bitmap_weight(item->devices[1].nodes), 1);
	assert_true(hwloc_bitmap_iszero(item->devices[2].nodes));
}

/* As if every device were looked up by its id: by resource, then by the first id, each block's ids in order. */
static void blocks_without_repeated_devices_are_sorted(void **state)
{
	CLEANUP(allocations_release) struct allocations a = {0};
	struct allocation *item = allocations_add(&a);
	const char *ids;

	(void)state;
	add_device(item, "b/x", 0, "1");
	add_device(item, "a/x", 1, "5");
	add_device(item, "a/x", 1, "2");
	add_device(item, "a/x", 0, "3");
	ids = item->devices[1].ids.items[1];
	device_blocks_merge(&item->devices, &item->n_devices, &item->devices_size);
	assert_int_equal(item->n_devices, 3);
	assert_string_equal(item->devices[0].resource, "a/x");
	assert_string_equal(item->devices[0].ids.items[0], "2");
	assert_string_equal(item->devices[0].ids.items[1], "5");
	assert_ptr_equal(item->devices[0].ids.items[0], ids); /* not copied */
	assert_string_equal(item->devices[1].ids.items[0], "3");
	assert_string_equal(item->devices[2].resource, "b/x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merging_unites_a_container),
		cmocka_unit_test(one_that_lists_a_container_is_enough),
		cmocka_unit_test(merging_nothing_changes_nothing),
		cmocka_unit_test(devices_of_one_resource_and_place_are_one_block),
		cmocka_unit_test(a_device_listed_once_a_node_becomes_one),
		cmocka_unit_test(blocks_without_repeated_devices_are_sorted),
		cmocka_unit_test(every_held_device_is_found_once),
		cmocka_unit_test(nothing_is_in_an_empty_index),
	};

	return cmocka_run_group_tests_name("allocation", tests, NULL, NULL);
}
