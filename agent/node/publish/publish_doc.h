/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The documents that a publisher sends, and what it keeps of those it gets. No I/O. */
#include <stdbool.h>

#include "agent/base/doc.h"
#include "agent/state/content_hash.h"
#include "common/err.h"

#define PUBLISH_PREFIX "nrtd.dev/" /* keys of the Node that are ours */

/* What is to be on the API server. Borrowed for the call. */
struct publish_request {
	const struct doc *nrt;          /* the object as nrt_render() makes it; NULL = it is left to others */
	const char *content_hash;       /* of it (nrt_content_hash()) */
	const struct doc *numatopology; /* the object as numatopology_render() makes it; NULL = none */
	const struct doc *annotations;  /* map of strings, keys under nrtd.dev/; NULL = none */
	const struct doc *labels;       /* the same */
	/* The annotations are for a kubelet of release 1.N: they are held back from a Node that has another.
	 * 0 = for any. */
	unsigned kubelet_minor;
};

/* What nrtd knows of the Node. */
struct node_metadata {
	char *uid;
	struct doc annotations, labels; /* those under nrtd.dev/, as maps */
	unsigned kubelet_minor;         /* the release of its kubelet is 1.N; 0 = unknown */
};

void node_metadata_init(struct node_metadata *m);
void node_metadata_release(struct node_metadata *m);

/* Copy the texts of a map (the Node's annotations or labels; NULL = there are none) whose keys are under
 * nrtd.dev/ to `ret`, a map. */
void publish_keep_ours(const struct doc *map, struct doc *ret);

/* From the JSON of a Node (or of its PartialObjectMetadata, which has no release). 0; -EPROTO with one
 * line. */
int node_metadata_parse(const char *text, size_t len, struct node_metadata *ret, struct err *err);

/* N when the Node's kubelet is of release 1.N; 0 when it does not say, or nothing that can be read. */
unsigned node_kubelet_minor(const struct doc *node);

/*
 * What the Node is to have: the request's annotations and labels, and with any of them the annotation
 * nrtd.dev/content-hash. Maps; ret->uid is NULL. 0; -EINVAL for a key that is not under nrtd.dev/ or a value
 * that is not a string.
 */
int node_metadata_wanted(const struct publish_request *request, struct node_metadata *ret, struct err *err);

/* The merge patch from `have` to `want`: {"metadata": {...}}, or a map without items when they are the same.
 * The uid of `have` is in it, so that a Node created again in between is not changed by mistake.
 */
void node_metadata_patch(const struct node_metadata *have, const struct node_metadata *want, struct doc *ret);

/* The object to apply: a copy of `from` with an ownerReference to the Node and, unless NULL, the version it is to replace.
 * 0; -EINVAL when it has no metadata. */
int publish_object(const struct doc *from, const char *node_name, const char *node_uid,
	const char *resource_version, struct doc *ret, struct err *err);
