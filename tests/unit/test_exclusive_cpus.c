/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "scoring/cpu_counts.h"
#include "scoring/exclusive_cpus.h"
#include "tests/lib/synthetic.h"

/* A node whose parts a test changes before it asks. */
struct fixture {
	struct machine machine;
	struct settings settings;
	hwloc_bitmap_t shared, reserved;
	struct kubelet_node node;
};

static void fixture_init(struct fixture *f, const struct synthetic *s)
{
	memset(f, 0, sizeof(*f));
	synthetic_machine(s, &f->machine);
	settings_init(&f->settings);
	f->settings.cpu_manager = CPU_MANAGER_STATIC;
	f->settings.memory_manager = MEMORY_MANAGER_NONE;
	f->settings.topology.policy = TOPOLOGY_MANAGER_NONE;
	f->settings.topology.scope = TOPOLOGY_SCOPE_CONTAINER;
	f->settings.topology.max_numa_nodes = 16;
	f->shared = hwloc_bitmap_dup(f->machine.online);
	f->reserved = hwloc_bitmap_alloc();
	assert_non_null(f->shared);
	assert_non_null(f->reserved);
	hwloc_bitmap_set(f->reserved, 0);
	f->node = (struct kubelet_node){.machine = &f->machine,
		.settings = &f->settings,
		.shared = f->shared,
		.reserved = f->reserved};
}

static void fixture_release(struct fixture *f)
{
	machine_release(&f->machine);
	settings_release(&f->settings);
	hwloc_bitmap_free(f->shared);
	hwloc_bitmap_free(f->reserved);
}

/* The numbers under each policy. */
struct exclusive_cpus {
	struct exclusive_cpus_admitted policies[TOPOLOGY_MANAGER_POLICY_COUNT];
};

static void find_all(struct exclusive_cpus *ret, struct fixture *f)
{
	struct topology_manager_config own = f->settings.topology;

	memset(ret, 0, sizeof(*ret));
	for (enum topology_manager_policy policy = TOPOLOGY_MANAGER_NONE;
		policy <= TOPOLOGY_MANAGER_SINGLE_NUMA_NODE; policy++) {
		struct kubelet k;

		f->settings.topology.policy = policy;
		kubelet_init(&k, &f->node);
		exclusive_cpus_find(&k, &ret->policies[policy]);
		kubelet_release(&k);
	}
	f->settings.topology = own;
}

static void release_all(struct exclusive_cpus *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(e->policies); i++)
		exclusive_cpus_admitted_release(&e->policies[i]);
}

/* "2-28 34-56", "unknown" */
static void assert_ranges(
	const struct exclusive_cpus *e, enum topology_manager_policy policy, const char *want)
{
	const struct exclusive_cpus_admitted *a = &e->policies[policy];
	CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(4096);

	for (size_t i = 0; i < a->n_ranges; i++)
		strbuf_addf(&got, "%s%zu-%zu", i ? " " : "", a->ranges[i].first, a->ranges[i].last);
	if (a->unknown.text[0])
		strbuf_addf(&got, "unknown: %s", a->unknown.text);
	assert_int_equal(strbuf_error(&got), 0);
	test_assert_text(topology_manager_policy_names[policy], got.text, want);
}

/* 2 NUMA nodes of 16 cores with 2 threads each, CPU 0 reserved, 6 CPUs of node 0 and 2 of node 1 taken. */
static const struct synthetic two_nodes = {.sockets = 2, .numas = 1, .uncores = 1, .cores = 16, .threads = 2};

static void the_documents_example(void **state)
{
	struct exclusive_cpus e;
	struct fixture f;

	(void)state;
	fixture_init(&f, &two_nodes);
	f.settings.cpu_options.full_pcpus_only = true;
	hwloc_bitmap_set(f.reserved, 32);
	hwloc_bitmap_clr(f.shared, 16);
	hwloc_bitmap_clr(f.shared, 48);
	find_all(&e, &f);
	assert_int_equal(e.policies[TOPOLOGY_MANAGER_RESTRICTED].step, 2);
	assert_ranges(&e, TOPOLOGY_MANAGER_BEST_EFFORT, "2-60");
	assert_ranges(&e, TOPOLOGY_MANAGER_RESTRICTED, "2-30 34-60");
	assert_ranges(&e, TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, "2-30");
	assert_ranges(&e, TOPOLOGY_MANAGER_NONE, "2-60");
	release_all(&e);
	fixture_release(&f);
}

static void what_is_not_known(void **state)
{
	static const struct synthetic nine = {
		.sockets = 9, .numas = 1, .uncores = 1, .cores = 2, .threads = 1};
	struct exclusive_cpus e;
	struct fixture f;

	(void)state;
	fixture_init(&f, &two_nodes);
	f.settings.cpu_options.align_by_socket = true;
	find_all(&e, &f);
	assert_int_equal(e.policies[TOPOLOGY_MANAGER_RESTRICTED].step, 1);
	assert_ranges(&e, TOPOLOGY_MANAGER_RESTRICTED, "1-63");
	assert_ranges(&e, TOPOLOGY_MANAGER_SINGLE_NUMA_NODE,
		"unknown: nrtd does not model the running kubelet's settings: static policy option align-by-socket is "
		"incompatible with Topology Manager policy single-numa-node");
	release_all(&e);
	f.settings.cpu_manager = CPU_MANAGER_NONE;
	find_all(&e, &f);
	assert_ranges(&e, TOPOLOGY_MANAGER_BEST_EFFORT,
		"unknown: the CPU manager's policy is none: no container gets exclusive CPUs");
	release_all(&e);
	f.settings.cpu_manager = CPU_MANAGER_STATIC;
	f.settings.memory_manager = MEMORY_MANAGER_UNKNOWN;
	find_all(&e, &f);
	assert_ranges(&e, TOPOLOGY_MANAGER_BEST_EFFORT, "unknown: the memory manager's policy is not known");
	release_all(&e);
	fixture_release(&f);

	fixture_init(&f, &nine);
	f.settings.cpu_options.distribute_cpus_across_numa = true;
	find_all(&e, &f);
	assert_ranges(&e, TOPOLOGY_MANAGER_BEST_EFFORT,
		"unknown: distributing CPUs over 9 NUMA nodes has too many outcomes (at most 8)");
	release_all(&e);
	fixture_release(&f);
}

/* ---- against the verdict on each number */

static uint64_t below(uint64_t *random, uint64_t n)
{
	return test_random(random) % n;
}

/* CPUs go offline, and now and then one moves to another NUMA node or socket. */
static void spoil(uint64_t *random, struct machine *m)
{
	unsigned lost = below(random, 2) ? (unsigned)below(random, 30) : 0;
	bool moves = below(random, 6) == 0;
	size_t n = 0;

	for (size_t i = 0; i < m->n_cpus; i++) {
		if (n > 0 && below(random, 100) < lost)
			continue;
		m->cpus[n] = m->cpus[i];
		if (moves && below(random, 8) == 0)
			m->cpus[n].numa = (int)below(random, m->n_nodes);
		if (moves && below(random, 8) == 0)
			m->cpus[n].socket = (int)below(random, m->n_sockets);
		n++;
	}
	m->n_cpus = n;
}

static void random_fixture(uint64_t *random, struct fixture *f)
{
	const struct synthetic s = {.sockets = 1 + (unsigned)below(random, 3),
		.numas = 1 + (unsigned)below(random, 3),
		.uncores = 1 + (unsigned)below(random, 2),
		.cores = 1 + (unsigned)below(random, 4),
		.threads = 1 + (unsigned)below(random, 2),
		.siblings_adjacent = below(random, 2)};
	unsigned taken = (unsigned)below(random, 90);
	struct cpu_manager_options *o = &f->settings.cpu_options;

	fixture_init(f, &s);
	spoil(random, &f->machine);
	for (size_t i = 0; i < f->machine.n_cpus; i++) {
		if (below(random, 100) < taken)
			hwloc_bitmap_clr(f->shared, f->machine.cpus[i].id);
		if (below(random, 12) == 0)
			hwloc_bitmap_set(f->reserved, f->machine.cpus[i].id);
	}
	hwloc_bitmap_set(f->reserved, f->machine.cpus[0].id);
	for (size_t i = 0; i < s.sockets * s.numas * s.uncores * s.cores * s.threads; i++)
		if (!machine_cpu(&f->machine, (unsigned)i))
			hwloc_bitmap_clr(f->reserved, (unsigned)i);
#define DRAW_OPTION(type, member, ...) o->member = below(random, 4) == 0;
	CPU_MANAGER_OPTIONS(DRAW_OPTION)
#undef DRAW_OPTION
	f->settings.topology.prefer_closest_numa_nodes = below(random, 2);
	f->settings.topology.scope = below(random, 2) ? TOPOLOGY_SCOPE_POD : TOPOLOGY_SCOPE_CONTAINER;
	f->settings.kubelet_minor = below(random, 2) ? 37 : 36;
}

static bool in_ranges(const struct exclusive_cpus_admitted *a, size_t n)
{
	for (size_t i = 0; i < a->n_ranges; i++)
		if (n >= a->ranges[i].first && n <= a->ranges[i].last)
			return (n - a->ranges[i].first) % a->step == 0;
	return false;
}

/* The kubelet's verdict on one container of n CPUs, for every n of interest. */
static void compare(struct fixture *f, const struct exclusive_cpus *e, enum topology_manager_policy policy,
	uint64_t counts[KUBELET_ANSWER_COUNT])
{
	const struct exclusive_cpus_admitted *a = &e->policies[policy];
	CLEANUP(kubelet_workspace_freep) struct kubelet_workspace *ws = NULL;
	struct pod_request pod;
	struct kubelet k;

	f->settings.topology.policy = policy;
	kubelet_init(&k, &f->node);
	ws = kubelet_workspace_new(&k);
	pod_request_init(&pod);
	assert_non_null(pod_request_add(&pod, CONTAINER_APP, "c"));
	for (size_t n = 1; n <= f->machine.n_cpus + 2; n++) {
		struct kubelet_verdict verdict;

		resource_list_set(&pod.containers[0].requests, "cpu", quantity_from_units((int64_t)n));
		kubelet_judge(&k, ws, &pod, QOS_GUARANTEED, &verdict);
		counts[verdict.answer]++;
		if (verdict.answer == KUBELET_UNKNOWN)
			assert_true(a->unknown.text[0] != '\0' && a->n_ranges == 0);
		else if (a->unknown.text[0] == '\0' && in_ranges(a, n) != (verdict.answer == KUBELET_ADMITS))
			fail_msg("policy %s, %zu CPUs: the kubelet says %d (%s)",
				topology_manager_policy_names[policy], n, (int)verdict.answer,
				verdict.reason.text);
	}
	pod_request_release(&pod);
	kubelet_release(&k);
}

/* Pods of the smallest size until the kubelet refuses one: what is usable of the free CPUs. */
static void compare_usable(struct fixture *f, const struct exclusive_cpus_admitted *a)
{
	CLEANUP(kubelet_workspace_freep) struct kubelet_workspace *ws = NULL;
	struct kubelet_verdict verdict = {.answer = KUBELET_ADMITS};
	struct pod_request pod;
	struct kubelet k;
	size_t held = 0, usable;

	kubelet_init(&k, &f->node);
	ws = kubelet_workspace_new(&k);
	pod_request_init(&pod);
	assert_non_null(pod_request_add(&pod, CONTAINER_APP, "c"));
	resource_list_set(&pod.containers[0].requests, "cpu",
		quantity_from_units(a->n_ranges > 0 ? (int64_t)a->ranges[0].first : 1));
	kubelet_judge(&k, ws, &pod, QOS_GUARANTEED, &verdict);
	while (a->n_ranges > 0 && verdict.answer == KUBELET_ADMITS) {
		held += a->step;
		kubelet_judge_next(&k, ws, &pod, QOS_GUARANTEED, &verdict);
	}
	usable = exclusive_cpus_usable(&k, ws, a);
	if (held != usable)
		fail_msg("policy %s: small pods hold %zu CPUs, not %zu",
			topology_manager_policy_names[k.rules.policy], held, usable);
	pod_request_release(&pod);
	kubelet_release(&k);
}

static void ranges_equal_the_verdicts(void **state)
{
	uint64_t random = test_seed(9), counts[KUBELET_ANSWER_COUNT] = {0}, known = 0;

	(void)state;
	for (unsigned round = 0; round < 2000; round++) {
		struct exclusive_cpus e;
		struct fixture f;

		random_fixture(&random, &f);
		find_all(&e, &f);
		for (enum topology_manager_policy policy = TOPOLOGY_MANAGER_NONE;
			policy <= TOPOLOGY_MANAGER_SINGLE_NUMA_NODE; policy++) {
			known += e.policies[policy].unknown.text[0] == '\0';
			for (size_t i = 1; i < e.policies[policy].n_ranges; i++)
				assert_true(e.policies[policy].ranges[i].first >
					    e.policies[policy].ranges[i - 1].last + e.policies[policy].step);
			compare(&f, &e, policy, counts);
			if (e.policies[policy].unknown.text[0] == '\0')
				compare_usable(&f, &e.policies[policy]);
		}
		release_all(&e);
		fixture_release(&f);
	}
	print_message("%llu admitted, %llu rejected, %llu unknown, %llu of 8000 policies known\n",
		(unsigned long long)counts[KUBELET_ADMITS], (unsigned long long)counts[KUBELET_REJECTS],
		(unsigned long long)counts[KUBELET_UNKNOWN], (unsigned long long)known);
	assert_true(known > 3000 && counts[KUBELET_ADMITS] > 1000 && counts[KUBELET_REJECTS] > 1000);
}

/* Pods one after the other until the kubelet rejects one. Counts what was compared: pods on one NUMA node, and pods that fit after all others. */
static void compare_sequence(uint64_t *random, const struct fixture *f, size_t *n_taken, size_t *n_fitting)
{
	CLEANUP(kubelet_workspace_freep) struct kubelet_workspace *ws = NULL;
	struct kubelet_verdict verdict = {.answer = KUBELET_ADMITS};
	struct cpu_counts all, left;
	struct pod_request pod;
	struct kubelet k;
	size_t sum = 0;
	bool one_node_each = true;

	kubelet_init(&k, &f->node);
	ws = kubelet_workspace_new(&k);
	pod_request_init(&pod);
	assert_non_null(pod_request_add(&pod, CONTAINER_APP, "c"));
	if (cpu_counts_init(&k, f->shared, &all)) {
		left = all;
		for (size_t i = 0; i < 8 && verdict.answer == KUBELET_ADMITS; i++) {
			size_t n = 1 + test_random(random) % (f->machine.n_cpus / 3 + 1);
			bool fits = cpu_counts_admit_after(&all, n, sum), taken;

			resource_list_set(
				&pod.containers[0].requests, "cpu", quantity_from_units((int64_t)n));
			assert_true(cpu_counts_is_pod_of_cpus(&pod));
			if (i == 0)
				kubelet_judge(&k, ws, &pod, QOS_GUARANTEED, &verdict);
			else
				kubelet_judge_next(&k, ws, &pod, QOS_GUARANTEED, &verdict);
			if (fits && verdict.answer != KUBELET_ADMITS)
				fail_msg("%zu CPUs fit after %zu: the kubelet says %d (%s)", n, sum,
					(int)verdict.answer, verdict.reason.text);
			one_node_each = one_node_each && cpu_counts_nodes(&all, n) == 1;
			taken = one_node_each && cpu_counts_take(&left, n);
			if (one_node_each && taken != (verdict.answer == KUBELET_ADMITS))
				fail_msg("%zu CPUs: %d, the kubelet says %d (%s)", n, taken,
					(int)verdict.answer, verdict.reason.text);
			*n_taken += one_node_each;
			*n_fitting += fits;
			sum += n;
		}
	}
	pod_request_release(&pod);
	kubelet_release(&k);
}

static void counts_equal_the_verdicts(void **state)
{
	uint64_t random = test_seed(10);
	size_t n_taken = 0, n_fitting = 0;

	(void)state;
	for (unsigned round = 0; round < 5000; round++) {
		struct fixture f;

		random_fixture(&random, &f);
		f.settings.topology.policy = test_random(&random) % 3 ? TOPOLOGY_MANAGER_RESTRICTED
								      : TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
		f.settings.topology.prefer_closest_numa_nodes = test_random(&random) % 8 == 0;
		compare_sequence(&random, &f, &n_taken, &n_fitting);
		fixture_release(&f);
	}
	assert_in_range(n_taken, 500, SIZE_MAX);
	assert_in_range(n_fitting, 500, SIZE_MAX);
}

static void only_native_resources_are_counted(void **state)
{
	struct pod_request pod;

	(void)state;
	pod_request_init(&pod);
	assert_non_null(pod_request_add(&pod, CONTAINER_APP, "c"));
	resource_list_set(&pod.containers[0].limits, "vendor.com/nic", quantity_from_units(1));
	assert_false(cpu_counts_is_pod_of_cpus(&pod));
	pod_request_release(&pod);
	pod_request_init(&pod);
	assert_non_null(pod_request_add(&pod, CONTAINER_INIT, "i"));
	assert_non_null(pod_request_add(&pod, CONTAINER_APP, "c"));
	assert_false(cpu_counts_is_pod_of_cpus(&pod));
	pod_request_release(&pod);
}

static void numbers_above_what_the_node_has_go(void **state)
{
	static const struct {
		size_t most, n_ranges, last;
	} cases[] = {{40, 2, 30}, {30, 2, 30}, {29, 2, 28}, {20, 2, 20}, {19, 1, 8}, {7, 1, 6}, {1, 0, 0},
		{0, 0, 0}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct exclusive_cpu_range ranges[] = {{2, 8}, {20, 30}};
		struct exclusive_cpus_admitted a = {
			.step = 2, .ranges = ranges, .n_ranges = ARRAY_SIZE(ranges)};

		exclusive_cpus_limit(&a, cases[i].most);
		assert_int_equal(a.n_ranges, cases[i].n_ranges);
		if (a.n_ranges > 0)
			assert_int_equal(ranges[a.n_ranges - 1].last, cases[i].last);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_documents_example),
		cmocka_unit_test(what_is_not_known),
		cmocka_unit_test(ranges_equal_the_verdicts),
		cmocka_unit_test(counts_equal_the_verdicts),
		cmocka_unit_test(only_native_resources_are_counted),
		cmocka_unit_test(numbers_above_what_the_node_has_go),
	};

	return cmocka_run_group_tests_name("exclusive_cpus", tests, NULL, NULL);
}
