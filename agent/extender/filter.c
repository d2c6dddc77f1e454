/* SPDX-License-Identifier: Apache-2.0 */
/* Answers /filter: passes the best node and assumes the pod there, or passes all admitting nodes. */
#include <stdlib.h>

#include "agent/extender/candidates.h"
#include "agent/extender/project_node.h"
#include "agent/extender/unresolvable.h"
#include "common/cleanup.h"

#define NOT_BEST "the extender chose another node"
#define NAMESPACE_FULL \
	"the pod's namespace has reached the limit of pods that have a node and are not bound yet"

void verb_answer_release(struct verb_answer *a, struct cluster_cache *cache)
{
	free(a->verdicts);
	free(a->scores);
	free(a->nodes);
	pod_classes_drop(&cache->classes, a->class);
	*a = (struct verb_answer){0};
}

static void pass_unknown(const struct verb_config *config, const bool *unknown, struct verb_answer *answer)
{
	if (!config->pass_unknown || (answer->counts.n_aligning > 0 && !config->all))
		return;
	for (size_t i = 0; i < answer->counts.n_nodes; i++)
		if (unknown[i])
			answer->verdicts[i].reason = NULL;
}

/*
 * Whether only the best node passes: some kubelet aligns the pod, or the best node is the only node that passes. In the second
 * case the node may hold devices without NUMA affinity for the pod. Among several nodes that align nothing, the scheduler
 * chooses.
 */
static bool passes_only_best(const struct verb_answer *a, const struct candidate *best)
{
	return a->counts.n_aligning > 0 ||
	       (best->node && !a->verdicts[best->index].reason && a->counts.n_passing == 1);
}

static void reject_all(struct verb_answer *answer, const char *reason)
{
	for (size_t i = 0; i < answer->counts.n_nodes; i++)
		answer->verdicts[i].reason = reason;
	answer->counts.n_passing = 0;
}

static void pass_best(struct verb_answer *answer, const struct candidate *best)
{
	for (size_t i = 0; i < answer->counts.n_nodes; i++)
		if (i != best->index && !answer->verdicts[i].reason)
			answer->verdicts[i].reason = NOT_BEST;
	answer->counts.n_passing = 1;
	answer->counts.assumed_node = best->node->name;
}

static int assume_pod(struct cluster_cache *cache, const struct extender_pod *pod, struct pod_class *class,
	struct node_info *node, uint64_t now_ms)
{
	const struct assume_request request = {.uid = pod->uid,
		.namespace = pod->namespace,
		.name = pod->name,
		.class = class,
		.priority = pod->priority,
		.resource_version = pod->version,
		.has_volumes = pod->has_volumes};

	return project_assume_pod(cache, &request, node, now_ms);
}

int extender_filter(struct cluster_cache *cache, const struct verb_config *config, struct extender_args *args,
	uint64_t now_ms, struct verb_answer *ret)
{
	CLEANUP(candidates_release) struct candidates c = {0};
	int r;

	candidates_init(&c, cache, args, ret);
	if (!ret->class->aligned) {
		ret->counts.n_admitting = ret->counts.n_passing = args->n_names;
		return 0;
	}
	cache_forget_pod(cache, args->pod.uid);
	r = candidates_judge(&c, cache, config, args, ret);
	if (r < 0)
		return r;
	pass_unknown(config, c.unknown, ret);
	for (size_t i = 0; i < args->n_names; i++)
		ret->counts.n_passing += !ret->verdicts[i].reason;
	if (ret->counts.n_passing == 0) {
		unresolvable_mark(cache, ret->nodes, args->n_names, ret->class, ret->verdicts);
		return 0;
	}
	if (config->all || !passes_only_best(ret, &c.best))
		return 0;
	if (cache_namespace_is_full(cache, args->pod.namespace, args->pod.uid)) {
		reject_all(ret, NAMESPACE_FULL);
		return 0;
	}
	pass_best(ret, &c.best);
	return assume_pod(cache, &args->pod, ret->class, c.best.node, now_ms);
}
