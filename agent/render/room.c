/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/render/room.h"

#include <errno.h>

#include "agent/model/largest_pod.h"
#include "common/cleanup.h"

void room_release(struct room *r)
{
	free(r->copies);
	*r = (struct room){0};
}

static int find_exclusive(const struct node_asker *asker, struct room *room)
{
	CLEANUP(exclusive_cpus_admitted_release) struct exclusive_cpus_admitted admitted = {0};
	int r = exclusive_cpus_find(&asker->kubelet, &admitted);

	if (r < 0)
		return r;
	for (unsigned i = 0; i < asker->state->inventory.n_nodes && i < HINTS_MAX_NUMA_LABELS; i++) {
		if (!largest_pod(asker, &admitted, i + 1, &room->max_exclusive[i]))
			break;
		room->n_max++;
	}
	room->stranded_known = !*admitted.unknown.text;
	return room->stranded_known ? largest_pod_stranded(asker, &admitted, &room->stranded) : 0;
}

int room_find(const struct hints_config *c, const struct node_state *node, struct room *ret)
{
	CLEANUP(room_release) struct room room = {0};
	CLEANUP(node_asker_release) struct node_asker asker = {0};
	int r = node_asker_init(&asker, node);

	if (r < 0)
		return r;
	r = find_exclusive(&asker, &room);
	room.copies = calloc(c->n_shapes + 1, sizeof(*room.copies));
	if (!room.copies)
		return -ENOMEM;
	for (; room.n_copies < c->n_shapes && r == 0; room.n_copies++)
		r = pod_copies_find(&asker, &c->shapes[room.n_copies].pod, &room.copies[room.n_copies]);
	if (r < 0)
		return r;
	*ret = room;
	room = (struct room){0};
	return 0;
}
