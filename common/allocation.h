/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * allocation: what one container (or one pod as a whole) holds exclusively. Depends on common/ only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cpuset.h"
#include "common/memory_state.h"
#include "common/strv.h"

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
