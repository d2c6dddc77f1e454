/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests which pods the amounts of other exporters' objects count: by times, by the pods' fingerprint, and in an extender that is restarted at
 * any moment. The objects have the members that nfd-topology-updater 0.19 and resource-topology-exporter 0.25 write.
 */
#include "tests/lib/test.h"

#include "cluster/model/project_node.h"
#include "common/cleanup.h"
#include "common/io/time.h"
#include "common/io/yaml.h"
#include "tests/lib/pods.h"

#define NODE_CPUS 16u
#define EPOCH_S   1767225600 /* 2026-01-01T00:00:00Z */
#define TEXT_MAX  (1u << 14)

enum exporter { NFD, RTE, KOORDLET, EXPORTER_COUNT };

static const char *const exporter_names[EXPORTER_COUNT] = {"NFD", "RTE", "koordlet"};

/* ---- objects; all times are seconds since EPOCH_S, and 0 = not set */

static void add_time(struct strbuf *text, const char *name, unsigned at)
{
	char time[TIMESTAMP_MICRO_MAX];

	if (at == 0)
		return;
	timestamp_print_micro(((int64_t)EPOCH_S + at) * 1000000, time);
	strbuf_addf(text, ", %s: '%s'", name, time);
}

struct object_times {
	unsigned created, written, labeled; /* `labeled`: a user's write */
};

static void add_fields(
	struct strbuf *text, const char *manager, const char *operation, const char *fields, unsigned at)
{
	strbuf_addf(text,
		"{manager: %s, operation: %s, apiVersion: topology.node.k8s.io/v1alpha2, fieldsType: FieldsV1, fieldsV1: {%s}",
		manager, operation, fields);
	add_time(text, "time", at);
	strbuf_addstr(text, "}, ");
}

static void add_metadata(struct strbuf *text, enum exporter exporter, const struct object_times *times)
{
	strbuf_addstr(text, "kind: NodeResourceTopology, metadata: {name: node");
	add_time(text, "creationTimestamp", times->created);
	if (exporter == RTE)
		strbuf_addstr(text, ", annotations: {k8stopoawareschedwg/rte-update: periodic}");
	if (exporter == KOORDLET)
		strbuf_addstr(text, ", annotations: {node.koordinator.sh/cpu-topology: '{}'}");
	strbuf_addstr(text, ", managedFields: [");
	if (times->written > 0 && exporter == NFD)
		add_fields(text, "node-feature-discovery-topology-updater", "Apply",
			"'f:attributes': {}, 'f:topologyPolicies': {}, 'f:zones': {}", times->written);
	else if (times->written > 0)
		add_fields(text, "resource-topology-exporter", "Update",
			"'f:attributes': {}, 'f:metadata': {'f:annotations': {}}, 'f:zones': {}",
			times->written);
	if (times->labeled > 0)
		add_fields(text, "kubectl-label", "Update", "'f:metadata': {'f:labels': {}}", times->labeled);
	strbuf_addstr(text, "]}, ");
}

/* A node of one NUMA node. `fingerprint` NULL = none. */
static char *make_object(
	enum exporter exporter, const struct object_times *times, unsigned available, const char *fingerprint)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);

	strbuf_addch(&text, '{');
	add_metadata(&text, exporter, times);
	strbuf_addstr(&text,
		"attributes: [{name: topologyManagerPolicy, value: single-numa-node}, {name: topologyManagerScope, value: container}");
	if (fingerprint)
		strbuf_addf(&text, ", {name: " FINGERPRINT_ATTRIBUTE ", value: %s}", fingerprint);
	if (fingerprint && exporter == RTE)
		strbuf_addstr(
			&text, ", {name: " FINGERPRINT_METHOD_ATTRIBUTE ", value: with-exclusive-resources}");
	strbuf_addf(&text,
		"], zones: [{name: node-0, type: Node, costs: [{name: node-0, value: 10}], resources: [{name: cpu, "
		"capacity: %u, allocatable: %u, available: %u}]}]}",
		NODE_CPUS, NODE_CPUS, available);
	return strbuf_detach(&text);
}

struct sim_pod {
	unsigned id, cpus; /* 0 CPUs: of no exclusive resources */
	unsigned created, bound, started, ended;
};

static char *make_pod(const struct sim_pod *p, unsigned now)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	bool started = p->started > 0 && p->started <= now;

	strbuf_addf(&text, "{kind: Pod, metadata: {name: p%u, namespace: default, uid: u%u", p->id, p->id);
	add_time(&text, "creationTimestamp", p->created);
	strbuf_addstr(&text, "}, spec: {nodeName: node, containers: [{name: a");
	if (p->cpus > 0)
		strbuf_addf(&text, ", resources: {limits: {cpu: %u, memory: 1Gi}}", p->cpus);
	strbuf_addf(&text, "}]}, status: {phase: %s", started ? "Running" : "Pending");
	add_time(&text, "startTime", started ? p->started : 0);
	strbuf_addstr(&text, ", conditions: [{type: PodScheduled, status: 'True'");
	add_time(&text, "lastTransitionTime", p->bound);
	strbuf_addstr(&text, "}]}}");
	return strbuf_detach(&text);
}

/* ---- a model of the cluster */

struct model {
	struct cluster cluster;
	struct projections projections;
};

static void model_init(struct model *m)
{
	static const struct cluster_config config = {.assume_ms = 60000};

	*m = (struct model){0};
	cluster_init(&m->cluster, &config);
	m->projections.cluster = &m->cluster;
}

static void model_release(struct model *m)
{
	projections_release(&m->projections);
	cluster_release(&m->cluster);
}

static void pass(struct model *m, enum object_kind kind, char *yaml, unsigned now, bool is_deleted)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct err err = {""};

	if (yaml_parse(yaml, strlen(yaml), &object, &err) < 0)
		fail_msg("%s: %s", err.text, yaml);
	if (is_deleted)
		cluster_delete(&m->cluster, kind, &object, (uint64_t)now * 1000);
	else if (cluster_update(&m->cluster, kind, &object, (uint64_t)now * 1000, &err) < 0)
		fail_msg("%s", err.text);
	free(yaml);
}

/* Whether the node's kubelet admits a pod of n CPUs, in any order of the pods that the object does not count. */
static bool takes(struct model *m, struct projected_node *o, unsigned n)
{
	CLEANUP(pod_request_release) struct pod_request pod;
	struct pod_class *class;
	struct kubelet_verdict v;
	char text[40];
	bool admits;

	snprintf(text, sizeof(text), "app cpu=%u memory=1Gi", n);
	pod_from_text(&pod, text);
	class = pod_classes_take(&m->cluster.classes, &pod);
	kubelet_judge(&o->admission.kubelet, o->admission.ws, &class->pod, class->qos, &v);
	admits = v.answer == KUBELET_ADMITS;
	if (admits)
		assert_int_equal(in_flight_admit(&o->in_flight, class, &m->projections.work, &admits), 0);
	pod_classes_drop(&m->cluster.classes, class);
	return admits;
}

struct measured {
	unsigned free; /* CPUs */
	unsigned
		takes; /* CPUs of the largest pod that the node takes: fewer than `free` while the order of other pods is unknown */
	size_t unknown; /* pods of which nothing says whether the object counts them */
};

static struct measured measure(struct model *m)
{
	struct measured measured = {.takes = NODE_CPUS};
	const struct inventory *inv;
	struct projected_node *o;

	projections_forget(&m->projections, 0);
	o = project_node(&m->projections, cluster_find_node(&m->cluster, "node"));
	assert_non_null(o);
	inv = &o->node.inventory;
	measured.free =
		(unsigned)(inventory_amount(inv, 0, (size_t)inventory_resource(inv, "cpu"))->available /
			   QTY_UNIT);
	measured.unknown = o->n_unknown;
	while (measured.takes > 0 && !takes(m, o, measured.takes))
		measured.takes--;
	return measured;
}

/* ---- one pod and one object */

/* A pod of 4 CPUs, created at second 1000, bound at 1001, started at 1002, and an object with 16 available CPUs: the pod counts in addition
 * unless the object is known to count it. */
static void times_decide_whether_an_object_counts_a_pod(void **state)
{
	static const struct {
		const char *what;
		struct object_times object;
		struct sim_pod pod;
		unsigned free;
		size_t unknown;
	} cases[] = {
		{"written long before the pod", {1, 500, 0}, {1, 4, 1000, 1001, 1002, 0}, 12, 0},
		{"a label is no write of the zones", {1, 500, 2000}, {1, 4, 1000, 1001, 1002, 0}, 12, 0},
		{"perhaps during the admission", {1, 1003, 0}, {1, 4, 1000, 1001, 1002, 0}, 12, 0},
		{"written long after the pod's start", {1, 1010, 0}, {1, 4, 1000, 1001, 1002, 0}, 16, 0},
		{"not admitted yet", {1, 1010, 0}, {1, 4, 1000, 1001, 0, 0}, 12, 0},
		{"the node's clock is behind: created", {1, 1003, 0}, {1, 4, 1000, 0, 900, 0}, 12, 0},
		{"the node's clock is behind: bound", {1, 1003, 0}, {1, 4, 100, 1001, 900, 0}, 12, 0},
		{"no time of the last write", {1, 0, 0}, {1, 4, 1000, 1001, 1002, 0}, 12, 1},
		{"no time of the last write, but created later", {1010, 0, 0}, {1, 4, 1000, 1001, 1002, 0},
			16, 0},
		{"no time at all", {0, 0, 0}, {1, 4, 0, 0, 1, 0}, 12, 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (enum exporter e = NFD; e <= RTE; e++) {
			CLEANUP(model_release) struct model m;
			struct measured got;

			model_init(&m);
			pass(&m, OBJECT_NRT, make_object(e, &cases[i].object, 16, NULL), 0, false);
			pass(&m, OBJECT_POD, make_pod(&cases[i].pod, UINT32_MAX), 0, false);
			got = measure(&m);
			if (got.free != cases[i].free || got.takes != got.free ||
				got.unknown != cases[i].unknown)
				fail_msg("%s, %s: %u free CPUs, takes %u, %zu unknown", cases[i].what,
					exporter_names[e], got.free, got.takes, got.unknown);
		}
}

/* koordlet's zones have the amounts of an empty node. */
static void static_zones_count_no_pod(void **state)
{
	static const struct object_times times = {.created = 1, .written = 5000};
	static const struct sim_pod pod = {1, 4, 1000, 1001, 1002, 0};
	CLEANUP(model_release) struct model m;

	(void)state;
	model_init(&m);
	pass(&m, OBJECT_POD, make_pod(&pod, UINT32_MAX), 0, false);
	pass(&m, OBJECT_NRT, make_object(KOORDLET, &times, 16, NULL), 0, false);
	assert_int_equal(measure(&m).free, 12);
	pass(&m, OBJECT_NRT, make_object(KOORDLET, &times, 15, NULL), 100, false);
	assert_int_equal(measure(&m).free, 11);
}

/* The pods default/p1 and default/p2, of which p2 holds nothing exclusively. */
static void a_fingerprint_decides_without_times(void **state)
{
	static const struct {
		const char *what;
		enum exporter exporter;
		const char *pods; /* "12": of p1 and p2 */
		unsigned written, free;
	} cases[] = {
		{"of all pods", NFD, "12", 0, 16},
		{"of the pods with exclusive CPUs", RTE, "1", 0, 16},
		{"without the second pod", NFD, "1", 0, 12},
		{"without any pod", RTE, "", 0, 12},
		{"with a pod that has ended", NFD, "123", 0, 12},
		{"the times contradict", NFD, "12", 500, 12},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		static const struct sim_pod p1 = {1, 4, 1000, 1001, 1002, 0},
					    p2 = {2, 0, 1000, 1001, 1002, 0};
		const struct object_times times = {.created = 1, .written = cases[i].written};
		char names[3][4] = {"p1", "p2", "p3"}, namespace[] = "default", fingerprint[FINGERPRINT_SIZE];
		struct pod_ref pods[3];
		CLEANUP(model_release) struct model m;

		for (size_t k = 0; k < strlen(cases[i].pods); k++)
			pods[k] = (struct pod_ref){namespace, names[k], false};
		fingerprint_pods(pods, strlen(cases[i].pods), FINGERPRINT_ALL, fingerprint);
		model_init(&m);
		pass(&m, OBJECT_POD, make_pod(&p1, UINT32_MAX), 0, false);
		pass(&m, OBJECT_POD, make_pod(&p2, UINT32_MAX), 0, false);
		pass(&m, OBJECT_NRT, make_object(cases[i].exporter, &times, 16, fingerprint), 0, false);
		if (measure(&m).free != cases[i].free)
			fail_msg("%s: %u free CPUs", cases[i].what, measure(&m).free);
	}
}

/*
 * The object has 3 available CPUs and is older than a pod of 4 CPUs that the kubelet has admitted: a pod that the object counts has ended, and what
 * is free is unknown until the exporter writes. A pod that the kubelet has not admitted proves nothing: any user may bind a pod to the node.
 */
static void an_object_without_room_for_running_pods_is_outdated(void **state)
{
	static const struct object_times before = {1, 500, 0}, after = {1, 2000, 0};
	struct sim_pod pod = {1, 4, 1000, 1001, 0, 0};
	CLEANUP(model_release) struct model m;

	(void)state;
	model_init(&m);
	pass(&m, OBJECT_NRT, make_object(RTE, &before, 3, NULL), 0, false);
	pass(&m, OBJECT_POD, make_pod(&pod, UINT32_MAX), 0, false);
	assert_int_equal(measure(&m).takes, 3);
	pod.started = 1002;
	pass(&m, OBJECT_POD, make_pod(&pod, UINT32_MAX), 1, false);
	assert_int_equal(measure(&m).takes, 0);
	pass(&m, OBJECT_NRT, make_object(RTE, &after, 5, NULL), 2, false);
	assert_int_equal(measure(&m).takes, 5);
}

/* ---- restarts at random moments */

#define SIM_PODS    40u
#define SIM_SECONDS 400u

/* A node on which pods start and end, and its exporter. */
struct sim {
	enum exporter exporter;
	bool has_times; /* the API server's objects, else as `kubectl get` prints them */
	struct sim_pod pods[SIM_PODS];
	unsigned n_pods;
	struct object_times times;
	unsigned available; /* in the object */
	char fingerprint[FINGERPRINT_SIZE];
	unsigned scan_at, write_at; /* the exporter's next; 0 = none */
	unsigned scanned;           /* available CPUs at the last scan */
	char scanned_fingerprint[FINGERPRINT_SIZE];
};

static bool is_bound(const struct sim_pod *p, unsigned now)
{
	return p->bound <= now && (p->ended == 0 || p->ended > now);
}

static bool has_started(const struct sim_pod *p, unsigned now)
{
	return is_bound(p, now) && p->started <= now;
}

/* What is free for another pod: all CPUs without those of the bound pods. */
static unsigned really_free(const struct sim *s, unsigned now)
{
	unsigned n = NODE_CPUS;

	for (size_t i = 0; i < s->n_pods; i++)
		n -= is_bound(&s->pods[i], now) ? s->pods[i].cpus : 0;
	return n;
}

static void scan(struct sim *s, unsigned now)
{
	char names[SIM_PODS][12], namespace[] = "default";
	struct pod_ref pods[SIM_PODS];
	size_t n = 0;

	s->scanned = NODE_CPUS;
	for (size_t i = 0; i < s->n_pods; i++) {
		if (!has_started(&s->pods[i], now))
			continue;
		s->scanned -= s->pods[i].cpus;
		snprintf(names[n], sizeof(names[n]), "p%u", s->pods[i].id);
		pods[n] = (struct pod_ref){namespace, names[n], true};
		n++;
	}
	fingerprint_pods(pods, n, FINGERPRINT_ALL, s->scanned_fingerprint);
}

static char *sim_object(const struct sim *s)
{
	struct object_times times = s->times;

	if (!s->has_times)
		times.written = 0;
	return make_object(s->exporter, &times, s->available, s->fingerprint);
}

/*
 * Binds a pod, as a scheduler that asks the extender whose model is `m`. Every eighth pod is of another scheduler, which knows what is really
 * free, and starts at once.
 */
static void bind_pod(struct sim *s, unsigned now, uint64_t *seed, struct model *m)
{
	bool is_foreign = test_random(seed) % 8 == 0;
	struct sim_pod p = {.id = s->n_pods,
		.cpus = 1 + (unsigned)(test_random(seed) % 4),
		.created = now > 50 ? now - (unsigned)(test_random(seed) % 50) : now,
		.bound = now};

	p.started = now + (is_foreign ? 0 : 1 + (unsigned)(test_random(seed) % 3));
	if (p.cpus > (is_foreign ? really_free(s, now) : measure(m).takes))
		return;
	s->pods[s->n_pods++] = p;
	pass(m, OBJECT_POD, make_pod(&p, now), now, false);
}

/* A second on the node. What changes is passed to `m`. */
static void sim_step(struct sim *s, unsigned now, uint64_t *seed, struct model *m)
{
	if (now % 60 == 0 || s->scan_at == now) {
		scan(s, now);
		s->write_at = now + (unsigned)(test_random(seed) % 4); /* the API server is slow */
	}
	if (s->write_at == now) {
		s->available = s->scanned;
		s->times.written = now;
		memcpy(s->fingerprint, s->scanned_fingerprint, sizeof(s->fingerprint));
		pass(m, OBJECT_NRT, sim_object(s), now, false);
	}
	for (size_t i = 0; i < s->n_pods; i++) {
		struct sim_pod *p = &s->pods[i];

		if (p->started == now)
			pass(m, OBJECT_POD, make_pod(p, now), now, false);
		if (p->started == now && test_random(seed) % 2)
			s->scan_at = now + 1; /* by inotify */
		if (has_started(p, now) && now > p->started + 30 && test_random(seed) % 60 == 0) {
			p->ended = now;
			pass(m, OBJECT_POD, make_pod(p, now), now, true);
		}
	}
	if (s->n_pods < SIM_PODS && test_random(seed) % 16 == 0)
		bind_pod(s, now, seed, m);
}

/* What an extender that is started now lists. */
static void sim_list(const struct sim *s, unsigned now, bool pods_first, struct model *ret)
{
	model_init(ret);
	for (unsigned i = 0; i < 2; i++)
		if ((i == 0) == pods_first) {
			cluster_list_begin(&ret->cluster, OBJECT_POD);
			for (size_t k = 0; k < s->n_pods; k++)
				if (is_bound(&s->pods[k], now))
					pass(ret, OBJECT_POD, make_pod(&s->pods[k], now), now, false);
			cluster_list_end(&ret->cluster, OBJECT_POD, 0, (uint64_t)now * 1000);
		} else {
			pass(ret, OBJECT_NRT, sim_object(s), now, false);
		}
}

/*
 * At each second an extender that starts now and one that has followed the node from the beginning have the same free CPUs, and take no pod that
 * the node has no room for. Without times it may be unknown which pods an object counts; they hold their CPUs in addition then.
 */
static void a_restarted_extender_answers_as_one_that_was_not(void **state)
{
	uint64_t seed = test_seed(52);
	size_t n_exact[2] = {0}, n_less[2] = {0}; /* without times, with times */

	(void)state;
	for (unsigned run = 0; run < 12; run++) {
		struct sim s = {
			.exporter = run % 2 ? RTE : NFD, .has_times = run % 4 < 2, .times.created = 1};
		CLEANUP(model_release) struct model m;

		model_init(&m);
		scan(&s, 1);
		s.write_at = 2;
		for (unsigned now = 2; now < SIM_SECONDS; now++) {
			CLEANUP(model_release) struct model m2;
			struct measured followed, restarted;
			unsigned really;

			sim_step(&s, now, &seed, &m);
			followed = measure(&m);
			sim_list(&s, now, now % 2, &m2);
			restarted = measure(&m2);
			really = really_free(&s, now);
			if (followed.takes > really || restarted.takes > really ||
				(s.has_times && restarted.free != followed.free))
				fail_msg(
					"run %u, second %u: of %u free CPUs %u and takes %u, restarted %u and takes %u",
					run, now, really, followed.free, followed.takes, restarted.free,
					restarted.takes);
			n_exact[s.has_times] += restarted.takes == really;
			n_less[s.has_times] += restarted.takes < really;
		}
	}
	for (size_t i = 0; i < 2; i++)
		print_message("%s times: takes all that is free at %zu seconds, less at %zu\n",
			i ? "with" : "without", n_exact[i], n_less[i]);
	assert_true(n_exact[0] > 0 &&
		    n_exact[1] * 10 > n_less[1]); /* exporters write only every minute that a pod has ended */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_decide_whether_an_object_counts_a_pod),
		cmocka_unit_test(static_zones_count_no_pod),
		cmocka_unit_test(a_fingerprint_decides_without_times),
		cmocka_unit_test(an_object_without_room_for_running_pods_is_outdated),
		cmocka_unit_test(a_restarted_extender_answers_as_one_that_was_not),
	};

	return cmocka_run_group_tests_name("zones_count", tests, NULL, NULL);
}
