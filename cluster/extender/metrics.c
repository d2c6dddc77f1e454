/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/extender/metrics.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/http/exposition.h"

const char *const verb_names[VERB_COUNT] = {"filter", "prioritize", "preempt", "choose", "admit", "forget"};
const char *const verb_paths[VERB_COUNT] = {
	"/filter", "/prioritize", "/preempt", "/v1/choose", "/v1/admit", "/v1/forget"};

static const char *const result_names[RESULT_COUNT] = {"assumed", "passed", "unschedulable", "bad-request",
	"stale", "forwarded", "failed", "forbidden", "settling"};

static const char *const kind_names[CLUSTER_KINDS] = {
	"noderesourcetopologies", "nodes", "pods", "poddisruptionbudgets"};

/* ---- the families */

enum {
	REQUESTS,
	REQUEST_SECONDS,
	UNKNOWN_NODES,
	UNREACHED_NODES,
	SLOW_KUBELET_NODES,
	WHOLE_REQUESTS,
	NOMINATION_TRIES_MADE,
	NOMINATIONS,
	READY,
	PODS,
	ASSUMED_PODS,
	RESERVATIONS,
	ASSUMED_PODS_EXPIRED,
	REJECTED_PODS,
	SILENCE_SECONDS,
	NODES,
	SKIPPED_OBJECTS,
	ASSUMED_PODS_REJECTED,
	WATCH,
	LEASE_HELD,
	FAMILY_COUNT
};

static const struct exposition_family families[FAMILY_COUNT] = {
	[REQUESTS] = {"nrtd_extender_requests_total", "Requests of schedulers, by verb and result.", COUNTER,
		{"verb", "result"}},
	[REQUEST_SECONDS] = {"nrtd_extender_request_duration_seconds", "Time to answer a request, by verb.",
		HISTOGRAM, {"verb"}},
	[UNKNOWN_NODES] = {"nrtd_extender_unknown_nodes_total",
		"Nodes in requests whose NodeResourceTopology object is missing or has no usable state.",
		COUNTER, {NULL}},
	[UNREACHED_NODES] = {"nrtd_extender_unreached_nodes_total",
		"Nodes in requests that were not judged within the CPU time limit per request.", COUNTER,
		{NULL}},
	[SLOW_KUBELET_NODES] = {"nrtd_extender_slow_kubelet_nodes_total",
		"Nodes in requests whose kubelets would need more than --max-kubelet-time for the pod.",
		COUNTER, {NULL}},
	[WHOLE_REQUESTS] = {"nrtd_extender_whole_requests_total",
		"Filter requests with more nodes than the scheduler's default sample: percentageOfNodesToScore is set.",
		COUNTER, {NULL}},
	[NOMINATION_TRIES_MADE] = {"nrtd_extender_nomination_tries_total",
		"Answers to filter requests that name a node outside of the scheduler's sample.", COUNTER,
		{NULL}},
	[NOMINATIONS] = {"nrtd_extender_nominations_total",
		"Nominations by what happened: used (the pod was bound to the node), lost (it was not), refused (the API server denied the write).",
		COUNTER, {"result"}},
	[READY] = {"nrtd_extender_ready", "Whether /readyz returns 200 (1) or not (0).", GAUGE, {NULL}},
	[PODS] = {"nrtd_extender_pods", "Pods bound to a node or assumed on a node.", GAUGE, {NULL}},
	[ASSUMED_PODS] = {"nrtd_extender_assumed_pods", "Pods assumed on a node and not bound yet.", GAUGE,
		{NULL}},
	[RESERVATIONS] = {"nrtd_extender_reservations",
		"Reservations that `kubectl numa plan --apply` has written and that have not expired.", GAUGE,
		{NULL}},
	[ASSUMED_PODS_EXPIRED] = {"nrtd_extender_assumed_pods_expired_total",
		"Assumed pods forgotten because they were not bound within --assume-timeout.", COUNTER,
		{NULL}},
	[REJECTED_PODS] = {"nrtd_extender_rejected_pods_total",
		"Pods rejected by their node's kubelet, by node and reason, including pods not assumed by this replica.",
		COUNTER, {"node", "reason"}},
	[SILENCE_SECONDS] = {"nrtd_extender_silence_seconds",
		"Seconds since the API server last sent anything; the maximum over NodeResourceTopologies, Nodes and Pods.",
		GAUGE, {NULL}},
	[NODES] = {"nrtd_extender_nodes", "Nodes, by basis of their verdicts: exact, estimated or unknown.",
		GAUGE, {"state"}},
	[SKIPPED_OBJECTS] = {"nrtd_extender_skipped_objects_total",
		"Unreadable objects that were skipped, by kind.", COUNTER, {"kind"}},
	[ASSUMED_PODS_REJECTED] = {"nrtd_extender_assumed_pods_rejected_total",
		"Pods assumed on a node by this replica and then rejected by the node's kubelet, by reason.",
		COUNTER, {"reason"}},
	[WATCH] = {"nrtd_extender_watch_total", "Lists, watches, objects, events and errors, by kind.",
		COUNTER, {"kind", "what"}},
	[LEASE_HELD] = {"nrtd_extender_lease_held", "Whether this replica holds the lease.", GAUGE, {NULL}},
};

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

static void print_requests(const struct request_counts *c, struct strbuf *out)
{
	exposition_head(out, &families[REQUESTS]);
	for (size_t v = 0; v < VERB_COUNT; v++)
		for (size_t r = 0; r < RESULT_COUNT; r++)
			exposition_sample(out, &families[REQUESTS], verb_names[v], result_names[r],
				(double)c->results[v][r]);
}

/* To nine significant digits; the other digits of a sum of durations are noise. */
static double round_seconds(double seconds)
{
	char text[32];

	snprintf(text, sizeof(text), "%.9g", seconds);
	return strtod(text, NULL);
}

static void print_durations(const struct request_counts *c, struct strbuf *out)
{
	exposition_head(out, &families[REQUEST_SECONDS]);
	for (size_t v = 0; v < VERB_COUNT; v++)
		exposition_histogram(out, &families[REQUEST_SECONDS], verb_names[v], NULL,
			&(struct exposition_histogram){
				bounds, REQUEST_BUCKETS, c->buckets[v], round_seconds(c->seconds[v])});
}

/* A Node without a NodeResourceTopology object counts as unknown. */
static void print_nodes(const struct cluster *cluster, struct strbuf *out)
{
	size_t n[CLUSTER_BASIS_COUNT] = {0};

	for (size_t i = 0; i < cluster->n_nodes; i++) {
		const struct node_info *node = cluster->nodes[i];

		if (node && (node->has_object || node->has_node))
			n[node->has_object ? node->object.basis : CLUSTER_UNKNOWN]++;
	}
	exposition_head(out, &families[NODES]);
	for (size_t i = 0; i < CLUSTER_BASIS_COUNT; i++)
		exposition_sample(out, &families[NODES], cluster_basis_names[i], NULL, (double)n[i]);
}

/* Only nodes with an object have series: a user can create pods with any spec.nodeName. A series begins with its first pod. */
static void print_rejected_pods(const struct cluster *cluster, struct strbuf *out)
{
	exposition_head(out, &families[REJECTED_PODS]);
	for (size_t i = 0; i < cluster->n_nodes; i++) {
		const struct node_info *node = cluster->nodes[i];

		if (!node || !node->n_rejected || (!node->has_object && !node->has_node))
			continue;
		for (size_t k = 0; k < REJECTION_REASONS; k++)
			if (node->n_rejected[k] > 0)
				exposition_sample(out, &families[REJECTED_PODS], node->name,
					rejection_reasons[k], (double)node->n_rejected[k]);
	}
}

static void print_watches(const struct reflector_counts *watches, struct strbuf *out)
{
	exposition_head(out, &families[WATCH]);
	for (size_t k = 0; k < CLUSTER_KINDS; k++) {
		const struct reflector_counts *c = &watches[k];
		const struct {
			const char *what;
			uint64_t n;
		} counts[] = {{"list", c->lists}, {"watch", c->watches}, {"object", c->objects},
			{"event", c->events}, {"bookmark", c->bookmarks}, {"expired", c->expired},
			{"error", c->errors}};

		for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
			exposition_sample(
				out, &families[WATCH], kind_names[k], counts[i].what, (double)counts[i].n);
	}
}

/* A series per value of the family's label. */
static void print_counters(
	size_t family, const char *const *values, const uint64_t *counts, size_t n, struct strbuf *out)
{
	exposition_head(out, &families[family]);
	for (size_t i = 0; i < n; i++)
		exposition_sample(out, &families[family], values[i], NULL, (double)counts[i]);
}

static void print_nominations(const struct nomination_counts *c, struct strbuf *out)
{
	static const char *const results[] = {"used", "lost", "refused"};
	const uint64_t counts[] = {c->used, c->lost, c->refused};

	exposition_one(out, &families[NOMINATION_TRIES_MADE], (double)c->tries);
	print_counters(NOMINATIONS, results, counts, ARRAY_SIZE(counts), out);
}

/* ---- all metrics */

void metrics_print(const struct metrics_source *from, struct strbuf *out)
{
	const struct request_counts *requests = from->requests;
	const struct cluster *cluster = from->cluster;

	process_stats_print(from->process, out);
	print_requests(requests, out);
	print_durations(requests, out);
	exposition_one(out, &families[UNKNOWN_NODES], (double)requests->unknown_nodes);
	exposition_one(out, &families[UNREACHED_NODES], (double)requests->unreached_nodes);
	exposition_one(out, &families[SLOW_KUBELET_NODES], (double)requests->slow_nodes);
	exposition_one(out, &families[WHOLE_REQUESTS], (double)requests->whole);
	if (from->nominations)
		print_nominations(from->nominations, out);
	exposition_one(out, &families[READY], from->ready);
	exposition_one(out, &families[PODS], (double)cluster->n_pods);
	exposition_one(out, &families[ASSUMED_PODS], (double)cluster->n_assumed);
	exposition_one(out, &families[RESERVATIONS], (double)cluster->n_reservations);
	exposition_one(out, &families[ASSUMED_PODS_EXPIRED], (double)cluster->n_expired);
	exposition_one(out, &families[SILENCE_SECONDS], from->silence_s);
	print_nodes(cluster, out);
	print_rejected_pods(cluster, out);
	print_counters(SKIPPED_OBJECTS, kind_names, from->skipped, CLUSTER_KINDS, out);
	print_counters(ASSUMED_PODS_REJECTED, rejection_reasons, cluster->n_assumed_rejected,
		REJECTION_REASONS, out);
	if (from->watches)
		print_watches(from->watches, out);
	if (from->lease)
		exposition_one(out, &families[LEASE_HELD], lease_held(from->lease));
	exposition_certificate(out, "server", from->certificate_until_s);
}
