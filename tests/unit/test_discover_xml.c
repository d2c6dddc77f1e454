/* SPDX-License-Identifier: Apache-2.0 */
/* Machines from hwloc's XML: one kept here, those that lstopo writes of the fixture machines, and damaged
 * ones. */
#include "tests/lib/test.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/observe/discover.h"
#include "agent/render/dump_doc.h"
#include "common/cleanup.h"
#include "common/io/yaml.h"

/* The machine as text. */
static char *describe(const char *root, const char *xml)
{
	CLEANUP(machine_release) struct machine m;
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(16u << 20);
	struct machine_source source = {.root = root, .xml = xml};
	struct err err = {""};

	machine_init(&m);
	if (machine_discover(&source, &m, &err) < 0)
		fail_msg("%s", err.text);
	machine_to_doc(&m, &doc);
	assert_int_equal(yaml_print(&doc, &text), 0);
	return strbuf_detach(&text);
}

static void the_kept_file_equals_its_machine(void **state)
{
	CLEANUP(freep) char *got = describe(NULL, test_fixture("machines/cxl.xml"));
	CLEANUP(freep) char *want = test_read_file(test_fixture("machines/cxl.machine.yaml"), NULL);

	(void)state;
	test_assert_text("cxl.xml", got, want);
}

static void files_of_lstopo_equal_their_trees(void **state)
{
	/* Not: overlapping, where hwloc keeps one node; row-missing and one-node, where it keeps no
	 * distances. */
	static const char *const machines[] = {"16-nodes", "2s-smt2-split", "2s-snc4", "64-nodes-1024-cpus",
		"8-sockets", "asymmetric", "ccx", "cxl", "gpu-memory", "holes", "hugepages", "interleaved",
		"memoryless", "no-distances", "offline", "offline-node", "seed-2s-32cpu", "without-numa"};

	(void)state;
	if (system("command -v lstopo-no-graphics >/dev/null") != 0)
		test_skip("no lstopo");
	if (system("lstopo-no-graphics --version | grep -q ' 2\\.[0-5]\\.'") == 0)
		test_skip("lstopo before 2.6 writes no ids of caches");
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		CLEANUP(test_rmtree) char *dir = test_tmpdir();
		CLEANUP(freep) char *tree = NULL;
		CLEANUP(freep) char *xml = NULL;
		char file[256], command[1024];

		snprintf(file, sizeof(file), "%s/machine.xml", dir);
		snprintf(command, sizeof(command),
			"HWLOC_FSROOT='%s' HWLOC_COMPONENTS=linux,stop HWLOC_USE_NUMA_DISTANCES=7 "
			"lstopo-no-graphics "
			"--disallowed --of xml '%s'",
			test_machine_tree(machines[i]), file);
		assert_int_equal(system(command), 0);
		tree = describe(test_machine_tree(machines[i]), NULL);
		xml = describe(NULL, file);
		test_assert_text(machines[i], xml, tree);
	}
}

/* Replace the first `old` by `new` in the kept file and read it. */
static int read_changed(const char *old, const char *new, struct err *err)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(freep) char *text = test_read_file(test_fixture("machines/cxl.xml"), NULL);
	CLEANUP(strbuf_release) struct strbuf changed = STRBUF_INIT(1u << 20);
	CLEANUP(machine_release) struct machine m;
	char file[256];
	struct machine_source source = {.xml = file};
	char *at = strstr(text, old);
	int r;

	assert_non_null(at);
	strbuf_add(&changed, text, (size_t)(at - text));
	strbuf_addstr(&changed, new);
	strbuf_addstr(&changed, at + strlen(old));
	snprintf(file, sizeof(file), "%s/machine.xml", dir);
	test_write_file(dir, "machine.xml", changed.text);
	machine_init(&m);
	r = machine_discover(&source, &m, err);
	if (r < 0 && (!strstr(err->text, file) || strchr(err->text, '\n')))
		fail_msg("the error does not name the file in one line: '%s'", err->text);
	if (r < 0)
		assert_int_equal(m.n_cpus + m.n_nodes, 0);
	return r;
}

static void damaged_files_are_refused(void **state)
{
	static const struct {
		const char *old, *new;
		int error;
	} cases[] = {
		{"<topology version=\"2.0\">", "<topology version=\"9.0\">", -EINVAL},
		{"<?xml", "<!xml", -EINVAL},
		{"</topology>", "", -EINVAL},
		{"<object type=\"Machine\"", "<object type=\"Washing machine\"", -EINVAL},
		{"complete_nodeset=\"0x00000002\" gp_index=\"39\"", "gp_index=\"39\"",
			-EINVAL}, /* hwloc 2.9 crashes */
		{"cpuset=\"0x0000ff00\" complete_cpuset", "complete_cpuset", -EINVAL},
		{"local_memory=\"68719476736\"", "local_memory=\"-1\"", -ERANGE},
		{"<page_type size=\"2097152\" count=\"256\"/>",
			"<page_type size=\"2097152\" count=\"99999999999999999\"/>", -ERANGE},
		{"10 21 14 21 ", "70000 1 1 1 ", -ERANGE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = {""};
		int r = read_changed(cases[i].old, cases[i].new, &err);

		if (r != cases[i].error)
			fail_msg("'%s' for '%s' gave %d: %s", cases[i].new, cases[i].old, r, err.text);
	}
}

static void files_that_are_none_are_refused(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	char file[256];
	struct machine_source source = {.xml = file};
	struct machine m;
	struct err err = {""};

	(void)state;
	snprintf(file, sizeof(file), "%s/none.xml", dir);
	assert_int_equal(machine_discover(&source, &m, &err), -ENOENT);
	assert_non_null(strstr(err.text, "none.xml"));
	test_write_file(dir, "none.xml", "");
	assert_int_equal(machine_discover(&source, &m, &err), -EINVAL);
	test_write_file(dir, "none.xml", "{\"machine\": 1}\n");
	assert_int_equal(machine_discover(&source, &m, &err), -EINVAL);
	assert_non_null(strstr(err.text, "none.xml"));
}

static long peak_kilobytes(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return usage.ru_maxrss;
}

/* In a child, as the peak of a process never falls. */
static void a_file_cannot_take_all_memory(void **state)
{
	static const struct {
		const char *old, *new;
		int error;
	} cases[] = {
		{"type=\"PU\" os_index=\"1\"", "type=\"PU\" os_index=\"4294967294\"", -ERANGE},
		{"type=\"PU\" os_index=\"1\"", "type=\"PU\" os_index=\"2147483647\"", -ERANGE},
		{"type=\"NUMANode\" os_index=\"2\"", "type=\"NUMANode\" os_index=\"4294967294\"", -ERANGE},
		{"type=\"PU\" os_index=\"1\" cpuset=\"0x00000002\"", "type=\"PU\" cpuset=\"0x0\"",
			0}, /* hwloc makes a bitmap up to no id, and drops the CPU */
		{"gp_index=\"7\"/>",
			"gp_index=\"7\"><object type=\"PU\" cpuset=\"0x2\" complete_cpuset=\"0x2\" "
			"nodeset=\"0x5\" complete_nodeset=\"0x5\" gp_index=\"77\"/></object>",
			-ERANGE}, /* it keeps this one, and lists it nowhere */
	};

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	test_skip("the address sanitizer has memory of its own, which the limit does not see");
#endif
	if (test_runner())
		test_skip("valgrind and QEMU take more memory than the limit themselves");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		pid_t child = fork();
		int status;

		assert_int_not_equal(child, -1);
		if (child == 0) {
			struct err err = {""};

			_exit(read_changed(cases[i].old, cases[i].new, &err) == cases[i].error ? 0 : 1);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		if (peak_kilobytes() > 300 << 10)
			fail_msg("%s: %ld kB", cases[i].new, peak_kilobytes());
	}
}

/* Whatever is cut off or overwritten: an answer or an error, and no child left behind. */
static void random_damage_is_survived(void **state)
{
	uint64_t random = test_seed(20261122);
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(freep) char *text = NULL;
	size_t len;
	char file[256];
	int refused = 0;

	(void)state;
	text = test_read_file(test_fixture("machines/cxl.xml"), &len);
	snprintf(file, sizeof(file), "%s/machine.xml", dir);
	for (int n = 0; n < 150; n++) {
		CLEANUP(freep) char *changed = strdup(text);
		CLEANUP(machine_release) struct machine m;
		struct machine_source source = {.xml = file};
		struct err err = {""};

		assert_non_null(changed);
		machine_init(&m);
		for (uint64_t k = test_random(&random) % 4; k > 0; k--)
			changed[test_random(&random) % len] = (char)(' ' + test_random(&random) % 95);
		if (test_random(&random) % 3 == 0)
			changed[test_random(&random) % len] = '\0';
		test_write_file(dir, "machine.xml", changed);
		if (machine_discover(&source, &m, &err) < 0) {
			assert_non_null(strstr(err.text, file));
			refused++;
		}
	}
	assert_true(refused > 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kept_file_equals_its_machine),
		cmocka_unit_test(files_of_lstopo_equal_their_trees),
		cmocka_unit_test(damaged_files_are_refused),
		cmocka_unit_test(files_that_are_none_are_refused),
		cmocka_unit_test(a_file_cannot_take_all_memory),
		cmocka_unit_test(random_damage_is_survived),
	};

	return cmocka_run_group_tests_name("discover_xml", tests, NULL, NULL);
}
