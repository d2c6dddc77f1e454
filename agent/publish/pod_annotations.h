/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Tracks which annotations of pods have been written, and makes the patches. No I/O.
 */
#include "agent/render/render.h"
#include "common/doc.h"

/* Zeroed, nothing has been written. */
struct pods_written {
	uint64_t *hashes; /* of the written pods with their values */
	size_t n_hashes;
	size_t hashes_size;
	size_t next; /* where the next search begins */
};

/* Also forgets what was written. */
void pods_written_release(struct pods_written *w);

/* Forgets pods that are not in `want`. If such a pod's name appears again, the name belongs to another pod. */
void pods_written_keep(struct pods_written *w, const struct kai_pods *want);

/* A pod of `want` that has not been written with this value, or NULL. */
const struct kai_pod *pods_written_next(const struct pods_written *w, const struct kai_pods *want);

/* The write of this pod failed: pods_written_next() returns all other pods of `want` before this pod. */
void pods_written_skip(struct pods_written *w, const struct kai_pods *want, const struct kai_pod *pod);

void pods_written_add(struct pods_written *w, const struct kai_pod *pod);

/* The path of the pod on the API server; the caller frees it. */
char *pod_annotation_path(const struct kai_pod *pod);

/* The merge patch that writes the annotation. It has no UID: the UID of a static pod is not that of its mirror
 * pod on the API server. */
void pod_annotation_patch(const struct kai_pod *pod, struct doc *ret);

/* Adds the pod with its annotation to `ret`, a map, as users see it. */
void pod_annotation_object(const struct kai_pod *pod, struct doc *ret);
