/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/constraints/domain_rules.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/objects/label_match.h"
#include "cluster/objects/pod_status.h"
#include "common/cleanup.h"
#include "common/xalloc.h"

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"

const char *const domain_kind_names[DOMAIN_KIND_COUNT] = {
	"pod anti-affinity", "pod affinity", "topology spread", "host ports"};

static bool is_given(const struct doc *d)
{
	return d && d->kind != DOC_NULL;
}

static const struct doc *labels_of(const struct doc *pod)
{
	return doc_get(doc_get(pod, "metadata"), "labels");
}

static const char *namespace_of(const struct doc *pod)
{
	const char *namespace = doc_text(doc_get(pod, "metadata"), "namespace");

	return *namespace ? namespace : "default";
}

/* ---- host ports */

struct port {
	const char *protocol, *ip;
	uint64_t number;
};

/* Reads a host port; false if the port is not a host port. With hostNetwork the API server makes each container port a
 * host port. */
static bool read_port(const struct doc *port, bool host_network, struct port *ret)
{
	const char *protocol = doc_text(port, "protocol"), *ip = doc_text(port, "hostIP");

	*ret = (struct port){.protocol = *protocol ? protocol : "TCP", .ip = *ip ? ip : "0.0.0.0"};
	if (doc_uint64(doc_get(port, "hostPort"), &ret->number) == 0 && ret->number > 0)
		return true;
	return host_network && doc_uint64(doc_get(port, "containerPort"), &ret->number) == 0 &&
	       ret->number > 0;
}

typedef bool port_fn(const struct port *port, const void *data);

/* Whether `fn` is true for a host port of the pod. Ordinary init containers hold no ports while the pod runs; sidecars do. */
static bool any_port(const struct doc *pod, port_fn *fn, const void *data)
{
	static const char *const lists[] = {"initContainers", "containers"};
	const struct doc *spec = doc_get(pod, "spec");
	bool host_network = doc_is_true(doc_get(spec, "hostNetwork"));
	struct port port;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const struct doc *list = doc_get(spec, lists[i]);
		bool are_inits = i == 0;

		DOC_FOREACH_ITEM (container, list) {
			const struct doc *ports = doc_get(container, "ports");

			if (are_inits && strcmp(doc_text(container, "restartPolicy"), "Always") != 0)
				continue;
			DOC_FOREACH_ITEM (item, ports)
				if (read_port(item, host_network, &port) && fn(&port, data))
					return true;
		}
	}
	return false;
}

static bool accept_port(const struct port *port, const void *data)
{
	(void)port;
	(void)data;
	return true;
}

/* port_fn: `data` is another struct port. */
static bool is_same_port(const struct port *a, const void *data)
{
	const struct port *b = data;
	bool all_addresses = !strcmp(a->ip, "0.0.0.0") || !strcmp(b->ip, "0.0.0.0");

	return a->number == b->number && !strcmp(a->protocol, b->protocol) &&
	       (all_addresses || !strcmp(a->ip, b->ip));
}

/* port_fn: whether the other pod has this host port. */
static bool is_taken(const struct port *port, const void *pod)
{
	return any_port(pod, is_same_port, port);
}

/* ---- terms of pod affinity */

/* Whether the term selects the namespace. *ret_unknown is set if that depends on labels of namespaces. */
static bool selects_namespace(
	const struct doc *term, const char *own, const char *namespace, bool *ret_unknown)
{
	const struct doc *names = doc_get(term, "namespaces"), *selector = doc_get(term, "namespaceSelector");

	if (label_in(names, namespace))
		return true;
	if (is_given(selector)) {
		*ret_unknown |= !label_selector_is_empty(selector);
		return label_selector_is_empty(selector);
	}
	return !doc_list_items(names) && !strcmp(own, namespace);
}

/* Whether the labels have the same value as the term's pod `owner` per key (matchLabelKeys), or another value
 * (mismatchLabelKeys). A key that the owner does not have is ignored. */
static bool keys_match(const struct doc *keys, const struct doc *owner, const struct doc *labels, bool same)
{
	DOC_FOREACH_ITEM (key, keys) {
		const char *name = doc_string(key), *have, *want;

		want = name ? doc_string(doc_get(labels_of(owner), name)) : NULL;
		have = want ? doc_string(doc_get(labels, name)) : NULL;
		if (want && (have && !strcmp(want, have)) != same)
			return false;
	}
	return true;
}

static bool term_matches(const struct doc *term, const struct doc *owner, const struct doc *labels)
{
	return label_selector_matches(doc_get(term, "labelSelector"), labels) &&
	       keys_match(doc_get(term, "matchLabelKeys"), owner, labels, true) &&
	       keys_match(doc_get(term, "mismatchLabelKeys"), owner, labels, false);
}

/* Whether neither the selector nor matchLabelKeys has a requirement. Topology spread then counts no pod. */
static bool selects_everything(const struct doc *term, const struct doc *owner)
{
	const struct doc *keys = doc_get(term, "matchLabelKeys");

	DOC_FOREACH_ITEM (key, keys)
		if (doc_string(key) && doc_string(doc_get(labels_of(owner), doc_string(key))))
			return false;
	return label_selector_is_empty(doc_get(term, "labelSelector"));
}

static bool rule_matches(const struct domain_rules *rules, const struct domain_rule *rule,
	const struct doc *pod, const char *namespace)
{
	bool unknown = false; /* stays false: add_rule() adds no term that depends on labels of namespaces */

	if (rule->kind == DOMAIN_PORTS)
		return any_port(rules->pod, is_taken, pod);
	if (rule->kind == DOMAIN_SPREAD)
		return !strcmp(namespace, rules->namespace) && !selects_everything(rule->term, rules->pod) &&
		       term_matches(rule->term, rules->pod, labels_of(pod)) && !pod_is_terminating(pod);
	return selects_namespace(rule->term, rules->namespace, namespace, &unknown) &&
	       term_matches(rule->term, rules->pod, labels_of(pod));
}

static uint64_t match_rules(const struct domain_rules *rules, const struct doc *pod, const char *namespace)
{
	uint64_t mask = 0, affinity = 0;

	for (size_t i = 0; i < rules->n_items; i++) {
		const struct domain_rule *rule = &rules->items[i];
		uint64_t bit = (uint64_t)1 << rule->bit;

		affinity |= rule->kind == DOMAIN_AFFINITY ? bit : 0;
		mask |= rule_matches(rules, rule, pod, namespace) ? bit : 0;
	}
	/* A pod that does not match all affinity terms counts for none of these terms. */
	return (mask & affinity) == affinity ? mask : mask & ~affinity;
}

uint64_t domain_rules_match(const struct domain_rules *rules, const struct doc *pod)
{
	return match_rules(rules, pod, namespace_of(pod));
}

bool domain_rules_selected_by(
	const struct domain_rules *rules, const struct doc *owner, const struct doc *term, bool *unknown)
{
	bool by_namespaces = false;

	if (!term_matches(term, owner, labels_of(rules->pod)))
		return false;
	if (selects_namespace(term, namespace_of(owner), rules->namespace, &by_namespaces))
		return true;
	*unknown |= by_namespaces;
	return false;
}

/* ---- the pod's rules */

/* Whether the constraint's member `policy` is Honor; `by_default`: the result without the member. */
static bool honors(const struct doc *constraint, const char *policy, bool by_default)
{
	const char *text = doc_string(doc_get(constraint, policy));

	return text ? !strcmp(text, "Honor") : by_default;
}

static void read_spread(const struct doc *constraint, struct domain_rule *rule)
{
	if (doc_uint64(doc_get(constraint, "maxSkew"), &rule->max_skew) < 0)
		rule->max_skew = 1;
	if (doc_uint64(doc_get(constraint, "minDomains"), &rule->min_domains) < 0)
		rule->min_domains = 1;
	rule->honors_affinity = honors(constraint, "nodeAffinityPolicy", true);
	rule->honors_taints = honors(constraint, "nodeTaintsPolicy", false);
}

static bool is_required_spread(const struct doc *constraint)
{
	const char *when = doc_string(doc_get(constraint, "whenUnsatisfiable"));

	return !when || !strcmp(when, "DoNotSchedule");
}

static void add_rule(
	struct domain_rules *rules, enum domain_kind kind, const struct doc *term, struct strv *not_evaluated)
{
	const char *key = doc_string(doc_get(term, "topologyKey"));
	struct domain_rule rule = {.kind = kind, .key = key, .term = term};
	bool unknown = false;

	if (term && !key)
		rule.key = ""; /* NULL is for host ports */
	/* "" is no namespace: the call only finds out whether the term selects namespaces by labels. */
	if (kind == DOMAIN_ANTI_AFFINITY || kind == DOMAIN_AFFINITY)
		selects_namespace(term, rules->namespace, "", &unknown);
	if (unknown || rules->n_items == DOMAIN_RULES_MAX) {
		strv_push_new(not_evaluated, domain_kind_names[kind]);
		return;
	}
	if (kind == DOMAIN_SPREAD)
		read_spread(term, &rule);
	rule.bit = (unsigned)rules->n_items;
	rules->items[rules->n_items++] = rule;
}

static void add_terms(struct domain_rules *rules, enum domain_kind kind, const struct doc *terms,
	struct strv *not_evaluated)
{
	DOC_FOREACH_ITEM (term, terms)
		if (kind != DOMAIN_SPREAD || is_required_spread(term))
			add_rule(rules, kind, term, not_evaluated);
}

/* Sets `matches_itself` and `copies_count` of the rules. */
static void match_pod_itself(struct domain_rules *rules)
{
	uint64_t mask = match_rules(rules, rules->pod, rules->namespace);

	for (size_t i = 0; i < rules->n_items; i++) {
		struct domain_rule *rule = &rules->items[i];

		rule->matches_itself = rule->copies_count = mask >> rule->bit & 1;
		/* For the skew, kube-scheduler counts the pod itself by the selector alone. */
		if (rule->kind == DOMAIN_SPREAD)
			rule->matches_itself = label_selector_matches(
				doc_get(rule->term, "labelSelector"), labels_of(rules->pod));
	}
}

void domain_rules_init(
	struct domain_rules *ret, const struct doc *pod, const char *namespace, struct strv *not_evaluated)
{
	const struct doc *spec = doc_get(pod, "spec"), *affinity = doc_get(spec, "affinity");

	*ret = (struct domain_rules){.pod = pod, .namespace = namespace};
	add_terms(ret, DOMAIN_ANTI_AFFINITY, doc_get(doc_get(affinity, "podAntiAffinity"), REQUIRED),
		not_evaluated);
	add_terms(ret, DOMAIN_AFFINITY, doc_get(doc_get(affinity, "podAffinity"), REQUIRED), not_evaluated);
	add_terms(ret, DOMAIN_SPREAD, doc_get(spec, "topologySpreadConstraints"), not_evaluated);
	if (any_port(pod, accept_port, NULL))
		add_rule(ret, DOMAIN_PORTS, NULL, not_evaluated);
	match_pod_itself(ret);
}

static void rule_release(struct domain_rule *rule)
{
	free(rule->pods);
	free(rule->eligible);
	*rule = (struct domain_rule){0};
}

void domain_rules_release(struct domain_rules *rules)
{
	for (size_t i = 0; i < rules->n_items; i++)
		rule_release(&rules->items[i]);
	*rules = (struct domain_rules){0};
}

void domain_rules_remove(struct domain_rules *rules, size_t at)
{
	rule_release(&rules->items[at]);
	for (size_t i = at + 1; i < rules->n_items; i++)
		rules->items[i - 1] = rules->items[i];
	rules->n_items--;
}

/* ---- domains */

void domain_rule_domains(struct domain_rule *rule, size_t n)
{
	CLEANUP(freep) size_t *pods = xcalloc(n + 1, sizeof(*pods));
	CLEANUP(freep) bool *eligible = xcalloc(n + 1, sizeof(*eligible));

	free(rule->pods);
	free(rule->eligible);
	rule->pods = TAKE(pods);
	rule->eligible = TAKE(eligible);
	rule->n_domains = n;
}

void domain_rule_count(struct domain_rule *rule, size_t domain)
{
	if (domain == DOMAIN_NONE)
		return;
	rule->pods[domain]++;
	rule->n_matching++;
}

/* Sets the least number of matching pods in an eligible domain, and the numbers of domains with this number and of eligible domains. */
static void count_min_pods(struct domain_rule *rule)
{
	rule->min_pods = SIZE_MAX;
	rule->n_at_min = rule->n_eligible = 0;
	for (size_t i = 0; i < rule->n_domains; i++) {
		if (!rule->eligible[i])
			continue;
		rule->n_eligible++;
		if (rule->pods[i] < rule->min_pods) {
			rule->min_pods = rule->pods[i];
			rule->n_at_min = 0;
		}
		rule->n_at_min += rule->pods[i] == rule->min_pods;
	}
}

void domain_rules_finish(struct domain_rules *rules)
{
	for (size_t i = 0; i < rules->n_items; i++)
		count_min_pods(&rules->items[i]);
}

/* Whether the domain stays within maxSkew with the pod. With fewer eligible domains than minDomains the minimum counts as 0. */
static bool spread_allows(const struct domain_rule *rule, size_t domain)
{
	bool has_min = rule->n_eligible > 0 && rule->n_eligible >= rule->min_domains;
	size_t min_pods = has_min ? rule->min_pods : 0;
	size_t pods = rule->pods[domain] + rule->matches_itself;

	return pods <= min_pods || pods - min_pods <= rule->max_skew;
}

/* Whether no pod satisfies the affinity terms yet, and the pod matches its own terms: the first of such pods may go anywhere. */
static bool is_first_of_affinity(const struct domain_rules *rules)
{
	for (size_t i = 0; i < rules->n_items; i++)
		if (rules->items[i].kind == DOMAIN_AFFINITY &&
			(rules->items[i].n_matching > 0 || !rules->items[i].matches_itself))
			return false;
	return true;
}

/* `first`: is_first_of_affinity(). */
static bool rule_allows(const struct domain_rule *rule, size_t domain, bool first)
{
	if (rule->kind == DOMAIN_ANTI_AFFINITY || rule->kind == DOMAIN_PORTS)
		return domain == DOMAIN_NONE || rule->pods[domain] == 0;
	if (domain == DOMAIN_NONE)
		return false;
	if (rule->kind == DOMAIN_AFFINITY)
		return first || rule->pods[domain] > 0;
	return spread_allows(rule, domain);
}

int domain_rules_check(const struct domain_rules *rules, const size_t *domains)
{
	bool first = is_first_of_affinity(rules);

	for (size_t i = 0; i < rules->n_items; i++)
		if (!rule_allows(&rules->items[i], domains[i], first))
			return (int)i;
	return -1;
}

void domain_rules_place(struct domain_rules *rules, const size_t *domains)
{
	for (size_t i = 0; i < rules->n_items; i++) {
		struct domain_rule *rule = &rules->items[i];

		if (!rule->copies_count || domains[i] == DOMAIN_NONE)
			continue;
		domain_rule_count(rule, domains[i]);
		if (rule->kind != DOMAIN_SPREAD || !rule->eligible[domains[i]] ||
			rule->pods[domains[i]] != rule->min_pods + 1)
			continue;
		/* The domain had the least number of pods until now. */
		rule->n_at_min--;
		if (rule->n_at_min == 0)
			count_min_pods(rule);
	}
}
