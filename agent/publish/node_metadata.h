/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Parses the Node's keys under nrtd.dev/ and its startup taint, and computes patches of both. No I/O.
 */
#include "common/doc.h"
#include "common/err.h"
#include "common/settings.h"

#define NODE_METADATA_PREFIX "nrtd.dev/" /* of the Node's keys that nrtd owns */
#define STARTUP_TAINT_KEY    NODE_METADATA_PREFIX "not-ready"
#define STARTUP_TAINT_EFFECT "NoSchedule"

/* What nrtd knows of the Node. */
struct node_metadata {
	char *uid;
	struct doc annotations, labels; /* the keys under nrtd.dev/, as maps */
	struct kubelet_release kubelet;
	bool has_taint; /* spec.taints has the startup taint */
	size_t taint;   /* its position in spec.taints */
};

void node_metadata_init(struct node_metadata *m);
void node_metadata_release(struct node_metadata *m);

/* Copies the entries under nrtd.dev/ of a map (the Node's annotations or labels; NULL = empty) to `ret`, a
 * map. */
void node_metadata_keep_own(const struct doc *map, struct doc *ret);

/* Parses the JSON of a Node, or of its PartialObjectMetadata, which has no release and no taints. 0; -EPROTO
 * with one line. */
int node_metadata_parse(const char *text, size_t len, struct node_metadata *ret, struct err *err);

/*
 * The metadata that the Node is to have: these annotations and labels (NULL = none) and, if there are any,
 * the annotation nrtd.dev/content-hash. ret->uid is NULL. 0; -EINVAL for a key that is not under nrtd.dev/ or
 * a value that is not a string.
 */
int node_metadata_wanted(const struct doc *annotations, const struct doc *labels, const char *content_hash,
	struct node_metadata *ret, struct err *err);

/* The merge patch from `have` to `want`: {"metadata": {...}}, or an empty map if they are equal. The patch
 * contains the UID of `have`, so that it does not change a Node that was created again in between. */
void node_metadata_patch(const struct node_metadata *have, const struct node_metadata *want, struct doc *ret);

/* The JSON patch that removes the startup taint, which the Node must have. The API server rejects the patch
 * (422) if the taint's position has changed, or if the Node was created again in between. */
void node_metadata_taint_patch(const struct node_metadata *m, struct doc *ret);
