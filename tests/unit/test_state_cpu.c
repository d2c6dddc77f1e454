/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "agent/observe/state_file.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "tests/lib/states.h"

struct state_case {
	const char *text;  /* a state file */
	const char *want;  /* "policy: allocations" as test_allocations_text() writes them, or the error */
	const char *notes; /* NULL = none */
};

/* 0 to 31 are online, 32 and 33 offline. */
static void check(const char *text, size_t len, int want_r, const char *want, const char *want_notes)
{
	const struct test_state t = {&state_cpu, "0-31", "32-33", "0-1"};

	test_state_check(&t, text, len, want_r, want, want_notes);
}

static void every_format_is_read(void **state)
{
	static const struct {
		const char *file, *want;
	} cases[] = {
		{"cpu_v1", "static: shared 0-3,8-11;/"
			   "d8a6ac7d5ad6c2ab9f2d7dd2e2bfd1a7b1e0b2a2a7c0a5d6ac7d5ad6c2ab9f2d cpus 4-5;"},
		{"cpu_v2_none", "none: "},
		{"cpu_v2_two_pods", "static: shared 0,10-15,25-31;"
				    "777870b5-c64f-42f5-9296-688b9dc212ba/container-1 cpus 16-24;"
				    "fb15e10a-b6a5-4aaa-8fcd-76c1aa64e6fd/container-1 cpus 1-9;"},
		{"cpu_v3_no_pod_level",
			"static: shared 0-3,8-11;f13edde9-a935-44d8-80fb-a593b7b63707/app cpus 4-5;"
			"f13edde9-a935-44d8-80fb-a593b7b63707/side cpus 6;"},
		{"cpu_v3_pod_level",
			"static: shared 0-3,8-11;759f450a-6734-4ccd-8918-d0e84600cd97/ cpus 12-14;"
			"f13edde9-a935-44d8-80fb-a593b7b63707/app cpus 4-5;"
			"f13edde9-a935-44d8-80fb-a593b7b63707/side cpus 6;"},
		{"cpu_v4", "static: shared 0-3,8-11;759f450a-6734-4ccd-8918-d0e84600cd97/ cpus 12-14;"
			   "f13edde9-a935-44d8-80fb-a593b7b63707/app cpus 4-5;"
			   "f13edde9-a935-44d8-80fb-a593b7b63707/side cpus 6;"},
		{"cpu_v4_data_only", "static: shared 0-3;p1/app cpus 4-5;"},
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

static void consistent_content_counts(void **state)
{
	static const struct state_case cases[] = {
		/* Nobody took a checksum. */
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\",\"checksum\":0}",
			"static: shared 0-3;", NULL},
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\"}", "static: shared 0-3;", NULL},
		/* Go matches keys in any case, ignores unknown ones and takes null for nothing. */
		{"{\"PolicyName\":\"static\",\"DEFAULTCPUSET\":\"0\",\"later\":{\"x\":[1]},\"entries\":null}",
			"static: shared 0;", NULL},
		/* A policy of another name is the caller's business. */
		{"{\"policyName\":\"other\",\"defaultCpuSet\":\"\"}", "other: shared ;", NULL},
		/* Between the kubelet's two writes CPUs are in neither set. */
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0\",\"entries\":{\"p\":{\"c\":\"4\"}}}",
			"static: shared 0;p/c cpus 4;", NULL},
		/* A wrong checksum alone is a warning. */
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\",\"checksum\":7}",
			"static: shared 0-3;", "checksum is 7, but that of the content is 611748604"},
		{"{\"data\":\"{\\\"policyName\\\":\\\"none\\\",\\\"defaultCPUSet\\\":\\\"4-6\\\"}\","
		 "\"checksum\":1234}",
			"none: shared 4-6;", "checksum is 1234, but that of the content is 657950972"},
		{"{\"data\":\"{\\\"policyName\\\":\\\"none\\\",\\\"defaultCPUSet\\\":\\\"4-6\\\"}\","
		 "\"checksum\":0,\"dataChecksum\":1}",
			"none: shared 4-6;", "dataChecksum is 1, but that of the content is 657950972"},
		/* An init container's CPUs are handed on within its pod. */
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0\",\"entries\":{\"p\":{\"init\":\"4-7\","
		 "\"c\":\"4-5\"}}}",
			"static: shared 0;p/c cpus 4-5;p/init cpus 4-7;", NULL},
		/* A pod's own shared pool is the entry of each container in it. */
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0\",\"entries\":{\"p\":{\"a\":\"5-6\",\"b\":"
		 "\"5-6\"}},"
		 "\"podEntries\":{\"p\":{\"cpuSet\":\"4-6\"},\"q\":{}}}",
			"static: shared 0;p/ cpus 4-6;q/;", NULL},
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0,32\",\"entries\":{\"p\":{\"c\":\"4,33\"}}"
		 "}",
			"static: shared 0,32;p/c cpus 4,33;", "CPUs 32-33 are offline"},
		{" {\"policyName\" : \"static\" ,\"defaultCpuSet\":\"3,1-2\"}\n", "static: shared 1-3;",
			NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check(cases[i].text, strlen(cases[i].text), 0, cases[i].want, cases[i].notes);
}

static void damage_is_one_clear_line(void **state)
{
	static const struct state_case cases[] = {
		{"", "empty", NULL},
		{"\xef\xbb\xbf{\"policyName\":\"none\"}", "begins with a byte order mark, not with JSON",
			NULL},
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\",\"entr",
			"not valid JSON at line 1, byte 51", NULL},
		{"{\"policyName\":\"none\"}}", "not valid JSON at line 1, byte 22", NULL},
		{"{\"policyName\":\"none\"} x", "not valid JSON at line 1, byte 23", NULL},
		{"[]", "an object expected, not a list", NULL},
		{"\"static\"", "an object expected, not a string", NULL},
		{"null", "an object expected, not null", NULL},
		{"{}", "no policyName", NULL},
		{"{\"policyName\":\"none\",\"policyName\":\"none\"}",
			"key 'policyName' appears twice in the object that begins at line 1", NULL},
		{"{\"policyName\":\"none\",\"PolicyName\":\"none\"}",
			"'policyName' appears twice, also as 'PolicyName'", NULL},
		{"{\"policyName\":\"static\",\"entries\":{\"p\":{\"c\":\"1\"},\"p\":{\"c\":\"2\"}}}",
			"key 'p' appears twice in the object that begins at line 1", NULL},
		{"{\"policyName\":5}", "policyName: a string expected, not a number", NULL},
		{"{\"policyName\":\"none\",\"defaultCpuSet\":[0,1]}",
			"defaultCpuSet: a string expected, not a list", NULL},
		{"{\"policyName\":\"none\",\"defaultCpuSet\":\"1.3\"}",
			"defaultCpuSet: not a CPU list: '1.3'", NULL},
		{"{\"policyName\":\"none\",\"checksum\":\"1\"}", "checksum: a number expected, not a string",
			NULL},
		{"{\"policyName\":\"none\",\"checksum\":-1}",
			"checksum: an integer from 0 on expected, not -1", NULL},
		{"{\"policyName\":\"static\",\"entries\":[]}", "entries: a map expected, not a list", NULL},
		{"{\"data\":\"{\"}", "data: not valid JSON at line 1, byte 2", NULL},
		{"{\"data\":\"[]\"}", "data: an object expected, not a list", NULL},
		{"{\"data\":\"\"}", "data: empty", NULL},
		{"{\"data\":\"{}\",\"Data\":\"{}\"}", "'data' appears twice, also as 'Data'", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check(cases[i].text, strlen(cases[i].text), -EINVAL, cases[i].want, NULL);
}

#define ENTRIES(default_set, entries) \
	"{\"policyName\":\"static\",\"defaultCpuSet\":\"" default_set "\",\"entries\":{" entries "}}"
#define HELD        "; these CPUs count as held"
#define UNREAD      "; CPUs that no other entry names count as held"
#define NO_CHECKSUM "; the checksum of this content cannot be computed"
#define NOT_THERE \
	" do not exist on this machine any more and are not counted: the kubelet knows the machine of its start"

/* What an entry in doubt may hold is held, and the other entries count. */
static void an_entry_in_doubt_is_held(void **state)
{
	static const struct state_case cases[] = {
		{ENTRIES("0-3", "\"p\":{\"c\":\"asd\",\"d\":\"4\"}"),
			"static: shared 0-3;/ cpus 5-31;p/c;p/d cpus 4;",
			"entries: pod 'p': container 'c': not a CPU list: 'asd'" UNREAD},
		{ENTRIES("0-3", "\"p\":{\"c\":4},\"q\":{\"c\":\"4-30\"}"),
			"static: shared 0-3;/ cpus 31;p/c;q/c cpus 4-30;",
			"entries: pod 'p': container 'c': a CPU list expected, not a number" UNREAD
				NO_CHECKSUM},
		{ENTRIES("0-3", "\"p\":[\"4\"]"), "static: shared 0-3;/ cpus 4-31;p/;",
			"entries: pod 'p': an object expected, not a list" UNREAD NO_CHECKSUM},
		{ENTRIES("0-3", "\"p\":{\"c\":\"4-70000\"}"), "static: shared 0-3;/ cpus 4-31;p/c;",
			"entries: pod 'p': container 'c': CPU id above 65535 in list '4-70000'" UNREAD},
		{ENTRIES("0-3", "\"\":{\"a\":\"4\",\"b\":\"4-5\"}"),
			"static: shared 0-3;/a cpus 4;/b cpus 4-5;",
			"entries: pod '': its UID is empty; its CPUs count as held"},
		/* v1 and v2 do not mix. */
		{ENTRIES("0-3", "\"id\":\"4\",\"p\":{\"c\":\"5\"}"),
			"static: shared 0-3;/ cpus 5-31;/id cpus 4;/p;",
			"entries: container 'p': a CPU list expected, not a map" UNREAD NO_CHECKSUM},
		{ENTRIES("0-3", "\"p\":{\"c\":\"5\"},\"id\":\"4\""),
			"static: shared 0-3;/ cpus 4,6-31;id/;p/c cpus 5;",
			"entries: pod 'id': an object expected, not a string" UNREAD NO_CHECKSUM},
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\",\"podEntries\":{\"p\":\"4\"}}",
			"static: shared 0-3;/ cpus 4-31;p/;",
			"podEntries: pod 'p': an object expected, not a string" UNREAD NO_CHECKSUM},
		/* The entries of the pod's containers remain. */
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\",\"entries\":{\"p\":{\"c\":\"4-5\"}},"
		 "\"podEntries\":{\"p\":{\"cpuSet\":\"x\"}}}",
			"static: shared 0-3;/ cpus 6-31;p/;p/c cpus 4-5;",
			"podEntries: pod 'p': not a CPU list: 'x'" UNREAD NO_CHECKSUM},
		/* Without the right checksum a CPU that a container holds is not free. */
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-4\",\"entries\":{\"p\":{\"c\":\"4-5\"}},"
		 "\"checksum\":3}",
			"static: shared 0-3;p/c cpus 4-5;",
			"checksum is 3, but that of the content is 2789963654; "
			"CPUs 4 of pod 'p', container 'c' are in the default set too" HELD},
		{ENTRIES("0", "\"p\":{\"c\":\"4-5\"},\"q\":{\"c\":\"6\",\"d\":\"5\"}"),
			"static: shared 0;p/c cpus 4-5;q/c cpus 6;q/d cpus 5;",
			"CPUs 5 of pod 'q', container 'd' are held by pod 'p', container 'c' too" HELD},
		{ENTRIES("0", "\"p\":\"4-5\",\"q\":\"5\""), "static: shared 0;/p cpus 4-5;/q cpus 5;",
			"CPUs 5 of container 'q' are held by container 'p' too" HELD},
		{"{\"policyName\":\"static\",\"entries\":{\"q\":{\"c\":\"4\"}},\"podEntries\":{\"p\":{"
		 "\"cpuSet\":\"3-4\"}}}",
			"static: shared ;p/ cpus 3-4;q/c cpus 4;",
			"CPUs 4 of pod 'q', container 'c' are held by pod 'p' too" HELD},
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\",\"podEntries\":{\"p\":{\"cpuSet\":\"3-"
		 "4\"}}}",
			"static: shared 0-2;p/ cpus 3-4;",
			"CPUs 3 of pod 'p' are in the default set too" HELD},
		{"{\"policyName\":\"static\",\"entries\":{\"p\":{\"c\":\"3-5\"}},\"podEntries\":{\"p\":{"
		 "\"cpuSet\":\"3-4\"}}}",
			"static: shared ;p/ cpus 3-4;p/c cpus 5;",
			"CPUs 5 of pod 'p', container 'c' are not among the pod's" HELD},
		/* 32 and 33 are offline, 34 and more have vanished since the kubelet's start. */
		{ENTRIES("0-3", "\"p\":{\"c\":\"31-35\"}"), "static: shared 0-3;p/c cpus 31-35;",
			"CPUs 32-33 are offline; CPUs 34-35" NOT_THERE},
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-63\",\"checksum\":1058907510}",
			"static: shared 0-63;", "CPUs 32-33 are offline; CPUs 34-63" NOT_THERE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check(cases[i].text, strlen(cases[i].text), 0, cases[i].want, cases[i].notes);
}

/* A damaged file may have thousands of bad entries. */
static void entries_in_doubt_make_few_notes(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(65536);
	CLEANUP(kubelet_state_release) struct kubelet_state s = {0};
	CLEANUP(notes_release) struct notes notes = {0};

	(void)state;
	strbuf_addstr(&text, "{\"policyName\":\"static\",\"defaultCpuSet\":\"0\",\"entries\":{\"p\":{");
	for (int i = 0; i < 1000; i++)
		strbuf_addf(&text, "%s\"c%d\":\"x\"", i ? "," : "", i);
	strbuf_addstr(&text, "}}}");
	assert_int_equal(state_parse(&state_cpu, text.text, text.len, NULL, &s, &notes, NULL), 0);
	assert_int_equal(notes.lines.n_items, STATE_DOUBTS_NOTED + 1);
	test_assert_text("the rest", notes.lines.items[STATE_DOUBTS_NOTED], "992 more entries are in doubt");
}

/* What a kubelet really wrote is read, with one line about what is odd in it. The checksum is put in here. */
static void contradictions_of_the_kubelet_are_noted(void **state)
{
	static const struct state_case cases[] = {
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\",\"entries\":{\"p\":{\"c\":\"4-5\"},"
		 "\"q\":{"
		 "\"d\":\"6\",\"e\":\"5,7\"}}",
			"static: shared 0-3;p/c cpus 4-5;q/d cpus 6;q/e cpus 5,7;",
			"CPUs 5 of pod 'q', container 'e' are held by pod 'p', container 'c' too"},
		{"{\"policyName\":\"none\",\"defaultCpuSet\":\"1-3\",\"entries\":{\"pod\":{\"container1\":"
		 "\"4-6\",\"container2\":\"1-3\"}}",
			"none: shared 1-3;pod/container1 cpus 4-6;pod/container2 cpus 1-3;",
			"CPUs 1-3 of pod 'pod', container 'container2' are in the default set too"},
		/* Three pods of which one is gone: its CPU is in the default set again. */
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-4\",\"entries\":{\"p\":{\"c\":\"4-5\"},"
		 "\"q\":{"
		 "\"d\":\"4\"}}",
			"static: shared 0-4;p/c cpus 4-5;q/d cpus 4;",
			"CPUs 4 of pod 'p', container 'c' are in the default set too; 2 more are like that"},
		{"{\"policyName\":\"static\",\"entries\":{\"id1\":\"4-5\",\"id2\":\"5\"}",
			"static: shared ;/id1 cpus 4-5;/id2 cpus 5;",
			"CPUs 5 of container 'id2' are held by container 'id1' too"},
		{"{\"policyName\":\"static\",\"entries\":{\"p\":{\"c\":\"3-5\"}},\"podEntries\":{\"p\":{"
		 "\"cpuSet\":\"3-4\"}}",
			"static: shared ;p/ cpus 3-4;p/c cpus 5;",
			"CPUs 5 of pod 'p', container 'c' are not among the pod's"},
		/* Between two writes of a pod's release. */
		{"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-4\",\"entries\":{},\"podEntries\":{\"p\":{"
		 "\"cpuSet\":\"3-4\"}}",
			"static: shared 0-4;", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(state_file_release) struct state_file file = STATE_FILE_INIT;
		struct checksum_match match;
		char text[512];

		snprintf(text, sizeof(text), "%s}", cases[i].text);
		assert_int_equal(state_file_parse(text, strlen(text), STATE_CPU_FILE_MAX, &file, NULL), 0);
		assert_int_equal(state_cpu.checksum(&file, NULL, &match), 0);
		snprintf(text, sizeof(text), "%s,\"checksum\":%u}", cases[i].text, (unsigned)match.computed);
		check(text, strlen(text), 0, cases[i].want, cases[i].notes);
	}
}

static void numbers_have_limits(void **state)
{
	static const struct state_case cases[] = {
		{"{\"policyName\":\"none\",\"defaultCpuSet\":\"0-65536\"}",
			"defaultCpuSet: CPU id above 65535 in list '0-65536'", NULL},
		{"{\"policyName\":\"none\",\"checksum\":1e400}", "line 1: number too large", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check(cases[i].text, strlen(cases[i].text), -ERANGE, cases[i].want, NULL);
}

static void truncated_files_are_refused(void **state)
{
	(void)state;
	test_state_prefixes(&state_cpu, "states/cpu_v3_pod_level.json");
}

static void awkward_texts_are_refused(void **state)
{
	static const char nul[] = "{\"policyName\":\"none\0\"}";
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4u << 20);

	(void)state;
	check(nul, sizeof(nul) - 1, -EINVAL, "not valid JSON at line 1, byte 20", NULL);
	strbuf_addstr(&text, "{\"policyName\":\"none\",\"x\":\"");
	while (text.len <= STATE_CPU_FILE_MAX)
		strbuf_addstr(&text, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
	strbuf_addstr(&text, "\"}");
	check(text.text, text.len, -EFBIG, "larger than the 1048576 bytes allowed", NULL);
	strbuf_reset(&text);
	for (int i = 0; i < 100000; i++)
		strbuf_addstr(&text, "{\"a\":");
	check(text.text, text.len, -EINVAL, "line 1: JSON nested too deeply", NULL);
}

static void files_are_named(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(kubelet_state_release) struct kubelet_state s = {0};
	CLEANUP(notes_release) struct notes notes = {0};
	CLEANUP(strbuf_release) struct strbuf noted = STRBUF_INIT(4096);
	struct err err = {""};
	char want[4096];

	(void)state;
	assert_int_equal(
		state_read(&state_cpu, dir, "/cpu_manager_state", NULL, NULL, &s, &notes, &err), -ENOENT);
	test_write_file(dir, "cpu_manager_state", "{");
	assert_int_equal(
		state_read(&state_cpu, dir, "/cpu_manager_state", NULL, NULL, &s, &notes, &err), -EINVAL);
	snprintf(want, sizeof(want), "%s/cpu_manager_state: not valid JSON at line 1, byte 2", dir);
	test_assert_text("error", err.text, want);
	test_write_file(dir, "cpu_manager_state",
		"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\",\"checksum\":7}");
	assert_int_equal(state_read(&state_cpu, dir, "/cpu_manager_state", NULL, NULL, &s, &notes, &err), 0);
	test_notes_text(&notes, &noted);
	test_assert_text("note", noted.text,
		"/cpu_manager_state: checksum is 7, but that of the content is 611748604");
}

/* ---- the kubelet's own cases and real nodes */

/* "shared ...;pod/container cpus ...;" of a recorded expectation. */
static void expected_text(const struct doc *expected, struct strbuf *out)
{
	const char *policy = doc_string(doc_get(expected, "policy"));
	const char *shared = doc_string(doc_get(expected, "default"));
	const struct doc *pods = doc_get(expected, "assignments");
	const struct doc *ids = doc_get(expected, "by_container_id");

	strbuf_addf(out, "%s: ", policy);
	if (*shared || strcmp(policy, "none") != 0)
		strbuf_addf(out, "shared %s;", shared);
	if (pods)
		DOC_FOREACH (pod, pods)
			DOC_FOREACH (container, pod)
				strbuf_addf(out, "%s/%s cpus %s;", pod->key, container->key, container->text);
	if (ids)
		DOC_FOREACH (id, ids)
			strbuf_addf(out, "/%s cpus %s;", id->key, id->text);
}

/* What the kubelet's unit tests feed need not make sense; then a note has one of these reasons. */
static bool is_odd(const struct notes *notes)
{
	static const char *const reasons[] = {
		"in the default set too", "not a CPU list", "not among the pod's"};

	for (size_t i = 0; i < notes->lines.n_items; i++)
		for (size_t k = 0; k < ARRAY_SIZE(reasons); k++)
			if (strstr(notes->lines.items[i], reasons[k]))
				return true;
	return false;
}

static void check_shared(const struct doc *c, unsigned *accepted, unsigned *odd)
{
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT(1u << 20);
	CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(65536);
	CLEANUP(strbuf_release) struct strbuf want = STRBUF_INIT(65536);
	CLEANUP(kubelet_state_release) struct kubelet_state s = {0};
	CLEANUP(notes_release) struct notes notes = {0};
	const struct doc *expected = doc_get(c, "expected");
	bool valid = !strcmp(doc_get(c, "checksum_valid")->text, "true");
	struct err err = {""};

	assert_int_equal(json_print_compact(doc_get(c, "file"), &json), 0);
	if (state_parse(&state_cpu, json.text, json.len, NULL, &s, &notes, &err) < 0) {
		if (!strstr(err.text, "not a CPU list"))
			fail_msg("%s: %s", json.text, err.text);
		return;
	}
	(*accepted)++;
	if (is_odd(&notes)) {
		(*odd)++;
		return;
	}
	assert_int_equal(notes.lines.n_items, valid ? 0 : 1);
	if (expected->kind != DOC_MAP || doc_get(expected, "pod_assignments"))
		return;
	strbuf_addf(&got, "%s: ", s.policy);
	test_allocations_text(&s.allocations, &got);
	expected_text(expected, &want);
	test_assert_text(json.text, got.text, want.text);
}

static void shared_cases_are_read(void **state)
{
	const char *path = test_shared("vectors/kubelet_cases.json");
	CLEANUP(doc_release) struct doc cases = DOC_INIT;
	CLEANUP(freep) char *text = NULL;
	unsigned accepted = 0, odd = 0;
	size_t len;

	(void)state;
	if (!path)
		test_skip("no ../shared/vectors");
	text = test_read_file(path, &len);
	assert_int_equal(json_parse(text, len, &cases, NULL), 0);
	DOC_FOREACH (c, doc_get(&cases, "cpu_manager_state"))
		check_shared(c, &accepted, &odd);
	assert_int_equal(accepted, 30);
	assert_int_equal(odd, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_format_is_read),
		cmocka_unit_test(consistent_content_counts),
		cmocka_unit_test(damage_is_one_clear_line),
		cmocka_unit_test(an_entry_in_doubt_is_held),
		cmocka_unit_test(entries_in_doubt_make_few_notes),
		cmocka_unit_test(contradictions_of_the_kubelet_are_noted),
		cmocka_unit_test(numbers_have_limits),
		cmocka_unit_test(truncated_files_are_refused),
		cmocka_unit_test(awkward_texts_are_refused),
		cmocka_unit_test(files_are_named),
		cmocka_unit_test(shared_cases_are_read),
	};

	return cmocka_run_group_tests_name("state_cpu", tests, NULL, NULL);
}
