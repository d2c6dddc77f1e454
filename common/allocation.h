/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * allocation: what one container (or one pod as a whole) holds exclusively. Depends on common/ only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cpuset.h"
#include "common/vec.h"

/* ---- the memory manager's state */

struct memory_table {
	char *type;                                                   /* "memory", "hugepages-1Gi" */
	uint64_t total, system_reserved, allocatable, reserved, free; /* bytes */
};

struct memory_node {
	unsigned id;          /* NUMA node id */
	unsigned assignments; /* numberOfAssignments: containers x memory types */
	hwloc_bitmap_t
		cells; /* the group the node is part of; {id} or empty when it is used alone or not at all */
	struct memory_table *tables; /* sorted by type */
	size_t n_tables;
	size_t tables_size;
};

struct memory_state {
	struct memory_node *nodes; /* ascending id */
	size_t n_nodes;
	size_t nodes_size;
};

void memory_state_init(struct memory_state *s);
void memory_state_release(struct memory_state *s);

/* The table of `type` on the node, or NULL. */
const struct memory_table *memory_node_table(const struct memory_node *node, const char *type);

/* The kubelet's subtraction of what is reserved went below 0, and allocatable is near 2^64. */
bool memory_table_wrapped(const struct memory_table *table);

/* What all nodes have reserved of the type; the API does not report how a block lies on several. */
uint64_t memory_state_reserved(const struct memory_state *s, const char *type);

/* ---- allocations */

struct memory_block {
	char *type;           /* "memory", "hugepages-1Gi" */
	uint64_t bytes;       /* of the whole block */
	hwloc_bitmap_t nodes; /* NUMA nodes it may lie on */
};

/* Devices of one resource on one set of NUMA nodes. */
struct device_block {
	char *resource; /* "vendor.com/nic" */
	struct strv ids;
	hwloc_bitmap_t nodes; /* empty = no affinity, or unknown */
	bool nodes_unknown;   /* the source does not report the NUMA nodes; they are empty then */
};

struct allocation {
	char *pod_uid;   /* "" when unknown */
	char *namespace; /* "" when unknown (state files do not have it) */
	char *pod;       /* "" when unknown */
	bool named_by_logs; /* both are those of the pod's folder of logs: for people, not for what is published */
	char *container; /* "" when the allocation is the pod's as a whole */
	/* Only the state files report it while the pod-resources API, which was asked too, lists no such
	 * container: an ordinary init container's leftovers, a pod that the kubelet does not list yet. */
	bool unlisted;
	hwloc_bitmap_t cpus; /* exclusive CPUs; never NULL */
	struct memory_block *memory;
	size_t n_memory;
	size_t memory_size;
	struct device_block *devices;
	size_t n_devices;
	size_t devices_size;
};

/*
 * Everything the kubelet has handed out, as one source reported it. Containers of one pod may name the same CPU
 * or device (the kubelet hands an init container's to the containers after it), so a pod holds the union of
 * its items; items of different pods are disjoint except the CPUs that a kubelet gave away twice (the
 * source's reader has left a note).
 */
struct allocations {
	struct allocation *items; /* sorted by pod_uid, namespace, pod, container */
	size_t n_items;
	size_t items_size;
	bool cpus_known;       /* the source reports who holds which CPUs (possibly nobody) */
	hwloc_bitmap_t shared; /* the shared pool (defaultCpuSet); NULL = unknown */
	bool memory_known;     /* `memory` below was read and policy is Static */
	struct memory_state memory;
	bool devices_known;              /* the source reports who holds which devices (possibly nobody) */
	bool registered_known;           /* `registered` was read (possibly there are none) */
	struct device_block *registered; /* the healthy devices of every plugin, held or not */
	size_t n_registered;
	size_t registered_size;
};

void allocation_release(struct allocation *a);

void allocations_init(struct allocations *a);
void allocations_release(struct allocations *a);

/* Free what `n` blocks own, and the array. */
void memory_blocks_free(struct memory_block *blocks, size_t n);
void device_blocks_free(struct device_block *blocks, size_t n);

/* Add a device to the vec of blocks, in the block of its resource and nodes (copied), which is made when it
 * is new. */
void device_blocks_add(struct device_block **blocks, size_t *n_blocks, size_t *blocks_size,
	const char *resource, hwloc_const_bitmap_t nodes, bool nodes_unknown, const char *id);

/* Append an empty allocation (cpus = empty set, strings ""), to be filled in place. */
struct allocation *allocations_add(struct allocations *a);

/* The same with pod_uid and container (copied) set. */
struct allocation *allocations_add_container(
	struct allocations *a, const char *pod_uid, const char *container);

/* Take the item at this position out. */
void allocations_remove(struct allocations *a, size_t at);

/*
 * Move all items of `from` to `a`, where items of the same pod and container become one: CPUs are united,
 * memory and devices appended. `a` is sorted then and `from` has no items; other members stay. 0.
 */
void allocations_merge(struct allocations *a, struct allocations *from);

/* Whether both are known by the same UID and name. A pod's items follow each other. */
bool allocation_same_pod(const struct allocation *a, const struct allocation *b);

/* Bring items into their documented order. */
void allocations_sort(struct allocations *a);

/* Every CPU that some container or pod holds exclusively; a new bitmap. */
hwloc_bitmap_t allocations_exclusive_cpus(const struct allocations *a);

/* ---- pods */

struct pod_ref {
	char *namespace;
	char *name;
	/* One of its containers, or the pod as a whole, holds CPUs, memory with a NUMA node, or devices with
	 * a NUMA node. */
	bool exclusive;
};

/* Free what `n` of them own, and the array. */
void pod_refs_free(struct pod_ref *pods, size_t n);

/* ---- device index */

/* One device; everything is borrowed from the allocations it was indexed from. */
struct device_ref {
	const char *resource, *id;
	hwloc_const_bitmap_t nodes;
	bool nodes_unknown;
};

struct device_index {
	struct device_ref *items; /* by resource, then id; unique */
	size_t n_items;
	size_t items_size;
};

void device_index_release(struct device_index *index);

/* Every device that some container or pod holds. */
void device_index_held(const struct allocations *a, struct device_index *ret);

/* Every healthy device of every plugin. Returns as device_index_held(). */
void device_index_registered(const struct allocations *a, struct device_index *ret);

/*
 * Make one block for each set of NUMA nodes of blocks that list a device once for each of its nodes, as the
 * kubelet's pod-resources API does (cm/container_manager.go, containerDevicesFromResourceDeviceInstances).
 */
void device_blocks_merge(struct device_block **blocks, size_t *n_blocks, size_t *blocks_size);

/* Where the devices of a resource begin; *ret_end is behind the last of them. */
size_t device_index_range(const struct device_index *index, const char *resource, size_t *ret_end);

/* The device, or NULL. */
const struct device_ref *device_index_find(
	const struct device_index *index, const char *resource, const char *id);
