/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluates the scheduling constraints of a simulated cluster's pods.
 */
#include "cluster/plan/simulated_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define CONTENT_MAX \
	((size_t)4 << 20) /* of the text that identifies constraints; a pod with more has its own */

static void discard_evaluated(struct simulated_constraints *k)
{
	if (k->evaluated)
		scheduling_constraints_release(k->evaluated);
	free(k->evaluated);
	k->evaluated = NULL;
}

void simulated_constraints_release(struct simulated_constraints *k)
{
	discard_evaluated(k);
	doc_release(&k->object);
}

/* Identifies the object. An object that is too large to be printed has a key of its own. */
static void print_key(const struct doc *object, size_t index, char ret[HASH_TEXT_SIZE])
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(CONTENT_MAX);

	if (json_print_compact(object, &text) < 0)
		hash_text(&index, sizeof(index), ret);
	else
		hash_text(text.text, text.len, ret);
}

static bool has_anti_affinity(const struct doc *object)
{
	const struct doc *affinity = doc_get(doc_get(object, "spec"), "affinity");

	return doc_list_items(doc_get(doc_get(affinity, "podAntiAffinity"),
		       "requiredDuringSchedulingIgnoredDuringExecution")) != NULL;
}

void simulated_set_constraints(struct simulated_cluster *c, struct simulated_pod *p, struct doc *object)
{
	struct simulated_constraints *k, **slot;
	char key[HASH_TEXT_SIZE];

	c->n_anti_affinity += has_anti_affinity(object);
	/* Once the pod starts, it may exclude any other pod. */
	if (p->added && has_anti_affinity(object)) {
		c->n_added_anti_affinity++;
		for (size_t i = 0; i < c->n_constraints; i++)
			c->constraints[i]->depends_on_pods = true;
	}
	print_key(object, c->n_constraints, key);
	p->constraints = name_table_find_index(&c->constraints_by_key, key);
	if (p->constraints != SIZE_MAX) {
		doc_release(object);
		return;
	}
	slot = vec_push(&c->constraints, &c->n_constraints, &c->constraints_size, sizeof(*slot));
	*slot = k = xcalloc(1, sizeof(*k));
	snprintf(k->key, sizeof(k->key), "%s", key);
	k->object = *object;
	*object = (struct doc)DOC_INIT;
	p->constraints = c->n_constraints - 1;
	name_table_add_index(&c->constraints_by_key, k->key, p->constraints);
}

/* Notes that the constraints are evaluated, and discards those that were noted longest ago. */
static void note_evaluated(struct simulated_cluster *c, size_t index)
{
	size_t *slot = &c->evaluated[c->next_evaluated];

	if (*slot > 0)
		discard_evaluated(c->constraints[*slot - 1]);
	*slot = index + 1;
	c->next_evaluated = (c->next_evaluated + 1) % SIMULATED_EVALUATED;
}

/* Adds the pod with the object that it shares with other pods. The object's first member is the spec, whose first member is nodeName. */
static void add_simulated_pod(
	struct scheduling_constraints *sc, const struct simulated_cluster *c, const struct simulated_pod *p)
{
	struct doc *object = &c->constraints[p->constraints]->object;
	const char *node = c->nodes[p->node].name;

	doc_set_text(&object->items[0].items[0], DOC_STRING, node, strlen(node));
	scheduling_constraints_add(sc, OBJECT_POD, object);
}

bool simulated_evaluate(struct simulated_cluster *c, struct scheduling_constraints *sc, const bool *excluded)
{
	/* Constraints without rules are not evaluated again when a node is gone, or no longer. */
	bool omits_gone = !excluded && sc->rules.n_items > 0, depends_on_pods;

	for (size_t i = 0; i < c->n_nodes; i++)
		if (c->nodes[i].info->has_node && !(excluded && excluded[i]) &&
			!(omits_gone && c->nodes[i].gone))
			scheduling_constraints_add(sc, OBJECT_NODE, &c->nodes[i].node);
	sc->pods_known = true; /* even if no pod is on a node, or none can matter */
	for (size_t i = 0; i < c->n_pods && (sc->rules.n_items > 0 || c->n_anti_affinity > 0); i++)
		if (c->pods[i].node != SIMULATED_NOWHERE && !(excluded && excluded[c->pods[i].node]))
			add_simulated_pod(sc, c, &c->pods[i]);
	depends_on_pods = sc->rules.n_items > 0 || sc->n_terms > 0;
	scheduling_constraints_finish(sc);
	return depends_on_pods;
}

/* Evaluates the constraints for the current placement of all pods. */
static void evaluate(struct simulated_cluster *c, struct simulated_constraints *k)
{
	struct scheduling_constraints *sc = xcalloc(1, sizeof(*sc));

	k->evaluated = sc;
	scheduling_constraints_init(
		sc, &k->object, doc_text(doc_get(&k->object, "metadata"), "namespace"), false);
	/* Later moves can change the result if the pod has rules, or if another pod's anti-affinity may exclude the pod: also of a pod that has
	 * not started yet, or may be evicted at the moment (n_undo). */
	k->depends_on_pods = simulated_evaluate(c, sc, NULL) || c->n_added_anti_affinity > 0 ||
			     (c->n_anti_affinity > 0 && c->n_undo > 0);
	k->version = c->placement_version;
}

const char *simulated_constraint(struct simulated_cluster *c, size_t node, size_t pod)
{
	struct simulated_constraints *k = c->constraints[c->pods[pod].constraints];

	if (k->evaluated && k->depends_on_pods && k->version != c->placement_version) {
		discard_evaluated(k);
		evaluate(c, k);
	}
	if (!k->evaluated) {
		note_evaluated(c, c->pods[pod].constraints);
		evaluate(c, k);
	}
	return scheduling_constraints_violated_by_first(k->evaluated, c->nodes[node].name);
}
