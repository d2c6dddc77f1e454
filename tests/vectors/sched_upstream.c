/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upstream_cases.json: {cases: [{id, function, ..., expected}]}, the cases of the plugin's own tests;
 * `function` says what was called, and with it which members a case has.
 */
#include "common/cleanup.h"
#include "common/resource.h"
#include "tests/vectors/sched_build.h"

#define MAX_VICTIMS 64

static void check_bool(struct vectors_run *run, const vj *expected, const char *key, bool got)
{
	bool want = vj_bool(vj_need(expected, key));

	if (got != want)
		vectors_differ(run, "%s: %d, recorded %d", key, got, want);
}

static void check_int(struct vectors_run *run, const vj *expected, const char *key, int64_t got)
{
	int64_t want = vj_int(vj_need(expected, key));

	if (got != want)
		vectors_differ(run, "%s: %lld, recorded %lld", key, (long long)got, (long long)want);
}

static void check_text(struct vectors_run *run, const vj *expected, const char *key, const char *got)
{
	const vj *value = vj_need(expected, key);
	const char *want = vj_is_null(value) ? "" : vj_string(value);

	if (strcmp(got, want) != 0)
		vectors_differ(run, "%s: '%s', recorded '%s'", key, got, want);
}

static void check_config(struct vectors_run *run, const struct topology_manager_config *got, const vj *want)
{
	check_text(run, want, "policy", got->policy ? topology_manager_policy_names[got->policy] : "");
	check_text(run, want, "scope", got->scope ? topology_manager_scope_names[got->scope] : "");
	check_int(run, want, "max_numa_nodes", got->max_numa_nodes);
}

static enum qos_class qos_from_json(const vj *json)
{
	for (int i = 1; i < QOS_COUNT; i++)
		if (!strcmp(qos_class_names[i], vj_string(json)))
			return (enum qos_class)i;
	vj_die(json, "no QoS class");
}

/* A case's node and pod. */
struct subject {
	struct zones zones;
	struct node node;
	struct pod_request pod;
	struct request_plan plan;
	struct topology_manager_config topology;
};

static void subject_init(struct subject *s, struct vectors_run *run, const vj *c)
{
	const vj *nrt = vj_get(c, "nrt");

	zones_from_nrt(&s->zones, nrt ? vj_get(nrt, "zones") : NULL);
	node_init(&s->node, &s->zones);
	pod_from_json(&s->pod, vj_need(c, "pod"));
	request_plan_init(&s->plan, &s->pod);
	/* Without an object the plugin lets every pod pass and scores 0, as with policy none. */
	s->topology = (struct topology_manager_config){.policy = TOPOLOGY_MANAGER_NONE};
	if (!nrt)
		return;
	s->topology = config_from_nrt(nrt);
	check_config(run, &s->topology, vj_need(c, "effective_topology_manager"));
}

static void subject_release(struct subject *s)
{
	request_plan_release(&s->plan);
	pod_request_release(&s->pod);
	node_release(&s->node);
	zones_release(&s->zones);
}

/* The NUMA node a victim's container runs on, -1 where the placement does not name it. */
static int placed_on(const vj *placement, const vj *pod, const char *container)
{
	VJ_FOREACH (p, placement) {
		if (!strcmp(vj_string(vj_need(p, "namespace")), vj_string(vj_need(pod, "namespace"))) &&
			!strcmp(vj_string(vj_need(p, "pod")), vj_string(vj_need(pod, "name"))) &&
			!strcmp(vj_string(vj_need(p, "container")), container))
			return (int)vj_int(vj_need(p, "numa_id"));
	}
	return -1;
}

static int evict(struct subject *s, const vj *c)
{
	struct pod_request pods[MAX_VICTIMS];
	struct eviction_victim victims[MAX_VICTIMS];
	size_t n_pods = 0, n = 0;
	int r;

	VJ_FOREACH (json, vj_get(c, "victims")) {
		struct pod_request *pod = &pods[n_pods];

		if (n_pods++ == MAX_VICTIMS)
			vj_die(c, "more than %d victims", MAX_VICTIMS);
		pod_from_json(pod, json);
		for (size_t i = 0; i < pod->n_containers && n < MAX_VICTIMS; i++) {
			int id = placed_on(vj_get(c, "numa_placement"), json, pod->containers[i].name);

			victims[n++] = (struct eviction_victim){pod, &pod->containers[i], id};
		}
	}
	r = eviction_simulate(&s->node.inv, victims, n);
	if (r < 0)
		vj_die(c, "out of memory");
	for (size_t i = 0; i < n_pods; i++)
		pod_request_release(&pods[i]);
	return r;
}

static void run_filter(struct vectors_run *run, const vj *c)
{
	const vj *expected = vj_need(c, "expected"), *mode = vj_get(c, "preemption_mode");
	const vj *prefix = vj_get(expected, "reason_prefix");
	struct resource_list allocatable = list_from_map(vj_get(c, "node_allocatable"));
	struct filter_result result;
	int verdict = EVICTION_DONE;
	struct subject s;

	subject_init(&s, run, c);
	if (mode && !strcmp(vj_string(mode), "Enabled") && vj_count(vj_get(c, "victims")) > 0 &&
		vj_get(c, "numa_placement"))
		verdict = evict(&s, c);
	result = filter_pod(&s.node.space, &s.plan, &s.topology, &allocatable);
	if (verdict != EVICTION_DONE)
		check_text(run, expected, "reason", eviction_messages[verdict]);
	else
		check_filter(run, &result, vj_string(vj_need(expected, "code")),
			vj_string(prefix ? prefix : vj_need(expected, "reason")), prefix != NULL);
	subject_release(&s);
	resource_list_release(&allocatable);
}

static void run_score(struct vectors_run *run, const vj *c)
{
	const char *name = vj_string(vj_need(c, "strategy"));
	struct subject s;
	struct score_case score = {.node = &s.node, .zones = &s.zones, .plan = &s.plan};
	int strategy = strategy_by_name(name);

	if (strategy < 0)
		vj_die(c, "no strategy '%s'", name);
	subject_init(&s, run, c);
	score.topology = s.topology;
	score.strategy = (enum strategy)strategy;
	score.weights = weights_from_map(vj_get(c, "resource_weights"));
	check_score(run, &score, name, vj_need(vj_need(c, "expected"), "score"));
	free((void *)(uintptr_t)score.weights.items);
	subject_release(&s);
}

/* numa_nodes and request of the cases of single functions. */
static void node_from_case(const vj *c, struct zones *zones, struct node *node, struct resource_list *request)
{
	zones_from_map(zones, vj_need(c, "numa_nodes"));
	node_init(node, zones);
	*request = list_from_map(vj_get(c, "request"));
}

static void release_node(struct zones *zones, struct node *node, struct resource_list *request)
{
	resource_list_release(request);
	node_release(node);
	zones_release(zones);
}

static void run_required(struct vectors_run *run, const vj *c)
{
	const vj *expected = vj_need(c, "expected"), *ids = vj_get(expected, "numa_ids");
	struct resource_list request;
	uint64_t want = 0, got = 0;
	struct zones zones;
	struct node node;
	struct fit fit;

	node_from_case(c, &zones, &node, &request);
	fit = fit_required(&node.space, qos_from_json(vj_need(c, "qos")), &request);
	for (uint64_t rest = fit.nodes; rest; rest &= rest - 1)
		got |= UINT64_C(1) << node.inv.nodes[__builtin_ctzll(rest)].id;
	VJ_FOREACH (id, ids)
		want |= UINT64_C(1) << vj_unsigned(id);
	if (fit.verdict != (ids ? FIT_FOUND : FIT_NONE) || got != want)
		vectors_differ(run, "numa_ids: verdict %u %llx, recorded %llx", fit.verdict,
			(unsigned long long)got, (unsigned long long)want);
	check_bool(run, expected, "is_min_distance", fit.min_distance == FIT_MIN_DISTANCE_YES);
	release_node(&zones, &node, &request);
}

static void run_normalize(struct vectors_run *run, const vj *c)
{
	int score = strategy_normalize(vj_unsigned(vj_need(c, "numa_nodes_count")),
		vj_bool(vj_need(c, "is_min_distance")), vj_unsigned(vj_need(c, "max_numa_nodes")));

	check_int(run, vj_need(c, "expected"), "score", score);
}

static void run_min_distance(struct vectors_run *run, const vj *c)
{
	double want = vj_double(vj_need(vj_need(c, "expected"), "min_avg_distance_f32"));
	float least = (float)DISTANCE_UNKNOWN;
	struct resource_list request;
	struct zones zones;
	struct node node;

	node_from_case(c, &zones, &node, &request);
	VJ_FOREACH (list, vj_need(c, "combinations")) {
		size_t size = vj_count(list);
		uint64_t set = 0;
		float average;

		VJ_FOREACH (index, list)
			set |= UINT64_C(1) << (vj_unsigned(index) % COMBINATION_MAX_NODES);
		average = (float)distances_sum(&node.distances, set) / (float)(size * size);
		least = average < least ? average : least;
	}
	if (least - (float)want > 1e-5F || (float)want - least > 1e-5F)
		vectors_differ(run, "least average: %.6f, recorded %.6f", (double)least, want);
	release_node(&zones, &node, &request);
}

static void run_resource_name(struct vectors_run *run, const vj *c)
{
	const char *name = vj_string(vj_need(c, "resource"));
	bool host_level = !strcmp(vj_string(vj_need(c, "function")), "isHostLevelResource");

	check_bool(run, vj_need(c, "expected"), "result",
		host_level ? resource_name_is_host_level(name) : resource_name_is_numa_affine(name));
}

/* What is left in a space against recorded [{numa_id, resources}]. */
static void check_left(struct vectors_run *run, const struct node *node, const vj *want)
{
	size_t position = 0;

	VJ_FOREACH (zone, want) {
		size_t n = 0;

		if (position == node->inv.n_nodes)
			vj_die(want, "more nodes than there were");
		VJ_FOREACH (q, vj_need(zone, "resources")) {
			int r = inventory_resource(&node->inv, vj_key(q));

			n++;
			if (r < 0 || *fit_available(&node->space, (size_t)r, position) != vj_quantity(q).nano)
				vectors_differ(run, "left of %s on node %zu is not what was recorded",
					vj_key(q), position);
		}
		for (size_t r = 0; r < node->inv.n_resources; r++)
			n -= inventory_amount(&node->inv, position, r)->present;
		if (n != 0)
			vectors_differ(run, "node %zu has other resources than recorded", position);
		position++;
	}
}

static void run_filter_subtract(struct vectors_run *run, const vj *c)
{
	const vj *expected = vj_need(c, "expected");
	char reason[FILTER_REASON_MAX] = "";
	struct resource_list request;
	struct zones zones;
	struct node node;

	node_from_case(c, &zones, &node, &request);
	filter_subtract(&node.space, qos_from_json(vj_need(c, "qos")), &request,
		vj_unsigned(vj_need(c, "numa_id")), reason);
	check_text(run, expected, "error", reason);
	check_left(run, &node, vj_need(expected, "numa_nodes"));
	release_node(&zones, &node, &request);
}

static void run_fit_subtract(struct vectors_run *run, const vj *c)
{
	struct resource_list request;
	uint64_t nodes = 0;
	struct zones zones;
	struct node node;

	node_from_case(c, &zones, &node, &request);
	VJ_FOREACH (index, vj_need(c, "node_indexes"))
		nodes |= UINT64_C(1) << (vj_unsigned(index) % COMBINATION_MAX_NODES);
	fit_subtract(&node.space, &request, nodes);
	check_left(run, &node, vj_need(vj_need(c, "expected"), "numa_nodes"));
	release_node(&zones, &node, &request);
}

static void run_not_numa(struct vectors_run *run, const vj *c)
{
	struct resource_list request;
	struct zones zones;
	struct node node;

	node_from_case(c, &zones, &node, &request);
	check_bool(run, vj_need(c, "expected"), "result", fit_is_not_numa(&node.space, &request));
	release_node(&zones, &node, &request);
}

static void run_fingerprint(struct vectors_run *run, const vj *c)
{
	const vj *expected = vj_need(c, "expected"), *map = vj_get(c, "annotations");
	struct nrt_attribute *annotations = calloc(vj_count(map) + 1, sizeof(*annotations));
	size_t n_annotations = 0, n;
	struct nrt_attribute *attributes = attributes_from_json(vj_get(c, "attributes"), &n);
	bool exclusive_only;
	const char *value;

	VJ_FOREACH (a, map)
		annotations[n_annotations++] = (struct nrt_attribute){vj_key(a), vj_string(a)};
	value = nrt_fingerprint(attributes, n, annotations, n_annotations, &exclusive_only);
	if (vj_get(expected, "fingerprint"))
		check_text(run, expected, "fingerprint", value ? value : "");
	else
		check_bool(run, expected, "only_exclusive_resources", exclusive_only);
	free(attributes);
	free(annotations);
}

static void run_name_check(struct vectors_run *run, const vj *c)
{
	bool scope = !strcmp(vj_string(vj_need(c, "function")), "IsValidScope");
	const char *value = vj_string(vj_need(c, "value"));
	int index = scope ? settings_name_index(topology_manager_scope_names, TOPOLOGY_SCOPE_COUNT, value)
			  : settings_name_index(
				    topology_manager_policy_names, TOPOLOGY_MANAGER_POLICY_COUNT, value);

	check_bool(run, vj_need(c, "expected"), "result", index > 0);
}

static void run_config(struct vectors_run *run, const vj *c)
{
	const char *function = vj_string(vj_need(c, "function"));
	struct topology_manager_config config;
	const char *first = NULL;
	struct nrt_attribute *attributes;
	size_t n;

	if (!strcmp(function, "TopologyManagerFromNodeResourceTopology")) {
		config = config_from_nrt(c);
		check_config(run, &config, vj_need(c, "expected"));
		return;
	}
	config = config_from_json(vj_need(c, "initial"));
	attributes = attributes_from_json(vj_get(c, "attributes"), &n);
	if (vj_first(vj_get(c, "topologyPolicies")))
		first = vj_string(vj_first(vj_get(c, "topologyPolicies")));
	nrt_apply_policies(&config, &first, first ? 1 : 0);
	nrt_apply_attributes(&config, attributes, n);
	check_config(run, &config, vj_need(c, "expected"));
	free(attributes);
}

static void run_pod_check(struct vectors_run *run, const vj *c)
{
	const vj *list = vj_get(c, "nrt_resources");
	struct resource_list names = {0};
	struct pod_request pod;
	struct zones zones = {.n = 1};
	struct node node;
	bool got;

	pod_from_json(&pod, vj_need(c, "pod"));
	VJ_FOREACH (name, list)
		resource_list_set(&names, vj_string(name), (struct quantity){0});
	zones.items[0].available = names;
	zones.items[0].allocatable = names;
	node_init(&node, &zones);
	got = !strcmp(vj_string(vj_need(c, "function")), "IncludeNonNative")
		      ? request_has_non_native(&pod)
		      : request_pod_is_exclusive(&pod, &node.inv);
	check_bool(run, vj_need(c, "expected"), "result", got);
	node_release(&node);
	resource_list_release(&names);
	pod_request_release(&pod);
}

static void add_requests(struct pod_request *pod, enum container_kind kind, const vj *list)
{
	VJ_FOREACH (requests, list) {
		struct container_request *c = pod_request_add(pod, kind, "");

		c->requests = list_from_map(requests);
	}
}

static void run_effective(struct vectors_run *run, const vj *c)
{
	struct resource_list got = {0}, want = list_from_map(vj_need(vj_need(c, "expected"), "request"));
	struct pod_request pod;

	pod_request_init(&pod);
	add_requests(&pod, CONTAINER_INIT, vj_get(c, "init_container_requests"));
	add_requests(&pod, CONTAINER_APP, vj_get(c, "container_requests"));
	pod.overhead = list_from_map(vj_get(c, "overhead"));
	request_effective_scheduler(&pod, &got);
	if (got.n_items != want.n_items)
		vectors_differ(run, "%zu resources, recorded %zu", got.n_items, want.n_items);
	for (size_t i = 0; i < want.n_items; i++) {
		const struct resource_quantity *q = resource_list_find(&got, want.items[i].name);

		if (!q || quantity_cmp(q->quantity, want.items[i].quantity) != 0)
			vectors_differ(run, "%s is not what was recorded", want.items[i].name);
	}
	resource_list_release(&got);
	resource_list_release(&want);
	pod_request_release(&pod);
}

static const struct {
	const char *function;
	void (*run)(struct vectors_run *run, const vj *c);
} functions[] = {
	{"Filter", run_filter},
	{"Score", run_score},
	{"numaNodesRequired", run_required},
	{"normalizeScore", run_normalize},
	{"minAvgDistanceInCombinations", run_min_distance},
	{"isHostLevelResource", run_resource_name},
	{"isNUMAAffineResource", run_resource_name},
	{"subtractResourcesFromNUMANodeList", run_filter_subtract},
	{"subtractFromNUMAs", run_fit_subtract},
	{"onlyNonNUMAResources", run_not_numa},
	{"podFingerprintForNodeTopology", run_fingerprint},
	{"IsValidScope", run_name_check},
	{"IsValidPolicy", run_name_check},
	{"updateFromAttributes", run_config},
	{"updateFromPolicies", run_config},
	{"TopologyManagerFromNodeResourceTopology", run_config},
	{"IncludeNonNative", run_pod_check},
	{"AreExclusiveForPod", run_pod_check},
	{"GetPodEffectiveRequest", run_effective},
};

static bool recognise(const struct vj_file *file)
{
	const vj *c = vj_first_case(file);

	return vj_is_map(c) && vj_get(c, "function") && vj_get(c, "expected");
}

static void run_file(struct vectors_run *run, const struct vj_file *file)
{
	VJ_FOREACH_CASE (c, file) {
		const char *function = vj_string(vj_need(c, "function"));
		size_t i = 0;

		vectors_begin(run, vj_string(vj_need(c, "id")));
		while (i < ARRAY_SIZE(functions) && strcmp(functions[i].function, function) != 0)
			i++;
		if (i < ARRAY_SIZE(functions))
			functions[i].run(run, c);
		else
			vectors_differ(run, "function '%s' is not known here", function);
		vectors_end(run);
	}
}

const struct vectors_format vectors_scheduler_upstream = {"scheduler's own tests", recognise, run_file};
