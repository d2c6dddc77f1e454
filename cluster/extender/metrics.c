/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/extender/metrics.h"

#include <inttypes.h>
#include <string.h>

#include "common/http/exposition.h"
#include "common/cleanup.h"

const char *const verb_names[VERB_COUNT] = {"filter", "prioritize", "preempt"};

static const char *const result_names[RESULT_COUNT] = {
	"assumed", "passed", "unschedulable", "bad-request", "stale", "forwarded", "failed", "settling"};

static const char *const kind_names[CACHE_KIND_COUNT] = {
	"noderesourcetopologies", "nodes", "pods", "poddisruptionbudgets"};

static const double bounds[REQUEST_BUCKETS] = {0.0001, 0.0005, 0.001, 0.002, 0.005, 0.02, 0.1, 1};

void request_counts_add(struct request_counts *c, enum verb verb, enum result result, double seconds)
{
	size_t i = 0;

	while (i < REQUEST_BUCKETS && seconds > bounds[i])
		i++;
	c->buckets[verb][i]++;
	c->seconds[verb] += seconds;
	c->results[verb][result]++;
}

/* ---- samples with labels */

static void print_requests(const struct metrics_source *from, const char *name, struct strbuf *out)
{
	for (size_t v = 0; v < VERB_COUNT; v++)
		for (size_t r = 0; r < RESULT_COUNT; r++)
			strbuf_addf(out, "%s{verb=\"%s\",result=\"%s\"} %" PRIu64 "\n", name, verb_names[v],
				result_names[r], from->requests->results[v][r]);
}

static void print_durations(const struct metrics_source *from, const char *name, struct strbuf *out)
{
	for (size_t v = 0; v < VERB_COUNT; v++) {
		uint64_t n = 0;

		for (size_t i = 0; i < REQUEST_BUCKETS; i++) {
			n += from->requests->buckets[v][i];
			strbuf_addf(out, "%s_bucket{verb=\"%s\",le=\"%g\"} %" PRIu64 "\n", name,
				verb_names[v], bounds[i], n);
		}
		n += from->requests->buckets[v][REQUEST_BUCKETS];
		strbuf_addf(out,
			"%s_bucket{verb=\"%s\",le=\"+Inf\"} %" PRIu64 "\n"
			"%s_sum{verb=\"%s\"} %.9g\n"
			"%s_count{verb=\"%s\"} %" PRIu64 "\n",
			name, verb_names[v], n, name, verb_names[v], from->requests->seconds[v], name,
			verb_names[v], n);
	}
}

/* A Node without a NodeResourceTopology object counts as unknown. */
static void print_nodes(const struct metrics_source *from, const char *name, struct strbuf *out)
{
	size_t n[CLUSTER_BASIS_COUNT] = {0};

	for (size_t i = 0; i < from->cache->n_nodes; i++) {
		const struct node_info *node = from->cache->nodes[i];

		if (node && (node->has_object || node->has_node))
			n[node->has_object ? node->object.basis : CLUSTER_UNKNOWN]++;
	}
	for (size_t i = 0; i < CLUSTER_BASIS_COUNT; i++)
		strbuf_addf(out, "%s{state=\"%s\"} %zu\n", name, cluster_basis_names[i], n[i]);
}

static void print_skipped(const struct metrics_source *from, const char *name, struct strbuf *out)
{
	for (size_t k = 0; k < CACHE_KIND_COUNT; k++)
		strbuf_addf(out, "%s{kind=\"%s\"} %" PRIu64 "\n", name, kind_names[k], from->skipped[k]);
}

static void print_broken(const struct metrics_source *from, const char *name, struct strbuf *out)
{
	for (size_t i = 0; i < CACHE_REASONS; i++)
		strbuf_addf(out, "%s{reason=\"%s\"} %" PRIu64 "\n", name, cache_reasons[i],
			from->cache->n_assumed_rejected[i]);
}

static void print_watches(const struct metrics_source *from, const char *name, struct strbuf *out)
{
	for (size_t k = 0; k < CACHE_KIND_COUNT; k++) {
		const struct reflector_counts *c = &from->watches[k];
		const struct {
			const char *what;
			uint64_t n;
		} counts[] = {{"list", c->lists}, {"watch", c->watches}, {"object", c->objects},
			{"event", c->events}, {"bookmark", c->bookmarks}, {"expired", c->expired},
			{"error", c->errors}};

		for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
			strbuf_addf(out, "%s{kind=\"%s\",what=\"%s\"} %" PRIu64 "\n", name, kind_names[k],
				counts[i].what, counts[i].n);
	}
}

/* ---- all metrics */

/* One sample `value` without labels, or the samples that `print` prints. */
struct family {
	const char *name, *help;
	enum exposition_kind kind;
	bool omitted;
	double value;
	void (*print)(const struct metrics_source *from, const char *name, struct strbuf *out);
};

void metrics_print(const struct metrics_source *from, struct strbuf *out)
{
	const struct cluster_cache *cache = from->cache;
	const struct family families[] = {
		{"nrtd_extender_requests_total", "Requests of schedulers, by verb and result.", COUNTER,
			.print = print_requests},
		{"nrtd_extender_request_duration_seconds", "Time to answer a request, by verb.", HISTOGRAM,
			.print = print_durations},
		{"nrtd_extender_unknown_nodes_total",
			"Nodes in requests whose NodeResourceTopology object is missing or has no usable state.",
			COUNTER, .value = (double)from->requests->unknown_nodes},
		{"nrtd_extender_unreached_nodes_total",
			"Nodes in requests that were not judged within the CPU time limit per request.",
			COUNTER, .value = (double)from->requests->unreached_nodes},
		{"nrtd_extender_slow_kubelet_nodes_total",
			"Nodes in requests whose kubelets would need more than --max-kubelet-time for the pod.",
			COUNTER, .value = (double)from->requests->slow_nodes},
		{"nrtd_extender_ready", "Whether /readyz returns 200 (1) or not (0).", GAUGE,
			.value = from->ready},
		{"nrtd_extender_pods", "Pods bound to a node or assumed on a node.", GAUGE,
			.value = (double)cache->n_pods},
		{"nrtd_extender_assumed_pods", "Pods assumed on a node and not bound yet.", GAUGE,
			.value = (double)cache->n_assumed},
		{"nrtd_extender_reservations",
			"Reservations that `kubectl numa plan --apply` has written and that have not expired.",
			GAUGE, .value = (double)cache->n_reservations},
		{"nrtd_extender_assumed_pods_expired_total",
			"Assumed pods forgotten because they were not bound within --assume-timeout.",
			COUNTER, .value = (double)cache->n_expired},
		{"nrtd_extender_rejected_pods_total",
			"Pods rejected by kubelets, including pods not assumed by this replica.", COUNTER,
			.value = (double)cache->n_rejected},
		{"nrtd_extender_silence_seconds",
			"Seconds since the API server last sent anything; the maximum over NodeResourceTopologies, Nodes and Pods.",
			GAUGE, .value = from->silence_s},
		{"nrtd_extender_nodes", "Nodes, by basis of their verdicts: exact, estimated or unknown.",
			GAUGE, .print = print_nodes},
		{"nrtd_extender_skipped_objects_total", "Unreadable objects that were skipped, by kind.",
			COUNTER, .print = print_skipped},
		{"nrtd_extender_assumed_pods_rejected_total",
			"Pods assumed on a node by this replica and then rejected by the node's kubelet, by reason.",
			COUNTER, .print = print_broken},
		{"nrtd_extender_watch_total", "Lists, watches, objects, events and errors, by kind.", COUNTER,
			.print = print_watches, .omitted = !from->watches},
		{"nrtd_extender_lease_held", "Whether this replica holds the lease.", GAUGE,
			.value = from->lease && lease_held(from->lease), .omitted = !from->lease},
	};

	process_stats_print(from->process, out);
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		const struct family *f = &families[i];

		if (f->omitted)
			continue;
		if (!f->print) {
			exposition_one(out, f->name, f->help, f->kind, f->value);
			continue;
		}
		exposition_head(out, f->name, f->help, f->kind);
		f->print(from, f->name, out);
	}
	exposition_certificate(out, "server", from->certificate_until_s);
}
