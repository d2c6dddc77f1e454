/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/outlook.h"

#include <stdlib.h>

void outlook_release(struct outlook *o)
{
	arrivals_release(&o->arrivals);
	node_asker_release(&o->asker);
	node_outlook_release(&o->node);
}

static void discard(struct outlook **o)
{
	if (*o)
		outlook_release(*o);
	free(*o);
	*o = NULL;
}

void outlooks_release(struct outlooks *o)
{
	for (size_t i = 0; i < OUTLOOKS_KEPT; i++)
		discard(&o->kept[i]);
	discard(&o->last);
}

static struct outlook *check(struct outlook *o, uint64_t version, uint64_t amounts)
{
	return o && o->version == version && o->amounts == amounts ? o : NULL;
}

struct outlook *outlooks_find(const struct outlooks *o, size_t slot, uint64_t version, uint64_t amounts)
{
	struct outlook *kept = check(o->kept[slot % OUTLOOKS_KEPT], version, amounts);

	return kept ? kept : check(o->last, version, amounts);
}

void outlooks_keep(struct outlooks *o, size_t slot, struct outlook *outlook)
{
	bool has_place = outlook->arrivals.n > 0 || slot < OUTLOOKS_KEPT;
	struct outlook **place = has_place ? &o->kept[slot % OUTLOOKS_KEPT] : &o->last;

	discard(place);
	*place = outlook;
}

void outlooks_forget(struct outlooks *o, size_t slot)
{
	discard(&o->kept[slot % OUTLOOKS_KEPT]);
	discard(&o->last);
}
