/* SPDX-License-Identifier: Apache-2.0 */
/* Answers /preempt: selects the nodes whose kubelets admit the pod after evictions, and adds victims. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/extender/verbs.h"
#include "common/cleanup.h"
#include "common/xalloc.h"

/* The pods of a node that would be evicted. */
struct eviction {
	bool *evicted; /* per pod of the node */
	size_t *added; /* victims that the extender added, in this order */
	size_t n_added;
};

static void eviction_release(struct eviction *e)
{
	free(e->evicted);
	free(e->added);
}

static void eviction_init(
	struct eviction *e, const struct node_info *node, const struct extender_victims *victims)
{
	*e = (struct eviction){.evicted = xcalloc(node->n_pods + 1, sizeof(*e->evicted)),
		.added = xcalloc(node->n_pods + 1, sizeof(*e->added))};
	for (size_t i = 0; i < node->n_pods; i++)
		for (size_t k = 0; k < victims->n_uids; k++)
			e->evicted[i] = e->evicted[i] || !strcmp(node->pods[i]->uid, victims->uids[k]);
}

/* The index of the remaining pod with the lowest priority, if that is below `below`; node->n_pods = no such pod. */
static size_t find_lowest_priority(const struct node_info *node, const bool *evicted, int32_t below)
{
	size_t found = node->n_pods;

	for (size_t i = 0; i < node->n_pods; i++) {
		const struct pod_info *pod = node->pods[i];

		if (evicted[i] || !pod->bound || !pod->class->aligned || pod->mirror ||
			pod->priority >= below)
			continue;
		if (found == node->n_pods || pod->priority < node->pods[found]->priority)
			found = i;
	}
	return found;
}

static void add_victim(struct extender_victims *v, const char *uid)
{
	char **uids = xreallocarray(v->uids, v->n_uids + 1, sizeof(*uids));

	v->uids = uids;
	uids[v->n_uids] = xstrdup(uid);
	v->n_uids++;
	/* The extender does not read PodDisruptionBudgets. A violation per added victim makes the scheduler prefer nodes whose
	 * victims the scheduler itself has chosen. */
	v->pdb_violations += v->pdb_violations < INT64_MAX;
}

/* Removes each added victim whose eviction is not necessary, last added first. */
static int reprieve(struct verdicts *verdicts, const struct node_info *node, const struct pod_class *class,
	struct eviction *e)
{
	for (size_t i = e->n_added; i > 0; i--) {
		bool *evicted = &e->evicted[e->added[i - 1]];
		enum kubelet_answer answer;
		int r;

		*evicted = false;
		r = verdict_without(verdicts, class, node, e->evicted, &answer);
		if (r < 0)
			return r;
		*evicted = answer != KUBELET_ADMITS;
	}
	return 0;
}

/* Adds victims until the kubelet admits the pod, its answer is unknown, or no pod of lower priority is left. */
static int add_until_admitted(struct verdicts *verdicts, const struct node_info *node,
	const struct pod_class *class, int32_t priority, struct eviction *e, enum kubelet_answer *ret)
{
	for (;;) {
		int r = verdict_without(verdicts, class, node, e->evicted, ret);
		size_t lowest;

		if (r < 0 || *ret != KUBELET_REJECTS)
			return r;
		lowest = find_lowest_priority(node, e->evicted, priority);
		if (lowest == node->n_pods)
			return 0;
		e->evicted[lowest] = true;
		e->added[e->n_added++] = lowest;
	}
}

/* *ret: the kubelet's answer after the eviction of the victims. Adds victims if necessary. 0 or -ETIME. */
static int try_node(struct verdicts *verdicts, const struct node_info *node, const struct pod_class *class,
	int32_t priority, struct extender_victims *victims, enum kubelet_answer *ret)
{
	CLEANUP(eviction_release) struct eviction e = {0};
	int r;

	eviction_init(&e, node, victims);
	if (verdict_lacks(verdicts->cache, class, node)) {
		*ret = KUBELET_REJECTS;
		return 0;
	}
	r = add_until_admitted(verdicts, node, class, priority, &e, ret);
	if (r < 0 || *ret == KUBELET_REJECTS)
		return r;
	if (*ret == KUBELET_ADMITS)
		r = reprieve(verdicts, node, class, &e);
	for (size_t i = 0; i < e.n_added && r == 0; i++)
		if (e.evicted[e.added[i]])
			add_victim(victims, node->pods[e.added[i]]->uid);
	return r;
}

/* Whether another pod has a reservation of the node: resources freed by evictions would go to that pod. */
static bool is_reserved(const struct node_info *node)
{
	for (size_t i = 0; i < node->n_reservations; i++)
		if (node->reservations[i].stands_in)
			return true;
	return false;
}

/* Judges one node of the request. Returns as try_node(). */
static int judge_victims(struct verdicts *verdicts, const struct pod_class *class, int32_t priority,
	struct extender_victims *victims, enum kubelet_answer *ret)
{
	const struct node_info *node = cache_find_node(verdicts->cache, victims->node);

	*ret = class->aligned ? KUBELET_UNKNOWN : KUBELET_ADMITS;
	if (!node || !class->aligned)
		return 0;
	if (is_reserved(node)) {
		*ret = KUBELET_REJECTS;
		return 0;
	}
	return try_node(verdicts, node, class, priority, victims, ret);
}

void extender_preempt(struct verdicts *verdicts, const struct verb_config *config,
	struct extender_preemption *args, struct pod_class *class, struct verb_counts *ret)
{
	struct cluster_cache *cache = verdicts->cache;
	size_t n_passing = 0;

	cache_forget_pod(cache, args->pod.uid);
	suspend_reservations(cache, &args->pod, class);
	for (size_t i = 0; i < args->n_items; i++) {
		struct extender_victims item;
		enum kubelet_answer answer;

		if (judge_victims(verdicts, class, args->pod.priority, &args->items[i], &answer) < 0) {
			ret->n_unreached++;
			continue;
		}
		if (answer == KUBELET_REJECTS || (answer == KUBELET_UNKNOWN && !config->pass_unknown))
			continue;
		item = args->items[n_passing];
		args->items[n_passing++] = args->items[i];
		args->items[i] = item;
	}
	cache_resume_reservations(cache, args->pod.uid);
	ret->n_passing = n_passing;
}
