/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "agent/render/render.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/io/yaml.h"
#include "common/text.h"
#include "common/vec.h"
#include "scoring/node/node_derive.h"
#include "scoring/node/node_state_codec.h"
#include "tests/lib/synthetic.h"

struct world {
	struct node_state node;
	struct pod_ref pods[2]; /* the state's, while it is rendered */
	struct nrt_config config;
	struct notes notes;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	node_state_init(&w->node);
	w->config.deprecated_policies = true;
	w->node.node_name = strdup("n1");
	w->node.machine.online = hwloc_bitmap_alloc();
	w->notes = (struct notes){0};
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	node_state_release(&w->node);
	notes_release(&w->notes);
	free(w);
	return 0;
}

/* A NUMA node of two CPUs (none when first_cpu is negative). */
static void add_node(struct world *w, unsigned id, int socket, int first_cpu, uint64_t memory_bytes)
{
	char cpus[24] = "";

	if (first_cpu >= 0)
		snprintf(cpus, sizeof(cpus), "%d-%d", first_cpu, first_cpu + 1);
	machine_add_node(&w->node.machine, id, socket, cpus, memory_bytes);
}

static void render(struct world *w, struct doc *ret)
{
	inventory_release(&w->node.inventory);
	node_derive_inventory(&w->node, &w->node.inventory, NULL);
	w->node.pods = w->pods;
	nrt_render(&w->node, &w->config, ret, &w->notes);
	w->node.pods = NULL;
}

/* The value of an attribute, NULL where there is none; fails when it appears twice. */
static const char *attribute(const struct doc *object, const char *name)
{
	const struct doc *list = doc_get(object, "attributes");
	const char *value = NULL;

	assert_non_null(list);
	DOC_FOREACH (item, list)
		if (!strcmp(doc_string(doc_get(item, "name")), name)) {
			assert_null(value);
			value = doc_string(doc_get(item, "value"));
			assert_non_null(value);
		}
	return value;
}

static void the_whole_object(void **state)
{
	static const unsigned slit[] = {10, 21, 20, 10};
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1u << 16);
	struct world *w = *state;

	add_node(w, 0, 0, 0, 1u << 30);
	add_node(w, 1, 1, 2, 1000);
	w->node.machine.distances = malloc(sizeof(slit));
	memcpy(w->node.machine.distances, slit, sizeof(slit));
	w->node.settings.cpu_manager = CPU_MANAGER_STATIC;
	w->node.settings.cpu_options_text = strdup("full-pcpus-only=true");
	w->node.settings.topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
	w->node.settings.topology.scope = TOPOLOGY_SCOPE_POD;
	w->node.settings.memory_manager = MEMORY_MANAGER_STATIC;
	render(w, &object);
	assert_int_equal(yaml_print(&object, &text), 0);
	test_assert_text("object", text.text,
		"apiVersion: topology.node.k8s.io/v1alpha2\n"
		"kind: NodeResourceTopology\n"
		"metadata:\n"
		"  name: n1\n"
		"topologyPolicies:\n"
		"- RestrictedPodLevel\n"
		"- Restricted\n"
		"attributes:\n"
		"- {name: topologyManagerPolicy, value: restricted}\n"
		"- {name: topologyManagerScope, value: pod}\n"
		"- {name: cpuManagerPolicy, value: static}\n"
		"- {name: cpuManagerPolicyOptions, value: full-pcpus-only=true}\n"
		"- {name: memoryManagerPolicy, value: Static}\n"
		"- {name: nrtd.dev/content-hash, value: 5a5d9720f9968038}\n"
		"zones:\n"
		"- name: node-0\n"
		"  type: Node\n"
		"  parent: socket-0\n"
		"  attributes:\n"
		"  - {name: cpus, value: 0-1}\n"
		"  costs:\n"
		"  - {name: node-0, value: 10}\n"
		"  - {name: node-1, value: 21}\n"
		"  resources:\n"
		"  - {name: cpu, capacity: \"2\", allocatable: \"2\", available: \"2\"}\n"
		"  - {name: memory, capacity: \"1073741824\", allocatable: \"1073741824\", available: "
		"\"1073741824\"}\n"
		"- name: node-1\n"
		"  type: Node\n"
		"  parent: socket-1\n"
		"  attributes:\n"
		"  - {name: cpus, value: 2-3}\n"
		"  costs:\n"
		"  - {name: node-0, value: 20}\n"
		"  - {name: node-1, value: 10}\n"
		"  resources:\n"
		"  - {name: cpu, capacity: \"2\", allocatable: \"2\", available: \"2\"}\n"
		"  - {name: memory, capacity: 1k, allocatable: 1k, available: 1k}\n"
		"- name: socket-0\n"
		"  type: Socket\n"
		"  attributes:\n"
		"  - {name: cpus, value: 0-1}\n"
		"- name: socket-1\n"
		"  type: Socket\n"
		"  attributes:\n"
		"  - {name: cpus, value: 2-3}\n");
}

static void a_hole_is_a_zone_without_resources(void **state)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1u << 16);
	struct world *w = *state;
	const struct doc *zones;

	add_node(w, 0, MACHINE_NONE, 0, 4096);
	add_node(w, 2, MACHINE_NONE, -1, 0); /* neither CPUs nor memory */
	render(w, &object);
	zones = doc_get(&object, "zones");
	assert_int_equal(zones->n_items, 3);
	assert_int_equal(json_print_compact(&zones->items[1], &text), 0);
	test_assert_text("hole", text.text, "{\"name\":\"node-1\",\"type\":\"Node\"}");
	strbuf_reset(&text);
	assert_int_equal(json_print_compact(&zones->items[2], &text), 0);
	test_assert_text("empty node", text.text,
		"{\"name\":\"node-2\",\"type\":\"Node\",\"costs\":[{\"name\":\"node-2\",\"value\":10}],"
		"\"resources\":[]}");
	assert_int_equal(w->notes.lines.n_items, 0);
}

static void ids_above_63_are_left_out(void **state)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct world *w = *state;
	const struct doc *zones;

	add_node(w, 0, 0, 0, 4096);
	add_node(w, 63, MACHINE_NONE, -1, 4096);
	add_node(w, 64, MACHINE_NONE, -1, 4096);
	add_node(w, 255, MACHINE_NONE, -1, 4096);
	w->node.machine.distances = calloc(16, sizeof(unsigned));
	for (size_t i = 0; i < 16; i++)
		w->node.machine.distances[i] = 10;
	w->node.settings.topology.policy = TOPOLOGY_MANAGER_NONE;
	render(w, &object);
	zones = doc_get(&object, "zones");
	assert_int_equal(zones->n_items, 65); /* node-0 .. node-63 and socket-0 */
	test_assert_text("last node", doc_string(doc_get(&zones->items[63], "name")), "node-63");
	assert_int_equal(doc_get(&zones->items[0], "costs")->n_items, 2);
	assert_int_equal(w->notes.lines.n_items, 2);
	test_assert_text("max", attribute(&object, "topologyManagerMaxNUMANodes"), "64");
}

static void unknown_feature_gates_are_absent(void **state)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct world *w = *state;

	add_node(w, 0, 0, 0, 4096);
	render(w, &object);
	assert_null(doc_get(&object, "topologyPolicies"));
	assert_int_equal(doc_get(&object, "attributes")->n_items, 1);
	assert_non_null(attribute(&object, NRT_CONTENT_HASH));
}

static void every_policy_has_its_deprecated_names(void **state)
{
	static const struct {
		enum topology_manager_policy policy;
		enum topology_manager_scope scope;
		const char *want;
	} cases[] = {
		{TOPOLOGY_MANAGER_NONE, TOPOLOGY_SCOPE_CONTAINER, "[\"None\"]"},
		{TOPOLOGY_MANAGER_BEST_EFFORT, TOPOLOGY_SCOPE_CONTAINER,
			"[\"BestEffortContainerLevel\",\"BestEffort\"]"},
		{TOPOLOGY_MANAGER_BEST_EFFORT, TOPOLOGY_SCOPE_POD, "[\"BestEffortPodLevel\",\"BestEffort\"]"},
		{TOPOLOGY_MANAGER_RESTRICTED, TOPOLOGY_SCOPE_CONTAINER,
			"[\"RestrictedContainerLevel\",\"Restricted\"]"},
		{TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, TOPOLOGY_SCOPE_CONTAINER,
			"[\"SingleNUMANodeContainerLevel\"]"},
		{TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, TOPOLOGY_SCOPE_POD, "[\"SingleNUMANodePodLevel\"]"},
	};
	struct world *w = *state;

	add_node(w, 0, 0, 0, 4096);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(doc_release) struct doc object = DOC_INIT;
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1u << 16);

		w->node.settings.topology.policy = cases[i].policy;
		w->node.settings.topology.scope = cases[i].scope;
		render(w, &object);
		assert_int_equal(json_print_compact(doc_get(&object, "topologyPolicies"), &text), 0);
		test_assert_text("topologyPolicies", text.text, cases[i].want);
		test_assert_text("attribute", attribute(&object, "topologyManagerPolicy"),
			topology_manager_policy_names[cases[i].policy]);
	}
}

/* For clusters whose readers take the attributes, and log a line for the list. */
static void the_deprecated_list_may_be_left_out(void **state)
{
	struct world *w = *state;
	CLEANUP(doc_release) struct doc object = DOC_INIT;

	add_node(w, 0, 0, 0, 4096);
	w->node.settings.topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
	w->node.settings.topology.scope = TOPOLOGY_SCOPE_POD;
	w->config.deprecated_policies = false;
	render(w, &object);
	assert_null(doc_get(&object, "topologyPolicies"));
	test_assert_text("policy", attribute(&object, "topologyManagerPolicy"), "restricted");
	test_assert_text("scope", attribute(&object, "topologyManagerScope"), "pod");
}

/* The attribute is part of what the content hash is made of. */
static void the_node_state_may_be_left_out(void **state)
{
	struct world *w = *state;
	CLEANUP(doc_release) struct doc without = DOC_INIT;
	CLEANUP(doc_release) struct doc with = DOC_INIT;

	add_node(w, 0, 0, -1, 4096);
	render(w, &without);
	assert_null(attribute(&without, "nrtd.dev/node-state"));
	w->config.node_state = true;
	render(w, &with);
	test_assert_text("node state", attribute(&with, "nrtd.dev/node-state"),
		"1;cpu=?;memory=?;topology=?,?,8;ram=0;nodes=0:4k;cores=;sockets=;numa=;uncore="
		";unknown=cpus,memory,devices,registered");
	assert_string_not_equal(nrt_content_hash(&with), nrt_content_hash(&without));
}

/* A text that no reader takes is not written, and that is said. */
static void a_node_state_that_is_too_long_is_left_out(void **state)
{
	struct world *w = *state;
	CLEANUP(doc_release) struct doc object = DOC_INIT;

	w->config.node_state = true;
	add_node(w, 0, 0, -1, 4096);
	w->node.allocations.shared = hwloc_bitmap_alloc();
	hwloc_bitmap_set(w->node.allocations.shared, MACHINE_MAX_CPUS);
	render(w, &object);
	assert_null(attribute(&object, "nrtd.dev/node-state"));
	assert_non_null(nrt_content_hash(&object));
	assert_true(w->notes.lines.n_items > 0);
	assert_non_null(
		strstr(w->notes.lines.items[w->notes.lines.n_items - 1], "the node state is omitted"));
}

static void the_maximum_of_numa_nodes_is_told_when_it_is_not_8(void **state)
{
	static const struct {
		unsigned allowed, nodes;
		const char *want;
	} cases[] = {{8, 2, NULL}, {16, 2, "16"}, {8, 9, "9"}, {16, 12, "16"}, {100, 2, "50"}, {8, 60, "60"}};
	struct world *w = *state;

	w->node.settings.topology.policy = TOPOLOGY_MANAGER_BEST_EFFORT;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(doc_release) struct doc object = DOC_INIT;
		const char *got;

		machine_release(&w->node.machine);
		for (unsigned n = 0; n < cases[i].nodes; n++)
			add_node(w, n, MACHINE_NONE, (int)n * 2, 4096);
		w->node.settings.topology.max_numa_nodes = cases[i].allowed;
		render(w, &object);
		got = attribute(&object, "topologyManagerMaxNUMANodes");
		if (!cases[i].want)
			assert_null(got);
		else
			test_assert_text("max", got, cases[i].want);
	}
}

static void the_hash_follows_the_content(void **state)
{
	CLEANUP(doc_release) struct doc first = DOC_INIT, again = DOC_INIT, other = DOC_INIT;
	struct world *w = *state;

	add_node(w, 0, 0, 0, 4096);
	render(w, &first);
	render(w, &again);
	w->node.machine.nodes[0].memory_bytes = 8192;
	render(w, &other);
	assert_int_equal(strlen(attribute(&first, NRT_CONTENT_HASH)), 16);
	assert_string_equal(attribute(&first, NRT_CONTENT_HASH), attribute(&again, NRT_CONTENT_HASH));
	assert_string_not_equal(attribute(&first, NRT_CONTENT_HASH), attribute(&other, NRT_CONTENT_HASH));
}

static const char *annotation(const struct doc *object, const char *name)
{
	return doc_string(doc_get(doc_get(doc_get(object, "metadata"), "annotations"), name));
}

/* Two nodes of two CPUs; a pod of two containers, one on each node, and a pod that holds nothing. */
static void two_pods(struct world *w)
{
	static const char *const containers[] = {"a", "b"};

	add_node(w, 0, 0, 0, 4096);
	add_node(w, 1, 1, 2, 4096);
	for (unsigned id = 0; id < 4; id++) {
		struct cpu *cpu = vec_push(&w->node.machine.cpus, &w->node.machine.n_cpus,
			&w->node.machine.cpus_size, sizeof(*cpu));

		*cpu = (struct cpu){.id = id, .core = id, .socket = (int)id / 2, .l3 = MACHINE_NONE};
	}
	machine_derive(&w->node.machine);
	for (unsigned i = 0; i < 2; i++) {
		struct allocation *a = allocations_add_container(&w->node.allocations, "u1", containers[i]);

		text_set(&a->namespace, "namespace1");
		text_set(&a->pod, "pod1");
		hwloc_bitmap_set(a->cpus, i * 2);
	}
	w->pods[0] = (struct pod_ref){strdup("namespace1"), strdup("pod1"), true};
	w->pods[1] = (struct pod_ref){strdup("default"), strdup("idle"), false};
	w->node.n_pods = 2;
	w->node.pods_known = true;
	w->node.settings.memory_manager = MEMORY_MANAGER_STATIC;
	w->node.settings.topology.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
}

static void release_pods(struct world *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(w->pods); i++) {
		free(w->pods[i].namespace);
		free(w->pods[i].name);
	}
	w->node.n_pods = 0;
}

static void the_fingerprint_is_attribute_and_annotation(void **state)
{
	CLEANUP(doc_release) struct doc all = DOC_INIT, exclusive = DOC_INIT, none = DOC_INIT;
	struct world *w = *state;

	two_pods(w);
	w->config.fingerprint = FINGERPRINT_WITH_EXCLUSIVE_RESOURCES;
	render(w, &exclusive);
	test_assert_text("fingerprint", attribute(&exclusive, "nodeTopologyPodsFingerprint"),
		"pfp0v0019e0420efb37746c6");
	test_assert_text("method", attribute(&exclusive, "nodeTopologyPodsFingerprintMethod"),
		"with-exclusive-resources");
	test_assert_text("annotation", annotation(&exclusive, "topology.node.k8s.io/fingerprint"),
		"pfp0v0019e0420efb37746c6");
	w->config.fingerprint = FINGERPRINT_ALL;
	render(w, &all);
	test_assert_text("method", attribute(&all, "nodeTopologyPodsFingerprintMethod"), "all");
	assert_string_not_equal(attribute(&all, "nodeTopologyPodsFingerprint"),
		attribute(&exclusive, "nodeTopologyPodsFingerprint"));
	assert_string_not_equal(attribute(&all, NRT_CONTENT_HASH), attribute(&exclusive, NRT_CONTENT_HASH));
	w->config.fingerprint = FINGERPRINT_NONE;
	render(w, &none);
	assert_null(attribute(&none, "nodeTopologyPodsFingerprint"));
	assert_null(attribute(&none, "nodeTopologyPodsFingerprintMethod"));
	assert_null(attribute(&none, "topology.node.k8s.io/numaplacement-metadata"));
	assert_null(doc_get(doc_get(&none, "metadata"), "annotations"));
	assert_int_equal(w->notes.lines.n_items, 0);
	release_pods(w);
}

static void no_pods_differ_from_unknown_pods(void **state)
{
	CLEANUP(doc_release) struct doc known = DOC_INIT, unknown = DOC_INIT;
	struct world *w = *state;

	add_node(w, 0, 0, 0, 4096);
	w->config.fingerprint = FINGERPRINT_ALL;
	w->node.pods_known = true;
	render(w, &known);
	test_assert_text(
		"fingerprint", attribute(&known, "nodeTopologyPodsFingerprint"), "pfp0v001ef46db3751d8e999");
	assert_int_equal(w->notes.lines.n_items, 0);
	w->node.pods_known = false;
	render(w, &unknown);
	assert_null(attribute(&unknown, "nodeTopologyPodsFingerprint"));
	assert_null(attribute(&unknown, "nodeTopologyPodsFingerprintMethod"));
	assert_null(doc_get(doc_get(&unknown, "metadata"), "annotations"));
	assert_int_equal(w->notes.lines.n_items, 1);
	test_assert_text("note", w->notes.lines.items[0],
		"the pods' fingerprint is omitted: only the pod-resources API reports the pods' names");
}

static void exclusive_pods_need_the_memory_manager(void **state)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct world *w = *state;

	two_pods(w);
	w->node.settings.memory_manager = MEMORY_MANAGER_NONE;
	w->config.fingerprint = FINGERPRINT_WITH_EXCLUSIVE_RESOURCES;
	render(w, &object);
	assert_non_null(attribute(&object, "nodeTopologyPodsFingerprint"));
	assert_int_equal(w->notes.lines.n_items, 1);
	assert_non_null(strstr(w->notes.lines.items[0], "policy Static"));
	release_pods(w);
}

static const struct doc *zone_vector(const struct doc *object, size_t zone)
{
	const struct doc *list = doc_get(&doc_get(object, "zones")->items[zone], "attributes");

	DOC_FOREACH (item, list)
		if (!strcmp(doc_string(doc_get(item, "name")), "topology.node.k8s.io/numaplacement-vector"))
			return doc_get(item, "value");
	return NULL;
}

static void the_placement_is_told_under_single_numa_node(void **state)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT, restricted = DOC_INIT, broken = DOC_INIT;
	struct world *w = *state;

	two_pods(w);
	w->config.fingerprint = FINGERPRINT_ALL;
	render(w, &object);
	test_assert_text("metadata", attribute(&object, "topology.node.k8s.io/numaplacement-metadata"),
		"npv0v001::ve=leb89::cc=2::nn=2::bn=0");
	assert_null(zone_vector(&object, 0));
	assert_non_null(zone_vector(&object, 1));
	assert_int_equal(strlen(doc_string(zone_vector(&object, 1))), 1);

	w->node.settings.topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
	render(w, &restricted);
	assert_null(attribute(&restricted, "topology.node.k8s.io/numaplacement-metadata"));
	assert_null(zone_vector(&restricted, 1));
	assert_int_equal(w->notes.lines.n_items, 0);

	/* One container on both nodes: nothing of it is published, the rest is. */
	w->node.settings.topology.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	hwloc_bitmap_set(w->node.allocations.items[0].cpus, 3);
	render(w, &broken);
	assert_null(attribute(&broken, "topology.node.k8s.io/numaplacement-metadata"));
	assert_null(zone_vector(&broken, 1));
	assert_non_null(attribute(&broken, "nodeTopologyPodsFingerprint"));
	assert_int_equal(w->notes.lines.n_items, 1);
	test_assert_text("note", w->notes.lines.items[0],
		"the placement of containers is omitted: container 'a' of pod 'namespace1/pod1' holds CPUs "
		"of "
		"several NUMA nodes");
	release_pods(w);
}

/* ---- PCIe roots */

static void add_pci_device(
	struct world *w, struct pci_address address, uint8_t root, int numa, enum pci_kind kind)
{
	struct pci_devices *all = &w->node.machine.pci;
	struct pci_device *d = vec_push(&all->items, &all->n_items, &all->items_size, sizeof(*d));

	*d = (struct pci_device){
		.address = address, .root = {0, root}, .root_known = root > 0, .numa = numa, .kind = kind};
	w->node.machine.pci_known = true;
}

static void register_device(
	struct world *w, const char *resource, const char *id, const struct pci_address *address)
{
	struct allocations *a = &w->node.allocations;
	CLEANUP(cpuset_freep) hwloc_bitmap_t near = cpuset_new();

	cpuset_set(near, 0);
	a->registered_known = a->devices_known = true;
	device_blocks_add(&a->registered, &a->n_registered, &a->registered_size, resource, near, false, id);
	if (address)
		device_addresses_add(&w->node.device_addresses, resource, id, address);
	device_addresses_sort(&w->node.device_addresses);
}

/* Off by default; the zones of NUMA nodes stay as they are. */
static void roots_are_zones_behind_a_flag(void **state)
{
	static const char want[] =
		"- name: pci0000:16\n"
		"  type: PCIeRoot\n"
		"  parent: node-0\n"
		"  attributes:\n"
		"  - {name: gpus, value: '0000:17:00.0,0000:18:00.0'}\n"
		"  - {name: nics, value: '0000:19:00.0'}\n"
		"  resources:\n"
		"  - {name: v.com/gpu, capacity: \"2\", allocatable: \"2\", available: \"1\"}\n"
		"- name: pci0000:30\n"
		"  type: PCIeRoot\n"
		"  attributes:\n"
		"  - {name: nvmes, value: '0000:31:00.0'}\n"
		"  resources: []\n";
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	CLEANUP(doc_release) struct doc plain = DOC_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1u << 16);
	CLEANUP(strbuf_release) struct strbuf before = STRBUF_INIT(1u << 16);
	CLEANUP(cpuset_freep) hwloc_bitmap_t near = cpuset_new();
	struct world *w = *state;
	struct allocation *item;
	const char *at;

	cpuset_set(near, 0);
	add_node(w, 0, 0, 0, 1u << 30);
	add_pci_device(w, (struct pci_address){0, 0x17, 0}, 0x16, 0, PCI_GPU);
	add_pci_device(w, (struct pci_address){0, 0x18, 0}, 0x16, 0, PCI_GPU);
	add_pci_device(w, (struct pci_address){0, 0x19, 0}, 0x16, 0, PCI_NIC);
	add_pci_device(w, (struct pci_address){0, 0x31, 0}, 0x30, MACHINE_NONE, PCI_NVME);
	add_pci_device(w, (struct pci_address){0, 0x41, 0}, 0, 0, PCI_NIC); /* below an unknown root */
	register_device(w, "v.com/gpu", "a", &w->node.machine.pci.items[0].address);
	register_device(w, "v.com/gpu", "b", &w->node.machine.pci.items[1].address);
	register_device(w, "v.com/gpu", "c", NULL);
	item = allocations_add_container(&w->node.allocations, "u", "c");
	device_blocks_add(
		&item->devices, &item->n_devices, &item->devices_size, "v.com/gpu", near, false, "b");
	render(w, &plain);
	assert_int_equal(yaml_print(doc_get(&plain, "zones"), &before), 0);
	assert_null(strstr(before.text, "PCIeRoot"));
	w->config.pcie_roots = true;
	render(w, &object);
	assert_int_equal(yaml_print(doc_get(&object, "zones"), &text), 0);
	at = strstr(text.text, "- name: pci");
	assert_non_null(at);
	test_assert_text("zones", at, want);
	assert_int_equal(strncmp(text.text, before.text, before.len), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_whole_object, setup, teardown),
		cmocka_unit_test_setup_teardown(a_hole_is_a_zone_without_resources, setup, teardown),
		cmocka_unit_test_setup_teardown(ids_above_63_are_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(unknown_feature_gates_are_absent, setup, teardown),
		cmocka_unit_test_setup_teardown(the_deprecated_list_may_be_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(the_node_state_may_be_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(a_node_state_that_is_too_long_is_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(every_policy_has_its_deprecated_names, setup, teardown),
		cmocka_unit_test_setup_teardown(
			the_maximum_of_numa_nodes_is_told_when_it_is_not_8, setup, teardown),
		cmocka_unit_test_setup_teardown(the_hash_follows_the_content, setup, teardown),
		cmocka_unit_test_setup_teardown(the_fingerprint_is_attribute_and_annotation, setup, teardown),
		cmocka_unit_test_setup_teardown(no_pods_differ_from_unknown_pods, setup, teardown),
		cmocka_unit_test_setup_teardown(exclusive_pods_need_the_memory_manager, setup, teardown),
		cmocka_unit_test_setup_teardown(
			the_placement_is_told_under_single_numa_node, setup, teardown),
		cmocka_unit_test_setup_teardown(roots_are_zones_behind_a_flag, setup, teardown),
	};

	return cmocka_run_group_tests_name("nrt", tests, NULL, NULL);
}
