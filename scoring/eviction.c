/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/eviction.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"

const char *const eviction_messages[] = {
	"",
	"eviction simulation in NRT is not possible:no resources to add, cannot process eviction simulation",
	"eviction simulation in NRT is not possible:resource release request exceeds NUMA allocatable",
};

static_assert(ARRAY_SIZE(eviction_messages) == EVICTION_VERDICT_COUNT, "a message for each verdict");

/* Add one victim's exclusive amounts to `added` (laid out like inv->amounts); true when there were any. */
static bool add_victim(const struct inventory *inv, const struct eviction_victim *v, qty_t *added)
{
	enum qos_class qos = request_qos(v->pod);
	bool any = false;

	if (v->numa_id < 0 || v->container->kind == CONTAINER_INIT)
		return false;
	for (size_t i = 0; i < v->container->requests.n_items; i++) {
		const struct resource_quantity *q = &v->container->requests.items[i];
		int r = inventory_resource(inv, q->name);

		if (!request_is_exclusive(qos, q->name, q->quantity.nano, inv))
			continue;
		any = true;
		for (size_t node = 0; node < inv->n_nodes && r >= 0; node++) {
			qty_t *sum = &added[node * inv->n_resources + (size_t)r];

			if (inv->nodes[node].id == (unsigned)v->numa_id)
				*sum = qty_add(*sum, q->quantity.nano);
		}
	}
	return any;
}

int eviction_simulate(struct inventory *inv, const struct eviction_victim *victims, size_t n_victims)
{
	size_t n = inv->n_nodes * inv->n_resources;
	CLEANUP(freep) qty_t *added = calloc(n + 1, sizeof(*added));
	bool any = false;

	if (!added)
		return -ENOMEM;
	for (size_t i = 0; i < n_victims; i++)
		if (add_victim(inv, &victims[i], added))
			any = true;
	if (!any)
		return EVICTION_NOTHING_TO_ADD;
	for (size_t i = 0; i < n; i++)
		if (added[i] != 0 && inv->amounts[i].present &&
			qty_add(inv->amounts[i].available, added[i]) > inv->amounts[i].allocatable)
			return EVICTION_EXCEEDS;
	for (size_t i = 0; i < n; i++)
		if (inv->amounts[i].present)
			inv->amounts[i].available = qty_add(inv->amounts[i].available, added[i]);
	return EVICTION_DONE;
}
