/* SPDX-License-Identifier: Apache-2.0 */
#include "common/http/exposition.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/io/time.h"

#define PROC_FILE_MAX    4096u
#define START_TIME_FIELD 22 /* of /proc/self/stat, in clock ticks since boot: proc(5) */

static const char *const kind_names[] = {"counter", "gauge", "histogram"};

void exposition_head(struct strbuf *out, const struct exposition_family *f)
{
	strbuf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help, f->name, kind_names[f->kind]);
}

/* name="value" */
static void add_metric_label(struct strbuf *out, const char *name, const char *value)
{
	strbuf_addf(out, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			strbuf_addch(out, '\\');
		if (*value == '\n')
			strbuf_addstr(out, "\\n");
		else
			strbuf_addch(out, *value);
	}
	strbuf_addch(out, '"');
}

/* The shortest text of which the value can be read back; 17 digits always suffice. */
static void add_number(struct strbuf *out, double value)
{
	char text[32];

	if (isinf(value)) {
		strbuf_addstr(out, value > 0 ? "+Inf" : "-Inf");
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	strbuf_addstr(out, text);
}

/* Appends a line: the series' name and labels, the bound of a histogram's bucket `le` as the last label unless NULL, and the number. */
static void add_series(struct strbuf *out, const struct exposition_family *f, const char *suffix,
	const char *const *values, const char *le, double number)
{
	const char *separator = "{"; /* before the next label */
	bool has_labels = le;

	strbuf_addf(out, "%s%s", f->name, suffix);
	for (size_t i = 0; i < EXPOSITION_LABELS; i++) {
		if (!f->labels[i] || !values[i])
			continue;
		strbuf_addstr(out, separator);
		add_metric_label(out, f->labels[i], values[i]);
		separator = ",";
		has_labels = true;
	}
	if (le)
		strbuf_addf(out, "%sle=\"%s\"", separator, le);
	strbuf_addstr(out, has_labels ? "} " : " ");
	add_number(out, number);
	strbuf_addch(out, '\n');
}

void exposition_sample(struct strbuf *out, const struct exposition_family *f, const char *label1,
	const char *label2, double value)
{
	add_series(out, f, "", (const char *const[]){label1, label2}, NULL, value);
}

void exposition_histogram(struct strbuf *out, const struct exposition_family *f, const char *label1,
	const char *label2, const struct exposition_histogram *h)
{
	const char *const values[] = {label1, label2};
	uint64_t n_up_to = 0; /* the buckets are cumulative */

	for (size_t i = 0; i <= h->n_bounds; i++) {
		char le[32] = "+Inf";

		if (i < h->n_bounds)
			snprintf(le, sizeof(le), "%g", h->bounds[i]);
		n_up_to += h->counts[i];
		add_series(out, f, "_bucket", values, le, (double)n_up_to);
	}
	add_series(out, f, "_sum", values, NULL, h->sum);
	add_series(out, f, "_count", values, NULL, (double)n_up_to);
}

void exposition_one(struct strbuf *out, const struct exposition_family *f, double value)
{
	exposition_head(out, f);
	exposition_sample(out, f, NULL, NULL, value);
}

void exposition_certificate(struct strbuf *out, const char *use, int64_t until_s)
{
	static const struct exposition_family family = {"nrtd_certificate_expiry_timestamp_seconds",
		"Unix time when the certificate expires, by its use.", GAUGE, {"use"}};

	if (until_s == 0)
		return;
	exposition_head(out, &family);
	exposition_sample(out, &family, use, NULL, (double)until_s);
}

/* ---- this process */

/* Seconds from boot to the start of the process. The second field, the program's name, may contain anything and ends at the last ')'. */
static int read_start_time(double *ret)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(PROC_FILE_MAX);
	const char *at;
	char *end;
	unsigned long long ticks;

	if (fs_read_file("/proc/self/stat", &text, NULL) < 0)
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
	if (read_start_time(&since_boot) == 0)
		p->start_s = clock_s(CLOCK_REALTIME) - (clock_s(CLOCK_BOOTTIME) - since_boot);
}

/* The second field of statm, in pages. */
static int read_resident_bytes(double *ret)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(PROC_FILE_MAX);
	unsigned long pages;
	char *end;

	if (fs_read_file("/proc/self/statm", &text, NULL) < 0)
		return -ENODATA;
	strtoul(text.text, &end, 10);
	errno = 0;
	pages = strtoul(end, &end, 10);
	if (errno || *end != ' ')
		return -ENODATA;
	*ret = (double)pages * (double)sysconf(_SC_PAGESIZE);
	return 0;
}

static int count_open_files(double *ret)
{
	DIR *d = opendir("/proc/self/fd");
	double n = -3; /* ".", ".." and the descriptor of the folder itself */

	if (!d)
		return -ENODATA;
	while (readdir(d))
		n++;
	closedir(d);
	*ret = n;
	return 0;
}

static int read_cpu_seconds(double *ret)
{
	*ret = clock_s(CLOCK_PROCESS_CPUTIME_ID);
	return 0;
}

void process_stats_print(const struct process_stats *p, struct strbuf *out)
{
	static const struct exposition_family
		build = {"nrtd_build_info", "1, with the version of this nrtd as a label.", GAUGE,
			{"version"}},
		start = {"process_start_time_seconds",
			"Start time of the process since unix epoch in seconds.", GAUGE, {NULL}};
	static const struct {
		struct exposition_family family;
		int (*read)(double *ret);
	} stats[] = {
		{{"process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", COUNTER,
			 {NULL}},
			read_cpu_seconds},
		{{"process_open_fds", "Number of open file descriptors.", GAUGE, {NULL}}, count_open_files},
		{{"process_resident_memory_bytes", "Resident memory size in bytes.", GAUGE, {NULL}},
			read_resident_bytes},
	};

	exposition_head(out, &build);
	exposition_sample(out, &build, NRTD_VERSION, NULL, 1);
	if (p->start_s > 0)
		exposition_one(out, &start, p->start_s);
	for (size_t i = 0; i < ARRAY_SIZE(stats); i++) {
		double value;

		if (stats[i].read(&value) == 0)
			exposition_one(out, &stats[i].family, value);
	}
}
