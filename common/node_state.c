/* SPDX-License-Identifier: Apache-2.0 */
#include "common/node_state.h"

#include <stdlib.h>
#include <string.h>

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
	hwloc_bitmap_free(s->allocatable_cpus);
	reserved_cpus_release(&s->reserved);
	inventory_release(&s->inventory);
	node_state_init(s);
}
