/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the pods of each node ask for, and what the node has allocatable, from Node and Pod objects. Kubelet and scheduler
 * compare the two for the node as a whole.
 */
#include "agent/base/name_table.h"
#include "agent/cluster/object_input.h"
#include "agent/state/pod_names.h"
#include "common/allocation.h"
#include "common/err.h"
#include "common/request.h"

/* A pod of the node that is asked for. */
struct cluster_pod {
	char *namespace, *name, *uid; /* the kubelet's UID */
	struct pod_names names;
	bool priority_known; /* false: the pod names a class, and nobody has looked up its value */
	int32_t priority;
	struct resource_list requests; /* of the node as a whole */
};

/* One node. */
struct cluster_use {
	char *name;
	bool known;    /* there is a Node object; else only pods name it */
	bool has_gone; /* one of its pods is taken to be gone */
	struct resource_list allocatable;
	struct resource_list requested; /* by the pods that have not ended, in all */
	size_t n_pods;
	struct cluster_pod *pods; /* only of the node that is asked for */
	size_t n_listed;
	size_t pods_size;
};

struct cluster_usage {
	const char *only;           /* the node whose pods are listed one by one, or NULL; borrowed */
	struct excluded_pods *gone; /* pods that are left out; NULL = none; borrowed */
	struct name_table by_name;  /* struct cluster_use */
	size_t n_nodes;             /* Node objects */
};

void cluster_usage_release(struct cluster_usage *u);

/*
 * Add a Node or a Pod. Of a Node its name and status.allocatable are looked at, of a Pod its requests, spec.nodeName,
 * spec.priority and status.phase; pods without a node, and those that have ended, are passed over. 0; -EINVAL with one line
 * for an object without a name, and for a quantity or a pod that cannot be read, with its name. After a failure `u`
 * can only be released.
 */
int cluster_usage_add(
	struct cluster_usage *u, enum object_kind kind, const struct doc *object, struct err *err);

/* status.allocatable of a Node into `ret`. 0; -EINVAL with one line. */
int cluster_allocatable(const struct doc *node, struct resource_list *ret, struct err *err);

/* The node of that name, or NULL. */
const struct cluster_use *cluster_usage_find(const struct cluster_usage *u, const char *name);

/* The listed pod that the item belongs to, by name and UID or by the hashes of these that an object carries; NULL =
 * none is. */
const struct cluster_pod *cluster_use_pod(const struct cluster_use *use, const struct allocation *item);

/*
 * So much of a known node can still be requested: allocatable less requested, 0 at least. A node has room for a number of
 * pods too; it is the resource "pods". *ret is to be released.
 */
void cluster_use_free(const struct cluster_use *use, struct resource_list *ret);
