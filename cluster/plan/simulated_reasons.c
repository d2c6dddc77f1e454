/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/plan/simulated_reasons.h"

#include <stdint.h>

#include "common/cleanup.h"

void simulated_reasons_find(
	struct simulated_cluster *c, size_t pod, const bool *excluded, struct node_reasons *ret)
{
	for (size_t i = 0; i < c->n_nodes; i++) {
		CLEANUP(freep) char *explained = NULL;
		const char *constraint;

		if (c->nodes[i].obstacle == SIMULATED_NOT_SELECTED || (excluded && excluded[i]))
			continue;
		constraint = c->nodes[i].info->has_node ? simulated_constraint(c, i, pod) : "";
		if (!*constraint)
			explained = simulated_explain(c, i, pod);
		node_reasons_count(ret, explained ? explained : constraint, SIZE_MAX);
	}
	node_reasons_sort(ret);
}
