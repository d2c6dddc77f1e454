/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "common/cleanup.h"
#include "scoring/cpu_manager.h"
#include "scoring/node_mask.h"
#include "tests/lib/peers.h"
#include "tests/lib/synthetic.h"

/* A static policy over a machine, without reserved CPUs unless a test says so. */
struct fixture {
	struct machine machine;
	struct cpu_topology t;
	struct cpu_manager cm;
	struct cpu_workspace *ws;
	bool *sets, *shared, *available, *taken, *scratch[2];
	struct topology_hints hints;
};

static void fixture_init(struct fixture *f, const struct synthetic *s, struct cpu_manager_options options,
	const char *reserved, size_t n_reserved)
{
	const struct kubelet_version version = kubelet_version_of(36);
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;
	struct err err = {""};
	size_t n;

	synthetic_machine(s, &f->machine);
	assert_int_equal(cpu_topology_init(&f->t, &f->machine), 0);
	if (reserved)
		assert_int_equal(cpuset_parse(reserved, &set, NULL), 0);
	assert_int_equal(cpu_manager_init(&f->cm, &f->t, &options, TOPOLOGY_MANAGER_RESTRICTED, &version, set,
				 reserved ? cpuset_size(set) : n_reserved, &err),
		0);
	f->ws = cpu_workspace_new(&f->t);
	n = f->t.n_cpus;
	f->sets = calloc(5 * n, sizeof(bool));
	assert_non_null(f->ws);
	assert_non_null(f->sets);
	f->shared = f->sets;
	f->available = f->sets + n;
	f->taken = f->sets + 2 * n;
	f->scratch[0] = f->sets + 3 * n;
	f->scratch[1] = f->sets + 4 * n;
	memset(f->shared, true, n);
	cpu_manager_available(&f->cm, f->shared, f->available);
	topology_hints_init(&f->hints, (unsigned)f->machine.n_nodes);
}

static void fixture_release(struct fixture *f)
{
	topology_hints_release(&f->hints);
	free(f->sets);
	cpu_workspace_freep(&f->ws);
	cpu_manager_release(&f->cm);
	cpu_topology_release(&f->t);
	machine_release(&f->machine);
}

static void assert_set(const struct fixture *f, const char *what, const bool *set, const char *want)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t bitmap = hwloc_bitmap_alloc();
	CLEANUP(freep) char *text = NULL;

	assert_non_null(bitmap);
	cpu_set_to_bitmap(&f->t, set, bitmap);
	text = cpuset_print(bitmap);
	test_assert_text(what, text, want);
}

static size_t n_preferred(const struct topology_hints *hints, uint64_t mask)
{
	size_t n = 0;

	for (size_t i = 0; i < hints->n_items; i++)
		n += hints->items[i].preferred && (!mask || hints->items[i].nodes == mask);
	return n;
}

/* 2 sockets of 4 NUMA nodes of 4 CPUs. */
static const struct synthetic two_by_four = {
	.sockets = 2, .numas = 4, .uncores = 1, .cores = 4, .threads = 1};

/*
 * align-by-socket (KEP-3327) on 2 sockets x 4 NUMA nodes: every hint within one socket is preferred, not only
 * the narrowest, and the CPUs may then come from the whole socket.
 */
static void align_by_socket_widens_hints_and_sources(void **state)
{
	const struct topology_hint node_1 = {.nodes = 2};
	struct fixture f;

	(void)state;
	fixture_init(&f, &two_by_four, (struct cpu_manager_options){.align_by_socket = true}, "0", 0);
	cpu_manager_hints(&f.cm, f.available, NULL, 4, &f.hints);
	/* All subsets of one socket's nodes that have 4 free CPUs: 15 each, without {0}, which has 3. */
	assert_int_equal(n_preferred(&f.hints, 0), 14 + 15);
	assert_int_equal(n_preferred(&f.hints, 1), 0);
	assert_int_equal(n_preferred(&f.hints, 3), 1);
	assert_int_equal(n_preferred(&f.hints, 0x11), 0);
	/* 20 CPUs take two sockets: then whatever is in two sockets is preferred. */
	cpu_manager_hints(&f.cm, f.available, NULL, 20, &f.hints);
	assert_int_equal(n_preferred(&f.hints, 0), f.hints.n_items);
	/* The hint names node 1; the socket's fullest-used node (0, with 3 left) serves first. */
	assert_int_equal(
		cpu_manager_allocate(&f.cm, f.ws, f.shared, NULL, 3, node_1, f.scratch, f.taken).status,
		CPU_TAKE_OK);
	assert_set(&f, "socket", f.taken, "1-3");
	fixture_release(&f);

	fixture_init(&f, &two_by_four, (struct cpu_manager_options){0}, "0", 0);
	cpu_manager_hints(&f.cm, f.available, NULL, 4, &f.hints);
	assert_int_equal(n_preferred(&f.hints, 0), 7);
	assert_int_equal(
		cpu_manager_allocate(&f.cm, f.ws, f.shared, NULL, 3, node_1, f.scratch, f.taken).status,
		CPU_TAKE_OK);
	assert_set(&f, "node", f.taken, "4-6");
	assert_false(f.shared[4]);
	fixture_release(&f);
}

static void conflicting_options_are_refused(void **state)
{
	static const struct synthetic nps0 = {
		.sockets = 1, .numas = 1, .uncores = 1, .cores = 2, .threads = 1};
	static const struct {
		struct cpu_manager_options options;
		enum topology_manager_policy policy;
		const char *part;
	} cases[] = {
		{{.full_pcpus_only = true, .distribute_cpus_across_cores = true}, TOPOLOGY_MANAGER_NONE,
			"full-pcpus-only and distribute-cpus-across-cores"},
		{{.distribute_cpus_across_numa = true, .distribute_cpus_across_cores = true},
			TOPOLOGY_MANAGER_NONE,
			"distribute-cpus-across-numa and distribute-cpus-across-cores"},
		{{.prefer_align_cpus_by_uncorecache = true, .distribute_cpus_across_cores = true},
			TOPOLOGY_MANAGER_NONE, "uncorecache and distribute-cpus-across-cores"},
		{{.prefer_align_cpus_by_uncorecache = true, .distribute_cpus_across_numa = true},
			TOPOLOGY_MANAGER_NONE, "uncorecache and distribute-cpus-across-numa"},
		{{.align_by_socket = true}, TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, "single-numa-node"},
		{{.align_by_socket = true}, TOPOLOGY_MANAGER_RESTRICTED, "more sockets than NUMA nodes"},
	};
	const struct kubelet_version version = kubelet_version_of(36);
	struct cpu_manager cm;
	struct cpu_topology t;
	struct machine m;

	(void)state;
	synthetic_machine(&nps0, &m);
	m.cpus[1].socket = 1;
	assert_int_equal(cpu_topology_init(&t, &m), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = {""};

		assert_int_equal(cpu_manager_init(&cm, &t, &cases[i].options, cases[i].policy, &version, NULL,
					 1, &err),
			-EINVAL);
		if (!strstr(err.text, cases[i].part))
			fail_msg("'%s' does not say '%s'", err.text, cases[i].part);
	}
	assert_null(cpu_manager_options_conflict(
		&(struct cpu_manager_options){.full_pcpus_only = true, .distribute_cpus_across_numa = true},
		TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, &t));
	cpu_topology_release(&t);
	machine_release(&m);
}

/* 4 cores of 2 threads; CPU i and i + 4 are siblings. */
static const struct synthetic smt = {.sockets = 1, .numas = 1, .uncores = 1, .cores = 4, .threads = 2};

static void reserved_cpus_are_picked_as_the_options_say(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f, &smt, (struct cpu_manager_options){0}, NULL, 2);
	assert_set(&f, "a core", f.cm.reserved, "0,4");
	fixture_release(&f);
	fixture_init(&f, &smt, (struct cpu_manager_options){.distribute_cpus_across_cores = true}, NULL, 2);
	assert_set(&f, "over cores", f.cm.reserved, "0-1");
	assert_set(&f, "with siblings", f.cm.reserved_physical, "0-1,4-5");
	fixture_release(&f);
}

static void unreservable_cpus_are_refused(void **state)
{
	const struct kubelet_version version = kubelet_version_of(36);
	const struct cpu_manager_options none = {0};
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;
	struct err err = {""};
	struct cpu_topology t;
	struct cpu_manager cm;
	struct machine m;

	(void)state;
	synthetic_machine(&smt, &m);
	assert_int_equal(cpu_topology_init(&t, &m), 0);
	assert_int_equal(
		cpu_manager_init(&cm, &t, &none, TOPOLOGY_MANAGER_NONE, &version, NULL, 9, &err), -EINVAL);
	test_assert_text("count", err.text,
		"unable to reserve the required amount of CPUs (size of  did not equal 9)");
	assert_int_equal(cpuset_parse("7-8", &set, NULL), 0);
	assert_int_equal(
		cpu_manager_init(&cm, &t, &none, TOPOLOGY_MANAGER_NONE, &version, set, 2, &err), -EINVAL);
	test_assert_text("list", err.text,
		"unable to reserve the required amount of CPUs (size of 7 did not equal 2)");
	cpu_topology_release(&t);
	machine_release(&m);
}

static void smt_alignment_counts_whole_cores(void **state)
{
	struct fixture f;
	size_t physical;

	(void)state;
	fixture_init(&f, &smt, (struct cpu_manager_options){.full_pcpus_only = true}, "0", 0);
	assert_int_equal(cpu_manager_check_smt(&f.cm, f.shared, 3, &physical), CPU_SMT_NOT_MULTIPLE);
	assert_int_equal(cpu_manager_check_smt(&f.cm, f.shared, 6, &physical), CPU_SMT_ALIGNED);
	assert_int_equal(physical, 6);
	assert_int_equal(cpu_manager_check_smt(&f.cm, f.shared, 8, &physical), CPU_SMT_NOT_ENOUGH_CORES);
	f.cm.options.full_pcpus_only = false;
	assert_int_equal(cpu_manager_check_smt(&f.cm, f.shared, 7, &physical), CPU_SMT_ALIGNED);
	fixture_release(&f);
}

static void reused_cpus_narrow_the_hints(void **state)
{
	struct fixture f;
	bool *reusable;

	(void)state;
	fixture_init(&f, &two_by_four, (struct cpu_manager_options){0}, "0", 0);
	reusable = f.scratch[0];
	reusable[5] = true;
	f.available[5] = false;
	cpu_manager_hints(&f.cm, f.available, reusable, 2, &f.hints);
	for (size_t i = 0; i < f.hints.n_items; i++)
		assert_true(f.hints.items[i].nodes & 2);
	assert_int_equal(f.hints.n_items, 128);
	assert_int_equal(n_preferred(&f.hints, 0), 1);
	fixture_release(&f);
}

/* At random: those of all hints that are preferred, in the same order; or none of them are. */
static void preferred_hints_are_those_of_all(void **state)
{
	uint64_t random = test_seed(7);
	struct topology_hints some;
	struct fixture f;
	size_t n_found = 0;

	(void)state;
	fixture_init(&f, &two_by_four, (struct cpu_manager_options){0}, "0", 0);
	topology_hints_init(&some, 8);
	for (size_t turn = 0; turn < 2000; turn++) {
		size_t n = 1 + test_random(&random) % 34, at = 0;
		uint64_t share = 1 + test_random(&random) % 8;
		int found;

		for (size_t i = 0; i < f.t.n_cpus; i++) {
			f.available[i] = test_random(&random) % 8 < share;
			f.scratch[0][i] = turn % 3 == 0 && !f.available[i] && test_random(&random) % 16 == 0;
		}
		cpu_manager_hints(&f.cm, f.available, f.scratch[0], n, &f.hints);
		found = cpu_manager_preferred_hints(&f.cm, f.available, f.scratch[0], n, &some);
		n_found += (size_t)found;
		assert_int_equal(found, n_preferred(&f.hints, 0) > 0);
		for (size_t i = 0; i < f.hints.n_items; i++) {
			if (!f.hints.items[i].preferred)
				continue;
			assert_true(at < some.n_items && some.items[at].preferred);
			assert_true(some.items[at++].nodes == f.hints.items[i].nodes);
		}
		assert_int_equal(at, some.n_items);
	}
	assert_in_range(n_found, 200, 1800);
	topology_hints_release(&some);
	fixture_release(&f);
	fixture_init(&f, &two_by_four, (struct cpu_manager_options){.align_by_socket = true}, "0", 0);
	assert_int_equal(cpu_manager_preferred_hints(&f.cm, f.available, NULL, 2, &f.hints), -ENOTSUP);
	fixture_release(&f);
}

static void hints_again_need_the_same_number(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f, &two_by_four, (struct cpu_manager_options){0}, "0", 0);
	memset(f.taken, 0, f.t.n_cpus);
	f.taken[4] = f.taken[8] = true;
	cpu_manager_hints_again(&f.cm, f.taken, 2, &f.hints);
	assert_int_equal(f.hints.n_items, 64);
	assert_int_equal(f.hints.items[0].nodes, 6);
	assert_false(f.hints.items[0].preferred);
	cpu_manager_hints_again(&f.cm, f.taken, 3, &f.hints);
	assert_int_equal(f.hints.n_items, 0);
	assert_false(f.hints.no_preference);
	fixture_release(&f);
}

static void a_fit_tells_size_from_freedom(void **state)
{
	struct node_mask_fit fit;
	struct fixture f;

	(void)state;
	fixture_init(&f, &two_by_four, (struct cpu_manager_options){0}, "0", 0);
	for (size_t i = 0; i < f.t.n_cpus; i++)
		f.available[i] = i % 4 > 1;
	fit = cpu_manager_fit(&f.cm, f.available, 3);
	assert_int_equal(fit.min_nodes, 1);
	assert_int_equal(fit.capacity, 4);
	assert_int_equal(fit.free, 2);
	assert_int_equal(fit.available, 16);
	fixture_release(&f);
}

static struct allocation *add_cpus(struct allocations *a, const char *container, const char *list)
{
	struct allocation *item = allocations_add(a);

	assert_non_null(item);
	free(item->pod_uid);
	free(item->container);
	hwloc_bitmap_free(item->cpus);
	item->cpus = NULL;
	item->pod_uid = strdup("uid");
	item->container = strdup(container);
	assert_int_equal(cpuset_parse(list, &item->cpus, NULL), 0);
	return item;
}

static void state_files_are_judged_in_the_kubelets_words(void **state)
{
	static const struct {
		bool strict;
		const char *shared, *assigned, *error, *result;
	} cases[] = {
		{false, "0-7", NULL, "", "0-7"},
		{false, "", NULL, "", "0-7"},
		{true, "", NULL, "", "1-7"},
		{false, "", "1", "default cpuset cannot be empty", NULL},
		{false, "0-5", "6-7", "", "0-5"},
		{false, "1-7", NULL, "not all reserved cpus: \"0\" are present in defaultCpuSet: \"1-7\"",
			NULL},
		{true, "0-7", NULL,
			"some of strictly reserved cpus: \"0\" are present in defaultCpuSet: \"0-7\"", NULL},
		{false, "0-6", "6-7",
			"pod: uid, container: c cpuset: \"6-7\" overlaps with default cpuset \"0-6\"", NULL},
		{false, "0-4", "6-7",
			"current set of available CPUs \"0-7\" doesn't match with CPUs in state \"0-4,6-7\"",
			NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = {""};
		struct allocations a;
		struct fixture f;
		int r;

		fixture_init(&f, &smt,
			(struct cpu_manager_options){.strict_cpu_reservation = cases[i].strict}, "0", 0);
		allocations_init(&a);
		assert_int_equal(cpuset_parse(cases[i].shared, &a.shared, NULL), 0);
		if (cases[i].assigned)
			add_cpus(&a, "c", cases[i].assigned);
		r = cpu_manager_check_state(&f.cm, &a, f.taken, &err);
		test_assert_text(cases[i].shared, err.text, cases[i].error);
		assert_int_equal(r, cases[i].result ? 0 : -EINVAL);
		if (cases[i].result)
			assert_set(&f, "shared", f.taken, cases[i].result);
		allocations_release(&a);
		fixture_release(&f);
	}
}

/* Allocating never makes more available, spills only when the hint is too small, and failing changes nothing.
 */
static void allocations_only_take(void **state)
{
	static const struct cpu_manager_options ways[] = {{0}, {.align_by_socket = true},
		{.distribute_cpus_across_numa = true}, {.prefer_align_cpus_by_uncorecache = true},
		{.distribute_cpus_across_cores = true}, {.full_pcpus_only = true}};
	uint64_t random = test_seed(20261126);

	(void)state;
	for (int turn = 0; turn < 600; turn++) {
		struct fixture f;

		fixture_init(&f, &two_by_four, ways[turn % (int)ARRAY_SIZE(ways)], NULL,
			1 + test_random(&random) % 3);
		for (int pod = 0; pod < 8; pod++) {
			struct topology_hint hint = {.any_node = test_random(&random) % 3 == 0,
				.nodes = test_random(&random) & 0xff};
			size_t n = 1 + test_random(&random) % 9;
			size_t before = cpu_manager_available(&f.cm, f.shared, f.available);
			struct cpu_take take = cpu_manager_allocate(
				&f.cm, f.ws, f.shared, NULL, n, hint, f.scratch, f.taken);
			bool taken_ok = take.status == CPU_TAKE_OK;

			assert_int_equal(taken_ok, n <= before);
			assert_int_equal(cpu_set_size(&f.t, f.taken), taken_ok ? n : 0);
			for (size_t i = 0; i < f.t.n_cpus; i++) {
				assert_true(f.available[i] || !f.taken[i]);
				assert_false(f.taken[i] && f.shared[i]);
			}
			assert_int_equal(cpu_manager_available(&f.cm, f.shared, f.available),
				before - (taken_ok ? n : 0));
		}
		fixture_release(&f);
	}
}

/* What lies behind the last CPU of each array stays as it is. */
static void allocations_end_with_the_last_cpu(void **state)
{
	(void)state;
	for (int behind = 0; behind < 2; behind++) {
		bool shared[64], reusable[64], taken[64] = {false}, first[64] = {false}, second[64] = {false};
		bool *scratch[2] = {first, second};
		struct topology_hint hint = {.nodes = 1};
		struct fixture f;
		size_t n;

		fixture_init(&f, &smt, (struct cpu_manager_options){0}, NULL, 1);
		n = f.t.n_cpus;
		assert_true(n < ARRAY_SIZE(shared));
		for (size_t i = 0; i < n; i++) {
			shared[i] = true;
			reusable[i] = false;
		}
		shared[n] = taken[n] = second[n] = behind;
		first[n] = behind;
		reusable[n] = !behind;
		assert_int_equal(
			cpu_manager_allocate(&f.cm, f.ws, shared, reusable, 2, hint, scratch, taken).status,
			CPU_TAKE_OK);
		assert_int_equal(shared[n], behind);
		assert_int_equal(taken[n], behind);
		assert_int_equal(first[n], behind);
		assert_int_equal(second[n], behind);
		fixture_release(&f);
	}
}

/* Whether CPUs can be taken is known without taking them: also more than the hint's NUMA nodes have. */
static void trying_is_as_taking(void **state)
{
	uint64_t random = test_seed(20261127);
	size_t n_more = 0;

	(void)state;
	for (int turn = 0; turn < 300; turn++) {
		struct fixture f;
		const struct cpu_manager_options distribute = {.distribute_cpus_across_numa = true};
		const struct topology_hint hint = {
			.any_node = turn % 4 == 0, .nodes = 1 + test_random(&random) % 255};
		size_t n = 1 + test_random(&random) % 36;
		struct cpu_take tried, taken;
		bool *shared;

		fixture_init(&f, &two_by_four, distribute, NULL, 1 + test_random(&random) % 3);
		shared = calloc(f.t.n_cpus, sizeof(*shared));
		assert_non_null(shared);
		memcpy(shared, f.shared, f.t.n_cpus * sizeof(*shared));
		tried = cpu_manager_allocate_counted(&f.cm, f.ws, shared, NULL, n, hint, f.scratch, f.taken);
		taken = cpu_manager_allocate(&f.cm, f.ws, f.shared, NULL, n, hint, f.scratch, f.taken);
		assert_int_equal(tried.status, taken.status);
		n_more += taken.status == CPU_TAKE_OK && !hint.any_node &&
			  n > 4 * (size_t)__builtin_popcountll(hint.nodes);
		free(shared);
		fixture_release(&f);
	}
	assert_true(n_more > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trying_is_as_taking),
		cmocka_unit_test(align_by_socket_widens_hints_and_sources),
		cmocka_unit_test(conflicting_options_are_refused),
		cmocka_unit_test(reserved_cpus_are_picked_as_the_options_say),
		cmocka_unit_test(unreservable_cpus_are_refused),
		cmocka_unit_test(smt_alignment_counts_whole_cores),
		cmocka_unit_test(reused_cpus_narrow_the_hints),
		cmocka_unit_test(preferred_hints_are_those_of_all),
		cmocka_unit_test(hints_again_need_the_same_number),
		cmocka_unit_test(a_fit_tells_size_from_freedom),
		cmocka_unit_test(state_files_are_judged_in_the_kubelets_words),
		cmocka_unit_test(allocations_only_take),
		cmocka_unit_test(allocations_end_with_the_last_cpu),
	};

	return cmocka_run_group_tests_name("cpu_manager", tests, NULL, NULL);
}
