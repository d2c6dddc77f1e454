/* SPDX-License-Identifier: Apache-2.0 */
/* On which NUMA nodes the memory of pods is, from trees of cgroup v2 as the kubelet's two drivers make them. */
#include "tests/lib/test.h"

#include <errno.h>

#include "agent/observe/pod_memory.h"
#include "agent/render/dump_doc.h"
#include "agent/run/metrics.h"
#include "cli/report/show.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "tests/lib/observations.h"

/* NUMA node 0: CPUs 0-15, node 1: CPUs 16-31; hugepages of 2 MiB and 1 GiB. */
#define MACHINE "seed-2s-32cpu"

#define UID_A  "777870b5-c64f-42f5-9296-688b9dc212ba"
#define UID_A_ "777870b5_c64f_42f5_9296_688b9dc212ba"

static const struct holding cpus_and_memory[] = {
	{.uid = UID_A,
		.namespace = "ns",
		.pod = "a",
		.container = "main",
		.cpus = "1-2",
		.nodes = "0",
		.memory = 1 << 30},
	{.uid = UID_A,
		.namespace = "ns",
		.pod = "a",
		.container = "second",
		.cpus = "3",
		.nodes = "0",
		.memory = 1 << 20},
	/* a static pod; memory only */
	{.uid = "0123456789abcdef0123456789abcdef",
		.namespace = "ns",
		.pod = "b",
		.container = "c",
		.nodes = "1",
		.memory = 1 << 30},
	/* devices only */
	{.uid = "u3",
		.namespace = "ns",
		.pod = "c",
		.container = "c",
		.resource = "vendor.com/x",
		.ids = {"0"},
		.near = "0"},
};

/* Write a container's or a pod's files. Any text may be NULL. */
static void add_cgroup(
	const char *root, const char *cgroup, const char *cpus, const char *numa_stat, const char *hugetlb)
{
	const struct {
		const char *name, *text;
	} files[] = {
		{"cpuset.cpus", cpus}, {"memory.numa_stat", numa_stat}, {"hugetlb.2MB.numa_stat", hugetlb}};
	char path[512];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "sys/fs/cgroup/%s/%s", cgroup, files[i].name);
		if (files[i].text)
			test_write_file(root, path, files[i].text);
	}
}

static char *new_root(void)
{
	char *root = test_tmpdir();

	test_write_file(root, "sys/fs/cgroup/cgroup.controllers", "cpuset memory hugetlb\n");
	return root;
}

/* "ns/a near 0: 0:ordinary+pages 1:...; remote N of N" per pod, or the reason */
static void print_pods(const struct node_state *node, struct strbuf *out)
{
	for (size_t i = 0; i < node->pods_memory.n_items; i++) {
		const struct pod_memory *p = &node->pods_memory.items[i];
		CLEANUP(freep) char *near = cpuset_print(p->near);
		uint64_t total, remote = pod_memory_remote(p, &node->machine, &total);

		strbuf_addf(out, "%s/%s near %s:", p->namespace, p->pod, near);
		if (p->unknown) {
			strbuf_addf(out, " %s\n", p->unknown);
			continue;
		}
		for (size_t n = 0; n < node->machine.n_nodes; n++)
			strbuf_addf(out, " %u:%llu+%llu", node->machine.nodes[n].id,
				(unsigned long long)p->memory[n], (unsigned long long)p->hugepages[n]);
		strbuf_addf(out, "; remote %llu of %llu%s\n", (unsigned long long)remote,
			(unsigned long long)total, p->whole_pod ? " (pod)" : "");
	}
}

static void check_pods(const char *what, const char *root, const char *cgroup, const char *want)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(1 << 16);
	struct err err = {""};
	int r;

	observation_of_kubelet(MACHINE, "0", cpus_and_memory, ARRAY_SIZE(cpus_and_memory), &o);
	r = pod_memory_read(root, cgroup, &o.node, &err);
	if (r < 0) {
		const char *at = strstr(err.text, root);

		assert_int_equal(o.node.pods_memory.n_items, 0);
		strbuf_add(&got, err.text, at ? (size_t)(at - err.text) : strlen(err.text));
		strbuf_addstr(&got, at ? at + strlen(root) : "");
	} else
		print_pods(&o.node, &got);
	test_assert_text(what, got.text, want);
}

#define STAT(n0, n1)                                                                          \
	"anon N0=" n0 " N1=" n1 "\nfile N0=1 N1=2\nkernel_stack N0=7 N1=7\nshmem N0=9 N1=9\n" \
	"anon_thp N0=11 N1=11\n"

static void systemd_driver(void **state)
{
	CLEANUP(test_rmtree) char *root = new_root();
	static const char pod[] = "kubepods.slice/kubepods-pod" UID_A_ ".slice";
	char path[256];

	(void)state;
	/* The amounts of the pod include the container in the shared pool and the sandbox. */
	add_cgroup(root, pod, "", STAT("5000", "5000"), "total=0 N0=0 N1=0\n");
	snprintf(path, sizeof(path), "%s/cri-containerd-1.scope", pod);
	add_cgroup(root, path, "1-2\n", STAT("1000", "500"), "total=2097152 N0=0 N1=2097152\n");
	snprintf(path, sizeof(path), "%s/cri-containerd-2.scope", pod);
	add_cgroup(root, path, "3\n", STAT("200", "0"), NULL);
	snprintf(path, sizeof(path), "%s/cri-containerd-3.scope", pod);
	add_cgroup(root, path, "0,4-31\n", STAT("3000", "3000"), NULL);
	snprintf(path, sizeof(path), "%s/cri-containerd-4.scope", pod);
	add_cgroup(root, path, "\n", STAT("1", "1"), NULL);
	check_pods("containers", root, CGROUP_DIR,
		"ns/b near 1: the pod has no cgroup\n"
		"ns/a near 0: 0:1202+0 1:504+2097152; remote 2097656 of 2098858\n");
}

static void cgroupfs_driver(void **state)
{
	CLEANUP(test_rmtree) char *root = new_root();

	(void)state;
	add_cgroup(root, "kubepods/pod" UID_A "/4bf92f3577b34da6", "1-2\n", STAT("10", "0"), NULL);
	add_cgroup(root, "kubepods/pod0123456789abcdef0123456789abcdef", NULL, STAT("300", "100"), NULL);
	add_cgroup(
		root, "kubepods/pod0123456789abcdef0123456789abcdef/5cf", "0,4-31\n", STAT("1", "1"), NULL);
	check_pods("containers and a pod", root, CGROUP_DIR,
		"ns/b near 1: 0:301+0 1:102+0; remote 301 of 403 (pod)\n"
		"ns/a near 0: 0:11+0 1:2+0; remote 2 of 13\n");
}

/* kind sets the kubelet's --cgroup-root to /kubelet; another root is named. */
static void below_another_cgroup(void **state)
{
	static const struct {
		const char *pod, *dir;
	} cases[] = {
		{"kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_A_ ".slice", CGROUP_DIR},
		{"kubelet/kubepods/pod" UID_A, CGROUP_DIR},
		{"my.slice/my-kubepods.slice/my-kubepods-pod" UID_A_ ".slice", CGROUP_DIR "/my.slice"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(test_rmtree) char *root = new_root();

		test_write_file(root, "sys/fs/cgroup/my.slice/cgroup.controllers", "memory\n");
		add_cgroup(root, cases[i].pod, NULL, STAT("8", "0"), NULL);
		check_pods(cases[i].pod, root, cases[i].dir,
			"ns/b near 1: the pod has no cgroup\n"
			"ns/a near 0: 0:9+0 1:2+0; remote 2 of 11 (pod)\n");
	}
}

static void what_cannot_be_read(void **state)
{
	CLEANUP(test_rmtree) char *root = test_tmpdir();

	(void)state;
	check_pods("nothing", root, CGROUP_DIR, "no cgroup v2 is mounted at '/sys/fs/cgroup'");
	test_write_file(root, "sys/fs/cgroup/memory/tasks", ""); /* cgroup v1 */
	check_pods("cgroup v1", root, CGROUP_DIR, "no cgroup v2 is mounted at '/sys/fs/cgroup'");
	test_write_file(root, "sys/fs/cgroup/cgroup.controllers", "memory\n");
	check_pods(
		"no kubelet", root, CGROUP_DIR, "no cgroup 'kubepods' of a kubelet below '/sys/fs/cgroup'");
	add_cgroup(root, "kubepods/pod" UID_A, NULL, "anon N0=x\nfile N0=1\n", NULL);
	check_pods("broken", root, CGROUP_DIR,
		"ns/b near 1: the pod has no cgroup\nns/a near 0: the pod's cgroup cannot be read\n");
	/* A container that has just ended has no file; the pod still has. */
	add_cgroup(root, "kubepods/pod" UID_A, NULL, STAT("4", "4"), NULL);
	add_cgroup(root, "kubepods/pod" UID_A "/c1", "1\n", NULL, NULL);
	check_pods("ended", root, CGROUP_DIR,
		"ns/b near 1: the pod has no cgroup\nns/a near 0: 0:5+0 1:6+0; remote 6 of 11 (pod)\n");
}

/* A name from a state file does not lead to another directory. */
static void hostile_uids(void **state)
{
	static const char *const uids[] = {"", "../../x", "a/b", "..", "a\nb",
		"0123456789012345678901234567890123456789012345678901234567890123456789"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(uids); i++) {
		CLEANUP(test_rmtree) char *root = new_root();
		CLEANUP(observation_release) struct observation o;
		const struct holding holding = {.uid = uids[i], .container = "c", .cpus = "1"};

		add_cgroup(root, "kubepods/pod", NULL, STAT("1", "1"), NULL);
		add_cgroup(root, "kubepods/podx/x", NULL, STAT("1", "1"), NULL);
		observation_of_kubelet(MACHINE, "0", &holding, 1, &o);
		assert_int_equal(pod_memory_read(root, CGROUP_DIR, &o.node, NULL), 0);
		assert_int_equal(o.node.pods_memory.n_items, 1);
		assert_string_equal(o.node.pods_memory.items[0].unknown, "the pod's UID is unknown");
	}
}

static void numa_stat_lines(void **state)
{
	static const struct {
		const char *text, *key;
		int r;
		uint64_t bytes[2];
	} cases[] = {
		{"anon N0=1 N1=2", "anon", 0, {1, 2}},
		{"file N0=5\nanon N0=1 N1=2\n", "anon", 0, {1, 2}},
		{"anon_thp N0=5\nanon N1=2\n", "anon", 0, {0, 2}},
		{"anon N0=1 N7=3 N1000=4\n", "anon", 0, {1, 0}},
		{"total=9 N0=4 N1=5\n", "total", 0, {4, 5}},
		{"anon\n", "anon", -EINVAL, {0}},
		{"anon N0=1\n", "file", -EINVAL, {0}},
		{"", "anon", -EINVAL, {0}},
		{"anon N0=\n", "anon", -EINVAL, {0}},
		{"anon N=1\n", "anon", -EINVAL, {0}},
		{"anon X0=1\n", "anon", -EINVAL, {0}},
		{"anon N0=-1\n", "anon", -EINVAL, {0}},
		{"anon N0=1,N1=2\n", "anon", -EINVAL, {0}},
		{"anon N0=99999999999999999999\n", "anon", -EINVAL, {0}},
		{"anon N99999999999999999999=1\n", "anon", -EINVAL, {0}},
		{"anon N0=9223372036854775807 N0=9223372036854775807 N0=9223372036854775807\n", "anon", 0,
			{UINT64_MAX, 0}},
	};
	CLEANUP(observation_release) struct observation o;

	(void)state;
	observation_of_machine(MACHINE, &o);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t bytes[2] = {0};

		assert_int_equal(
			numa_stat_add(cases[i].text, cases[i].key, &o.node.machine, bytes), cases[i].r);
		if (cases[i].r == 0)
			assert_memory_equal(bytes, cases[i].bytes, sizeof(bytes));
	}
}

/* ---- what is said of it */

static void read_example(struct observation *o)
{
	CLEANUP(test_rmtree) char *root = new_root();

	observation_of_kubelet(MACHINE, "0", cpus_and_memory, ARRAY_SIZE(cpus_and_memory), o);
	add_cgroup(root, "kubepods/pod" UID_A "/c1", "1-2\n",
		"anon N0=3221225472 N1=1073741824\nfile N0=0 N1=0\n", NULL);
	assert_int_equal(pod_memory_read(root, CGROUP_DIR, &o->node, NULL), 0);
}

static void show_names_it(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(show_view_release) struct show_view v;
	size_t found = 0;

	(void)state;
	read_example(&o);
	show_view_init(&v);
	show_view(&o.node, &o.notes, &v);
	for (size_t i = 0; i < v.n_holders; i++) {
		if (!strncmp(v.holders[i].name, "ns/a ", 5)) {
			assert_true(text_ends_with(
				v.holders[i].holds, "; uses 4Gi, 1Gi of it remote (25%) on node 1"));
			found++;
		} else
			assert_null(strstr(v.holders[i].holds, "uses"));
	}
	assert_int_equal(found, 1);
	/* All of it local. */
	show_view_release(&v);
	o.node.pods_memory.items[1].memory[1] = 0;
	show_view(&o.node, &o.notes, &v);
	assert_true(text_ends_with(v.holders[0].holds, "; uses 3Gi, all local"));
}

/* Pod a has 4 GiB. */
static bool update(struct observation *o, unsigned remote_percent, struct strv *remote)
{
	struct pod_memory *p = &o->node.pods_memory.items[0];

	p = *p->pod == 'a' ? p : &o->node.pods_memory.items[1];
	p->memory[1] = (UINT64_C(4) << 30) / 100 * remote_percent;
	p->memory[0] = (UINT64_C(4) << 30) - p->memory[1];
	return pod_memory_update(&o->node, remote);
}

static void a_little_more_or_less_changes_nothing(void **state)
{
	static const struct {
		unsigned percent;
		bool changed;
		size_t n;
	} steps[] = {{0, false, 0}, {10, false, 0}, {12, true, 1}, {60, false, 1}, {6, false, 1},
		{3, true, 0}, {8, false, 0}};
	CLEANUP(observation_release) struct observation o;
	CLEANUP(strv_release) struct strv remote = {0};

	(void)state;
	read_example(&o);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		assert_int_equal(update(&o, steps[i].percent, &remote), steps[i].changed);
		assert_int_equal(remote.n_items, steps[i].n);
	}
	update(&o, 50, &remote);
	pod_memory_mark(&remote, &o.node);
	assert_true(o.node.allocations.remote_memory_known);
	for (size_t i = 0; i < o.node.allocations.n_items; i++)
		assert_int_equal(o.node.allocations.items[i].remote_memory,
			!strcmp(o.node.allocations.items[i].pod_uid, UID_A));
	/* A cgroup that cannot be read: the pod remains as it was. */
	for (size_t i = 0; i < o.node.pods_memory.n_items; i++)
		o.node.pods_memory.items[i].unknown = "test";
	assert_false(pod_memory_update(&o.node, &remote));
	assert_int_equal(remote.n_items, 1);
}

static void metrics_have_it(void **state)
{
	static const char *const names[] = {"x"};
	const struct metric_names one = {names, 1};
	const struct metrics_labels labels = {one, one, one, one, one};
	const struct metrics_moment now = {.ready = true};
	CLEANUP(observation_release) struct observation o;
	CLEANUP(metrics_freep) struct metrics *m = NULL;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1 << 20);

	(void)state;
	read_example(&o);
	metrics_new(&labels, &m);
	metrics_set_pod_memory(m, &o.node, false);
	assert_int_equal(metrics_render(m, &now, &text), 0);
	assert_non_null(
		strstr(text.text, "nrtd_pod_memory_bytes{numa_node=\"0\",locality=\"local\"} 3221225472\n"
				  "nrtd_pod_memory_bytes{numa_node=\"0\",locality=\"remote\"} 0\n"
				  "nrtd_pod_memory_bytes{numa_node=\"1\",locality=\"local\"} 0\n"
				  "nrtd_pod_memory_bytes{numa_node=\"1\",locality=\"remote\"} 1073741824\n"));
	assert_non_null(strstr(text.text, "nrtd_pod_memory_pods{locality=\"local\"} 0\n"
					  "nrtd_pod_memory_pods{locality=\"remote\"} 1\n"
					  "nrtd_pod_memory_pods{locality=\"unknown\"} 1\n"));
	assert_null(strstr(text.text, "nrtd_pod_remote_memory_ratio"));
	metrics_set_pod_memory(m, &o.node, true);
	strbuf_reset(&text);
	assert_int_equal(metrics_render(m, &now, &text), 0);
	assert_non_null(
		strstr(text.text, "\nnrtd_pod_remote_memory_ratio{namespace=\"ns\",pod=\"a\"} 0.25\n"));
	assert_null(strstr(text.text, "pod=\"b\""));
	metrics_set_pod_memory(m, NULL, true);
	strbuf_reset(&text);
	assert_int_equal(metrics_render(m, &now, &text), 0);
	assert_null(strstr(text.text, "nrtd_pod_"));
}

static void the_document_has_it(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	const struct doc *pods, *memory;

	(void)state;
	read_example(&o);
	pods_to_doc(&o, &doc);
	pods = doc_get(&doc, "pods");
	assert_int_equal(pods->n_items, 2);
	memory = doc_get(&pods->items[0], "memory");
	assert_string_equal(doc_get(memory, "unknown")->text, "the pod has no cgroup");
	assert_int_equal(doc_get(memory, "totalBytes")->kind, DOC_NULL);
	memory = doc_get(&pods->items[1], "memory");
	assert_string_equal(doc_get(memory, "scope")->text, "containers");
	assert_string_equal(doc_get(memory, "remoteBytes")->text, "1073741824");
	assert_string_equal(doc_get(memory, "remotePercent")->text, "25");
	assert_int_equal(doc_get(memory, "numaNodes")->n_items, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(systemd_driver),
		cmocka_unit_test(cgroupfs_driver), cmocka_unit_test(below_another_cgroup),
		cmocka_unit_test(what_cannot_be_read), cmocka_unit_test(hostile_uids),
		cmocka_unit_test(numa_stat_lines), cmocka_unit_test(show_names_it),
		cmocka_unit_test(a_little_more_or_less_changes_nothing), cmocka_unit_test(metrics_have_it),
		cmocka_unit_test(the_document_has_it)};

	return cmocka_run_group_tests_name("pod_memory", tests, NULL, NULL);
}
