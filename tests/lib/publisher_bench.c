/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/publisher_bench.h"

#include "common/cleanup.h"
#include "common/io/json.h"
#include "tests/lib/test.h"

static uint64_t given_random(void *data)
{
	return ((const struct bench *)data)->random;
}

static uint64_t given_clock(void *data)
{
	const struct bench *b = data;

	return b->now_ms + b->took_ms;
}

void bench_renew(struct bench *b, struct publisher_options options)
{
	struct err err = {""};

	publisher_freep(&b->publisher);
	options.node_name = "node-a";
	options.random = given_random;
	options.clock = given_clock;
	options.random_data = options.clock_data = b;
	if (publisher_new(b->client, &options, &b->publisher, &err) < 0)
		fail_msg("%s", err.text);
}

void bench_open(struct bench *b, const struct api_answer *script, size_t n)
{
	/* Little time only where an answer is to come too late: under valgrind everything is slow. */
	struct api_client_options options = {
		.total_ms = script->delay_ms ? 500 : 30000, .reply_max = 10000, .cancel = &b->cancel};
	struct credentials_options credentials = {.api_server = b->url};
	struct err err = {""};

	*b = (struct bench){0};
	assert_int_equal(cancel_init(&b->cancel), 0);
	api_server_start(&b->server, script, n);
	snprintf(b->url, sizeof(b->url), "http://127.0.0.1:%u", b->server.port);
	unsetenv("KUBECONFIG");
	unsetenv("KUBERNETES_SERVICE_HOST");
	setenv("NO_PROXY", "*", 1);
	if (credentials_new(&credentials, &b->credentials, &err) < 0 ||
		api_client_new(b->credentials, &options, &b->client, &err) < 0)
		fail_msg("%s", err.text);
	bench_renew(b, (struct publisher_options){0});
}

void bench_close(struct bench *b)
{
	publisher_free(b->publisher);
	api_client_free(b->client);
	credentials_free(b->credentials);
	cancel_release(&b->cancel);
	api_server_stop(&b->server);
}

struct doc bench_doc(const char *text)
{
	struct doc d = DOC_INIT;
	struct err err = {""};

	if (json_parse(text, strlen(text), &d, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	return d;
}

int bench_publish(struct bench *b, const char *hash, const char *annotations, uint64_t now_ms,
	struct publish_result *ret, struct err *err)
{
	CLEANUP(doc_release)
	struct doc nrt = bench_doc("{\"kind\":\"NodeResourceTopology\",\"metadata\":{\"name\":\"node-a\"}}");
	CLEANUP(doc_release) struct doc map = bench_doc(annotations ? annotations : "{}");
	struct publish_request request = {
		.nrt = &nrt, .content_hash = hash, .annotations = annotations ? &map : NULL};

	b->now_ms = now_ms;
	return publisher_publish(b->publisher, &request, now_ms, ret, err);
}

int bench_publish_numatopology(
	struct bench *b, const char *spec, uint64_t now_ms, struct publish_result *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc object = bench_doc("{\"metadata\":{\"name\":\"node-a\"}}");
	struct publish_request request = {.content_hash = "h", .numatopology = &object};

	assert_non_null(doc_add_string(&object, "spec", spec));
	b->now_ms = now_ms;
	return publisher_publish(b->publisher, &request, now_ms, ret, err);
}

void bench_expect(struct bench *b, const char *hash, uint64_t now_ms, int r, enum publish_outcome nrt,
	enum publish_outcome node, uint64_t again_ms)
{
	struct publish_result result;
	struct err err = {""};
	int got = bench_publish(b, hash, NULL, now_ms, &result, &err);

	if (got != r || result.nrt != nrt || result.node != node || result.call_again_ms != again_ms)
		fail_msg("at %llu: %d nrt=%s node=%s again=%llu %s", (unsigned long long)now_ms, got,
			publish_outcome_names[result.nrt], publish_outcome_names[result.node],
			(unsigned long long)result.call_again_ms, err.text);
	assert_true(got == 0 || err.text[0]);
}
