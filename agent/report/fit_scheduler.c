/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report/fit_scheduler.h"

#include <errno.h>

#include "common/cleanup.h"
#include "scoring/nrt_match.h"

static void ask(const struct node_state *node, const struct request_plan *plan, struct fit_space *space,
	struct fit_scheduler *ret)
{
	struct topology_manager_config config = node->settings.topology;
	unsigned zones = node->inventory.nodes[node->inventory.n_nodes - 1].id + 1;

	config.max_numa_nodes = nrt_max_numa_nodes(&node->settings, zones);
	ret->known = true;
	ret->filter = filter_pod(space, plan, &config, NULL);
	fit_space_reset(space);
	ret->bound = !fit_is_not_numa(space, &plan->effective);
	if (ret->bound)
		ret->fit = fit_required(space, plan->qos, &plan->effective);
	for (enum strategy s = 0; s < STRATEGY_COUNT; s++)
		ret->scores[s] = strategy_score(space, plan, &config, s, NULL);
}

int fit_scheduler_make(
	const struct node_state *node, const struct pod_request *pod, struct fit_scheduler *ret)
{
	CLEANUP(request_plan_release) struct request_plan plan = {0};
	CLEANUP(distances_release) struct distances distances = {0};
	CLEANUP(fit_space_release) struct fit_space space = {0};
	const struct inventory *inv = &node->inventory;
	int r;

	*ret = (struct fit_scheduler){.known = false};
	if (inv->n_nodes == 0 || inv->nodes[inv->n_nodes - 1].id > NRT_MAX_NODE_ID)
		return 0;
	request_plan_init(&plan, pod);
	r = distances_init(&distances, inv->costs, inv->n_nodes, DISTANCES_WORK_LIMIT);
	if (r == 0)
		r = fit_space_init(&space, inv, &distances);
	if (r == 0)
		ask(node, &plan, &space, ret);
	return r;
}
