/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How a pod of the API server is recognised among what a node's kubelet has handed out.
 */
#include <stdbool.h>

#include "agent/base/doc.h"
#include "agent/state/node_state_names.h"
#include "common/allocation.h"

/* As in a published state: hashes, which two pods may share by chance; "" = not known. */
struct pod_names {
	char uid[NODE_STATE_HASH_SIZE], pod[NODE_STATE_HASH_SIZE];
	/* A mirror pod: the API server's object of a static pod. Its UID here is the static pod's, from an annotation that
	 * every user may write, so an item is the pod's only where UID and name both match. */
	bool mirror;
};

/* `uid` is the kubelet's; "" = not known. */
struct pod_names pod_names_of(const char *uid, const char *namespace, const char *name);

/* Of the pod that has the item; what a state that was parsed has is taken as it is. */
struct pod_names pod_names_of_item(const struct allocation *item);

/* Of a Pod object with this metadata. The kubelet's UID of a static pod is the hash of its file, which its mirror pod has as
 * the annotation kubernetes.io/config.mirror. */
struct pod_names pod_names_of_object(const struct doc *metadata);

/* The UID that the kubelet has for the pod of this metadata, "" where there is none; valid as long as the object. */
const char *pod_names_kubelets_uid(const struct doc *metadata);

/* Whether the item is of the pod: by the UID where both have one, else by the name; of a mirror pod by both. */
bool pod_names_match(const struct pod_names *names, const struct allocation *item);
