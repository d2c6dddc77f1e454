/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upstream FILE: the questions that tests/upstream/cmd/bench asked the scheduler plugin and the kubelet,
 * asked of nrtd's functions. An answer that differs is named and the exit status is 1. Prints a line each,
 * separated by tabs: name, ns of the real code, timed runs of it, ns of nrtd that prepares for the node and answers
 * one question, ns of nrtd where it has prepared and answered before.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "tests/bench/bench.h"
#include "tests/vectors/kubelet_support.h"
#include "tests/vectors/sched_build.h"

#define SAMPLES   7
#define SAMPLE_NS 2e7

struct vectors_run {
	const char *name;
	unsigned differences;
};

void vectors_differ(struct vectors_run *run, const char *fmt, ...)
{
	va_list args;

	run->differences++;
	fprintf(stderr, "%s: ", run->name);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

void vectors_explain(struct vectors_run *run, const char *defect)
{
	vectors_differ(run, "%s", defect);
}

static double run_ns(void (*f)(void *), void *arg, unsigned calls)
{
	double begin = clock_s(CLOCK_THREAD_CPUTIME_ID);

	for (unsigned i = 0; i < calls; i++)
		f(arg);
	return (clock_s(CLOCK_THREAD_CPUTIME_ID) - begin) * 1e9;
}

/* CPU time of a call in ns, as the other side measures it: the median of several runs, each of many calls. */
static double measure(void (*f)(void *), void *arg)
{
	double ns[SAMPLES];
	unsigned calls = 1;

	while (run_ns(f, arg, calls) < SAMPLE_NS)
		calls *= 2;
	for (unsigned i = 0; i < SAMPLES; i++)
		ns[i] = run_ns(f, arg, calls) / calls;
	return bench_median(ns, SAMPLES);
}

/* Both times of a question: `cold` prepares and asks, `warm` asks of what is there. */
static void print_line(const vj *c, void (*cold)(void *), void (*warm)(void *), void *arg)
{
	double cold_ns = measure(cold, arg);

	printf("%s\t%.0f\t%u\t%.0f\t%.0f\n", vj_string(vj_need(c, "name")), vj_double(vj_need(c, "goNs")),
		vj_unsigned(vj_need(c, "runs")), cold_ns, measure(warm, arg));
}

struct fit_question {
	struct node node;
	struct resource_list request;
	struct fit answer;
};

static void ask_fit(void *arg)
{
	struct fit_question *q = arg;

	q->answer = fit_required(&q->node.space, QOS_GUARANTEED, &q->request);
}

static void ask_fit_cold(void *arg)
{
	struct node *node = &((struct fit_question *)arg)->node;

	fit_space_release(&node->space);
	distances_release(&node->distances);
	if (distances_init(&node->distances, node->inv.costs, node->inv.n_nodes, DISTANCES_WORK_LIMIT) < 0 ||
		fit_space_init(&node->space, &node->inv, &node->distances) < 0)
		abort();
	ask_fit(arg);
}

static void time_fit(struct vectors_run *run, const vj *c, const vj *input)
{
	static struct zones zones;
	struct fit_question q = {0};
	uint64_t want;
	bool near;

	zones_from_map(&zones, vj_need(input, "zones"));
	node_init(&q.node, &zones);
	q.request = list_from_map(vj_need(input, "request"));
	print_line(c, ask_fit_cold, ask_fit, &q);
	want = kv_mask(vj_need(input, "numaNodes"));
	near = q.answer.min_distance == FIT_MIN_DISTANCE_YES;
	if (q.answer.verdict != (want ? FIT_FOUND : FIT_NONE) ||
		(want && (q.answer.nodes != want || near != vj_bool(vj_need(input, "minDistance")))))
		vectors_differ(run, "verdict %u, nodes %#llx, least distance %d", q.answer.verdict,
			(unsigned long long)q.answer.nodes, near);
	resource_list_release(&q.request);
	node_release(&q.node);
	zones_release(&zones);
}

#define MAX_RESOURCES 8

struct merge_question {
	struct topology_nodes nodes;
	struct topology_rules rules;
	struct topology_merge merge;
	struct topology_hints hints[MAX_RESOURCES];
	size_t n_hints;
	struct topology_hint answer;
	bool admit;
};

static void ask_merge(void *arg)
{
	struct merge_question *q = arg;

	topology_merge_start(&q->merge, &q->rules);
	for (size_t i = 0; i < q->n_hints; i++)
		topology_merge_add(&q->merge, &q->hints[i]);
	q->answer = topology_merge_finish(&q->merge, &q->admit);
}

static void ask_merge_cold(void *arg)
{
	struct merge_question *q = arg;

	topology_merge_release(&q->merge);
	if (topology_merge_init(&q->merge, q->nodes.all, q->nodes.all) < 0)
		abort();
	ask_merge(arg);
}

static void time_merge(struct vectors_run *run, const vj *c, const vj *input)
{
	static struct merge_question q;

	q = (struct merge_question){0};
	kv_nodes(&q.nodes, vj_unsigned(vj_need(input, "numaNodes")), vj_need(input, "distances"));
	q.rules = kv_rules(vj_string(vj_need(input, "policy")), &q.nodes);
	VJ_FOREACH (resource, vj_need(input, "resources")) {
		if (q.n_hints == MAX_RESOURCES)
			vj_die(NULL, "more than %d resources", MAX_RESOURCES);
		kv_hints(resource, &q.hints[q.n_hints++]);
	}
	print_line(c, ask_merge_cold, ask_merge, &q);
	kv_check_hint(run, "merged", q.answer, vj_need(input, "numa"), vj_bool(vj_need(input, "preferred")));
	if (q.admit != vj_bool(vj_need(input, "admit")))
		vectors_differ(run, "admit %d", q.admit);
	for (size_t i = 0; i < q.n_hints; i++)
		topology_hints_release(&q.hints[i]);
	topology_merge_release(&q.merge);
	topology_nodes_release(&q.nodes);
}

struct assign_question {
	struct kv_policy policy;
	struct cpu_manager_options options;
	hwloc_bitmap_t reserved;
	bool *full; /* the shared pool before a container takes of it */
	size_t n;
	struct cpu_take answer;
};

static void ask_assign(void *arg)
{
	struct assign_question *q = arg;
	struct kv_policy *p = &q->policy;

	memcpy(p->shared, q->full, p->topology.n_cpus * sizeof(bool));
	q->answer = cpu_manager_allocate(&p->manager, p->ws, p->shared, p->reusable, q->n,
		(struct topology_hint){.any_node = true}, p->scratch, p->taken);
}

static void prepare_assign(struct assign_question *q)
{
	struct err err = {""};

	if (!kv_policy_init(&q->policy, q->options, q->reserved, cpuset_size(q->reserved), &err))
		vj_die(NULL, "no such static policy: %s", err.text);
}

static void ask_assign_cold(void *arg)
{
	struct assign_question *q = arg;
	struct machine machine = q->policy.machine;

	machine_init(&q->policy.machine);
	kv_policy_release(&q->policy);
	q->policy.machine = machine;
	prepare_assign(q);
	ask_assign(arg);
}

static void read_machine(const vj *topology, struct machine *m)
{
	const vj *socket = vj_first(vj_need(topology, "socket")), *numa = vj_first(vj_need(topology, "numa"));
	const vj *l3 = vj_first(vj_need(topology, "l3"));
	unsigned id = 0;

	machine_init(m);
	VJ_FOREACH (core, vj_need(topology, "core")) {
		kv_add_cpu(
			m, id++, vj_unsigned(core), (int)vj_int(socket), (int)vj_int(numa), (int)vj_int(l3));
		socket = vj_next(socket);
		numa = vj_next(numa);
		l3 = vj_next(l3);
	}
}

static void time_assign(struct vectors_run *run, const vj *c, const vj *input)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t reserved = vj_cpuset(vj_need(input, "reserved"));
	struct assign_question q = {.n = vj_unsigned(vj_need(input, "request")), .reserved = reserved};

	read_machine(vj_need(input, "topology"), &q.policy.machine);
	kv_set_distances(&q.policy.machine, vj_need(input, "distances"));
	q.options = kv_cpu_options(vj_need(input, "options"));
	prepare_assign(&q);
	q.full = calloc(q.policy.topology.n_cpus, sizeof(bool));
	if (!q.full)
		abort();
	kv_read_set(&q.policy.topology, vj_need(input, "defaultCpuSet"), q.full);
	print_line(c, ask_assign_cold, ask_assign, &q);
	if (q.answer.status != CPU_TAKE_OK)
		vectors_differ(run, "no CPUs");
	kv_check_cpus(run, "CPUs", &q.policy.topology, q.policy.taken, vj_string(vj_need(input, "cpus")));
	free(q.full);
	kv_policy_release(&q.policy);
}

int main(int argc, char **argv)
{
	struct vectors_run run = {0};
	struct vj_file file = {0};
	struct err err = {""};

	if (argc != 2) {
		fputs("usage: upstream FILE\n", stderr);
		return 2;
	}
	if (vj_load(argv[1], &file, &err) < 0) {
		fprintf(stderr, "upstream: %s\n", err.text);
		return 2;
	}
	printf("# %s\n", vj_string(vj_need(file.docs[0], "versions")));
	VJ_FOREACH_CASE (c, &file) {
		const vj *fit = vj_get(c, "fit"), *merge = vj_get(c, "merge");

		run.name = vj_string(vj_need(c, "name"));
		if (fit)
			time_fit(&run, c, fit);
		else if (merge)
			time_merge(&run, c, merge);
		else
			time_assign(&run, c, vj_need(c, "assign"));
	}
	vj_release(&file);
	return run.differences > 0;
}
