/* SPDX-License-Identifier: Apache-2.0 */
/*
 * distribute-cpus-across-numa: takeByTopologyNUMADistributed of the kubelet's cpu_assignment.go (KEP-2902),
 * with two differences: work is bounded, and the loops that never end in the kubelet end here.
 */
#include "scoring/cpu_assignment.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A number of CPUs being distributed. */
struct distribution {
	struct cpu_workspace *ws;
	const struct cpu_take_rules *rules;
	struct cpu_accumulator *acc;
	long requested, group;
	size_t n_numas;   /* in ws->numas: NUMA nodes with available CPUs, ordered */
	long n_with_free; /* their number, each counted once */
	double mean_left; /* CPUs left on each of them afterwards */
	int64_t squares;  /* their free CPUs squared, summed over all of them */
	bool counting;    /* CPUs are counted off the NUMA nodes, none is chosen */
	bool by_socket;   /* combinations of one socket are better than all others */
	unsigned steps;   /* combinations looked at */
};

/* Another combination is weighed. False: they are too many. */
static bool count_step(struct distribution *d)
{
	bool afforded = work_add(d->ws->work, d->ws->topology->levels[CPU_LEVEL_NUMA].n);

	return ++d->steps <= CPU_TAKE_MAX_STEPS && afforded;
}

/*
 * Positions of one combination, k of n, in lexicographic order. The first call starts with `started` false.
 */
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
 * The kubelet builds combinations with append() and keeps a reference to the best. Go grows a slice to 1, 2,
 * 4, 8, ... elements, so a combination of k shares its memory with the later ones that have the same first
 * 1, 2, 3, 5, 9, ... elements: visiting those overwrites the rest of the kept one. Decisions for four and
 * more NUMA nodes depend on it.
 */
static size_t elements_of_its_own(size_t k)
{
	size_t own = 1;

	for (size_t room = 1; room < k; room *= 2)
		own = room + 1;
	return own;
}

/* `visited` has just been written; let it overwrite what it shares with the kept combination. */
static void overwrite_shared(uint32_t *kept, const uint32_t *visited, size_t k)
{
	size_t own = elements_of_its_own(k);

	if (!memcmp(kept, visited, own * sizeof(*kept)))
		memcpy(kept, visited, k * sizeof(*kept));
}

static double to_thousandths(double x)
{
	return round(x * 1000) / 1000;
}

/* A balance, and what shows without any root that another one is not better. */
struct balance {
	double score;    /* the kubelet's; DBL_MAX = none */
	int64_t squares; /* the CPUs left squared, summed over the NUMA nodes */
	bool settled;    /* any other balance of these squares has this score */
};

static const struct balance no_balance = {.score = DBL_MAX, .squares = INT64_MAX};

/*
 * Whether a balance of these squares may have a lower score than `best`. Whatever the combination, the same number
 * is left in all, so the score rises with the squares. Of equal squares, the order of summation changes the root by
 * less than a ten-millionth of a thousandth, and the score only where the root is as near to where rounding turns.
 */
static bool may_be_below(const struct balance *best, int64_t squares)
{
	return squares < best->squares || (squares == best->squares && !best->settled);
}

/* The balance score of ws->left_after: the standard deviation over all NUMA nodes that had free CPUs, rounded. */
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

/* What the squares grow by when n of `left` CPUs are taken. */
static int64_t growth(long left, long n)
{
	return (int64_t)n * (n - 2 * left);
}

/*
 * Hand `remainder` CPUs out in groups, round robin over the subset, from ws->left into ws->left_after, whose squares
 * *squares becomes. The kubelet compares the CPUs left with the remainder and may then hand out groups forever where
 * only parts of groups are left; a subset whose groups do not suffice is passed over here. False: passed over.
 */
static bool hand_out(
	const struct distribution *d, const uint32_t *subset, size_t n, long remainder, int64_t *squares)
{
	struct cpu_workspace *ws = d->ws;
	long groups = 0;

	memcpy(ws->left_after, ws->left, ws->topology->levels[CPU_LEVEL_NUMA].n * sizeof(*ws->left));
	for (size_t i = 0; i < n && groups * d->group < remainder; i++)
		groups += ws->left[ws->candidates[subset[i]]] / d->group;
	if (groups * d->group < remainder)
		return false;
	while (remainder > 0) {
		long before = remainder;

		for (size_t i = 0; i < n && remainder > 0; i++) {
			long *left = &ws->left_after[ws->candidates[subset[i]]];

			if (*left < d->group)
				continue;
			*squares += growth(*left, d->group);
			*left -= d->group;
			remainder -= d->group;
		}
		if (remainder == before)
			return false; /* a node listed twice, where sockets share it */
	}
	return true;
}

/* No way of handing out `remainder` CPUs leaves fewer squares: each group is taken where most is left. */
static int64_t least_squares(
	const struct distribution *d, size_t n_candidates, long remainder, int64_t squares)
{
	struct cpu_workspace *ws = d->ws;

	for (size_t i = 0; i < n_candidates; i++)
		ws->left_after[i] = ws->left[ws->candidates[i]];
	for (; remainder > 0; remainder -= d->group) {
		long *most = ws->left_after;

		for (size_t i = 1; i < n_candidates; i++)
			if (ws->left_after[i] > *most)
				most = &ws->left_after[i];
		squares += growth(*most, d->group);
		*most -= d->group;
	}
	return squares;
}

/* What visiting all that follow would make of the kept subset, which is the best there can be. */
static void overwrite_all_shared(uint32_t *kept, size_t n, size_t n_candidates)
{
	for (size_t i = elements_of_its_own(n); i < n; i++)
		kept[i] = (uint32_t)(n_candidates - n + i);
}

/*
 * The subsets of n candidates: the first with a lower score than *best becomes the best, in ws->local_best_subset.
 * None has fewer squares than `least`. False when the work limit is met.
 */
static bool try_subsets(struct distribution *d, size_t n, size_t n_candidates, long remainder,
	int64_t squares, int64_t least, struct balance *best, size_t *ret_n)
{
	struct cpu_workspace *ws = d->ws;
	bool started = false, kept = false;

	while (next_combination(ws->subset, n, n_candidates, &started)) {
		int64_t left_squares = squares;
		struct balance balance;

		if (!count_step(d))
			return false;
		if (kept)
			overwrite_shared(ws->local_best_subset, ws->subset, n);
		if (!hand_out(d, ws->subset, n, remainder, &left_squares) ||
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
			overwrite_all_shared(ws->local_best_subset, n, n_candidates);
			break;
		}
	}
	return true;
}

/*
 * The best way to take the remainder from the nodes of the combination that have a group left, where it is better than
 * *best: then that becomes *best, and the nodes, as elements, are in ws->local_best_subset. `squares` are those of
 * ws->left. True when it is better.
 */
static bool best_remainder(struct distribution *d, size_t k, long remainder, int64_t squares,
	struct balance *best, size_t *ret_n)
{
	struct cpu_workspace *ws = d->ws;
	double before = best->score;
	size_t n_candidates = 0;
	int64_t least;

	*ret_n = 0;
	for (size_t i = 0; i < k; i++) {
		uint32_t x = ws->numas[ws->combo[i]];

		if (ws->left[x] >= d->group)
			ws->candidates[n_candidates++] = x;
	}
	if (remainder > 0 && n_candidates == 0)
		return false;
	least = least_squares(d, n_candidates, remainder, squares);
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

/* What each of k nodes gives in a first round: the k-th part in whole groups, held to what the one with the least has. */
static long share_of(const struct distribution *d, const uint32_t *positions, size_t k, bool held)
{
	long share = d->requested / (long)k / d->group * d->group;

	for (size_t i = 0; held && i < k; i++) {
		long n_free =
			d->acc->n_free[CPU_LEVEL_NUMA][d->ws->numas[positions[i]]] / d->group * d->group;

		share = share < n_free ? share : n_free;
	}
	return share;
}

/* Are the k nodes of ws->combo, with all their CPUs, of one socket? */
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

/* May the k nodes of ws->combo give `share` CPUs each, and the rest in groups? */
static bool combination_serves(const struct distribution *d, size_t k, long share)
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
 * The combination of k NUMA nodes with the best balance: positions in ws->best_combo, the nodes for the
 * remainder in ws->best_subset. False when none serves.
 */
static bool best_combination(struct distribution *d, size_t k, size_t *ret_n_subset)
{
	struct cpu_workspace *ws = d->ws;
	const uint32_t *n_free = d->acc->n_free[CPU_LEVEL_NUMA];
	struct balance best = no_balance;
	bool started = false, kept = false, kept_in_socket = false;

	while (next_combination(ws->combo, k, d->n_numas, &started)) {
		int64_t squares = d->squares;
		long share = share_of(d, ws->combo, k, d->by_socket);
		struct balance balance;
		bool in_socket;
		size_t n_subset;

		if (!count_step(d))
			return false;
		if (kept)
			overwrite_shared(ws->best_combo, ws->combo, k);
		if (best.score == 0 && (!d->by_socket || kept_in_socket))
			break;
		in_socket = d->by_socket && in_one_socket(d, k);
		if (!combination_serves(d, k, share) || (kept_in_socket && !in_socket))
			continue;
		for (size_t x = 0; x < ws->topology->levels[CPU_LEVEL_NUMA].n; x++)
			ws->left[x] = n_free[x];
		for (size_t i = 0; i < k; i++) {
			long *left = &ws->left[ws->numas[ws->combo[i]]];

			squares += growth(*left, share);
			*left -= share;
		}
		balance = in_socket == kept_in_socket ? best : no_balance;
		if (!best_remainder(d, k, d->requested - share * (long)k, squares, &balance, &n_subset))
			continue;
		best = balance;
		kept = true;
		kept_in_socket = in_socket;
		memcpy(ws->best_combo, ws->combo, k * sizeof(*ws->combo));
		memcpy(ws->best_subset, ws->local_best_subset, n_subset * sizeof(*ws->best_subset));
		*ret_n_subset = n_subset;
	}
	return kept;
}

/* Take n packed CPUs from one NUMA node; nothing when it has not as many. */
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
	/* Not only those of the node: a core that counts as whole is taken with what it has elsewhere. */
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
	long share = share_of(d, ws->best_combo, k, d->rules->version.distribution_heeds_sockets);
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
			return CPU_TAKE_UNKNOWN; /* the kubelet would go round for ever */
	}
	if (work_exceeded(ws->work))
		return CPU_TAKE_UNKNOWN;
	return d->acc->need == 0 ? CPU_TAKE_OK : CPU_TAKE_MISCOUNTED;
}

static long divide_up(long a, long b)
{
	return (a + b - 1) / b;
}

/* The number of NUMA nodes that serve is found, and they give what they are to. False: none does. */
static bool distribute(struct distribution *d, struct cpu_take *take)
{
	struct cpu_workspace *ws = d->ws;
	long n_numas = (long)ws->topology->levels[CPU_LEVEL_NUMA].n, n_groups, per_numa;

	d->n_numas = cpu_accumulator_order_numas(ws, d->acc);
	memcpy(ws->numas, ws->lists[CPU_LEVEL_NUMA], d->n_numas * sizeof(*ws->numas));
	for (long x = 0; x < n_numas; x++) {
		int64_t n_free = d->acc->n_free[CPU_LEVEL_NUMA][x];

		d->n_with_free += n_free > 0;
		d->squares += n_free * n_free;
	}
	d->mean_left = to_thousandths((double)(take->available - take->requested) / (double)d->n_with_free);
	n_groups = divide_up(d->requested, d->group);
	per_numa = divide_up(divide_up((long)ws->topology->n_cpus, d->group), n_numas);
	for (long k = divide_up(n_groups, per_numa); k <= n_groups && k <= d->n_with_free; k++) {
		size_t n_subset = 0;
		bool found = best_combination(d, (size_t)k, &n_subset);

		if (d->steps > CPU_TAKE_MAX_STEPS || work_exceeded(ws->work)) {
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

struct cpu_take cpu_take_distributed(struct cpu_workspace *ws, const struct cpu_take_rules *rules,
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
	return distribute(&d, &take) ? take : cpu_take_packed(ws, &packed, available, n, taken);
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
	return take;
}
