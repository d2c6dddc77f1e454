/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "scoring/node/node_admission.h"
#include "scoring/node/node_state_codec.h"
#include "scoring/node/pod_names.h"
#include "scoring/node/projected_state.h"
#include "scoring/node/victims.h"
#include "tests/lib/node_sim.h"
#include "tests/lib/nodes.h"
#include "tests/lib/pods.h"

/* 2 NUMA nodes of 8 CPUs; CPU 0 is reserved. */
static const struct node_sim_setup small = {.machine = {.sockets = 2,
						    .numas = 1,
						    .uncores = 1,
						    .cores = 8,
						    .threads = 1,
						    .memory_bytes = (uint64_t)16 << 30},
	.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE,
	.scope = TOPOLOGY_SCOPE_CONTAINER};

/* The pods that hold something. To be released. */
static void list_pods(const struct node_state *node, struct victim_pods *ret)
{
	const struct allocations *a = &node->allocations;

	*ret = (struct victim_pods){0};
	for (size_t i = 0; i < a->n_items; i++)
		victim_pods_add_item(ret, i, a->items[i].namespace, a->items[i].pod, a->items[i].pod_uid);
}

/* The pods whose stays[pod] is set must not leave; NULL = all may. */
static void find_stays(const struct node_sim *sim, const char *text, const bool *stays, struct victims *ret)
{
	CLEANUP(victim_pods_release) struct victim_pods pods;
	struct pod_request pod;

	pod_from_text(&pod, text);
	list_pods(&sim->state, &pods);
	for (size_t i = 0; i < pods.n_items && stays; i++)
		pods.items[i].may_leave = pods.items[i].may_leave && !stays[i];
	victims_find(&sim->state, &pod, &pods, ret);
	pod_request_release(&pod);
}

static void find(const struct node_sim *sim, const char *text, struct victims *ret)
{
	find_stays(sim, text, NULL, ret);
}

/* "p1 p4: 6 CPUs", "no set", "nothing", "unknown" */
static void assert_frees(const struct node_sim *sim, const char *pod, const char *want)
{
	static const char *const words[] = {
		[VICTIMS_UNKNOWN] = "unknown", [VICTIMS_NOTHING] = "nothing", [VICTIMS_NO_SET] = "no set"};
	CLEANUP(victims_release) struct victims w = {0};
	CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(1024);

	find(sim, pod, &w);
	for (size_t i = 0; i < w.n_pods; i++)
		strbuf_addf(&got, "%s%s", i ? " " : "", *w.pods[i].name ? w.pods[i].name : w.pods[i].uid);
	if (w.answer == VICTIMS_SET)
		strbuf_addf(&got, ": %zu CPUs", w.cpus);
	else
		strbuf_addstr(&got, words[w.answer]);
	test_assert_text(pod, got.text, want);
	assert_false(w.gave_up);
}

static void known_sets(void **state)
{
	struct node_sim sim;

	(void)state;
	node_sim_init(&sim, &small);
	assert_true(node_sim_begin(&sim, "app cpu=4 memory=1Gi"));     /* p0: node 0, 3 are left */
	assert_true(node_sim_begin(&sim, "app cpu=3 memory=1Gi"));     /* p1: node 0, none is left */
	assert_true(node_sim_begin(&sim, "app cpu=2 memory=1Gi"));     /* p2: node 1 */
	assert_true(node_sim_begin(&sim, "app cpu=2 memory=1Gi"));     /* p3: node 1, 4 are left */
	assert_true(node_sim_begin(&sim, "app cpu=1500m memory=1Gi")); /* p4 holds nothing */
	assert_frees(&sim, "app cpu=4 memory=1Gi", "nothing");
	assert_frees(&sim, "app cpu=5 memory=1Gi", "p2: 2 CPUs");
	assert_frees(&sim, "app cpu=7 memory=1Gi", "p2 p3: 4 CPUs");
	assert_frees(&sim, "app cpu=8 memory=1Gi", "p2 p3: 4 CPUs");
	assert_frees(&sim, "app cpu=9 memory=1Gi", "no set");
	assert_frees(&sim, "app cpu=4 memory=1Gi; app cpu=4 memory=1Gi", "p0: 4 CPUs");
	assert_frees(&sim, "app cpu=1 memory=40Gi", "no set");
	node_sim_release(&sim);
}

/* One large pod is better than two small ones; of single pods the one with the fewest CPUs. */
static void fewer_pods_before_fewer_cpus(void **state)
{
	struct node_sim sim;

	(void)state;
	node_sim_init(&sim, &small);
	assert_true(node_sim_begin(&sim, "app cpu=7 memory=1Gi")); /* p0: all of node 0 */
	assert_true(node_sim_begin(&sim, "app cpu=2 memory=1Gi"));
	assert_true(node_sim_begin(&sim, "app cpu=2 memory=1Gi"));
	assert_true(node_sim_begin(&sim, "app cpu=3 memory=1Gi")); /* p1 to p3: one CPU of node 1 is left */
	assert_frees(&sim, "app cpu=6 memory=1Gi", "p0: 7 CPUs");
	assert_frees(&sim, "app cpu=3 memory=1Gi", "p1: 2 CPUs");
	assert_frees(&sim, "app cpu=4 memory=1Gi", "p3: 3 CPUs");
	node_sim_release(&sim);
}

/* Pods whose kinds are too long to compare are of different kinds. */
static void pods_with_many_blocks(void **state)
{
	struct node_sim sim;

	(void)state;
	node_sim_init(&sim, &small);
	assert_true(node_sim_begin(&sim, "app cpu=7 memory=1Gi"));
	assert_true(node_sim_begin(&sim, "app cpu=7 memory=1Gi"));
	for (size_t i = 0; i < 2; i++)
		for (unsigned b = 0; b < 100000; b++) {
			struct allocation *item = &sim.state.allocations.items[i];
			struct memory_block *block =
				vec_push(&item->memory, &item->n_memory, &item->memory_size, sizeof(*block));

			*block = (struct memory_block){
				.type = strdup("memory"), .nodes = hwloc_bitmap_alloc()};
		}
	assert_frees(&sim, "app cpu=6 memory=1Gi", "p1: 7 CPUs");
	node_sim_release(&sim);
}

/* Pods that stay, and pods without any name, are not victims. */
static void who_may_not_go(void **state)
{
	CLEANUP(victims_release) struct victims w = {0};
	struct node_sim sim;
	bool stays[3] = {false, true, true};

	(void)state;
	node_sim_init(&sim, &small);
	assert_true(node_sim_begin(&sim, "app cpu=7 memory=1Gi"));
	assert_true(node_sim_begin(&sim, "app cpu=3 memory=1Gi"));
	assert_true(node_sim_begin(&sim, "app cpu=4 memory=1Gi"));
	find_stays(&sim, "app cpu=4 memory=1Gi", stays, &w);
	assert_int_equal(w.n_pods, 1);
	assert_string_equal(w.pods[0].name, "p0");
	assert_int_equal(w.movable, 1);
	victims_release(&w);
	stays[0] = true;
	find_stays(&sim, "app cpu=4 memory=1Gi", stays, &w);
	assert_int_equal(w.answer, VICTIMS_NO_SET);
	victims_release(&w);
	for (size_t i = 0; i < 3; i++) /* as the object alone has it: a UID, or its hash */
		sim.state.allocations.items[i].pod[0] = sim.state.allocations.items[i].namespace[0] = '\0';
	assert_frees(&sim, "app cpu=4 memory=1Gi", "p1: 3 CPUs");
	for (size_t i = 0; i < 3; i++)
		sim.state.allocations.items[i].pod_uid[0] = '\0';
	assert_frees(&sim, "app cpu=4 memory=1Gi", "no set");
	node_sim_release(&sim);
}

/* `requestable` also counts what pods of the shared pool request. */
static void the_node_as_a_whole(void **state)
{
	struct resource_list most = {0}, small_pod = {0}, large_pod = {0};
	CLEANUP(victim_pods_release) struct victim_pods pods;
	struct victims w = {0};
	struct pod_request pod;
	struct node_sim sim;

	(void)state;
	node_sim_init(&sim, &small);
	assert_true(node_sim_begin(&sim, "app cpu=2 memory=1Gi"));
	assert_true(node_sim_begin(&sim, "app cpu=3 memory=1Gi"));
	most = resources_from_text("cpu=2500m");
	small_pod = resources_from_text("cpu=2");
	large_pod = resources_from_text("cpu=3500m"); /* half a CPU of it in the shared pool */
	pod_from_text(&pod, "app cpu=6 memory=1Gi");
	assert_frees(&sim, "app cpu=6 memory=1Gi", "nothing");
	list_pods(&sim.state, &pods);
	pods.requestable = &most;
	pods.items[0].requests = &small_pod;
	pods.items[1].requests = &large_pod;
	victims_find(&sim.state, &pod, &pods, &w);
	assert_int_equal(w.n_pods, 1);
	assert_string_equal(w.pods[0].name, "p1");
	victims_release(&w);
	pods.items[1].requests = NULL;
	victims_find(&sim.state, &pod, &pods, &w);
	assert_int_equal(w.answer, VICTIMS_NO_SET);
	victims_release(&w);
	pod_request_release(&pod);
	resource_list_release(&most);
	resource_list_release(&small_pod);
	resource_list_release(&large_pod);
	node_sim_release(&sim);
}

static void a_verdict_that_is_not_known(void **state)
{
	struct node_sim sim;

	(void)state;
	node_sim_init(&sim, &small);
	sim.state.settings.cpu_manager = CPU_MANAGER_UNKNOWN;
	assert_frees(&sim, "app cpu=4 memory=1Gi", "unknown");
	node_sim_release(&sim);
}

/* An unknown device may keep the pod out of an empty node. */
static void nobody_goes_for_a_device_that_is_not_known(void **state)
{
	struct node_sim sim;

	(void)state;
	node_sim_init(&sim, &small);
	assert_true(node_sim_begin(&sim, "app cpu=7 memory=1Gi"));
	assert_true(node_sim_begin(&sim, "app cpu=7 memory=1Gi"));
	sim.state.allocations.registered_known = false;
	assert_frees(&sim, "app cpu=4 memory=1Gi", "p1: 7 CPUs");
	assert_frees(&sim, "app cpu=4 memory=1Gi v.com/other=1", "unknown");
	assert_frees(&sim, "app cpu=9 memory=1Gi v.com/other=1", "no set");
	/*
	 * The device may send one container to other NUMA nodes, which leaves its place to another container.
	 */
	assert_frees(&sim, "app cpu=9 memory=1Gi v.com/other=1; app cpu=1 memory=1Gi", "unknown");
	node_sim_release(&sim);
}

/* The full node rejects the pod under all settings; the answer without its pods depends on the settings. */
static void a_verdict_that_is_not_known_without_them(void **state)
{
	struct node_sim sim;

	(void)state;
	node_sim_init(&sim, &small);
	assert_true(node_sim_begin(&sim, "app cpu=7 memory=1Gi"));
	assert_true(node_sim_begin(&sim, "app cpu=7 memory=1Gi"));
	sim.state.settings.cpu_manager = CPU_MANAGER_UNKNOWN;
	assert_frees(&sim, "app cpu=6 memory=1Gi", "unknown");
	node_sim_release(&sim);
}

/* Removes the pod of this name, hash or UID. Whether there was such a pod. */
static bool take(struct node_sim *sim, const char *name)
{
	struct excluded_pods gone = {.names = {name}, .n = 1};
	struct err err = {""};
	int r;

	excluded_pods_take(&gone, &sim->state.allocations);
	r = excluded_pods_check(&gone, &err);
	excluded_pods_release(&gone);
	assert_true(r == 0 || (r == -ENOENT && strstr(err.text, name)));
	return r == 0;
}

static void pods_that_are_named_go(void **state)
{
	char pod[POD_NAMES_HASH_SIZE], uid[POD_NAMES_HASH_SIZE], full[POD_NAMES_HASH_SIZE];
	struct allocations *held;
	struct node_sim sim;

	(void)state;
	node_sim_init(&sim, &small);
	held = &sim.state.allocations;
	assert_true(node_sim_begin(&sim, "app cpu=7 memory=1Gi"));
	assert_true(node_sim_begin(&sim, "app cpu=2 memory=1Gi"));
	assert_true(node_sim_begin(&sim, "app cpu=1 memory=1Gi"));
	assert_true(node_sim_begin(&sim, "app cpu=4 memory=1Gi"));
	assert_frees(&sim, "app cpu=7 memory=1Gi", "p0: 7 CPUs");
	assert_false(take(&sim, "default/none"));
	assert_false(take(&sim, "other/p0"));
	assert_false(take(&sim, "/"));
	assert_false(take(&sim, ""));
	assert_int_equal(held->n_items, 4);
	assert_true(take(&sim, "default/p0"));
	pod_names_hash_uid("p3", full); /* as --what-frees prints it of an object */
	assert_true(take(&sim, full));
	assert_int_equal(held->n_items, 2);
	assert_int_equal(cpuset_size(held->shared), 13);
	assert_frees(&sim, "app cpu=7 memory=1Gi", "nothing");
	assert_frees(&sim, "app cpu=8 memory=1Gi", "p1 p2: 3 CPUs");
	pod_names_hash_pod("default", "p1", pod); /* as the object has them */
	pod_names_hash_uid("p2", uid);
	text_set(&held->items[0].pod, pod);
	held->items[0].namespace[0] = held->items[0].pod_uid[0] = '\0';
	text_set(&held->items[1].pod_uid, uid);
	held->items[1].namespace[0] = held->items[1].pod[0] = '\0';
	assert_false(take(&sim, "default/p2"));
	assert_false(take(&sim, "p1"));
	assert_true(take(&sim, "p2"));
	assert_true(take(&sim, "default/p1"));
	assert_int_equal(held->n_items, 0);
	node_sim_release(&sim);
}

/* ---- against every subset, on random nodes */

struct kind {
	const char *name;
	unsigned threads, containers, memory, nics;
	bool full_pcpus_only;
	unsigned missed; /* sets that the emptier node refuses, at most */
};

static const struct kind kinds[] = {
	{"CPUs", 1, 1, 0, 0, false, 0},
	{"CPUs, full-pcpus-only", 2, 1, 0, 0, true, 0},
	{"CPUs, 2 threads", 2, 1, 0, 0, false, 0},
	{"several containers", 1, 3, 0, 0, false, 0},
	{"memory", 1, 1, 12, 0, false, 0},
	{"memory, several containers", 1, 2, 8, 0, false, 0},
	{"devices", 1, 1, 0, 3, false, 0},
	{"devices, several containers", 1, 2, 0, 2, false, 0},
};

static unsigned up_to(uint64_t *random, unsigned most)
{
	return 1 + (unsigned)(test_random(random) % most);
}

static void make_pod(const struct kind *k, unsigned most, uint64_t *random, struct strbuf *out)
{
	unsigned n = up_to(random, k->containers), step = k->full_pcpus_only ? 2 : 1;

	strbuf_reset(out);
	for (unsigned i = 0; i < n; i++) {
		unsigned cpus = up_to(random, most / n / step) * step;

		strbuf_addf(out, "%sapp cpu=%u memory=%uGi", i ? "; " : "", cpus,
			k->memory ? up_to(random, k->memory) : 1);
		if (k->nics && test_random(random) % 2)
			strbuf_addf(out, " vendor.com/nic=%u", up_to(random, k->nics));
	}
}

static bool admits_without(const struct node_state *state, const struct pod_request *pod, unsigned set)
{
	CLEANUP(projected_state_release) struct projected_state without = {0};
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	struct kubelet_verdict v;
	bool excluded[64] = {false};
	unsigned at = 0;

	for (size_t i = 0; i < state->allocations.n_items; i++) {
		at += i > 0 &&
		      strcmp(state->allocations.items[i].pod, state->allocations.items[i - 1].pod) != 0;
		excluded[i] = set >> at & 1;
	}
	projected_state_init(&without, state, excluded);
	node_admission_init(&admission, &without.state);
	node_admission_judge(&admission, pod, &v);
	return v.answer == KUBELET_ADMITS;
}

/* struct victims_judge.judge */
struct asked {
	const struct node_state *state;
	const struct pod_request *pod;
	size_t n_pods;
};

static int judge_leaves(void *data, const bool *leaves, enum kubelet_answer *ret)
{
	const struct asked *q = data;
	unsigned set = 0;

	for (size_t i = 0; i < q->n_pods; i++)
		set |= (unsigned)leaves[i] << i;
	*ret = admits_without(q->state, q->pod, set) ? KUBELET_ADMITS : KUBELET_REJECTS;
	return 1;
}

/* The CPUs of the pods in the set. */
static size_t cpus_of(const struct allocations *a, unsigned set)
{
	size_t cpus = 0;
	unsigned at = 0;

	for (size_t i = 0; i < a->n_items; i++) {
		at += i > 0 && strcmp(a->items[i].pod, a->items[i - 1].pod) != 0;
		cpus += set >> at & 1 ? cpuset_size(a->items[i].cpus) : 0;
	}
	return cpus;
}

struct counts {
	unsigned sets, none, missed;
	size_t most;
};

/* The answer is the same as from all subsets, and the node without the victims admits the pod. */
static void compare(const struct node_sim *sim, unsigned n_pods, const char *text, struct counts *counts)
{
	CLEANUP(victims_release) struct victims w = {0};
	size_t best = SIZE_MAX, best_cpus = SIZE_MAX;
	struct pod_request pod;

	pod_from_text(&pod, text);
	find(sim, text, &w);
	assert_int_not_equal(w.answer, VICTIMS_UNKNOWN);
	assert_false(w.gave_up);
	for (unsigned set = 0; set < 1u << n_pods; set++) {
		size_t size = (size_t)__builtin_popcount(set), cpus = cpus_of(&sim->state.allocations, set);

		if (size > best || (size == best && cpus >= best_cpus) ||
			!admits_without(&sim->state, &pod, set))
			continue;
		best = size;
		best_cpus = cpus;
	}
	if (w.answer == VICTIMS_NO_SET) {
		counts->none += best == SIZE_MAX;
		counts->missed += best != SIZE_MAX;
	} else if (w.n_pods != best || w.cpus != best_cpus)
		fail_msg(
			"%s: %zu pods, %zu CPUs; best are %zu, %zu", text, w.n_pods, w.cpus, best, best_cpus);
	counts->sets += w.n_pods > 0;
	counts->most = w.n_pods > counts->most ? w.n_pods : counts->most;
	pod_request_release(&pod);
}

static void as_good_as_every_subset(void **state)
{
	static const enum topology_manager_policy policies[] = {TOPOLOGY_MANAGER_NONE,
		TOPOLOGY_MANAGER_BEST_EFFORT, TOPOLOGY_MANAGER_RESTRICTED, TOPOLOGY_MANAGER_SINGLE_NUMA_NODE};
	uint64_t random = test_seed(14);

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		const struct kind *kind = &kinds[k];
		struct counts c = {0};

		for (unsigned i = 0; i < 64; i++) {
			CLEANUP(strbuf_release) struct strbuf pod = STRBUF_INIT(1024);
			struct node_sim_setup setup = small;
			struct node_sim sim;

			setup.policy = policies[i % 4];
			setup.scope = i / 4 % 2 ? TOPOLOGY_SCOPE_POD : TOPOLOGY_SCOPE_CONTAINER;
			setup.machine.numas = 1 + i / 8 % 2;
			setup.machine.threads = kind->threads;
			setup.machine.cores = 8 / kind->threads;
			setup.full_pcpus_only = kind->full_pcpus_only;
			setup.memory_static = kind->memory > 0;
			setup.nics = kind->nics;
			setup.near = kind->nics ? 1 + i / 16 % 2 : 0;
			node_sim_init(&sim, &setup);
			for (unsigned n = 0; n < 30 && sim.n_begun < 8; n++) {
				make_pod(kind, 6, &random, &pod);
				node_sim_begin(&sim, pod.text);
			}
			for (unsigned n = 0; n < 4; n++) {
				make_pod(kind, 16, &random, &pod);
				compare(&sim, sim.n_begun, pod.text, &c);
			}
			node_sim_release(&sim);
		}
		print_message("%-28s %3u sets of up to %zu pods, %3u no set, %u missed\n", kind->name, c.sets,
			c.most, c.none, c.missed);
		assert_true(c.sets > 40 && c.missed <= kind->missed);
	}
}

/* ---- violations and priorities */

static victims_cost cost_of_set(const struct victim_pods *pods, const struct allocations *a, unsigned set)
{
	victims_cost cost = 0;

	for (size_t i = 0; i < pods->n_items; i++)
		if (set >> i & 1)
			cost += victim_cost(
				pods->items[i].violates, pods->items[i].priority, cpus_of(a, 1u << i));
	return cost;
}

/*
 * Draws violations and priorities for the pods, and compares the set with the cheapest of all sets. Whether some set but that of all
 * is enough.
 */
static bool compare_costs(const struct node_sim *sim, const char *text, uint64_t *random)
{
	CLEANUP(victim_candidates_release) struct victim_candidates candidates = {0};
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	CLEANUP(pod_request_release) struct pod_request pod;
	CLEANUP(victim_pods_release) struct victim_pods pods;
	const struct allocations *a = &sim->state.allocations;
	struct asked q = {.state = &sim->state, .pod = &pod};
	struct victims_judge judge = {.judge = judge_leaves,
		.data = &q,
		.max_verdicts = VICTIMS_VERDICTS,
		.max_steps = VICTIMS_STEPS};
	victims_cost all, best, got;
	bool leaves[32] = {false};
	unsigned every, set = 0;

	pod_from_text(&pod, text);
	list_pods(&sim->state, &pods);
	q.n_pods = pods.n_items;
	every = (1u << pods.n_items) - 1;
	for (size_t i = 0; i < pods.n_items; i++) {
		pods.items[i].violates = test_random(random) % 4 == 0;
		pods.items[i].priority = (int32_t)(test_random(random) % 3) - 1;
		leaves[i] = true;
	}
	if (admits_without(&sim->state, &pod, 0) || !admits_without(&sim->state, &pod, every))
		return false;
	best = all = cost_of_set(&pods, a, every);
	for (unsigned some = 0; some < every; some++) {
		victims_cost cost = cost_of_set(&pods, a, some);

		if (cost < best && admits_without(&sim->state, &pod, some))
			best = cost;
	}
	node_admission_init(&admission, &sim->state);
	victim_candidates_find(&admission, &pod, &pods, &candidates);
	assert_int_equal(victims_improve(&judge, &candidates, all, leaves, pods.n_items), 0);
	for (size_t i = 0; i < pods.n_items; i++)
		set |= (unsigned)leaves[i] << i;
	got = cost_of_set(&pods, a, set);
	if (got != best || !admits_without(&sim->state, &pod, set))
		fail_msg("%s: set %x does not cost the least", text, set);
	return best < all;
}

static void violations_then_pods_then_priorities(void **state)
{
	uint64_t random = test_seed(15);
	unsigned n = 0;

	(void)state;
	assert_true(victim_cost(true, INT32_MIN, 0) > 1000 * victim_cost(false, INT32_MAX, 1000));
	assert_true(victim_cost(false, INT32_MIN, 0) * 2 > victim_cost(false, INT32_MAX, 1000));
	assert_true(victim_cost(false, 1, 0) > victim_cost(false, 0, 1000));
	for (unsigned i = 0; i < 100; i++) {
		CLEANUP(strbuf_release) struct strbuf pod = STRBUF_INIT(1024);
		const struct kind *kind = &kinds[i % ARRAY_SIZE(kinds)];
		struct node_sim_setup setup = small;
		struct node_sim sim;

		setup.machine.threads = kind->threads;
		setup.machine.cores = 8 / kind->threads;
		setup.full_pcpus_only = kind->full_pcpus_only;
		setup.memory_static = kind->memory > 0;
		setup.nics = kind->nics;
		node_sim_init(&sim, &setup);
		for (unsigned k = 0; k < 30 && sim.n_begun < 7; k++) {
			make_pod(kind, 6, &random, &pod);
			node_sim_begin(&sim, pod.text);
		}
		make_pod(kind, 14, &random, &pod);
		n += compare_costs(&sim, pod.text, &random);
		node_sim_release(&sim);
	}
	assert_true(n > 30);
}

/* ---- several nodes */

#define SEARCHED_NODES 3u
#define SEARCHED_PODS  8u

/* Sets of up to `max_pods` pods come in ascending order of their costs, each once, and only those that free enough. */
static void sets_come_in_the_order_of_their_costs(void **state)
{
	uint64_t random = test_seed(16);

	(void)state;
	for (unsigned i = 0; i < 50; i++) {
		CLEANUP(victims_search_release)
		struct victims_search s = {.max_pods = 1 + test_random(&random) % SEARCHED_PODS};
		bool enough[SEARCHED_NODES][1u << SEARCHED_PODS] = {{false}};
		unsigned n_enough = 0, n_found = 0;
		victims_cost last = 0;
		struct victims_found found;
		uint64_t steps = 0;

		for (unsigned node = 0; node < SEARCHED_NODES; node++) {
			struct victim_candidates c = {.node = node};
			struct victims_place *place;

			for (unsigned p = 0; p < SEARCHED_PODS; p++)
				victim_candidates_add(&c, p, 1 + test_random(&random) % 9);
			victim_candidates_sort(&c, NULL);
			place = victim_candidates_add_place(&c, true, (qty_t)(test_random(&random) % 20));
			for (unsigned p = 0; p < SEARCHED_PODS; p++)
				place->frees[p] = (qty_t)(test_random(&random) % 6);
			for (unsigned set = 1; set < 1u << SEARCHED_PODS; set++) {
				qty_t missing = place->missing;

				for (unsigned p = 0; p < SEARCHED_PODS; p++)
					missing -= set >> c.items[p].pod & 1 ? place->frees[p] : 0;
				enough[node][set] =
					missing <= 0 && (size_t)__builtin_popcount(set) <= s.max_pods;
				n_enough += enough[node][set];
			}
			if (i % 2)
				victim_candidates_set_min_cost(&c);
			victims_search_add(&s, &c);
		}
		while (victims_search_next(&s, &steps, UINT64_MAX, &found)) {
			unsigned set = 0;

			for (unsigned p = 0; p < SEARCHED_PODS; p++)
				set |= (unsigned)found.leaves[p] << p;
			assert_true(enough[found.node->node][set]);
			enough[found.node->node][set] = false;
			assert_true(found.cost >= last);
			last = found.cost;
			n_found++;
		}
		assert_int_equal(n_found, n_enough);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_sets),
		cmocka_unit_test(fewer_pods_before_fewer_cpus),
		cmocka_unit_test(pods_with_many_blocks),
		cmocka_unit_test(who_may_not_go),
		cmocka_unit_test(the_node_as_a_whole),
		cmocka_unit_test(a_verdict_that_is_not_known),
		cmocka_unit_test(nobody_goes_for_a_device_that_is_not_known),
		cmocka_unit_test(a_verdict_that_is_not_known_without_them),
		cmocka_unit_test(pods_that_are_named_go),
		cmocka_unit_test(as_good_as_every_subset),
		cmocka_unit_test(violations_then_pods_then_priorities),
		cmocka_unit_test(sets_come_in_the_order_of_their_costs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
