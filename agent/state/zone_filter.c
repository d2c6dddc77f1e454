/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/zone_filter.h"

#include <errno.h>
#include <fnmatch.h>

#include "agent/state/give_back.h"
#include "common/cleanup.h"
#include "common/xalloc.h"

static bool is_excluded(const struct zone_filter *filter, const char *name)
{
	for (size_t i = 0; i < filter->n_resources; i++)
		if (!strcmp(filter->resources[i], name) || fnmatch(filter->resources[i], name, 0) == 0)
			return true;
	return false;
}

void zone_filter_resources(const struct zone_filter *filter, struct inventory *inv)
{
	size_t n = inv->n_resources, kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (is_excluded(filter, inv->resources[i]))
			continue;
		for (size_t node = 0; node < inv->n_nodes; node++)
			inv->amounts[node * n + kept] = inv->amounts[node * n + i];
		inv->resources[kept++] = inv->resources[i];
	}
	/* The rows move together, the lower ones first: a row never reaches into the next one's. */
	for (size_t node = 1; node < inv->n_nodes; node++)
		memmove(&inv->amounts[node * kept], &inv->amounts[node * n], kept * sizeof(*inv->amounts));
	inv->n_resources = kept;
}

static bool is_named(const struct zone_filter *filter, const char *namespace)
{
	for (size_t i = 0; i < filter->n_namespaces; i++)
		if (!strcmp(filter->namespaces[i], namespace))
			return true;
	return false;
}

static bool counts(const struct zone_filter *filter, const struct allocation *item)
{
	return !*item->pod || item->named_by_logs || is_named(filter, item->namespace);
}

void zone_filter_claims(const struct zone_filter *filter, const struct claims *all, struct claims *ret)
{
	struct claims some = {.items = xcalloc(all->n_items + 1, sizeof(*some.items))};

	for (size_t i = 0; i < all->n_items; i++)
		if (!*all->items[i].namespace || is_named(filter, all->items[i].namespace))
			some.items[some.n_items++] = all->items[i];
	*ret = some;
}

void zone_filter_view(
	const struct zone_filter *filter, const struct allocations *all, struct allocations *ret)
{
	CLEANUP(freep) bool *gone = xcalloc(all->n_items + 1, sizeof(*gone));

	for (size_t i = 0; i < all->n_items; i++)
		gone[i] = !counts(filter, &all->items[i]);
	allocations_view_without(all, gone, ret);
}
