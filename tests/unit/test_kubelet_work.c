/* SPDX-License-Identifier: Apache-2.0 */
/* How much work a verdict is, in steps: it grows with the pod and the node as they do, and no further than the limit. */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "scoring/request.h"
#include "tests/lib/kubelet_fixture.h"
#include "tests/lib/pods.h"

#define GIB ((uint64_t)1 << 30)

static const char beyond[] = "the verdict takes too many steps: ";

/* 2 sockets with so many NUMA nodes of 8 cores each, and n_types types of memory, all free: beside "memory" sizes of hugepages. */
static void init(struct kubelet_fixture *f, unsigned numas, enum topology_manager_scope scope, size_t n_types)
{
	const struct synthetic machine = {.sockets = 2,
		.numas = numas,
		.uncores = 1,
		.cores = 8,
		.threads = 2,
		.memory_bytes = 64 * GIB};

	kubelet_fixture_init(f, &machine, TOPOLOGY_MANAGER_RESTRICTED);
	f->settings.topology.scope = scope;
	f->settings.topology.max_numa_nodes = 64;
	for (size_t i = 0; i < f->memory.n_nodes; i++)
		for (size_t t = 1; t < n_types; t++) {
			char type[64];

			snprintf(type, sizeof(type), "hugepages-%zuMi", 2 * t);
			kubelet_fixture_add_table(&f->memory.nodes[i], type, 64 * GIB);
		}
}

static void ask(struct container_request *c, const char *name, uint64_t amount)
{
	struct quantity q = {.nano = (qty_t)amount * QTY_UNIT};

	resource_list_append(&c->requests, name, q);
	resource_list_append(&c->limits, name, q);
}

/* n containers, each with that many sizes of hugepages, or extended resources, beside cpu and memory. */
static void make_pod(struct pod_request *pod, enum container_kind kind, size_t n, size_t n_names,
	const char *prefix, uint64_t amount)
{
	pod_request_init(pod);
	pod->qos = QOS_GUARANTEED;
	for (size_t i = 0; i < n; i++) {
		struct container_request *c = pod_request_add(pod, i + 1 == n ? CONTAINER_APP : kind, "c");

		assert_non_null(c);
		ask(c, "memory", 1 << 20);
		for (size_t k = 1; k <= n_names; k++) {
			char name[64];

			snprintf(name, sizeof(name), "%s%zu%s", prefix, 2 * k, *prefix == 'h' ? "Mi" : "");
			ask(c, name, amount);
		}
		resource_list_sort(&c->requests);
		resource_list_sort(&c->limits);
	}
}

static uint64_t steps_of(struct kubelet_fixture *f, const struct pod_request *pod, enum kubelet_answer want)
{
	kubelet_judge(&f->k, f->ws, pod, pod->qos, &f->verdict);
	if (f->verdict.answer != want)
		fail_msg("%d, not %d: %s", f->verdict.answer, want, f->verdict.reason.text);
	assert_int_equal(
		f->verdict.beyond_limit, strncmp(f->verdict.reason.text, beyond, strlen(beyond)) == 0);
	return f->ws->work.steps;
}

/* Twice as many containers are twice the work; 5000 of them were minutes when each looked at all others. */
static void work_grows_with_the_containers(void **state)
{
	uint64_t steps[2];
	struct kubelet_fixture f;

	(void)state;
	init(&f, 4, TOPOLOGY_SCOPE_POD, 1);
	kubelet_fixture_ready(&f);
	for (size_t i = 0; i < 2; i++) {
		struct pod_request pod;

		make_pod(&pod, CONTAINER_APP, i ? 5000 : 2500, 0, "", 0);
		steps[i] = steps_of(&f, &pod, KUBELET_ADMITS);
		assert_int_equal(f.verdict.n_placements, pod.n_containers);
		pod_request_release(&pod);
	}
	assert_true(steps[0] > 2500 && steps[1] <= 2 * steps[0]);
	assert_true(steps[1] <= KUBELET_WORK_MAX);
	kubelet_fixture_release(&f);
}

/* Sizes of hugepages that no node has cost what it takes to read them. */
static void many_names_are_read_once(void **state)
{
	static const enum topology_manager_scope scopes[] = {TOPOLOGY_SCOPE_CONTAINER, TOPOLOGY_SCOPE_POD};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct pod_request hugepages, devices;
		struct kubelet_fixture f;

		init(&f, 4, scopes[i], 1);
		device_inventory_add(
			&f.devices, "vendor.com/nic2", (struct device){.nodes = 1, .healthy = true});
		kubelet_fixture_ready(&f);
		make_pod(&hugepages, CONTAINER_APP, 44, 500, "hugepages-", 2 << 20);
		steps_of(&f, &hugepages, KUBELET_REJECTS);
		assert_int_equal(f.verdict.rejection, KUBELET_PANICS);
		make_pod(&devices, CONTAINER_APP, 44, 500, "vendor.com/nic", 0);
		assert_true(steps_of(&f, &devices, KUBELET_ADMITS) < KUBELET_WORK_MAX);
		pod_request_release(&hugepages);
		pod_request_release(&devices);
		kubelet_fixture_release(&f);
	}
}

/* Types of memory beyond those that change the merged hint are merged no more, and the answers are right. */
static void many_types_of_memory_are_judged(void **state)
{
	static const enum topology_manager_scope scopes[] = {TOPOLOGY_SCOPE_CONTAINER, TOPOLOGY_SCOPE_POD};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct pod_request fits, does_not;
		struct kubelet_fixture f;

		init(&f, 2, scopes[i], 64);
		kubelet_fixture_ready(&f);
		make_pod(&fits, CONTAINER_APP, 2, 63, "hugepages-", 2 << 20);
		steps_of(&f, &fits, KUBELET_ADMITS);
		assert_int_equal(f.verdict.placements[1].memory_nodes, 1);
		make_pod(&does_not, CONTAINER_APP, 1, 63, "hugepages-", 300 * GIB);
		steps_of(&f, &does_not, KUBELET_REJECTS);
		pod_request_release(&fits);
		pod_request_release(&does_not);
		kubelet_fixture_release(&f);
	}
}

/* What asks for more is not judged, in one sentence, whatever it is that is too much. */
static void what_is_beyond_the_limit_is_unknown(void **state)
{
	struct pod_request many, exclusive;
	struct kubelet_fixture f;

	(void)state;
	init(&f, 4, TOPOLOGY_SCOPE_CONTAINER, 1);
	kubelet_fixture_ready(&f);
	make_pod(&many, CONTAINER_APP, 5000, 0, "", 0);
	make_pod(&exclusive, CONTAINER_INIT, 5000, 0, "", 0);
	for (size_t i = 0; i < exclusive.n_containers; i++) {
		resource_list_set(&exclusive.containers[i].requests, "cpu", quantity_from_units(1));
		resource_list_set(&exclusive.containers[i].limits, "cpu", quantity_from_units(1));
	}
	assert_true(steps_of(&f, &many, KUBELET_UNKNOWN) > KUBELET_WORK_MAX);
	test_assert_text("reason", f.verdict.reason.text,
		"the verdict takes too many steps: 5000 containers on this node");
	steps_of(&f, &exclusive, KUBELET_UNKNOWN);
	/* With a higher limit there is an answer. */
	f.ws->work.limit = UINT64_MAX;
	steps_of(&f, &many, KUBELET_ADMITS);
	steps_of(&f, &exclusive, KUBELET_ADMITS);
	pod_request_release(&many);
	pod_request_release(&exclusive);
	kubelet_fixture_release(&f);
}

/* In scope pod all containers are merged at once, which is most of the work. */
static void a_merge_beyond_the_limit_is_unknown(void **state)
{
	struct kubelet_fixture f;
	struct pod_request pod;

	(void)state;
	init(&f, 4, TOPOLOGY_SCOPE_POD, 1);
	kubelet_fixture_ready(&f);
	pod_from_text(&pod, "app cpu=4 memory=1Gi");
	pod.qos = QOS_GUARANTEED;
	f.ws->work.limit = steps_of(&f, &pod, KUBELET_ADMITS) / 2;
	steps_of(&f, &pod, KUBELET_UNKNOWN);
	assert_true(f.verdict.beyond_limit);
	pod_request_release(&pod);
	kubelet_fixture_release(&f);
}

/*
 * A number of reserved CPUs, which the kubelet chooses when it starts. Of 2000 caches half have one core and half have two. The last
 * 3 CPUs are as many as the average cache has and less than the larger ones, and a release that rounds down finds no part of a
 * cache for them: it sorts the caches again for each of them.
 */
static void reserved_cpus_that_take_too_long_are_unknown(void **state)
{
	static const struct synthetic many = {.sockets = 1,
		.numas = 1,
		.uncores = 1,
		.cores = 3000,
		.threads = 2,
		.memory_bytes = 64 * GIB};
	struct kubelet_fixture f;
	struct pod_request pod;

	(void)state;
	init(&f, 4, TOPOLOGY_SCOPE_CONTAINER, 1);
	machine_release(&f.machine);
	synthetic_machine(&many, &f.machine);
	for (size_t i = 0; i < f.machine.n_cpus; i++) {
		unsigned core = f.machine.cpus[i].id % many.cores;

		f.machine.cpus[i].uncore = (int)(core < 1000 ? core : 1000 + (core - 1000) / 2);
	}
	f.settings.kubelet_minor = 33;
	f.settings.cpu_options.prefer_align_cpus_by_uncorecache = true;
	f.settings.kube_reserved_cpu = 2003 * QTY_UNIT;
	f.settings.reserved_known = true;
	f.node.shared = f.machine.online;
	f.node.reserved = NULL;
	kubelet_fixture_ready(&f);
	pod_from_text(&pod, "app cpu=4 memory=1Gi");
	kubelet_judge(&f.k, f.ws, &pod, QOS_GUARANTEED, &f.verdict);
	assert_int_equal(f.verdict.answer, KUBELET_UNKNOWN);
	test_assert_text("reason", f.verdict.reason.text, "choosing 2003 reserved CPUs takes too many steps");
	pod_request_release(&pod);
	kubelet_fixture_release(&f);
}

/* Any limit: the answer is the one without a limit, or none. */
static void no_limit_changes_an_answer(void **state)
{
	static const char *const texts[] = {"app cpu=2 memory=1Gi", "app cpu=40 memory=1Gi",
		"init cpu=2 memory=1Gi; app cpu=2 memory=3Gi vendor.com/nic=1", "app cpu=1 memory=900Gi",
		"app cpu=17 memory=1Gi; app cpu=1 memory=1Gi vendor.com/nic=2"};
	static const bool options[] = {false, true};

	(void)state;
	for (size_t o = 0; o < ARRAY_SIZE(options); o++) {
		struct kubelet_fixture f;

		init(&f, 2, TOPOLOGY_SCOPE_CONTAINER, 1);
		f.settings.cpu_options.distribute_cpus_across_numa = options[o];
		f.settings.cpu_options.prefer_align_cpus_by_uncorecache = !options[o];
		for (unsigned i = 0; i < 4; i++)
			device_inventory_add(&f.devices, "vendor.com/nic",
				(struct device){.nodes = 1u << i, .healthy = true});
		kubelet_fixture_ready(&f);
		for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
			enum kubelet_answer answer;
			struct pod_request pod;
			uint64_t all;

			pod_from_text(&pod, texts[i]);
			pod.qos = QOS_GUARANTEED;
			f.ws->work.limit = UINT64_MAX;
			kubelet_judge(&f.k, f.ws, &pod, QOS_GUARANTEED, &f.verdict);
			answer = f.verdict.answer;
			all = f.ws->work.steps;
			assert_int_not_equal(answer, KUBELET_UNKNOWN);
			for (uint64_t limit = 0; limit <= all; limit += 1 + all / 50) {
				f.ws->work.limit = limit;
				kubelet_judge(&f.k, f.ws, &pod, QOS_GUARANTEED, &f.verdict);
				assert_true(
					f.verdict.answer == answer || f.verdict.answer == KUBELET_UNKNOWN);
				assert_int_equal(f.verdict.reason.text[0] == '\0',
					answer == KUBELET_ADMITS && f.verdict.answer == answer);
			}
			f.ws->work.limit = all;
			steps_of(&f, &pod, answer);
			assert_true(f.ws->work.steps == all);
			pod_request_release(&pod);
		}
		kubelet_fixture_release(&f);
	}
}

/* A node's object with thousands of devices, each near other NUMA nodes than all others. */
static void devices_in_many_groups(void **state)
{
	struct pod_request pod;
	struct kubelet_fixture f;
	uint64_t steps;

	(void)state;
	init(&f, 4, TOPOLOGY_SCOPE_CONTAINER, 1);
	for (unsigned i = 0; i < 7096; i++)
		device_inventory_add(
			&f.devices, "vendor.com/nic", (struct device){.nodes = 1 + i % 255, .healthy = true});
	kubelet_fixture_ready(&f);
	assert_int_equal(device_manager_groups(&f.k.devices, 0), 255);
	pod_from_text(&pod, "app cpu=2 memory=1Gi vendor.com/nic=7000");
	pod.qos = QOS_GUARANTEED;
	/* Each device once, and each group once for each set of NUMA nodes. */
	steps = steps_of(&f, &pod, KUBELET_REJECTS);
	assert_true(steps < 16 * (7096 + 256 * 256));
	pod_request_release(&pod);
	kubelet_fixture_release(&f);
}

/* Why a pod is rejected may take more than whether it is: then it is said in fewer words. */
static void a_rejection_beyond_the_limit_has_a_short_reason(void **state)
{
	struct pod_request pod;
	struct kubelet_fixture f;
	uint64_t all;

	(void)state;
	init(&f, 2, TOPOLOGY_SCOPE_CONTAINER, 1);
	kubelet_fixture_ready(&f);
	pod_from_text(&pod, "app cpu=17 memory=1Gi");
	pod.qos = QOS_GUARANTEED;
	all = steps_of(&f, &pod, KUBELET_REJECTS);
	assert_non_null(strstr(f.verdict.reason.text, "17 CPUs"));
	f.ws->work.limit = all - 1;
	steps_of(&f, &pod, KUBELET_REJECTS);
	test_assert_text("reason", f.verdict.reason.text,
		"restricted: no combination of NUMA nodes satisfies all requests");
	pod_request_release(&pod);
	kubelet_fixture_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_grows_with_the_containers),
		cmocka_unit_test(many_names_are_read_once),
		cmocka_unit_test(many_types_of_memory_are_judged),
		cmocka_unit_test(what_is_beyond_the_limit_is_unknown),
		cmocka_unit_test(a_merge_beyond_the_limit_is_unknown),
		cmocka_unit_test(reserved_cpus_that_take_too_long_are_unknown),
		cmocka_unit_test(no_limit_changes_an_answer),
		cmocka_unit_test(devices_in_many_groups),
		cmocka_unit_test(a_rejection_beyond_the_limit_has_a_short_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
