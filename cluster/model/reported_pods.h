/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds how much of a pod's resources a NodeResourceTopology object reports: nothing, a part or all.
 */
#include <stdbool.h>
#include <stddef.h>

#include "cluster/objects/pod_class.h"
#include "common/node_state.h"
#include "scoring/node/pod_names.h"

struct reported_key {
	const char *name; /* the item's pod UID or pod name */
	size_t item;
};

/* Index of the items of an object's node state by pod. Borrows from the state. */
struct reported_index {
	struct reported_key *by_uid, *by_name; /* sorted; `by_name` contains the items without a UID */
	size_t n_by_uid, n_by_name;
	const char **plugins; /* resources registered by device plugins, sorted, unique */
	size_t n_plugins;
};

void reported_index_init(struct reported_index *ret, const struct allocations *a);
void reported_index_release(struct reported_index *index);

/* The items of one pod, as parts of the index. */
struct reported_items {
	const struct reported_key *by_uid, *by_name;
	size_t n_by_uid, n_by_name;
};

/*
 * The items with the pod's UID, and the items without a UID that have the hash of the pod's name; none for a mirror pod. Users
 * choose names and can produce equal hashes: the caller decides which pod items without a UID belong to.
 */
struct reported_items reported_find(const struct reported_index *index, const struct pod_names *names);

enum reported { REPORTED_NOTHING, REPORTED_PART, REPORTED_ALL };

/*
 * Compares the items with the pod class's request. During an admission the kubelet writes its checkpoint files one after
 * another, so an object may report a part of the pod. A pod is complete with all its exclusive CPUs, all devices of
 * resources with a device plugin, and memory if the kubelet's Memory Manager is static. Resources without a device
 * plugin are not expected in the object. A pod with pod-level resources counts as complete with any item.
 */
enum reported reported_compare(const struct reported_index *index, const struct node_state *state,
	const struct pod_class *class, const struct reported_items *items);

/*
 * The part of the pod class's request that the items do not cover, as a pod of one container: exclusive CPUs, devices,
 * and the whole memory if none is reported. `ret` is to be released by pod_request_release().
 */
void reported_rest(const struct reported_index *index, const struct node_state *state,
	const struct pod_class *class, const struct reported_items *items, struct pod_request *ret);
