/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that the extender counts each pod that a kubelet rejects once, by node and reason. */
#include "tests/lib/test.h"

#include "cluster/extender/metrics.h"
#include "cluster/model/rejected_pods.h"
#include "common/cleanup.h"
#include "tests/lib/extender_cluster.h"

static void reasons_have_a_bounded_number_of_names(void **state)
{
	static const struct {
		const char *reason, *name;
	} cases[] = {
		{"TopologyAffinityError", "TopologyAffinityError"},
		{"SMTAlignmentError", "SMTAlignmentError"},
		{"OutOfcpu", "OutOfcpu"},
		{"OutOfnvidia.com/gpu", "OutOfExtendedResources"},
		{"OutOfhugepages-2Mi", "OutOfExtendedResources"},
		{"UnexpectedPredicateFailureType", "UnexpectedPredicateFailureType"},
		{"other", "other"},
		{"Other", "other"},
		{"", "other"},
		{"x\"} 1\n", "other"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(rejection_reasons[rejection_reason_find(cases[i].reason)], cases[i].name);
	for (size_t i = 0; i < REJECTION_REASONS; i++)
		assert_int_equal(rejection_reason_find(rejection_reasons[i]), i);
}

/* The samples of the metric, without its name: "{node=...} N" in one line each. */
static void samples(const struct extender_cluster *c, struct strbuf *ret)
{
	static const struct process_stats process;
	static const struct request_counts requests;
	static const uint64_t skipped[CLUSTER_KINDS];
	static const char name[] = "\nnrtd_extender_rejected_pods_total{";
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(65536);

	metrics_print(&(struct metrics_source){.process = &process,
			      .requests = &requests,
			      .cluster = &c->cluster,
			      .skipped = skipped},
		&out);
	assert_int_equal(strbuf_error(&out), 0);
	strbuf_reset(ret);
	for (const char *at = out.text; (at = strstr(at, name)); at += strlen(name))
		strbuf_add(ret, at + strlen(name), strcspn(at + strlen(name), "\n") + 1);
}

static void assert_samples(const struct extender_cluster *c, const char *expected)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(65536);

	samples(c, &out);
	assert_string_equal(out.text, expected);
}

static struct cluster_pod_sim *pod_on(struct extender_cluster *c, size_t node, const char *reason)
{
	struct cluster_pod_sim *pod = extender_cluster_pod(c, "app cpu=3 memory=1Gi");

	pod->node = node;
	pod->reason = reason;
	return pod;
}

static void a_pod_counts_once(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod, *other;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	pod = pod_on(&c, 0, "TopologyAffinityError");
	other = pod_on(&c, 1, "OutOfvendor.com/nic");
	assert_samples(&c, "");
	extender_cluster_report(&c, pod, NULL, 0);
	extender_cluster_report(&c, pod, "Failed", 0);
	extender_cluster_report(&c, pod, "Failed", 0);
	assert_samples(&c, "node=\"node-0\",reason=\"TopologyAffinityError\"} 1\n");
	/* The watch broke. The list reports the pod again, and a pod that was bound and rejected meanwhile. */
	cluster_list_begin(&c.cluster, OBJECT_POD);
	extender_cluster_report(&c, pod, "Failed", 0);
	cluster_list_end(&c.cluster, OBJECT_POD, 0, 0);
	cluster_list_begin(&c.cluster, OBJECT_POD);
	extender_cluster_report(&c, pod, "Failed", 0);
	extender_cluster_report(&c, other, "Failed", 0);
	cluster_list_end(&c.cluster, OBJECT_POD, 0, 0);
	extender_cluster_report(&c, other, "Failed", 0);
	assert_samples(&c, "node=\"node-0\",reason=\"TopologyAffinityError\"} 1\n"
			   "node=\"node-1\",reason=\"OutOfExtendedResources\"} 1\n");
	/* A second pod, and one that ended after it had run. */
	other = pod_on(&c, 0, "TopologyAffinityError");
	extender_cluster_report(&c, other, NULL, 0);
	extender_cluster_report(&c, other, "Failed", 0);
	other = pod_on(&c, 0, "TopologyAffinityError");
	extender_cluster_report(&c, other, "Running", 0);
	extender_cluster_report(&c, other, "Succeeded", 0);
	assert_samples(&c, "node=\"node-0\",reason=\"TopologyAffinityError\"} 2\n"
			   "node=\"node-1\",reason=\"OutOfExtendedResources\"} 1\n");
}

/* Otherwise each restart of the extender would count them again. */
static void pods_of_the_first_list_do_not_count(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *before, *bound;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	before = pod_on(&c, 0, "OutOfcpu");
	bound = pod_on(&c, 0, "OutOfpods");
	for (unsigned i = 0; i < 2;
		i++) { /* the first attempt to list fails, and meanwhile a pod is rejected */
		cluster_list_begin(&c.cluster, OBJECT_POD);
		extender_cluster_report(&c, before, "Failed", 0);
		extender_cluster_report(&c, bound, i == 0 ? NULL : "Failed", 0);
	}
	cluster_list_end(&c.cluster, OBJECT_POD, 0, 0);
	assert_samples(&c, "node=\"node-0\",reason=\"OutOfpods\"} 1\n");
	extender_cluster_report(&c, before, "Failed", 0);
	assert_samples(&c, "node=\"node-0\",reason=\"OutOfpods\"} 1\n");
}

/* Users can create pods with any spec.nodeName, and nodes come and go. */
static void only_nodes_of_the_cluster_have_series(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct cluster_pod_sim *pod;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	pod = pod_on(&c, 0, "OutOfcpu");
	extender_cluster_report(&c, pod, NULL, 0);
	extender_cluster_report(&c, pod, "Failed", 0);
	assert_samples(&c, "node=\"node-0\",reason=\"OutOfcpu\"} 1\n");
	extender_cluster_nrt(&c, 0, &object);
	cluster_delete(&c.cluster, OBJECT_NRT, &object, 0);
	doc_release(&object);
	extender_cluster_node(&c, 0, &object);
	cluster_delete(&c.cluster, OBJECT_NODE, &object, 0);
	assert_samples(&c, "");
	pod = pod_on(&c, 0, "OutOfcpu");
	extender_cluster_report(&c, pod, NULL, 0);
	extender_cluster_report(&c, pod_on(&c, 0, "OutOfcpu"), NULL, 0);
	extender_cluster_report(&c, pod, "Failed", 0);
	assert_samples(&c, "");
}

static void the_memory_of_rejected_pods_is_bounded(void **state)
{
	CLEANUP(rejected_pods_release) struct rejected_pods r = {.listed = true};
	char uid[16];

	(void)state;
	for (unsigned i = 0; i < REJECTED_PODS_MAX; i++) {
		snprintf(uid, sizeof(uid), "u%u", i);
		assert_true(rejected_pods_add(&r, uid, false));
	}
	assert_false(rejected_pods_add(&r, "new", false));
	assert_true(rejected_pods_add(&r, "new", true));
	assert_false(rejected_pods_add(&r, "u7", true));
	assert_int_equal(r.uids.by_uid.n, REJECTED_PODS_MAX);
	rejected_pods_remove(&r, "u7");
	assert_true(rejected_pods_add(&r, "new", false));
	rejected_pods_list_begin(&r);
	assert_false(rejected_pods_add(&r, "u8", false));
	rejected_pods_list_end(&r);
	assert_int_equal(r.uids.by_uid.n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reasons_have_a_bounded_number_of_names),
		cmocka_unit_test(a_pod_counts_once),
		cmocka_unit_test(pods_of_the_first_list_do_not_count),
		cmocka_unit_test(only_nodes_of_the_cluster_have_series),
		cmocka_unit_test(the_memory_of_rejected_pods_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
