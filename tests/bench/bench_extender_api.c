/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the time to parse a scheduler's request for a pod and many nodes, and to print the answer. Prints a line per case:
 * NAME: N us (goal G us, ok|missed)
 */
#include <stdio.h>

#include "cluster/extender/extender_api.h"
#include "common/cleanup.h"
#include "tests/bench/bench.h"

#define TEXT_MAX ((size_t)128 << 20)
#define GOAL_US  1000.0

/* As the API server keeps a Deployment's pod: who wrote what is most of it. */
static const char pod_begin[] =
	"{\"metadata\":{\"name\":\"web-7d9c5b8f6d-x2x7q\",\"generateName\":\"web-7d9c5b8f6d-\",\"namespace\":\"default\","
	"\"uid\":\"0b1f5a2e-7a37-4c39-b0ce-4c8c6b1f9a55\",\"resourceVersion\":\"123456789\",\"creationTimestamp\":"
	"\"2026-11-22T07:00:00Z\",\"labels\":{\"app\":\"web\",\"pod-template-hash\":\"7d9c5b8f6d\"},\"ownerReferences\":[{"
	"\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"web-7d9c5b8f6d\",\"uid\":"
	"\"6f0c8e3e-4b64-4d8b-9c11-4d1a9d2f0c11\",\"controller\":true,\"blockOwnerDeletion\":true}],\"managedFields\":[{"
	"\"manager\":\"kube-controller-manager\",\"operation\":\"Update\",\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\","
	"\"fieldsV1\":{\"f:metadata\":{\"f:labels\":{\".\":{},\"f:app\":{},\"f:pod-template-hash\":{}}},\"f:spec\":{";
static const char pod_field[] =
	"\"f:field-%u\":{\".\":{},\"f:name\":{},\"f:resources\":{\".\":{},\"f:limits\":{}}},";
static const char pod_end[] =
	"\"f:last\":{}}}}]},\"spec\":{\"priority\":0,\"containers\":[{\"name\":\"web\",\"image\":\"registry.example/web:1\","
	"\"resources\":{\"limits\":{\"cpu\":\"4\",\"memory\":\"8Gi\"},\"requests\":{\"cpu\":\"4\",\"memory\":\"8Gi\"}},"
	"\"volumeMounts\":[{\"name\":\"token\",\"readOnly\":true,\"mountPath\":\"/var/run/secrets\"}]}],\"schedulerName\":"
	"\"default-scheduler\",\"tolerations\":[{\"key\":\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\","
	"\"effect\":\"NoExecute\",\"tolerationSeconds\":300}]},\"status\":{\"phase\":\"Pending\",\"qosClass\":\"Guaranteed\"}}";

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void report(const char *name, double start_ms, unsigned n, double goal_us)
{
	double us = (clock_s(CLOCK_PROCESS_CPUTIME_ID) * 1e3 - start_ms) * 1e3 / n;

	printf("%s: %.0f us", name, us);
	if (goal_us > 0)
		printf(" (goal %.0f us, %s)", goal_us, us <= goal_us ? "ok" : "missed");
	putchar('\n');
}

static double cpu_ms(void)
{
	return clock_s(CLOCK_PROCESS_CPUTIME_ID) * 1e3;
}

static void add_pod(struct strbuf *out)
{
	strbuf_addstr(out, pod_begin);
	for (unsigned i = 0; i < 60; i++)
		strbuf_addf(out, pod_field, i);
	strbuf_addstr(out, pod_end);
}

static void make_by_names(unsigned n, struct strbuf *out)
{
	strbuf_addstr(out, "{\"Pod\":");
	add_pod(out);
	strbuf_addstr(out, ",\"Nodes\":null,\"NodeNames\":[");
	for (unsigned i = 0; i < n; i++)
		strbuf_addf(out, "%s\"worker-%05u.cluster.example\"", i ? "," : "", i);
	strbuf_addstr(out, "]}");
	check(strbuf_error(out) == 0);
}

/* Nodes of 10 KB each: labels and images. */
static void make_whole(unsigned n, struct strbuf *out)
{
	strbuf_addstr(out, "{\"Pod\":");
	add_pod(out);
	strbuf_addstr(out, ",\"Nodes\":{\"metadata\":{},\"items\":[");
	for (unsigned i = 0; i < n; i++) {
		strbuf_addf(out, "%s{\"metadata\":{\"name\":\"worker-%05u\"},\"status\":{\"images\":[",
			i ? "," : "", i);
		for (unsigned j = 0; j < 50; j++)
			strbuf_addf(out,
				"%s{\"names\":[\"registry.example/project/image-%u@sha256:%064u\",\"registry.example/project/"
				"image-%u:v1.%u\"],\"sizeBytes\":%u}",
				j ? "," : "", j, j, j, j, 123456789 + j);
		strbuf_addstr(out, "]}}");
	}
	strbuf_addstr(out, "]},\"NodeNames\":null}");
	check(strbuf_error(out) == 0);
}

static void bench_parse(const char *name, const struct strbuf *text, double goal_us)
{
	double start = cpu_ms();
	unsigned n = 0;

	for (; cpu_ms() - start < 500; n++) {
		CLEANUP(extender_args_release) struct extender_args a = {.names = NULL};

		check(extender_args_parse(text->text, text->len, &a, NULL) == 0);
	}
	report(name, start, n, goal_us);
}

static void bench_filter(
	const char *name, const struct extender_args *a, const struct extender_failure *failures)
{
	double start = cpu_ms();
	unsigned n = 0;

	for (; cpu_ms() - start < 500; n++) {
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(TEXT_MAX);

		check(extender_filter_print(a, failures, &out) == 0);
	}
	report(name, start, n, GOAL_US);
}

static void bench_priorities(const char *name, const struct extender_args *a)
{
	CLEANUP(freep) int *scores = calloc(a->n_names, sizeof(*scores));
	double start = cpu_ms();
	unsigned n = 0;

	check(scores != NULL);
	for (; cpu_ms() - start < 500; n++) {
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(TEXT_MAX);

		check(extender_priorities_print(a, scores, &out) == 0);
	}
	report(name, start, n, GOAL_US);
}

int main(void)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	CLEANUP(extender_args_release) struct extender_args a = {.names = NULL};
	CLEANUP(freep) struct extender_failure *failures = NULL;

	make_by_names(5000, &text);
	bench_parse("extender, a pod and 5000 names read", &text, GOAL_US);
	check(extender_args_parse(text.text, text.len, &a, NULL) == 0);
	failures = calloc(a.n_names, sizeof(*failures));
	check(failures != NULL);
	bench_filter("extender, 5000 names that pass printed", &a, failures);
	bench_priorities("extender, 5000 scores printed", &a);
	for (size_t i = 0; i < a.n_names; i++)
		failures[i].reason =
			"restricted: 9 CPUs fit one NUMA node by size (16), but the freest of the node has 7";
	bench_filter("extender, 5000 failed nodes printed", &a, failures);
	strbuf_reset(&text);
	make_whole(5000, &text);
	bench_parse("extender, a pod and 5000 whole nodes read", &text, 0);
	return 0;
}
