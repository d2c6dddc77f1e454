/* SPDX-License-Identifier: Apache-2.0 */
/* Tests parsing and printing of the extender API's JSON. */
#include "tests/lib/test.h"

#include <errno.h>
#include <stdlib.h>

#include "cluster/extender/extender_api.h"
#include "common/cleanup.h"
#include "common/io/json.h"

#define REPLY_MAX (1u << 20)
#define POD                                                                                               \
	"{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u-1\",\"creationTimestamp\":null}," \
	"\"spec\":{\"priority\":-7,\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"cpu\":"   \
	"\"4\",\"memory\":\"1Gi\"},\"requests\":{\"cpu\":\"4\",\"memory\":\"1Gi\"}}}]},\"status\":{"      \
	"\"phase\":\"Pending\",\"qosClass\":\"Guaranteed\"}}"
#define BARE_POD "{\"spec\":{\"containers\":[{\"name\":\"c\"}]}}"

static void parse_args(const char *text, struct extender_args *ret)
{
	struct err err = {""};

	if (extender_args_parse(text, strlen(text), ret, &err) < 0)
		fail_msg("%s: %s", err.text, text);
}

/* "a b c" */
static void assert_names(const struct extender_args *a, const char *want)
{
	CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(REPLY_MAX);

	for (size_t i = 0; i < a->n_names; i++)
		strbuf_addf(&got, "%s%s", i > 0 ? " " : "", a->names[i]);
	test_assert_text("names", got.text, want);
}

static void a_request_by_names_is_read(void **state)
{
	CLEANUP(extender_args_release) struct extender_args a = {.names = NULL};
	const struct resource_quantity *cpu;

	(void)state;
	parse_args("{\"Pod\":" POD ",\"Nodes\":null,\"NodeNames\":[\"n1\",\"n2\",\"n3\"]}\n", &a);
	assert_names(&a, "n1 n2 n3");
	assert_null(a.nodes);
	test_assert_text("uid", a.pod.uid, "u-1");
	test_assert_text("namespace", a.pod.namespace, "ns");
	test_assert_text("name", a.pod.name, "p");
	assert_int_equal(a.pod.priority, -7);
	assert_int_equal(a.pod.template.pod.n_containers, 1);
	assert_int_equal(a.pod.template.pod.qos, QOS_GUARANTEED);
	cpu = resource_list_find(&a.pod.template.pod.containers[0].requests, "cpu");
	assert_non_null(cpu);
	assert_true(cpu->quantity.nano == 4 * QTY_UNIT);
}

static void whole_nodes_are_read_by_their_names(void **state)
{
	static const char n2[] =
		"{ \"metadata\" : {\"labels\":{\"name\":\"x\"},\"name\":\"n2\"},"
		"\"status\":{\"images\":[{\"names\":[\"]}\\\"\"],\"size\":18446744073709551615}]}}";
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(REPLY_MAX);
	CLEANUP(extender_args_release) struct extender_args a = {.names = NULL};

	(void)state;
	strbuf_addf(&text,
		"{\"Pod\":%s,\"Nodes\":{\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"n1\"}} , %s]},"
		"\"NodeNames\":null}",
		BARE_POD, n2);
	parse_args(text.text, &a);
	assert_names(&a, "n1 n2");
	assert_non_null(a.nodes);
	assert_int_equal(a.nodes[1].len, strlen(n2));
	assert_memory_equal(a.nodes[1].text, n2, strlen(n2));
}

static void an_empty_node_list_is_valid(void **state)
{
	static const struct {
		const char *text;
		bool whole;
	} cases[] = {
		{"{\"Pod\":" BARE_POD ",\"Nodes\":null,\"NodeNames\":[]}", false},
		{"{\"Pod\":" BARE_POD ",\"Nodes\":null,\"NodeNames\":null}", false},
		{"{\"Pod\":" BARE_POD "}", false},
		{"{\"Pod\":" BARE_POD ",\"Nodes\":{\"metadata\":{},\"items\":null},\"NodeNames\":null}",
			true},
		{"{\"Pod\":" BARE_POD ",\"Nodes\":{\"metadata\":{},\"items\":[]},\"NodeNames\":null}", true},
		{"{\"Pod\":" BARE_POD ",\"Nodes\":{}}", true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(REPLY_MAX);
		CLEANUP(extender_args_release) struct extender_args a = {.names = NULL};

		parse_args(cases[i].text, &a);
		assert_int_equal(a.n_names, 0);
		assert_int_equal(a.nodes != NULL, cases[i].whole);
		assert_int_equal(extender_filter_print(&a, NULL, &out), 0);
		test_assert_text(cases[i].text, out.text,
			cases[i].whole ? "{\"Nodes\":{\"items\":[]},\"NodeNames\":null,\"FailedNodes\":{},"
					 "\"FailedAndUnresolvableNodes\":{},\"Error\":\"\"}"
				       : "{\"NodeNames\":[],\"Nodes\":null,\"FailedNodes\":{},"
					 "\"FailedAndUnresolvableNodes\":{},\"Error\":\"\"}");
	}
}

static void members_match_as_in_go(void **state)
{
	static const char *const cases[] = {
		"{\"pod\":" BARE_POD ",\"nodenames\":[\"a\",\"b\"]}",
		" {\n\"NODENAMES\" : [ \"a\" ,\t\"b\" ] , \"Pod\" :\r\n" BARE_POD "} ",
		"{\"NodeNames\":[\"x\"],\"Pod\":" BARE_POD ",\"NodeNames\":[\"a\",\"b\"]}",
		"{\"Later\":{\"NodeNames\":[\"}\",[]]},\"More\":-1.5e9,\"On\":true,\"S\":\"\\\"}\",\"Pod\":" BARE_POD
		",\"NodeNames\":[\"\\u0061\",\"b\"]}",
		"{\"Pod\":" BARE_POD ",\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"x\"}}]},"
		"\"NodeNames\":[\"a\",\"b\"]}",
		"{\"Pod\":" BARE_POD ",\"Nodes\":{\"Items\":[{\"Metadata\":{\"Name\":\"a\"}},"
		"{\"metadata\":{\"name\":\"b\"}}]}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(extender_args_release) struct extender_args a = {.names = NULL};

		parse_args(cases[i], &a);
		assert_names(&a, "a b");
		assert_int_equal(a.pod.template.pod.n_containers, 1);
		test_assert_text("uid", a.pod.uid, "");
		test_assert_text("name", a.pod.name, "");
		assert_int_equal(a.pod.priority, 0);
	}
}

static void a_bad_request_is_one_line(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"", "not a JSON object"},
		{"[]", "not a JSON object"},
		{"{", "not a JSON object"},
		{"{}{}", "not a JSON object"},
		{"{}", "Pod: a map is expected, not null"},
		{"{\"Pod\":null,\"NodeNames\":[]}", "Pod: a map is expected, not null"},
		{"{\"Pod\":[]}", "Pod: a map is expected, not a list"},
		{"{\"Pod\":{\"metadata\":{\"uid\":\"nomination/p\"}}}",
			"Pod: metadata.uid: 'nomination/p' is not a UID"},
		{"{\"Pod\":{\"spec\":}}", "Pod: not valid JSON at line 1, byte 9"},
		{"{\"Pod\":{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\"}}}",
			"pod 'n/p': spec: no pod spec in it"},
		{"{\"Pod\":{\"metadata\":{\"name\":\"\\u001b[2J\"},\"spec\":{}}}",
			"pod '/?[2J': spec: no containers in it"},
		{"{\"Pod\":" BARE_POD ",\"NodeNames\":{}}", "NodeNames: a list is expected"},
		{"{\"Pod\":" BARE_POD ",\"NodeNames\":[\"a\",]}", "NodeNames[1]: not valid JSON"},
		{"{\"Pod\":" BARE_POD ",\"NodeNames\":[\"a\" \"b\"]}", "NodeNames[1]: not valid JSON"},
		{"{\"Pod\":" BARE_POD ",\"NodeNames\":[\"a\",null]}", "node 1 has no name"},
		{"{\"Pod\":" BARE_POD ",\"NodeNames\":[\"\"]}", "node 0 has no name"},
		{"{\"Pod\":" BARE_POD ",\"NodeNames\":[\"\\x\"]}", "node 0 has no name"},
		{"{\"Pod\":" BARE_POD ",\"NodeNames\":[\"\xff\"]}", "node 0 has no name"},
		{"{\"Pod\":" BARE_POD ",\"Nodes\":[]}", "Nodes: a NodeList is expected"},
		{"{\"Pod\":" BARE_POD ",\"Nodes\":{\"items\":7}}", "Nodes.items: a list is expected"},
		{"{\"Pod\":" BARE_POD ",\"Nodes\":{\"items\":[{}]}}", "Nodes.items[0]: the Node has no name"},
		{"{\"Pod\":" BARE_POD ",\"Nodes\":{\"items\":[{\"metadata\":{\"name\":7}}]}}",
			"node 0 has no name"},
		{"{\"Pod\":" BARE_POD ",}", "not valid JSON at byte 46"},
		{"{Pod:1}", "not valid JSON at byte 2"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct extender_args a = {.n_names = 77};
		struct err err = {""};

		assert_int_equal(
			extender_args_parse(cases[i].text, strlen(cases[i].text), &a, &err), -EINVAL);
		test_assert_text(cases[i].text, err.text, cases[i].want);
		assert_int_equal(a.n_names, 77);
	}
}

/* No prefix of a request is read beyond its end. */
static void a_request_of_v1_is_read(void **state)
{
	static const struct {
		const char *members;
		bool all_nodes, assume;
		size_t limit, n_names;
	} cases[] = {
		{"", true, false, CHOOSE_LIMIT, 0},
		{",\"nodeNames\":null,\"limit\":null,\"assume\":null,\"nodes\":null", true, false,
			CHOOSE_LIMIT, 0},
		{",\"nodeNames\":[],\"limit\":1,\"assume\":true", false, true, 1, 0},
		{",\"NodeNames\":[\"a\",\"b\"],\"Limit\":100,\"Assume\":false", false, false, 100, 2},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(extender_args_release) struct extender_args a = {.names = NULL};
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(REPLY_MAX);
		struct err err = {""};

		strbuf_addf(&text, "{\"pod\":" POD "%s}", cases[i].members);
		if (extender_v1_parse(text.text, text.len, V1_NODES | V1_CHOICE, &a, &err) < 0)
			fail_msg("%s: %s", text.text, err.text);
		test_assert_text("uid", a.pod.uid, "u-1");
		assert_int_equal(a.all_nodes, cases[i].all_nodes);
		assert_int_equal(a.assume, cases[i].assume);
		assert_int_equal(a.limit, cases[i].limit);
		assert_int_equal(a.n_names, cases[i].n_names);
	}
}

static void a_bad_request_of_v1_is_one_line(void **state)
{
	static const char *const cases[][2] = {
		{"[]", "not a JSON object"},
		{"{}", "Pod: a map is expected, not null"},
		{"{\"pod\":" BARE_POD "}", "pod: metadata.uid is missing"},
		{"{\"pod\":" POD ",\"k\":1}", "unknown member \"k\""},
		{"{\"pod\":" POD ",\"nodes\":{}}", "unknown member \"nodes\""},
		{"{\"pod\":" POD ",\"nodeNames\":7}", "NodeNames: a list is expected"},
		{"{\"pod\":" POD ",\"assume\":1}", "assume: true or false is expected"},
		{"{\"pod\":" POD ",\"limit\":0}", "limit: a number from 1 to 100 is expected"},
		{"{\"pod\":" POD ",\"limit\":101}", "limit: a number from 1 to 100 is expected"},
		{"{\"pod\":" POD ",\"limit\":1.5}", "limit: a number from 1 to 100 is expected"},
		{"{\"pod\":" POD ",\"limit\":\"16\"}", "limit: a number from 1 to 100 is expected"},
		{"{\"pod\":" POD ",\"limit\":1e}", "limit: a number from 1 to 100 is expected"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct extender_args a = {.n_names = 77};
		struct err err = {""};

		assert_int_equal(
			extender_v1_parse(cases[i][0], strlen(cases[i][0]), V1_NODES | V1_CHOICE, &a, &err),
			-EINVAL);
		test_assert_text(cases[i][0], err.text, cases[i][1]);
		assert_int_equal(a.n_names, 77);
	}
}

static void a_verb_of_v1_has_only_its_members(void **state)
{
	static const struct {
		const char *member, *name;
		unsigned part;
	} cases[] = {{"\"nodeNames\":[]", "nodeNames", V1_NODES}, {"\"limit\":1", "limit", V1_CHOICE},
		{"\"assume\":true", "assume", V1_CHOICE}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(extender_args_release) struct extender_args a = {.names = NULL};
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(REPLY_MAX), want = STRBUF_INIT(100);
		struct err err = {""};

		strbuf_addf(&text, "{\"pod\":" POD ",%s}", cases[i].member);
		strbuf_addf(&want, "unknown member \"%s\"", cases[i].name);
		assert_int_equal(extender_v1_parse(text.text, text.len,
					 (V1_NODES | V1_CHOICE) & ~cases[i].part, &a, &err),
			-EINVAL);
		test_assert_text(cases[i].name, err.text, want.text);
		assert_int_equal(extender_v1_parse(text.text, text.len, cases[i].part, &a, &err), 0);
	}
}

static void a_truncated_request_is_an_error(void **state)
{
	static const char *const texts[] = {
		"{\"Pod\":" POD ",\"Nodes\":null,\"NodeNames\":[\"n\\u0031\",\"n2\"]}",
		"{\"Pod\":" BARE_POD ",\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"n1\"}}]}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		for (size_t len = 0; len < strlen(texts[i]); len++) {
			CLEANUP(freep) char *cut = malloc(len + 1);
			struct extender_args a = {.names = NULL};

			memcpy(cut, texts[i], len);
			cut = realloc(cut, len ? len : 1);
			assert_int_equal(extender_args_parse(cut, len, &a, NULL), -EINVAL);
		}
}

static void passing_nodes_are_printed(void **state)
{
	static const char by_names[] =
		"{\"Pod\":" BARE_POD ",\"Nodes\":null,\"NodeNames\":[\"a\",\"b\",\"c\"]}";
	static const char whole[] =
		"{\"Pod\":" BARE_POD ",\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"a\"}},"
		"{\"metadata\":{\"name\":\"b\"},\"x\":1.50},{\"metadata\":{\"name\":\"c\"}}]}}";
	static const struct extender_failure some[] = {{NULL, false}, {"full", false}, {NULL, false}};
	static const struct extender_failure one[] = {{"full", true}, {NULL, false}, {"full", false}};
	static const struct extender_failure none[] = {
		{"9 \"CPUs\"", false}, {"too small\n", true}, {"\xff", false}};
#define REST ",\"FailedNodes\":{},\"FailedAndUnresolvableNodes\":{},\"Error\":\"\"}"
#define FAILED                                                                                           \
	",\"FailedNodes\":{\"a\":\"9 \\\"CPUs\\\"\",\"c\":\"\\ufffd\"},\"FailedAndUnresolvableNodes\":{" \
	"\"b\":\"too small\\u000a\"},\"Error\":\"\"}"
	static const struct {
		const char *text;
		const struct extender_failure *failures;
		const char *want;
	} cases[] = {
		{by_names, some, "{\"NodeNames\":[\"a\",\"c\"],\"Nodes\":null" REST},
		{by_names, one, "{\"NodeNames\":[\"b\"],\"Nodes\":null" REST},
		{by_names, none, "{\"NodeNames\":[],\"Nodes\":null" FAILED},
		{whole, one,
			"{\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"b\"},\"x\":1.50}]},\"NodeNames\":null" REST},
		{whole, none, "{\"Nodes\":{\"items\":[]},\"NodeNames\":null" FAILED},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(REPLY_MAX);
		CLEANUP(extender_args_release) struct extender_args a = {.names = NULL};
		CLEANUP(doc_release) struct doc reply = DOC_INIT;

		parse_args(cases[i].text, &a);
		assert_int_equal(extender_filter_print(&a, cases[i].failures, &out), 0);
		test_assert_text(cases[i].text, out.text, cases[i].want);
		assert_int_equal(json_parse(out.text, out.len, &reply, NULL), 0);
	}
#undef REST
#undef FAILED
}

static void errors_and_scores_are_printed(void **state)
{
	static const int scores[] = {0, 10}, outside[] = {-1, 11};
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(REPLY_MAX), small = STRBUF_INIT(10);
	CLEANUP(extender_args_release) struct extender_args a = {.names = NULL};

	(void)state;
	assert_int_equal(extender_error_print("not \"ready\"", &out), 0);
	test_assert_text("error", out.text,
		"{\"NodeNames\":null,\"Nodes\":null,\"FailedNodes\":null,\"FailedAndUnresolvableNodes\":null,"
		"\"Error\":\"not \\\"ready\\\"\"}");
	strbuf_reset(&out);
	parse_args("{\"Pod\":" BARE_POD ",\"NodeNames\":[\"a\",\"b\"]}", &a);
	assert_int_equal(extender_priorities_print(&a, scores, &out), 0);
	test_assert_text("scores", out.text, "[{\"Host\":\"a\",\"Score\":0},{\"Host\":\"b\",\"Score\":10}]");
	strbuf_reset(&out);
	assert_int_equal(extender_priorities_print(&a, outside, &out), 0);
	test_assert_text("scores", out.text, "[{\"Host\":\"a\",\"Score\":0},{\"Host\":\"b\",\"Score\":10}]");
	assert_int_equal(extender_priorities_print(&a, scores, &small), -EFBIG);
}

static void strings_are_escaped(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"", "\"\""},
		{"a b", "\"a b\""},
		{"\"\\/", "\"\\\"\\\\/\""},
		{"\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\""},
		{"\xc2\x85|\xc2\xa0", "\"\\u0085|\xc2\xa0\""},
		{"\xe2\x82\xac", "\"\xe2\x82\xac\""},
		{"a\xe2\x82", "\"a\\ufffd\\ufffd\""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(REPLY_MAX);

		json_add_string(&out, cases[i].text);
		test_assert_text(cases[i].text, out.text, cases[i].want);
	}
}

/* ---- preemption */

static void both_forms_of_victims_are_read(void **state)
{
	static const char *const cases[] = {
		"{\"Pod\":" POD ",\"NodeNameToVictims\":null,\"NodeNameToMetaVictims\":{\"n1\":{\"Pods\":["
		"{\"UID\":\"a\"},{\"UID\":\"b\"}],\"NumPDBViolations\":2},\"n2\":{\"Pods\":null}}}",
		"{\"Pod\":" POD ",\"NodeNameToVictims\":{\"n1\":{\"Pods\":[{\"metadata\":{\"uid\":\"a\"}},"
		"{\"metadata\":{\"uid\":\"b\"},\"UID\":\"x\"}],\"NumPDBViolations\":2},\"n2\":{\"Pods\":[]}},"
		"\"NodeNameToMetaVictims\":null}",
		"{\"nodenametometavictims\":{\"n1\":{\"pods\":[{\"uid\":\"a\"},{\"uid\":\"b\"}],"
		"\"numpdbviolations\":2},\"n2\":{}},\"pod\":" POD "}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(extender_preemption_release) struct extender_preemption p = {.items = NULL};
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(REPLY_MAX);
		struct err err = {""};

		if (extender_preemption_parse(cases[i], strlen(cases[i]), &p, &err) < 0)
			fail_msg("%s: %s", err.text, cases[i]);
		test_assert_text("uid", p.pod.uid, "u-1");
		assert_int_equal(p.pod.priority, -7);
		assert_int_equal(p.n_items, 2);
		assert_int_equal(extender_preemption_print(p.items, p.n_items, &out), 0);
		test_assert_text(cases[i], out.text,
			"{\"NodeNameToMetaVictims\":{\"n1\":{\"Pods\":[{\"UID\":\"a\"},{\"UID\":\"b\"}],"
			"\"NumPDBViolations\":2},\"n2\":{\"Pods\":[],\"NumPDBViolations\":0}}}");
	}
}

static void a_pod_is_placed_by_amounts_or_not(void **state)
{
#define SPEC(text) "{\"Pod\":{\"spec\":{\"containers\":[{\"name\":\"c\"}]," text "}}}"
	static const struct {
		const char *text;
		bool by_amounts, has_volumes;
	} cases[] = {
		{"{\"Pod\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"ports\":[{\"containerPort\":80}]}]}}}",
			true, false},
		{"{\"Pod\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"ports\":[{\"hostPort\":80}]}]}}}",
			false, false},
		{SPEC("\"initContainers\":[{\"ports\":[{\"hostPort\":80}]}]"), false, false},
		{SPEC("\"affinity\":{\"nodeAffinity\":{}}"), true, false},
		{SPEC("\"affinity\":{\"podAffinity\":{}}"), false, false},
		{SPEC("\"affinity\":{\"podAntiAffinity\":{}}"), false, false},
		{SPEC("\"topologySpreadConstraints\":[{}]"), false, false},
		{SPEC("\"resourceClaims\":[{}]"), false, false},
		{SPEC("\"volumes\":[{\"name\":\"a\",\"emptyDir\":{}},{\"name\":\"b\",\"secret\":{}}]"), true,
			false},
		{SPEC("\"volumes\":[{\"name\":\"a\",\"emptyDir\":{}},{\"name\":\"b\",\"csi\":{}}]"), false,
			false},
		{SPEC("\"volumes\":[{\"name\":\"a\",\"nfs\":{}}]"), false, false},
		{SPEC("\"volumes\":[{\"name\":\"a\",\"persistentVolumeClaim\":{}}]"), false, true},
		{SPEC("\"volumes\":[{\"name\":\"a\",\"ephemeral\":{}}]"), false, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(extender_preemption_release) struct extender_preemption p = {.items = NULL};
		struct err err = {""};

		if (extender_preemption_parse(cases[i].text, strlen(cases[i].text), &p, &err) < 0)
			fail_msg("%s: %s", err.text, cases[i].text);
		if (p.by_amounts != cases[i].by_amounts || p.pod.has_volumes != cases[i].has_volumes)
			fail_msg("%s", cases[i].text);
	}
}

static void no_victims_are_an_empty_map(void **state)
{
	static const char text[] = "{\"Pod\":" BARE_POD "}";
	CLEANUP(extender_preemption_release) struct extender_preemption p = {.items = NULL};
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(REPLY_MAX);

	(void)state;
	assert_int_equal(extender_preemption_parse(text, strlen(text), &p, NULL), 0);
	assert_int_equal(p.n_items, 0);
	assert_int_equal(extender_preemption_print(NULL, 0, &out), 0);
	test_assert_text("reply", out.text, "{\"NodeNameToMetaVictims\":{}}");
}

static void a_bad_preemption_request_is_one_line(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"", "empty, not JSON"},
		{"[]", "not a JSON object"},
		{"{}", "Pod: missing"},
		{"{\"Pod\":null}", "Pod: a map is expected, not null"},
		{"{\"Pod\":" BARE_POD ",\"NodeNameToVictims\":[]}", "victims: a map is expected, not a list"},
		{"{\"Pod\":" BARE_POD ",\"NodeNameToVictims\":{\"n\":null}}",
			"the victims of node 'n' are not valid"},
		{"{\"Pod\":" BARE_POD ",\"NodeNameToMetaVictims\":{\"n\":{\"NumPDBViolations\":0.5}}}",
			"the victims of node 'n' are not valid"},
		{"{\"Pod\":" BARE_POD ",\"NodeNameToMetaVictims\":{\"n\":{\"Pods\":[{\"UID\":\"a\"},null]}}}",
			"a victim on node 'n' has no UID"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct extender_preemption p = {.n_items = 77};
		struct err err = {""};

		assert_int_equal(
			extender_preemption_parse(cases[i].text, strlen(cases[i].text), &p, &err), -EINVAL);
		test_assert_text(cases[i].text, err.text, cases[i].want);
		assert_int_equal(p.n_items, 77);
	}
}

/* A body of empty lists would be a document of a hundred times its size. Commas in strings are no values. */
static void too_many_values_are_not_parsed(void **state)
{
	static const struct {
		const char *before, *after, *want;
		int error;
	} cases[] = {
		{"{\"Pod\":[", "]}", "more than 1048576 JSON values", -E2BIG},
		{"{\"Pod\":" BARE_POD ",\"NodeNames\":[],\"x\":\"", "\"}", "", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(extender_preemption_release) struct extender_preemption p = {.items = NULL};
		CLEANUP(extender_args_release) struct extender_args args = {.names = NULL};
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT((size_t)4 << 20);
		struct err err = {""};

		strbuf_addstr(&text, cases[i].before);
		for (size_t n = 0; n < (size_t)1 << 20; n++)
			strbuf_addstr(&text, "[],");
		strbuf_addstr(&text, cases[i].after);
		assert_int_equal(extender_preemption_parse(text.text, text.len, &p, &err), cases[i].error);
		test_assert_text(cases[i].before, err.text, cases[i].want);
		assert_int_equal(extender_args_parse(text.text, text.len, &args, &err), cases[i].error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(too_many_values_are_not_parsed),
		cmocka_unit_test(a_request_by_names_is_read),
		cmocka_unit_test(whole_nodes_are_read_by_their_names),
		cmocka_unit_test(an_empty_node_list_is_valid),
		cmocka_unit_test(members_match_as_in_go),
		cmocka_unit_test(a_bad_request_is_one_line),
		cmocka_unit_test(a_request_of_v1_is_read),
		cmocka_unit_test(a_bad_request_of_v1_is_one_line),
		cmocka_unit_test(a_verb_of_v1_has_only_its_members),
		cmocka_unit_test(a_truncated_request_is_an_error),
		cmocka_unit_test(passing_nodes_are_printed),
		cmocka_unit_test(errors_and_scores_are_printed),
		cmocka_unit_test(strings_are_escaped),
		cmocka_unit_test(both_forms_of_victims_are_read),
		cmocka_unit_test(a_pod_is_placed_by_amounts_or_not),
		cmocka_unit_test(no_victims_are_an_empty_map),
		cmocka_unit_test(a_bad_preemption_request_is_one_line),
	};

	return cmocka_run_group_tests_name("extender_api", tests, NULL, NULL);
}
