/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "agent/observe/state_file.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "tests/lib/states.h"

/* NUMA nodes 0, 1 and 3 exist. */
static void check(const char *text, size_t len, int want_r, const char *want, const char *want_notes)
{
	const struct test_state t = {&state_memory, "0-3", "", "0-1,3"};

	test_state_check(&t, text, len, want_r, want, want_notes);
}

#define RECORDED_NODES                                                                              \
	"node 0 [0] 2 hugepages-1Gi 4294967296-0=4294967296/2147483648+2147483648 "                 \
	"hugepages-2Mi 0-0=0/0+0 memory 68719476736-1073741824=63350767616/8589934592+54760833024;" \
	"node 1 [1] 2 hugepages-1Gi 4294967296-0=4294967296/0+4294967296 hugepages-2Mi 0-0=0/0+0 "  \
	"memory 68719476736-0=64424509440/0+64424509440;"
#define RECORDED_BLOCKS " memory 8589934592@0 hugepages-1Gi 2147483648@0;"

static void every_format_is_read(void **state)
{
	static const struct {
		const char *file, *want;
	} cases[] = {
		{"mem_v1", "Static: 44f9b5e1-9c1e-4d4f-9a57-3c8e1e2a6c11/app" RECORDED_BLOCKS RECORDED_NODES},
		{"mem_v2", "Static: 44f9b5e1-9c1e-4d4f-9a57-3c8e1e2a6c11/app" RECORDED_BLOCKS RECORDED_NODES},
		/* With podEntries: the pod holds them, not the container. */
		{"mem_v3", "Static: 44f9b5e1-9c1e-4d4f-9a57-3c8e1e2a6c11/" RECORDED_BLOCKS RECORDED_NODES},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char name[64];
		CLEANUP(freep) char *text = NULL;
		size_t len;

		snprintf(name, sizeof(name), "states/%s.json", cases[i].file);
		text = test_read_file(test_fixture(name), &len);
		check(text, len, 0, cases[i].want, NULL);
	}
}

/* A file with one node (of 100 bytes, `reserved` of them), these entries and rest. */
#define NODE0(reserved, free)                                                                              \
	"\"0\":{\"numberOfAssignments\":1,\"memoryMap\":{\"memory\":{\"total\":100,\"systemReserved\":10," \
	"\"allocatable\":90,\"reserved\":" reserved ",\"free\":" free "}},\"cells\":[0]}"
#define FILE_OF(nodes, rest)    "{\"policyName\":\"Static\",\"machineState\":{" nodes "}" rest "}"
#define TEXT_OF(reserved, free) "node 0 [0] 1 memory 100-10=90/" reserved "+" free ";"

static void consistent_content_counts(void **state)
{
	static const struct {
		const char *text, *want, *notes;
	} cases[] = {
		{"{\"policyName\":\"None\",\"machineState\":{},\"checksum\":4236770233}", "None: ", NULL},
		{"{\"policyName\":\"None\",\"machineState\":null}", "None: ", NULL},
		{FILE_OF(NODE0("0", "90"), ""), "Static: " TEXT_OF("0", "90"), NULL},
		{FILE_OF(NODE0("7", "83"), ",\"entries\":{\"p\":{\"c\":[{\"numaAffinity\":[0],\"type\":"
					   "\"memory\",\"size\":7}],\"d\":null}}"),
			"Static: p/c memory 7@0;" TEXT_OF("7", "83"), NULL},
		/* machineState is written before the block is. */
		{FILE_OF(NODE0("7", "83"), ""), "Static: " TEXT_OF("7", "83"), NULL},
		/* A wrong checksum, but all adds up. */
		{FILE_OF(NODE0("7", "83"), ",\"entries\":{\"p\":{\"c\":[{\"numaAffinity\":[0],\"type\":"
					   "\"memory\",\"size\":7}]}},\"checksum\":5"),
			"Static: p/c memory 7@0;" TEXT_OF("7", "83"),
			"checksum is 5, but that of the content is 4259951980"},
		/* A kernel without NUMA: 512Mi reserved of nothing, and a container that holds 7 bytes. */
		{FILE_OF("\"0\":{\"numberOfAssignments\":1,\"memoryMap\":{\"memory\":{\"total\":0,"
			 "\"systemReserved\":536870912,\"allocatable\":18446744073172680704,\"reserved\":7,"
			 "\"free\":18446744073172680697}},\"cells\":[0]}",
			 ",\"entries\":{\"p\":{\"c\":[{\"numaAffinity\":[0],\"type\":\"memory\","
			 "\"size\":7}]}}"),
			"Static: p/c memory 7@0;node 0 [0] 1 memory 0-536870912=18446744073172680704/"
			"7+18446744073172680697;",
			"node 0 has 0 bytes of memory and 536870912 are reserved; the kubelet counts it as unlimited"},
		/* An empty list in podEntries is no entry. */
		{FILE_OF(NODE0("7", "83"), ",\"entries\":{\"p\":{\"c\":[{\"NumaAffinity\":[0],\"TYPE\":"
					   "\"memory\",\"size\":7}]}},"
					   "\"podEntries\":{\"p\":{\"memoryBlocks\":[]},\"q\":{}}"),
			"Static: p/c memory 7@0;" TEXT_OF("7", "83"), NULL},
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
		{"{}", "no policyName"},
		{"{\"policyName\":\"Static\",\"machineState\":[]}",
			"machineState: a map expected, not a list"},
		{"{\"policyName\":\"Static\",\"entries\":[]}", "entries: a map expected, not a list"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check(cases[i].text, strlen(cases[i].text), -EINVAL, cases[i].want, NULL);
}

#define BLOCK_OF(block)    FILE_OF(NODE0("0", "90"), ",\"entries\":{\"p\":{\"c\":[" block "]}}")
#define TABLE_OF(table)    FILE_OF("\"0\":{\"memoryMap\":{\"memory\":{" table "}}}", "")
#define NO_CHECKSUM        "; the checksum of this content cannot be computed"
#define NOTHING_OF_NODE    "; nothing of the node counts as free"
#define NODE0_TEXT(tables) "Static: node 0 [] 0" tables ";"

/* What an entry in doubt may hold is held, and the other entries count. */
static void an_entry_in_doubt_is_held(void **state)
{
	static const struct {
		const char *text, *want, *notes;
	} cases[] = {
		{FILE_OF("\"x\":{}," NODE0("7", "83"), ""), "Static: " TEXT_OF("7", "83"),
			"machineState: 'x' is not a NUMA node id" NO_CHECKSUM},
		{FILE_OF("\"-1\":{}," NODE0("7", "83"), ""), "Static: " TEXT_OF("7", "83"),
			"machineState: '-1' is not a NUMA node id"},
		{FILE_OF("\"1024\":{}," NODE0("7", "83"), ""), "Static: " TEXT_OF("7", "83"),
			"machineState: '1024' is not a NUMA node id"},
		{FILE_OF("\"0\":null", ""), NODE0_TEXT(""),
			"machineState: node 0: an object expected, not null" NOTHING_OF_NODE},
		{FILE_OF(NODE0("7", "83") ",\"00\":{}", ""), "Static: " TEXT_OF("90", "0"),
			"machineState: node 0 appears twice" NOTHING_OF_NODE},
		{FILE_OF("\"0\":{\"numberOfAssignments\":-1,\"memoryMap\":{\"memory\":{\"total\":9,"
			 "\"allocatable\":9,\"free\":9}}}",
			 ""),
			NODE0_TEXT(" memory 9-0=9/9+0"),
			"machineState: node 0: numberOfAssignments: an integer from 0 on expected, not -1" NOTHING_OF_NODE},
		{FILE_OF("\"0\":{\"numberOfAssignments\":2147483648}", ""), NODE0_TEXT(""),
			"machineState: node 0: numberOfAssignments: 2147483648 is too many" NOTHING_OF_NODE},
		{FILE_OF("\"0\":{\"cells\":[\"0\"]}", ""), NODE0_TEXT(""),
			"machineState: node 0: cells: not a list of NUMA node ids" NOTHING_OF_NODE
				NO_CHECKSUM},
		/* The group stays: the kubelet gives nothing of a group to a container on one node. */
		{FILE_OF("\"0\":{\"cells\":[0,1]}", ""), "Static: node 0 [0-1] 0;",
			"machineState: node 0: cells names node 1, which does not exist"},
		{FILE_OF("\"0\":{\"memoryMap\":{\"memory\":7}}", ""), NODE0_TEXT(" memory 0-0=0/0+0"),
			"machineState: node 0: memory: an object expected, not a number; 0 bytes count as free" NO_CHECKSUM},
		{TABLE_OF("\"total\":\"1Gi\""), NODE0_TEXT(" memory 0-0=0/0+0"),
			"machineState: node 0: memory: total: a number expected, not a string; 0 bytes count as free" NO_CHECKSUM},
		{TABLE_OF("\"total\":100,\"allocatable\":100,\"free\":-1"),
			NODE0_TEXT(" memory 100-0=100/100+0"),
			"machineState: node 0: memory: free: an integer from 0 on expected, not -1; 0 bytes count as free"},
		{FILE_OF(NODE0("1", "90"), ""), "Static: " TEXT_OF("1", "89"),
			"machineState: node 0: memory: reserved and free do not add up to allocatable; 89 bytes count as free"},
		{FILE_OF(NODE0("80", "9"), ""), "Static: " TEXT_OF("81", "9"),
			"machineState: node 0: memory: reserved and free do not add up to allocatable; 9 bytes count as free"},
		{TABLE_OF(
			 "\"total\":100,\"systemReserved\":10,\"allocatable\":900,\"reserved\":1,\"free\":899"),
			NODE0_TEXT(" memory 100-10=90/1+89"),
			"machineState: node 0: memory: systemReserved and allocatable exceed total; 89 bytes count as free"},
		/* Vanished since the kubelet's start. */
		{FILE_OF("\"2\":{}", ""), "Static: node 2 [] 0;",
			"NUMA nodes 2 do not exist on this machine any more and are not counted: the kubelet knows the machine of its start"},
		{BLOCK_OF("7"), "Static: p/c;" TEXT_OF("0", "90"),
			"entries: pod 'p', container 'c', block 0: an object expected, not a number" NO_CHECKSUM},
		{BLOCK_OF("{\"size\":\"7\"},{\"size\":5,\"type\":\"memory\",\"numaAffinity\":[0]}"),
			"Static: p/c memory 5@0;" TEXT_OF("0", "90"),
			"entries: pod 'p', container 'c', block 0: size: a number expected, not a string" NO_CHECKSUM},
		{BLOCK_OF("{\"size\":7,\"type\":\"memory\",\"numaAffinity\":[1]}"),
			"Static: p/c memory 7@1;" TEXT_OF("0", "90"),
			"entries: pod 'p', container 'c', block 0: NUMA node 1 is not in machineState"},
		{BLOCK_OF("{\"size\":7,\"type\":\"hugepages-1Gi\",\"numaAffinity\":[0]}"),
			"Static: p/c hugepages-1Gi 7@0;" TEXT_OF("0", "90"),
			"entries: pod 'p', container 'c', block 0: NUMA node 0 has no 'hugepages-1Gi'"},
		{FILE_OF(NODE0("0", "90"), ",\"entries\":{\"p\":[]}"), "Static: " TEXT_OF("0", "90"),
			"entries: pod 'p': an object expected, not a list" NO_CHECKSUM},
		{FILE_OF(NODE0("0", "90"), ",\"entries\":{\"\":{}}"), "Static: " TEXT_OF("0", "90"),
			"entries: pod '': its UID is empty"},
		{FILE_OF(NODE0("0", "90"), ",\"entries\":{\"p\":{\"c\":{}}}"),
			"Static: p/c;" TEXT_OF("0", "90"),
			"entries: pod 'p', container 'c': a list expected, not a map" NO_CHECKSUM},
		{FILE_OF(NODE0("0", "90"), ",\"podEntries\":{\"p\":[]}"), "Static: " TEXT_OF("0", "90"),
			"podEntries: pod 'p': an object expected, not a list" NO_CHECKSUM},
		{FILE_OF(NODE0("0", "90"), ",\"podEntries\":{\"p\":{\"memoryBlocks\":{}}}"),
			"Static: " TEXT_OF("0", "90"),
			"podEntries: pod 'p': memoryBlocks: a list expected, not a map" NO_CHECKSUM},
		{FILE_OF(NODE0("0", "90"), ",\"podEntries\":{\"p\":{\"memoryBlocks\":[1]}}"),
			"Static: p/;" TEXT_OF("0", "90"),
			"podEntries: pod 'p', block 0: an object expected, not a number" NO_CHECKSUM},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check(cases[i].text, strlen(cases[i].text), 0, cases[i].want, cases[i].notes);
}

/* A wrong checksum, and the blocks are not what machineState reserves: the larger amount is held. */
static void the_larger_sum_is_held_without_a_good_checksum(void **state)
{
	static const char fewer[] = FILE_OF(NODE0("7", "83"), ",\"checksum\":5");
	static const char more[] = FILE_OF(NODE0("7", "83"),
		",\"entries\":{\"p\":{\"c\":[{\"numaAffinity\":[0],\"type\":\"memory\",\"size\":20}]}},\"checksum\":5");

	(void)state;
	check(fewer, strlen(fewer), 0, "Static: " TEXT_OF("7", "83"),
		"checksum is 5, but that of the content is 534876683; containers hold 0 bytes of memory, but 7 are reserved; the larger amount counts as held");
	check(more, strlen(more), 0, "Static: p/c memory 20@0;" TEXT_OF("20", "70"),
		"checksum is 5, but that of the content is 4235507201; containers hold 20 bytes of memory, but 7 are reserved; the larger amount counts as held");
}

static void truncated_files_are_refused(void **state)
{
	(void)state;
	test_state_prefixes(&state_memory, "states/mem_v2.json");
}

static void huge_files_are_refused(void **state)
{
	CLEANUP(freep) char *text = calloc(1, STATE_MEMORY_FILE_MAX + 1);

	(void)state;
	assert_non_null(text);
	check(text, STATE_MEMORY_FILE_MAX + 1, -EFBIG, "larger than the 1048576 bytes allowed", NULL);
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
	DOC_FOREACH (c, doc_get(&cases, "memory_manager_state")) {
		CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT(1u << 20);
		CLEANUP(kubelet_state_release) struct kubelet_state s = {0};
		CLEANUP(notes_release) struct notes notes = {0};
		struct err err = {""};
		bool valid = !strcmp(doc_get(c, "checksum_valid")->text, "true");

		assert_int_equal(json_print_compact(doc_get(c, "file"), &json), 0);
		if (state_parse(&state_memory, json.text, json.len, NULL, &s, &notes, &err) < 0)
			fail_msg("%s: %s", json.text, err.text);
		assert_int_equal(notes.lines.n_items, valid ? 0 : 1);
		if (!strcmp(s.policy, "None"))
			continue;
		assert_int_equal(s.allocations.n_items, 1);
		assert_int_equal(s.allocations.memory.nodes[0].tables[0].free, 1024);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_format_is_read),
		cmocka_unit_test(consistent_content_counts),
		cmocka_unit_test(damage_is_one_clear_line),
		cmocka_unit_test(an_entry_in_doubt_is_held),
		cmocka_unit_test(the_larger_sum_is_held_without_a_good_checksum),
		cmocka_unit_test(truncated_files_are_refused),
		cmocka_unit_test(huge_files_are_refused),
		cmocka_unit_test(shared_cases_are_read),
	};

	return cmocka_run_group_tests_name("state_memory", tests, NULL, NULL);
}
