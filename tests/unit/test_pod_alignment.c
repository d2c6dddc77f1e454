/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/node/pod_alignment.h"

#include <glob.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "scoring/node/manager_state.h"
#include "scoring/node/node_admission.h"
#include "scoring/node/pci_pair.h"
#include "scoring/node/projected_state.h"
#include "tests/lib/observations.h"
#include "tests/lib/pods.h"
#include "tests/lib/sysfs.h"
#include "tests/lib/test.h"

#define GIB (1ull << 30)

/* ---- machines with planted misalignments */

struct expected {
	const char *uid;
	enum alignment alignment;
	const char *reason;
	enum sharing core, l3;
};

struct planted {
	const char *machine, *reserved;
	enum topology_manager_scope scope;
	struct holding holdings[8];
	struct expected want[8]; /* one per pod */
};

static const struct planted planted[] = {
	{"seed-2s-32cpu", "0-1", TOPOLOGY_SCOPE_CONTAINER,
		{{.uid = "aligned", .cpus = "2-5", .nodes = "0", .memory = GIB},
			{.uid = "avoidable", .cpus = "6-7,16-17", .nodes = "0"},
			{.uid = "half-core", .cpus = "20", .nodes = "1"},
			{.uid = "remote",
				.cpus = "8-9",
				.nodes = "0",
				.resource = "vendor.com/nic",
				.ids = {"n1"},
				.near = "1"}},
		{{"aligned", ALIGNMENT_ALIGNED, "", SHARING_NONE, SHARING_UNKNOWN},
			{"avoidable", ALIGNMENT_SPANS_AVOIDABLE, "NUMA node 0 has room now", SHARING_NONE,
				SHARING_UNKNOWN},
			{"half-core", ALIGNMENT_ALIGNED, "", SHARING_OTHERS, SHARING_UNKNOWN},
			{"remote", ALIGNMENT_REMOTE, "CPUs on NUMA node 0, vendor.com/nic on 1", SHARING_NONE,
				SHARING_UNKNOWN}}},
	{"ccx", "0-1", TOPOLOGY_SCOPE_CONTAINER,
		{{.uid = "first", .cpus = "2-7", .nodes = "0"},
			{.uid = "whole-l3", .cpus = "16-23", .nodes = "1"},
			{.uid = "between", .cpus = "8-11", .nodes = "0"},
			{.uid = "full", .cpus = "12-13,26-29", .nodes = "0"},
			{.uid = "next", .cpus = "24-25,30-31", .nodes = "1"},
			{.uid = "memory", .cpus = "14-15", .nodes = "1", .memory = GIB}},
		{{"first", ALIGNMENT_ALIGNED, "", SHARING_NONE, SHARING_OTHERS},
			{"whole-l3", ALIGNMENT_ALIGNED, "", SHARING_NONE, SHARING_NONE},
			{"between", ALIGNMENT_ALIGNED, "", SHARING_NONE, SHARING_OTHERS},
			{"full", ALIGNMENT_SPANS, "no NUMA node has room now", SHARING_NONE, SHARING_OTHERS},
			{"next", ALIGNMENT_ALIGNED, "", SHARING_NONE, SHARING_OTHERS},
			{"memory", ALIGNMENT_REMOTE, "CPUs on NUMA node 0, memory on 1", SHARING_NONE,
				SHARING_OTHERS}}},
	{"2s-snc4", "0,48", TOPOLOGY_SCOPE_CONTAINER,
		{{.uid = "large", .cpus = "6-13,54-61", .nodes = "1"},
			{.uid = "near-two",
				.cpus = "20-21,68-69",
				.nodes = "3",
				.resource = "vendor.com/nic",
				.ids = {"n34"},
				.near = "3-4"},
			{.uid = "far-gpu",
				.cpus = "24-25,72-73",
				.nodes = "4",
				.resource = "vendor.com/gpu",
				.ids = {"g7"},
				.near = "7"},
			{.uid = "no-affinity",
				.cpus = "30,78",
				.nodes = "5",
				.resource = "vendor.com/key",
				.ids = {"k"},
				.near = ""},
			{.uid = "large-memory", .cpus = "42,90", .nodes = "6-7", .memory = 40 * GIB}},
		{{"large", ALIGNMENT_SPANS_NECESSARY, "larger than a NUMA node", SHARING_NONE,
			 SHARING_UNKNOWN},
			{"near-two", ALIGNMENT_ALIGNED, "", SHARING_NONE, SHARING_UNKNOWN},
			{"far-gpu", ALIGNMENT_REMOTE, "CPUs on NUMA node 4, vendor.com/gpu on 7",
				SHARING_NONE, SHARING_UNKNOWN},
			{"no-affinity", ALIGNMENT_ALIGNED, "", SHARING_NONE, SHARING_UNKNOWN},
			{"large-memory", ALIGNMENT_SPANS_NECESSARY, "larger than a NUMA node", SHARING_NONE,
				SHARING_UNKNOWN}}},
	{"holes", "0-3", TOPOLOGY_SCOPE_POD,
		{{.uid = "two", .container = "a", .cpus = "8-11", .nodes = "4"},
			{.uid = "two", .container = "b", .cpus = "12-15", .nodes = "5"},
			{.uid = "wide-memory", .cpus = "16-19", .nodes = "1,16", .memory = 2 * GIB}},
		{{"two", ALIGNMENT_SPANS_NECESSARY, "larger than a NUMA node", SHARING_NONE, SHARING_UNKNOWN},
			{"wide-memory", ALIGNMENT_SPANS_AVOIDABLE, "NUMA node 1 has room now", SHARING_NONE,
				SHARING_UNKNOWN}}},
	{"interleaved", "0", TOPOLOGY_SCOPE_CONTAINER,
		{{.uid = "containers", .container = "a", .cpus = "1,5", .nodes = "1"},
			{.uid = "containers", .container = "b", .cpus = "2,6", .nodes = "2"},
			{.uid = "worst", .container = "a", .cpus = "9", .nodes = "1"},
			{.uid = "worst", .container = "b", .cpus = "10,11", .nodes = "2"},
			{.uid = "no-report",
				.cpus = "3",
				.nodes = "3",
				.resource = "vendor.com/odd",
				.ids = {"o"}},
			{.uid = "rows", .cpus = "4,5,6,7", .nodes = "0"}},
		{{"containers", ALIGNMENT_ALIGNED, "", SHARING_NONE, SHARING_UNKNOWN},
			{"worst", ALIGNMENT_SPANS_AVOIDABLE, "NUMA node 0 has room now", SHARING_NONE,
				SHARING_UNKNOWN},
			{"no-report", ALIGNMENT_UNKNOWN, "the NUMA nodes of vendor.com/odd are unknown",
				SHARING_NONE, SHARING_UNKNOWN},
			{"rows", ALIGNMENT_SPANS_AVOIDABLE, "NUMA node 0 has room now", SHARING_NONE,
				SHARING_UNKNOWN}}},
};

/* Registers two free devices of these resources near each NUMA node with CPUs, and the held devices. */
static void register_devices(struct node_state *state)
{
	static const char *const resources[] = {"vendor.com/nic", "vendor.com/gpu"};
	struct allocations *a = &state->allocations;

	a->registered_known = true;
	for (size_t i = 0; i < a->n_items; i++)
		for (size_t d = 0; d < a->items[i].n_devices; d++) {
			const struct device_block *b = &a->items[i].devices[d];

			device_blocks_add(&a->registered, &a->n_registered, &a->registered_size, b->resource,
				b->nodes, b->nodes_unknown, b->ids.items[0]);
		}
	for (size_t r = 0; r < ARRAY_SIZE(resources); r++)
		for (size_t n = 0; n < state->machine.n_nodes; n++)
			for (unsigned k = 0; k < 2; k++) {
				CLEANUP(cpuset_freep) hwloc_bitmap_t near = cpuset_new();
				char id[32];

				if (hwloc_bitmap_iszero(state->machine.nodes[n].cpus))
					continue;
				snprintf(id, sizeof(id), "free-%zu-%u", n, k);
				cpuset_set(near, state->machine.nodes[n].id);
				device_blocks_add(&a->registered, &a->n_registered, &a->registered_size,
					resources[r], near, false, id);
			}
}

static const struct pod_alignment *find_pod(const struct pod_alignments *all, const char *uid)
{
	size_t i = 0;

	while (i < all->n_items && strcmp(all->items[i].items->pod_uid, uid) != 0)
		i++;
	if (i == all->n_items)
		fail_msg("pod '%s' is missing", uid);
	return &all->items[i];
}

static void every_planted_misalignment_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(planted); i++) {
		CLEANUP(observation_release) struct observation o;
		CLEANUP(pod_alignments_release) struct pod_alignments all = {0};
		size_t n_holdings = 0, n_pods = 0;

		observation_init(&o);
		while (n_holdings < 8 && planted[i].holdings[n_holdings].uid)
			n_holdings++;
		observation_of_kubelet(
			planted[i].machine, planted[i].reserved, planted[i].holdings, n_holdings, &o);
		o.node.settings.cpu_options.full_pcpus_only = false;
		o.node.settings.topology.scope = planted[i].scope;
		register_devices(&o.node);
		pod_alignments_find(&o.node, &all);
		for (; n_pods < 8 && planted[i].want[n_pods].uid; n_pods++) {
			const struct expected *want = &planted[i].want[n_pods];
			const struct pod_alignment *got = find_pod(&all, want->uid);

			if (got->alignment != want->alignment ||
				strcmp(got->reason.text, want->reason) != 0 ||
				got->core.sharing != want->core || got->l3.sharing != want->l3)
				fail_msg("%s, %s: %s (%s), core %u, L3 %u", planted[i].machine, want->uid,
					alignment_names[got->alignment], got->reason.text, got->core.sharing,
					got->l3.sharing);
		}
		assert_int_equal(all.n_items, n_pods);
	}
}

/* ---- who shares hardware */

static void assert_shared(
	const struct shared_hardware *h, const struct pod_alignments *all, const char *want, bool pool)
{
	CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(256);

	for (int i = h->pods ? hwloc_bitmap_first(h->pods) : -1; i >= 0; i = hwloc_bitmap_next(h->pods, i))
		strbuf_addf(&got, "%s%s", got.len > 0 ? "," : "", all->items[i].items->pod_uid);
	test_assert_text("pods", got.len > 0 ? got.text : "", want);
	assert_int_equal(h->pool, pool);
}

/* Machine ccx has two CPUs per core and eight per L3 cache. */
static void the_pods_that_share_hardware_are_found(void **state)
{
	static const struct holding holdings[] = {{.uid = "a", .cpus = "2-4", .nodes = "0"},
		{.uid = "b", .cpus = "5,8-15", .nodes = "0"}, {.uid = "c", .cpus = "6", .nodes = "0"},
		{.uid = "d", .cpus = "16-23", .nodes = "1"}};
	CLEANUP(observation_release) struct observation o;
	CLEANUP(pod_alignments_release) struct pod_alignments all = {0};

	(void)state;
	observation_init(&o);
	observation_of_kubelet("ccx", "0-1", holdings, ARRAY_SIZE(holdings), &o);
	pod_alignments_find(&o.node, &all);
	assert_shared(&find_pod(&all, "a")->core, &all, "b", false);
	assert_shared(&find_pod(&all, "a")->l3, &all, "b,c", true);
	assert_shared(&find_pod(&all, "b")->core, &all, "a", false);
	assert_shared(&find_pod(&all, "b")->l3, &all, "a,c", true);
	assert_shared(&find_pod(&all, "c")->core, &all, "", true);
	assert_shared(&find_pod(&all, "d")->core, &all, "", false);
	assert_shared(&find_pod(&all, "d")->l3, &all, "", false);
}

/* ---- what a pod holds in all */

static void amounts_are_those_of_all_containers(void **state)
{
	static const struct holding holdings[] = {
		{.uid = "u",
			.container = "init",
			.cpus = "2-5",
			.nodes = "0",
			.memory = GIB,
			.resource = "vendor.com/nic",
			.ids = {"a", "b"},
			.near = "0"},
		{.uid = "u",
			.container = "app",
			.cpus = "2-3",
			.nodes = "0-1",
			.memory = 2 * GIB,
			.resource = "vendor.com/nic",
			.ids = {"b", "c"},
			.near = "1"},
	};
	CLEANUP(observation_release) struct observation o;
	CLEANUP(pod_alignments_release) struct pod_alignments all = {0};
	CLEANUP(freep) char *cpus = NULL, *memory = NULL, *devices = NULL;

	(void)state;
	observation_init(&o);
	observation_of_kubelet("seed-2s-32cpu", "0-1", holdings, 2, &o);
	pod_alignments_find(&o.node, &all);
	assert_int_equal(all.n_items, 1);
	cpus = cpuset_print(all.items[0].cpus);
	memory = cpuset_print(all.items[0].memory_nodes);
	devices = cpuset_print(all.items[0].device_nodes);
	test_assert_text("CPUs", cpus, "2-5");
	test_assert_text("memory", memory, "0-1");
	test_assert_text("devices", devices, "0-1");
	assert_int_equal(all.items[0].memory_bytes, 3 * GIB);
	assert_int_equal(all.items[0].n_devices, 3);
	assert_int_equal(all.items[0].alignment, ALIGNMENT_REMOTE);
}

/* ---- claims of DRA drivers */

static void add_claim(struct node_state *s, const char *name, const char *cpus, const char *device)
{
	struct claim c = {0};

	claim_init(&c, "dra.example.com", "", "ns", name);
	claim_add_pod(&c, "ns", name);
	if (cpus) {
		cpuset_freep(&c.cpus);
		assert_int_equal(cpuset_parse(cpus, &c.cpus, NULL), 0);
	}
	if (device)
		claim_add_device(&c, "pool", device, "");
	claims_append(&s->claims, &c);
}

static void claims_count(void **state)
{
	static const struct holding holdings[] = {
		{.uid = "u1", .namespace = "ns", .pod = "gpu", .cpus = "2-3", .nodes = "0"},
		{.uid = "u2", .namespace = "ns", .pod = "cpus", .cpus = "4-5", .nodes = "0"},
	};
	static const struct {
		enum alignment alignment;
		const char *reason;
	} want[] = {
		{ALIGNMENT_UNKNOWN,
			"the NUMA nodes of the devices of DRA driver dra.example.com are unknown"},
		{ALIGNMENT_SPANS, "whether one NUMA node has room for the claims is unknown"},
		{ALIGNMENT_ALIGNED, ""},
	};
	CLEANUP(observation_release) struct observation o;
	CLEANUP(pod_alignments_release) struct pod_alignments all = {0};

	(void)state;
	observation_init(&o);
	observation_of_kubelet("seed-2s-32cpu", "0-1", holdings, 2, &o);
	add_claim(&o.node, "gpu", NULL, "gpu-0");
	add_claim(&o.node, "cpus", "16-17", "cpu-16");
	add_claim(&o.node, "alone", "18-19", NULL);
	pod_alignments_find(&o.node, &all);
	assert_int_equal(all.n_items, ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		assert_int_equal(all.items[i].alignment, want[i].alignment);
		test_assert_text("reason", all.items[i].reason.text, want[i].reason);
	}
	test_assert_text("the pod without allocations", all.items[2].ref->name, "alone");
	assert_int_equal(all.items[0].n_claim_devices, 1);
	assert_int_equal(all.items[1].n_claim_devices, 0);
}

/* The PCI address of a claim's device has its NUMA node and its root. */
static void claims_with_pci_addresses_have_numa_nodes(void **state)
{
	static const struct holding holdings[] = {
		{.uid = "u1", .namespace = "ns", .pod = "near", .cpus = "1-2", .nodes = "0"},
		{.uid = "u2", .namespace = "ns", .pod = "far", .cpus = "3-4", .nodes = "0"},
		{.uid = "u3", .namespace = "ns", .pod = "part", .cpus = "5", .nodes = "0"},
		{.uid = "u4",
			.namespace = "ns",
			.pod = "plugin",
			.cpus = "6",
			.nodes = "0",
			.resource = "v.com/vf",
			.ids = {"vf"},
			.near = "0"},
	};
	static const struct {
		enum alignment alignment;
		const char *reason, *nodes;
		bool unplaced;
		const char *roots[2];
	} want[] = {
		{ALIGNMENT_ALIGNED, "", "0", false, {"pci0000:16", "pci0000:30"}},
		{ALIGNMENT_REMOTE, "CPUs on NUMA node 0, a claim's device on 1", "1", false, {"pci0000:97"}},
		{ALIGNMENT_UNKNOWN, "the NUMA nodes of the devices of DRA driver dra.example.com are unknown",
			"", true, {"pci0000:fe"}},
		{ALIGNMENT_ALIGNED, "", "0", false, {"pci0000:97"}},
	};
	CLEANUP(observation_release) struct observation o;
	CLEANUP(pod_alignments_release) struct pod_alignments all = {0};
	struct claim *claims;

	(void)state;
	observation_init(&o);
	observation_of_kubelet("gpus", "0", holdings, ARRAY_SIZE(holdings), &o);
	add_claim(&o.node, "near", NULL, "gpu-0");
	add_claim(&o.node, "far", NULL, "gpu-1");
	add_claim(&o.node, "part", NULL, "nic-0");
	claims = o.node.claims.items;
	claim_add_device(&claims[0], "pool", "gpu-2", "");
	claim_add_address(&claims[0], &(struct pci_address){0, 0x31, 0});
	claim_add_address(&claims[0], &(struct pci_address){0, 0x17, 0});
	claim_add_address(&claims[1], &(struct pci_address){0, 0x98, 0});
	claim_add_address(&claims[2], &(struct pci_address){0, 0xfe, 0});
	device_addresses_add(&o.node.device_addresses, "v.com/vf", "vf", &(struct pci_address){0, 0x99, 2});
	pod_alignments_find(&o.node, &all);
	assert_int_equal(all.n_items, ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		const struct pod_alignment *p = &all.items[i];
		CLEANUP(freep) char *nodes = cpuset_print(p->device_nodes);

		assert_int_equal(p->alignment, want[i].alignment);
		test_assert_text("reason", p->reason.text, want[i].reason);
		test_assert_text("devices", nodes, want[i].nodes);
		assert_int_equal(p->is_claim_unplaced, want[i].unplaced);
		assert_int_equal(p->roots.n_items, want[i].roots[1] ? 2 : 1);
		for (size_t k = 0; k < p->roots.n_items; k++)
			test_assert_text("root", p->roots.items[k], want[i].roots[k]);
	}
}

/* ---- GPUs and NICs below different PCIe roots */

#define GPU "v.com/gpu"
#define NIC "v.com/nic"
#define ACC "v.com/accelerator"
#define KEY "v.com/key"

/* Devices of the machine gpus: root 16 has a GPU and a NIC, root 30 a GPU, root 97 a GPU and NICs, root b0 an accelerator. Each id is a
 * character. */
static const struct {
	const char *resource, *id;
	uint8_t bus, function; /* 0 = the address is unknown */
} pci_devices[] = {
	{GPU, "1", 0x17, 0},
	{GPU, "3", 0x31, 0},
	{GPU, "9", 0x98, 0},
	{GPU, "?", 0, 0},
	{NIC, "n", 0x18, 0},
	{NIC, "m", 0x99, 2},
	{NIC, "o", 0x99, 3},
	{ACC, "a", 0xb1, 0},
	{KEY, "k", 0, 0},
};

/* Adds a container with these devices. */
static void hold_devices(struct allocations *a, const char *uid, const char *container, const char *ids)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t none = cpuset_new();
	struct allocation *item = allocations_add_container(a, uid, container);

	for (size_t i = 0; i < ARRAY_SIZE(pci_devices); i++)
		if (strchr(ids, *pci_devices[i].id))
			device_blocks_add(&item->devices, &item->n_devices, &item->devices_size,
				pci_devices[i].resource, none, false, pci_devices[i].id);
}

static void a_gpu_and_a_nic_below_different_roots_are_apart(void **state)
{
	static const struct {
		const char *first, *second, *others; /* of two containers, and of another pod */
		const char *reason;                  /* "" = not apart */
	} cases[] = {
		{"1n", "", "", ""}, {"3", "", "", ""},
		{"3n", "", "", "GPU below pci0000:30, NIC below pci0000:16; one root has both free now"},
		{"3", "n", "", "GPU below pci0000:30, NIC below pci0000:16; one root has both free now"},
		{"3n", "", "9",
			"GPU below pci0000:30, NIC below pci0000:16; one root has both free now"}, /* GPU 1 and its own NIC */
		{"3n", "", "19", "GPU below pci0000:30, NIC below pci0000:16; no root has both free now"},
		{"3n", "3n", "19", "GPU below pci0000:30, NIC below pci0000:16; no root has both free now"},
		{"31n", "", "", ""}, /* one NIC is in one pair */
		{"1n3m", "", "", "GPU below pci0000:30, NIC below pci0000:97; one root has both free now"},
		{"1n9mo", "", "", ""}, {"3n?", "", "", ""}, /* the other GPU may be below root 16 */
		{"3nk", "", "", "GPU below pci0000:30, NIC below pci0000:16; one root has both free now"},
		{"am", "", "", ""}, /* no root has an accelerator and a NIC */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(observation_release) struct observation o;
		CLEANUP(cpuset_freep) hwloc_bitmap_t none = cpuset_new();
		struct allocations *a = &o.node.allocations;
		struct err reason = {""};
		bool apart;

		observation_init(&o);
		observation_of_machine("gpus", &o);
		for (size_t k = 0; k < ARRAY_SIZE(pci_devices); k++) {
			device_blocks_add(&a->registered, &a->n_registered, &a->registered_size,
				pci_devices[k].resource, none, false, pci_devices[k].id);
			if (pci_devices[k].bus)
				device_addresses_add(&o.node.device_addresses, pci_devices[k].resource,
					pci_devices[k].id,
					&(struct pci_address){
						0, pci_devices[k].bus, pci_devices[k].function});
		}
		device_addresses_sort(&o.node.device_addresses);
		hold_devices(a, "u", "first", cases[i].first);
		hold_devices(a, "u", "second", cases[i].second);
		hold_devices(a, "other", "c", cases[i].others);
		apart = pci_pair_is_apart(&o.node, a->items, 2, &reason);
		if (apart != (*cases[i].reason != '\0'))
			fail_msg("case %zu is%s apart", i, apart ? "" : " not");
		test_assert_text(cases[i].first, reason.text, cases[i].reason);
	}
}

/* ---- machines on which nothing is planted */

/* Starts pods, each where a kubelet with the policy single-numa-node puts it. Returns their number. */
static size_t start_pods(struct node_state *state, uint64_t *seed)
{
	size_t n = 0;

	for (unsigned i = 0; i < 60; i++) {
		CLEANUP(node_admission_release) struct node_admission admission = {0};
		CLEANUP(pod_request_release) struct pod_request pod;
		struct allocation held;
		struct kubelet_verdict v;
		char text[80];

		snprintf(text, sizeof(text), "app cpu=%u memory=1Mi%s", (unsigned)(test_random(seed) % 8) + 1,
			test_random(seed) % 3 ? "" : " vendor.com/nic=1");
		pod_from_text(&pod, text);
		node_admission_init(&admission, state);
		kubelet_judge(&admission.kubelet, admission.ws, &pod, QOS_GUARANTEED, &v);
		if (v.answer != KUBELET_ADMITS)
			continue;
		held = (struct allocation){0};
		admission_placed_item(&admission, &pod, &v, &held);
		snprintf(text, sizeof(text), "u%u", i);
		text_set(&held.pod_uid, text);
		assert_int_equal(
			hwloc_bitmap_andnot(state->allocations.shared, state->allocations.shared, held.cpus),
			0);
		*(struct allocation *)vec_push(&state->allocations.items, &state->allocations.n_items,
			&state->allocations.items_size, sizeof(held)) = held;
		allocations_sort(&state->allocations);
		n++;
	}
	return n;
}

/* Returns the number of pods, none of which is misaligned. */
static size_t check_aligned(const char *machine, uint64_t *seed)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(pod_alignments_release) struct pod_alignments all = {0};
	struct settings *s = &o.node.settings;
	struct allocations *a = &o.node.allocations;
	size_t n;

	observation_init(&o);
	observation_of_machine(machine, &o);
	s->cpu_manager = CPU_MANAGER_STATIC;
	s->memory_manager = MEMORY_MANAGER_NONE;
	s->topology.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	s->topology.scope = TOPOLOGY_SCOPE_CONTAINER;
	hwloc_bitmap_free(s->reserved_system_cpus);
	s->reserved_system_cpus = hwloc_bitmap_alloc();
	assert_non_null(s->reserved_system_cpus);
	assert_int_equal(hwloc_bitmap_set(s->reserved_system_cpus, o.node.machine.cpus[0].id), 0);
	a->cpus_known = a->devices_known = true;
	hwloc_bitmap_free(a->shared);
	a->shared = hwloc_bitmap_dup(o.node.machine.online);
	assert_non_null(a->shared);
	register_devices(&o.node);
	n = start_pods(&o.node, seed);
	pod_alignments_find(&o.node, &all);
	assert_int_equal(all.n_items, n);
	for (size_t i = 0; i < all.n_items; i++)
		if (all.items[i].alignment != ALIGNMENT_ALIGNED)
			fail_msg("%s: %s: %s (%s)", machine, all.items[i].items->pod_uid,
				alignment_names[all.items[i].alignment], all.items[i].reason.text);
	return n;
}

static void nothing_is_found_where_nothing_is_planted(void **state)
{
	CLEANUP(strv_release) struct strv names = {0};
	uint64_t seed = test_seed(1);
	size_t n = 0;

	(void)state;
	observation_machines(&names);
	for (size_t i = 0; i < names.n_items; i++)
		n += check_aligned(names.items[i], &seed);
	assert_true(n > 100);
}

static void nor_on_recorded_machines(void **state)
{
	uint64_t seed = test_seed(1);
	const char *folder = test_shared("machines");
	size_t n = 0;
	char pattern[512];
	glob_t g;

	(void)state;
	if (!folder)
		test_skip("no recorded machines in ../shared/machines");
	snprintf(pattern, sizeof(pattern), "%s/*.tar.bz2", folder);
	assert_int_equal(glob(pattern, 0, NULL, &g), 0);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		CLEANUP(test_rmtree) char *dir = test_tmpdir();
		char root[512];

		sysfs_unpack(g.gl_pathv[i], dir, root, sizeof(root));
		n += check_aligned(root, &seed);
	}
	print_message("%zu machines, %zu pods\n", g.gl_pathc, n);
	globfree(&g);
	assert_true(n > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_planted_misalignment_is_found),
		cmocka_unit_test(the_pods_that_share_hardware_are_found),
		cmocka_unit_test(amounts_are_those_of_all_containers),
		cmocka_unit_test(claims_count),
		cmocka_unit_test(a_gpu_and_a_nic_below_different_roots_are_apart),
		cmocka_unit_test(claims_with_pci_addresses_have_numa_nodes),
		cmocka_unit_test(nothing_is_found_where_nothing_is_planted),
		cmocka_unit_test(nor_on_recorded_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
