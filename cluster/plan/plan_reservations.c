/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/plan/plan_reservations.h"

#include <stdlib.h>

#include "cluster/objects/reservation.h"
#include "common/xalloc.h"

void plan_reservations_release(struct plan_reservations *r)
{
	free(r->bytes);
	free(r->n);
	*r = (struct plan_reservations){0};
}

void plan_reservations_init(struct plan_reservations *r, const struct simulated_cluster *c)
{
	*r = (struct plan_reservations){.c = c,
		.bytes = xcalloc(c->n_nodes + 1, sizeof(*r->bytes)),
		.n = xcalloc(c->n_nodes + 1, sizeof(*r->n))};
	for (size_t i = 0; i < c->n_reservations; i++) {
		const struct simulated_reservation *old = &c->reservations[i];

		if (old->user != SIMULATED_NOWHERE) /* written again, or removed */
			continue;
		r->bytes[old->node] += reservation_size(&old->info->facts, &old->info->class->pod);
		r->n[old->node]++;
	}
}

static size_t size_of(const struct simulated_pod *p)
{
	const struct reservation facts = {
		.namespace = p->namespace, .pod = p->name, .uid = p->uid, .controller = p->controller};

	return reservation_size(&facts, &p->class->pod);
}

bool plan_reservations_too_large(const struct simulated_pod *pod)
{
	return pod->class && pod->class->aligned && size_of(pod) > RESERVATION_TEXT_MAX;
}

static bool needs_reservation(const struct plan_reservations *r, size_t pod, size_t node)
{
	return node != SIMULATED_NOWHERE && r->c->pods[pod].class->aligned;
}

bool plan_reservations_add(struct plan_reservations *r, size_t pod, size_t node)
{
	size_t bytes;

	if (!needs_reservation(r, pod, node))
		return true;
	bytes = size_of(&r->c->pods[pod]);
	if (r->n[node] >= RESERVATIONS_MAX || r->bytes[node] + bytes > PLAN_RESERVATIONS_BYTES)
		return false;
	r->n[node]++;
	r->bytes[node] += bytes;
	return true;
}

void plan_reservations_remove(struct plan_reservations *r, size_t pod, size_t node)
{
	if (!needs_reservation(r, pod, node))
		return;
	r->n[node]--;
	r->bytes[node] -= size_of(&r->c->pods[pod]);
}
