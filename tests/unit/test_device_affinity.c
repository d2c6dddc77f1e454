/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "agent/node/observe/device_affinity.h"
#include "common/cleanup.h"
#include "common/device_index.h"
#include "tests/lib/states.h"

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
	test_machine(&machine, "0-3", "", "0-1");
	test_write_file(dir, "sys/bus/pci/devices/0000:3b:02.1/numa_node", "0\n");
	test_write_file(dir, "sys/bus/pci/devices/0000:3b:02.2/numa_node", "0\n");
	test_write_file(dir, "sys/bus/pci/devices/0000:3b:02.3/numa_node", "-1\n");
	test_write_file(dir, "sys/bus/pci/devices/0000:3b:02.4/numa_node", "1\n");
	test_write_file(dir, "sys/bus/pci/devices/0000:3b:02.5/numa_node", "7\n");
	test_write_file(dir, "sys/bus/pci/devices/0000:3b:02.6/numa_node", "\n");
	if (state_parse(&state_devices, CHECKPOINT, strlen(CHECKPOINT), &machine, &checkpoint, NULL, &err) <
		0)
		fail_msg("%s", err.text);
	device_affinity_fill(dir, &machine, &checkpoint, &a);
	assert_true(a.registered_known);
	device_index_registered(&a, &index);
	assert_int_equal(index.n_items, ARRAY_SIZE(cases));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct device_ref *d = device_index_find(&index, "v/nic", cases[i].id);

		assert_non_null(d);
		assert_int_equal(d->nodes_unknown, cases[i].unknown);
		assert_int_equal(hwloc_bitmap_first(d->nodes), cases[i].node);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_node_is_the_holders_or_sysfs_or_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
