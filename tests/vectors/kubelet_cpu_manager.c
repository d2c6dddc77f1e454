/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decisions of the static policy (cpu_manager.json): {topologies: {NAME: {core, socket, numa, l3: [by CPU]}},
 * cases: [{id, topology, distances, options, reserved, defaultCpuSet, request, available, smtError, hints,
 * allocateWithoutAffinity, policies: {NAME: {numa, preferred, admit, cpus | error}}}]}.
 */
#include "tests/vectors/kubelet_support.h"

#include "common/cleanup.h"

static bool recognise(const struct vj_file *file)
{
	const vj *root = file->docs[0];

	return vj_is_map(root) && vj_is_map(vj_get(root, "topologies")) && vj_is_list(vj_get(root, "cases"));
}

/* Item i of a list that is walked in step: the next one. */
static int step(const vj **item)
{
	const vj *now = *item;

	if (!now)
		vj_die(NULL, "lists of one topology differ in length");
	*item = vj_next(now);
	return (int)vj_int(now);
}

static void read_machine(const vj *topology, struct machine *m)
{
	const vj *core = vj_first(vj_need(topology, "core")), *socket = vj_first(vj_need(topology, "socket"));
	const vj *numa = vj_first(vj_need(topology, "numa")), *l3 = vj_first(vj_need(topology, "l3"));

	machine_init(m);
	for (unsigned id = 0; core; id++) {
		unsigned core_id = (unsigned)step(&core);
		int socket_id = step(&socket), numa_id = step(&numa);

		kv_add_cpu(m, id, core_id, socket_id, numa_id, step(&l3));
	}
}

/* Allocate under one merged hint and compare with the recorded CPUs or error. */
static void check_allocation(struct vectors_run *run, struct kv_policy *p, const vj *c, const char *what,
	struct topology_hint hint, const vj *want)
{
	const vj *cpus = vj_get(want, "cpus"), *error = vj_get(want, "error");
	size_t n = vj_unsigned(vj_need(c, "request"));
	struct cpu_take take;
	char text[160];

	if (!cpus == !error)
		vj_die(want, "%s: neither CPUs nor an error, or both", what);
	kv_read_set(&p->topology, vj_need(c, "defaultCpuSet"), p->shared);
	take = cpu_manager_allocate(
		&p->manager, p->ws, p->shared, p->reusable, n, hint, p->scratch, p->taken);
	kv_take_error(take, text, sizeof(text));
	if (cpus)
		kv_check_cpus(run, what, &p->topology, p->taken, vj_string(cpus));
	if (strcmp(text, error ? vj_string(error) : "") != 0)
		vectors_differ(
			run, "%s: error '%s', recorded '%s'", what, text, error ? vj_string(error) : "");
}

static void check_smt(struct vectors_run *run, const struct kv_policy *p, const vj *c)
{
	const vj *want = vj_get(c, "smtError");
	char text[200];

	kv_smt_error(p, vj_unsigned(vj_need(c, "request")), text, sizeof(text));
	if (strcmp(text, want ? vj_string(want) : "") != 0)
		vectors_differ(run, "SMT: '%s', recorded '%s'", text, want ? vj_string(want) : "");
}

static void check_policies(
	struct vectors_run *run, struct kv_policy *p, const vj *c, const struct topology_hints *hints)
{
	static struct topology_nodes nodes;
	struct topology_merge merge;

	topology_nodes_release(&nodes);
	if (!topology_nodes_from_machine(&p->machine, &nodes) ||
		topology_merge_init(&merge, nodes.all, nodes.all) < 0)
		vj_die(c, "NUMA nodes beyond the limits");
	VJ_FOREACH (policy, vj_need(c, "policies")) {
		struct topology_rules rules = kv_rules(vj_key(policy), &nodes);
		struct topology_hint best;
		bool admit;

		topology_merge_start(&merge, &rules);
		topology_merge_add(&merge, hints);
		best = topology_merge_finish(&merge, &admit);
		kv_check_hint(run, vj_key(policy), best, vj_need(policy, "numa"),
			vj_bool(vj_need(policy, "preferred")));
		if (admit != vj_bool(vj_need(policy, "admit")))
			vectors_differ(run, "%s: admit %d, recorded %d", vj_key(policy), admit, !admit);
		else if (admit && !vj_get(c, "smtError"))
			check_allocation(run, p, c, vj_key(policy), best, policy);
	}
	topology_merge_release(&merge);
}

static void run_case(struct vectors_run *run, const vj *topologies, const vj *c)
{
	const vj *topology = vj_need(topologies, vj_string(vj_need(c, "topology")));
	const struct topology_hint anywhere = {.any_node = true};
	CLEANUP(cpuset_freep) hwloc_bitmap_t reserved = vj_cpuset(vj_need(c, "reserved"));
	struct topology_hints hints = {0};
	struct kv_policy p = {0};
	struct err err = {""};

	read_machine(topology, &p.machine);
	kv_set_distances(&p.machine, vj_need(c, "distances"));
	if (!kv_policy_init(&p, kv_cpu_options(vj_need(c, "options")), reserved, cpuset_size(reserved), &err))
		vj_die(c, "no such static policy: %s", err.text);
	topology_hints_init(&hints, (unsigned)p.machine.n_nodes);
	kv_read_set(&p.topology, vj_need(c, "defaultCpuSet"), p.shared);
	check_smt(run, &p, c);
	cpu_manager_available(&p.manager, p.shared, p.available);
	kv_check_cpus(run, "available", &p.topology, p.available, vj_string(vj_need(c, "available")));
	cpu_manager_hints(&p.manager, p.available, p.reusable, vj_unsigned(vj_need(c, "request")), &hints);
	kv_check_hints(run, "hints", &hints, vj_need(c, "hints"));
	check_policies(run, &p, c, &hints);
	check_allocation(run, &p, c, "any", anywhere, vj_need(c, "allocateWithoutAffinity"));
	topology_hints_release(&hints);
	kv_policy_release(&p);
}

static void run(struct vectors_run *r, const struct vj_file *file)
{
	const vj *topologies = vj_need(file->docs[0], "topologies");

	VJ_FOREACH_CASE (c, file) {
		vectors_begin(r, vj_string(vj_need(c, "id")));
		run_case(r, topologies, c);
		vectors_end(r);
	}
}

const struct vectors_format kubelet_cpu_manager_format = {"kubelet CPU manager", recognise, run};
