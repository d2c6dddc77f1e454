/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reservations of the cluster. A reservation counts as an assumed pod, its stand-in, until a pod uses the
 * reservation.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/model/cluster.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

static void remove_stand_in(struct cluster *cluster, struct node_reservation *r)
{
	struct pod_info *stand_in = r->stand_in;

	r->stand_in = NULL;
	if (stand_in)
		cluster_remove_pod(cluster, stand_in);
}

/* As cluster_hide_for_request(). Sets `usable` of all reservations. */
static void hide_reservations(
	struct cluster *cluster, const struct reservation_user *user, const struct pod_class *class)
{
	for (size_t i = 0; i < cluster->n_nodes && cluster->n_reservations > 0; i++) {
		struct node_info *node = cluster->nodes[i];
		int64_t first;

		if (!node) /* a free slot */
			continue;
		first = node_reservations_mark(node->reservations, node->n_reservations, user, class);
		if (first == INT64_MAX) /* the pod may use no reservation of the node */
			continue;
		for (size_t k = 0; k < node->n_reservations; k++) {
			struct node_reservation *r = &node->reservations[k];
			bool is_later_step = r->facts.step > first; /* its pod starts after this pod */

			if (!r->user && (r->usable || is_later_step))
				cluster_hide_pod(cluster, r->stand_in);
		}
	}
}

void cluster_hide_for_request(struct cluster *cluster, const struct reservation_user *user, int32_t priority,
	const struct pod_class *class)
{
	hide_reservations(cluster, user, class);
	cluster_hide_nominations(cluster, user->uid, priority);
}

size_t node_info_count_reserved(const struct node_info *node)
{
	size_t n = 0;

	for (size_t i = 0; i < node->n_reservations; i++)
		n += node->reservations[i].stand_in && !node->reservations[i].stand_in->hidden;
	return n;
}

bool cluster_has_usable_reservation(const struct node_info *node)
{
	for (size_t i = 0; i < node->n_reservations; i++)
		if (node->reservations[i].usable)
			return true;
	return false;
}

void cluster_end_reservations(struct cluster *cluster, const char *uid)
{
	const struct pod_info *pod = cluster_find_pod(cluster, uid);
	bool used = false;

	for (size_t i = 0; i < cluster->n_nodes && cluster->n_reservations > 0; i++) {
		struct node_info *node = cluster->nodes[i]; /* NULL = a free slot */

		for (size_t k = 0; node && k < node->n_reservations; k++) {
			struct node_reservation *r = &node->reservations[k];

			/* A bound pod was there before this request. */
			if (r->usable && pod && !pod->bound && pod->node == node && !used) {
				r->user = xstrdup(uid);
				used = true;
				remove_stand_in(cluster, r);
			}
			r->usable = false;
		}
	}
}

/* The stand-in has been removed. */
static void release_reservation(struct cluster *cluster, struct node_reservation *r)
{
	pod_classes_drop(&cluster->classes, r->class);
	node_reservation_release(r);
	cluster->n_reservations--;
}

static void drop_reservation(struct cluster *cluster, struct node_info *node, size_t i)
{
	remove_stand_in(cluster, &node->reservations[i]);
	release_reservation(cluster, &node->reservations[i]);
	node->reservations[i] = node->reservations[--node->n_reservations];
}

void cluster_drop_reservations(struct cluster *cluster, struct node_info *node)
{
	while (node->n_reservations > 0)
		drop_reservation(cluster, node, node->n_reservations - 1);
	*node->reservations_hash = '\0';
}

void cluster_expire_reservations(struct cluster *cluster, struct node_info *node, uint64_t now_ms)
{
	for (size_t i = node->n_reservations; i > 0; i--) {
		const struct node_reservation *r = &node->reservations[i - 1];

		if (now_ms < r->expires_ms)
			continue;
		log_info("node '%s': the reservation for pod '%s/%s' has expired", node->name,
			r->facts.namespace, r->facts.pod);
		drop_reservation(cluster, node, i - 1);
	}
}

/* The pod that used the reservation uses the new version of the reservation. */
static void keep_user(struct cluster *cluster, struct node_info *node, struct node_reservation *old)
{
	const struct pod_info *pod = old->user ? cluster_find_pod(cluster, old->user) : NULL;

	for (size_t i = 0; pod && pod->node == node && i < node->n_reservations; i++) {
		struct node_reservation *r = &node->reservations[i];

		if (strcmp(r->facts.id, old->facts.id) != 0 || r->user)
			continue;
		remove_stand_in(cluster, r);
		r->user = TAKE(old->user);
		return;
	}
}

/* The bound pods of the node that kubelets align. Returns their number. */
static size_t list_bound(const struct node_info *node, struct reservation_pod *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < node->n_pods; i++) {
		const struct pod_info *pod = node->pods[i];

		if (pod->bound && pod->class->aligned)
			ret[n++] = (struct reservation_pod){
				.user = {.namespace = pod->namespace,
					.uid = pod->uid,
					.controller = text_or_empty(pod->controller)},
				.created_s = pod->created_s,
				.class = pod->class};
	}
	return n;
}

/* Sets the pod that uses the reservation; `user` NULL = none. A reservation without a user has a stand-in. */
static void set_user(
	struct cluster *cluster, struct node_info *node, struct node_reservation *r, const char *user)
{
	bool had_user = r->user;

	if (had_user && user && !strcmp(r->user, user))
		return;
	free(r->user);
	r->user = user ? xstrdup(user) : NULL;
	if (user)
		remove_stand_in(cluster, r);
	else if (had_user)
		cluster_add_stand_in(cluster, node, r);
}

/*
 * Objects decide which bound pods use the reservations, so that a restarted extender finds the same users. Other users are pods that
 * the extender has assumed: these keep their reservations.
 */
void cluster_match_reservations(struct cluster *cluster, struct node_info *node)
{
	CLEANUP(freep) struct reservation_use *uses = NULL;
	CLEANUP(freep) struct reservation_pod *pods = NULL;
	size_t n_pods;

	if (node->n_reservations == 0 || cluster->lists_pods)
		return;
	uses = xcalloc(node->n_reservations, sizeof(*uses));
	pods = xcalloc(node->n_pods + 1, sizeof(*pods));
	n_pods = list_bound(node, pods);
	for (size_t i = 0; i < node->n_reservations; i++) {
		const struct node_reservation *r = &node->reservations[i];
		const struct pod_info *user = r->user ? cluster_find_pod(cluster, r->user) : NULL;

		uses[i] = (struct reservation_use){.facts = &r->facts, .class = r->class};
		if (user && !user->bound) /* no object says yet that the pod is on the node */
			uses[i].user = user->uid;
	}
	reservations_match(uses, node->n_reservations, pods, n_pods);
	for (size_t i = 0; i < node->n_reservations; i++) {
		const struct node_reservation *r = &node->reservations[i];
		const struct pod_info *user = r->user ? cluster_find_pod(cluster, r->user) : NULL;

		/* The reservation may be younger than its user: the clock of the reservation's writer was ahead. */
		if (!uses[i].user && user && !reservation_has_user(uses, node->n_reservations, user->uid))
			uses[i].user = user->uid;
	}
	for (size_t i = 0; i < node->n_reservations; i++)
		set_user(cluster, node, &node->reservations[i], uses[i].user);
}

void cluster_update_reservations(
	struct cluster *cluster, struct node_info *node, struct object_content *content, uint64_t now_ms)
{
	struct node_reservation *old = node->reservations;
	size_t n_old = node->n_reservations;

	if (content->unchanged)
		return;
	for (size_t i = 0; i < n_old; i++)
		remove_stand_in(cluster, &old[i]);
	node->reservations = node_reservations_make(
		&cluster->classes, content->reservations, content->n_reservations, now_ms);
	node->n_reservations = content->n_reservations;
	cluster->n_reservations += node->n_reservations;
	for (size_t i = 0; i < node->n_reservations; i++)
		cluster_add_stand_in(cluster, node, &node->reservations[i]);
	for (size_t i = 0; i < n_old; i++) {
		keep_user(cluster, node, &old[i]);
		release_reservation(cluster, &old[i]);
	}
	free(old);
	cluster_match_reservations(cluster, node);
	snprintf(node->reservations_hash, sizeof(node->reservations_hash), "%s", content->hash);
}
