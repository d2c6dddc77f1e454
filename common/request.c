/* SPDX-License-Identifier: Apache-2.0 */
#include "common/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
	struct container_request *c;

	if (vec_grow(&p->containers, &p->containers_size, p->n_containers + 1, sizeof(*p->containers)) < 0)
		return NULL;
	c = &p->containers[p->n_containers];
	*c = (struct container_request){.name = strdup(name), .kind = kind};
	if (!c->name)
		return NULL;
	p->n_containers++;
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

int resource_list_set(struct resource_list *l, const char *name, struct quantity q)
{
	size_t at = lower_bound(l, name);
	char *copy;

	if (at < l->n_items && !strcmp(l->items[at].name, name)) {
		l->items[at].quantity = q;
		return 0;
	}
	if (vec_grow(&l->items, &l->items_size, l->n_items + 1, sizeof(*l->items)) < 0)
		return -ENOMEM;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	memmove(&l->items[at + 1], &l->items[at], (l->n_items - at) * sizeof(*l->items));
	l->items[at] = (struct resource_quantity){.name = copy, .quantity = q};
	l->n_items++;
	return 0;
}
