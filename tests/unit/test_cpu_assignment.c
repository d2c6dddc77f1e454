/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "scoring/cpu_assignment.h"
#include "tests/lib/peers.h"
#include "tests/lib/synthetic.h"

/* A machine with all that taking from it needs. */
struct fixture {
	struct machine machine;
	struct cpu_topology t;
	struct cpu_workspace *ws;
	bool *available, *taken, *again;
};

static void fixture_init(struct fixture *f, const struct synthetic *s)
{
	synthetic_machine(s, &f->machine);
	assert_int_equal(cpu_topology_init(&f->t, &f->machine), 0);
	f->ws = cpu_workspace_new(&f->t);
	f->available = calloc(f->t.n_cpus, sizeof(bool));
	f->taken = calloc(f->t.n_cpus, sizeof(bool));
	f->again = calloc(f->t.n_cpus, sizeof(bool));
	assert_non_null(f->ws);
	assert_non_null(f->available);
	assert_non_null(f->taken);
	assert_non_null(f->again);
}

static void fixture_release(struct fixture *f)
{
	free(f->available);
	free(f->taken);
	free(f->again);
	cpu_workspace_freep(&f->ws);
	cpu_topology_release(&f->t);
	machine_release(&f->machine);
}

static void set_available(struct fixture *f, const char *list)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;

	assert_int_equal(cpuset_parse(list, &set, NULL), 0);
	cpu_set_from_bitmap(&f->t, set, f->available);
}

static void assert_taken(const struct fixture *f, const char *what, const char *want)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = hwloc_bitmap_alloc();
	CLEANUP(freep) char *text = NULL;

	assert_non_null(set);
	cpu_set_to_bitmap(&f->t, f->taken, set);
	text = cpuset_print(set);
	test_assert_text(what, text, want);
}

/* 2 sockets, 2 NUMA nodes each, 2 uncore caches of 2 cores with 2 threads: CPU i and i + 16 are siblings. */
static const struct synthetic small = {.sockets = 2, .numas = 2, .uncores = 2, .cores = 2, .threads = 2};

static void each_way_takes_what_it_says(void **state)
{
	static const struct {
		const char *what, *available;
		size_t n;
		struct cpu_take_rules rules;
		const char *want;
	} cases[] = {
		{"nothing", "0-31", 0, {.group = 1}, ""},
		{"whole core", "0-31", 2, {.group = 1}, "0,16"},
		{"rest of a core first", "1-31", 1, {.group = 1}, "16"},
		{"whole node", "0-31", 8, {.group = 1}, "0-3,16-19"},
		{"whole socket", "0-31", 16, {.group = 1}, "0-7,16-23"},
		{"fullest node first", "0,4-15,16,20-31", 2, {.group = 1}, "0,16"},
		{"spread over cores", "0-31", 4, {.spread = true, .group = 1}, "0-3"},
		{"uncore cache", "1-31", 4, {.uncore = true, .group = 1}, "2-3,18-19"},
		{"odd in an uncore cache", "0-31", 3, {.uncore = true, .group = 1}, "0-1,16"},
		{"odd, up to 1.33", "1-31", 3,
			{.uncore = true, .group = 1, .version = {.uncore_rounds_down = true}}, "1,16-17"},
		{"distributed over two", "0-31", 10, {.distribute = true, .group = 1}, "0-2,4-6,16-17,20-21"},
		{"distributed in cores", "0-31", 12, {.distribute = true, .group = 2}, "0-2,4-6,16-18,20-22"},
		{"not in groups: packed", "0-31", 9, {.distribute = true, .group = 2}, "0-4,16-19"},
	};
	struct fixture f;

	(void)state;
	fixture_init(&f, &small);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		set_available(&f, cases[i].available);
		assert_int_equal(cpu_take(f.ws, &cases[i].rules, f.available, cases[i].n, f.taken).status,
			CPU_TAKE_OK);
		assert_taken(&f, cases[i].what, cases[i].want);
	}
	fixture_release(&f);
}

/* Sets a number of each CPU: of its core, L3 cache or NUMA node. */
static void set_numbers(struct fixture *f, const char *numbers, void (*set)(struct cpu *cpu, int number))
{
	assert_int_equal(strlen(numbers), f->machine.n_cpus);
	for (size_t i = 0; i < f->machine.n_cpus; i++)
		set(&f->machine.cpus[i], numbers[i] - '0');
	cpu_workspace_freep(&f->ws);
	cpu_topology_release(&f->t);
	assert_int_equal(cpu_topology_init(&f->t, &f->machine), 0);
	f->ws = cpu_workspace_new(&f->t);
}

static void set_core(struct cpu *cpu, int number)
{
	cpu->core = (unsigned)number;
}

static void set_uncore(struct cpu *cpu, int number)
{
	cpu->uncore = number;
}

static void set_numa(struct cpu *cpu, int number)
{
	cpu->numa = number;
}

/* Eight CPUs of one socket: what 1.37 and 1.38 take where cores or L3 caches differ in size, and which order they spread in. */
static void releases_take_other_cpus(void **state)
{
	static const struct synthetic eight = {
		.sockets = 1, .numas = 1, .uncores = 1, .cores = 8, .threads = 1};
	static const struct {
		const char *what, *cores, *uncores, *numas, *available;
		size_t n;
		struct cpu_take_rules rules;
		const char *want, *want_38;
	} cases[] = {
		{"spread: lowest ids, or one CPU of each core", "00112233", "00000000", "00000000", "1-7", 3,
			{.spread = true, .group = 1}, "1-3", "1-2,4"},
		{"spread: second CPUs after all first ones", "00112233", "00000000", "00000000", "0-7", 5,
			{.spread = true, .group = 1}, "0-4", "0-2,4,6"},
		{"spread: cores with the fewest free CPUs first", "00012222", "00000000", "00000000",
			"0-2,4,6", 3, {.spread = true, .group = 1}, "0-2", "0,4,6"},
		{"a core with one busy thread is no whole core", "00112345", "00000000", "00000000", "1-3", 2,
			{.group = 1}, "0-1", "2-3"},
		{"all whole caches before a part of one", "01234567", "00111111", "00000000", "0-7", 3,
			{.uncore = true, .group = 1}, "2-4", "0-2"},
		{"a cache over two NUMA nodes counts once", "01234567", "00011222", "00001111", "1-6", 5,
			{.uncore = true, .group = 1}, "1,3-4", "1-5"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (unsigned minor = 37; minor <= 38; minor++) {
			struct cpu_take_rules rules = cases[i].rules;
			struct fixture f;

			fixture_init(&f, &eight);
			set_numbers(&f, cases[i].cores, set_core);
			set_numbers(&f, cases[i].uncores, set_uncore);
			set_numbers(&f, cases[i].numas, set_numa);
			set_available(&f, cases[i].available);
			rules.version = kubelet_version_of(minor);
			assert_int_equal(
				cpu_take(f.ws, &rules, f.available, cases[i].n, f.taken).status, CPU_TAKE_OK);
			assert_taken(&f, cases[i].what, minor == 37 ? cases[i].want : cases[i].want_38);
			fixture_release(&f);
		}
}

/* What is left over after equal shares: from the nodes whose rests are then closest to each other. */
static void a_remainder_is_taken_where_it_evens_out(void **state)
{
	static const struct cpu_take_rules rules = {.distribute = true, .group = 1};
	static const struct {
		unsigned numas;
		const char *what, *available;
		size_t n;
		const char *want;
	} cases[] = {
		/* After 7 from each: 1, 3 and 4 are left. */
		{3, "one, of the node with most", "0-7,12-21,24-34", 22, "0-6,12-18,24-31"},
		/* 0, 0, 1 and 3: from both that have something, as from the last alone, which is looked at later. */
		{4, "three, of a node that has one left", "0-6,12-18,24-31,36-45", 31,
			"0-6,12-18,24-31,36-44"},
		/* 1, 1, 3 and 5. */
		{4, "three, all of one node", "0-7,12-19,24-33,36-47", 31, "0-6,12-18,24-30,36-45"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct synthetic nodes = {
			.sockets = 1, .numas = cases[i].numas, .uncores = 1, .cores = 12, .threads = 1};
		struct fixture f;

		fixture_init(&f, &nodes);
		set_available(&f, cases[i].available);
		assert_int_equal(
			cpu_take(f.ws, &rules, f.available, cases[i].n, f.taken).status, CPU_TAKE_OK);
		assert_taken(&f, cases[i].what, cases[i].want);
		fixture_release(&f);
	}
}

static void too_few_are_counted(void **state)
{
	const struct cpu_take_rules rules[] = {{.group = 1}, {.distribute = true, .group = 1}};
	struct fixture f;

	(void)state;
	fixture_init(&f, &small);
	set_available(&f, "3-5");
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct cpu_take take = cpu_take(f.ws, &rules[i], f.available, 4, f.taken);

		assert_int_equal(take.status, CPU_TAKE_NOT_ENOUGH);
		assert_int_equal(take.requested, 4);
		assert_int_equal(take.available, 3);
		assert_taken(&f, "nothing", "");
	}
	fixture_release(&f);
}

/* The second thread of two P-cores is offline: CPU 3 alone is as large as the average core. */
static void whole_cores_are_told_by_the_average(void **state)
{
	struct cpu cpus[] = {
		{.id = 0, .core = 0},
		{.id = 1, .core = 0},
		{.id = 2, .core = 2},
		{.id = 3, .core = 3},
		{.id = 4, .core = 4},
	};
	const struct machine m = {.cpus = cpus, .n_cpus = ARRAY_SIZE(cpus), .n_cores = 4};
	struct fixture f = {0};
	const uint32_t *list;

	(void)state;
	assert_int_equal(cpu_topology_init(&f.t, &m), 0);
	f.ws = cpu_workspace_new(&f.t);
	f.available = calloc(5, sizeof(bool));
	f.taken = calloc(5, sizeof(bool));
	assert_non_null(f.ws);
	set_available(&f, "0-4");
	/* A core of two is never whole where the average is one. */
	assert_int_equal(cpu_take_order(f.ws, CPU_LEVEL_CORE, true, f.available, &list), 3);
	fixture_release(&f);
}

static struct cpu_take_rules random_rules(uint64_t *random)
{
	unsigned way = (unsigned)(test_random(random) % 5);

	return (struct cpu_take_rules){
		.spread = way == 1, .uncore = way == 2, .distribute = way >= 3, .group = way == 4 ? 2 : 1};
}

/* On regular machines: exactly n, out of the available ones, the same again, and n fits whenever n are there.
 */
static void takes_are_exact(void **state)
{
	static const struct synthetic shapes[] = {
		{.sockets = 2, .numas = 2, .uncores = 2, .cores = 2, .threads = 2},
		{.sockets = 1, .numas = 1, .uncores = 3, .cores = 4, .threads = 1, .siblings_adjacent = true},
		{.sockets = 2, .numas = 4, .uncores = 1, .cores = 3, .threads = 2, .siblings_adjacent = true},
		{.sockets = 4, .numas = 1, .uncores = 2, .cores = 2, .threads = 4},
	};
	uint64_t random = test_seed(20261124);
	unsigned n_ok = 0;

	(void)state;
	for (int turn = 0; turn < 3000; turn++) {
		struct cpu_take_rules rules = random_rules(&random);
		size_t n_available = 0, n;
		struct cpu_take take;
		struct fixture f;

		fixture_init(&f, &shapes[turn % (int)ARRAY_SIZE(shapes)]);
		for (size_t i = 0; i < f.t.n_cpus; i++) {
			f.available[i] = test_random(&random) % 4 > 0;
			n_available += f.available[i];
		}
		n = test_random(&random) % (f.t.n_cpus + 2);
		take = cpu_take(f.ws, &rules, f.available, n, f.taken);
		assert_int_equal(take.status == CPU_TAKE_NOT_ENOUGH, n > n_available);
		if (take.status == CPU_TAKE_OK) {
			assert_int_equal(cpu_set_size(&f.t, f.taken), n);
			n_ok++;
		} else {
			assert_int_equal(cpu_set_size(&f.t, f.taken), 0);
		}
		for (size_t i = 0; i < f.t.n_cpus; i++)
			assert_true(f.available[i] || !f.taken[i]);
		cpu_take(f.ws, &rules, f.available, n, f.again);
		assert_memory_equal(f.taken, f.again, f.t.n_cpus);
		fixture_release(&f);
	}
	assert_true(n_ok > 1500);
}

/* 64 NUMA nodes and 8192 CPUs: an answer, or "unknown" after a bounded number of steps, never a hang. */
static void the_largest_machines_end(void **state)
{
	const struct synthetic large = {.sockets = 8, .numas = 8, .uncores = 2, .cores = 32, .threads = 2};
	const struct cpu_take_rules ways[] = {{.group = 1}, {.spread = true, .group = 1},
		{.uncore = true, .group = 1}, {.distribute = true, .group = 1},
		{.distribute = true, .group = 2}};
	const size_t counts[] = {1, 127, 1001, 4096, 8190};
	struct fixture f;
	unsigned n_unknown = 0;

	(void)state;
	fixture_init(&f, &large);
	assert_int_equal(f.t.n_cpus, 8192);
	for (size_t i = 0; i < f.t.n_cpus; i++)
		f.available[i] = i % 97 != 0;
	for (size_t w = 0; w < ARRAY_SIZE(ways); w++)
		for (size_t c = 0; c < ARRAY_SIZE(counts); c++) {
			struct cpu_take take = cpu_take(f.ws, &ways[w], f.available, counts[c], f.taken);

			if (take.status == CPU_TAKE_OK)
				assert_int_equal(cpu_set_size(&f.t, f.taken), counts[c]);
			else if (take.status == CPU_TAKE_UNKNOWN)
				n_unknown++;
			else
				assert_true(counts[c] > take.available || take.status == CPU_TAKE_MISCOUNTED);
		}
	/* Some distributions over 32 of 64 nodes are beyond reach: that is said. */
	assert_true(n_unknown > 0);
	fixture_release(&f);
}

/*
 * A node with parts of cores left: handing the remainder out in groups of 2 to nodes with one CPU each would
 * go round for ever in the kubelet.
 */
static void remainders_in_parts_of_groups_end(void **state)
{
	const struct cpu_take_rules rules = {.distribute = true, .group = 4};
	const struct synthetic four = {.sockets = 1, .numas = 4, .uncores = 1, .cores = 2, .threads = 4};
	struct fixture f;
	uint64_t random = test_seed(20261125);

	(void)state;
	fixture_init(&f, &four);
	for (int turn = 0; turn < 3000; turn++) {
		size_t n = 4 * (test_random(&random) % 8);

		for (size_t i = 0; i < f.t.n_cpus; i++)
			f.available[i] = test_random(&random) % 3 > 0;
		if (cpu_take(f.ws, &rules, f.available, n, f.taken).status == CPU_TAKE_OK)
			assert_int_equal(cpu_set_size(&f.t, f.taken), n);
	}
	fixture_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_way_takes_what_it_says),
		cmocka_unit_test(releases_take_other_cpus),
		cmocka_unit_test(a_remainder_is_taken_where_it_evens_out),
		cmocka_unit_test(too_few_are_counted),
		cmocka_unit_test(whole_cores_are_told_by_the_average),
		cmocka_unit_test(takes_are_exact),
		cmocka_unit_test(the_largest_machines_end),
		cmocka_unit_test(remainders_in_parts_of_groups_end),
	};

	return cmocka_run_group_tests_name("cpu_assignment", tests, NULL, NULL);
}
