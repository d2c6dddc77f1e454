/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time to make the fit frontier, to look a request up in it, and to find the exclusive-CPU ranges, with the
 * goal beside it where there is one. A line each: NAME: N unit (goal G unit, ok|missed)
 */
#include <errno.h>
#include <stdint.h>
#include <time.h>

#include "common/cleanup.h"
#include "scoring/exclusive_cpus.h"
#include "scoring/fit_hints.h"
#include "tests/lib/synthetic.h"

#define N_RESOURCES 6

static const char *const names[N_RESOURCES] = {
	"cpu", "hugepages-1Gi", "hugepages-2Mi", "memory", "vendor.com/gpu", "vendor.com/nic"};

struct bench {
	const char *name;
	size_t n_nodes;
	unsigned free_min_percent; /* free_min..100 percent of each amount is free */
	size_t entries;            /* the table's limit */
	double goal_us;            /* 0 = none */
};

static const struct bench benches[] = {
	{"frontier, 8 nodes, empty", 8, 100, FRONTIER_MAX_ENTRIES, 200},
	{"frontier, 8 nodes, uneven", 8, 20, FRONTIER_MAX_ENTRIES, 200},
	{"frontier, 16 nodes, empty", 16, 100, FRONTIER_MAX_ENTRIES, 1e3},
	{"frontier, 16 nodes, uneven", 16, 20, FRONTIER_MAX_ENTRIES, 1e3},
	{"frontier, 16 nodes, uneven, 8192 entries", 16, 20, 8192, 0},
	{"frontier, 64 nodes, empty", 64, 100, FRONTIER_MAX_ENTRIES, 0},
	{"frontier, 64 nodes, uneven", 64, 20, FRONTIER_MAX_ENTRIES, 0},
};

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void print_line(const char *name, double value, const char *unit, double goal, const char *tail)
{
	printf("%s: %.1f %s", name, value, unit);
	if (goal > 0)
		printf(" (goal %.0f %s, %s)", goal, unit, value <= goal ? "ok" : "missed");
	printf("%s\n", tail);
}

static void fill_inventory(struct inventory *inv, const struct bench *b)
{
	uint64_t random = 42;

	for (size_t i = 0; i < b->n_nodes; i++) {
		inv->nodes[i].id = (unsigned)i;
		for (size_t j = 0; j < b->n_nodes; j++)
			inv->costs[i * b->n_nodes + j] = i == j ? 10 : i / 4 == j / 4 ? 12 : 32;
		for (size_t r = 0; r < N_RESOURCES; r++) {
			struct inventory_amount *a = inventory_amount(inv, i, r);
			uint64_t percent =
				b->free_min_percent + next_random(&random) % (101 - b->free_min_percent);

			a->present = true;
			a->capacity = a->allocatable = 100 * QTY_UNIT;
			a->available = (qty_t)percent * QTY_UNIT;
		}
	}
}

/* The table, and requests of every size against it. */
static void measure(const struct bench *b, const struct fit_space *space)
{
	const struct frontier_limits limits = {.entries = b->entries, .work = FRONTIER_WORK_LIMIT};
	CLEANUP(resource_list_release) struct resource_list request = {0};
	CLEANUP(frontier_release) struct frontier f = {0};
	uint64_t n = 0, n_found = 0;
	double start, elapsed;
	char tail[96];
	int r = 0;

	start = now_us();
	do {
		frontier_release(&f);
		frontier_init(&f, space, &limits);
		r = 0;
		n++;
		elapsed = now_us() - start;
	} while (r == 0 && elapsed < 2e5);
	snprintf(tail, sizeof(tail), ", %zu entries%s", f.n_entries, f.truncated ? ", truncated" : "");
	print_line(b->name, elapsed / (double)n, "us", b->goal_us, tail);
	for (size_t i = 0; i < N_RESOURCES; i++) {
		resource_list_set(&request, names[i], quantity_from_units(1));
		r = 0;
	}
	start = now_us();
	for (n = 0, elapsed = 0; elapsed < 1e5; elapsed = now_us() - start)
		for (size_t at = 0; at < b->n_nodes * 10; at++, n++) {
			for (size_t i = 0; i < N_RESOURCES; i++)
				request.items[i].quantity = quantity_from_units((int64_t)at * 10);
			n_found += frontier_find(&f, QOS_GUARANTEED, &request).verdict == FIT_FOUND;
		}
	snprintf(tail, sizeof(tail), ", %.0f %% found", 100 * (double)n_found / (double)n);
	print_line("  a look-up in it", elapsed * 1e3 / (double)n, "ns", 0, tail);
}

static int run(const struct bench *b)
{
	CLEANUP(inventory_release) struct inventory inv;
	CLEANUP(distances_release) struct distances distances = {0};
	CLEANUP(fit_space_release) struct fit_space space = {0};
	int r;

	inventory_init(&inv);
	inventory_shape(&inv, b->n_nodes, names, N_RESOURCES);
	fill_inventory(&inv, b);
	r = distances_init(&distances, inv.costs, inv.n_nodes, DISTANCES_WORK_LIMIT);
	if (r == 0)
		r = fit_space_init(&space, &inv, &distances);
	if (r < 0)
		return r;
	measure(b, &space);
	return 0;
}

struct ranges_bench {
	const char *name;
	struct synthetic machine;
	bool full_pcpus, distribute, one_offline;
	double goal_us;
};

/* "A few ms" for 512 CPUs. */
static const struct ranges_bench ranges_benches[] = {
	{"ranges, 512 CPUs, 8 nodes", {2, 4, 4, 8, 2, false, 0}, true, false, false, 5e3},
	{"ranges, 512 CPUs, 8 nodes, one CPU offline", {2, 4, 4, 8, 2, false, 0}, true, false, true, 5e3},
	{"ranges, 512 CPUs, 8 nodes, distributed", {2, 4, 4, 8, 2, false, 0}, false, true, false, 5e3},
	{"ranges, 1024 CPUs, 16 nodes", {4, 4, 4, 8, 2, false, 0}, false, false, false, 0},
};

static int run_ranges(const struct ranges_bench *b)
{
	CLEANUP(machine_release) struct machine machine;
	CLEANUP(settings_release) struct settings settings;
	CLEANUP(cpuset_freep) hwloc_bitmap_t reserved = hwloc_bitmap_alloc();
	struct kubelet_node node = {.machine = &machine, .settings = &settings};
	double start, elapsed;
	uint64_t n = 0;
	int r;

	synthetic_machine(&b->machine, &machine);
	settings_init(&settings);
	if (b->one_offline)
		machine.n_cpus--;
	settings.cpu_manager = CPU_MANAGER_STATIC;
	settings.memory_manager = MEMORY_MANAGER_NONE;
	settings.topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
	settings.topology.scope = TOPOLOGY_SCOPE_CONTAINER;
	settings.topology.max_numa_nodes = 16;
	settings.cpu_options.full_pcpus_only = b->full_pcpus;
	settings.cpu_options.distribute_cpus_across_numa = b->distribute;
	r = hwloc_bitmap_set(reserved, 0);
	node.reserved = reserved;
	node.shared = machine.online;
	start = now_us();
	do {
		struct exclusive_cpus_admitted a = {0};
		struct kubelet k;

		if (r == 0)
			kubelet_init(&k, &node);
		if (r == 0) {
			exclusive_cpus_find(&k, &a);
			kubelet_release(&k);
		}
		exclusive_cpus_admitted_release(&a);
		n++;
		elapsed = now_us() - start;
	} while (r == 0 && elapsed < 2e5);
	if (r == 0)
		print_line(b->name, elapsed / (double)n, "us", b->goal_us, "");
	return r;
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(ranges_benches); i++) {
		if (run_ranges(&ranges_benches[i]) < 0) {
			fputs("bench_hints: out of memory\n", stderr);
			return 1;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(benches); i++) {
		if (run(&benches[i]) < 0) {
			fputs("bench_hints: out of memory\n", stderr);
			return 1;
		}
	}
	return 0;
}
