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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merging_unites_a_container),
		cmocka_unit_test(one_that_lists_a_container_is_enough),
		cmocka_unit_test(merging_nothing_changes_nothing),
	};

	return cmocka_run_group_tests_name("allocation", tests, NULL, NULL);
}
