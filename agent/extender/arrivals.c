/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/arrivals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ORDERS_MAX 24u /* of 4 different shapes */

int arrivals_init(struct arrivals *a, const struct node_state *state, const bool *gone, size_t room)
{
	*a = (struct arrivals){0};
	if (room == 0)
		return 0;
	a->order = calloc(room, sizeof(*a->order));
	a->tried = calloc(room + 1, sizeof(*a->tried));
	if (!a->order || !a->tried || node_outlook_init(&a->without, state, gone) < 0)
		return -ENOMEM;
	a->state = a->without.state;
	a->state.allocations = a->without.view;
	return 0;
}

void arrivals_release(struct arrivals *a)
{
	if (a->asked)
		node_asker_release(&a->asker);
	if (a->order)
		node_outlook_release(&a->without);
	free(a->order);
	free(a->tried);
	*a = (struct arrivals){0};
}

void arrivals_add(struct arrivals *a, const struct shape *shape, bool arrived)
{
	a->order[a->n++] = shape;
	a->n_arrived += arrived;
}

/* Whether each is admitted when they come in this order. */
static int try_order(struct arrivals *a, size_t n, struct work_limit *work, bool *ret)
{
	const struct kubelet *k = &a->asker.kubelet;
	struct kubelet_verdict v = {.answer = KUBELET_ADMITS};
	int r = 0;

	for (size_t i = 0; i < n && r == 0 && v.answer == KUBELET_ADMITS; i++)
		r = !work_limit_has_time(work) ? -ETIME
		    : i == 0 ? kubelet_judge(k, a->asker.ws, &a->tried[i]->pod, a->tried[i]->qos, &v)
			     : kubelet_judge_next(k, a->asker.ws, &a->tried[i]->pod, a->tried[i]->qos, &v);
	*ret = v.answer == KUBELET_ADMITS;
	return r;
}

static void swap(const struct shape **a, const struct shape **b)
{
	const struct shape *was = *a;

	*a = *b;
	*b = was;
}

/* The next order of the shapes, by their addresses; false when that was the last. Equal shapes count as one. */
static bool next_order(const struct shape **order, size_t n)
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
	const struct shape *const *x = a, *const *y = b;

	return (*x > *y) - (*x < *y);
}

/* Whether the shapes, which are sorted, have more orders than are tried: n! / (n1! n2! ...) of runs of equal ones. */
static bool too_many_orders(const struct shape *const *order, size_t n)
{
	size_t orders = 1, run = 0;

	for (size_t i = 0; i < n && orders <= ORDERS_MAX; i++) {
		run = i > 0 && order[i] == order[i - 1] ? run + 1 : 1;
		orders = orders * (i + 1) / run;
	}
	return orders > ORDERS_MAX;
}

static int open_asker(struct arrivals *a)
{
	int r = a->asked ? 0 : node_asker_init(&a->asker, &a->state);

	a->asked = a->asked || r == 0;
	return r;
}

int arrivals_admit_alone(struct arrivals *a, const struct shape *shape, struct work_limit *work, bool *ret)
{
	struct kubelet_verdict v;
	int r = work_limit_goes_on(work) ? open_asker(a) : -ETIME;

	if (r == 0)
		r = kubelet_judge(&a->asker.kubelet, a->asker.ws, &shape->pod, shape->qos, &v);
	if (r == 0)
		*ret = v.answer == KUBELET_ADMITS;
	return r;
}

int arrivals_admit(struct arrivals *a, const struct shape *shape, struct work_limit *work, bool *ret)
{
	size_t n = a->n + 1;
	int r = 0;

	*ret = a->n == 0 || !a->open;
	if (a->n == 0 || a->open)
		return 0;
	memcpy(a->tried, a->order, a->n * sizeof(*a->order));
	a->tried[a->n] = shape;
	qsort(a->tried + a->n_arrived, n - a->n_arrived, sizeof(*a->tried), by_address);
	*ret = !too_many_orders(a->tried + a->n_arrived, n - a->n_arrived);
	if (*ret)
		r = open_asker(a);
	while (r == 0 && *ret) {
		r = try_order(a, n, work, ret);
		if (r == 0 && *ret && !next_order(a->tried + a->n_arrived, n - a->n_arrived))
			break;
	}
	return r;
}
