/* SPDX-License-Identifier: Apache-2.0 */
/* Renders Volcano's Numatopology object. */
#include <stdio.h>
#include <string.h>

#include "agent/render/render.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/xalloc.h"
#include "scoring/node/node_admission.h"

static void add_policies(const struct settings *s, struct doc *spec)
{
	struct doc *map = doc_add_map(spec, "policies");

	if (s->cpu_manager != CPU_MANAGER_UNKNOWN)
		doc_add_string(map, "CPUManagerPolicy", cpu_manager_policy_names[s->cpu_manager]);
	if (s->topology.policy != TOPOLOGY_MANAGER_UNKNOWN)
		doc_add_string(
			map, "TopologyManagerPolicy", topology_manager_policy_names[s->topology.policy]);
}

/* The CPUs of the shared pool that are neither reserved nor held by claims: a new bitmap, NULL = unknown. */
static void find_free_cpus(const struct node_state *node, hwloc_bitmap_t *ret)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t free = NULL;
	CLEANUP(cpuset_freep) hwloc_bitmap_t of_claims = claims_cpus(&node->claims);
	hwloc_const_bitmap_t shared = node_shared_cpus(node);

	*ret = NULL;
	if (!shared || !node->reserved.cpus)
		return;
	free = machine_counted_cpus(&node->machine);
	cpuset_and(free, free, shared);
	cpuset_andnot(free, free, of_claims);
	cpuset_andnot(free, free, node->reserved.cpus);
	*ret = TAKE(free);
}

static void add_cpu_resource(
	const struct node_state *node, size_t n_cpus, struct doc *spec, struct notes *notes)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t free = NULL;
	CLEANUP(freep) char *text = NULL;
	struct doc *resources, *cpu;

	find_free_cpus(node, &free);
	if (!free)
		notes_add(notes, "numares has no free CPU: the free CPUs are unknown");
	text = free ? cpuset_print(free) : xstrdup("");
	resources = doc_add_map(spec, "numares");
	cpu = doc_add_map(resources, "cpu");
	doc_add_string(cpu, "allocatable", text);
	doc_add_number(cpu, "capacity", (int64_t)n_cpus);
}

/* Adds and counts only the CPUs of NUMA nodes, as the kubelet does. */
static void add_cpu_detail(const struct machine *m, struct doc *spec, size_t *ret_n)
{
	struct doc *detail = doc_add_map(spec, "cpuDetail");

	*ret_n = 0;
	for (size_t i = 0; i < m->n_cpus; i++) {
		const struct cpu *cpu = &m->cpus[i];
		struct doc *map;
		char id[16];

		if (cpu->numa == MACHINE_NONE)
			continue;
		snprintf(id, sizeof(id), "%u", cpu->id);
		map = doc_add_map(detail, id);
		doc_add_number(map, "numa", cpu->numa);
		doc_add_number(map, "socket", cpu->socket == MACHINE_NONE ? 0 : cpu->socket);
		doc_add_number(map, "core", cpu->core);
		(*ret_n)++;
	}
}

static void add_numatopology_container(struct doc *list, const struct allocation *a)
{
	CLEANUP(freep) char *cpus = cpuset_print(a->cpus);
	struct doc *container = doc_add_map(list, NULL);

	if (*a->container)
		doc_add_string(container, "name", a->container);
	doc_add_string(doc_add_map(container, "allocations"), "cpu", cpus);
}

/* A name of the pod's log directory is not published. */
static struct doc *add_numatopology_pod(struct doc *pods, const struct allocation *a)
{
	struct doc *pod = doc_add_map(pods, NULL);

	if (*a->pod_uid)
		doc_add_string(pod, "uid", a->pod_uid);
	if (*a->pod && !a->named_by_logs) {
		doc_add_string(pod, "name", a->pod);
		doc_add_string(pod, "namespace", a->namespace);
	}
	return doc_add_list(pod, "containerAllocations");
}

/* In the order of the items: by UID, namespace, name and container, as the exporter sorts. */
static void add_numatopology_pods(const struct allocations *a, struct doc *spec)
{
	struct doc *pods = doc_add_list(spec, NUMATOPOLOGY_PODS), *containers = NULL;
	const struct allocation *last = NULL;

	for (size_t i = 0; i < a->n_items; i++) {
		if (hwloc_bitmap_iszero(a->items[i].cpus))
			continue;
		if (!last || !allocation_same_pod(last, &a->items[i]))
			containers = add_numatopology_pod(pods, &a->items[i]);
		last = &a->items[i];
		add_numatopology_container(containers, last);
	}
}

/* numatopology_render() makes podAllocations the last member of the spec: removing it moves no other member. */
void numatopology_remove_pods(struct doc *object)
{
	DOC_FOREACH (spec, object) {
		struct doc *last = spec->n_items > 0 ? &spec->items[spec->n_items - 1] : NULL;

		if (strcmp(spec->key, "spec") != 0 || !last || !last->key ||
			strcmp(last->key, NUMATOPOLOGY_PODS) != 0)
			continue;
		doc_release(last);
		spec->n_items--;
	}
}

void numatopology_render(const struct node_state *node, struct doc *ret, struct notes *notes)
{
	CLEANUP(doc_release) struct doc top = {.kind = DOC_MAP};
	struct doc *spec;
	size_t n_cpus;

	doc_add_string(&top, "apiVersion", "nodeinfo.volcano.sh/v1alpha1");
	doc_add_string(&top, "kind", "Numatopology");
	doc_add_string(doc_add_map(&top, "metadata"), "name", node->node_name);
	spec = doc_add_map(&top, "spec");
	add_policies(&node->settings, spec);
	doc_add_string(doc_add_map(spec, "resReserved"), "cpu", "0");
	add_cpu_detail(&node->machine, spec, &n_cpus);
	add_cpu_resource(node, n_cpus, spec, notes);
	add_numatopology_pods(&node->allocations, spec);
	*ret = top;
	top = (struct doc){.kind = DOC_NULL};
}
