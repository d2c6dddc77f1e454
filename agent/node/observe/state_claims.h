/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The kubelet's file of claims, dra_manager_state: for which pods which drivers have prepared what.
 *
 * {"Data": "...", "Checksum": n}, alike in Kubernetes 1.34 to 1.38 (pkg/kubelet/cm/dra/state). It has neither CPUs nor
 * amounts of memory: nothing that is counted depends on it, so its checksum is not verified.
 */
#include "agent/node/observe/pod_evidence.h"
#include "common/claim.h"
#include "common/err.h"
#include "common/notes.h"

#define STATE_CLAIMS_FILE "dra_manager_state"
#define STATE_CLAIMS_MAX  (8u * 1024u * 1024u) /* bytes */

/*
 * The claims of the file's text, united. Pods are those whose names the logs in `e` show. 0; -EINVAL, -ERANGE, -EFBIG
 * with one line; `ret` (empty) is untouched then.
 */
int state_claims_parse(
	const char *text, size_t len, const struct pod_evidence *e, struct claims *ret, struct err *err);

/* The same of the file below sysroot + kubelet_root. Without a file there are no claims; a broken one is a note. */
void state_claims_read(
	const char *sysroot, const char *kubelet_root, struct claims *ret, struct notes *notes);
