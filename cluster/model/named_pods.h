/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Names the pods in node states of objects, which have hashes instead of names.
 */
#include "common/doc.h"
#include "common/node_state.h"
#include "scoring/node/pod_names.h"

struct named_pod {
	char *node, *namespace, *name;
	struct pod_names names;
	/* Set by the caller: the kubelet may assign something exclusively; and the pod runs with exclusive CPUs. */
	bool may_hold, holds_cpus;
	bool found; /* by named_pods_find() */
};

/* The pods of a cluster that have a node and have not ended. Zeroed = none. */
struct named_pods {
	struct named_pod *items; /* by node, after named_pods_finish() */
	size_t n_items, items_size;
};

void named_pods_release(struct named_pods *p);

/* Adds a Pod. Returns the pod, valid until the next call; NULL for a pod without a node and for a pod that has ended. */
struct named_pod *named_pods_add(struct named_pods *p, const struct doc *object);

/* To be called after the last Pod. */
void named_pods_finish(struct named_pods *p);

/* The pod that holds the item on the node; a mirror pod only if no other pod does. NULL = unknown. */
struct named_pod *named_pods_find(
	const struct named_pods *p, const char *node, const struct allocation *item);

/* Sets the namespace and the name of each known pod of the node's state, also in claims. */
void named_pods_apply(const struct named_pods *p, struct node_state *state);
