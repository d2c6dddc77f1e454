/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/fit_report.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/text.h"
#include "common/vec.h"
#include "tests/lib/fit_fixture.h"
#include "tests/lib/node_sim.h"
#include "tests/lib/pods.h"
#include "tests/lib/synthetic.h"
#include "tests/lib/test.h"

/* 2 sockets of one NUMA node with 64Gi and 8 cores of 2 threads; CPU i and i + 16 are siblings. */
static const struct synthetic two_nodes = {
	.sockets = 2, .numas = 1, .uncores = 1, .cores = 8, .threads = 2, .memory_bytes = (uint64_t)64 << 30};

/* CPU 0 and its sibling are reserved; ten CPUs are free on node 0 and all sixteen on node 1. */
static void node_init(struct fit_fixture *f)
{
	fit_fixture_init(f);
	synthetic_machine(&two_nodes, &f->node.machine);
	fit_fixture_set_shared(f, "0-5,8-21,24-31", "0,16");
}

/* The report in a format, appended to `text`. */
static void print(const struct fit_fixture *f, const char *format, struct strbuf *text)
{
	CLEANUP(writer_release) struct writer w;

	writer_init(&w, format, true, text);
	fit_write_node(&w, &f->pods, &f->report);
	if (writer_is_doc(&w))
		assert_int_equal(json_print_compact(&w.doc, text), 0);
	else
		assert_int_equal(writer_finish(&w), 0);
}

static void assert_printed(const struct fit_fixture *f, const char *format, const char *want)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(8192);

	print(f, format, &text);
	test_assert_text(format, text.text, want);
}

static void assert_text(const struct fit_fixture *f, const char *want)
{
	assert_printed(f, "text", want);
}

static void assert_json(const struct fit_fixture *f, const char *want)
{
	assert_printed(f, "json", want);
}

static void an_admitted_pod(void **state)
{
	struct fit_fixture f;

	(void)state;
	node_init(&f);
	fit_fixture_report_on(&f, "app cpu=4 memory=8Gi");
	assert_text(&f,
		"fits: 4 CPUs, 8Gi memory (Guaranteed)\n"
		"\n"
		"container  NUMA nodes          CPUs\n"
		"app        0 preferred         1-2,17-18\n"
		"\n"
		"copies       6, one after the other\n"
		"NUMA nodes   1 for the scheduler (0), at minimum distance\n"
		"scores       MostAllocated 0, LeastAllocated 0, BalancedAllocation 0, LeastNUMANodes 94\n"
		"kubelet      Topology Manager policy restricted, scope container\n");
	assert_json(&f,
		"{\"qosClass\":\"Guaranteed\",\"notGuaranteed\":\"\",\"alignment\":\"the Topology Manager aligns 4 exclusive CPUs, and memory where the memory manager is Static\",\"exclusiveCPUs\":4,"
		"\"admitted\":true,\"reason\":\"\",\"rejection\":\"\",\"caution\":null,\"containers\":[{\"name\":\"app\","
		"\"numaNodes\":[0],\"preferred\":true,\"remote\":false,\"cpus\":\"1-2,17-18\",\"memoryNUMANodes\":null}],"
		"\"numaNodes\":1,\"minDistance\":true,\"scores\":{\"MostAllocated\":0,"
		"\"LeastAllocated\":0,\"BalancedAllocation\":0,\"LeastNUMANodes\":94},\"schedulerPasses\":"
		"true,\"copies\":6,\"copiesAtLeast\":false,\"kubeletMilliseconds\":0,\"hintPermutations\":3,\"pciePair\":null,\"nearest\":null,\"whatFrees\":null,\"unchecked\":[]}");
	fit_fixture_release(&f);
}

static void a_rejected_pod(void **state)
{
	struct fit_fixture f;

	(void)state;
	node_init(&f);
	fit_fixture_report_on(&f, "app cpu=10 memory=1Gi; app cpu=17 memory=1Gi");
	assert_text(&f,
		"does not fit: 27 CPUs, 2Gi memory (Guaranteed)\n"
		"  container 'app': restricted: 17 CPUs wanted, 16 available (TopologyAffinityError)\n"
		"  would fit with 16 CPUs instead of 17 in container 'app'\n"
		"\n"
		"NUMA nodes   no combination of NUMA nodes satisfies the request\n"
		"scores       MostAllocated 0, LeastAllocated 0, BalancedAllocation 0, LeastNUMANodes 0\n"
		"kubelet      Topology Manager policy restricted, scope container\n");
	assert_json(&f,
		"{\"qosClass\":\"Guaranteed\",\"notGuaranteed\":\"\",\"alignment\":\"the Topology Manager aligns 27 exclusive CPUs, and memory where the memory manager is Static\",\"exclusiveCPUs\":27,"
		"\"admitted\":false,\"reason\":\"container 'app': restricted: 17 CPUs wanted,"
		" 16 available\",\"rejection\":\"TopologyAffinityError\",\"caution\":null,\"containers\":[],"
		"\"numaNodes\":null,\"minDistance\":null,\"scores\":{\"MostAllocated\":0,"
		"\"LeastAllocated\":0,\"BalancedAllocation\":0,\"LeastNUMANodes\":0},"
		"\"schedulerPasses\":true,\"copies\":0,\"copiesAtLeast\":false,\"kubeletMilliseconds\":0,\"hintPermutations\":6,\"pciePair\":null,"
		"\"nearest\":{\"container\":\"app\",\"resource\":\"cpu\",\"request\":\"17\","
		"\"fits\":\"16\"},\"whatFrees\":null,\"unchecked\":[]}");
	fit_fixture_report_on(&f, "app cpu=2 memory=200Gi");
	assert_text(&f,
		"does not fit: 2 CPUs, 200Gi memory (Guaranteed)\n"
		"  memory: 200Gi wanted, the node has at most 128Gi left (OutOfmemory)\n"
		"  would fit with 128Gi memory instead of 200Gi\n"
		"\n"
		"NUMA nodes   no combination of NUMA nodes satisfies the request\n"
		"scores       MostAllocated 0, LeastAllocated 0, BalancedAllocation 0, LeastNUMANodes 0\n"
		"kubelet      Topology Manager policy restricted, scope container\n");
	fit_fixture_release(&f);
}

/* The lines of the text after the first one, up to the empty line. */
static void assert_reason(const struct fit_fixture *f, const char *want)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(8192);
	const char *begin;
	char *end;

	print(f, "text", &text);
	begin = strchr(text.text, '\n') + 1;
	end = strstr(text.text, "\n\n");
	assert_non_null(end);
	*end = '\0';
	test_assert_text("reason", begin, want);
}

#define SHARES \
	"  the pod shares CPUs and memory with other pods; the Topology Manager aligns nothing and does not reject the pod\n"

static void remedies_name_each_change(void **state)
{
	static const struct {
		const char *pod, *want;
		bool full_pcpus_only, pod_level;
	} cases[] = {
		{"app cpu=30 memory=200Gi",
			"  restricted: 30 CPUs wanted, 26 available (TopologyAffinityError)\n"
			"  would fit with 26 CPUs instead of 30 and 128Gi memory instead of 200Gi",
			false, false},
		{"app cpu=1 memory=1Gi",
			"  full-pcpus-only: 1 CPU is not a multiple of the 2 CPUs per core (SMTAlignmentError)\n"
			"  would fit with 2 CPUs instead of 1",
			true, false},
		{"sidecar cpu=3 memory=1Gi; app cpu=17 memory=200Gi",
			"  container 'sidecar': full-pcpus-only: 3 CPUs are not a multiple of the 2 CPUs per core (SMTAlignmentError)\n"
			"  would fit with 2 CPUs instead of 3 in container 'sidecar', 16 CPUs instead of 17 and 127Gi memory instead of "
			"200Gi in container 'app'",
			true, false},
		{"app cpu=30 memory=1Gi hugepages-1Gi=2Gi",
			"  restricted: 30 CPUs wanted, 26 available (TopologyAffinityError)\n"
			"  no smaller amounts are known to fit; the smallest: hugepages-1Gi: 1Gi wanted, the node has at most 0 left",
			false, false},
		{"app cpu=1 memory=1Gi hugepages-1Gi=2Gi",
			"  hugepages-1Gi: 2Gi wanted, the node has at most 0 left (OutOfhugepages-1Gi)\n"
			"  smaller amounts would not fit either",
			false, false},
		/* The pod-level amount must cover that of the container. */
		{"app cpu=40 memory=1Gi",
			SHARES
			"  cpu: 64 wanted, the node has at most 26 left (OutOfcpu)\n"
			"  would fit with 26 CPUs instead of 40, 26 CPUs instead of 64 in the pod's resources",
			false, true},
		{"app cpu=4 memory=1Gi",
			SHARES "  cpu: 64 wanted, the node has at most 26 left (OutOfcpu)\n"
			       "  would fit with 26 CPUs instead of 64 in the pod's resources",
			false, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fit_fixture f;

		node_init(&f);
		f.node.settings.cpu_options.full_pcpus_only = cases[i].full_pcpus_only;
		pod_from_text(&f.pod, cases[i].pod);
		if (cases[i].pod_level) {
			f.pod.has_pod_resources = true;
			resources_set(&f.pod.pod_requests, "cpu", "64");
			resources_set(&f.pod.pod_limits, "cpu", "64");
		}
		fit_fixture_report(&f);
		assert_reason(&f, cases[i].want);
		fit_fixture_release(&f);
	}
}

static void further_changes_are_a_list(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(8192);
	struct fit_fixture f;

	(void)state;
	node_init(&f);
	fit_fixture_report_on(&f, "app cpu=30 memory=200Gi");
	print(&f, "json", &text);
	assert_non_null(strstr(text.text,
		"\"nearest\":{\"container\":null,\"resource\":\"cpu\",\"request\":\"30\",\"fits\":\"26\",\"further\":"
		"[{\"container\":null,\"resource\":\"memory\",\"request\":\"200Gi\",\"fits\":\"128Gi\"}]}"));
	fit_fixture_release(&f);
}

/* Amounts as the kubelet's node status has them: OutOfmemory of its real code at these very bytes. */
static void reservations_leave_less_memory(void **state)
{
	static const struct {
		const char *eviction, *fits, *too_much;
		qty_t reserved;
	} cases[] = {
		{NULL, "app cpu=1 memory=137438953472", "app cpu=1 memory=137438953473", 0},
		{"100Mi", "app cpu=1 memory=137334095872", "app cpu=1 memory=137334095873", 0},
		{"100Mi", "app cpu=1 memory=136260354048", "app cpu=1 memory=136260354049",
			(qty_t)(1 << 30) * QTY_UNIT},
		{"5%", "app cpu=1 memory=130567005696", "app cpu=1 memory=130567005697", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fit_fixture f;

		node_init(&f);
		f.node.settings.kube_reserved_memory = cases[i].reserved;
		f.node.settings.eviction_hard_memory = cases[i].eviction ? strdup(cases[i].eviction) : NULL;
		fit_fixture_report_on(&f, cases[i].fits);
		assert_int_equal(f.report.answer, KUBELET_ADMITS);
		fit_fixture_report_on(&f, cases[i].too_much);
		test_assert_text("rejection", f.report.rejection, "OutOfmemory");
		fit_fixture_release(&f);
	}
}

static void the_kubelet_names_memory_before_hugepages(void **state)
{
	struct fit_fixture f;

	(void)state;
	node_init(&f);
	fit_fixture_report_on(&f, "app cpu=100m memory=900Gi hugepages-1Gi=900Gi");
	test_assert_text("rejection", f.report.rejection, "OutOfmemory");
	fit_fixture_report_on(&f, "app cpu=900 memory=900Gi");
	test_assert_text("rejection", f.report.rejection, "TopologyAffinityError");
	fit_fixture_report_on(&f, "app cpu=900100m memory=900Gi");
	test_assert_text("rejection", f.report.rejection, "OutOfcpu");
	fit_fixture_release(&f);
}

static void devices_that_the_node_does_not_have(void **state)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
	struct allocations *a;
	struct fit_fixture f;

	(void)state;
	node_init(&f);
	a = &f.node.allocations;
	a->registered_known = true;
	fit_fixture_report_on(&f, "app cpu=4 memory=8Gi v.com/nic=1");
	assert_text(&f,
		"does not fit: 4 CPUs, 8Gi memory, 1 v.com/nic (Guaranteed)\n"
		"  this node has no v.com/nic\n"
		"\n"
		"NUMA nodes   1 for the scheduler (0), at minimum distance\n"
		"scores       MostAllocated 0, LeastAllocated 0, BalancedAllocation 0, LeastNUMANodes 94\n"
		"kubelet      Topology Manager policy restricted, scope container\n");
	assert_int_equal(f.report.answer, KUBELET_REJECTS);
	assert_int_equal(f.report.unchecked.n_items, 0);
	/* One that is registered, on NUMA nodes that are not known, is one of which nobody tells. */
	device_blocks_add(
		&a->registered, &a->n_registered, &a->registered_size, "v.com/nic", nodes, true, "d0");
	fit_fixture_report_on(&f, "app cpu=4 memory=8Gi v.com/nic=1");
	assert_int_equal(f.report.answer, KUBELET_UNKNOWN);
	assert_int_equal(f.report.unchecked.n_items, 1);
	fit_fixture_release(&f);
}

/* In the text or in the document. */
static bool says(const struct fit_fixture *f, const char *part)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(16384);

	print(f, "text", &text);
	print(f, "json", &text);
	return strstr(text.text, part) != NULL;
}

static void what_is_said_beside_the_verdict(void **state)
{
	struct fit_fixture f;

	(void)state;
	node_init(&f);
	pod_from_text(&f.pod, "app cpu=4 memory=8Gi; app cpu=1");
	f.pod.has_claims = true;
	fit_fixture_report(&f);
	assert_true(says(&f,
		"(Burstable)\n"
		"  not Guaranteed, because container 'app' has no equal request and limit of memory\n" SHARES
		"  not evaluated: the pod's resourceClaims; the verdict ignores what the claims request\n"));
	assert_true(says(&f, "\"unchecked\":[\"resourceClaims\"]"));
	fit_fixture_report_on(&f, "app cpu=4; app cpu=1");
	assert_true(says(&f,
		"because 2 containers, the first of them 'app', have no equal request and limit of memory\n"));
	fit_fixture_report_on(&f, "app cpu=4 memory=8Gi");
	assert_false(says(&f, "not Guaranteed"));
	assert_false(says(&f, "resourceClaims"));
	fit_fixture_report_on(&f, "app |");
	assert_true(says(&f, "not Guaranteed, because no container requests cpu or memory"));
	fit_fixture_release(&f);
}

static void every_container_has_its_line(void **state)
{
	struct fit_fixture f;

	(void)state;
	node_init(&f);
	fit_fixture_report_on(&f, "app cpu=4 memory=8Gi; app cpu=2 memory=1Gi");
	assert_int_equal(f.report.n_containers, 2);
	assert_true(says(&f, "1-2,17-18\n"));
	assert_true(says(&f, "3,19\n"));
	assert_true(says(&f, "\"cpus\":\"1-2,17-18\""));
	assert_true(says(&f, "\"cpus\":\"3,19\""));
	fit_fixture_release(&f);
}

/* A pod that names its resources as a whole, devices that nobody knows among them. */
static void what_the_whole_pod_asks_for_counts(void **state)
{
	struct fit_fixture f;

	(void)state;
	node_init(&f);
	pod_from_text(&f.pod, "app cpu=1 memory=1Gi");
	resource_list_set(&f.pod.pod_requests, "v.com/nic", quantity_from_units(1));
	fit_fixture_report(&f);
	assert_true(says(&f, "\"unchecked\":[\"v.com/nic\"]"));
	fit_fixture_release(&f);
}

static void devices_are_not_checked(void **state)
{
	struct fit_fixture f;

	(void)state;
	node_init(&f);
	fit_fixture_report_on(&f, "app cpu=4 memory=8Gi v.com/nic=1");
	assert_text(&f,
		"unknown: 4 CPUs, 8Gi memory, 1 v.com/nic (Guaranteed)\n"
		"  the free devices are unknown; without v.com/nic the pod fits\n"
		"\n"
		"container  NUMA nodes          CPUs\n"
		"app        0 preferred         1-2,17-18\n"
		"\n"
		"copies       6, one after the other, without devices\n"
		"NUMA nodes   1 for the scheduler (0), at minimum distance\n"
		"scores       MostAllocated 0, LeastAllocated 0, BalancedAllocation 0, LeastNUMANodes 94\n"
		"kubelet      Topology Manager policy restricted, scope container\n");
	assert_json(&f,
		"{\"qosClass\":\"Guaranteed\",\"notGuaranteed\":\"\",\"alignment\":\"the Topology Manager aligns 4 exclusive CPUs, devices, and memory where the memory manager is Static\",\"exclusiveCPUs\":4,"
		"\"admitted\":null,"
		"\"reason\":\"the free devices are unknown; without v.com/nic the pod fits\","
		"\"rejection\":\"\",\"caution\":null,\"containers\":[{\"name\":\"app\",\"numaNodes\":[0],"
		"\"preferred\":true,\"remote\":false,\"cpus\":\"1-2,17-18\",\"memoryNUMANodes\":null}],\"numaNodes\":1,"
		"\"minDistance\":true,\"scores\":{\"MostAllocated\":0,\"LeastAllocated\":0,"
		"\"BalancedAllocation\":0,\"LeastNUMANodes\":94},\"schedulerPasses\":true,\"copies\":6,"
		"\"copiesAtLeast\":false,\"kubeletMilliseconds\":null,\"hintPermutations\":null,\"pciePair\":null,\"nearest\":null,\"whatFrees\":null,\"unchecked\":[\"v.com/nic\"]}");
	/* What is rejected without its devices is rejected; what would change that is not known. */
	fit_fixture_report_on(&f, "app cpu=40 memory=8Gi v.com/nic=1");
	assert_int_equal(f.report.answer, KUBELET_REJECTS);
	assert_true(says(&f, "  would fit with 26 CPUs instead of 40 (not checked: v.com/nic)\n"));
	f.report.victims.answer = VICTIMS_UNKNOWN;
	assert_true(says(&f, "  which pods must be evicted is unknown (not checked: v.com/nic)\n"));
	/* Unless the device may send one container elsewhere, which makes room for the other. */
	fit_fixture_report_on(&f, "app cpu=12 memory=1Gi v.com/nic=1; app cpu=12 memory=1Gi");
	assert_int_equal(f.report.answer, KUBELET_UNKNOWN);
	test_assert_text("reason", f.report.reason,
		"the free devices are unknown; without v.com/nic the pod does not fit: restricted: "
		"12 CPUs fit one NUMA node by size (16), but the freest has 10");
	fit_fixture_release(&f);
}

/* A GPU and a NIC below one root, which pods that ask for both like to have. */
static void a_pair_below_one_root_is_told(void **state)
{
	static const char unsure[] = "which of the free devices the kubelet assigns is unknown\n";
	struct fit_fixture f;
	char line[200];

	(void)state;
	node_init(&f);
	node_sim_add_pci_device(&f.node, "v.com/gpu", "g0", PCI_GPU, 0x10, 0x11);
	node_sim_add_pci_device(&f.node, "v.com/nic", "n0", PCI_NIC, 0x20, 0x21);
	fit_fixture_report_on(&f, "app cpu=1 memory=1Gi v.com/gpu=1 v.com/nic=1");
	assert_int_equal(f.report.answer, KUBELET_ADMITS);
	snprintf(line, sizeof(line), "PCIe roots   no root has both a GPU and a NIC free; %s", unsure);
	assert_true(says(&f, line));
	node_sim_add_pci_device(&f.node, "v.com/nic", "n1", PCI_NIC, 0x10, 0x12);
	fit_fixture_report_on(&f, "app cpu=1 memory=1Gi v.com/gpu=1 v.com/nic=1");
	snprintf(line, sizeof(line), "PCIe roots   a GPU and a NIC are free below one root; %s", unsure);
	assert_true(says(&f, line));
	fit_fixture_report_on(&f, "app cpu=1 memory=1Gi v.com/nic=1");
	assert_int_equal(f.report.answer, KUBELET_ADMITS);
	assert_false(says(&f, "PCIe"));
	fit_fixture_release(&f);
}

/* Of nodes that admit, those with a pair come first, however many copies others admit. */
static void nodes_with_a_pair_come_first(void **state)
{
	static const struct {
		const char *name;
		enum kubelet_answer answer;
		enum pci_pair pair;
		size_t copies;
	} nodes[] = {
		{"a", KUBELET_ADMITS, PCI_PAIR_NONE, 5},
		{"b", KUBELET_ADMITS, PCI_PAIR_FREE, 1},
		{"c", KUBELET_ADMITS, PCI_PAIR_FREE, 2},
		{"d", KUBELET_REJECTS, PCI_PAIR_NOT_WANTED, 0},
	};
	static const struct pod_request pod = {0};
	CLEANUP(pod_report_release) struct pod_report r;

	(void)state;
	pod_report_init(&r, &pod);
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		struct node_report *n = vec_push(&r.nodes, &r.n_nodes, &r.nodes_size, sizeof(*n));

		n->name = strdup(nodes[i].name);
		n->answer = nodes[i].answer;
		n->pci_pair = nodes[i].pair;
		n->copies.n = nodes[i].copies;
	}
	pod_report_place(&r, 0);
	test_assert_text("first", r.nodes[0].name, "c");
	test_assert_text("second", r.nodes[1].name, "b");
	test_assert_text("third", r.nodes[2].name, "a");
	test_assert_text("last", r.nodes[3].name, "d");
}

static void unknown_feature_gates_say_what_depends_on_them(void **state)
{
	struct fit_fixture f;

	(void)state;
	node_init(&f);
	f.node.settings.topology.policy = TOPOLOGY_MANAGER_UNKNOWN;
	f.node.settings.topology.scope = TOPOLOGY_SCOPE_UNKNOWN;
	fit_fixture_report_on(&f, "app cpu=15 memory=1Gi; app cpu=8 memory=1Gi; app cpu=1 memory=1Gi");
	assert_int_equal(f.report.answer, KUBELET_UNKNOWN);
	test_assert_text("policy", f.report.reason,
		"the Topology Manager's policy is not known; fits under none, best-effort, restricted; "
		"is not known under single-numa-node");
	f.node.settings.topology.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	fit_fixture_report_on(&f, "app cpu=10 memory=1Gi; app cpu=8 memory=1Gi");
	test_assert_text("scope", f.report.reason,
		"the Topology Manager's scope is not known; fits under container; does not fit under pod");
	fit_fixture_report_on(&f, "app cpu=10 memory=1Gi");
	assert_int_equal(f.report.answer, KUBELET_ADMITS);
	test_assert_text("both scopes admit", f.report.containers[0].cpus, "1-5,17-21");
	fit_fixture_report_on(&f, "app cpu=17 memory=1Gi");
	assert_int_equal(f.report.answer, KUBELET_REJECTS);
	test_assert_text("both scopes reject", f.report.rejection, "TopologyAffinityError");
	f.node.settings.cpu_manager = CPU_MANAGER_UNKNOWN;
	fit_fixture_report_on(&f, "app cpu=10 memory=1Gi");
	test_assert_text("CPU manager", f.report.reason, "the CPU manager's policy is not known");
	fit_fixture_release(&f);
}

static void the_scheduler_may_disagree(void **state)
{
	struct fit_fixture f;

	(void)state;
	node_init(&f);
	f.node.settings.topology.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	/* Without a memory manager the kubelet does not align memory; the plugin does. */
	fit_fixture_report_on(&f, "app cpu=4 memory=80Gi");
	assert_text(&f,
		"fits: 4 CPUs, 80Gi memory (Guaranteed)\n"
		"\n"
		"container  NUMA nodes          CPUs\n"
		"app        0 preferred         1-2,17-18\n"
		"\n"
		"copies       1, one after the other\n"
		"NUMA nodes   2 for the scheduler (0-1), at minimum distance\n"
		"scores       MostAllocated 12, LeastAllocated 30, BalancedAllocation 0, LeastNUMANodes 82\n"
		"scheduler    NodeResourceTopologyMatch would not pass this node: container 'app' needs cpu 4, memory "
		"80Gi on one NUMA node; node 0 has memory 64Gi; node 1 has memory 64Gi\n"
		"kubelet      Topology Manager policy single-numa-node, scope container\n");
	fit_fixture_release(&f);
}

/* What a pod's containers hold counts together only if none of them was an init container. */
static void init_containers_leave_it_open(void **state)
{
	struct fit_fixture f;
	struct allocation *other;

	(void)state;
	node_init(&f);
	/* The pod "uid" holds 4 CPUs by one container and 10 by another, of 30. */
	other = allocations_add_container(&f.node.allocations, "uid", "other");
	assert_non_null(other);
	assert_int_equal(hwloc_bitmap_set_range(other->cpus, 8, 17), 0);
	assert_int_equal(hwloc_bitmap_clr(other->cpus, 16), 0);
	assert_int_equal(
		hwloc_bitmap_andnot(f.node.allocations.shared, f.node.allocations.shared, other->cpus), 0);
	fit_fixture_report_on(&f, "app cpu=17500m memory=1Gi");
	assert_int_equal(f.report.answer, KUBELET_UNKNOWN);
	test_assert_text("reason", f.report.reason,
		"cpu: 17500m wanted, the node has 17 left or more: the kubelet may not count all that "
		"init containers and resized containers hold");
	fit_fixture_report_on(&f, "app cpu=16500m memory=1Gi");
	assert_int_equal(f.report.answer, KUBELET_ADMITS);
	fit_fixture_report_on(&f, "app cpu=21500m memory=1Gi");
	assert_int_equal(f.report.answer, KUBELET_REJECTS);
	test_assert_text("rejection", f.report.rejection, "OutOfcpu");
	/* Memory is short for sure. If CPUs are short too, the kubelet's reason is OutOfcpu. */
	fit_fixture_report_on(&f, "app cpu=17500m memory=200Gi");
	assert_int_equal(f.report.answer, KUBELET_REJECTS);
	test_assert_text("reason", f.report.reason, "memory: 200Gi wanted, the node has at most 128Gi left");
	test_assert_text("rejection", f.report.rejection, "");
	/* Two pods that hold the same CPUs: the kubelet adds their requests up. */
	assert_int_equal(
		hwloc_bitmap_or(f.node.allocations.shared, f.node.allocations.shared, other->cpus), 0);
	text_set(&other->pod_uid, "uid2");
	assert_int_equal(hwloc_bitmap_copy(other->cpus, f.node.allocations.items[0].cpus), 0);
	fit_fixture_report_on(&f, "app cpu=22500m memory=1Gi");
	assert_int_equal(f.report.answer, KUBELET_REJECTS);
	test_assert_text("reason", f.report.reason, "cpu: 22500m wanted, the node has at most 22 left");
	fit_fixture_release(&f);
}

/* A node whose CPU manager had policy none: asked what if it were static, every CPU is in the shared pool. */
static void a_change_to_static_begins_with_every_cpu(void **state)
{
	struct fit_fixture f;

	(void)state;
	fit_fixture_init(&f);
	synthetic_machine(&two_nodes, &f.node.machine);
	assert_int_equal(cpuset_parse("0", &f.node.reserved.cpus, NULL), 0);
	f.node.reserved.observed = true;
	f.node.allocations.cpus_known = true;
	fit_fixture_report_on(&f, "app cpu=4 memory=8Gi");
	assert_int_equal(f.report.answer, KUBELET_ADMITS);
	test_assert_text("CPUs", f.report.containers[0].cpus, "1-2,17-18");
	f.node.allocations.cpus_known = false;
	fit_fixture_report(&f);
	assert_int_equal(f.report.answer, KUBELET_UNKNOWN);
	test_assert_text("reason", f.report.reason, "the CPU manager's shared pool is not known");
	fit_fixture_release(&f);
}

/* Four NUMA nodes of 4 CPUs, two and two near each other; the kubelet takes the lowest two with enough, however far. */
static void remote_numa_nodes_are_not_called_preferred(void **state)
{
	static const struct synthetic shape = {.sockets = 4,
		.numas = 1,
		.uncores = 1,
		.cores = 4,
		.threads = 1,
		.memory_bytes = (uint64_t)64 << 30};
	struct fit_fixture f;

	(void)state;
	fit_fixture_init(&f);
	synthetic_machine(&shape, &f.node.machine);
	free(f.node.machine.distances);
	f.node.machine.distances = calloc(16, sizeof(unsigned));
	for (unsigned i = 0; i < 16; i++)
		f.node.machine.distances[i] = i / 4 == i % 4 ? 10 : i / 8 == i % 4 / 2 ? 12 : 30;
	fit_fixture_set_shared(&f, "1-3,8-15", "0"); /* node 1 is held */
	fit_fixture_report_on(&f, "app cpu=6 memory=8Gi");
	assert_true(says(&f, "app        0,2 remote"));
	assert_true(says(&f, "\"numaNodes\":[0,2],\"preferred\":true,\"remote\":true,"));
	f.node.settings.topology.prefer_closest_numa_nodes = true;
	fit_fixture_report(&f);
	assert_true(says(&f, "app        2-3 preferred"));
	assert_true(says(&f, "\"numaNodes\":[2,3],\"preferred\":true,\"remote\":false,"));
	/* One NUMA node is remote from nothing. */
	fit_fixture_report_on(&f, "app cpu=3 memory=8Gi");
	assert_true(says(&f, "app        0 preferred"));
	/* Without distances none is closer. */
	f.node.settings.topology.prefer_closest_numa_nodes = false;
	free(f.node.machine.distances);
	f.node.machine.distances = NULL;
	fit_fixture_report_on(&f, "app cpu=6 memory=8Gi");
	assert_true(says(&f, "app        0,2 preferred"));
	fit_fixture_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_admitted_pod),
		cmocka_unit_test(a_rejected_pod),
		cmocka_unit_test(remedies_name_each_change),
		cmocka_unit_test(further_changes_are_a_list),
		cmocka_unit_test(reservations_leave_less_memory),
		cmocka_unit_test(the_kubelet_names_memory_before_hugepages),
		cmocka_unit_test(init_containers_leave_it_open),
		cmocka_unit_test(devices_that_the_node_does_not_have),
		cmocka_unit_test(what_is_said_beside_the_verdict),
		cmocka_unit_test(every_container_has_its_line),
		cmocka_unit_test(what_the_whole_pod_asks_for_counts),
		cmocka_unit_test(devices_are_not_checked),
		cmocka_unit_test(unknown_feature_gates_say_what_depends_on_them),
		cmocka_unit_test(the_scheduler_may_disagree),
		cmocka_unit_test(a_change_to_static_begins_with_every_cpu),
		cmocka_unit_test(remote_numa_nodes_are_not_called_preferred),
		cmocka_unit_test(a_pair_below_one_root_is_told),
		cmocka_unit_test(nodes_with_a_pair_come_first),
	};

	return cmocka_run_group_tests_name("fit_report", tests, NULL, NULL);
}
