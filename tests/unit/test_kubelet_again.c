/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running pods that a restarted kubelet admits again, from what they hold by the managers' state files.
 */
#include "tests/lib/test.h"

#include "common/allocation.h"
#include "common/cleanup.h"
#include "tests/lib/kubelet_fixture.h"
#include "tests/lib/pods.h"

#define GIB              ((uint64_t)1 << 30)
#define NIC              "vendor.com/nic"
#define GPU              "vendor.com/gpu"
#define ANY_ORDER        "the pod is rejected if its device plugins register before the kubelet admits pods"
#define OTHER_CPUS(name) "container '" name "' holds other CPUs than it requests, or unknown CPUs"
#define UNKNOWN_DEVICES  "a restarted kubelet may or may not admit the pod's " NIC " again"

/* CPUs 0-3 and their siblings 8-11 on NUMA node 0, CPUs 4-7 and 12-15 on NUMA node 1. */
static const struct synthetic two = {
	.sockets = 2, .numas = 1, .uncores = 1, .cores = 4, .threads = 2, .memory_bytes = 8 * GIB};

/* A running pod, and the verdict on it. */
struct again {
	enum topology_manager_policy policy;
	const char *pod;
	/* "cpus=1,9 memory=1Gi@0 vendor.com/nic=2@1; -": per container, the NUMA nodes of memory and devices after the
	 * "@" ("?" = not known, none = no affinity); "-" = the files do not name the container. */
	const char *held;
	enum kubelet_answer answer;
	const char *reason; /* NULL = "" */
	size_t container;   /* the rejected one */
	/* Per device "A" (held) or "0" (free) on NUMA node 0, "B" or "1" on node 1, "X" held on both, "-" held without. */
	const char *nics;
	bool no_cpu_file, no_memory_file, incomplete, scope_pod, burstable, no_memory_manager;
	unsigned minor; /* the kubelet's release; 0 = unknown */
};

/* What the containers hold, and the pointers of struct kubelet_held. */
struct held {
	struct allocations list;
	const struct allocation *containers[4];
};

static void set_nodes(hwloc_bitmap_t *ret, const char *text)
{
	hwloc_bitmap_free(*ret);
	*ret = NULL;
	assert_int_equal(cpuset_parse(text, ret, NULL), 0);
}

static uint64_t parse_amount(const char *text)
{
	struct quantity q;

	assert_int_equal(quantity_parse(text, &q, NULL), 0);
	return (uint64_t)(q.nano / QTY_UNIT);
}

static void add_memory(struct allocation *item, const char *type, const char *amount, const char *nodes)
{
	struct memory_block *block;

	vec_grow(&item->memory, &item->memory_size, item->n_memory + 1, sizeof(*item->memory));
	block = &item->memory[item->n_memory++];
	*block = (struct memory_block){.type = strdup(type), .bytes = parse_amount(amount)};
	set_nodes(&block->nodes, nodes);
}

static void add_devices(struct allocation *item, const char *resource, const char *amount, const char *nodes)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;
	bool unknown = !strcmp(nodes, "?");

	set_nodes(&set, unknown ? "" : nodes);
	for (uint64_t i = 0; i < parse_amount(amount); i++) {
		char id[32];

		snprintf(id, sizeof(id), "%s-%d", nodes, (int)i);
		device_blocks_add(
			&item->devices, &item->n_devices, &item->devices_size, resource, set, unknown, id);
	}
}

static void add_word(struct allocation *item, char *word)
{
	const char *name = strsep(&word, "="), *amount = strsep(&word, "@");

	assert_non_null(amount);
	if (!strcmp(name, "cpus"))
		set_nodes(&item->cpus, amount);
	else if (strchr(name, '/'))
		add_devices(item, name, amount, word);
	else
		add_memory(item, name, amount, word);
}

static void held_init(struct held *ret, const char *text)
{
	CLEANUP(freep) char *copy = strdup(text);
	char *rest = copy, *container, *word;
	size_t at[4], n = 0;

	*ret = (struct held){0};
	allocations_init(&ret->list);
	for (; (container = strsep(&rest, ";")); n++) {
		struct allocation *item;

		assert_true(n < ARRAY_SIZE(at));
		at[n] = SIZE_MAX;
		container += strspn(container, " ");
		if (!strcmp(container, "-"))
			continue;
		at[n] = ret->list.n_items;
		item = allocations_add(&ret->list);
		while ((word = strsep(&container, " ")))
			if (*word)
				add_word(item, word);
	}
	for (size_t i = 0; i < n; i++)
		if (at[i] != SIZE_MAX)
			ret->containers[i] = &ret->list.items[at[i]];
}

static void add_nics(struct device_inventory *inventory, const char *nics)
{
	for (const char *c = nics; c && *c; c++)
		device_inventory_add(inventory, NIC,
			(struct device){.nodes = *c == 'X'                ? 3
						 : *c == 'A' || *c == '0' ? 1
						 : *c == 'B' || *c == '1' ? 2
									  : 0,
				.healthy = true,
				.allocated = strchr("ABX-", *c) != NULL});
}

/* A node of this pod alone; without the CPU manager's file all CPUs are shared. */
static void node_init(struct kubelet_fixture *f, const struct again *c, const struct held *held)
{
	kubelet_fixture_init(f, &two, c->policy);
	if (c->scope_pod)
		f->settings.topology.scope = TOPOLOGY_SCOPE_POD;
	f->settings.kubelet_minor = c->minor;
	if (c->no_memory_manager)
		f->settings.memory_manager = MEMORY_MANAGER_NONE;
	add_nics(&f->devices, c->nics);
	for (size_t i = 0; i < held->list.n_items && !c->no_cpu_file; i++)
		hwloc_bitmap_andnot(f->shared, f->shared, held->list.items[i].cpus);
}

/* Judges on a node that node_init() made. */
static void judge(struct kubelet_fixture *f, const struct again *c, const struct held *held)
{
	const struct kubelet_held files = {.containers = held->containers,
		.cpus_complete = !c->incomplete,
		.cpus = !c->no_cpu_file,
		.memory = !c->no_memory_file};
	struct pod_request pod;

	pod_from_text(&pod, c->pod);
	kubelet_fixture_ready(f);
	kubelet_judge_again(
		&f->k, f->ws, &pod, c->burstable ? QOS_BURSTABLE : QOS_GUARANTEED, &files, &f->verdict);
	pod_request_release(&pod);
	test_assert_text(c->held, f->verdict.reason.text, c->reason ? c->reason : "");
	if (f->verdict.answer != c->answer)
		fail_msg("'%s' holds '%s': answer %d", c->pod, c->held, (int)f->verdict.answer);
	if (c->answer == KUBELET_REJECTS) {
		assert_int_equal(f->verdict.rejection, KUBELET_TOPOLOGY_AFFINITY);
		assert_int_equal(f->verdict.container, c->container);
	}
}

static void assert_cases(const struct again *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		CLEANUP(kubelet_fixture_release) struct kubelet_fixture f;
		struct held held;

		held_init(&held, cases[i].held);
		node_init(&f, &cases[i], &held);
		judge(&f, &cases[i], &held);
		allocations_release(&held.list);
	}
}

/* The hints are the NUMA nodes of the listed CPUs; other numbers of CPUs than requested leave the hints unknown. */
static void cpus_that_are_kept(void **state)
{
	static const struct again cases[] = {
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=2 memory=1Gi", "cpus=1,9 memory=1Gi@0",
			.answer = KUBELET_ADMITS},
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=2 memory=1Gi; app cpu=500m memory=1Gi",
			"cpus=4,12 memory=1Gi@1; memory=1Gi@0", .answer = KUBELET_ADMITS},
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=2 memory=1Gi", "cpus=1,4 memory=1Gi@0",
			.answer = KUBELET_REJECTS,
			"restricted: the pod holds CPUs on NUMA nodes {0-1}, memory on NUMA nodes {0}, which the policy does not admit again"},
		{TOPOLOGY_MANAGER_RESTRICTED,
			"app cpu=1 memory=1Gi; app cpu=2 memory=1Gi; app cpu=1 memory=1Gi",
			"cpus=1 memory=1Gi@0; cpus=2,4 memory=1Gi@0; cpus=3 memory=1Gi@0",
			.answer = KUBELET_REJECTS,
			"restricted: the pod holds CPUs on NUMA nodes {0-1}, memory on NUMA nodes {0}, which the policy does not admit again",
			.container = 1},
		{TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, "app cpu=2 memory=1Gi", "cpus=1,4 memory=1Gi@1",
			.answer = KUBELET_REJECTS,
			"single-numa-node: the pod holds CPUs on NUMA nodes {0-1}, memory on NUMA nodes {1}, which the policy does not admit again"},
		{TOPOLOGY_MANAGER_BEST_EFFORT, "app cpu=2 memory=1Gi", "cpus=1,4 memory=1Gi@0",
			.answer = KUBELET_ADMITS},
		{TOPOLOGY_MANAGER_NONE, "app cpu=2 memory=1Gi", "cpus=1,4 memory=1Gi@0",
			.answer = KUBELET_ADMITS},
		/* nine CPUs need both NUMA nodes by size */
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=9 memory=1Gi", "cpus=1-7,12-13 memory=1Gi@0-1",
			.answer = KUBELET_ADMITS},
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=2 memory=1Gi", "cpus=1 memory=1Gi@0",
			.answer = KUBELET_UNKNOWN, OTHER_CPUS("app")},
		{TOPOLOGY_MANAGER_NONE, "app cpu=2 memory=1Gi", "-", .answer = KUBELET_UNKNOWN,
			OTHER_CPUS("app")},
		/* no exclusive CPUs, and no managers */
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=2 memory=1Gi", "-", .answer = KUBELET_ADMITS,
			.burstable = true},
	};

	(void)state;
	assert_cases(cases, ARRAY_SIZE(cases));
}

/* regenerateHints(): one preferred hint of the block's NUMA nodes, or no preference if the blocks are not what is requested. */
static void memory_that_is_kept(void **state)
{
	static const char apart[] =
		"restricted: the pod holds CPUs on NUMA nodes {0}, memory on NUMA nodes {1}, which the policy does not admit again";
	static const struct again cases[] = {
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=2 memory=1Gi", "cpus=1,9 memory=1Gi@1",
			.answer = KUBELET_REJECTS, apart},
		{TOPOLOGY_MANAGER_BEST_EFFORT, "app cpu=2 memory=1Gi", "cpus=1,9 memory=1Gi@1",
			.answer = KUBELET_ADMITS},
		/* another size, another type, one more type, a NUMA node that hints cannot name */
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=2 memory=1Gi", "cpus=1,9 memory=2Gi@1",
			.answer = KUBELET_ADMITS},
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=2 memory=1Gi", "cpus=1,9 hugepages-1Gi=1Gi@1",
			.answer = KUBELET_ADMITS},
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=2 memory=1Gi",
			"cpus=1,9 memory=1Gi@1 hugepages-1Gi=1Gi@1", .answer = KUBELET_ADMITS},
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=2 memory=1Gi", "cpus=1,9 memory=1Gi@64",
			.answer = KUBELET_ADMITS},
		/* each type has its own hint, and preferred is what all have in common */
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=2 memory=1Gi hugepages-1Gi=1Gi",
			"cpus=1,9 hugepages-1Gi=1Gi@0 memory=1Gi@0", .answer = KUBELET_ADMITS},
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=2 memory=1Gi hugepages-1Gi=1Gi",
			"cpus=1,9 hugepages-1Gi=1Gi@1 memory=1Gi@0", .answer = KUBELET_REJECTS,
			"restricted: the pod holds CPUs on NUMA nodes {0}, memory on NUMA nodes {0-1}, which the policy does not admit again"},
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=2 memory=1Gi hugepages-1Gi=1Gi",
			"cpus=1,9 hugepages-1Gi=1Gi@0 memory=1Gi@0-1", .answer = KUBELET_REJECTS,
			"restricted: the pod holds CPUs on NUMA nodes {0}, memory on NUMA nodes {0-1}, which the policy does not admit again"},
		/* two NUMA nodes are no hint of a single one */
		{TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, "app cpu=500m memory=1Gi", "memory=1Gi@0-1",
			.answer = KUBELET_REJECTS,
			"single-numa-node: the pod holds memory on NUMA nodes {0-1}, which the policy does not admit again"},
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=500m memory=1Gi", "memory=1Gi@0-1",
			.answer = KUBELET_ADMITS},
		/* a manager without its file has kept nothing of what is listed */
		{TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, "app cpu=2 memory=1Gi", "cpus=4,12 memory=1Gi@0-1",
			.answer = KUBELET_REJECTS,
			"single-numa-node: the pod holds memory on NUMA nodes {0-1}, which the policy does not admit again",
			.no_cpu_file = true},
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=2 memory=1Gi", "cpus=1,4 memory=1Gi@1",
			.answer = KUBELET_REJECTS,
			"restricted: the pod holds CPUs on NUMA nodes {0-1}, which the policy does not admit again",
			.no_memory_file = true},
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=2 memory=1Gi", "cpus=1,9", .answer = KUBELET_UNKNOWN,
			"what memory container 'app' holds is unknown"},
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=500m memory=1Gi", "-", .answer = KUBELET_UNKNOWN,
			"what memory container 'app' holds is unknown"},
		/* scope pod: the blocks of the first container that has some, against the pod's sum */
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=2 memory=1Gi", "cpus=1,9 memory=1Gi@1",
			.answer = KUBELET_REJECTS, apart, .scope_pod = true},
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=1 memory=1Gi; app cpu=1 memory=1Gi",
			"cpus=1 memory=1Gi@1; cpus=9 memory=1Gi@1", .answer = KUBELET_ADMITS,
			.scope_pod = true, .minor = 37},
		/* from 1.38 on against that container's request */
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=1 memory=1Gi; app cpu=1 memory=1Gi",
			"cpus=1 memory=1Gi@1; cpus=9 memory=1Gi@1", .answer = KUBELET_REJECTS, apart,
			.scope_pod = true, .minor = 38},
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=1 memory=1Gi; app cpu=1 memory=1Gi",
			"cpus=1 memory=2Gi@1; cpus=9 memory=1Gi@1", .answer = KUBELET_ADMITS,
			.scope_pod = true, .minor = 38},
		{TOPOLOGY_MANAGER_RESTRICTED, "init cpu=2 memory=1Gi; app cpu=2 memory=1Gi",
			"cpus=1,9 memory=1Gi@1; cpus=1,9 memory=1Gi@0", .answer = KUBELET_REJECTS,
			"restricted: the pod holds CPUs on NUMA nodes {0}, memory on NUMA nodes {0-1}, which the policy does not admit again",
			.scope_pod = true},
	};

	(void)state;
	assert_cases(cases, ARRAY_SIZE(cases));
}

/* A manager without its file assigns as for a new pod, beside what the other manager has kept. */
static void without_a_file_managers_assign_anew(void **state)
{
	static const struct again cpus = {TOPOLOGY_MANAGER_RESTRICTED, "app cpu=2 memory=1Gi",
					  "cpus=1,4 memory=1Gi@1", .answer = KUBELET_ADMITS,
					  .no_cpu_file = true},
				  memory = {TOPOLOGY_MANAGER_RESTRICTED, "app cpu=2 memory=1Gi",
					  "cpus=4,12 memory=1Gi@0", .answer = KUBELET_ADMITS,
					  .no_memory_file = true},
				  both = {TOPOLOGY_MANAGER_RESTRICTED, "app cpu=2 memory=1Gi", "-",
					  .answer = KUBELET_ADMITS, .no_cpu_file = true,
					  .no_memory_file = true};
	static const struct {
		const struct again *pod;
		size_t exclusive_cpus;
		uint64_t nodes, memory_nodes;
	} cases[] = {{&cpus, 2, 2, 0}, {&memory, 0, 2, 2}, {&both, 2, 1, 1}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(kubelet_fixture_release) struct kubelet_fixture f;
		const struct kubelet_placement *placement;
		struct held held;

		held_init(&held, cases[i].pod->held);
		node_init(&f, cases[i].pod, &held);
		judge(&f, cases[i].pod, &held);
		assert_int_equal(f.verdict.n_placements, 1);
		placement = &f.verdict.placements[0];
		assert_int_equal(placement->exclusive_cpus, cases[i].exclusive_cpus);
		assert_int_equal(placement->hint.nodes, cases[i].nodes);
		assert_int_equal(placement->memory_nodes, cases[i].memory_nodes);
		allocations_release(&held.list);
	}
}

/* CPUs that an init container leaves to a later one are listed with the later one. */
static void cpus_of_init_containers(void **state)
{
	static const char two_to_four[] = "init cpu=2 memory=1Gi; app cpu=4 memory=1Gi";
	static const struct again cases[] = {
		{TOPOLOGY_MANAGER_RESTRICTED, two_to_four, "memory=1Gi@0; cpus=1-2,9-10 memory=1Gi@0",
			.answer = KUBELET_ADMITS},
		{TOPOLOGY_MANAGER_RESTRICTED, two_to_four, "memory=1Gi@1; cpus=1-2,9-10 memory=1Gi@0",
			.answer = KUBELET_REJECTS,
			"restricted: the pod holds CPUs on NUMA nodes {0}, memory on NUMA nodes {0-1}, which the policy does not admit again"},
		/* on two NUMA nodes it matters which of them, except in scope pod and without a policy */
		{TOPOLOGY_MANAGER_RESTRICTED, two_to_four, "memory=1Gi@0; cpus=1-2,4-5 memory=1Gi@0",
			.answer = KUBELET_UNKNOWN, OTHER_CPUS("init")},
		{TOPOLOGY_MANAGER_NONE, two_to_four, "memory=1Gi@0; cpus=1-2,4-5 memory=1Gi@0",
			.answer = KUBELET_ADMITS},
		{TOPOLOGY_MANAGER_RESTRICTED, two_to_four, "memory=1Gi@0; cpus=1-2,4-5 memory=1Gi@0",
			.answer = KUBELET_REJECTS,
			"restricted: the pod holds CPUs on NUMA nodes {0-1}, memory on NUMA nodes {0}, which the policy does not admit again",
			.scope_pod = true},
		{TOPOLOGY_MANAGER_BEST_EFFORT, two_to_four, "memory=1Gi@0; cpus=1-2,4-5 memory=1Gi@0",
			.answer = KUBELET_ADMITS, .scope_pod = true},
		{TOPOLOGY_MANAGER_RESTRICTED, two_to_four, "memory=1Gi@1; cpus=4-5,12-13 memory=1Gi@1",
			.answer = KUBELET_ADMITS, .scope_pod = true},
		/* the files name only the app container */
		{TOPOLOGY_MANAGER_RESTRICTED, two_to_four, "-; cpus=1-2,9-10", .answer = KUBELET_ADMITS,
			.no_memory_manager = true},
		{TOPOLOGY_MANAGER_RESTRICTED, two_to_four, "-; cpus=1-2,4-5", .answer = KUBELET_REJECTS,
			"restricted: the pod holds CPUs on NUMA nodes {0-1}, which the policy does not admit again",
			.scope_pod = true, .no_memory_manager = true},
		/* what the app container does not use remains listed with the init container */
		{TOPOLOGY_MANAGER_RESTRICTED, "init cpu=4 memory=1Gi; app cpu=2 memory=1Gi",
			"cpus=1-2 memory=1Gi@0; cpus=9-10 memory=1Gi@0", .answer = KUBELET_ADMITS},
		{TOPOLOGY_MANAGER_RESTRICTED, "init cpu=4 memory=1Gi; app cpu=2 memory=1Gi",
			"cpus=1 memory=1Gi@0; cpus=9-10 memory=1Gi@0", .answer = KUBELET_UNKNOWN,
			OTHER_CPUS("init")},
		{TOPOLOGY_MANAGER_RESTRICTED, two_to_four,
			"cpus=3,11,8 memory=1Gi@0; cpus=1-2,9-10 memory=1Gi@0", .answer = KUBELET_UNKNOWN,
			OTHER_CPUS("init")},
		{TOPOLOGY_MANAGER_RESTRICTED, two_to_four, "memory=1Gi@0; cpus=1-2,9-10 memory=1Gi@0",
			.answer = KUBELET_UNKNOWN, OTHER_CPUS("init"), .incomplete = true},
		/* a later container's CPUs are never listed elsewhere */
		{TOPOLOGY_MANAGER_RESTRICTED, two_to_four, "cpus=1-2 memory=1Gi@0; cpus=9-10 memory=1Gi@0",
			.answer = KUBELET_UNKNOWN, OTHER_CPUS("app")},
		/* scope pod, more CPUs than the pod uses at one time: the NUMA nodes of all of them */
		{TOPOLOGY_MANAGER_RESTRICTED, "init cpu=2 memory=1Gi; app cpu=2 memory=1Gi",
			"cpus=1,9 memory=1Gi@0; cpus=2,10 memory=1Gi@0", .answer = KUBELET_ADMITS,
			.scope_pod = true},
		{TOPOLOGY_MANAGER_RESTRICTED, "init cpu=2 memory=1Gi; app cpu=2 memory=1Gi",
			"cpus=1,9 memory=1Gi@0; cpus=4,12 memory=1Gi@0", .answer = KUBELET_REJECTS,
			"restricted: the pod holds CPUs on NUMA nodes {0-1}, memory on NUMA nodes {0}, which the policy does not admit again",
			.scope_pod = true},
	};

	(void)state;
	assert_cases(cases, ARRAY_SIZE(cases));
}

/* If only the hints of devices reject the pod, the answer depends on the time at which the plugins register. */
static void devices_that_are_held(void **state)
{
	static const char pod[] = "app cpu=2 memory=1Gi " NIC "=1";
	static const struct again cases[] = {
		{TOPOLOGY_MANAGER_RESTRICTED, pod, "cpus=4,12 memory=1Gi@1 " NIC "=1@1",
			.answer = KUBELET_ADMITS, .nics = "0B"},
		/* the free device near the CPUs and another pod's are no hint */
		{TOPOLOGY_MANAGER_RESTRICTED, pod, "cpus=1,9 memory=1Gi@0 " NIC "=1@1",
			.answer = KUBELET_UNKNOWN, ANY_ORDER, .nics = "0AB"},
		{TOPOLOGY_MANAGER_RESTRICTED, pod, "cpus=1,9 memory=1Gi@0 " NIC "=1@1",
			.answer = KUBELET_UNKNOWN, ANY_ORDER, .nics = "0AB", .scope_pod = true},
		{TOPOLOGY_MANAGER_BEST_EFFORT, pod, "cpus=1,9 memory=1Gi@0 " NIC "=1@1",
			.answer = KUBELET_ADMITS, .nics = "0AB"},
		{TOPOLOGY_MANAGER_RESTRICTED, pod, "cpus=4,12 memory=1Gi@1 " NIC "=1@0-1",
			.answer = KUBELET_ADMITS, .nics = "X"},
		{TOPOLOGY_MANAGER_RESTRICTED, pod, "cpus=4,12 memory=1Gi@1 " NIC "=1@",
			.answer = KUBELET_ADMITS, .nics = "-"},
		/* rejected for the memory, whatever the plugins do */
		{TOPOLOGY_MANAGER_RESTRICTED, pod, "cpus=1,9 memory=1Gi@1 " NIC "=1@1",
			.answer = KUBELET_REJECTS,
			"restricted: the pod holds CPUs on NUMA nodes {0}, memory on NUMA nodes {1}, devices on NUMA nodes {1}, which the policy does not admit again",
			.nics = "B"},
		/* two devices on two NUMA nodes fit one of them by size */
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=1 " NIC "=2", NIC "=1@0 " NIC "=1@1",
			.answer = KUBELET_UNKNOWN, ANY_ORDER, .nics = "A0B", .burstable = true},
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=1 " NIC "=2", NIC "=1@0 " NIC "=1@1",
			.answer = KUBELET_ADMITS, .nics = "AB", .burstable = true},
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=1 " NIC "=2", NIC "=1@0 " NIC "=1@1",
			.answer = KUBELET_UNKNOWN, ANY_ORDER, .nics = "AAB", .burstable = true},
		/* scope container: the devices of the container, not of the pod */
		{TOPOLOGY_MANAGER_RESTRICTED,
			"app cpu=2 memory=1Gi " NIC "=1; app cpu=2 memory=1Gi " NIC "=1",
			"cpus=1,9 memory=1Gi@0 " NIC "=1@1; cpus=4,12 memory=1Gi@1 " NIC "=1@0",
			.answer = KUBELET_UNKNOWN, ANY_ORDER, .nics = "AB"},
		/* without a demand nothing is held; another resource than the node's is no device */
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=1 " NIC "=1; app cpu=1", NIC "=1@1 " GPU "=1@0; -",
			.answer = KUBELET_ADMITS, .nics = "B", .burstable = true},
		/* the hints of CPUs assigned anew depend on the plugins, but not without a policy */
		{TOPOLOGY_MANAGER_RESTRICTED, pod, "memory=1Gi@1 " NIC "=1@1", .answer = KUBELET_UNKNOWN,
			"where the pod goes depends on whether device plugins register before the kubelet admits pods",
			.nics = "B", .no_cpu_file = true},
		{TOPOLOGY_MANAGER_RESTRICTED, pod, "cpus=4,12 " NIC "=1@1", .answer = KUBELET_UNKNOWN,
			"where the pod goes depends on whether device plugins register before the kubelet admits pods",
			.nics = "B", .no_memory_file = true},
		{TOPOLOGY_MANAGER_NONE, pod, "memory=1Gi@1 " NIC "=1@1", .answer = KUBELET_ADMITS,
			.nics = "B", .no_cpu_file = true},
	};

	(void)state;
	assert_cases(cases, ARRAY_SIZE(cases));
}

static void devices_that_are_not_known(void **state)
{
	static const char pod[] = "app cpu=1 " NIC "=1";
	static const struct again cases[] = {
		{TOPOLOGY_MANAGER_RESTRICTED, pod, NIC "=1@?", .answer = KUBELET_UNKNOWN, UNKNOWN_DEVICES,
			.nics = "B"},
		{TOPOLOGY_MANAGER_RESTRICTED, pod, NIC "=1@?", .answer = KUBELET_UNKNOWN, UNKNOWN_DEVICES,
			.nics = "-"},
		{TOPOLOGY_MANAGER_RESTRICTED, pod, NIC "=1@64", .answer = KUBELET_UNKNOWN, UNKNOWN_DEVICES,
			.nics = "B"},
		{TOPOLOGY_MANAGER_RESTRICTED, pod, NIC "=2@1", .answer = KUBELET_UNKNOWN, UNKNOWN_DEVICES,
			.nics = "BB"},
		{TOPOLOGY_MANAGER_RESTRICTED, pod, "-", .answer = KUBELET_UNKNOWN, UNKNOWN_DEVICES,
			.nics = "B"},
		/* the node has no held device on that NUMA node */
		{TOPOLOGY_MANAGER_RESTRICTED, pod, NIC "=1@1", .answer = KUBELET_UNKNOWN, UNKNOWN_DEVICES,
			.nics = "A1"},
		/* held by another container than the one that requests it */
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=1 " NIC "=1; app cpu=1", "-; " NIC "=1@1",
			.answer = KUBELET_UNKNOWN, UNKNOWN_DEVICES, .nics = "B"},
		/* an ordinary init container's, which the app container may have got */
		{TOPOLOGY_MANAGER_RESTRICTED, "init cpu=1 " NIC "=1; app cpu=1 " NIC "=1", "-; " NIC "=1@1",
			.answer = KUBELET_UNKNOWN, UNKNOWN_DEVICES, .nics = "B"},
		{TOPOLOGY_MANAGER_RESTRICTED, "init cpu=1 " NIC "=1; app cpu=1", NIC "=1@1; -",
			.answer = KUBELET_UNKNOWN, UNKNOWN_DEVICES, .nics = "B"},
		/* not even without a policy: the kubelet may not find it among the free ones */
		{TOPOLOGY_MANAGER_NONE, pod, "-", .answer = KUBELET_UNKNOWN, UNKNOWN_DEVICES, .nics = "B"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct again c = cases[i];

		c.burstable = true;
		assert_cases(&c, 1);
	}
}

/* Each resource has its own hints, and the books are as before for the next pod. */
static void devices_of_two_resources(void **state)
{
	static const struct again c = {TOPOLOGY_MANAGER_RESTRICTED,
		"app cpu=2 memory=1Gi " GPU "=1; app cpu=2 memory=1Gi " NIC "=1",
		"cpus=1,9 memory=1Gi@0 " GPU "=1@0; cpus=4,12 memory=1Gi@1 " NIC "=1@1",
		.answer = KUBELET_ADMITS, .nics = "0BB"};
	CLEANUP(kubelet_fixture_release) struct kubelet_fixture f;
	struct held held;

	(void)state;
	held_init(&held, c.held);
	node_init(&f, &c, &held);
	device_inventory_add(
		&f.devices, GPU, (struct device){.nodes = 1, .healthy = true, .allocated = true});
	judge(&f, &c, &held);
	assert_int_equal(f.verdict.n_placements, 2);
	assert_int_equal(f.verdict.placements[0].hint.nodes, 1);
	assert_int_equal(f.verdict.placements[1].hint.nodes, 2);
	assert_true(kubelet_device_taken(&f.k, f.ws, 0, 0));
	assert_false(kubelet_device_taken(&f.k, f.ws, 1, 0));
	assert_true(kubelet_device_taken(&f.k, f.ws, 1, 1));
	assert_true(kubelet_device_taken(&f.k, f.ws, 1, 2));
	allocations_release(&held.list);
}

/* Up to 1.36 the check of whole cores counts the free ones, though the pod has its own already. */
static void older_kubelets_want_free_cores_again(void **state)
{
	static const struct {
		unsigned minor;
		enum kubelet_answer answer;
	} cases[] = {{36, KUBELET_REJECTS}, {37, KUBELET_ADMITS}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(kubelet_fixture_release) struct kubelet_fixture f;
		const struct again c = {TOPOLOGY_MANAGER_RESTRICTED, "app cpu=8 memory=1Gi",
			"cpus=4-7,12-15 memory=1Gi@1", .answer = cases[i].answer};
		struct kubelet_held files = {.cpus = true, .memory = true, .cpus_complete = true};
		struct pod_request pod;
		struct held held;

		held_init(&held, c.held);
		node_init(&f, &c, &held);
		f.settings.kubelet_minor = cases[i].minor;
		f.settings.cpu_options.full_pcpus_only = true;
		kubelet_fixture_ready(&f);
		pod_from_text(&pod, c.pod);
		files.containers = held.containers;
		kubelet_judge_again(&f.k, f.ws, &pod, QOS_GUARANTEED, &files, &f.verdict);
		assert_int_equal(f.verdict.answer, c.answer);
		assert_int_equal(f.verdict.rejection,
			c.answer == KUBELET_REJECTS ? KUBELET_SMT_ALIGNMENT : KUBELET_NOT_REJECTED);
		/* CPU 0 is reserved, so its sibling does not count either. */
		test_assert_text("reason", f.verdict.reason.text,
			c.answer == KUBELET_REJECTS
				? "full-pcpus-only: 8 CPUs wanted, 6 free on cores without reserved CPUs"
				: "");
		pod_request_release(&pod);
		allocations_release(&held.list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpus_that_are_kept),
		cmocka_unit_test(memory_that_is_kept),
		cmocka_unit_test(without_a_file_managers_assign_anew),
		cmocka_unit_test(cpus_of_init_containers),
		cmocka_unit_test(devices_that_are_held),
		cmocka_unit_test(devices_that_are_not_known),
		cmocka_unit_test(devices_of_two_resources),
		cmocka_unit_test(older_kubelets_want_free_cores_again),
	};

	return cmocka_run_group_tests_name("kubelet_again", tests, NULL, NULL);
}
