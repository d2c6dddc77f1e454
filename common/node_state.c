/* SPDX-License-Identifier: Apache-2.0 */
#include "common/node_state.h"

#include <stdlib.h>
#include <string.h>

#include "common/vec.h"
#include "common/xalloc.h"

/* ---- inventory */

void inventory_init(struct inventory *inv)
{
	memset(inv, 0, sizeof(*inv));
	inv->topology.max_numa_nodes = TOPOLOGY_MANAGER_DEFAULT_MAX_NUMA_NODES;
}

/* Copy the names into one memory block: the pointers, then the strings. */
static char **copy_resource_names(const char *const *names, size_t n)
{
	size_t text_size = 0;
	char **copy, *text;

	for (size_t i = 0; i < n; i++)
		text_size += strlen(names[i]) + 1;
	copy = xmalloc((n + 1) * sizeof(*copy) + text_size);
	text = (char *)(copy + n + 1);
	for (size_t i = 0; i < n; i++) {
		size_t size = strlen(names[i]) + 1;

		copy[i] = memcpy(text, names[i], size);
		text += size;
	}
	copy[n] = NULL;
	return copy;
}

void inventory_release(struct inventory *inv)
{
	free(inv->resources);
	free(inv->nodes);
	free(inv->amounts);
	free(inv->costs);
	inventory_init(inv);
}

void inventory_shape(struct inventory *inv, size_t n_nodes, const char *const *resources, size_t n_resources)
{
	struct inventory fresh = {.n_nodes = n_nodes, .n_resources = n_resources, .topology = inv->topology};

	fresh.nodes = xcalloc(n_nodes + 1, sizeof(*fresh.nodes));
	fresh.resources = copy_resource_names(resources, n_resources);
	fresh.amounts = xcalloc(n_nodes * n_resources + 1, sizeof(*fresh.amounts));
	fresh.costs = xcalloc(n_nodes * n_nodes + 1, sizeof(*fresh.costs));
	*inv = fresh;
}

int inventory_resource(const struct inventory *inv, const char *name)
{
	size_t at = vec_lower_bound(inv->resources, inv->n_resources, sizeof(*inv->resources), 0, name);

	return at < inv->n_resources && !strcmp(inv->resources[at], name) ? (int)at : -1;
}

/* ---- the memory of pods */

void pods_memory_release(struct pods_memory *p)
{
	for (size_t i = 0; i < p->n_items; i++) {
		free(p->items[i].pod_uid);
		free(p->items[i].namespace);
		free(p->items[i].pod);
		hwloc_bitmap_free(p->items[i].cpus);
		hwloc_bitmap_free(p->items[i].near);
		free(p->items[i].memory);
		free(p->items[i].hugepages);
	}
	free(p->items);
	*p = (struct pods_memory){0};
}

uint64_t pod_memory_remote(const struct pod_memory *p, const struct machine *m, uint64_t *ret_total)
{
	uint64_t total = 0, remote = 0;

	for (size_t i = 0; i < m->n_nodes; i++) {
		uint64_t bytes = p->memory[i] + p->hugepages[i];

		total += bytes;
		if (!hwloc_bitmap_isset(p->near, m->nodes[i].id))
			remote += bytes;
	}
	*ret_total = total;
	return remote;
}

unsigned pod_memory_remote_percent(const struct pod_memory *p, const struct machine *m)
{
	uint64_t total, remote = pod_memory_remote(p, m, &total);

	return total > 0 ? (unsigned)((double)remote * 100 / (double)total + 0.5) : 0;
}

/* ---- node state */

void reserved_cpus_release(struct reserved_cpus *r)
{
	hwloc_bitmap_free(r->cpus);
	free(r->from);
	*r = (struct reserved_cpus){0};
}

void node_state_init(struct node_state *s)
{
	memset(s, 0, sizeof(*s));
	machine_init(&s->machine);
	settings_init(&s->settings);
	allocations_init(&s->allocations);
	inventory_init(&s->inventory);
}

void node_state_release(struct node_state *s)
{
	free(s->node_name);
	machine_release(&s->machine);
	settings_release(&s->settings);
	allocations_release(&s->allocations);
	claims_release(&s->claims);
	pod_refs_free(s->pods, s->n_pods);
	pods_memory_release(&s->pods_memory);
	device_addresses_release(&s->device_addresses);
	hwloc_bitmap_free(s->allocatable_cpus);
	reserved_cpus_release(&s->reserved);
	inventory_release(&s->inventory);
	node_state_init(s);
}
