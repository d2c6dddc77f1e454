/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time of finding the memory of 100 pods with two containers each, in the cgroups of a systemd driver below a
 * temporary directory. Reading files of cgroups is dearer: tests/vm measures it.
 */
#include <sys/stat.h>
#include <time.h>

#include "agent/observe/pod_memory.h"
#include "common/cleanup.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "tests/bench/bench.h"
#include "tests/lib/test.h"

#define PODS       100
#define CONTAINERS 2  /* per pod, and a sandbox */
#define FILES      60 /* other files of a cgroup */
#define RUNS       15

static double ms(void)
{
	return clock_s(CLOCK_THREAD_CPUTIME_ID) * 1e3;
}

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	if (!f || fputs(text, f) < 0 || fclose(f) != 0) {
		fprintf(stderr, "bench_pod_memory: cannot write '%s'\n", path);
		exit(1);
	}
}

/* The kernel's lines, with two NUMA nodes. */
static void write_cgroup(const char *dir, const char *cpus)
{
	static const char *const keys[] = {"anon", "file", "kernel_stack", "pagetables", "sec_pagetables",
		"shmem", "file_mapped", "file_dirty", "file_writeback", "swapcached", "anon_thp", "file_thp",
		"shmem_thp", "inactive_anon", "active_anon", "inactive_file", "active_file", "unevictable",
		"slab_reclaimable", "slab_unreclaimable", "workingset_refault_anon",
		"workingset_refault_file"};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1 << 16);
	char name[32];

	mkdir(dir, 0755);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		strbuf_addf(&text, "%s N0=1073741824 N1=2147483648\n", keys[i]);
	write_file(dir, "memory.numa_stat", text.text);
	write_file(dir, "cpuset.cpus", cpus);
	write_file(dir, "hugetlb.2MB.numa_stat", "total=4194304 N0=2097152 N1=2097152\n");
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "memory.file%d", i);
		write_file(dir, name, "");
	}
}

static void make_tree(const char *root)
{
	char dir[256], inner[512], cpus[32];

	write_file(root, "cgroup.controllers", "cpuset memory hugetlb\n");
	snprintf(dir, sizeof(dir), "%s/kubepods.slice", root);
	mkdir(dir, 0755);
	for (int pod = 0; pod < PODS; pod++) {
		snprintf(dir, sizeof(dir), "%s/kubepods.slice/kubepods-pod%08d_0000.slice", root, pod);
		write_cgroup(dir, "");
		for (int c = 0; c <= CONTAINERS; c++) {
			snprintf(inner, sizeof(inner), "%s/cri-containerd-%064d.scope", dir, c);
			snprintf(cpus, sizeof(cpus), "%d\n", pod * CONTAINERS + c);
			write_cgroup(inner, c < CONTAINERS ? cpus : "");
		}
	}
}

static void add_node(struct node_state *node, unsigned id, unsigned first, unsigned last)
{
	struct machine *m = &node->machine;
	struct numa_node *n = vec_push(&m->nodes, &m->n_nodes, &m->nodes_size, sizeof(*n));
	struct hugepage_pool *pool;

	*n = (struct numa_node){.id = id, .cpus = cpuset_new()};
	cpuset_set_range(n->cpus, first, last);
	pool = vec_push(&n->pools, &n->n_pools, &n->pools_size, sizeof(*pool));
	*pool = (struct hugepage_pool){.page_bytes = 2 << 20, .pages = 64};
}

static void add_container(struct node_state *node, const char *uid, unsigned cpu)
{
	struct allocation *a = allocations_add(&node->allocations);

	text_set(&a->pod_uid, uid);
	cpuset_set(a->cpus, cpu);
}

/* The median of the CPU time of one reading; negative after a failure. */
static double measure(const char *cgroup, struct node_state *node, size_t n_pods)
{
	double times[RUNS];
	struct err err = {""};

	for (int i = 0; i < RUNS; i++) {
		double start = ms();
		int r = pod_memory_read("", cgroup, node, &err);

		times[i] = ms() - start;
		for (size_t k = 0; r == 0 && k < node->pods_memory.n_items; k++)
			if (node->pods_memory.items[k].unknown)
				r = err_set(&err, -1, "%s", node->pods_memory.items[k].unknown);
		if (r < 0 || node->pods_memory.n_items != n_pods) {
			fprintf(stderr, "bench_pod_memory: %s\n", err.text);
			return -1;
		}
		pods_memory_release(&node->pods_memory);
	}
	return bench_median(times, RUNS);
}

int main(void)
{
	CLEANUP(test_rmtree) char *root = test_tmpdir();
	char uid[32];
	CLEANUP(node_state_release) struct node_state node;
	double median;

	node_state_init(&node);
	make_tree(root);
	add_node(&node, 0, 0, PODS - 1);
	add_node(&node, 1, PODS, PODS * CONTAINERS - 1);
	for (int i = 0; i < PODS * CONTAINERS; i++) {
		snprintf(uid, sizeof(uid), "%08d-0000", i / CONTAINERS);
		add_container(&node, uid, (unsigned)i);
	}
	median = measure(root, &node, PODS);
	if (median < 0)
		return 1;
	printf("memory of %d pods with %d containers, without the kernel's part: %.1f ms per reading, %.3f %% of a core at one per minute (goal 0.1)\n",
		PODS, CONTAINERS, median, median / 60000 * 100);
	return 0;
}
