/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places copies of a pod on nodes, under its scheduling constraints.
 */
#include "cluster/constraints/scheduling_constraints.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/xalloc.h"

#define WORK_MAX 20000000u /* rule checks: less than a second */

struct placement {
	struct domain_rules *rules;
	struct copies_node *nodes;
	const size_t **domains; /* per node */
	size_t *single;         /* memory for the domains of nodes without a Node object */
	size_t n, wanted, placed;
	size_t work;
};

static void placement_release(struct placement *p)
{
	free(p->domains);
	free(p->single);
}

/* Sets the domains of each node. Without Node objects, each node is a domain of its own. */
static void set_node_domains(struct placement *p, const struct scheduling_constraints *sc)
{
	size_t n_rules = sc->rules.n_items;

	p->domains = xcalloc(p->n + 1, sizeof(*p->domains));
	p->single = xcalloc(p->n + 1, (n_rules + 1) * sizeof(*p->single));
	for (size_t i = 0; i < p->n; i++) {
		const struct constrained_node *node = scheduling_constraints_node(sc, p->nodes[i].name);

		for (size_t at = 0; at < n_rules; at++)
			p->single[i * n_rules + at] = i;
		p->domains[i] = node ? node->domains : p->single + i * n_rules;
		if (!node && sc->nodes_known) /* no such Node: a scheduler binds no pod there */
			p->nodes[i].admitted = 0;
	}
	for (size_t at = 0; at < n_rules && !sc->nodes_known; at++)
		domain_rule_domains(&p->rules->items[at], p->n);
}

/* Places as many copies on the node as possible. */
static void fill_node(struct placement *p, size_t i)
{
	struct copies_node *node = &p->nodes[i];

	while (node->placed < node->admitted && p->work < WORK_MAX) {
		p->work += p->rules->n_items;
		if (domain_rules_check(p->rules, p->domains[i]) >= 0)
			return;
		domain_rules_place(p->rules, p->domains[i]);
		node->placed++;
		if (p->placed < p->wanted)
			node->replicas++;
		p->placed++;
	}
}

/*
 * Pods with affinity to each other all go to the domain of the first copy. Finds the domain whose nodes admit the most copies, and places
 * as many copies as possible on its first node that takes a copy. `at` is the index of the rule.
 */
static void place_first_node(
	struct placement *p, const struct domain_rule *rule, size_t at, bool one_per_node)
{
	CLEANUP(freep) size_t *per_domain = xcalloc(rule->n_domains + 1, sizeof(*per_domain));
	size_t best_domain = DOMAIN_NONE;

	for (size_t i = 0; i < p->n; i++) {
		size_t domain = p->domains[i][at];

		if (p->nodes[i].admitted == 0 || domain == DOMAIN_NONE ||
			domain_rules_check(p->rules, p->domains[i]) >= 0)
			continue;
		per_domain[domain] += one_per_node ? 1 : p->nodes[i].admitted;
		if (best_domain == DOMAIN_NONE || per_domain[domain] > per_domain[best_domain])
			best_domain = domain;
	}
	for (size_t i = 0; i < p->n && best_domain != DOMAIN_NONE && p->placed == 0; i++)
		if (p->domains[i][at] == best_domain)
			fill_node(p, i);
}

/* With topology spread, a copy on one node may permit another copy on an earlier node: repeats until no copy is placed. */
static void place_by_rules(struct placement *p)
{
	bool has_spread = false;
	size_t before;

	for (size_t at = 0; at < p->rules->n_items; at++)
		has_spread |= p->rules->items[at].kind == DOMAIN_SPREAD;
	do {
		before = p->placed;
		for (size_t i = 0; i < p->n && p->work < WORK_MAX; i++)
			fill_node(p, i);
	} while (has_spread && p->placed > before && p->work < WORK_MAX);
}

static void place_without_rules(struct placement *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct copies_node *node = &p->nodes[i];
		size_t left = p->placed < p->wanted ? p->wanted - p->placed : 0;

		node->placed = node->admitted;
		node->replicas = node->admitted < left ? node->admitted : left;
		p->placed += node->admitted;
	}
}

static bool allows_one_per_domain(const struct domain_rule *rule)
{
	return rule->matches_itself && (rule->kind == DOMAIN_ANTI_AFFINITY || rule->kind == DOMAIN_PORTS);
}

bool copies_placement_one_per_node(const struct scheduling_constraints *sc, const char *node)
{
	const struct constrained_node *found = scheduling_constraints_node(sc, node);

	if (sc->one_per_node)
		return true;
	for (size_t at = 0; at < sc->rules.n_items; at++) {
		/* Without Node objects each node is a domain. */
		bool has_domain = found ? found->domains[at] != DOMAIN_NONE : !sc->nodes_known;

		if (has_domain && allows_one_per_domain(&sc->rules.items[at]))
			return true;
	}
	return false;
}

/* Chooses the domain of copies with affinity to each other, unless pods that match the affinity exist already: then rules decide. */
static void place_first_of_affinity(struct placement *p)
{
	bool one_per_node = false;
	size_t at = 0;

	for (size_t i = 0; i < p->rules->n_items; i++)
		one_per_node |= allows_one_per_domain(&p->rules->items[i]);
	while (at < p->rules->n_items && p->rules->items[at].kind != DOMAIN_AFFINITY)
		at++;
	if (at == p->rules->n_items || p->rules->items[at].n_matching > 0)
		return;
	place_first_node(p, &p->rules->items[at], at, one_per_node);
}

void copies_placement_find(struct scheduling_constraints *sc, struct copies_node *nodes, size_t n,
	size_t wanted, bool *ret_complete)
{
	CLEANUP(placement_release)
	struct placement p = {.rules = &sc->rules, .nodes = nodes, .n = n, .wanted = wanted};

	set_node_domains(&p, sc);
	if (p.rules->n_items > 0)
		place_first_of_affinity(&p);
	if (p.rules->n_items > 0)
		place_by_rules(&p);
	else
		place_without_rules(&p);
	*ret_complete = p.work < WORK_MAX;
}
