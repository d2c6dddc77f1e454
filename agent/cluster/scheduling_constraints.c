/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cluster/scheduling_constraints.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cluster/node_constraints.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define PAIR_MAX 1024 /* bytes of KEY=VALUE: the API server allows 317 and 63 */

static const char *text_of(const struct doc *map, const char *key)
{
	return text_or_empty(doc_string(doc_get(map, key)));
}

void scheduling_constraints_release(struct scheduling_constraints *sc)
{
	for (size_t i = 0; i < sc->n_nodes; i++) {
		free(sc->nodes[i].name);
		doc_release(&sc->nodes[i].labels);
		free(sc->nodes[i].bar);
		free(sc->nodes[i].domains);
	}
	for (size_t i = 0; i < sc->n_matches; i++)
		free(sc->matches[i].node);
	for (size_t i = 0; i < sc->n_terms; i++) {
		free(sc->terms[i].node);
		free(sc->terms[i].key);
	}
	free(sc->nodes);
	free(sc->matches);
	free(sc->terms);
	name_table_release(&sc->by_name);
	name_table_release(&sc->pod_nodes_seen);
	strv_release(&sc->pod_nodes);
	strv_release(&sc->not_looked_at);
	domain_rules_release(&sc->rules);
	*sc = (struct scheduling_constraints){0};
}

void scheduling_constraints_init(
	struct scheduling_constraints *ret, const struct doc *pod, const char *namespace, bool bound)
{
	const char *node = text_of(doc_get(pod, "spec"), "nodeName");

	*ret = (struct scheduling_constraints){.pod = pod, .bound = bound && *node ? node : NULL};
	domain_rules_init(
		&ret->rules, pod, namespace && *namespace ? namespace : "default", &ret->not_looked_at);
	/* No scheduler is asked about a pod that is bound, and kubelets look at its host ports alone. */
	for (size_t i = ret->rules.n_items; ret->bound && i-- > 0;)
		if (ret->rules.items[i].kind != DOMAIN_PORTS)
			domain_rules_remove(&ret->rules, i);
	if (pod_has_volumes(pod))
		strv_push(&ret->not_looked_at, "volumes");
}

/* ---- objects */

/* A place, counted from 1, as the value of a name: what it points to moves when the array grows. */
static void *place_value(size_t place)
{
	return (void *)(uintptr_t)place; /* NOLINT(performance-no-int-to-ptr): it is read as a number */
}

const struct constrained_node *scheduling_constraints_node(
	const struct scheduling_constraints *sc, const char *name)
{
	const void *place = name_table_find(&sc->by_name, name);

	return place ? &sc->nodes[(uintptr_t)place - 1] : NULL;
}

static void find_violated(
	const struct scheduling_constraints *sc, const struct doc *node, const char *name, char **ret)
{
	if (sc->bound && strcmp(sc->bound, name) != 0) {
		*ret = xasprintf("spec.nodeName is %s", sc->bound);
		return;
	}
	node_constraints_violated(sc->pod, node, sc->bound, ret);
}

static void add_node(struct scheduling_constraints *sc, const struct doc *object, const char *name)
{
	const struct doc *labels = doc_get(doc_get(object, "metadata"), "labels");
	struct constrained_node *node;

	if (scheduling_constraints_node(sc, name))
		return;
	node = vec_push(&sc->nodes, &sc->n_nodes, &sc->nodes_size, sizeof(*node));
	node->labels = (struct doc)DOC_INIT;
	node->selected = node_constraints_select(sc->pod, object);
	node->tolerated = node_constraints_tolerate(sc->pod, object);
	text_set(&node->name, name);
	find_violated(sc, object, name, &node->bar);
	if (labels && labels->kind == DOC_MAP)
		doc_copy(labels, &node->labels);
	name_table_add(&sc->by_name, node->name, place_value(sc->n_nodes));
}

static bool has_ended(const struct doc *pod)
{
	const char *phase = text_of(doc_get(pod, "status"), "phase");

	return !strcmp(phase, "Succeeded") || !strcmp(phase, "Failed");
}

/* What the pod's own anti-affinity keeps the new one away from. */
static void add_terms(struct scheduling_constraints *sc, const struct doc *pod, const char *node)
{
	const struct doc *affinity = doc_get(doc_get(pod, "spec"), "affinity");
	const struct doc *terms = doc_get(
		doc_get(affinity, "podAntiAffinity"), "requiredDuringSchedulingIgnoredDuringExecution");

	if (sc->bound || !terms || terms->kind != DOC_LIST)
		return;
	DOC_FOREACH (term, terms) {
		struct constrained_term *slot;

		if (!domain_rules_selected(&sc->rules, pod, term, &sc->selects_by_namespaces))
			continue;
		slot = vec_push(&sc->terms, &sc->n_terms, &sc->terms_size, sizeof(*slot));
		text_set(&slot->node, node);
		text_set(&slot->key, text_of(term, "topologyKey"));
	}
}

static void see_node(struct scheduling_constraints *sc, const char *node)
{
	if (name_table_find(&sc->pod_nodes_seen, node))
		return;
	strv_push(&sc->pod_nodes, node);
	name_table_add(&sc->pod_nodes_seen, sc->pod_nodes.items[sc->pod_nodes.n_items - 1], sc);
}

static void add_pod(struct scheduling_constraints *sc, const struct doc *object, const char *name)
{
	const struct doc *metadata = doc_get(object, "metadata");
	const char *node = text_of(doc_get(object, "spec"), "nodeName");
	struct constrained_match *slot;
	bool gone = false;
	uint64_t mask;

	sc->pods_known = true;
	if (!*node || has_ended(object))
		return;
	if (sc->gone)
		gone = excluded_pods_find(
			sc->gone, text_of(metadata, "namespace"), name, text_of(metadata, "uid"));
	if (gone)
		return;
	see_node(sc, node);
	add_terms(sc, object, node);
	mask = domain_rules_match(&sc->rules, object);
	if (mask == 0)
		return;
	slot = vec_push(&sc->matches, &sc->n_matches, &sc->matches_size, sizeof(*slot));
	slot->mask = mask;
	text_set(&slot->node, node);
}

void scheduling_constraints_add(
	struct scheduling_constraints *sc, enum object_kind kind, const struct doc *object)
{
	const char *name = text_of(doc_get(object, "metadata"), "name");

	if (!*name)
		return;
	if (kind == OBJECT_NODE)
		add_node(sc, object, name);
	else if (kind == OBJECT_POD)
		add_pod(sc, object, name);
}

/* ---- what the objects do not show */

/* All nodes of pods are known; and the objects are not those of one node, as for a question about it they may be. */
static bool is_complete(const struct scheduling_constraints *sc)
{
	for (size_t i = 0; i < sc->pod_nodes.n_items; i++)
		if (!scheduling_constraints_node(sc, sc->pod_nodes.items[i]))
			return false;
	return !sc->only || sc->n_nodes > 1;
}

static bool is_of_node(const struct domain_rule *rule)
{
	return !rule->key || !strcmp(rule->key, DOMAIN_HOST_LABEL);
}

/* The rule cannot be judged in full; where it can be judged in part, it stays. */
static void limit_rule(struct scheduling_constraints *sc, size_t at, bool complete)
{
	const struct domain_rule *rule = &sc->rules.items[at];
	bool apart = rule->kind == DOMAIN_APART || rule->kind == DOMAIN_PORTS;
	bool whole = sc->pods_known && (complete || (apart && is_of_node(rule)));
	bool part = sc->nodes_known ? apart || (rule->kind == DOMAIN_SPREAD && complete)
				    : apart && is_of_node(rule);

	if (whole)
		return;
	strv_push_new(&sc->not_looked_at, domain_kind_names[rule->kind]);
	if (!part)
		domain_rules_remove(&sc->rules, at);
}

static void limit_rules(struct scheduling_constraints *sc)
{
	bool complete = is_complete(sc);

	sc->nodes_known = sc->n_nodes > 0;
	sc->pods_known = sc->pods_known && sc->nodes_known;
	if (!sc->nodes_known)
		strv_push(&sc->not_looked_at, "labels, taints and cordons of the nodes (--nodes)");
	else if (!sc->pods_known && !sc->bound)
		strv_push(&sc->not_looked_at, "anti-affinity of other pods (--pods)");
	else if (!sc->bound && (!complete || sc->selects_by_namespaces))
		strv_push(&sc->not_looked_at, "anti-affinity of some other pods");
	for (size_t i = sc->rules.n_items; i-- > 0;)
		limit_rule(sc, i, complete);
}

/* ---- domains */

/* The value of the rule's label, NULL = the node is in no domain. */
static const char *domain_of(const struct domain_rule *rule, const struct constrained_node *node)
{
	const char *value = rule->key ? doc_string(doc_get(&node->labels, rule->key)) : node->name;

	return !value && !strcmp(text_or_empty(rule->key), DOMAIN_HOST_LABEL) ? node->name : value;
}

static void find_domains(struct scheduling_constraints *sc, size_t at)
{
	CLEANUP(name_table_release) struct name_table domains = {0};
	struct domain_rule *rule = &sc->rules.items[at];

	for (size_t i = 0; i < sc->n_nodes; i++) {
		struct constrained_node *node = &sc->nodes[i];
		const char *value = domain_of(rule, node);
		const void *found = value ? name_table_find(&domains, value) : NULL;

		node->domains[at] = found ? (size_t)(uintptr_t)found - 1 : DOMAIN_NONE;
		if (!value || found)
			continue;
		name_table_add(&domains, value, place_value(domains.n + 1));
		node->domains[at] = domains.n - 1;
	}
	domain_rule_domains(rule, domains.n);
}

/* What topology spread counts on the node is part of its domain. */
static bool counts(const struct scheduling_constraints *sc, const struct constrained_node *node, size_t at)
{
	const struct domain_rule *rule = &sc->rules.items[at];

	if (rule->kind != DOMAIN_SPREAD)
		return true;
	for (size_t i = 0; i < sc->rules.n_items; i++)
		if (sc->rules.items[i].kind == DOMAIN_SPREAD && node->domains[i] == DOMAIN_NONE)
			return false;
	return (node->selected || !rule->honors_affinity) && (node->tolerated || !rule->honors_taints);
}

static void count_pods(struct scheduling_constraints *sc)
{
	for (size_t i = 0; i < sc->n_nodes; i++)
		for (size_t at = 0; at < sc->rules.n_items; at++)
			if (sc->nodes[i].domains[at] != DOMAIN_NONE && counts(sc, &sc->nodes[i], at))
				sc->rules.items[at].eligible[sc->nodes[i].domains[at]] = true;
	for (size_t i = 0; i < sc->n_matches; i++) {
		const struct constrained_node *node = scheduling_constraints_node(sc, sc->matches[i].node);

		for (size_t at = 0; node && at < sc->rules.n_items; at++)
			if (sc->matches[i].mask >> sc->rules.items[at].bit & 1 && counts(sc, node, at))
				domain_rule_count(&sc->rules.items[at], node->domains[at]);
	}
	domain_rules_finish(&sc->rules);
}

static void make_domains(struct scheduling_constraints *sc)
{
	for (size_t i = 0; i < sc->n_nodes; i++)
		sc->nodes[i].domains = xcalloc(sc->rules.n_items + 1, sizeof(*sc->nodes[i].domains));
	for (size_t at = 0; at < sc->rules.n_items; at++)
		find_domains(sc, at);
	count_pods(sc);
}

/* ---- bars */

/* KEY=VALUE into `ret`, empty where it is too long. */
static const char *print_pair(const char *key, const char *value, char ret[PAIR_MAX])
{
	if (snprintf(ret, PAIR_MAX, "%s=%s", key, value) >= PAIR_MAX)
		*ret = '\0';
	return ret;
}

/* The topology pairs where terms of other pods do not let the pod go. */
static void find_pairs(const struct scheduling_constraints *sc, struct strv *pairs, struct name_table *table)
{
	char pair[PAIR_MAX];

	for (size_t i = 0; i < sc->n_terms; i++) {
		const struct constrained_term *term = &sc->terms[i];
		const struct constrained_node *node = scheduling_constraints_node(sc, term->node);
		const char *value = node ? doc_string(doc_get(&node->labels, term->key)) : NULL;

		if (!value || name_table_find(table, print_pair(term->key, value, pair)))
			continue;
		strv_push(pairs, pair);
		name_table_add(table, pairs->items[pairs->n_items - 1], table);
	}
}

static void bar_by_pairs(struct constrained_node *node, const struct name_table *pairs)
{
	char pair[PAIR_MAX];

	if (node->labels.kind != DOC_MAP || pairs->n == 0)
		return;
	DOC_FOREACH (label, &node->labels) {
		const char *value = doc_string(label);

		if (!value || !name_table_find(pairs, print_pair(label->key, value, pair)))
			continue;
		free(node->bar);
		node->bar = NULL;
		node->bar = xasprintf("anti-affinity of another pod in %s", pair);
		return;
	}
}

static void explain_rule(const struct domain_rule *rule, const struct constrained_node *node, char **ret)
{
	const char *name = domain_kind_names[rule->kind], *value = domain_of(rule, node);
	char *text;

	if (rule->kind == DOMAIN_PORTS)
		text = xasprintf("host ports are taken");
	else if (!value)
		text = xasprintf("%s: the node has no label %s", name, rule->key);
	else if (rule->kind == DOMAIN_SPREAD)
		text = xasprintf(
			"topology spread: the maximum skew of %s is reached in %s", rule->key, value);
	else
		text = xasprintf("%s: %s in %s=%s", name,
			rule->kind == DOMAIN_APART ? "a matching pod" : "no matching pod", rule->key, value);
	free(*ret);
	*ret = text;
}

static void make_bars(struct scheduling_constraints *sc)
{
	CLEANUP(strv_release) struct strv pairs = {0};
	CLEANUP(name_table_release) struct name_table table = {0};

	find_pairs(sc, &pairs, &table);
	for (size_t i = 0; i < sc->n_nodes; i++) {
		struct constrained_node *node = &sc->nodes[i];
		int at;

		if (!*node->bar)
			bar_by_pairs(node, &table);
		at = *node->bar ? -1 : domain_rules_check(&sc->rules, node->domains);
		if (at >= 0)
			explain_rule(&sc->rules.items[at], node, &node->bar);
		node->for_now = at >= 0 && sc->rules.items[at].kind == DOMAIN_SPREAD &&
				node->domains[at] != DOMAIN_NONE;
	}
}

void scheduling_constraints_finish(struct scheduling_constraints *sc)
{
	limit_rules(sc);
	make_domains(sc);
	make_bars(sc);
}

const char *scheduling_constraints_violated(const struct scheduling_constraints *sc, const char *node)
{
	const struct constrained_node *found = scheduling_constraints_node(sc, node);

	if (found)
		return found->bar;
	return sc->nodes_known ? "there is no such Node" : "";
}

bool scheduling_constraints_lets(const struct scheduling_constraints *sc, const char *node)
{
	const struct constrained_node *found = scheduling_constraints_node(sc, node);

	return found ? !*found->bar || found->for_now : !sc->nodes_known;
}
