/* SPDX-License-Identifier: Apache-2.0 */
/* Discovery of the machines of tests/fixtures/machines and of damaged trees. */
#include "tests/lib/test.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/observe/discover.h"
#include "agent/render/dump_doc.h"
#include "common/cleanup.h"
#include "common/io/yaml.h"
#include "tests/lib/sysfs.h"

#define SYSTEM "sys/devices/system/"

static const char *const machines[] = {"16-nodes", "2s-smt2-split", "2s-snc4", "64-nodes-1024-cpus",
	"8-sockets", "asymmetric", "ccx", "cxl", "gb200", "gpu-memory", "holes", "hugepages", "interleaved",
	"memoryless", "no-distances", "offline", "offline-node", "one-node", "overlapping", "row-missing",
	"seed-2s-32cpu", "without-numa", "hidden-node", "core-ids", "books", "gpus"};

static void discover(const char *root, struct machine *m)
{
	struct machine_source source = {.root = root};
	struct err err = {""};
	int r = machine_discover(&source, m, &err);

	if (r < 0)
		fail_msg("'%s': %d, %s", root, r, err.text);
}

static void machines_equal_their_golden_file(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		CLEANUP(machine_release) struct machine m;
		CLEANUP(doc_release) struct doc doc = DOC_INIT;
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(16u << 20);
		char name[128];

		machine_init(&m);
		discover(test_machine_tree(machines[i]), &m);
		machine_to_doc(&m, &doc);
		assert_int_equal(yaml_print(&doc, &text), 0);
		snprintf(name, sizeof(name), "machines/%s.machine.yaml", machines[i]);
		test_assert_golden(name, text.text);
	}
}

static void machines_equal_their_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		CLEANUP(machine_release) struct machine m;

		if (strcmp(machines[i], "row-missing") == 0)
			continue;
		machine_init(&m);
		discover(test_machine_tree(machines[i]), &m);
		sysfs_assert_machine(test_machine_tree(machines[i]), &m);
	}
}

/* The facts a person reads in the specs. */
/* The cores that decide are the kubelet's: of a NUMA node, by the kernel's names. */
static void cores_are_counted_as_the_kubelet_does(void **state)
{
	static const struct {
		const char *name;
		unsigned cores[16];
	} cases[] = {
		{"core-ids", {0, 0, 0, 0, 4, 4, 6, 7, 8, 8, 10, 10, 12, 12, 14, 14}},
		{"books", {0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14}},
	};
	CLEANUP(cpuset_freep) hwloc_bitmap_t counted = NULL;
	CLEANUP(freep) char *list = NULL;
	CLEANUP(machine_release) struct machine hidden;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(machine_release) struct machine m;

		machine_init(&m);
		discover(test_machine_tree(cases[i].name), &m);
		for (unsigned id = 0; id < 16; id++) {
			assert_int_equal(machine_cpu(&m, id)->core, cases[i].cores[id]);
			assert_int_equal(machine_cpu(&m, id)->hardware_core, id & ~1u);
		}
	}
	machine_init(&hidden);
	discover(test_machine_tree("hidden-node"), &hidden);
	counted = machine_counted_cpus(&hidden);
	list = cpuset_print(counted);
	test_assert_text("counted", list, "0-7");
}

static void specs_come_out_as_written(void **state)
{
	static const struct {
		const char *name;
		size_t cpus, cores, sockets, nodes;
		const char *offline;
	} cases[] = {
		{"seed-2s-32cpu", 32, 16, 2, 2, ""},
		{"2s-smt2-split", 64, 32, 2, 2, ""},
		{"2s-snc4", 96, 48, 2, 8, ""},
		{"64-nodes-1024-cpus", 1024, 512, 16, 64, ""},
		{"holes", 20, 5, 3, 5, ""},
		{"offline", 13, 7, 2, 2, "3,12-13"},
		{"offline-node", 4, 4, 1, 2, "4-7"},
		{"gpu-memory", 32, 8, 2, 8, ""},
		{"without-numa", 4, 4, 1, 1, ""},
		{"hidden-node", 16, 8, 2, 1, ""},
		{"core-ids", 16, 8, 2, 2, ""},
		{"books", 16, 8, 1, 1, ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(machine_release) struct machine m;
		CLEANUP(freep) char *offline = NULL;

		machine_init(&m);
		discover(test_machine_tree(cases[i].name), &m);
		assert_int_equal(m.n_cpus, cases[i].cpus);
		assert_int_equal(m.n_cores, cases[i].cores);
		assert_int_equal(m.n_sockets, cases[i].sockets);
		assert_int_equal(m.n_nodes, cases[i].nodes);
		offline = cpuset_print(m.offline);
		test_assert_text(cases[i].name, offline, cases[i].offline);
	}
}

/* kubelet: an L3 of the whole NUMA node is no uncore cache, then the socket stands for it. */
static void uncore_is_the_kubelets(void **state)
{
	static const struct {
		const char *name;
		unsigned cpu;
		int l3, uncore;
	} cases[] = {
		{"ccx", 0, 0, 0}, {"ccx", 8, 1, 1}, {"ccx", 31, 3, 3},
		{"seed-2s-32cpu", 31, 1, 1},         /* L3 of the node: its socket, 1 */
		{"16-nodes", 127, 15, 1},            /* the same, socket 1 holds eight nodes */
		{"2s-snc4", 95, 1, 1},               /* L3 wider than the node: the L3 */
		{"gpu-memory", 0, 0, 0},             /* L3 of the node: its socket, 0 */
		{"gpu-memory", 31, 1, 8},            /* its socket, 8 */
		{"row-missing", 7, MACHINE_NONE, 3}, /* no L3 told: the socket */
		{"offline", 2, 0, 0},  /* on socket 1; 7 CPUs, and 4 cores times its one thread are 4 */
		{"offline", 4, 0, 0},  /* 4 cores times two threads are 8 */
		{"offline", 15, 1, 0}, /* 6 CPUs, 3 cores times two threads: socket 0 */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(machine_release) struct machine m;
		const struct cpu *cpu;

		machine_init(&m);
		discover(test_machine_tree(cases[i].name), &m);
		cpu = machine_cpu(&m, cases[i].cpu);
		assert_non_null(cpu);
		if (cpu->l3 != cases[i].l3 || cpu->uncore != cases[i].uncore)
			fail_msg("%s CPU %u: L3 %d, uncore %d", cases[i].name, cpu->id, cpu->l3, cpu->uncore);
	}
}

static void hybrid_cores_are_counted_as_the_kubelet_does(void **state)
{
	CLEANUP(machine_release) struct machine m;

	(void)state;
	/* Two cores of two threads and two of one share one L3 and node: 6 CPUs; 4 cores times 2 threads is
	 * 8, 4 times 1 is 4, so no thread sees the node's own cache. */
	machine_init(&m);
	m.cpus = calloc(6, sizeof(*m.cpus));
	m.nodes = calloc(1, sizeof(*m.nodes));
	assert_true(m.cpus && m.nodes);
	m.n_cpus = 6;
	m.n_nodes = 1;
	for (unsigned i = 0; i < 6; i++)
		m.cpus[i] = (struct cpu){
			.id = 5 - i, .core = 5 - i < 4 ? (5 - i) & ~1u : 5 - i, .socket = 7, .l3 = 3};
	machine_derive(&m);
	assert_int_equal(m.n_cores, 4);
	assert_int_equal(m.nodes[0].socket, 7);
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(m.cpus[i].id, i);
		assert_int_equal(m.cpus[i].numa, 0);
		assert_int_equal(m.cpus[i].uncore, 3);
	}
}

static void overlapping_nodes_keep_what_they_claim(void **state)
{
	CLEANUP(machine_release) struct machine m;

	(void)state;
	machine_init(&m);
	discover(test_machine_tree("overlapping"), &m);
	for (size_t i = 0; i < m.n_nodes; i++)
		assert_true(hwloc_bitmap_isequal(m.nodes[i].cpus, m.online));
	/* The kubelet believes the last one. */
	for (size_t i = 0; i < m.n_cpus; i++)
		assert_int_equal(m.cpus[i].numa, 2);
	for (size_t i = 0; i < m.n_nodes; i++) {
		CLEANUP(cpuset_freep) hwloc_bitmap_t own = NULL;

		own = machine_own_cpus(&m, i);
		assert_int_equal(cpuset_size(own), i == 2 ? m.n_cpus : 0);
	}
}

/* ---- trees made by hand: two CPUs on two nodes, then one file changed */

static void write_tree(const char *dir)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct {
			const char *path, *text;
		} files[] = {
			{"cpu/cpu%u/topology/physical_package_id", "%u\n"},
			{"cpu/cpu%u/topology/core_id", "0\n"},
			{"cpu/cpu%u/topology/thread_siblings", i ? "2\n" : "1\n"},
			{"cpu/cpu%u/topology/core_siblings", i ? "2\n" : "1\n"},
			{"cpu/cpu%u/cache/index3/level", "3\n"},
			{"cpu/cpu%u/cache/index3/type", "Unified\n"},
			{"cpu/cpu%u/cache/index3/id", "%u\n"},
			{"cpu/cpu%u/cache/index3/size", "1024K\n"},
			{"cpu/cpu%u/cache/index3/shared_cpu_map", i ? "2\n" : "1\n"},
			{"node/node%u/cpulist", "%u\n"},
			{"node/node%u/cpumap", i ? "2\n" : "1\n"},
			{"node/node%u/meminfo", "Node %u MemTotal:       1024 kB\n"},
			{"node/node%u/distance", i ? "21 10\n" : "10 21\n"},
			{"node/node%u/hugepages/hugepages-2048kB/nr_hugepages", "5\n"},
		};

		for (size_t k = 0; k < ARRAY_SIZE(files); k++) {
			CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(4096);
			CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
			const char *mark = strstr(files[k].path, "%u");

			strbuf_addf(&path, SYSTEM "%.*s%u%s", (int)(mark - files[k].path), files[k].path, i,
				mark + 2);
			mark = strstr(files[k].text, "%u");
			if (mark)
				strbuf_addf(&text, "%.*s%u%s", (int)(mark - files[k].text), files[k].text, i,
					mark + 2);
			test_write_file(dir, path.text, mark ? text.text : files[k].text);
		}
	}
	test_write_file(dir, SYSTEM "cpu/online", "0-1\n");
	test_write_file(dir, SYSTEM "cpu/present", "0-1\n");
	test_write_file(dir, SYSTEM "node/online", "0-1\n");
}

static void a_cpu_without_package_has_no_socket(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	struct err err = {""};
	int socket = 7;

	(void)state;
	assert_int_equal(kernel_read_socket(dir, 0, &socket, &err), 0);
	assert_int_equal(socket, MACHINE_NONE);
}

/* The third level is almost always index3; the index is the kernel's order, in which a level may be missing or come twice. */
static void an_l3_cache_is_found_by_its_level(void **state)
{
	static const struct {
		const char *name;
		const char *levels[5]; /* of index0 to index4; NULL = no such index, "/" = cannot be read */
		const char *id;        /* of the last one */
		int r, l3;
	} cases[] = {
		{"usual", {"1", "1", "2", "3", NULL}, "5\n", 0, 5},
		{"split second level", {"1", "1", "2", "2", "3"}, "6\n", 0, 6},
		{"no first level for instructions", {"1", "2", "3", NULL, NULL}, "7\n", 0, 7},
		{"fourth level", {"1", "1", "2", "4", NULL}, "8\n", 0, MACHINE_NONE},
		{"no third level", {"1", "1", "2", NULL, NULL}, "9\n", 0, MACHINE_NONE},
		{"no id", {"1", "1", "2", "3", NULL}, NULL, 0, MACHINE_NONE},
		{"a bad id", {"1", "1", "2", "3", NULL}, "x\n", -EINVAL, MACHINE_NONE},
		{"a level that cannot be read", {"1", "1", "2", "/", NULL}, "5\n", -EISDIR, MACHINE_NONE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(test_rmtree) char *dir = test_tmpdir();
		struct err err = {""};
		int l3 = MACHINE_NONE, r;

		for (int index = 0; index < 5 && cases[i].levels[index]; index++) {
			const char *level = cases[i].levels[index];
			char path[128];

			snprintf(path, sizeof(path), SYSTEM "cpu/cpu0/cache/index%d/level%s", index,
				*level == '/' ? "/x" : "");
			test_write_file(dir, path, level);
			snprintf(path, sizeof(path), SYSTEM "cpu/cpu0/cache/index%d/id", index);
			if (index == 4 || !cases[i].levels[index + 1]) {
				if (cases[i].id)
					test_write_file(dir, path, cases[i].id);
			} else {
				test_write_file(dir, path, "99\n");
			}
		}
		r = kernel_read_l3(dir, 0, &l3, &err);
		if (r != cases[i].r || l3 != cases[i].l3)
			fail_msg("%s: %d, %d", cases[i].name, r, l3);
		assert_int_equal(*err.text != '\0', r < 0);
	}
}

/* A saved tree may have links where the kernel has files. */
static void cores_are_named_through_links(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	struct cpu cpus[] = {{.id = 0}, {.id = 1}, {.id = 2}};
	struct machine m = {.cpus = cpus, .n_cpus = 3};
	struct err err = {""};
	char path[4096];

	(void)state;
	test_write_file(dir, SYSTEM "cpu/cpu0/topology/core_id", "4\n");
	test_write_file(dir, SYSTEM "cpu/cpu0/topology/book_id", "2\n");
	test_write_file(dir, "elsewhere/core_id", "5\n");
	snprintf(path, sizeof(path), "%s/" SYSTEM "cpu/cpu1", dir);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/" SYSTEM "cpu/cpu1/topology", dir);
	assert_int_equal(symlink("/elsewhere", path), 0);
	assert_int_equal(kernel_read_cores(dir, &m, &err), 0);
	assert_true(cpus[0].core_name.known && cpus[0].core_name.core == 4 && cpus[0].core_name.book == 2);
	assert_true(cpus[1].core_name.known && cpus[1].core_name.core == 5 && cpus[1].core_name.book == 0);
	assert_false(cpus[2].core_name.known);
	test_write_file(dir, "elsewhere/core_id", "five\n");
	assert_int_equal(kernel_read_cores(dir, &m, &err), -EINVAL);
	assert_non_null(strstr(err.text, "cpu1/topology/core_id'"));
}

static int replace_by_fifo(const char *path)
{
	unlink(path);
	return mkfifo(path, 0644);
}

static int replace_by_loop(const char *path)
{
	unlink(path);
	return symlink(path, path);
}

/* To what the tree has under this path, outside of the tree. */
static int replace_by_link_out(const char *path)
{
	unlink(path);
	return symlink("/etc/passwd", path);
}

/* hwloc opens each file as it is: it would wait for the writer of a FIFO, and read another machine's file. */
static void hwloc_opens_only_files_of_the_tree(void **state)
{
	static const struct {
		const char *path;
		int (*replace)(const char *path);
		int error; /* 0 = as if the file were missing */
	} cases[] = {
		{SYSTEM "node/node1/hugepages/hugepages-2048kB/surplus_hugepages", replace_by_fifo, -EINVAL},
		{SYSTEM "cpu/cpu1/topology/thread_siblings", replace_by_fifo, -EINVAL},
		{SYSTEM "cpu/cpu1/topology/die_cpus", replace_by_fifo, -EINVAL},
		{SYSTEM "cpu/cpu1/cache/index0/level", replace_by_fifo, -EINVAL},
		{SYSTEM "cpu/cpu1/topology/die_cpus", replace_by_link_out, -EXDEV},
		{SYSTEM "cpu/cpu1/topology/die_cpus", replace_by_loop, 0},
		{"proc/cpuinfo", replace_by_fifo, -EINVAL},
		{"proc/cpuinfo", replace_by_link_out, -EXDEV},
		{"proc/uptime", replace_by_fifo, 0},
	};

	(void)state;
	alarm(20);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(test_rmtree) char *dir = test_tmpdir();
		CLEANUP(machine_release) struct machine m;
		const struct machine_source source = {.root = dir};
		struct err err = {""};
		char path[512];

		machine_init(&m);
		write_tree(dir);
		test_write_file(dir, cases[i].path, "");
		snprintf(path, sizeof(path), "%s/%s", dir, cases[i].path);
		assert_int_equal(cases[i].replace(path), 0);
		if (machine_discover(&source, &m, &err) != cases[i].error)
			fail_msg("%s: %s", cases[i].path, err.text);
		assert_true(cases[i].error == 0 || strstr(err.text, cases[i].path) != NULL);
	}
	alarm(0);
}

/* No admission depends on isolated CPUs: a file that is missing or damaged is no error. */
static void isolated_cpus_are_optional(void **state)
{
	static const struct {
		const char *content, *want;
	} cases[] = {{NULL, NULL}, {"\n", ""}, {"1\n", "1"}, {"x\n", NULL}, {"8192\n", NULL}};
	uint64_t signature, before = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(test_rmtree) char *dir = test_tmpdir();
		CLEANUP(machine_release) struct machine m, copy;
		CLEANUP(freep) char *list = NULL;

		machine_init(&m);
		write_tree(dir);
		if (cases[i].content)
			test_write_file(dir, SYSTEM "cpu/isolated", cases[i].content);
		discover(dir, &m);
		assert_int_equal(hardware_signature(dir, &signature, NULL), 0);
		assert_true(i == 0 || signature != before);
		before = signature;
		machine_copy(&m, &copy);
		list = copy.isolated ? cpuset_print(copy.isolated) : NULL;
		test_assert_text(cases[i].content, text_or_empty(list), text_or_empty(cases[i].want));
		assert_int_equal(!list, !cases[i].want);
	}
}

static void content_that_is_wrong_is_refused(void **state)
{
	static const struct {
		const char *path, *text; /* below SYSTEM */
		int error;
	} cases[] = {
		{"cpu/online", "zero\n", -EINVAL}, {"cpu/online", "\n", -EINVAL},
		{"cpu/online", "0-8192\n", -ERANGE}, {"cpu/present", "0-\n", -EINVAL},
		{"cpu/present", "0-99999999999\n", -ERANGE}, {"cpu/cpu8192/online", "1\n", -ERANGE},
		{"cpu/cpu99999999999/online", "1\n", -ERANGE},
		{"cpu/cpu1/topology/physical_package_id", "socket\n", -EINVAL},
		{"cpu/cpu1/topology/physical_package_id", "99999999999999999999\n", -ERANGE},
		{"node/online", "x\n", -EINVAL}, {"node/online", "\n", -EINVAL},
		{"node/online", "0-99999999\n", -ERANGE}, {"node/node1024/cpulist", "\n", -ERANGE},
		{"node/node99999999/cpulist", "\n", -ERANGE}, {"node/node1/cpulist", "1;2\n", -EINVAL},
		{"node/node1/cpulist", "1-0\n", -EINVAL}, {"node/node1/cpulist", "-1\n", -EINVAL},
		{"node/node1/cpulist", "0-8192\n", -ERANGE}, {"node/node1/cpulist", "1\n0-1\n", -EINVAL},
		{"node/node1/meminfo", "", -EINVAL}, {"node/node1/meminfo", "MemTotal: many kB\n", -EINVAL},
		{"node/node1/meminfo", "MemTotal: -5 kB\n", -EINVAL},
		{"node/node1/meminfo", "MemTotal: 12 MB\n", -EINVAL},
		{"node/node1/meminfo", "MemTotal: 9007199254740992 kB\n", -ERANGE},
		{"node/node1/distance", "21 abc\n", -EINVAL}, {"node/node1/distance", "21 -10\n", -EINVAL},
		{"node/node1/distance", "21 10.5\n", -EINVAL}, {"node/node1/distance", "21 65536\n", -ERANGE},
		{"node/node1/distance", "99999999999999999999 10\n", -ERANGE},
		{"node/node1/hugepages/hugepages-2048kB/nr_hugepages", "", -EINVAL},
		{"node/node1/hugepages/hugepages-2048kB/nr_hugepages", "-1\n", -EINVAL},
		{"node/node1/hugepages/hugepages-2048kB/nr_hugepages", "5 6\n", -EINVAL},
		{"node/node1/hugepages/hugepages-2048kB/nr_hugepages", "9223372036854775807\n", -ERANGE},
		{"node/node1/hugepages/hugepages-1048576kB/free_hugepages", "0\n", -ENOENT},
		{"node/node1/hugepages/hugepages-99999999999999999999kB/nr_hugepages", "1\n", -ENOENT},
		{"node/node2/meminfo", "MemTotal: 1 kB\n", -ENOENT}, /* neither cpulist nor cpumap */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(test_rmtree) char *dir = test_tmpdir();
		CLEANUP(machine_release) struct machine m;
		struct machine_source source = {.root = dir};
		struct err err = {""};
		char path[256], name[256];
		int r;

		machine_init(&m);
		write_tree(dir);
		snprintf(path, sizeof(path), SYSTEM "%s", cases[i].path);
		test_write_file(dir, path, cases[i].text);
		r = machine_discover(&source, &m, &err);
		if (r != cases[i].error)
			fail_msg("%s '%s' gave %d: %s", cases[i].path, cases[i].text, r, err.text);
		/* One line that names the file, or the directory with the wrong name. */
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(cases[i].path + 5, "/") + 5, cases[i].path);
		if (!strstr(err.text, name) || strchr(err.text, '\n'))
			fail_msg("%s: '%s'", cases[i].path, err.text);
		assert_int_equal(m.n_cpus + m.n_nodes, 0);
	}
}

static void a_file_too_large_is_refused(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(freep) char *text = malloc((10u << 20) + 1);
	struct machine_source source = {.root = dir};
	struct machine m;
	struct err err = {""};

	(void)state;
	assert_non_null(text);
	memset(text, ' ', 10u << 20);
	text[10u << 20] = '\0';
	write_tree(dir);
	test_write_file(dir, SYSTEM "node/node0/meminfo", text);
	assert_int_equal(machine_discover(&source, &m, &err), -EFBIG);
	assert_non_null(strstr(err.text, "node0/meminfo"));
}

static void what_is_missing_is_normal(void **state)
{
	static const char *const paths[] = {"cpu/online", "cpu/present", "node/online", "node/node1/cpulist",
		"node/node1/cpumap", "node/node1/distance",
		"node/node1/hugepages/hugepages-2048kB/nr_hugepages", "node/node1/meminfo"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		CLEANUP(test_rmtree) char *dir = test_tmpdir();
		CLEANUP(machine_release) struct machine m;
		char path[512];

		machine_init(&m);
		write_tree(dir);
		snprintf(path, sizeof(path), "%s/" SYSTEM "%s", dir, paths[i]);
		assert_int_equal(unlink(path), 0);
		if (strstr(paths[i], "nr_hugepages")) {
			snprintf(path, sizeof(path), "%s/" SYSTEM "node/node1/hugepages/hugepages-2048kB",
				dir);
			assert_int_equal(rmdir(path), 0);
		}
		discover(dir, &m);
		assert_int_equal(m.n_cpus, 2);
		assert_int_equal(m.n_nodes, 2);
		assert_int_equal(m.cpus[1].numa, 1);
		assert_int_equal(hwloc_bitmap_weight(m.offline), 0);
		assert_int_equal(m.nodes[1].memory_bytes, strstr(paths[i], "meminfo") ? 0 : 1024 * 1024);
		assert_int_equal(m.nodes[1].n_pools, strstr(paths[i], "hugepages") ? 0 : 1);
		assert_int_equal(machine_distance(&m, 0, 1), 21);
		assert_int_equal(machine_distance(&m, 1, 0), strstr(paths[i], "distance") ? 0 : 21);
	}
}

/* Columns are the nodes of node/online, also where one of them has no directory; texts may end in a NUL byte.
 */
static void distance_columns_are_the_online_nodes(void **state)
{
	static const struct {
		const char *online, *row;
		unsigned to_node_4;
	} cases[] = {
		{"0,2,4\n", "10 15 21\n", 21},
		{"0,4\n", "10 21\n", 21},
		{"0-4\n", "10 21\n", 21}, /* of the directories' number */
		{"0-4\n", "10 11 12 13 21 \n", 21},
		{"0,4\n", "10 20 30\n", 0},
		{"0,4\n", "0\n", 0},
		{"0,4\n", "\n", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(test_rmtree) char *dir = test_tmpdir();
		CLEANUP(machine_release) struct machine m;
		char from[512], to[512];

		machine_init(&m);
		write_tree(dir);
		snprintf(from, sizeof(from), "%s/" SYSTEM "node/node1", dir);
		snprintf(to, sizeof(to), "%s/" SYSTEM "node/node4", dir);
		assert_int_equal(rename(from, to), 0);
		test_write_file(dir, SYSTEM "node/online", cases[i].online);
		test_write_file(dir, SYSTEM "node/node0/distance", cases[i].row);
		test_write_file(dir, SYSTEM "node/node4/distance", "\n");
		discover(dir, &m);
		assert_int_equal(m.nodes[1].id, 4);
		assert_int_equal(machine_distance(&m, 0, 1), cases[i].to_node_4);
		assert_int_equal(m.distances != NULL, cases[i].to_node_4 != 0);
		assert_int_equal(m.nodes[0].lists_distances, *cases[i].row != '\n');
	}
}

static void a_nul_byte_ends_the_text(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(machine_release) struct machine m;
	char path[512];
	FILE *f;

	(void)state;
	machine_init(&m);
	write_tree(dir);
	snprintf(path, sizeof(path), "%s/" SYSTEM "node/online", dir);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fwrite("0-1\n\0", 1, 5, f), 5);
	assert_int_equal(fclose(f), 0);
	discover(dir, &m);
	assert_int_equal(m.n_nodes, 2);
}

/* CPUs of these packages; there is no folder of NUMA nodes. */
static void write_packages(const char *dir, const int *packages, size_t n)
{
	char path[128], text[32];

	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), SYSTEM "cpu/cpu%zu/topology/core_id", i);
		test_write_file(dir, path, "0\n");
		snprintf(path, sizeof(path), SYSTEM "cpu/cpu%zu/topology/physical_package_id", i);
		snprintf(text, sizeof(text), "%d\n", packages[i]);
		test_write_file(dir, path, text);
		for (const char *const *file =
				(const char *const[]){"thread_siblings", "core_siblings", NULL};
			*file; file++) {
			snprintf(path, sizeof(path), SYSTEM "cpu/cpu%zu/topology/%s", i, *file);
			snprintf(text, sizeof(text), "%x\n", 1u << i);
			test_write_file(dir, path, text);
		}
	}
	test_write_file(dir, SYSTEM "cpu/online", n > 1 ? "0-2\n" : "0\n");
	test_write_file(dir, "proc/meminfo", "MemTotal:       4096 kB\n");
	test_write_file(dir, "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "1\n");
}

/* On a kernel without NUMA the kubelet has a NUMA node per package. Their memory is the first node's. */
static void packages_are_the_nodes_of_a_kernel_without_numa(void **state)
{
	static const int packages[] = {4, 1, 4};
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(machine_release) struct machine m;

	(void)state;
	machine_init(&m);
	write_packages(dir, packages, ARRAY_SIZE(packages));
	discover(dir, &m);
	assert_true(m.without_numa);
	assert_int_equal(m.n_nodes, 2);
	assert_int_equal(m.nodes[0].id, 1);
	assert_int_equal(m.nodes[1].id, 4);
	assert_true(hwloc_bitmap_isset(m.nodes[0].cpus, 1) && cpuset_size(m.nodes[0].cpus) == 1);
	assert_int_equal(cpuset_size(m.nodes[1].cpus), 2);
	assert_int_equal(m.cpus[2].numa, 4);
	assert_int_equal(m.nodes[0].memory_bytes, 4096 * 1024);
	assert_int_equal(m.nodes[0].n_pools, 1);
	assert_int_equal(m.nodes[1].memory_bytes, 0);
	assert_int_equal(m.nodes[1].n_pools, 0);
	assert_null(m.distances);
	sysfs_assert_machine(dir, &m);
}

static void package_ids_that_are_no_node_ids(void **state)
{
	static const int large[] = {5000}, mixed[] = {0, 5000, 0}, none[] = {-1, 2, -1};
	CLEANUP(test_rmtree) char *one = test_tmpdir();
	CLEANUP(test_rmtree) char *two = test_tmpdir();
	CLEANUP(test_rmtree) char *three = test_tmpdir();
	CLEANUP(machine_release) struct machine m;
	struct machine_source source = {.root = two};
	struct err err = {""};

	(void)state;
	machine_init(&m);
	write_packages(one, large, 1);
	discover(one, &m);
	assert_int_equal(m.n_nodes, 1);
	assert_int_equal(m.nodes[0].id, 0);
	assert_int_equal(m.cpus[0].numa, 0);
	machine_release(&m);
	write_packages(two, mixed, 3);
	assert_int_equal(machine_discover(&source, &m, &err), -ERANGE);
	assert_non_null(strstr(err.text, two));
	assert_non_null(strstr(err.text, "cpu1/topology/physical_package_id': 5000"));
	/* The kubelet ignores CPUs without a package. */
	write_packages(three, none, 3);
	discover(three, &m);
	assert_int_equal(m.n_nodes, 1);
	assert_int_equal(m.nodes[0].id, 2);
	assert_int_equal(m.cpus[0].numa, MACHINE_NONE);
	assert_int_equal(m.cpus[1].numa, 2);
}

static void a_tree_without_cpus_is_refused(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	struct machine_source source = {.root = dir};
	struct machine m;
	struct err err = {""};

	(void)state;
	assert_int_equal(machine_discover(&source, &m, &err), -ENOENT);
	assert_non_null(strstr(err.text, dir));
	test_write_file(dir, SYSTEM "cpu/online", "0\n");
	assert_int_equal(machine_discover(&source, &m, &err), -EINVAL);
	assert_non_null(strstr(err.text, "lists no CPU"));
	test_write_file(dir, SYSTEM "cpu/cpu0/online", "1\n");
	assert_int_equal(machine_discover(&source, &m, &err), -EINVAL);
	assert_non_null(strstr(err.text, "hwloc finds no CPU topology"));
	test_write_file(dir, SYSTEM "node/online", "0\n");
	assert_int_equal(machine_discover(&source, &m, &err), -EINVAL);
	assert_non_null(strstr(err.text, "lists no NUMA node"));
}

/* The environment of whoever starts the agent does not choose the machine. */
static void hwloc_variables_of_the_environment_do_not_count(void **state)
{
	CLEANUP(machine_release) struct machine m;
	CLEANUP(machine_release) struct machine live;

	(void)state;
	machine_init(&m);
	machine_init(&live);
	setenv("HWLOC_SYNTHETIC", "pack:3 core:5 pu:1", 1);
	setenv("HWLOC_XMLFILE", "/nonexistent", 1);
	setenv("HWLOC_FSROOT", test_machine_tree("ccx"), 1);
	setenv("HWLOC_COMPONENTS", "synthetic", 1);
	discover(test_machine_tree("one-node"), &m);
	assert_int_equal(m.n_cpus, 8);
	setenv("HWLOC_FSROOT", test_machine_tree("ccx"), 1);
	discover("", &live);
	sysfs_assert_machine("", &live);
	unsetenv("HWLOC_SYNTHETIC");
	unsetenv("HWLOC_XMLFILE");
}

static void the_running_machine_equals_its_files(void **state)
{
	CLEANUP(machine_release) struct machine m;
	CLEANUP(machine_release) struct machine null_root;
	struct machine_source source = {NULL, NULL};

	(void)state;
	machine_init(&m);
	machine_init(&null_root);
	discover("", &m);
	sysfs_assert_machine("", &m);
	assert_int_equal(machine_discover(&source, &null_root, NULL), 0);
	assert_int_equal(null_root.n_cpus, m.n_cpus);
	assert_int_equal(m.n_cpus, sysconf(_SC_NPROCESSORS_ONLN));
}

/* lscpu -p: CPU,Core,Socket,Node; -1 or nothing where it knows no node. */
static void the_running_machine_equals_lscpu(void **state)
{
	CLEANUP(machine_release) struct machine m;
	FILE *f = popen("LC_ALL=C lscpu -p=CPU,CORE,SOCKET,NODE 2>/dev/null", "re");
	char line[256];
	size_t n = 0;
	int core_of[MACHINE_MAX_CPUS];

	(void)state;
	assert_non_null(f);
	memset(core_of, -1, sizeof(core_of));
	machine_init(&m);
	discover("", &m);
	while (fgets(line, sizeof(line), f)) {
		unsigned id, core, socket;
		int node = 0, fields = sscanf(line, "%u,%u,%u,%d", &id, &core, &socket, &node);
		const struct cpu *cpu;

		if (fields < 3)
			continue;
		cpu = machine_cpu(&m, id);
		assert_non_null(cpu);
		n++;
		assert_int_equal(cpu->numa, node);
		/* lscpu numbers cores its own way: the first CPU with a number must be the core's lowest. */
		assert_true(core < MACHINE_MAX_CPUS);
		if (core_of[core] < 0)
			core_of[core] = (int)id;
		assert_int_equal(cpu->core, core_of[core]);
	}
	pclose(f);
	if (n == 0)
		test_skip("no lscpu");
	assert_int_equal(m.n_cpus, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machines_equal_their_golden_file),
		cmocka_unit_test(machines_equal_their_files),
		cmocka_unit_test(specs_come_out_as_written),
		cmocka_unit_test(isolated_cpus_are_optional),
		cmocka_unit_test(cores_are_counted_as_the_kubelet_does),
		cmocka_unit_test(uncore_is_the_kubelets),
		cmocka_unit_test(hybrid_cores_are_counted_as_the_kubelet_does),
		cmocka_unit_test(overlapping_nodes_keep_what_they_claim),
		cmocka_unit_test(a_cpu_without_package_has_no_socket),
		cmocka_unit_test(an_l3_cache_is_found_by_its_level),
		cmocka_unit_test(cores_are_named_through_links),
		cmocka_unit_test(hwloc_opens_only_files_of_the_tree),
		cmocka_unit_test(content_that_is_wrong_is_refused),
		cmocka_unit_test(a_file_too_large_is_refused),
		cmocka_unit_test(what_is_missing_is_normal),
		cmocka_unit_test(distance_columns_are_the_online_nodes),
		cmocka_unit_test(a_nul_byte_ends_the_text),
		cmocka_unit_test(packages_are_the_nodes_of_a_kernel_without_numa),
		cmocka_unit_test(package_ids_that_are_no_node_ids),
		cmocka_unit_test(a_tree_without_cpus_is_refused),
		cmocka_unit_test(hwloc_variables_of_the_environment_do_not_count),
		cmocka_unit_test(the_running_machine_equals_its_files),
		cmocka_unit_test(the_running_machine_equals_lscpu),
	};

	return cmocka_run_group_tests_name("discover", tests, NULL, NULL);
}
