/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * allocation: what containers and pods hold exclusively: CPUs, memory blocks and devices. Depends on common/
 * only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cpuset.h"
#include "common/vec.h"

/* ---- the memory manager's machine state, as in the kubelet's memory_manager_state file */

struct memory_table {
	char *type;                                                   /* "memory", "hugepages-1Gi" */
	uint64_t total, system_reserved, allocatable, reserved, free; /* bytes */
};

#define MEMORY_ASSIGNMENTS_MAX (UINT32_MAX / 2) /* verdicts add to the number */

struct memory_node {
	unsigned id; /* NUMA node id */
	unsigned
		assignments; /* numberOfAssignments: containers x memory types; MEMORY_ASSIGNMENTS_MAX at most */
	/* The NUMA node group: a node that is used alone has {id} or the empty set, an unused node the
	 * empty set. */
	hwloc_bitmap_t cells;
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

/* The node with this id, or NULL. The caller may change the node if the state is the caller's. */
struct memory_node *memory_state_node(const struct memory_state *s, unsigned id);

/* The table of `type` on the node, or NULL; also NULL if `node` is. */
struct memory_table *memory_node_table(const struct memory_node *node, const char *type);

/* Whether the kubelet's subtraction of the reserved memory went below 0, so that allocatable is near 2^64. */
bool memory_table_wrapped(const struct memory_table *table);

/* Adds the types of memory of all NUMA nodes, each once. A node without memory has no hugepages. */
void memory_state_types(const struct memory_state *s, struct strv *ret);

/* Bytes of the type reserved on all nodes. (The API does not report how a block is split between nodes.) */
uint64_t memory_state_reserved(const struct memory_state *s, const char *type);

/* ---- allocations */

struct memory_block {
	char *type;           /* "memory", "hugepages-1Gi" */
	uint64_t bytes;       /* of the whole block */
	hwloc_bitmap_t nodes; /* NUMA nodes that the block may be on */
};

/* Devices of one resource on one set of NUMA nodes. */
struct device_block {
	char *resource; /* "vendor.com/nic" */
	struct strv ids;
	hwloc_bitmap_t nodes; /* empty = no affinity, or unknown */
	bool nodes_unknown;   /* the source does not report NUMA nodes; `nodes` is empty then */
};

/* What one container, or one pod as a whole, holds. */
struct allocation {
	char *pod_uid;   /* "" when unknown */
	char *namespace; /* "" when unknown (state files do not have it) */
	char *pod;       /* "" when unknown */
	/* namespace and pod are from the pod's log directory: shown to people, never published */
	bool named_by_logs;
	char *container; /* "" when the pod as a whole holds the allocation */
	/* Only the state files report the allocation. The pod-resources API was read too, but does not list
	 * the container: either an init container that has ended, or a container of a pod that the kubelet
	 * does not list yet. */
	bool unlisted;
	bool remote_memory;  /* the kernel has put much memory of the pod on NUMA nodes without its CPUs */
	hwloc_bitmap_t cpus; /* exclusive CPUs; never NULL */
	struct memory_block *memory;
	size_t n_memory;
	size_t memory_size;
	struct device_block *devices;
	size_t n_devices;
	size_t devices_size;
};

/*
 * All allocations of a node, as one source reports them. Containers of one pod may list the same CPU or
 * device (the kubelet passes an init container's to later containers), so a pod holds the union of its items.
 * Items of different pods are disjoint, except for CPUs and devices that a kubelet assigned twice: the source's
 * reader added a note.
 */
struct allocations {
	struct allocation *items; /* sorted by pod_uid, namespace, pod, container */
	size_t n_items;
	size_t items_size;
	bool remote_memory_known; /* remote_memory of the items; it decides nothing about admission */
	bool cpus_known;          /* the source reports who holds which CPUs (possibly nobody) */
	hwloc_bitmap_t shared;    /* the shared pool (defaultCpuSet); NULL = unknown */
	bool memory_known;        /* `memory` was read and the policy is Static */
	struct memory_state memory;
	bool devices_known;              /* the source reports who holds which devices (possibly nobody) */
	bool registered_known;           /* `registered` was read (possibly there are none) */
	struct device_block *registered; /* the healthy devices of all plugins, held or not */
	size_t n_registered;
	size_t registered_size;
};

void allocation_release(struct allocation *a);

void allocations_init(struct allocations *a);
void allocations_release(struct allocations *a);

/* Free an array of `n` blocks and what the blocks own. */
void memory_blocks_free(struct memory_block *blocks, size_t n);
void device_blocks_free(struct device_block *blocks, size_t n);

/* Add a device to the block of its resource and NUMA nodes; a missing block is created. Strings and
 * `nodes` are copied. */
void device_blocks_add(struct device_block **blocks, size_t *n_blocks, size_t *blocks_size,
	const char *resource, hwloc_const_bitmap_t nodes, bool nodes_unknown, const char *id);

/* As device_blocks_add(), with an id that the block then owns. */
void device_blocks_take(struct device_block **blocks, size_t *n_blocks, size_t *blocks_size,
	const char *resource, hwloc_const_bitmap_t nodes, bool nodes_unknown, char *id);

/*
 * Merge the entries of each device: the kubelet's pod-resources API lists a device once per NUMA node
 * (cm/container_manager.go, containerDevicesFromResourceDeviceInstances). The result has one block per
 * resource and set of NUMA nodes.
 */
void device_blocks_merge(struct device_block **blocks, size_t *n_blocks, size_t *blocks_size);

/* Append an empty allocation (cpus = empty set, strings = ""), to be filled in place. */
struct allocation *allocations_add(struct allocations *a);

/* Append an empty allocation with copies of pod_uid and container. */
struct allocation *allocations_add_container(
	struct allocations *a, const char *pod_uid, const char *container);

/* Release and remove the item at this position. */
void allocations_remove(struct allocations *a, size_t at);

/*
 * Move all items of `from` to `a`. Items of the same pod and container become one item: CPU sets are united,
 * memory and devices appended. `a` is then sorted, and `from` has no items; other members do not change.
 */
void allocations_merge(struct allocations *a, struct allocations *from);

/* Whether the container holds no CPU, memory or device. */
bool allocation_is_empty(const struct allocation *item);

/* Whether one of the containers holds CPUs or memory. */
bool allocations_hold_cpus_or_memory(const struct allocation *items, size_t n);

/* Whether both have the same pod UID, namespace and name. A pod's items are consecutive. */
bool allocation_same_pod(const struct allocation *a, const struct allocation *b);

/* Sort the items as documented in struct allocations. */
void allocations_sort(struct allocations *a);

/* What the memory manager's state says of a NUMA node; NULL = nothing, or the state is not known. */
const struct memory_node *allocations_memory_node(const struct allocations *a, unsigned id);

/* All CPUs that a container or pod holds exclusively; a new bitmap. */
hwloc_bitmap_t allocations_exclusive_cpus(const struct allocations *a);

/* ---- pods */

/* A pod of this node, from a source that knows pod names. */
struct pod_ref {
	char *namespace;
	char *name;
	/* The pod, or one of its containers, holds CPUs, or memory or devices with NUMA nodes. */
	bool exclusive;
};

/* Free an array of `n` pods and what the pods own. */
void pod_refs_free(struct pod_ref *pods, size_t n);

/* ---- device index: finds a device by resource and id */

/* One device. The pointers borrow from the indexed allocations. */
struct device_ref {
	const struct device_block *block; /* the device's resource and NUMA nodes */
	const char *id;
};

struct device_index {
	struct device_ref *items; /* sorted by resource, then id; unique */
	size_t n_items;
	size_t items_size;
};

void device_index_release(struct device_index *index);

/* Appends the devices of an item to an index. After the last item, device_index_sort() completes the index. */
void device_index_add(struct device_index *index, const struct allocation *item);
void device_index_sort(struct device_index *index);

/* Index the devices that containers or pods hold; index the registered devices. *ret is the caller's to
 * release. */
void device_index_held(const struct allocations *a, struct device_index *ret);
void device_index_registered(const struct allocations *a, struct device_index *ret);

/* Position of the first device of a resource; *ret_end is the position after the last one. */
size_t device_index_range(const struct device_index *index, const char *resource, size_t *ret_end);

/* The device, or NULL. */
const struct device_ref *device_index_find(
	const struct device_index *index, const char *resource, const char *id);
