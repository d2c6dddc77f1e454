/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A node's state as far as its zones give it away: what other exporters' objects, and those without
 * nrtd.dev/node-state, are judged by. The answer to a question about such a state is an estimate.
 */
#include "common/err.h"
#include "common/node_state.h"

/* What an object says of its node. */
struct zone_facts {
	struct inventory *inventory;         /* its Node zones and its effective Topology Manager settings */
	enum cpu_manager_policy cpu_manager; /* or unknown */
	bool full_pcpus_only;                /* the object says so */
	enum memory_manager_policy memory_manager; /* or unknown */
};

#define ZONE_STATE_MAX_DEVICES 65536 /* in all zones */

/*
 * Make a state that the zones would show. Each CPU is a core (under full-pcpus-only each two), each NUMA node a
 * socket, and each zone's devices are near that NUMA node alone. As many CPUs, bytes and devices are free as the zones
 * have available, by ids of no meaning; one nameless container holds the rest of what is allocatable. Zones that have nothing
 * are left out,
 * since they fill gaps in the ids. The kubelet is of the newest release; it reserves what is not allocatable.
 *
 * A CPU manager that is not known is taken for static where the Topology Manager aligns or full-pcpus-only is set,
 * else for none. A memory manager that is not known is taken for Static where some zone has memory or hugepages that
 * are not available: Static cannot run without a reservation, and no other policy takes memory from a zone.
 *
 * The inventory moves to `ret`. 0; -EINVAL (a NUMA node appears twice); -ERANGE (more than MACHINE_MAX_CPUS CPUs or
 * ZONE_STATE_MAX_DEVICES devices), with one line. `ret` and the inventory are untouched on failure.
 */
int zone_state_make(
	const char *node_name, const struct zone_facts *facts, struct node_state *ret, struct err *err);
