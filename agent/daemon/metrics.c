/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/daemon/metrics.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>

#include "agent/base/fs.h"
#include "common/cleanup.h"

#define PROC_FILE_MAX 4096u

/* ---- the families */

enum kind { COUNTER, GAUGE, HISTOGRAM };

static const char *const kind_names[] = {"counter", "gauge", "histogram"};

enum label { NO_LABEL, TARGET, RESULT, SOURCE, STATE, CAUSE, LABEL_COUNT };

static const char *const label_names[LABEL_COUNT] = {
	[TARGET] = "target",
	[RESULT] = "result",
	[SOURCE] = "source",
	[STATE] = "state",
	[CAUSE] = "cause",
};

struct family {
	const char *name, *help;
	enum kind kind;
	enum label labels[2];
};

static const struct family families[METRIC_COUNT] = {
	[METRIC_PUBLISHES] = {"nrtd_publishes_total", "Attempts to publish, by target and result.", COUNTER,
		{TARGET, RESULT}},
	[METRIC_PUBLISH_SECONDS] = {"nrtd_publish_duration_seconds",
		"Time that publishing to the API server took.", HISTOGRAM, {TARGET}},
	[METRIC_OBSERVE_SECONDS] = {"nrtd_observe_duration_seconds",
		"Time that reading every source once took.", HISTOGRAM, {NO_LABEL}},
	[METRIC_CHANGE_SECONDS] = {"nrtd_change_to_publish_seconds",
		"Time from the first sign of a change to its publication.", HISTOGRAM, {NO_LABEL}},
	[METRIC_SOURCE_STATE] = {"nrtd_source_state",
		"1 for the state that a source is in, 0 for the others.", GAUGE, {SOURCE, STATE}},
	[METRIC_LAST_SUCCESS_AGE] = {"nrtd_last_success_age_seconds",
		"Time since the target was last known to be up to date, +Inf before the first time.", GAUGE,
		{TARGET}},
	[METRIC_DIRTY_MARKS] = {"nrtd_dirty_marks_total",
		"Signs that what is published may be out of date, by cause.", COUNTER, {CAUSE}},
	[METRIC_DISAGREEMENTS] = {"nrtd_source_disagreements_total",
		"How often two sources contradicted each other.", COUNTER, {NO_LABEL}},
};

static const double bounds[] = {
	0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};

#define N_BOUNDS ARRAY_SIZE(bounds)

struct histogram {
	uint64_t counts[N_BOUNDS + 1]; /* in (bounds[i - 1], bounds[i]]; the last is above all bounds */
	double sum;
};

struct available {
	unsigned node;
	double value;
	char *resource;
};

struct metrics {
	pthread_mutex_t lock;
	struct metric_names labels[LABEL_COUNT];
	double *values[METRIC_COUNT]; /* counters and gauges: n of label 1 rows of n of label 2 */
	struct histogram *histograms[METRIC_COUNT];
	struct available *available;
	size_t n_available;
};

/* ---- life */

static size_t n_values(const struct metrics *m, enum metric metric, unsigned which)
{
	enum label label = families[metric].labels[which];

	return label == NO_LABEL ? 1 : m->labels[label].n;
}

static size_t n_series(const struct metrics *m, enum metric metric)
{
	return n_values(m, metric, 0) * n_values(m, metric, 1);
}

int metrics_new(const struct metrics_labels *labels, struct metrics **ret)
{
	CLEANUP(metrics_freep) struct metrics *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	pthread_mutex_init(&m->lock, NULL);
	m->labels[TARGET] = labels->targets;
	m->labels[RESULT] = labels->results;
	m->labels[SOURCE] = labels->sources;
	m->labels[STATE] = labels->states;
	m->labels[CAUSE] = labels->causes;
	for (enum metric i = 0; i < METRIC_COUNT; i++) {
		size_t n = n_series(m, i);

		m->values[i] = calloc(n, sizeof(*m->values[i]));
		m->histograms[i] = calloc(families[i].kind == HISTOGRAM ? n : 1, sizeof(*m->histograms[i]));
		if (!m->values[i] || !m->histograms[i])
			return -ENOMEM;
	}
	for (size_t i = 0; i < m->labels[TARGET].n; i++)
		m->values[METRIC_LAST_SUCCESS_AGE][i] = -INFINITY; /* the time of the last success */
	*ret = TAKE(m);
	return 0;
}

static void free_available(struct available *list, size_t n)
{
	for (size_t i = 0; list && i < n; i++)
		free(list[i].resource);
	free(list);
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	for (enum metric i = 0; i < METRIC_COUNT; i++) {
		free(m->values[i]);
		free(m->histograms[i]);
	}
	free_available(m->available, m->n_available);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

/* ---- measuring */

static size_t series(const struct metrics *m, enum metric metric, unsigned label1, unsigned label2)
{
	assert(metric < METRIC_COUNT);
	assert(label1 < n_values(m, metric, 0) && label2 < n_values(m, metric, 1));
	return label1 * n_values(m, metric, 1) + label2;
}

void metrics_count(struct metrics *m, enum metric metric, unsigned label1, unsigned label2)
{
	size_t at = series(m, metric, label1, label2);

	pthread_mutex_lock(&m->lock);
	m->values[metric][at] += 1;
	pthread_mutex_unlock(&m->lock);
}

void metrics_observe(struct metrics *m, enum metric metric, unsigned label1, double seconds)
{
	struct histogram *h = &m->histograms[metric][series(m, metric, label1, 0)];
	size_t bucket = 0;

	assert(families[metric].kind == HISTOGRAM);
	seconds = seconds > 0 ? seconds : 0;
	while (bucket < N_BOUNDS && seconds > bounds[bucket])
		bucket++;
	pthread_mutex_lock(&m->lock);
	h->counts[bucket]++;
	h->sum += seconds;
	pthread_mutex_unlock(&m->lock);
}

void metrics_set_source(struct metrics *m, unsigned source, unsigned state)
{
	size_t row = series(m, METRIC_SOURCE_STATE, source, 0);

	pthread_mutex_lock(&m->lock);
	for (unsigned i = 0; i < m->labels[STATE].n; i++)
		m->values[METRIC_SOURCE_STATE][row + i] = i == state;
	pthread_mutex_unlock(&m->lock);
}

void metrics_succeeded(struct metrics *m, unsigned target, double now)
{
	size_t at = series(m, METRIC_LAST_SUCCESS_AGE, target, 0);

	pthread_mutex_lock(&m->lock);
	m->values[METRIC_LAST_SUCCESS_AGE][at] = now;
	pthread_mutex_unlock(&m->lock);
}

int metrics_set_inventory(struct metrics *m, const struct inventory *inv)
{
	size_t room = inv->n_nodes * inv->n_resources, n = 0, n_old;
	struct available *list = calloc(room + 1, sizeof(*list)), *old;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < room; i++) {
		const struct inventory_amount *amount = &inv->amounts[i];
		struct available *a = &list[n];

		if (!amount->present)
			continue;
		a->node = inv->nodes[i / inv->n_resources].id;
		a->value = (double)amount->available / (double)QTY_UNIT;
		a->resource = strdup(inv->resources[i % inv->n_resources]);
		if (!a->resource) {
			free_available(list, n);
			return -ENOMEM;
		}
		n++;
	}
	pthread_mutex_lock(&m->lock);
	old = m->available;
	n_old = m->n_available;
	m->available = list;
	m->n_available = n;
	pthread_mutex_unlock(&m->lock);
	free_available(old, n_old);
	return 0;
}

/* ---- the text */

static void add_head(struct strbuf *out, const char *name, const char *help, enum kind kind)
{
	strbuf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind_names[kind]);
}

/* The shortest decimal that reads back as the same double, as other exporters print. */
static void add_number(struct strbuf *out, double value)
{
	char text[32];

	if (isinf(value)) {
		strbuf_addstr(out, value > 0 ? "+Inf" : "-Inf");
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (!(strtod(text, NULL) < value || strtod(text, NULL) > value))
			break;
	}
	strbuf_addstr(out, text);
}

static void add_label(struct strbuf *out, const char *name, const char *value)
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

/* "name" and the labels of a series, with "le" where that is not NULL, up to the space before the value. */
static void add_series(struct strbuf *out, const struct metrics *m, enum metric metric, const char *suffix,
	size_t at, const char *le)
{
	const struct family *f = &families[metric];
	size_t columns = n_values(m, metric, 1);
	const size_t index[2] = {at / columns, at % columns};
	const char *separator = "{";

	strbuf_addf(out, "%s%s", f->name, suffix);
	for (unsigned i = 0; i < 2; i++) {
		if (f->labels[i] == NO_LABEL)
			continue;
		strbuf_addstr(out, separator);
		add_label(out, label_names[f->labels[i]], m->labels[f->labels[i]].names[index[i]]);
		separator = ",";
	}
	if (le)
		strbuf_addf(out, "%sle=\"%s\"", separator, le);
	strbuf_addstr(out, f->labels[0] != NO_LABEL || le ? "} " : " ");
}

static void add_histogram(struct strbuf *out, const struct metrics *m, enum metric metric, size_t at)
{
	const struct histogram *h = &m->histograms[metric][at];
	uint64_t below = 0;

	for (size_t i = 0; i <= N_BOUNDS; i++) {
		char le[32] = "+Inf";

		if (i < N_BOUNDS)
			snprintf(le, sizeof(le), "%g", bounds[i]);
		below += h->counts[i];
		add_series(out, m, metric, "_bucket", at, le);
		strbuf_addf(out, "%llu\n", (unsigned long long)below);
	}
	add_series(out, m, metric, "_sum", at, NULL);
	add_number(out, h->sum);
	strbuf_addch(out, '\n');
	add_series(out, m, metric, "_count", at, NULL);
	strbuf_addf(out, "%llu\n", (unsigned long long)below);
}

static void add_family(struct strbuf *out, const struct metrics *m, enum metric metric, double now)
{
	const struct family *f = &families[metric];

	add_head(out, f->name, f->help, f->kind);
	for (size_t i = 0; i < n_series(m, metric); i++) {
		double value = m->values[metric][i];

		if (f->kind == HISTOGRAM) {
			add_histogram(out, m, metric, i);
			continue;
		}
		add_series(out, m, metric, "", i, NULL);
		add_number(out, metric == METRIC_LAST_SUCCESS_AGE ? now - value : value);
		strbuf_addch(out, '\n');
	}
}

static void add_available(struct strbuf *out, const struct metrics *m)
{
	add_head(out, "nrtd_resource_available",
		"What a NUMA node has left of a resource: CPUs, bytes of memory and hugepages, devices.",
		GAUGE);
	for (size_t i = 0; i < m->n_available; i++) {
		strbuf_addf(out, "nrtd_resource_available{numa_node=\"%u\",", m->available[i].node);
		add_label(out, "resource", m->available[i].resource);
		strbuf_addstr(out, "} ");
		add_number(out, m->available[i].value);
		strbuf_addch(out, '\n');
	}
}

/* ---- this process */

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

static void add_process(struct strbuf *out)
{
	static const struct {
		const char *name, *help;
		enum kind kind;
		int (*read)(double *ret);
	} stats[] = {
		{"process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", COUNTER,
			cpu_seconds},
		{"process_open_fds", "Number of open file descriptors.", GAUGE, open_files},
		{"process_resident_memory_bytes", "Resident memory size in bytes.", GAUGE, resident_bytes},
	};

	for (size_t i = 0; i < ARRAY_SIZE(stats); i++) {
		double value;

		if (stats[i].read(&value) < 0)
			continue;
		add_head(out, stats[i].name, stats[i].help, stats[i].kind);
		strbuf_addf(out, "%s ", stats[i].name);
		add_number(out, value);
		strbuf_addch(out, '\n');
	}
}

int metrics_render(struct metrics *m, double now, struct strbuf *out)
{
	add_head(out, "nrtd_build_info", "1, with the version of this nrtd as a label.", GAUGE);
	strbuf_addstr(out, "nrtd_build_info{version=\"" NRTD_VERSION "\"} 1\n");
	pthread_mutex_lock(&m->lock);
	for (enum metric i = 0; i < METRIC_COUNT; i++)
		add_family(out, m, i, now);
	add_available(out, m);
	pthread_mutex_unlock(&m->lock);
	add_process(out);
	return strbuf_error(out);
}
