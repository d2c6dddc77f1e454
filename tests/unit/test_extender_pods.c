/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests that fields of a Pod, which users can write, do not free resources: what a node's object reports as held stays held
 * until the object changes, or until the pod with that UID ends.
 */
#include <errno.h>

#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "common/io/time.h"
#include "common/io/yaml.h"
#include "common/text.h"
#include "tests/lib/extender_cluster.h"

#define NODES ((1u << CLUSTER_NODES) - 1)

static void parse(const char *yaml, struct doc *ret)
{
	struct err err = {""};

	*ret = (struct doc)DOC_INIT;
	if (yaml_parse(yaml, strlen(yaml), ret, &err) < 0)
		fail_msg("%s", err.text);
}

static void report(struct extender_cluster *c, enum object_kind kind, const char *yaml, uint64_t now_ms)
{
	CLEANUP(doc_release) struct doc object;
	struct err err = {""};

	parse(yaml, &object);
	if (cluster_update(&c->cluster, kind, &object, now_ms, &err) < 0)
		fail_msg("%s", err.text);
}

static void report_deleted(
	struct extender_cluster *c, enum object_kind kind, const char *yaml, uint64_t now_ms)
{
	CLEANUP(doc_release) struct doc object;

	parse(yaml, &object);
	cluster_delete(&c->cluster, kind, &object, now_ms);
}

/* The nodes that admit the pod, one bit per node. The pod is not assumed. */
static unsigned takes(struct extender_cluster *c, const char *text)
{
	return extender_cluster_ask(c, &answer_all, extender_cluster_pod(c, text), 0);
}

/* Runs a pod on node-0, whose object reports the pod. */
static struct cluster_pod_sim *run_pod(struct extender_cluster *c, const char *text)
{
	struct cluster_pod_sim *pod = extender_cluster_pod(c, text);

	assert_true(extender_cluster_begin(c, pod, 0));
	extender_cluster_report(c, pod, "Running", 0);
	extender_cluster_publish(c, 0, 0);
	return pod;
}

/* ---- mirror pods */

#define FAKE_MIRROR                                                                  \
	"{metadata: {name: evil, namespace: evil, uid: e1,"                          \
	" annotations: {kubernetes.io/config.mirror: p0}}, spec: {nodeName: node-0," \
	" containers: [{name: a, resources: {limits: {cpu: 2, memory: 1Gi}}}]}}"

/* Any user can create a pod with another pod's UID in the mirror annotation, although no such static pod runs. */
static void a_mirror_pod_neither_frees_nor_holds_resources(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	run_pod(&c, "app cpu=8 memory=1Gi");
	assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES & ~1u);
	report(&c, OBJECT_POD, FAKE_MIRROR, 0);
	assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES & ~1u);
	assert_int_equal(takes(&c, "app cpu=7 memory=1Gi"), NODES);
	report_deleted(&c, OBJECT_POD, FAKE_MIRROR, 0);
	assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES & ~1u);
	assert_int_equal(takes(&c, "app cpu=7 memory=1Gi"), NODES);
}

/* The scheduler gives a request up after its time-out and sends another. The first request must not move the pod, which may be bound. */
static void a_request_that_was_given_up_moves_no_pod(void **state)
{
	static const struct verb_config best = {.strategy = STRATEGY_LEAST_NUMA_NODES};
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod;
	const struct node_info *node;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	pod = extender_cluster_pod(&c, "app cpu=8 memory=1Gi");
	pod->arrival = 2;
	assert_int_not_equal(extender_cluster_ask(&c, &best, pod, 0), 0);
	node = cluster_find_pod(&c.cluster, pod->name)->node;
	pod->arrival = 1;
	assert_int_equal(extender_cluster_ask(&c, &best, pod, 0), 0);
	assert_ptr_equal(cluster_find_pod(&c.cluster, pod->name)->node, node);
	pod->arrival = 3;
	assert_int_not_equal(extender_cluster_ask(&c, &best, pod, 0), 0);
}

/* ---- names with the same hash */

#define POD_OF(namespace, name, uid)                                                 \
	"{metadata: {name: " name                                                    \
	", namespace: " namespace ", uid: " uid "},"                                 \
				  " spec: {nodeName: node-0, containers: [{name: a," \
				  " resources: {limits: {cpu: 8, memory: 1Gi}}}]}, status: {phase: Running}}"

/* A pod default/p917170 of 8 CPUs runs on node-0, whose object reports it without a UID. */
static void run_without_uid(struct extender_cluster *c)
{
	struct allocation *item;

	assert_true(extender_cluster_begin(c, extender_cluster_pod(c, "app cpu=8 memory=1Gi"), 0));
	item = &c->sims[0].state.allocations.items[0];
	text_set(&item->pod_uid, "");
	text_set(&item->namespace, "default");
	text_set(&item->pod, "p917170");
	extender_cluster_publish(c, 0, 0);
}

/* An item without a UID identifies its pod by a 36-bit hash of the pod's name, and users choose names. */
static void an_item_without_a_uid_is_freed_only_by_its_pod(void **state)
{
	static const char owner[] = POD_OF("default", "p917170", "u1"),
			  other[] = POD_OF("evil", "x1042", "u2");
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	char one[POD_NAMES_HASH_SIZE], two[POD_NAMES_HASH_SIZE];

	(void)state;
	pod_names_hash_pod("default", "p917170", one);
	pod_names_hash_pod("evil", "x1042", two);
	assert_string_equal(one, two);
	extender_cluster_init_alike(&c, &node_sim_nics);
	run_without_uid(&c);
	report(&c, OBJECT_POD, owner, 0);
	assert_int_equal(takes(&c, "app cpu=7 memory=1Gi"), NODES);
	/* The pod with the equal hash counts additionally, and its end frees only its own resources. */
	report(&c, OBJECT_POD, other, 0);
	assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES & ~1u);
	report_deleted(&c, OBJECT_POD, other, 0);
	assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES & ~1u);
	report_deleted(&c, OBJECT_POD, owner, 0);
	assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES);
}

/* `kubectl delete --force` removes the Pod while the kubelet still stops its containers. */
static void a_pod_deleted_by_force_holds_until_the_object_changes(void **state)
{
	static const char pod[] = POD_OF("default", "p917170", "u1"),
			  stopped[] =
				  "{metadata: {name: p917170, namespace: default, uid: u1}, status: {phase: "
				  "Running, containerStatuses: [{state: {terminated: {exitCode: 0}}}]}}",
			  unstopped[] =
				  "{metadata: {name: p917170, namespace: default, uid: u1}, status: {phase: "
				  "Running, containerStatuses: [{state: {running: {}}}]}}";

	(void)state;
	for (unsigned forced = 0; forced < 2; forced++) {
		CLEANUP(extender_cluster_release) struct extender_cluster c;

		extender_cluster_init_alike(&c, &node_sim_nics);
		run_without_uid(&c);
		report(&c, OBJECT_POD, pod, 0);
		report_deleted(&c, OBJECT_POD, forced ? unstopped : stopped, 0);
		assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), forced ? NODES & ~1u : NODES);
		node_sim_end(&c.sims[0], 0);
		extender_cluster_publish(&c, 0, 0);
		assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES);
	}
}

/* ---- partially reported pods */

/* Moves the item's three CPUs to the second NUMA node, as if an ended pod had held the first NUMA node. */
static void move_cpus(struct extender_cluster *c, size_t item)
{
	struct allocations *a = &c->sims[0].state.allocations;

	hwloc_bitmap_or(a->shared, a->shared, a->items[item].cpus);
	hwloc_bitmap_zero(a->items[item].cpus);
	hwloc_bitmap_set_range(a->items[item].cpus, 8, 10);
	hwloc_bitmap_andnot(a->shared, a->shared, a->items[item].cpus);
}

/* vendor.com/eni is in the Node's status, but no device plugin has registered it. */
static void a_resource_without_a_plugin_frees_nothing(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	pod = run_pod(&c, "app cpu=3 memory=1Gi");
	pod->text = "app cpu=3 memory=1Gi vendor.com/eni=1";
	move_cpus(&c, 0);
	extender_cluster_publish(&c, 0, 0);
	extender_cluster_report(&c, pod, "Running", 0);
	assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES & ~1u);
	assert_int_equal(takes(&c, "app cpu=7 memory=1Gi"), NODES);
}

/* The pod's device is on the second NUMA node, the only one with 8 CPUs. */
static void pod_level_resources_with_a_device_free_nothing(void **state)
{
	static const char pod_level[] =
		"{metadata: {name: p1, namespace: default, uid: p1}, spec: {nodeName: node-0,"
		" resources: {limits: {cpu: 8, memory: 1Gi}}, containers: [{name: a,"
		" resources: {limits: {cpu: 8, memory: 1Gi, vendor.com/nic: 1}}}]}, status: {phase: Running}}";
	static const char both[] = "app cpu=8 memory=1Gi vendor.com/nic=2";
	CLEANUP(extender_cluster_release) struct extender_cluster c;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	assert_true(extender_cluster_begin(&c, extender_cluster_pod(&c, "app vendor.com/nic=2"), 0));
	assert_true(extender_cluster_begin(&c, extender_cluster_pod(&c, "app vendor.com/nic=1"), 0));
	node_sim_end(&c.sims[0], 0);
	extender_cluster_publish(&c, 0, 0);
	assert_int_equal(takes(&c, both), NODES & ~1u);
	report(&c, OBJECT_POD, pod_level, 0);
	assert_int_equal(takes(&c, both), NODES & ~1u);
	assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES);
}

#define RESIZED(status)                                                                \
	"{metadata: {name: p0, namespace: default, uid: p0}, spec: {nodeName: node-0," \
	" containers: [{name: app, resources: {limits: {cpu: 8, memory: 1Gi}}}]}," status "}"

/* While a resize is pending, the spec requests 8 CPUs and the pod holds 7. */
static void a_pending_resize_neither_frees_nor_holds_resources(void **state)
{
	static const char *const statuses[] = {
		"status: {phase: Running, startTime: 2026-01-01T00:00:00Z,"
		" conditions: [{type: PodResizePending, status: \"True\", reason: Infeasible}],"
		" containerStatuses: [{name: app, allocatedResources: {cpu: 7, memory: 1Gi},"
		" resources: {requests: {cpu: 7, memory: 1Gi}, limits: {cpu: 7, memory: 1Gi}}}]}",
		"status: {phase: Running, startTime: 2026-01-01T00:00:00Z,"
		" conditions: [{type: PodResizePending, status: \"True\", reason: Deferred}],"
		" containerStatuses: [{name: app,"
		" resources: {requests: {cpu: 7, memory: 1Gi}, limits: {cpu: 7, memory: 1Gi}}}]}"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		CLEANUP(extender_cluster_release) struct extender_cluster c;
		char text[1024];

		extender_cluster_init_alike(&c, &node_sim_nics);
		run_pod(&c, "app cpu=7 memory=1Gi");
		assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES);
		/* Without a resize condition the pod holds 7 CPUs, and the eighth CPU is reserved for it. */
		report(&c, OBJECT_POD, RESIZED("status: {phase: Running, startTime: 2026-01-01T00:00:00Z}"),
			0);
		assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES & ~1u);
		snprintf(text, sizeof(text), RESIZED("%s"), statuses[i]);
		report(&c, OBJECT_POD, text, 0);
		assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES);
		assert_int_equal(takes(&c, "app cpu=9 memory=1Gi"), NODES & ~1u);
	}
}

#define OF_CPUS(cpus, status)                                                          \
	"{metadata: {name: p0, namespace: default, uid: p0}, spec: {nodeName: node-0," \
	" containers: [{name: app, resources: {limits: {cpu: " cpus ", memory: 1Gi}}}]}," status "}"

/* A user makes a bound pod smaller while its kubelet may have taken the previous size already. */
static void a_pod_counts_in_full_until_its_kubelet_reports_the_smaller_size(void **state)
{
#define RUNS "status: {phase: Running, startTime: 2026-01-01T00:00:00Z"
	static const struct {
		const char *pod;
		unsigned takes;
	} steps[] = {
		{OF_CPUS("8", "status: {phase: Pending}"), NODES & ~1u},
		{OF_CPUS("1", "status: {phase: Pending}"), NODES & ~1u},
		{OF_CPUS("1", RUNS "}"), NODES & ~1u},
		{OF_CPUS("1", RUNS
			 ", containerStatuses: [{name: app, allocatedResources: {cpu: 8, memory: 1Gi}}]}"),
			NODES & ~1u},
		{OF_CPUS("1", RUNS
			 ", containerStatuses: [{name: app, allocatedResources: {cpu: 1, memory: 1Gi}}]}"),
			NODES},
	};
	CLEANUP(extender_cluster_release) struct extender_cluster c;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		report(&c, OBJECT_POD, steps[i].pod, 0);
		if (takes(&c, "app cpu=8 memory=1Gi") != steps[i].takes)
			fail_msg("step %zu", i);
	}
}

/* The object reports CPUs where the pod would not be placed now, because another pod has ended, and no device yet. */
static void the_reported_part_stays_held_and_the_rest_is_added(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod;
	struct allocation *item;
	size_t n_devices;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	pod = extender_cluster_pod(&c, "app cpu=3 memory=1Gi vendor.com/nic=1");
	assert_true(extender_cluster_begin(&c, pod, 0));
	extender_cluster_report(&c, pod, NULL, 0);
	move_cpus(&c, 0);
	item = &c.sims[0].state.allocations.items[0];
	n_devices = item->n_devices;
	item->n_devices = 0;
	extender_cluster_publish(&c, 0, 0);
	/* The pod holds CPUs 8 to 10, no CPU of the first NUMA node, and one of four devices. */
	assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES & ~1u);
	assert_int_equal(takes(&c, "app cpu=7 memory=1Gi"), NODES);
	assert_int_equal(takes(&c, "app vendor.com/nic=3"), NODES);
	assert_int_equal(takes(&c, "app vendor.com/nic=4"), NODES & ~1u);
	/* The pod runs, and the object changes later: the pod holds only what the object reports. */
	extender_cluster_report(&c, pod, "Running", 1000);
	assert_int_equal(takes(&c, "app vendor.com/nic=4"), NODES & ~1u);
	assert_true(hwloc_bitmap_isset(c.sims[0].state.allocations.shared, 11));
	hwloc_bitmap_clr(c.sims[0].state.allocations.shared, 11); /* so that the object changes */
	extender_cluster_publish(&c, 0, 5000);
	assert_int_equal(takes(&c, "app vendor.com/nic=4"), NODES);
	item->n_devices = n_devices;
}

/* The kubelet gives an init container's device to the first container, and has not assigned the second one's yet. */
static void a_device_of_two_containers_counts_once(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct allocations *a = &c.sims[0].state.allocations;
	struct cluster_pod_sim *pod;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	pod = extender_cluster_pod(&c, "app vendor.com/nic=1; app vendor.com/nic=1");
	assert_true(extender_cluster_begin(&c, pod, 0));
	extender_cluster_report(&c, pod, NULL, 0);
	assert_int_equal(a->n_items, 2);
	strv_release(&a->items[1].devices[0].ids);
	strv_push_new(&a->items[1].devices[0].ids, a->items[0].devices[0].ids.items[0]);
	extender_cluster_publish(&c, 0, 0);
	assert_int_equal(takes(&c, "app vendor.com/nic=2"), NODES);
	assert_int_equal(takes(&c, "app vendor.com/nic=3"), NODES & ~1u);
}

/* ---- pods rejected by a kubelet */

#define FAILED(reason)                                                                 \
	"{metadata: {name: p0, namespace: default, uid: p0}, spec: {nodeName: node-0," \
	" containers: [{name: app, resources: {limits: {cpu: 3, memory: 1Gi}}}]},"     \
	" status: {phase: Failed, reason: " reason "}}"

static void only_rejections_by_managers_block_a_node(void **state)
{
	static const struct {
		bool assumed;
		const char *failed;
		bool blocks;
	} cases[] = {
		{true, FAILED("TopologyAffinityError"), true},
		{true, FAILED("SMTAlignmentError"), true},
		{true, FAILED("UnexpectedAdmissionError"), true},
		{true, FAILED("NodeAffinity"), false},
		{true, FAILED("DeadlineExceeded"), false},
		{true, FAILED("Evicted"), false},
		{true, FAILED("OutOfpods"), false},
		{true, FAILED("OutOfcpu"), false},
		/* Bound by another scheduler or a user. */
		{false, FAILED("TopologyAffinityError"), false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(extender_cluster_release) struct extender_cluster c;
		struct cluster_pod_sim *pod;

		extender_cluster_init_alike(&c, &node_sim_nics);
		pod = extender_cluster_pod(&c, "app cpu=3 memory=1Gi");
		if (cases[i].assumed)
			assert_int_equal(extender_cluster_ask(&c, &answer_best, pod, 0), 1);
		extender_cluster_report(&c, pod, NULL, 0);
		report(&c, OBJECT_POD, cases[i].failed, 0);
		if (takes(&c, "app cpu=3 memory=1Gi") != (cases[i].blocks ? NODES & ~1u : NODES))
			fail_msg("case %zu", i);
		/* The next object contains the state that the kubelet had. */
		assert_true(extender_cluster_begin(&c, extender_cluster_pod(&c, "app cpu=1 memory=1Gi"), 0));
		extender_cluster_publish(&c, 0, 10);
		assert_int_equal(takes(&c, "app cpu=3 memory=1Gi"), NODES);
	}
}

/* Deleting the node frees its rejection. */
static void a_node_with_a_rejection_can_be_deleted(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	pod = extender_cluster_pod(&c, "app cpu=3 memory=1Gi");
	assert_int_equal(extender_cluster_ask(&c, &answer_best, pod, 0), 1);
	extender_cluster_report(&c, pod, NULL, 0);
	report(&c, OBJECT_POD, FAILED("TopologyAffinityError"), 0);
	report_deleted(&c, OBJECT_NRT, "{metadata: {name: node-0}}", 0);
	assert_null(cluster_find_node(&c.cluster, "node-0"));
}

/* ---- assumed pods */

#define WAITING_AT(uid, version)                                                                        \
	"{metadata: {name: " uid ", namespace: default, uid: " uid ", resourceVersion: '" version "'}," \
	" spec: {containers: [{name: app, resources: {limits: {cpu: 8, memory: 1Gi}}}]}}"

/* Whether the extender assumes the pod, with this resourceVersion in the request. */
static bool is_assumed(struct extender_cluster *c, struct cluster_pod_sim *pod, uint64_t version)
{
	size_t before = c->cluster.n_assumed;

	pod->version = version;
	assert_int_not_equal(extender_cluster_ask(c, &answer_best, pod, 0), 0);
	return c->cluster.n_assumed > before;
}

static void a_deleted_pod_is_not_assumed(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pods[4];

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
		pods[i] = extender_cluster_pod(&c, "app cpu=2 memory=1Gi");
	cluster_list_begin(&c.cluster, OBJECT_POD);
	report(&c, OBJECT_POD, WAITING_AT("p0", "4"), 0);
	/* The list under way may still contain p3. */
	assert_true(is_assumed(&c, pods[3], 5));
	cluster_list_end(&c.cluster, OBJECT_POD, 7, 0);
	assert_int_equal(c.cluster.n_assumed, 0);
	/* p1 was deleted before the list. */
	assert_false(is_assumed(&c, pods[1], 6));
	/* p0 is in the list, p1 is newer than the list, p2 has no resourceVersion. */
	assert_true(is_assumed(&c, pods[0], 4));
	assert_true(is_assumed(&c, pods[1], 8));
	assert_true(is_assumed(&c, pods[2], 0));
	/* The extender's watch is ahead of the scheduler's. */
	report_deleted(&c, OBJECT_POD, WAITING_AT("p0", "9"), 0);
	assert_int_equal(c.cluster.n_assumed, 2);
	assert_false(is_assumed(&c, pods[0], 4));
	report(&c, OBJECT_POD, WAITING_AT("p3", "11"), 0);
	assert_true(is_assumed(&c, pods[3], 10));
	assert_int_equal(c.cluster.n_assumed, 3);
	/* A second list without p2 and p3. */
	cluster_list_begin(&c.cluster, OBJECT_POD);
	report(&c, OBJECT_POD, WAITING_AT("p1", "8"), 0);
	cluster_list_end(&c.cluster, OBJECT_POD, 20, 0);
	assert_int_equal(c.cluster.n_assumed, 1);
	assert_false(is_assumed(&c, pods[3], 11));
}

/* The node ends with its last pod, which the pod's next request removes. */
static void a_node_with_an_assumed_pod_can_be_deleted(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	pod = extender_cluster_pod(&c, "app cpu=3 memory=1Gi");
	assert_int_equal(extender_cluster_ask(&c, &answer_best, pod, 0), 1);
	report_deleted(&c, OBJECT_NRT, "{metadata: {name: node-0}}", 0);
	assert_non_null(cluster_find_node(&c.cluster, "node-0"));
	assert_int_equal(extender_cluster_ask(&c, &answer_best, pod, 0), 2);
	assert_null(cluster_find_node(&c.cluster, "node-0"));
}

/* After a Pod that cannot be read, no pod is known to be deleted: the unreadable Pod may be the pod of the request. */
static void a_skipped_pod_may_be_any_pod(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	pod = extender_cluster_pod(&c, "app cpu=8 memory=1Gi");
	cluster_list_begin(&c.cluster, OBJECT_POD);
	cluster_skip(&c.cluster, OBJECT_POD);
	cluster_list_end(&c.cluster, OBJECT_POD, 7, 0);
	assert_true(is_assumed(&c, pod, 6));
	cluster_forget_pod(&c.cluster, pod->name);
	cluster_list_begin(&c.cluster, OBJECT_POD);
	cluster_list_end(&c.cluster, OBJECT_POD, 8, 0);
	assert_false(is_assumed(&c, pod, 6));
	cluster_skip(&c.cluster, OBJECT_NODE);
	assert_false(is_assumed(&c, pod, 6));
	cluster_skip(&c.cluster, OBJECT_POD);
	assert_true(is_assumed(&c, pod, 6));
}

/* Users can create Pods that cannot be read. Deleted pods are recognized all the same. */
static void an_unreadable_pod_is_no_other_pod(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(doc_release) struct doc object;
	struct err err = {""};
	struct cluster_pod_sim *pod;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	pod = extender_cluster_pod(&c, "app cpu=8 memory=1Gi");
	cluster_list_begin(&c.cluster, OBJECT_POD);
	cluster_list_end(&c.cluster, OBJECT_POD, 7, 0);
	parse("{metadata: {name: odd, uid: odd, resourceVersion: '9'}, spec: {nodeName: node-a,"
	      " containers: [{name: app, resources: {limits: {cpu: many}}}]}}",
		&object);
	assert_int_equal(cluster_update(&c.cluster, OBJECT_POD, &object, 0, &err), -EINVAL);
	assert_false(is_assumed(&c, pod, 8));
	assert_true(is_assumed(&c, pod, 10));
}

#define WAITING(uid)                                                    \
	"{metadata: {name: " uid ", namespace: default, uid: " uid "}," \
	" spec: {containers: [{name: app, resources: {limits: {cpu: 8, memory: 1Gi}}}]}}"

static void a_list_without_the_pod_forgets_it(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	for (unsigned i = 0; i < 2; i++)
		extender_cluster_ask(&c, &answer_best, extender_cluster_pod(&c, "app cpu=8 memory=1Gi"), 0);
	cluster_list_begin(&c.cluster, OBJECT_POD);
	report(&c, OBJECT_POD, WAITING("p1"), 0);
	/* p2 was created after the list was taken. */
	extender_cluster_ask(&c, &answer_best, extender_cluster_pod(&c, "app cpu=8 memory=1Gi"), 0);
	assert_int_equal(c.cluster.n_assumed, 3);
	cluster_list_end(&c.cluster, OBJECT_POD, 0, 0);
	assert_int_equal(c.cluster.n_assumed, 2);
}

static void a_namespace_has_a_limit_of_assumed_pods(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod = NULL;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	c.cluster.config.namespace_assumed_max = 2;
	for (unsigned i = 0; i < 2; i++) {
		pod = extender_cluster_pod(&c, "app cpu=1 memory=1Gi");
		assert_int_not_equal(extender_cluster_ask(&c, &answer_best, pod, 0), 0);
	}
	assert_int_equal(
		extender_cluster_ask(&c, &answer_best, extender_cluster_pod(&c, "app cpu=1 memory=1Gi"), 0),
		0);
	/* An assumed pod may be requested again; a bound pod does not count. */
	assert_int_not_equal(extender_cluster_ask(&c, &answer_best, pod, 0), 0);
	extender_cluster_report(&c, pod, NULL, 0);
	assert_int_not_equal(
		extender_cluster_ask(&c, &answer_best, extender_cluster_pod(&c, "app cpu=1 memory=1Gi"), 0),
		0);
	cluster_expire(&c.cluster, 60000);
	assert_int_equal(c.cluster.n_assumed, 0);
	assert_int_equal(c.cluster.namespaces.by_name.n, 0);
}

/* kube-scheduler waits up to ten minutes for volumes. */
static void a_pod_stays_assumed_while_volumes_are_bound(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	struct verb_answer a = {0};

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	extender_cluster_args(&c, extender_cluster_pod(&c, "app cpu=8 memory=1Gi"), &args);
	args.pod.has_volumes = true;
	extender_filter(&c.verdicts, &answer_best, &args, 0, &a);
	verb_answer_release(&a, &c.cluster);
	cluster_expire(&c.cluster, 600000);
	assert_int_equal(c.cluster.n_assumed, 1);
	cluster_expire(&c.cluster, ASSUME_VOLUMES_MS);
	assert_int_equal(c.cluster.n_assumed, 0);
}

/* Devices without NUMA affinity: no kubelet aligns the pod, but the only passing node will hold devices for it. */
static void the_pod_is_assumed_on_the_only_passing_node(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct node_sim_setup setups[CLUSTER_NODES] = {
		node_sim_nics, node_sim_nics, node_sim_nics, node_sim_nics};
	size_t passing = 0;

	(void)state;
	setups[0].near = 0;
	extender_cluster_init(&c, setups, 1);
	extender_cluster_publish(&c, 0, 0);
	for (size_t i = 0; i < 2; i++) {
		CLEANUP(extender_cluster_args_release) struct extender_args args;
		struct verb_answer a = {0};

		extender_cluster_args(&c, extender_cluster_pod(&c, "app cpu=1 vendor.com/nic=3"), &args);
		args.pod.template.pod.qos = QOS_BURSTABLE;
		args.n_names = 1;
		extender_filter(&c.verdicts, &answer_best, &args, 0, &a);
		passing += a.counts.n_passing;
		verb_answer_release(&a, &c.cluster);
	}
	assert_int_equal(passing, 1);
	assert_int_equal(c.cluster.n_assumed, 1);
}

/* ---- ended pods */

/* The API server reports the end of a pod before an object, made from older checkpoints, reports the pod. */
static void a_pod_that_ends_before_it_is_reported_holds_nothing(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	pod = extender_cluster_pod(&c, "app cpu=8 memory=1Gi");
	assert_int_equal(extender_cluster_ask(&c, &answer_best, pod, 0), 1);
	assert_true(extender_cluster_begin(&c, pod, 0));
	extender_cluster_report(&c, pod, "Running", 0);
	extender_cluster_report(&c, pod, "Succeeded", 0);
	assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES);
	extender_cluster_publish(&c, 0, 10);
	assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES);
	/* The first object without the pod lets the cache forget the ended pod. */
	assert_int_equal(cluster_find_node(&c.cluster, "node-0")->n_ended, 1);
	node_sim_end(&c.sims[0], 0);
	extender_cluster_publish(&c, 0, 20);
	assert_int_equal(cluster_find_node(&c.cluster, "node-0")->n_ended, 0);
	assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES);
}

/* A user can bind and delete any number of pods. */
static void ended_pods_are_remembered_up_to_a_limit(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	for (unsigned i = 0; i < ENDED_PODS_MAX + 10; i++) {
		char text[512];

		snprintf(text, sizeof(text),
			"{metadata: {name: x, namespace: evil, uid: e%u}, spec: {nodeName: node-0, containers:"
			" [{name: a, resources: {limits: {cpu: 1, memory: 1Gi}}}]}}",
			i);
		report(&c, OBJECT_POD, text, 0);
		report_deleted(&c, OBJECT_POD, text, 0);
	}
	assert_int_equal(cluster_find_node(&c.cluster, "node-0")->n_ended, ENDED_PODS_MAX);
	assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES);
}

/* ---- pods bound by a user */

#define BOUND(i, cpus)                                                                      \
	"{metadata: {name: x" i ", namespace: evil, uid: e" i "}, spec: {nodeName: node-0," \
	" containers: [{name: a, resources: {limits: {cpu: " cpus ", memory: 1Gi}}}]}}"

/* The kubelet will reject all of these pods in any order. */
static void pods_larger_than_their_node_block_no_other_pod(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	const struct node_info *node;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	report(&c, OBJECT_POD, BOUND("1", "100"), 0);
	report(&c, OBJECT_POD, BOUND("2", "200"), 0);
	report(&c, OBJECT_POD, BOUND("3", "300"), 0);
	assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES);
	/* The rejections are cached until something may become free. */
	node = cluster_find_node(&c.cluster, "node-0");
	for (size_t i = 0; i < 3; i++) {
		assert_true(node->pods[i]->rejected_version >= node->freed_version);
		assert_true(node->pods[i]->rejected_alone_version >= node->freed_version);
	}
	/* A pod that fits may reach the kubelet before or after another pod that fits. */
	report(&c, OBJECT_POD, BOUND("4", "8"), 0);
	assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES & ~1u);
	assert_int_equal(takes(&c, "app cpu=7 memory=1Gi"), NODES);
	report_deleted(&c, OBJECT_POD, BOUND("4", "8"), 0);
	assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES);
}

static char *large_pod(size_t n)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT((size_t)1 << 20);

	strbuf_addstr(&text,
		"{metadata: {name: large, namespace: evil, uid: large}, spec: {nodeName: node-0, containers: [");
	for (size_t i = 0; i < n; i++)
		strbuf_addf(
			&text, "%s{name: c%zu, resources: {limits: {cpu: 1, memory: 1Mi}}}", i ? "," : "", i);
	strbuf_addstr(&text, "]}}");
	return strbuf_detach(&text);
}

/* No verdict is computed for the pod, and while in flight it blocks no other pod. */
static void a_pod_too_large_to_be_judged_blocks_no_other_pod(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(freep) char *large = large_pod(1000);
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	CLEANUP(doc_release) struct doc object;
	struct verb_answer a = {0};

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	report(&c, OBJECT_POD, large, 0);
	assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES);
	extender_cluster_args(&c, extender_cluster_pod(&c, "app cpu=1 memory=1Gi"), &args);
	parse(large, &object);
	pod_template_release(&args.pod.template);
	assert_int_equal(pod_template_from_pod(&object, &args.pod.template, NULL), 0);
	extender_filter(&c.verdicts, &answer_all, &args, 0, &a);
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		test_assert_text("reason", a.failures[i].reason,
			"the pod has too many containers and resources to be judged");
	verb_answer_release(&a, &c.cluster);
	report_deleted(&c, OBJECT_POD, large, 0);
}

/* A pod rejected behind other pods is judged again after one of them ends. */
static void a_rejected_pod_is_judged_again_when_something_is_free(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	pod = run_pod(&c, "app cpu=8 memory=1Gi");
	report(&c, OBJECT_POD, BOUND("1", "8"), 0);
	assert_int_equal(takes(&c, "app cpu=7 memory=1Gi"), NODES);
	extender_cluster_report_deleted(&c, pod, 0);
	/* The pod e1 now gets the NUMA node with 8 CPUs. */
	assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES & ~1u);
	assert_int_equal(takes(&c, "app cpu=7 memory=1Gi"), NODES);
}

/* ---- objects of other exporters */

#define ZONES(available, label, time)                                                                \
	"{metadata: {name: node-9, labels: {a: " label "}, managedFields: [" time "]},"              \
	" attributes: [{name: topologyManagerPolicy, value: restricted},"                            \
	" {name: topologyManagerScope, value: container}, {name: cpuManagerPolicy, value: static}]," \
	" zones: [{name: node-0, type: Node, costs: [{name: node-0, value: 10}], resources:"         \
	" [{name: cpu, capacity: 8, allocatable: 8, available: " available "},"                      \
	" {name: memory, capacity: 16Gi, allocatable: 16Gi, available: 16Gi}]}]}"
#define WRITTEN(manager, time, fields) \
	"{manager: " manager ", time: \"2026-01-01T" time "Z\", fieldsV1: {" fields ": {}}}"
#define BY_EXPORTER(time) WRITTEN("nfd", time, "\"f:zones\"")
#define BY_USER(time)     WRITTEN("kubectl-label", time, "\"f:metadata\"")
#define POD_ON_NODE_9(name, cpus, status)                                                                \
	"{metadata: {name: " name ", namespace: default, uid: " name "}, spec: {nodeName: node-9,"       \
	" containers: [{name: a, resources: {limits: {cpu: " cpus ", memory: 1Gi}}}]}, status: {" status \
	"}}"
#define ON_NODE_9(status) POD_ON_NODE_9("q", "5", status)
#define STARTED(time)     "phase: Running, startTime: \"2026-01-01T" time "Z\""

/* Whether node-9, with 8 CPUs and an object of another exporter, admits a pod of 5 CPUs. */
static bool node_9_takes(struct extender_cluster *c)
{
	static char name[] = "node-9";
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	struct verb_answer a = {0};
	bool yes;

	extender_cluster_args(c, extender_cluster_pod(c, "app cpu=5 memory=1Gi"), &args);
	args.names = (char *[]){name};
	args.n_names = 1;
	extender_filter(&c->verdicts, &answer_all, &args, 0, &a);
	yes = !a.failures[0].reason;
	verb_answer_release(&a, &c->cluster);
	cluster_forget_pod(&c->cluster, args.pod.uid);
	return yes;
}

/* After a list, a label change or a restart the same object does not include a pod that was bound in the meantime. */
static void an_unchanged_object_does_not_include_new_pods(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	report(&c, OBJECT_NRT, ZONES("8", "x", BY_EXPORTER("10:00:00")), 1000);
	assert_true(node_9_takes(&c));
	report(&c, OBJECT_POD, ON_NODE_9("phase: Pending"), 2000);
	assert_false(node_9_takes(&c));
	report(&c, OBJECT_POD, ON_NODE_9(STARTED("10:01:00")), 2000);
	report(&c, OBJECT_NRT, ZONES("8", "x", BY_EXPORTER("10:00:00")), 60000);
	assert_false(node_9_takes(&c));
	report(&c, OBJECT_NRT, ZONES("8", "y", BY_EXPORTER("10:00:00") "," BY_USER("10:02:00")), 61000);
	assert_false(node_9_takes(&c));
	/* The exporter has written the zones after the pod's start: the zones include the pod. */
	report(&c, OBJECT_NRT, ZONES("8", "y", BY_EXPORTER("10:01:10") "," BY_USER("10:02:00")), 62000);
	assert_true(node_9_takes(&c));
	/* The zones have changed after the binding: they include the pod. */
	report(&c, OBJECT_NRT, ZONES("3", "y", BY_EXPORTER("10:01:20")), 63000);
	assert_false(node_9_takes(&c));
}

/* When the extender starts, the object may be older than a running pod. */
static void an_object_older_than_a_running_pod_does_not_include_it(void **state)
{
	static const struct {
		const char *started;
		bool takes;
	} cases[] = {{ON_NODE_9(STARTED("10:00:01")), false}, {ON_NODE_9(STARTED("09:59:58")), false},
		{ON_NODE_9(STARTED("09:59:50")), true}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (unsigned order = 0; order < 2; order++) {
			CLEANUP(extender_cluster_release) struct extender_cluster c;

			extender_cluster_init_alike(&c, &node_sim_nics);
			if (order == 0)
				report(&c, OBJECT_POD, cases[i].started, 1);
			report(&c, OBJECT_NRT, ZONES("8", "x", BY_EXPORTER("10:00:00")), 100000);
			if (order == 1)
				report(&c, OBJECT_POD, cases[i].started, 100000);
			if (node_9_takes(&c) != cases[i].takes)
				fail_msg("case %zu, order %u", i, order);
		}
}

/*
 * The exporter has written the zones a second after two pods were bound, and writes nothing else, because nothing changes. The end of a third
 * pod, which no zone includes, must not keep other pods away for ever.
 */
static void an_end_that_changes_no_object_is_forgotten(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	report(&c, OBJECT_NRT, ZONES("7", "x", BY_EXPORTER("10:00:00")), 1000);
	report(&c, OBJECT_POD, POD_ON_NODE_9("small", "500m", STARTED("10:00:10")), 2000);
	report(&c, OBJECT_POD, POD_ON_NODE_9("a", "1", STARTED("10:01:00")), 60000);
	report(&c, OBJECT_POD, POD_ON_NODE_9("b", "1", STARTED("10:01:00")), 60000);
	report(&c, OBJECT_NRT, ZONES("8", "x", BY_EXPORTER("10:01:01")), 61000);
	assert_true(node_9_takes(&c));
	report_deleted(&c, OBJECT_POD, POD_ON_NODE_9("small", "500m", ""), 70000);
	assert_false(node_9_takes(&c));
	cluster_expire(&c.cluster, 189000);
	assert_false(node_9_takes(&c));
	cluster_expire(&c.cluster, 190000);
	assert_true(node_9_takes(&c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mirror_pod_neither_frees_nor_holds_resources),
		cmocka_unit_test(a_request_that_was_given_up_moves_no_pod),
		cmocka_unit_test(an_item_without_a_uid_is_freed_only_by_its_pod),
		cmocka_unit_test(a_pod_deleted_by_force_holds_until_the_object_changes),
		cmocka_unit_test(a_resource_without_a_plugin_frees_nothing),
		cmocka_unit_test(pod_level_resources_with_a_device_free_nothing),
		cmocka_unit_test(a_pending_resize_neither_frees_nor_holds_resources),
		cmocka_unit_test(a_pod_counts_in_full_until_its_kubelet_reports_the_smaller_size),
		cmocka_unit_test(the_reported_part_stays_held_and_the_rest_is_added),
		cmocka_unit_test(a_device_of_two_containers_counts_once),
		cmocka_unit_test(only_rejections_by_managers_block_a_node),
		cmocka_unit_test(a_node_with_a_rejection_can_be_deleted),
		cmocka_unit_test(a_deleted_pod_is_not_assumed),
		cmocka_unit_test(a_node_with_an_assumed_pod_can_be_deleted),
		cmocka_unit_test(a_skipped_pod_may_be_any_pod),
		cmocka_unit_test(an_unreadable_pod_is_no_other_pod),
		cmocka_unit_test(a_list_without_the_pod_forgets_it),
		cmocka_unit_test(a_namespace_has_a_limit_of_assumed_pods),
		cmocka_unit_test(a_pod_stays_assumed_while_volumes_are_bound),
		cmocka_unit_test(the_pod_is_assumed_on_the_only_passing_node),
		cmocka_unit_test(a_pod_that_ends_before_it_is_reported_holds_nothing),
		cmocka_unit_test(ended_pods_are_remembered_up_to_a_limit),
		cmocka_unit_test(pods_larger_than_their_node_block_no_other_pod),
		cmocka_unit_test(a_pod_too_large_to_be_judged_blocks_no_other_pod),
		cmocka_unit_test(a_rejected_pod_is_judged_again_when_something_is_free),
		cmocka_unit_test(an_unchanged_object_does_not_include_new_pods),
		cmocka_unit_test(an_object_older_than_a_running_pod_does_not_include_it),
		cmocka_unit_test(an_end_that_changes_no_object_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
