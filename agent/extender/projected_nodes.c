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

static struct projected_node *if_current(struct projected_node *o, uint64_t version, uint64_t amounts_version)
{
	return o && o->version == version && o->amounts_version == amounts_version ? o : NULL;
}

struct projected_node *projected_nodes_find(
	const struct projected_nodes *o, size_t slot, uint64_t version, uint64_t amounts_version)
{
	struct projected_node *kept =
		if_current(o->kept[slot % PROJECTED_NODES_KEPT], version, amounts_version);

	return kept ? kept : if_current(o->last, version, amounts_version);
}

void projected_nodes_keep(struct projected_nodes *o, size_t slot, struct projected_node *projected)
{
	bool in_kept = projected->in_flight.n > 0 || slot < PROJECTED_NODES_KEPT;
	struct projected_node **entry = in_kept ? &o->kept[slot % PROJECTED_NODES_KEPT] : &o->last;

	discard(entry);
	*entry = projected;
}

void projected_nodes_forget(struct projected_nodes *o, size_t slot)
{
	discard(&o->kept[slot % PROJECTED_NODES_KEPT]);
	discard(&o->last);
}
