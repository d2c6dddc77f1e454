/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/service.h"

#include <unistd.h>

#include "agent/extender/stats.h"
#include "common/cleanup.h"
#include "tests/lib/test.h"

static void assert_ready(struct service *s, bool want, const char *text)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(1024);

	assert_int_equal(service_ready(s, &line), want);
	if (!strstr(line.text, text))
		fail_msg("'%s', want '%s'", line.text, text);
}

static void list_all(struct service *s)
{
	for (int kind = 0; kind < BOOK_KIND_COUNT; kind++) {
		assert_int_equal(service_list_begin(s, (enum book_kind)kind), 0);
		service_alive(s, (enum book_kind)kind);
		assert_int_equal(service_list_end(s, (enum book_kind)kind), 0);
	}
}

static void it_is_ready_with_all_three_lists(void **state)
{
	static const struct service_config config = {.max_stale_ms = 3600000};
	static const char *const texts[BOOK_KIND_COUNT] = {"the NodeResourceTopologies are not listed yet",
		"the Nodes are not listed yet", "the Pods are not listed yet"};
	CLEANUP(service_freep) struct service *s = NULL;

	(void)state;
	assert_int_equal(service_new(&config, NULL, &s), 0);
	for (int kind = 0; kind < BOOK_KIND_COUNT; kind++) {
		assert_ready(s, false, texts[kind]);
		assert_int_equal(service_list_begin(s, (enum book_kind)kind), 0);
		service_alive(s, (enum book_kind)kind);
		assert_int_equal(service_list_end(s, (enum book_kind)kind), 0);
	}
	assert_ready(s, true, "ok");
}

/* One kind of which nothing comes is enough, whichever it is. */
static void what_it_has_is_old_when_one_kind_is_silent(void **state)
{
	static const struct service_config config = {.max_stale_ms = 20};

	(void)state;
	for (int silent = 0; silent < BOOK_KIND_COUNT; silent++) {
		CLEANUP(service_freep) struct service *s = NULL;

		assert_int_equal(service_new(&config, NULL, &s), 0);
		list_all(s);
		usleep(60000);
		for (int kind = 0; kind < BOOK_KIND_COUNT; kind++)
			if (kind != silent)
				service_alive(s, (enum book_kind)kind);
		assert_ready(s, false, "nothing came from the API server for ");
	}
}

static void a_file_does_not_get_old(void **state)
{
	static const struct service_config config = {.max_stale_ms = 0};
	CLEANUP(service_freep) struct service *s = NULL;
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	char path[256];

	(void)state;
	test_write_file(dir, "nodes.json",
		"{\"kind\":\"NodeResourceTopology\",\"metadata\":{\"name\":\"n\"},"
		"\"zones\":[{\"type\":\"Node\",\"name\":\"node-0\"}]}");
	snprintf(path, sizeof(path), "%s/nodes.json", dir);
	assert_int_equal(service_new(&config, NULL, &s), 0);
	assert_int_equal(service_load(s, path, NULL), 0);
	usleep(10000);
	assert_ready(s, true, "ok");
}

static size_t count_of(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
		n++;
	return n;
}

static void answers_are_counted_by_how_long_they_take(void **state)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(65536);
	struct stats s = {.unknown_nodes = 7};

	(void)state;
	stats_count(&s, VERB_PRIORITIZE, RESULT_PASSED, 0.0001);
	stats_count(&s, VERB_PRIORITIZE, RESULT_REFUSED, 0.004);
	stats_count(&s, VERB_PRIORITIZE, RESULT_REFUSED, 3);
	stats_print(&s, &out);
	assert_int_equal(strbuf_error(&out), 0);
	assert_int_equal(count_of(out.text, "_bucket{"), (STATS_BUCKETS + 1) * VERB_COUNT);
	assert_int_equal(count_of(out.text, "nrtd_extender_requests_total{"), RESULT_COUNT * VERB_COUNT);
	for (size_t i = 0; i < 6; i++) {
		static const char *const lines[] = {
			"requests_total{verb=\"prioritize\",result=\"refused\"} 2\n",
			"seconds_bucket{verb=\"prioritize\",le=\"0.0001\"} 1\n",
			"seconds_bucket{verb=\"prioritize\",le=\"0.005\"} 2\n",
			"seconds_bucket{verb=\"prioritize\",le=\"1\"} 2\n",
			"seconds_bucket{verb=\"prioritize\",le=\"+Inf\"} 3\n", "unknown_nodes_total 7\n"};

		if (!strstr(out.text, lines[i]))
			fail_msg("no '%s' in %s", lines[i], out.text);
	}
}

/* An object without a state, and a Node without an object. */
static void nodes_are_counted_by_what_is_known(void **state)
{
	static const struct service_config config = {.max_stale_ms = 3600000};
	static const char *const lines[] = {"nrtd_extender_nodes{state=\"unknown\"} 1\n",
		"nrtd_extender_nodes{state=\"estimated\"} 1\n", "nrtd_extender_nodes{state=\"exact\"} 0\n",
		"nrtd_extender_ready 1\n", "\nprocess_start_time_seconds 1",
		"nrtd_build_info{version=", "nrtd_extender_promises 0\n",
		"nrtd_extender_promises_refused_total{reason=\"TopologyAffinityError\"} 0\n"};
	CLEANUP(service_freep) struct service *s = NULL;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(65536);
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	char path[256];

	(void)state;
	test_write_file(dir, "nodes.json",
		"{\"kind\":\"List\",\"items\":[{\"kind\":\"NodeResourceTopology\",\"metadata\":{\"name\":\"n\"},"
		"\"zones\":[{\"type\":\"Node\",\"name\":\"node-0\"}]},"
		"{\"kind\":\"Node\",\"metadata\":{\"name\":\"m\"},\"status\":{\"allocatable\":{\"cpu\":\"4\"}}}]}");
	snprintf(path, sizeof(path), "%s/nodes.json", dir);
	assert_int_equal(service_new(&config, NULL, &s), 0);
	assert_int_equal(service_load(s, path, NULL), 0);
	assert_int_equal(service_metrics(s, &out), 0);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (!strstr(out.text, lines[i]))
			fail_msg("no '%s' in %s", lines[i], out.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_ready_with_all_three_lists),
		cmocka_unit_test(what_it_has_is_old_when_one_kind_is_silent),
		cmocka_unit_test(a_file_does_not_get_old),
		cmocka_unit_test(nodes_are_counted_by_what_is_known),
		cmocka_unit_test(answers_are_counted_by_how_long_they_take),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
