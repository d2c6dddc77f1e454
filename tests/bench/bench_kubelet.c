/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ns per call of the kubelet's decisions, with the goal beside it where there is one. A line each:
 * NAME: N ns/op (goal G ns, ok|missed)
 */
#include <stdint.h>
#include <time.h>

#include "common/cleanup.h"
#include "scoring/kubelet.h"
#include "tests/lib/pods.h"
#include "tests/lib/synthetic.h"

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *check(void *p)
{
	if (!p)
		abort();
	return p;
}

static void report(const char *name, double ns, double goal_ns)
{
	printf("%s: %.0f ns/op", name, ns);
	if (goal_ns > 0)
		printf(" (goal %.0f ns, %s)", goal_ns, ns <= goal_ns ? "ok" : "missed");
	putchar('\n');
}

/* Every subset of n nodes as a hint of each resource, the narrowest preferred: the most there can be. */
static void bench_merge(const char *name, unsigned n, unsigned n_resources, bool closest, double goal_ns)
{
	static uint32_t distance[64][64];
	static struct topology_nodes nodes = {.distance = distance};
	struct topology_rules rules = {
		.nodes = &nodes, .policy = TOPOLOGY_MANAGER_RESTRICTED, .prefer_closest = closest};
	struct topology_hints hints;
	struct topology_merge merge;
	struct node_mask_walk walk;
	double start = now_ns(), elapsed;
	uint64_t mask, turns = 0;
	bool admit = false;

	nodes.all = n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
	for (unsigned a = 0; a < n; a++)
		for (unsigned b = 0; b < n; b++)
			distance[a][b] = a == b ? 10 : 10 + (a + b) % 5;
	topology_merge_init(&merge, nodes.all, nodes.all);
	topology_hints_init(&hints, n);
	node_mask_walk_start(&walk, nodes.all);
	while (node_mask_walk_next(&walk, &mask))
		topology_hints_add(&hints, mask, false);
	do {
		topology_merge_start(&merge, &rules);
		for (unsigned i = 0; i < n_resources; i++)
			topology_merge_add(&merge, &hints);
		topology_merge_finish(&merge, &admit);
		turns++;
		elapsed = now_ns() - start;
	} while (elapsed < 2e8);
	report(name, elapsed / (double)turns, goal_ns);
	topology_hints_release(&hints);
	topology_merge_release(&merge);
}

/* 2 sockets of 4 NUMA nodes of 16 cores of 2 threads: 256 CPUs. */
static const struct synthetic large = {
	.sockets = 2, .numas = 4, .uncores = 2, .cores = 8, .threads = 2, .memory_bytes = 64u << 20};

static void bench_take(const char *name, struct cpu_take_rules rules, size_t n, double goal_ns)
{
	struct cpu_topology t;
	struct machine m;
	struct cpu_workspace *ws;
	bool *available, *taken;
	double start, elapsed;
	uint64_t turns = 0;

	synthetic_machine(&large, &m);
	if (cpu_topology_init(&t, &m) < 0)
		abort();
	ws = check(cpu_workspace_new(&t));
	available = check(calloc(t.n_cpus, sizeof(bool)));
	taken = check(calloc(t.n_cpus, sizeof(bool)));
	for (size_t i = 0; i < t.n_cpus; i++)
		available[i] = i % 11 != 3;
	start = now_ns();
	do {
		if (cpu_take(ws, &rules, available, n, taken).status != CPU_TAKE_OK)
			abort();
		turns++;
		elapsed = now_ns() - start;
	} while (elapsed < 2e8);
	report(name, elapsed / (double)turns, goal_ns);
	free(available);
	free(taken);
	cpu_workspace_freep(&ws);
	cpu_topology_release(&t);
	machine_release(&m);
}

static void bench_judge(const char *name, const char *text)
{
	static struct kubelet k;
	struct settings settings;
	struct machine m;
	CLEANUP(cpuset_freep) hwloc_bitmap_t reserved = check(hwloc_bitmap_alloc());
	CLEANUP(kubelet_workspace_freep) struct kubelet_workspace *ws = NULL;
	struct kubelet_verdict verdict;
	struct pod_request pod;
	double start, elapsed;
	uint64_t turns = 0;

	hwloc_bitmap_set(reserved, 0);
	synthetic_machine(&large, &m);
	settings_init(&settings);
	settings.cpu_manager = CPU_MANAGER_STATIC;
	settings.memory_manager = MEMORY_MANAGER_NONE;
	settings.topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
	settings.topology.scope = TOPOLOGY_SCOPE_CONTAINER;
	pod_from_text(&pod, text);
	kubelet_init(
		&k, &(struct kubelet_node){
			    .machine = &m, .settings = &settings, .shared = m.online, .reserved = reserved});
	ws = kubelet_workspace_new(&k);
	start = now_ns();
	do {
		kubelet_judge(&k, ws, &pod, QOS_GUARANTEED, &verdict);
		turns++;
		elapsed = now_ns() - start;
	} while (elapsed < 2e8);
	report(name, elapsed / (double)turns, 0);
	kubelet_workspace_freep(&ws);
	kubelet_release(&k);
	pod_request_release(&pod);
	settings_release(&settings);
	machine_release(&m);
}

int main(void)
{
	bench_merge("merge, 8 nodes, 3 resources", 8, 3, false, 100e3);
	bench_merge("merge, 8 nodes, 3 resources, closest", 8, 3, true, 100e3);
	bench_merge("merge, 16 nodes, 3 resources", 16, 3, false, 0);
	bench_take("256 CPUs, 24 packed", (struct cpu_take_rules){.group = 1}, 24, 50e3);
	bench_take("256 CPUs, 100 packed", (struct cpu_take_rules){.group = 1}, 100, 50e3);
	bench_take("256 CPUs, 24 spread", (struct cpu_take_rules){.spread = true, .group = 1}, 24, 50e3);
	bench_take("256 CPUs, 24 by uncore cache", (struct cpu_take_rules){.uncore = true, .group = 1}, 24,
		50e3);
	bench_take("256 CPUs, 24 distributed", (struct cpu_take_rules){.distribute = true, .group = 1}, 24,
		20e3);
	bench_take("256 CPUs, 99 distributed", (struct cpu_take_rules){.distribute = true, .group = 1}, 99,
		20e3);
	bench_judge("256 CPUs, pod of one", "app cpu=8 memory=1Mi");
	bench_judge("256 CPUs, pod of three",
		"init cpu=4 memory=1Mi; app cpu=8 memory=1Mi; app cpu=2 memory=1Mi");
	return 0;
}
