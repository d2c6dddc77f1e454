/* SPDX-License-Identifier: Apache-2.0 */
/* Discovery of the recorded machines in ../shared/machines, against their files read a second way and against
 * facts known of each. */
#include "tests/lib/test.h"

#include <dirent.h>
#include <errno.h>

#include "agent/observe/discover.h"
#include "common/cleanup.h"
#include "tests/lib/sysfs.h"

static const struct recorded {
	const char *archive; /* without .tar.bz2 */
	size_t cpus, cores, sockets;
	const char *nodes, *without_cpus, *distances; /* all values that occur, "" = no matrix */
} machines[] = {
	{"128arm-2pa2n8cluster4co", 128, 128, 2, "0-3", "", "10 16 25 32 33"},
	{"16amd64-4n4c-cgroup-distance-merge", 16, 16, 4, "0-3", "", "10 20"}, /* a cgroup hides half of it */
	{"16amd64-8n2c", 16, 16, 8, "0-7", "", "10 20"},
	{"16em64t-4s2c2t", 16, 8, 4, "0", "", "10"},
	{"16em64t-4s2ca2c-cpusetreorder", 16, 16, 4, "0", "", "10"},
	{"16ia64-8n2s", 16, 16, 8, "0-7", "", "10 25 29"}, /* two packages each have the same id */
	{"20em64t-hybrid-1p6c2t+2ca4co1t", 20, 14, 1, "0", "", "10"},
	{"256ia64-64n2s2c", 256, 256, 128, "0-63", "", "10 22 26 30 34"},
	{"256ppc-8n8s4t", 256, 64, 0, "0-1,4-5,8-9,12-13", "", "10 20 40"}, /* package id -1 */
	{"2arm-2c", 2, 2, 1, "3", "", ""},
	{"2i386-2c-nohugepage", 2, 2, 1, "0", "", ""},
	{"2i386-2t-hugepagesizecount", 2, 1, 1, "0", "", ""},
	{"2pa-pcidomain32bits", 2, 2, 2, "0", "", "10"},
	{"2ps3-2t", 2, 1, 0, "0", "", ""},
	{"32amd64-4s2n4c-cgroup2", 32, 32, 4, "0-7", "", "10 16 22"}, /* a cgroup hides most of it */
	{"32em64t-2n8c+dax+nvme+mic+dimms", 16, 16, 2, "0-1", "", "10 21"},
	{"32intel64-2p8co2t+8ve", 32, 16, 2, "0-1", "", "10 21"},
	{"40intel64-4n10c+pci-conflicts", 40, 40, 4, "0-3", "", "10 20"}, /* hwloc drops a package */
	{"4fake-4gr1nu1pu", 4, 4, 1, "0-3", "", ""},
	{"64fake-4n2s2ca2c2t", 64, 32, 8, "0-3", "", ""},
	{"8em64t-2s2ca2c", 8, 8, 2, "0", "", "10"},
	{"8em64t-2s2ca2c-buggynuma", 8, 8, 2, "0-7", "", "10"}, /* every cpumap names every CPU */
	{"8em64t-2s4c-asymcaches", 8, 8, 2, "0", "", "10"},
	{"8ia64-2n2s2c", 8, 8, 4, "0-1", "", "10 15"},
	{"8ia64-2s2c2t", 8, 4, 2, "0", "", ""}, /* its row is "0" */
	{"96em64t-4no4pa3ca2co", 96, 96, 16, "0-3", "", "10 26"},
	{"fakecpuid1f-64intel64-2p4d2n2c2t", 64, 32, 4, "0-15", "", "10 20"},
	{"fakeheterocpunuma", 24, 12, 2, "0-5", "2", "10 20 30 40 50"},
	{"fakeheteromemtiers", 6, 6, 1, "0-2,4,6,8-9", "4,6,8-9", "10 20"},
	{"fakepcilocalities", 40, 40, 4, "0-3", "", "10 20"},
	{"nvidia-dgx-gb10", 20, 20, 1, "0", "", "10"},
};

static void assert_set(const char *what, hwloc_const_bitmap_t set, const char *want)
{
	CLEANUP(freep) char *got = cpuset_print(set);

	test_assert_text(what, got, want);
}

static void assert_facts(const struct recorded *want, const struct machine *m)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t ids = hwloc_bitmap_alloc();
	CLEANUP(cpuset_freep) hwloc_bitmap_t without = hwloc_bitmap_alloc();
	CLEANUP(cpuset_freep) hwloc_bitmap_t values = hwloc_bitmap_alloc();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1024);

	assert_true(ids && without && values);
	for (size_t i = 0; i < m->n_nodes; i++) {
		hwloc_bitmap_set(ids, m->nodes[i].id);
		if (hwloc_bitmap_iszero(m->nodes[i].cpus))
			hwloc_bitmap_set(without, m->nodes[i].id);
		for (size_t k = 0; k < m->n_nodes; k++)
			hwloc_bitmap_set(values, machine_distance(m, i, k));
	}
	hwloc_bitmap_clr(values, 0);
	for (int id = hwloc_bitmap_first(values); id >= 0; id = hwloc_bitmap_next(values, id))
		strbuf_addf(&text, "%s%d", text.len > 0 ? " " : "", id);
	assert_set(want->archive, ids, want->nodes);
	assert_set(want->archive, without, want->without_cpus);
	test_assert_text(want->archive, text.text, want->distances);
	assert_int_equal(m->distances != NULL, *want->distances != '\0');
	if (m->n_cpus != want->cpus || m->n_cores != want->cores || m->n_sockets != want->sockets)
		fail_msg("%s: %zu CPUs, %zu cores, %zu sockets", want->archive, m->n_cpus, m->n_cores,
			m->n_sockets);
}

static void recorded_machines_equal_their_files(void **state)
{
	size_t seen = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		CLEANUP(test_rmtree) char *dir = NULL;
		CLEANUP(machine_release) struct machine m;
		char name[128], root[512];
		struct machine_source source = {.root = root};
		struct err err = {""};
		const char *archive;

		machine_init(&m);
		snprintf(name, sizeof(name), "machines/%s.tar.bz2", machines[i].archive);
		archive = test_shared(name);
		if (!archive)
			continue;
		dir = test_tmpdir();
		sysfs_unpack(archive, dir, root, sizeof(root));
		if (machine_discover(&source, &m, &err) < 0)
			fail_msg("%s: %s", machines[i].archive, err.text);
		assert_facts(&machines[i], &m);
		sysfs_assert_machine(root, &m);
		seen++;
	}
	if (seen == 0)
		test_skip("no recorded machines in ../shared/machines");
	print_message("%zu recorded machines\n", seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_machines_equal_their_files),
	};

	return cmocka_run_group_tests_name("discover_recorded", tests, NULL, NULL);
}
