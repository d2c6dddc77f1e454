/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "cli/report/show.h"
#include "common/cleanup.h"
#include "tests/lib/claims.h"
#include "tests/lib/observations.h"
#include "tests/lib/synthetic.h"

#define GIB ((qty_t)1 << 30)

struct world {
	struct observation o;
	struct show_view v;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	observation_init(&w->o);
	show_view_init(&w->v);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	show_view_release(&w->v);
	observation_release(&w->o);
	free(w);
	return 0;
}

static void look(struct world *w)
{
	show_view_release(&w->v);
	show_view(&w->o.node, &w->o.notes, &w->v);
}

/* The states of a node's CPUs, letters for the exclusive ones. */
static void assert_cpus(const struct show_view *v, size_t node, const char *want)
{
	static const char states[] = {[SHOW_RESERVED] = '#',
		[SHOW_SHARED] = '.',
		[SHOW_UNKNOWN] = '?',
		[SHOW_OFFLINE] = '-',
		[SHOW_EXCLUSIVE] = '!'};
	char text[256] = "";
	const struct show_node *n = &v->nodes[node];

	assert_true(n->n_cpus < sizeof(text));
	for (size_t i = 0; i < n->n_cpus; i++)
		text[i] = show_key(v, n->cpus[i].holder, states[n->cpus[i].state]);
	test_assert_text("CPUs", text, want);
}

static size_t resource(const struct show_view *v, const char *name)
{
	for (size_t i = 0; i < v->n_resources; i++)
		if (!strcmp(v->resources[i].name, name))
			return i;
	fail_msg("no resource '%s'", name);
	return 0;
}

static void assert_amounts(const struct show_view *v, size_t node, const char *name, const char *want)
{
	char text[SHOW_AMOUNTS_SIZE];

	show_available_text(v, &v->nodes[node], resource(v, name), false, text);
	test_assert_text(name, text, want);
}

static void a_machine_under_a_kubelet(void **state)
{
	struct world *w = *state;
	struct show_view *v = &w->v;
	char text[SHOW_AMOUNTS_SIZE];

	observation_of_picture(&w->o);
	look(w);
	test_assert_text("machine", v->machine, "2 sockets, 8 NUMA nodes, 48 cores, 96 CPUs, 256Gi memory");
	test_assert_text("kubelet", v->kubelet,
		"CPU manager static (full-pcpus-only=true), memory manager Static, topology manager "
		"restricted, "
		"scope container");
	test_assert_text("reserved", v->reserved, "0,24,48,72");
	assert_int_equal(v->n_groups, 2);
	test_assert_text("title", v->groups[1].title, "socket 1");
	assert_int_equal(v->groups[1].first, 4);
	assert_int_equal(v->groups[1].n_nodes, 4);
	test_assert_text("list", v->nodes[0].cpu_list, "0-5,48-53");
	assert_int_equal(v->nodes[0].cpus[1].id, 48);
	assert_int_equal(v->nodes[0].cpus[1].core, 0);
	assert_cpus(v, 0, "##AAAAAAAA..");
	assert_cpus(v, 1, "BBBBBBBB....");
	assert_cpus(v, 3, "CCCCCCCCCCCC");
	assert_cpus(v, 6, "..EEEE......");
	assert_amounts(v, 0, "cpu", "2 of 10");
	assert_amounts(v, 0, "memory", "14Gi of 30Gi");
	assert_amounts(v, 1, "memory", "10.5Gi of 31Gi");
	assert_amounts(v, 4, "hugepages-2Mi", "0 of 1Gi");
	assert_amounts(v, 2, "vendor.com/gpu", "0 of 2");
	assert_amounts(v, 3, "vendor.com/gpu", "none");
	show_cpus_text(v, &v->nodes[3], false, text);
	test_assert_text("CPUs", text, "0 of 12 free");
	assert_true(v->states[SHOW_EXCLUSIVE]);
	assert_false(v->states[SHOW_UNKNOWN]);
	assert_int_equal(v->n_distances, 8);
}

static void resources_come_in_order_and_have_short_names(void **state)
{
	static const struct holding holdings[] = {
		{.uid = "1", .resource = "b.com/nic", .ids = {"x"}, .near = "0"},
		{.uid = "2", .resource = "a.com/nic", .ids = {"y"}, .near = "1"},
		{.uid = "3", .resource = "a.com/fpga", .ids = {"z"}, .near = "1"},
	};
	static const char *const want[][3] = {
		{"cpu", "cpu", "cpu"},
		{"memory", "memory", "mem"},
		{"hugepages-64Ki", "64Ki pages", "64Ki"},
		{"hugepages-2Mi", "2Mi pages", "2Mi"},
		{"hugepages-32Mi", "32Mi pages", "32Mi"},
		{"hugepages-1Gi", "1Gi pages", "1Gi"},
		{"a.com/fpga", "fpga", "fpga"},
		{"a.com/nic", "a.com/nic", "a.com/nic"},
		{"b.com/nic", "b.com/nic", "b.com/nic"},
	};
	struct world *w = *state;

	observation_of_kubelet("hugepages", "0", holdings, ARRAY_SIZE(holdings), &w->o);
	look(w);
	assert_int_equal(w->v.n_resources, ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		test_assert_text("name", w->v.resources[i].name, want[i][0]);
		test_assert_text("label", w->v.resources[i].label, want[i][1]);
		test_assert_text("short label", w->v.resources[i].short_label, want[i][2]);
	}
}

static void holders_are_pods_with_letters(void **state)
{
	static const char *const want[][2] = {
		{"telecom/upf-0 (upf)",
			"8 CPUs 1-4,49-52; memory 16Gi on node 0; hugepages-2Mi 512Mi on node 0; "
			"2 vendor.com/nic on node 0"},
		{"prod/postgres-0 (exporter, postgres)", "8 CPUs 6-9,54-57; memory 20.5Gi on node 1"},
		{"ai/train-7f9c (worker)",
			"24 CPUs 12-23,60-71; memory 56Gi on nodes 2-3; 2 vendor.com/gpu on node 2; "
			"spans-necessary: larger than a NUMA node"},
		{"telecom/upf-1 (upf)",
			"8 CPUs 25-28,73-76; memory 16Gi on node 4; hugepages-2Mi 1Gi on node 4; "
			"1 vendor.com/nic on node 4"},
		{"pod 5a9c41d7 (main)", "4 CPUs 37-38,85-86; memory 2.5Gi on node 6"},
	};
	struct world *w = *state;

	observation_of_picture(&w->o);
	look(w);
	assert_int_equal(w->v.n_holders, ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		assert_int_equal(w->v.holders[i].key, 'A' + (int)i);
		test_assert_text("name", w->v.holders[i].name, want[i][0]);
		test_assert_text("holds", w->v.holders[i].holds, want[i][1]);
	}
}

static void claims_are_holders_too(void **state)
{
	static const struct holding holdings[] = {{.uid = "1", .container = "c", .cpus = "1-2"}};
	struct world *w = *state;
	struct claim *c;

	observation_of_kubelet("cxl", "0", holdings, ARRAY_SIZE(holdings), &w->o);
	c = test_add_claim(&w->o.node.claims, "dra.cpu", "u", "3-4", "memory", 1 << 30, 1);
	free(c->name);
	free(c->namespace);
	c->name = strdup("cpus");
	c->namespace = strdup("team");
	claim_add_pod(c, "team", "web");
	claim_add_pod(c, "team", "db");
	strv_push(&c->devices, "n/numa0");
	strv_push(&c->devices, "n/numa1");
	test_add_claim(&w->o.node.claims, "dra.k8s.io/cpu", "5a9c41d7-53c8", "5", NULL, 0, 0);
	look(w);
	assert_int_equal(w->v.n_holders, 3);
	test_assert_text(
		"name", w->v.holders[1].name, "claim team/cpus (dra.cpu, pod team/web, pod team/db)");
	test_assert_text(
		"holds", w->v.holders[1].holds, "2 CPUs 3-4; memory 1Gi on node 1; device n/numa0, n/numa1");
	test_assert_text("name", w->v.holders[2].name, "claim 5a9c41d7 (dra.k8s.io/cpu)");
	assert_int_equal(w->v.holders[2].key, 'C');
}

/* An init container's CPUs and devices go to the containers after it; a pod that holds nothing is none. */
static void what_containers_of_a_pod_share_counts_once(void **state)
{
	static const struct holding holdings[] = {
		{.uid = "1",
			.container = "init",
			.cpus = "1-2",
			.resource = "v/d",
			.ids = {"b", "a"},
			.near = "0"},
		{.uid = "1",
			.container = "main",
			.cpus = "1-3",
			.resource = "v/d",
			.ids = {"b", "c"},
			.near = "0"},
		{.uid = "2", .container = "idle"},
		{.uid = "3", .container = "far", .resource = "v/d", .ids = {"d"}, .near = "0-1"},
		{.uid = "4", .container = "none", .resource = "v/d", .ids = {"e"}},
	};
	struct world *w = *state;

	observation_of_kubelet("cxl", "0", holdings, ARRAY_SIZE(holdings), &w->o);
	look(w);
	assert_int_equal(w->v.n_holders, 3);
	test_assert_text("holds", w->v.holders[0].holds, "3 CPUs 1-3; 3 v/d on node 0");
	test_assert_text("name", w->v.holders[0].name, "pod 1 (init, main)");
	test_assert_text("holds", w->v.holders[1].holds, "1 v/d on nodes 0-1");
	test_assert_text("holds", w->v.holders[2].holds, "1 v/d; unknown: the NUMA nodes of v/d are unknown");
	assert_amounts(&w->v, 0, "v/d", "4 held");
	/* A device near two nodes is on both, as in the zones. */
	assert_int_equal(w->v.nodes[0].devices[resource(&w->v, "v/d")].n_holders, 4);
	assert_int_equal(w->v.nodes[1].devices[resource(&w->v, "v/d")].n_holders, 1);
	assert_cpus(&w->v, 0, "#AAA....");
}

static void letters_run_out(void **state)
{
	static struct holding holdings[70];
	static char texts[70][2][16];
	struct world *w = *state;

	for (unsigned i = 0; i < ARRAY_SIZE(holdings); i++) {
		snprintf(texts[i][0], sizeof(texts[i][0]), "%03u", 999 - i);
		snprintf(texts[i][1], sizeof(texts[i][1]), "%u", i + 1);
		holdings[i] = (struct holding){.uid = texts[i][0], .cpus = texts[i][1]};
	}
	observation_of_kubelet("2s-snc4", "0", holdings, ARRAY_SIZE(holdings), &w->o);
	look(w);
	assert_int_equal(w->v.n_holders, 70);
	assert_int_equal(w->v.holders[0].key, 'A');
	assert_int_equal(w->v.holders[61].key, '9');
	assert_int_equal(w->v.holders[62].key, SHOW_KEY_MORE);
	test_assert_text("name", w->v.holders[69].name, "pod 930");
}

static void without_kubelet_use_is_unknown(void **state)
{
	struct world *w = *state;

	observation_of_machine("offline", &w->o);
	look(w);
	assert_null(w->v.reserved);
	test_assert_text("offline", w->v.offline, "3,12-13");
	assert_int_equal(w->v.n_offline, 3);
	assert_true(w->v.states[SHOW_OFFLINE]);
	/* The kernel calls the socket of the first CPUs 1. */
	test_assert_text("first socket", w->v.groups[0].title, "socket L#0 (P#1)");
	test_assert_text("second socket", w->v.groups[1].title, "socket L#1 (P#0)");
	assert_int_equal(w->v.nodes[1].id, 1);
	assert_cpus(&w->v, 1, "??????");
}

static void policy_none_shares_every_cpu(void **state)
{
	struct world *w = *state;

	observation_of_machine("one-node", &w->o);
	w->o.node.settings.cpu_manager = CPU_MANAGER_NONE;
	look(w);
	assert_cpus(&w->v, 0, "........");
	assert_int_equal(w->v.n_distances, 0);
}

static void nodes_without_socket_come_last(void **state)
{
	struct world *w = *state;
	char text[SHOW_AMOUNTS_SIZE];

	observation_of_machine("cxl", &w->o);
	look(w);
	assert_int_equal(w->v.n_groups, 3);
	test_assert_text("title", w->v.groups[2].title, "no socket");
	assert_int_equal(w->v.nodes[2].id, 2);
	show_cpus_text(&w->v, &w->v.nodes[2], false, text);
	test_assert_text("CPUs", text, "no CPUs");
	assert_amounts(&w->v, 2, "hugepages-2Mi", "none");
}

/* A node over two sockets, and CPUs outside every node. */
static void odd_machines_have_their_groups(void **state)
{
	const struct synthetic shape = {
		.sockets = 2, .numas = 1, .uncores = 1, .cores = 4, .threads = 1, .memory_bytes = 1u << 30};
	CLEANUP(strbuf_release) struct strbuf svg = STRBUF_INIT(1 << 20);
	struct world *w = *state;
	struct machine *m = &w->o.node.machine;

	synthetic_machine(&shape, m);
	assert_int_equal(m->n_nodes, 2);
	assert_int_equal(hwloc_bitmap_clr_range(m->nodes[1].cpus, 0, -1), 0);
	assert_int_equal(hwloc_bitmap_set_range(m->nodes[0].cpus, 2, 5), 0);
	assert_int_equal(hwloc_bitmap_clr_range(m->nodes[0].cpus, 0, 1), 0);
	machine_derive(m);
	w->o.node.node_name = strdup("odd");
	look(w);
	assert_int_equal(w->v.n_groups, 2);
	test_assert_text("title", w->v.groups[0].title, "sockets 0-1");
	assert_int_equal(w->v.groups[0].n_nodes, 2);
	test_assert_text("node", w->v.nodes[0].cpu_list, "2-5");
	assert_int_equal(w->v.nodes[1].id, MACHINE_NONE);
	test_assert_text("homeless", w->v.nodes[1].cpu_list, "0-1,6-7");
	test_assert_text("title", w->v.groups[1].title, "no socket");
	assert_int_equal(show_svg(&w->v, SHOW_SVG_WIDTH, &svg), 0);
	assert_non_null(strstr(svg.text, " NUMA node 0:"));
	assert_null(strstr(svg.text, "NUMA node -1"));
}

static void sockets_with_gaps_have_both_numbers(void **state)
{
	struct world *w = *state;
	struct machine *m = &w->o.node.machine;
	const struct synthetic shape = {
		.sockets = 2, .numas = 1, .uncores = 1, .cores = 2, .threads = 1, .memory_bytes = 1u << 30};

	synthetic_machine(&shape, m);
	m->cpus[2].socket = m->cpus[3].socket = m->sockets[1].id = m->nodes[1].socket = 36;
	w->o.node.node_name = strdup("gaps");
	look(w);
	assert_int_equal(w->v.n_groups, 2);
	test_assert_text("first", w->v.groups[0].title, "socket 0");
	test_assert_text("second", w->v.groups[1].title, "socket L#1 (P#36)");
	/* Where a socket has no CPU, lstopo's order is not known. */
	hwloc_bitmap_zero(m->nodes[0].cpus);
	m->nodes[0].socket = 40;
	look(w);
	assert_int_equal(w->v.n_groups, 2);
	test_assert_text("first", w->v.groups[0].title, "socket 36");
	test_assert_text("second", w->v.groups[1].title, "socket 40");
}

/* L3 caches that share the cores in turn: each one's CPUs are together, the first one's first. */
static void cpus_are_sorted_by_l3_cache(void **state)
{
	static const int l3_of[] = {7, 3, 7, 3};
	static const unsigned want[] = {0, 2, 1, 3};
	struct world *w = *state;
	struct machine *m = &w->o.node.machine;
	const struct synthetic shape = {
		.sockets = 1, .numas = 1, .uncores = 1, .cores = 4, .threads = 1, .memory_bytes = 1u << 30};

	synthetic_machine(&shape, m);
	w->o.node.node_name = strdup("caches");
	look(w);
	assert_false(w->v.l3_borders);
	assert_int_equal(w->v.nodes[0].cpus[3].l3, MACHINE_NONE);
	for (size_t i = 0; i < 4; i++)
		m->cpus[i].l3 = l3_of[i];
	look(w);
	assert_true(w->v.l3_borders);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(w->v.nodes[0].cpus[i].id, want[i]);
		assert_int_equal(w->v.nodes[0].cpus[i].l3, l3_of[want[i]]);
		assert_int_equal(show_is_l3_first(&w->v.nodes[0], i), i % 2 == 0);
	}
	m->cpus[1].l3 = MACHINE_NONE; /* then borders are not known */
	look(w);
	assert_false(w->v.l3_borders);
	assert_int_equal(w->v.nodes[0].cpus[1].id, 1);
}

static void amounts_are_rounded_down(void **state)
{
	static const struct {
		enum show_kind kind;
		qty_t units;
		const char *text;
	} cases[] = {
		{SHOW_BYTES, 0, "0"},
		{SHOW_BYTES, 1023, "1023"},
		{SHOW_BYTES, 1024, "1Ki"},
		{SHOW_BYTES, 1025, "1Ki"},
		{SHOW_BYTES, 1127, "1.1Ki"},
		{SHOW_BYTES, 1536, "1.5Ki"},
		{SHOW_BYTES, 32 * GIB - 1, "31.9Gi"},
		{SHOW_BYTES, 100 * GIB + GIB / 2, "100Gi"},
		{SHOW_BYTES, 1024 * GIB - 1, "1023Gi"},
		{SHOW_BYTES, 1024 * GIB, "1Ti"},
		{SHOW_BYTES, (qty_t)UINT64_MAX, "15.9Ei"},
		{SHOW_BYTES, QTY_MAX / QTY_UNIT, "15.9Ei"},
		{SHOW_CPUS, 12, "12"},
		{SHOW_DEVICES, 8, "8"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[SHOW_AMOUNT_SIZE];

		show_amount_text(cases[i].kind, cases[i].units * QTY_UNIT, text);
		test_assert_text("amount", text, cases[i].text);
	}
}

static void assert_violated(const struct inventory_amount *amount, size_t width)
{
	struct show_bar bar = show_bar(amount, width);

	assert_true(bar.reserved <= width && bar.held <= width && bar.free <= width);
	assert_int_equal(bar.reserved + bar.held + bar.free, amount->capacity > 0 ? width : 0);
	if (width < 3 || amount->capacity <= 0)
		return;
	assert_int_equal(bar.reserved > 0, amount->capacity > amount->allocatable);
	assert_int_equal(bar.held > 0, amount->allocatable > amount->available);
	assert_int_equal(bar.free > 0, amount->available > 0);
}

static void bars_hide_no_part(void **state)
{
	uint64_t random = test_seed(20261122);

	(void)state;
	for (int n = 0; n < 20000; n++) {
		uint64_t capacity = test_random(&random) % 1000;
		uint64_t allocatable = capacity > 0 ? test_random(&random) % (capacity + 1) : 0;
		uint64_t available = allocatable > 0 ? test_random(&random) % (allocatable + 1) : 0;
		const struct inventory_amount amount = {.present = true,
			.capacity = (qty_t)capacity,
			.allocatable = (qty_t)allocatable,
			.available = (qty_t)available};

		assert_violated(&amount, test_random(&random) % 60);
	}
}

/* Objects of other exporters, and broken ones. */
static void bars_of_any_amounts_have_their_width(void **state)
{
	static const qty_t some[] = {-QTY_MAX, -QTY_UNIT, -1, 0, 1, QTY_UNIT, 100 * QTY_UNIT, QTY_MAX};
	const size_t n = ARRAY_SIZE(some);

	(void)state;
	for (size_t i = 0; i < n * n * n; i++) {
		const struct inventory_amount amount = {.present = true,
			.capacity = some[i % n],
			.allocatable = some[i / n % n],
			.available = some[i / n / n]};

		for (size_t width = 0; width < 60; width++)
			assert_violated(&amount, width);
	}
}

static void heat_has_its_ends(void **state)
{
	static const unsigned distances[] = {10, 12, 0, 10};
	struct show_view v = {.distances = distances, .n_distances = 2};
	struct show_heat heat = show_heat(&v);

	(void)state;
	assert_int_equal(heat.min, 10);
	assert_int_equal(heat.max, 12);
	assert_int_equal(show_heat_level(&heat, 10), 0);
	assert_int_equal(show_heat_level(&heat, 12), SHOW_HEAT_LEVELS - 1);
	heat.max = 254;
	assert_int_equal(show_heat_level(&heat, 11), 1);
	assert_int_equal(show_heat_level(&heat, 254), SHOW_HEAT_LEVELS - 1);
	heat.max = 10;
	assert_int_equal(show_heat_level(&heat, 10), 0);
	assert_int_equal(show_block_distance(&v, 1, 0, 1), 12);
	assert_int_equal(show_block_distance(&v, 1, 1, 0), 0);
	assert_int_equal(show_block_distance(&v, 2, 0, 0), 0);
}

/* ---- PCIe roots */

static void add_address(struct node_state *node, const char *resource, const char *id, const char *address)
{
	struct pci_address parsed;

	assert_non_null(pci_address_parse(address, &parsed));
	device_addresses_add(&node->device_addresses, resource, id, &parsed);
	device_addresses_sort(&node->device_addresses);
}

static void register_device(
	struct node_state *node, const char *resource, const char *id, const char *address)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = cpuset_new();
	struct allocations *a = &node->allocations;

	a->registered_known = true;
	device_blocks_add(&a->registered, &a->n_registered, &a->registered_size, resource, nodes, false, id);
	add_address(node, resource, id, address);
}

/* Which GPUs and NICs are near which cores, and who has them. */
static void roots_have_their_devices(void **state)
{
	static const struct holding holdings[] = {
		{.uid = "1",
			.namespace = "ml",
			.pod = "a",
			.container = "c",
			.cpus = "1-2",
			.resource = "v.com/gpu",
			.ids = {"GPU-b"},
			.near = "0"},
		{.uid = "2",
			.namespace = "ml",
			.pod = "b",
			.container = "c",
			.cpus = "9",
			.resource = "v.com/vf",
			.ids = {"vf-1"},
			.near = "1"},
	};
	static const char *const want[][2] = {
		{"pci0000:16  NUMA 0  CPUs 0-7",
			"GPU 0000:17:00.0 free, NIC 0000:18:00.0 ens1np0 mlx5_0 held by C"},
		{"pci0000:30  NUMA 0  CPUs 0-7", "GPU 0000:31:00.0 held by A, NVMe 0000:32:00.0 nvme0"},
		{"pci0000:97  NUMA 1  CPUs 8-15",
			"GPU 0000:98:00.0, NIC 0000:99:00.0 ens2f0, vf: 1 of 2 virtual functions free"},
		{"pci0000:b0  NUMA 1  CPUs 8-15", "accelerator 0000:b1:00.0, NVMe 10000:01:00.0 nvme1"},
		{"pci0000:fe  NUMA node unknown", "NIC 0000:fe:00.0 ens9"},
	};
	struct world *w = *state;
	struct node_state *node = &w->o.node;
	struct claim *c;

	observation_of_kubelet("gpus", "0", holdings, ARRAY_SIZE(holdings), &w->o);
	register_device(node, "v.com/gpu", "GPU-a", "0000:17:00.0");
	register_device(node, "v.com/gpu", "GPU-b", "0000:31:00.0");
	register_device(node, "v.com/vf", "vf-0", "0000:99:00.2");
	register_device(node, "v.com/vf", "vf-1", "0000:99:00.3");
	c = test_add_claim(&node->claims, "dra.net", "u", "", NULL, 0, 0);
	claim_add_address(c, &node->machine.pci.items[1].address);
	look(w);
	assert_true(w->v.pci_known);
	assert_int_equal(w->v.n_roots, ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		CLEANUP(strbuf_release) struct strbuf title = STRBUF_INIT(4096);
		CLEANUP(strbuf_release) struct strbuf devices = STRBUF_INIT(4096);

		show_root_title(&w->v.roots[i], &title);
		show_root_text(&w->v, &w->v.roots[i], &devices);
		test_assert_text("root", title.text, want[i][0]);
		test_assert_text(want[i][0], devices.text, want[i][1]);
	}
	/* Without the pods it is unknown which devices are free. */
	node->allocations.devices_known = false;
	look(w);
	{
		CLEANUP(strbuf_release) struct strbuf devices = STRBUF_INIT(4096);

		show_root_text(&w->v, &w->v.roots[0], &devices);
		test_assert_text("unknown", devices.text,
			"GPU 0000:17:00.0, NIC 0000:18:00.0 ens1np0 mlx5_0 held by C");
	}
}

static void a_document_has_the_roots(void **state)
{
	struct world *w = *state;
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	CLEANUP(doc_release) struct doc without = DOC_INIT;
	const struct doc *roots, *root, *device;

	observation_of_machine("gpus", &w->o);
	look(w);
	show_doc(&w->v, &doc);
	roots = doc_get(&doc, "pcieRoots");
	assert_int_equal(roots->kind, DOC_LIST);
	root = &roots->items[0];
	test_assert_text("root", doc_string(doc_get(root, "root")), "pci0000:16");
	test_assert_text("NUMA node", doc_get(root, "numaNode")->text, "0");
	test_assert_text("CPUs", doc_string(doc_get(root, "cpus")), "0-7");
	device = &doc_get(root, "devices")->items[1];
	test_assert_text("kind", doc_string(doc_get(device, "kind")), "NIC");
	test_assert_text("name", doc_string(&doc_get(device, "names")->items[1]), "mlx5_0");
	assert_int_equal(doc_get(device, "use")->kind, DOC_NULL);
	observation_release(&w->o);
	observation_of_machine("one-node", &w->o);
	look(w);
	show_doc(&w->v, &without);
	assert_int_equal(doc_get(&without, "pcieRoots")->kind, DOC_NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_machine_under_a_kubelet, setup, teardown),
		cmocka_unit_test_setup_teardown(
			resources_come_in_order_and_have_short_names, setup, teardown),
		cmocka_unit_test_setup_teardown(holders_are_pods_with_letters, setup, teardown),
		cmocka_unit_test_setup_teardown(claims_are_holders_too, setup, teardown),
		cmocka_unit_test_setup_teardown(what_containers_of_a_pod_share_counts_once, setup, teardown),
		cmocka_unit_test_setup_teardown(letters_run_out, setup, teardown),
		cmocka_unit_test_setup_teardown(without_kubelet_use_is_unknown, setup, teardown),
		cmocka_unit_test_setup_teardown(policy_none_shares_every_cpu, setup, teardown),
		cmocka_unit_test_setup_teardown(nodes_without_socket_come_last, setup, teardown),
		cmocka_unit_test_setup_teardown(odd_machines_have_their_groups, setup, teardown),
		cmocka_unit_test_setup_teardown(sockets_with_gaps_have_both_numbers, setup, teardown),
		cmocka_unit_test_setup_teardown(cpus_are_sorted_by_l3_cache, setup, teardown),
		cmocka_unit_test(amounts_are_rounded_down),
		cmocka_unit_test(bars_hide_no_part),
		cmocka_unit_test(bars_of_any_amounts_have_their_width),
		cmocka_unit_test(heat_has_its_ends),
		cmocka_unit_test_setup_teardown(roots_have_their_devices, setup, teardown),
		cmocka_unit_test_setup_teardown(a_document_has_the_roots, setup, teardown),
	};

	return cmocka_run_group_tests_name("show", tests, NULL, NULL);
}
