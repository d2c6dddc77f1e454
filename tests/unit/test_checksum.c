/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "agent/observe/checksum.h"
#include "agent/observe/state_file.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/strbuf.h"

/* "(*state.CPUManagerCheckpointV2)" and "(*state.CPUManagerCheckpoint)" are names of one struct. */
static void drop_version(char *text)
{
	char *at = strstr(text, "CheckpointV");

	if (at)
		memmove(at + strlen("Checkpoint"), at + strlen("CheckpointV2"),
			strlen(at + strlen("CheckpointV2")) + 1);
}

/* The stored checksum is found, over the text `want` (NULL = whatever). */
static void check(
	const char *what, const char *json, const struct state_kind *kind, const char *want, bool matches)
{
	CLEANUP(state_file_release) struct state_file file = STATE_FILE_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1u << 20);
	CLEANUP(freep) char *expected = want ? strdup(want) : NULL;
	struct checksum_match match;
	struct err err = {""};

	if (state_file_parse(json, strlen(json), 1u << 20, &file, &err) < 0)
		fail_msg("%s: %s", what, err.text);
	assert_int_equal(kind->checksum(&file, &text, &match), 0);
	if (file.checksum != 0 && match.matches != matches)
		fail_msg("%s: checksum %llu, text %s", what, (unsigned long long)file.checksum, text.text);
	if (file.checksum != 0)
		assert_int_equal(
			match.computed, checksum_fnv1a(CHECKSUM_FNV1A_START, text.text, strlen(text.text)));
	if (!expected)
		return;
	drop_version(expected);
	drop_version(text.text);
	test_assert_text(what, text.text, expected);
}

static void fnv1a_is_fnv1a(void **state)
{
	(void)state;
	/* From the algorithm's own test suite. */
	assert_int_equal(checksum_fnv1a(CHECKSUM_FNV1A_START, "", 0), 0x811c9dc5u);
	assert_int_equal(checksum_fnv1a(CHECKSUM_FNV1A_START, "a", 1), 0xe40c292cu);
	assert_int_equal(checksum_fnv1a(CHECKSUM_FNV1A_START, "foobar", 6), 0xbf9cf968u);
}

static void base64_is_strict(void **state)
{
	static const struct {
		const char *text, *want; /* NULL: refused */
	} cases[] = {
		{"", ""},
		{"Zg==", "f"},
		{"Zm8=", "fo"},
		{"Zm9v", "foo"},
		{"Zm9vYmFy", "foobar"},
		{"+/+/", "\xfb\xff\xbf"},
		{"Zg", NULL},
		{"Zg=", NULL},
		{"Zh==", NULL}, /* unused bits set */
		{"Zm9=", NULL},
		{"Zm9vZh==", NULL},
		{"Z===", NULL},
		{"====", NULL},
		{"Zg==Zg==", NULL},
		{"Zm9v\n", NULL},
		{"Zm 9", NULL},
		{"Zm-_", NULL},
		{"\xc3\xa9\xc3\xa9", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(64);
		int r = base64_decode(cases[i].text, &out);

		if ((r == 0) != (cases[i].want != NULL) || (r != 0 && r != -EINVAL))
			fail_msg("'%s' gave %d", cases[i].text, r);
		test_assert_text(cases[i].text, out.text, cases[i].want ? cases[i].want : "");
	}
}

static void integer_keys_are_strict(void **state)
{
	static const char *const bad[] = {
		"", "-", "a", "1a", " 1", "1 ", "+1", "0x1", "1.0", "--1", "9223372036854775808"};
	int64_t value;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(checksum_integer_key(bad[i], &value), -EINVAL);
	assert_int_equal(checksum_integer_key("-1", &value), 0);
	assert_int_equal(value, -1);
	assert_int_equal(checksum_integer_key("007", &value), 0);
	assert_int_equal(value, 7);
}

/* Files and texts that the kubelet's own code wrote. */
static void recorded_files_render_alike(void **state)
{
	static const struct {
		const char *name;
		const struct state_kind *kind;
	} cases[] = {
		{"cpu_v1", &state_cpu},
		{"cpu_v2_many", &state_cpu},
		{"cpu_v2_none", &state_cpu},
		{"cpu_v2_two_pods", &state_cpu},
		{"cpu_v3_no_pod_level", &state_cpu},
		{"cpu_v3_pod_level", &state_cpu},
		{"device_v2", &state_devices},
		{"mem_v1", &state_memory},
		{"mem_v2", &state_memory},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char name[128];
		CLEANUP(freep) char *json = NULL;
		CLEANUP(freep) char *text = NULL;

		snprintf(name, sizeof(name), "states/%s.json", cases[i].name);
		json = test_read_file(test_fixture(name), NULL);
		snprintf(name, sizeof(name), "states/%s.dump.txt", cases[i].name);
		text = test_read_file(test_fixture(name), NULL);
		text[strcspn(text, "\n")] = '\0';
		check(cases[i].name, json, cases[i].kind, text, true);
	}
}

static const struct state_kind *kind_of(const char *kind)
{
	return !strcmp(kind, "cpu") ? &state_cpu : !strcmp(kind, "memory") ? &state_memory : &state_devices;
}

/* Random files whose checksum go-spew's text gave: empty and absent maps, odd names, each version's struct.
 */
static void random_files_match(void **state)
{
	CLEANUP(freep) char *text = test_read_file(test_fixture("states/checksums.txt"), NULL);
	char *rest = text, *line;
	unsigned n = 0;

	(void)state;
	for (line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
		char *kind = strsep(&line, " ");

		if (!line)
			continue;
		check(line, line, kind_of(kind), NULL, true);
		n++;
	}
	assert_int_equal(n, 54);
}

static void a_changed_byte_is_noticed(void **state)
{
	CLEANUP(freep) char *json = test_read_file(test_fixture("states/cpu_v2_two_pods.json"), NULL);
	char *digit = strstr(json, "16-24");

	(void)state;
	assert_non_null(digit);
	digit[4] = '3';
	check("changed", json, &state_cpu, NULL, false);
}

/* One section of the recorded cases of the kubelet's own tests and of real nodes. */
static unsigned check_section(const struct doc *cases, const char *name, const struct state_kind *kind)
{
	const struct doc *section = doc_get(cases, name);
	unsigned n = 0;

	assert_non_null(section);
	DOC_FOREACH (c, section) {
		CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT(1u << 20);
		const struct doc *valid = doc_get(c, "checksum_valid");

		assert_non_null(valid);
		assert_int_equal(json_print_compact(doc_get(c, "file"), &json), 0);
		check(json.text, json.text, kind, doc_string(doc_get(c, "hashed_string")),
			!strcmp(valid->text, "true"));
		n++;
	}
	return n;
}

static void shared_cases_match(void **state)
{
	const char *path = test_shared("vectors/kubelet_cases.json");
	CLEANUP(doc_release) struct doc cases = DOC_INIT;
	CLEANUP(freep) char *text = NULL;
	struct err err = {""};
	size_t len;

	(void)state;
	if (!path)
		test_skip("no ../shared/vectors");
	text = test_read_file(path, &len);
	if (json_parse(text, len, &cases, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(check_section(&cases, "cpu_manager_state", &state_cpu), 32);
	assert_int_equal(check_section(&cases, "memory_manager_state", &state_memory), 8);
	assert_int_equal(check_section(&cases, "kubelet_internal_checkpoint", &state_devices), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fnv1a_is_fnv1a),
		cmocka_unit_test(base64_is_strict),
		cmocka_unit_test(integer_keys_are_strict),
		cmocka_unit_test(recorded_files_render_alike),
		cmocka_unit_test(random_files_match),
		cmocka_unit_test(a_changed_byte_is_noticed),
		cmocka_unit_test(shared_cases_match),
	};

	return cmocka_run_group_tests_name("checksum", tests, NULL, NULL);
}
