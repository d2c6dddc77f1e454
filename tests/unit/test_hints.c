/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/hints.h"

#include <errno.h>

#include "agent/json.h"
#include "common/cleanup.h"
#include "tests/lib/observations.h"
#include "tests/lib/test.h"

static int read_config(const char *const *shapes, bool labels, struct hints_config *ret, struct err *err)
{
	struct options options = {.command = COMMAND_RUN};

	options.value[OPT_SHAPE_STRATEGY] = "LeastNUMANodes";
	options.value[OPT_FIT_HINTS_MAX] = "16384";
	options.value[OPT_LABELS] = labels ? "true" : NULL;
	options.origin[OPT_SHAPE] = "--shape";
	for (; *shapes; shapes++)
		options.repeated[options.n_repeated++] = (struct option_value){OPT_SHAPE, *shapes};
	return hints_config_read(&options, ret, err);
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
	ret->settings.topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
	ret->settings.topology.scope = TOPOLOGY_SCOPE_CONTAINER;
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
	observation_init(&o);
	observe_node(&o);
	assert_int_equal(read_config(shapes, true, &config, &err), 0);
	assert_int_equal(hints_make(&config, &o, "0123456789abcdef", &annotations, &labels, &o.notes), 0);
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
	assert_int_equal(hints_make(&config, &o, "x", &annotations, &labels, NULL), 0);
	assert_int_equal(labels.n_items, 0);
	assert_int_equal(annotations.n_items, 1);
}

static void bad_shapes_are_named(void **state)
{
	static const struct {
		const char *shape, *text;
	} cases[] = {
		{"cpu", "--shape: 'cpu' does not begin with a name and '=': small=cpu=4,memory=8Gi"},
		{"-a=cpu=1",
			"--shape: '-a=cpu=1' does not begin with a name and '=': small=cpu=4,memory=8Gi"},
		{"a=", "--shape: shape 'a': '' is not RESOURCE=QUANTITY"},
		{"a=cpu", "--shape: shape 'a': 'cpu' is not RESOURCE=QUANTITY"},
		{"a=cpu=1,cpu=2", "--shape: shape 'a': cpu is asked for twice"},
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_carries_its_hints),
		cmocka_unit_test(labels_are_off_by_default),
		cmocka_unit_test(bad_shapes_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
