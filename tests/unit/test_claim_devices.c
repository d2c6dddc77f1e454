/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "cluster/objects/claim_devices.h"
#include "common/cleanup.h"
#include "common/io/yaml.h"
#include "scoring/node/pod_alignment.h"
#include "tests/lib/observations.h"

static const char slices[] =
	"- spec: {driver: gpu.example.com, nodeName: n, pool: {name: n}, devices: [\n"
	"    {name: gpu-0, attributes: {resource.kubernetes.io/numaNode: {int: 0}, resource.kubernetes.io/pcieRoot: {string: "
	"'pci0000:16'}}},\n"
	"    {name: gpu-1, attributes: {resource.kubernetes.io/numaNode: {int: 1}}},\n"
	"    {name: gpu-2, attributes: {resource.kubernetes.io/numaNode: {int: -1}}},\n"
	"    {name: gpu-3, attributes: {numaNode: {int: 0}}}]}\n"
	"- spec: {driver: gpu.example.com, pool: {name: n}, devices: [{name: gpu-1, attributes: "
	"{resource.kubernetes.io/numaNode: {int: 0}}}]}\n" /* an older generation */
	"- spec: {driver: nic.example.com, pool: {name: n}, devices: [\n"
	"    {name: nic-0, attributes: {resource.kubernetes.io/numaNode: {ints: [0, 1]}}},\n"
	"    {name: nic-1, basic: {attributes: {resource.kubernetes.io/numaNode: {int: 1}}}},\n"
	"    {name: nic-2, attributes: {resource.kubernetes.io/numaNode: {int: 9999999}, resource.kubernetes.io/pcieRoot: "
	"{string: 'pci0000:16x'}}},\n"
	"    3]}\n"
	"- spec: 7\n";

static const char claims[] =
	"- {metadata: {namespace: ml}, status: {reservedFor: [{resource: pods, name: near}], allocation: {devices: {results: "
	"[{driver: gpu.example.com, pool: n, device: gpu-0}, {driver: nic.example.com, pool: n, device: nic-0}]}}}}\n"
	"- {metadata: {namespace: ml}, status: {reservedFor: [{resource: pods, name: far}], allocation: {devices: {results: "
	"[{driver: gpu.example.com, pool: n, device: gpu-1}]}}}}\n"
	"- {metadata: {namespace: ml}, status: {reservedFor: [{resource: pods, name: unknown}], allocation: {devices: {results: "
	"[{driver: gpu.example.com, pool: n, device: gpu-2}]}}}}\n"
	"- {metadata: {namespace: other}, status: {reservedFor: [{resource: pods, name: unknown}], allocation: {devices: {results: "
	"[{driver: gpu.example.com, pool: n, device: gpu-0}]}}}}\n"
	"- {metadata: {namespace: ml}, status: {reservedFor: [{resource: pods, name: two}], allocation: {devices: {results: "
	"[{driver: nic.example.com, pool: n, device: nic-1}]}}}}\n"
	"- {metadata: {namespace: ml}, status: {reservedFor: [{resource: pods, name: two}], allocation: {devices: {results: "
	"[{driver: nic.example.com, pool: n, device: nic-0}]}}}}\n"
	"- {metadata: {namespace: ml}, status: {reservedFor: [{resource: jobs, name: far}], allocation: {devices: {results: 3}}}}\n"
	"- {metadata: {namespace: ml}, status: {reservedFor: [{resource: pods, name: count}], allocation: {devices: {results: "
	"[{driver: gpu.example.com, pool: n, device: gpu-0}, {driver: gpu.example.com, pool: n, device: gpu-1}]}}}}\n"
	"- {metadata: {namespace: ml}}\n";

static void add_all(
	struct claim_devices *d, const char *text, void (*add)(struct claim_devices *, const struct doc *))
{
	CLEANUP(doc_release) struct doc list = DOC_INIT;
	struct err err = {""};

	if (yaml_parse(text, strlen(text), &list, &err) < 0)
		fail_msg("%s", err.text);
	DOC_FOREACH (item, &list)
		add(d, item);
}

static void add_claim(struct node_state *s, const char *driver, const char *pod)
{
	CLEANUP(claim_release) struct claim c;

	claim_init(&c, driver, "", "", "");
	claim_add_pod(&c, "ml", pod);
	claim_add_device(&c, "0", "0", "");
	claims_append(&s->claims, &c);
}

static void slices_have_the_numa_nodes_of_claims(void **state)
{
	static const struct holding holdings[] = {
		{.uid = "u1", .namespace = "ml", .pod = "near", .cpus = "1-2", .nodes = "0"},
		{.uid = "u2", .namespace = "ml", .pod = "far", .cpus = "3", .nodes = "0"},
		{.uid = "u3", .namespace = "ml", .pod = "unknown", .cpus = "4", .nodes = "0"},
		{.uid = "u4", .namespace = "ml", .pod = "two", .cpus = "9", .nodes = "1"},
		{.uid = "u5", .namespace = "ml", .pod = "count", .cpus = "10", .nodes = "1"},
	};
	static const struct {
		enum alignment alignment;
		const char *nodes, *root;
	} want[] = {
		{ALIGNMENT_ALIGNED, "0-1", "pci0000:16"}, /* the NIC is near both NUMA nodes */
		{ALIGNMENT_REMOTE, "1", NULL}, {ALIGNMENT_UNKNOWN, "", NULL},
		{ALIGNMENT_ALIGNED, "0-1", NULL}, /* two claims, each with a place of its own */
		{ALIGNMENT_UNKNOWN, "", NULL},    /* the object shows one device, the claim has two */
	};
	CLEANUP(claim_devices_release) struct claim_devices devices = {0};
	CLEANUP(observation_release) struct observation o;
	CLEANUP(pod_alignments_release) struct pod_alignments all = {0};

	(void)state;
	observation_init(&o);
	observation_of_kubelet("gpus", "0", holdings, ARRAY_SIZE(holdings), &o);
	assert_false(claim_devices_are_missing(&o.node));
	add_claim(&o.node, "gpu.example.com", "near");
	add_claim(&o.node, "nic.example.com", "near");
	add_claim(&o.node, "gpu.example.com", "far");
	add_claim(&o.node, "gpu.example.com", "unknown");
	add_claim(&o.node, "nic.example.com", "two");
	add_claim(&o.node, "nic.example.com", "two");
	add_claim(&o.node, "gpu.example.com", "count");
	assert_true(claim_devices_are_missing(&o.node));
	add_all(&devices, slices, claim_devices_add_slice);
	add_all(&devices, claims, claim_devices_add_claim);
	claim_devices_apply(&devices, &o.node);
	pod_alignments_find(&o.node, &all);
	assert_int_equal(all.n_items, ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		const struct pod_alignment *p = &all.items[i];
		CLEANUP(freep) char *nodes = cpuset_print(p->device_nodes);

		if (p->alignment != want[i].alignment)
			fail_msg("%s: %s (%s)", holdings[i].pod, alignment_names[p->alignment],
				p->reason.text);
		test_assert_text(holdings[i].pod, nodes, want[i].nodes);
		test_assert_text("root", p->roots.n_items > 0 ? p->roots.items[0] : "",
			want[i].root ? want[i].root : "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_have_the_numa_nodes_of_claims),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
