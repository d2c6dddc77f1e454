/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How a pod of the API server is recognised in the state that a node has published.
 */
#include <stdbool.h>

#include "agent/base/doc.h"
#include "agent/model/node_state_names.h"
#include "common/allocation.h"

/* As in the state: hashes. */
struct book_names {
	char uid[NODE_STATE_HASH_SIZE], name[NODE_STATE_HASH_SIZE];
};

/* `uid` is the kubelet's. */
struct book_names book_names_of(const char *uid, const char *namespace, const char *name);

/* The UID that the kubelet has for a pod: a static pod's is the hash of its file, while the API server has the UID of its
 * mirror. Valid as long as both arguments. */
const char *book_names_kubelets_uid(const struct doc *metadata, const char *uid);

/* Whether the item is of the pod: by the UID where the node has published it, else by the name. */
bool book_names_match(const struct book_names *names, const struct allocation *item);

/* Whether any item is. */
bool book_names_shown(const struct book_names *names, const struct allocations *a);
