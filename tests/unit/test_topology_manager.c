/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "common/cleanup.h"
#include "scoring/topology_manager.h"
#include "tests/lib/peers.h"
#include "tests/lib/synthetic.h"

#define MAX_RESOURCES 3

/* One resource's hints in a table: up to four. */
struct resource {
	size_t n;
	bool no_preference;
	struct topology_hint hints[64];
};

/* A hint that names nodes. */
static struct topology_hint hint(uint64_t nodes, bool preferred)
{
	return (struct topology_hint){.nodes = nodes, .preferred = preferred};
}

static struct topology_hint merge_all(struct topology_merge *merge, const struct topology_rules *rules,
	struct resource *resources, size_t n, bool *ret_admit)
{
	topology_merge_start(merge, rules);
	for (size_t i = 0; i < n; i++) {
		const struct topology_hints hints = {.items = resources[i].hints,
			.n_items = resources[i].n,
			.no_preference = resources[i].no_preference};

		topology_merge_add(merge, &hints);
	}
	return topology_merge_finish(merge, ret_admit);
}

/* The kubelet's way: every permutation, one after the other. */
struct permutation {
	const struct topology_rules *rules;
	struct resource lists[MAX_RESOURCES];
	size_t n;
	unsigned best_count;
	bool found;
	struct topology_hint best;
};

/* aggregateHintScores() of KEP-6007: the average of the scores of the hints so far. */
struct score_sum {
	unsigned sum, n;
};

static void try_permutations(struct permutation *p, size_t i, uint64_t mask, uint64_t named, bool preferred,
	struct score_sum scores)
{
	const struct topology_hint candidate = {.nodes = mask,
		.preferred = preferred,
		.score = (unsigned char)(scores.n ? scores.sum / scores.n : 0)};

	if (i == p->n) {
		if (topology_hint_replaces(p->rules, p->best_count, p->found ? &p->best : NULL, &candidate)) {
			p->best = candidate;
			p->found = true;
		}
		return;
	}
	for (size_t k = 0; k < p->lists[i].n; k++) {
		const struct topology_hint *h = &p->lists[i].hints[k];

		if (h->any_node)
			try_permutations(p, i + 1, mask, named, preferred && h->preferred, scores);
		else
			try_permutations(p, i + 1, mask & h->nodes, named ? named : h->nodes,
				preferred && h->preferred && (!named || named == h->nodes),
				(struct score_sum){scores.sum + h->score, scores.n + (h->score > 0)});
	}
}

static struct topology_hint merge_by_permutations(
	const struct topology_rules *rules, const struct resource *resources, size_t n)
{
	struct permutation p = {.rules = rules, .n = n, .best = {.nodes = rules->nodes->all}};

	for (size_t i = 0; i < n; i++) {
		struct resource given = resources[i], *list = &p.lists[i];
		unsigned narrowest;

		if (given.no_preference || given.n == 0)
			given.hints[0] =
				(struct topology_hint){.any_node = true, .preferred = given.no_preference};
		if (given.no_preference || given.n == 0)
			given.n = 1;
		for (size_t k = 0; k < given.n; k++)
			if (rules->policy != TOPOLOGY_MANAGER_SINGLE_NUMA_NODE ||
				topology_single_node_hint(given.hints[k]))
				list->hints[list->n++] = given.hints[k];
		narrowest = topology_hints_narrowest(
			&(struct topology_hints){.items = list->hints, .n_items = list->n});
		p.best_count = narrowest > p.best_count ? narrowest : p.best_count;
	}
	try_permutations(&p, 0, rules->nodes->all, 0, true, (struct score_sum){0, 0});
	if (rules->policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE && p.best.nodes == rules->nodes->all)
		p.best.any_node = true;
	return p.best;
}

static struct resource random_resource(uint64_t *random, uint64_t all)
{
	struct resource r = {.n = test_random(random) % 9, .no_preference = test_random(random) % 12 == 0};

	for (size_t i = 0; i < r.n; i++) {
		r.hints[i].any_node = test_random(random) % 16 == 0;
		r.hints[i].preferred = test_random(random) % 3 == 0;
		r.hints[i].nodes = r.hints[i].any_node ? 0 : test_random(random) & all;
	}
	if (r.no_preference)
		r.n = 0;
	return r;
}

/* Hints that are all preferred, of one resource. */
static void compare_preferred(
	uint64_t *random, struct topology_merge *merge, const struct topology_rules *rules, uint64_t reach)
{
	struct resource r = random_resource(random, reach);
	const struct topology_hints hints = {.items = r.hints, .n_items = r.n};
	struct topology_hint want, got;
	bool admit, admit_preferred;

	for (size_t i = 0; i < r.n; i++)
		r.hints[i] = hint(r.hints[i].nodes, true);
	r.no_preference = false;
	want = merge_all(merge, rules, &r, 1, &admit);
	topology_merge_start(merge, rules);
	if (!topology_merge_preferred(merge, &hints, &got, &admit_preferred)) {
		assert_false(want.preferred);
		return;
	}
	assert_true(got.nodes == want.nodes && got.any_node == want.any_node);
	assert_true(got.preferred && want.preferred && admit && admit_preferred);
}

/* Sets of masks against the cross product, with every policy, asymmetric distances and ids with holes. */
static void merges_equal_the_cross_product(void **state)
{
	static const unsigned ids[] = {0, 1, 2, 5, 9, 31, 62, 63};
	static uint32_t distance[64][64];
	static struct topology_nodes nodes = {.distance = distance};
	uint64_t random = test_seed(20261123);

	(void)state;
	for (int turn = 0; turn < 4000; turn++) {
		size_t n_nodes = 1 + test_random(&random) % 5, n = test_random(&random) % (MAX_RESOURCES + 1);
		struct resource resources[MAX_RESOURCES];
		uint64_t reach;
		struct topology_rules rules = {.nodes = &nodes};
		struct topology_merge merge;

		nodes.all = 0;
		for (size_t i = 0; i < n_nodes; i++)
			nodes.all |= node_mask_of(ids[(i + (size_t)turn) % ARRAY_SIZE(ids)]);
		for (unsigned a = 0; a < 64; a++)
			for (unsigned b = 0; b < 64; b++)
				distance[a][b] = a == b ? 10 : 10 + (uint32_t)(test_random(&random) % 4);
		/* Sometimes the machine has nodes that no hint names. */
		reach = test_random(&random) % 2 ? nodes.all : nodes.all & test_random(&random);
		for (size_t i = 0; i < n; i++)
			resources[i] = random_resource(&random, reach);
		assert_int_equal(topology_merge_init(&merge, nodes.all, reach), 0);
		for (int policy = TOPOLOGY_MANAGER_BEST_EFFORT; policy < TOPOLOGY_MANAGER_POLICY_COUNT;
			policy++) {
			struct topology_hint want, got;
			bool admit;

			rules.policy = (enum topology_manager_policy)policy;
			rules.prefer_closest = test_random(&random) % 2;
			compare_preferred(&random, &merge, &rules, reach);
			want = merge_by_permutations(&rules, resources, n);
			got = merge_all(&merge, &rules, resources, n, &admit);
			if (got.nodes != want.nodes || got.any_node != want.any_node ||
				got.preferred != want.preferred ||
				admit != topology_policy_admits(rules.policy, want.preferred))
				fail_msg("turn %d policy %d: %llx/%d/%d, cross product %llx/%d/%d", turn,
					policy, (unsigned long long)got.nodes, got.any_node, got.preferred,
					(unsigned long long)want.nodes, want.any_node, want.preferred);
		}
		topology_merge_release(&merge);
	}
}

/* Hints over all masks of some sizes, as the managers make them, each with a score. */
static struct resource scored_resource(uint64_t *random, uint64_t all)
{
	struct resource r = {.no_preference = test_random(random) % 12 == 0};
	unsigned preferred = 1 + (unsigned)(test_random(random) % 3);

	for (uint64_t mask = 1; mask <= all && !r.no_preference; mask++)
		if (!(mask & ~all) && node_mask_count(mask) >= preferred && test_random(random) % 3)
			r.hints[r.n++] = (struct topology_hint){.nodes = mask,
				.preferred = node_mask_count(mask) == preferred,
				.score = (unsigned char)(1 + test_random(random) % 4)};
	return r;
}

/* KEP-6007's comparison of each permutation against scores per mask. What is not determined depends on the order of the resources. */
static void scores_equal_the_cross_product(void **state)
{
	static uint32_t distance[64][64];
	static struct topology_nodes nodes = {.distance = distance};
	uint64_t random = test_seed(20261126);
	size_t n_undetermined = 0, n_moved = 0;

	(void)state;
	for (int turn = 0; turn < 3000; turn++) {
		size_t n_nodes = 2 + test_random(&random) % 3, n = 1 + test_random(&random) % MAX_RESOURCES;
		struct topology_rules rules = {.nodes = &nodes};
		struct resource resources[MAX_RESOURCES];
		struct topology_merge merge;

		nodes.all = (UINT64_C(1) << n_nodes) - 1;
		for (unsigned a = 0; a < 64; a++)
			for (unsigned b = 0; b < 64; b++)
				distance[a][b] = a == b ? 10 : 10 + (uint32_t)(test_random(&random) % 2);
		for (size_t i = 0; i < n; i++)
			resources[i] = scored_resource(&random, nodes.all);
		assert_int_equal(topology_merge_init(&merge, nodes.all, nodes.all), 0);
		for (int k = 0; k < 3 * NUMA_ALLOCATION_COUNT; k++) {
			struct topology_hint want, got, without;
			bool admit;

			rules.policy = (enum topology_manager_policy)(TOPOLOGY_MANAGER_BEST_EFFORT + k % 3);
			rules.strategy = NUMA_ALLOCATION_NONE;
			rules.prefer_closest = test_random(&random) % 2;
			without = merge_all(&merge, &rules, resources, n, &admit);
			rules.strategy = (enum numa_allocation_strategy)(k / 3);
			want = merge_by_permutations(&rules, resources, n);
			got = merge_all(&merge, &rules, resources, n, &admit);
			n_undetermined += merge.undetermined;
			n_moved += got.preferred && got.nodes != without.nodes;
			assert_true(admit == topology_policy_admits(rules.policy, without.preferred));
			assert_true(got.preferred == without.preferred);
			assert_false(got.preferred && merge.undetermined);
			if (!merge.undetermined && got.nodes != want.nodes)
				fail_msg("turn %d: %llx, cross product %llx", turn,
					(unsigned long long)got.nodes, (unsigned long long)want.nodes);
		}
		topology_merge_release(&merge);
	}
	assert_in_range(n_undetermined, 100, 20000);
	assert_in_range(n_moved, 1000, 20000);
}

static void count_amounts(const void *ctx, uint64_t nodes, uint64_t *ret_allocatable, uint64_t *ret_free)
{
	const uint64_t *amounts = ctx;

	(void)nodes;
	*ret_allocatable = amounts[0];
	*ret_free = amounts[1];
}

/* max(1, assigned * 100 / allocatable); 0 = not scored */
static void scores_are_percentages(void **state)
{
	static const struct {
		uint64_t allocatable_free[2];
		unsigned score;
	} cases[] = {
		{{128, 128},
			1}, /* one CPU of 128 is less than a percent: the lowest id, as without the option */
		{{128, 127}, 1},
		{{128, 64}, 50},
		{{128, 1}, 99},
		{{3, 1}, 66},
		{{128, 0}, 100},
		{{UINT64_C(1) << 63, 0}, 100},
		{{0, 0}, 0},
		{{4, 5}, 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct topology_hint items[] = {hint(1, true)};
		struct topology_hints hints = {.items = items, .n_items = 1};

		topology_hints_score(&hints, count_amounts, cases[i].allocatable_free);
		assert_int_equal(items[0].score, cases[i].score);
	}
}

/* The comparison of KEP-6007, step by step, on two NUMA nodes. */
static void the_strategy_breaks_ties(void **state)
{
	static const struct {
		enum numa_allocation_strategy strategy;
		unsigned char cpu[2], memory[2]; /* scores on each NUMA node; 0 = no score */
		uint64_t nodes;
	} cases[] = {
		{NUMA_ALLOCATION_NONE, {10, 90}, {10, 90}, 1},
		{NUMA_ALLOCATION_MOST, {10, 90}, {10, 90}, 2},
		{NUMA_ALLOCATION_LEAST, {10, 90}, {10, 90}, 1},
		{NUMA_ALLOCATION_LEAST, {90, 10}, {90, 10}, 2},
		/* the average of both: 60 and 50 */
		{NUMA_ALLOCATION_MOST, {40, 90}, {80, 10}, 1},
		{NUMA_ALLOCATION_LEAST, {40, 90}, {80, 10}, 2},
		/* equal after the division, 60.5 and 60: the lowest id */
		{NUMA_ALLOCATION_LEAST, {41, 40}, {80, 80}, 1},
		{NUMA_ALLOCATION_MOST, {40, 41}, {80, 80}, 1},
		/* without scores of one resource only the other counts; without any, the lowest id */
		{NUMA_ALLOCATION_MOST, {0, 0}, {10, 90}, 2},
		{NUMA_ALLOCATION_MOST, {0, 0}, {0, 0}, 1},
		{NUMA_ALLOCATION_LEAST, {50, 0}, {50, 0}, 1},
	};
	static const struct topology_nodes nodes = {.all = 3};
	struct topology_merge merge;

	(void)state;
	assert_int_equal(topology_merge_init(&merge, 3, 3), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (int policy = TOPOLOGY_MANAGER_BEST_EFFORT; policy < TOPOLOGY_MANAGER_POLICY_COUNT;
			policy++) {
			const struct topology_rules rules = {.nodes = &nodes,
				.policy = (enum topology_manager_policy)policy,
				.strategy = cases[i].strategy};
			struct resource resources[2] = {
				{.n = 3, .hints = {hint(1, true), hint(2, true), hint(3, false)}},
				{.n = 3, .hints = {hint(1, true), hint(2, true), hint(3, false)}}};
			bool admit;

			for (size_t k = 0; k < 2; k++) {
				resources[0].hints[k].score = cases[i].cpu[k];
				resources[1].hints[k].score = cases[i].memory[k];
			}
			assert_int_equal(
				merge_all(&merge, &rules, resources, 2, &admit).nodes, cases[i].nodes);
			assert_true(admit);
		}
	topology_merge_release(&merge);
}

/* Consequences that an operator meets, each on two NUMA nodes. */
static void known_situations(void **state)
{
	static const struct topology_nodes nodes = {.all = 3};
	struct topology_rules restricted = {.nodes = &nodes, .policy = TOPOLOGY_MANAGER_RESTRICTED};
	struct topology_rules single = {.nodes = &nodes, .policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE};
	struct resource wide_cpus = {.n = 1, .hints = {hint(3, true)}};
	struct resource node_1 = {.n = 2, .hints = {hint(2, true), hint(3, false)}};
	struct resource fragmented = {.n = 1, .hints = {hint(3, false)}};
	struct resource indifferent = {.no_preference = true};
	struct topology_merge merge;
	struct topology_hint best;
	bool admit;

	(void)state;
	assert_int_equal(topology_merge_init(&merge, 3, 3), 0);
	/* Preferred hints that overlap, but are not the same. */
	best = merge_all(&merge, &restricted, (struct resource[]){wide_cpus, node_1}, 2, &admit);
	assert_false(admit);
	assert_int_equal(best.nodes, 3);
	/* Fits one node by size, is free on two only. */
	merge_all(&merge, &restricted, &fragmented, 1, &admit);
	assert_false(admit);
	/* No preference never hurts. */
	best = merge_all(&merge, &single, (struct resource[]){indifferent, node_1, indifferent}, 3, &admit);
	assert_true(admit);
	assert_int_equal(best.nodes, 2);
	assert_false(best.any_node);
	/* Nobody has a preference: any node, and admitted. */
	best = merge_all(&merge, &single, &indifferent, 1, &admit);
	assert_true(admit);
	assert_true(best.any_node);
	topology_merge_release(&merge);
}

static void policy_none_merges_nothing(void **state)
{
	static const struct topology_nodes nodes = {.all = 3};
	const struct topology_rules none = {.nodes = &nodes, .policy = TOPOLOGY_MANAGER_NONE};
	struct resource impossible = {.n = 0};
	struct topology_merge merge;
	struct topology_hint best;
	bool admit;

	(void)state;
	assert_int_equal(topology_merge_init(&merge, 3, 3), 0);
	best = merge_all(&merge, &none, &impossible, 1, &admit);
	assert_true(admit);
	assert_true(best.any_node);
	assert_false(best.preferred);
	topology_merge_release(&merge);
}

static void too_many_nodes_are_refused(void **state)
{
	struct topology_merge merge;

	(void)state;
	assert_int_equal(topology_merge_init(&merge, UINT64_MAX, 0x1ffff), -E2BIG);
	assert_int_equal(topology_merge_init(&merge, UINT64_MAX, 0xffff), -E2BIG);
	assert_int_equal(topology_merge_init(&merge, 0xffff, 0xffff), 0);
	topology_merge_release(&merge);
	/* 36 nodes of which 15 can be named. */
	assert_int_equal(topology_merge_init(&merge, 0xfffffffffu, 0x7fff), 0);
	topology_merge_release(&merge);
}

static void nodes_come_from_the_machine(void **state)
{
	static struct topology_nodes nodes;
	const struct synthetic s = {.sockets = 2, .numas = 2, .uncores = 1, .cores = 1, .threads = 1};
	struct machine m;

	(void)state;
	synthetic_machine(&s, &m);
	assert_true(topology_nodes_from_machine(&m, &nodes));
	assert_int_equal(nodes.all, 0xf);
	assert_true(nodes.distances_known);
	assert_int_equal(topology_distance_sum(&nodes, 3), 10 + 12 + 12 + 10);
	assert_true(topology_closer(&nodes, 5, 3));
	assert_false(topology_closer(&nodes, 3, 5));
	/* As far apart as each other: the smaller number. */
	assert_true(topology_closer(&nodes, 9, 5));
	assert_false(topology_closer(&nodes, 5, 5));
	/* A hole in the ids: node 3 becomes node 40, and its distances stay at their position. */
	m.nodes[3].id = 40;
	topology_nodes_release(&nodes);
	assert_true(topology_nodes_from_machine(&m, &nodes));
	assert_int_equal(nodes.distance[2][3], 12);
	assert_true(nodes.beyond == (uint64_t)1 << 40);
	m.distances[1] = 0;
	topology_nodes_release(&nodes);
	assert_true(topology_nodes_from_machine(&m, &nodes));
	assert_false(nodes.distances_known);
	m.nodes[3].id = 64;
	topology_nodes_release(&nodes);
	assert_false(topology_nodes_from_machine(&m, &nodes));
	topology_nodes_release(&nodes);
	machine_release(&m);
}

#define BIT(id) ((uint64_t)1 << (id))

/* NUMA nodes 0, 8 and 9, whose distances are lists of three: what the order of the hints has to do with a panic. */
static void panics_depend_on_the_order(void **state)
{
	static const struct topology_hint a[] = {{.nodes = BIT(0) | BIT(9), .preferred = true},
		{.nodes = BIT(8) | BIT(9)}},
					  b[] = {{.nodes = BIT(0) | BIT(8)},
						  {.nodes = BIT(0) | BIT(9), .preferred = true}};
	static const struct {
		const struct topology_hint *lists[2];
		size_t n_indifferent, n_unordered;
		bool preferred_first;
		enum topology_panic want;
	} cases[] = {
		{{a, b}, 0, 1, false, TOPOLOGY_PANIC_NONE},
		{{b, a}, 0, 1, false, TOPOLOGY_PANIC_CERTAIN},
		{{a, b}, 0, 2, false, TOPOLOGY_PANIC_POSSIBLE},
		{{a, b}, 0, 2, true, TOPOLOGY_PANIC_NONE},
		/* too many orders to walk */
		{{a, b}, 2, 4, false, TOPOLOGY_PANIC_POSSIBLE},
		{{a, b}, NODE_MASK_WALK_MAX, 0, false, TOPOLOGY_PANIC_POSSIBLE},
		{{a, a}, NODE_MASK_WALK_MAX, 0, true, TOPOLOGY_PANIC_NONE},
	};
	static const struct topology_hints indifferent = {.no_preference = true};
	const struct synthetic s = {.sockets = 3, .numas = 1, .uncores = 1, .cores = 1, .threads = 1};
	struct topology_nodes nodes;
	struct topology_merge merge;
	struct machine m;

	(void)state;
	synthetic_machine(&s, &m);
	m.nodes[1].id = 8;
	m.nodes[2].id = 9;
	assert_true(topology_nodes_from_machine(&m, &nodes));
	assert_int_equal(topology_merge_init(&merge, nodes.all, nodes.all), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct topology_rules rules = {.nodes = &nodes,
			.policy = TOPOLOGY_MANAGER_BEST_EFFORT,
			.prefer_closest = true,
			.preferred_first = cases[i].preferred_first};
		bool admit;

		assert_true(topology_may_panic(&rules));
		topology_merge_start(&merge, &rules);
		for (size_t list = 0; list < 2; list++) {
			struct topology_hints hints;

			topology_hints_init(&hints, 2);
			for (size_t h = 0; h < 2; h++)
				topology_hints_add(&hints, cases[i].lists[list][h].nodes,
					cases[i].lists[list][h].preferred);
			topology_merge_add(&merge, &hints);
			topology_hints_release(&hints);
		}
		for (size_t n = 0; n < cases[i].n_indifferent; n++)
			topology_merge_add(&merge, &indifferent);
		merge.n_unordered = cases[i].n_unordered;
		topology_merge_finish(&merge, &admit);
		if (merge.panic != cases[i].want)
			fail_msg("case %zu: %d", i, (int)merge.panic);
	}
	topology_merge_release(&merge);
	topology_nodes_release(&nodes);
	machine_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merges_equal_the_cross_product),
		cmocka_unit_test(scores_equal_the_cross_product),
		cmocka_unit_test(scores_are_percentages),
		cmocka_unit_test(the_strategy_breaks_ties),
		cmocka_unit_test(known_situations),
		cmocka_unit_test(policy_none_merges_nothing),
		cmocka_unit_test(too_many_nodes_are_refused),
		cmocka_unit_test(nodes_come_from_the_machine),
		cmocka_unit_test(panics_depend_on_the_order),
	};

	return cmocka_run_group_tests_name("topology_manager", tests, NULL, NULL);
}
