/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/model/in_flight_pods.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/xalloc.h"
#include "scoring/cpu_counts.h"

#define ORDERS_MAX 24u /* 4!: four pods of different classes */

void in_flight_init(
	struct in_flight_pods *p, const struct node_state *state, const bool *excluded, size_t max)
{
	*p = (struct in_flight_pods){0};
	if (max == 0)
		return;
	p->order = xcalloc(max, sizeof(*p->order));
	p->trial = xcalloc(max + 1, sizeof(*p->trial));
	projected_state_init(&p->base, state, excluded);
	p->state = p->base.state;
}

void in_flight_release(struct in_flight_pods *p)
{
	if (p->has_admission)
		node_admission_release(&p->admission);
	if (p->order) /* in_flight_init() initializes both or neither */
		projected_state_release(&p->base);
	free(p->order);
	free(p->trial);
	*p = (struct in_flight_pods){0};
}

void in_flight_add(struct in_flight_pods *p, const struct pod_class *class, bool admitted)
{
	p->order[p->n++] = class;
	p->n_admitted += admitted;
}

/* Sets *ret to the node's free CPUs without the in-flight pods. False if not only numbers of CPUs decide about one of the n pods of `trial`. */
static bool count_free_cpus(const struct in_flight_pods *p, size_t n, struct cpu_counts *ret)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t shared = NULL;

	for (size_t i = 0; i < n; i++)
		if (!cpu_counts_is_pod_of_cpus(&p->trial[i]->pod))
			return false;
	if (!p->kubelet || !node_shared_cpus(&p->state))
		return false;
	shared = cpuset_dup(node_shared_cpus(&p->state));
	cpuset_and(shared, shared, p->state.machine.online);
	return cpu_counts_init(p->kubelet, shared, ret);
}

/* Whether the kubelet admits the n pods of `trial` in every order, by numbers of CPUs; false: perhaps not. */
static bool admits_every_order(const struct in_flight_pods *p, size_t n, const struct cpu_counts *free)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += p->trial[i]->cpus;
	for (size_t i = 0; i < n; i++) {
		size_t cpus = p->trial[i]->cpus;

		if (cpus > 0 && !cpu_counts_admit_after(free, cpus, sum - cpus))
			return false;
	}
	return true;
}

/* Whether the kubelet places each of the n pods of `trial` on one NUMA node, as cpu_counts_take() requires. */
static bool needs_single_nodes(const struct in_flight_pods *p, size_t n, const struct cpu_counts *free)
{
	for (size_t i = 0; i < n; i++)
		if (p->trial[i]->cpus > 0 && cpu_counts_nodes(free, p->trial[i]->cpus) != 1)
			return false;
	return true;
}

/* As try_order(), by numbers of CPUs. */
static void try_order_of_cpus(
	const struct in_flight_pods *p, size_t n, struct cpu_counts free, bool *ret_possible, bool *ret)
{
	size_t i = 0; /* the first rejected pod; n = none */

	while (i < n && (p->trial[i]->cpus == 0 || cpu_counts_take(&free, p->trial[i]->cpus)))
		i++;
	*ret = i == n;
	*ret_possible = *ret || i >= p->n_admitted;
}

/*
 * *ret: whether the kubelet admits the first n pods of `trial` in this order. *ret_possible: whether the pods may have
 * arrived in this order; false if the kubelet would reject a pod that it has in fact admitted.
 */
static int try_order(
	struct in_flight_pods *p, size_t n, struct work_limit *work, bool *ret_possible, bool *ret)
{
	const struct kubelet *k = &p->admission.kubelet;
	struct kubelet_verdict v = {.answer = KUBELET_ADMITS};
	size_t i;

	for (i = 0; i < n && v.answer == KUBELET_ADMITS; i++) {
		if (!work_limit_has_time(work))
			return -ETIME;
		if (i == 0)
			kubelet_judge(k, p->admission.ws, &p->trial[i]->pod, p->trial[i]->qos, &v);
		else
			kubelet_judge_next(k, p->admission.ws, &p->trial[i]->pod, p->trial[i]->qos, &v);
	}
	*ret = v.answer == KUBELET_ADMITS;
	*ret_possible = *ret || i > p->n_admitted; /* trial[i - 1] is the first rejected pod */
	return 0;
}

static void swap(const struct pod_class **a, const struct pod_class **b)
{
	const struct pod_class *saved = *a;

	*a = *b;
	*b = saved;
}

/* Small pods first: they are the most likely to leave no NUMA node for a large one, and the first order that is not admitted decides. */
static int by_cpus(const void *a, const void *b)
{
	const struct pod_class *const *x = a, *const *y = b;

	if ((*x)->cpus != (*y)->cpus)
		return (*x)->cpus < (*y)->cpus ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

/* Changes the array to the next permutation, in the order of by_cpus(). False after the last permutation. Pods of one class are
 * interchangeable. */
static bool next_order(const struct pod_class **order, size_t n)
{
	size_t i = n, k = n;

	while (i > 1 && by_cpus(&order[i - 2], &order[i - 1]) >= 0)
		i--;
	if (i < 2)
		return false;
	while (by_cpus(&order[k - 1], &order[i - 2]) <= 0)
		k--;
	swap(&order[i - 2], &order[k - 1]);
	for (k = n; i < k; i++, k--)
		swap(&order[i - 1], &order[k - 1]);
	return true;
}

/* The number of different orders of the sorted classes: n! / (n1! n2! ...), where n1, n2, ... are the counts of equal classes.
 * Stops counting above ORDERS_MAX. */
static size_t count_orders(const struct pod_class *const *order, size_t n)
{
	size_t orders = 1, run = 0;

	for (size_t i = 0; i < n && orders <= ORDERS_MAX; i++) {
		run = i > 0 && order[i] == order[i - 1] ? run + 1 : 1;
		orders = orders * (i + 1) / run;
	}
	return orders;
}

/* Changes `trial` to the next order of its n pods; the admitted pods stay first. False after the last order. */
static bool next_trial(struct in_flight_pods *p, size_t n)
{
	size_t n_rest = n - p->n_admitted;

	if (next_order(p->trial + p->n_admitted, n_rest))
		return true;
	/* The next order of the admitted pods, with the first order of the rest. */
	qsort(p->trial + p->n_admitted, n_rest, sizeof(*p->trial), by_cpus);
	return next_order(p->trial, p->n_admitted);
}

static void ensure_admission(struct in_flight_pods *p)
{
	if (!p->has_admission)
		node_admission_init(&p->admission, &p->state);
	p->has_admission = true;
}

int in_flight_admit_alone(
	struct in_flight_pods *p, const struct pod_class *class, struct work_limit *work, bool *ret)
{
	struct kubelet_verdict v;

	if (!work_limit_goes_on(work))
		return -ETIME;
	ensure_admission(p);
	kubelet_judge(&p->admission.kubelet, p->admission.ws, &class->pod, class->qos, &v);
	*ret = v.answer == KUBELET_ADMITS;
	return 0;
}

int in_flight_admit(
	struct in_flight_pods *p, const struct pod_class *class, struct work_limit *work, bool *ret)
{
	size_t n = p->n + 1, n_rest = n - p->n_admitted;
	bool admits = true, possible = false, any_possible = false, is_counted;
	struct cpu_counts free;
	int r = 0;

	if (p->n == 0 || p->unknown_start) {
		*ret = p->n == 0; /* a single pod has one order, of which the caller has the verdict */
		return 0;
	}
	memcpy(p->trial, p->order, p->n * sizeof(*p->order));
	p->trial[p->n] = class;
	qsort(p->trial, p->n_admitted, sizeof(*p->trial), by_cpus);
	qsort(p->trial + p->n_admitted, n_rest, sizeof(*p->trial), by_cpus);
	if (count_orders(p->trial, p->n_admitted) * count_orders(p->trial + p->n_admitted, n_rest) >
		ORDERS_MAX) {
		*ret = false;
		return 0;
	}
	is_counted = count_free_cpus(p, n, &free);
	if (is_counted && admits_every_order(p, n, &free)) {
		*ret = true;
		return 0;
	}
	is_counted = is_counted && needs_single_nodes(p, n, &free);
	if (!is_counted)
		ensure_admission(p);
	do { /* until the first possible order that is not admitted */
		if (is_counted)
			try_order_of_cpus(p, n, free, &possible, &admits);
		else
			r = try_order(p, n, work, &possible, &admits);
		any_possible = any_possible || possible;
	} while (r == 0 && (admits || !possible) && next_trial(p, n));
	*ret = any_possible && (admits || !possible);
	return r;
}
