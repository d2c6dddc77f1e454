/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Pods and resources for tests and benchmarks, from text. Aborts on text that is neither.
 */
#include "common/request.h"

/* "cpu=4 memory=8Gi"; the caller releases the list. */
struct resource_list resources_from_text(const char *text);
void resources_set(struct resource_list *list, const char *name, const char *amount);

/*
 * "init cpu=4 memory=1Gi; sidecar cpu=1; app cpu=2 | cpu=4": containers in their order, each with its requests and
 * limits; without a bar the limits are the requests. A container is named after its kind, which may be omitted for "app"
 * if there are resources. The caller releases the pod.
 */
void pod_from_text(struct pod_request *ret, const char *text);

/* Appends containers. */
void pod_add_from_text(struct pod_request *pod, const char *text);
