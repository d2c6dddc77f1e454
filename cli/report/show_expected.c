/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/show_expected.h"

#include <stdlib.h>

#include "common/text.h"
#include "common/vec.h"
#include "scoring/node/manager_state.h"
#include "scoring/node/node_derive.h"

static const struct reservation *find_reservation(const struct node_info *node, const struct pod_info *pod)
{
	for (size_t i = 0; i < node->n_reservations; i++)
		if (node->reservations[i].stand_in == pod)
			return &node->reservations[i].facts;
	return NULL;
}

/* What the pod holds moves to the state. */
static void add_held(struct allocations *a, struct pod_info *pod, const struct reservation *reservation)
{
	struct allocation *item = vec_push(&a->items, &a->n_items, &a->items_size, sizeof(*item));
	const char *container = "expected";

	if (reservation)
		container = "reserved";
	else if (pod->is_reservation) /* stands for a nominated pod */
		container = "nominated";
	*item = *pod->held;
	free(pod->held);
	pod->held = NULL;
	text_set(&item->namespace, reservation ? reservation->namespace : pod->namespace);
	text_set(&item->pod, reservation ? reservation->pod : pod->name);
	text_set(&item->pod_uid, "");
	text_set(&item->container, container);
	if (a->shared)
		cpuset_andnot(a->shared, a->shared, item->cpus);
	for (size_t i = 0; i < item->n_memory; i++)
		memory_state_charge(&a->memory, &item->memory[i]);
}

void show_add_expected(
	struct projections *p, const struct node_info *node, struct node_state *state, struct notes *notes)
{
	bool exact = node->object.basis == CLUSTER_EXACT;
	size_t n_before = state->allocations.n_items;

	/* Sets pod_info.held of the pods that the object does not report. */
	if (project_node_possible(node))
		project_node(p, node);
	projections_forget(p, node->slot);
	for (size_t i = 0; i < node->n_pods; i++) {
		struct pod_info *pod = node->pods[i];
		const struct reservation *reservation = find_reservation(node, pod);

		if (exact && pod->held)
			add_held(&state->allocations, pod, reservation);
		else if (reservation)
			notes_add(notes, "reserved for pod '%.63s/%.63s' (kubectl numa plan --apply)%s",
				reservation->namespace, reservation->pod,
				exact ? ": other pods must leave the node first" : "");
	}
	if (state->allocations.n_items == n_before)
		return;
	allocations_sort(&state->allocations);
	inventory_release(&state->inventory);
	inventory_init(&state->inventory);
	node_derive_inventory(state, &state->inventory, NULL);
}
