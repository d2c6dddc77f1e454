/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the copies of a pod that kube-scheduler would place on a simulated cluster.
 *
 * The numbers are those of `kubectl numa fit`.
 */
#include "cluster/plan/simulate.h"

#include <stdlib.h>

#include "cluster/objects/pod_parse.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define RESERVATIONS "reservations of nodes"

static struct pod_copies *copies_of(struct simulation *s, size_t node, bool after)
{
	return after ? &s->nodes[node].after.copies : &s->nodes[node].before.copies;
}

/* The node's limit of the number of pods. */
static void apply_pod_limit(const struct simulated_node *n, struct pod_copies *copies)
{
	const struct resource_quantity *pods = resource_list_find(&n->info->allocatable, "pods");
	size_t max = pods && pods->quantity.nano > 0 ? (size_t)(pods->quantity.nano / QTY_UNIT) : 0;
	size_t room = max > n->n_pods ? max - n->n_pods : 0;

	if (pods && copies->n > room)
		*copies = (struct pod_copies){.known = true, .n = room};
}

/*
 * *copies: on entry, the copies that the node's kubelet admits; afterwards, the copies that fit now, 0 if the constraints exclude the first
 * copy from the node. Returns the copies that fit once other nodes have copies: topology spread may exclude only the first copy.
 */
static size_t apply_constraints(
	const struct scheduling_constraints *sc, const struct simulated_node *n, struct pod_copies *copies)
{
	size_t placeable;

	apply_pod_limit(n, copies);
	if (copies->n > 0 && copies_placement_one_per_node(sc, n->name))
		*copies = (struct pod_copies){.known = true, .n = 1};
	placeable = scheduling_constraints_allow_any(sc, n->name) ? copies->n : 0;
	if (*scheduling_constraints_violated_by_first(sc, n->name))
		*copies = (struct pod_copies){.known = true};
	return placeable;
}

static int compare_copies_nodes(const void *va, const void *vb)
{
	const struct copies_node *a = va, *b = vb;

	if (a->admitted != b->admitted)
		return a->admitted > b->admitted ? -1 : 1;
	return text_compare_numbered(a->name, b->name);
}

static void note_not_evaluated(
	const struct simulated_cluster *c, const struct scheduling_constraints *sc, struct simulation *s)
{
	for (size_t i = 0; i < sc->not_evaluated.n_items; i++)
		strv_push_new(&s->not_evaluated, sc->not_evaluated.items[i]);
	if (c->model.n_reservations > 0)
		strv_push_new(&s->not_evaluated, RESERVATIONS);
	if (c->model.n_nominations > 0)
		strv_push_new(&s->not_evaluated, "places of nominated pods");
}

static void place_copies(struct simulated_cluster *c, struct scheduling_constraints *sc, const bool *excluded,
	struct simulation *s, bool after)
{
	CLEANUP(freep) struct copies_node *nodes = xcalloc(c->n_nodes + 1, sizeof(*nodes));
	struct pod_copies *total = after ? &s->copies_after : &s->copies_before;
	bool complete;
	size_t n = 0;

	for (size_t i = 0; i < c->n_nodes; i++) {
		struct pod_copies *copies = copies_of(s, i, after);

		if (excluded[i] || !copies->known)
			continue;
		nodes[n++] = (struct copies_node){
			.name = c->nodes[i].name, .admitted = apply_constraints(sc, &c->nodes[i], copies)};
		total->at_least |= copies->at_least;
	}
	qsort(nodes, n, sizeof(*nodes), compare_copies_nodes);
	copies_placement_find(sc, nodes, n, 0, &complete);
	for (size_t i = 0; i < n; i++)
		total->n += nodes[i].placed;
	total->at_least |= !complete;
	total->known = n > 0;
}

void simulation_place_copies(
	struct simulated_cluster *c, const struct simulate_options *options, struct simulation *s, bool after)
{
	CLEANUP(scheduling_constraints_release) struct scheduling_constraints sc = {0};
	CLEANUP(freep) bool *excluded = xcalloc(c->n_nodes + 1, sizeof(*excluded));

	if (!options->shape)
		return;
	for (size_t i = 0; i < c->n_nodes; i++) /* nodes that do not exist before, or after, the changes */
		excluded[i] = after ? s->nodes[i].is_gone : s->nodes[i].added;
	scheduling_constraints_init_template(&sc, options->shape, options->namespace);
	simulated_evaluate(c, &sc, excluded);
	place_copies(c, &sc, excluded, s, after);
	note_not_evaluated(c, &sc, s);
}
