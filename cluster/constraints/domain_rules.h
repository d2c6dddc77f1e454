/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds the topology domains to which the next copy of a pod may go, by the pods in each domain.
 *
 * Evaluates required pod affinity and anti-affinity, topology spread with DoNotSchedule, and host ports. kube-scheduler 1.35's
 * plugins InterPodAffinity, PodTopologySpread and NodePorts are the model.
 */
#include <stdint.h>

#include "common/doc.h"
#include "common/vec.h"

#define DOMAIN_RULES_MAX  64 /* rules per pod: a uint64_t is a set of rules */
#define DOMAIN_NONE       SIZE_MAX
#define DOMAIN_HOST_LABEL "kubernetes.io/hostname"

enum domain_kind { DOMAIN_ANTI_AFFINITY, DOMAIN_AFFINITY, DOMAIN_SPREAD, DOMAIN_PORTS, DOMAIN_KIND_COUNT };

extern const char *const domain_kind_names[DOMAIN_KIND_COUNT]; /* "pod anti-affinity", ... */

/* One rule of the pod. */
struct domain_rule {
	enum domain_kind kind;
	unsigned bit; /* in masks */
	const char *
		key; /* the node label whose value is the domain; NULL = each node is a domain (host ports) */
	const struct doc *term; /* PodAffinityTerm or TopologySpreadConstraint; borrowed, also `key` */
	bool matches_itself;    /* the pod itself matches the rule */
	bool copies_count;      /* placed copies count for the next copy */
	uint64_t max_skew, min_domains;
	bool honors_affinity, honors_taints; /* nodeAffinityPolicy, nodeTaintsPolicy */
	size_t *pods;                        /* per domain: matching pods */
	bool *eligible;                      /* per domain: counts for `min_pods` */
	size_t n_domains, n_eligible;
	size_t n_matching; /* matching pods in all domains */
	size_t min_pods;   /* minimum of `pods` over the eligible domains */
	size_t n_at_min;   /* eligible domains with the minimum */
};

struct domain_rules {
	const struct doc *pod;
	const char *namespace;
	struct domain_rule items[DOMAIN_RULES_MAX];
	size_t n_items;
};

/*
 * Reads the rules of a Pod or pod template (NULL = no rules). Borrows the pod and `namespace`. Adds to `not_evaluated`
 * what is not evaluated: terms that select namespaces by labels, and rules beyond DOMAIN_RULES_MAX. `ret` is to be
 * released.
 */
void domain_rules_init(
	struct domain_rules *ret, const struct doc *pod, const char *namespace, struct strv *not_evaluated);
void domain_rules_release(struct domain_rules *rules);

/* Removes the rule with this index. The bits of the remaining rules do not change. */
void domain_rules_remove(struct domain_rules *rules, size_t at);

/* The mask of the rules that another pod matches. */
uint64_t domain_rules_match(const struct domain_rules *rules, const struct doc *pod);

/*
 * Whether a term of required anti-affinity of the pod `owner` selects the pod of the rules. *unknown becomes true if that
 * depends on labels of namespaces, and stays as it is otherwise.
 */
bool domain_rules_selected_by(
	const struct domain_rules *rules, const struct doc *owner, const struct doc *term, bool *unknown);

/* Sets the number of the rule's domains. */
void domain_rule_domains(struct domain_rule *rule, size_t n);

/* Counts a matching pod in the domain. DOMAIN_NONE is ignored. */
void domain_rule_count(struct domain_rule *rule, size_t domain);

/* To be called after the last domain_rule_count() of an existing pod. */
void domain_rules_finish(struct domain_rules *rules);

/*
 * Checks whether the next copy may go to the node with these domains, one per rule. -1 = the copy may; else the index of the
 * first violated rule.
 */
int domain_rules_check(const struct domain_rules *rules, const size_t *domains);

/* Counts a copy on the node with these domains. */
void domain_rules_place(struct domain_rules *rules, const size_t *domains);
