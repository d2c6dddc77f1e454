/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes choose a node and a pod. What must hold of every answer: the frontier gives the search's; nothing
 * becomes more by being taken from; scores lie in 0..100; what the kubelet admits it has a place for, of free
 * CPUs that no other container of the pod has; and the exclusive-CPU ranges say what the kubelet says.
 */
#include "tests/fuzz/fuzz.h"

#include "common/cleanup.h"
#include "common/settings_table.h"
#include "scoring/exclusive_cpus.h"
#include "scoring/fit_hints.h"
#include "scoring/nrt_match.h"
/* Test helpers are not in the library that fuzz targets are linked with. */
#include "tests/lib/synthetic.c"

#define MAX_NODES 7

static const char *const names[] = {"cpu", "hugepages-1Gi", "memory", "vendor.com/gpu", "vendor.com/nic"};

#define N_NAMES ARRAY_SIZE(names)

struct input {
	const uint8_t *at, *end;
};

/* The next byte, below n; 0 when there are no more. */
static unsigned take(struct input *in, unsigned n)
{
	return in->at < in->end ? *in->at++ % n : 0;
}

static qty_t take_amount(struct input *in)
{
	static const qty_t units[] = {QTY_UNIT, QTY_UNIT, QTY_UNIT / 2, 1, QTY_UNIT << 33, QTY_UNIT << 60};

	return units[take(in, ARRAY_SIZE(units))] * (qty_t)take(in, 20);
}

static struct topology_manager_config take_config(struct input *in)
{
	return (struct topology_manager_config){
		.policy = (enum topology_manager_policy)take(in, TOPOLOGY_MANAGER_POLICY_COUNT),
		.scope = (enum topology_manager_scope)take(in, TOPOLOGY_SCOPE_COUNT),
		.max_numa_nodes = 8 + take(in, 2) * 60,
		.prefer_closest_numa_nodes = take(in, 2)};
}

static void take_inventory(struct input *in, struct inventory *inv)
{
	size_t n = take(in, MAX_NODES + 1), n_names = take(in, N_NAMES + 1);
	bool same_ids = take(in, 8) == 1;

	inventory_shape(inv, n, names, n_names);
	for (size_t i = 0; i < n; i++) {
		inv->nodes[i].id = same_ids ? take(in, 3) : (unsigned)i;
		for (size_t r = 0; r < n_names; r++) {
			struct inventory_amount *a = inventory_amount(inv, i, r);

			a->present = take(in, 8) != 1;
			a->available = a->present ? take_amount(in) : 0;
			a->capacity = a->allocatable = a->available;
		}
		for (size_t j = 0; j < n; j++)
			inv->costs[i * n + j] = take(in, 16) * (take(in, 20) == 1 ? 50u : 3u);
	}
	inv->topology = take_config(in);
}

static void take_list(struct input *in, struct resource_list *ret)
{
	for (size_t i = 0; i < N_NAMES; i++) {
		struct quantity q = {.nano = 0};

		if (take(in, 3) == 2)
			continue;
		q.nano = take_amount(in);
		resource_list_set(ret, names[i], q);
	}
}

static void take_pod(struct input *in, struct pod_request *pod)
{
	size_t n = 1 + take(in, 3);

	pod_request_init(pod);
	pod->qos = take(in, 4) ? QOS_GUARANTEED : (enum qos_class)take(in, QOS_COUNT);
	for (size_t i = 0; i < n; i++) {
		enum container_kind kind =
			i + 1 == n ? CONTAINER_APP : (enum container_kind)take(in, CONTAINER_KIND_COUNT);
		struct container_request *c = pod_request_add(pod, kind, "c");

		take_list(in, &c->requests);
		for (size_t k = 0; k < c->requests.n_items; k++)
			resource_list_set(
				&c->limits, c->requests.items[k].name, c->requests.items[k].quantity);
	}
}

/* ---- the scheduler's side */

static void check_fit(
	struct fit_space *s, struct frontier *f, enum qos_class qos, const struct resource_list *request)
{
	struct fit search = fit_required(s, qos, request), table = frontier_find(f, qos, request);
	size_t n = (size_t)s->n_nodes * s->n_resources;
	CLEANUP(freep) qty_t *before = calloc(n + 1, sizeof(*before));

	fuzz_require(before != NULL);
	fuzz_require(search.verdict == table.verdict && search.nodes == table.nodes &&
		     search.n_nodes == table.n_nodes && search.min_distance == table.min_distance);
	if (search.verdict != FIT_FOUND)
		return;
	fuzz_require(search.nodes != 0 && (search.nodes & ~combination_first(s->n_nodes)) == 0);
	fuzz_require(search.n_nodes >= 1 && search.n_nodes <= (unsigned)__builtin_popcountll(search.nodes));
	for (size_t i = 0; i < n; i++)
		before[i] = s->available[i];
	fit_subtract(s, request, search.nodes);
	for (size_t i = 0; i < n; i++)
		fuzz_require(s->available[i] <= before[i] && s->available[i] >= 0);
	fit_space_reset(s);
}

static void check_scores(struct fit_space *s, const struct request_plan *plan)
{
	for (enum strategy strategy = 0; strategy < STRATEGY_COUNT; strategy++) {
		int score = strategy_score(s, plan, &s->inventory->topology, strategy, NULL);

		fuzz_require(score == SCORE_UNKNOWN || (score >= 0 && score <= 100));
	}
}

static void check_filter(struct fit_space *s, const struct request_plan *plan)
{
	struct filter_result result = filter_pod(s, plan, &s->inventory->topology, NULL);

	fuzz_require((result.verdict == FILTER_PASS) == (result.reason[0] == '\0'));
	fit_space_reset(s);
}

static void check_scheduler(struct input *in, const struct pod_request *pod)
{
	const struct frontier_limits limits = {.entries = SIZE_MAX, .work = UINT64_MAX};
	CLEANUP(inventory_release) struct inventory inv;
	CLEANUP(distances_release) struct distances distances = {0};
	CLEANUP(fit_space_release) struct fit_space space = {0};
	CLEANUP(frontier_release) struct frontier frontier = {0};
	CLEANUP(request_plan_release) struct request_plan plan = {0};

	inventory_init(&inv);
	take_inventory(in, &inv);
	fuzz_require(distances_init(&distances, inv.costs, inv.n_nodes, DISTANCES_WORK_LIMIT) == 0);
	fuzz_require(fit_space_init(&space, &inv, &distances) == 0);
	frontier_init(&frontier, &space, &limits);
	fuzz_require(!frontier.truncated);
	request_plan_init(&plan, pod);
	for (size_t i = 0; i < pod->n_containers; i++)
		check_fit(&space, &frontier, plan.qos, &pod->containers[i].requests);
	check_fit(&space, &frontier, QOS_GUARANTEED, &plan.effective);
	check_scores(&space, &plan);
	check_filter(&space, &plan);
}

/* ---- the kubelet's side */

static void take_cpu_options(struct input *in, struct settings *s)
{
	unsigned bits = take(in, 1u << sizeof(struct cpu_manager_options));

	for (size_t i = 0; i < POLICY_OPTION_COUNT; i++)
		if (policy_options[i].setting == SETTING_CPU_MANAGER_POLICY_OPTIONS) {
			policy_option_set(&policy_options[i], bits & 1, s);
			bits >>= 1;
		}
}

/* Each container that asks for exclusive CPUs has as many, of the shared pool; an init container's may be
 * used again. */
static void check_placements(const struct kubelet *k, const struct pod_request *pod, enum qos_class qos,
	const struct kubelet_verdict *verdict)
{
	CLEANUP(freep) bool *held = calloc(k->topology.n_cpus + 1, sizeof(*held));

	fuzz_require(held != NULL);
	fuzz_require(verdict->answer != KUBELET_ADMITS || verdict->rejection == KUBELET_NOT_REJECTED);
	fuzz_require((verdict->answer == KUBELET_ADMITS) == (verdict->reason.text[0] == '\0'));
	if (verdict->answer != KUBELET_ADMITS || !k->cpu_static || k->unknown.text[0] != '\0')
		return;
	fuzz_require(verdict->n_placements == pod->n_containers);
	for (size_t i = 0; i < pod->n_containers; i++) {
		const struct kubelet_placement *p = &verdict->placements[i];
		size_t n = kubelet_exclusive_cpus(&pod->containers[i], qos);

		fuzz_require(p->exclusive_cpus == n);
		if (n == 0)
			continue;
		fuzz_require(p->cpus != NULL && cpu_set_size(&k->topology, p->cpus) == n);
		for (size_t c = 0; c < k->topology.n_cpus; c++) {
			if (!p->cpus[c])
				continue;
			fuzz_require(k->shared[c] && !k->cpu.reserved[c] && !held[c]);
			held[c] = pod->containers[i].kind != CONTAINER_INIT;
		}
	}
}

static bool in_ranges(const struct exclusive_cpus_admitted *a, size_t n)
{
	for (size_t i = 0; i < a->n_ranges; i++)
		if (n >= a->ranges[i].first && n <= a->ranges[i].last)
			return (n - a->ranges[i].first) % a->step == 0;
	return false;
}

/* One container of n CPUs and nothing else. */
static void check_ranges(const struct kubelet *k, struct kubelet_workspace *ws, size_t n)
{
	struct exclusive_cpus_admitted a;
	struct kubelet_verdict verdict;
	struct pod_request pod;

	exclusive_cpus_find(k, &a);
	pod_request_init(&pod);
	pod_request_add(&pod, CONTAINER_APP, "c");
	resource_list_set(&pod.containers[0].requests, "cpu", quantity_from_units((int64_t)n));
	kubelet_judge(k, ws, &pod, QOS_GUARANTEED, &verdict);
	if (k->cpu_static && a.unknown.text[0] == '\0' && verdict.answer != KUBELET_UNKNOWN)
		fuzz_require(in_ranges(&a, n) == (verdict.answer == KUBELET_ADMITS));
	pod_request_release(&pod);
	exclusive_cpus_admitted_release(&a);
}

static void check_kubelet(struct input *in, const struct pod_request *pod)
{
	const struct synthetic shape = {.sockets = 1 + take(in, 2),
		.numas = 1 + take(in, 3),
		.uncores = 1 + take(in, 2),
		.cores = 1 + take(in, 4),
		.threads = 1 + take(in, 2),
		.siblings_adjacent = take(in, 2),
		.memory_bytes = UINT64_C(1) << 34};
	CLEANUP(machine_release) struct machine machine;
	CLEANUP(settings_release) struct settings settings;
	CLEANUP(cpuset_freep) hwloc_bitmap_t shared = hwloc_bitmap_alloc(), reserved = hwloc_bitmap_alloc();
	CLEANUP(kubelet_workspace_freep) struct kubelet_workspace *ws = NULL;
	struct kubelet_node node = {.machine = &machine, .settings = &settings};
	enum qos_class qos = request_qos(pod);
	struct kubelet_verdict verdict;
	struct kubelet k;

	fuzz_require(shared && reserved);
	synthetic_machine(&shape, &machine);
	settings_init(&settings);
	settings.cpu_manager = (enum cpu_manager_policy)(CPU_MANAGER_POLICY_COUNT - 1 - take(in, 3));
	settings.memory_manager = take(in, 8) == 1 ? MEMORY_MANAGER_UNKNOWN : MEMORY_MANAGER_NONE;
	settings.topology = take_config(in);
	take_cpu_options(in, &settings);
	hwloc_bitmap_set(reserved, 0);
	for (size_t i = 0; i < machine.n_cpus; i++) {
		unsigned what = take(in, 4);

		if (what != 1)
			hwloc_bitmap_set(shared, machine.cpus[i].id);
		if (what == 2 && take(in, 2))
			hwloc_bitmap_set(reserved, machine.cpus[i].id);
	}
	node.shared = shared;
	node.reserved = reserved;
	kubelet_init(&k, &node);
	ws = kubelet_workspace_new(&k);
	kubelet_judge(&k, ws, pod, qos, &verdict);
	check_placements(&k, pod, qos, &verdict);
	check_ranges(&k, ws, 1 + take(in, 64));
	kubelet_release(&k);
}

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {.at = data, .end = data + size};
	struct pod_request pod;

	take_pod(&in, &pod);
	if (take(&in, 2))
		check_scheduler(&in, &pod);
	else
		check_kubelet(&in, &pod);
	pod_request_release(&pod);
}
