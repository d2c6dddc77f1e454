/* SPDX-License-Identifier: Apache-2.0 */
/*
 * distribute-cpus-across-numa: takeByTopologyNUMADistributed of the kubelet's cpu_assignment.go (KEP-2902),
 * with two differences: the work is bounded, and where the kubelet would loop forever, the status says so.
 */
#include "scoring/cpu_assignment.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The distribution of a number of CPUs. */
struct distribution {
	struct cpu_workspace *ws;
	const struct cpu_take_rules *rules;
	struct cpu_accumulator *acc;
	long requested, group;
	size_t n_numas; /* entries of ws->numas: NUMA nodes with available CPUs, ordered; may repeat a node */
	long n_with_free;                 /* NUMA nodes with available CPUs, each counted once */
	double mean_left;                 /* mean of the CPUs left on each NUMA node with available CPUs */
	int64_t squares;                  /* sum of the squared free CPUs of the NUMA nodes */
	bool counting;                    /* only count CPUs per NUMA node, choose none */
	bool by_socket;                   /* combinations within one socket are better than all others */
	bool endless;                     /* the kubelet would loop forever */
	unsigned steps;                   /* combinations tried */
	struct kubelet_distribution cost; /* what the kubelet does; it skips less */
};

#define COUNTED_CANDIDATES 40u /* with more, the kubelet takes days for one combination */

/* Count one combination. False when the limit is exceeded. */
static bool count_distribution_step(struct distribution *d)
{
	bool afforded = work_add(d->ws->work, d->ws->topology->levels[CPU_LEVEL_NUMA].n);

	d->steps++;
	return d->steps <= CPU_TAKE_MAX_STEPS && afforded;
}

/* The next combination of k of n positions in lexicographic order; *started is false before the first. */
static bool next_combination(uint32_t *at, size_t k, size_t n, bool *started)
{
	size_t i = k;

	if (k == 0 || k > n)
		return false; /* GCOVR_EXCL_LINE: both callers choose 1 to n */
	if (!*started) {
		*started = true;
		for (i = 0; i < k; i++)
			at[i] = (uint32_t)i;
		return true;
	}
	while (i > 0 && at[i - 1] == n - k + i - 1)
		i--;
	if (i == 0)
		return false;
	at[i - 1]++;
	for (; i < k; i++)
		at[i] = at[i - 1] + 1;
	return true;
}

/*
 * Up to 1.37 the kubelet builds combinations with append() and keeps a reference to the best one. Go grows a slice to
 * 1, 2, 4, 8, ... elements, so a combination of k elements shares memory with later ones that have the same
 * first 1, 2, 3, 5, 9, ... elements: visiting these overwrites the tail of the kept combination
 * (DEFECTS.md, K20). Decisions for four and more NUMA nodes depend on this.
 */
static size_t unshared_elements(size_t k)
{
	size_t own = 1;

	for (size_t room = 1; room < k; room *= 2)
		own = room + 1;
	return own;
}

/* Let the combination just visited overwrite the elements that it shares with the kept one. */
static void overwrite_shared(const struct distribution *d, uint32_t *kept, const uint32_t *visited, size_t k)
{
	size_t own = unshared_elements(k);

	if (d->rules->version.combinations_share_memory && !memcmp(kept, visited, own * sizeof(*kept)))
		memcpy(kept, visited, k * sizeof(*kept));
}

static double to_thousandths(double x)
{
	return round(x * 1000) / 1000;
}

/* A balance score. Its integers often prove, without a square root, that another balance is not better. */
struct balance {
	double score;    /* the kubelet's score; DBL_MAX = none */
	int64_t squares; /* sum of the squared CPUs left on each NUMA node */
	bool settled;    /* every balance with these squares has this score */
};

static const struct balance no_balance = {.score = DBL_MAX, .squares = INT64_MAX};
static const struct balance unbeatable = {.score = -1, .squares = INT64_MIN, .settled = true};

/*
 * Whether a balance with these squares may have a lower score than `best`. All combinations leave the same
 * number of CPUs, so the score rises with the squares. With equal squares the order of summation changes
 * the root by less than a ten-millionth of a thousandth, and changes the score only if the root is that
 * close to a rounding boundary.
 */
static bool may_be_below(const struct balance *best, int64_t squares)
{
	return squares < best->squares || (squares == best->squares && !best->settled);
}

/*
 * The balance score of ws->left_after: the rounded standard deviation over all NUMA nodes that had free
 * CPUs.
 */
static struct balance balance_of(const struct distribution *d, int64_t squares)
{
	const uint32_t *n_free = d->acc->n_free[CPU_LEVEL_NUMA];
	const long *left = d->ws->left_after;
	size_t n_numas = d->ws->topology->levels[CPU_LEVEL_NUMA].n;
	struct balance b = {.squares = squares};
	double sum = 0, root;

	for (size_t x = 0; x < n_numas; x++)
		if (n_free[x] > 0)
			sum += ((double)left[x] - d->mean_left) * ((double)left[x] - d->mean_left);
	root = sqrt(sum / (double)d->n_with_free);
	b.score = to_thousandths(root);
	b.settled = fabs(root * 1000 - floor(root * 1000) - 0.5) > 1e-5;
	return b;
}

/* The change of the squares when n of `left` CPUs are taken: (left - n)^2 - left^2. */
static int64_t squares_change(long left, long n)
{
	return (int64_t)n * (n - 2 * left);
}

/*
 * Assign `remainder` CPUs in groups, round robin over the subset, from ws->left to ws->left_after, and
 * update *squares. False: the groups of the subset do not suffice. may_loop_forever() has made sure that the
 * kubelet skips such a subset too.
 */
static bool assign_remainder(
	const struct distribution *d, const uint32_t *subset, size_t n, long remainder, int64_t *squares)
{
	struct cpu_workspace *ws = d->ws;
	long groups = 0;

	memcpy(ws->left_after, ws->left, ws->topology->levels[CPU_LEVEL_NUMA].n * sizeof(*ws->left));
	for (size_t i = 0; i < n && groups * d->group < remainder; i++)
		groups += ws->left[ws->candidates[subset[i]]] / d->group;
	if (groups * d->group < remainder)
		return false;
	while (remainder > 0)
		for (size_t i = 0; i < n && remainder > 0; i++) {
			long *left = &ws->left_after[ws->candidates[subset[i]]];

			if (*left < d->group)
				continue;
			*squares += squares_change(*left, d->group);
			*left -= d->group;
			remainder -= d->group;
		}
	return true;
}

/*
 * A lower bound of the squares after `remainder` CPUs are assigned: each group is taken from the node with
 * the most CPUs left. ws->left_after is scratch here.
 */
static int64_t squares_lower_bound(
	const struct distribution *d, size_t n_candidates, long remainder, int64_t squares)
{
	struct cpu_workspace *ws = d->ws;

	for (size_t i = 0; i < n_candidates; i++)
		ws->left_after[i] = ws->left[ws->candidates[i]];
	for (; remainder > 0; remainder -= d->group) {
		long *largest = ws->left_after;

		for (size_t i = 1; i < n_candidates; i++)
			if (ws->left_after[i] > *largest)
				largest = &ws->left_after[i];
		squares += squares_change(*largest, d->group);
		*largest -= d->group;
	}
	return squares;
}

/* Overwrite the kept subset, which cannot be improved, as visiting all later subsets would: the last one has the last candidates. */
static void overwrite_all_shared(const struct distribution *d, uint32_t *kept, size_t n, size_t n_candidates)
{
	for (size_t i = unshared_elements(n); d->rules->version.combinations_share_memory && i < n; i++)
		kept[i] = (uint32_t)(n_candidates - n + i);
}

/*
 * Try the subsets of n candidates: a subset with a lower score than *best becomes the best, in
 * ws->local_best_subset. No subset has fewer squares than `least`. False when the work limit is exceeded.
 */
static bool try_subsets(struct distribution *d, size_t n, size_t n_candidates, long remainder,
	int64_t squares, int64_t least, struct balance *best, size_t *ret_n)
{
	struct cpu_workspace *ws = d->ws;
	bool started = false, kept = false;

	while (next_combination(ws->subset, n, n_candidates, &started)) {
		int64_t left_squares = squares;
		struct balance balance;

		if (!count_distribution_step(d))
			return false;
		if (kept)
			overwrite_shared(d, ws->local_best_subset, ws->subset, n);
		if (!assign_remainder(d, ws->subset, n, remainder, &left_squares) ||
			!may_be_below(best, left_squares))
			continue;
		balance = balance_of(d, left_squares);
		if (balance.score >= best->score)
			continue;
		*best = balance;
		kept = true;
		*ret_n = n;
		memcpy(ws->local_best_subset, ws->subset, n * sizeof(*ws->subset));
		if (!may_be_below(best, least)) {
			overwrite_all_shared(d, ws->local_best_subset, n, n_candidates);
			break;
		}
	}
	return true;
}

/* What the kubelet counts in a NUMA node with this many CPUs left: up to 1.37 every CPU, from 1.38 on those in whole groups. */
static long counted_once(const struct distribution *d, long left)
{
	return d->rules->version.remainder_counts_cpus ? left : left / d->group * d->group;
}

/* What the kubelet counts of the NUMA node of candidate i: twice if two sockets share the node, because the kubelet then lists it twice. False if
 * an earlier candidate is the same node. */
static bool count_with_copies(const struct distribution *d, size_t n_candidates, size_t i, long *ret)
{
	const struct cpu_workspace *ws = d->ws;

	*ret = 0;
	for (size_t k = 0; k < n_candidates; k++) {
		if (ws->candidates[k] != ws->candidates[i])
			continue;
		if (k < i)
			return false;
		*ret += counted_once(d, ws->left[ws->candidates[k]]);
	}
	return true;
}

/* The CPUs that the kubelet counts in all candidates beyond their whole groups. A NUMA node that is listed twice has its groups only once. */
static long count_surplus(const struct distribution *d, size_t n_candidates)
{
	const struct cpu_workspace *ws = d->ws;
	long surplus = 0;

	for (size_t i = 0; i < n_candidates; i++) {
		long left = ws->left[ws->candidates[i]], counted;

		if (count_with_copies(d, n_candidates, i, &counted))
			surplus += counted - left / d->group * d->group;
	}
	return surplus;
}

/*
 * Whether the kubelet would loop forever over some subset of the candidates; it visits every subset. It does if it counts the remainder in the
 * subset, but the whole groups of the subset do not suffice (DEFECTS.md, K1). A knapsack computes most[g]: the most that the kubelet counts in
 * a subset with g groups. A NUMA node that is listed twice is counted twice, but has its groups only once.
 */
static bool may_loop_forever(struct distribution *d, size_t n_candidates, long remainder)
{
	struct cpu_workspace *ws = d->ws;
	long *most = ws->most_counted, n_groups = remainder / d->group;

	/* A subset with too few groups lacks at least one group, which less surplus than a group cannot replace. */
	if (count_surplus(d, n_candidates) < d->group)
		return false;
	work_add(ws->work, (uint64_t)n_candidates * (uint64_t)n_groups);
	most[0] = 0;
	for (long g = 1; g < n_groups; g++)
		most[g] = -1;
	for (size_t i = 0; i < n_candidates; i++) {
		long groups = ws->left[ws->candidates[i]] / d->group, counted;

		if (!count_with_copies(d, n_candidates, i, &counted))
			continue;
		for (long g = n_groups - 1; g >= groups; g--)
			if (most[g - groups] >= 0 && most[g - groups] + counted > most[g])
				most[g] = most[g - groups] + counted;
	}
	for (long g = 0; g < n_groups; g++)
		if (most[g] >= remainder)
			return true;
	return false;
}

/*
 * Find the best way to take the remainder from the nodes of the combination that have a group left. If it
 * is better than *best, *best becomes it, and ws->local_best_subset has the nodes (elements). `squares` are
 * those of ws->left. Returns whether it is better; false, too, with d->endless set if the kubelet would loop forever.
 */
static bool best_remainder(struct distribution *d, size_t k, long remainder, int64_t squares,
	struct balance *best, size_t *ret_n)
{
	struct cpu_workspace *ws = d->ws;
	double before = best->score;
	size_t n_candidates = 0, n_counted;
	int64_t least;

	*ret_n = 0;
	for (size_t i = 0; i < k; i++) {
		uint32_t x = ws->numas[ws->combo[i]];

		if (ws->left[x] >= d->group)
			ws->candidates[n_candidates++] = x;
	}
	if (remainder > 0 && n_candidates == 0)
		return false;
	n_counted = n_candidates < COUNTED_CANDIDATES ? n_candidates : COUNTED_CANDIDATES;
	if (remainder > 0)
		d->cost.subsets += (UINT64_C(1) << n_counted) - 1;
	d->endless = remainder > 0 && may_loop_forever(d, n_candidates, remainder);
	if (d->endless)
		return false;
	least = squares_lower_bound(d, n_candidates, remainder, squares);
	if (remainder == 0 && may_be_below(best, squares)) {
		struct balance balance;

		memcpy(ws->left_after, ws->left, ws->topology->levels[CPU_LEVEL_NUMA].n * sizeof(*ws->left));
		balance = balance_of(d, squares);
		if (balance.score < best->score)
			*best = balance;
	}
	for (size_t n = n_candidates; remainder > 0 && n >= 1 && may_be_below(best, least); n--)
		if (!try_subsets(d, n, n_candidates, remainder, squares, least, best, ret_n))
			return false;
	for (size_t i = 0; i < *ret_n; i++)
		ws->local_best_subset[i] = ws->candidates[ws->local_best_subset[i]];
	return best->score < before;
}

/*
 * The CPUs that each of k nodes gives in the first round: a k-th in whole groups; `limited`: at most what
 * the node with the fewest free CPUs has.
 */
static long first_round_share(const struct distribution *d, const uint32_t *positions, size_t k, bool limited)
{
	long share = d->requested / (long)k / d->group * d->group;

	for (size_t i = 0; limited && i < k; i++) {
		long n_free =
			d->acc->n_free[CPU_LEVEL_NUMA][d->ws->numas[positions[i]]] / d->group * d->group;

		share = share < n_free ? share : n_free;
	}
	return share;
}

/* Whether the k NUMA nodes of the combination ws->combo are in one socket. */
static bool in_one_socket(const struct distribution *d, size_t k)
{
	const struct cpu_workspace *ws = d->ws;
	const struct cpu_elements *numas = &ws->topology->levels[CPU_LEVEL_NUMA];
	const uint32_t *socket_of = ws->topology->levels[CPU_LEVEL_SOCKET].of;
	uint32_t socket = socket_of[numas->cpus[numas->first[ws->numas[ws->combo[0]]]]];

	for (size_t i = 0; i < k; i++) {
		uint32_t x = ws->numas[ws->combo[i]];

		for (size_t c = numas->first[x]; c < numas->first[x + 1]; c++)
			if (socket_of[numas->cpus[c]] != socket)
				return false;
	}
	return true;
}

/* Whether each of the k nodes of ws->combo can give `share` CPUs, and all together the requested CPUs in groups. */
static bool combination_suffices(const struct distribution *d, size_t k, long share)
{
	const struct cpu_workspace *ws = d->ws;
	long cpus = 0, groups = 0;
	bool even = true;

	for (size_t i = 0; i < k; i++) {
		long n = d->acc->n_free[CPU_LEVEL_NUMA][ws->numas[ws->combo[i]]];

		cpus += n;
		groups += n / d->group;
		even = even && n >= share;
	}
	return even && cpus >= d->requested && groups * d->group >= d->requested;
}

/*
 * Find the combination of k NUMA nodes with the best balance: its positions in ws->best_combo, the nodes
 * for the remainder in ws->best_subset. False when no combination suffices.
 */
static bool best_combination(struct distribution *d, size_t k, size_t *ret_n_subset)
{
	struct cpu_workspace *ws = d->ws;
	const uint32_t *n_free = d->acc->n_free[CPU_LEVEL_NUMA];
	struct balance best = no_balance;
	bool started = false, kept = false, kept_in_socket = false;

	while (next_combination(ws->combo, k, d->n_numas, &started)) {
		int64_t squares = d->squares;
		long share = first_round_share(d, ws->combo, k, d->by_socket);
		struct balance balance;
		bool in_socket, suffices;
		size_t n_subset;

		if (!count_distribution_step(d))
			return false;
		if (kept)
			overwrite_shared(d, ws->best_combo, ws->combo, k);
		d->cost.combinations++;
		/* No later combination can replace a perfect balance, if need be in one socket. */
		if (best.score == 0 && (!d->by_socket || kept_in_socket))
			break;
		in_socket = d->by_socket && in_one_socket(d, k);
		suffices = combination_suffices(d, k, share);
		d->cost.lookups += kubelet_distribution_lookups(&d->cost, k, suffices);
		if (!suffices)
			continue;
		for (size_t x = 0; x < ws->topology->levels[CPU_LEVEL_NUMA].n; x++)
			ws->left[x] = n_free[x];
		for (size_t i = 0; i < k; i++) {
			long *left = &ws->left[ws->numas[ws->combo[i]]];

			squares += squares_change(*left, share);
			*left -= share;
		}
		/* A combination in one socket replaces any other combination; otherwise the balance decides. */
		balance = best;
		if (in_socket && !kept_in_socket)
			balance = no_balance;
		else if (!in_socket && kept_in_socket)
			balance = unbeatable;
		if (!best_remainder(d, k, d->requested - share * (long)k, squares, &balance, &n_subset)) {
			if (d->endless)
				return false;
			continue;
		}
		best = balance;
		kept = true;
		kept_in_socket = in_socket;
		memcpy(ws->best_combo, ws->combo, k * sizeof(*ws->combo));
		memcpy(ws->best_subset, ws->local_best_subset, n_subset * sizeof(*ws->best_subset));
		*ret_n_subset = n_subset;
	}
	return kept;
}

/* Take n packed CPUs from one NUMA node; nothing if it does not have as many. */
static void take_from_numa(struct distribution *d, uint32_t numa, long n)
{
	struct cpu_take_rules rules = *d->rules;
	struct cpu_workspace *ws = d->ws;

	if (d->counting) {
		uint32_t *n_free = &d->acc->n_free[CPU_LEVEL_NUMA][numa];

		n = n <= *n_free ? n : 0;
		*n_free -= (uint32_t)n;
		d->acc->need -= n;
		return;
	}
	rules.uncore = false;
	if (cpu_take_packed_within(ws, &rules, d->acc->free, numa, (size_t)n, ws->inner_taken).status !=
		CPU_TAKE_OK)
		return;
	/* Not only the node's CPUs: a core that counts as whole is taken with its CPUs elsewhere. */
	work_add(ws->work, ws->topology->n_cpus);
	for (uint32_t i = 0; i < ws->topology->n_cpus; i++)
		if (ws->inner_taken[i]) {
			cpu_accumulator_take(ws, d->acc, i);
			d->acc->need--;
		}
}

/* Take the CPUs from the best combination and its remainder. */
static enum cpu_take_status take_combination(struct distribution *d, size_t k, size_t n_subset)
{
	struct cpu_workspace *ws = d->ws;
	long share = first_round_share(d, ws->best_combo, k, d->rules->version.distribution_heeds_sockets);
	long remainder = d->requested - share * (long)k;

	for (size_t i = 0; i < k; i++)
		take_from_numa(d, ws->numas[ws->best_combo[i]], share);
	while (remainder > 0 && !work_exceeded(ws->work)) {
		long before = remainder;

		for (size_t i = 0; i < n_subset && remainder > 0; i++) {
			if (d->acc->n_free[CPU_LEVEL_NUMA][ws->best_subset[i]] < d->group)
				continue;
			take_from_numa(d, ws->best_subset[i], d->group);
			remainder -= d->group;
		}
		if (remainder == before)
			return CPU_TAKE_ENDLESS; /* DEFECTS.md, K2 */
	}
	if (work_exceeded(ws->work))
		return CPU_TAKE_UNKNOWN;
	return d->acc->need == 0 ? CPU_TAKE_OK : CPU_TAKE_MISCOUNTED;
}

static long divide_up(long a, long b)
{
	return (a + b - 1) / b;
}

/* Multiplies what was added to `before`; at most 10^18 is added. */
static uint64_t scale_up(uint64_t before, uint64_t now, double factor)
{
	double more = (double)(now - before) * factor;

	return before + (more < 1e18 ? (uint64_t)more : (uint64_t)1e18);
}

/* Estimate what all combinations of k NUMA nodes cost from those that were tried. */
static void extrapolate(struct distribution *d, size_t k, struct kubelet_distribution before)
{
	uint64_t n_tried = d->cost.combinations - before.combinations;
	double n_all = 1, factor;

	for (size_t i = 0; i < k; i++)
		n_all = n_all * (double)(d->n_numas - i) / (double)(i + 1);
	factor = n_all / (n_tried > 0 ? (double)n_tried : 1);
	d->cost.combinations = scale_up(before.combinations, d->cost.combinations, factor);
	d->cost.lookups = scale_up(before.lookups, d->cost.lookups, factor);
	d->cost.subsets = scale_up(before.subsets, d->cost.subsets, factor);
}

/* Find the smallest number of NUMA nodes that suffices, and take the CPUs from them. False: none suffices. */
static bool distribute(struct distribution *d, struct cpu_take *take)
{
	struct cpu_workspace *ws = d->ws;
	long n_numas = (long)ws->topology->levels[CPU_LEVEL_NUMA].n, n_groups, per_numa, min, max;

	d->n_numas = cpu_accumulator_order_numas(ws, d->acc);
	memcpy(ws->numas, ws->lists[CPU_LEVEL_NUMA], d->n_numas * sizeof(*ws->numas));
	for (long x = 0; x < n_numas; x++) {
		int64_t n_free = d->acc->n_free[CPU_LEVEL_NUMA][x];

		d->n_with_free += n_free > 0;
		d->squares += n_free * n_free;
	}
	d->cost.n_cpus = take->available;
	d->cost.n_nodes = (uint64_t)d->n_with_free;
	d->mean_left = to_thousandths((double)(take->available - take->requested) / (double)d->n_with_free);
	n_groups = divide_up(d->requested, d->group);
	per_numa = divide_up(divide_up((long)ws->topology->n_cpus, d->group), n_numas);
	min = divide_up(n_groups, per_numa);
	max = n_groups < d->n_with_free ? n_groups : d->n_with_free;
	if ((long)d->rules->min_numas > min && (long)d->rules->min_numas <= max)
		min = d->rules->min_numas;
	for (long k = min; k <= max; k++) {
		struct kubelet_distribution before = d->cost;
		size_t n_subset = 0;
		bool found = best_combination(d, (size_t)k, &n_subset);

		if (d->endless) {
			take->status = CPU_TAKE_ENDLESS;
			return true;
		}
		if (d->steps > CPU_TAKE_MAX_STEPS || work_exceeded(ws->work)) {
			extrapolate(d, (size_t)k, before);
			take->status = CPU_TAKE_UNKNOWN;
			return true;
		}
		if (!found)
			continue;
		take->status = take_combination(d, (size_t)k, n_subset);
		take->remaining = d->acc->need;
		return true;
	}
	return false;
}

/* takeByTopologyNUMADistributed(), using ws->distributed and ws->packed. Takes packed CPUs where a distribution is impossible. */
static struct cpu_take cpu_take_distributed(struct cpu_workspace *ws, const struct cpu_take_rules *rules,
	const bool *available, size_t n, bool *taken)
{
	struct distribution d = {.ws = ws,
		.rules = rules,
		.acc = &ws->distributed,
		.requested = (long)n,
		.by_socket = rules->by_socket && rules->version.distribution_heeds_sockets,
		.group = rules->group > 1 ? (long)rules->group : 1};
	struct cpu_take take = {.requested = n, .available = cpu_set_size(ws->topology, available)};
	struct cpu_take_rules packed = *rules;

	packed.uncore = false;
	if (d.requested % d.group != 0)
		return cpu_take_packed(ws, &packed, available, n, taken);
	if (n == 0 || n > take.available) {
		memset(taken, 0, ws->topology->n_cpus * sizeof(*taken));
		take.status = n == 0 ? CPU_TAKE_OK : CPU_TAKE_NOT_ENOUGH;
		return take;
	}
	cpu_accumulator_start(ws, d.acc, available, d.requested, taken);
	if (!distribute(&d, &take))
		take = cpu_take_packed(ws, &packed, available, n, taken);
	take.time = kubelet_distribution_time(&d.cost);
	return take;
}

struct cpu_take cpu_take(struct cpu_workspace *ws, const struct cpu_take_rules *rules, const bool *available,
	size_t n, bool *taken)
{
	struct cpu_take take = rules->distribute ? cpu_take_distributed(ws, rules, available, n, taken)
						 : cpu_take_packed(ws, rules, available, n, taken);

	if (take.status != CPU_TAKE_OK)
		memset(taken, 0, ws->topology->n_cpus * sizeof(*taken));
	return take;
}

struct cpu_take cpu_take_counted(
	struct cpu_workspace *ws, const struct cpu_take_rules *rules, const bool *available, size_t n)
{
	struct distribution d = {.ws = ws,
		.rules = rules,
		.acc = &ws->distributed,
		.requested = (long)n,
		.by_socket = rules->by_socket && rules->version.distribution_heeds_sockets,
		.group = rules->group > 1 ? (long)rules->group : 1,
		.counting = true};
	struct cpu_take take = {.requested = n, .available = cpu_set_size(ws->topology, available)};

	if (n > take.available)
		take.status = CPU_TAKE_NOT_ENOUGH;
	if (n == 0 || n > take.available || d.requested % d.group != 0)
		return take;
	cpu_accumulator_start(ws, d.acc, available, d.requested, ws->inner_taken);
	distribute(&d, &take);
	take.time = kubelet_distribution_time(&d.cost);
	return take;
}
