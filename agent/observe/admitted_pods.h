/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads which pods the kubelet has admitted, from its file allocated_pods_state.
 *
 * Source of the formats: pkg/kubelet/allocation/state.
 * Format v1 (Kubernetes 1.33): `data` is a string that holds {"entries": {UID: ...}}. Format v2 (1.38) has a `version`, and `data`
 * holds {"podList": BASE64, "entries": ...}: the pods as a protobuf PodList, and until 1.39 their entries as in v1, which only
 * older kubelets read.
 */
#include <stddef.h>

#include "common/err.h"
#include "common/vec.h"

#define ADMITTED_PODS_FILE "allocated_pods_state"
#define ADMITTED_PODS_MAX  (8u * 1024u * 1024u) /* bytes */

/*
 * Append the UIDs of the file's pods to `uids`. 0; -EINVAL or -EBADMSG with one line: damaged, of another format, or without any list
 * of pods, which does not mean that there are no pods; -EFBIG. `uids` is untouched on failure.
 */
int admitted_pods_parse(const char *text, size_t len, struct strv *uids, struct err *err);
