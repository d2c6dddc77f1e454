/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Which topology domains the pods that are there, and copies of a pod, leave to its next copy. By required pod affinity and
 * anti-affinity, topology spread with DoNotSchedule, and host ports. kube-scheduler 1.35's plugins InterPodAffinity,
 * PodTopologySpread and NodePorts are the model.
 */
#include <stdint.h>

#include "agent/base/doc.h"
#include "common/strv.h"

#define DOMAIN_RULES_MAX  64 /* rules of a pod; a set of them is a mask */
#define DOMAIN_NONE       SIZE_MAX
#define DOMAIN_HOST_LABEL "kubernetes.io/hostname"

enum domain_kind { DOMAIN_APART, DOMAIN_TOGETHER, DOMAIN_SPREAD, DOMAIN_PORTS, DOMAIN_KIND_COUNT };

extern const char *const domain_kind_names[DOMAIN_KIND_COUNT]; /* "pod anti-affinity", ... */

/* One rule of the pod. */
struct domain_rule {
	enum domain_kind kind;
	unsigned bit;    /* in masks */
	const char *key; /* the node label whose value is the domain; NULL = each node is one (host ports) */
	const struct doc *term; /* PodAffinityTerm or TopologySpreadConstraint; borrowed, as the key */
	bool own;               /* the pod itself matches */
	bool counts_own;        /* each copy counts for the next one */
	uint64_t max_skew, min_domains;
	bool honors_affinity, honors_taints; /* of nodes whose domains count */
	size_t *pods;                        /* by domain: matching pods */
	bool *eligible;                      /* by domain: counts for the least */
	size_t n_domains, n_eligible;
	size_t total;           /* matching pods in any domain */
	size_t least, at_least; /* of eligible domains: the fewest pods, and how many domains have so few */
};

struct domain_rules {
	const struct doc *pod;
	const char *namespace;
	struct domain_rule items[DOMAIN_RULES_MAX];
	size_t n_items;
};

/*
 * The rules of a Pod or pod template (NULL = none), which is borrowed, as `namespace` is. What cannot be looked at, because
 * a term selects namespaces by labels or there are more than DOMAIN_RULES_MAX rules, goes to `not_looked_at`. `ret` is to be
 * released.
 */
void domain_rules_init(
	struct domain_rules *ret, const struct doc *pod, const char *namespace, struct strv *not_looked_at);
void domain_rules_release(struct domain_rules *rules);

/* Leave out the rule at this place; the bits of the others stay. */
void domain_rules_remove(struct domain_rules *rules, size_t at);

/* The rules, as a mask, that a pod which is there matches. */
uint64_t domain_rules_match(const struct domain_rules *rules, const struct doc *pod);

/*
 * The term of a pod's required anti-affinity (`owner` is that pod) selects the pod of the rules. *ret_unknown is set where
 * that depends on labels of namespaces.
 */
bool domain_rules_selected(
	const struct domain_rules *rules, const struct doc *owner, const struct doc *term, bool *ret_unknown);

/* Make room for the rule's domains. */
void domain_rule_domains(struct domain_rule *rule, size_t n);

/* A pod that matches is in the domain (DOMAIN_NONE = in none). */
void domain_rule_count(struct domain_rule *rule, size_t domain);

/* After the last call of domain_rule_count() for pods that are there. */
void domain_rules_finish(struct domain_rules *rules);

/*
 * A copy may go to the node whose domains are these, by rule. -1 where it may, else the place of the first rule that keeps it
 * away.
 */
int domain_rules_check(const struct domain_rules *rules, const size_t *domains);

/* A copy goes there. */
void domain_rules_place(struct domain_rules *rules, const size_t *domains);
