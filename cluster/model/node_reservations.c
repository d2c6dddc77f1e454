/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/model/node_reservations.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/io/time.h"
#include "common/xalloc.h"

void node_reservation_release(struct node_reservation *r)
{
	reservation_release(&r->facts);
	free(r->user);
}

struct node_reservation *node_reservations_make(
	struct pod_classes *classes, struct reservation *facts, size_t n, uint64_t now_ms)
{
	struct node_reservation *items = xcalloc(n + 1, sizeof(*items));
	int64_t now_s = clock_ms(CLOCK_REALTIME) / 1000;

	for (size_t i = 0; i < n; i++) {
		int64_t left_s = facts[i].expires_s - now_s;

		items[i].class = pod_classes_take(classes, &facts[i].request);
		items[i].facts = facts[i];
		facts[i] = (struct reservation){0};
		if (left_s < 0)
			left_s = 0;
		if (left_s > RESERVATION_MAX_S)
			left_s = RESERVATION_MAX_S;
		items[i].expires_ms = now_ms + (uint64_t)left_s * 1000;
	}
	return items;
}

int64_t node_reservations_mark(struct node_reservation *items, size_t n, const struct reservation_user *user,
	const struct pod_class *class)
{
	int64_t first = INT64_MAX;

	for (size_t i = 0; i < n; i++) {
		struct node_reservation *r = &items[i];

		r->usable = !r->user && reservation_is_for(&r->facts, user, r->class == class);
		if (r->usable && r->facts.step < first)
			first = r->facts.step;
	}
	return first;
}

/* ---- which bound pods use which reservations */

/* Reservations that fewer pods could use come first: reservations for one UID, then open ones, then those created last. */
static int compare_uses(const void *va, const void *vb)
{
	const struct reservation *a = (*(struct reservation_use *const *)va)->facts;
	const struct reservation *b = (*(struct reservation_use *const *)vb)->facts;
	bool a_is_for_uid = *a->uid != '\0', b_is_for_uid = *b->uid != '\0';

	if (a_is_for_uid != b_is_for_uid)
		return a_is_for_uid ? -1 : 1;
	if (a->closed != b->closed)
		return a->closed ? 1 : -1;
	if (a->created_s != b->created_s)
		return a->created_s > b->created_s ? -1 : 1;
	return strcmp(a->id, b->id);
}

/* As reservation_is_for(), for a pod that is bound: a closed reservation may have been open when the pod was bound. Unless a reservation is
 * for one UID, the pod is younger than the reservation: the reservation is not for pods that ran before. */
static bool may_be_used_by(const struct reservation_use *use, const struct reservation_pod *pod)
{
	const struct reservation *r = use->facts;

	if (strcmp(r->namespace, pod->user.namespace) != 0)
		return false;
	if (*r->uid)
		return !strcmp(r->uid, pod->user.uid);
	return pod->created_s >= r->created_s &&
	       (*r->controller ? !strcmp(r->controller, pod->user.controller) : use->class == pod->class);
}

bool reservation_has_user(const struct reservation_use *items, size_t n, const char *uid)
{
	for (size_t i = 0; i < n; i++)
		if (items[i].user && !strcmp(items[i].user, uid))
			return true;
	return false;
}

static bool is_older(const struct reservation_pod *a, const struct reservation_pod *b)
{
	if (a->created_s != b->created_s)
		return a->created_s < b->created_s;
	return strcmp(a->user.uid, b->user.uid) < 0;
}

void reservations_match(
	struct reservation_use *items, size_t n, const struct reservation_pod *pods, size_t n_pods)
{
	struct reservation_use **order = xcalloc(n + 1, sizeof(struct reservation_use *));

	for (size_t i = 0; i < n; i++)
		order[i] = &items[i];
	if (n > 1)
		qsort(order, n, sizeof(struct reservation_use *), compare_uses);
	for (size_t i = 0; i < n; i++) {
		const struct reservation_pod *oldest = NULL;

		for (size_t k = 0; k < n_pods && !order[i]->user; k++) {
			const struct reservation_pod *pod = &pods[k];

			if (!may_be_used_by(order[i], pod) || reservation_has_user(items, n, pod->user.uid))
				continue;
			if (!oldest || is_older(pod, oldest))
				oldest = pod;
		}
		if (oldest)
			order[i]->user = oldest->user.uid;
	}
	free(order);
}
