/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Validates the resources of a new pod as the API server does.
 */
#include "common/err.h"
#include "common/request.h"

/*
 * Whether the API server would accept the resources of the pod, whose requests have their defaults (request_default()): read in
 * k8s.io/kubernetes v1.37.2, pkg/apis/core/validation/validation.go, validateResourceRequirements() and validatePodResourceConsistency().
 * 0; -EINVAL with one line that names the member of the spec and what is wrong.
 */
int pod_request_validate(const struct pod_request *pod, struct err *err);
