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

#include "cluster/model/cluster_cache.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/vec.h"
#include "common/xalloc.h"

static struct gang *find_gang(const struct cluster_cache *cache, const char *namespace, const char *name)
{
	CLEANUP(freep) char *full_name = NULL;

	if (!*name || cache->gangs.n == 0)
		return NULL;
	full_name = xasprintf("%s/%s", namespace, name);
	return name_table_find(&cache->gangs, full_name);
}

void cache_join_gang(struct cluster_cache *cache, struct pod_info *pod, const char *namespace,
	const char *name, uint64_t now_ms)
{
	struct gang *g = find_gang(cache, namespace, name);
	struct pod_info **slot;

	if (!*name)
		return;
	if (!g) {
		g = xcalloc(1, sizeof(*g));
		g->full_name = xasprintf("%s/%s", namespace, name);
		name_table_add(&cache->gangs, g->full_name, g);
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
	struct cluster_cache *cache, struct gang *g, const char *uid, const struct pod_info *kept)
{
	size_t n = g->n_pods;

	/* The last pod takes the place of a removed pod. */
	for (size_t i = n; i > 0; i--)
		if (g->pods[i - 1] != kept && !strcmp(g->pods[i - 1]->uid, uid)) {
			cache_remove_pod(cache, g->pods[i - 1]);
			if (--n == 0)
				return;
		}
}

void cache_forget_gang_pod(
	struct cluster_cache *cache, const char *namespace, const char *gang, const char *uid)
{
	struct gang *g = find_gang(cache, namespace, gang);

	if (g)
		remove_assumptions(cache, g, uid, NULL);
}

void cache_choose_node(struct cluster_cache *cache, const char *namespace, const char *gang, const char *uid,
	const char *node, uint64_t now_ms)
{
	struct gang *g = find_gang(cache, namespace, gang);
	struct pod_info *chosen = find_assumption(g, uid, node);

	if (!g)
		return;
	g->active_ms = now_ms;
	remove_assumptions(cache, g, uid, chosen);
	if (!chosen || !chosen->earlier)
		return;
	chosen->earlier = false;
	name_table_add(&cache->pods_by_uid, chosen->uid, chosen);
}

void cache_keep_nominated(struct cluster_cache *cache, const char *namespace, const char *gang,
	const char *uid, const char *node, uint64_t resource_version)
{
	struct pod_info *pod = find_assumption(find_gang(cache, namespace, gang), uid, node);

	if (pod && resource_version > pod->resource_version)
		pod->nominated = true;
}

void cache_begin_request(struct cluster_cache *cache, const char *namespace, const char *gang,
	const char *uid, uint64_t now_ms)
{
	struct pod_info *pod;
	struct gang *g;

	cache_expire_gangs(cache, now_ms);
	pod = cache_find_pod(cache, uid);
	g = find_gang(cache, namespace, gang);
	if (!g || !pod || pod->gang != g) {
		cache_forget_pod(cache, uid);
		return;
	}
	g->active_ms = now_ms;
	g->reverted = pod->assumption;
	pod->earlier = true;
	name_table_remove(&cache->pods_by_uid, uid);
}

void cache_hide_reverted(
	struct cluster_cache *cache, const char *namespace, const char *gang, struct node_info *node)
{
	const struct gang *g = find_gang(cache, namespace, gang);

	for (size_t i = node->n_pods; g && i > 0; i--) {
		struct pod_info *pod = node->pods[i - 1];

		if (pod->gang != g || pod->nominated || (!pod->earlier && pod->assumption > g->reverted))
			continue;
		cache_hide_pod(cache, pod);
	}
}

void cache_end_request(struct cluster_cache *cache, const char *namespace, const char *gang, const char *uid)
{
	struct gang *g = find_gang(cache, namespace, gang);

	cache_show_hidden_pods(cache);
	cache_use_reservation(cache, uid);
	if (cache_find_pod(cache, uid))
		cache_drop_nomination(cache, uid);
	if (g)
		g->reverted = 0;
}

/* The assumption of a gang that has chosen no placement in time; NULL = none. */
static struct pod_info *find_undecided(const struct gang *g, uint64_t now_ms)
{
	for (size_t i = 0; g && now_ms >= g->active_ms + GANG_UNDECIDED_MS && i < g->n_pods; i++)
		if (!g->pods[i]->nominated)
			return g->pods[i];
	return NULL;
}

void cache_expire_gangs(struct cluster_cache *cache, uint64_t now_ms)
{
	for (size_t i = 0; i < cache->gangs.size; i++) {
		const struct name_entry *entry = &cache->gangs.entries[i];
		struct pod_info *pod = entry->name ? find_undecided(entry->value, now_ms) : NULL;

		if (!pod)
			continue;
		log_info("assumed pod '%s' of a PodGroup was not bound to node '%s' and is forgotten",
			pod->full_name, pod->node->name);
		cache_remove_pod(cache, pod);
		i = SIZE_MAX; /* the table may have changed */
	}
}
