/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ns per request for fit_required(), with the goal beside it where there is one. A line each:
 * NAME: N ns/op (goal G ns, ok|missed)
 */
#include <stdint.h>
#include <sys/utsname.h>
#include <time.h>

#include "common/cleanup.h"
#include "scoring/fit.h"

#define N_RESOURCES 4

static const char *const names[N_RESOURCES] = {"cpu", "hugepages-1Gi", "memory", "vendor.com/nic"};

struct bench {
	const char *name;
	size_t n_nodes, per_socket;
	double goal_ns; /* 0 = none */
	/* Of each resource the request wants this many nodes' worth in percent; free_min..100 percent of it
	 * is free. */
	unsigned wanted_percent[N_RESOURCES];
	unsigned free_min_percent;
};

static const struct bench benches[] = {
	{"8 nodes, needs all", 8, 4, 3e3, {800, 800, 800, 800}, 100},
	{"8 nodes, cannot fit", 8, 4, 3e3, {801, 801, 801, 801}, 100},
	{"8 nodes, needs 3 of uneven", 8, 4, 0, {200, 200, 200, 200}, 20},
	{"16 nodes, needs all", 16, 4, 300e3, {1600, 1600, 1600, 1600}, 100},
	{"16 nodes, cannot fit", 16, 4, 300e3, {1601, 1601, 1601, 1601}, 100},
	{"16 nodes, needs half of uneven", 16, 4, 0, {450, 450, 450, 450}, 20},
	{"64 nodes, needs all", 64, 8, 5e6, {6400, 6400, 6400, 6400}, 100},
	{"64 nodes, cannot fit", 64, 8, 5e6, {6401, 6401, 6401, 6401}, 100},
	{"64 nodes, needs 20 of empty", 64, 8, 0, {2000, 2000, 2000, 2000}, 100},
	{"64 nodes, needs some of uneven", 64, 8, 0, {700, 700, 700, 700}, 20},
	{"64 nodes, needs most of uneven", 64, 8, 0, {3200, 3200, 3200, 3200}, 20},
};

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void fill_inventory(struct inventory *inv, const struct bench *b)
{
	uint64_t random = 42;

	for (size_t i = 0; i < b->n_nodes; i++) {
		inv->nodes[i].id = (unsigned)i;
		for (size_t j = 0; j < b->n_nodes; j++)
			inv->costs[i * b->n_nodes + j] = i == j                                   ? 10
							 : i / b->per_socket == j / b->per_socket ? 12
												  : 32;
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

static int run(const struct bench *b)
{
	CLEANUP(resource_list_release) struct resource_list request = {0};
	CLEANUP(inventory_release) struct inventory inv;
	struct distances distances;
	struct fit_space space;
	struct fit fit = {0};
	double start, elapsed;
	uint64_t n = 0;
	int r;

	inventory_init(&inv);
	inventory_shape(&inv, b->n_nodes, names, N_RESOURCES);
	fill_inventory(&inv, b);
	for (size_t i = 0; i < N_RESOURCES; i++)
		resource_list_set(&request, names[i], quantity_from_units(b->wanted_percent[i]));
	start = now_ns();
	r = distances_init(&distances, inv.costs, inv.n_nodes, DISTANCES_WORK_LIMIT);
	if (r == 0)
		distances_find_sums(&distances);
	elapsed = now_ns() - start;
	if (r == 0)
		r = fit_space_init(&space, &inv, &distances);
	if (r < 0)
		return r;
	printf("# %s: cost matrix prepared once in %.0f us\n", b->name, elapsed / 1e3);
	start = now_ns();
	do {
		for (unsigned i = 0; i < 16; i++, n++)
			fit = fit_required(&space, QOS_GUARANTEED, &request);
		elapsed = now_ns() - start;
	} while (elapsed < 3e8);
	printf("%s: %.0f ns/op", b->name, elapsed / (double)n);
	if (b->goal_ns > 0)
		printf(" (goal %.0f ns, %s)", b->goal_ns,
			elapsed / (double)n <= b->goal_ns ? "ok" : "missed");
	printf("%s\n", fit.verdict == FIT_UNKNOWN ? ", work limit met" : "");
	fit_space_release(&space);
	distances_release(&distances);
	return 0;
}

/* "model name" of the first CPU, or the architecture. */
static void print_machine(void)
{
	CLEANUP(fclosep) FILE *f = fopen("/proc/cpuinfo", "re");
	struct utsname name;
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) != 0 || !colon)
			continue;
		printf("# machine:%s", colon + 1);
		return;
	}
	if (uname(&name) == 0)
		printf("# machine: %s\n", name.machine);
}

int main(void)
{
	print_machine();
	for (size_t i = 0; i < ARRAY_SIZE(benches); i++) {
		if (run(&benches[i]) < 0) {
			fputs("bench_fit: out of memory\n", stderr);
			return 1;
		}
	}
	return 0;
}
