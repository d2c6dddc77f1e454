/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/kubelet_start.h"

#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/settings_table.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node/node_start.h"
#include "scoring/node/node_state_codec.h"
#include "tests/lib/synthetic.h"
#include "tests/lib/test.h"

#define MIB ((qty_t)(1 << 20) * QTY_UNIT)

struct reservation {
	unsigned node;
	const char *type;
	long mib;
};

static const struct synthetic two_nodes = {
	.sockets = 2, .numas = 1, .uncores = 1, .cores = 2, .threads = 2, .memory_bytes = 1u << 30};
static const struct synthetic nine_nodes = {
	.sockets = 9, .numas = 1, .uncores = 1, .cores = 1, .threads = 1, .memory_bytes = 1u << 30};

/* A kubelet 1.37 that starts, with everything known: one reserved CPU, no option, no gate. */
static void init_node(struct node_state *node, const struct synthetic *machine)
{
	struct settings *s = &node->settings;

	node_state_init(node);
	synthetic_machine(machine, &node->machine);
	for (enum setting what = 0; what < SETTING_COUNT; what++)
		text_set(&s->from[what], "f");
	s->kubelet_minor = 37;
	s->cpu_manager = CPU_MANAGER_STATIC;
	s->memory_manager = MEMORY_MANAGER_NONE;
	s->topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
	s->topology.scope = TOPOLOGY_SCOPE_CONTAINER;
	s->reserved_known = true;
	s->kube_reserved_cpu = QTY_UNIT;
	text_set(&s->eviction_hard_memory, "100Mi");
}

static void reserve_memory(struct settings *s, const struct reservation *r)
{
	struct memory_reservation *m = vec_push(
		&s->memory_reservations, &s->n_memory_reservations, &s->memory_reservations_size, sizeof(*m));

	*m = (struct memory_reservation){.node = r->node, .type = strdup(r->type), .bytes = r->mib * MIB};
}

/* `why` is the whole text after "the kubelet would not start: "; NULL = the kubelet starts. */
static void assert_start(const struct node_state *node, const char *why)
{
	CLEANUP(freep) char *want = why ? xasprintf("the kubelet would not start: %s", why) : xstrdup("");
	struct err err = {""};

	assert_int_equal(node_start_check(node, NULL, &err), why ? -EINVAL : 0);
	test_assert_text("reason", err.text, want);
}

/* ---- reserved memory */

/* As the kubelet's managers decide (1.35.4), the hugepages of bottlerocket-os/bottlerocket#4754 among them. */
static void reserved_memory_has_rules(void **state)
{
	static const struct {
		struct reservation list[3];
		const char *why;
	} rows[] = {
		{{{0, "memory", 1024}}, NULL},
		{{{0, "memory", 512}, {1, "memory", 512}}, NULL},
		{{{0, "memory", 1023}},
			"reservedMemory reserves 1023Mi of memory, and kubeReserved, systemReserved and evictionHard 1Gi"},
		{{{0, NULL, 0}},
			"reservedMemory reserves 0 of memory, and kubeReserved, systemReserved and evictionHard 1Gi"},
		{{{0, "memory", 1024}, {0, "hugepages-2Mi", 10}},
			"reservedMemory reserves 10Mi of hugepages-2Mi, which kubeReserved and systemReserved cannot reserve"},
		{{{0, "memory", 512}, {2, "memory", 512}},
			"reservedMemory names NUMA node 2, which the machine does not have"},
		{{{0, "memory", 1024}, {1, "memory", 0}},
			"reservedMemory reserves 0 of memory on NUMA node 1"},
		{{{0, "memory", 512}, {0, "memory", 512}},
			"reservedMemory reserves memory on NUMA node 0 twice"},
		{{{0, "memory", 1024}, {1, "cpu", 1}},
			"reservedMemory reserves cpu, which is neither memory nor hugepages"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(node_state_release) struct node_state node;

		init_node(&node, &two_nodes);
		node.settings.memory_manager = MEMORY_MANAGER_STATIC;
		node.settings.kube_reserved_memory = 924 * MIB;
		for (size_t k = 0; k < 3 && rows[i].list[k].type; k++)
			reserve_memory(&node.settings, &rows[i].list[k]);
		assert_start(&node, rows[i].why);
	}
}

/* Policy None adds nothing up, but the kubelet still refuses entries that are wrong by themselves. */
static void policy_none_reads_reserved_memory_too(void **state)
{
	CLEANUP(node_state_release) struct node_state node;

	(void)state;
	init_node(&node, &two_nodes);
	reserve_memory(&node.settings, &(struct reservation){5, "memory", 1});
	assert_start(&node, NULL);
	reserve_memory(&node.settings, &(struct reservation){0, "memory", 0});
	assert_start(&node, "reservedMemory reserves 0 of memory on NUMA node 0");
}

static void memory_that_is_unknown_is_no_reason(void **state)
{
	CLEANUP(node_state_release) struct node_state node;

	(void)state;
	init_node(&node, &two_nodes);
	node.settings.memory_manager = MEMORY_MANAGER_STATIC;
	reserve_memory(&node.settings, &(struct reservation){0, "memory", 1});
	freep(&node.settings.eviction_hard_memory);
	assert_start(&node, NULL);
	assert_true(kubelet_start_reserved_memory(&node.settings) == MIB);
	text_set(&node.settings.eviction_hard_memory, "0");
	assert_start(&node,
		"reservedMemory reserves 1Mi of memory, and kubeReserved, systemReserved and evictionHard 0");
	node.settings.assumed[SETTING_MEMORY_MANAGER_POLICY] = true;
	assert_start(&node, NULL);
	node.settings.assumed[SETTING_MEMORY_MANAGER_POLICY] = false;
	freep(&node.settings.from[SETTING_RESERVED_MEMORY]);
	assert_start(&node, NULL);
}

/* ---- CPUs */

static void the_static_policy_needs_reserved_cpus(void **state)
{
	CLEANUP(node_state_release) struct node_state node;
	CLEANUP(cpuset_freep) hwloc_bitmap_t reported = NULL;
	struct kubelet_start_problems problems;

	(void)state;
	init_node(&node, &two_nodes);
	node.settings.kube_reserved_cpu = 0;
	assert_start(&node, "policy static needs reserved CPUs");
	assert_int_equal(cpuset_parse("0", &reported, NULL), 0);
	node_start_find(&node, reported, &problems);
	assert_int_equal(problems.n, 0);
	node.settings.reserved_known = false;
	assert_start(&node, NULL);
	node.settings.reserved_known = true;
	node.settings.cpu_manager = CPU_MANAGER_NONE;
	assert_start(&node, NULL);
	node.settings.kube_reserved_cpu = 9 * QTY_UNIT;
	assert_start(&node, "9 CPUs are reserved, and the machine has 8");
}

static void reserved_cpus_must_be_online(void **state)
{
	CLEANUP(node_state_release) struct node_state node;
	struct kubelet_start_problems problems;

	(void)state;
	init_node(&node, &two_nodes);
	assert_int_equal(cpuset_parse("0,7-9", &node.settings.reserved_system_cpus, NULL), 0);
	assert_start(&node, "reservedSystemCPUs names CPUs 8-9, which are not online on this machine");
	node.settings.cpu_manager = CPU_MANAGER_NONE;
	node_start_find(&node, NULL, &problems);
	assert_int_equal(problems.n, 1);
	assert_false(problems.items[0].doubtful);
	hwloc_bitmap_free(node.machine.offline);
	assert_int_equal(cpuset_parse("8-9", &node.machine.offline, NULL), 0);
	node_start_find(&node, NULL, &problems);
	assert_int_equal(problems.n, 1);
	assert_true(problems.items[0].doubtful);
}

/* Whole cores only: three CPUs cannot be chosen. */
static void reserved_cpus_must_be_found(void **state)
{
	CLEANUP(node_state_release) struct node_state node;

	(void)state;
	init_node(&node, &two_nodes);
	node.settings.cpu_options.distribute_cpus_across_numa = true;
	node.settings.cpu_options.full_pcpus_only = true;
	node.settings.kube_reserved_cpu = 6 * QTY_UNIT;
	assert_start(&node, NULL);
	node.settings.kube_reserved_cpu = 20 * QTY_UNIT;
	assert_start(&node, "20 CPUs are reserved, and the machine has 8");
}

/* ---- options */

struct option_row {
	unsigned minor;
	enum cpu_manager_policy policy;
	const char *cpu, *topology; /* texts of options; NULL = none */
	const char *gates;
	const char *why;
};

static void set_option(struct settings *s, const char *name, const char *value)
{
	const struct policy_option *o = policy_option_find(name);

	if (o)
		policy_option_parse(o, value, s, NULL); /* what is not valid keeps the default */
}

static void set_options(struct settings *s, const char *text)
{
	CLEANUP(freep) char *copy = xstrdup(text_or_empty(text));
	char *save = NULL;

	for (char *name = strtok_r(copy, "=", &save); name; name = strtok_r(NULL, "=", &save))
		set_option(s, name, strtok_r(NULL, ",", &save));
}

#define ALPHA(option) \
	"cpuManagerPolicyOptions: the option " option " needs the feature gate CPUManagerPolicyAlphaOptions"
#define BETA(option) \
	"cpuManagerPolicyOptions: the option " option " needs the feature gate CPUManagerPolicyBetaOptions"
#define TOGETHER(a, b) "static policy options " a " and " b " can not be used at the same time"

static const struct option_row option_rows[] = {
	{37, CPU_MANAGER_STATIC, "full-pcpus-only=true", NULL, NULL, NULL},
	/* Gates, by release. A value of false makes no difference. */
	{37, CPU_MANAGER_STATIC, "align-by-socket=true", NULL, NULL, ALPHA("align-by-socket")},
	{37, CPU_MANAGER_STATIC, "align-by-socket=false", NULL, NULL, ALPHA("align-by-socket")},
	{37, CPU_MANAGER_STATIC, "align-by-socket=true", NULL, "CPUManagerPolicyAlphaOptions=true", NULL},
	{37, CPU_MANAGER_STATIC, "align-by-socket=true", NULL, "AllAlpha=true", NULL},
	{38, CPU_MANAGER_STATIC, "distribute-cpus-across-cores=true", NULL, NULL,
		ALPHA("distribute-cpus-across-cores")},
	{37, CPU_MANAGER_STATIC, "distribute-cpus-across-numa=true", NULL, NULL, NULL},
	{37, CPU_MANAGER_STATIC, "distribute-cpus-across-numa=true", NULL,
		"CPUManagerPolicyBetaOptions=false", BETA("distribute-cpus-across-numa")},
	{37, CPU_MANAGER_STATIC, "distribute-cpus-across-numa=true", NULL, "AllBeta=false",
		BETA("distribute-cpus-across-numa")},
	{33, CPU_MANAGER_STATIC, "prefer-align-cpus-by-uncorecache=true", NULL, NULL,
		ALPHA("prefer-align-cpus-by-uncorecache")},
	{35, CPU_MANAGER_STATIC, "prefer-align-cpus-by-uncorecache=true", NULL, "AllBeta=false",
		BETA("prefer-align-cpus-by-uncorecache")},
	{36, CPU_MANAGER_STATIC, "prefer-align-cpus-by-uncorecache=true", NULL, "AllBeta=false", NULL},
	{34, CPU_MANAGER_STATIC, "strict-cpu-reservation=true", NULL, "AllBeta=false",
		BETA("strict-cpu-reservation")},
	{35, CPU_MANAGER_STATIC, "strict-cpu-reservation=true", NULL, "AllBeta=false", NULL},
	{34, CPU_MANAGER_STATIC, NULL, "max-allowable-numa-nodes=9", "AllBeta=false",
		"topologyManagerPolicyOptions: the option max-allowable-numa-nodes needs the feature gate TopologyManagerPolicyBetaOptions"},
	{35, CPU_MANAGER_STATIC, NULL, "max-allowable-numa-nodes=9", "AllBeta=false", NULL},
	/* Names and values. */
	{37, CPU_MANAGER_STATIC, "later=true", NULL, NULL,
		"cpuManagerPolicyOptions: the kubelet has no option 'later'"},
	{39, CPU_MANAGER_STATIC, "later=true", NULL, NULL, NULL},
	{0, CPU_MANAGER_STATIC, "later=true", NULL, NULL, NULL},
	{37, CPU_MANAGER_STATIC, NULL, "later=true", NULL,
		"topologyManagerPolicyOptions: the kubelet has no option 'later'"},
	{37, CPU_MANAGER_STATIC, NULL, "max-allowable-numa-nodes=7", NULL,
		"max-allowable-numa-nodes 7 is below 8"},
	/* Policy none. */
	{37, CPU_MANAGER_NONE, "full-pcpus-only=false", NULL, NULL,
		"cpuManagerPolicy none takes no cpuManagerPolicyOptions"},
	{37, CPU_MANAGER_UNKNOWN, "align-by-socket=true", NULL, NULL, NULL},
	/* Options that exclude each other. */
	{37, CPU_MANAGER_STATIC, "distribute-cpus-across-cores=true,full-pcpus-only=true", NULL,
		"AllAlpha=true", TOGETHER("full-pcpus-only", "distribute-cpus-across-cores")},
	{37, CPU_MANAGER_STATIC, "distribute-cpus-across-cores=true,full-pcpus-only=false", NULL,
		"AllAlpha=true", NULL},
	{37, CPU_MANAGER_STATIC, "distribute-cpus-across-cores=true,distribute-cpus-across-numa=true", NULL,
		"AllAlpha=true", TOGETHER("distribute-cpus-across-numa", "distribute-cpus-across-cores")},
	{37, CPU_MANAGER_STATIC, "distribute-cpus-across-cores=true,prefer-align-cpus-by-uncorecache=true",
		NULL, "AllAlpha=true",
		TOGETHER("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores")},
	{37, CPU_MANAGER_STATIC, "distribute-cpus-across-numa=true,prefer-align-cpus-by-uncorecache=true",
		NULL, NULL, TOGETHER("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa")},
};

static void options_have_rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(option_rows); i++) {
		const struct option_row *row = &option_rows[i];
		CLEANUP(node_state_release) struct node_state node;
		struct settings *s = &node.settings;

		print_message("row %zu\n", i);
		init_node(&node, &two_nodes);
		s->kubelet_minor = row->minor;
		s->kubelet_prerelease = row->minor == 38 ? KUBELET_BETA : 0;
		s->cpu_manager = row->policy;
		set_options(s, row->cpu);
		set_options(s, row->topology);
		if (row->cpu)
			text_set(&s->cpu_options_text, row->cpu);
		if (row->topology)
			text_set(&s->topology_options_text, row->topology);
		if (row->gates)
			text_set(&s->feature_gates_text, row->gates);
		assert_start(&node, row->why);
	}
}

/* A reader of the object must not say that a kubelet would not start that runs, with settings that have changed since. */
static void a_kubelet_that_runs_has_started(void **state)
{
	(void)state;
	for (int options = 0; options < 2; options++)
		for (int started = 0; started < 2; started++) {
			CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(NODE_STATE_TEXT_MAX);
			CLEANUP(node_state_release) struct node_state node, read;

			init_node(&node, &two_nodes);
			node_state_init(&read);
			node.settings.cpu_manager = CPU_MANAGER_NONE;
			node.settings.cpu_options.full_pcpus_only = options;
			node.settings.started = started;
			assert_int_equal(node_state_print(&node, &text), 0);
			assert_int_equal(node_state_parse(text.text, &read, NULL), 0);
			assert_int_equal(read.settings.started, options && started);
		}
}

/* Readers of an object know which options are on, and not which gates are. */
static void without_the_gates_no_gate_is_missing(void **state)
{
	CLEANUP(node_state_release) struct node_state node;

	(void)state;
	init_node(&node, &two_nodes);
	freep(&node.settings.from[SETTING_FEATURE_GATES]);
	node.settings.cpu_options.align_by_socket = true;
	assert_start(&node, NULL);
	node.settings.topology.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	assert_start(&node,
		"static policy option align-by-socket is incompatible with Topology Manager policy single-numa-node");
	node.settings.cpu_manager = CPU_MANAGER_NONE;
	assert_start(&node, "cpuManagerPolicy none takes no cpuManagerPolicyOptions");
}

/* ---- the Topology Manager */

static void the_topology_manager_has_a_limit(void **state)
{
	CLEANUP(node_state_release) struct node_state node;

	(void)state;
	init_node(&node, &nine_nodes);
	assert_start(&node, "9 NUMA nodes, max-allowable-numa-nodes is 8");
	node.settings.topology.max_numa_nodes = 9;
	assert_start(&node, NULL);
	node.settings.topology.max_numa_nodes = 7;
	node.settings.topology.policy = TOPOLOGY_MANAGER_NONE;
	assert_start(&node, NULL);
}

static void the_closest_nodes_need_distances(void **state)
{
	CLEANUP(node_state_release) struct node_state node;

	(void)state;
	init_node(&node, &two_nodes);
	node.settings.topology.prefer_closest_numa_nodes = true;
	assert_start(&node, NULL);
	free(node.machine.distances);
	node.machine.distances = NULL;
	assert_start(
		&node, "prefer-closest-numa-nodes is set, and the kernel lists no distances of NUMA nodes");
	for (size_t i = 0; i < node.machine.n_nodes; i++)
		node.machine.nodes[i].lists_distances = true;
	assert_start(&node, NULL);
	node.machine.nodes[0].lists_distances = false;
	freep(&node.settings.from[SETTING_TOPOLOGY_MANAGER_POLICY_OPTIONS]);
	assert_start(&node, NULL);
}

/* ---- what was refused when the settings were read, and amounts */

static void refused_settings_are_reasons(void **state)
{
	CLEANUP(node_state_release) struct node_state node;
	struct kubelet_start_problems problems;

	(void)state;
	init_node(&node, &two_nodes);
	text_set(&node.settings.refused[SETTING_KUBE_RESERVED], "cannot reserve \"gpu\" resource");
	assert_start(&node, "kubeReserved: cannot reserve \"gpu\" resource");
	text_set(&node.settings.refused[SETTING_FEATURE_GATES], "unrecognized feature gate: CPUManager");
	node_start_find(&node, NULL, &problems);
	assert_int_equal(problems.n, 2);
	assert_false(problems.items[0].doubtful);
	assert_true(problems.items[1].doubtful);
}

static void reservations_must_fit(void **state)
{
	CLEANUP(node_state_release) struct node_state node;

	(void)state;
	init_node(&node, &two_nodes);
	node.settings.kube_reserved_memory = 3000 * MIB;
	assert_start(&node, "3100Mi of memory are reserved, and the machine has 2Gi");
}

/* Several groups of rules at once: each has its problem, its setting and its remedy. */
static void all_problems_are_found(void **state)
{
	static const enum setting settings[] = {SETTING_SYSTEM_RESERVED, SETTING_RESERVED_SYSTEM_CPUS,
		SETTING_TOPOLOGY_MANAGER_POLICY_OPTIONS, SETTING_CPU_MANAGER_POLICY_OPTIONS,
		SETTING_RESERVED_MEMORY, SETTING_KUBE_RESERVED};
	CLEANUP(node_state_release) struct node_state node;
	struct kubelet_start_problems problems;

	(void)state;
	init_node(&node, &two_nodes);
	text_set(&node.settings.refused[SETTING_SYSTEM_RESERVED], "x");
	assert_int_equal(cpuset_parse("99", &node.settings.reserved_system_cpus, NULL), 0);
	node.settings.topology.max_numa_nodes = 1;
	text_set(&node.settings.cpu_options_text, "align-by-socket=true");
	node.settings.memory_manager = MEMORY_MANAGER_STATIC;
	node.settings.kube_reserved_memory = 3000 * MIB;
	node_start_find(&node, NULL, &problems);
	assert_int_equal(problems.n, ARRAY_SIZE(settings));
	for (size_t i = 0; i < problems.n; i++) {
		assert_int_equal(problems.items[i].setting, settings[i]);
		assert_true(problems.items[i].remedy && problems.items[i].what.text[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reserved_memory_has_rules),
		cmocka_unit_test(policy_none_reads_reserved_memory_too),
		cmocka_unit_test(memory_that_is_unknown_is_no_reason),
		cmocka_unit_test(the_static_policy_needs_reserved_cpus),
		cmocka_unit_test(reserved_cpus_must_be_online),
		cmocka_unit_test(reserved_cpus_must_be_found),
		cmocka_unit_test(options_have_rules),
		cmocka_unit_test(a_kubelet_that_runs_has_started),
		cmocka_unit_test(without_the_gates_no_gate_is_missing),
		cmocka_unit_test(the_topology_manager_has_a_limit),
		cmocka_unit_test(the_closest_nodes_need_distances),
		cmocka_unit_test(refused_settings_are_reasons),
		cmocka_unit_test(reservations_must_fit),
		cmocka_unit_test(all_problems_are_found),
	};

	return cmocka_run_group_tests_name("kubelet_start", tests, NULL, NULL);
}
