/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/run/metrics.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>

#include "common/cleanup.h"
#include "common/http/exposition.h"
#include "common/text.h"
#include "common/xalloc.h"

#define GAUGES_MAX (1u << 20)

/* ---- the families */

/* The families after those of enum metric, whose values are set as a whole. */
enum {
	READY = METRIC_COUNT,
	RESOURCE_CAPACITY,
	RESOURCE_ALLOCATABLE,
	RESOURCE_AVAILABLE,
	MAX_EXCLUSIVE_CPUS,
	STRANDED_CPUS,
	SLOWEST_SECONDS,
	SHAPE_COPIES,
	SHAPE_STRANDED_CPUS,
	POD_MEMORY_BYTES,
	POD_MEMORY_PODS,
	POD_REMOTE_MEMORY_RATIO,
	PODS,
	OTHER_WRITER,
	FAMILY_COUNT
};

static const struct exposition_family families[FAMILY_COUNT] = {
	[METRIC_PUBLISHES] = {"nrtd_publishes_total", "Attempts to publish, by target and result.", COUNTER,
		{"target", "result"}},
	[METRIC_PUBLISH_SECONDS] = {"nrtd_publish_duration_seconds",
		"Time that publishing to the API server took.", HISTOGRAM, {"target"}},
	[METRIC_OBSERVE_SECONDS] = {"nrtd_observe_duration_seconds",
		"Time that reading every source once took.", HISTOGRAM, {NULL}},
	[METRIC_CHANGE_SECONDS] = {"nrtd_change_to_publish_seconds",
		"Time from the first sign of a change to its publication.", HISTOGRAM, {NULL}},
	[METRIC_SOURCE_STATE] = {"nrtd_source_state",
		"1 for the state that a source is in, 0 for the others.", GAUGE, {"source", "state"}},
	[METRIC_LAST_SUCCESS] = {"nrtd_last_success_timestamp_seconds",
		"Unix time when the target was last known to be current, 0 before the first time.", GAUGE,
		{"target"}},
	[METRIC_DIRTY_MARKS] = {"nrtd_dirty_marks_total",
		"Events that may have made the published state out of date, by cause.", COUNTER, {"cause"}},
	[METRIC_DISAGREEMENTS] = {"nrtd_source_disagreements_total",
		"How often two sources contradicted each other.", COUNTER, {NULL}},
	[METRIC_EVENTS] = {"nrtd_events_total", "Attempts to write an Event about the Node, by result.",
		COUNTER, {"result"}},
	[READY] = {"nrtd_ready", "1 while /readyz answers 200, else 0.", GAUGE, {NULL}},
	[RESOURCE_CAPACITY] = {"nrtd_resource_capacity",
		"Capacity of a resource per NUMA node: CPUs, bytes of memory and hugepages, devices.", GAUGE,
		{"numa_node", "resource"}},
	[RESOURCE_ALLOCATABLE] = {"nrtd_resource_allocatable",
		"Allocatable amount of a resource per NUMA node: CPUs, bytes of memory and hugepages, devices.",
		GAUGE, {"numa_node", "resource"}},
	[RESOURCE_AVAILABLE] = {"nrtd_resource_available",
		"Free amount of a resource per NUMA node: CPUs, bytes of memory and hugepages, devices.",
		GAUGE, {"numa_node", "resource"}},
	[MAX_EXCLUSIVE_CPUS] = {"nrtd_max_exclusive_cpus",
		"Most exclusive CPUs that a container can get now on at most this number of NUMA nodes.",
		GAUGE, {"numa_nodes"}},
	[STRANDED_CPUS] = {"nrtd_stranded_cpus",
		"Free CPUs that would remain after filling the node with the smallest pods with exclusive CPUs.",
		GAUGE, {NULL}},
	[SLOWEST_SECONDS] = {"nrtd_kubelet_slowest_container_seconds",
		"Estimated time of the Topology Manager for a container that requests every resource with NUMA nodes.",
		GAUGE, {NULL}},
	[SHAPE_COPIES] = {"nrtd_shape_copies",
		"Pods of a --shape that the kubelet would admit now, one after the other, up to 1000.", GAUGE,
		{"shape"}},
	[SHAPE_STRANDED_CPUS] = {"nrtd_shape_stranded_cpus",
		"Free CPUs that would remain after filling the node with pods of a --shape.", GAUGE,
		{"shape"}},
	[POD_MEMORY_BYTES] = {"nrtd_pod_memory_bytes",
		"Memory that pods with exclusive CPUs or memory use, by NUMA node, local or remote to their CPUs.",
		GAUGE, {"numa_node", "locality"}},
	[POD_MEMORY_PODS] = {"nrtd_pod_memory_pods",
		"Pods with exclusive CPUs or memory, by where their memory is: remote is more than 10 % remote.",
		GAUGE, {"locality"}},
	[POD_REMOTE_MEMORY_RATIO] = {"nrtd_pod_remote_memory_ratio",
		"Part of a pod's memory that is on other NUMA nodes than its exclusive CPUs.", GAUGE,
		{"namespace", "pod"}},
	[PODS] = {"nrtd_pods", "Pods that hold CPUs, memory or devices exclusively, by their alignment.",
		GAUGE, {"alignment"}},
	[OTHER_WRITER] = {"nrtd_other_writer",
		"1 for another program that writes the NodeResourceTopology object, by its field manager.",
		GAUGE, {"manager"}},
};

/* Lists of the values that a label has. */
enum label { NO_LABEL, TARGET, RESULT, SOURCE, STATE, CAUSE, LABEL_COUNT };

/* Of the labels of families[], in their order. */
static const enum label value_lists[METRIC_COUNT][EXPOSITION_LABELS] = {
	[METRIC_PUBLISHES] = {TARGET, RESULT},
	[METRIC_PUBLISH_SECONDS] = {TARGET},
	[METRIC_SOURCE_STATE] = {SOURCE, STATE},
	[METRIC_LAST_SUCCESS] = {TARGET},
	[METRIC_DIRTY_MARKS] = {CAUSE},
	[METRIC_EVENTS] = {RESULT},
};

static const double bounds[] = {
	0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};

#define N_BOUNDS ARRAY_SIZE(bounds)

struct histogram {
	uint64_t counts[N_BOUNDS + 1]; /* in (bounds[i - 1], bounds[i]]; the last one: above all bounds */
	double sum;
};

struct metrics {
	pthread_mutex_t lock;
	struct metric_names labels[LABEL_COUNT];
	double *values[METRIC_COUNT]; /* counters and gauges: rows of label 1, columns of label 2 */
	struct histogram *histograms[METRIC_COUNT];
	struct process_stats process;
	struct strbuf inventory, headroom, pod_memory, alignment,
		rival;               /* their families, printed when they change */
	int64_t certificate_until_s; /* 0 = no certificate */
};

/* ---- life */

/* The number of values of a metric's first (0) or second (1) label; 1 for no label. */
static size_t count_label_values(const struct metrics *m, enum metric metric, unsigned which)
{
	enum label label = value_lists[metric][which];

	return label == NO_LABEL ? 1 : m->labels[label].n;
}

static size_t count_series(const struct metrics *m, enum metric metric)
{
	return count_label_values(m, metric, 0) * count_label_values(m, metric, 1);
}

void metrics_new(const struct metrics_labels *labels, struct metrics **ret)
{
	CLEANUP(metrics_freep) struct metrics *m = xcalloc(1, sizeof(*m));

	pthread_mutex_init(&m->lock, NULL);
	process_stats_init(&m->process);
	m->inventory = (struct strbuf)STRBUF_INIT(GAUGES_MAX);
	m->headroom = (struct strbuf)STRBUF_INIT(GAUGES_MAX);
	m->pod_memory = (struct strbuf)STRBUF_INIT(GAUGES_MAX);
	m->alignment = (struct strbuf)STRBUF_INIT(GAUGES_MAX);
	m->rival = (struct strbuf)STRBUF_INIT(GAUGES_MAX);
	m->labels[TARGET] = labels->targets;
	m->labels[RESULT] = labels->results;
	m->labels[SOURCE] = labels->sources;
	m->labels[STATE] = labels->states;
	m->labels[CAUSE] = labels->causes;
	for (enum metric i = 0; i < METRIC_COUNT; i++) {
		size_t n = count_series(m, i);

		m->values[i] = xcalloc(n, sizeof(*m->values[i]));
		m->histograms[i] = xcalloc(families[i].kind == HISTOGRAM ? n : 1, sizeof(*m->histograms[i]));
	}
	for (size_t i = 0; i < m->labels[TARGET].n; i++)
		m->values[METRIC_LAST_SUCCESS][i] = -INFINITY; /* no success yet */
	*ret = TAKE(m);
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	for (enum metric i = 0; i < METRIC_COUNT; i++) {
		free(m->values[i]);
		free(m->histograms[i]);
	}
	strbuf_release(&m->inventory);
	strbuf_release(&m->headroom);
	strbuf_release(&m->pod_memory);
	strbuf_release(&m->alignment);
	strbuf_release(&m->rival);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

/* ---- measuring */

/* The index into m->values[metric] and m->histograms[metric]. */
static size_t series_index(const struct metrics *m, enum metric metric, unsigned label1, unsigned label2)
{
	assert(metric < METRIC_COUNT);
	assert(label1 < count_label_values(m, metric, 0) && label2 < count_label_values(m, metric, 1));
	return label1 * count_label_values(m, metric, 1) + label2;
}

void metrics_count(struct metrics *m, enum metric metric, unsigned label1, unsigned label2)
{
	size_t at = series_index(m, metric, label1, label2);

	pthread_mutex_lock(&m->lock);
	m->values[metric][at] += 1;
	pthread_mutex_unlock(&m->lock);
}

void metrics_observe(struct metrics *m, enum metric metric, unsigned label1, double seconds)
{
	struct histogram *h = &m->histograms[metric][series_index(m, metric, label1, 0)];
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
	size_t row = series_index(m, METRIC_SOURCE_STATE, source, 0);

	pthread_mutex_lock(&m->lock);
	for (unsigned i = 0; i < m->labels[STATE].n; i++)
		m->values[METRIC_SOURCE_STATE][row + i] = i == state ? 1 : 0;
	pthread_mutex_unlock(&m->lock);
}

void metrics_succeeded(struct metrics *m, unsigned target, double now)
{
	size_t at = series_index(m, METRIC_LAST_SUCCESS, target, 0);

	pthread_mutex_lock(&m->lock);
	m->values[METRIC_LAST_SUCCESS][at] = now;
	pthread_mutex_unlock(&m->lock);
}

/* Exchanges `text` and *slot, so that the caller releases the old text. A text above GAUGES_MAX is not used. */
static void replace_text(struct metrics *m, struct strbuf *slot, struct strbuf *text)
{
	struct strbuf old;

	if (strbuf_error(text) < 0)
		return;
	pthread_mutex_lock(&m->lock);
	old = *slot;
	*slot = *text;
	pthread_mutex_unlock(&m->lock);
	*text = old;
}

static qty_t quantity_of(const struct inventory_amount *a, size_t family)
{
	if (family == RESOURCE_CAPACITY)
		return a->capacity;
	return family == RESOURCE_ALLOCATABLE ? a->allocatable : a->available;
}

static void print_inventory(const struct inventory *inv, struct strbuf *out)
{
	for (size_t family = RESOURCE_CAPACITY; family <= RESOURCE_AVAILABLE; family++) {
		exposition_head(out, &families[family]);
		for (size_t node = 0; node < inv->n_nodes; node++) {
			char id[16];

			snprintf(id, sizeof(id), "%u", inv->nodes[node].id);
			for (size_t i = 0; i < inv->n_resources; i++) {
				const struct inventory_amount *a = inventory_amount(inv, node, i);

				if (a->present)
					exposition_sample(out, &families[family], id, inv->resources[i],
						(double)quantity_of(a, family) / (double)QTY_UNIT);
			}
		}
	}
}

/* Unknown values have no series. headroom->shapes[i] belongs to config->shapes[i]. */
static void print_shapes(const struct headroom *headroom, const struct hints_config *config, unsigned family,
	struct strbuf *out)
{
	if (headroom->n_shapes > 0)
		exposition_head(out, &families[family]);
	for (size_t i = 0; i < headroom->n_shapes; i++) {
		const struct shape_headroom *shape = &headroom->shapes[i];
		bool known = family == SHAPE_COPIES ? shape->copies.known : shape->stranded_known;
		size_t value = family == SHAPE_COPIES ? shape->copies.n : shape->stranded;

		if (known)
			exposition_sample(
				out, &families[family], config->shapes[i].name, NULL, (double)value);
	}
}

static void print_headroom(
	const struct headroom *headroom, const struct hints_config *config, struct strbuf *out)
{
	if (headroom->n_max > 0)
		exposition_head(out, &families[MAX_EXCLUSIVE_CPUS]);
	for (unsigned i = 0; i < headroom->n_max; i++) {
		char n_nodes[16];

		snprintf(n_nodes, sizeof(n_nodes), "%u", i + 1);
		exposition_sample(out, &families[MAX_EXCLUSIVE_CPUS], n_nodes, NULL,
			(double)headroom->max_exclusive[i]);
	}
	if (headroom->stranded_known)
		exposition_one(out, &families[STRANDED_CPUS], (double)headroom->stranded);
	if (headroom->slowest.known)
		exposition_one(out, &families[SLOWEST_SECONDS], (double)headroom->slowest.time.ns / 1e9);
	print_shapes(headroom, config, SHAPE_COPIES, out);
	print_shapes(headroom, config, SHAPE_STRANDED_CPUS, out);
}

void metrics_set_inventory(struct metrics *m, const struct inventory *inv)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(GAUGES_MAX);

	print_inventory(inv, &text);
	replace_text(m, &m->inventory, &text);
}

void metrics_set_headroom(
	struct metrics *m, const struct headroom *headroom, const struct hints_config *config)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(GAUGES_MAX);

	print_headroom(headroom, config, &text);
	replace_text(m, &m->headroom, &text);
}

/* Bytes on one NUMA node, by whether they are local. */
static void add_node_memory(const struct node_state *node, size_t at, struct strbuf *out)
{
	const unsigned id = node->machine.nodes[at].id;
	double local = 0, remote = 0;
	char text[16];

	for (size_t i = 0; i < node->pods_memory.n_items; i++) {
		const struct pod_memory *p = &node->pods_memory.items[i];
		double bytes = (double)p->memory[at] + (double)p->hugepages[at];

		if (hwloc_bitmap_isset(p->near, id))
			local += bytes;
		else
			remote += bytes;
	}
	snprintf(text, sizeof(text), "%u", id);
	exposition_sample(out, &families[POD_MEMORY_BYTES], text, "local", local);
	exposition_sample(out, &families[POD_MEMORY_BYTES], text, "remote", remote);
}

static void add_pods_by_locality(const struct node_state *node, struct strbuf *out)
{
	enum { LOCAL, REMOTE, UNKNOWN };
	static const char *const names[] = {[LOCAL] = "local", [REMOTE] = "remote", [UNKNOWN] = "unknown"};
	size_t counts[ARRAY_SIZE(names)] = {0};

	for (size_t i = 0; i < node->pods_memory.n_items; i++) {
		const struct pod_memory *p = &node->pods_memory.items[i];

		if (p->unknown)
			counts[UNKNOWN]++;
		else if (pod_memory_remote_percent(p, &node->machine) > POD_MEMORY_REMOTE_PERCENT)
			counts[REMOTE]++;
		else
			counts[LOCAL]++;
	}
	exposition_head(out, &families[POD_MEMORY_PODS]);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		exposition_sample(out, &families[POD_MEMORY_PODS], names[i], NULL, (double)counts[i]);
}

static void add_pod_ratios(const struct node_state *node, struct strbuf *out)
{
	exposition_head(out, &families[POD_REMOTE_MEMORY_RATIO]);
	for (size_t i = 0; i < node->pods_memory.n_items; i++) {
		const struct pod_memory *p = &node->pods_memory.items[i];
		uint64_t total, remote = pod_memory_remote(p, &node->machine, &total);

		if (p->unknown || !*p->pod || total == 0)
			continue;
		exposition_sample(out, &families[POD_REMOTE_MEMORY_RATIO], p->namespace, p->pod,
			(double)remote / (double)total);
	}
}

void metrics_set_pod_memory(struct metrics *m, const struct node_state *node, bool names)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(GAUGES_MAX);

	if (node) {
		exposition_head(&text, &families[POD_MEMORY_BYTES]);
		for (size_t i = 0; i < node->machine.n_nodes; i++)
			add_node_memory(node, i, &text);
		add_pods_by_locality(node, &text);
		if (names)
			add_pod_ratios(node, &text);
	}
	replace_text(m, &m->pod_memory, &text);
}

void metrics_set_alignment(struct metrics *m, const struct pod_alignments *pods)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(GAUGES_MAX);
	size_t counts[ALIGNMENT_COUNT] = {0};

	for (size_t i = 0; i < pods->n_items; i++)
		counts[pods->items[i].alignment]++;
	exposition_head(&text, &families[PODS]);
	for (enum alignment a = 0; a < ALIGNMENT_COUNT; a++)
		exposition_sample(&text, &families[PODS], alignment_names[a], NULL, (double)counts[a]);
	replace_text(m, &m->alignment, &text);
}

void metrics_set_rival(struct metrics *m, const char *manager)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(GAUGES_MAX);

	if (*manager) {
		exposition_head(&text, &families[OTHER_WRITER]);
		exposition_sample(&text, &families[OTHER_WRITER], manager, NULL, 1);
	}
	replace_text(m, &m->rival, &text);
}

void metrics_set_certificate(struct metrics *m, int64_t until_s)
{
	pthread_mutex_lock(&m->lock);
	m->certificate_until_s = until_s;
	pthread_mutex_unlock(&m->lock);
}

/* ---- printing */

/* The value of a label in the series at `at`; NULL = no label, or a value without series. */
static const char *label_value(const struct metrics *m, enum metric metric, unsigned which, size_t at)
{
	enum label label = value_lists[metric][which];
	size_t columns = count_label_values(m, metric, 1);
	size_t row = at / columns, column = at % columns;

	if (label == NO_LABEL)
		return NULL;
	return m->labels[label].names[which == 0 ? row : column];
}

/* Unix time of a success at `monotonic_s`, in whole milliseconds; 0 = no success. Computed from the age, so that a change of
 * the wall clock has no effect. */
static double success_time(const struct metrics_moment *now, double monotonic_s)
{
	double age_s = now->monotonic_s - monotonic_s;

	return isinf(monotonic_s) ? 0 : floor((now->wall_s - age_s) * 1000 + 0.5) / 1000;
}

static void add_family(
	struct strbuf *out, const struct metrics *m, enum metric metric, const struct metrics_moment *now)
{
	exposition_head(out, &families[metric]);
	for (size_t i = 0; i < count_series(m, metric); i++) {
		const char *label1 = label_value(m, metric, 0, i), *label2 = label_value(m, metric, 1, i);
		const struct histogram *h = &m->histograms[metric][i];
		double value = m->values[metric][i];

		if (!label1 && families[metric].labels[0])
			continue;
		if (families[metric].kind == HISTOGRAM)
			exposition_histogram(out, &families[metric], label1, label2,
				&(struct exposition_histogram){bounds, N_BOUNDS, h->counts, h->sum});
		else
			exposition_sample(out, &families[metric], label1, label2,
				metric == METRIC_LAST_SUCCESS ? success_time(now, value) : value);
	}
}

int metrics_render(struct metrics *m, const struct metrics_moment *now, struct strbuf *out)
{
	process_stats_print(&m->process, out);
	exposition_one(out, &families[READY], now->ready);
	pthread_mutex_lock(&m->lock);
	for (enum metric i = 0; i < METRIC_COUNT; i++)
		add_family(out, m, i, now);
	strbuf_addstr(out, text_or_empty(m->inventory.text));
	strbuf_addstr(out, text_or_empty(m->headroom.text));
	strbuf_addstr(out, text_or_empty(m->pod_memory.text));
	strbuf_addstr(out, text_or_empty(m->alignment.text));
	strbuf_addstr(out, text_or_empty(m->rival.text));
	exposition_certificate(out, "client", m->certificate_until_s);
	pthread_mutex_unlock(&m->lock);
	return strbuf_error(out);
}
