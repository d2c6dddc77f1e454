/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/http/process_stats.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/fs.h"
#include "agent/http/exposition.h"
#include "common/cleanup.h"
#include "common/clock.h"

#define PROC_FILE_MAX    4096u
#define START_TIME_FIELD 22 /* of /proc/self/stat, in ticks since the machine started: proc(5) */

/* The name of the program is the second field and may hold anything, up to the last ')'. */
static int start_since_boot(double *ret)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(PROC_FILE_MAX);
	const char *at;
	char *end;
	unsigned long long ticks;

	if (fs_read("", "/proc/self/stat", &text, NULL) < 0)
		return -ENODATA;
	at = strrchr(text.text, ')');
	for (int field = 2; at && field < START_TIME_FIELD; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return -ENODATA;
	ticks = strtoull(at, &end, 10);
	if (end == at)
		return -ENODATA;
	*ret = (double)ticks / (double)sysconf(_SC_CLK_TCK);
	return 0;
}

void process_stats_init(struct process_stats *p)
{
	double since_boot;

	p->start_s = 0;
	if (start_since_boot(&since_boot) == 0)
		p->start_s = clock_s(CLOCK_REALTIME) - (clock_s(CLOCK_BOOTTIME) - since_boot);
}

/* The second number of statm, in pages. */
static int resident_bytes(double *ret)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(PROC_FILE_MAX);
	unsigned long pages;
	char *end;

	if (fs_read("", "/proc/self/statm", &text, NULL) < 0)
		return -ENODATA;
	strtoul(text.text, &end, 10);
	errno = 0;
	pages = strtoul(end, &end, 10);
	if (errno || *end != ' ')
		return -ENODATA;
	*ret = (double)pages * (double)sysconf(_SC_PAGESIZE);
	return 0;
}

static int open_files(double *ret)
{
	DIR *d = opendir("/proc/self/fd");
	double n = -3; /* "." and ".." and the one that reads the folder */

	if (!d)
		return -ENODATA;
	while (readdir(d))
		n++;
	closedir(d);
	*ret = n;
	return 0;
}

static int cpu_seconds(double *ret)
{
	struct timespec t;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) < 0)
		return -errno;
	*ret = (double)t.tv_sec + (double)t.tv_nsec / 1e9;
	return 0;
}

void process_stats_print(const struct process_stats *p, struct strbuf *out)
{
	static const struct {
		const char *name, *help;
		enum exposition_kind kind;
		int (*read)(double *ret);
	} stats[] = {
		{"process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", COUNTER,
			cpu_seconds},
		{"process_open_fds", "Number of open file descriptors.", GAUGE, open_files},
		{"process_resident_memory_bytes", "Resident memory size in bytes.", GAUGE, resident_bytes},
	};

	exposition_head(out, "nrtd_build_info", "1, with the version of this nrtd as a label.", GAUGE);
	strbuf_addstr(out, "nrtd_build_info{version=\"" NRTD_VERSION "\"} 1\n");
	if (p->start_s > 0)
		exposition_one(out, "process_start_time_seconds",
			"Start time of the process since unix epoch in seconds.", GAUGE, p->start_s);
	for (size_t i = 0; i < ARRAY_SIZE(stats); i++) {
		double value;

		if (stats[i].read(&value) == 0)
			exposition_one(out, stats[i].name, stats[i].help, stats[i].kind, value);
	}
}
