/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges of one to three resources' hints for each policy (topology_manager.json): a list of
 * {id, numaNodes, distances, resources: [[{numa, preferred}]], policies: {NAME: {numa, preferred, admit}}}.
 */
#include "tests/vectors/kubelet_support.h"

static bool recognise(const struct vj_file *file)
{
	const vj *c = vj_first_case(file);

	return vj_is_map(c) && vj_get(c, "numaNodes") && vj_get(c, "resources") && vj_get(c, "policies");
}

static void run_case(struct vectors_run *run, const vj *c)
{
	static struct topology_nodes nodes;
	struct topology_merge merge;

	kv_nodes(&nodes, vj_unsigned(vj_need(c, "numaNodes")), vj_need(c, "distances"));
	if (topology_merge_init(&merge, nodes.all, nodes.all) < 0)
		vj_die(c, "too many NUMA nodes");
	VJ_FOREACH (policy, vj_need(c, "policies")) {
		struct topology_rules rules = kv_rules(vj_key(policy), &nodes);
		struct topology_hint best;
		bool admit;

		topology_merge_start(&merge, &rules);
		VJ_FOREACH (resource, vj_need(c, "resources")) {
			struct topology_hints hints;

			kv_hints(resource, &hints);
			topology_merge_add(&merge, &hints);
			topology_hints_release(&hints);
		}
		best = topology_merge_finish(&merge, &admit);
		kv_check_hint(run, vj_key(policy), best, vj_need(policy, "numa"),
			vj_bool(vj_need(policy, "preferred")));
		if (admit != vj_bool(vj_need(policy, "admit")))
			vectors_differ(run, "%s: admit %d, recorded %d", vj_key(policy), admit, !admit);
	}
	topology_merge_release(&merge);
}

static void run(struct vectors_run *r, const struct vj_file *file)
{
	VJ_FOREACH_CASE (c, file) {
		vectors_begin(r, vj_string(vj_need(c, "id")));
		run_case(r, c);
		vectors_end(r);
	}
}

const struct vectors_format kubelet_topology_manager_format = {"kubelet Topology Manager", recognise, run};
