/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The fingerprint of the pods on a node (github.com/k8stopologyawareschedwg/podfingerprint, v001): the
 * scheduler's cache computes the same over the pods it knows and takes a new NodeResourceTopology only when
 * both are equal. Depends on common/ and agent/base/hash.h only.
 */
#include <stddef.h>

#include "common/pod_ref.h"

#define FINGERPRINT_ATTRIBUTE        "nodeTopologyPodsFingerprint"
#define FINGERPRINT_METHOD_ATTRIBUTE "nodeTopologyPodsFingerprintMethod"
#define FINGERPRINT_ANNOTATION       "topology.node.k8s.io/fingerprint"
#define FINGERPRINT_SIZE             25 /* "pfp0v001", 16 hex digits, NUL */

enum fingerprint_method {
	FINGERPRINT_NONE, /* none is published */
	FINGERPRINT_ALL,  /* every pod on the node */
	FINGERPRINT_WITH_EXCLUSIVE_RESOURCES,
	FINGERPRINT_METHOD_COUNT
};

/* "none", "all", "with-exclusive-resources": the attribute's values and those of --fingerprint. */
extern const char *const fingerprint_method_names[FINGERPRINT_METHOD_COUNT];

/*
 * Fingerprint of the pods, under FINGERPRINT_WITH_EXCLUSIVE_RESOURCES of those that hold something
 * exclusively. Their order does not matter; no pods at all have a fingerprint too. `method` must not be
 * FINGERPRINT_NONE.
 */
void fingerprint_pods(const struct pod_ref *pods, size_t n_pods, enum fingerprint_method method,
	char ret[FINGERPRINT_SIZE]);
