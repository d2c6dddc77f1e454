/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/candidates.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/xalloc.h"

#define NO_NODE      "the extender knows no Node or NodeResourceTopology object of this name"
#define OTHER_POLICY "the node's policy is not that of the pod's annotation volcano.sh/numa-topology-policy"

void candidates_release(struct candidates *c)
{
	free(c->unknown);
	*c = (struct candidates){0};
}

void candidates_init(struct candidates *c, struct cluster_cache *cache, struct extender_args *args,
	struct verb_answer *answer)
{
	*c = (struct candidates){.unknown = xcalloc(args->n_names + 1, sizeof(*c->unknown))};
	answer->verdicts = xcalloc(args->n_names + 1, sizeof(*answer->verdicts));
	answer->scores = xcalloc(args->n_names + 1, sizeof(*answer->scores));
	answer->nodes = xcalloc(args->n_names + 1, sizeof(struct node_info *));
	answer->counts.n_nodes = args->n_names;
	pod_classes_take(&cache->classes, &args->pod.template.pod, &answer->class);
}

static enum strategy strategy_of(const struct verb_config *config)
{
	return config->strategy == VERB_STRATEGY_VOLCANO ? STRATEGY_LEAST_NUMA_NODES
							 : (enum strategy)config->strategy;
}

/* Volcano places a pod that names a policy only on nodes of that policy. */
static bool volcano_excludes(
	const struct verb_config *config, const struct extender_pod *pod, const struct node_info *node)
{
	enum topology_manager_policy policy = pod->template.volcano_policy;

	return config->strategy == VERB_STRATEGY_VOLCANO && policy != TOPOLOGY_MANAGER_UNKNOWN &&
	       policy != TOPOLOGY_MANAGER_NONE && node->has_object &&
	       node->object.state.inventory.topology.policy != policy;
}

/* ret->reason is NULL if the node admits the pod. */
static int judge_node(struct cluster_cache *cache, const struct verb_config *config,
	const struct extender_pod *pod, struct pod_class *class, struct candidate *c,
	struct extender_verdict *ret)
{
	int r;

	*ret = (struct extender_verdict){NULL, false};
	if (!c->node) {
		ret->reason = NO_NODE;
		return 0;
	}
	if (volcano_excludes(config, pod, c->node)) {
		*ret = (struct extender_verdict){OTHER_POLICY, true};
		return 0;
	}
	r = verdict_of(cache, class, c->node, strategy_of(config), &c->verdict);
	if (r == 0 && c->verdict->answer != KUBELET_ADMITS)
		ret->reason = c->verdict->reason;
	return r;
}

static bool is_unreached(const struct candidate *c)
{
	return c->verdict && c->verdict->unreached;
}

/* A node not judged before the work limit is not unknown: --unknown=pass does not let the node pass. */
static bool is_unknown(const struct candidate *c)
{
	if (is_unreached(c))
		return false;
	return !c->node || (c->verdict && c->verdict->answer == KUBELET_UNKNOWN);
}

static bool is_better(const struct candidate *a, const struct candidate *b)
{
	const struct verdict *x = a->verdict, *y = b->verdict;

	if (x->score != y->score)
		return x->score > y->score;
	if (x->free_on_numa_nodes != y->free_on_numa_nodes)
		return x->free_on_numa_nodes < y->free_on_numa_nodes;
	if (x->free_on_node != y->free_on_node)
		return x->free_on_node < y->free_on_node;
	return strverscmp(a->node->name, b->node->name) < 0;
}

/* `candidate` admits the pod unless verdict_confirm() finds otherwise. */
static int compare_with_best(struct candidates *c, struct cluster_cache *cache, bool confirm_all,
	struct candidate *candidate, struct verb_answer *answer)
{
	bool is_best = !c->best.node || is_better(candidate, &c->best);
	int r = is_best || confirm_all
			? verdict_confirm(cache, answer->class, candidate->node, &candidate->verdict)
			: 0;

	if (r < 0)
		return r;
	if (candidate->verdict->answer != KUBELET_ADMITS) {
		answer->verdicts[candidate->index].reason = candidate->verdict->reason;
		return 0;
	}
	answer->counts.n_admitting++;
	answer->counts.n_aligning += candidate->verdict->numa_nodes > 0;
	answer->scores[candidate->index] = candidate->verdict->score * EXTENDER_SCORE_MAX / 100;
	if (is_best)
		c->best = *candidate;
	return 0;
}

int candidates_judge(struct candidates *c, struct cluster_cache *cache, const struct verb_config *config,
	const struct extender_args *args, struct verb_answer *answer)
{
	for (size_t i = 0; i < args->n_names; i++) {
		struct candidate candidate = {.node = cache_find_node(cache, args->names[i]), .index = i};
		int r = judge_node(
			cache, config, &args->pod, answer->class, &candidate, &answer->verdicts[i]);

		if (r < 0)
			return r;
		answer->nodes[i] = candidate.node;
		c->unknown[i] = is_unknown(&candidate);
		answer->counts.n_unknown += c->unknown[i];
		if (!answer->verdicts[i].reason)
			r = compare_with_best(c, cache, config->all, &candidate, answer);
		if (r < 0)
			return r;
		answer->counts.n_unreached += is_unreached(&candidate);
	}
	return 0;
}
