/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/kubelet_time.h"

#include "common/text.h"

/* Nanoseconds on the machine of doc/kubelets.md, for each ... */
#define NS_PERMUTATION 100u  /* permutation of hints */
#define NS_HINT        20u   /* hint of a permutation */
#define NS_SCORES      400u  /* permutation of hints that have scores */
#define NS_BYTE        1u    /* byte that is allocated for a permutation, and collected later */
#define NS_SET         1000u /* set of NUMA nodes for which a hint is made */
#define NS_ELEMENT     200u  /* CPU, device or amount of memory that is looked at for a set */
#define NS_LOOKUP \
	14u /* available CPU that is compared when a NUMA node's CPUs are looked up for a combination */
#define NS_SUBSET 150u /* NUMA node that is counted for a subset of a combination */

static uint64_t multiply_saturated(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The number of sets of `nodes`, without the empty set. */
static uint64_t count_node_sets(uint64_t nodes)
{
	unsigned n = node_mask_count(nodes);

	return n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
}

void kubelet_time_add(struct kubelet_time *time, struct kubelet_time other)
{
	time->permutations = add_saturated(time->permutations, other.permutations);
	time->sets = add_saturated(time->sets, other.sets);
	time->ns = add_saturated(time->ns, other.ns);
}

void kubelet_merge_make(struct kubelet_merge *m, uint64_t nodes, uint64_t elements)
{
	uint64_t per_set = add_saturated(NS_SET, multiply_saturated(NS_ELEMENT, elements)),
		 n = count_node_sets(nodes);

	kubelet_time_add(&m->hints, (struct kubelet_time){.sets = n, .ns = multiply_saturated(n, per_set)});
}

void kubelet_merge_add(struct kubelet_merge *m, enum topology_manager_policy policy,
	const struct topology_hints *hints, size_t n_resources)
{
	/* For "no preference" and for no hint the kubelet merges one hint, "any node". */
	uint64_t n = hints->no_preference || hints->n_items == 0 ? 1 : hints->n_items;

	if (policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE && !hints->no_preference) {
		n = 0;
		for (size_t i = 0; i < hints->n_items; i++)
			n += topology_single_node_hint(hints->items[i]);
	}
	for (size_t i = 0; i < n_resources; i++)
		m->permutations = multiply_saturated(m->permutations, n);
	m->n_resources += (unsigned)n_resources;
}

void kubelet_merge_add_all(struct kubelet_merge *m, enum topology_manager_policy policy, uint64_t nodes)
{
	uint64_t n =
		policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE ? node_mask_count(nodes) : count_node_sets(nodes);

	m->permutations = multiply_saturated(m->permutations, n > 0 ? n : 1);
	m->n_resources++;
}

/*
 * The time for one permutation of n hints. The kubelet appends hints to a list (24 bytes for each), and then their masks to
 * another (16 bytes for each). Go doubles the capacity of a full list. The first list is shared by the permutations that
 * begin with the same hints, so the last hint costs an allocation only if the list is full before.
 */
static uint64_t permutation_ns(unsigned n)
{
	unsigned last = n > 0 ? n - 1 : 0;
	bool was_full = (last & (last - 1)) == 0; /* the capacity is a power of two */
	unsigned bytes = was_full ? 24 * 2 * last : 0;

	for (unsigned capacity = 1; capacity < 2 * n; capacity *= 2)
		bytes += 16 * capacity;
	return NS_PERMUTATION + NS_HINT * (uint64_t)n + NS_BYTE * (uint64_t)bytes;
}

struct kubelet_time kubelet_merge_time(const struct kubelet_merge *m, bool merges_all)
{
	struct kubelet_time time = m->hints;
	uint64_t each = permutation_ns(m->n_resources) + (m->scored ? NS_SCORES : 0);

	if (merges_all)
		kubelet_time_add(&time, (struct kubelet_time){.permutations = m->permutations,
						.ns = multiply_saturated(m->permutations, each)});
	return time;
}

struct kubelet_time kubelet_distribution_time(const struct kubelet_distribution *d)
{
	return (struct kubelet_time){.sets = add_saturated(d->combinations, d->subsets),
		.ns = add_saturated(multiply_saturated(d->lookups, NS_LOOKUP * d->n_cpus),
			multiply_saturated(d->subsets, NS_SUBSET * d->n_nodes))};
}

void kubelet_time_print(struct kubelet_time time, char *text, size_t size)
{
	uint64_t seconds = time.ns / KUBELET_TIME_SECOND;

	seconds += time.ns % KUBELET_TIME_SECOND >= KUBELET_TIME_SECOND / 2;
	text_add_duration(text, size, (int64_t)seconds);
}

void kubelet_time_print_cause(struct kubelet_time time, char *text, size_t size)
{
	bool merges = time.permutations > time.sets;
	uint64_t n = merges ? time.permutations : time.sets;
	bool billions = n >= 1000000000;

	text_addf(text, size,
		merges ? "merges %.3g %s permutations of topology hints" : "tries %.3g %s sets of NUMA nodes",
		(double)n / (billions ? 1e9 : 1e6), billions ? "billion" : "million");
}
