/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads Nodes and Pods: the sum of each node's requests, the node's status and its reservations.
 *
 * The kubelet and the scheduler compare the sum with the node's allocatable.
 */
#include "cluster/model/node_reservations.h"
#include "cluster/objects/object_input.h"
#include "common/allocation.h"
#include "common/err.h"
#include "common/hash.h"
#include "common/request.h"
#include "scoring/node/pod_names.h"

/* A pod of the node in question. */
struct cluster_pod {
	char *namespace, *name, *uid; /* the UID that the kubelet uses */
	struct pod_names names;
	bool priority_known; /* pod_priority_read() */
	int32_t priority;
	struct resource_list requests; /* node-level request */
};

struct node_usage {
	char *name;
	bool known;                    /* the node has a Node object; else only pods name the node */
	bool has_excluded;             /* one of the node's pods is excluded */
	bool not_ready, unschedulable; /* status "Ready" of the Node is not "True"; spec.unschedulable */
	struct resource_list allocatable;
	struct resource_list requested; /* sum over the pods that have not ended */
	size_t n_pods;
	struct cluster_pod *pods; /* only of the node in question */
	size_t n_listed;
	size_t pods_size;
	struct node_reservation *reservations; /* `user`: after node_usage_match_reservations() */
	size_t n_reservations;
	struct reservation_pod *arrived; /* only of a node that has reservations, or no Node object */
	struct strv arrived_texts;       /* of the pods in `arrived` */
	size_t n_arrived, arrived_size;
	bool matched; /* the users of the reservations are those of `arrived` */
};

struct cluster_usage {
	const char *only; /* the node in question, whose pods are listed; NULL = none; borrowed */
	struct excluded_pods *excluded; /* pods that do not count; NULL = none; borrowed */
	struct name_table by_name;      /* struct node_usage */
	size_t n_nodes;                 /* Node objects */
	struct pod_classes classes;     /* of reservations, and of pods that may use them */
};

void cluster_usage_release(struct cluster_usage *u);

/*
 * Adds a Node or a Pod. Reads a Node's name, annotations, status and spec.unschedulable; invalid reservations are ignored,
 * because the extender logs them. Reads a Pod's metadata, requests, spec.nodeName, spec.priority and status.phase. Ignores
 * pods without a node and ended pods. 0; -EINVAL with one line for an object without a name, and with the object's name for
 * an invalid quantity or pod. After a failure `u` can only be released.
 */
int cluster_usage_add(
	struct cluster_usage *u, enum object_kind kind, const struct doc *object, struct err *err);

/* NULL = no such node. */
struct node_usage *cluster_usage_find(const struct cluster_usage *u, const char *name);

/* Finds which of the node's pods use its reservations. To be called after the last object. */
void node_usage_match_reservations(struct node_usage *use);

/* The listed pod that holds the item, by name and UID, or by the hashes of both that an object contains. NULL = none. */
const struct cluster_pod *node_usage_find_pod(const struct node_usage *use, const struct allocation *item);

/* What pods can still request of a node: allocatable minus requested plus `returned`, at least 0. `returned`: the
 * requests of pods that are assumed to end; NULL = none. *ret is to be released. */
void requestable_amounts(const struct resource_list *allocatable, const struct resource_list *requested,
	const struct resource_list *returned, struct resource_list *ret);

/* requestable_amounts() of a known node. The resource "pods" counts pods. *ret is to be released. */
void node_usage_requestable(const struct node_usage *use, struct resource_list *ret);
