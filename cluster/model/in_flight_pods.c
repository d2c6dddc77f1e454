/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/model/in_flight_pods.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/xalloc.h"

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
	if (p->order)
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
	*ret_possible = *ret || i > p->n_admitted;
	return 0;
}

static void swap(const struct pod_class **a, const struct pod_class **b)
{
	const struct pod_class *saved = *a;

	*a = *b;
	*b = saved;
}

/* Changes the array to the next permutation, in the order of the classes' addresses. False after the last permutation. Pods of
 * one class are interchangeable. */
static bool next_order(const struct pod_class **order, size_t n)
{
	size_t i = n, k = n;

	while (i > 1 && order[i - 2] >= order[i - 1])
		i--;
	if (i < 2)
		return false;
	while (order[k - 1] <= order[i - 2])
		k--;
	swap(&order[i - 2], &order[k - 1]);
	for (k = n; i < k; i++, k--)
		swap(&order[i - 1], &order[k - 1]);
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct pod_class *const *x = a, *const *y = b;

	return (*x > *y) - (*x < *y);
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
	qsort(p->trial + p->n_admitted, n_rest, sizeof(*p->trial), by_address);
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
	bool admits = true, possible = false, any = false;
	int r = 0;

	*ret = p->n == 0 || !p->unknown_start;
	if (p->n == 0 || p->unknown_start)
		return 0;
	memcpy(p->trial, p->order, p->n * sizeof(*p->order));
	p->trial[p->n] = class;
	qsort(p->trial, p->n_admitted, sizeof(*p->trial), by_address);
	qsort(p->trial + p->n_admitted, n_rest, sizeof(*p->trial), by_address);
	*ret = count_orders(p->trial, p->n_admitted) * count_orders(p->trial + p->n_admitted, n_rest) <=
	       ORDERS_MAX;
	if (!*ret)
		return 0;
	ensure_admission(p);
	do {
		r = try_order(p, n, work, &possible, &admits);
		any = any || possible;
	} while (r == 0 && (admits || !possible) && next_trial(p, n));
	*ret = any && (admits || !possible);
	return r;
}
