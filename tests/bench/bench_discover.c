/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time of reading the recorded machines of the `nrtd dump` rows, and of it hwloc's part: loading the CPUs, which is
 * discover_hwloc_cpus() but for a few files. A line each: NAME: N ms, of which hwloc M ms
 */
#include <time.h>

#include "agent/observe/discover.h"
#include "common/cleanup.h"
#include "tests/bench/bench.h"

#define RUNS 15

static double ms(void)
{
	return clock_s(CLOCK_THREAD_CPUTIME_ID) * 1e3;
}

static int measure(const char *name, const char *root)
{
	const struct machine_source source = {.root = root};
	double all[RUNS], hwloc[RUNS];
	struct err err = {""};

	for (size_t i = 0; i < RUNS; i++) {
		CLEANUP(machine_release) struct machine machine, cpus;
		double start = ms();
		int r;

		machine_init(&machine);
		machine_init(&cpus);
		r = machine_discover(&source, &machine, &err);
		all[i] = ms() - start;
		start = ms();
		if (r == 0)
			r = discover_hwloc_cpus(root, &cpus, &err);
		hwloc[i] = ms() - start;
		if (r < 0) {
			fprintf(stderr, "bench_discover: %s\n", err.text);
			return r;
		}
	}
	printf("%s: %.1f ms, of which hwloc %.1f ms\n", name, bench_median(all, RUNS),
		bench_median(hwloc, RUNS));
	return 0;
}

int main(void)
{
	if (measure("machine, 2 sockets 8 NUMA", "build/fixtures/machines/2s-snc4") < 0 ||
		measure("machine, 64 NUMA 1024 CPUs", "build/fixtures/machines/64-nodes-1024-cpus") < 0)
		return 1;
	return 0;
}
