/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/extender/nominations.h"

#include "common/cleanup.h"
#include "common/xalloc.h"
#include "tests/lib/test.h"

#define SETTLED (NOMINATION_SETTLE_MS + 1)

static struct nominations n;

static int setup(void **state)
{
	(void)state;
	n = (struct nominations){.on = true, .right = RIGHT_GRANTED};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	nominations_release(&n);
	return 0;
}

/* ---- what the scheduler and the API server send */

static char *names[SAMPLE_MIN + 1], scheduler[32] = "default-scheduler";

/* A request for the pod with this number of nodes, "a" first. The result is valid until the next call. */
static struct extender_args request(
	const char *uid, size_t n_names, const char *nominated, const char *message)
{
	struct extender_args args = {.names = names, .n_names = n_names};
	static char empty[] = "", name[] = "p", namespace[] = "ns", first[] = "a", other[] = "b";
	static char uids[64], nominations[64], messages[1024];

	snprintf(uids, sizeof(uids), "%s", uid);
	snprintf(nominations, sizeof(nominations), "%s", nominated);
	snprintf(messages, sizeof(messages), "%s", message);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		names[i] = i > 0 ? other : first;
	args.pod.uid = uids;
	args.pod.name = name;
	args.pod.namespace = namespace;
	args.pod.gang = empty;
	args.pod.scheduler = scheduler;
	args.pod.nominated = nominations;
	args.pod.message = messages;
	return args;
}

static bool begins(struct extender_args args, uint64_t now_ms)
{
	bool may = nominations_begin(&n, &args, 1000, now_ms);

	strv_release(&args.refused);
	return may;
}

/* A try for a pod without a nomination; the reason, to be freed. */
static char *try_node(const char *uid, const char *node, const char *message, uint64_t now_ms)
{
	const struct extender_args args = request(uid, SAMPLE_MIN, "", message);

	assert_true(begins(args, now_ms));
	return nominations_try(&n, &args.pod, node, now_ms);
}

/* The scheduler's message with this reason. */
static char *message_of(const char *reason)
{
	return xasprintf("0/1000 nodes are available: 3 Insufficient cpu, 420 %s. preemption: none", reason);
}

static bool update(const char *uid, const char *node, const char *nominated, const char *message,
	uint64_t version, uint64_t now_ms)
{
	const struct nominated_pod pod = {.uid = uid,
		.namespace = "ns",
		.name = "p",
		.node = node,
		.nominated = nominated,
		.message = message,
		.version = version};

	return nominations_update(&n, &pod, now_ms);
}

/* The node and the version that are written now; NULL = none. To be freed. */
static char *taken(uint64_t now_ms)
{
	CLEANUP(nomination_write_release) struct nomination_write w = {NULL};
	uint64_t wait_ms;

	if (!nominations_take(&n, now_ms, &w, &wait_ms))
		return NULL;
	return xasprintf("%s %s/%s %s %u", w.uid, w.namespace, w.name, w.node, (unsigned)w.version);
}

static void assert_taken(uint64_t now_ms, const char *want)
{
	CLEANUP(freep) char *got = taken(now_ms);

	if (want)
		test_assert_text("write", got ? got : "none", want);
	else
		assert_null(got);
}

static void answer(
	const char *uid, const char *node, uint64_t written, int status, uint64_t version, bool is_gone)
{
	CLEANUP(nomination_write_release)
	struct nomination_write w = {.uid = xstrdup(uid), .node = xstrdup(node), .version = written};

	assert_int_equal(nominations_written(&n, &w, status, version, 1000), is_gone);
}

/* A nomination of x for the pod u is written over the version before this one, and the watch has delivered it. */
static void nominate_x_at(uint64_t version, uint64_t now_ms)
{
	CLEANUP(freep) char *reason = try_node("u", "x", "", now_ms);
	CLEANUP(freep) char *message = message_of(reason);
	CLEANUP(freep) char *want = xasprintf("u ns/p x %u", (unsigned)version - 1);

	assert_false(update("u", "", "", message, version - 1, now_ms));
	assert_taken(now_ms + SETTLED, want);
	answer("u", "x", version - 1, 200, version, false);
	assert_false(update("u", "", "x", message, version, now_ms + SETTLED));
}

static void nominate_x(uint64_t now_ms)
{
	nominate_x_at(6, now_ms);
}

/* ---- when a nomination is written */

static void a_nomination_waits_for_the_condition_and_the_next_try(void **state)
{
	CLEANUP(freep)
	char *reason = try_node("u", "x", "", 100), *message = message_of(reason), *again = NULL;
	struct nomination_write w = {NULL};
	uint64_t wait_ms;

	(void)state;
	test_assert_text("reason", reason,
		"node(s) whose kubelets reject the pod; node x, outside of the scheduler's sample, admits it and is nominated");
	assert_false(update("u", "", "", "0/1000 nodes are available", 4, 100));
	assert_taken(100 + SETTLED, NULL);
	assert_false(update("u", "", "", message, 5, 110));
	assert_false(nominations_take(&n, 110, &w, &wait_ms));
	assert_int_equal(wait_ms, NOMINATION_SETTLE_MS - 10);
	/* The condition has made the scheduler try the pod again. */
	again = try_node("u", "x", message, 115);
	test_assert_text("reason", again, reason);
	assert_int_equal(n.counts.tries, 1);
	assert_taken(100 + SETTLED, NULL);
	assert_taken(115 + SETTLED, "u ns/p x 5");
	assert_taken(115 + SETTLED, NULL);
}

static void the_next_request_revokes_what_is_not_written(void **state)
{
	CLEANUP(freep) char *reason = try_node("u", "x", "", 0), *message = message_of(reason);

	(void)state;
	assert_false(update("u", "", "", message, 5, 0));
	assert_true(begins(request("u", SAMPLE_MIN, "", message), 1));
	assert_taken(SETTLED + 1, NULL);
}

/* The condition of the try before names another node. */
static void the_condition_must_be_of_the_last_try(void **state)
{
	CLEANUP(freep)
	char *reason = try_node("u", "x", "", 0), *message = message_of(reason),
	     *later = try_node("u", "y", message, 0), *second = message_of(later);

	(void)state;
	assert_false(update("u", "", "", message, 5, 0));
	assert_taken(SETTLED, NULL);
	assert_false(update("u", "", "", second, 6, 0));
	assert_taken(SETTLED, "u ns/p y 6");
	assert_int_equal(n.counts.tries, 2);
}

static void the_nomination_of_another_is_not_replaced(void **state)
{
	CLEANUP(freep) char *reason = try_node("u", "x", "", 0), *message = message_of(reason);

	(void)state;
	assert_false(update("u", "", "other", message, 5, 0));
	assert_taken(SETTLED, NULL);
	assert_false(begins(request("u", SAMPLE_MIN, "other", ""), 0));
	assert_false(begins(request("v", SAMPLE_MIN, "other", ""), 0));
}

static void a_nomination_that_the_pod_has_is_not_written(void **state)
{
	CLEANUP(freep) char *reason = try_node("u", "x", "", 0), *message = message_of(reason);

	(void)state;
	assert_false(update("u", "", "x", message, 6, 0));
	assert_taken(SETTLED, NULL);
	assert_false(update("u", "", "", message, 7, 0));
	assert_taken(SETTLED, "u ns/p x 7");
}

static void its_own_nomination_is_replaced(void **state)
{
	CLEANUP(freep) char *reason = NULL, *message = NULL;
	struct extender_args args;

	(void)state;
	nominate_x(0);
	args = request("u", SAMPLE_MIN, "x", "");
	assert_true(begins(args, 50));
	reason = nominations_try(&n, &args.pod, "y", 50);
	message = message_of(reason);
	assert_false(update("u", "", "x", message, 7, 50));
	assert_taken(50 + SETTLED, "u ns/p y 7");
}

static void these_requests_are_answered_as_without(void **state)
{
	struct extender_args gang = request("u", SAMPLE_MIN, "", "");
	static char name[] = "g";

	(void)state;
	gang.pod.gang = name;
	assert_false(begins(gang, 0));
	assert_false(begins(request("u", SAMPLE_MIN - 1, "", ""), 0));
	assert_false(begins(request("", SAMPLE_MIN, "", ""), 0));
	assert_true(begins(request("u", SAMPLE_MIN, "", ""), 0));
	n.on = false;
	assert_false(begins(request("u", SAMPLE_MIN, "", ""), 0));
}

/* All samples have the same size: a smaller request holds all nodes that pass the scheduler's own filters. */
static void a_request_smaller_than_the_samples_is_no_sample(void **state)
{
	struct extender_args args = request("u", SAMPLE_MIN + 1, "", "");

	(void)state;
	assert_true(begins(args, 0));
	args.n_names = SAMPLE_MIN;
	assert_false(begins(args, 0));
	/* Another scheduler has another size; so has another number of Nodes. */
	snprintf(scheduler, sizeof(scheduler), "other");
	assert_true(begins(args, 0));
	snprintf(scheduler, sizeof(scheduler), "default-scheduler");
	assert_false(begins(args, 0));
	assert_true(nominations_begin(&n, &args, 999, 0));
	assert_true(begins(args, 0));
	/* The scheduler may learn later of the number of Nodes. */
	args.n_names = SAMPLE_MIN + 1;
	assert_true(begins(args, 0));
	args.n_names = SAMPLE_MIN;
	assert_false(begins(args, SAMPLE_KEPT_MS - 1));
	assert_true(begins(args, SAMPLE_KEPT_MS));
	/* More schedulers than are remembered. */
	args.n_names = SAMPLE_MIN + 1;
	assert_true(begins(args, SAMPLE_KEPT_MS));
	args.n_names = SAMPLE_MIN;
	for (unsigned i = 0; i < SAMPLERS; i++) {
		snprintf(scheduler, sizeof(scheduler), "s%u", i);
		assert_true(begins(args, SAMPLE_KEPT_MS));
	}
	snprintf(scheduler, sizeof(scheduler), "default-scheduler");
	assert_true(begins(args, SAMPLE_KEPT_MS));
}

/* ---- what becomes of a nomination */

static void nominations_are_used_or_lost(void **state)
{
	(void)state;
	nominate_x(0);
	assert_false(update("u", "x", "", "", 7, 0));
	assert_int_equal(n.counts.used, 1);
	nominate_x(0);
	assert_false(update("u", "y", "", "", 7, 0));
	assert_int_equal(n.counts.lost, 1);
	nominate_x(0);
	nominations_end(&n, "u");
	assert_int_equal(n.counts.lost, 2);
	nominate_x(0);
	nominations_expire(&n, NOMINATION_KEPT_MS - 1);
	assert_int_equal(n.by_uid.n, 1);
	nominations_expire(&n, NOMINATION_KEPT_MS + SETTLED);
	assert_int_equal(n.by_uid.n, 0);
	assert_int_equal(n.counts.lost, 3);
	assert_int_equal(n.counts.used, 1);
}

/* Then the pod must not stay assumed there. */
static void a_nomination_that_is_gone_is_lost(void **state)
{
	(void)state;
	nominate_x(0);
	assert_false(update("u", "", "", "", 5, 0)); /* older than the write */
	assert_true(update("u", "", "", "", 7, 0));
	assert_false(update("u", "", "", "", 8, 0));
	assert_int_equal(n.counts.lost, 1);
	/* A later request has assumed the pod elsewhere. */
	nominate_x_at(10, 100);
	assert_true(begins(request("u", SAMPLE_MIN, "x", ""), 200));
	assert_false(update("u", "", "", "", 11, 200));
	assert_int_equal(n.counts.lost, 2);
}

/* The answer was faster than the watch. */
static void an_update_before_the_write_says_nothing(void **state)
{
	CLEANUP(freep) char *reason = try_node("u", "x", "", 0), *message = message_of(reason);

	(void)state;
	assert_false(update("u", "", "", message, 5, 0));
	assert_taken(SETTLED, "u ns/p x 5");
	answer("u", "x", 5, 200, 8, false);
	assert_false(update("u", "", "", message, 6, 0));
	assert_int_equal(n.counts.lost, 0);
	assert_true(update("u", "", "", message, 9, 0));
}

/* The watch was faster than the answer. */
static void a_nomination_may_be_gone_before_its_answer(void **state)
{
	CLEANUP(freep) char *reason = try_node("u", "x", "", 0), *message = message_of(reason);

	(void)state;
	assert_false(update("u", "", "", message, 5, 0));
	assert_taken(SETTLED, "u ns/p x 5");
	assert_false(update("u", "", "", message, 7, 0));
	answer("u", "x", 5, 200, 6, true);
	assert_int_equal(n.counts.lost, 1);
}

/* The scheduler evaluates the nominated node first. Without a request for it, a filter of the scheduler has refused the node. */
static void a_node_that_the_scheduler_refuses_is_not_named_again(void **state)
{
	struct extender_args args;

	(void)state;
	nominate_x(0);
	args = request("u", SAMPLE_MIN, "x", "");
	assert_true(nominations_begin(&n, &args, 1000, 50));
	assert_int_equal(args.refused.n_items, 1);
	test_assert_text("refused", args.refused.items[0], "x");
	strv_release(&args.refused);
	nominations_release(&n);
	setup(NULL);
	nominate_x(0);
	args = request("u", 1, "x", "");
	args.names[0] = (char[]){"x"};
	assert_false(begins(args, 50));
	args = request("u", SAMPLE_MIN, "x", "");
	assert_true(nominations_begin(&n, &args, 1000, 50));
	assert_int_equal(args.refused.n_items, 0);
}

static void preemption_is_refused_after_a_try(void **state)
{
	CLEANUP(freep) char *reason = NULL;

	(void)state;
	assert_false(nominations_refuse_preemption(&n, "u", 0));
	reason = try_node("u", "x", "", 0);
	assert_true(nominations_refuse_preemption(&n, "u", NOMINATION_PREEMPT_MS - 1));
	assert_false(nominations_refuse_preemption(&n, "u", NOMINATION_PREEMPT_MS));
	assert_false(nominations_refuse_preemption(&n, "v", 0));
	/* No try follows. */
	assert_true(begins(request("u", SAMPLE_MIN, "", ""), 1));
	assert_false(nominations_refuse_preemption(&n, "u", 1));
}

/* ---- bounds */

/* How many times another node can be named. With `repeated` the nomination before is not written yet. */
static size_t tries_of(const char *uid, bool repeated, uint64_t now_ms)
{
	for (size_t i = 0; i < 1000; i++) {
		struct extender_args args = request(uid, SAMPLE_MIN, "", "");
		CLEANUP(freep) char *node = xasprintf("n%zu", i), *reason = NULL;

		if (!repeated) {
			args.n_names = 1;
			begins(args, now_ms);
			args.n_names = SAMPLE_MIN;
		}
		if (!begins(args, now_ms))
			return i;
		reason = nominations_try(&n, &args.pod, node, now_ms);
	}
	return 1000;
}

static void tries_are_bounded(void **state)
{
	size_t n_tries = 0;
	char uid[16];

	(void)state;
	assert_int_equal(tries_of("u", false, 0), NOMINATION_TRIES);
	assert_int_equal(tries_of("u", false, NOMINATION_TRIES_MS), 1);
	assert_int_equal(tries_of("v", true, 0), NOMINATION_TRIES + NOMINATION_REPEATED);
	nominations_release(&n);
	setup(NULL);
	for (unsigned i = 0; i < NAMESPACE_TRIES; i++) {
		snprintf(uid, sizeof(uid), "u%u", i);
		n_tries += tries_of(uid, false, 0);
	}
	assert_int_equal(n_tries, NAMESPACE_TRIES);
	n.right = RIGHT_DENIED;
	nominations_release(&n);
	setup(NULL);
	n.right = RIGHT_DENIED;
	assert_int_equal(tries_of("u", false, 0), UNGRANTED_TRIES);
}

/* Many namespaces have one bound together. */
static void tries_of_all_namespaces_are_bounded(void **state)
{
	unsigned n_tries = 0;

	(void)state;
	for (unsigned i = 0; i < 2 * ALL_TRIES; i++) {
		CLEANUP(freep)
		char *uid = xasprintf("u%u", i), *namespace = xasprintf("ns%u", i), *reason = NULL;
		struct extender_args args = request(uid, SAMPLE_MIN, "", "");

		args.pod.namespace = namespace;
		if (!begins(args, 0))
			continue;
		reason = nominations_try(&n, &args.pod, "x", 0);
		n_tries++;
	}
	assert_int_equal(n_tries, ALL_TRIES);
}

static void pods_are_bounded(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NOMINATIONS_MAX; i++) {
		CLEANUP(freep)
		char *uid = xasprintf("u%u", i), *namespace = xasprintf("ns%u", i), *reason = NULL;
		struct extender_args args = request(uid, SAMPLE_MIN, "", "");

		args.pod.namespace = namespace;
		assert_true(begins(args, i * 1000));
		reason = nominations_try(&n, &args.pod, "x", i * 1000);
	}
	assert_false(begins(request("v", SAMPLE_MIN, "", ""), NOMINATIONS_MAX * 1000));
}

/* ---- without the right to write */

static void without_the_right_each_reason_differs(void **state)
{
	CLEANUP(freep) char *first = NULL, *second = NULL, *message = NULL;

	(void)state;
	n.right = RIGHT_DENIED;
	first = try_node("u", "x", "", 0);
	message = message_of(first);
	assert_false(update("u", "", "", message, 5, 0));
	second = try_node("u", "x", message, 1);
	test_assert_text("reason", first,
		"node(s) whose kubelets reject the pod; node x, outside of the scheduler's sample, admits it (try 1)");
	test_assert_text("reason", second,
		"node(s) whose kubelets reject the pod; node x, outside of the scheduler's sample, admits it (try 2)");
	assert_taken(SETTLED, NULL);
	assert_int_equal(n.counts.tries, 2);
	assert_true(nominations_refuse_preemption(&n, "u", 1));
}

static void a_denied_write_ends_the_writes(void **state)
{
	CLEANUP(freep) char *reason = try_node("u", "x", "", 0), *message = message_of(reason);

	(void)state;
	assert_false(update("u", "", "", message, 5, 0));
	assert_taken(SETTLED, "u ns/p x 5");
	answer("u", "x", 5, 403, 0, false);
	assert_int_equal(n.right, RIGHT_DENIED);
	assert_int_equal(n.counts.refused, 1);
}

static void a_conflict_waits_for_the_next_version(void **state)
{
	CLEANUP(freep) char *reason = try_node("u", "x", "", 0), *message = message_of(reason);

	(void)state;
	assert_false(update("u", "", "", message, 5, 0));
	assert_taken(SETTLED, "u ns/p x 5");
	answer("u", "x", 5, 409, 0, false);
	assert_taken(SETTLED, NULL);
	assert_false(update("u", "", "", message, 6, 0));
	assert_taken(SETTLED, "u ns/p x 6");
	answer("u", "x", 6, 503, 0, false);
	assert_taken(1000, NULL);
	assert_taken(1000 + NOMINATION_RETRY_MS, "u ns/p x 6");
	assert_int_equal(n.counts.refused, 0);
	answer("u", "x", 6, 422, 0, false);
	assert_int_equal(n.counts.refused, 1);
	assert_taken(9000, NULL);
}

/* ---- after a change of the leader */

static void the_next_leader_writes_what_the_condition_names(void **state)
{
	CLEANUP(freep) char *reason = try_node("u", "x", "", 0), *message = message_of(reason);

	(void)state;
	nominations_release(&n);
	setup(NULL);
	assert_false(update("u", "", "", message, 5, 0));
	assert_taken(SETTLED, "u ns/p x 5");
	nominations_release(&n);
	setup(NULL);
	assert_false(update("u", "", "other", message, 5, 0));
	assert_false(update("v", "node", "", message, 5, 0));
	assert_taken(SETTLED, NULL);
	assert_int_equal(n.by_uid.n, 0);
	/* The replica before has written. */
	assert_true(begins(request("u", SAMPLE_MIN, "x", message), 0));
}

static void hostile_messages_name_no_node(void **state)
{
	static const char *const messages[] = {"", "node(s) whose kubelets reject the pod; node ",
		", outside of the scheduler's sample, admits it and is nominated",
		", outside of the scheduler's sample, admits it and is nominated node(s) whose kubelets reject the pod; node x"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++)
		assert_false(update("u", "", "", messages[i], 5, 0));
	assert_int_equal(n.by_uid.n, 0);
}

static void the_default_sample_is_known(void **state)
{
	static const struct {
		size_t n_requested, n_nodes;
		bool exceeds;
	} cases[] = {{100, 100, false}, {101, 200, true}, {420, 1000, false}, {421, 1000, true},
		{500, 5000, false}, {501, 5000, true}, {500, 10000, false}, {501, 10000, true}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(
			exceeds_default_sample(cases[i].n_requested, cases[i].n_nodes), cases[i].exceeds);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_nomination_waits_for_the_condition_and_the_next_try),
		CASE(the_next_request_revokes_what_is_not_written),
		CASE(the_condition_must_be_of_the_last_try),
		CASE(the_nomination_of_another_is_not_replaced),
		CASE(its_own_nomination_is_replaced),
		CASE(these_requests_are_answered_as_without),
		CASE(a_request_smaller_than_the_samples_is_no_sample),
		CASE(nominations_are_used_or_lost),
		CASE(a_nomination_that_is_gone_is_lost),
		CASE(a_nomination_that_the_pod_has_is_not_written),
		CASE(an_update_before_the_write_says_nothing),
		CASE(a_nomination_may_be_gone_before_its_answer),
		CASE(a_node_that_the_scheduler_refuses_is_not_named_again),
		CASE(preemption_is_refused_after_a_try),
		CASE(tries_are_bounded),
		CASE(tries_of_all_namespaces_are_bounded),
		CASE(pods_are_bounded),
		CASE(without_the_right_each_reason_differs),
		CASE(a_denied_write_ends_the_writes),
		CASE(a_conflict_waits_for_the_next_version),
		CASE(the_next_leader_writes_what_the_condition_names),
		CASE(hostile_messages_name_no_node),
		CASE(the_default_sample_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
