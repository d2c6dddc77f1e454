/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/planned_cluster.h"

#include "agent/render/render.h"
#include "cluster/objects/pod_parse.h"
#include "common/cleanup.h"
#include "common/io/yaml.h"
#include "common/text.h"
#include "tests/lib/test.h"

const struct synthetic planned_machine = {
	.sockets = 2, .numas = 1, .uncores = 1, .cores = 4, .threads = 2, .memory_bytes = (uint64_t)32 << 30};

void planned_cluster_release(struct planned_cluster *t)
{
	for (unsigned i = 0; i < t->n_nodes; i++)
		node_sim_release(&t->sims[i]);
	simulated_cluster_release(&t->c);
}

void planned_cluster_init(struct planned_cluster *t, unsigned n_nodes, const struct node_sim_setup *setup)
{
	*t = (struct planned_cluster){.n_nodes = n_nodes};
	for (unsigned i = 0; i < n_nodes; i++) {
		char name[16];

		snprintf(name, sizeof(name), "node-%u", i);
		node_sim_init(&t->sims[i], setup);
		text_set(&t->sims[i].state.node_name, name);
	}
}

bool planned_cluster_start(struct planned_cluster *t, unsigned number, unsigned node)
{
	char text[64];

	snprintf(text, sizeof(text), "app cpu=%u memory=%uGi", t->pods[number].cpus, t->pods[number].gib);
	t->sims[node].n_begun = number;
	t->pods[number].node = node;
	t->pods[number].runs = node_sim_begin(&t->sims[node], text);
	return t->pods[number].runs;
}

bool planned_cluster_add(struct planned_cluster *t, unsigned node, unsigned cpus, unsigned gib)
{
	assert_true(t->n_pods < PODS_MAX);
	t->pods[t->n_pods] = (struct planned_pod){.cpus = cpus, .gib = gib};
	if (!planned_cluster_start(t, t->n_pods, node))
		return false;
	t->n_pods++;
	return true;
}

void planned_cluster_end(struct planned_cluster *t, unsigned number)
{
	struct node_sim *sim = &t->sims[t->pods[number].node];
	char name[16];

	snprintf(name, sizeof(name), "p%u", number);
	for (size_t i = 0; i < sim->state.allocations.n_items; i++)
		if (!strcmp(sim->state.allocations.items[i].pod, name)) {
			node_sim_end(sim, i);
			break;
		}
	t->pods[number].runs = false;
}

void planned_cluster_object(struct planned_cluster *t, enum object_kind kind, const char *yaml)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct err err = {""};

	if (yaml_parse(yaml, strlen(yaml), &object, &err) < 0 ||
		simulated_cluster_add_object(&t->c, kind, &object, &err) < 0)
		fail_msg("%s: %s", yaml, err.text);
}

void planned_cluster_publish(struct planned_cluster *t, const char *labels, const char *extra)
{
	static const struct nrt_config config = {.node_state = true};
	char yaml[1024];

	simulated_cluster_init(&t->c);
	for (unsigned i = 0; i < t->n_nodes; i++) {
		CLEANUP(doc_release) struct doc object = DOC_INIT;
		struct cluster_node node;
		struct err err = {""};

		nrt_render(&t->sims[i].state, &config, &object, NULL);
		if (cluster_node_read(&object, &node, &err) < 0)
			fail_msg("%s", err.text);
		simulated_cluster_add_node(&t->c, &node);
		cluster_node_release(&node);
		snprintf(yaml, sizeof(yaml),
			"{metadata: {name: node-%u, annotations: {%s}}, status: {allocatable: {cpu: 14, memory: 60Gi, pods: 100}}}",
			i, t->annotations[i]);
		planned_cluster_object(t, OBJECT_NODE, yaml);
	}
	for (unsigned i = 0; i < t->n_pods; i++) {
		if (!t->pods[i].runs)
			continue;
		snprintf(yaml, sizeof(yaml),
			"{metadata: {name: p%u, namespace: default, uid: p%u, %s labels: {%s}, ownerReferences:"
			" [{%s, name: r, controller: true}]}, spec: {nodeName: node-%u, %s containers:"
			" [{name: app, resources: {limits: {cpu: %u, memory: %uGi}}}]}}",
			i, i, t->metadata ? t->metadata : "", labels,
			t->owner ? t->owner : "apiVersion: apps/v1, kind: ReplicaSet", t->pods[i].node, extra,
			t->pods[i].cpus, t->pods[i].gib);
		planned_cluster_object(t, OBJECT_POD, yaml);
	}
}

size_t planned_cluster_want(struct planned_cluster *t, unsigned cpus, unsigned gib, size_t n)
{
	CLEANUP(pod_templates_release) struct pod_templates templates = {0};
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct err err = {""};
	char yaml[256];

	snprintf(yaml, sizeof(yaml),
		"{kind: Pod, apiVersion: v1, metadata: {name: wanted}, spec: {containers: [{name: app,"
		" resources: {limits: {cpu: %u, memory: %uGi}}}]}}",
		cpus, gib);
	if (yaml_parse(yaml, strlen(yaml), &object, &err) < 0 ||
		pod_templates_from_doc(&object, &templates, &err) < 0)
		fail_msg("%s", err.text);
	return simulated_cluster_add_copies(&t->c, templates.items[0].owner, "default",
		templates.items[0].pod.name, &templates.items[0].pod, n);
}
