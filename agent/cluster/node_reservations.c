/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cluster/node_reservations.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/base/time.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define ANNOTATIONS_MAX ((size_t)1 << 20) /* the API server accepts 256 KiB per object */

static void node_reservation_release(struct node_reservation *r)
{
	reservation_release(&r->facts);
	free(r->user);
}

void node_reservations_release(struct node_info *node)
{
	for (size_t i = 0; i < node->n_reservations; i++)
		node_reservation_release(&node->reservations[i]);
	free(node->reservations);
}

/* The name is not that of a pod, so that no object reports the stand-in. */
static void add_stand_in(struct cluster_cache *cache, struct node_info *node, struct node_reservation *r)
{
	CLEANUP(freep) char *name = xasprintf("reservation/%s/%s", node->name, r->facts.id);
	const struct pod_info init = {.class = r->class,
		.names = pod_names_of(name, r->facts.namespace, name),
		.expires_ms = r->expires_ms,
		.is_reservation = true};

	r->class->users++;
	r->stands_in = cache_add_pod(cache, name, r->facts.namespace, name, &init, node);
}

void node_reservations_reopen(struct cluster_cache *cache, struct node_info *node, const char *uid)
{
	for (size_t i = 0; i < node->n_reservations; i++) {
		struct node_reservation *r = &node->reservations[i];

		if (!r->user || strcmp(r->user, uid) != 0)
			continue;
		free(r->user);
		r->user = NULL;
		add_stand_in(cache, node, r);
	}
}

static void remove_stand_in(struct cluster_cache *cache, struct node_reservation *r)
{
	struct pod_info *stands_in = r->stands_in;

	r->stands_in = NULL;
	if (stands_in)
		cache_remove_pod(cache, stands_in);
}

/* Marks the node's reservations that the pod may use. Returns the first step of these; INT64_MAX = none. */
static int64_t mark_usable(
	struct node_info *node, const struct reservation_user *user, const struct pod_class *class)
{
	int64_t first = INT64_MAX;

	for (size_t i = 0; i < node->n_reservations; i++) {
		struct node_reservation *r = &node->reservations[i];

		r->usable = !r->user && reservation_is_for(&r->facts, user, r->class == class);
		if (r->usable && r->facts.step < first)
			first = r->facts.step;
	}
	return first;
}

void cache_suspend_reservations(
	struct cluster_cache *cache, const struct reservation_user *user, const struct pod_class *class)
{
	for (size_t i = 0; i < cache->n_nodes && cache->n_reservations > 0; i++) {
		struct node_info *node = cache->nodes[i];
		int64_t first = node ? mark_usable(node, user, class) : INT64_MAX;

		for (size_t k = 0; first < INT64_MAX && k < node->n_reservations; k++) {
			struct node_reservation *r = &node->reservations[k];

			if (r->user || (!r->usable && r->facts.step <= first))
				continue;
			r->suspended = true;
			remove_stand_in(cache, r);
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

void cache_resume_reservations(struct cluster_cache *cache, const char *uid)
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
			} else if (r->suspended) {
				add_stand_in(cache, node, r);
			}
			r->usable = r->suspended = false;
		}
	}
}

static void free_reservation(struct cluster_cache *cache, struct node_reservation *r)
{
	pod_classes_drop(&cache->classes, r->class);
	node_reservation_release(r);
	cache->n_reservations--;
}

static void drop_reservation(struct cluster_cache *cache, struct node_info *node, size_t i)
{
	remove_stand_in(cache, &node->reservations[i]);
	free_reservation(cache, &node->reservations[i]);
	node->reservations[i] = node->reservations[--node->n_reservations];
}

void node_reservations_drop(struct cluster_cache *cache, struct node_info *node)
{
	while (node->n_reservations > 0)
		drop_reservation(cache, node, node->n_reservations - 1);
	*node->reservations_hash = '\0';
}

void node_reservations_expire(struct cluster_cache *cache, struct node_info *node, uint64_t now_ms)
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

/* Reads a reservation; a reservation that has expired is ignored. */
static void add_reservation(
	struct cluster_cache *cache, struct node_info *node, const struct doc *annotation, uint64_t now_ms)
{
	CLEANUP(reservation_release) struct reservation facts = {0};
	struct node_reservation *r;
	struct err err = {""};
	int64_t left_s;

	if (reservation_parse(annotation->key, text_or_empty(doc_string(annotation)), &facts, &err) < 0) {
		log_warning("node '%s': %s", node->name, err.text);
		return;
	}
	left_s = facts.expires_s - clock_ms(CLOCK_REALTIME) / 1000;
	if (left_s <= 0)
		return;
	r = vec_push(&node->reservations, &node->n_reservations, &node->reservations_size, sizeof(*r));
	*r = (struct node_reservation){.facts = facts,
		.class = pod_classes_take(&cache->classes, &facts.request),
		.expires_ms =
			now_ms + (uint64_t)(left_s < RESERVATION_MAX_S ? left_s : RESERVATION_MAX_S) * 1000};
	pod_request_init(&r->facts.request);
	facts = (struct reservation){0};
	cache->n_reservations++;
	add_stand_in(cache, node, r);
}

static void hash_reservations(const struct doc *annotations, char ret[HASH_TEXT_SIZE])
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(ANNOTATIONS_MAX);

	if (annotations && annotations->kind == DOC_MAP)
		DOC_FOREACH (annotation, annotations)
			if (reservation_id(annotation->key))
				strbuf_addf(&text, "%s=%s\n", annotation->key,
					text_or_empty(doc_string(annotation)));
	*ret = '\0';
	if (text.len > 0)
		hash_text(text.text, text.len, ret);
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

void node_reservations_update(
	struct cluster_cache *cache, struct node_info *node, const struct doc *object, uint64_t now_ms)
{
	const struct doc *annotations = doc_get(doc_get(object, "metadata"), "annotations");
	struct node_reservation *old = node->reservations;
	size_t n_old = node->n_reservations;
	char hash[HASH_TEXT_SIZE];

	hash_reservations(annotations, hash);
	if (!strcmp(hash, node->reservations_hash))
		return;
	for (size_t i = 0; i < n_old; i++)
		remove_stand_in(cache, &old[i]);
	node->reservations = NULL;
	node->n_reservations = node->reservations_size = 0;
	for (size_t i = 0; *hash && i < annotations->n_items; i++)
		if (reservation_id(annotations->items[i].key) && node->n_reservations < RESERVATIONS_MAX)
			add_reservation(cache, node, &annotations->items[i], now_ms);
	for (size_t i = 0; i < n_old; i++) {
		keep_user(cache, node, &old[i]);
		free_reservation(cache, &old[i]);
	}
	free(old);
	snprintf(node->reservations_hash, sizeof(node->reservations_hash), "%s", hash);
}
