/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/fit_hints.h"

#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/xalloc.h"

static void score_shape(struct fit_space *s, const struct request_shape *shape, enum strategy strategy,
	struct shape_hint *ret)
{
	const struct topology_manager_config *topology = &s->inventory->topology;
	CLEANUP(request_plan_release) struct request_plan plan = {0};

	request_plan_init(&plan, shape->pod);
	ret->name = shape->name;
	ret->fit = strategy_pod_fit(s, &plan, topology->scope);
	ret->score = strategy == STRATEGY_LEAST_NUMA_NODES
			     ? strategy_fit_score(&ret->fit, topology)
			     : strategy_score(s, &plan, topology, strategy, NULL);
}

static void fill(struct fit_hints *h, const struct fit_hints_input *input, struct fit_space *s)
{
	frontier_init(&h->frontier, s, &input->limits);
	h->has_exclusive = input->kubelet;
	if (h->has_exclusive)
		exclusive_cpus_find(input->kubelet, &h->exclusive);
	s->work_limit = FIT_HINTS_WORK_LIMIT;
	for (size_t i = 0; i < input->n_shapes; i++) {
		score_shape(s, &input->shapes[i], input->strategy, &h->shapes[i]);
		h->n_shapes = i + 1;
	}
}

int fit_hints_init(struct fit_hints *ret, const struct fit_hints_input *input)
{
	CLEANUP(distances_kept_release) struct distances_kept own = {0};
	struct distances_kept *kept = input->kept ? input->kept : &own;
	struct distances *distances;
	CLEANUP(fit_space_release) struct fit_space space = {0};
	CLEANUP(fit_hints_release) struct fit_hints h = {.inventory = input->inventory};
	int r;

	h.shapes = xcalloc(input->n_shapes + 1, sizeof(*h.shapes));
	r = distances_keep(kept, input->inventory->costs, input->inventory->n_nodes, &distances);
	if (r == 0)
		r = fit_space_init(&space, input->inventory, distances);
	if (r == 0)
		fill(&h, input, &space);
	if (r < 0)
		return r;
	*ret = h;
	h = (struct fit_hints){0};
	return 0;
}

void fit_hints_release(struct fit_hints *h)
{
	frontier_release(&h->frontier);
	exclusive_cpus_admitted_release(&h->exclusive);
	free(h->shapes);
	*h = (struct fit_hints){0};
}
