/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "agent/observe/state_file.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "tests/lib/states.h"

/* NUMA nodes 0 and 1 exist. */
static void check(const char *text, size_t len, int want_r, const char *want, const char *want_notes)
{
	const struct test_state t = {&state_devices, "0-3", "", "0-1"};

	test_state_check(&t, text, len, want_r, want, want_notes);
}

static void the_recorded_file_is_read(void **state)
{
	CLEANUP(freep) char *text = NULL;
	size_t len;

	(void)state;
	text = test_read_file(test_fixture("states/device_v2.json"), &len);
	check(text, len, 0,
		"44f9b5e1-9c1e-4d4f-9a57-3c8e1e2a6c11/app intel.com/sriov 0000:3b:02.1,0000:3b:02.2@0 "
		"intel.com/sriov 0000:af:02.0@1;"
		"f9a3b0f4-0c34-4d8f-8e1c-6f2f1b3f0d22/gpu nvidia.com/gpu GPU-0@;"
		"|intel.com/sriov 0000:3b:02.1 0000:3b:02.2 0000:3b:02.3 0000:af:02.0;nvidia.com/gpu GPU-0 "
		"GPU-1",
		NULL);
}

#define ENTRY(pod, container, resource, ids)                                                       \
	"{\"PodUID\":\"" pod "\",\"ContainerName\":\"" container "\",\"ResourceName\":\"" resource \
	"\",\"DeviceIDs\":" ids "}"
#define FILE_OF(entries) "{\"Data\":{\"PodDeviceEntries\":[" entries "],\"RegisteredDevices\":null}}"

static void consistent_content_counts(void **state)
{
	static const struct {
		const char *text, *want, *notes;
	} cases[] = {
		{"{\"Data\":{\"PodDeviceEntries\":null,\"RegisteredDevices\":{}},\"Checksum\":0}", "", NULL},
		{"{\"Data\":{}}", "", NULL},
		{"{\"Data\":{\"RegisteredDevices\":{\"z/b\":[\"2\",\"1\"],\"a/b\":[],\"c\":null}}}",
			"|a/b;c;z/b 1 2", NULL},
		/* Before kubelet 1.20: a list. */
		{FILE_OF(ENTRY("p", "c", "r", "[\"y\",\"x\"]")), "p/c r x,y@;", NULL},
		{FILE_OF(ENTRY("p", "c", "r", "{}")), "p/c;", NULL},
		{FILE_OF(ENTRY("p", "c", "r", "null")), "p/c;", NULL},
		/* A device on two nodes is listed under both. */
		{FILE_OF(ENTRY("p", "c", "r", "{\"0\":[\"x\",\"z\"],\"1\":[\"y\",\"x\"],\"-1\":[\"w\"]}")),
			"p/c r w@ r x@0-1 r y@1 r z@0;", NULL},
		/* A node that has vanished since the kubelet's start. */
		{FILE_OF(ENTRY("p", "c", "r", "{\"0\":[\"x\"],\"7\":[\"y\"]}")), "p/c r x@0 r y@7;",
			"NUMA nodes 7 do not exist on this machine any more and are not counted: the kubelet knows the machine of its start"},
		/* Several resources of a container are one item. */
		{FILE_OF(ENTRY("q", "c", "r", "{\"0\":[\"1\"]}") "," ENTRY(
			 "p", "c", "r", "{\"0\":[\"2\"]}") "," ENTRY("q", "c", "s", "{\"1\":[\"1\"]}")),
			"p/c r 2@0;q/c r 1@0 s 1@1;", NULL},
		/* An init container's device is handed on within its pod. */
		{FILE_OF(ENTRY("p", "init", "r", "{\"0\":[\"1\"]}") "," ENTRY(
			 "p", "c", "r", "{\"0\":[\"1\"]}")),
			"p/c r 1@0;p/init r 1@0;", NULL},
		{"{\"Data\":{\"PodDeviceEntries\":null,\"RegisteredDevices\":{}},\"Checksum\":9,\"BootID\":"
		 "\"x\"}",
			"", "checksum is 9, but that of the content is 3467439661"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check(cases[i].text, strlen(cases[i].text), 0, cases[i].want, cases[i].notes);
}

static void damage_is_one_clear_line(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"", "empty"},
		{"{}", "no Data"},
		{"{\"Data\":\"{}\"}", "Data: a map expected, not a string"},
		{"{\"Data\":{\"PodDeviceEntries\":{}}}", "PodDeviceEntries: a list expected, not a map"},
		{"{\"Data\":{\"RegisteredDevices\":[]}}", "RegisteredDevices: a map expected, not a list"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check(cases[i].text, strlen(cases[i].text), -EINVAL, cases[i].want, NULL);
}

#define REGISTERED(entries)                                                                         \
	"{\"Data\":{\"PodDeviceEntries\":[" entries "],\"RegisteredDevices\":{\"r\":[\"1\",\"2\"]," \
	"\"s\":[\"3\"]}}}"
#define ALL         "|r 1 2;s 3"
#define NO_CHECKSUM "; the checksum of this content cannot be computed"
#define ALL_HELD    "; all devices of the resource count as held"
#define ENTRY_HELD  " is missing; the entry's devices count as held"

/* What an entry in doubt may hold is held, and the other entries count. */
static void an_entry_in_doubt_is_held(void **state)
{
	static const struct {
		const char *text, *want, *notes;
	} cases[] = {
		/* kubernetes/kubernetes#75880, #137534 */
		{REGISTERED(
			 ENTRY("p", "c", "r", "{\"0\":[\"1\"]}") "," ENTRY("q", "c", "r", "{\"0\":[\"1\"]}")),
			"p/c r 1@0;q/c r 1@0;" ALL, "pods 'p' and 'q' both hold r device '1'"},
		{"{\"Data\":{\"RegisteredDevices\":{\"r\":{},\"s\":[\"3\"]}}}", "|r;s 3",
			"RegisteredDevices: r: a list of device ids expected, not a map; none of its devices counts as free" NO_CHECKSUM},
		{"{\"Data\":{\"RegisteredDevices\":{\"r\":[1],\"s\":[\"3\"]}}}", "|r;s 3",
			"RegisteredDevices: r: a device id expected, not a number; none of its devices counts as free" NO_CHECKSUM},
		{REGISTERED("7," ENTRY("p", "c", "r", "{\"0\":[\"1\"]}")), "/ r 2@ s 3@;p/c r 1@0;" ALL,
			"PodDeviceEntries[0]: an object expected, not a number" ALL_HELD NO_CHECKSUM},
		{REGISTERED("{}"), ALL,
			"PodDeviceEntries[0]: PodUID" ENTRY_HELD
			"; PodDeviceEntries[0]: ContainerName" ENTRY_HELD
			"; PodDeviceEntries[0]: ResourceName" ENTRY_HELD},
		{REGISTERED(ENTRY("", "c", "r", "{\"0\":[\"1\"]}")), "/c r 1@0;" ALL,
			"PodDeviceEntries[0]: PodUID" ENTRY_HELD},
		{REGISTERED(ENTRY("p", "", "r", "{\"0\":[\"1\"]}")), "p/ r 1@0;" ALL,
			"PodDeviceEntries[0]: ContainerName" ENTRY_HELD},
		/* A device of some resource. */
		{REGISTERED(ENTRY("p", "c", "", "{\"0\":[\"1\"]}")), "/ r 1,2@ s 3@;" ALL,
			"PodDeviceEntries[0]: ResourceName" ENTRY_HELD},
		{REGISTERED(ENTRY("p", "c", "r", "7")), "/ r 1,2@;p/c;" ALL,
			"PodDeviceEntries[0]: DeviceIDs: a list of device ids expected, not a number" ALL_HELD
				NO_CHECKSUM},
		{REGISTERED(ENTRY("p", "c", "r", "{\"x\":[\"1\"]}")), "p/c r 1@;" ALL,
			"PodDeviceEntries[0]: DeviceIDs: 'x' is not a NUMA node id; its devices count as without affinity" NO_CHECKSUM},
		{REGISTERED(ENTRY("p", "c", "r", "{\"-2\":[\"1\"]}")), "p/c r 1@;" ALL,
			"PodDeviceEntries[0]: DeviceIDs: '-2' is not a NUMA node id; its devices count as without affinity"},
		{REGISTERED(ENTRY("p", "c", "r", "{\"0\":[null],\"1\":[\"1\"]}")), "/ r 2@;p/c r 1@1;" ALL,
			"PodDeviceEntries[0]: DeviceIDs: node 0: a device id expected, not null" ALL_HELD},
		{REGISTERED(
			 "{\"PodUID\":\"p\",\"ContainerName\":\"c\",\"ResourceName\":\"r\",\"DeviceIDs\":{\"0\":"
			 "[\"1\"]},\"AllocResp\":\"Zg\"}"),
			"p/c r 1@0;" ALL, "PodDeviceEntries[0]: AllocResp is not base64" NO_CHECKSUM},
		{REGISTERED(
			 "{\"PodUID\":\"p\",\"ContainerName\":\"c\",\"ResourceName\":\"r\",\"DeviceIDs\":{\"0\":"
			 "[\"1\"]},\"AllocResp\":[7]}"),
			"p/c r 1@0;" ALL,
			"PodDeviceEntries[0]: AllocResp: a string expected, not a list" NO_CHECKSUM},
		/* Old and new kind of DeviceIDs in one file. */
		{REGISTERED(ENTRY("p", "c", "r", "[\"1\"]") "," ENTRY("q", "c", "r", "{\"0\":[\"2\"]}")),
			"p/c r 1@;q/c r 2@0;" ALL, "the checksum of this content cannot be computed"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check(cases[i].text, strlen(cases[i].text), 0, cases[i].want, cases[i].notes);
}

static void truncated_files_are_refused(void **state)
{
	(void)state;
	test_state_prefixes(&state_devices, "states/device_v2.json");
}

static void huge_files_are_refused(void **state)
{
	CLEANUP(freep) char *text = calloc(1, STATE_DEVICES_FILE_MAX + 1);

	(void)state;
	assert_non_null(text);
	check(text, STATE_DEVICES_FILE_MAX + 1, -EFBIG, "larger than the 8388608 bytes allowed", NULL);
}

static void shared_cases_are_read(void **state)
{
	const char *path = test_shared("vectors/kubelet_cases.json");
	CLEANUP(doc_release) struct doc cases = DOC_INIT;
	CLEANUP(freep) char *text = NULL;
	size_t len;

	(void)state;
	if (!path)
		test_skip("no ../shared/vectors");
	text = test_read_file(path, &len);
	assert_int_equal(json_parse(text, len, &cases, NULL), 0);
	DOC_FOREACH (c, doc_get(&cases, "kubelet_internal_checkpoint")) {
		CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT(1u << 20);

		assert_int_equal(json_print_compact(doc_get(c, "file"), &json), 0);
		check(json.text, json.len, 0,
			"bf52b2cd-b611-4e79-86b1-280b283185c3/check nvidia.com/gpu tegra@;|nvidia.com/gpu "
			"tegra",
			NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_recorded_file_is_read),
		cmocka_unit_test(consistent_content_counts),
		cmocka_unit_test(damage_is_one_clear_line),
		cmocka_unit_test(an_entry_in_doubt_is_held),
		cmocka_unit_test(truncated_files_are_refused),
		cmocka_unit_test(huge_files_are_refused),
		cmocka_unit_test(shared_cases_are_read),
	};

	return cmocka_run_group_tests_name("state_devices", tests, NULL, NULL);
}
