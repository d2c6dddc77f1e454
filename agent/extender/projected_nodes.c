/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/projected_nodes.h"

#include <stdlib.h>

void projected_node_release(struct projected_node *o)
{
	in_flight_release(&o->in_flight);
	node_admission_release(&o->admission);
	projected_state_release(&o->node);
}

static void discard(struct projected_node **o)
{
	if (*o)
		projected_node_release(*o);
	free(*o);
	*o = NULL;
}

void projected_nodes_release(struct projected_nodes *o)
{
	for (size_t i = 0; i < PROJECTED_NODES_KEPT; i++)
		discard(&o->kept[i]);
	discard(&o->last);
}

static struct projected_node *check(struct projected_node *o, uint64_t version, uint64_t amounts)
{
	return o && o->version == version && o->amounts == amounts ? o : NULL;
}

struct projected_node *projected_nodes_find(
	const struct projected_nodes *o, size_t slot, uint64_t version, uint64_t amounts)
{
	struct projected_node *kept = check(o->kept[slot % PROJECTED_NODES_KEPT], version, amounts);

	return kept ? kept : check(o->last, version, amounts);
}

void projected_nodes_keep(struct projected_nodes *o, size_t slot, struct projected_node *projected)
{
	bool has_place = projected->in_flight.n > 0 || slot < PROJECTED_NODES_KEPT;
	struct projected_node **place = has_place ? &o->kept[slot % PROJECTED_NODES_KEPT] : &o->last;

	discard(place);
	*place = projected;
}

void projected_nodes_forget(struct projected_nodes *o, size_t slot)
{
	discard(&o->kept[slot % PROJECTED_NODES_KEPT]);
	discard(&o->last);
}
