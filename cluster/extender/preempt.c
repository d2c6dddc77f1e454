/* SPDX-License-Identifier: Apache-2.0 */
/* Answers /preempt: selects the nodes whose kubelets admit the pod after evictions, with victims. */
#include <errno.h>
#include <stdlib.h>

#include "cluster/extender/choose_victims.h"
#include "cluster/extender/verbs.h"
#include "common/cleanup.h"
#include "common/xalloc.h"

/* Whether another pod has a reservation of the node, or is nominated there: resources freed by evictions would go to that pod. */
static bool is_reserved(const struct node_info *node)
{
	for (size_t i = 0; i < node->n_pods; i++)
		if (node->pods[i]->is_reservation)
			return true;
	return false;
}

/* Judges one node of the request. Returns as choose_victims(). */
static int judge_item(struct verdicts *verdicts, const struct pod_class *class,
	const struct extender_preemption *args, const struct extender_victims *item,
	struct node_victims *victims, enum kubelet_answer *ret)
{
	const struct node_info *node = cluster_find_node(verdicts->cluster, item->node);

	*ret = class->aligned ? KUBELET_UNKNOWN : KUBELET_ADMITS;
	if (!node || !class->aligned)
		return 0;
	if (is_reserved(node)) {
		*ret = KUBELET_REJECTS;
		return 0;
	}
	return choose_victims(verdicts, args, item, class, victims, ret);
}

static bool passes(const struct verb_config *config, const struct pod_class *class,
	const struct extender_victims *item, enum kubelet_answer answer)
{
	/* From Kubernetes 1.38 on the scheduler also sends nodes without victims: only an extender has rejected them. Earlier
	 * schedulers reject an answer with such a node. */
	if (class->aligned && item->n_uids == 0)
		return false;
	return answer == KUBELET_ADMITS || (answer == KUBELET_UNKNOWN && config->pass_unknown);
}

/* Judges all nodes before it improves any victims, so that the work limit concerns as few nodes as possible. */
static void judge_items(struct verdicts *verdicts, const struct verb_config *config,
	struct extender_preemption *args, struct pod_class *class, struct node_victims *victims,
	struct verb_counts *ret)
{
	CLEANUP(freep) enum kubelet_answer *answers = xcalloc(args->n_items + 1, sizeof(*answers));
	size_t n_passing = 0;

	for (size_t i = 0; i < args->n_items; i++)
		if (judge_item(verdicts, class, args, &args->items[i], &victims[i], &answers[i]) < 0) {
			answers[i] = KUBELET_REJECTS;
			ret->n_unreached++;
		}
	for (size_t i = 0; i < args->n_items; i++)
		if (answers[i] == KUBELET_ADMITS)
			improve_victims(&victims[i]);
	for (size_t i = 0; i < args->n_items; i++) {
		struct extender_victims item;

		if (victims[i].node && answers[i] != KUBELET_REJECTS)
			node_victims_write(&victims[i], &args->items[i]);
		if (!passes(config, class, &args->items[i], answers[i]))
			continue;
		item = args->items[n_passing];
		args->items[n_passing++] = args->items[i];
		args->items[i] = item;
	}
	ret->n_passing = n_passing;
}

/* An object normally reports the pods that started before another pod's end within this time after the end. */
#define SETTLING_MS 2000u

static bool ended_lately(const struct node_info *node, uint64_t now_ms)
{
	for (size_t i = 0; i < node->n_ended; i++)
		if (now_ms < node->ended[i].ended_ms + SETTLING_MS)
			return true;
	return false;
}

/* ret->settling of extender_preempt() */
static bool is_settling(struct verdicts *verdicts, const struct extender_pod *pod,
	const struct pod_class *class, uint64_t now_ms)
{
	const struct node_info *node =
		*pod->nominated ? cluster_find_node(verdicts->cluster, pod->nominated) : NULL;
	const struct projected_node *o;
	enum kubelet_answer answer;

	if (!class->aligned || class->too_large)
		return false;
	if (!node || !project_node_possible(node) || !ended_lately(node, now_ms))
		return false;
	o = project_node(&verdicts->projections, node);
	return o && o->in_flight.n > 0 && verdict_without(verdicts, class, node, NULL, &answer) == 0 &&
	       answer == KUBELET_ADMITS;
}

void extender_preempt(struct verdicts *verdicts, const struct verb_config *config,
	struct extender_preemption *args, struct pod_class *class, uint64_t now_ms, struct verb_counts *ret)
{
	CLEANUP(freep) struct node_victims *victims = xcalloc(args->n_items + 1, sizeof(*victims));
	struct cluster *cluster = verdicts->cluster;
	bool is_full;

	if (extender_is_outdated(cluster, &args->pod))
		return;
	cluster_forget_pod(cluster, args->pod.uid);
	/* The pod would not be assumed when its victims have left, and no node passes then, except one with an unknown verdict. */
	is_full = class->aligned && cluster_namespace_is_full(cluster, args->pod.namespace, args->pod.uid);
	hide_for(cluster, &args->pod, class);
	ret->settling = is_settling(verdicts, &args->pod, class, now_ms);
	if (!ret->settling && !is_full)
		judge_items(verdicts, config, args, class, victims, ret);
	for (size_t i = 0; i < args->n_items; i++)
		node_victims_release(&victims[i]);
	cluster_end_request(cluster, args->pod.namespace, args->pod.gang, args->pod.uid);
}
