/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Computes the fingerprint of a node's pods: it says which pods an object's amounts count.
 *
 * The format is github.com/k8stopologyawareschedwg/podfingerprint, v001. The cache of the scheduler plugins computes the same over the
 * pods that it knows, and uses a new object only when both are equal.
 */
#include <stddef.h>

#include "common/allocation.h"

#define FINGERPRINT_ATTRIBUTE        "nodeTopologyPodsFingerprint"
#define FINGERPRINT_METHOD_ATTRIBUTE "nodeTopologyPodsFingerprintMethod"
#define FINGERPRINT_ANNOTATION       "topology.node.k8s.io/fingerprint"
#define FINGERPRINT_SIZE             25 /* "pfp0v001", 16 hex digits, NUL */

enum fingerprint_method {
	FINGERPRINT_NONE, /* not published */
	FINGERPRINT_ALL,  /* every pod on the node */
	FINGERPRINT_WITH_EXCLUSIVE_RESOURCES,
	FINGERPRINT_METHOD_COUNT
};

/* "none", "all", "with-exclusive-resources": values of the attribute and of --fingerprint. */
extern const char *const fingerprint_method_names[FINGERPRINT_METHOD_COUNT];

/*
 * The fingerprint of the pods; under FINGERPRINT_WITH_EXCLUSIVE_RESOURCES only of those that hold something
 * exclusively. The order of the pods does not matter; no pods have a fingerprint too. `method` must not be
 * FINGERPRINT_NONE.
 */
void fingerprint_pods(const struct pod_ref *pods, size_t n_pods, enum fingerprint_method method,
	char ret[FINGERPRINT_SIZE]);
