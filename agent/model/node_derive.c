/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/model/node_derive.h"

#include <errno.h>

#include "agent/model/inventory_build.h"
#include "agent/observe/allocations_ended.h"
#include "common/cleanup.h"

/* The CPUs that the kubelet does not allocate, as it reports itself: it knows better than its configuration,
 * which may have been changed since it started. */
static int reserved_as_reported(const struct node_state *node, struct reserved_cpus *ret)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;
	CLEANUP(freep) char *from = strdup("the pod-resources API");
	int r = from ? machine_counted_cpus(&node->machine, &set) : -ENOMEM;

	if (r < 0 || hwloc_bitmap_andnot(set, set, node->allocatable_cpus) < 0)
		return -ENOMEM;
	*ret = (struct reserved_cpus){.observed = true};
	ret->cpus = TAKE(set);
	ret->from = TAKE(from);
	return 0;
}

static int find_reserved(const struct derive_config *config, struct node_state *node, struct err *err)
{
	bool reported = node->allocatable_cpus && !hwloc_bitmap_iszero(node->allocatable_cpus);

	if (!reported || config->reserved_named)
		return inventory_reserved_cpus(&node->machine, &node->settings, &node->reserved, err);
	return reserved_as_reported(node, &node->reserved);
}

/* Where no file has the shared pool: what is allocatable and not held, and unless they are kept apart what is
 * reserved. */
static int find_shared(struct node_state *node)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t held = NULL;
	CLEANUP(cpuset_freep) hwloc_bitmap_t shared = NULL;

	if (node->allocations.shared || !node->reserved.observed)
		return 0;
	held = allocations_exclusive_cpus(&node->allocations);
	if (node->settings.cpu_options.strict_cpu_reservation)
		shared = hwloc_bitmap_dup(node->allocatable_cpus);
	else if (machine_counted_cpus(&node->machine, &shared) < 0)
		return -ENOMEM;
	if (!held || !shared || hwloc_bitmap_andnot(shared, shared, held) < 0)
		return -ENOMEM;
	node->allocations.shared = TAKE(shared);
	return 0;
}

static int count_zones(const struct derive_config *config, struct node_state *node, struct notes *notes)
{
	CLEANUP(allocations_view_release) struct allocations view = {0};
	CLEANUP(freep) struct claim *some = NULL;
	struct claims claims = node->claims; /* borrowed */
	const struct zone_filter *filter = &config->filter;
	bool filtered = filter->n_namespaces > 0;
	int r = filtered ? zone_filter_view(filter, &node->allocations, &view) : 0;

	if (r == 0 && filtered) {
		r = zone_filter_claims(filter, &node->claims, &claims);
		some = r == 0 ? claims.items : NULL;
	}
	if (r == 0)
		r = inventory_build(&node->machine, &node->settings, filtered ? &view : &node->allocations,
			&claims, node->reserved.cpus, &node->inventory, notes);
	if (r < 0)
		return r;
	if (filtered && !node->pods_known)
		notes_add(notes, "%s: no source reports the pods' namespaces; all pods count",
			filter->namespaces_from);
	zone_filter_resources(filter, &node->inventory);
	return 0;
}

int node_derive(
	const struct derive_config *config, struct node_state *node, struct notes *notes, struct err *err)
{
	int r = find_reserved(config, node, err);

	if (r == 0)
		r = find_shared(node);
	if (r == 0)
		r = count_zones(config, node, notes);
	if (r == 0 && notes)
		r = notes->error;
	return r == -ENOMEM ? err_no_memory(err) : r;
}
