/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds members of manifests that the API server does not know.
 */
#include "common/doc.h"
#include "common/vec.h"

/*
 * Appends "spec.containers[0].limit; did you mean resources.limits?" for each unknown member of a pod or a pod template, its spec,
 * containers and resources.
 */
void manifest_pod_unknown_fields(const struct doc *owner, struct strv *ret);

/* Appends the unknown members of a workload of Kubernetes and its spec, without those of its template. Appends nothing for other kinds. */
void manifest_unknown_fields(const struct doc *object, struct strv *ret);
