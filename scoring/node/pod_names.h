/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Recognizes pods in a node's allocations: those of the API server, and those that the user excludes. Sources
 * know a pod by its UID, by its namespace and name, or by hashes of these.
 */
#include <stdbool.h>

#include "common/allocation.h"
#include "common/doc.h"
#include "common/err.h"
#include "common/vec.h"

/*
 * A hash, as pod_uid and pod of an allocation that was parsed: '#' (in the struct only) and 6 characters of
 * the URL-safe base64 alphabet for the 36 highest bits of XXH64, the highest first; of the UID, and of
 * "NAMESPACE/NAME". Two pods may share a hash by chance.
 */
#define POD_NAMES_HASH_SIZE 8
void pod_names_hash_uid(const char *uid, char ret[POD_NAMES_HASH_SIZE]);
void pod_names_hash_pod(const char *namespace, const char *name, char ret[POD_NAMES_HASH_SIZE]);

struct pod_names {
	char uid[POD_NAMES_HASH_SIZE], pod[POD_NAMES_HASH_SIZE]; /* hashes; "" = unknown */
	/*
	 * A mirror pod: the API server's object of a static pod. `uid` is the static pod's, from an
	 * annotation that every user may write, so an item belongs to the pod only if UID and name both
	 * match.
	 */
	bool mirror;
};

/* `uid` is the kubelet's; "" = unknown. */
struct pod_names pod_names_of(const char *uid, const char *namespace, const char *name);

/* Of the pod that holds the item. Hashes of a parsed state are taken as they are. */
struct pod_names pod_names_of_item(const struct allocation *item);

/*
 * Of a Pod object with this metadata. The kubelet's UID of a static pod is the hash of its file, which its
 * mirror pod has in the annotation kubernetes.io/config.mirror.
 */
struct pod_names pod_names_of_object(const struct doc *metadata);

/* The UID that the kubelet has for the pod of this metadata, "" if none; valid as long as the object. */
const char *pod_names_kubelets_uid(const struct doc *metadata);

/* Whether the pod holds the item: by the UID if both have one, else by the name; for a mirror pod by both. */
bool pod_names_match(const struct pod_names *names, const struct allocation *item);

/*
 * Pods that the user excludes ("as if they had ended"): by NAMESPACE/NAME, by UID, or by the hash of either.
 * Zeroed = none.
 */
#define EXCLUDED_PODS_MAX 64
struct excluded_pods {
	const char *names[EXCLUDED_PODS_MAX]; /* borrowed */
	bool found[EXCLUDED_PODS_MAX];        /* a source knows a pod of this name */
	size_t n;
	struct strv uids;  /* of excluded pods whose Pod object was seen */
	struct strv nodes; /* of the same pods; set by the caller */
};

void excluded_pods_release(struct excluded_pods *e);

/*
 * Whether the pod of an object with these names is excluded. An excluded pod counts as found, and from then
 * on its UID is recognized too.
 */
bool excluded_pods_match(struct excluded_pods *e, const char *namespace, const char *name, const char *uid);

/*
 * Remove the excluded pods from the allocations and give back what they held. Derive the inventory
 * afterwards.
 */
void excluded_pods_take(struct excluded_pods *e, struct allocations *a);

/* 0; -ENOENT with one line for a name that was not found. */
int excluded_pods_check(const struct excluded_pods *e, struct err *err);
