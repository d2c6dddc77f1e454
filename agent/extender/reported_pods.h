/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds what a node's object reports of a pod: nothing, a part of what its kubelet gives it, or all of it.
 */
#include <stdbool.h>
#include <stddef.h>

#include "agent/cluster/cluster_node.h"
#include "agent/extender/pod_class.h"
#include "agent/model/pod_names.h"

struct reported_key {
	const char *name; /* of the item; or a resource */
	size_t item;
};

/* The items of an object's node state by pod, so that a look-up does not walk them all. Borrows from the state. */
struct reported_index {
	struct reported_key *by_uid, *by_name; /* sorted; `by_name` has the items without a UID */
	size_t n_by_uid, n_by_name;
	const char **plugins; /* resources that a device plugin has registered, sorted, unique */
	size_t n_plugins;
};

/* 0 or -ENOMEM; `ret` is untouched on failure. */
int reported_index_init(struct reported_index *ret, const struct allocations *a);
void reported_index_release(struct reported_index *index);

/* The items with the pod's UID, *ret_n of them; not of a mirror pod. */
const struct reported_key *reported_by_uid(
	const struct reported_index *index, const struct pod_names *names, size_t *ret_n);

/* The items that have no UID and the pod's name. Two pods may have the same hash of their names, and users choose names: the
 * caller decides to whom such items belong. */
const struct reported_key *reported_by_name(
	const struct reported_index *index, const struct pod_names *names, size_t *ret_n);

enum reported { REPORTED_NOTHING, REPORTED_PART, REPORTED_ALL };

/* What a pod has of the state's items that are its own. */
struct reported_amounts {
	size_t n_items;
	size_t cpus;
	bool memory;
	size_t *devices; /* of each of the index' plugins */
};

/* The union of the n items at `keys` and of the m items at `more`. 0 or -ENOMEM (*ret untouched); released by
 * reported_amounts_release(). */
int reported_amounts_count(const struct reported_index *index, const struct allocations *a,
	const struct reported_key *keys, size_t n, const struct reported_key *more, size_t m,
	struct reported_amounts *ret);
void reported_amounts_release(struct reported_amounts *amounts);

/*
 * The kubelet writes its files one after the other while it admits a pod, so an object from in between has a part of what
 * the pod gets. Complete are as many exclusive CPUs as the pod asks for, as many devices of each resource that has a plugin,
 * and memory where the kubelet reserves it. A resource without a plugin (in the Node's status by a patch) and a pod with
 * pod-level resources do not wait for more than is there.
 */
enum reported reported_compare(const struct reported_index *index, const struct node_state *state,
	const struct pod_class *class, const struct reported_amounts *amounts);

/*
 * What is missing in the amounts of the pod class's request, as one container: exclusive CPUs, memory where none is reported, devices.
 * 0 or -ENOMEM; `ret` is untouched on failure, else to be released by pod_request_release().
 */
int reported_rest(const struct reported_index *index, const struct node_state *state,
	const struct pod_class *class, const struct reported_amounts *amounts, struct pod_request *ret);
