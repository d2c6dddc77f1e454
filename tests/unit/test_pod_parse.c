/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "agent/base/yaml.h"
#include "agent/cluster/pod_parse.h"
#include "common/cleanup.h"

/* A priority is an int32; a pod of a class whose value nobody filled in has an unknown one. */
static void priorities_are_read(void **state)
{
	static const struct {
		const char *spec;
		bool known;
		int32_t priority;
	} cases[] = {
		{"{}", true, 0},
		{"{priority: 1000}", true, 1000},
		{"{priority: -5}", true, -5},
		{"{priority: 2000001000, priorityClassName: system-node-critical}", true, 2000001000},
		{"{priority: 2147483647}", true, INT32_MAX},
		{"{priority: -2147483648}", true, INT32_MIN},
		{"{priority: null}", true, 0},
		{"{priorityClassName: ''}", true, 0},
		{"{priorityClassName: high}", false, 0},
		{"{priority: null, priorityClassName: high}", false, 0},
		{"{priority: 2147483648}", false, 0},
		{"{priority: 4294967297}", false, 0},
		{"{priority: -2147483649}", false, 0},
		{"{priority: 1.5}", false, 0},
		{"{priority: '7'}", false, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(doc_release) struct doc pod = DOC_INIT;
		int32_t priority = 99;
		bool known;
		char text[200];

		snprintf(text, sizeof(text), "{spec: %s}", cases[i].spec);
		assert_int_equal(yaml_parse(text, strlen(text), &pod, NULL), 0);
		known = pod_priority_read(&pod, &priority);
		if (known != cases[i].known || priority != cases[i].priority)
			fail_msg("%s: %s %d", cases[i].spec, known ? "known" : "unknown", (int)priority);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(priorities_are_read),
	};

	return cmocka_run_group_tests_name("pod_parse", tests, NULL, NULL);
}
