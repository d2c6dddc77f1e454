/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "agent/node/observe/allocations_merge.h"
#include "agent/node/observe/cross_check.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "tests/lib/states.h"

/* Both sources of a node: one container each, to be changed by a case. */
struct both {
	struct allocations api, files;
};

static struct allocation *add(struct allocations *a, const char *uid, const char *pod, const char *container,
	const char *cpus, const char *device)
{
	struct allocation *item = allocations_add(a);
	CLEANUP(cpuset_freep) hwloc_bitmap_t none = hwloc_bitmap_alloc();

	text_set(&item->pod_uid, uid);
	text_set(&item->namespace, *pod ? "ns" : "");
	text_set(&item->pod, pod);
	text_set(&item->container, container);
	hwloc_bitmap_free(item->cpus);
	assert_int_equal(cpuset_parse(cpus, &item->cpus, NULL), 0);
	if (*device)
		device_blocks_add(
			&item->devices, &item->n_devices, &item->devices_size, "v/nic", none, false, device);
	return item;
}

static void add_registered(struct allocations *a, const char *id)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t none = hwloc_bitmap_alloc();

	device_blocks_add(&a->registered, &a->n_registered, &a->registered_size, "v/nic", none, false, id);
}

static void add_memory(struct allocations *a, uint64_t allocatable, uint64_t reserved)
{
	struct memory_node *node =
		vec_push(&a->memory.nodes, &a->memory.n_nodes, &a->memory.nodes_size, sizeof(*node));
	struct memory_table *t = vec_push(&node->tables, &node->n_tables, &node->tables_size, sizeof(*t));

	a->memory_known = true;
	*t = (struct memory_table){
		.type = strdup("memory"), .allocatable = allocatable, .reserved = reserved};
}

static void init(struct both *b)
{
	memset(b, 0, sizeof(*b));
	b->api.cpus_known = b->files.cpus_known = true;
	b->api.devices_known = b->files.devices_known = true;
	b->api.registered_known = b->files.registered_known = true;
}

static void check(struct both *b, int want, const char *text)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(4096);

	assert_int_equal(cross_check(&b->api, &b->files, &out), want);
	test_assert_text("what differs", out.text, text);
	allocations_release(&b->api);
	allocations_release(&b->files);
	init(b);
}

static void only_contradictions_are_told(void **state)
{
	struct both b;

	(void)state;
	init(&b);
	check(&b, 0, "");
	add(&b.api, "", "p", "c", "4-5", "");
	add(&b.files, "u", "", "c", "4-5", "");
	add(&b.files, "u", "", "init", "4-7", "");
	check(&b, 0, "");
	add(&b.api, "", "p", "c", "4-5", "");
	check(&b, 1, "CPUs held: '4-5' by the API, '' by the files");
	add(&b.api, "", "p", "c", "4-5", "");
	b.files.cpus_known = false;
	check(&b, 0, "");
	add(&b.api, "", "p", "c", "", "nic0");
	add_registered(&b.api, "nic0");
	add_registered(&b.api, "nic1");
	add_registered(&b.files, "nic0");
	check(&b, 2,
		"devices held: 1 by the API and not by the files, 'nic0' of v/nic first; devices registered: "
		"1 "
		"by the API and not by the files, 'nic1' of v/nic first");
	add_registered(&b.files, "nic0");
	check(&b, 1, "devices registered: 1 by the files and not by the API, 'nic0' of v/nic first");
	add_memory(&b.api, 100, 10);
	add_memory(&b.files, 100, 20);
	check(&b, 0, "");
	add_memory(&b.api, 90, 30);
	add_memory(&b.files, 100, 20);
	check(&b, 2,
		"memory allocatable: 90 by the API, 100 by the files; memory held: 30 by the API, 20 by the "
		"files");
	allocations_release(&b.api);
	allocations_release(&b.files);
}

static void names_and_uids_meet(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
	CLEANUP(allocations_release) struct allocations api = {0};
	CLEANUP(allocations_release) struct allocations files = {0};
	const struct pod_evidence none = {0};

	(void)state;
	add(&api, "", "one", "c", "4-5", "");
	add(&api, "", "one", "sidecar", "", "");
	add(&api, "", "two", "c", "", "nic1");
	add(&api, "", "three", "c", "", "");
	add(&files, "u1", "", "c", "4-5", "");
	add(&files, "u1", "", "init", "4-7", "");
	add(&files, "u2", "", "c", "", "nic1");
	add(&files, "u9", "", "c", "8", "nic9");
	allocations_find_uids(&api, &files, &none);
	allocations_join(&api, &files, false);
	for (size_t i = 0; i < api.n_items; i++)
		strbuf_addf(&text, "%s=%s ", api.items[i].pod, api.items[i].pod_uid);
	test_assert_text("pods", text.text, "three= one=u1 one=u1 one=u1 two=u2 =u9 ");
	strbuf_reset(&text);
	test_allocations_text(&api, &text);
	test_assert_text("holders", text.text,
		"/c;u1/c cpus 4-5;u1/init cpus 6-7;u1/sidecar;u2/c v/nic nic1@;u9/c cpus 8 v/nic nic9@;");
}

/* A pod of `a` holds this much of node 0. */
static void hold_memory(struct allocations *a, const char *uid, const char *container, uint64_t bytes)
{
	for (size_t i = 0; i < a->n_items; i++) {
		struct allocation *item = &a->items[i];
		struct memory_block *block;

		if (strcmp(item->pod_uid, uid) != 0 || strcmp(item->container, container) != 0)
			continue;
		block = vec_push(&item->memory, &item->n_memory, &item->memory_size, sizeof(*block));
		assert_non_null(block);
		*block = (struct memory_block){
			.type = strdup("memory"), .bytes = bytes, .nodes = hwloc_bitmap_alloc()};
		assert_non_null(block->type);
		assert_true(block->nodes && hwloc_bitmap_set(block->nodes, 0) == 0);
	}
}

/* What an init container keeps is its pod's: it comes free with the pod. The memory of a container that the API lists is
 * the API's, and that of a pod which may be one of the API's without UID is nobody's twice. */
static void memory_of_init_containers(void **state)
{
	static const struct {
		bool memory, nameless;
		const char *text;
	} cases[] = {
		{true, false, "u1/c cpus 4-5 memory 100@0;u1/init memory 40@0;u9/c memory 7@0;"},
		{true, true, "/c memory 5@0;u1/c cpus 4-5 memory 100@0;u1/init memory 40@0;"},
		{false, false, "u1/c cpus 4-5 memory 100@0;"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
		CLEANUP(allocations_release) struct allocations api = {0};
		CLEANUP(allocations_release) struct allocations files = {0};

		add(&api, "u1", "one", "c", "4-5", "");
		hold_memory(&api, "u1", "c", 100);
		if (cases[i].nameless) {
			add(&api, "", "two", "c", "", "");
			hold_memory(&api, "", "c", 5);
		}
		add(&files, "u1", "", "c", "4-5", "");
		hold_memory(&files, "u1", "c", 120);
		add(&files, "u1", "", "init", "4-5", "");
		hold_memory(&files, "u1", "init", 40);
		add(&files, "u9", "", "c", "", "");
		hold_memory(&files, "u9", "c", 7);
		allocations_join(&api, &files, cases[i].memory);
		test_allocations_text(&api, &text);
		test_assert_text("holders", text.text, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_contradictions_are_told),
		cmocka_unit_test(names_and_uids_meet),
		cmocka_unit_test(memory_of_init_containers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
