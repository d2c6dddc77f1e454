/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An object that others write too, and the Numatopology: the publisher against a scripted server. It cannot show who
 * holds which field after a write: tests/upstream/publish.sh asks a real server.
 */
#include "tests/lib/publisher_bench.h"

#include <errno.h>

#include "common/cleanup.h"
#include "tests/lib/test.h"

#define OBJECT(version, managers) \
	"{\"metadata\":{\"uid\":\"o\",\"resourceVersion\":\"" version "\",\"managedFields\":[" managers "]}}"
#define MANAGER(name, operation, time, fields)                                             \
	"{\"manager\":\"" name "\",\"operation\":\"" operation "\",\"time\":\"" time "\"," \
	"\"fieldsV1\":{" fields "}}"
#define OURS     MANAGER("nrtd", "Apply", "2026-11-22T10:00:00Z", "\"f:zones\":{},\"f:attributes\":{}")
#define LEFT     MANAGER("nrtd", "Apply", "2026-11-22T10:00:00Z", "\"f:attributes\":{}")
#define KOORDLET MANAGER("koordlet", "Update", "2026-11-22T10:00:01Z", "\"f:zones\":{}")
#define KUBECTL  MANAGER("kubectl", "Update", "2026-11-22T10:00:02Z", "\"f:metadata\":{\"f:labels\":{}}")

#define FOUND(version, managers)                                 \
	{                                                        \
		.status = 200, .body = OBJECT(version, managers) \
	}
#define CREATED(version)                                     \
	{                                                    \
		.status = 201, .body = OBJECT(version, OURS) \
	}
/* What an apply meets after koordlet has written, and the apply that follows. */
#define REWRITTEN(version, version_after) \
	CONFLICT, FOUND(version, LEFT "," KOORDLET), FOUND(version_after, OURS)
#define NODE_THERE                                    \
	{                                             \
		.status = 200, .body = NODE("u1", "") \
	}
#define NOTHING_THERE                                      \
	{                                                  \
		.status = 404, .body = STATUS("not found") \
	}
#define CONFLICT                                          \
	{                                                 \
		.status = 409, .body = STATUS("modified") \
	}

static void expect_version(const struct bench *b, size_t request, const char *version)
{
	char text[64];

	assert_string_equal(b->server.method[request], "PATCH");
	snprintf(text, sizeof(text), "\"resourceVersion\":\"%s\"", version ? version : "");
	if (version ? !strstr(b->server.body[request], text)
		    : strstr(b->server.body[request], "resourceVersion") != NULL)
		fail_msg("request %zu: %s in %s", request, version ? version : "none",
			b->server.body[request]);
}

/* The object alone is written, and the publisher is to be called again then. */
static void expect_written(struct bench *b, const char *hash, uint64_t now_ms, uint64_t again_ms)
{
	bench_expect(b, hash, now_ms, 0, PUBLISH_WRITTEN, PUBLISH_UNCHANGED, again_ms);
}

/* ---- who writes */

static void managers_are_read(void **state)
{
	static const char *const sections[] = {"zones", "attributes", NULL};
	static const struct apply_kind kind = {.api_version = "g/v2", .sections = sections};
	static const struct {
		const char *managers, *rival;
		bool ours;
	} cases[] = {
		{"", "", false},
		{OURS, "", true},
		{OURS "," KUBECTL, "", true},
		{KOORDLET "," OURS, "koordlet", true},
		{LEFT "," KOORDLET, "koordlet", true},
		{MANAGER("nrtd", "Update", "2026-11-22T10:00:00Z", "\"f:zones\":{}"), "nrtd", false},
		{MANAGER("b", "Apply", "2026-11-22T10:00:02Z", "\"f:zones\":{}") "," KOORDLET, "b", false},
		{KOORDLET "," MANAGER("b", "Apply", "2026-11-22T10:00:00Z", "\"f:attributes\":{}"),
			"koordlet", false},
		{MANAGER("", "Update", "2026-11-22T10:00:00Z", "\"f:zones\":{}"), "(unnamed)", false},
		{OURS "," MANAGER("nfd", "Apply", "2026-11-22T09:59:59Z", "\"f:zones\":{}"), "", true},
		{MANAGER("before-first-apply", "Update", "2026-11-22T10:00:09Z", "\"f:zones\":{}"), "",
			false},
		{"1", "", false},
	};
	uint64_t whole = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(managed_fields_release) struct managed_fields m = {0};
		char text[2000];
		struct doc object;

		snprintf(text, sizeof(text), OBJECT("7", "%s"), cases[i].managers);
		object = bench_doc(text);
		assert_int_equal(managed_fields_read(&object, &kind, &m), 0);
		test_assert_text(cases[i].managers, m.rival, cases[i].rival);
		assert_string_equal(m.resource_version, "7");
		assert_int_equal(m.own_hash != 0, cases[i].ours);
		if (i == 1)
			whole = m.own_hash;
		if (cases[i].ours) /* a field less is another number */
			assert_int_equal(m.own_hash == whole, i != 4);
		doc_release(&object);
	}
}

/* ---- giving way */

static void nrtd_gives_way_at_the_second_rewrite(void **state)
{
	static const struct api_answer script[] = {
		NODE_THERE,
		NOTHING_THERE,
		CREATED("1"),
		REWRITTEN("2", "3"),
		FOUND("4", LEFT "," KOORDLET),           /* looked at 15 s later */
		{.status = 200, .body = NODE("u1", "")}, /* the Node's annotations */
		NODE_THERE,                              /* at the refresh */
		CONFLICT, /* the other has written once more, and taken the attributes too */
		FOUND("4b", KOORDLET),
		FOUND("5", OURS),
		FOUND("5", OURS), /* looked at */
		FOUND("6", LEFT "," KOORDLET),
		NODE_THERE, /* at the next refresh */
		FOUND("7", OURS),
		NODE_THERE, /* at the one after it */
		FOUND("7", OURS),
	};
	struct publish_result result;
	struct err err = {""};
	struct bench b;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	expect_written(&b, "h1", 1000, 601000);
	expect_version(&b, 2, NULL);
	expect_written(&b, "h2", 2000, 17000);
	expect_version(&b, 3, "1");
	expect_version(&b, 5, "2");
	bench_expect(&b, "h2", 16999, 0, PUBLISH_UNCHANGED, PUBLISH_UNCHANGED, 17000);
	assert_int_equal(b.server.n_requests, 6);
	/* The second one. The Node's annotations follow all the same. */
	assert_int_equal(bench_publish(&b, "h2", "{\"nrtd.dev/a\":\"b\"}", 17000, &result, &err), -EALREADY);
	assert_string_equal(err.text,
		"'koordlet' keeps rewriting /apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/node-a: nrtd backs off until the next refresh; that is Koordinator's: nrtd run --coexist=koordinator leaves the object to it, or set koordlet's feature gate NodeTopologyReport=false");
	assert_string_equal(result.rival, "koordlet");
	assert_int_equal(result.nrt, PUBLISH_CONTENDED);
	assert_int_equal(result.node, PUBLISH_WRITTEN);
	assert_int_equal(result.call_again_ms, 601000);
	assert_false(result.current);
	bench_expect(&b, "h3", 18000, -EALREADY, PUBLISH_CONTENDED, PUBLISH_UNCHANGED, 601000);
	assert_int_equal(b.server.n_requests, 8);
	/* The refresh tries once, and gives way again at the first rewrite. */
	expect_written(&b, "h3", 601000, 616000);
	expect_version(&b, 9, "4");
	expect_version(&b, 11, "4b");
	bench_expect(&b, "h3", 616000, 0, PUBLISH_UNCHANGED, PUBLISH_UNCHANGED, 631000);
	bench_expect(&b, "h3", 631000, -EALREADY, PUBLISH_CONTENDED, PUBLISH_UNCHANGED, 1141000);
	assert_int_equal(b.server.n_requests, 14);
	/* The other is gone: one refresh later nothing is looked at any more. */
	expect_written(&b, "h3", 1141000, 1156000);
	expect_written(&b, "h3", 1681000, 2221000);
	assert_int_equal(b.server.n_requests, 18);
	bench_close(&b);
}

static void rewrites_far_apart_are_repaired(void **state)
{
	static const struct api_answer script[] = {
		NODE_THERE,
		NOTHING_THERE,
		CREATED("1"),
		REWRITTEN("2", "3"),
		NODE_THERE, /* at the refresh at 601 s */
		FOUND("3", OURS),
		REWRITTEN("4", "5"),
	};
	struct bench b;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	expect_written(&b, "h1", 1000, 601000);
	expect_written(&b, "h2", 2000, 17000);
	expect_written(&b, "h2", 601000, 616000);
	expect_written(&b, "h3", 602001, 617001);
	expect_version(&b, 10, "4");
	bench_close(&b);
}

/* What others may write: the metadata, or the whole object before nrtd came. */
static void others_write_beside_nrtd(void **state)
{
	static const struct api_answer script[] = {
		NODE_THERE,
		FOUND("7", KOORDLET), /* it was there before */
		FOUND("8", OURS),
		CONFLICT, /* a label */
		FOUND("9", OURS "," KUBECTL),
		FOUND("10", OURS "," KUBECTL),
		CONFLICT, /* and again */
		FOUND("11", OURS "," KUBECTL),
		FOUND("12", OURS "," KUBECTL),
		CONFLICT, /* deleted */
		NOTHING_THERE,
		CREATED("13"),
		NOTHING_THERE, /* an API server that says so */
		NOTHING_THERE,
		CREATED("14"),
	};
	struct bench b;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	/* Who was there before may come again, so it is looked at until the refresh. */
	expect_written(&b, "h1", 1000, 16000);
	expect_version(&b, 2, "7");
	expect_written(&b, "h2", 2000, 17000);
	expect_written(&b, "h3", 3000, 18000);
	expect_written(&b, "h4", 4000, 19000);
	expect_version(&b, 9, "12");
	expect_version(&b, 11, NULL);
	expect_written(&b, "h5", 5000, 20000);
	expect_version(&b, 14, NULL);
	assert_int_equal(b.server.n_requests, 15);
	bench_close(&b);
}

/* A client of an older version of the API has written: an apply beside its entry would fail. */
static void entries_of_an_older_version_are_forgotten(void **state)
{
#define OLDER                                                                                                  \
	"{\"manager\":\"koordlet\",\"operation\":\"Update\",\"apiVersion\":\"topology.node.k8s.io/v1alpha1\"," \
	"\"fieldsV1\":{\"f:zones\":{}}}"
	static const struct api_answer script[] = {
		NODE_THERE,
		FOUND("7", OLDER),
		FOUND("8", ""),
		FOUND("9", OURS),
		{.status = 500, .body = STATUS("failed to prune fields")}, /* it has written again */
		FOUND("10", OURS "," OLDER),
		FOUND("11", ""),
		FOUND("12", OURS),
	};
	struct bench b;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	expect_written(&b, "h1", 1000, 16000);
	assert_string_equal(b.server.type[2], "application/merge-patch+json");
	assert_string_equal(
		b.server.body[2], "{\"metadata\":{\"managedFields\":[{}],\"resourceVersion\":\"7\"}}");
	expect_version(&b, 3, "8");
	assert_int_equal(b.server.n_requests, 4);
	expect_written(&b, "h2", 2000, 17000);
	expect_version(&b, 4, "9");
	assert_string_equal(b.server.method[5], "GET");
	expect_version(&b, 7, "11");
	bench_close(&b);
}

/* The server may have taken what it did not answer: what was written before it does not count as there. */
static void what_had_no_answer_may_be_there(void **state)
{
	static const struct api_answer script[] = {
		{.status = 200, .body = NODE("u1", ""), .delay_ms = 1}, /* short deadlines */
		NOTHING_THERE,
		CREATED("1"),
		{.status = 200, .body = "{}", .delay_ms = 1500},
		FOUND("2", OURS),
	};
	struct bench b;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	expect_written(&b, "h1", 1000, 601000);
	bench_expect(&b, "h2", 2000, -ETIMEDOUT, PUBLISH_TIMEOUT, PUBLISH_DEFERRED, 2001);
	expect_written(&b, "h1", 3000, 601000);
	assert_int_equal(b.server.n_requests, 5);
	bench_close(&b);
}

/* Another Node of the same name: its object is nobody's yet. */
static void another_node_is_no_matter_of_the_last_ones(void **state)
{
	static const struct api_answer script[] = {
		NODE_THERE,
		FOUND("1", KOORDLET),
		FOUND("2", OURS),
		REWRITTEN("3", "4"),
		FOUND("5", LEFT "," KOORDLET),           /* looked at: held */
		{.status = 200, .body = NODE("u2", "")}, /* the Node's annotations */
		NOTHING_THERE,
		CREATED("6"),
	};
	struct publish_result result;
	struct err err = {""};
	struct bench b;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	expect_written(&b, "h1", 1000, 16000);
	expect_written(&b, "h2", 2000, 17000);
	assert_int_equal(bench_publish(&b, "h2", "{\"nrtd.dev/a\":\"b\"}", 17000, &result, &err), -EALREADY);
	expect_written(&b, "h2", 18000, 601000);
	assert_int_equal(b.server.n_requests, 10);
	bench_close(&b);
}

/* Without the right to look nrtd writes all the same; a server in trouble is asked once. */
static void what_cannot_be_seen_is_written(void **state)
{
	static const struct api_answer script[] = {
		NODE_THERE,
		{.status = 403, .body = STATUS("cannot get")},
		CREATED("1"),
		CONFLICT,
		{.status = 403, .body = STATUS("cannot get")},
		FOUND("3", OURS),
		{.status = 500, .body = STATUS("etcdserver: request timed out")},
	};
	struct bench b;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	expect_written(&b, "h1", 1000, 601000);
	expect_version(&b, 2, NULL);
	expect_written(&b, "h2", 2000, 601000);
	expect_version(&b, 5, NULL);
	bench_expect(&b, "h3", 3000, -EIO, PUBLISH_SERVER_ERROR, PUBLISH_DEFERRED, 3001);
	assert_int_equal(b.server.n_requests, 7);
	bench_close(&b);
}

/* SIGHUP: whoever wrote before, nrtd tries. */
static void what_is_forgotten_is_tried_again(void **state)
{
	static const struct api_answer script[] = {
		NODE_THERE,
		FOUND("1", KOORDLET),
		FOUND("2", OURS),
		REWRITTEN("3", "4"),
		CONFLICT,
		FOUND("5", LEFT "," KOORDLET),
		NODE_THERE,
		FOUND("5", LEFT "," KOORDLET),
		FOUND("6", OURS),
	};
	struct bench b;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	expect_written(&b, "h1", 1000, 16000);
	expect_written(&b, "h2", 2000, 17000);
	bench_expect(&b, "h3", 3000, -EALREADY, PUBLISH_CONTENDED, PUBLISH_UNCHANGED, 601000);
	publisher_forget(b.publisher);
	expect_written(&b, "h3", 4000, 19000);
	assert_int_equal(b.server.n_requests, 11);
	bench_close(&b);
}

/* ---- Numatopology */

static void a_numatopology_is_written_alone(void **state)
{
	static const struct api_answer script[] = {
		NODE_THERE,
		NOTHING_THERE,
		{.status = 201, .body = OBJECT("1", "")},
		FOUND("2", ""),
		NODE_THERE, /* at the refresh */
		FOUND("3", ""),
	};
	struct publish_result result;
	struct bench b;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	assert_int_equal(bench_publish_numatopology(&b, "a", 1000, &result, NULL), 0);
	assert_int_equal(result.numatopology, PUBLISH_WRITTEN);
	assert_int_equal(result.nrt, PUBLISH_UNCHANGED);
	assert_true(result.current);
	assert_int_equal(result.call_again_ms, 601000);
	assert_string_equal(b.server.url[2], "/apis/nodeinfo.volcano.sh/v1alpha1/numatopologies/node-a");
	assert_string_equal(b.server.body[2],
		"{\"metadata\":{\"name\":\"node-a\",\"annotations\":{\"nrtd.dev/refresh\":\"1\"},\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"node-a\",\"uid\":\"u1\"}]},\"spec\":\"a\"}");
	assert_int_equal(bench_publish_numatopology(&b, "a", 2000, &result, NULL), 0);
	assert_int_equal(result.numatopology, PUBLISH_UNCHANGED);
	assert_int_equal(b.server.n_requests, 3);
	assert_int_equal(bench_publish_numatopology(&b, "b", 3000, &result, NULL), 0);
	assert_int_equal(result.numatopology, PUBLISH_WRITTEN);
	expect_version(&b, 3, "1");
	assert_int_equal(bench_publish_numatopology(&b, "b", 601000, &result, NULL), 0);
	assert_int_equal(result.numatopology, PUBLISH_WRITTEN);
	assert_non_null(strstr(b.server.body[5], "\"nrtd.dev/refresh\":\"2\""));
	bench_close(&b);
}

/* Where the definition decides, the API server is asked for it once a refresh. */
static void a_numatopology_waits_for_its_definition(void **state)
{
	static const struct api_answer script[] = {
		NODE_THERE,
		NOTHING_THERE, /* the group */
		NODE_THERE,    /* at the refresh */
		{.status = 200, .body = "{\"kind\":\"APIResourceList\"}"},
		NOTHING_THERE,
		{.status = 201, .body = OBJECT("1", "")},
		{.status = 403, .body = STATUS("cannot patch")},
	};
	struct publish_result result;
	struct err err = {""};
	struct bench b;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	bench_renew(&b, (struct publisher_options){.numatopology_if_served = true});
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(bench_publish_numatopology(&b, "a", 1000 + i, &result, &err), 0);
		assert_int_equal(result.numatopology, PUBLISH_UNCHANGED);
		assert_true(result.current);
		assert_int_equal(result.call_again_ms, 601000);
	}
	assert_int_equal(b.server.n_requests, 2);
	assert_string_equal(b.server.url[1], "/apis/nodeinfo.volcano.sh/v1alpha1");
	assert_int_equal(bench_publish_numatopology(&b, "a", 601000, &result, &err), 0);
	assert_int_equal(result.numatopology, PUBLISH_WRITTEN);
	assert_int_equal(b.server.n_requests, 6);
	assert_int_equal(bench_publish_numatopology(&b, "b", 602000, &result, &err), -EPERM);
	assert_non_null(strstr(err.text, "apply packaging/kubernetes/numatopology.yaml"));
	bench_close(&b);
}

/* Members that the CRD does not have are not written; the schema is read once a refresh. */
static void pod_allocations_need_a_crd_that_has_them(void **state)
{
	static const struct api_answer has[] = {
		NODE_THERE,
		{.status = 200, .body = "{\"properties\":{\"podAllocations\":{\"type\":\"array\"}}}"},
		NOTHING_THERE,
		{.status = 201, .body = OBJECT("1", "")},
	};
	static const struct api_answer lacks[] = {
		NODE_THERE,
		{.status = 200, .body = "{\"properties\":{\"numares\":{}}}"},
		NOTHING_THERE,
		{.status = 201, .body = OBJECT("1", "")},
	};
	static const struct api_answer hidden[] = {
		NODE_THERE,
		{.status = 403, .body = STATUS("forbidden")},
		NOTHING_THERE,
		{.status = 201, .body = OBJECT("1", "")},
	};
	static const struct api_answer away[] = {NODE_THERE, {.status = 503, .body = STATUS("away")}};
	static const struct {
		const struct api_answer *script;
		size_t n;
		const char *spec;
	} cases[] = {
		{has, ARRAY_SIZE(has), "\"spec\":{\"numares\":{},\"podAllocations\":[]}}"},
		{lacks, ARRAY_SIZE(lacks), "\"spec\":{\"numares\":{}}}"},
		{hidden, ARRAY_SIZE(hidden), "\"spec\":{\"numares\":{}}}"},
		{away, ARRAY_SIZE(away), NULL},
	};
	CLEANUP(doc_release)
	struct doc object = bench_doc(
		"{\"metadata\":{\"name\":\"node-a\"},\"spec\":{\"numares\":{},\"podAllocations\":[]}}");
	const struct publish_request request = {.content_hash = "h", .numatopology = &object};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct publish_result result;
		struct err err = {""};
		struct bench b;

		bench_open(&b, cases[i].script, cases[i].n);
		b.now_ms = 1000;
		assert_int_equal(publisher_publish(b.publisher, &request, 1000, &result, &err),
			cases[i].spec ? 0 : -EIO);
		assert_string_equal(b.server.url[1], "/openapi/v3/apis/nodeinfo.volcano.sh/v1alpha1");
		if (cases[i].spec)
			assert_non_null(strstr(b.server.body[3], cases[i].spec));
		assert_int_equal(publisher_publish(b.publisher, &request, 1000, &result, &err), 0);
		assert_int_equal(b.server.n_requests, cases[i].n);
		bench_close(&b);
	}
}

/* ---- taking it away */

static void only_nrtds_own_is_deleted(void **state)
{
	static const struct {
		const char *nrt;
		bool deleted;
	} cases[] = {
		{OBJECT("3", OURS), true},
		{OBJECT("3", OURS "," KUBECTL), true},
		{OBJECT("3", KOORDLET), false},
		{OBJECT("3", LEFT "," KOORDLET), false},
		{OBJECT("3", OURS
			 "," MANAGER("nfd", "Apply", "2026-11-22T09:00:00Z", "\"f:topologyPolicies\":{}")),
			true}, /* what an exporter that is gone has left */
		{OBJECT("3", ""), false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct api_answer script[] = {
			NODE_THERE, {.status = 200, .body = cases[i].nrt}, {.status = 200, .body = "{}"}};
		struct err err = {""};
		struct bench b;

		bench_open(&b, script, ARRAY_SIZE(script));
		assert_int_equal(publisher_cleanup(b.publisher, false, &err), 0);
		assert_int_equal(b.server.n_requests, cases[i].deleted ? 3 : 2);
		if (cases[i].deleted) {
			assert_string_equal(b.server.method[2], "DELETE");
			assert_string_equal(b.server.body[2],
				"{\"preconditions\":{\"uid\":\"o\",\"resourceVersion\":\"3\"}}");
		}
		bench_close(&b);
	}
}

static void a_numatopology_is_deleted_where_it_is_asked_for(void **state)
{
	static const struct api_answer script[] = {
		NODE_THERE,
		NOTHING_THERE,
		{.status = 200,
			.body = OBJECT("4", MANAGER("nrtd", "Apply", "2026-11-22T10:00:00Z",
						    "\"f:spec\":{\"f:numares\":{}}"))},
		{.status = 200, .body = "{}"},
	};
	struct err err = {""};
	struct bench b;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	assert_int_equal(publisher_cleanup(b.publisher, true, &err), 0);
	assert_int_equal(b.server.n_requests, 4);
	assert_string_equal(b.server.method[3], "DELETE");
	assert_string_equal(b.server.url[3], "/apis/nodeinfo.volcano.sh/v1alpha1/numatopologies/node-a");
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(managers_are_read),
		cmocka_unit_test(nrtd_gives_way_at_the_second_rewrite),
		cmocka_unit_test(rewrites_far_apart_are_repaired),
		cmocka_unit_test(others_write_beside_nrtd),
		cmocka_unit_test(entries_of_an_older_version_are_forgotten),
		cmocka_unit_test(what_had_no_answer_may_be_there),
		cmocka_unit_test(another_node_is_no_matter_of_the_last_ones),
		cmocka_unit_test(what_cannot_be_seen_is_written),
		cmocka_unit_test(what_is_forgotten_is_tried_again),
		cmocka_unit_test(a_numatopology_is_written_alone),
		cmocka_unit_test(a_numatopology_waits_for_its_definition),
		cmocka_unit_test(pod_allocations_need_a_crd_that_has_them),
		cmocka_unit_test(only_nrtds_own_is_deleted),
		cmocka_unit_test(a_numatopology_is_deleted_where_it_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
