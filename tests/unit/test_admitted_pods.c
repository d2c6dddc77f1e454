/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the kubelet's file of admitted pods. */
#include "tests/lib/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/observe/admitted_pods.h"
#include "common/cleanup.h"
#include "common/xalloc.h"

#define UID_A "5b1f6f0e-7a39-4d0c-9c0e-1f1d2f0a0001"
#define UID_B "5b1f6f0e-7a39-4d0c-9c0e-1f1d2f0a0002"

/* admitted_v2.json was written by SetPod() of 1.38.0-beta.0 for two pods. */
static void a_list_of_whole_pods_is_read(void **state)
{
	CLEANUP(freep) char *text = NULL;
	size_t len;

	(void)state;
	text = test_read_file(test_fixture("states/admitted_v2.json"), &len);
	for (int entries = 1; entries >= 0; entries--) {
		CLEANUP(strv_release) struct strv uids = {0};
		struct err err = {""};
		char *legacy = strstr(text, "\\\"entries\\\"");

		if (!entries)
			memcpy(legacy, "\\\"eNtrIes", 9); /* as it will be from 1.39 on */
		if (admitted_pods_parse(text, len, &uids, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(uids.n_items, 2);
		assert_string_equal(uids.items[0], UID_A);
		assert_string_equal(uids.items[1], UID_B);
	}
}

static void entries_are_read_without_a_list(void **state)
{
	static const char text[] =
		"{\"data\":\"{\\\"entries\\\":{\\\"u\\\":{},\\\"v\\\":{}}}\",\"checksum\":1}";
	CLEANUP(strv_release) struct strv uids = {0};
	struct err err = {""};

	(void)state;
	assert_int_equal(admitted_pods_parse(text, strlen(text), &uids, &err), 0);
	assert_int_equal(uids.n_items, 2);
	assert_string_equal(uids.items[1], "v");
}

/* An empty PodList, as SetPod() followed by RemovePod() leaves it, and an empty map. */
static void an_empty_list_means_no_pods(void **state)
{
	static const char *const texts[] = {
		"{\"version\":\"v2\",\"data\":\"{\\\"podList\\\":\\\"CgYKABIAGgA=\\\"}\",\"checksum\":1}",
		"{\"data\":\"{\\\"entries\\\":{}}\",\"checksum\":1}"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP(strv_release) struct strv uids = {0};
		struct err err = {""};

		assert_int_equal(admitted_pods_parse(texts[i], strlen(texts[i]), &uids, &err), 0);
		assert_int_equal(uids.n_items, 0);
	}
}

static void files_without_a_usable_list_are_errors(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"{\"version\":\"v2\",\"data\":\"{}\",\"checksum\":1}", "it has no list of pods"},
		{"{\"version\":\"v2\",\"data\":\"{\\\"entries\\\":{\\\"u\\\":{}}}\",\"checksum\":1}",
			"it has no list of pods"},
		{"{\"version\":\"v2\",\"data\":\"{\\\"podList\\\":null}\",\"checksum\":1}",
			"it has no list of pods"},
		{"{\"version\":\"v3\",\"data\":\"{\\\"pods\\\":[]}\",\"checksum\":1}",
			"format 'v3' is not known"},
		{"{\"version\":\"v2\",\"data\":\"{\\\"podList\\\":\\\"CgY\\\"}\",\"checksum\":1}",
			"podList is not base64"},
		{"{\"version\":\"v2\",\"data\":\"{\\\"podList\\\":\\\"CgYKABIAGg==\\\"}\",\"checksum\":1}",
			"podList is not a valid message"},
		/* items: a message that ends early; a pod without metadata; one without a UID */
		{"{\"version\":\"v2\",\"data\":\"{\\\"podList\\\":\\\"EgIKBQ==\\\"}\",\"checksum\":1}",
			"podList: a pod is not a valid message"},
		{"{\"version\":\"v2\",\"data\":\"{\\\"podList\\\":\\\"EgA=\\\"}\",\"checksum\":1}",
			"podList: a pod without UID"},
		{"{\"version\":\"v2\",\"data\":\"{\\\"podList\\\":\\\"EgIKAA==\\\"}\",\"checksum\":1}",
			"podList: a pod without UID"},
		{"{\"version\":2,\"data\":\"{}\",\"checksum\":1}",
			"version: a string expected, not a number"},
		{"[]", "an object expected, not a list"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strv_release) struct strv uids = {0};
		struct err err = {""};

		strv_push(&uids, "before");
		assert_true(admitted_pods_parse(cases[i].text, strlen(cases[i].text), &uids, &err) < 0);
		test_assert_text(cases[i].text, err.text, cases[i].want);
		assert_int_equal(uids.n_items, 1);
	}
}

static void a_file_of_too_many_bytes_is_an_error(void **state)
{
	CLEANUP(freep) char *text = xcalloc(ADMITTED_PODS_MAX + 2, 1);
	CLEANUP(strv_release) struct strv uids = {0};
	struct err err = {""};

	(void)state;
	memset(text, ' ', ADMITTED_PODS_MAX + 1);
	assert_int_equal(admitted_pods_parse(text, ADMITTED_PODS_MAX + 1, &uids, &err), -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_of_whole_pods_is_read),
		cmocka_unit_test(entries_are_read_without_a_list),
		cmocka_unit_test(an_empty_list_means_no_pods),
		cmocka_unit_test(files_without_a_usable_list_are_errors),
		cmocka_unit_test(a_file_of_too_many_bytes_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
