/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ns per verdict of a cluster's nodes, with the goal beside it where there is one. A line each:
 * NAME: N ns/op (goal G ns, ok|missed)
 * With a number and a file: write so many objects there instead, as `kubectl get -o json` prints them.
 */
#include <stdint.h>
#include <stdio.h>

#include "agent/render/render.h"
#include "cli/report/pod_report.h"
#include "cluster/objects/nrt_parse.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "scoring/node/node_admission.h"
#include "scoring/node/node_derive.h"
#include "scoring/node/node_state_codec.h"
#include "tests/bench/bench.h"
#include "tests/lib/pods.h"
#include "tests/lib/synthetic.h"

#define TEXT_MAX (1u << 20)

/* What else the machine does is not counted. */
static double cpu_ms(void)
{
	return clock_s(CLOCK_PROCESS_CPUTIME_ID) * 1e3;
}

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* Two sockets, 8 NUMA nodes, 96 CPUs; twelve pods hold 3 or 4 CPUs each. */
static void make_node(enum topology_manager_policy policy, struct node_state *ret)
{
	static const struct synthetic machine = {.sockets = 2,
		.numas = 4,
		.uncores = 1,
		.cores = 6,
		.threads = 2,
		.memory_bytes = (uint64_t)64 << 30};
	static const struct derive_config config = {.reserved_named = false};
	struct allocations *a = &ret->allocations;

	node_state_init(ret);
	synthetic_machine(&machine, &ret->machine);
	ret->settings.cpu_manager = CPU_MANAGER_STATIC;
	ret->settings.memory_manager = MEMORY_MANAGER_NONE;
	ret->settings.topology.policy = policy;
	ret->settings.topology.scope = TOPOLOGY_SCOPE_CONTAINER;
	ret->allocatable_cpus = hwloc_bitmap_dup(ret->machine.online);
	a->cpus_known = a->registered_known = a->devices_known = true;
	a->shared = hwloc_bitmap_dup(ret->machine.online);
	check(ret->allocatable_cpus && a->shared && hwloc_bitmap_clr(ret->allocatable_cpus, 0) == 0);
	for (unsigned i = 0; i < 12; i++) {
		char uid[64];
		struct allocation *item;

		snprintf(uid, sizeof(uid), "00000000-0000-0000-0000-%012u", i);
		item = allocations_add_container(a, uid, "main");
		check(item != NULL);
		for (unsigned cpu = 0; cpu < 3 + i % 2; cpu++)
			check(hwloc_bitmap_set(item->cpus, i * 4 + 1 + cpu) == 0 &&
				hwloc_bitmap_clr(a->shared, i * 4 + 1 + cpu) == 0);
	}
	check(node_derive(&config, ret, NULL, NULL) == 0);
}

static void make_object(struct node_state *node, const char *name, struct doc *ret)
{
	static const struct nrt_config config = {.deprecated_policies = false};
	CLEANUP(strbuf_release) struct strbuf state = STRBUF_INIT(NODE_STATE_TEXT_MAX);

	free(node->node_name);
	node->node_name = strdup(name);
	check(node->node_name);
	nrt_render(node, &config, ret, NULL);
	if (nrt_attribute(ret, NODE_STATE_ATTRIBUTE))
		return;
	DOC_FOREACH (member, ret)
		if (!strcmp(member->key, "attributes")) {
			struct doc *map = doc_add_map(member, NULL);

			check(node_state_print(node, &state) == 0 &&
				doc_add_string(map, "name", NODE_STATE_ATTRIBUTE) &&
				doc_add_string(map, "value", state.text));
		}
}

static void report(const char *name, double ms, unsigned n, double goal_ns)
{
	double ns = ms * 1e6 / n;

	printf("%s: %.0f ns/op", name, ns);
	if (goal_ns > 0)
		printf(" (goal %.0f ns, %s)", goal_ns, ns <= goal_ns ? "ok" : "missed");
	putchar('\n');
}

/* One container of whole CPUs, of a kubelet that is ready. */
static void bench_judge(struct node_state *node, const char *name, const char *text, double goal_ns)
{
	struct node_admission admission;
	struct pod_request pod;
	struct kubelet_verdict v;
	double start;
	unsigned n = 0;

	pod_from_text(&pod, text);
	node_admission_init(&admission, node);
	start = cpu_ms();
	for (; n % 64 != 0 || cpu_ms() - start < 300; n++)
		node_admission_judge(&admission, &pod, &v);
	report(name, cpu_ms() - start, n, goal_ns);
	node_admission_release(&admission);
	pod_request_release(&pod);
}

/* From a node's state, and from its object's text. */
static void bench_node(struct node_state *node, const char *text)
{
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT(TEXT_MAX);
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct pod_request pod;
	double start;
	unsigned n = 0;

	pod_from_text(&pod, text);
	start = cpu_ms();
	for (; cpu_ms() - start < 300; n++) {
		CLEANUP(pod_report_release) struct pod_report pods;
		CLEANUP(node_report_release) struct node_report fit;

		pod_report_init(&pods, &pod);
		node_report_make(&pods, node, 0, NULL, &fit);
	}
	report("verdict from a node's state", cpu_ms() - start, n, 0);
	make_object(node, "node", &object);
	check(json_print(&object, &json) == 0);
	n = 0;
	start = cpu_ms();
	for (; cpu_ms() - start < 300; n++) {
		const struct pod_template template = {.namespace = "default"};
		CLEANUP(cluster_release) struct cluster cluster = {.n_nodes = 0};
		CLEANUP(pod_report_release) struct pod_report fit;
		struct cluster_node read; /* moves */
		CLEANUP(doc_release) struct doc doc = DOC_INIT;

		pod_report_init(&fit, &pod);
		check(json_parse(json.text, json.len, &doc, NULL) == 0 &&
			cluster_node_read(&doc, &read, NULL) == 0);
		pod_report_set_cluster(&fit, &cluster, &template, NULL);
		pod_report_add(&fit, cluster_set_object(&cluster, &read, 0),
			REPORT_PLACEMENTS | REPORT_COPIES | REPORT_NEAREST);
	}
	report("an object's text, verdict, nearest and copies", cpu_ms() - start, n, 0);
	pod_request_release(&pod);
}

static int write_list(unsigned n, const char *path)
{
	static const enum topology_manager_policy policies[] = {
		TOPOLOGY_MANAGER_RESTRICTED, TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, TOPOLOGY_MANAGER_BEST_EFFORT};
	CLEANUP(fclosep) FILE *f = fopen(path, "we");
	struct node_state states[ARRAY_SIZE(policies)];

	if (!f)
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++)
		make_node(policies[i], &states[i]);
	fputs("{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n", f);
	for (unsigned i = 0; i < n; i++) {
		CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT(TEXT_MAX);
		CLEANUP(doc_release) struct doc object = DOC_INIT;
		char name[32];

		snprintf(name, sizeof(name), "node%u", i);
		make_object(&states[i % ARRAY_SIZE(policies)], name, &object);
		check(json_print(&object, &json) == 0);
		fprintf(f, "%s%s", i ? "," : "", json.text);
	}
	fputs("    ],\n    \"kind\": \"List\"\n}\n", f);
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++)
		node_state_release(&states[i]);
	return ferror(f) ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct node_state state;

	if (argc == 3)
		return write_list((unsigned)strtoul(argv[1], NULL, 10), argv[2]);
	make_node(TOPOLOGY_MANAGER_RESTRICTED, &state);
	printf("# 8 NUMA nodes, 96 CPUs, 12 pods\n");
	bench_judge(&state, "verdict, 1 container that fits", "app cpu=4 memory=1Gi", 5e3);
	bench_judge(&state, "verdict, 1 container that does not", "app cpu=12 memory=1Gi", 5e3);
	bench_judge(&state, "verdict, 1 container of the shared pool", "app cpu=500m memory=1Gi", 5e3);
	bench_judge(&state, "verdict, 3 containers",
		"app cpu=4 memory=1Gi; app cpu=2 memory=1Gi; app cpu=2 memory=1Gi", 0);
	bench_node(&state, "app cpu=4 memory=1Gi");
	node_state_release(&state);
	return 0;
}
