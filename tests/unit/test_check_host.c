/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "agent/check/check.h"
#include "common/cleanup.h"
#include "tests/lib/grpc_server.h"

/* The items for the kubelet's state files that are absent, by level. */
static void count_absent(const struct check_report *report, size_t ret[CHECK_LEVEL_COUNT])
{
	memset(ret, 0, CHECK_LEVEL_COUNT * sizeof(*ret));
	for (size_t i = 0; i < report->n_items; i++) {
		const struct check_item *item = &report->items[i];

		if (!item->state || strcmp(item->state, "absent") != 0 || !strstr(item->source, " state"))
			continue;
		assert_int_equal(item->remedy != NULL, item->level == CHECK_WARN);
		ret[item->level]++;
	}
}

static void check_node(const char *socket, size_t ret[CHECK_LEVEL_COUNT])
{
	CLEANUP(check_report_release) struct check_report report = {0};
	CLEANUP(doc_release) struct doc nrt = DOC_INIT;
	const struct check_config config = {.observe = {.sysroot = test_machine_tree("seed-2s-32cpu"),
						    .node_name = "n1",
						    .pod_resources = socket,
						    .pod_resources_named = true,
						    .state_files = true}};

	check_host(&config, &report, &nrt);
	count_absent(&report, ret);
}

static void absent_files_are_no_warning_beside_the_api(void **state)
{
	static const struct grpc_answer answers[] = {{.status = 0}};
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	struct grpc_server *server;
	size_t n[CHECK_LEVEL_COUNT];
	char socket[256];

	(void)state;
	snprintf(socket, sizeof(socket), "%s/kubelet.sock", dir);
	check_node(socket, n);
	assert_int_equal(n[CHECK_WARN], 3);
	assert_int_equal(n[CHECK_NOTE], 0);
	server = grpc_server_start(socket, answers, 1);
	check_node(socket, n);
	grpc_server_stop(server);
	assert_int_equal(n[CHECK_WARN], 0);
	assert_int_equal(n[CHECK_NOTE], 3);
}

/* The level of the item about the kubelet's start under options that exclude each other. */
static enum check_level level_of_start(const char *socket)
{
	CLEANUP(check_report_release) struct check_report report = {0};
	CLEANUP(doc_release) struct doc nrt = DOC_INIT;
	struct check_config config = {.observe = {.sysroot = test_machine_tree("seed-2s-32cpu"),
					      .node_name = "n1",
					      .pod_resources = socket,
					      .pod_resources_named = true,
					      .state_files = true}};

	config.observe.settings.settings[SETTING_CPU_MANAGER_POLICY].value = "static";
	config.observe.settings.settings[SETTING_CPU_MANAGER_POLICY].from = "f";
	config.observe.settings.settings[SETTING_CPU_MANAGER_POLICY_OPTIONS].value =
		"full-pcpus-only=true,distribute-cpus-across-cores=true";
	config.observe.settings.settings[SETTING_CPU_MANAGER_POLICY_OPTIONS].from = "f";
	check_host(&config, &report, &nrt);
	for (size_t i = 0; i < report.n_items; i++)
		if (!strcmp(report.items[i].source, "kubelet start")) {
			assert_non_null(report.items[i].remedy);
			return report.items[i].level;
		}
	return CHECK_OK;
}

static void a_kubelet_that_answers_has_started(void **state)
{
	static const struct grpc_answer answers[] = {{.status = 0}};
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	struct grpc_server *server;
	char socket[256];

	(void)state;
	snprintf(socket, sizeof(socket), "%s/kubelet.sock", dir);
	assert_int_equal(level_of_start(socket), CHECK_FAIL);
	server = grpc_server_start(socket, answers, 1);
	assert_int_equal(level_of_start(socket), CHECK_WARN);
	grpc_server_stop(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(absent_files_are_no_warning_beside_the_api),
		cmocka_unit_test(a_kubelet_that_answers_has_started),
	};

	return cmocka_run_group_tests_name("check_host", tests, NULL, NULL);
}
