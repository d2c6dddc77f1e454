/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/emptied.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/extender/verdicts.h"
#include "agent/model/node_outlook.h"
#include "common/cleanup.h"

static int outlook_of(const struct node_state *state, struct node_outlook *ret)
{
	CLEANUP(freep) bool *gone = malloc(state->allocations.n_items + 1);
	int r = gone ? 0 : -ENOMEM;

	if (r == 0) {
		memset(gone, true, state->allocations.n_items + 1);
		r = node_outlook_init(ret, state, gone);
	}
	return r < 0 ? r : node_outlook_finish(ret);
}

int emptied_refuses(const struct book_node *node, const struct shape *shape, bool *ret)
{
	CLEANUP(node_outlook_release) struct node_outlook o = {0};
	CLEANUP(node_asker_release) struct node_asker asker = {0};
	struct admission a;
	int r;

	*ret = verdict_lacks(shape, node) != NULL;
	if (*ret || !node->has_object || node->object.basis != CLUSTER_EXACT)
		return 0;
	r = outlook_of(&node->object.state, &o);
	if (r == 0)
		r = node_asker_init(&asker, &o.state);
	if (r == 0 && node->has_node)
		r = node_asker_limit(&asker, &node->allocatable);
	if (r == 0)
		r = node_asker_judge(&asker, &shape->pod, &a);
	if (r < 0)
		return r;
	/* For the first container, and for the pod as a whole, more room is never worse. */
	*ret = a.answer == KUBELET_REJECTS && (a.short_of || a.managers.container == 0);
	return 0;
}

int emptied_mark(struct book *b, struct book_node *const *nodes, size_t n, struct shape *shape,
	struct wire_verdict *verdicts)
{
	unsigned n_looked_at = 0;

	for (size_t i = 0; i < n; i++) {
		const struct book_node *node = nodes[i];
		struct verdict *v =
			node && node->slot < shape->verdicts_size ? &shape->verdicts[node->slot] : NULL;

		if (!v || v->version != node->version || v->answer != KUBELET_REJECTS)
			continue;
		if (!v->emptied && n_looked_at++ < EMPTIED_MAX && work_limit_goes_on(&b->work)) {
			int r = emptied_refuses(node, shape, &v->hopeless);

			if (r < 0)
				return r;
			v->emptied = b->work.advanced = true;
		}
		verdicts[i].unresolvable = verdicts[i].unresolvable || v->hopeless;
	}
	return 0;
}
