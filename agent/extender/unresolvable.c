/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/unresolvable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/extender/verdicts.h"
#include "agent/state/projected_state.h"
#include "common/cleanup.h"
#include "common/xalloc.h"

static void project_without_pods(const struct node_state *state, struct projected_state *ret)
{
	CLEANUP(freep) bool *excluded = xmalloc(state->allocations.n_items + 1);

	memset(excluded, true, state->allocations.n_items + 1);
	projected_state_init(ret, state, excluded);
	projected_state_finish(ret);
}

void unresolvable_rejects(const struct node_info *node, const struct pod_class *class, bool *ret)
{
	CLEANUP(projected_state_release) struct projected_state projected = {0};
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	struct admission a;

	*ret = verdict_lacks(class, node) != NULL;
	if (*ret || !node->has_object || node->object.basis != CLUSTER_EXACT)
		return;
	project_without_pods(&node->object.state, &projected);
	node_admission_init(&admission, &projected.state);
	if (node->has_node)
		node_admission_limit(&admission, &node->allocatable);
	node_admission_judge(&admission, &class->pod, &a);
	/* For the first container, and for the whole pod, free resources never turn an admission into a rejection. */
	*ret = a.answer == KUBELET_REJECTS && (a.short_of || a.managers.container == 0);
}

void unresolvable_mark(struct cluster_cache *cache, struct node_info *const *nodes, size_t n,
	struct pod_class *class, struct extender_verdict *verdicts)
{
	unsigned n_judged = 0;

	for (size_t i = 0; i < n; i++) {
		const struct node_info *node = nodes[i];
		struct verdict *v =
			node && node->slot < class->verdicts_size ? &class->verdicts[node->slot] : NULL;

		if (!v || v->version != node->version || v->answer != KUBELET_REJECTS)
			continue;
		if (!v->unresolvable_known && n_judged++ < UNRESOLVABLE_MAX &&
			work_limit_goes_on(&cache->work)) {
			unresolvable_rejects(node, class, &v->unresolvable);
			v->unresolvable_known = cache->work.advanced = true;
		}
		verdicts[i].unresolvable = verdicts[i].unresolvable || v->unresolvable;
	}
}
