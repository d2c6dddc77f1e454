/* SPDX-License-Identifier: Apache-2.0 */
/* What `nrtd check` says of the host's tuning: each finding planted, and absent on a tuned host. */
#include "tests/lib/test.h"

#include "agent/check/check.h"
#include "common/cleanup.h"
#include "tests/lib/kubelet_tree.h"
#include "tests/lib/observations.h"

#define CPU    "sys/devices/system/cpu/"
#define KERNEL "proc/sys/kernel/numa_balancing"
#define VM     "proc/sys/vm/zone_reclaim_mode"

/* CPUs 0-15,32-47 on NUMA node 0; N and N+32 are one core. CPUs 0 and 32 are reserved. */
#define MACHINE "2s-smt2-split"

static const struct holding one_pod[] = {{.uid = "u1",
	.namespace = "ns",
	.pod = "db",
	.container = "c",
	.cpus = "1-2,33-34",
	.nodes = "0",
	.memory = 1 << 20}};

/* A host on which nothing is to be found. Interrupt 3 has no user, interrupt 24 is on a reserved CPU. */
static const struct test_tree_file tuned[] = {{CPU "isolated", "\n"}, {CPU "nohz_full", "  (null)\n"},
	{CPU "cpu1/cpufreq/scaling_governor", "performance\n"},
	{CPU "cpu2/cpufreq/scaling_governor", "performance\n"}, {KERNEL, "0\n"}, {VM, "0\n"},
	{"proc/irq/default_smp_affinity", "ffffffff\n"}, {"proc/irq/3/effective_affinity_list", "1\n"},
	{"proc/irq/3/smp_affinity_list", "0-63\n"}, {"proc/irq/24/effective_affinity_list", "0\n"},
	{"proc/irq/24/smp_affinity_list", "0-63\n"}, {"proc/irq/24/eth0-rx-0/x", ""}, {NULL, NULL}};

/* The lines of the report that are not ok, without the remedies and the tree's path. */
static char *problems(const char *dir, const struct check_report *report, bool remedies)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(1 << 20);
	char *text;

	for (size_t i = 0; i < report->n_items; i++) {
		const struct check_item *item = &report->items[i];

		if (item->level == CHECK_OK)
			continue;
		assert_non_null(item->remedy);
		strbuf_addf(&out, "%s %s ", check_level_names[item->level], item->source);
		if (item->path)
			strbuf_addf(&out, "%s %s, ", item->path + strlen(dir), item->state);
		strbuf_addf(&out, "%s\n", item->text);
		if (remedies)
			strbuf_addf(&out, "%s\n", item->remedy);
	}
	text = strdup(out.text);
	assert_non_null(text);
	return text;
}

/* Check the observation on a tuned host with one more file, or with one that is replaced. */
static void check_problems(
	const struct observation *o, const struct test_tree_file *file, bool remedies, const char *want)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(check_report_release) struct check_report report = {0};
	CLEANUP(freep) char *got = NULL;
	const struct observe_config config = {.sysroot = dir};

	test_write_tree(dir, tuned);
	for (; file && file->path; file++)
		test_write_file(dir, file->path, file->text);
	check_tuning(&config, &o->node, &report);
	assert_true(report.n_items > 0);
	got = problems(dir, &report, remedies);
	test_assert_text(file && file->path ? file->path : "tuned", got, want);
}

static void a_tuned_host_has_no_problem(void **state)
{
	CLEANUP(observation_release) struct observation o;

	(void)state;
	observation_of_kubelet(MACHINE, "0,32", one_pod, 1, &o);
	check_problems(&o, NULL, false, "");
}

static void kernel_files(void **state)
{
	static const struct {
		struct test_tree_file files[3];
		const char *want;
	} cases[] = {
		/* The shared pool, and a container with several CPUs. */
		{{{CPU "isolated", "2,40-63\n"}},
			"warn isolcpus /" CPU
			"isolated read, containers run on the isolated CPUs '2,40-63': the kernel starts threads there on one CPU and does not distribute them; they have: ns/db (2), the shared pool (40-63)\n"},
		{{{CPU "nohz_full", "0-63\n"}},
			"warn nohz_full /" CPU
			"nohz_full read, the reserved CPUs '0,32' are nohz_full, which makes system calls of the system's daemons slower\n"},
		{{{CPU "nohz_full", "1-31,33-60\n"}},
			"warn nohz_full /" CPU
			"nohz_full read, CPUs '61-63' keep the timer tick, and the kubelet assigns them exclusively like the CPUs without it\n"},
		{{{CPU "nohz_full", "1-31,33-63\n"}}, ""},
		{{{KERNEL, "1\n"}},
			"warn numa_balancing /" KERNEL
			" read, 1: the kernel interrupts containers to find misplaced pages, although the memory manager has placed their memory\n"},
		{{{KERNEL, "on\n"}}, "warn numa_balancing /" KERNEL " broken, not known\n"},
		{{{VM, "1\n"}},
			"warn zone_reclaim /" VM
			" read, 1: on a full NUMA node, containers wait for the kernel to reclaim page cache although other NUMA nodes have free memory\n"},
		{{{"proc/irq/24/effective_affinity_list", "33\n"}},
			"warn interrupts exclusive CPUs '33' handle 1 interrupt of devices: 24 (eth0-rx-0) on 33\n"},
		{{{"sys/kernel/irq/24/actions", "\n"}, {"proc/irq/24/effective_affinity_list", "33\n"}}, ""},
		{{{"sys/kernel/irq/24/actions", "nvme0q1,nvme1q1\n"},
			 {"proc/irq/24/effective_affinity_list", "1\n"}},
			"warn interrupts exclusive CPUs '1' handle 1 interrupt of devices: 24 (nvme0q1,nvme1q1) on 1\n"},
		/* An older kernel does not say which of the CPUs does. */
		{{{"proc/irq/25/smp_affinity_list", "0-1\n"}, {"proc/irq/25/ahci/x", ""}},
			"warn interrupts exclusive CPUs '1' may handle 1 interrupt of devices: 25 (ahci) on 1\n"},
		{{{CPU "cpu2/cpufreq/scaling_governor", "schedutil\n"}},
			"note cpufreq exclusive CPUs '2' have the governor 'schedutil': their frequency follows the load, which delays work after each pause\n"},
		{{{CPU "cpu2/cpufreq/scaling_governor", "powersave\n"},
			 {CPU "cpu2/cpufreq/scaling_driver", "acpi-cpufreq\n"}},
			"warn cpufreq exclusive CPUs '2' have the governor 'powersave': they always run at their lowest frequency\n"},
		{{{CPU "cpu2/cpufreq/scaling_governor", "powersave\n"},
			 {CPU "cpu2/cpufreq/scaling_driver", "intel_pstate\n"}},
			"note cpufreq exclusive CPUs '2' have the governor 'powersave': their frequency follows the load, which delays work after each pause\n"},
		{{{CPU "cpu9/cpufreq/scaling_governor", "powersave\n"}}, ""}, /* nobody holds CPU 9 */
	};
	CLEANUP(observation_release) struct observation o;

	(void)state;
	observation_of_kubelet(MACHINE, "0,32", one_pod, 1, &o);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct test_tree_file files[4] = {{NULL, NULL}};

		memcpy(files, cases[i].files, sizeof(cases[i].files));
		check_problems(&o, files, false, cases[i].want);
	}
}

/* Without exclusive CPUs, or with other policies, the same files are no problem. */
static void nothing_that_the_kubelet_does_not_assign(void **state)
{
	static const struct test_tree_file files[] = {{CPU "isolated", "1-63\n"}, {CPU "nohz_full", "0-63\n"},
		{"proc/irq/24/effective_affinity_list", "33\n"},
		{CPU "cpu1/cpufreq/scaling_governor", "powersave\n"}, {KERNEL, "1\n"}, {NULL, NULL}};
	CLEANUP(observation_release) struct observation o;

	(void)state;
	observation_of_kubelet(MACHINE, "0,32", NULL, 0, &o);
	o.node.settings.cpu_manager = CPU_MANAGER_NONE;
	o.node.settings.memory_manager = MEMORY_MANAGER_NONE;
	check_problems(&o, files, false, "");
}

/* A kernel without these files, as in the saved trees of others. */
static void absent_files_are_no_problem(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(check_report_release) struct check_report report = {0};
	const struct observe_config config = {.sysroot = dir}, xml = {.sysroot = dir, .machine_xml = "m.xml"};
	size_t n;

	(void)state;
	observation_of_kubelet(MACHINE, "0,32", one_pod, 1, &o);
	check_tuning(&config, &o.node, &report);
	n = report.n_items;
	assert_int_equal(check_report_level(&report), CHECK_OK);
	for (size_t i = 0; i < n; i++)
		if (report.items[i].path)
			assert_string_equal(report.items[i].state, "absent");
	/* The kernel's files are of another machine than the XML file's. */
	test_write_file(dir, KERNEL, "1\n");
	check_tuning(&xml, &o.node, &report);
	assert_int_equal(check_report_level(&report), CHECK_OK);
}

/* The kernel command line, where there is no file in /sys. */
static void the_command_line(void **state)
{
	static const struct {
		const char *cmdline, *want;
	} cases[] = {
		{"quiet isolcpus=40-63 nohz_full=1-63", "containers run on the isolated CPUs '40-63'"},
		{"isolcpus=nohz,domain,40-63", "containers run on the isolated CPUs '40-63'"},
		{"isolcpus=managed_irq,40-63", "no CPU is isolated"},
		{"isolcpus=0-63:1/2", "not known"},
		{"xisolcpus=1", "not known"},
	};
	CLEANUP(observation_release) struct observation o;

	(void)state;
	observation_of_kubelet(MACHINE, "0,32", one_pod, 1, &o);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(test_rmtree) char *dir = test_tmpdir();
		CLEANUP(check_report_release) struct check_report report = {0};
		const struct observe_config config = {.sysroot = dir};

		test_write_file(dir, "proc/cmdline", cases[i].cmdline);
		check_tuning(&config, &o.node, &report);
		assert_string_equal(report.items[0].source, "isolcpus");
		assert_non_null(strstr(report.items[0].text, cases[i].want));
		assert_string_equal(report.items[1].text, "not known");
		/* The kernel shows isolated CPUs, but does not know nohz_full. */
		test_write_file(dir, CPU "isolated", "\n");
		check_report_release(&report);
		check_tuning(&config, &o.node, &report);
		assert_int_equal(report.items[1].level,
			strstr(cases[i].cmdline, "nohz_full=") ? CHECK_WARN : CHECK_OK);
	}
}

static void cores_with_several_owners(void **state)
{
	static const struct holding pods[] = {
		{.uid = "u1", .namespace = "ns", .pod = "a", .container = "c", .cpus = "1"},
		{.uid = "u1", .namespace = "ns", .pod = "a", .container = "d", .cpus = "33"},
		{.uid = "u2", .namespace = "ns", .pod = "b", .container = "c", .cpus = "2-4"},
		{.uid = "0123456789", .container = "c", .cpus = "34-35"}};
	CLEANUP(observation_release) struct observation o;

	(void)state;
	observation_of_kubelet(MACHINE, "0,32", pods, ARRAY_SIZE(pods), &o);
	o.node.settings.cpu_options.full_pcpus_only = false;
	check_problems(&o, NULL, true,
		"warn SMT 3 cores are shared: core 2 has threads of ns/b and pod 01234567, core 3 has threads of ns/b and pod 01234567, core 4 has threads of ns/b and the shared pool\n"
		"set full-pcpus-only=true in cpuManagerPolicyOptions, and request CPUs in multiples of the threads per core\n");
}

static void memory_of_the_machine(void **state)
{
	static const struct {
		const char *machine;
		enum topology_manager_policy policy;
		bool closest;
		const char *want;
	} cases[] = {
		{"hugepages", TOPOLOGY_MANAGER_RESTRICTED, false,
			"note hugepages hugepages-2Mi: 1Gi on NUMA node 0; the kubelet reserves 0, pods hold 0; all are on one NUMA node: containers on other NUMA nodes get them from there or are rejected\n"
			"note hugepages hugepages-32Mi: 224Mi on NUMA node 1; the kubelet reserves 0, pods hold 0; all are on one NUMA node: containers on other NUMA nodes get them from there or are rejected\n"},
		{"2s-snc4", TOPOLOGY_MANAGER_RESTRICTED, false,
			"note clusters a socket has 4 NUMA nodes (sub-NUMA clustering, NPS, or several dies): containers with more CPUs than a NUMA node (12) may get NUMA nodes of different sockets\n"},
		{"2s-snc4", TOPOLOGY_MANAGER_RESTRICTED, true, ""},
		{"2s-snc4", TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, true,
			"note clusters a socket has 4 NUMA nodes (sub-NUMA clustering, NPS, or several dies): containers with more CPUs than a NUMA node (12) are rejected, although a socket has more\n"},
		{"cxl", TOPOLOGY_MANAGER_RESTRICTED, false,
			"warn memory nodes no CPUs, but memory, on NUMA node 2 (CXL, HBM or GPU memory): the memory manager assigns this memory to containers like ordinary memory\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(observation_release) struct observation o;

		observation_of_kubelet(cases[i].machine, "0", NULL, 0, &o);
		o.node.settings.topology.policy = cases[i].policy;
		o.node.settings.topology.prefer_closest_numa_nodes = cases[i].closest;
		check_problems(&o, NULL, false, cases[i].want);
	}
}

/* Memory without CPUs that is reserved, or that no memory manager assigns, is no problem. */
static void reserved_memory_without_cpus(void **state)
{
	CLEANUP(observation_release) struct observation o;
	struct memory_reservation *r;
	struct settings *s = &o.node.settings;

	(void)state;
	observation_of_kubelet("cxl", "0", NULL, 0, &o);
	r = vec_push(
		&s->memory_reservations, &s->n_memory_reservations, &s->memory_reservations_size, sizeof(*r));
	*r = (struct memory_reservation){
		.node = 2, .type = strdup("memory"), .bytes = (qty_t)134217728 * 1024 * QTY_UNIT};
	check_problems(&o, NULL, false, "");
	r->bytes -= QTY_UNIT;
	s->memory_manager = MEMORY_MANAGER_NONE;
	check_problems(&o, NULL, false,
		"note hugepages hugepages-2Mi: 512Mi on NUMA node 0, 512Mi on NUMA node 1; the kubelet reserves 0, pods hold 0; the memory manager's policy None does not align them: a pod's pages may be on any NUMA node\n");
}

static void hugepages_that_the_kubelet_has_not_counted(void **state)
{
	CLEANUP(observation_release) struct observation o;

	(void)state;
	observation_of_kubelet(MACHINE, "0,32", one_pod, 1, &o);
	for (size_t i = 0; i < o.node.allocations.memory.n_nodes; i++) {
		struct memory_node *node = &o.node.allocations.memory.nodes[i];

		for (size_t k = 0; k < node->n_tables; k++)
			if (!strcmp(node->tables[k].type, "hugepages-1Gi")) {
				node->tables[k].system_reserved = 1ull << 30;
				node->tables[k].reserved = 2ull << 30;
			}
	}
	check_problems(&o, NULL, false, "");
	for (size_t k = 0; k < o.node.machine.nodes[0].n_pools; k++)
		o.node.machine.nodes[0].pools[k].pages +=
			o.node.machine.nodes[0].pools[k].page_bytes == 1u << 30;
	check_problems(&o, NULL, true,
		"warn hugepages hugepages-1Gi: 17Gi on NUMA node 0, 16Gi on NUMA node 1; the kubelet reserves 2Gi, pods hold 4Gi; the kubelet has counted other pages at its start, and admits pods by that number\n"
		"drain the node, stop the kubelet, remove memory_manager_state, and start the kubelet: it counts hugepages only at its start, and does not start with the old file\n");
	/* NUMA node 0 has no memory and, on an old kernel, no directory of hugepages. */
	o.node.machine.nodes[0].n_pools = 0;
	o.node.allocations.memory.nodes[0].id = 9;
	check_problems(&o, NULL, false,
		"note hugepages hugepages-1Gi: 16Gi on NUMA node 1; the kubelet reserves 1Gi, pods hold 2Gi; all are on one NUMA node: containers on other NUMA nodes get them from there or are rejected\n");
	/* NUMA node 1 appeared after the kubelet's start. */
	o.node.allocations.memory.nodes[1].id = 8;
	check_problems(&o, NULL, true,
		"warn hugepages hugepages-1Gi: 16Gi on NUMA node 1; the kubelet reserves 0, pods hold 0; the kubelet has counted other pages at its start, and admits pods by that number\n"
		"drain the node, stop the kubelet, remove memory_manager_state, and start the kubelet: it counts hugepages only at its start, and does not start with the old file\n");
}

/* Thousands of interrupts on thousands of CPUs: few of them are named. */
static void many_interrupts(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(check_report_release) struct check_report report = {0};
	CLEANUP(freep) char *got = NULL;
	const struct observe_config config = {.sysroot = dir};
	char path[64];

	(void)state;
	observation_of_kubelet(MACHINE, "0,32", one_pod, 1, &o);
	test_write_tree(dir, tuned);
	for (unsigned i = 100; i < 1600; i++) {
		snprintf(path, sizeof(path), "proc/irq/%u/effective_affinity_list", i);
		test_write_file(dir, path, i % 2 == 0 ? "1\n" : "40\n");
		snprintf(path, sizeof(path), "proc/irq/%u/q%u/x", i, i);
		test_write_file(dir, path, "");
	}
	check_tuning(&config, &o.node, &report);
	got = problems(dir, &report, false);
	assert_string_equal(got,
		"warn interrupts exclusive CPUs '1' handle 750 interrupts of devices: 100 (q100) on 1, 102 (q102) on 1, 104 (q104) on 1, ...\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_tuned_host_has_no_problem),
		cmocka_unit_test(kernel_files), cmocka_unit_test(nothing_that_the_kubelet_does_not_assign),
		cmocka_unit_test(absent_files_are_no_problem), cmocka_unit_test(the_command_line),
		cmocka_unit_test(cores_with_several_owners), cmocka_unit_test(memory_of_the_machine),
		cmocka_unit_test(reserved_memory_without_cpus),
		cmocka_unit_test(hugepages_that_the_kubelet_has_not_counted),
		cmocka_unit_test(many_interrupts)};

	return cmocka_run_group_tests_name("check_tuning", tests, NULL, NULL);
}
