/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/extender/unresolvable.h"
#include "agent/extender/project_node.h"
#include "agent/extender/verdicts.h"
#include "common/cleanup.h"

#define NO_NODE  "nothing is known of this node"
#define NOT_BEST "another node was chosen"
#define TOO_MANY "too many pods of this namespace have a node assigned and are not bound yet"
#define POLICY   "the pod's annotation volcano.sh/numa-topology-policy asks for another policy than the node's"

void answer_release(struct answer *a, struct cluster_cache *cache)
{
	free(a->verdicts);
	free(a->scores);
	free(a->nodes);
	pod_classes_drop(&cache->classes, a->class);
	*a = (struct answer){0};
}

static int begin(struct cluster_cache *cache, struct extender_args *args, struct answer *ret)
{
	ret->verdicts = calloc(args->n_names + 1, sizeof(*ret->verdicts));
	ret->scores = calloc(args->n_names + 1, sizeof(*ret->scores));
	ret->nodes = calloc(args->n_names + 1, sizeof(struct node_info *));
	if (!ret->verdicts || !ret->scores || !ret->nodes)
		return -ENOMEM;
	ret->counts.n_asked = args->n_names;
	return pod_classes_take(&cache->classes, &args->pod.template.pod, &ret->class);
}

/* ---- each node */

/* What is found of one name. */
struct candidate {
	struct node_info *node;        /* NULL = not known */
	const struct verdict *verdict; /* NULL as well */
};

static enum strategy strategy_of(const struct answer_config *config)
{
	return config->strategy == ANSWER_BY_VOLCANO ? STRATEGY_LEAST_NUMA_NODES
						     : (enum strategy)config->strategy;
}

/* Volcano sends a pod with a policy of its own only to nodes of that policy. */
static bool volcano_bars(
	const struct answer_config *config, const struct extender_pod *pod, const struct node_info *node)
{
	enum topology_manager_policy policy = pod->template.volcano_policy;

	return config->strategy == ANSWER_BY_VOLCANO && policy != TOPOLOGY_MANAGER_UNKNOWN &&
	       policy != TOPOLOGY_MANAGER_NONE && node->has_object &&
	       node->object.state.inventory.topology.policy != policy;
}

/* Why the node is not for the pod, NULL = it may be; unknown ones are noted apart. */
static int look(struct cluster_cache *cache, const struct answer_config *config,
	const struct extender_pod *pod, struct pod_class *class, struct candidate *c,
	struct extender_verdict *ret)
{
	int r = 0;

	*ret = (struct extender_verdict){NULL, false};
	if (!c->node) {
		ret->reason = NO_NODE;
		return 0;
	}
	if (volcano_bars(config, pod, c->node)) {
		*ret = (struct extender_verdict){POLICY, true};
		return 0;
	}
	r = verdict_of(cache, class, c->node, strategy_of(config), &c->verdict);
	if (r == 0 && c->verdict->answer != KUBELET_ADMITS)
		ret->reason = c->verdict->reason;
	return r;
}

/* What the work limit left no time for may be rejected as well: it does not pass in any case. */
static bool is_unreached(const struct candidate *c)
{
	return c->verdict && c->verdict->unreached;
}

static bool is_unknown(const struct candidate *c)
{
	if (is_unreached(c))
		return false;
	return !c->node || (c->verdict && c->verdict->answer == KUBELET_UNKNOWN);
}

static bool better(const struct candidate *a, const struct candidate *b)
{
	const struct verdict *x = a->verdict, *y = b->verdict;

	if (x->score != y->score)
		return x->score > y->score;
	if (x->left != y->left)
		return x->left < y->left;
	if (x->free != y->free)
		return x->free < y->free;
	return strverscmp(a->node->name, b->node->name) < 0;
}

/* The node takes the pod: it is the best so far, is not, or only seemed to take it. */
static int compare(struct cluster_cache *cache, struct answer *ret, size_t i, struct candidate *c,
	bool confirm, struct candidate *best, size_t *ret_best)
{
	bool is_best = !best->node || better(c, best);
	int r = is_best || confirm ? verdict_confirm(cache, ret->class, c->node, &c->verdict) : 0;

	if (r < 0)
		return r;
	if (c->verdict->answer != KUBELET_ADMITS) {
		ret->verdicts[i].reason = c->verdict->reason;
		return 0;
	}
	ret->counts.n_taking++;
	ret->counts.n_aligning += c->verdict->numa_nodes > 0;
	ret->scores[i] = c->verdict->score * EXTENDER_SCORE_MAX / 100;
	if (is_best) {
		*best = *c;
		*ret_best = i;
	}
	return 0;
}

/*
 * Every name with its verdict, and the best. Where only the best is asked for, only what is better than those before is
 * confirmed. `unknown` has room for a flag for each.
 */
static int look_at_all(struct cluster_cache *cache, const struct answer_config *config,
	const struct extender_args *args, struct answer *ret, bool *unknown, struct candidate *best,
	size_t *ret_best)
{
	for (size_t i = 0; i < args->n_names; i++) {
		struct candidate c = {.node = cache_find_node(cache, args->names[i])};
		int r = look(cache, config, &args->pod, ret->class, &c, &ret->verdicts[i]);

		if (r < 0)
			return r;
		ret->nodes[i] = c.node;
		unknown[i] = is_unknown(&c);
		ret->counts.n_unknown += unknown[i];
		if (!ret->verdicts[i].reason)
			r = compare(cache, ret, i, &c, config->all, best, ret_best);
		if (r < 0)
			return r;
		ret->counts.n_unreached += is_unreached(&c);
	}
	return 0;
}

/* Nodes that nobody knows come after those whose kubelet is known to align the pod. */
static void pass_unknown(const struct answer_config *config, struct answer *ret, const bool *unknown)
{
	if (!config->pass_unknown || (ret->counts.n_aligning > 0 && !config->all))
		return;
	for (size_t i = 0; i < ret->counts.n_asked; i++)
		if (unknown[i])
			ret->verdicts[i].reason = NULL;
}

/* The scheduler gets one node: the best of those whose kubelet aligns the pod, or the only one that there is, where devices
 * without NUMA affinity are given to it. Among several nodes that align nothing the scheduler chooses. */
static bool leaves_one(const struct answer *a, const struct candidate *best, size_t at)
{
	return a->counts.n_aligning > 0 ||
	       (best->node && !a->verdicts[at].reason && a->counts.n_passing == 1);
}

static void reject_all(struct answer *ret, size_t n, const char *reason)
{
	for (size_t i = 0; i < n; i++)
		ret->verdicts[i].reason = reason;
	ret->counts.n_passing = 0;
}

static int request(struct cluster_cache *cache, const struct extender_pod *pod, struct pod_class *class,
	struct node_info *node, uint64_t now_ms)
{
	const struct assume_request request = {.uid = pod->uid,
		.namespace = pod->namespace,
		.name = pod->name,
		.class = class,
		.priority = pod->priority,
		.version = pod->version,
		.has_volumes = pod->has_volumes};

	return project_assume_pod(cache, &request, node, now_ms);
}

int answer_filter(struct cluster_cache *cache, const struct answer_config *config, struct extender_args *args,
	uint64_t now_ms, struct answer *ret)
{
	CLEANUP(freep) bool *unknown = calloc(args->n_names + 1, sizeof(*unknown));
	struct candidate best = {0};
	size_t at = 0;
	int r = unknown ? begin(cache, args, ret) : -ENOMEM;

	if (r < 0)
		return r;
	if (!ret->class->aligned) {
		ret->counts.n_taking = ret->counts.n_passing = args->n_names;
		return 0;
	}
	cache_forget_pod(cache, args->pod.uid);
	r = look_at_all(cache, config, args, ret, unknown, &best, &at);
	if (r < 0)
		return r;
	pass_unknown(config, ret, unknown);
	for (size_t i = 0; i < args->n_names; i++)
		ret->counts.n_passing += !ret->verdicts[i].reason;
	if (ret->counts.n_passing == 0)
		return unresolvable_mark(cache, ret->nodes, args->n_names, ret->class, ret->verdicts);
	if (config->all || !leaves_one(ret, &best, at))
		return 0;
	if (cache_namespace_is_full(cache, args->pod.namespace, args->pod.uid)) {
		reject_all(ret, args->n_names, TOO_MANY);
		return 0;
	}
	for (size_t i = 0; i < args->n_names; i++)
		if (i != at && !ret->verdicts[i].reason)
			ret->verdicts[i].reason = NOT_BEST;
	ret->counts.n_passing = 1;
	ret->counts.node = best.node->name;
	return request(cache, &args->pod, ret->class, best.node, now_ms);
}

int answer_prioritize(struct cluster_cache *cache, const struct answer_config *config,
	struct extender_args *args, struct answer *ret)
{
	CLEANUP(freep) bool *unknown = calloc(args->n_names + 1, sizeof(*unknown));
	struct candidate best = {0};
	size_t at = 0;
	int r = unknown ? begin(cache, args, ret) : -ENOMEM;

	return r < 0 || !ret->class->aligned ? r : look_at_all(cache, config, args, ret, unknown, &best, &at);
}

/* ---- preemption */

/* The node's pod of lowest priority, below that of `pod`, that is not yet gone; n_pods = there is none. */
static size_t find_lowest(const struct node_info *node, const bool *gone, int32_t below)
{
	size_t found = node->n_pods;

	for (size_t i = 0; i < node->n_pods; i++) {
		const struct pod_info *pod = node->pods[i];

		if (gone[i] || !pod->bound || !pod->class->aligned || pod->mirror || pod->priority >= below)
			continue;
		if (found == node->n_pods || pod->priority < node->pods[found]->priority)
			found = i;
	}
	return found;
}

static int add_victim(struct extender_victims *v, const char *uid)
{
	char **uids = reallocarray(v->uids, v->n_uids + 1, sizeof(*uids));

	if (!uids)
		return -ENOMEM;
	v->uids = uids;
	uids[v->n_uids] = strdup(uid);
	if (!uids[v->n_uids])
		return -ENOMEM;
	v->n_uids++;
	/* It is not known which PodDisruptionBudgets there are. The scheduler then prefers nodes whose victims it has chosen. */
	v->pdb_violations += v->pdb_violations < INT64_MAX;
	return 0;
}

/* Of the victims that were added those stay after all whom the kubelet need not lose: the last added first. */
static int reprieve(struct cluster_cache *cache, const struct node_info *node, const struct pod_class *class,
	const size_t *added, size_t n_added, bool *gone)
{
	for (size_t i = n_added; i > 0; i--) {
		enum kubelet_answer answer;
		int r;

		gone[added[i - 1]] = false;
		r = verdict_without(cache, class, node, gone, &answer);
		if (r < 0)
			return r;
		gone[added[i - 1]] = answer != KUBELET_ADMITS;
	}
	return 0;
}

/* Whether the node's kubelet takes the pod without the victims, who may become more. */
static int try_node(struct cluster_cache *cache, const struct node_info *node, const struct pod_class *class,
	int32_t priority, struct extender_victims *v, enum kubelet_answer *ret)
{
	CLEANUP(freep) bool *gone = calloc(node->n_pods + 1, sizeof(*gone));
	CLEANUP(freep) size_t *added = calloc(node->n_pods + 1, sizeof(*added));
	size_t n_added = 0, next = 0;
	int r = gone && added ? 0 : -ENOMEM;

	if (r == 0 && verdict_lacks(class, node)) {
		*ret = KUBELET_REJECTS;
		return 0;
	}
	for (size_t i = 0; i < node->n_pods && r == 0; i++)
		for (size_t k = 0; k < v->n_uids; k++)
			gone[i] = gone[i] || !strcmp(node->pods[i]->uid, v->uids[k]);
	while (r == 0) {
		r = verdict_without(cache, class, node, gone, ret);
		if (r < 0 || *ret != KUBELET_REJECTS)
			break;
		next = find_lowest(node, gone, priority);
		if (next == node->n_pods)
			return 0;
		gone[next] = true;
		added[n_added++] = next;
	}
	if (r == 0 && *ret == KUBELET_ADMITS)
		r = reprieve(cache, node, class, added, n_added, gone);
	for (size_t i = 0; i < n_added && r == 0; i++)
		if (gone[added[i]])
			r = add_victim(v, node->pods[added[i]]->uid);
	return r;
}

int answer_preempt(struct cluster_cache *cache, const struct answer_config *config,
	struct extender_preemption *args, struct pod_class *class, struct answer_counts *ret)
{
	size_t kept = 0;

	cache_forget_pod(cache, args->pod.uid);
	for (size_t i = 0; i < args->n_items; i++) {
		struct extender_victims item = args->items[i];
		struct node_info *node = cache_find_node(cache, item.node);
		enum kubelet_answer answer = class->aligned ? KUBELET_UNKNOWN : KUBELET_ADMITS;
		int r = node && class->aligned
				? try_node(cache, node, class, args->pod.priority, &args->items[i], &answer)
				: 0;

		ret->n_unreached += r == -ETIME;
		if (r < 0 && r != -ETIME)
			return r;
		if (r == -ETIME || answer == KUBELET_REJECTS ||
			(answer == KUBELET_UNKNOWN && !config->pass_unknown))
			continue;
		item = args->items[kept];
		args->items[kept++] = args->items[i];
		args->items[i] = item;
	}
	ret->n_passing = kept;
	return 0;
}
