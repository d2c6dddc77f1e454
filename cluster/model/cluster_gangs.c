/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The assumed pods of gangs (PodGroups, KEP-4671 and KEP-5732).
 *
 * In one scheduling cycle kube-scheduler asks for each pod of a gang in each candidate placement, one placement after the other. It
 * reverts each placement before it asks about the next, then binds the pods in one placement or in none. It tells extenders nothing
 * of this. Thus a pod of a gang is assumed on one node per request, and each of these counts until a binding shows which node the
 * scheduler has chosen. Without a binding of any pod of the gang for GANG_UNDECIDED_MS, no placement was chosen.
 *
 * For the gang's own requests, only assumptions that the scheduler may not have reverted count. In one placement the scheduler asks
 * for each pod once, so a further request for a pod reverts everything that was assumed until the pod's previous request.
 */
#include <string.h>

#include "cluster/model/cluster.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/vec.h"
#include "common/xalloc.h"

static struct gang *find_gang(const struct cluster *cluster, const char *namespace, const char *name)
{
	CLEANUP(freep) char *full_name = NULL;

	if (!*name || cluster->gangs.n == 0)
		return NULL;
	full_name = xasprintf("%s/%s", namespace, name);
	return name_table_find(&cluster->gangs, full_name);
}

void cluster_join_gang(struct cluster *cluster, struct pod_info *pod, const char *namespace, const char *name,
	uint64_t now_ms)
{
	struct gang *g = find_gang(cluster, namespace, name);
	struct pod_info **slot;

	if (!*name)
		return;
	if (!g) {
		g = xcalloc(1, sizeof(*g));
		g->full_name = xasprintf("%s/%s", namespace, name);
		name_table_add(&cluster->gangs, g->full_name, g);
	}
	slot = vec_push(&g->pods, &g->n_pods, &g->pods_size, sizeof(*slot));
	*slot = pod;
	pod->gang = g;
	pod->assumption = ++g->n_assumptions;
	g->active_ms = now_ms;
}

/* The pod's assumption on the node; NULL = none. */
static struct pod_info *find_assumption(const struct gang *g, const char *uid, const char *node)
{
	for (size_t i = 0; g && i < g->n_pods; i++)
		if (!strcmp(g->pods[i]->uid, uid) && !strcmp(g->pods[i]->node->name, node))
			return g->pods[i];
	return NULL;
}

/* Removes the pod's assumptions except `kept`; the gang may be freed then. */
static void remove_assumptions(
	struct cluster *cluster, struct gang *g, const char *uid, const struct pod_info *kept)
{
	size_t n = g->n_pods; /* that remain */

	/* cluster_remove_pod() moves the gang's last pod to the place of the removed pod, and frees the gang with its last pod. */
	for (size_t i = n; i > 0; i--)
		if (g->pods[i - 1] != kept && !strcmp(g->pods[i - 1]->uid, uid)) {
			cluster_remove_pod(cluster, g->pods[i - 1]);
			if (--n == 0)
				return;
		}
}

void cluster_forget_gang_pod(
	struct cluster *cluster, const char *namespace, const char *gang, const char *uid)
{
	struct gang *g = find_gang(cluster, namespace, gang);

	if (g)
		remove_assumptions(cluster, g, uid, NULL);
}

void cluster_choose_node(struct cluster *cluster, const char *namespace, const char *gang, const char *uid,
	const char *node, uint64_t now_ms)
{
	struct gang *g = find_gang(cluster, namespace, gang);
	struct pod_info *chosen = find_assumption(g, uid, node);

	if (!g)
		return;
	g->active_ms = now_ms;
	remove_assumptions(cluster, g, uid, chosen);
	if (!chosen || !chosen->earlier)
		return;
	chosen->earlier = false; /* the scheduler has chosen this assumption, not the last one */
	name_table_add(&cluster->pods_by_uid, chosen->uid, chosen);
}

void cluster_keep_nominated(struct cluster *cluster, const char *namespace, const char *gang, const char *uid,
	const char *node, uint64_t resource_version)
{
	struct pod_info *pod = find_assumption(find_gang(cluster, namespace, gang), uid, node);

	/* The Pod of the request, or an older one, may have the node from an earlier placement. */
	if (pod && resource_version > pod->resource_version)
		pod->nominated = true;
}

void cluster_begin_request(
	struct cluster *cluster, const char *namespace, const char *gang, const char *uid, uint64_t now_ms)
{
	struct pod_info *pod;
	struct gang *g;

	cluster_expire_gangs(cluster, now_ms);
	pod = cluster_find_pod(cluster, uid);
	g = find_gang(cluster, namespace, gang);
	if (!g || !pod || pod->gang != g) {
		cluster_forget_pod(cluster, uid);
		return;
	}
	/* The pod is requested in another placement: the scheduler has reverted the one of the pod's last assumption. */
	g->active_ms = now_ms;
	g->reverted = pod->assumption;
	pod->earlier = true;
	name_table_remove(&cluster->pods_by_uid, uid); /* so that cluster_assume_pod() assumes the pod anew */
}

void cluster_hide_reverted(
	struct cluster *cluster, const char *namespace, const char *gang, struct node_info *node)
{
	const struct gang *g = find_gang(cluster, namespace, gang);

	for (size_t i = node->n_pods; g && i > 0; i--) {
		struct pod_info *pod = node->pods[i - 1];
		bool is_reverted = pod->earlier || pod->assumption <= g->reverted;

		/* The scheduler may bind a nominated pod to this node later. */
		if (pod->gang == g && is_reverted && !pod->nominated)
			cluster_hide_pod(cluster, pod);
	}
}

void cluster_end_request(struct cluster *cluster, const char *namespace, const char *gang, const char *uid)
{
	struct gang *g = find_gang(cluster, namespace, gang);

	cluster_show_hidden_pods(cluster);
	cluster_end_reservations(cluster, uid);
	if (cluster_find_pod(cluster, uid)) /* the request has assumed the pod */
		cluster_drop_nomination(cluster, uid);
	if (g)
		g->reverted = 0;
}

/* An assumption of a gang for which the scheduler has chosen no placement in time; NULL = none. A nominated pod keeps its assumption: the
 * scheduler may bind it later. */
static struct pod_info *find_undecided(const struct gang *g, uint64_t now_ms)
{
	if (now_ms < g->active_ms + GANG_UNDECIDED_MS)
		return NULL;
	for (size_t i = 0; i < g->n_pods; i++)
		if (!g->pods[i]->nominated)
			return g->pods[i];
	return NULL;
}

void cluster_expire_gangs(struct cluster *cluster, uint64_t now_ms)
{
	for (size_t i = 0; i < cluster->gangs.size; i++) {
		const struct name_entry *entry = &cluster->gangs.entries[i];
		struct pod_info *pod = entry->name ? find_undecided(entry->value, now_ms) : NULL;

		if (!pod)
			continue;
		log_info("assumed pod '%s/%s' of a PodGroup was not bound to node '%s' and is forgotten",
			pod->namespace, pod->name, pod->node->name);
		cluster_remove_pod(cluster, pod);
		i = SIZE_MAX; /* from the beginning again: the table may have changed */
	}
}
