/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How pods, containers and devices are named in a node state that was parsed.
 */
#include <stddef.h>

/*
 * How a pod is named in the text: '#' (in the struct only) and 6 characters of the URL-safe base64 alphabet for
 * the 36 highest bits of XXH64, the highest first; of the UID, and of "NAMESPACE/NAME". To be compared with
 * pod_uid and pod of an allocation that was parsed. Two pods may share one by chance.
 */
#define NODE_STATE_HASH_SIZE 8
void node_state_hash_uid(const char *uid, char ret[NODE_STATE_HASH_SIZE]);
void node_state_hash_pod(const char *namespace, const char *name, char ret[NODE_STATE_HASH_SIZE]);

/* The id of a device and the name of a container, from their positions: in the same order. */
#define NODE_STATE_ID_SIZE 7
void node_state_id(size_t position, char ret[NODE_STATE_ID_SIZE]);
