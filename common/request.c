/* SPDX-License-Identifier: Apache-2.0 */
#include "common/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/vec.h"

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
	CLEANUP(freep) char *copy = strdup(name);
	struct container_request *c;

	if (!copy)
		return NULL;
	c = vec_push(&p->containers, &p->n_containers, &p->containers_size, sizeof(*c));
	if (!c)
		return NULL;
	c->name = TAKE(copy);
	c->kind = kind;
	return c;
}

/* Position of the first entry whose name is not below `name`. */
static size_t lower_bound(const struct resource_list *l, const char *name)
{
	size_t lo = 0, hi = l->n_items;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (strcmp(l->items[mid].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct resource_quantity *resource_list_find(const struct resource_list *l, const char *name)
{
	size_t at = lower_bound(l, name);

	return at < l->n_items && !strcmp(l->items[at].name, name) ? &l->items[at] : NULL;
}

qty_t resource_list_amount(const struct resource_list *l, const char *name)
{
	const struct resource_quantity *q = resource_list_find(l, name);

	return q ? q->quantity.nano : 0;
}

bool resource_list_equal(const struct resource_list *a, const struct resource_list *b)
{
	bool equal = a->n_items == b->n_items;

	for (size_t i = 0; i < a->n_items && equal; i++)
		equal = !strcmp(a->items[i].name, b->items[i].name) &&
			a->items[i].quantity.nano == b->items[i].quantity.nano;
	return equal;
}

int resource_list_set(struct resource_list *l, const char *name, struct quantity q)
{
	CLEANUP(freep) char *copy = NULL;
	size_t at = lower_bound(l, name);
	struct resource_quantity *item;

	if (at < l->n_items && !strcmp(l->items[at].name, name)) {
		l->items[at].quantity = q;
		return 0;
	}
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	item = vec_push(&l->items, &l->n_items, &l->items_size, sizeof(*item));
	if (!item)
		return -ENOMEM;
	*item = (struct resource_quantity){.name = TAKE(copy), .quantity = q};
	for (; item > l->items + at; item--) {
		struct resource_quantity moved = item[-1];

		item[-1] = item[0];
		item[0] = moved;
	}
	return 0;
}

int resource_list_add(struct resource_list *l, const struct resource_list *more, int times)
{
	int r = 0;

	for (size_t i = 0; i < more->n_items && r == 0; i++) {
		struct quantity q = more->items[i].quantity;

		q.nano = qty_add(q.nano * times, resource_list_amount(l, more->items[i].name));
		r = resource_list_set(l, more->items[i].name, q);
	}
	return r;
}
