/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/stats.h"

#include <inttypes.h>

#include "agent/base/exposition.h"

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
	exposition_head(out, "nrtd_extender_requests_total", "Questions of schedulers, by what was answered.",
		COUNTER);
	for (size_t v = 0; v < VERB_COUNT; v++)
		for (size_t r = 0; r < RESULT_COUNT; r++)
			strbuf_addf(out,
				"nrtd_extender_requests_total{verb=\"%s\",result=\"%s\"} %" PRIu64 "\n",
				verb_names[v], result_names[r], s->requests[v][r]);
	exposition_head(out, "nrtd_extender_request_seconds", "From a question to its answer.", HISTOGRAM);
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
		"Nodes that were asked about and have no object, or one that says nothing.", COUNTER,
		(double)s->unknown_nodes);
	exposition_one(out, "nrtd_extender_unreached_nodes_total",
		"Nodes that were asked about and left for the next question, because the pod takes too long to judge.",
		COUNTER, (double)s->unreached_nodes);
}
