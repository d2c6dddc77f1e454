/* SPDX-License-Identifier: Apache-2.0 */
/* Tests where the pods of a PodGroup are assumed while the scheduler tries placements, and until when. */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/xalloc.h"
#include "tests/lib/extender_cluster.h"

#define POD  "app cpu=8 memory=1Gi" /* fills a node */
#define NONE SIZE_MAX

/* The node among `n` from `first` on that passes and on which the pod is assumed. */
static size_t ask(struct extender_cluster *c, const struct cluster_pod_sim *pod, size_t first, size_t n,
	uint64_t now_ms)
{
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	struct verb_answer a = {0};
	size_t passing = NONE;

	extender_cluster_args(c, pod, &args);
	args.names += first;
	args.n_names = n;
	extender_filter(&c->verdicts, &answer_best, &args, now_ms, &a);
	for (size_t i = 0; i < n; i++)
		if (!a.failures[i].reason)
			passing = first + i;
	verb_answer_release(&a, &c->cluster);
	return passing;
}

/* Four nodes, for one pod each, and a gang of two pods. */
struct fixture {
	struct extender_cluster c;
	struct cluster_pod_sim *pods[2];
};

static void fixture_init(struct fixture *f)
{
	extender_cluster_init_alike(&f->c, &node_sim_nics);
	for (unsigned i = 0; i < 2; i++) {
		f->pods[i] = extender_cluster_pod(&f->c, POD);
		f->pods[i]->gang = "ring";
	}
}

static void fixture_release(struct fixture *f)
{
	extender_cluster_release(&f->c);
}

/* The scheduler tries the gang on two nodes. The pods' nodes must differ. */
static void try_placement(struct fixture *f, size_t first, uint64_t now_ms, size_t ret[2])
{
	for (unsigned i = 0; i < 2; i++)
		ret[i] = ask(&f->c, f->pods[i], first, 2, now_ms);
	assert_true(ret[0] != NONE && ret[1] != NONE && ret[0] != ret[1]);
}

/* How many nodes are left for pods outside the gang. */
static size_t count_free(struct fixture *f, uint64_t now_ms)
{
	size_t n = 0;

	for (size_t i = 0; i < CLUSTER_NODES; i++) {
		struct cluster_pod_sim *pod = extender_cluster_pod(&f->c, POD);

		if (ask(&f->c, pod, i, 1, now_ms) == NONE)
			continue;
		n++;
		cluster_forget_pod(&f->c.cluster, pod->name);
	}
	return n;
}

static void bind(struct fixture *f, unsigned i, size_t node, uint64_t now_ms)
{
	f->pods[i]->node = node;
	extender_cluster_report(&f->c, f->pods[i], NULL, now_ms);
}

static void every_placement_counts_until_one_is_chosen(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	size_t a[2], b[2];

	(void)state;
	for (unsigned chosen = 0; chosen < 2; chosen++) {
		fixture_init(&f);
		try_placement(&f, 0, 0, a);
		try_placement(&f, 2, 0, b);
		assert_int_equal(count_free(&f, 0), 0);
		bind(&f, 0, chosen ? b[0] : a[0], 10);
		assert_int_equal(count_free(&f, 10), 1);
		assert_int_equal(f.c.cluster.n_assumed, 2);
		bind(&f, 1, chosen ? b[1] : a[1], 20);
		assert_int_equal(count_free(&f, 20), 2);
		assert_int_equal(f.c.cluster.n_assumed, 0);
		assert_int_equal(f.c.cluster.n_pods, 2);
		if (chosen == 0)
			fixture_release(&f);
	}
}

static void a_gang_without_a_placement_holds_nothing(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	size_t nodes[2];

	(void)state;
	fixture_init(&f);
	try_placement(&f, 0, 100, nodes);
	try_placement(&f, 2, 200, nodes);
	cluster_expire(&f.c.cluster, 199 + GANG_UNDECIDED_MS);
	assert_int_equal(f.c.cluster.n_assumed, 4);
	cluster_expire(&f.c.cluster, 200 + GANG_UNDECIDED_MS);
	assert_int_equal(f.c.cluster.n_assumed, 0);
	assert_int_equal(f.c.cluster.gangs.n, 0);
	assert_int_equal(count_free(&f, 200 + GANG_UNDECIDED_MS), CLUSTER_NODES);
	/* also before the next request, without a tick */
	try_placement(&f, 0, 5000, nodes);
	assert_int_equal(count_free(&f, 5000 + GANG_UNDECIDED_MS), CLUSTER_NODES);
}

/* A binding of one pod keeps the others: the scheduler binds them one after the other. */
static void a_binding_renews_the_time(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	size_t nodes[2];

	(void)state;
	fixture_init(&f);
	try_placement(&f, 0, 0, nodes);
	bind(&f, 0, nodes[0], 1000);
	cluster_expire(&f.c.cluster, 999 + GANG_UNDECIDED_MS);
	assert_int_equal(f.c.cluster.n_assumed, 1);
	cluster_expire(&f.c.cluster, 1000 + GANG_UNDECIDED_MS);
	assert_int_equal(f.c.cluster.n_assumed, 0);
}

/* The next scheduling cycle tries the same nodes again. */
static void the_gang_does_not_wait_for_itself(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	size_t first[2], again[2];

	(void)state;
	fixture_init(&f);
	try_placement(&f, 0, 0, first);
	for (unsigned i = 0; i < 3; i++)
		try_placement(&f, 0, 10, again);
	assert_int_equal(count_free(&f, 10), 2);
	/* in another order */
	assert_int_not_equal(ask(&f.c, f.pods[1], 0, 2, 20), NONE);
	assert_int_not_equal(ask(&f.c, f.pods[0], 0, 2, 20), NONE);
	bind(&f, 0, again[0], 30);
	bind(&f, 1, again[1], 30);
	assert_int_equal(count_free(&f, 30), 2);
}

/* What was assumed since the pod's previous request may be in the placement that is being asked about. */
static void pods_of_one_placement_count_for_each_other(void **state)
{
	CLEANUP(fixture_release) struct fixture f;

	(void)state;
	fixture_init(&f);
	assert_int_equal(ask(&f.c, f.pods[0], 0, 1, 0), 0);
	assert_int_equal(ask(&f.c, f.pods[1], 0, 1, 0), NONE);
	/* another cycle: pod 1 is asked about elsewhere, pod 0 on its node again, where pod 1 then has no place */
	assert_int_equal(ask(&f.c, f.pods[1], 1, 1, 10), 1);
	assert_int_equal(ask(&f.c, f.pods[0], 1, 1, 10), NONE);
	assert_int_equal(ask(&f.c, f.pods[0], 0, 1, 10), 0);
	assert_int_equal(ask(&f.c, f.pods[1], 0, 1, 10), NONE);
}

static void update(struct fixture *f, const char *text, uint64_t now_ms)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct err err = {""};

	if (json_parse(text, strlen(text), &object, &err) < 0 ||
		cluster_update(&f->c.cluster, OBJECT_POD, &object, now_ms, &err) < 0)
		fail_msg("%s", err.text);
}

static void a_nominated_node_lasts(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	CLEANUP(freep) char *old = NULL, *new = NULL;
	size_t nodes[2];
	static const char form[] =
		"{\"metadata\": {\"name\": \"p0\", \"namespace\": \"default\", \"uid\": \"p0\", \"resourceVersion\": \"%u\"},"
		" \"spec\": {\"schedulingGroup\": {\"podGroupName\": \"ring\"}, \"containers\": []},"
		" \"status\": {\"phase\": \"Pending\", \"nominatedNodeName\": \"node-%zu\"}}";

	(void)state;
	fixture_init(&f);
	f.pods[0]->version = 7;
	try_placement(&f, 0, 0, nodes);
	old = xasprintf(form, 7u, nodes[0]);
	new = xasprintf(form, 8u, nodes[0]);
	update(&f, old, 1);
	cluster_expire(&f.c.cluster, GANG_UNDECIDED_MS);
	assert_int_equal(f.c.cluster.n_assumed, 0);
	try_placement(&f, 0, 5000, nodes);
	update(&f, new, 5001);
	cluster_expire(&f.c.cluster, 5000 + GANG_UNDECIDED_MS);
	assert_int_equal(f.c.cluster.n_assumed, 1);
	assert_int_equal(count_free(&f, 5000 + GANG_UNDECIDED_MS), 3);
	cluster_expire(&f.c.cluster, 65000);
	assert_int_equal(f.c.cluster.n_assumed, 0);
}

static void an_end_or_another_node_frees_every_placement(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	size_t nodes[2];

	(void)state;
	fixture_init(&f);
	try_placement(&f, 0, 0, nodes);
	try_placement(&f, 2, 0, nodes);
	f.pods[1]->node = nodes[1];
	extender_cluster_report_deleted(&f.c, f.pods[1], 0);
	assert_int_equal(f.c.cluster.n_assumed, 2);
	assert_int_equal(count_free(&f, 0), 2);
	bind(&f, 0, 5 - nodes[0], 0); /* the other node of the last placement */
	assert_int_equal(f.c.cluster.n_assumed, 0);
	assert_int_equal(count_free(&f, 0), 3);
}

static void a_pod_without_a_gang_has_one_assumption(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	pod = extender_cluster_pod(&c, POD);
	assert_int_equal(ask(&c, pod, 0, 1, 0), 0);
	assert_int_equal(ask(&c, pod, 1, 1, 0), 1);
	assert_int_equal(c.cluster.n_assumed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_placement_counts_until_one_is_chosen),
		cmocka_unit_test(a_gang_without_a_placement_holds_nothing),
		cmocka_unit_test(a_binding_renews_the_time),
		cmocka_unit_test(the_gang_does_not_wait_for_itself),
		cmocka_unit_test(pods_of_one_placement_count_for_each_other),
		cmocka_unit_test(a_nominated_node_lasts),
		cmocka_unit_test(an_end_or_another_node_frees_every_placement),
		cmocka_unit_test(a_pod_without_a_gang_has_one_assumption),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
