/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "agent/observe/allocations_files.h"
#include "common/allocation.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "tests/lib/settings.h"
#include "tests/lib/states.h"
#include "tests/lib/synthetic.h"

/* Copy fixtures/states/NAME into the tree as `path`. */
static void place(const char *dir, const char *path, const char *name)
{
	CLEANUP(freep) char *text = NULL;
	char fixture[256];

	snprintf(fixture, sizeof(fixture), "states/%s", name);
	text = test_read_file(test_fixture(fixture), NULL);
	test_write_file(dir, path, text);
}

static void absent_files_leave_their_part_unknown(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(allocations_release) struct allocations a = {0};
	CLEANUP(state_policies_release) struct state_policies policies = {0};
	struct err err = {""};

	(void)state;
	assert_int_equal(allocations_from_files(dir, "/k", dir, NULL, NULL, &a, &policies, NULL, &err), 0);
	assert_false(a.cpus_known);
	assert_false(a.memory_known);
	assert_false(a.devices_known);
	assert_null(a.shared);
	assert_null(policies.cpu);
	assert_null(policies.memory);
	place(dir, "k/cpu_manager_state", "cpu_v2_none.json");
	assert_int_equal(allocations_from_files(dir, "/k", dir, NULL, NULL, &a, &policies, NULL, &err), 0);
	assert_true(a.cpus_known);
	assert_int_equal(a.n_items, 0);
	assert_null(a.shared);
	assert_false(a.memory_known);
	test_assert_text("policy", policies.cpu, "none");
	test_assert_text("path", policies.cpu_path, "/k/cpu_manager_state");
}

static void the_files_are_put_together(void **state)
{
	static const char cpus[] =
		"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\",\"entries\":{"
		"\"44f9b5e1-9c1e-4d4f-9a57-3c8e1e2a6c11\":{\"app\":\"4-5\",\"log\":\"6\"}},"
		"\"checksum\":1}";
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(machine_release) struct machine machine;
	CLEANUP(allocations_release) struct allocations a = {0};
	CLEANUP(state_policies_release) struct state_policies policies = {0};
	CLEANUP(notes_release) struct notes notes = {0};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(65536);
	struct err err = {""};

	(void)state;
	bare_machine(&machine, "0-31", "", "0-1");
	test_write_file(dir, "k/cpu_manager_state", cpus);
	place(dir, "k/memory_manager_state", "mem_v1.json");
	place(dir, "k/device-plugins/kubelet_internal_checkpoint", "device_v2.json");
	if (allocations_from_files(dir, "/k", dir, &machine, NULL, &a, &policies, &notes, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(a.cpus_known && a.memory_known && a.devices_known);
	test_assert_text("CPU manager", policies.cpu, "static");
	test_assert_text("memory manager", policies.memory, "Static");
	test_assert_text("its file", policies.memory_path, "/k/memory_manager_state");
	test_allocations_text(&a, &text);
	test_assert_text("together", text.text,
		"shared 0-3;"
		"44f9b5e1-9c1e-4d4f-9a57-3c8e1e2a6c11/app cpus 4-5 memory 8589934592@0 hugepages-1Gi "
		"2147483648@0 "
		"intel.com/sriov 0000:3b:02.1,0000:3b:02.2@0 intel.com/sriov 0000:af:02.0@1;"
		"44f9b5e1-9c1e-4d4f-9a57-3c8e1e2a6c11/log cpus 6;"
		"f9a3b0f4-0c34-4d8f-8e1c-6f2f1b3f0d22/gpu nvidia.com/gpu GPU-0@;"
		"node 0 [0] 2 hugepages-1Gi 4294967296-0=4294967296/2147483648+2147483648 "
		"hugepages-2Mi 0-0=0/0+0 memory 68719476736-1073741824=63350767616/8589934592+54760833024;"
		"node 1 [1] 2 hugepages-1Gi 4294967296-0=4294967296/0+4294967296 hugepages-2Mi 0-0=0/0+0 "
		"memory 68719476736-0=64424509440/0+64424509440;");
	strbuf_reset(&text);
	test_notes_text(&notes, &text);
	assert_non_null(strstr(text.text, "/k/cpu_manager_state: checksum is 1, but"));
}

/* Only the policy Static keeps a state of the memory. */
static void a_file_of_another_policy_tells_the_policy_alone(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(allocations_release) struct allocations a = {0};
	CLEANUP(state_policies_release) struct state_policies policies = {0};
	struct err err = {""};

	(void)state;
	test_write_file(dir, "k/memory_manager_state",
		"{\"policyName\":\"None\",\"machineState\":{},\"entries\":{},\"checksum\":0}");
	assert_int_equal(allocations_from_files(dir, "/k", dir, NULL, NULL, &a, &policies, NULL, &err), 0);
	test_assert_text("policy", policies.memory, "None");
	assert_null(policies.cpu);
	assert_false(a.memory_known || a.cpus_known || a.devices_known);
}

static void a_broken_file_is_named(void **state)
{
	static const struct {
		const char *file, *want;
	} cases[] = {
		{"cpu_manager_state", "/k/cpu_manager_state: no policyName"},
		{"memory_manager_state", "/k/memory_manager_state: no policyName"},
		{"device-plugins/kubelet_internal_checkpoint",
			"/k/device-plugins/kubelet_internal_checkpoint: no Data"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(test_rmtree) char *dir = test_tmpdir();
		CLEANUP(allocations_release) struct allocations a = {0};
		CLEANUP(state_policies_release) struct state_policies policies = {0};
		struct err err = {""};
		char path[256];

		snprintf(path, sizeof(path), "k/%s", cases[i].file);
		test_write_file(dir, path, "{}");
		assert_int_equal(
			allocations_from_files(dir, "/k", dir, NULL, NULL, &a, &policies, NULL, &err),
			-EINVAL);
		assert_non_null(strstr(err.text, dir));
		test_assert_text(cases[i].file, err.text + strlen(dir), cases[i].want);
		assert_int_equal(a.n_items, 0);
	}
}

#define CHECKPOINT                                                                                          \
	"{\"Data\":{\"PodDeviceEntries\":[{\"PodUID\":\"u\",\"ContainerName\":\"c\",\"ResourceName\":"      \
	"\"v/nic\",\"DeviceIDs\":{\"1\":[\"0000:3b:02.1\"],\"-1\":[\"far\"]},\"AllocResp\":\"\"}],"         \
	"\"RegisteredDevices\":{\"v/nic\":[\"0000:3b:02.1\",\"0000:3b:02.2\",\"0000:3b:02.3\",\"3b:02.4\"," \
	"\"0000:3b:02.5\",\"0000:3b:02.6\",\"0000:3b:1f.7\",\"far\",\"gpu-0\",\"0000:3b:02.1x\"]}},"        \
	"\"Checksum\":0}"

static void the_node_is_the_holders_or_sysfs_or_unknown(void **state)
{
	static const struct {
		const char *id;
		int node; /* -1 = none */
		bool unknown;
	} cases[] = {
		{"0000:3b:02.1", 1, false},
		/* the holder's entry beats sysfs */ {"far", -1, false},
		/* held, and its plugin tells no node */ {"0000:3b:02.2", 0, false},
		{"0000:3b:02.3", -1, false},
		/* -1 in sysfs */ {"3b:02.4", 1, false},
		/* without the domain */ {"0000:3b:02.5", -1, true},
		/* a node that this machine does not have */ {"0000:3b:02.6", -1, true},
		/* no number */ {"0000:3b:1f.7", -1, true},
		/* not in sysfs */ {"gpu-0", -1, true},
		{"0000:3b:02.1x", -1, true},
	};
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(machine_release) struct machine machine;
	CLEANUP(kubelet_state_release) struct kubelet_state checkpoint = {0};
	CLEANUP(allocations_release) struct allocations a = {0};
	CLEANUP(device_index_release) struct device_index index = {0};
	struct err err = {""};

	(void)state;
	bare_machine(&machine, "0-3", "", "0-1");
	test_write_file(dir, "sys/bus/pci/devices/0000:3b:02.1/numa_node", "0\n");
	test_write_file(dir, "sys/bus/pci/devices/0000:3b:02.2/numa_node", "0\n");
	test_write_file(dir, "sys/bus/pci/devices/0000:3b:02.3/numa_node", "-1\n");
	test_write_file(dir, "sys/bus/pci/devices/0000:3b:02.4/numa_node", "1\n");
	test_write_file(dir, "sys/bus/pci/devices/0000:3b:02.5/numa_node", "7\n");
	test_write_file(dir, "sys/bus/pci/devices/0000:3b:02.6/numa_node", "\n");
	if (state_parse(&state_devices, CHECKPOINT, strlen(CHECKPOINT), &machine, &checkpoint, NULL, &err) <
		0)
		fail_msg("%s", err.text);
	assert_int_equal(device_affinity_fill(dir, &machine, &checkpoint, &a, NULL), 0);
	assert_true(a.registered_known);
	device_index_registered(&a, &index);
	assert_int_equal(index.n_items, ARRAY_SIZE(cases));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct device_ref *d = device_index_find(&index, "v/nic", cases[i].id);

		assert_non_null(d);
		assert_int_equal(d->block->nodes_unknown, cases[i].unknown);
		assert_int_equal(hwloc_bitmap_first(d->block->nodes), cases[i].node);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(absent_files_leave_their_part_unknown),
		cmocka_unit_test(the_files_are_put_together),
		cmocka_unit_test(a_file_of_another_policy_tells_the_policy_alone),
		cmocka_unit_test(a_broken_file_is_named),
		cmocka_unit_test(the_node_is_the_holders_or_sysfs_or_unknown),
	};

	return cmocka_run_group_tests_name("allocations_files", tests, NULL, NULL);
}
