/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Pods for tests and benchmarks, from one line of text.
 */
#include "common/request.h"

/*
 * "init cpu=4 memory=1Gi; sidecar cpu=1 memory=1Gi; app cpu=2 memory=4Gi vendor.com/nic=1": containers in
 * their order, each amount as request and limit. Aborts on text it does not understand. The caller releases
 * the pod.
 */
void pod_from_text(struct pod_request *ret, const char *text);
