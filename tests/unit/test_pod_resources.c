/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>
#include <unistd.h>

#include "agent/observe/pod_resources.h"
#include "agent/observe/pod_resources.pb-c.h"
#include "common/cleanup.h"
#include "tests/lib/claims.h"
#include "tests/lib/grpc_server.h"
#include "tests/lib/states.h"
#include "tests/lib/synthetic.h"
#include "tests/lib/wire.h"

/* pods {name namespace containers{name devices{resource ids topology{nodes{id}}} cpus memory{type size
 * topology}} cpus memory} */
#define NODE_0    "3{1{}}"
#define NODE_1    "3{1{1:1}}"
#define NODES_0_1 "3{1{} 1{1:1}}"

static int parse(const char *list, const char *allocatable, struct pod_resources *ret, struct notes *notes,
	struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf a = STRBUF_INIT(1u << 20);
	CLEANUP(strbuf_release) struct strbuf b = STRBUF_INIT(1u << 20);
	CLEANUP(machine_release) struct machine machine;

	bare_machine(&machine, "0-15", "", "0-1");
	wire_add(&a, list);
	if (allocatable)
		wire_add(&b, allocatable);
	return pod_resources_parse(
		a.text, a.len, allocatable ? b.text : NULL, b.len, &machine, ret, notes, err);
}

static void containers_become_items(void **state)
{
	static const struct {
		const char *what, *list, *want, *notes;
	} rows[] = {
		{"no pods", "", "", ""},
		{"nothing held", "1{1'p' 2'ns' 3{1'c'}}", "/c;", ""},
		{"CPUs, memory, devices",
			"1{1'p' 2'ns' 3{1'c' 3[4 5] 4{1'memory' 2:1024 " NODE_0 "} 2{1'v/nic' 2'a' " NODES_0_1
			"}}}",
			"/c cpus 4-5 memory 1024@0 v/nic a@0-1;", ""},
		{"CPUs not packed, a field of the future", "1{1'p' 3{1'c' 3:4 3:5 9'new' 5{2'claim'}}}",
			"/c cpus 4-5;", ""},
		{"one entry a device",
			"1{1'p' 3{1'c' 2{1'v/nic' 2'a' " NODE_1 "} 2{1'v/gpu' 2'x'} 2{1'v/nic' 2'b' " NODE_1
			"} 2{1'v/nic' 2'c' " NODE_0 "}}}",
			"/c v/gpu x@ v/nic a,b@1 v/nic c@0;", ""},
		{"a device listed under each of its nodes",
			"1{1'p' 3{1'c' 2{1'v/nic' 2'b' " NODE_1 "} 2{1'v/nic' 2'a' 2'b' " NODE_0
			"} 2{1'v/gpu' 2'b' " NODE_0 "}}}",
			"/c v/gpu b@0 v/nic a@0 v/nic b@0-1;", ""},
		{"topology without nodes", "1{1'p' 3{1'c' 2{1'v/nic' 2'a' 3{}}}}", "/c v/nic a@;", ""},
		{"nodes that cannot be",
			"1{1'p' 3{1'c' 2{1'v/nic' 2'a' 3{1{1:7}}} 2{1'v/nic' 2'b' 3{1{} 1{1:-1}}} 2{1'v/nic' "
			"2'c' " NODE_1 "}}}",
			"/c v/nic a@7 v/nic b@0 v/nic c@1;",
			"NUMA nodes 7 do not exist on this machine any more and are not counted: the kubelet knows the machine of its start; "
			"'v/nic': -1 is not a NUMA node; 1 such ids are ignored"},
		{"pod level, all of it shared", "1{1'p' 3{1'c'} 4[2 3] 5{1'memory' 2:4096 " NODE_1 "}}",
			"/ cpus 2-3 memory 4096@1;/c;", ""},
		{"pod level, some of it a container's",
			"1{1'p' 3{1'c' 3[2] 4{1'memory' 2:1024 " NODE_1 "}} 4[2 3] 5{1'memory' 2:4096 " NODE_1
			"}}",
			"/ cpus 3 memory 3072@1;/c cpus 2 memory 1024@1;", ""},
		{"pod level, all of it a container's",
			"1{1'p' 3{1'c' 3[2] 4{1'memory' 2:1024 " NODE_1 "}} 4[2] 5{1'memory' 2:1024 " NODE_1
			"}}",
			"/;/c cpus 2 memory 1024@1;", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(65536);
		CLEANUP(strbuf_release) struct strbuf said = STRBUF_INIT(65536);
		CLEANUP(pod_resources_release) struct pod_resources p = {0};
		CLEANUP(notes_release) struct notes notes = {0};
		struct err err = {""};

		if (parse(rows[i].list, NULL, &p, &notes, &err) < 0)
			fail_msg("%s: %s", rows[i].what, err.text);
		test_allocations_text(&p.held, &text);
		test_assert_text(rows[i].what, text.text, rows[i].want);
		test_notes_text(&notes, &said);
		test_assert_text(rows[i].what, said.text, rows[i].notes);
		assert_true(p.held.cpus_known && p.held.devices_known);
		assert_false(p.allocatable_known);
	}
}

/* dynamic_resources{claim, namespace, resources{CDI devices{name} driver pool device share}}: the kubelet lists a
 * device with the CDI devices of those before it too. */
static void claims_are_named(void **state)
{
	static const char list[] =
		"1{1'p' 2'ns' 3{1'c' 5{2'cpus' 3'ns' 4{1{1'k/cpu=a'} 2'dra.cpu' 3'node' 4'cpu0'} 4{1{1'k/cpu=a'} "
		"1{1'k/cpu=a'} 2'dra.cpu' 3'node' 4'cpu1' 5'share'} 4{2'dra.memory' 3'node' 4'mem'}} 5{2'none' 3'ns'}} "
		"3{1'd' 5{2'cpus' 3'ns' 4{1{1'k/cpu=a'} 2'dra.cpu' 3'node' 4'cpu0'}}}} "
		"1{1'q' 2'ns' 3{1'c' 5{2'cpus' 3'ns' 4{1{1'k/cpu=a'} 2'dra.cpu' 3'node' 4'cpu0'}} 5{4{2'x'}}}}";
	CLEANUP(pod_resources_release) struct pod_resources p = {0};
	CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(65536);
	struct err err = {""};

	(void)state;
	assert_int_equal(parse(list, NULL, &p, NULL, &err), 0);
	test_claims_text(&p.claims, &got);
	test_assert_text("claims", got.text,
		"dra.cpu  ns/cpus pods ns/p,ns/q devices node/cpu0,node/cpu1/share cdi k/cpu=a;"
		"dra.memory  ns/cpus pods ns/p devices node/mem;"
		"x  pods ns/q;");
	assert_false(p.pods[0].exclusive);
}

static void pods_say_who_is_exclusive(void **state)
{
	static const char list[] =
		"1{1'none' 2'a' 3{1'c'}} 1{1'cpu' 2'a' 3{1'c'} 3{1'd' 3[1]}} "
		"1{1'free' 2'b' 3{1'c' 2{1'v/x' 2'i'} 4{1'memory' 2:5}}} "
		"1{1'device' 2'b' 3{1'c' 2{1'v/x' 2'j' " NODE_0 "}}} "
		"1{1'memory' 2'b' 3{1'c' 4{1'memory' 2:5 " NODE_1 "}}} 1{1'pod' 2'c' 4[3]}";
	static const struct pod_ref want[] = {{(char *)(uintptr_t) "a", (char *)(uintptr_t) "none", false},
		{(char *)(uintptr_t) "a", (char *)(uintptr_t) "cpu", true},
		{(char *)(uintptr_t) "b", (char *)(uintptr_t) "free", false},
		{(char *)(uintptr_t) "b", (char *)(uintptr_t) "device", true},
		{(char *)(uintptr_t) "b", (char *)(uintptr_t) "memory", true},
		{(char *)(uintptr_t) "c", (char *)(uintptr_t) "pod", true}};
	CLEANUP(pod_resources_release) struct pod_resources p = {0};
	struct err err = {""};

	(void)state;
	assert_int_equal(parse(list, NULL, &p, NULL, &err), 0);
	assert_int_equal(p.n_pods, ARRAY_SIZE(want));
	for (size_t i = 0; i < p.n_pods; i++) {
		test_assert_text("namespace", p.pods[i].namespace, want[i].namespace);
		test_assert_text("name", p.pods[i].name, want[i].name);
		assert_int_equal(p.pods[i].exclusive, want[i].exclusive);
	}
}

static void what_could_be_handed_out(void **state)
{
	static const char allocatable[] =
		"2[1 2 3 4 5 6 7] 1{1'v/nic' 2'a' " NODE_0 "} 1{1'v/nic' 2'b' " NODE_0
		"} 1{1'v/nic' 2'c'} 3{1'memory' 2:4096 " NODE_1 "}";
	CLEANUP(pod_resources_release) struct pod_resources p = {0};
	CLEANUP(pod_resources_release) struct pod_resources none = {0};
	CLEANUP(freep) char *cpus = NULL;
	struct err err = {""};

	(void)state;
	assert_int_equal(parse("", allocatable, &p, NULL, &err), 0);
	assert_true(p.allocatable_known);
	cpus = cpuset_print(p.allocatable_cpus);
	test_assert_text("CPUs", cpus, "1-7");
	assert_int_equal(p.n_allocatable_memory, 1);
	test_assert_text("type", p.allocatable_memory[0].type, "memory");
	assert_int_equal(p.allocatable_memory[0].bytes, 4096);
	assert_int_equal(p.n_allocatable_devices, 2);
	assert_int_equal(p.allocatable_devices[0].ids.n_items, 2);
	assert_true(hwloc_bitmap_isset(p.allocatable_devices[0].nodes, 0));
	assert_true(hwloc_bitmap_iszero(p.allocatable_devices[1].nodes));
	/* Policy none: told, and empty. */
	assert_int_equal(parse("", "", &none, NULL, &err), 0);
	assert_true(none.allocatable_known);
	assert_true(hwloc_bitmap_iszero(none.allocatable_cpus));
}

static void damage_is_refused(void **state)
{
	static const struct {
		const char *list, *allocatable;
		int want;
		const char *text;
	} rows[] = {
		{"1'garbage'", NULL, -EBADMSG, "List: the reply is not a valid message"},
		{"1:5", NULL, -EBADMSG, "List: the reply is not a valid message"},
		{"", "1'garbage'", -EBADMSG, "GetAllocatableResources: the reply is not a valid message"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_resources p = {0};
		struct err err = {""};

		assert_int_equal(parse(rows[i].list, rows[i].allocatable, &p, NULL, &err), rows[i].want);
		test_assert_text(rows[i].list, err.text, rows[i].text);
		assert_null(p.pods);
		assert_null(p.held.items);
	}
}

/* An answer is unpacked piece by piece, and accepted if protobuf-c accepts the whole. */
static void pieces_are_as_valid_as_the_whole(void **state)
{
	CLEANUP(strbuf_release) struct strbuf valid = STRBUF_INIT(4096);
	uint64_t random = test_seed(20261127);
	unsigned n_valid = 0, n_bad = 0;

	(void)state;
	wire_add(&valid,
		"1{1'v/nic' 2'a' 3{1{1:1}}} 2[1 2 300] 1{1'v/nic' 2'b' 2'c'} 3{1'memory' 2:4096} 9:7 8'x'");
	for (unsigned i = 0; i < 20000; i++) {
		CLEANUP(strbuf_release) struct strbuf bytes = STRBUF_INIT(4096);
		struct pod_resources p = {0};
		Podresources__AllocatableResourcesResponse *whole;
		size_t len = valid.len - (test_random(&random) % 4 == 0 ? test_random(&random) % 9 : 0);

		strbuf_add(&bytes, valid.text, len);
		for (uint64_t k = test_random(&random) % 3; k > 0; k--)
			bytes.text[test_random(&random) % len] = (char)test_random(&random);
		whole = podresources__allocatable_resources_response__unpack(
			NULL, len, (const uint8_t *)bytes.text);
		assert_int_equal(pod_resources_parse("", 0, bytes.text, len, NULL, &p, NULL, NULL),
			whole ? 0 : -EBADMSG);
		n_valid += whole != NULL;
		n_bad += whole == NULL;
		podresources__allocatable_resources_response__free_unpacked(whole, NULL);
		pod_resources_release(&p);
	}
	assert_true(n_valid > 1000 && n_bad > 1000);
}

/* Ids that cannot be right are noted; the rest of the answer counts. */
static void bad_ids_are_ignored(void **state)
{
	static const struct {
		const char *list, *allocatable, *want, *notes;
	} rows[] = {
		{"1{1'p' 2'ns' 3{1'c' 3[-1 3]}}", NULL, "/c cpus 3;",
			"pod 'ns/p', container 'c': -1 is not a CPU; 1 such ids are ignored"},
		{"1{1'p' 2'ns' 3{1'c' 3[99999999]} 3{1'd' 3[2 -5]}}", NULL, "/c;/d cpus 2;",
			"pod 'ns/p', container 'c': 99999999 is not a CPU; 2 such ids are ignored"},
		{"1{1'p' 2'ns' 4[-2]}", NULL, "/;", "pod 'ns/p': -2 is not a CPU; 1 such ids are ignored"},
		{"", "2[-3]", "", "GetAllocatableResources: -3 is not a CPU; 1 such ids are ignored"},
		{"", "3{1'memory' 2:4096 " NODES_0_1 "}", "",
			"GetAllocatableResources: 1 blocks of memory are on several NUMA nodes each; they count as nothing"},
		/* A pod without a name. */
		{"1{3{1'c' 3[1]}}", NULL, "/c cpus 1;", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(pod_resources_release) struct pod_resources p = {0};
		CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(4096);
		CLEANUP(strbuf_release) struct strbuf noted = STRBUF_INIT(4096);
		CLEANUP(notes_release) struct notes notes = {0};

		assert_int_equal(parse(rows[i].list, rows[i].allocatable, &p, &notes, NULL), 0);
		test_allocations_text(&p.held, &got);
		test_assert_text(rows[i].list, got.text, rows[i].want);
		test_notes_text(&notes, &noted);
		test_assert_text(rows[i].list, noted.text, rows[i].notes);
	}
}

/* ---- calls */

struct node {
	char *dir;
	char socket[108];
	struct grpc_server *server;
	struct pod_resources_client *client;
	struct err err;
};

static void node_init(struct node *n, const struct grpc_answer *answers, size_t n_answers)
{
	*n = (struct node){.dir = test_tmpdir()};
	snprintf(n->socket, sizeof(n->socket), "%.90s/s", n->dir);
	n->server = grpc_server_start(n->socket, answers, n_answers);
	assert_int_equal(pod_resources_client_new(n->socket, NULL, &n->client), 0);
}

static void node_release(struct node *n)
{
	grpc_server_stop(n->server);
	pod_resources_client_free(n->client);
	test_rmtree(&n->dir);
}

static void both_calls_are_made(void **state)
{
	static const struct grpc_answer answers[] = {{.message = "\x0a\x03\x0a\x01p", .len = 5},
		{.message = "\x12\x01\x07", .len = 3}, {.message = "", .len = 0}, {.status = 12},
		{.message = "", .len = 0},
		{.status = 2, .text = "Pods API GetAllocatableResources disabled"}};
	struct node n;

	(void)state;
	node_init(&n, answers, ARRAY_SIZE(answers));
	for (size_t i = 0; i < 3; i++) {
		CLEANUP(pod_resources_release) struct pod_resources p = {0};

		assert_int_equal(pod_resources_read(n.client, NULL, &p, NULL, &n.err), 0);
		assert_int_equal(p.n_pods, i == 0);
		assert_int_equal(p.allocatable_known, i == 0);
	}
	test_assert_text(
		"method", grpc_server_method(n.server), "/v1.PodResourcesLister/GetAllocatableResources");
	assert_int_equal(grpc_server_connections(n.server), 1);
	node_release(&n);
}

static void failures_name_socket_and_call(void **state)
{
	static const struct {
		struct grpc_answer answer;
		int want;
		const char *text;
	} rows[] = {
		{{.status = 12, .text = "no"}, -EOPNOTSUPP, "this kubelet has no List: no"},
		{{.status = 2, .text = "boom"}, -EAGAIN, "List failed with gRPC status 2: boom"},
		{{.status = 4, .text = "slow"}, -ETIMEDOUT, "List ran out of time: slow"},
		{{.status = 5, .text = "none"}, -ENOENT, "List: not found: none"},
		{{.status = 8, .text = "rejected"}, -EBUSY,
			"the kubelet's rate limit rejected List; next try in 100 ms"},
		{{.status = 14, .text = "soon"}, -EAGAIN, "the kubelet is not ready for List: soon"},
		{{.message = "\x0a\x05p", .len = 3}, -EBADMSG, "List: the reply is not a valid message"},
		{{.type = "text/html"}, -EPROTO, "not a gRPC server (HTTP status 200)"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct grpc_answer answers[] = {rows[i].answer, {.len = 0}};
		struct pod_resources p = {0};
		char want[256];
		struct node n;

		node_init(&n, answers, ARRAY_SIZE(answers));
		snprintf(want, sizeof(want), "%s: %s", n.socket, rows[i].text);
		assert_int_equal(pod_resources_read(n.client, NULL, &p, NULL, &n.err), rows[i].want);
		test_assert_text(rows[i].text, n.err.text, want);
		assert_null(p.pods);
		node_release(&n);
	}
}

static void a_damaged_answer_leaves_the_last_one(void **state)
{
	static const struct grpc_answer answers[] = {{.message = "\x0a\x03\x0a\x01p", .len = 5},
		{.message = "\x12\x01\x07", .len = 3}, {.message = "", .len = 0},
		{.message = "\x0a\x05x", .len = 3}};
	CLEANUP(pod_resources_release) struct pod_resources first = {0}, none = {0}, again = {0};
	struct node n;

	(void)state;
	node_init(&n, answers, ARRAY_SIZE(answers));
	assert_int_equal(pod_resources_read(n.client, NULL, &first, NULL, &n.err), 0);
	assert_int_equal(pod_resources_read(n.client, NULL, &none, NULL, &n.err), -EBADMSG);
	assert_non_null(strstr(n.err.text, "/s: GetAllocatableResources: the reply is not a valid message"));
	assert_int_equal(pod_resources_recall(n.client, NULL, &again, NULL, &n.err), 0);
	assert_int_equal(again.n_pods, 1);
	assert_true(hwloc_bitmap_isset(again.allocatable_cpus, 7));
	node_release(&n);
}

/* Of an agent that starts with the kubelet: what two young answers do not list is not known. Then the kubelet lists CPU 7, and is young again. */
static void young_answers_prove_nothing(void **state)
{
	static const struct grpc_answer empty = {.message = "", .len = 0},
					seven = {.message = "\x12\x01\x07", .len = 3};
	const struct grpc_answer answers[] = {
		empty, empty, empty, empty, empty, seven, empty, empty, empty, empty};
	static const struct {
		bool young;
		int want;
		bool known;
	} reads[] = {{true, 0, false}, {true, 0, false}, {true, 0, true}, {true, -EAGAIN, false},
		{false, 0, true}};
	struct node n;

	(void)state;
	node_init(&n, answers, ARRAY_SIZE(answers));
	for (size_t i = 0; i < ARRAY_SIZE(reads); i++) {
		CLEANUP(pod_resources_release) struct pod_resources p;

		pod_resources_init(&p);
		pod_resources_set_young(n.client, reads[i].young);
		assert_int_equal(pod_resources_read(n.client, NULL, &p, NULL, &n.err), reads[i].want);
		assert_int_equal(p.allocatable_known, reads[i].known);
	}
	node_release(&n);
}

static void the_rate_limit_is_respected(void **state)
{
	static const struct grpc_answer answers[] = {{.status = 8}, {.len = 0}, {.len = 0}};
	CLEANUP(pod_resources_release) struct pod_resources p = {0};
	struct node n;

	(void)state;
	node_init(&n, answers, ARRAY_SIZE(answers));
	assert_int_equal(pod_resources_read(n.client, NULL, &p, NULL, &n.err), -EBUSY);
	assert_int_equal(pod_resources_read(n.client, NULL, &p, NULL, &n.err), -EBUSY);
	assert_non_null(strstr(n.err.text, "the kubelet's rate limit rejected the last call; next try in "));
	assert_int_equal(grpc_server_calls(n.server), 1);
	usleep(120000);
	assert_int_equal(pod_resources_read(n.client, NULL, &p, NULL, &n.err), 0);
	assert_int_equal(grpc_server_calls(n.server), 3);
	node_release(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(containers_become_items),
		cmocka_unit_test(claims_are_named),
		cmocka_unit_test(pods_say_who_is_exclusive),
		cmocka_unit_test(what_could_be_handed_out),
		cmocka_unit_test(damage_is_refused),
		cmocka_unit_test(pieces_are_as_valid_as_the_whole),
		cmocka_unit_test(bad_ids_are_ignored),
		cmocka_unit_test(both_calls_are_made),
		cmocka_unit_test(failures_name_socket_and_call),
		cmocka_unit_test(a_damaged_answer_leaves_the_last_one),
		cmocka_unit_test(young_answers_prove_nothing),
		cmocka_unit_test(the_rate_limit_is_respected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
