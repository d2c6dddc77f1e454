/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nrtd's discovery and libnuma agree on the running system, and on fixture machines that a child process
 * finds mounted on /sys: both read the paths of the running system there, as they do in production.
 */
#include "tests/lib/test.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/check/check.h"
#include "agent/observe/discover.h"
#include "common/cleanup.h"

#define CHILD "NRTD_TEST_LIBNUMA" /* set for the child: "equal" or "seeded" */

static int discover(struct machine *m)
{
	struct machine_source source = {NULL, NULL};
	struct err err = {""};
	int r;

	machine_init(m);
	r = machine_discover(&source, m, &err);
	if (r < 0)
		print_message("%s\n", err.text);
	return r;
}

/* Make the machine differ in what is compared: an id, a distance, a CPU. */
static void seed_differences(struct machine *m)
{
	m->nodes[m->n_nodes - 1].id++;
	if (m->distances)
		m->distances[0]++;
	hwloc_bitmap_clr(m->nodes[0].cpus, (unsigned)hwloc_bitmap_first(m->nodes[0].cpus));
}

/* The child's work: the differences on stdout, then "done N". */
static int compare_in_child(const char *mode)
{
	CLEANUP(machine_release) struct machine m;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(1u << 20);
	struct err err = {""};
	int n;

	if (discover(&m) < 0)
		return 1;
	if (strcmp(mode, "seeded") == 0)
		seed_differences(&m);
	n = libnuma_compare(&m, &out, &err);
	printf("%sdone %d nodes %zu %s\n", out.text, n, m.n_nodes, err.text);
	return 0;
}

static void the_running_system_is_the_same_for_both(void **state)
{
	CLEANUP(machine_release) struct machine m;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(1u << 20);
	struct err err = {""};
	int n;

	(void)state;
	assert_int_equal(discover(&m), 0);
	n = libnuma_compare(&m, &out, &err);
	if (n == -ENODEV) {
		assert_true(*err.text != '\0');
		test_skip("libnuma sees no NUMA node here");
	}
	test_assert_text("differences", out.text, "");
	assert_int_equal(n, 0);
}

static void a_difference_is_told_in_one_line(void **state)
{
	CLEANUP(machine_release) struct machine m;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(1u << 20);
	CLEANUP(strbuf_release) struct strbuf small = STRBUF_INIT(8);
	struct err err = {""};
	int n, lines = 0;

	(void)state;
	assert_int_equal(discover(&m), 0);
	if (libnuma_compare(&m, &out, &err) == -ENODEV)
		test_skip("libnuma sees no NUMA node here");
	hwloc_bitmap_clr(m.nodes[0].cpus, (unsigned)hwloc_bitmap_first(m.nodes[0].cpus));
	n = libnuma_compare(&m, &out, &err);
	assert_int_equal(n, 1);
	assert_non_null(strstr(out.text, "NUMA node 0: CPUs '"));
	strbuf_reset(&out);
	m.nodes[m.n_nodes - 1].id = 1023;
	n = libnuma_compare(&m, &out, &err);
	for (const char *p = out.text; *p; p++)
		lines += *p == '\n';
	assert_int_equal(lines, n);
	assert_non_null(strstr(out.text, "NUMA node 1023: libnuma does not see it\n"));
	assert_non_null(strstr(out.text, "only libnuma sees it\n"));
	assert_int_equal(libnuma_compare(&m, &small, &err), -EFBIG);
}

/* In a mount namespace of its own: the fixture's /sys on /sys, then this program again. Exits on failure. */
static void become_other_machine(const char *sys, const char *mode)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		_exit(80);
	self[n] = '\0';
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, "") < 0)
		_exit(77);
	if (mount(sys, "/sys", "none", MS_BIND, "") < 0)
		_exit(78);
	setenv(CHILD, mode, 1);
	execl(self, self, (char *)NULL);
	_exit(79);
}

/* What the child says about the machine; skips where namespaces are not allowed. */
static void run_on(const char *machine, const char *mode, struct strbuf *said)
{
	char sys[4096], chunk[4096];
	int ends[2], status;
	ssize_t n;
	pid_t child;

	snprintf(sys, sizeof(sys), "%s/sys", test_machine_tree(machine));
	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		become_other_machine(sys, mode);
	}
	close(ends[1]);
	while ((n = read(ends[0], chunk, sizeof(chunk))) > 0)
		strbuf_add(said, chunk, (size_t)n);
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 78))
		test_skip("no mount namespace of our own (not root)");
	/* QEMU 7.2 for programs, and kernels without CONFIG_NUMA */
	if (strstr(said->text, "the kernel has no NUMA policy"))
		test_skip("get_mempolicy(2) is not here");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("%s: status %d: %s", machine, status, said->text);
}

static void other_machines_are_the_same_for_both(void **state)
{
	static const struct {
		const char *machine, *last_line;
	} cases[] = {
		{"one-node", "done 0 nodes 1 \n"},
		{"seed-2s-32cpu", "done 0 nodes 2 \n"},
		{"2s-snc4", "done 0 nodes 8 \n"},
		{"asymmetric", "done 0 nodes 4 \n"},
		{"cxl", "done 0 nodes 3 \n"},
		{"memoryless", "done 0 nodes 3 \n"},
		{"interleaved", "done 0 nodes 4 \n"},
		{"offline", "done 0 nodes 2 \n"},
		{"no-distances", "done 0 nodes 2 \n"},
		{"overlapping", "done 0 nodes 3 \n"},
		{"holes", "done 0 nodes 5 \n"},
		{"gpu-memory", "done 0 nodes 8 \n"},
		{"16-nodes", "done 0 nodes 16 \n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf said = STRBUF_INIT(1u << 20);

		run_on(cases[i].machine, "equal", &said);
		test_assert_text(cases[i].machine, said.text, cases[i].last_line);
	}
}

static void seeded_differences_of_another_machine_are_found(void **state)
{
	CLEANUP(strbuf_release) struct strbuf said = STRBUF_INIT(1u << 20);

	(void)state;
	run_on("seed-2s-32cpu", "seeded", &said);
	test_assert_text("seed-2s-32cpu", said.text,
		"NUMA node 1: only libnuma sees it\n"
		"NUMA node 2: libnuma does not see it\n"
		"NUMA node 0: CPUs '1-15', libnuma says '0-15'\n"
		"NUMA node 0 to 0: distance 11, libnuma says 10\n"
		"NUMA node 0 to 2: distance 20, libnuma says 0\n"
		"done 5 nodes 2 \n");
}

static void a_kernel_without_numa_has_nothing_to_compare(void **state)
{
	CLEANUP(strbuf_release) struct strbuf said = STRBUF_INIT(1u << 20);

	(void)state;
	run_on("without-numa", "equal", &said);
	test_assert_text("without-numa", said.text, "done -19 nodes 1 libnuma sees no NUMA node\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_running_system_is_the_same_for_both),
		cmocka_unit_test(a_difference_is_told_in_one_line),
		cmocka_unit_test(other_machines_are_the_same_for_both),
		cmocka_unit_test(seeded_differences_of_another_machine_are_found),
		cmocka_unit_test(a_kernel_without_numa_has_nothing_to_compare),
	};
	const char *mode = getenv(CHILD);

	if (mode)
		return compare_in_child(mode);
	return cmocka_run_group_tests_name("libnuma", tests, NULL, NULL);
}
