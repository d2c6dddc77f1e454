/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each job is done again and again, and each time another of its allocations fails: it must say -ENOMEM and
 * leave nothing behind. At last it is done with all of them.
 */
#include "tests/lib/test.h"

#include <errno.h>

#include "agent/observe/cdi_claims.h"
#include "agent/render/fit_hints_doc.h"
#include "agent/render/nrt.h"
#include "agent/cluster/observe_nrt.h"
#include "agent/render/placement.h"
#include "agent/show/show.h"
#include "agent/show/show_svg.h"
#include "agent/show/show_text.h"
#include "common/cleanup.h"
#include "scoring/admission.h"
#include "scoring/fit_hints.h"
#include "tests/lib/nodes.h"
#include "tests/lib/observations.h"
#include "tests/lib/peers.h"
#include "tests/lib/pods.h"
#include "tests/lib/scarce_memory.h"
#include "tests/lib/synthetic.h"

/* What the jobs work on; they change none of it. */
static struct test_node node;
static struct machine machine;
static struct settings settings;
static struct memory_state memory;
static struct device_inventory devices;
static struct kubelet_node kubelet_node;
static struct pod_request pod, pod_with_resources;
static hwloc_bitmap_t reserved, reserved_high;
static struct machine many_cpus;
static struct observation picture;

static int setup(void **state)
{
	static const char *const zones[] = {"cpu=4,memory=8Ki,vendor.com/nic=1",
		"cpu=9,memory=2Ki,vendor.com/nic=0", "cpu=1,memory=5Ki", "cpu=2,memory=1Ki,vendor.com/nic=2",
		NULL};
	static const struct synthetic two = {
		.sockets = 2, .numas = 1, .uncores = 1, .cores = 4, .threads = 2, .memory_bytes = 1 << 30};

	static const struct synthetic many = {
		.sockets = 1, .numas = 1, .uncores = 1, .cores = 1024, .threads = 1};

	(void)state;
	test_node_init(&node, zones);
	synthetic_machine(&two, &machine);
	synthetic_machine(&many, &many_cpus);
	observation_of_picture(&picture);
	settings_init(&settings);
	settings.cpu_manager = CPU_MANAGER_STATIC;
	settings.memory_manager = MEMORY_MANAGER_STATIC;
	settings.reserved_cpu_known = true;
	settings.kube_reserved_cpu = 2 * QTY_UNIT;
	settings.topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
	settings.topology.scope = TOPOLOGY_SCOPE_POD;
	reserved = hwloc_bitmap_alloc();
	memory.nodes = calloc(2, sizeof(*memory.nodes));
	reserved_high = hwloc_bitmap_alloc();
	assert_true(reserved && reserved_high && memory.nodes);
	hwloc_bitmap_set(reserved, 0);
	hwloc_bitmap_set(reserved_high, 1000);
	device_inventory_init(&devices);
	for (unsigned id = 0; id < 2; id++) {
		struct memory_node *m = &memory.nodes[memory.n_nodes++];

		m->id = id;
		m->cells = hwloc_bitmap_alloc();
		m->tables = calloc(1, sizeof(*m->tables));
		assert_true(m->cells && m->tables);
		m->tables[m->n_tables++] =
			(struct memory_table){.type = strdup("memory"), .allocatable = 4096, .free = 4096};
		assert_int_equal(device_inventory_add(&devices, "vendor.com/nic",
					 (struct device){.nodes = node_mask_of(id), .healthy = true}),
			0);
	}
	pod_from_text(&pod,
		"init cpu=1 memory=4096 vendor.com/nic=1; app cpu=2 memory=4096; app cpu=2 memory=4096");
	pod.qos = QOS_GUARANTEED;
	pod_from_text(&pod_with_resources, "app cpu=1");
	pod_with_resources.has_pod_resources = true;
	pod_with_resources.pod_requests =
		test_list("hugepages-1Gi=1,memory=1,v.io/a=1,v.io/b=1,v.io/c=1,v.io/d=1");
	kubelet_node = (struct kubelet_node){.machine = &machine,
		.settings = &settings,
		.shared = machine.online,
		.memory = &memory,
		.devices = &devices};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	test_node_release(&node);
	machine_release(&machine);
	settings_release(&settings);
	memory_state_release(&memory);
	device_inventory_release(&devices);
	pod_request_release(&pod);
	pod_request_release(&pod_with_resources);
	hwloc_bitmap_free(reserved);
	hwloc_bitmap_free(reserved_high);
	machine_release(&many_cpus);
	observation_release(&picture);
	return 0;
}

/* Repeat until no allocation is refused any more. Returns how many were. A job that `sorts` many items does
 * well without the memory that qsort() asks for. */
static unsigned long torture(const char *name, int (*job)(void), bool sorts)
{
	unsigned long n = 0;
	bool refused;

	do {
		unsigned long before = n_allocations;
		long alive = n_alive;
		int r;

		refused_one = before + ++n;
		r = job();
		refused = n_allocations >= refused_one;
		refused_one = 0;
		if (r != (refused ? -ENOMEM : 0) && !(sorts && r == 0))
			fail_msg("%s: %d where allocation %lu fails", name, r, n);
		if (n_alive != alive)
			fail_msg("%s: %ld allocations left where allocation %lu fails", name, n_alive - alive,
				n);
	} while (refused);
	return n - 1;
}

static int do_fit_hints(void)
{
	CLEANUP(fit_hints_release) struct fit_hints h = {0};
	CLEANUP(doc_release) struct doc d = DOC_INIT;
	struct request_shape shape = {"small", &pod};
	struct kubelet k;
	struct fit_hints_input input = {.inventory = &node.inv,
		.kubelet = &k,
		.shapes = &shape,
		.n_shapes = 1,
		.limits = {.entries = SIZE_MAX, .work = UINT64_MAX}};
	int r = kubelet_init(&k, &kubelet_node);

	if (r < 0)
		return r;
	r = fit_hints_init(&h, &input);
	kubelet_release(&k);
	if (r < 0) {
		assert_null(h.shapes);
		return r;
	}
	return fit_hints_to_doc(&h, "0123456789abcdef", 900, &d, NULL);
}

/* Each number of CPUs is tried out where they are distributed. */
static int do_distributed(void)
{
	CLEANUP(kubelet_workspace_freep) struct kubelet_workspace *ws = NULL;
	struct settings other = settings;
	struct kubelet_node as = kubelet_node;
	struct exclusive_cpus_admitted a = {0};
	struct kubelet k;
	size_t usable;
	int r;

	as.settings = &other;
	other.cpu_options.distribute_cpus_across_numa = true;
	r = kubelet_init(&k, &as);
	if (r < 0)
		return r;
	r = exclusive_cpus_find(&k, &a);
	if (r == 0)
		r = kubelet_workspace_new(&k, &ws);
	if (r == 0)
		r = exclusive_cpus_usable(&k, ws, &a, &usable);
	exclusive_cpus_admitted_release(&a);
	kubelet_release(&k);
	return r;
}

static int judge_in(enum topology_manager_scope scope)
{
	CLEANUP(kubelet_workspace_freep) struct kubelet_workspace *ws = NULL;
	struct settings other = settings;
	struct kubelet_node as = kubelet_node;
	struct kubelet_verdict verdict;
	struct kubelet k;
	int r;

	as.settings = &other;
	other.topology.scope = scope;
	r = kubelet_init(&k, &as);
	if (r < 0)
		return r;
	r = kubelet_workspace_new(&k, &ws);
	if (r == 0)
		r = kubelet_judge(&k, ws, &pod, QOS_GUARANTEED, &verdict);
	kubelet_release(&k);
	return r;
}

static int do_judge_pod(void)
{
	return judge_in(TOPOLOGY_SCOPE_POD);
}

static int do_judge_containers(void)
{
	return judge_in(TOPOLOGY_SCOPE_CONTAINER);
}

/* Memory lies on one NUMA node, so the CPUs must: 8 at most. */
static int do_admission(void)
{
	CLEANUP(kubelet_workspace_freep) struct kubelet_workspace *ws = NULL;
	CLEANUP(pod_request_release) struct pod_request own = {0};
	CLEANUP(resource_list_release) struct resource_list free_list = {0};
	struct admission_copies copies;
	struct admission_nearest nearest = {.found = false};
	struct admission_node as;
	struct kubelet k;
	int r = kubelet_init(&k, &kubelet_node);

	if (r < 0)
		return r;
	as = (struct admission_node){.kubelet = &k, .free = &free_list};
	pod_request_init(&own);
	r = kubelet_workspace_new(&k, &ws);
	as.ws = ws;
	if (r == 0)
		r = resource_list_set(&free_list, "cpu", quantity_from_units(12));
	if (r == 0 && !pod_request_add(&own, CONTAINER_APP, "c"))
		r = -ENOMEM;
	if (r == 0)
		r = resource_list_set(&own.containers[0].requests, "cpu", quantity_from_units(13));
	if (r == 0)
		r = resource_list_set(&own.containers[0].requests, "memory", quantity_from_units(4096));
	if (r == 0)
		r = admission_nearest(&as, &own, QOS_GUARANTEED, &nearest);
	if (r == 0)
		r = resource_list_set(&own.containers[0].requests, "cpu", quantity_from_units(2));
	if (r == 0)
		r = admission_copies(&as, &own, QOS_GUARANTEED, &copies);
	if (r == 0)
		assert_true(nearest.found && nearest.to == 8 * QTY_UNIT && copies.n == 2);
	kubelet_release(&k);
	return r;
}

static int do_devices(void)
{
	struct device_inventory copy;
	int r = 0;

	device_inventory_init(&copy);
	for (unsigned i = 0; i < 24 && r == 0; i++)
		r = device_inventory_add(
			&copy, i % 2 ? "vendor.com/nic" : "vendor.com/gpu", (struct device){.healthy = true});
	device_inventory_release(&copy);
	return r;
}

static int do_requests(void)
{
	struct resource_list list = {0};
	struct request_plan plan;
	struct pod_request other;
	int r;

	pod_request_init(&other);
	if (!pod_request_add(&other, CONTAINER_APP, "c"))
		return -ENOMEM;
	r = resource_list_set(&other.containers[0].limits, "cpu", quantity_from_units(1));
	if (r == 0)
		r = request_default(&other);
	pod_request_release(&other);
	if (r == 0)
		r = request_of_node(&pod_with_resources, &list);
	resource_list_release(&list);
	if (r == 0)
		r = request_plan_init(&plan, &pod);
	if (r == 0)
		request_plan_release(&plan);
	return r;
}

static int do_eviction(void)
{
	struct eviction_victim victim = {.pod = &pod, .container = &pod.containers[1], .numa_id = 0};
	int r = eviction_simulate(&node.inv, &victim, 1);

	return r < 0 ? r : 0;
}

/* What the kubelet says of a state, with the words for it. */
static int check_state_of(const struct machine *m, hwloc_const_bitmap_t reserved_cpus,
	const char *shared_list, const char *held_list, bool strict, bool want_ok)
{
	CLEANUP(allocations_release) struct allocations a;
	CLEANUP(cpu_topology_release) struct cpu_topology t = {0};
	CLEANUP(cpu_manager_release) struct cpu_manager cm = {0};
	CLEANUP(cpuset_freep) hwloc_bitmap_t held = NULL;
	const struct kubelet_version version = {0};
	const struct cpu_manager_options options = {.strict_cpu_reservation = strict};
	struct allocation *item;
	struct err err = {""};
	bool shared[1024];
	int r;

	allocations_init(&a);
	r = cpu_topology_init(&t, m);
	if (r == 0)
		r = cpu_manager_init(
			&cm, &t, &options, TOPOLOGY_MANAGER_NONE, &version, reserved_cpus, 1, &err);
	if (r == 0)
		r = cpuset_parse(shared_list, &a.shared, NULL);
	if (r == 0)
		r = cpuset_parse(held_list, &held, NULL);
	if (r < 0)
		return r;
	item = allocations_add(&a);
	if (!item || hwloc_bitmap_copy(item->cpus, held) < 0)
		return -ENOMEM;
	r = cpu_manager_check_state(&cm, &a, shared, &err);
	if (r == -ENOMEM)
		return r;
	assert_int_equal(r, want_ok ? 0 : -EINVAL);
	return 0;
}

static int check_state(const char *shared_list, const char *held_list, bool strict, bool want_ok)
{
	return check_state_of(&machine, reserved, shared_list, held_list, strict, want_ok);
}

/* Ids beyond what an empty bitmap has room for. */
static int do_state_of_many_cpus(void)
{
	return check_state_of(&many_cpus, reserved_high, "0-9", "600-700", false, false);
}

static int do_state_that_serves(void)
{
	return check_state("0,2-15", "1", false, true);
}

static int do_state_strict(void)
{
	return check_state("1-15", "", true, true);
}

static int do_state_strictly_reserved(void)
{
	return check_state("0,2-15", "1", true, false);
}

static int do_state_without_reserved(void)
{
	return check_state("2-15", "1", false, false);
}

static int do_state_overlapping(void)
{
	return check_state("0-15", "1", false, false);
}

static int do_state_incomplete(void)
{
	return check_state("0,3-15", "1", false, false);
}

/* More CPUs are to be reserved than there are: the sentence names those that could be. */
static int do_reservation_that_fails(void)
{
	CLEANUP(cpu_topology_release) struct cpu_topology t = {0};
	struct cpu_manager cm;
	const struct kubelet_version version = {0};
	const struct cpu_manager_options options = {.distribute_cpus_across_numa = true};
	struct err err = {""};
	int r = cpu_topology_init(&t, &machine);

	if (r < 0)
		return r;
	r = cpu_manager_init(&cm, &t, &options, TOPOLOGY_MANAGER_NONE, &version, NULL, 99, &err);
	if (r == -ENOMEM)
		return r;
	assert_int_equal(r, -EINVAL);
	return 0;
}

static int do_show_text(void)
{
	CLEANUP(show_view_release) struct show_view v;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(1u << 20);
	int r;

	show_view_init(&v);
	r = show_view(&picture, &v);
	return r < 0 ? r : show_text(&v, 80, true, true, &out);
}

static int do_show_svg(void)
{
	CLEANUP(show_view_release) struct show_view v;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(1u << 20);
	int r;

	show_view_init(&v);
	r = show_view(&picture, &v);
	return r < 0 ? r : show_svg(&v, SHOW_SVG_WIDTH, &out);
}

static int do_observe_nrt(void)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	char namespace[] = "telecom", name[] = "upf-0";
	struct pod_ref pods[] = {{.namespace = namespace, .name = name, .exclusive = true}};
	struct node_state state = picture.node; /* borrowed */
	const struct nrt_config config = {
		.fingerprint = FINGERPRINT_ALL, .deprecated_policies = true, .koordinator = true};
	int r;

	state.pods_known = true;
	state.pods = pods;
	state.n_pods = 1;
	r = nrt_render(&state, &config, &object, NULL);
	observation_init(&o);
	return r < 0 ? r : observe_nrt(&object, &o, NULL);
}

/* Of each container alone, as some of them are on several NUMA nodes. */
static int do_placement(void)
{
	for (size_t i = 0; i < picture.node.allocations.n_items; i++) {
		const struct allocations one = {.items = &picture.node.allocations.items[i], .n_items = 1};
		CLEANUP(placement_release) struct placement p = {0};
		int r = placement_encode(
			&one, &picture.node.machine, (unsigned)picture.node.machine.n_nodes, &p, NULL);

		if (r == -ENOMEM)
			return r;
	}
	return 0;
}

static int add_claim(struct claims *claims, const char *driver, const char *name)
{
	CLEANUP(claim_release) struct claim c = {0};
	int r = claim_init(&c, driver, "", "ns", name);

	if (r == 0)
		r = claim_add_pod(&c, "ns", "p");
	if (r == 0)
		r = strv_push(&c.devices, "pool/device");
	if (r == 0)
		r = strv_push(&c.cdi, "k/cpu=claim-u");
	if (r == 0 && hwloc_bitmap_set(c.cpus, 2) < 0)
		r = -ENOMEM;
	return r == 0 ? claims_take(claims, &c) : r;
}

/* Two drivers' of one claim, one of them twice, and what the files say of them. */
static int do_claims(void)
{
	CLEANUP(claims_release) struct claims known = {0};
	CLEANUP(claims_release) struct claims specs = {0};
	int r = add_claim(&known, "dra.cpu", "n");

	if (r == 0)
		r = add_claim(&known, "dra.memory", "n");
	if (r == 0)
		r = add_claim(&known, "dra.cpu", "n");
	if (r == 0)
		r = claims_unite(&known);
	if (r == 0)
		r = add_claim(&specs, "k/cpu", "");
	return r == 0 ? cdi_claims_join(&known, &specs) : r;
}

static void every_allocation_may_fail(void **state)
{
	static const struct {
		const char *name;
		int (*job)(void);
		unsigned long at_least;
		bool sorts;
	} jobs[] = {
		{"fit hints", do_fit_hints, 200, false},
		{"distributed ranges", do_distributed, 40, false},
		{"verdict in scope pod", do_judge_pod, 30, false},
		{"verdict in scope container", do_judge_containers, 30, false},
		{"admission", do_admission, 40, false},
		{"devices", do_devices, 5, false},
		{"requests", do_requests, 10, false},
		{"eviction", do_eviction, 1, false},
		{"state that serves", do_state_that_serves, 20, false},
		{"state with strict reservation", do_state_strict, 20, false},
		{"state that shares the strictly reserved", do_state_strictly_reserved, 20, false},
		{"state without the reserved", do_state_without_reserved, 20, false},
		{"state that overlaps", do_state_overlapping, 20, false},
		{"state that is incomplete", do_state_incomplete, 20, false},
		{"state of many CPUs", do_state_of_many_cpus, 20, true},
		{"reservation that fails", do_reservation_that_fails, 10, false},
		{"show as text", do_show_text, 100, true},
		{"show as a picture", do_show_svg, 100, true},
		{"an object and what it tells", do_observe_nrt, 100, true},
		{"placement of containers", do_placement, 20, true},
		{"claims", do_claims, 40, true},
	};

	(void)state;
	if (!scarce_memory_works())
		test_skip("a sanitizer or valgrind has its own allocator");
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		unsigned long n = torture(jobs[i].name, jobs[i].job, jobs[i].sorts);

		print_message("%s: %lu allocations\n", jobs[i].name, n);
		assert_true(n >= jobs[i].at_least);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests_name("out_of_memory", tests, setup, teardown);
}
