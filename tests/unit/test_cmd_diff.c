/* SPDX-License-Identifier: Apache-2.0 */
/* `nrtd diff` against a server that answers as it is told: what it prints and its exit status. */
#include "tests/lib/test.h"

#include <fcntl.h>
#include <unistd.h>

#include "agent/render/render.h"
#include "cli/commands.h"
#include "cli/nrtd/observe_local.h"
#include "cli/nrtd/stage_config.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "scoring/node/node_state_codec.h"
#include "tests/lib/api_server.h"

#define NOT_FOUND                           \
	{                                   \
		.status = 404, .body = "{}" \
	}

/* Node n of a small machine without kubelet: what nrtd would write as the object, and the Node as it leaves it. */
struct world {
	struct options options;
	char sysroot[256], server[64]; /* the options point there */
	struct doc object;
	struct strbuf object_text, node_text;
};

static void set_options(struct world *w, unsigned port)
{
	static char words[][32] = {"nrtd", "diff", "--node-name", "n", "--sysroot", "--api-server",
		"--koordinator=on", "--cpu-manager-policy=none"};
	char *argv[] = {words[0], words[1], words[2], words[3], words[4], w->sysroot, words[5], w->server,
		words[6], words[7]};
	struct err err = {""};

	snprintf(w->sysroot, sizeof(w->sysroot), "%s", test_machine_tree("without-numa"));
	snprintf(w->server, sizeof(w->server), "http://127.0.0.1:%u", port);
	if (options_parse(&program_nrtd, ARRAY_SIZE(argv), argv, &w->options, &err) < 0)
		fail_msg("%s", err.text);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	CLEANUP(observation_release) struct observation o;
	CLEANUP(hints_config_release) struct hints_config hints = {0};
	CLEANUP(doc_release) struct doc annotations = DOC_INIT, labels = DOC_INIT, node = {.kind = DOC_MAP};
	struct nrt_config config;
	struct doc *copies;

	observation_init(&o);
	w->object_text = w->node_text = (struct strbuf)STRBUF_INIT(1u << 20);
	set_options(w, 1);
	config = stage_nrt(&w->options);
	assert_int_equal(observe_local(&w->options, &o, NULL), 0);
	assert_int_equal(stage_hints(&w->options, &hints, NULL), 0);
	nrt_render(&o.node, &config, &w->object, &o.notes);
	hints_make(&hints, &o.node, nrt_content_hash(&w->object), &annotations, &labels, &o.notes, NULL);
	doc_add_string(&annotations, NRT_CONTENT_HASH, nrt_content_hash(&w->object));
	copies = doc_add_map(doc_add_map(&node, "metadata"), "annotations");
	DOC_FOREACH (item, &annotations)
		doc_add_string(copies, item->key, item->text);
	assert_int_equal(json_print_compact(&w->object, &w->object_text), 0);
	assert_int_equal(json_print_compact(&node, &w->node_text), 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	doc_release(&w->object);
	strbuf_release(&w->object_text);
	strbuf_release(&w->node_text);
	free(w);
	return 0;
}

/* The exit status; *ret_text is what it printed. */
static int diff(struct world *w, const struct api_answer answers[2], char **ret_text)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(closep) int before = -1, to = -1;
	struct api_server s;
	char path[256];
	size_t len = 0;
	int status;

	snprintf(path, sizeof(path), "%s/out", dir);
	to = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	api_server_start(&s, answers, 2);
	set_options(w, s.port);
	fflush(stdout);
	before = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	assert_true(to >= 0 && before >= 0 && dup2(to, STDOUT_FILENO) >= 0);
	status = command_diff(&w->options);
	assert_true(dup2(before, STDOUT_FILENO) >= 0);
	api_server_stop(&s);
	*ret_text = test_read_file(path, &len);
	return status;
}

static void what_is_as_it_would_be_is_no_difference(void **state)
{
	struct world *w = *state;
	const struct api_answer same[] = {
		{.status = 200, .body = w->node_text.text}, {.status = 200, .body = w->object_text.text}};
	CLEANUP(freep) char *text = NULL;

	assert_int_equal(diff(w, same, &text), 0);
	test_assert_text("nothing", text, "");
}

static void differences_are_lines(void **state)
{
	struct world *w = *state;
	static const char bare[] = "{\"metadata\":{\"labels\":{\"nrtd.dev/x\":\"1\",\"other\":\"2\"}}}";
	const struct api_answer changed[] = {
		{.status = 200, .body = bare}, {.status = 200, .body = w->object_text.text}};
	const struct api_answer missing[] = {{.status = 200, .body = w->node_text.text}, NOT_FOUND};
	const struct api_answer empty[] = {{.status = 200, .body = w->node_text.text},
		{.status = 200,
			.body = "{\"metadata\":{\"annotations\":{\"a\":\"b\"}},\"topologyPolicies\":[\"None\"],\"zones\":[{\"name\":\"x\"}]}"}};
	CLEANUP(freep) char *text = NULL, *none = NULL, *all = NULL;

	assert_int_equal(diff(w, changed, &text), 1);
	assert_non_null(strstr(text, "Node.metadata.annotations.nrtd.dev/content-hash: (absent) -> "));
	assert_non_null(strstr(text, "Node.metadata.labels.nrtd.dev/x: 1 -> (absent)\n"));
	assert_null(strstr(text, "other"));
	assert_int_equal(diff(w, empty, &all), 1);
	assert_non_null(strstr(all, "topologyPolicies"));
	assert_non_null(strstr(all, "attributes: (absent) -> "));
	assert_non_null(strstr(all, "zones[x]: (map of 1) -> (absent)\n"));
	assert_non_null(
		strstr(all, "metadata.annotations.node.koordinator.sh/pod-cpu-allocs: (absent) -> []\n"));
	assert_null(strstr(all, "annotations.a"));
	assert_null(strstr(all, "Node."));
	assert_int_equal(diff(w, missing, &none), 1);
	assert_int_equal(strncmp(none, "NodeResourceTopology: (absent) -> (map of ", 42), 0);
}

static void what_cannot_be_compared_is_trouble(void **state)
{
	struct world *w = *state;
	const struct api_answer answers[][2] = {
		{NOT_FOUND, {.status = 200, .body = w->object_text.text}},
		{{.status = 403, .body = "{}"}, NOT_FOUND},
		{{.status = 200, .body = w->node_text.text}, {.status = 500, .body = "{}"}},
		{{.status = 200, .body = "{"}, NOT_FOUND},
	};

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		CLEANUP(freep) char *text = NULL;

		assert_int_equal(diff(w, answers[i], &text), 2);
		test_assert_text("nothing", text, "");
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_as_it_would_be_is_no_difference),
		TEST(differences_are_lines),
		TEST(what_cannot_be_compared_is_trouble),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
