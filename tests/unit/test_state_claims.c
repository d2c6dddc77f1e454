/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "agent/node/observe/state_claims.h"
#include "common/cleanup.h"
#include "tests/lib/claims.h"
#include "tests/lib/states.h"

/* As Go writes it: the content is a string within the file. */
#define FILE_OF(list)                                                                                                  \
	"{\"Data\":\"{\\\"kind\\\":\\\"DRACheckpoint\\\",\\\"apiVersion\\\":\\\"checkpoint.dra.kubelet.k8s.io/v1\\\"," \
	"\\\"ClaimInfoStateList\\\":" list "}\",\"Checksum\":1}"
#define CLAIM(uid, pods, drivers)                                        \
	"{\\\"ClaimUID\\\":\\\"" uid "\\\",\\\"ClaimName\\\":\\\"c-" uid \
	"\\\",\\\"Namespace\\\":\\\"ns\\\",\\\"PodUIDs\\\":{" pods "},\\\"DriverState\\\":{" drivers "}}"
#define DRIVER(name, devices) "\\\"" name "\\\":{\\\"Devices\\\":" devices "}"
#define DEVICE(name, cdi)                                             \
	"{\\\"PoolName\\\":\\\"n\\\",\\\"DeviceName\\\":\\\"" name    \
	"\\\",\\\"ShareID\\\":null,\\\"RequestNames\\\":[\\\"r\\\"]," \
	"\\\"CDIDeviceIDs\\\":[\\\"" cdi "\\\"]}"
#define SHARED                                                                                                          \
	"{\\\"PoolName\\\":\\\"n\\\",\\\"DeviceName\\\":\\\"d\\\",\\\"ShareID\\\":\\\"s\\\",\\\"RequestNames\\\":null," \
	"\\\"CDIDeviceIDs\\\":null}"
#define POD(uid) "\\\"" uid "\\\":{}"

static int parse(const char *text, char **ret, struct err *err)
{
	struct pod_log logs[] = {
		{(char *)(uintptr_t) "p1", (char *)(uintptr_t) "ns", (char *)(uintptr_t) "web"},
		{(char *)(uintptr_t) "p2", (char *)(uintptr_t) "ns", (char *)(uintptr_t) "db"}};
	const struct pod_evidence e = {.logs = logs, .n_logs = ARRAY_SIZE(logs)};
	CLEANUP(claims_release) struct claims claims = {0};
	struct strbuf out = STRBUF_INIT(65536);
	int r = state_claims_parse(text, strlen(text), &e, &claims, err);

	test_claims_text(&claims, &out);
	*ret = strbuf_detach(&out);
	return r;
}

static void what_the_kubelet_writes_is_read(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{FILE_OF("[]"), ""},
		{FILE_OF("null"), ""},
		{FILE_OF("[" CLAIM(
			 "u1", POD("p1"), DRIVER("dra.cpu", "[" DEVICE("cpu0", "k/cpu=claim-u1") "]")) "]"),
			"dra.cpu u1 ns/c-u1 pods ns/web devices n/cpu0 cdi k/cpu=claim-u1;"},
		/* Two drivers, two pods, and one whose name no log shows; a share; a driver that gives nothing. */
		{FILE_OF("[" CLAIM("u2", POD("p2") "," POD("p1") "," POD("p9"),
			 DRIVER("b", "[" SHARED "]") "," DRIVER(
				 "a", "[" DEVICE("x", "k=x") "," DEVICE("y", "k=x") "]") "," DRIVER("c",
				 "null")) "," CLAIM("u1", "", DRIVER("a", "[]")) "]"),
			"a u1 ns/c-u1;a u2 ns/c-u2 pods ns/db,ns/web devices n/x,n/y cdi k=x;"
			"b u2 ns/c-u2 pods ns/db,ns/web devices n/d/s;"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *got = NULL;
		struct err err = {""};

		if (parse(rows[i].text, &got, &err) < 0)
			fail_msg("%s: %s", rows[i].text, err.text);
		test_assert_text(rows[i].text, got, rows[i].want);
	}
}

static void what_cannot_be_understood_is_refused(void **state)
{
	static const char *const rows[] = {"", "[]", "{", "{\"Data\":\"\"}",
		"{\"Data\":\"[]\",\"Checksum\":1}", FILE_OF("{}"), FILE_OF("[5]"),
		FILE_OF("[{\\\"ClaimUID\\\":5}]"), FILE_OF("[{\\\"PodUIDs\\\":[]}]"),
		FILE_OF("[{\\\"DriverState\\\":[]}]"), FILE_OF("[" CLAIM("u", "", DRIVER("d", "{}")) "]"),
		FILE_OF("[" CLAIM("u", "", DRIVER("d", "[{\\\"PoolName\\\":7}]")) "]"),
		FILE_OF("[" CLAIM("u", "", DRIVER("d", "[{\\\"CDIDeviceIDs\\\":{}}]")) "]")};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *got = NULL;
		struct err err = {""};

		if (parse(rows[i], &got, &err) >= 0)
			fail_msg("%s is accepted", rows[i]);
		assert_string_not_equal(err.text, "");
		test_assert_text(rows[i], got, "");
	}
}

static void a_broken_file_is_a_note(void **state)
{
	char *dir = test_tmpdir();

	(void)state;
	for (int i = 0; i < 2; i++) {
		CLEANUP(claims_release) struct claims claims = {0};
		CLEANUP(notes_release) struct notes notes = {0};
		CLEANUP(strbuf_release) struct strbuf said = STRBUF_INIT(4096);

		state_claims_read(dir, "/k", &claims, &notes);
		assert_int_equal(claims.n_items, 0);
		test_notes_text(&notes, &said);
		if (i == 0)
			test_assert_text("no file", said.text, "");
		else
			assert_non_null(strstr(said.text, "/k/dra_manager_state: "));
		test_write_file(dir, "k/dra_manager_state", "{");
	}
	test_rmtree(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_kubelet_writes_is_read),
		cmocka_unit_test(what_cannot_be_understood_is_refused),
		cmocka_unit_test(a_broken_file_is_a_note),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
