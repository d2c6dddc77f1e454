/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluates the scheduling constraints of a simulated cluster's pods.
 */
#include "agent/cluster/simulated_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/json.h"
#include "common/cleanup.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define CONTENT_MAX \
	((size_t)4 << 20) /* of the text that identifies constraints; a pod with more has its own */

void simulated_constraints_release(struct simulated_constraints *k)
{
	if (k->evaluated)
		scheduling_constraints_release(k->evaluated);
	free(k->evaluated);
	k->evaluated = NULL;
}

static const struct doc *labels_of(const struct simulated_pod *p)
{
	return doc_get(doc_get(&p->object, "metadata"), "labels");
}

/* Identifies all but the pod's own name and node. A pod that is too large to be printed has a key of its own. */
static void print_constraints_key(const struct simulated_pod *p, size_t index, char ret[HASH_TEXT_SIZE])
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(CONTENT_MAX);
	const struct doc *spec = &p->object.items[0];
	int r = 0;

	for (size_t i = 1; i < spec->n_items && r == 0; i++) { /* without nodeName */
		strbuf_addf(&text, "%s:", spec->items[i].key);
		r = json_print_compact(&spec->items[i], &text);
	}
	strbuf_addf(&text, "\n%s\n", p->namespace);
	if (r == 0 && labels_of(p))
		r = json_print_compact(labels_of(p), &text);
	if (r < 0 || strbuf_error(&text) < 0)
		hash_text(&index, sizeof(index), ret);
	else
		hash_text(text.text, text.len, ret);
}

static bool has_anti_affinity(const struct simulated_pod *p)
{
	const struct doc *affinity = doc_get(doc_get(&p->object, "spec"), "affinity");

	return doc_list_items(doc_get(doc_get(affinity, "podAntiAffinity"),
		       "requiredDuringSchedulingIgnoredDuringExecution")) != NULL;
}

void simulated_find_constraints(struct simulated_cluster *c, size_t pod)
{
	struct simulated_pod *p = &c->pods[pod];
	struct simulated_constraints *k, **slot;
	char key[HASH_TEXT_SIZE];
	size_t found;

	c->n_anti_affinity += has_anti_affinity(p);
	c->n_added_anti_affinity += p->added && has_anti_affinity(p);
	print_constraints_key(p, pod, key);
	found = name_table_find_index(&c->constraints_by_key, key);
	if (found != SIZE_MAX) {
		p->constraints = found;
		return;
	}
	slot = vec_push(&c->constraints, &c->n_constraints, &c->constraints_size, sizeof(*slot));
	*slot = k = xcalloc(1, sizeof(*k));
	snprintf(k->key, sizeof(k->key), "%s", key);
	k->pod = pod;
	p->constraints = c->n_constraints - 1;
	name_table_add_index(&c->constraints_by_key, k->key, p->constraints);
}

/* Discards the constraints that were evaluated longest ago. */
static void note_evaluated(struct simulated_cluster *c, size_t index)
{
	size_t *slot = &c->evaluated[c->next_evaluated];

	if (*slot > 0)
		simulated_constraints_release(c->constraints[*slot - 1]);
	*slot = index + 1;
	c->next_evaluated = (c->next_evaluated + 1) % SIMULATED_EVALUATED;
}

/* Evaluates the constraints where the pods are now. */
static void evaluate(struct simulated_cluster *c, struct simulated_constraints *k)
{
	const struct simulated_pod *p = &c->pods[k->pod];
	struct scheduling_constraints *sc = xcalloc(1, sizeof(*sc));

	k->evaluated = sc;
	scheduling_constraints_init(sc, &p->object, p->namespace, false);
	for (size_t i = 0; i < c->n_nodes; i++)
		if (c->nodes[i].has_node)
			scheduling_constraints_add(sc, OBJECT_NODE, &c->nodes[i].node);
	sc->pods_known = true;
	for (size_t i = 0; i < c->n_pods && (sc->rules.n_items > 0 || c->n_anti_affinity > 0); i++)
		scheduling_constraints_add(sc, OBJECT_POD, &c->pods[i].object);
	/* Later moves matter if there are rules, or if a pod's anti-affinity excludes the pod: now, or when the pod runs. */
	k->depends_on_pods = sc->rules.n_items > 0 || sc->n_terms > 0 || c->n_added_anti_affinity > 0 ||
			     (c->n_anti_affinity > 0 && c->n_undo > 0);
	scheduling_constraints_finish(sc);
	k->version = c->placement_version;
}

const char *simulated_constraint(struct simulated_cluster *c, size_t node, size_t pod)
{
	struct simulated_constraints *k = c->constraints[c->pods[pod].constraints];

	if (k->evaluated && k->depends_on_pods && k->version != c->placement_version) {
		simulated_constraints_release(k);
		evaluate(c, k);
	}
	if (!k->evaluated) {
		note_evaluated(c, c->pods[pod].constraints);
		evaluate(c, k);
	}
	return scheduling_constraints_violated(k->evaluated, c->nodes[node].name);
}
