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

static void names_free(char **names, size_t n)
{
	for (size_t i = 0; names && i < n; i++)
		free(names[i]);
	free(names);
}

void inventory_release(struct inventory *inv)
{
	names_free(inv->resources, inv->n_resources);
	free(inv->nodes);
	free(inv->amounts);
	free(inv->costs);
	inventory_init(inv);
}

static char **names_copy(const char *const *names, size_t n)
{
	char **copy = calloc(n + 1, sizeof(*copy));

	for (size_t i = 0; copy && i < n; i++) {
		copy[i] = strdup(names[i]);
		if (!copy[i]) {
			names_free(copy, n);
			return NULL;
		}
	}
	return copy;
}

int inventory_shape(struct inventory *inv, size_t n_nodes, const char *const *resources, size_t n_resources)
{
	struct inventory fresh = {.n_nodes = n_nodes, .n_resources = n_resources, .topology = inv->topology};

	fresh.nodes = calloc(n_nodes + 1, sizeof(*fresh.nodes));
	fresh.resources = names_copy(resources, n_resources);
	fresh.amounts = calloc(n_nodes * n_resources + 1, sizeof(*fresh.amounts));
	fresh.costs = calloc(n_nodes * n_nodes + 1, sizeof(*fresh.costs));
	if (!fresh.nodes || !fresh.resources || !fresh.amounts || !fresh.costs) {
		inventory_release(&fresh);
		return -ENOMEM;
	}
	*inv = fresh;
	return 0;
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
