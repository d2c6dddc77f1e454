/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/cpu_manager.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/xalloc.h"

const char *cpu_manager_options_conflict(const struct cpu_manager_options *options,
	enum topology_manager_policy policy, const struct cpu_topology *t)
{
	if (options->full_pcpus_only && options->distribute_cpus_across_cores)
		return "static policy options full-pcpus-only and distribute-cpus-across-cores can not be used at the same time";
	if (options->distribute_cpus_across_numa && options->distribute_cpus_across_cores)
		return "static policy options distribute-cpus-across-numa and distribute-cpus-across-cores can not be used at the same time";
	if (options->prefer_align_cpus_by_uncorecache && options->distribute_cpus_across_cores)
		return "static policy options prefer-align-cpus-by-uncorecache and distribute-cpus-across-cores can not be used at the same time";
	if (options->prefer_align_cpus_by_uncorecache && options->distribute_cpus_across_numa)
		return "static policy options prefer-align-cpus-by-uncorecache and distribute-cpus-across-numa can not be used at the same time";
	if (options->align_by_socket && policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE)
		return "static policy option align-by-socket is incompatible with Topology Manager policy single-numa-node";
	if (options->align_by_socket && t->levels[CPU_LEVEL_SOCKET].n > t->levels[CPU_LEVEL_NUMA].n)
		return "static policy option align-by-socket is not compatible with more sockets than NUMA nodes";
	return NULL;
}

static struct cpu_take_rules take_rules(const struct cpu_topology *t,
	const struct cpu_manager_options *options, struct kubelet_version version)
{
	return (struct cpu_take_rules){
		.spread = options->distribute_cpus_across_cores,
		.uncore = options->prefer_align_cpus_by_uncorecache,
		.distribute = options->distribute_cpus_across_numa,
		.by_socket = options->align_by_socket,
		.group = options->full_pcpus_only ? cpu_topology_average(t, CPU_LEVEL_CORE) : 1,
		.version = version,
	};
}

#define RESERVED_WORK_MAX ((uint64_t)16 << 20) /* steps to choose the reserved CPUs */

/* Set reserved[] to the CPUs that the kubelet reserves when only their number is configured. */
static enum cpu_take_status pick_reserved(struct cpu_manager *cm, size_t n)
{
	struct work work = {.limit = RESERVED_WORK_MAX};
	CLEANUP(cpu_workspace_freep) struct cpu_workspace *ws = cpu_workspace_new(cm->topology);
	CLEANUP(freep) bool *all = xcalloc(cm->topology->n_cpus + 1, sizeof(*all));

	ws->work = &work;
	memset(all, true, cm->topology->n_cpus * sizeof(*all));
	return cpu_take(ws, &cm->rules, all, n, cm->reserved).status;
}

static int fail_reserved(const struct cpu_manager *cm, size_t n_wanted, struct err *err)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = cpuset_new();
	CLEANUP(freep) char *text = NULL;

	cpu_set_to_bitmap(cm->topology, cm->reserved, set);
	text = cpuset_print(set);
	return err_set(err, -EINVAL,
		"unable to reserve the required amount of CPUs (size of %s did not equal %zu)", text,
		n_wanted);
}

size_t cpu_manager_reserved_count(qty_t reserved_cpu)
{
	/* The kubelet calls MilliValue() first, which rounds up too. */
	return (size_t)qty_value((qty_t)qty_milli_value(reserved_cpu) * (QTY_UNIT / 1000));
}

int cpu_manager_init(struct cpu_manager *cm, const struct cpu_topology *t,
	const struct cpu_manager_options *options, enum topology_manager_policy policy,
	const struct kubelet_version *version, hwloc_const_bitmap_t reserved, size_t n_reserved,
	struct err *err)
{
	const char *conflict = cpu_manager_options_conflict(options, policy, t);
	const struct cpu_elements *cores = &t->levels[CPU_LEVEL_CORE];
	enum cpu_take_status status = CPU_TAKE_OK;
	int r;

	memset(cm, 0, sizeof(*cm));
	if (conflict)
		return err_set(err, -EINVAL, "%s", conflict);
	cm->topology = t;
	cm->options = *options;
	cm->rules = take_rules(t, options, *version);
	cm->cpus_per_core = cpu_topology_average(t, CPU_LEVEL_CORE);
	cm->reserved = xcalloc(t->n_cpus + 1, sizeof(*cm->reserved));
	cm->reserved_physical = xcalloc(t->n_cpus + 1, sizeof(*cm->reserved_physical));
	if (reserved && !hwloc_bitmap_iszero(reserved))
		cpu_set_from_bitmap(t, reserved, cm->reserved);
	else
		status = pick_reserved(cm, n_reserved);
	if (status == CPU_TAKE_UNKNOWN || status == CPU_TAKE_ENDLESS) {
		cpu_manager_release(cm);
		return status == CPU_TAKE_UNKNOWN
			       ? err_set(err, -E2BIG, "choosing %zu reserved CPUs takes too many steps",
					 n_reserved)
			       : err_set(err, -EINVAL,
					 "choosing %zu reserved CPUs would never end (kubernetes #140730)",
					 n_reserved);
	}
	cm->n_reserved = cpu_set_size(t, cm->reserved);
	if (cm->n_reserved != n_reserved) {
		r = fail_reserved(cm, n_reserved, err);
		cpu_manager_release(cm);
		return r;
	}
	for (size_t i = 0; i < t->n_cpus; i++) {
		uint32_t core = cores->of[i];

		if (!cm->reserved[i])
			continue;
		for (uint32_t k = cores->first[core]; k < cores->first[core + 1]; k++)
			cm->reserved_physical[cores->cpus[k]] = true;
	}
	return 0;
}

void cpu_manager_release(struct cpu_manager *cm)
{
	free(cm->reserved);
	free(cm->reserved_physical);
	memset(cm, 0, sizeof(*cm));
}

size_t cpu_manager_available(const struct cpu_manager *cm, const bool *shared, bool *available)
{
	size_t n = 0;

	for (size_t i = 0; i < cm->topology->n_cpus; i++) {
		available[i] = shared[i] && !cm->reserved[i];
		n += available[i];
	}
	return n;
}

/* Per NUMA node (by position): CPUs, available CPUs, sockets. */
struct node_counts {
	size_t capacity[NODE_MASK_WALK_MAX], free[NODE_MASK_WALK_MAX];
	uint64_t sockets[NODE_MASK_WALK_MAX];
	uint64_t all; /* the nodes' ids as a mask */
	uint64_t reusable;
	size_t n_reusable;
};

static void fill_node_counts(
	const struct cpu_manager *cm, const bool *available, const bool *reusable, struct node_counts *counts)
{
	const struct cpu_topology *t = cm->topology;
	const struct cpu_elements *numas = &t->levels[CPU_LEVEL_NUMA];

	memset(counts, 0, sizeof(*counts));
	for (size_t x = 0; x < numas->n && x < NODE_MASK_WALK_MAX; x++) {
		uint64_t id = node_mask_of((unsigned)numas->ids[x]);

		counts->all |= id;
		counts->capacity[x] = cpu_element_size(t, CPU_LEVEL_NUMA, x);
		for (uint32_t k = numas->first[x]; k < numas->first[x + 1]; k++) {
			uint32_t cpu = numas->cpus[k];

			counts->free[x] += available[cpu];
			/*
			 * Used only with align-by-socket, which requires at most as many sockets as NUMA
			 * nodes.
			 */
			counts->sockets[x] |= UINT64_C(1) << (t->levels[CPU_LEVEL_SOCKET].of[cpu] % 64);
			if (reusable && reusable[cpu]) {
				counts->reusable |= id;
				counts->n_reusable++;
			}
		}
	}
}

/* The sums of the first i nodes of a subset: CPUs, available CPUs and sockets. */
struct subset_sums {
	size_t capacity[NODE_MASK_WALK_MAX + 1], free[NODE_MASK_WALK_MAX + 1];
	uint64_t sockets[NODE_MASK_WALK_MAX + 1];
};

/* Update the sums for the walk's current subset; returns its size. The sums of the first walk->kept nodes stay from the subset before. */
static unsigned count_subset(
	const struct node_counts *counts, const struct node_mask_walk *walk, struct subset_sums *sums)
{
	for (unsigned i = walk->kept; i < walk->size; i++) {
		sums->capacity[i + 1] = sums->capacity[i] + counts->capacity[walk->at[i]];
		sums->free[i + 1] = sums->free[i] + counts->free[walk->at[i]];
		sums->sockets[i + 1] = sums->sockets[i] | counts->sockets[walk->at[i]];
	}
	return walk->size;
}

/* Whether nodes with `n_free` free CPUs can give n CPUs: reusable CPUs count in addition, and the nodes must contain all of these. */
static bool nodes_suffice(const struct node_counts *counts, uint64_t nodes, size_t n_free, size_t n)
{
	return !(counts->reusable & ~nodes) && counts->n_reusable + n_free >= n;
}

void cpu_manager_hints(const struct cpu_manager *cm, const bool *available, const bool *reusable, size_t n,
	struct topology_hints *ret_hints)
{
	size_t n_nodes = cm->topology->levels[CPU_LEVEL_NUMA].n;
	size_t n_sockets = cm->topology->levels[CPU_LEVEL_SOCKET].n;
	unsigned min_nodes = (unsigned)n_nodes, per_socket = n_sockets ? (unsigned)(n_nodes / n_sockets) : 0;
	struct node_counts counts;
	struct subset_sums sums = {0};
	struct node_mask_walk walk;
	uint64_t mask;

	topology_hints_clear(ret_hints);
	fill_node_counts(cm, available, reusable, &counts);
	node_mask_walk_start(&walk, counts.all);
	while (node_mask_walk_next(&walk, &mask)) {
		unsigned size = count_subset(&counts, &walk, &sums);

		if (sums.capacity[size] >= n && size < min_nodes)
			min_nodes = size;
		if (nodes_suffice(&counts, mask, sums.free[size], n))
			topology_hints_add(ret_hints, mask, false);
	}
	for (size_t i = 0; i < ret_hints->n_items; i++) {
		struct topology_hint *hint = &ret_hints->items[i];

		hint->preferred = node_mask_count(hint->nodes) == min_nodes;
	}
	if (!cm->options.align_by_socket || per_socket == 0)
		return;
	/* A hint is preferred, too, if its nodes are in as few sockets as min_nodes could be. */
	for (size_t i = 0; i < ret_hints->n_items; i++) {
		struct topology_hint *hint = &ret_hints->items[i];
		uint64_t sockets = 0;

		for (size_t x = 0; x < n_nodes; x++)
			if (hint->nodes & node_mask_of((unsigned)cm->topology->levels[CPU_LEVEL_NUMA].ids[x]))
				sockets |= counts.sockets[x];
		if (node_mask_count(sockets) == (min_nodes + per_socket - 1) / per_socket)
			hint->preferred = true;
	}
}

/* The smallest number of NUMA nodes that have n CPUs; all nodes if none have. */
static unsigned fewest_nodes_for_cpus(const struct node_counts *counts, size_t n_nodes, size_t n)
{
	size_t left[NODE_MASK_WALK_MAX], sum = 0;
	unsigned k = 0;

	memcpy(left, counts->capacity, sizeof(left));
	while (sum < n && k < n_nodes) {
		size_t largest = 0;

		for (size_t x = 1; x < n_nodes; x++)
			if (left[x] > left[largest])
				largest = x;
		sum += left[largest];
		left[largest] = 0;
		k++;
	}
	return k > 0 ? k : 1;
}

int cpu_manager_preferred_hints(const struct cpu_manager *cm, const bool *available, const bool *reusable,
	size_t n, struct topology_hints *ret_hints)
{
	size_t n_nodes = cm->topology->levels[CPU_LEVEL_NUMA].n;
	struct node_counts counts;
	struct subset_sums sums = {0};
	struct node_mask_walk walk;
	uint64_t mask;
	unsigned size;

	topology_hints_clear(ret_hints);
	if (cm->options.align_by_socket || n_nodes == 0 || n_nodes > NODE_MASK_WALK_MAX)
		return -ENOTSUP;
	fill_node_counts(cm, available, reusable, &counts);
	size = fewest_nodes_for_cpus(&counts, n_nodes, n);
	node_mask_walk_start_at(&walk, counts.all, size);
	while (node_mask_walk_next(&walk, &mask) && walk.size == size) {
		count_subset(&counts, &walk, &sums);
		if (nodes_suffice(&counts, mask, sums.free[size], n))
			topology_hints_add(ret_hints, mask, true);
	}
	return ret_hints->n_items > 0;
}

void cpu_manager_widths(const struct cpu_manager *cm, const bool *available, struct cpu_widths *ret)
{
	struct node_counts counts;
	struct subset_sums sums = {0};
	struct node_mask_walk walk;
	uint64_t mask;

	memset(ret, 0, sizeof(*ret));
	fill_node_counts(cm, available, NULL, &counts);
	node_mask_walk_start(&walk, counts.all);
	while (node_mask_walk_next(&walk, &mask)) {
		unsigned size = count_subset(&counts, &walk, &sums);
		unsigned sockets = node_mask_count(sums.sockets[size]);

		if (sums.capacity[size] > ret->capacity[size])
			ret->capacity[size] = sums.capacity[size];
		if (sums.free[size] > ret->free[size])
			ret->free[size] = sums.free[size];
		if (sums.free[size] > ret->by_socket[sockets])
			ret->by_socket[sockets] = sums.free[size];
	}
}

bool cpu_manager_has_preferred(
	const struct cpu_manager *cm, const struct cpu_widths *widths, size_t n, unsigned *ret_nodes)
{
	size_t n_nodes = cm->topology->levels[CPU_LEVEL_NUMA].n;
	size_t n_sockets = cm->topology->levels[CPU_LEVEL_SOCKET].n;
	unsigned min_nodes = 1, per_socket = n_sockets ? (unsigned)(n_nodes / n_sockets) : 0;

	while (min_nodes < n_nodes && widths->capacity[min_nodes] < n)
		min_nodes++;
	*ret_nodes = min_nodes;
	if (widths->free[min_nodes] >= n)
		return true;
	return cm->options.align_by_socket && per_socket > 0 &&
	       widths->by_socket[(min_nodes + per_socket - 1) / per_socket] >= n;
}

static void count_cpus_in_mask(const void *ctx, uint64_t nodes, uint64_t *ret_capacity, uint64_t *ret_free)
{
	const struct node_counts *counts = ctx;
	size_t x = 0;

	*ret_capacity = *ret_free = 0;
	for (uint64_t rest = counts->all; rest; rest &= rest - 1, x++)
		if (nodes & rest & (~rest + 1)) { /* the lowest node of `rest` */
			*ret_capacity += counts->capacity[x];
			*ret_free += counts->free[x];
		}
}

void cpu_manager_score(const struct cpu_manager *cm, const bool *available, struct topology_hints *hints)
{
	const struct cpu_elements *numas = &cm->topology->levels[CPU_LEVEL_NUMA];
	struct node_counts counts;

	fill_node_counts(cm, available, NULL, &counts);
	/* The score counts allocatable CPUs as the capacity. */
	for (size_t i = 0; i < cm->topology->n_cpus; i++)
		if (cm->reserved[i] && numas->of[i] < NODE_MASK_WALK_MAX)
			counts.capacity[numas->of[i]]--;
	topology_hints_score(hints, count_cpus_in_mask, &counts);
}

struct node_mask_fit cpu_manager_fit(const struct cpu_manager *cm, const bool *available, size_t n)
{
	struct node_counts counts;

	fill_node_counts(cm, available, NULL, &counts);
	return node_mask_find_fit(counts.all, n, count_cpus_in_mask, &counts);
}

enum cpu_smt_status cpu_manager_check_smt(
	const struct cpu_manager *cm, const bool *shared, size_t n, size_t *ret_physical)
{
	size_t physical = 0;

	for (size_t i = 0; i < cm->topology->n_cpus; i++)
		physical += shared[i] && !cm->reserved_physical[i];
	*ret_physical = physical;
	if (!cm->options.full_pcpus_only)
		return CPU_SMT_ALIGNED;
	if (cm->cpus_per_core && n % cm->cpus_per_core != 0)
		return CPU_SMT_NOT_MULTIPLE;
	return n > physical ? CPU_SMT_NOT_ENOUGH_CORES : CPU_SMT_ALIGNED;
}

/*
 * Set aligned[] to the CPUs of allocatable[] that are in the hint's NUMA nodes, or in the sockets of these
 * nodes. Returns their number.
 */
static size_t fill_aligned(
	const struct cpu_manager *cm, const bool *allocatable, struct topology_hint hint, bool *aligned)
{
	const struct cpu_topology *t = cm->topology;
	const struct cpu_elements *numas = &t->levels[CPU_LEVEL_NUMA],
				  *sockets = &t->levels[CPU_LEVEL_SOCKET];
	size_t n = 0;

	for (size_t i = 0; i < t->n_cpus; i++)
		aligned[i] = hint.nodes & node_mask_of((unsigned)numas->ids[numas->of[i]]);
	for (size_t s = 0; cm->options.align_by_socket && s < sockets->n; s++) {
		bool has_aligned = false;

		for (uint32_t k = sockets->first[s]; k < sockets->first[s + 1]; k++)
			has_aligned = has_aligned || aligned[sockets->cpus[k]];
		for (uint32_t k = sockets->first[s]; k < sockets->first[s + 1]; k++)
			aligned[sockets->cpus[k]] = has_aligned;
	}
	for (size_t i = 0; i < t->n_cpus; i++) {
		aligned[i] = aligned[i] && allocatable[i];
		n += aligned[i];
	}
	return n;
}

/* Set allocatable[] to the available CPUs and the reusable CPUs of init containers. */
static void fill_allocatable(
	const struct cpu_manager *cm, const bool *shared, const bool *reusable, bool *allocatable)
{
	cpu_manager_available(cm, shared, allocatable);
	for (size_t i = 0; reusable && i < cm->topology->n_cpus; i++)
		allocatable[i] = allocatable[i] || reusable[i];
}

/* The rules for the CPUs that are taken from the hint's NUMA nodes. */
static struct cpu_take_rules rules_of_hint(const struct cpu_manager *cm, struct topology_hint hint)
{
	struct cpu_take_rules rules = cm->rules;

	if (rules.version.distribution_heeds_hint)
		rules.min_numas = node_mask_count(hint.nodes);
	return rules;
}

struct cpu_take cpu_manager_allocate(const struct cpu_manager *cm, struct cpu_workspace *ws, bool *shared,
	const bool *reusable, size_t n, struct topology_hint hint, bool *scratch[2], bool *taken)
{
	size_t n_cpus = cm->topology->n_cpus, n_taken = 0;
	bool *allocatable = scratch[0];
	bool *part = scratch[1]; /* first the candidates in the hint's nodes, then those taken anywhere */
	struct kubelet_time aligned = {0};
	struct cpu_take take;

	memset(taken, 0, n_cpus * sizeof(*taken));
	fill_allocatable(cm, shared, reusable, allocatable);
	if (!hint.any_node) {
		const struct cpu_take_rules rules = rules_of_hint(cm, hint);
		size_t n_aligned = fill_aligned(cm, allocatable, hint, part);

		take = cpu_take(ws, &rules, part, n < n_aligned ? n : n_aligned, taken);
		if (take.status != CPU_TAKE_OK)
			return take;
		for (size_t i = 0; i < n_cpus; i++)
			allocatable[i] = allocatable[i] && !taken[i];
		n_taken = cpu_set_size(cm->topology, taken);
		aligned = take.time;
	}
	take = cpu_take(ws, &cm->rules, allocatable, n - n_taken, part);
	kubelet_time_add(&take.time, aligned);
	if (take.status != CPU_TAKE_OK) {
		memset(taken, 0, n_cpus * sizeof(*taken));
		return take;
	}
	for (size_t i = 0; i < n_cpus; i++) {
		taken[i] = taken[i] || part[i];
		shared[i] = shared[i] && !taken[i];
	}
	return take;
}

struct cpu_take cpu_manager_allocate_counted(const struct cpu_manager *cm, struct cpu_workspace *ws,
	bool *shared, const bool *reusable, size_t n, struct topology_hint hint, bool *scratch[2],
	bool *taken)
{
	const struct cpu_take_rules rules = rules_of_hint(cm, hint);

	fill_allocatable(cm, shared, reusable, scratch[0]);
	if (hint.any_node)
		return cpu_take_counted(ws, &cm->rules, scratch[0], n);
	if (fill_aligned(cm, scratch[0], hint, scratch[1]) >= n)
		return cpu_take_counted(ws, &rules, scratch[1], n);
	/* Which aligned CPUs are taken first decides what is left to take. */
	return cpu_manager_allocate(cm, ws, shared, reusable, n, hint, scratch, taken);
}
