/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods for which the scheduler makes room on a node by preemption (status.nominatedNodeName): no other pod gets this room.
 *
 * As in kube-scheduler, a nominated pod counts for pods of the same or a lower priority. A stand-in counts as the nominated pod,
 * until the pod is assumed or bound.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/model/cluster_cache.h"
#include "cluster/objects/pod_parse.h"
#include "cluster/objects/pod_status.h"
#include "common/cleanup.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define STAND_IN "nomination/" /* before the nominated pod's UID: no object reports the stand-in */

static bool stands_for(const struct pod_info *stand_in, const char *uid)
{
	return !strcmp(stand_in->uid + strlen(STAND_IN), uid);
}

/* The index of the pod's stand-in; n_nominations = none. */
static size_t find_nomination(const struct cluster_cache *cache, const char *uid)
{
	size_t i = 0;

	while (i < cache->n_nominations && !stands_for(cache->nominations[i], uid))
		i++;
	return i;
}

static void remove_nomination(struct cluster_cache *cache, size_t i)
{
	struct pod_info *stand_in = cache->nominations[i];

	cache->nominations[i] = cache->nominations[--cache->n_nominations];
	cache_remove_pod(cache, stand_in);
}

void cache_drop_nomination(struct cluster_cache *cache, const char *uid)
{
	size_t i = find_nomination(cache, uid);

	if (i < cache->n_nominations)
		remove_nomination(cache, i);
}

static int add_stand_in(struct cluster_cache *cache, const struct doc *object,
	const struct pod_status *status, struct node_info *node, struct err *err)
{
	CLEANUP(pod_template_release) struct pod_template template = {0};
	CLEANUP(freep) char *key = xasprintf(STAND_IN "%s", status->uid);
	struct pod_info init = {.names = pod_names_of(key, status->namespace, key), .is_reservation = true};
	int r = pod_template_from_pod(object, &template, err);

	if (r < 0)
		return r;
	pod_priority_read(object, &init.priority);
	init.class = pod_classes_take(&cache->classes, &template.pod);
	if (!init.class->aligned) {
		pod_classes_drop(&cache->classes, init.class);
		return 0;
	}
	*(struct pod_info **)vec_push(&cache->nominations, &cache->n_nominations, &cache->nominations_size,
		sizeof(*cache->nominations)) =
		cache_add_pod(cache, key, status->namespace, status->name, &init, node);
	return 0;
}

int cache_nominate_pod(struct cluster_cache *cache, const struct doc *object, const struct pod_status *status,
	struct err *err)
{
	const char *name = pod_nominated_node(object);
	struct node_info *node = *name && *status->uid ? cache_find_node(cache, name) : NULL;
	size_t i = find_nomination(cache, status->uid);
	int r = 0;

	if (i < cache->n_nominations && cache->nominations[i]->node != node) {
		remove_nomination(cache, i);
		i = cache->n_nominations;
	}
	/* An assumed pod counts where it is assumed. */
	if (i == cache->n_nominations && node && !cache_find_pod(cache, status->uid))
		r = add_stand_in(cache, object, status, node, err);
	i = find_nomination(cache, status->uid);
	if (i < cache->n_nominations)
		cache->nominations[i]->list_number = cache->list_number[CACHE_POD];
	return r;
}

void cache_hide_nominations(struct cluster_cache *cache, const char *uid, int32_t priority)
{
	for (size_t i = 0; i < cache->n_nominations; i++) {
		struct pod_info *stand_in = cache->nominations[i];

		if (stand_in->priority < priority || stands_for(stand_in, uid))
			cache_hide_pod(cache, stand_in);
	}
}

void cache_drop_unlisted_nominations(struct cluster_cache *cache)
{
	for (size_t i = cache->n_nominations; i > 0; i--)
		if (cache->nominations[i - 1]->list_number < cache->list_number[CACHE_POD])
			remove_nomination(cache, i - 1);
}
