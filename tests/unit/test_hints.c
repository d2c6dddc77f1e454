/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/render/render.h"

#include <errno.h>

#include "agent/render/render.h"
#include "cli/nrtd/stage_config.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/io/json.h"
#include "tests/lib/observations.h"
#include "tests/lib/test.h"

static int read_config(const char *const *shapes, bool labels, struct hints_config *ret, struct err *err)
{
	struct options options = {.program = &program_nrtd};

	options.value[OPT_SHAPE_STRATEGY] = "LeastNUMANodes";
	options.value[OPT_FIT_HINTS_MAX] = "16384";
	options.value[OPT_LABELS] = labels ? "true" : NULL;
	options.origin[OPT_SHAPE] = "--shape";
	for (; *shapes; shapes++)
		options.repeated[options.n_repeated++] = (struct option_value){OPT_SHAPE, *shapes};
	return stage_hints(&options, ret, err);
}

static const char *value_of(const struct doc *map, const char *key)
{
	return doc_string(doc_get(map, key));
}

/* Two sockets of 8 cores with two threads each, reserved CPUs 0 and 16; a pod holds four cores of the first.
 */
static void observe_node(struct observation *ret)
{
	static const struct holding held = {
		.uid = "u", .container = "c", .cpus = "1-4,17-20", .nodes = "0", .memory = 1 << 20};

	observation_of_kubelet("seed-2s-32cpu", "0", &held, 1, ret);
	ret->node.settings.topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
	ret->node.settings.topology.scope = TOPOLOGY_SCOPE_CONTAINER;
}

static void hints_of_node(const char *const *shapes, struct hints_config *config, struct observation *o,
	struct doc *annotations, struct doc *labels)
{
	struct err err = {""};

	observation_init(o);
	observe_node(o);
	assert_int_equal(read_config(shapes, true, config, &err), 0);
	hints_make(config, &o->node, "0123456789abcdef", annotations, labels, &o->notes, NULL);
}

static void a_node_carries_its_hints(void **state)
{
	static const char *const shapes[] = {
		"small=cpu=4,memory=1Gi", "big=cpu=20", "huge=cpu=4000", "none=vendor.com/x=1", NULL};
	CLEANUP(hints_config_release) struct hints_config config = {0};
	CLEANUP(observation_release) struct observation o;
	CLEANUP(doc_release) struct doc annotations = DOC_INIT;
	CLEANUP(doc_release) struct doc labels = DOC_INIT;
	CLEANUP(doc_release) struct doc hints = DOC_INIT;
	struct err err = {""};
	const char *text;

	(void)state;
	hints_of_node(shapes, &config, &o, &annotations, &labels);
	test_assert_text("small", value_of(&annotations, "nrtd.dev/fit-score.small"), "94");
	test_assert_text("big", value_of(&annotations, "nrtd.dev/fit-score.big"), "82");
	test_assert_text("huge", value_of(&annotations, "nrtd.dev/fit-score.huge"), "0");
	/* What no NUMA node has does not bind the pod to one: the scheduler plugin's rule. */
	test_assert_text("none", value_of(&annotations, "nrtd.dev/fit-score.none"), "100");
	text = value_of(&annotations, "nrtd.dev/fit-hints");
	assert_non_null(text);
	assert_int_equal(json_parse(text, strlen(text), &hints, &err), 0);
	test_assert_text("hash", doc_string(doc_get(&hints, "nrt")), "0123456789abcdef");
	/* 16 CPUs a node, less the reserved one and four of each that are held: 11 and 12, in whole cores. */
	test_assert_text("one node", value_of(&labels, "nrtd.dev/max-exclusive-cpus.1-numa"), "12");
	test_assert_text("two nodes", value_of(&labels, "nrtd.dev/max-exclusive-cpus.2-numa"), "22");
	assert_int_equal(labels.n_items, 2);
}

/* The resources and the frontier of the hints. */
static void print_frontier(const struct observation *o, struct strbuf *ret)
{
	static const char *const none[] = {NULL};
	CLEANUP(hints_config_release) struct hints_config config = {0};
	CLEANUP(doc_release) struct doc annotations = DOC_INIT;
	CLEANUP(doc_release) struct doc labels = DOC_INIT;
	CLEANUP(doc_release) struct doc hints = DOC_INIT;
	const char *text;

	assert_int_equal(read_config(none, false, &config, NULL), 0);
	hints_make(&config, &o->node, "x", &annotations, &labels, NULL, NULL);
	text = value_of(&annotations, "nrtd.dev/fit-hints");
	assert_non_null(text);
	assert_int_equal(json_parse(text, strlen(text), &hints, NULL), 0);
	strbuf_reset(ret);
	json_print_compact(doc_get(&hints, "resources"), ret);
	json_print_compact(doc_get(&hints, "fits"), ret);
}

/* An amount for each resource, exact; null where a NUMA node of the combination lacks the resource. */
static void the_frontier_is_written_exactly(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(1u << 16);

	(void)state;
	observation_init(&o);
	observation_of_kubelet("memoryless", "0", NULL, 0, &o);
	o.node.settings.topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
	print_frontier(&o, &got);
	test_assert_text("frontier", got.text,
		"[\"cpu\",\"hugepages-2Mi\",\"memory\"]["
		"{\"numaNodes\":[0],\"minDistance\":true,\"available\":[3,0,67645734912]},"
		"{\"numaNodes\":[1],\"minDistance\":true,\"available\":[4,0,null]},"
		"{\"numaNodes\":[2],\"minDistance\":true,\"available\":[4,0,68719476736]},"
		"{\"numaNodes\":[0,1],\"minDistance\":true,\"available\":[7,0,null]},"
		"{\"numaNodes\":[0,2],\"minDistance\":true,\"available\":[7,0,136365211648]},"
		"{\"numaNodes\":[1,2],\"minDistance\":true,\"available\":[8,0,null]},"
		"{\"numaNodes\":[0,1,2],\"minDistance\":true,\"available\":[11,0,null]}]");
}

/* Neither the resources nor the amounts have a resource that no NUMA node has, which is memory where no size is known. */
static void the_frontier_omits_what_no_numa_node_has(void **state)
{
	const struct derive_config derive = {.reserved_named = false};
	CLEANUP(observation_release) struct observation o;
	CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(1u << 16);
	CLEANUP(cpuset_freep) hwloc_bitmap_t first = cpuset_new();
	struct allocations *a = &o.node.allocations;

	(void)state;
	observation_init(&o);
	observation_of_machine("memoryless", &o);
	for (size_t i = 0; i < o.node.machine.n_nodes; i++)
		o.node.machine.nodes[i].memory_bytes = 0;
	cpuset_set(first, 0);
	a->registered_known = true;
	device_blocks_add(
		&a->registered, &a->n_registered, &a->registered_size, "v.com/d", first, false, "a");
	reserved_cpus_release(&o.node.reserved);
	inventory_release(&o.node.inventory);
	assert_int_equal(node_derive(&derive, &o.node, &o.notes, NULL), 0);
	assert_true(inventory_resource(&o.node.inventory, "memory") >= 0);
	print_frontier(&o, &got);
	test_assert_text("frontier", got.text,
		"[\"cpu\",\"hugepages-2Mi\",\"v.com/d\"]["
		"{\"numaNodes\":[0],\"minDistance\":true,\"available\":[4,0,1]},"
		"{\"numaNodes\":[0,1],\"minDistance\":true,\"available\":[8,0,1]},"
		"{\"numaNodes\":[0,1,2],\"minDistance\":true,\"available\":[12,0,1]}]");
}

/* The scores of the shapes small, big and odd; "" = left out. */
static void check_scores(const struct observation *o, const char *small, const char *big, const char *odd)
{
	static const char *const shapes[] = {"small=cpu=4,memory=1Gi", "big=cpu=20", "odd=cpu=3", NULL};
	static const char *const keys[] = {
		"nrtd.dev/fit-score.small", "nrtd.dev/fit-score.big", "nrtd.dev/fit-score.odd"};
	const char *const want[] = {small, big, odd};
	CLEANUP(hints_config_release) struct hints_config config = {0};
	CLEANUP(doc_release) struct doc annotations = DOC_INIT;
	CLEANUP(doc_release) struct doc labels = DOC_INIT;

	assert_int_equal(read_config(shapes, false, &config, NULL), 0);
	hints_make(&config, &o->node, "x", &annotations, &labels, NULL, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *got = value_of(&annotations, keys[i]);

		test_assert_text(keys[i], got ? got : "", want[i]);
	}
}

/* The scheduler plugin scores a node that its kubelet would refuse the pod on, and pods are lost there. */
static void a_shape_that_the_kubelet_refuses_scores_0(void **state)
{
	CLEANUP(observation_release) struct observation o;

	(void)state;
	observation_init(&o);
	observe_node(&o);
	check_scores(&o, "94", "82", "0"); /* full-pcpus-only: no half cores */
	o.node.settings.cpu_options.full_pcpus_only = false;
	check_scores(&o, "94", "82", "94");
	o.node.settings.cpu_options.full_pcpus_only = true;
	o.node.settings.topology.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	check_scores(&o, "94", "0", "0");
	/* Nobody knows what the kubelet would say: the score stands. */
	o.node.settings.topology.policy = TOPOLOGY_MANAGER_UNKNOWN;
	o.node.settings.cpu_options.full_pcpus_only = false;
	check_scores(&o, "94", "82", "94");
}

static void labels_are_off_by_default(void **state)
{
	static const char *const none[] = {NULL};
	CLEANUP(hints_config_release) struct hints_config config = {0};
	CLEANUP(observation_release) struct observation o;
	CLEANUP(doc_release) struct doc annotations = DOC_INIT;
	CLEANUP(doc_release) struct doc labels = DOC_INIT;

	(void)state;
	observation_init(&o);
	observe_node(&o);
	assert_int_equal(read_config(none, false, &config, NULL), 0);
	hints_make(&config, &o.node, "x", &annotations, &labels, NULL, NULL);
	assert_int_equal(labels.n_items, 0);
	assert_int_equal(annotations.n_items, 1);
	hints_config_release(&config);
	assert_null(config.shapes);
}

static void many_numa_nodes_have_a_label_each_up_to_a_limit(void **state)
{
	static const char *const none[] = {NULL};
	CLEANUP(hints_config_release) struct hints_config config = {0};
	CLEANUP(observation_release) struct observation o;
	CLEANUP(doc_release) struct doc annotations = DOC_INIT;
	CLEANUP(doc_release) struct doc labels = DOC_INIT;

	(void)state;
	observation_init(&o);
	observation_of_kubelet("16-nodes", "0", NULL, 0, &o);
	o.node.settings.topology.policy = TOPOLOGY_MANAGER_NONE;
	assert_int_equal(read_config(none, true, &config, NULL), 0);
	hints_make(&config, &o.node, "x", &annotations, &labels, NULL, NULL);
	assert_int_equal(labels.n_items, HINTS_MAX_NUMA_LABELS);
}

static void hints_that_are_too_large_are_left_out(void **state)
{
	static const char *const shapes[] = {"small=cpu=4,memory=1Gi", NULL};
	CLEANUP(hints_config_release) struct hints_config config = {0};
	CLEANUP(observation_release) struct observation o;
	CLEANUP(doc_release) struct doc annotations = DOC_INIT;
	CLEANUP(doc_release) struct doc labels = DOC_INIT;

	(void)state;
	observation_init(&o);
	observe_node(&o);
	assert_int_equal(read_config(shapes, true, &config, NULL), 0);
	config.max_size = 32;
	hints_make(&config, &o.node, "x", &annotations, &labels, &o.notes, NULL);
	assert_int_equal(annotations.n_items, 1);
	test_assert_text("small", value_of(&annotations, "nrtd.dev/fit-score.small"), "94");
	assert_int_equal(labels.n_items, 2);
	assert_int_equal(o.notes.lines.n_items, 1);
	assert_non_null(strstr(o.notes.lines.items[0], "fit hints are omitted: "));
	assert_non_null(strstr(o.notes.lines.items[0], "at most 32 are allowed"));
}

static void bad_shapes_are_named(void **state)
{
	static const struct {
		const char *shape, *text;
	} cases[] = {
		{"cpu", "--shape: 'cpu' is not of the form NAME=REQUEST, for example small=cpu=4,memory=8Gi"},
		{"-a=cpu=1",
			"--shape: '-a=cpu=1' is not of the form NAME=REQUEST, for example small=cpu=4,memory=8Gi"},
		{"a=", "--shape: shape 'a': '' is not RESOURCE=QUANTITY"},
		{"a=cpu", "--shape: shape 'a': 'cpu' is not RESOURCE=QUANTITY"},
		{"a=cpu=1,cpu=2", "--shape: shape 'a': cpu is requested twice"},
		{"a=cpu=-1", NULL},
		{"a=cpu=x", NULL},
		{"a=memory=1,", "--shape: shape 'a': '' is not RESOURCE=QUANTITY"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *const shapes[] = {cases[i].shape, NULL};
		struct hints_config config = {0};
		struct err err = {""};

		if (read_config(shapes, false, &config, &err) != -EINVAL)
			fail_msg("'%s' is taken", cases[i].shape);
		assert_null(config.shapes);
		if (cases[i].text)
			test_assert_text(cases[i].shape, err.text, cases[i].text);
		assert_true(err.text[0] != '\0');
	}
}

/* 10 CPUs of whole cores are free on one NUMA node and 12 on the other, and beside them the sibling of the reserved CPU. */
static void room_has_the_numbers_of_the_labels(void **state)
{
	static const char *const shapes[] = {
		"small=cpu=4,memory=1Gi", "six=cpu=6", "odd=cpu=5", "huge=cpu=4000", NULL};
	CLEANUP(hints_config_release) struct hints_config config = {0};
	CLEANUP(observation_release) struct observation o;
	CLEANUP(doc_release) struct doc annotations = DOC_INIT;
	CLEANUP(doc_release) struct doc labels = DOC_INIT;
	CLEANUP(headroom_release) struct headroom room = {0};
	static const size_t copies[] = {5, 3, 0, 0}, stranded[] = {3, 5, 23, 23};

	(void)state;
	hints_of_node(shapes, &config, &o, &annotations, &labels);
	headroom_find(&config, &o.node, &room);
	assert_int_equal(room.n_max, 2);
	for (unsigned i = 0; i < room.n_max; i++) {
		char key[64], text[24];

		snprintf(key, sizeof(key), HINTS_LABEL_PREFIX "%u-numa", i + 1);
		snprintf(text, sizeof(text), "%zu", room.max_exclusive[i]);
		test_assert_text(key, value_of(&labels, key), text);
	}
	assert_true(room.stranded_known);
	assert_int_equal(room.stranded, 1); /* full-pcpus-only */
	assert_int_equal(room.n_shapes, ARRAY_SIZE(copies));
	for (size_t i = 0; i < ARRAY_SIZE(copies); i++) {
		assert_true(room.shapes[i].copies.known);
		assert_int_equal(room.shapes[i].copies.n, copies[i]);
		assert_true(room.shapes[i].stranded_known);
		assert_int_equal(room.shapes[i].stranded, stranded[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_carries_its_hints),
		cmocka_unit_test(the_frontier_is_written_exactly),
		cmocka_unit_test(the_frontier_omits_what_no_numa_node_has),
		cmocka_unit_test(a_shape_that_the_kubelet_refuses_scores_0),
		cmocka_unit_test(labels_are_off_by_default),
		cmocka_unit_test(many_numa_nodes_have_a_label_each_up_to_a_limit),
		cmocka_unit_test(hints_that_are_too_large_are_left_out),
		cmocka_unit_test(bad_shapes_are_named),
		cmocka_unit_test(room_has_the_numbers_of_the_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
