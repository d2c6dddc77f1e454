/* SPDX-License-Identifier: Apache-2.0 */
/* Where kubectl-numa has its objects from: files, and a stand-in for the API server. */
#include "tests/lib/test.h"

#include <errno.h>

#include "cli/numa/source.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "tests/lib/api_server.h"

static void write_object(const char *dir, const char *file, const char *node)
{
	char text[256];

	snprintf(text, sizeof(text),
		"{\"kind\": \"NodeResourceTopology\", \"metadata\": {\"name\": \"%s\"}, \"zones\": []}",
		node);
	test_write_file(dir, file, text);
}

/* The source of `kubectl numa show [NODE] --from DIR`. */
static int open_files(char *dir, char *node, struct options *options, struct source **ret)
{
	char *argv[] = {(char[]){"kubectl-numa"}, (char[]){"show"}, (char[]){"--from"}, dir, node, NULL};

	assert_int_equal(options_parse(&program_numa, node ? 5 : 4, argv, options, NULL), 0);
	return source_open(options, 0, ret, NULL);
}

/* The name of the node's object, or the error. */
static void check_choice(char *dir, char *node, const char *want_name, const char *want_error)
{
	CLEANUP(source_closep) struct source *source = NULL;
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct options options;
	struct err err = {""};

	assert_int_equal(open_files(dir, node, &options, &source), 0);
	if (!want_name) {
		assert_true(source_nrt(source, &object, &err) < 0);
		assert_true(strlen(err.text) > strlen(dir));
		test_assert_text(want_error, err.text + strlen(dir), want_error);
		return;
	}
	if (source_nrt(source, &object, &err) < 0)
		fail_msg("%s", err.text);
	test_assert_text(want_name, doc_string(doc_get(doc_get(&object, "metadata"), "name")), want_name);
}

static void the_object_of_a_node_is_chosen(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();

	(void)state;
	write_object(dir, "a.json", "one");
	check_choice(dir, NULL, "one", NULL);
	write_object(dir, "b.json", "two");
	check_choice(dir, (char[]){"two"}, "two", NULL);
	check_choice(dir, (char[]){"node/two"}, "two", NULL);
	check_choice(dir, NULL, NULL, ": 2 objects, name one node: 'one', 'two'");
	check_choice(dir, (char[]){"three"}, NULL, ": no object of node 'three', but of 'one', 'two'");
	write_object(dir, "c.json", "two");
	check_choice(dir, (char[]){"two"}, NULL, ": 2 objects of node 'two'");
}

/* ---- the API server */

#define NRT(name)                                                                                  \
	"{\"apiVersion\": \"topology.node.k8s.io/v1alpha2\", \"kind\": \"NodeResourceTopology\", " \
	"\"metadata\": {\"name\": \"" name "\"}, \"zones\": [{\"name\": \"node-0\", \"type\": \"Node\"}]}"
#define LIST(items) \
	"{\"kind\": \"XList\", \"metadata\": {\"resourceVersion\": \"7\"}, \"items\": [" items "]}"
#define NODE(name) "{\"metadata\": {\"name\": \"" name "\"}, \"status\": {\"allocatable\": {\"cpu\": \"4\"}}}"
#define DENIED     "{\"kind\": \"Status\", \"message\": \"nodes is forbidden\"}"
#define MISSING    "{\"kind\": \"Status\", \"message\": \"not found\"}"

struct session {
	struct api_server server;
	struct options options;
	struct source *source;
	char url[64];
	struct strv names; /* of objects that were delivered */
};

/* `kubectl numa COMMAND WORD... --server URL`, which sends nothing yet. */
static void start(struct session *s, const struct api_answer *script, size_t n, char **words)
{
	char *argv[16] = {(char[]){"kubectl-numa"}};
	struct err err = {""};
	int argc = 1;

	api_server_start(&s->server, script, n);
	snprintf(s->url, sizeof(s->url), "--server=http://127.0.0.1:%u", (unsigned)s->server.port);
	unsetenv("KUBECONFIG");
	setenv("HOME", "/nonexistent", 1);
	while (*words)
		argv[argc++] = *words++;
	argv[argc++] = s->url;
	if (options_parse(&program_numa, argc, argv, &s->options, &err) < 0 ||
		source_open(&s->options, s->options.command->id == COMMAND_WHY ? 1 : 0, &s->source, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(s->server.n_requests, 0);
}

static void stop(struct session *s)
{
	source_close(s->source);
	api_server_stop(&s->server);
	strv_release(&s->names);
}

static int add_node_name(struct cluster_node *node, void *data, struct err *err)
{
	struct session *s = data;

	(void)err;
	strv_push(&s->names, node->state.node_name);
	return 0;
}

static void check_request(const struct session *s, size_t i, const char *url, const char *query)
{
	assert_true(i < s->server.n_requests);
	test_assert_text("URL", s->server.url[i], url);
	test_assert_text(url, s->server.query[i], query);
}

/* Nodes, Pods that have not ended, and the objects, as another user. */
static void lists_are_read_from_the_server(void **state)
{
	static const struct api_answer script[] = {
		{.status = 200, .body = LIST(NODE("a") ", " NODE("b"))},
		{.status = 200, .body = LIST("")},
		{.status = 200, .body = LIST(NRT("a") ", " NRT("b"))},
	};
	CLEANUP(cluster_release) struct cluster cluster = {.n_nodes = 0};
	CLEANUP(stop) struct session s = {.source = NULL};
	char *words[] = {(char[]){"top"}, (char[]){"--as"}, (char[]){"jane"}, (char[]){"--as-group=g"}, NULL};

	(void)state;
	start(&s, script, ARRAY_SIZE(script), words);
	assert_int_equal(source_fill_cluster(s.source, &cluster, NULL, NULL, NULL), 0);
	assert_int_equal(cluster.n_nodes, 2);
	assert_int_equal(source_each_node(s.source, add_node_name, &s, NULL), 0);
	assert_int_equal(s.names.n_items, 2);
	check_request(&s, 0, "/api/v1/nodes", "");
	check_request(&s, 1, "/api/v1/pods", "fieldSelector=status.phase!=Succeeded,status.phase!=Failed");
	check_request(&s, 2, "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies", "");
	test_assert_text("impersonated", s.server.impersonate, "jane");
	test_assert_text("group", s.server.group, "g");
}

/* Of one node only its own objects are asked for. */
static void one_node_is_one_object(void **state)
{
	static const struct api_answer script[] = {
		{.status = 200, .body = NODE("a")},
		{.status = 200, .body = LIST("")},
		{.status = 200, .body = LIST("")},
		{.status = 200, .body = NRT("a")},
	};
	CLEANUP(cluster_release) struct cluster cluster = {.n_nodes = 0};
	CLEANUP(stop) struct session s = {.source = NULL};
	char *words[] = {(char[]){"fit"}, (char[]){"node/a"}, NULL};

	(void)state;
	start(&s, script, ARRAY_SIZE(script), words);
	test_assert_text("node", source_node(s.source), "a");
	assert_int_equal(source_fill_cluster(s.source, &cluster, NULL, NULL, NULL), 0);
	assert_int_equal(source_each_node(s.source, add_node_name, &s, NULL), 0);
	check_request(&s, 0, "/api/v1/nodes/a", "");
	check_request(&s, 1, "/api/v1/pods",
		"fieldSelector=spec.nodeName=,status.nominatedNodeName=a,status.phase!=Succeeded,status.phase!=Failed");
	check_request(&s, 2, "/api/v1/pods",
		"fieldSelector=spec.nodeName=a,status.phase!=Succeeded,status.phase!=Failed");
	check_request(&s, 3, "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/a", "");
}

/* The selector is the API server's to apply, to the Nodes; several named nodes are chosen from the list. */
static void nodes_are_selected(void **state)
{
	static const struct api_answer script[] = {
		{.status = 200, .body = LIST(NODE("b") ", " NODE("c"))},
		{.status = 200, .body = LIST(NRT("a") ", " NRT("b") ", " NRT("c"))},
	};
	CLEANUP(stop) struct session s = {.source = NULL};
	char *words[] = {
		(char[]){"score"}, (char[]){"a"}, (char[]){"b"}, (char[]){"-l"}, (char[]){"pool=x y"}, NULL};
	struct err err = {""};

	(void)state;
	start(&s, script, ARRAY_SIZE(script), words);
	assert_int_equal(source_each_node(s.source, add_node_name, &s, &err), -ENOENT);
	assert_int_equal(s.names.n_items, 1);
	test_assert_text("selected", s.names.items[0], "b");
	test_assert_text("named and not selected", err.text,
		"the API server: no object of node 'a' that the selector matches");
	check_request(&s, 0, "/api/v1/nodes", "labelSelector=pool=x y");
}

/* Of Nodes in files kubectl-numa applies the selector itself. */
static void nodes_of_files_are_selected(void **state)
{
	static const struct {
		const char *selector, *want;
	} cases[] = {
		{"pool=hpc", "a"},
		{"pool==hpc", "a"},
		{"pool!=hpc", "b c"},
		{" pool in (hpc, web) ", "a b"},
		{"pool notin(web)", "a c"},
		{"gpu", "a b"},
		{"!gpu", "c"},
		{"pool,gpu=", "b"},
		{"gpu>1", "a"},
		{"gpu<1", ""},
		{"x.io/a-b_c=1", "c"},
	};
	static const char *const bad[] = {
		"a b", "a=b,", ",", "!", "a in", "a in (b", "a in b", "a=b)", "=b", "a!b"};
	CLEANUP(test_rmtree) char *dir = test_tmpdir();

	(void)state;
	test_write_file(dir, "all.json",
		"{\"kind\": \"List\", \"items\": [" NRT("a") ", " NRT("b") ", " NRT(
			"c") ", {\"kind\": \"Node\", \"metadata\": {\"name\": \"a\", \"labels\": {\"pool\": \"hpc\", \"gpu\": \"2\"}}}"
			     ", {\"kind\": \"Node\", \"metadata\": {\"name\": \"b\", \"labels\": {\"pool\": \"web\", \"gpu\": \"\"}}}"
			     ", {\"kind\": \"Node\", \"metadata\": {\"name\": \"c\", \"labels\": {\"x.io/a-b_c\": \"1\"}}}]}");
	for (size_t i = 0; i < ARRAY_SIZE(cases) + ARRAY_SIZE(bad); i++) {
		bool good = i < ARRAY_SIZE(cases);
		char selector[32], names[16] = "";
		char *argv[] = {(char[]){"kubectl-numa"}, (char[]){"top"}, (char[]){"--from"}, dir,
			(char[]){"-l"}, selector, NULL};
		struct session s = {.source = NULL};
		struct err err = {""};
		int r;

		snprintf(selector, sizeof(selector), "%s",
			good ? cases[i].selector : bad[i - ARRAY_SIZE(cases)]);
		assert_int_equal(options_parse(&program_numa, 6, argv, &s.options, NULL), 0);
		assert_int_equal(source_open(&s.options, 0, &s.source, NULL), 0);
		r = source_each_node(s.source, add_node_name, &s, &err);
		for (size_t k = 0; k < s.names.n_items; k++)
			text_addf(names, sizeof(names), "%s%s", k > 0 ? " " : "", s.names.items[k]);
		test_assert_text(selector, names, good ? cases[i].want : "");
		assert_int_equal(r, good ? 0 : -EINVAL);
		if (!good)
			assert_non_null(strstr(err.text, "is not a label selector"));
		source_close(s.source);
		strv_release(&s.names);
	}
}

/* For the next picture of --watch the lists and the selector's Nodes are read again, over the open connection. */
static void an_open_source_is_read_again(void **state)
{
	static const struct api_answer script[] = {
		{.status = 200, .body = LIST(NODE("a"))},
		{.status = 200, .body = LIST(NRT("a") ", " NRT("b"))},
		{.status = 200, .body = LIST(NODE("b"))},
		{.status = 200, .body = LIST(NRT("a") ", " NRT("b"))},
	};
	CLEANUP(stop) struct session s = {.source = NULL};
	char *words[] = {(char[]){"top"}, (char[]){"-l"}, (char[]){"x"}, NULL};
	const struct source *opened;

	(void)state;
	start(&s, script, ARRAY_SIZE(script), words);
	opened = s.source;
	assert_int_equal(source_each_node(s.source, add_node_name, &s, NULL), 0);
	assert_int_equal(source_begin(&s.options, &s.source, NULL), 0);
	assert_ptr_equal(s.source, opened);
	assert_int_equal(source_each_node(s.source, add_node_name, &s, NULL), 0);
	assert_int_equal(s.server.n_requests, 4);
	assert_int_equal(s.names.n_items, 2);
	test_assert_text("first", s.names.items[0], "a");
	test_assert_text("second", s.names.items[1], "b");
}

/* An empty list may be null, and anything else is not a list. */
static void an_answer_must_be_a_list(void **state)
{
	static const struct {
		const char *body;
		int want;
	} cases[] = {
		{"{\"kind\": \"NodeList\", \"items\": null}", 0},
		{"{\"items\": []}", 0},
		{"{\"kind\": \"Status\", \"status\": \"Success\"}", -EBADMSG},
		{"{}", -EBADMSG},
		{"", -EBADMSG},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct api_answer script[] = {
			{.status = 200, .body = cases[i].body}, {.status = 200, .body = LIST("")}};
		CLEANUP(cluster_release) struct cluster cluster = {.n_nodes = 0};
		CLEANUP(stop) struct session s = {.source = NULL};
		char *words[] = {(char[]){"top"}, NULL};
		struct err err = {""};

		start(&s, script, ARRAY_SIZE(script), words);
		assert_int_equal(source_fill_cluster(s.source, &cluster, NULL, NULL, &err), cases[i].want);
		if (cases[i].want < 0)
			test_assert_text("error", err.text, "the API server's response is not a list");
	}
}

static void denied_kinds_are_omitted(void **state)
{
	static const struct api_answer script[] = {
		{.status = 403, .body = DENIED},
		{.status = 403, .body = DENIED},
	};
	CLEANUP(cluster_release) struct cluster cluster = {.n_nodes = 0};
	CLEANUP(stop) struct session s = {.source = NULL};
	char *words[] = {(char[]){"top"}, NULL};
	struct err err = {""};

	(void)state;
	start(&s, script, ARRAY_SIZE(script), words);
	assert_int_equal(source_fill_cluster(s.source, &cluster, NULL, NULL, NULL), 0);
	assert_int_equal(cluster.n_nodes, 0);
	assert_true(source_each_node(s.source, add_node_name, &s, &err) < 0);
	test_assert_text("the objects are needed", err.text,
		"nodes is forbidden; the ClusterRole kubectl-numa of packaging/kubernetes/rbac-users.yaml grants the right");
	/* Without Nodes, Pods are not asked for. */
	assert_int_equal(s.server.n_requests, 2);
}

/* What is missing is said: the CRD, the objects, the node's object, the node. */
static void what_is_missing_is_named(void **state)
{
	static const struct {
		const char *node;
		struct api_answer script[3];
		const char *want;
	} cases[] = {
		{NULL, {{.status = 404, .body = MISSING}},
			"the cluster has no NodeResourceTopology objects: the CRD noderesourcetopologies.topology.node.k8s.io is not installed"},
		{NULL, {{.status = 200, .body = LIST("")}},
			"the cluster has no NodeResourceTopology objects yet: is an exporter, such as nrtd, running?"},
		{"a",
			{{.status = 404, .body = MISSING}, {.status = 200, .body = LIST("")},
				{.status = 200, .body = NODE("a")}},
			"node 'a' has no NodeResourceTopology object: is an exporter, such as nrtd, running there?"},
		{"a",
			{{.status = 404, .body = MISSING}, {.status = 200, .body = LIST("")},
				{.status = 404, .body = MISSING}},
			"no such node: 'a'"},
		{"a", {{.status = 404, .body = MISSING}, {.status = 404, .body = MISSING}},
			"the cluster has no NodeResourceTopology objects: the CRD noderesourcetopologies.topology.node.k8s.io is not installed"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(stop) struct session s = {.source = NULL};
		char node[8] = "";
		char *words[] = {(char[]){"show"}, node, NULL};
		CLEANUP(doc_release) struct doc object = DOC_INIT;
		struct err err = {""};

		snprintf(node, sizeof(node), "%s", cases[i].node ? cases[i].node : "");
		if (!cases[i].node)
			words[1] = NULL;
		start(&s, cases[i].script, ARRAY_SIZE(cases[i].script), words);
		assert_true(source_nrt(s.source, &object, &err) < 0);
		test_assert_text("error", err.text, cases[i].want);
	}
}

/* The pod of the namespace, and its events. */
static void a_pod_and_its_events(void **state)
{
	static const struct api_answer script[] = {
		{.status = 200, .body = "{\"metadata\": {\"name\": \"p\", \"namespace\": \"team a\"}}"},
		{.status = 200, .body = LIST("")},
	};
	CLEANUP(stop) struct session s = {.source = NULL};
	CLEANUP(doc_release) struct doc pod = DOC_INIT;
	char *words[] = {(char[]){"why"}, (char[]){"pod/p"}, (char[]){"-n"}, (char[]){"team a"}, NULL};
	struct object_reader reader;

	(void)state;
	start(&s, script, ARRAY_SIZE(script), words);
	assert_int_equal(source_pod(s.source, s.options.words[0], &pod, NULL), 0);
	reader = source_events(s.source, "team a", "p");
	assert_int_equal(reader.read(reader.source, 1u << OBJECT_EVENT, NULL, NULL, NULL), 0);
	check_request(&s, 0, "/api/v1/namespaces/team a/pods/p", "");
	check_request(&s, 1, "/api/v1/namespaces/team a/events",
		"fieldSelector=involvedObject.kind=Pod,involvedObject.name=p");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_object_of_a_node_is_chosen),
		cmocka_unit_test(lists_are_read_from_the_server),
		cmocka_unit_test(one_node_is_one_object),
		cmocka_unit_test(nodes_are_selected),
		cmocka_unit_test(nodes_of_files_are_selected),
		cmocka_unit_test(an_open_source_is_read_again),
		cmocka_unit_test(an_answer_must_be_a_list),
		cmocka_unit_test(denied_kinds_are_omitted),
		cmocka_unit_test(what_is_missing_is_named),
		cmocka_unit_test(a_pod_and_its_events),
	};

	return cmocka_run_group_tests_name("source", tests, NULL, NULL);
}
