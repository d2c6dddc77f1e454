/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/kubelet_held.h"

#include <string.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/text.h"
#include "common/xalloc.h"

static const struct memory_block *find_held_memory(const struct allocation *item, const char *type)
{
	for (size_t b = 0; b < item->n_memory; b++)
		if (!strcmp(item->memory[b].type, type))
			return &item->memory[b];
	return NULL;
}

static size_t count_held_devices(const struct allocation *item, const char *resource)
{
	size_t n = 0;

	for (size_t b = 0; b < item->n_devices; b++)
		if (!strcmp(item->devices[b].resource, resource))
			n += item->devices[b].ids.n_items;
	return n;
}

/* ---- what is known */

/* Sets `ret` to the CPUs of container `i`, or of all containers if `i` is their number. Returns the number of CPUs. */
static size_t collect_cpus(const struct kubelet *k, const struct kubelet_held *held,
	const struct pod_request *pod, size_t i, bool *ret)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = cpuset_new();

	for (size_t c = 0; c < pod->n_containers; c++)
		if (held->containers[c] && (c == i || i == pod->n_containers))
			cpuset_or(cpus, cpus, held->containers[c]->cpus);
	cpu_set_from_bitmap(&k->topology, cpus, ret);
	return cpu_set_size(&k->topology, ret);
}

/*
 * Whether the hints for the `n` CPUs of an init container are known, although some of them are listed with a later container: in
 * scope container the Topology Manager needs their NUMA nodes.
 */
static bool knows_init_cpus(const struct kubelet *k, struct kubelet_workspace *ws,
	const struct kubelet_held *held, const struct pod_request *pod, size_t i, size_t n)
{
	bool *cpus = ws->scratch[0];
	uint64_t nodes = 0;

	/* The container holds the CPUs that are listed with the container, and some of the pod's other CPUs. */
	if (pod->containers[i].kind != CONTAINER_INIT || !held->cpus_complete ||
		collect_cpus(k, held, pod, i, cpus) > n ||
		collect_cpus(k, held, pod, pod->n_containers, cpus) < n)
		return false;
	for (size_t c = 0; c < k->topology.n_cpus; c++)
		if (cpus[c])
			nodes |= (uint64_t)1 << k->topology.levels[CPU_LEVEL_NUMA].of[c];
	/* On one NUMA node all of the pod's CPUs give the same hints. */
	return k->scope == TOPOLOGY_SCOPE_POD || k->rules.policy == TOPOLOGY_MANAGER_NONE ||
	       (nodes & (nodes - 1)) == 0;
}

bool kubelet_held_is_known(const struct kubelet *k, struct kubelet_workspace *ws,
	const struct kubelet_held *held, const struct pod_request *pod, enum qos_class qos,
	bool by_cpu_manager, bool by_memory_manager, struct err *reason)
{
	for (size_t i = 0; i < pod->n_containers; i++) {
		const struct allocation *item = held->containers[i];
		size_t cpus = kubelet_exclusive_cpus(&pod->containers[i], qos);
		bool holds_request = item && (size_t)hwloc_bitmap_weight(item->cpus) == cpus;

		if (by_cpu_manager && held->cpus && cpus > 0 && !holds_request &&
			!knows_init_cpus(k, ws, held, pod, i, cpus)) {
			err_set(reason, 0,
				"container '%.60s' holds other CPUs than it requests, or unknown CPUs",
				pod->containers[i].name);
			return false;
		}
		if (by_memory_manager && held->memory && (!item || item->n_memory == 0)) {
			err_set(reason, 0, "what memory container '%.60s' holds is unknown",
				pod->containers[i].name);
			return false;
		}
	}
	return true;
}

/* Whether the inventory has these held devices, on known NUMA nodes. */
static bool has_held_devices(const struct device_resource *resource, const struct allocation *item)
{
	for (size_t b = 0; b < item->n_devices; b++) {
		size_t n = 0;
		uint64_t nodes;

		if (strcmp(item->devices[b].resource, resource->name) != 0)
			continue;
		if (item->devices[b].nodes_unknown || !node_mask_from_bitmap(item->devices[b].nodes, &nodes))
			return false;
		for (size_t d = 0; d < resource->n_devices; d++)
			n += resource->devices[d].allocated && resource->devices[d].nodes == nodes;
		if (n < item->devices[b].ids.n_items)
			return false;
	}
	return true;
}

bool kubelet_held_knows_devices(const struct kubelet *k, const struct kubelet_held *held,
	const struct pod_request *pod, size_t r, struct err *reason)
{
	const struct device_resource *resource = &k->devices.inventory->resources[r];
	bool known = true;

	for (size_t i = 0; i < pod->n_containers && known; i++) {
		const struct container_request *c = &pod->containers[i];
		const struct allocation *item = held->containers[i];
		size_t wanted = (size_t)(resource_list_amount(&c->limits, resource->name) / QTY_UNIT);

		if (wanted > 0 && (c->kind == CONTAINER_INIT || !item))
			known = false;
		else if (item)
			known = count_held_devices(item, resource->name) == wanted &&
				has_held_devices(resource, item);
	}
	if (!known)
		err_set(reason, 0, "a restarted kubelet may or may not admit the pod's %.60s again",
			resource->name);
	return known;
}

/* ---- hints */

void kubelet_held_cpu_hints(const struct kubelet *k, struct kubelet_workspace *ws,
	const struct kubelet_held *held, const struct pod_request *pod, size_t i, size_t n)
{
	bool *assigned = ws->scratch[0];
	size_t n_assigned = collect_cpus(k, held, pod, i, assigned);

	/* Any n of the pod's CPUs give the same hints: see knows_init_cpus(). */
	if (i < pod->n_containers && pod->containers[i].kind == CONTAINER_INIT && n_assigned < n) {
		n_assigned = collect_cpus(k, held, pod, pod->n_containers, assigned);
		for (size_t c = 0; n_assigned > n; c++)
			if (assigned[c]) {
				assigned[c] = false;
				n_assigned--;
			}
	}
	if (n_assigned == n) {
		cpu_manager_hints(&k->cpu, assigned, NULL, n, &ws->hints);
		return;
	}
	/* GetPodTopologyHints(): init containers and later containers hold other CPUs than the pod needs at one time. */
	cpu_manager_available(&k->cpu, ws->shared, ws->available);
	cpu_manager_hints(&k->cpu, ws->available, assigned, n, &ws->hints);
}

/* Whether the item's blocks are what the workspace's needs request, by type and size. */
static bool has_needs(const struct memory_needs *needs, const struct allocation *item)
{
	bool equal = item->n_memory == needs->n_items;

	for (size_t i = 0; i < needs->n_items && equal; i++) {
		const struct memory_block *block = find_held_memory(item, needs->items[i].name);

		equal = block && block->bytes == needs->items[i].bytes;
	}
	return equal;
}

void kubelet_held_memory_hints(struct kubelet_workspace *ws, const struct kubelet_held *held,
	const struct pod_request *pod, size_t i, const struct memory_need *need)
{
	/* Each container has blocks (kubelet_held_is_known()). In scope pod, the first container's blocks make the hints. */
	const struct allocation *item = held->containers[i < pod->n_containers ? i : 0];
	const struct memory_block *block;
	uint64_t nodes;

	topology_hints_clear(&ws->hints);
	block = has_needs(&ws->needs, item) ? find_held_memory(item, need->name) : NULL;
	if (block && node_mask_from_bitmap(block->nodes, &nodes))
		topology_hints_add(&ws->hints, nodes, true);
	else
		ws->hints.no_preference = true;
}

/* Marks the held devices of the block as the only free ones of the resource. */
static void free_devices(
	const struct device_resource *resource, const struct device_block *block, bool *taken)
{
	size_t left = block->ids.n_items;
	uint64_t nodes;

	if (strcmp(block->resource, resource->name) != 0 || !node_mask_from_bitmap(block->nodes, &nodes))
		return;
	for (size_t d = 0; d < resource->n_devices && left > 0; d++)
		if (taken[d] && resource->devices[d].allocated && resource->devices[d].nodes == nodes) {
			taken[d] = false;
			left--;
		}
}

void kubelet_held_device_hints(const struct kubelet *k, struct kubelet_workspace *ws,
	const struct kubelet_held *held, const struct pod_request *pod, size_t i, size_t r, size_t n)
{
	const struct device_resource *resource = &k->devices.inventory->resources[r];
	bool *taken = ws->devices.allocated + k->devices.first[r];
	CLEANUP(freep) bool *before = xcalloc(resource->n_devices + 1, sizeof(*before));

	/* For the hints alone, only the held devices are free: the books are restored at the end. */
	for (size_t d = 0; d < resource->n_devices; d++) {
		before[d] = taken[d];
		taken[d] = true;
	}
	for (size_t c = 0; c < pod->n_containers; c++) {
		const struct allocation *item = held->containers[c];

		if (!item || (c != i && i != pod->n_containers))
			continue;
		for (size_t b = 0; b < item->n_devices; b++)
			free_devices(resource, &item->devices[b], taken);
	}
	device_manager_hints(&k->devices, &ws->devices, r, n, &ws->hints);
	for (size_t d = 0; d < resource->n_devices; d++)
		taken[d] = before[d];
}

/* ---- reasons */

static void add_bitmap_nodes(hwloc_const_bitmap_t nodes, uint64_t *ret)
{
	uint64_t mask;

	if (node_mask_from_bitmap(nodes, &mask))
		*ret |= mask;
}

bool kubelet_held_explain(const struct kubelet *k, const struct kubelet_held *held,
	const struct pod_request *pod, struct err *ret)
{
	const struct cpu_elements *numa = &k->topology.levels[CPU_LEVEL_NUMA];
	char texts[3][NODE_MASK_TEXT_MAX];
	static const char *const held_kinds[] = {"CPUs", "memory", "devices"};
	char parts[3 * (NODE_MASK_TEXT_MAX + 40)] = "";
	uint64_t nodes[3] = {0}; /* by held_kinds */

	for (size_t i = 0; i < pod->n_containers; i++) {
		const struct allocation *item = held->containers[i];

		if (!item)
			continue;
		for (size_t c = 0; c < k->topology.n_cpus && held->cpus; c++)
			if (hwloc_bitmap_isset(item->cpus, (unsigned)k->topology.ids[c]))
				nodes[0] |= node_mask_of((unsigned)numa->ids[numa->of[c]]);
		for (size_t b = 0; b < item->n_memory && held->memory; b++)
			add_bitmap_nodes(item->memory[b].nodes, &nodes[1]);
		for (size_t b = 0; b < item->n_devices; b++)
			add_bitmap_nodes(item->devices[b].nodes, &nodes[2]);
	}
	for (size_t i = 0; i < 3; i++)
		node_mask_print(nodes[i], texts[i]);
	for (size_t i = 0; i < 3; i++)
		if (nodes[i])
			text_addf(parts, sizeof(parts), "%s%s on NUMA nodes {%s}", *parts ? ", " : "",
				held_kinds[i], texts[i]);
	if (*parts)
		err_set(ret, 0, "%s: the pod holds %s, which the policy does not admit again",
			topology_manager_policy_names[k->rules.policy], parts);
	return *parts;
}
