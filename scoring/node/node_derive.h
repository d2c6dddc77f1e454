/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Derives a node's reserved CPUs, shared pool and inventory: the amounts of the object's zones. machine +
 * settings + allocations -> inventory. Pure accounting, no I/O. Every command uses this module.
 */
#include "common/err.h"
#include "common/node_state.h"

/*
 * What the user excludes from the zones: resources by name (--exclude-resources), and what pods of other
 * namespaces hold (--namespace). The filter changes only the zones, not the node's allocations, from which
 * the verdicts and the pods' fingerprint are computed. Borrowed texts; zeroed excludes nothing.
 */
struct zone_filter {
	const char *const *resources; /* names or shell patterns of excluded resources */
	size_t n_resources;
	const char *const *namespaces; /* only pods of these namespaces count; none = every pod counts */
	size_t n_namespaces;
	const char *namespaces_from; /* the flag that named them, for notes: "--namespace" */
};

struct derive_config {
	bool reserved_named; /* the user gave the reserved CPUs, which have priority over every source */
	struct zone_filter filter;
};

/*
 * Fill the reserved CPUs and the inventory of `node`, and the shared pool if no file has it, from the other
 * members.
 *
 * With a filter by namespaces, items of other namespaces do not count as held. Items of pods whose namespace
 * is unknown count, so that the zones never show held resources as free. Claims are filtered by their own
 * namespaces.
 *
 * What is unknown goes to `notes`. 0; -EINVAL (a reserved CPU that is not online) or another -errno, with one
 * line in `err`: `node` then has only facts and is still to be released.
 */
int node_derive(
	const struct derive_config *config, struct node_state *node, struct notes *notes, struct err *err);

/*
 * The reserved CPUs by the settings: reservedSystemCPUs if set; under the static policy with kubeReserved and
 * systemReserved, the CPUs that the kubelet's own algorithm takes (of a kubelet of unknown release: those that an older
 * or a newer kubelet takes), on the machine of the kubelet's start; none under policy none. Otherwise unknown. Reserved
 * CPUs that have vanished since the kubelet's start are omitted. 0; -EINVAL (a reserved CPU that is not online and that
 * the kubelet has not counted). `ret` is untouched on failure.
 */
int node_derive_reserved_cpus(const struct node_state *node, struct reserved_cpus *ret, struct err *err);

/*
 * The inventory of a node whose reserved CPUs have been derived. Per NUMA node (ascending id) and resource:
 *
 *	cpu          capacity = online CPUs that belong to the node; allocatable = capacity without the
 *	             reserved CPUs, and under the static policy without CPUs that are neither in the shared pool
 *	             nor held: the kubelet does not know them (it counts CPUs at its start); available =
 *	             allocatable without CPUs held exclusively or by a claim. Omitted on a node without CPUs.
 *	memory       capacity = MemTotal; allocatable and available as the memory manager's machine state says;
 *	             without that state, allocatable = available = MemTotal - hugepages - reservedMemory;
 *	             available minus what claims hold. Omitted on a node without memory.
 *	hugepages-*  the same for each pool, including pools of size 0.
 *	devices      if the plugins' devices are known: every resource that has a device with an affinity, on
 *	             every node. allocatable = the healthy devices near the node, available = those of them
 *	             that no container holds, capacity = allocatable plus held devices that are no longer
 *	             healthy. A device near several nodes counts on each of them, so that each number is
 *	             exactly what the node could give by itself. Devices without affinity count nowhere.
 *
 * On a NUMA node that appeared after the kubelet's start (known_machine_nodes()), all amounts but the capacities are 0.
 *
 * Costs are the SLIT distances; without them 10 on the diagonal and unknown elsewhere. Amounts are never
 * below 0. What is unknown goes to `notes`, which may be NULL.
 */
void node_derive_inventory(const struct node_state *node, struct inventory *ret, struct notes *notes);

/*
 * Hugepages of this name ("hugepages-1Gi") that are free for the kubelet on all NUMA nodes together, in
 * nano-units of a byte: as in the inventory, but without what claims hold, because the kubelet does not know
 * claims. False if the machine has no pool of that size.
 */
bool node_derive_free_pages(const struct node_state *node, const char *name, qty_t *ret);

/* Bytes of the type ("memory", "hugepages-1Gi") that reservedMemory reserves on the NUMA node. */
uint64_t node_derive_reserved_memory(const struct settings *s, unsigned node, const char *type);

/*
 * What evictionHard keeps free of memory.available, in nano-units of a byte: an amount, or a percentage of
 * the machine's memory. 0 if unknown.
 */
qty_t node_derive_eviction_threshold(const struct node_state *node);
