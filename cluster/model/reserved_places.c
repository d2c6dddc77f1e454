/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/model/reserved_places.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node/manager_state.h"
#include "scoring/node/node_derive.h"

void reserved_places_release(struct reserved_places *p)
{
	in_flight_release(&p->in_flight);
	projected_state_release(&p->node);
	for (size_t i = 0; i < p->n_items; i++)
		if (p->items[i].placed)
			allocation_release(&p->items[i].held);
	free(p->items);
	resource_list_release(&p->requested);
	*p = (struct reserved_places){0};
}

struct pod_class *reserved_places_class(struct cluster_usage *u, const struct pod_request *pod)
{
	CLEANUP(pod_request_release) struct pod_request copy;

	pod_request_copy(pod, &copy);
	return pod_classes_take(&u->classes, &copy);
}

/* Places the pod of a reservation if the kubelet admits the pod on the node as it is so far. */
static void place(struct reserved_places *p, const struct pod_class *class, struct reserved_place *place)
{
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	struct kubelet_verdict v;

	node_admission_init(&admission, &p->node.state);
	kubelet_judge(&admission.kubelet, admission.ws, &class->pod, class->qos, &v);
	place->placed = v.answer == KUBELET_ADMITS;
	p->blocked = p->blocked || !place->placed;
	if (!place->placed)
		return;
	projected_state_item(&admission, &class->pod, &v, &place->held);
	text_set(&place->held.namespace, place->facts->namespace);
	text_set(&place->held.pod, place->facts->pod);
	text_set(&place->held.container, "reserved");
	projected_state_add(&p->node, &place->held);
}

/* As cache_hide_reservations(): the asker may use the reservation, or waits for no later step of its plan. */
static bool is_hidden(const struct node_reservation *r, int64_t first)
{
	return first < INT64_MAX && (r->usable || r->facts.step > first);
}

void reserved_places_init(struct reserved_places *ret, const struct node_state *state, struct node_usage *use,
	const struct reserved_asker *asker)
{
	CLEANUP(freep) bool *excluded = xcalloc(state->allocations.n_items + 1, sizeof(*excluded)); /* none */
	int64_t first = INT64_MAX;

	node_usage_match_reservations(use);
	if (asker)
		first = node_reservations_mark(
			use->reservations, use->n_reservations, &asker->user, asker->class);
	*ret = (struct reserved_places){.items = xcalloc(use->n_reservations + 1, sizeof(*ret->items))};
	projected_state_init(&ret->node, state, excluded);
	in_flight_init(&ret->in_flight, state, excluded, use->n_reservations);
	for (size_t i = 0; i < use->n_reservations; i++) {
		struct node_reservation *r = &use->reservations[i];
		struct reserved_place *item = &ret->items[ret->n_items];

		if (r->user || is_hidden(r, first))
			continue;
		ret->n_items++;
		item->facts = &r->facts;
		if (r->class->aligned && !r->class->too_large) {
			place(ret, r->class, item);
			in_flight_add(&ret->in_flight, r->class, false);
		}
		resource_list_add(&ret->requested, &r->class->wanted, 1);
	}
	projected_state_finish(&ret->node);
}

bool reserved_places_admit(struct reserved_places *p, const struct pod_class *class)
{
	struct work_limit unlimited = {0};
	bool admits = true;

	in_flight_admit(&p->in_flight, class, &unlimited, &admits);
	return admits;
}

void reserved_places_requestable(
	const struct reserved_places *p, const struct node_usage *use, struct resource_list *ret)
{
	CLEANUP(resource_list_release) struct resource_list before = {0};
	const struct resource_quantity *pods;
	struct quantity left;

	node_usage_requestable(use, &before);
	requestable_amounts(&before, &p->requested, NULL, ret);
	pods = resource_list_find(&before, "pods");
	if (!pods)
		return;
	left = pods->quantity;
	left.nano -= (qty_t)p->n_items * QTY_UNIT;
	left.nano = left.nano > 0 ? left.nano : 0;
	resource_list_set(ret, "pods", left);
}

void reserved_places_draw(struct node_state *state, struct node_usage *use, bool exact, struct notes *notes)
{
	CLEANUP(reserved_places_release) struct reserved_places places;
	struct allocations *a = &state->allocations;

	reserved_places_init(&places, state, use, NULL);
	for (size_t i = 0; i < places.n_items; i++) {
		struct reserved_place *place = &places.items[i];
		struct allocation *held = &place->held;

		if (!exact || !place->placed) {
			notes_add(notes, "reserved for pod '%.63s/%.63s' (kubectl numa plan --apply)%s",
				place->facts->namespace, place->facts->pod,
				exact ? ": other pods must leave the node first" : "");
			continue;
		}
		if (a->shared)
			cpuset_andnot(a->shared, a->shared, held->cpus);
		for (size_t k = 0; k < held->n_memory; k++)
			memory_state_charge(&a->memory, &held->memory[k]);
		*(struct allocation *)vec_push(&a->items, &a->n_items, &a->items_size, sizeof(*a->items)) =
			*held;
		place->placed = false; /* the state owns what the place holds */
	}
	if (!exact || places.n_items == 0)
		return;
	allocations_sort(a);
	inventory_release(&state->inventory);
	inventory_init(&state->inventory);
	node_derive_inventory(state, &state->inventory, NULL);
}
