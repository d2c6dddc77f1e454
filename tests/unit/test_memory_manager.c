/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "common/cleanup.h"
#include "scoring/memory_manager.h"

#define GIB ((uint64_t)1 << 30)

/* A machine state: nodes of `allocatable` bytes of memory, and hugepages on node 0 alone. */
static void make_state(struct memory_state *s, size_t n_nodes, uint64_t allocatable)
{
	memory_state_init(s);
	s->nodes = calloc(n_nodes, sizeof(*s->nodes));
	assert_non_null(s->nodes);
	for (; s->n_nodes < n_nodes; s->n_nodes++) {
		struct memory_node *node = &s->nodes[s->n_nodes];

		node->id = (unsigned)s->n_nodes;
		node->cells = hwloc_bitmap_alloc();
		node->tables = calloc(2, sizeof(*node->tables));
		assert_non_null(node->cells);
		assert_non_null(node->tables);
		hwloc_bitmap_set(node->cells, node->id);
		if (node->id == 0)
			node->tables[node->n_tables++] = (struct memory_table){
				.type = strdup("hugepages-1Gi"), .allocatable = GIB, .free = GIB};
		node->tables[node->n_tables++] = (struct memory_table){
			.type = strdup("memory"), .allocatable = allocatable, .free = allocatable};
	}
}

static const struct kubelet_version version; /* the rules of no release in particular */

struct fixture {
	struct memory_state state;
	struct memory_manager mm;
	struct memory_books books;
	struct memory_needs needs;
	struct topology_hints hints;
};

static void fixture_init(struct fixture *f, size_t n_nodes)
{
	memset(f, 0, sizeof(*f));
	make_state(&f->state, n_nodes, 10 * GIB);
	assert_int_equal(memory_manager_init(&f->mm, &f->state, &version), 0);
	memory_books_init(&f->books, &f->mm);
	memory_books_reset(&f->books, &f->mm);
	memory_books_reserve(&f->books, 8);
	topology_hints_init(&f->hints, (unsigned)n_nodes);
}

static void fixture_release(struct fixture *f)
{
	topology_hints_release(&f->hints);
	memory_needs_release(&f->needs);
	memory_books_release(&f->books);
	memory_manager_release(&f->mm);
	memory_state_release(&f->state);
}

/* The needs of a container that asks for these quantities (NULL = not). */
static int need(struct fixture *f, const char *memory, const char *hugepages)
{
	struct container_request container = {.kind = CONTAINER_APP};
	struct quantity q;
	int r;

	if (memory) {
		assert_int_equal(quantity_parse(memory, &q, NULL), 0);
		resource_list_set(&container.requests, "memory", q);
	}
	if (hugepages) {
		assert_int_equal(quantity_parse(hugepages, &q, NULL), 0);
		resource_list_set(&container.requests, "hugepages-1Gi", q);
	}
	r = memory_needs_of_container(&f->mm, &container, &f->needs);
	for (size_t i = 0; r == 0 && i < f->needs.n_items; i++)
		f->needs.items[i].name =
			strcmp(f->needs.items[i].name, "memory") ? "hugepages-1Gi" : "memory";
	resource_list_release(&container.requests);
	return r;
}

static enum memory_take_status take(
	struct fixture *f, uint64_t nodes, bool preferred, enum container_kind kind, uint64_t *ret_nodes)
{
	const struct topology_hint hint = {.nodes = nodes, .any_node = nodes == 0, .preferred = preferred};

	return memory_manager_allocate(&f->mm, &f->books, &f->needs, hint, kind, &f->hints, ret_nodes);
}

static uint64_t free_on(const struct fixture *f, size_t node)
{
	for (size_t type = 0; type < f->mm.n_types; type++)
		if (!strcmp(f->mm.types[type], "memory"))
			return f->books.amounts[node * f->mm.n_types + type].free;
	return 0;
}

static void needs_are_whole_bytes(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f, 2);
	assert_int_equal(need(&f, "1Gi", "1Gi"), 0);
	assert_int_equal(f.needs.n_items, 2);
	assert_int_equal(need(&f, "1500m", NULL), -EINVAL);
	assert_int_equal(need(&f, "-1", NULL), -EINVAL);
	assert_int_equal(need(&f, "9223372036854775808", NULL), -EINVAL);
	assert_int_equal(need(&f, "9223372036854775807", NULL), 0);
	fixture_release(&f);
}

static void a_type_that_a_node_lacks_is_none(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f, 2);
	assert_int_equal(need(&f, "1Gi", "1Gi"), 0);
	memory_manager_hints(&f.mm, &f.books, &f.needs, &f.hints);
	assert_int_equal(f.hints.n_items, 2);
	assert_int_equal(f.hints.items[0].nodes, 1);
	assert_true(f.hints.items[0].preferred);
	assert_int_equal(f.hints.items[1].nodes, 3);
	assert_int_equal(need(&f, "1Gi", "2Gi"), 0);
	memory_manager_hints(&f.mm, &f.books, &f.needs, &f.hints);
	assert_int_equal(f.hints.n_items, 0);
	assert_true(f.hints.no_preference);
	f.needs.items[0].type = f.mm.n_types;
	memory_manager_hints(&f.mm, &f.books, &f.needs, &f.hints);
	assert_int_equal(f.hints.n_items, 0);
	fixture_release(&f);
}

/* Nodes used alone and nodes in a group exclude each other. */
static void groups_exclude_single_nodes(void **state)
{
	uint64_t nodes;
	struct fixture f;

	(void)state;
	fixture_init(&f, 4);
	assert_int_equal(need(&f, "15Gi", NULL), 0);
	assert_int_equal(take(&f, 3, true, CONTAINER_APP, &nodes), MEMORY_TAKE_OK);
	assert_int_equal(nodes, 3);
	/* Filled in the order of the nodes. */
	assert_int_equal(free_on(&f, 0), 0);
	assert_int_equal(free_on(&f, 1), 5 * GIB);
	assert_int_equal(f.books.use[1].cells, 3);
	assert_int_equal(need(&f, "2Gi", NULL), 0);
	assert_int_equal(take(&f, 4, true, CONTAINER_APP, &nodes), MEMORY_TAKE_OK);
	memory_manager_hints(&f.mm, &f.books, &f.needs, &f.hints);
	/* 2 and 3 alone, and the group as it is; nothing that mixes them. */
	assert_int_equal(f.hints.n_items, 3);
	assert_int_equal(f.hints.items[0].nodes, 4);
	assert_int_equal(f.hints.items[1].nodes, 8);
	assert_int_equal(f.hints.items[2].nodes, 3);
	assert_false(f.hints.items[2].preferred);
	/* A mask with enough memory that cuts through the group. */
	assert_int_equal(take(&f, 6, true, CONTAINER_APP, &nodes), MEMORY_TAKE_GROUPED);
	assert_int_equal(free_on(&f, 2), 8 * GIB);
	fixture_release(&f);
}

/* Nothing of a type that no node has: nothing is charged, the nodes are the group's all the same. */
static void a_group_has_what_no_node_has(void **state)
{
	uint64_t nodes = 0;
	struct fixture f;

	(void)state;
	fixture_init(&f, 3);
	assert_int_equal(need(&f, NULL, "0"), 0);
	f.needs.items[0].type = f.mm.n_types;
	assert_int_equal(take(&f, 3, true, CONTAINER_APP, &nodes), MEMORY_TAKE_OK);
	assert_int_equal(nodes, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(f.books.use[i].assignments, i < 2);
		assert_int_equal(f.books.use[i].cells, i < 2 ? 3 : 1u << i);
	}
	fixture_release(&f);
}

static void a_small_hint_is_extended(void **state)
{
	uint64_t nodes = 0;
	struct fixture f;

	(void)state;
	fixture_init(&f, 3);
	assert_int_equal(need(&f, "12Gi", NULL), 0);
	assert_int_equal(take(&f, 4, false, CONTAINER_APP, &nodes), MEMORY_TAKE_OK);
	assert_int_equal(nodes, 5);
	/* Nothing that contains node 1 has so much: by size it fits two nodes, is free on none. */
	assert_int_equal(take(&f, 2, false, CONTAINER_APP, &nodes), MEMORY_TAKE_NO_NODES);
	fixture_release(&f);

	fixture_init(&f, 3);
	assert_int_equal(need(&f, "8Gi", NULL), 0);
	for (uint64_t node = 1; node <= 4; node *= 2)
		assert_int_equal(take(&f, node, true, CONTAINER_APP, &nodes), MEMORY_TAKE_OK);
	for (size_t i = 0; i < 3; i++)
		f.books.use[i].assignments = 0;
	assert_int_equal(need(&f, "3Gi", NULL), 0);
	assert_int_equal(take(&f, 1, true, CONTAINER_APP, &nodes), MEMORY_TAKE_NOT_PREFERRED);
	assert_int_equal(take(&f, 0, false, CONTAINER_APP, &nodes), MEMORY_TAKE_OK);
	assert_int_equal(nodes, 3);
	fixture_release(&f);
}

static void init_memory_is_used_again(void **state)
{
	uint64_t nodes;
	struct fixture f;

	(void)state;
	fixture_init(&f, 1);
	assert_int_equal(need(&f, "6Gi", NULL), 0);
	assert_int_equal(take(&f, 1, true, CONTAINER_INIT, &nodes), MEMORY_TAKE_OK);
	assert_int_equal(free_on(&f, 0), 4 * GIB);
	assert_int_equal(need(&f, "5Gi", NULL), 0);
	assert_int_equal(take(&f, 1, true, CONTAINER_APP, &nodes), MEMORY_TAKE_OK);
	assert_int_equal(free_on(&f, 0), 4 * GIB);
	/* 1Gi of the init container's is left. */
	assert_int_equal(take(&f, 1, true, CONTAINER_APP, &nodes), MEMORY_TAKE_OK);
	assert_int_equal(free_on(&f, 0), 0);
	assert_int_equal(take(&f, 1, true, CONTAINER_APP, &nodes), MEMORY_TAKE_NO_NODES);
	fixture_release(&f);
}

static void a_pod_holds_its_peak(void **state)
{
	static const struct {
		enum container_kind kind;
		const char *memory, *hugepages;
	} containers[] = {
		{CONTAINER_INIT, "1Gi", "1Gi"},
		{CONTAINER_SIDECAR, "2Gi", NULL},
		{CONTAINER_INIT, "9Gi", NULL},
		{CONTAINER_APP, "3Gi", NULL},
		{CONTAINER_APP, "4Gi", NULL},
	};
	struct pod_request pod;
	struct fixture f;

	(void)state;
	fixture_init(&f, 2);
	pod_request_init(&pod);
	for (size_t i = 0; i < ARRAY_SIZE(containers); i++) {
		struct container_request *c = pod_request_add(&pod, containers[i].kind, "c");
		struct quantity q;

		assert_non_null(c);
		assert_int_equal(quantity_parse(containers[i].memory, &q, NULL), 0);
		resource_list_set(&c->requests, "memory", q);
		if (containers[i].hugepages)
			resource_list_set(&c->requests, "hugepages-1Gi", q);
	}
	assert_int_equal(memory_needs_of_pod(&f.mm, &pod, &f.needs), 0);
	/* Up to 1.37 the kubelet forgets what only init containers ask for. */
	assert_int_equal(f.needs.n_items, 1);
	assert_int_equal(f.needs.items[0].bytes, 11 * GIB);
	f.mm.version = kubelet_version_of(38);
	assert_int_equal(memory_needs_of_pod(&f.mm, &pod, &f.needs), 0);
	assert_int_equal(f.needs.n_items, 2);
	assert_int_equal(f.needs.items[0].bytes, 11 * GIB);
	assert_string_equal(f.needs.items[1].name, "hugepages-1Gi");
	assert_int_equal(f.needs.items[1].bytes, GIB);
	pod_request_release(&pod);
	fixture_release(&f);
}

static void ids_beyond_63_are_refused(void **state)
{
	struct memory_manager mm;
	struct memory_state s;

	(void)state;
	make_state(&s, 2, GIB);
	s.nodes[1].id = 64;
	assert_int_equal(memory_manager_init(&mm, &s, &version), -ERANGE);
	s.nodes[1].id = 1;
	hwloc_bitmap_set(s.nodes[0].cells, 70);
	assert_int_equal(memory_manager_init(&mm, &s, &version), -ERANGE);
	memory_state_release(&s);
}

/* What is taken is what is missing, and nothing is ever given back. */
static void allocations_only_take(void **state)
{
	static const char *const amounts[] = {"64Mi", "1Gi", "3Gi", "7Gi", "11Gi", "25Gi"};
	uint64_t random = test_seed(20261127);

	(void)state;
	for (int turn = 0; turn < 500; turn++) {
		struct fixture f;

		fixture_init(&f, 3);
		for (int pod = 0; pod < 10; pod++) {
			uint64_t before[3], sum = 0, nodes;
			enum memory_take_status status;

			assert_int_equal(
				need(&f, amounts[test_random(&random) % ARRAY_SIZE(amounts)], NULL), 0);
			for (size_t i = 0; i < 3; i++)
				before[i] = free_on(&f, i);
			status = take(&f, test_random(&random) % 8, false, CONTAINER_APP, &nodes);
			for (size_t i = 0; i < 3; i++) {
				assert_true(free_on(&f, i) <= before[i]);
				sum += before[i] - free_on(&f, i);
			}
			assert_int_equal(sum, status == MEMORY_TAKE_OK ? f.needs.items[0].bytes : 0);
		}
		fixture_release(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(needs_are_whole_bytes),
		cmocka_unit_test(a_type_that_a_node_lacks_is_none),
		cmocka_unit_test(groups_exclude_single_nodes),
		cmocka_unit_test(a_group_has_what_no_node_has),
		cmocka_unit_test(a_small_hint_is_extended),
		cmocka_unit_test(init_memory_is_used_again),
		cmocka_unit_test(a_pod_holds_its_peak),
		cmocka_unit_test(ids_beyond_63_are_refused),
		cmocka_unit_test(allocations_only_take),
	};

	return cmocka_run_group_tests_name("memory_manager", tests, NULL, NULL);
}
