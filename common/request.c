/* SPDX-License-Identifier: Apache-2.0 */
#include "common/request.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

const char *const qos_class_names[QOS_COUNT] = {"", "BestEffort", "Burstable", "Guaranteed"};

void pod_request_init(struct pod_request *p)
{
	memset(p, 0, sizeof(*p));
}

void resource_list_release(struct resource_list *l)
{
	for (size_t i = 0; i < l->n_items; i++)
		free(l->items[i].name);
	free(l->items);
	memset(l, 0, sizeof(*l));
}

void pod_request_release(struct pod_request *p)
{
	for (size_t i = 0; i < p->n_containers; i++) {
		free(p->containers[i].name);
		resource_list_release(&p->containers[i].requests);
		resource_list_release(&p->containers[i].limits);
	}
	free(p->containers);
	free(p->name);
	resource_list_release(&p->overhead);
	resource_list_release(&p->pod_requests);
	resource_list_release(&p->pod_limits);
	pod_request_init(p);
}

struct container_request *pod_request_add(struct pod_request *p, enum container_kind kind, const char *name)
{
	struct container_request *c =
		vec_push(&p->containers, &p->n_containers, &p->containers_size, sizeof(*c));

	c->name = xstrdup(name);
	c->kind = kind;
	return c;
}

void pod_request_copy(const struct pod_request *from, struct pod_request *ret)
{
	pod_request_init(ret);
	if (from->name)
		text_set(&ret->name, from->name);
	ret->qos = from->qos;
	ret->has_pod_resources = from->has_pod_resources;
	ret->has_claims = from->has_claims;
	for (size_t i = 0; i < from->n_containers; i++) {
		const struct container_request *c = &from->containers[i];
		struct container_request *copy = pod_request_add(ret, c->kind, c->name);

		resource_list_override(&copy->requests, &c->requests);
		resource_list_override(&copy->limits, &c->limits);
	}
	resource_list_override(&ret->overhead, &from->overhead);
	resource_list_override(&ret->pod_requests, &from->pod_requests);
	resource_list_override(&ret->pod_limits, &from->pod_limits);
}

const struct resource_quantity *resource_list_find(const struct resource_list *l, const char *name)
{
	size_t at = VEC_LOWER_BOUND(l->items, l->n_items, name, name);

	return at < l->n_items && !strcmp(l->items[at].name, name) ? &l->items[at] : NULL;
}

qty_t resource_list_amount(const struct resource_list *l, const char *name)
{
	const struct resource_quantity *q = resource_list_find(l, name);

	return q ? q->quantity.nano : 0;
}

bool resource_list_equal(const struct resource_list *a, const struct resource_list *b)
{
	if (a->n_items != b->n_items)
		return false;
	for (size_t i = 0; i < a->n_items; i++)
		if (strcmp(a->items[i].name, b->items[i].name) != 0 ||
			a->items[i].quantity.nano != b->items[i].quantity.nano)
			return false;
	return true;
}

void resource_list_set(struct resource_list *l, const char *name, struct quantity q)
{
	size_t at = VEC_LOWER_BOUND(l->items, l->n_items, name, name);

	if (at < l->n_items && !strcmp(l->items[at].name, name)) {
		l->items[at].quantity = q;
		return;
	}
	vec_push(&l->items, &l->n_items, &l->items_size, sizeof(*l->items));
	memmove(l->items + at + 1, l->items + at, (l->n_items - 1 - at) * sizeof(*l->items));
	l->items[at] = (struct resource_quantity){.name = xstrdup(name), .quantity = q};
}

/* ---- many items at once */

void resource_list_append(struct resource_list *l, const char *name, struct quantity q)
{
	struct resource_quantity *item = vec_push(&l->items, &l->n_items, &l->items_size, sizeof(*item));

	*item = (struct resource_quantity){.name = xstrdup(name), .quantity = q};
}

/* Merge two adjacent sorted runs of n and m items. Stable: equal names keep their order. `scratch` holds m
 * items. */
static void merge_runs(struct resource_quantity *items, size_t n, size_t m, struct resource_quantity *scratch)
{
	memcpy(scratch, items + n, m * sizeof(*scratch));
	while (m > 0)
		if (n > 0 && strcmp(items[n - 1].name, scratch[m - 1].name) > 0) {
			items[n + m - 1] = items[n - 1];
			n--;
		} else {
			items[n + m - 1] = scratch[m - 1];
			m--;
		}
}

static void merge_sort(struct resource_quantity *items, size_t n, struct resource_quantity *scratch)
{
	size_t half = n / 2;

	if (n < 2)
		return;
	merge_sort(items, half, scratch);
	merge_sort(items + half, n - half, scratch);
	if (strcmp(items[half - 1].name, items[half].name) > 0)
		merge_runs(items, half, n - half, scratch);
}

void resource_list_sort(struct resource_list *l)
{
	CLEANUP(freep) struct resource_quantity *scratch = xmalloc((l->n_items / 2 + 1) * sizeof(*scratch));
	size_t kept = 0;

	merge_sort(l->items, l->n_items, scratch);
	for (size_t i = 0; i < l->n_items; i++) {
		if (kept > 0 && !strcmp(l->items[kept - 1].name, l->items[i].name)) { /* the last remains */
			kept--;
			free(l->items[kept].name);
		}
		l->items[kept++] = l->items[i];
	}
	l->n_items = kept;
}

/* Compute the merged quantity of a name. `old` is the list's quantity, NULL if the list does not have the
 * name. */
typedef struct quantity merge_fn(const struct quantity *old, struct quantity more);

/* Each name of `more` gets the quantity that `merge` returns. New names are appended in their order in `more`, so two sorted runs
 * remain to be merged. */
static void merge_lists(struct resource_list *l, const struct resource_list *more, merge_fn *merge)
{
	CLEANUP(freep) struct resource_quantity *scratch = NULL;
	size_t n = l->n_items, n_appended;

	for (size_t i = 0; i < more->n_items; i++) {
		const struct resource_quantity *item = &more->items[i];
		size_t at = VEC_LOWER_BOUND(l->items, n, name, item->name);

		if (at < n && !strcmp(l->items[at].name, item->name))
			l->items[at].quantity = merge(&l->items[at].quantity, item->quantity);
		else
			resource_list_append(l, item->name, merge(NULL, item->quantity));
	}
	n_appended = l->n_items - n;
	if (n == 0 || n_appended == 0 || strcmp(l->items[n - 1].name, l->items[n].name) < 0)
		return;
	scratch = xmalloc(n_appended * sizeof(*scratch));
	merge_runs(l->items, n, n_appended, scratch);
}

static struct quantity add_quantity(const struct quantity *old, struct quantity more)
{
	return old ? quantity_add(*old, more) : more;
}

static struct quantity subtract_quantity(const struct quantity *old, struct quantity more)
{
	more.nano = -more.nano;
	return add_quantity(old, more);
}

void resource_list_add(struct resource_list *l, const struct resource_list *more, int sign)
{
	merge_lists(l, more, sign < 0 ? subtract_quantity : add_quantity);
}

static struct quantity override_quantity(const struct quantity *old, struct quantity more)
{
	(void)old;
	return more;
}

void resource_list_override(struct resource_list *l, const struct resource_list *more)
{
	merge_lists(l, more, override_quantity);
}

static struct quantity keep_quantity(const struct quantity *old, struct quantity more)
{
	return old ? *old : more;
}

void resource_list_default(struct resource_list *l, const struct resource_list *more)
{
	merge_lists(l, more, keep_quantity);
}
