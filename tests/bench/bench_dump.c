/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_dump NAME GOAL_MS GOAL_MIB PROGRAM ARG...: start the program 50 times with its output thrown away and
 * print the median wall time of the whole process and its peak resident memory, with the goals beside them (0
 * = none).
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "tests/bench/bench.h"

#define RUNS     50
#define PAUSE_NS 25000000L /* the kubelet answers 100 calls a second, and a run makes two */

/* One run: its wall time, and the largest resident set so far in *kib. Negative when it failed. */
static double run(char **argv, posix_spawn_file_actions_t *actions, long *kib)
{
	struct rusage usage;
	double start = bench_ms();
	pid_t pid;
	int status;

	if (posix_spawn(&pid, argv[0], actions, NULL, argv, environ) != 0 ||
		wait4(pid, &status, 0, &usage) < 0)
		return -1;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return -1;
	if (usage.ru_maxrss > *kib)
		*kib = usage.ru_maxrss;
	return bench_ms() - start;
}

int main(int argc, char **argv)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	posix_spawn_file_actions_t actions;
	double times[RUNS];
	long kib = 0;

	if (argc < 5) {
		fprintf(stderr, "usage: bench_dump NAME GOAL_MS GOAL_MIB PROGRAM ARG...\n");
		return 2;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	for (int i = 0; i < RUNS; i++) {
		times[i] = run(argv + 4, &actions, &kib);
		if (times[i] < 0) {
			fprintf(stderr, "bench_dump: '%s' failed\n", argv[4]);
			return 1;
		}
		nanosleep(&pause, NULL);
	}
	posix_spawn_file_actions_destroy(&actions);
	printf("%-28s %8.2f ms (goal %s)  %6.2f MiB peak resident (goal %s)\n", argv[1],
		bench_median(times, RUNS), argv[2], (double)kib / 1024, argv[3]);
	return 0;
}
