/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "agent/fit_doc.h"
#include "agent/fit_text.h"
#include "agent/json.h"
#include "agent/model.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "tests/lib/pods.h"
#include "tests/lib/synthetic.h"

/* A node as observed. */
struct fixture {
	struct machine machine;
	struct settings settings;
	struct allocations allocations;
	struct inventory inventory;
	hwloc_bitmap_t reserved;
	struct pod_request pod;
	struct fit_report report;
};

static void fixture_init(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	machine_init(&f->machine);
	settings_init(&f->settings);
	allocations_init(&f->allocations);
	inventory_init(&f->inventory);
	f->settings.cpu_manager = CPU_MANAGER_STATIC;
	f->settings.memory_manager = MEMORY_MANAGER_NONE;
	f->settings.topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
	f->settings.topology.scope = TOPOLOGY_SCOPE_CONTAINER;
}

static void fixture_release(struct fixture *f)
{
	fit_report_release(&f->report);
	pod_request_release(&f->pod);
	inventory_release(&f->inventory);
	allocations_release(&f->allocations);
	settings_release(&f->settings);
	machine_release(&f->machine);
	hwloc_bitmap_free(f->reserved);
}

/* The CPUs of the shared pool; all others that are not reserved are held by some container. */
static void set_shared(struct fixture *f, const char *shared, const char *reserved)
{
	struct allocation *held;

	hwloc_bitmap_free(f->reserved);
	f->reserved = NULL;
	assert_int_equal(cpuset_parse(reserved, &f->reserved, NULL), 0);
	assert_int_equal(cpuset_parse(shared, &f->allocations.shared, NULL), 0);
	held = allocations_add_container(&f->allocations, "uid", "holder");
	assert_non_null(held);
	hwloc_bitmap_andnot(held->cpus, f->machine.online, f->allocations.shared);
	hwloc_bitmap_andnot(held->cpus, held->cpus, f->reserved);
	f->allocations.cpus_known = true;
}

static void report(struct fixture *f)
{
	const struct fit_input in = {.machine = &f->machine,
		.settings = &f->settings,
		.allocations = &f->allocations,
		.inventory = &f->inventory,
		.reserved = f->reserved};

	fit_report_release(&f->report);
	inventory_release(&f->inventory);
	assert_int_equal(
		model_inventory(&f->machine, &f->settings, &f->allocations, f->reserved, &f->inventory, NULL),
		0);
	assert_int_equal(fit_report_make(&in, &f->pod, &f->report), 0);
}

static void report_on(struct fixture *f, const char *pod)
{
	pod_request_release(&f->pod);
	pod_from_text(&f->pod, pod);
	report(f);
}

/* ---- the kubelet's recorded decisions: vectors/cpu_manager.json */

static const struct doc *need(const struct doc *map, const char *key)
{
	const struct doc *d = doc_get(map, key);

	if (!d)
		fail_msg("no '%s' in the recorded case", key);
	return d;
}

static unsigned number(const struct doc *d)
{
	uint64_t n = 0;

	assert_int_equal(doc_uint64(d, &n), 0);
	return (unsigned)n;
}

static struct numa_node *find_node(struct machine *m, unsigned id)
{
	struct numa_node *node;
	int at = machine_node_index(m, id);

	if (at >= 0)
		return &m->nodes[at];
	node = vec_push(&m->nodes, &m->n_nodes, &m->nodes_size, sizeof(*node));
	assert_non_null(node);
	node->id = id;
	node->memory_bytes = (uint64_t)1 << 36;
	node->cpus = hwloc_bitmap_alloc();
	assert_non_null(node->cpus);
	for (; node > m->nodes && node[-1].id > id; node--) {
		struct numa_node other = node[-1];

		node[-1] = *node;
		*node = other;
	}
	return node;
}

/* `topology` holds lists by CPU id; `distances` a row a node. */
static void read_machine(const struct doc *topology, const struct doc *distances, struct machine *m)
{
	const struct doc *core = need(topology, "core"), *socket = need(topology, "socket");
	const struct doc *numa = need(topology, "numa"), *l3 = need(topology, "l3");
	size_t at = 0;

	for (unsigned id = 0; id < core->n_items; id++) {
		struct cpu *cpu = vec_push(&m->cpus, &m->n_cpus, &m->cpus_size, sizeof(*cpu));

		assert_non_null(cpu);
		*cpu = (struct cpu){.id = id,
			.core = number(&core->items[id]),
			.socket = (int)number(&socket->items[id]),
			.l3 = (int)number(&l3->items[id])};
		hwloc_bitmap_set(find_node(m, number(&numa->items[id]))->cpus, id);
	}
	m->distances = calloc(m->n_nodes * m->n_nodes, sizeof(*m->distances));
	assert_non_null(m->distances);
	DOC_FOREACH (row, distances)
		DOC_FOREACH (distance, row)
			m->distances[at++] = number(distance);
	assert_int_equal(machine_derive(m), 0);
	/* The recorded ids are those of uncore caches. */
	for (size_t i = 0; i < m->n_cpus; i++)
		m->cpus[i].uncore = m->cpus[i].l3;
}

static void read_options(const struct doc *list, struct settings *s)
{
	s->cpu_options = (struct cpu_manager_options){0};
	DOC_FOREACH (item, list) {
		bool *value = cpu_manager_option(&s->cpu_options, item->text);

		assert_non_null(value);
		*value = true;
	}
}

/* "restricted+prefer-closest-numa-nodes" */
static void read_policy(const char *text, struct settings *s)
{
	CLEANUP(freep) char *name = strndup(text, strcspn(text, "+"));
	int policy = settings_name_index(topology_manager_policy_names, TOPOLOGY_MANAGER_POLICY_COUNT, name);

	assert_true(policy > 0);
	s->topology.policy = (enum topology_manager_policy)policy;
	s->topology.prefer_closest_numa_nodes = strchr(text, '+') != NULL;
}

static uint64_t mask_of(const struct doc *ids)
{
	uint64_t mask = 0;

	DOC_FOREACH (id, ids)
		mask |= node_mask_of(number(id));
	return mask;
}

static bool containers_agree(const struct fit_report *r, const struct doc *want)
{
	const struct doc *numa = need(want, "numa");
	const struct fit_container *c = r->containers;

	return r->n_containers == 1 && c->hint.any_node == (numa->kind == DOC_NULL) &&
	       (c->hint.any_node || c->hint.nodes == mask_of(numa)) &&
	       c->hint.preferred == !strcmp(need(want, "preferred")->text, "true") &&
	       !strcmp(c->cpus, need(want, "cpus")->text);
}

/* Compare the report under one policy with the recorded decision. False = they differ. */
static bool agrees(struct fixture *f, const struct doc *c, const struct doc *want)
{
	const struct doc *smt = doc_get(c, "smtError");
	bool merged = !strcmp(need(want, "admit")->text, "true");
	const char *rejection = "";

	report(f);
	if (!merged)
		rejection = "TopologyAffinityError";
	else if (smt)
		rejection = "SMTAlignmentError";
	else if (!doc_get(want, "cpus"))
		rejection = "UnexpectedAdmissionError";
	if (*rejection)
		return f->report.answer == KUBELET_REJECTS && !strcmp(f->report.rejection, rejection) &&
		       f->report.n_containers == 0 && f->report.reason.text[0];
	return f->report.answer == KUBELET_ADMITS && f->report.copies.n > 0 &&
	       containers_agree(&f->report, want);
}

/* Every policy of one case. Returns the number of comparisons. */
static size_t check_case(const struct doc *topologies, const struct doc *c)
{
	struct fixture f;
	size_t n = 0;
	struct quantity cpus = quantity_from_units(number(need(c, "request")));
	struct container_request *container;

	fixture_init(&f);
	read_machine(need(topologies, need(c, "topology")->text), need(c, "distances"), &f.machine);
	read_options(need(c, "options"), &f.settings);
	set_shared(&f, need(c, "defaultCpuSet")->text, need(c, "reserved")->text);
	f.pod.name = strdup("pod");
	f.pod.qos = QOS_GUARANTEED;
	container = pod_request_add(&f.pod, CONTAINER_APP, "c");
	assert_non_null(container);
	assert_int_equal(resource_list_set(&container->requests, "cpu", cpus), 0);
	DOC_FOREACH (want, need(c, "policies")) {
		read_policy(want->key, &f.settings);
		if (!agrees(&f, c, want))
			fail_msg("%s, %s: answer %d, %s %s, CPUs %s", need(c, "id")->text, want->key,
				f.report.answer, f.report.rejection, f.report.reason.text,
				f.report.n_containers ? f.report.containers[0].cpus : "none");
		n++;
	}
	fixture_release(&f);
	return n;
}

static void check_vectors(const char *path)
{
	CLEANUP(doc_release) struct doc root = DOC_INIT;
	CLEANUP(freep) char *text = NULL;
	size_t len, n = 0;

	text = test_read_file(path, &len);
	assert_int_equal(json_parse(text, len, &root, NULL), 0);
	DOC_FOREACH (c, need(&root, "cases"))
		n += check_case(need(&root, "topologies"), c);
	print_message("%zu decisions of %s\n", n, path);
	assert_true(n > 0);
}

static void agrees_with_the_kept_decisions(void **state)
{
	(void)state;
	check_vectors(test_fixture("vectors/cpu_manager.json"));
}

static void agrees_with_all_recorded_decisions(void **state)
{
	const char *path = test_shared("vectors/cpu_manager.json");

	(void)state;
	if (!path)
		test_skip("no recorded decisions in ../shared");
	check_vectors(path);
}

/* ---- texts */

/* 2 sockets of one NUMA node with 64Gi and 8 cores of 2 threads; CPU i and i + 16 are siblings. */
static const struct synthetic two_nodes = {
	.sockets = 2, .numas = 1, .uncores = 1, .cores = 8, .threads = 2, .memory_bytes = (uint64_t)64 << 30};

/* CPU 0 and its sibling are reserved; ten CPUs are free on node 0 and all sixteen on node 1. */
static void node_init(struct fixture *f)
{
	fixture_init(f);
	synthetic_machine(&two_nodes, &f->machine);
	set_shared(f, "0-5,8-21,24-31", "0,16");
}

static void assert_text(const struct fixture *f, const char *want)
{
	struct strbuf text = STRBUF_INIT(8192);

	fit_text(&f->report, &f->inventory, &text);
	assert_int_equal(strbuf_error(&text), 0);
	test_assert_text("text", text.text, want);
	strbuf_release(&text);
}

static void assert_json(const struct fixture *f, const char *want)
{
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	struct strbuf text = STRBUF_INIT(8192);

	assert_int_equal(fit_to_doc(&f->report, &doc), 0);
	assert_int_equal(json_print_compact(&doc, &text), 0);
	test_assert_text("json", text.text, want);
	strbuf_release(&text);
}

static void an_admitted_pod(void **state)
{
	struct fixture f;

	(void)state;
	node_init(&f);
	report_on(&f, "app cpu=4 memory=8Gi");
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
		"{\"admitted\":true,\"reason\":\"\",\"rejection\":\"\",\"containers\":[{\"name\":\"app\","
		"\"numaNodes\":[0],\"preferred\":true,\"cpus\":\"1-2,17-18\",\"memoryNUMANodes\":null}],"
		"\"numaNodes\":1,\"minDistance\":true,\"scores\":{\"MostAllocated\":0,"
		"\"LeastAllocated\":0,\"BalancedAllocation\":0,\"LeastNUMANodes\":94},\"schedulerPasses\":"
		"true,\"copies\":6,\"copiesAtLeast\":false,\"nearest\":null,\"unchecked\":[]}");
	fixture_release(&f);
}

static void a_rejected_pod(void **state)
{
	struct fixture f;

	(void)state;
	node_init(&f);
	report_on(&f, "app cpu=10 memory=1Gi; app cpu=17 memory=1Gi");
	assert_text(&f,
		"does not fit: 27 CPUs, 2Gi memory (Guaranteed)\n"
		"  container 'app': restricted: 17 CPUs wanted, 16 available (TopologyAffinityError)\n"
		"  would fit with 16 CPUs instead of 17 in container 'app'\n"
		"\n"
		"NUMA nodes   no set of them has what is asked for\n"
		"scores       MostAllocated 0, LeastAllocated 0, BalancedAllocation 0, LeastNUMANodes 0\n"
		"kubelet      Topology Manager policy restricted, scope container\n");
	assert_json(&f, "{\"admitted\":false,\"reason\":\"container 'app': restricted: 17 CPUs wanted,"
			" 16 available\",\"rejection\":\"TopologyAffinityError\",\"containers\":[],"
			"\"numaNodes\":null,\"minDistance\":null,\"scores\":{\"MostAllocated\":0,"
			"\"LeastAllocated\":0,\"BalancedAllocation\":0,\"LeastNUMANodes\":0},"
			"\"schedulerPasses\":true,\"copies\":0,\"copiesAtLeast\":false,"
			"\"nearest\":{\"container\":\"app\",\"resource\":\"cpu\",\"request\":\"17\","
			"\"fits\":\"16\"},\"unchecked\":[]}");
	report_on(&f, "app cpu=2 memory=200Gi");
	assert_text(&f,
		"does not fit: 2 CPUs, 200Gi memory (Guaranteed)\n"
		"  memory: 200Gi wanted, the node has 128Gi left at most (OutOfmemory)\n"
		"  would fit with 128Gi memory instead of 200Gi\n"
		"\n"
		"NUMA nodes   no set of them has what is asked for\n"
		"scores       MostAllocated 0, LeastAllocated 0, BalancedAllocation 0, LeastNUMANodes 0\n"
		"kubelet      Topology Manager policy restricted, scope container\n");
	fixture_release(&f);
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
		struct fixture f;

		node_init(&f);
		f.settings.kube_reserved_memory = cases[i].reserved;
		f.settings.eviction_hard_memory = cases[i].eviction ? strdup(cases[i].eviction) : NULL;
		report_on(&f, cases[i].fits);
		assert_int_equal(f.report.answer, KUBELET_ADMITS);
		report_on(&f, cases[i].too_much);
		test_assert_text("rejection", f.report.rejection, "OutOfmemory");
		fixture_release(&f);
	}
}

static void the_kubelet_names_memory_before_hugepages(void **state)
{
	struct fixture f;

	(void)state;
	node_init(&f);
	report_on(&f, "app cpu=100m memory=900Gi hugepages-1Gi=900Gi");
	test_assert_text("rejection", f.report.rejection, "OutOfmemory");
	report_on(&f, "app cpu=900 memory=900Gi");
	test_assert_text("rejection", f.report.rejection, "TopologyAffinityError");
	report_on(&f, "app cpu=900100m memory=900Gi");
	test_assert_text("rejection", f.report.rejection, "OutOfcpu");
	fixture_release(&f);
}

static void devices_are_not_checked(void **state)
{
	struct fixture f;

	(void)state;
	node_init(&f);
	report_on(&f, "app cpu=4 memory=8Gi v.com/nic=1");
	assert_text(&f,
		"unknown: 4 CPUs, 8Gi memory, 1 v.com/nic (Guaranteed)\n"
		"  which devices are free is not known; without v.com/nic the pod fits\n"
		"\n"
		"container  NUMA nodes          CPUs\n"
		"app        0 preferred         1-2,17-18\n"
		"\n"
		"copies       6, one after the other, devices aside\n"
		"NUMA nodes   1 for the scheduler (0), at minimum distance\n"
		"scores       MostAllocated 0, LeastAllocated 0, BalancedAllocation 0, LeastNUMANodes 94\n"
		"kubelet      Topology Manager policy restricted, scope container\n");
	assert_json(&f,
		"{\"admitted\":null,"
		"\"reason\":\"which devices are free is not known; without v.com/nic the pod fits\","
		"\"rejection\":\"\",\"containers\":[{\"name\":\"app\",\"numaNodes\":[0],"
		"\"preferred\":true,\"cpus\":\"1-2,17-18\",\"memoryNUMANodes\":null}],\"numaNodes\":1,"
		"\"minDistance\":true,\"scores\":{\"MostAllocated\":0,\"LeastAllocated\":0,"
		"\"BalancedAllocation\":0,\"LeastNUMANodes\":94},\"schedulerPasses\":true,\"copies\":6,"
		"\"copiesAtLeast\":false,\"nearest\":null,\"unchecked\":[\"v.com/nic\"]}");
	/* What is rejected without its devices is rejected. */
	report_on(&f, "app cpu=40 memory=8Gi v.com/nic=1");
	assert_int_equal(f.report.answer, KUBELET_REJECTS);
	/* Unless the device may send one container elsewhere, which makes room for the other. */
	report_on(&f, "app cpu=12 memory=1Gi v.com/nic=1; app cpu=12 memory=1Gi");
	assert_int_equal(f.report.answer, KUBELET_UNKNOWN);
	test_assert_text("reason", f.report.reason.text,
		"which devices are free is not known; without v.com/nic the pod does not fit: restricted: "
		"12 CPUs fit one NUMA node by size (16), but the freest has 10");
	fixture_release(&f);
}

static void unknown_settings_say_what_depends_on_them(void **state)
{
	struct fixture f;

	(void)state;
	node_init(&f);
	f.settings.topology.policy = TOPOLOGY_MANAGER_UNKNOWN;
	f.settings.topology.scope = TOPOLOGY_SCOPE_UNKNOWN;
	report_on(&f, "app cpu=15 memory=1Gi; app cpu=8 memory=1Gi; app cpu=1 memory=1Gi");
	assert_int_equal(f.report.answer, KUBELET_UNKNOWN);
	test_assert_text("policy", f.report.reason.text,
		"the Topology Manager's policy is not known; fits under none, best-effort, restricted; "
		"is not known under single-numa-node");
	f.settings.topology.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	report_on(&f, "app cpu=10 memory=1Gi; app cpu=8 memory=1Gi");
	test_assert_text("scope", f.report.reason.text,
		"the Topology Manager's scope is not known; fits under container; does not fit under pod");
	report_on(&f, "app cpu=10 memory=1Gi");
	assert_int_equal(f.report.answer, KUBELET_ADMITS);
	test_assert_text("both scopes admit", f.report.containers[0].cpus, "1-5,17-21");
	report_on(&f, "app cpu=17 memory=1Gi");
	assert_int_equal(f.report.answer, KUBELET_REJECTS);
	test_assert_text("both scopes reject", f.report.rejection, "TopologyAffinityError");
	f.settings.cpu_manager = CPU_MANAGER_UNKNOWN;
	report_on(&f, "app cpu=10 memory=1Gi");
	test_assert_text("CPU manager", f.report.reason.text, "the CPU manager's policy is not known");
	fixture_release(&f);
}

static void the_scheduler_may_disagree(void **state)
{
	struct fixture f;

	(void)state;
	node_init(&f);
	f.settings.topology.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	/* Without a memory manager the kubelet does not align memory; the plugin does. */
	report_on(&f, "app cpu=4 memory=80Gi");
	assert_text(&f,
		"fits: 4 CPUs, 80Gi memory (Guaranteed)\n"
		"\n"
		"container  NUMA nodes          CPUs\n"
		"app        0 preferred         1-2,17-18\n"
		"\n"
		"copies       1, one after the other\n"
		"NUMA nodes   2 for the scheduler (0-1), at minimum distance\n"
		"scores       MostAllocated 12, LeastAllocated 30, BalancedAllocation 0, LeastNUMANodes 82\n"
		"scheduler    its NUMA filter would keep the pod away: container 'app' needs cpu 4, memory "
		"80Gi on one NUMA node; node 0 has memory 64Gi; node 1 has memory 64Gi\n"
		"kubelet      Topology Manager policy single-numa-node, scope container\n");
	fixture_release(&f);
}

/* What a pod's containers hold counts together only if none of them was an init container. */
static void init_containers_leave_it_open(void **state)
{
	struct fixture f;
	struct allocation *other;

	(void)state;
	node_init(&f);
	/* The pod "uid" holds 4 CPUs by one container and 10 by another, of 30. */
	other = allocations_add_container(&f.allocations, "uid", "other");
	assert_non_null(other);
	assert_int_equal(hwloc_bitmap_set_range(other->cpus, 8, 17), 0);
	assert_int_equal(hwloc_bitmap_clr(other->cpus, 16), 0);
	assert_int_equal(hwloc_bitmap_andnot(f.allocations.shared, f.allocations.shared, other->cpus), 0);
	report_on(&f, "app cpu=17500m memory=1Gi");
	assert_int_equal(f.report.answer, KUBELET_UNKNOWN);
	test_assert_text("reason", f.report.reason.text,
		"cpu: 17500m wanted, the node has 17 left or more: it is not known which holders are init "
		"containers, whose amounts the kubelet may not count");
	report_on(&f, "app cpu=16500m memory=1Gi");
	assert_int_equal(f.report.answer, KUBELET_ADMITS);
	report_on(&f, "app cpu=21500m memory=1Gi");
	assert_int_equal(f.report.answer, KUBELET_REJECTS);
	test_assert_text("rejection", f.report.rejection, "OutOfcpu");
	/* Memory is short for sure, whatever the CPUs are. */
	report_on(&f, "app cpu=17500m memory=200Gi");
	test_assert_text("rejection", f.report.rejection, "OutOfmemory");
	/* Two pods that hold the same CPUs: the kubelet adds their requests up. */
	text_set(&other->pod_uid, "uid2");
	assert_int_equal(hwloc_bitmap_copy(other->cpus, f.allocations.items[0].cpus), 0);
	report_on(&f, "app cpu=22500m memory=1Gi");
	assert_int_equal(f.report.answer, KUBELET_REJECTS);
	test_assert_text("reason", f.report.reason.text, "cpu: 22500m wanted, the node has 22 left at most");
	fixture_release(&f);
}

/* A node whose CPU manager had policy none: asked what if it were static, every CPU is in the shared pool. */
static void a_change_to_static_begins_with_every_cpu(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f);
	synthetic_machine(&two_nodes, &f.machine);
	assert_int_equal(cpuset_parse("0", &f.reserved, NULL), 0);
	f.allocations.cpus_known = true;
	report_on(&f, "app cpu=4 memory=8Gi");
	assert_int_equal(f.report.answer, KUBELET_ADMITS);
	test_assert_text("CPUs", f.report.containers[0].cpus, "1-2,17-18");
	f.allocations.cpus_known = false;
	report(&f);
	assert_int_equal(f.report.answer, KUBELET_UNKNOWN);
	test_assert_text("reason", f.report.reason.text, "the CPU manager's shared pool is not known");
	fixture_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_the_kept_decisions),
		cmocka_unit_test(agrees_with_all_recorded_decisions),
		cmocka_unit_test(an_admitted_pod),
		cmocka_unit_test(a_rejected_pod),
		cmocka_unit_test(reservations_leave_less_memory),
		cmocka_unit_test(the_kubelet_names_memory_before_hugepages),
		cmocka_unit_test(init_containers_leave_it_open),
		cmocka_unit_test(devices_are_not_checked),
		cmocka_unit_test(unknown_settings_say_what_depends_on_them),
		cmocka_unit_test(the_scheduler_may_disagree),
		cmocka_unit_test(a_change_to_static_begins_with_every_cpu),
	};

	return cmocka_run_group_tests_name("fit_report", tests, NULL, NULL);
}
