/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How a pod of the API server is recognised among what a node's kubelet has handed out.
 */
#include <stdbool.h>

#include "agent/base/doc.h"
#include "agent/model/node_state_names.h"
#include "common/allocation.h"

/* As in a published state: hashes, which two pods may share by chance; "" = not known. */
struct pod_names {
	char uid[NODE_STATE_HASH_SIZE], pod[NODE_STATE_HASH_SIZE];
};

/* `uid` is the kubelet's; "" = not known. */
struct pod_names pod_names_of(const char *uid, const char *namespace, const char *name);

/* Of the pod that has the item; what a state that was parsed has is taken as it is. */
struct pod_names pod_names_of_item(const struct allocation *item);

/* The UID that the kubelet has for a pod: a static pod's is the hash of its file, while the API server has the UID of its
 * mirror. "" where there is none; valid as long as the object. */
const char *pod_names_kubelets_uid(const struct doc *metadata);

/* Whether the item is of the pod: by the UID where both have one, else by the name. */
bool pod_names_match(const struct pod_names *names, const struct allocation *item);

/* Whether any item is. */
bool pod_names_shown(const struct pod_names *names, const struct allocations *a);
