/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/constraints/scheduling_constraints.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects/label_match.h"
#include "cluster/objects/node_status.h"
#include "cluster/objects/pod_status.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PAIR_MAX 1024 /* bytes of KEY=VALUE; the API server allows 317 for the key and 63 for the value */

/* ---- one node: taints (k8s.io/component-helpers/scheduling/corev1 Toleration.ToleratesTaint) */

struct taint {
	const char *key, *value, *effect;
};

/* The API server accepts Gt and Lt only with the feature gate TaintTolerationComparisonOperators. */
static bool tolerates(const struct doc *toleration, const struct taint *taint)
{
	const char *key = doc_text(toleration, "key"), *effect = doc_text(toleration, "effect");
	const char *op = doc_text(toleration, "operator");

	if (*effect && strcmp(effect, taint->effect) != 0)
		return false;
	if (*key && strcmp(key, taint->key) != 0)
		return false;
	if (!*op || !strcmp(op, "Equal"))
		return !strcmp(doc_text(toleration, "value"), taint->value);
	return !strcmp(op, "Exists") || label_compares(taint->value, op, doc_text(toleration, "value"));
}

static bool is_tolerated(const struct doc *pod, const struct taint *taint)
{
	const struct doc *tolerations = doc_get(doc_get(pod, "spec"), "tolerations");

	DOC_FOREACH_ITEM (toleration, tolerations)
		if (tolerates(toleration, taint))
			return true;
	return false;
}

/* The first taint that the pod does not tolerate. The kubelet of a bound pod checks only NoExecute. */
static bool find_untolerated(
	const struct doc *pod, const struct doc *node, bool bound, struct taint *ret_taint)
{
	const struct doc *taints = doc_get(doc_get(node, "spec"), "taints");

	DOC_FOREACH_ITEM (item, taints) {
		const struct taint taint = {.key = doc_text(item, "key"),
			.value = doc_text(item, "value"),
			.effect = doc_text(item, "effect")};
		bool counts =
			!strcmp(taint.effect, "NoExecute") || (!bound && !strcmp(taint.effect, "NoSchedule"));

		if (!counts || is_tolerated(pod, &taint))
			continue;
		*ret_taint = taint;
		return true;
	}
	return false;
}

static bool is_cordoned_for(const struct doc *pod, const struct doc *node)
{
	static const struct taint cordon = {"node.kubernetes.io/unschedulable", "", "NoSchedule"};

	return node_is_cordoned(node) && !is_tolerated(pod, &cordon);
}

/* The node controller adds a taint to a node that is not ready, but with a delay. */
static bool is_not_ready(const struct doc *pod, const struct doc *node)
{
	static const struct taint not_ready = {"node.kubernetes.io/not-ready", "", "NoSchedule"};
	static const struct taint unreachable = {"node.kubernetes.io/unreachable", "", "NoSchedule"};
	const char *status = node_ready_status(node);

	return strcmp(status, "True") != 0 &&
	       !is_tolerated(pod, strcmp(status, "Unknown") ? &not_ready : &unreachable);
}

/* ---- one node: labels */

/* matchFields: metadata.name is the only field, In and NotIn are the only operators, with one value. */
static bool field_matches(const struct doc *requirement, const struct doc *node)
{
	const char *op = doc_text(requirement, "operator");
	const struct doc *values = doc_get(requirement, "values");
	const char *name = doc_object_name(node);

	if (strcmp(doc_text(requirement, "key"), "metadata.name") != 0 || !name || !doc_list_items(values) ||
		values->n_items != 1)
		return false;
	if (!strcmp(op, "In"))
		return label_in(values, name);
	return !strcmp(op, "NotIn") && !label_in(values, name);
}

/* Whether the Node matches every requirement of the node selector term. A term without requirements matches no node. */
static bool term_matches(const struct doc *term, const struct doc *node)
{
	const struct doc *fields = doc_get(term, "matchFields"),
			 *expressions = doc_get(term, "matchExpressions");
	const struct doc *labels = doc_get(doc_get(node, "metadata"), "labels");

	DOC_FOREACH_ITEM (requirement, fields)
		if (!field_matches(requirement, node))
			return false;
	DOC_FOREACH_ITEM (requirement, expressions)
		if (!label_requirement_matches(requirement, labels))
			return false;
	return doc_list_items(fields) || doc_list_items(expressions);
}

/* Whether the Node matches a term of the required node affinity, if any. */
static bool affinity_matches(const struct doc *pod, const struct doc *node)
{
	const struct doc *required =
		doc_get(doc_get(doc_get(doc_get(pod, "spec"), "affinity"), "nodeAffinity"), REQUIRED);
	const struct doc *terms = doc_get(required, "nodeSelectorTerms");

	if (!required || required->kind == DOC_NULL)
		return true;
	DOC_FOREACH_ITEM (term, terms)
		if (term_matches(term, node))
			return true;
	return false;
}

static const struct doc *find_missing_label(const struct doc *pod, const struct doc *node)
{
	return label_find_missing(
		doc_get(doc_get(pod, "spec"), "nodeSelector"), doc_get(doc_get(node, "metadata"), "labels"));
}

char *scheduling_constraints_of_node(const struct doc *pod, const struct doc *node, bool bound)
{
	const struct doc *missing;
	struct taint taint;

	if (!bound && is_cordoned_for(pod, node))
		return xstrdup("cordoned");
	if (find_untolerated(pod, node, bound, &taint))
		return xasprintf("taint %s%s%s:%s is not tolerated", taint.key, *taint.value ? "=" : "",
			taint.value, taint.effect);
	if (!bound && is_not_ready(pod, node))
		return xstrdup("not ready");
	missing = find_missing_label(pod, node);
	if (missing)
		return xasprintf(
			"nodeSelector %s=%s does not match", missing->key, text_or_empty(missing->text));
	return xstrdup(affinity_matches(pod, node) ? "" : "node affinity does not match");
}

/* ---- all nodes and pods */

void scheduling_constraints_release(struct scheduling_constraints *sc)
{
	for (size_t i = 0; i < sc->n_nodes; i++) {
		free(sc->nodes[i].name);
		doc_release(&sc->nodes[i].labels);
		free(sc->nodes[i].violation);
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
	strv_release(&sc->not_evaluated);
	domain_rules_release(&sc->rules);
	*sc = (struct scheduling_constraints){0};
}

void scheduling_constraints_init(
	struct scheduling_constraints *ret, const struct doc *pod, const char *namespace, bool bound)
{
	const char *node = pod_node_name(pod);

	*ret = (struct scheduling_constraints){.pod = pod, .bound_node = bound && *node ? node : NULL};
	domain_rules_init(
		&ret->rules, pod, namespace && *namespace ? namespace : "default", &ret->not_evaluated);
	/* No scheduler is involved for a bound pod, and kubelets check only its host ports. */
	for (size_t i = ret->rules.n_items; ret->bound_node && i-- > 0;)
		if (ret->rules.items[i].kind != DOMAIN_PORTS)
			domain_rules_remove(&ret->rules, i);
	if (pod_volume_traits(pod) & VOLUME_LIMITS_NODES)
		strv_push(&ret->not_evaluated, "volumes");
}

void scheduling_constraints_init_template(
	struct scheduling_constraints *ret, const struct pod_template *template, const char *namespace)
{
	scheduling_constraints_init(ret, template->owner,
		template->namespace ? template->namespace : namespace, pod_is_manifest(template->owner));
	ret->one_per_node = template->one_per_node;
	if (template->claims_volumes)
		strv_push_new(&ret->not_evaluated, "volumes");
}

/* ---- objects */

const struct constrained_node *scheduling_constraints_node(
	const struct scheduling_constraints *sc, const char *name)
{
	size_t at = name_table_find_index(&sc->by_name, name);

	return at == SIZE_MAX ? NULL : &sc->nodes[at];
}

/* Keeps what later copies and rules need of the Node. Of several Nodes of one name the first counts. */
static void add_node(struct scheduling_constraints *sc, const struct doc *object, const char *name)
{
	const struct doc *labels = doc_get(doc_get(object, "metadata"), "labels");
	struct constrained_node *node;
	struct taint taint;

	if (scheduling_constraints_node(sc, name))
		return;
	node = vec_push(&sc->nodes, &sc->n_nodes, &sc->nodes_size, sizeof(*node));
	node->labels = (struct doc)DOC_INIT;
	node->selected = !find_missing_label(sc->pod, object) && affinity_matches(sc->pod, object);
	node->tolerated = !find_untolerated(sc->pod, object, false, &taint);
	text_set(&node->name, name);
	node->violation = sc->bound_node && strcmp(sc->bound_node, name) != 0
				  ? xasprintf("spec.nodeName is %s", sc->bound_node)
				  : scheduling_constraints_of_node(sc->pod, object, sc->bound_node);
	if (labels && labels->kind == DOC_MAP)
		doc_copy(labels, &node->labels);
	name_table_add_index(&sc->by_name, node->name, sc->n_nodes - 1);
}

/* Adds the terms of the pod's anti-affinity that select the constrained pod. Only schedulers evaluate them, not the kubelet of
 * sc->bound_node. */
static void add_terms(struct scheduling_constraints *sc, const struct doc *pod, const char *node)
{
	const struct doc *affinity = doc_get(doc_get(pod, "spec"), "affinity");
	const struct doc *terms = doc_get(doc_get(affinity, "podAntiAffinity"), REQUIRED);

	if (sc->bound_node)
		return;
	DOC_FOREACH_ITEM (term, terms) {
		struct constrained_term *slot;

		if (!domain_rules_selected_by(&sc->rules, pod, term, &sc->selects_by_namespaces))
			continue;
		slot = vec_push(&sc->terms, &sc->n_terms, &sc->terms_size, sizeof(*slot));
		text_set(&slot->node, node);
		text_set(&slot->key, doc_text(term, "topologyKey"));
	}
}

static void note_pod_node(struct scheduling_constraints *sc, const char *node)
{
	if (name_table_find(&sc->pod_nodes_seen, node))
		return;
	strv_push(&sc->pod_nodes, node);
	name_table_add(&sc->pod_nodes_seen, sc->pod_nodes.items[sc->pod_nodes.n_items - 1],
		sc); /* any value: only the name matters */
}

static void add_pod(struct scheduling_constraints *sc, const struct doc *object)
{
	const char *node = pod_node_name(object);
	struct constrained_match *slot;
	uint64_t mask;

	sc->pods_known = true;
	if (!*node || pod_has_ended(object) || pod_is_excluded(object, sc->excluded, NULL))
		return;
	note_pod_node(sc, node);
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
	const char *name = doc_text(doc_get(object, "metadata"), "name");

	if (!*name)
		return;
	if (kind == OBJECT_NODE)
		add_node(sc, object, name);
	else if (kind == OBJECT_POD)
		add_pod(sc, object);
}

/* ---- what the objects do not contain */

/* Whether every node with pods has a Node object, and the objects are not only those of the node in question. */
static bool is_complete(const struct scheduling_constraints *sc)
{
	for (size_t i = 0; i < sc->pod_nodes.n_items; i++)
		if (!scheduling_constraints_node(sc, sc->pod_nodes.items[i]))
			return false;
	return !sc->only || sc->n_nodes > 1;
}

static bool is_per_node(const struct domain_rule *rule)
{
	return !rule->key || !strcmp(rule->key, DOMAIN_HOST_LABEL);
}

/*
 * Notes a rule that cannot be evaluated completely, and removes a rule that cannot be evaluated even in part. Pods that were not read
 * can only add exclusions by anti-affinity and host ports: these rules hold in part. Without Node objects no labels are known.
 */
static void limit_rule(struct scheduling_constraints *sc, size_t at, bool complete)
{
	const struct domain_rule *rule = &sc->rules.items[at];
	bool keeps_apart = rule->kind == DOMAIN_ANTI_AFFINITY || rule->kind == DOMAIN_PORTS;
	bool holds_in_part;

	if (sc->pods_known && (complete || (keeps_apart && is_per_node(rule))))
		return;
	strv_push_new(&sc->not_evaluated, domain_kind_names[rule->kind]);
	if (sc->nodes_known)
		holds_in_part = keeps_apart || (rule->kind == DOMAIN_SPREAD && complete);
	else
		holds_in_part = keeps_apart && is_per_node(rule);
	if (!holds_in_part)
		domain_rules_remove(&sc->rules, at);
}

/*
 * Notes what cannot be evaluated without objects that were not read. For a bound pod no scheduler is involved, so other pods'
 * anti-affinity does not matter.
 */
static void limit_rules(struct scheduling_constraints *sc)
{
	bool complete = is_complete(sc);

	sc->nodes_known = sc->n_nodes > 0;
	sc->pods_known = sc->pods_known && sc->nodes_known;
	if (!sc->nodes_known)
		strv_push(&sc->not_evaluated, "labels, taints and cordons of the nodes (no Node objects)");
	else if (!sc->pods_known && !sc->bound_node)
		strv_push(&sc->not_evaluated, "anti-affinity of other pods (no Pod objects)");
	else if (!sc->bound_node && (!complete || sc->selects_by_namespaces))
		strv_push(&sc->not_evaluated, "anti-affinity of some other pods");
	for (size_t i = sc->rules.n_items; i-- > 0;)
		limit_rule(sc, i, complete);
}

/* ---- domains */

/* The node's domain, the value of the rule's label; NULL = no domain. A node without the host name's label has its own name. */
static const char *domain_of(const struct domain_rule *rule, const struct constrained_node *node)
{
	const char *value;

	if (!rule->key)
		return node->name;
	value = doc_string(doc_get(&node->labels, rule->key));
	return !value && !strcmp(rule->key, DOMAIN_HOST_LABEL) ? node->name : value;
}

/* Numbers the rule's domains, and sets each node's. */
static void set_rule_domains(struct scheduling_constraints *sc, size_t at)
{
	CLEANUP(name_table_release) struct name_table domains = {0};
	struct domain_rule *rule = &sc->rules.items[at];

	for (size_t i = 0; i < sc->n_nodes; i++) {
		struct constrained_node *node = &sc->nodes[i];
		const char *value = domain_of(rule, node);
		size_t domain = value ? name_table_find_index(&domains, value) : DOMAIN_NONE;

		if (value && domain == SIZE_MAX) { /* a new domain */
			domain = domains.n;
			name_table_add_index(&domains, value, domain);
		}
		node->domains[at] = domain;
	}
	domain_rule_domains(rule, domains.n);
}

/* Whether pods on the node count for the rule. PodTopologySpread ignores a node without the label of one of its constraints. */
static bool node_counts(
	const struct scheduling_constraints *sc, const struct constrained_node *node, size_t at)
{
	const struct domain_rule *rule = &sc->rules.items[at];

	if (rule->kind != DOMAIN_SPREAD)
		return true;
	for (size_t i = 0; i < sc->rules.n_items; i++)
		if (sc->rules.items[i].kind == DOMAIN_SPREAD && node->domains[i] == DOMAIN_NONE)
			return false;
	return (node->selected || !rule->honors_affinity) && (node->tolerated || !rule->honors_taints);
}

/* Per rule, in which domains pods count, and how many matching pods each domain has. */
static void count_matches(struct scheduling_constraints *sc)
{
	for (size_t i = 0; i < sc->n_nodes; i++)
		for (size_t at = 0; at < sc->rules.n_items; at++)
			if (sc->nodes[i].domains[at] != DOMAIN_NONE && node_counts(sc, &sc->nodes[i], at))
				sc->rules.items[at].eligible[sc->nodes[i].domains[at]] = true;
	for (size_t i = 0; i < sc->n_matches; i++) {
		const struct constrained_node *node = scheduling_constraints_node(sc, sc->matches[i].node);

		for (size_t at = 0; node && at < sc->rules.n_items; at++)
			if (sc->matches[i].mask >> sc->rules.items[at].bit & 1 && node_counts(sc, node, at))
				domain_rule_count(&sc->rules.items[at], node->domains[at]);
	}
	domain_rules_finish(&sc->rules);
}

static void set_domains(struct scheduling_constraints *sc)
{
	for (size_t i = 0; i < sc->n_nodes; i++)
		sc->nodes[i].domains = xcalloc(sc->rules.n_items + 1, sizeof(*sc->nodes[i].domains));
	for (size_t at = 0; at < sc->rules.n_items; at++)
		set_rule_domains(sc, at);
	count_matches(sc);
}

/* ---- violations */

/* KEY=VALUE in `ret`; "" if too long. */
static const char *print_pair(const char *key, const char *value, char ret[PAIR_MAX])
{
	if (snprintf(ret, PAIR_MAX, "%s=%s", key, value) >= PAIR_MAX)
		*ret = '\0';
	return ret;
}

/* Collects the topology pairs from which anti-affinity terms of other pods exclude the pod. */
static void list_excluded_pairs(
	const struct scheduling_constraints *sc, struct strv *pairs, struct name_table *table)
{
	char pair[PAIR_MAX];

	for (size_t i = 0; i < sc->n_terms; i++) {
		const struct constrained_term *term = &sc->terms[i];
		const struct constrained_node *node = scheduling_constraints_node(sc, term->node);
		const char *value = node ? doc_string(doc_get(&node->labels, term->key)) : NULL;

		if (!value || name_table_find(table, print_pair(term->key, value, pair)))
			continue;
		strv_push(pairs, pair);
		name_table_add(table, pairs->items[pairs->n_items - 1], table); /* any value */
	}
}

/* Sets the violation of a node whose labels have one of the topology pairs of list_excluded_pairs(). */
static void exclude_by_pairs(struct constrained_node *node, const struct name_table *pairs)
{
	char pair[PAIR_MAX];

	if (node->labels.kind != DOC_MAP || pairs->n == 0)
		return;
	DOC_FOREACH (label, &node->labels) {
		const char *value = doc_string(label);

		if (!value || !name_table_find(pairs, print_pair(label->key, value, pair)))
			continue;
		free(node->violation);
		node->violation = NULL;
		node->violation = xasprintf("anti-affinity of another pod in %s", pair);
		return;
	}
}

/* Replaces the violation by the rule's. */
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
			rule->kind == DOMAIN_ANTI_AFFINITY ? "a matching pod" : "no matching pod", rule->key,
			value);
	free(*ret);
	*ret = text;
}

/* add_node() has set the violations that do not depend on pods; a violation by other pods never ends, so it counts before the rules. */
static void set_violations(struct scheduling_constraints *sc)
{
	CLEANUP(strv_release) struct strv pairs = {0};
	CLEANUP(name_table_release) struct name_table table = {0};

	list_excluded_pairs(sc, &pairs, &table);
	for (size_t i = 0; i < sc->n_nodes; i++) {
		struct constrained_node *node = &sc->nodes[i];
		int at;

		if (!*node->violation)
			exclude_by_pairs(node, &table);
		at = *node->violation ? -1 : domain_rules_check(&sc->rules, node->domains);
		if (at >= 0)
			explain_rule(&sc->rules.items[at], node, &node->violation);
		/* A skew may end, but no other copy gives the node the label. */
		node->temporary = at >= 0 && sc->rules.items[at].kind == DOMAIN_SPREAD &&
				  node->domains[at] != DOMAIN_NONE;
	}
}

void scheduling_constraints_finish(struct scheduling_constraints *sc)
{
	limit_rules(sc);
	set_domains(sc);
	set_violations(sc);
}

const char *scheduling_constraints_violated_by_first(
	const struct scheduling_constraints *sc, const char *node)
{
	const struct constrained_node *found = scheduling_constraints_node(sc, node);

	if (found)
		return found->violation;
	return sc->nodes_known ? "there is no such Node" : "";
}

bool scheduling_constraints_allow_any(const struct scheduling_constraints *sc, const char *node)
{
	const struct constrained_node *found = scheduling_constraints_node(sc, node);

	return found ? !*found->violation || found->temporary : !sc->nodes_known;
}
