/* SPDX-License-Identifier: Apache-2.0 */
/* The kubelet's pods API: what its messages say, and what goes wrong. tests/upstream asks the kubelet's own server. */
#include "tests/lib/test.h"

#include <errno.h>

#include "agent/observe/grpc_unary.h"
#include "agent/observe/pods_api.h"
#include "cluster/model/cluster.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "tests/lib/grpc_server.h"
#include "tests/lib/wire.h"

/* A pod with everything that is read, and one with nothing. */
#define FULL                                                                                                   \
	"1{1{1'web' 3'team' 5'u-1' 12{1'a' 2'b'}}"                                                             \
	" 2{20{1'init' 8{2{1'cpu' 2{1'1'}}} 24'Always'} 2{1'app' 4'x' 8{1{1'cpu' 2{1'3'}} 2{1'cpu' 2{1'2'}}}}" \
	" 10'other' 24'high' 25:1000 32{1'memory' 2{1'64Mi'}} 39{1'claim'} 40{2{1'cpu' 2{1'4'}}}}"             \
	" 3{1'Running' 2{1'PodResizePending' 2'True' 5'Deferred'} 9'Burstable'"                                \
	" 8{1'app' 10{1'cpu' 2{1'1500m'}} 11{2{1'cpu' 2{1'1'}}}} 10{1'init'}}}"
#define EMPTY " 1{}"

static void parse(const char *wire, struct doc *ret)
{
	CLEANUP(strbuf_release) struct strbuf bytes = STRBUF_INIT(1 << 16);
	struct err err = {""};

	wire_add(&bytes, wire);
	if (pods_api_parse(bytes.text, bytes.len, "n1", ret, &err) < 0)
		fail_msg("%s", err.text);
}

static void every_member_is_read(void **state)
{
	CLEANUP(doc_release) struct doc pods = DOC_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1 << 16);

	(void)state;
	parse(FULL EMPTY, &pods);
	assert_int_equal(json_print_compact(&pods, &text), 0);
	assert_string_equal(text.text,
		"[{\"kind\":\"Pod\","
		"\"metadata\":{\"name\":\"web\",\"namespace\":\"team\",\"uid\":\"u-1\",\"annotations\":{\"a\":\"b\"}},"
		"\"spec\":{\"nodeName\":\"n1\","
		"\"initContainers\":[{\"name\":\"init\",\"restartPolicy\":\"Always\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}],"
		"\"containers\":[{\"name\":\"app\",\"resources\":{\"requests\":{\"cpu\":\"2\"},\"limits\":{\"cpu\":\"3\"}}}],"
		"\"priorityClassName\":\"high\",\"priority\":1000,\"overhead\":{\"memory\":\"64Mi\"},"
		"\"resources\":{\"requests\":{\"cpu\":\"4\"}},\"resourceClaims\":[{\"name\":\"claim\"}]},"
		"\"status\":{\"phase\":\"Running\",\"qosClass\":\"Burstable\","
		"\"conditions\":[{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"Deferred\"}],"
		"\"initContainerStatuses\":[{\"name\":\"init\"}],"
		"\"containerStatuses\":[{\"name\":\"app\",\"allocatedResources\":{\"cpu\":\"1500m\"},"
		"\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}},"
		"{\"kind\":\"Pod\",\"metadata\":{},\"spec\":{\"nodeName\":\"n1\"},\"status\":{}}]");
}

/* As the commands use it: the requests of the pods that have not ended. */
static void requests_add_up(void **state)
{
	static const char wire[] =
		"1{1{1'a' 3'x' 5'u1'} 2{2{1'c' 8{2{1'cpu' 2{1'500m'}}}} 25:-5} 3{1'Running'}}"
		" 1{1{1'b' 3'x' 5'u2'} 2{2{1'c' 8{2{1'cpu' 2{1'2'}} 2{1'memory' 2{1'1Gi'}}}}} 3{1'Pending'}}"
		" 1{1{1'c' 3'x' 5'u3'} 2{2{1'c' 8{2{1'cpu' 2{1'7'}}}}} 3{1'Succeeded'}}";
	CLEANUP(doc_release) struct doc pods = DOC_INIT;
	CLEANUP(cluster_release) struct cluster cluster = {.n_nodes = 0};
	const struct node_info *node;

	(void)state;
	parse(wire, &pods);
	for (size_t i = 0; i < pods.n_items; i++)
		assert_int_equal(cluster_update(&cluster, OBJECT_POD, &pods.items[i], 0, NULL), 0);
	node = cluster_find_node(&cluster, "n1");
	assert_non_null(node);
	assert_true(resource_list_amount(&node->requested, "cpu") == QTY_UNIT * 5 / 2);
	assert_true(resource_list_amount(&node->requested, "memory") == QTY_UNIT << 30);
	assert_int_equal(node->n_pods, 2);
	assert_true(node->pods[0]->priority_known);
	assert_int_equal(node->pods[0]->priority, -5);
}

static void broken_messages(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} cases[] = {{"\x0a\x05\x01", 3}, {"\x0a\x01\x0a", 3}, {"\xff", 1}, {"\x0a\x04\x0a\x02\x0a\x09", 6}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(doc_release) struct doc pods = DOC_INIT;
		struct err err = {""};

		assert_int_equal(pods_api_parse(cases[i].bytes, cases[i].len, "n1", &pods, &err), -EBADMSG);
		assert_non_null(strstr(err.text, "not a valid message"));
		assert_int_equal(pods.kind, DOC_NULL);
	}
}

static void calls(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(strbuf_release) struct strbuf bytes = STRBUF_INIT(1 << 16);
	struct grpc_answer answers[] = {{.status = GRPC_OK},
		{.status = GRPC_UNIMPLEMENTED, .text = "unknown service"},
		{.status = 9, .text = "Kubelet is initializing"}, {.hang_up = true}};
	const int want[] = {0, -EOPNOTSUPP, -EAGAIN};
	struct grpc_server *server;
	char socket[256];

	(void)state;
	snprintf(socket, sizeof(socket), "%s/pods-api.sock", dir);
	wire_add(&bytes, FULL EMPTY);
	answers[0].message = bytes.text;
	answers[0].len = bytes.len;
	server = grpc_server_start(socket, answers, ARRAY_SIZE(answers));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		CLEANUP(doc_release) struct doc pods = DOC_INIT;
		struct err err = {""};

		assert_int_equal(pods_api_read(socket, "n1", &pods, &err), want[i]);
		assert_string_equal(grpc_server_method(server), "/v1alpha1.Pods/ListPods");
		assert_int_equal(pods.n_items, want[i] == 0 ? 2 : 0);
		if (want[i] < 0)
			assert_non_null(strstr(err.text, answers[i].text));
	}
	grpc_server_stop(server);
}

static void no_socket(void **state)
{
	CLEANUP(doc_release) struct doc pods = DOC_INIT;
	struct err err = {""};

	(void)state;
	assert_int_equal(pods_api_read("/nonexistent/pods-api.sock", "n1", &pods, &err), -ENOENT);
	assert_int_equal(pods.kind, DOC_NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_member_is_read),
		cmocka_unit_test(requests_add_up), cmocka_unit_test(broken_messages), cmocka_unit_test(calls),
		cmocka_unit_test(no_socket)};

	return cmocka_run_group_tests_name("pods_api", tests, NULL, NULL);
}
