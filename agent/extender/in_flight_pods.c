/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/in_flight_pods.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ORDERS_MAX 24u /* of 4 different pod classes */

int in_flight_init(struct in_flight_pods *a, const struct node_state *state, const bool *gone, size_t room)
{
	*a = (struct in_flight_pods){0};
	if (room == 0)
		return 0;
	a->order = calloc(room, sizeof(*a->order));
	a->tried = calloc(room + 1, sizeof(*a->tried));
	if (!a->order || !a->tried || projected_state_init(&a->without, state, gone) < 0)
		return -ENOMEM;
	a->state = a->without.state;
	a->state.allocations = a->without.view;
	return 0;
}

void in_flight_release(struct in_flight_pods *a)
{
	if (a->asked)
		node_admission_release(&a->admission);
	if (a->order)
		projected_state_release(&a->without);
	free(a->order);
	free(a->tried);
	*a = (struct in_flight_pods){0};
}

void in_flight_add(struct in_flight_pods *a, const struct pod_class *class, bool admitted)
{
	a->order[a->n++] = class;
	a->n_admitted += admitted;
}

/* Whether each is admitted when they come in this order. */
static int try_order(struct in_flight_pods *a, size_t n, struct work_limit *work, bool *ret)
{
	const struct kubelet *k = &a->admission.kubelet;
	struct kubelet_verdict v = {.answer = KUBELET_ADMITS};
	int r = 0;

	for (size_t i = 0; i < n && r == 0 && v.answer == KUBELET_ADMITS; i++)
		r = !work_limit_has_time(work) ? -ETIME
		    : i == 0
			    ? kubelet_judge(k, a->admission.ws, &a->tried[i]->pod, a->tried[i]->qos, &v)
			    : kubelet_judge_next(k, a->admission.ws, &a->tried[i]->pod, a->tried[i]->qos, &v);
	*ret = v.answer == KUBELET_ADMITS;
	return r;
}

static void swap(const struct pod_class **a, const struct pod_class **b)
{
	const struct pod_class *was = *a;

	*a = *b;
	*b = was;
}

/* The next order of the pod classes, by their addresses; false when that was the last. Equal pod classes count as one. */
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

/* Whether the pod classes, which are sorted, have more orders than are tried: n! / (n1! n2! ...) of runs of equal ones. */
static bool too_many_orders(const struct pod_class *const *order, size_t n)
{
	size_t orders = 1, run = 0;

	for (size_t i = 0; i < n && orders <= ORDERS_MAX; i++) {
		run = i > 0 && order[i] == order[i - 1] ? run + 1 : 1;
		orders = orders * (i + 1) / run;
	}
	return orders > ORDERS_MAX;
}

static int open_admission(struct in_flight_pods *a)
{
	int r = a->asked ? 0 : node_admission_init(&a->admission, &a->state);

	a->asked = a->asked || r == 0;
	return r;
}

int in_flight_admit_alone(
	struct in_flight_pods *a, const struct pod_class *class, struct work_limit *work, bool *ret)
{
	struct kubelet_verdict v;
	int r = work_limit_goes_on(work) ? open_admission(a) : -ETIME;

	if (r == 0)
		r = kubelet_judge(&a->admission.kubelet, a->admission.ws, &class->pod, class->qos, &v);
	if (r == 0)
		*ret = v.answer == KUBELET_ADMITS;
	return r;
}

int in_flight_admit(
	struct in_flight_pods *a, const struct pod_class *class, struct work_limit *work, bool *ret)
{
	size_t n = a->n + 1;
	int r = 0;

	*ret = a->n == 0 || !a->open;
	if (a->n == 0 || a->open)
		return 0;
	memcpy(a->tried, a->order, a->n * sizeof(*a->order));
	a->tried[a->n] = class;
	qsort(a->tried + a->n_admitted, n - a->n_admitted, sizeof(*a->tried), by_address);
	*ret = !too_many_orders(a->tried + a->n_admitted, n - a->n_admitted);
	if (*ret)
		r = open_admission(a);
	while (r == 0 && *ret) {
		r = try_order(a, n, work, ret);
		if (r == 0 && *ret && !next_order(a->tried + a->n_admitted, n - a->n_admitted))
			break;
	}
	return r;
}
