/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/stats.h"

#include <inttypes.h>
#include <string.h>

#include "agent/http/exposition.h"

const char *const verb_names[VERB_COUNT] = {"filter", "prioritize", "preempt"};

static const char *const result_names[RESULT_COUNT] = {
	"assumed", "passed", "unschedulable", "bad-request", "stale", "forwarded", "failed"};

static const double bounds[STATS_BUCKETS] = {0.0001, 0.0005, 0.001, 0.002, 0.005, 0.02, 0.1, 1};

void stats_count(struct stats *s, enum verb verb, enum result result, double seconds)
{
	size_t i = 0;

	while (i < STATS_BUCKETS && seconds > bounds[i])
		i++;
	s->buckets[verb][i]++;
	s->seconds[verb] += seconds;
	s->requests[verb][result]++;
}

void stats_print(const struct stats *s, struct strbuf *out)
{
	exposition_head(
		out, "nrtd_extender_requests_total", "Requests of schedulers, by verb and result.", COUNTER);
	for (size_t v = 0; v < VERB_COUNT; v++)
		for (size_t r = 0; r < RESULT_COUNT; r++)
			strbuf_addf(out,
				"nrtd_extender_requests_total{verb=\"%s\",result=\"%s\"} %" PRIu64 "\n",
				verb_names[v], result_names[r], s->requests[v][r]);
	exposition_head(
		out, "nrtd_extender_request_seconds", "Time to answer a request, by verb.", HISTOGRAM);
	for (size_t v = 0; v < VERB_COUNT; v++) {
		uint64_t n = 0;

		for (size_t i = 0; i < STATS_BUCKETS; i++) {
			n += s->buckets[v][i];
			strbuf_addf(out,
				"nrtd_extender_request_seconds_bucket{verb=\"%s\",le=\"%g\"} %" PRIu64 "\n",
				verb_names[v], bounds[i], n);
		}
		n += s->buckets[v][STATS_BUCKETS];
		strbuf_addf(out,
			"nrtd_extender_request_seconds_bucket{verb=\"%s\",le=\"+Inf\"} %" PRIu64 "\n"
			"nrtd_extender_request_seconds_sum{verb=\"%s\"} %.9g\n"
			"nrtd_extender_request_seconds_count{verb=\"%s\"} %" PRIu64 "\n",
			verb_names[v], n, verb_names[v], s->seconds[v], verb_names[v], n);
	}
	exposition_one(out, "nrtd_extender_unknown_nodes_total",
		"Nodes in requests whose NodeResourceTopology object is missing or has no usable state.",
		COUNTER, (double)s->unknown_nodes);
	exposition_one(out, "nrtd_extender_unreached_nodes_total",
		"Nodes in requests that were not judged within the CPU time limit per request.", COUNTER,
		(double)s->unreached_nodes);
}

/* ---- broken assumptions */

/* "other" counts every reason that is not listed. */
static const char *const reasons[BROKEN_REASONS] = {
	"TopologyAffinityError", "UnexpectedAdmissionError", "OutOfcpu", "OutOfmemory", "OutOfpods", "other"};

void broken_assumptions_count(struct broken_assumptions *b, const char *reason)
{
	size_t i = 0;

	while (i < BROKEN_REASONS - 1 && strcmp(reason, reasons[i]) != 0)
		i++;
	b->n[i]++;
}

void broken_assumptions_print(const struct broken_assumptions *b, struct strbuf *out)
{
	static const char name[] = "nrtd_extender_assumed_pods_rejected_total";

	exposition_head(out, name,
		"Pods assumed on a node by this replica and then rejected by the node's kubelet, by reason.",
		COUNTER);
	for (size_t i = 0; i < BROKEN_REASONS; i++)
		strbuf_addf(out, "%s{reason=\"%s\"} %" PRIu64 "\n", name, reasons[i], b->n[i]);
}
