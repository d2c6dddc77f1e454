/* SPDX-License-Identifier: Apache-2.0 */
#include "common/inventory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void inventory_init(struct inventory *inv)
{
	memset(inv, 0, sizeof(*inv));
	inv->topology.max_numa_nodes = TOPOLOGY_MANAGER_DEFAULT_MAX_NUMA_NODES;
}

void inventory_release(struct inventory *inv)
{
	for (size_t i = 0; i < inv->n_resources; i++)
		free(inv->resources[i]);
	free(inv->resources);
	free(inv->nodes);
	free(inv->amounts);
	free(inv->costs);
	inventory_init(inv);
}

int inventory_shape(struct inventory *inv, size_t n_nodes, const char *const *resources, size_t n_resources)
{
	struct inventory fresh;

	inventory_init(&fresh);
	fresh.topology = inv->topology;
	fresh.nodes = calloc(n_nodes + 1, sizeof(*fresh.nodes));
	fresh.resources = calloc(n_resources + 1, sizeof(*fresh.resources));
	fresh.amounts = calloc(n_nodes * n_resources + 1, sizeof(*fresh.amounts));
	fresh.costs = calloc(n_nodes * n_nodes + 1, sizeof(*fresh.costs));
	if (!fresh.nodes || !fresh.resources || !fresh.amounts || !fresh.costs)
		goto oom;
	for (size_t i = 0; i < n_resources; i++) {
		char *copy = strdup(resources[i]);

		if (!copy)
			goto oom;
		fresh.resources[fresh.n_resources++] = copy;
	}
	fresh.n_nodes = n_nodes;
	*inv = fresh;
	return 0;
oom:
	inventory_release(&fresh);
	return -ENOMEM;
}

int inventory_resource(const struct inventory *inv, const char *name)
{
	size_t lo = 0, hi = inv->n_resources;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int r = strcmp(inv->resources[mid], name);

		if (r == 0)
			return (int)mid;
		if (r < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return -1;
}
