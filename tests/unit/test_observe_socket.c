/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/observe/observe.h"
#include "common/cleanup.h"
#include "tests/lib/test.h"

static void the_socket_is_found_by_its_flag(void **state)
{
	static const struct {
		const char *value, *sysroot, *xml, *want;
	} cases[] = {
		{"auto", "", NULL, "/k/pod-resources/kubelet.sock"},
		{"auto", "/root", NULL, NULL},
		/* another machine's */ {"auto", "", "m.xml", NULL},
		{"none", "", NULL, NULL},
		{"/run/a.sock", "", NULL, "/run/a.sock"},
		{"unix:///run/a.sock", "/root", "m.xml", "/run/a.sock"},
		{"zauto", "", NULL, "zauto"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct observe_config config = {.pod_resources = cases[i].value,
			.sysroot = cases[i].sysroot,
			.machine_xml = cases[i].xml};
		CLEANUP(freep) char *socket = NULL;

		observe_socket(&config, "/k", &socket);
		test_assert_text(
			cases[i].value, socket ? socket : "none", cases[i].want ? cases[i].want : "none");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_socket_is_found_by_its_flag),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
