/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distribution over NUMA nodes against a plain version of takeByTopologyNUMADistributed that leaves nothing out: every
 * combination, every subset for the remainder, the balance of each in floating point, in each release that differs.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "common/cleanup.h"
#include "scoring/cpu_assignment.h"
#include "tests/lib/synthetic.h"
#include "tests/lib/test.h"

#define MAX_NUMAS 16

struct plain {
	size_t n_numas, order[MAX_NUMAS]; /* NUMA nodes with free CPUs, as the kubelet orders them */
	long n_free[MAX_NUMAS], n, group;
	bool by_socket;   /* the option; each node is a socket */
	size_t min_numas; /* of the hint */
	struct kubelet_version version;
	long taken[MAX_NUMAS]; /* the answer */
	bool endless;          /* or the kubelet never ends */
};

/* Elements of a combination, in the order of the masks' lowest bits first: lexicographic order of positions. */
static size_t next(size_t *at, size_t k, size_t n, bool first)
{
	size_t i = k;

	if (first) {
		for (i = 0; i < k; i++)
			at[i] = i;
		return k <= n;
	}
	while (i > 0 && at[i - 1] == n - k + i - 1)
		i--;
	if (i == 0)
		return 0;
	at[i - 1]++;
	for (; i < k; i++)
		at[i] = at[i - 1] + 1;
	return 1;
}

/* Go's append() lets combinations share memory beyond the first 1, 2, 3, 5, 9, ... elements, up to 1.37. */
static void share_memory(const struct plain *p, size_t *kept, const size_t *visited, size_t k)
{
	size_t own = k <= 1 ? 1 : k <= 2 ? 2 : k <= 4 ? 3 : k <= 8 ? 5 : 9;

	if (p->version.combinations_share_memory && !memcmp(kept, visited, own * sizeof(*kept)))
		memcpy(kept, visited, k * sizeof(*kept));
}

static double round_thousandths(double x)
{
	return round(x * 1000) / 1000;
}

static double balance(const struct plain *p, const long *left)
{
	double sum = 0, mean = 0, n = 0;

	for (size_t x = 0; x < MAX_NUMAS; x++) {
		n += p->n_free[x] > 0;
		mean += (double)left[x];
	}
	mean = round_thousandths(mean / n);
	for (size_t x = 0; x < MAX_NUMAS; x++)
		if (p->n_free[x] > 0)
			sum += ((double)left[x] - mean) * ((double)left[x] - mean);
	return round_thousandths(sqrt(sum / n));
}

/* Round robin over the subset; false where the kubelet skips the subset, or never ends (p->endless). */
static bool hand_out(struct plain *p, long *left, const size_t *nodes, size_t n, long remainder)
{
	long groups = 0, cpus = 0;

	for (size_t i = 0; i < n; i++) {
		groups += left[nodes[i]] / p->group;
		cpus += left[nodes[i]];
	}
	if ((p->version.remainder_counts_cpus ? cpus : groups * p->group) < remainder)
		return false;
	while (remainder > 0) {
		long before = remainder;

		for (size_t i = 0; i < n && remainder > 0; i++)
			if (left[nodes[i]] >= p->group) {
				left[nodes[i]] -= p->group;
				remainder -= p->group;
			}
		p->endless = p->endless || remainder == before;
		if (remainder == before)
			return false;
	}
	return true;
}

/* The best balance of a combination, `left` being what its shares have left; the nodes for the remainder in `ret`. */
static double best_subset(struct plain *p, const long *left, const size_t *combo, size_t k, long remainder,
	size_t *ret, size_t *ret_n)
{
	size_t candidates[MAX_NUMAS], n_candidates = 0, at[MAX_NUMAS], kept_at[MAX_NUMAS];
	double best = DBL_MAX;

	*ret_n = 0;
	if (remainder == 0)
		return balance(p, left);
	for (size_t i = 0; i < k; i++)
		if (left[combo[i]] >= p->group)
			candidates[n_candidates++] = combo[i];
	for (size_t n = n_candidates; n > 0; n--) {
		bool kept = false;

		for (size_t more = next(at, n, n_candidates, true); more;
			more = next(at, n, n_candidates, false)) {
			long after[MAX_NUMAS];
			size_t nodes[MAX_NUMAS];

			if (kept)
				share_memory(p, kept_at, at, n);
			for (size_t i = 0; i < n; i++)
				nodes[i] = candidates[at[i]];
			memcpy(after, left, sizeof(after));
			if (!hand_out(p, after, nodes, n, remainder) || balance(p, after) >= best)
				continue;
			best = balance(p, after);
			kept = true;
			*ret_n = n;
			memcpy(kept_at, at, sizeof(at));
		}
	}
	for (size_t i = 0; i < *ret_n; i++)
		ret[i] = candidates[kept_at[i]];
	return best;
}

static bool serves(const struct plain *p, const size_t *nodes, size_t k, long share)
{
	long cpus = 0, groups = 0;

	for (size_t i = 0; i < k; i++) {
		if (p->n_free[nodes[i]] < share)
			return false;
		cpus += p->n_free[nodes[i]];
		groups += p->n_free[nodes[i]] / p->group;
	}
	return cpus >= p->n && groups * p->group >= p->n;
}

static long share_of(const struct plain *p, const size_t *at, size_t k, bool held)
{
	long share = p->n / (long)k / p->group * p->group;

	for (size_t i = 0; held && i < k; i++)
		if (p->n_free[p->order[at[i]]] / p->group * p->group < share)
			share = p->n_free[p->order[at[i]]] / p->group * p->group;
	return share;
}

/* Take what the combination and the nodes of the remainder give; false where that never ends. */
static bool take_all(struct plain *p, const size_t *kept, size_t k, const size_t *subset, size_t n_subset)
{
	long share = share_of(p, kept, k, p->version.distribution_heeds_sockets),
	     remainder = p->n - share * (long)k;

	for (size_t i = 0; i < k; i++)
		p->taken[p->order[kept[i]]] += share;
	while (remainder > 0) {
		long before = remainder;

		for (size_t i = 0; i < n_subset && remainder > 0; i++)
			if (p->n_free[subset[i]] - p->taken[subset[i]] >= p->group) {
				p->taken[subset[i]] += p->group;
				remainder -= p->group;
			}
		if (remainder == before)
			return false;
	}
	return true;
}

/* The combination of k nodes with the best balance gives p->taken; false when none serves. */
static bool distribute_over(struct plain *p, size_t k)
{
	bool by_socket = p->by_socket && p->version.distribution_heeds_sockets, one = k == 1;
	size_t at[MAX_NUMAS], kept[MAX_NUMAS], subset[MAX_NUMAS], n_subset = 0;
	double best = DBL_MAX;

	for (size_t more = next(at, k, p->n_numas, true); more; more = next(at, k, p->n_numas, false)) {
		size_t nodes[MAX_NUMAS], found[MAX_NUMAS], n_found;
		long left[MAX_NUMAS], share;
		double score;

		if (best < DBL_MAX)
			share_memory(p, kept, at, k);
		if (best == 0 && (!by_socket || one))
			break;
		share = share_of(p, at, k, by_socket);
		for (size_t i = 0; i < k; i++)
			nodes[i] = p->order[at[i]];
		if (!serves(p, nodes, k, share))
			continue;
		memcpy(left, p->n_free, sizeof(left));
		for (size_t i = 0; i < k; i++)
			left[nodes[i]] -= share;
		score = best_subset(p, left, nodes, k, p->n - share * (long)k, found, &n_found);
		if (p->endless)
			return true;
		if (score >= best)
			continue;
		best = score;
		memcpy(kept, at, sizeof(at));
		memcpy(subset, found, sizeof(found));
		n_subset = n_found;
	}
	p->endless = best < DBL_MAX && !take_all(p, kept, k, subset, n_subset);
	return best < DBL_MAX;
}

/* Random free CPUs, mostly in whole cores where groups are of two; the nodes in the order of one socket a node. */
static void random_case(uint64_t *random, const struct cpu_topology *t, struct plain *p, bool *available)
{
	const struct cpu_elements *numa = &t->levels[CPU_LEVEL_NUMA], *core = &t->levels[CPU_LEVEL_CORE];
	uint64_t total = 0, steps = 1 + test_random(random) % 12, busy[MAX_NUMAS];

	bool whole = test_random(random) % 4;

	*p = (struct plain){.group = test_random(random) % 2 ? 1 : 2,
		.by_socket = test_random(random) % 2,
		.min_numas = test_random(random) % 3 ? 0 : test_random(random) % 8,
		.version = kubelet_version_of(36 + (unsigned)(test_random(random) % 3))};
	for (size_t x = 0; x < numa->n; x++)
		busy[x] = test_random(random) % steps;
	for (size_t i = 0; i < t->n_cpus; i++) {
		available[i] = test_random(random) % 12 >= busy[numa->of[i]];
		if (p->group > 1 && !whole) /* a thread of one core is reserved: K1 */
			available[i] = i != numa->cpus[numa->first[numa->of[i]]];
		else if (p->group > 1)
			available[i] = available[core->cpus[core->first[core->of[i]]]];
	}
	for (size_t i = 0; i < t->n_cpus; i++) {
		p->n_free[numa->of[i]] += available[i];
		total += available[i];
	}
	for (size_t x = 0; x < numa->n; x++) {
		size_t at = p->n_numas;

		if (p->n_free[x] == 0)
			continue;
		for (; at > 0 && p->n_free[p->order[at - 1]] > p->n_free[x]; at--)
			p->order[at] = p->order[at - 1];
		p->order[at] = x;
		p->n_numas++;
	}
	p->n = total > 1 ? 1 + (long)(test_random(random) % total) : 1;
	p->n -= p->n % p->group;
}

static void distributions_equal_the_plain_one(void **state)
{
	uint64_t random = test_seed(20261122);
	unsigned compared = 0, n_endless[2] = {0, 0};

	(void)state;
	for (unsigned turn = 0; turn < 6000; turn++) {
		const struct synthetic shape = {.sockets = 1 + (unsigned)(test_random(&random) % 8),
			.numas = 1,
			.uncores = 1,
			.cores = 1 + (unsigned)(test_random(&random) % 12),
			.threads = 2};
		CLEANUP(machine_release) struct machine machine;
		CLEANUP(cpu_topology_release) struct cpu_topology t;
		struct cpu_take_rules rules = {.distribute = true};
		bool available[8 * 24], taken[8 * 24];
		struct cpu_workspace *ws;
		struct plain p;
		long n_groups, k;

		synthetic_machine(&shape, &machine);
		assert_int_equal(cpu_topology_init(&t, &machine), 0);
		ws = cpu_workspace_new(&t);
		assert_non_null(ws);
		random_case(&random, &t, &p, available);
		rules.group = (unsigned)p.group;
		rules.by_socket = p.by_socket;
		rules.version = p.version;
		rules.min_numas = (unsigned)p.min_numas;
		n_groups = p.n / p.group;
		k = (n_groups + (long)shape.cores * 2 / p.group - 1) / ((long)shape.cores * 2 / p.group);
		if ((long)p.min_numas > k && (long)p.min_numas <= n_groups && p.min_numas <= p.n_numas)
			k = (long)p.min_numas;
		while (k > 0 && k <= n_groups && k <= (long)p.n_numas && !distribute_over(&p, (size_t)k))
			k++;
		if (k > 0 && k <= n_groups && k <= (long)p.n_numas) {
			assert_int_equal(cpu_take(ws, &rules, available, (size_t)p.n, taken).status,
				p.endless ? CPU_TAKE_ENDLESS : CPU_TAKE_OK);
			n_endless[p.version.remainder_counts_cpus] += p.endless;
			for (size_t i = 0; !p.endless && i < t.n_cpus; i++)
				p.taken[t.levels[CPU_LEVEL_NUMA].of[i]] -= taken[i];
			for (size_t x = 0; !p.endless && x < MAX_NUMAS; x++)
				if (p.taken[x] != 0)
					fail_msg("turn %u, %ld CPUs: NUMA node %zu differs by %ld", turn, p.n,
						x, p.taken[x]);
			compared++;
		}
		cpu_workspace_freep(&ws);
	}
	assert_true(compared > 4500 && n_endless[true] > 20 && n_endless[false] == 0);
}

/* Free CPUs of each of 8 NUMA nodes. */
static void free_cpus(const struct cpu_topology *t, const unsigned *n_free, bool *available)
{
	const struct cpu_elements *numa = &t->levels[CPU_LEVEL_NUMA];

	for (size_t x = 0; x < numa->n; x++)
		for (uint32_t k = numa->first[x]; k < numa->first[x + 1]; k++)
			available[numa->cpus[k]] = k - numa->first[x] < n_free[x];
}

/* Also where the kept combination is overwritten by one whose nodes have not enough, as with the 15 CPUs. */
static void counting_gives_the_same_status(void **state)
{
	static const struct synthetic shape = {
		.sockets = 4, .numas = 2, .uncores = 1, .cores = 2, .threads = 2};
	CLEANUP(machine_release) struct machine machine;
	CLEANUP(cpu_topology_release) struct cpu_topology t;
	unsigned n_free[8] = {2, 2, 2, 2, 2, 2, 4, 1};
	uint64_t random = test_seed(20261126);
	bool available[32], taken[32];
	struct cpu_workspace *ws;
	size_t n = 15;

	(void)state;
	synthetic_machine(&shape, &machine);
	assert_int_equal(cpu_topology_init(&t, &machine), 0);
	ws = cpu_workspace_new(&t);
	assert_non_null(ws);
	for (unsigned turn = 0; turn < 4000; turn++) {
		struct cpu_take_rules rules = {.distribute = turn % 8 != 1,
			.group = turn ? (unsigned)(test_random(&random) % 4) : 1,
			.min_numas = turn % 3 ? 0 : turn % 7,
			.version = kubelet_version_of(36 + turn % 3)};
		struct cpu_take want, got;

		free_cpus(&t, n_free, available);
		want = cpu_take(ws, &rules, available, n, taken);
		got = cpu_take_counted(ws, &rules, available, n);
		if (got.status != want.status || got.remaining != want.remaining)
			fail_msg("turn %u, %zu CPUs: status %u, want %u", turn, n, got.status, want.status);
		if (turn == 0)
			assert_true(got.status == CPU_TAKE_MISCOUNTED && got.remaining == 2);
		for (size_t x = 0; x < 8; x++)
			n_free[x] = (unsigned)(test_random(&random) % 5);
		n = test_random(&random) % (t.n_cpus + 2);
	}
	cpu_workspace_freep(&ws);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distributions_equal_the_plain_one),
		cmocka_unit_test(counting_gives_the_same_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
