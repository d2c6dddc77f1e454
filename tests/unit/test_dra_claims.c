/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/observe/dra_claims.h"
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
#define PREPARED(name, cdi)                                           \
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
			 "u1", POD("p1"), DRIVER("dra.cpu", "[" PREPARED("cpu0", "k/cpu=claim-u1") "]")) "]"),
			"dra.cpu u1 ns/c-u1 pods ns/web devices n/cpu0 cdi k/cpu=claim-u1;"},
		/* Two drivers, two pods, and one whose name no log shows; a share; a driver that gives nothing. */
		{FILE_OF("[" CLAIM("u2", POD("p2") "," POD("p1") "," POD("p9"),
			 DRIVER("b", "[" SHARED "]") "," DRIVER(
				 "a", "[" PREPARED("x", "k=x") "," PREPARED("y", "k=x") "]") "," DRIVER("c",
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

		assert_int_equal(state_claims_read(dir, "/k", &claims, &notes, NULL), 0);
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

#define SPEC(kind, devices) "{\"cdiVersion\":\"0.8.0\",\"kind\":\"" kind "\",\"devices\":[" devices "]}"
#define DEVICE(name, env)   "{\"name\":\"" name "\",\"containerEdits\":{\"env\":[" env "]}}"
#define CPU(devices)        SPEC("dra.k8s.io/cpu", devices)
#define CPU_ENV(env)        CPU(DEVICE("claim-u1", env))
#define MEM_ENV(env)        SPEC("dra.k8s.io/memory", DEVICE("claim-u2", env))
#define CPU_CDI             " cdi dra.k8s.io/cpu=claim-u1;"
#define MEM_CDI             " cdi dra.k8s.io/memory=claim-u2;"

static int parse_spec(const char *text, bool yaml, char **ret, struct err *err)
{
	CLEANUP(claims_release) struct claims claims = {0};
	struct strbuf out = STRBUF_INIT(65536);
	int r = cdi_claims_parse(text, strlen(text), yaml, &claims, err);

	test_claims_text(&claims, &out);
	*ret = strbuf_detach(&out);
	return r;
}

static void what_the_drivers_write_is_read(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{CPU(""), ""},
		{"{\"cdiVersion\":\"0.8.0\",\"kind\":\"dra.k8s.io/cpu\",\"devices\":null}", ""},
		{CPU_ENV("\"DRA_CPUSET_u1=0-3,8\""), "dra.k8s.io/cpu u1 cpus 0-3,8" CPU_CDI},
		{CPU_ENV("\"DRA_CPUSET_u1=\""), "dra.k8s.io/cpu u1" CPU_CDI},
		{CPU(DEVICE("claim-a", "\"DRA_CPUSET_a=1\"") "," DEVICE("claim-b", "\"DRA_CPUSET_b=2\"")),
			"dra.k8s.io/cpu a cpus 1 cdi dra.k8s.io/cpu=claim-a;"
			"dra.k8s.io/cpu b cpus 2 cdi dra.k8s.io/cpu=claim-b;"},
		{MEM_ENV("\"DRAMEMORY_u2_memory=numanode:1,size:512Mi\",\"DRAMEMORY_u2_NUMANodes=1\""),
			"dra.k8s.io/memory u2 memory 536870912@1" MEM_CDI},
		{MEM_ENV("\"DRAMEMORY_u2_hugepages_2Mi=numanode:0,size:16Mi\",\"DRAMEMORY_u2_hugepages_1Gi="
			 "numanode:2,size:3Gi\",\"DRAMEMORY_u2_NUMANodes=0,2\""),
			"dra.k8s.io/memory u2 hugepages-2Mi 16777216@0 hugepages-1Gi 3221225472@2" MEM_CDI},
		/* Two results of one claim from one device. */
		{MEM_ENV("\"DRAMEMORY_u2_memory=numanode:0,size:1Ki\",\"DRAMEMORY_u2_memory=numanode:0,size:"
			 "2Ki\",\"DRAMEMORY_u2_memory=numanode:1,size:4Ki\""),
			"dra.k8s.io/memory u2 memory 3072@0 memory 4096@1" MEM_CDI},
		/* Other drivers and other variables. */
		{SPEC("nvidia.com/gpu",
			 "{\"name\":\"0\",\"containerEdits\":{\"deviceNodes\":[{\"path\":\"/d\"}]}}"),
			""},
		{CPU_ENV("\"PATH=/bin\",\"DRA_CPUSET_u1=7\""), "dra.k8s.io/cpu u1 cpus 7" CPU_CDI},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *got = NULL;
		struct err err = {""};

		if (parse_spec(rows[i].text, false, &got, &err) < 0)
			fail_msg("%s: %s", rows[i].text, err.text);
		test_assert_text(rows[i].text, got, rows[i].want);
	}
}

static void yaml_is_read_too(void **state)
{
	static const char text[] =
		"cdiVersion: 0.8.0\nkind: v.com/cpu\ndevices:\n- name: c\n  containerEdits:\n    env: [DRA_CPUSET_x=4-5]\n";
	CLEANUP(freep) char *got = NULL;

	(void)state;
	assert_int_equal(parse_spec(text, true, &got, NULL), 0);
	test_assert_text("YAML", got, "v.com/cpu x cpus 4-5 cdi v.com/cpu=c;");
}

static void a_spec_that_cannot_be_understood_is_refused(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"", "the file is empty"},
		{"{", "not valid JSON at line 1, byte 2"},
		{"[]", "not a CDI spec: it has no kind"},
		{"{\"kind\":5}", "not a CDI spec: it has no kind"},
		{SPEC("v/c", "") "x", NULL},
		{"{\"kind\":\"v/c\",\"devices\":{}}", "devices: a list is expected, not a map"},
		{CPU("{}"), "a device without name"},
		{CPU("7"), "a device without name"},
		{CPU("{\"name\":\"d\",\"containerEdits\":{\"env\":\"DRA_CPUSET_u=1\"}}"),
			"device 'd': env: a list is expected, not a string"},
		{CPU_ENV("5"), "device 'claim-u1': env holds a number"},
		{CPU_ENV("\"DRA_CPUSET_u1\""), "device 'claim-u1': 'DRA_CPUSET_u1' has no value"},
		{CPU_ENV("\"DRA_CPUSET_=1\""), "device 'claim-u1': DRA_CPUSET_: it names no claim"},
		{CPU_ENV("\"DRA_CPUSET_u1=dynamic\""), NULL},
		{CPU_ENV("\"DRA_CPUSET_u1=3-1\""), NULL},
		{CPU_ENV("\"DRA_CPUSET_u1=-1\""), NULL},
		{CPU_ENV("\"DRA_CPUSET_u1=0-99999999\""), NULL},
		{MEM_ENV("\"DRAMEMORY_u2=1\""), "device 'claim-u2': DRAMEMORY_u2: it names no claim"},
		{MEM_ENV("\"DRAMEMORY_u2=a_b\""), "device 'claim-u2': DRAMEMORY_u2: it names no claim"},
		{MEM_ENV("\"DRAMEMORY__memory=numanode:0,size:1\""),
			"device 'claim-u2': DRAMEMORY__memory: it names no claim"},
		{MEM_ENV("\"DRAMEMORY_u2_cache=numanode:0,size:1\""),
			"device 'claim-u2': DRAMEMORY_u2_cache: 'cache' is not a memory type"},
		{MEM_ENV("\"DRAMEMORY_u2_memory=size:1\""),
			"device 'claim-u2': DRAMEMORY_u2_memory: 'size:1' is not of the form numanode:N,size:Q"},
		{MEM_ENV("\"DRAMEMORY_u2_memory=numanode:-1,size:1\""),
			"device 'claim-u2': DRAMEMORY_u2_memory: 'numanode:-1,size:1' is not of the form numanode:N,size:Q"},
		{MEM_ENV("\"DRAMEMORY_u2_memory=numanode:0\""),
			"device 'claim-u2': DRAMEMORY_u2_memory: 'numanode:0' is not of the form numanode:N,size:Q"},
		{MEM_ENV("\"DRAMEMORY_u2_memory=numanode:99999999999999999999,size:1\""), NULL},
		{MEM_ENV("\"DRAMEMORY_u2_memory=numanode:0,size:-1\""),
			"device 'claim-u2': DRAMEMORY_u2_memory: '-1' is not a number of bytes"},
		{MEM_ENV("\"DRAMEMORY_u2_memory=numanode:0,size:500m\""),
			"device 'claim-u2': DRAMEMORY_u2_memory: '500m' is not a number of bytes"},
		{MEM_ENV("\"DRAMEMORY_u2_memory=numanode:0,size:1e30\""), NULL},
		{MEM_ENV("\"DRAMEMORY_u2_memory=numanode:0,size:much\""), NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *got = NULL;
		struct err err = {""};

		if (parse_spec(rows[i].text, false, &got, &err) >= 0)
			fail_msg("%s is accepted", rows[i].text);
		assert_string_not_equal(err.text, "");
		assert_null(strchr(err.text, '\n'));
		if (rows[i].want)
			test_assert_text(rows[i].text, err.text, rows[i].want);
	}
}

/* ---- a folder of files */

struct folder {
	char *dir;
	struct cdi_texts last;
	struct strbuf got, notes;
	struct err err;
};

static void folder_init(struct folder *f)
{
	*f = (struct folder){.dir = test_tmpdir()};
	f->got = f->notes = (struct strbuf)STRBUF_INIT(65536);
}

static void folder_release(struct folder *f)
{
	cdi_texts_release(&f->last);
	strbuf_release(&f->got);
	strbuf_release(&f->notes);
	test_rmtree(&f->dir);
}

static int look(struct folder *f)
{
	CLEANUP(claims_release) struct claims claims = {0};
	CLEANUP(notes_release) struct notes notes = {0};
	int r;

	strbuf_reset(&f->got);
	strbuf_reset(&f->notes);
	f->err = (struct err){""};
	r = cdi_claims_read(f->dir, "/var/run/cdi", &f->last, &claims, &notes, &f->err);
	test_claims_text(&claims, &f->got);
	test_notes_text(&notes, &f->notes);
	return r;
}

static void write_spec(const struct folder *f, const char *name, const char *text)
{
	char path[300];

	snprintf(path, sizeof(path), "var/run/cdi/%s", name);
	test_write_file(f->dir, path, text);
}

static void drop_spec(const struct folder *f, const char *name)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/var/run/cdi/%s", f->dir, name);
	assert_int_equal(unlink(path), 0);
}

#define CLAIM_FILE "dra.k8s.io-cpu_claim-u1.json"

static void no_folder_is_no_claim(void **state)
{
	struct folder f;

	(void)state;
	folder_init(&f);
	assert_int_equal(look(&f), 0);
	test_assert_text("no folder", f.got.text, "");
	folder_release(&f);
}

static void files_of_other_drivers_are_passed_over(void **state)
{
	struct folder f;

	(void)state;
	folder_init(&f);
	write_spec(&f, "nvidia.yaml", "kind: [broken");
	write_spec(&f, "vendor.json", "{broken");
	write_spec(&f, "spec.12345.tmp", CPU_ENV("\"DRA_CPUSET_u1=0\""));
	write_spec(&f, "dra.cpu98765", CPU_ENV("\"DRA_CPUSET_u1=1\""));
	write_spec(&f, ".dra.cpu.json", CPU_ENV("\"DRA_CPUSET_u1=2\""));
	write_spec(&f, CLAIM_FILE, CPU_ENV("\"DRA_CPUSET_u1=4-7\""));
	assert_int_equal(look(&f), 0);
	test_assert_text("others", f.got.text, "dra.k8s.io/cpu u1 cpus 4-7" CPU_CDI);
	test_assert_text("notes", f.notes.text, "");
	folder_release(&f);
}

/* The file of one driver for all claims (v0.1.0) and its file for this claim (v0.2.0). */
static void a_claim_that_two_files_list_is_one(void **state)
{
	struct folder f;

	(void)state;
	folder_init(&f);
	write_spec(&f, "dra.cpu.json", CPU_ENV("\"DRA_CPUSET_u1=4-7\""));
	write_spec(&f, CLAIM_FILE, CPU_ENV("\"DRA_CPUSET_u1=6-9\""));
	write_spec(&f, "dra.memory.json", MEM_ENV("\"DRAMEMORY_u2_memory=numanode:0,size:1Ki\""));
	write_spec(&f, "dra.memory-2.json", MEM_ENV("\"DRAMEMORY_u2_memory=numanode:0,size:2Ki\""));
	assert_int_equal(look(&f), 0);
	test_assert_text("united", f.got.text,
		"dra.k8s.io/cpu u1 cpus 4-9" CPU_CDI "dra.k8s.io/memory u2 memory 2048@0" MEM_CDI);
	folder_release(&f);
}

static void a_broken_file_says_what_it_said_last(void **state)
{
	struct folder f;

	(void)state;
	folder_init(&f);
	write_spec(&f, "dra.memory.json", MEM_ENV("\"DRAMEMORY_u2_memory=numanode:0,size:1Ki\""));
	write_spec(&f, CLAIM_FILE, "{\"kind\"");
	assert_int_equal(look(&f), -EINVAL);
	test_assert_text("nothing is known", f.err.text,
		"/var/run/cdi/" CLAIM_FILE
		": not valid JSON at line 1, byte 8; the holdings of its claims are unknown");
	test_assert_text("nothing is half known", f.got.text, "");

	write_spec(&f, CLAIM_FILE, CPU_ENV("\"DRA_CPUSET_u1=4\""));
	assert_int_equal(look(&f), 0);
	for (int i = 0; i < 2; i++) {
		write_spec(&f, CLAIM_FILE, i ? "" : CPU_ENV("\"DRA_CPUSET_u1=dynamic\""));
		assert_int_equal(look(&f), 0);
		test_assert_text("kept", f.got.text,
			"dra.k8s.io/cpu u1 cpus 4" CPU_CDI "dra.k8s.io/memory u2 memory 1024@0" MEM_CDI);
		assert_non_null(strstr(f.notes.text, "/var/run/cdi/" CLAIM_FILE ": "));
		assert_non_null(strstr(f.notes.text, "; its last content is still used"));
	}
	drop_spec(&f, CLAIM_FILE);
	assert_int_equal(look(&f), 0);
	test_assert_text("gone", f.got.text, "dra.k8s.io/memory u2 memory 1024@0" MEM_CDI);
	test_assert_text("notes", f.notes.text, "");
	write_spec(&f, CLAIM_FILE, "broken");
	assert_int_equal(look(&f), -EINVAL);
	folder_release(&f);
}

static void a_folder_that_is_none_is_an_error(void **state)
{
	struct folder f;

	(void)state;
	folder_init(&f);
	test_write_file(f.dir, "var/run/cdi", "a file");
	assert_int_equal(look(&f), -ENOTDIR);
	assert_non_null(strstr(f.err.text, "/var/run/cdi'"));
	folder_release(&f);
}

/* ---- with what the kubelet names */

static void the_kubelets_claims_get_what_the_files_say(void **state)
{
	CLEANUP(claims_release) struct claims claims = {0};
	CLEANUP(claims_release) struct claims specs = {0};
	CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(65536);
	struct claim *c;

	(void)state;
	for (int i = 0; i < 2; i++) {
		c = test_add_claim(&claims, i ? "dra.memory" : "dra.cpu", "", "", NULL, 0, 0);
		free(c->name);
		c->name = strdup("web");
		claim_add_pod(c, "team", "p");
		strv_push(&c->cdi, i ? "k/memory=claim-u1" : "k/cpu=claim-u1");
	}
	c = test_add_claim(&specs, "k/cpu", "u1", "0-3", NULL, 0, 0);
	strv_push(&c->cdi, "k/cpu=claim-u1");
	c = test_add_claim(&specs, "k/memory", "u1", "", "memory", 7, 1);
	strv_push(&c->cdi, "k/memory=claim-u1");
	c = test_add_claim(&specs, "k/cpu", "u9", "8", NULL, 0, 0);
	strv_push(&c->cdi, "k/cpu=claim-u9");
	cdi_claims_join(&claims, &specs);
	assert_int_equal(specs.n_items, 0);
	test_claims_text(&claims, &got);
	test_assert_text("joined", got.text,
		"dra.cpu u1 /web pods team/p cpus 0-3 cdi k/cpu=claim-u1;"
		"dra.memory u1 /web pods team/p memory 7@1 cdi k/memory=claim-u1;"
		"k/cpu u9 cpus 8 cdi k/cpu=claim-u9;");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_kubelet_writes_is_read),
		cmocka_unit_test(what_cannot_be_understood_is_refused),
		cmocka_unit_test(a_broken_file_is_a_note),
		cmocka_unit_test(what_the_drivers_write_is_read),
		cmocka_unit_test(yaml_is_read_too),
		cmocka_unit_test(a_spec_that_cannot_be_understood_is_refused),
		cmocka_unit_test(no_folder_is_no_claim),
		cmocka_unit_test(files_of_other_drivers_are_passed_over),
		cmocka_unit_test(a_claim_that_two_files_list_is_one),
		cmocka_unit_test(a_broken_file_says_what_it_said_last),
		cmocka_unit_test(a_folder_that_is_none_is_an_error),
		cmocka_unit_test(the_kubelets_claims_get_what_the_files_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
