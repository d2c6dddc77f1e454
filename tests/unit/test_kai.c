/* SPDX-License-Identifier: Apache-2.0 */
/* The annotation of pods that KAI-Scheduler reads; tests/upstream/kai.sh compares it with what KAI's own exporter writes. */
#include "agent/render/render.h"

#include <stdlib.h>
#include <string.h>

#include "agent/publish/pod_annotations.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "tests/lib/node_sim.h"
#include "tests/lib/states.h"
#include "tests/lib/test.h"

static int begin(void **state)
{
	struct node_sim *sim = calloc(1, sizeof(*sim));

	assert_non_null(sim);
	node_sim_init(sim, &node_sim_threads);
	*state = sim;
	return 0;
}

static int end(void **state)
{
	node_sim_release(*state);
	free(*state);
	return 0;
}

/* A container of the pod default/POD with these CPUs. */
static struct allocation *add(struct node_sim *sim, const char *pod, const char *container, const char *cpus)
{
	struct allocation *a = allocations_add_container(&sim->state.allocations, pod, container);
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;

	assert_int_equal(cpuset_parse(cpus, &set, NULL), 0);
	cpuset_or(a->cpus, a->cpus, set);
	text_set(&a->namespace, "default");
	text_set(&a->pod, pod);
	return a;
}

static void add_block(struct allocation *a, const char *type, uint64_t bytes, const char *nodes)
{
	struct memory_block *block = vec_push(&a->memory, &a->n_memory, &a->memory_size, sizeof(*block));

	text_set(&block->type, type);
	block->bytes = bytes;
	assert_int_equal(cpuset_parse(nodes, &block->nodes, NULL), 0);
}

static void add_device(struct allocation *a, const char *resource, const char *nodes, const char *id)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;

	assert_int_equal(cpuset_parse(nodes, &set, NULL), 0);
	device_blocks_add(&a->devices, &a->n_devices, &a->devices_size, resource, set, false, id);
}

/* Compare all pods, "NAMESPACE/NAME UID VALUE" and a newline each, and the notes. */
static void check(const struct node_state *node, const char *want, const char *want_notes)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1 << 16), noted = STRBUF_INIT(1 << 10);
	CLEANUP(kai_pods_release) struct kai_pods pods = {0};
	CLEANUP(notes_release) struct notes notes;

	notes = (struct notes){0};
	kai_render(node, &pods, &notes);
	for (size_t i = 0; i < pods.n_items; i++)
		strbuf_addf(&text, "%s/%s %s %s\n", pods.items[i].namespace, pods.items[i].name,
			pods.items[i].uid, pods.items[i].value);
	test_assert_text("pods", text.text ? text.text : "", want);
	test_notes_text(&notes, &noted);
	test_assert_text("notes", noted.text ? noted.text : "", want_notes);
}

static void amounts_of_all_containers_are_added_up(void **state)
{
	struct node_sim *sim = *state;
	struct allocation *a = add(sim, "p", "one", "1,5,2");

	add_block(a, "memory", (uint64_t)1 << 30, "0");
	add_block(a, "hugepages-2Mi", 8000000000, "1");
	add_device(a, "vendor.com/gpu", "0", "a");
	add_device(a, "vendor.com/gpu", "0", "b");
	a = add(sim, "p", "two", "3");
	add_block(a, "memory", 1024, "0");
	add(sim, "shared", "c", "");
	check(&sim->state,
		"default/p p [{\"zone\":\"node-0\",\"amount\":{\"cpu\":\"2\",\"memory\":\"1073742848\",\"vendor.com/gpu\":\"2\"}},"
		"{\"zone\":\"node-1\",\"amount\":{\"cpu\":\"2\",\"hugepages-2Mi\":\"8G\"}}]\n",
		"");
}

/* As the exporter, which sees a device once per NUMA node and a memory block once. */
static void what_belongs_to_several_nodes(void **state)
{
	struct node_sim *sim = *state;
	struct allocation *a = add(sim, "p", "c", "");

	add_block(a, "memory", 1024, "0-1");
	add_device(a, "vendor.com/nic", "0-1", "n");
	add_device(a, "vendor.com/none", "", "x");
	check(&sim->state,
		"default/p p [{\"zone\":\"node-0\",\"amount\":{\"vendor.com/nic\":\"1\"}},"
		"{\"zone\":\"node-1\",\"amount\":{\"vendor.com/nic\":\"1\"}}]\n",
		"");
}

/* Zones in the order of their names. */
static void zones_are_sorted_by_bytes(void **state)
{
	struct node_sim *sim = *state;
	struct allocation *a = add(sim, "p", "c", "");

	add_block(a, "memory", 2, "2");
	add_block(a, "memory", 1, "10");
	check(&sim->state,
		"default/p p [{\"zone\":\"node-10\",\"amount\":{\"memory\":\"1\"}},{\"zone\":\"node-2\",\"amount\":{\"memory\":\"2\"}}]\n",
		"");
}

static void some_pods_are_left_out(void **state)
{
	struct node_sim *sim = *state;

	text_set(&add(sim, "unnamed", "c", "1")->pod, "");
	text_set(&add(sim, "elsewhere", "c", "2")->namespace, "../x");
	add(sim, "logs", "c", "3")->named_by_logs = true;
	add(sim, "q", "init", "5-6")->unlisted = true;
	add(sim, "q", "c", "5");
	check(&sim->state, "default/q q [{\"zone\":\"node-0\",\"amount\":{\"cpu\":\"1\"}}]\n", "");
}

static void a_value_has_a_limit(void **state)
{
	struct node_sim *sim = *state;
	struct allocation *a = add(sim, "p", "c", "1");
	char name[64];

	for (unsigned i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "vendor.com/a-resource-with-a-long-name-%u", i);
		add_block(a, name, 1, "0");
	}
	check(&sim->state, "",
		"pod default/p has no annotation kai.scheduler/numa-placement-observed: it would exceed 65536 bytes");
}

/* ---- what has been written */

#define POD(n, id, v)                                                                       \
	{                                                                                   \
		.namespace = (char[]){"default"}, .name = (char[]){n}, .uid = (char[]){id}, \
		.value = (char[])                                                           \
		{                                                                           \
			v                                                                   \
		}                                                                           \
	}

static void every_pod_is_written_once(void **state)
{
	struct kai_pod items[] = {POD("a", "1", "x"), POD("b", "2", "x"), POD("c", "3", "x")};
	struct kai_pods all = {.items = items, .n_items = 3}, less = {.items = items, .n_items = 2};
	CLEANUP(pods_written_release) struct pods_written w = {0};

	(void)state;
	/* The first one fails: the others come first. */
	assert_ptr_equal(pods_written_next(&w, &all), &items[0]);
	pods_written_skip(&w, &all, &items[0]);
	for (size_t i = 1; i <= 3; i++) {
		const struct kai_pod *pod = pods_written_next(&w, &all);

		assert_ptr_equal(pod, &items[i % 3]);
		pods_written_add(&w, pod);
		pods_written_keep(&w, &all);
	}
	assert_null(pods_written_next(&w, &all));
	/* A pod that ended, and another one of its name. */
	pods_written_keep(&w, &less);
	assert_null(pods_written_next(&w, &less));
	assert_ptr_equal(pods_written_next(&w, &all), &items[2]);
	items[0].uid[0] = '9';
	assert_ptr_equal(pods_written_next(&w, &less), &items[0]);
	items[0].uid[0] = '1';
	items[1].value[0] = 'y';
	assert_ptr_equal(pods_written_next(&w, &less), &items[1]);
	pods_written_release(&w);
	assert_ptr_equal(pods_written_next(&w, &less), &items[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(amounts_of_all_containers_are_added_up, begin, end),
		cmocka_unit_test_setup_teardown(what_belongs_to_several_nodes, begin, end),
		cmocka_unit_test_setup_teardown(zones_are_sorted_by_bytes, begin, end),
		cmocka_unit_test_setup_teardown(some_pods_are_left_out, begin, end),
		cmocka_unit_test_setup_teardown(a_value_has_a_limit, begin, end),
		cmocka_unit_test(every_pod_is_written_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
