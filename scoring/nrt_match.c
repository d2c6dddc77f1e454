/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/nrt_match.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/resource.h"
#include "common/text.h"
#include "scoring/combinations.h"
#include "scoring/work.h"

/* ---- names and values in a NodeResourceTopology object */

#define ZONE_PREFIX   "node-"
#define MAX_NODES_CAP 50u /* scheduler-plugins gives no distance bonus when the value exceeds 50 */

/* Go's strconv.Atoi: optional sign, then digits only, within int64 (except its minimum). */
static bool parse_go_int(const char *text, int64_t *ret)
{
	const char *p = text + (*text == '-' || *text == '+');
	int64_t value = 0;

	if (*p == '\0')
		return false;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, *p - '0', &value))
			return false;
	*ret = *text == '-' ? -value : value;
	return *p == '\0';
}

int nrt_zone_id(const char *name)
{
	int64_t id;

	if (strncmp(name, ZONE_PREFIX, strlen(ZONE_PREFIX)) != 0 ||
		!parse_go_int(name + strlen(ZONE_PREFIX), &id))
		return -1;
	return id >= 0 && id < (int64_t)COMBINATION_MAX_NODES ? (int)id : -1;
}

void nrt_apply_policies(
	struct topology_manager_config *config, const char *const *policies, size_t n_policies)
{
	static const struct {
		const char *name;
		enum topology_manager_policy policy;
		enum topology_manager_scope scope;
	} known[] = {
		{"SingleNUMANodePodLevel", TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, TOPOLOGY_SCOPE_POD},
		{"SingleNUMANodeContainerLevel", TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, TOPOLOGY_SCOPE_CONTAINER},
		{"BestEffortPodLevel", TOPOLOGY_MANAGER_BEST_EFFORT, TOPOLOGY_SCOPE_POD},
		{"BestEffortContainerLevel", TOPOLOGY_MANAGER_BEST_EFFORT, TOPOLOGY_SCOPE_CONTAINER},
		{"RestrictedPodLevel", TOPOLOGY_MANAGER_RESTRICTED, TOPOLOGY_SCOPE_POD},
		{"RestrictedContainerLevel", TOPOLOGY_MANAGER_RESTRICTED, TOPOLOGY_SCOPE_CONTAINER},
	};

	for (size_t i = 0; n_policies > 0 && i < sizeof(known) / sizeof(*known); i++) {
		if (strcmp(policies[0], known[i].name) != 0)
			continue;
		config->policy = known[i].policy;
		config->scope = known[i].scope;
	}
}

void nrt_apply_attributes(
	struct topology_manager_config *config, const struct nrt_attribute *attributes, size_t n_attributes)
{
	for (size_t i = 0; i < n_attributes; i++) {
		const char *name = attributes[i].name, *value = attributes[i].value;
		int64_t max;
		int index;

		if (!strcmp(name, "topologyManagerScope")) {
			index = settings_name_index(
				topology_manager_scope_names, TOPOLOGY_SCOPE_COUNT, value);
			if (index > 0)
				config->scope = (enum topology_manager_scope)index;
		} else if (!strcmp(name, "topologyManagerPolicy")) {
			index = settings_name_index(
				topology_manager_policy_names, TOPOLOGY_MANAGER_POLICY_COUNT, value);
			if (index > 0)
				config->policy = (enum topology_manager_policy)index;
		} else if (!strcmp(name, "topologyManagerMaxNUMANodes")) {
			/* The plugin rejects 1, although its comment calls 1 the minimum. */
			if (parse_go_int(value, &max) && max > 1)
				config->max_numa_nodes = max < TOPOLOGY_MANAGER_MOST_MAX_NUMA_NODES
								 ? (unsigned)max
								 : TOPOLOGY_MANAGER_MOST_MAX_NUMA_NODES;
		}
	}
}

struct topology_manager_config nrt_topology_manager(const char *const *policies, size_t n_policies,
	const struct nrt_attribute *attributes, size_t n_attributes)
{
	struct topology_manager_config config = {
		.policy = TOPOLOGY_MANAGER_NONE,
		.scope = TOPOLOGY_SCOPE_CONTAINER,
		.max_numa_nodes = TOPOLOGY_MANAGER_DEFAULT_MAX_NUMA_NODES,
	};

	nrt_apply_policies(&config, policies, n_policies);
	nrt_apply_attributes(&config, attributes, n_attributes);
	return config;
}

unsigned nrt_max_numa_nodes(const struct settings *s, unsigned zones)
{
	unsigned max = s->topology.max_numa_nodes > zones ? s->topology.max_numa_nodes : zones;

	if (s->topology.policy == TOPOLOGY_MANAGER_UNKNOWN)
		return TOPOLOGY_MANAGER_DEFAULT_MAX_NUMA_NODES;
	/* Above the cap there would be no distance bonus. */
	return max > MAX_NODES_CAP && zones <= MAX_NODES_CAP ? MAX_NODES_CAP : max;
}

/* ---- Filter */

/* Whether the node has the resource in the scheduler's accounts. */
static bool node_has(const struct resource_list *node, const char *name)
{
	if (!node || !strcmp(name, "cpu") || !strcmp(name, "memory") || !strcmp(name, "pods") ||
		!strcmp(name, "ephemeral-storage"))
		return true;
	return resource_name_is_scalar(name) && resource_list_find(node, name);
}

/* Replace each position by the first position with the same NUMA node id. */
static uint64_t first_positions(const struct fit_space *s, uint64_t positions)
{
	uint64_t ids = 0;

	for (; positions; positions &= positions - 1)
		ids |= s->same_id[__builtin_ctzll(positions)];
	return ids;
}

/* Whether the position has enough of one resource of the request. */
static bool is_sufficient(const struct fit_space *s, enum qos_class qos,
	const struct resource_quantity *wanted, int resource, unsigned position)
{
	if (resource < 0 || !(s->present[resource] & UINT64_C(1) << position))
		return false;
	return !fit_needs_numa_nodes(qos, wanted->name) ||
	       *fit_available(s, (size_t)resource, position) >= wanted->quantity.nano;
}

/*
 * The NUMA nodes that have enough of one resource of the request; false when the resource does not depend
 * on NUMA nodes.
 */
static bool find_sufficient(const struct fit_space *s, enum qos_class qos,
	const struct resource_quantity *wanted, const struct resource_list *node, uint64_t *ret_ids)
{
	int r = inventory_resource(s->inventory, wanted->name);
	uint64_t set = 0;

	if (wanted->quantity.nano == 0)
		return false;
	/* Of a resource that the node does not have, no NUMA node has enough. */
	if (node_has(node, wanted->name)) {
		if ((r < 0 || !s->present[r]) && resource_name_is_host_level(wanted->name))
			return false;
		for (unsigned position = 0; position < s->n_nodes; position++)
			if (is_sufficient(s, qos, wanted, r, position))
				set |= UINT64_C(1) << position;
	}
	*ret_ids = first_positions(s, set);
	return true;
}

/*
 * The NUMA node that the kubelet would choose: the lowest id with enough of every resource; false = none. A
 * request that does not depend on NUMA nodes fits even if the inventory has none; *ret_id is 0 then.
 */
static bool find_single_node(const struct fit_space *s, enum qos_class qos,
	const struct resource_list *request, const struct resource_list *node, unsigned *ret_id)
{
	uint64_t ids = UINT64_MAX, sufficient;
	bool depends_on_nodes = false;
	unsigned at = 0;

	for (size_t i = 0; i < request->n_items; i++) {
		if (!find_sufficient(s, qos, &request->items[i], node, &sufficient))
			continue;
		ids &= sufficient;
		depends_on_nodes = true;
	}
	*ret_id = 0;
	if (!depends_on_nodes)
		return true;
	while (at < s->n_nodes && !(ids & UINT64_C(1) << s->by_id[at]))
		at++;
	if (at < s->n_nodes)
		*ret_id = s->inventory->nodes[s->by_id[at]].id;
	return at < s->n_nodes;
}

/* Print an amount in the usual format of its resource. */
static void print_resource_amount(const char *name, qty_t amount, char text[QUANTITY_TEXT_MAX])
{
	bool bytes = !strcmp(name, "memory") || resource_name_is_hugepages(name);

	quantity_print(
		(struct quantity){.nano = amount, .format = bytes ? QUANTITY_BINARY_SI : QUANTITY_DECIMAL_SI},
		text);
}

/*
 * Append "; node 3 has cpu 2" or "; node 3 has no cpu": the first resource of which the position has too
 * little.
 */
static void explain_node(const struct fit_space *s, enum qos_class qos, const struct resource_list *request,
	unsigned position, char text[FILTER_DETAIL_MAX])
{
	unsigned id = s->inventory->nodes[position].id;

	for (size_t i = 0; i < request->n_items; i++) {
		const struct resource_quantity *wanted = &request->items[i];
		int r = inventory_resource(s->inventory, wanted->name);
		bool somewhere = r >= 0 && s->present[r];
		char amount[QUANTITY_TEXT_MAX];

		if (wanted->quantity.nano == 0 || is_sufficient(s, qos, wanted, r, position))
			continue;
		if (!somewhere && resource_name_is_host_level(wanted->name))
			continue;
		if (!somewhere || !(s->present[r] & UINT64_C(1) << position)) {
			text_addf(text, FILTER_DETAIL_MAX, "; node %u has no %s", id, wanted->name);
			return;
		}
		print_resource_amount(wanted->name, *fit_available(s, (size_t)r, position), amount);
		text_addf(text, FILTER_DETAIL_MAX, "; node %u has %s %s", id, wanted->name, amount);
		return;
	}
}

/*
 * Append the rest of the sentence for a person: what the request needs, and for each NUMA node why it is
 * excluded.
 */
static void explain_filter(const struct fit_space *s, enum qos_class qos, const struct resource_list *request,
	const struct resource_list *node, char text[FILTER_DETAIL_MAX])
{
	bool absent = false;

	text_addf(text, FILTER_DETAIL_MAX, " needs");
	for (size_t i = 0; i < request->n_items; i++) {
		char amount[QUANTITY_TEXT_MAX];

		quantity_print(request->items[i].quantity, amount);
		text_addf(text, FILTER_DETAIL_MAX, "%s %s %s", i > 0 ? "," : "", request->items[i].name,
			amount);
	}
	text_addf(text, FILTER_DETAIL_MAX, " on one NUMA node");
	for (size_t i = 0; i < request->n_items; i++) {
		if (request->items[i].quantity.nano == 0 || node_has(node, request->items[i].name))
			continue;
		text_addf(text, FILTER_DETAIL_MAX, "; the machine has no %s", request->items[i].name);
		absent = true;
	}
	for (unsigned at = 0; at < s->n_nodes && !absent; at++)
		explain_node(s, qos, request, s->by_id[at], text);
}

bool filter_subtract(struct fit_space *s, enum qos_class qos, const struct resource_list *request,
	unsigned id, char ret_reason[FILTER_REASON_MAX])
{
	for (unsigned position = 0; position < s->n_nodes; position++) {
		if (s->inventory->nodes[position].id != id)
			continue;
		for (size_t i = 0; i < request->n_items; i++) {
			const struct resource_quantity *wanted = &request->items[i];
			int r = inventory_resource(s->inventory, wanted->name);
			char want[QUANTITY_TEXT_MAX], have[QUANTITY_TEXT_MAX];
			qty_t *left;

			if (r < 0 || !(s->present[r] & UINT64_C(1) << position) ||
				wanted->quantity.nano == 0 || !fit_needs_numa_nodes(qos, wanted->name))
				continue;
			left = fit_available(s, (size_t)r, position);
			if (*left >= wanted->quantity.nano) {
				*left -= wanted->quantity.nano;
				continue;
			}
			quantity_print(wanted->quantity, want);
			print_resource_amount(wanted->name, *left, have);
			ret_reason[0] = '\0';
			text_addf(ret_reason, FILTER_REASON_MAX,
				"resource \"%.40s\" request %s exceeds NUMA %u availability %s", wanted->name,
				want, id, have);
			return false;
		}
	}
	return true;
}

static struct filter_result make_filter_result(enum filter_verdict verdict, const char *reason)
{
	struct filter_result result = {.verdict = verdict};

	text_addf(result.reason, sizeof(result.reason), "%s", reason);
	return result;
}

/* Filter the containers one after the other; init containers and sidecars are not subtracted. */
static struct filter_result filter_containers(
	struct fit_space *s, const struct request_plan *plan, const struct resource_list *node)
{
	static const char *const reasons[CONTAINER_KIND_COUNT] = {
		"cannot align init container", "cannot align sidecar container", "cannot align container"};

	for (size_t i = 0; i < plan->pod->n_containers; i++) {
		const struct container_request *c = &plan->pod->containers[i];
		char inner[FILTER_REASON_MAX];
		struct filter_result result;
		unsigned id;

		if (!find_single_node(s, plan->qos, &c->requests, node, &id)) {
			result = make_filter_result(FILTER_UNSCHEDULABLE, reasons[c->kind]);
			text_addf(result.detail, FILTER_DETAIL_MAX, "container '%.60s'", c->name);
			explain_filter(s, plan->qos, &c->requests, node, result.detail);
			return result;
		}
		if (c->kind != CONTAINER_APP || filter_subtract(s, plan->qos, &c->requests, id, inner))
			continue;
		result = make_filter_result(FILTER_ERROR, "inconsistent resource accounting, ");
		text_addf(result.reason, FILTER_REASON_MAX, "%s", inner);
		text_addf(result.detail, FILTER_DETAIL_MAX, "NUMA node %u is listed twice: %s", id, inner);
		return result;
	}
	return (struct filter_result){.verdict = FILTER_PASS};
}

struct filter_result filter_pod(struct fit_space *s, const struct request_plan *plan,
	const struct topology_manager_config *topology, const struct resource_list *node)
{
	struct filter_result result = {.verdict = FILTER_PASS};
	unsigned id;

	fit_space_reset(s);
	if (plan->qos == QOS_BEST_EFFORT && !plan->has_non_native) /* requests nothing that is aligned */
		return result;
	if (topology->policy != TOPOLOGY_MANAGER_SINGLE_NUMA_NODE)
		return result;
	if (topology->scope != TOPOLOGY_SCOPE_POD)
		return filter_containers(s, plan, node);
	if (find_single_node(s, plan->qos, &plan->effective, node, &id))
		return result;
	result = make_filter_result(FILTER_UNSCHEDULABLE, "cannot align pod");
	text_addf(result.detail, FILTER_DETAIL_MAX, "the pod");
	explain_filter(s, plan->qos, &plan->effective, node, result.detail);
	return result;
}

/* ---- Score */

#define SCORE_MAX    100
#define STEPS_AMOUNT 100u /* for one request on one NUMA node (scoring/work.h) */

const char *const strategy_names[] = {
	"MostAllocated", "LeastAllocated", "BalancedAllocation", "LeastNUMANodes"};

static_assert(sizeof(strategy_names) / sizeof(*strategy_names) == STRATEGY_COUNT, "a name for each strategy");

int strategy_by_name(const char *name)
{
	for (int i = 0; i < STRATEGY_COUNT; i++)
		if (!strcmp(strategy_names[i], name))
			return i;
	return -1;
}

static int64_t weight_of(const struct resource_weights *weights, const char *name)
{
	for (size_t i = 0; weights && i < weights->n_items; i++)
		if (!strcmp(weights->items[i].name, name))
			return weights->items[i].weight < 1 ? 1 : weights->items[i].weight;
	return 1;
}

/* A NUMA node's amount of a resource in whole units, 0 if it has none. */
static int64_t value_on_node(const struct fit_space *s, const char *name, unsigned position)
{
	int r = inventory_resource(s->inventory, name);
	const struct inventory_amount *a = r < 0 ? NULL : inventory_amount(s->inventory, position, (size_t)r);

	return a && a->present ? qty_value(a->available) : 0;
}

/* The weighted mean of the shares that the request takes of the NUMA node's amounts (`most`: MostAllocated), or that it leaves
 * (LeastAllocated). A resource that does not fit counts 0. */
static int allocated_score(const struct fit_space *s, const struct resource_list *request,
	const struct resource_weights *weights, bool most, unsigned position)
{
	qty_t sum = 0, weight_sum = 0;

	for (size_t i = 0; i < request->n_items; i++) {
		const struct resource_quantity *q = &request->items[i];
		int64_t weight = weight_of(weights, q->name), amount = value_on_node(s, q->name, position);
		int64_t wanted = qty_value(q->quantity.nano);
		int r = inventory_resource(s->inventory, q->name);

		weight_sum += weight;
		if (amount == 0 || r < 0 ||
			q->quantity.nano > inventory_amount(s->inventory, position, (size_t)r)->available)
			continue;
		sum += (qty_t)(most ? wanted : amount - wanted) * SCORE_MAX / amount * weight;
	}
	return weight_sum == 0 ? SCORE_UNKNOWN : (int)(sum / weight_sum);
}

/* Round down to an integer in 0..100. Negative amounts can make the score smaller or larger. */
static int to_score(double score)
{
	return score > 0 ? (int)(score < SCORE_MAX ? score : SCORE_MAX) : 0;
}

/*
 * 100 * (1 - sample variance of the shares), in the plugin's floating point: gonum's stat.Variance, a
 * corrected two-pass algorithm. The plugin sums in random order; this function sums in the order of names.
 */
static int balanced_score(const struct fit_space *s, const struct resource_list *request, unsigned position)
{
	double sum = 0, squares = 0, compensation = 0, n = (double)request->n_items, mean;

	for (int pass = 0; pass < 2; pass++) {
		mean = sum / n;
		for (size_t i = 0; i < request->n_items; i++) {
			const struct resource_quantity *q = &request->items[i];
			int64_t amount = value_on_node(s, q->name, position);
			double share = amount == 0 ? 1 : (double)qty_value(q->quantity.nano) / (double)amount;

			if (share > 1)
				return 0;
			if (pass == 0) {
				sum += share;
				continue;
			}
			squares += (share - mean) * (share - mean);
			compensation += share - mean;
		}
	}
	if (request->n_items < 2)
		return SCORE_UNKNOWN;
	return to_score((1 - (squares - compensation * compensation / n) / (n - 1)) * SCORE_MAX);
}

/* The least score above 0 of the inventory's NUMA nodes, 0 if there is none. */
static int nodes_score(const struct fit_space *s, const struct resource_list *request, enum strategy strategy,
	const struct resource_weights *weights)
{
	int least = 0;

	for (unsigned position = 0; position < s->n_nodes; position++) {
		int score = strategy == STRATEGY_BALANCED_ALLOCATION
				    ? balanced_score(s, request, position)
				    : allocated_score(s, request, weights,
					      strategy == STRATEGY_MOST_ALLOCATED, position);

		if (score == SCORE_UNKNOWN)
			return SCORE_UNKNOWN;
		if (least == 0 || (score != 0 && score < least))
			least = score;
	}
	return least;
}

static int allocation_score(const struct fit_space *s, const struct request_plan *plan, bool pod_scope,
	enum strategy strategy, const struct resource_weights *weights)
{
	struct work work = {.limit = SCORE_WORK_MAX};
	double sum = 0;

	if (pod_scope)
		return nodes_score(s, &plan->effective, strategy, weights);
	for (size_t i = 0; i < plan->pod->n_containers; i++) {
		const struct resource_list *requests = &plan->pod->containers[i].requests;
		int score;

		if (!work_add(&work, STEPS_AMOUNT * (uint64_t)s->n_nodes * (requests->n_items + 1)))
			return SCORE_UNKNOWN;
		score = nodes_score(s, requests, strategy, weights);
		if (score == SCORE_UNKNOWN)
			return SCORE_UNKNOWN;
		sum += score;
	}
	return plan->pod->n_containers == 0 ? SCORE_UNKNOWN : (int)(sum / (double)plan->pod->n_containers);
}

int strategy_normalize(unsigned n_nodes, bool min_distance, unsigned max_numa_nodes)
{
	int64_t share = SCORE_MAX / (max_numa_nodes > 0 ? (int64_t)max_numa_nodes : 1);
	int64_t score = SCORE_MAX - n_nodes * share + (min_distance ? share / 2 : 0);

	if (score < 0)
		return 0;
	return score < SCORE_MAX ? (int)score : SCORE_MAX;
}

/* Add one request to the pod's fit; false when no further request can change it. */
static bool add_request(struct fit_space *s, const struct resource_list *request, struct pod_fit *pod)
{
	struct fit fit;

	if (fit_is_not_numa(s, request))
		return true;
	fit = fit_required(s, QOS_GUARANTEED, request);
	pod->verdict = fit.verdict;
	if (fit.verdict != FIT_FOUND)
		return false;
	pod->n_nodes = fit.n_nodes > pod->n_nodes ? fit.n_nodes : pod->n_nodes;
	/*
	 * One request that is known not to be at the minimum distance decides, whatever is unknown about
	 * the others.
	 */
	if (fit.min_distance == FIT_MIN_DISTANCE_NO || pod->min_distance == FIT_MIN_DISTANCE_YES)
		pod->min_distance = fit.min_distance;
	fit_subtract(s, request, fit.nodes);
	return true;
}

struct pod_fit strategy_pod_fit(
	struct fit_space *s, const struct request_plan *plan, enum topology_manager_scope scope)
{
	struct pod_fit pod = {.verdict = FIT_FOUND, .min_distance = FIT_MIN_DISTANCE_YES};
	bool undecided = plan->qos == QOS_GUARANTEED;

	fit_space_reset(s);
	if (undecided && scope == TOPOLOGY_SCOPE_POD) {
		add_request(s, &plan->effective, &pod);
		return pod;
	}
	for (size_t i = 0; i < plan->pod->n_containers && undecided; i++)
		undecided = add_request(s, &plan->pod->containers[i].requests, &pod);
	return pod;
}

int strategy_fit_score(const struct pod_fit *fit, const struct topology_manager_config *topology)
{
	if (fit->verdict != FIT_FOUND)
		return fit->verdict == FIT_UNKNOWN ? SCORE_UNKNOWN : 0;
	if (fit->n_nodes == 0)
		return SCORE_MAX;
	if (fit->min_distance == FIT_MIN_DISTANCE_UNKNOWN)
		return SCORE_UNKNOWN;
	return strategy_normalize(
		fit->n_nodes, fit->min_distance == FIT_MIN_DISTANCE_YES, topology->max_numa_nodes);
}

int strategy_score(struct fit_space *s, const struct request_plan *plan,
	const struct topology_manager_config *topology, enum strategy strategy,
	const struct resource_weights *weights)
{
	if (plan->qos != QOS_GUARANTEED)
		return SCORE_MAX;
	if (strategy == STRATEGY_LEAST_NUMA_NODES) {
		struct pod_fit fit = strategy_pod_fit(s, plan, topology->scope);

		return strategy_fit_score(&fit, topology);
	}
	if (topology->policy != TOPOLOGY_MANAGER_SINGLE_NUMA_NODE || s->n_nodes == 0)
		return 0;
	return allocation_score(s, plan, topology->scope == TOPOLOGY_SCOPE_POD, strategy, weights);
}
