/* SPDX-License-Identifier: Apache-2.0 */
/* What is answered when nothing has come from the API server for too long. */
#include "tests/lib/test.h"

#include "agent/extender/service.h"
#include "agent/render/nrt.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "tests/lib/node_sim.h"

#define GIB ((uint64_t)1 << 30)
/* Of 2 nodes: of the first there is an object, and it suits; of the other nothing is known. */
#define POD                                                                                \
	"{\"Pod\":{\"metadata\":{\"name\":\"p\",\"namespace\":\"default\",\"uid\":\"1\"}," \
	"\"spec\":{\"priority\":5,\"containers\":[{\"name\":\"app\",\"resources\":{"       \
	"\"limits\":{\"cpu\":\"2\",\"memory\":\"1Gi\"}}}]}},"
#define NAMES POD "\"Nodes\":null,\"NodeNames\":[\"node-0\",\"node-1\"]}"
#define VICTIMS \
	POD "\"NodeNameToMetaVictims\":{\"node-1\":{\"Pods\":[{\"UID\":\"2\"}],\"NumPDBViolations\":0}}}"

static const struct node_sim_setup setup = {
	.machine =
		{.sockets = 2, .numas = 1, .uncores = 1, .cores = 8, .threads = 1, .memory_bytes = 16 * GIB},
	.policy = TOPOLOGY_MANAGER_RESTRICTED,
	.scope = TOPOLOGY_SCOPE_CONTAINER};

/* All is listed. The API server was never heard of, which is too long ago where `stale`. */
static struct service *begin(bool stale, bool open)
{
	static const struct nrt_config nrt = {.node_state = true};
	const struct service_config config = {
		.max_stale_ms = stale ? 0 : UINT64_MAX, .stale_open = open, .book = {.promise_ms = 60000}};
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct service *s = NULL;
	struct node_sim sim;

	node_sim_init(&sim, &setup);
	assert_int_equal(text_set(&sim.state.node_name, "node-0"), 0);
	assert_int_equal(service_new(&config, NULL, &s), 0);
	assert_int_equal(nrt_render(&sim.state, &nrt, &object, NULL), 0);
	assert_int_equal(service_object(s, BOOK_NRT, &object), 0);
	for (enum book_kind kind = 0; kind < BOOK_KIND_COUNT; kind++)
		assert_int_equal(service_list_end(s, kind), 0);
	node_sim_release(&sim);
	return s;
}

static void check(struct service *s, const char *path, const char *body, int status, const char *want)
{
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(4096);

	assert_int_equal(service_post(s, path, body, strlen(body), &reply), status);
	if (!strstr(reply.text, want))
		fail_msg("%s: '%s' is not in '%s'", path, want, reply.text);
}

static void as_if_there_were_no_extender(void **state)
{
	CLEANUP(service_freep) struct service *fresh = begin(false, true), *stale = begin(true, true);

	(void)state;
	check(fresh, "/filter", NAMES, 200, "\"NodeNames\":[\"node-0\"]");
	check(stale, "/filter", NAMES, 200, "\"NodeNames\":[\"node-0\",\"node-1\"]");
	check(fresh, "/prioritize", NAMES, 200, "\"Score\":1}");
	check(stale, "/prioritize", NAMES, 200,
		"[{\"Host\":\"node-0\",\"Score\":0},{\"Host\":\"node-1\",\"Score\":0}]");
	check(fresh, "/preempt", VICTIMS, 200, "\"NodeNameToMetaVictims\":{}");
	check(stale, "/preempt", VICTIMS, 200, "\"node-1\":{\"Pods\":[{\"UID\":\"2\"}]");
}

static void or_pods_wait(void **state)
{
	CLEANUP(service_freep) struct service *s = begin(true, false);

	(void)state;
	check(s, "/filter", NAMES, 503, "nothing came from the API server");
	check(s, "/prioritize", NAMES, 503, "nothing came from the API server");
	check(s, "/preempt", VICTIMS, 503, "nothing came from the API server");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_if_there_were_no_extender),
		cmocka_unit_test(or_pods_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
