/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the extender's answers with simulated kubelets. Pods reach the kubelets in another order than they were assumed, pods
 * end, and objects are published late. The extender must assume no pod on a node that rejects it, and must not exclude a node
 * that would admit it.
 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "common/io/time.h"
#include "tests/lib/extender_cluster.h"

#define N_STEPS 150
#define N_CASES 25
#define GIB     ((uint64_t)1 << 30)

static unsigned draw(struct extender_cluster *c, unsigned n)
{
	return (unsigned)(test_random(&c->seed) % n);
}

/* ---- random pods and nodes */

static const char *const texts[] = {
	"app cpu=2 memory=1Gi",
	"app cpu=5 memory=2Gi",
	"app cpu=9 memory=1Gi",
	"app cpu=12 memory=3Gi",
	"app cpu=1 memory=1Gi; app cpu=3 memory=1Gi",
	"init cpu=6; app cpu=2 memory=1Gi",
	"app cpu=2 memory=6Gi vendor.com/nic=1",
	"app cpu=4 memory=1Gi vendor.com/nic=2",
	"app cpu=500m memory=5Gi",
	"app cpu=4",
};

/* Each node has a random machine. */
static const struct synthetic machines[] = {
	{.sockets = 2, .numas = 2, .uncores = 1, .cores = 4, .threads = 2, .memory_bytes = 16 * GIB},
	{.sockets = 2, .numas = 1, .uncores = 2, .cores = 8, .threads = 1, .memory_bytes = 32 * GIB},
	{.sockets = 2, .numas = 4, .uncores = 1, .cores = 2, .threads = 2, .memory_bytes = 8 * GIB},
};

#define STEP_MS 400u
#define LATE_MS 1000u /* an end is reported within this time */

static bool published[CLUSTER_PODS]; /* since they began */
static uint64_t now_ms;
static uint64_t ended_ms
	[CLUSTER_PODS]; /* when the end of a pod will be reported; 0 = it has not ended, or is reported */

static void publish(struct extender_cluster *c, size_t node)
{
	extender_cluster_publish(c, node, now_ms);
	for (size_t i = 0; i < c->n_pods; i++)
		published[i] = published[i] || (c->pods[i].node == node && c->pods[i].begun);
}

/* A node with in-flight pods, or with an end that is not reported yet, may be excluded although its kubelet would admit the pod now. */
static bool has_in_flight_pods(const struct extender_cluster *c, size_t node)
{
	for (size_t i = 0; i < c->n_pods; i++)
		if (c->pods[i].node == node &&
			(c->pods[i].ended ? ended_ms[i] > 0 : !(c->pods[i].runs && published[i])))
			return true;
	return false;
}

static const char *const controllers[] = {NULL, "c1", "c2"};

static void assume_pod(struct extender_cluster *c, size_t step)
{
	struct cluster_pod_sim *pod = extender_cluster_pod(c, texts[draw(c, ARRAY_SIZE(texts))]);
	unsigned passing;

	pod->controller = controllers[draw(c, ARRAY_SIZE(controllers))];
	passing = extender_cluster_ask(c, &answer_best, pod, now_ms);
	pod->node = (size_t)__builtin_ctz(passing | 1u << CLUSTER_NODES);
	if (__builtin_popcount(passing) == 1)
		return;
	c->n_pods--;
	/* Several nodes pass if no kubelet's managers assign anything to the pod. */
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		if (!(passing >> i & 1) && !has_in_flight_pods(c, i) && c->reservations[i].n_items == 0 &&
			extender_cluster_admits(c, i, pod->text))
			fail_msg("step %zu: %s is excluded from %s", step, pod->text, c->names[i]);
}

/* Pods reach their kubelets in any order, after they are bound: the cache learns of the binding before it learns of later ends. */
static void begin_pod(struct extender_cluster *c, struct cluster_pod_sim *pod, size_t step)
{
	if (!pod->reported)
		extender_cluster_report(c, pod, NULL, now_ms);
	if (!pod->begun && !extender_cluster_begin(c, pod, pod->node))
		fail_msg("step %zu: %s rejects %s", step, c->names[pod->node], pod->text);
}

static void end_pod(struct extender_cluster *c)
{
	struct cluster_pod_sim *pod = c->n_pods > 0 ? &c->pods[draw(c, (unsigned)c->n_pods)] : NULL;
	struct allocations *a = pod ? &c->sims[pod->node].state.allocations : NULL;

	if (!pod || pod->ended || !pod->reported || !pod->begun)
		return;
	for (size_t i = 0; i < a->n_items; i++)
		if (!strcmp(a->items[i].pod_uid, pod->name)) {
			node_sim_end(&c->sims[pod->node], i);
			break;
		}
	pod->ended = true;
	ended_ms[pod - c->pods] = now_ms + draw(c, LATE_MS + 1);
}

static void report_ends(struct extender_cluster *c)
{
	for (size_t i = 0; i < c->n_pods; i++) {
		struct cluster_pod_sim *pod = &c->pods[i];

		if (ended_ms[i] == 0 || ended_ms[i] > now_ms)
			continue;
		ended_ms[i] = 0;
		if (draw(c, 2))
			extender_cluster_report(c, pod, "Succeeded", now_ms);
		extender_cluster_report_deleted(c, pod, now_ms);
	}
}

/* Pods are reported in any order; an object is published now and then. */
static void step(struct extender_cluster *c, size_t i)
{
	struct cluster_pod_sim *pod = c->n_pods > 0 ? &c->pods[draw(c, (unsigned)c->n_pods)] : NULL;

	now_ms += STEP_MS;
	report_ends(c);
	switch (draw(c, 8)) {
	case 0:
		publish(c, draw(c, CLUSTER_NODES));
		break;
	case 1:
		end_pod(c);
		break;
	case 2:
		if (pod && !pod->ended)
			extender_cluster_report(c, pod, pod->begun && draw(c, 2) ? "Running" : NULL, now_ms);
		break;
	case 3:
	case 4:
		if (pod && !pod->ended)
			begin_pod(c, pod, i);
		break;
	default:
		assume_pod(c, i);
	}
}

/* Reservations come and go, for pods to come, for controllers, for equal requests, or for nobody yet. */
static void reserve(struct extender_cluster *c)
{
	char id[8], uid[16] = "", none[] = "", namespace[] = "default", first[] = "c1", second[] = "c2";
	const char *text = texts[draw(c, ARRAY_SIZE(texts))];
	const struct cluster_pod_sim pod = {.name = "reserved", .text = text};
	struct reservation r = {.id = id,
		.namespace = namespace,
		.pod = none,
		.uid = uid,
		.controller = none,
		.closed = draw(c, 4) == 0,
		.step = draw(c, 4),
		.created_s = clock_ms(CLOCK_REALTIME) / 1000};

	r.expires_s = r.created_s + 600;
	snprintf(id, sizeof(id), "r%u", draw(c, 5));
	switch (draw(c, 4)) {
	case 0:
		snprintf(uid, sizeof(uid), "p%zu", c->n_pods + draw(c, 2));
		break;
	case 1:
		r.controller = first;
		break;
	case 2:
		r.controller = second;
		break;
	}
	extender_cluster_reserve(c, draw(c, CLUSTER_NODES), &r, draw(c, 3) ? &pod : NULL);
}

static void simulate(bool reservations)
{
	uint64_t seed = test_seed(1);

	for (size_t n = 0; n < N_CASES; n++) {
		CLEANUP(extender_cluster_release) struct extender_cluster c;
		struct node_sim_setup setups[CLUSTER_NODES];

		extender_cluster_draw(setups, machines, ARRAY_SIZE(machines), &seed);
		extender_cluster_init(&c, setups, seed);
		memset(published, 0, sizeof(published));
		memset(ended_ms, 0, sizeof(ended_ms));
		now_ms = 0;
		for (size_t i = 0; i < CLUSTER_NODES; i++) {
			extender_cluster_report_node(&c, i);
			extender_cluster_publish(&c, i, 0);
		}
		for (size_t i = 0; i < N_STEPS; i++) {
			if (reservations && draw(&c, 6) == 0)
				reserve(&c);
			step(&c, i);
		}
		assert_true(c.n_pods > 10);
	}
}

static void no_pod_is_assumed_where_it_is_rejected(void **state)
{
	(void)state;
	simulate(false);
}

static void reservations_do_not_change_that(void **state)
{
	(void)state;
	simulate(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_pod_is_assumed_where_it_is_rejected),
		cmocka_unit_test(reservations_do_not_change_that),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
