/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/node_derive.h"

#include <errno.h>

#include "agent/state/give_back.h"
#include "agent/state/inventory_build.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/xalloc.h"

/* The CPUs that the kubelet does not allocate, as it reports itself: it knows better than its configuration,
 * which may have been changed since it started. */
static void reserved_as_reported(const struct node_state *node, struct reserved_cpus *ret)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;
	CLEANUP(freep) char *from = xstrdup("the pod-resources API");

	machine_counted_cpus(&node->machine, &set);
	cpuset_andnot(set, set, node->allocatable_cpus);
	*ret = (struct reserved_cpus){.observed = true};
	ret->cpus = TAKE(set);
	ret->from = TAKE(from);
}

static int find_reserved(const struct derive_config *config, struct node_state *node, struct err *err)
{
	bool reported = node->allocatable_cpus && !hwloc_bitmap_iszero(node->allocatable_cpus);

	if (!reported || config->reserved_named)
		return inventory_reserved_cpus(&node->machine, &node->settings, &node->reserved, err);
	reserved_as_reported(node, &node->reserved);
	return 0;
}

/* Where no file has the shared pool: what is allocatable and not held, and unless they are kept apart what is
 * reserved. */
static void find_shared(struct node_state *node)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t held = NULL;
	CLEANUP(cpuset_freep) hwloc_bitmap_t shared = NULL;

	if (node->allocations.shared || !node->reserved.observed)
		return;
	held = allocations_exclusive_cpus(&node->allocations);
	if (node->settings.cpu_options.strict_cpu_reservation)
		shared = cpuset_dup(node->allocatable_cpus);
	else
		machine_counted_cpus(&node->machine, &shared);
	cpuset_andnot(shared, shared, held);
	node->allocations.shared = TAKE(shared);
}

static void count_zones(const struct derive_config *config, struct node_state *node, struct notes *notes)
{
	CLEANUP(allocations_view_release) struct allocations view = {0};
	CLEANUP(freep) struct claim *some = NULL;
	struct claims claims = node->claims; /* borrowed */
	const struct zone_filter *filter = &config->filter;
	bool filtered = filter->n_namespaces > 0;

	if (filtered) {
		zone_filter_view(filter, &node->allocations, &view);
		zone_filter_claims(filter, &node->claims, &claims);
		some = claims.items;
	}
	inventory_build(&node->machine, &node->settings, filtered ? &view : &node->allocations, &claims,
		node->reserved.cpus, &node->inventory, notes);
	if (filtered && !node->pods_known)
		notes_add(notes, "%s: no source reports the pods' namespaces; all pods count",
			filter->namespaces_from);
	zone_filter_resources(filter, &node->inventory);
}

int node_derive(
	const struct derive_config *config, struct node_state *node, struct notes *notes, struct err *err)
{
	int r = find_reserved(config, node, err);

	if (r == 0)
		find_shared(node);
	if (r == 0)
		count_zones(config, node, notes);
	return r;
}
