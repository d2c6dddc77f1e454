/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/render/headroom.h"

#include <errno.h>

#include "agent/state/largest_pod.h"
#include "common/cleanup.h"
#include "common/xalloc.h"

void headroom_release(struct headroom *r)
{
	free(r->copies);
	*r = (struct headroom){0};
}

static void find_exclusive(const struct node_admission *admission, struct headroom *headroom)
{
	CLEANUP(exclusive_cpus_admitted_release) struct exclusive_cpus_admitted admitted = {0};

	exclusive_cpus_find(&admission->kubelet, &admitted);
	for (unsigned i = 0; i < admission->state->inventory.n_nodes && i < HINTS_MAX_NUMA_LABELS; i++) {
		if (!largest_pod(admission, &admitted, i + 1, &headroom->max_exclusive[i]))
			break;
		headroom->n_max++;
	}
	headroom->stranded_known = !*admitted.unknown.text;
	if (headroom->stranded_known)
		largest_pod_stranded(admission, &admitted, &headroom->stranded);
}

void headroom_find(const struct hints_config *c, const struct node_state *node, struct headroom *ret)
{
	CLEANUP(headroom_release) struct headroom headroom = {0};
	CLEANUP(node_admission_release) struct node_admission admission = {0};

	node_admission_init(&admission, node);
	find_exclusive(&admission, &headroom);
	headroom.copies = xcalloc(c->n_shapes + 1, sizeof(*headroom.copies));
	for (; headroom.n_copies < c->n_shapes; headroom.n_copies++)
		pod_copies_find(
			&admission, &c->shapes[headroom.n_copies].pod, &headroom.copies[headroom.n_copies]);
	*ret = headroom;
	headroom = (struct headroom){0};
}
