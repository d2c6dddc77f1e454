/* SPDX-License-Identifier: Apache-2.0 */
/* fit and why answer as the extender does, whatever pods and reservations the nodes have. */
#include "cli/report/pod_report.h"
#include "common/cleanup.h"
#include "common/io/time.h"
#include "tests/lib/extender_cluster.h"
#include "tests/lib/pods.h"
#include "tests/lib/test.h"

#define N_CASES 600
#define N_PODS  12 /* that run already */

static const struct synthetic machines[] = {
	{.sockets = 2,
		.numas = 2,
		.uncores = 1,
		.cores = 4,
		.threads = 2,
		.memory_bytes = (uint64_t)16 << 30},
	{.sockets = 2,
		.numas = 1,
		.uncores = 2,
		.cores = 8,
		.threads = 1,
		.memory_bytes = (uint64_t)32 << 30},
	{.sockets = 2, .numas = 4, .uncores = 1, .cores = 2, .threads = 2, .memory_bytes = (uint64_t)8 << 30},
};

static const char *const texts[] = {"app cpu=1 memory=64Mi", "app cpu=2 memory=64Mi", "app cpu=4 memory=64Mi",
	"app cpu=6 memory=64Mi", "app cpu=2 memory=64Mi; app cpu=3 memory=64Mi",
	"init cpu=4 memory=64Mi; app cpu=2 memory=64Mi"};

static unsigned draw(struct extender_cluster *c, unsigned n)
{
	return (unsigned)(test_random(&c->seed) % n);
}

static const char *draw_text(struct extender_cluster *c)
{
	return texts[draw(c, ARRAY_SIZE(texts))];
}

/* For pods to come, for pods that run, for controllers, or for equal requests. */
static void reserve(struct extender_cluster *c, unsigned i, int64_t now_s)
{
	char id[8], uid[16] = "", none[] = "", namespace[] = "default", name[] = "web", controller[] = "c1";
	const struct cluster_pod_sim pod = {.name = "reserved", .text = draw_text(c)};
	struct reservation r = {.id = id,
		.namespace = namespace,
		.pod = name,
		.uid = uid,
		.controller = draw(c, 3) == 0 ? controller : none,
		.closed = draw(c, 4) == 0,
		.step = draw(c, 3),
		.created_s = now_s + draw(c, 2)};

	r.expires_s = r.created_s + 600;
	snprintf(id, sizeof(id), "r%u", i);
	if (draw(c, 3) == 0)
		snprintf(uid, sizeof(uid), "p%u", draw(c, N_PODS + 4));
	extender_cluster_reserve(c, draw(c, CLUSTER_NODES), &r, &pod);
}

/* A third of the pods is bound and has not reached its kubelet. `objects` gets the Nodes and Pods. */
static void begin(struct extender_cluster *c, struct cluster *objects)
{
	int64_t now_s = clock_ms(CLOCK_REALTIME) / 1000;
	struct err err = {""};

	cluster_list_begin(objects, OBJECT_POD);
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		extender_cluster_report_node(c, i);
	for (unsigned i = 0; i < 6; i++)
		reserve(c, i, now_s);
	for (size_t i = 0; i < CLUSTER_NODES; i++) {
		CLEANUP(doc_release) struct doc object;

		extender_cluster_node(c, i, &object);
		assert_int_equal(cluster_update(objects, OBJECT_NODE, &object, 0, &err), 0);
	}
	for (unsigned i = 0; i < N_PODS; i++) {
		struct cluster_pod_sim *pod = extender_cluster_pod(c, draw_text(c));
		CLEANUP(doc_release) struct doc object = DOC_INIT;
		const char *phase = NULL;

		pod->controller = draw(c, 2) ? "c1" : NULL;
		pod->created_s = now_s - 1 + draw(c, 3);
		if (draw(c, 3) == 0)
			pod->node = draw(c, CLUSTER_NODES);
		else if (extender_cluster_begin(c, pod, draw(c, CLUSTER_NODES)))
			phase = "Running";
		else
			continue;
		extender_cluster_report(c, pod, phase, 0);
		extender_cluster_pod_object(c, pod, phase, &object);
		assert_int_equal(cluster_update(objects, OBJECT_POD, &object, 0, &err), 0);
	}
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		extender_cluster_publish(c, i, 0);
	cluster_list_end(objects, OBJECT_POD, 0, 0);
}

/* How many reservations have the pod that they are for. */
static size_t count_used(const struct extender_cluster *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->cluster.n_nodes; i++)
		for (size_t k = 0; c->cluster.nodes[i] && k < c->cluster.nodes[i]->n_reservations; k++)
			n += c->cluster.nodes[i]->reservations[k].user != NULL;
	return n;
}

/* The nodes whose kubelets admit the pod according to fit, one bit per node. Counts those with reservations. */
static unsigned fit(const struct extender_cluster *c, struct cluster *objects,
	const struct cluster_pod_sim *sim, size_t *ret_reserved)
{
	CLEANUP(pod_request_release) struct pod_request pod;
	CLEANUP(pod_report_release) struct pod_report report;
	CLEANUP(doc_release) struct doc owner = DOC_INIT;
	const struct pod_template template = {.namespace = "default", .owner = &owner};
	unsigned bits = 0;

	pod_from_text(&pod, sim->text);
	pod_report_init(&report, &pod);
	extender_cluster_pod_object(c, sim, NULL, &owner);
	pod_report_set_cluster(&report, objects, &template, NULL);
	for (size_t i = 0; i < CLUSTER_NODES; i++) {
		CLEANUP(doc_release) struct doc object;
		CLEANUP(cluster_node_release) struct cluster_node read = {.basis = CLUSTER_UNKNOWN};
		struct node_info *node;
		const struct node_report *n;
		struct err err = {""};

		extender_cluster_nrt(c, i, &object);
		if (cluster_node_read(&object, &read, &err) < 0)
			fail_msg("%s", err.text);
		node = cluster_set_object(objects, &read, 0);
		n = pod_report_add(&report, node, REPORT_PLACEMENTS | REPORT_COPIES);
		bits |= n->answer == KUBELET_ADMITS ? 1u << i : 0;
		*ret_reserved += n->n_reserved > 0 && n->answer != KUBELET_ADMITS;
		pod_report_drop_node(&report, node);
	}
	return bits;
}

/* An extender that starts on these objects answers in one way, whichever list arrives first, and as fit does. One pod per cluster: a
 * request that suspends reservations may change the order in which the extender places their pods. */
static void fit_and_an_extender_that_starts_agree(void **state)
{
	uint64_t seed = test_seed(1);
	size_t admitted = 0, reserved = 0, used = 0;

	(void)state;
	for (size_t n = 0; n < N_CASES; n++) {
		CLEANUP(cluster_release) struct cluster objects = {.n_nodes = 0};
		CLEANUP(extender_cluster_release) struct extender_cluster c;
		struct node_sim_setup setups[CLUSTER_NODES];
		struct cluster_pod_sim *pod;
		unsigned got;

		extender_cluster_draw(setups, machines, ARRAY_SIZE(machines), &seed);
		extender_cluster_init(&c, setups, seed);
		begin(&c, &objects);
		pod = extender_cluster_pod(&c, draw_text(&c));
		pod->controller = draw(&c, 2) ? "c1" : NULL;
		got = fit(&c, &objects, pod, &reserved);
		for (unsigned order = 0; order < CLUSTER_ORDERS; order++) {
			unsigned want;

			extender_cluster_restart(&c, order);
			used += order == 0 ? count_used(&c) : 0;
			want = extender_cluster_ask(&c, &answer_all, pod, 0);
			if (got != want)
				fail_msg("case %zu (%s): fit %x, extender %x, order %u", n, pod->text, got,
					want, order);
		}
		admitted += (size_t)__builtin_popcount(got);
	}
	assert_true(admitted > N_CASES / 2 && reserved > N_CASES / 4 && used > N_CASES / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fit_and_an_extender_that_starts_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
