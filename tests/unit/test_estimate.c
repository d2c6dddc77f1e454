/* SPDX-License-Identifier: Apache-2.0 */
/* How often the verdict from the zones alone differs from the one from all that is known, by kind of pod. */
#include "tests/lib/test.h"

#include "cluster/objects/cluster_node.h"
#include "common/cleanup.h"
#include "scoring/node/node_admission.h"
#include "tests/lib/node_sim.h"
#include "tests/lib/pods.h"

/* A kind of pod: containers that are all of one form. */
struct kind {
	const char *name;
	unsigned threads;
	bool full_pcpus_only, says_so, memory_static; /* says_so: the object has the option */
	uint64_t pages;
	unsigned nics, near;
	unsigned init, apps;    /* containers, at most; `apps` at least 1 */
	unsigned memory, wants; /* GiB a container at most; 1Gi pages, or devices, a container at most */
	/* The most false answers in 2400 questions of each scope: container, pod. */
	unsigned false_yes[2], false_no[2];
};

#define STATES 30
#define ASKED  20

static const struct kind kinds[] = {
	{"1 container, CPUs", 1, .apps = 1},
	{"1 container, CPUs, 2 threads a core", 2, .apps = 1},
	{"1 container, full-pcpus-only", 2, .full_pcpus_only = true, .apps = 1, .false_yes = {948, 957}},
	{"the same, the object says so", 2, .full_pcpus_only = true, .says_so = true, .apps = 1},
	{"2 to 4 containers, CPUs", 1, .apps = 4},
	{"2 to 4 containers, 2 threads a core", 2, .apps = 4},
	{"with init containers, CPUs", 1, .init = 2, .apps = 2},
	{"memory, Static", 1, .memory_static = true, .apps = 1, .memory = 60},
	{"memory, Static, 2 to 4 containers", 1, .memory_static = true, .apps = 4, .memory = 30,
		.false_yes = {0, 1}, .false_no = {0, 15}},
	{"hugepages, Static", 1, .memory_static = true, .pages = 8, .apps = 1, .memory = 4, .wants = 10,
		.false_no = {11, 24}},
	{"devices near one NUMA node", 1, .nics = 4, .near = 1, .apps = 1, .wants = 5},
	{"devices near two NUMA nodes", 1, .nics = 2, .near = 2, .apps = 1, .wants = 5,
		.false_yes = {192, 132}},
};

static unsigned up_to(uint64_t *random, unsigned most)
{
	return most ? 1 + (unsigned)(test_random(random) % most) : 0;
}

static void add_container(
	const struct kind *k, bool init, unsigned most, uint64_t *random, struct strbuf *out)
{
	unsigned cpus = up_to(random, most);

	strbuf_addf(out, "%s%s cpu=%u memory=%uGi", out->len ? "; " : "", init ? "init" : "app", cpus,
		!init && k->memory ? up_to(random, k->memory) : 1);
	if (k->wants && !init)
		strbuf_addf(out, " %s", k->pages ? "hugepages-1Gi=" : "vendor.com/nic=");
	if (k->wants && !init)
		strbuf_addf(out, k->pages ? "%uGi" : "%u", up_to(random, k->wants));
}

static void make_pod(const struct kind *k, unsigned most, uint64_t *random, struct strbuf *out)
{
	unsigned inits = k->init,
		 apps = k->apps > 1 ? 2 + (unsigned)(test_random(random) % (k->apps - 1)) : 1;

	strbuf_reset(out);
	for (unsigned i = 0; i < inits; i++)
		add_container(k, true, most, random, out);
	for (unsigned i = 0; i < apps; i++)
		add_container(k, false, most / apps, random, out);
}

static void copy_inventory(const struct inventory *from, struct inventory *ret)
{
	size_t n = from->n_nodes;

	inventory_init(ret);
	inventory_shape(ret, n, (const char *const *)from->resources, from->n_resources);
	memcpy(ret->nodes, from->nodes, n * sizeof(*ret->nodes));
	memcpy(ret->amounts, from->amounts, n * from->n_resources * sizeof(*ret->amounts));
	memcpy(ret->costs, from->costs, n * n * sizeof(*ret->costs));
	ret->topology = from->topology;
}

static void estimate_of(const struct node_state *state, bool full_pcpus_only, struct node_state *ret)
{
	struct inventory zones;
	const struct zone_facts facts = {.inventory = &zones, .full_pcpus_only = full_pcpus_only};

	copy_inventory(&state->inventory, &zones);
	assert_int_equal(zone_state_make("node", &facts, ret, NULL), 0);
}

static enum kubelet_answer ask(struct node_admission *admission, const char *text)
{
	struct pod_request pod;
	struct kubelet_verdict v;

	pod_from_text(&pod, text);
	node_admission_judge(admission, &pod, &v);
	pod_request_release(&pod);
	return v.answer;
}

struct counts {
	unsigned asked, admitted, false_yes, false_no;
};

static void compare(const struct node_sim *sim, const struct kind *k, unsigned most, uint64_t *random,
	struct counts *counts)
{
	CLEANUP(strbuf_release) struct strbuf pod = STRBUF_INIT(1024);
	CLEANUP(node_state_release) struct node_state zones;
	struct node_admission exact, estimate;

	estimate_of(&sim->state, k->says_so, &zones);
	node_admission_init(&exact, &sim->state);
	node_admission_init(&estimate, &zones);
	for (unsigned i = 0; i < ASKED; i++) {
		enum kubelet_answer is, guess;

		make_pod(k, most, random, &pod);
		is = ask(&exact, pod.text);
		guess = ask(&estimate, pod.text);
		assert_int_not_equal(is, KUBELET_UNKNOWN);
		assert_int_not_equal(guess, KUBELET_UNKNOWN);
		counts->asked++;
		counts->admitted += is == KUBELET_ADMITS;
		counts->false_yes += is == KUBELET_REJECTS && guess == KUBELET_ADMITS;
		counts->false_no += is == KUBELET_ADMITS && guess == KUBELET_REJECTS;
	}
	node_admission_release(&exact);
	node_admission_release(&estimate);
}

/* Pods come and go, as many come as find room. */
static void live(struct node_sim *sim, const struct kind *k, uint64_t *random)
{
	struct kind resident = *k;
	CLEANUP(strbuf_release) struct strbuf pod = STRBUF_INIT(1024);
	unsigned steps = up_to(random, 24);

	resident.init = k->memory_static || k->nics ? 0 : k->init;
	for (unsigned i = 0; i < steps; i++) {
		size_t n = sim->state.allocations.n_items;

		if (n > 0 && test_random(random) % 4 == 0) {
			node_sim_end(sim, test_random(random) % n);
			continue;
		}
		make_pod(&resident, 6, random, &pod);
		node_sim_begin(sim, pod.text);
	}
}

static void count(
	const struct kind *k, enum topology_manager_scope scope, uint64_t *random, struct counts *counts)
{
	static const enum topology_manager_policy policies[] = {TOPOLOGY_MANAGER_NONE,
		TOPOLOGY_MANAGER_BEST_EFFORT, TOPOLOGY_MANAGER_RESTRICTED, TOPOLOGY_MANAGER_SINGLE_NUMA_NODE};

	for (unsigned i = 0; i < STATES * ARRAY_SIZE(policies); i++) {
		struct node_sim_setup setup = {
			.machine = {.sockets = 2,
				.numas = 2,
				.uncores = 1,
				.cores = 8 / k->threads,
				.threads = k->threads,
				.memory_bytes = (uint64_t)64 << 30},
			.policy = policies[i % ARRAY_SIZE(policies)],
			.scope = scope,
			.full_pcpus_only = k->full_pcpus_only,
			.memory_static = k->memory_static,
			.pages_1gi = k->pages,
			.nics = k->nics,
			.near = k->near,
		};
		struct node_sim sim;

		node_sim_init(&sim, &setup);
		live(&sim, k, random);
		compare(&sim, k, 12, random, counts);
		node_sim_release(&sim);
	}
}

static void the_estimate_is_as_good_as_recorded(void **state)
{
	static const enum topology_manager_scope scopes[] = {TOPOLOGY_SCOPE_CONTAINER, TOPOLOGY_SCOPE_POD};

	(void)state;
	print_message(
		"%-38s %-9s %6s %9s %9s %8s\n", "pod", "scope", "asked", "admitted", "false yes", "false no");
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		for (size_t s = 0; s < ARRAY_SIZE(scopes); s++) {
			const struct kind *k = &kinds[i];
			uint64_t random = i * 2 + s;
			struct counts c = {0};

			count(k, scopes[s], &random, &c);
			print_message("%-38s %-9s %6u %9u %9u %8u\n", k->name,
				topology_manager_scope_names[scopes[s]], c.asked, c.admitted, c.false_yes,
				c.false_no);
			assert_true(c.admitted > c.asked / 20 && c.admitted < c.asked - c.asked / 20);
			assert_true(c.false_yes <= k->false_yes[s] && c.false_no <= k->false_no[s]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_estimate_is_as_good_as_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
