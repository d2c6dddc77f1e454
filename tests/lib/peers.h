/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the peers do beyond what nrtd asks of its model of them, told by the same parts, so that their recorded
 * decisions can be replayed: eviction, a restarted kubelet, containers that have their resources already. Depends
 * on scoring/ and common/ only.
 */
#include "common/node_state.h"
#include "scoring/combinations.h"
#include "scoring/cpu_manager.h"
#include "scoring/device_manager.h"
#include "scoring/memory_manager.h"
#include "scoring/node_mask.h"
#include "scoring/nrt_match.h"
#include "scoring/request.h"

/* The next set of the same size among n positions, in place; false (set unchanged) after the last one. In the
 * order in which the schedulers and the kubelet generate sets: 01 02 03 12 13 23. */
bool combination_next_lexicographic(uint64_t *set, unsigned n);

/*
 * This amount of the resource is held exclusively by a container of a pod of this QoS class: a device that
 * the inventory has, or, in a Guaranteed pod, a whole number of CPUs, memory or hugepages.
 */
bool request_is_exclusive(
	enum qos_class qos, const char *resource, qty_t amount, const struct inventory *inv);

/* Some app container or sidecar of the pod holds something exclusively once the pod runs. */
bool request_pod_is_exclusive(const struct pod_request *pod, const struct inventory *inv);

/* A container of a pod to be evicted and the NUMA node it runs on. */
struct eviction_victim {
	const struct pod_request *pod;
	const struct container_request *container; /* one of the pod's */
	int numa_id;                               /* -1 = on no one node: ignored */
};

enum eviction_verdict {
	EVICTION_DONE,
	EVICTION_NOTHING_TO_ADD, /* no victim holds anything exclusively on a known NUMA node */
	EVICTION_EXCEEDS,        /* some node would have more available than allocatable */
	EVICTION_VERDICT_COUNT
};

extern const char *const eviction_messages[EVICTION_VERDICT_COUNT]; /* the plugin's; "" when done */

/*
 * Add what the victims hold exclusively (request_is_exclusive(); ordinary init containers hold nothing) to
 * the available amounts of `inv`, on every position of their NUMA node. On a verdict other than EVICTION_DONE
 * `inv` is unchanged. -ENOMEM or an eviction_verdict.
 */
int eviction_simulate(struct inventory *inv, const struct eviction_victim *victims, size_t n_victims);

/*
 * validateState(): what the kubelet makes of a cpu_manager_state file when it starts. shared[] is set to the
 * shared pool it goes on with: the file's, or all CPUs (without the strictly reserved) for an empty one.
 * 0, or -EINVAL with the kubelet's words ("not all reserved cpus: ..."). A NULL a->shared is empty.
 */
int cpu_manager_check_state(
	const struct cpu_manager *cm, const struct allocations *a, bool *shared, struct err *err);

/* RemoveContainer(): the container's CPUs return to the shared pool, but for those its pod still holds. */
void cpu_manager_remove(
	const struct cpu_topology *t, const bool *released, const bool *held_by_siblings, bool *shared);

/* The hints for a container that already holds `allocated`. */
void cpu_manager_hints_again(
	const struct cpu_manager *cm, const bool *allocated, size_t n, struct topology_hints *ret_hints);

/* regenerateHints(): the hint of one need of a container that already holds these blocks; no preference when
 * they are not what all the needs ask for. */
void memory_manager_hints_again(const struct memory_block *blocks, size_t n_blocks,
	const struct memory_needs *needs, size_t need, struct topology_hints *ret_hints);

/* The hints for a container that already holds the devices that are `held` (by position in the resource). */
void device_manager_hints_again(const struct device_manager *dm, struct device_books *books, size_t r,
	const bool *held, size_t n, struct topology_hints *ret_hints);

/* How many nodes the narrowest hint with an affinity has; 0 when none has one. */
unsigned topology_hints_narrowest(const struct topology_hints *hints);

/* The mask as the kubelet's log writes it: binary, node 0 at the right, padded to a multiple of two digits. */
#define NODE_MASK_BINARY_MAX 65
void node_mask_print_binary(uint64_t mask, char text[NODE_MASK_BINARY_MAX]);

/*
 * The pods' fingerprint: the first attribute of that name, else the annotation; NULL when there is neither.
 * *ret_exclusive_only tells that it is taken over pods with exclusive resources only.
 */
const char *nrt_fingerprint(const struct nrt_attribute *attributes, size_t n_attributes,
	const struct nrt_attribute *annotations, size_t n_annotations, bool *ret_exclusive_only);

/*
 * The order in which elements with an available CPU are considered, as element positions in
 * cpu_topology.levels; with `whole` only those that count as entirely free. *ret_list stays valid until the
 * workspace is used again. Returns the length.
 */
size_t cpu_take_order(struct cpu_workspace *ws, enum cpu_level level, bool whole, const bool *available,
	const uint32_t **ret_list);

/* The order of the single CPUs, as positions. */
size_t cpu_take_cpu_order(struct cpu_workspace *ws, const struct cpu_take_rules *rules, const bool *available,
	const uint32_t **ret_list);
