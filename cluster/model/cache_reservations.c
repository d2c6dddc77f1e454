/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reservations of the cluster cache. A reservation counts as an assumed pod, its stand-in, until a pod uses it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/model/cluster_cache.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

static void remove_stand_in(struct cluster_cache *cache, struct node_reservation *r)
{
	struct pod_info *stand_in = r->stand_in;

	r->stand_in = NULL;
	if (stand_in)
		cache_remove_pod(cache, stand_in);
}

void cache_hide_reservations(
	struct cluster_cache *cache, const struct reservation_user *user, const struct pod_class *class)
{
	for (size_t i = 0; i < cache->n_nodes && cache->n_reservations > 0; i++) {
		struct node_info *node = cache->nodes[i];
		int64_t first =
			node ? node_reservations_mark(node->reservations, node->n_reservations, user, class)
			     : INT64_MAX;

		for (size_t k = 0; first < INT64_MAX && k < node->n_reservations; k++) {
			struct node_reservation *r = &node->reservations[k];

			if (r->user || (!r->usable && r->facts.step <= first))
				continue;
			cache_hide_pod(cache, r->stand_in);
		}
	}
}

bool cache_has_usable_reservation(const struct node_info *node)
{
	for (size_t i = 0; i < node->n_reservations; i++)
		if (node->reservations[i].usable)
			return true;
	return false;
}

void cache_use_reservation(struct cluster_cache *cache, const char *uid)
{
	const struct pod_info *pod = cache_find_pod(cache, uid);
	bool used = false;

	for (size_t i = 0; i < cache->n_nodes && cache->n_reservations > 0; i++) {
		struct node_info *node = cache->nodes[i];

		for (size_t k = 0; node && k < node->n_reservations; k++) {
			struct node_reservation *r = &node->reservations[k];

			if (r->usable && pod && pod->node == node && !used) {
				r->user = xstrdup(uid);
				used = true;
				remove_stand_in(cache, r);
			}
			r->usable = false;
		}
	}
}

/* The stand-in has been removed. */
static void release_reservation(struct cluster_cache *cache, struct node_reservation *r)
{
	pod_classes_drop(&cache->classes, r->class);
	node_reservation_release(r);
	cache->n_reservations--;
}

static void drop_reservation(struct cluster_cache *cache, struct node_info *node, size_t i)
{
	remove_stand_in(cache, &node->reservations[i]);
	release_reservation(cache, &node->reservations[i]);
	node->reservations[i] = node->reservations[--node->n_reservations];
}

void cache_drop_reservations(struct cluster_cache *cache, struct node_info *node)
{
	while (node->n_reservations > 0)
		drop_reservation(cache, node, node->n_reservations - 1);
	*node->reservations_hash = '\0';
}

void cache_expire_reservations(struct cluster_cache *cache, struct node_info *node, uint64_t now_ms)
{
	for (size_t i = node->n_reservations; i > 0; i--) {
		const struct node_reservation *r = &node->reservations[i - 1];

		if (now_ms < r->expires_ms)
			continue;
		log_info("node '%s': the reservation for pod '%s/%s' has expired", node->name,
			r->facts.namespace, r->facts.pod);
		drop_reservation(cache, node, i - 1);
	}
}

/* The pod that used the reservation uses the new version of the reservation. */
static void keep_user(struct cluster_cache *cache, struct node_info *node, struct node_reservation *old)
{
	const struct pod_info *pod = old->user ? cache_find_pod(cache, old->user) : NULL;

	for (size_t i = 0; pod && pod->node == node && i < node->n_reservations; i++) {
		struct node_reservation *r = &node->reservations[i];

		if (strcmp(r->facts.id, old->facts.id) != 0 || r->user)
			continue;
		remove_stand_in(cache, r);
		r->user = TAKE(old->user);
		return;
	}
}

/* The pods of the node that have been bound, whether the extender assumed them or not. `namespaces` owns their namespaces. */
static size_t list_bound(const struct node_info *node, struct reservation_pod *ret, struct strv *namespaces)
{
	size_t n = 0;

	for (size_t i = 0; i < node->n_pods; i++) {
		const struct pod_info *pod = node->pods[i];
		char *namespace;

		if (!pod->bound || !pod->class->aligned)
			continue;
		namespace = xstrndup(pod->full_name, strcspn(pod->full_name, "/"));
		strv_take(namespaces, namespace);
		ret[n++] = (struct reservation_pod){.user = {.namespace = namespace,
							    .uid = pod->uid,
							    .controller = text_or_empty(pod->controller)},
			.created_s = pod->created_s,
			.class = pod->class};
	}
	return n;
}

static void set_user(
	struct cluster_cache *cache, struct node_info *node, struct node_reservation *r, const char *user)
{
	bool had_user = r->user;

	if (had_user && user && !strcmp(r->user, user))
		return;
	free(r->user);
	r->user = user ? xstrdup(user) : NULL;
	if (user)
		remove_stand_in(cache, r);
	else if (had_user)
		cache_add_stand_in(cache, node, r);
}

/*
 * The objects decide, so that a restarted extender finds the same users. Only a pod that has been assumed to use a reservation keeps it
 * without them: the pod is not bound yet, or the clock of the reservation's writer was ahead.
 */
void cache_match_reservations(struct cluster_cache *cache, struct node_info *node)
{
	CLEANUP(strv_release) struct strv namespaces = {0};
	CLEANUP(freep) struct reservation_use *uses = NULL;
	CLEANUP(freep) struct reservation_pod *pods = NULL;
	size_t n_pods;

	if (node->n_reservations == 0 || cache->lists_pods)
		return;
	uses = xcalloc(node->n_reservations, sizeof(*uses));
	pods = xcalloc(node->n_pods + 1, sizeof(*pods));
	n_pods = list_bound(node, pods, &namespaces);
	for (size_t i = 0; i < node->n_reservations; i++) {
		const struct node_reservation *r = &node->reservations[i];
		const struct pod_info *user = r->user ? cache_find_pod(cache, r->user) : NULL;

		uses[i] = (struct reservation_use){.facts = &r->facts, .class = r->class};
		if (user && !user->bound)
			uses[i].user = user->uid;
	}
	reservations_match(uses, node->n_reservations, pods, n_pods);
	for (size_t i = 0; i < node->n_reservations; i++) {
		const struct node_reservation *r = &node->reservations[i];
		const struct pod_info *user = r->user ? cache_find_pod(cache, r->user) : NULL;

		if (!uses[i].user && user && !reservation_has_user(uses, node->n_reservations, user->uid))
			uses[i].user = user->uid;
	}
	for (size_t i = 0; i < node->n_reservations; i++)
		set_user(cache, node, &node->reservations[i], uses[i].user);
}

void cache_update_reservations(
	struct cluster_cache *cache, struct node_info *node, const struct doc *object, uint64_t now_ms)
{
	const struct doc *annotations = doc_get(doc_get(object, "metadata"), "annotations");
	struct node_reservation *old = node->reservations;
	size_t n_old = node->n_reservations;
	char hash[HASH_TEXT_SIZE];

	node_reservations_hash(annotations, hash);
	if (!strcmp(hash, node->reservations_hash))
		return;
	for (size_t i = 0; i < n_old; i++)
		remove_stand_in(cache, &old[i]);
	node->reservations = node_reservations_read(
		&cache->classes, node->name, annotations, now_ms, &node->n_reservations);
	cache->n_reservations += node->n_reservations;
	for (size_t i = 0; i < node->n_reservations; i++)
		cache_add_stand_in(cache, node, &node->reservations[i]);
	for (size_t i = 0; i < n_old; i++) {
		keep_user(cache, node, &old[i]);
		release_reservation(cache, &old[i]);
	}
	free(old);
	cache_match_reservations(cache, node);
	snprintf(node->reservations_hash, sizeof(node->reservations_hash), "%s", hash);
}
