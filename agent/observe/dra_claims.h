/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads what DRA drivers gave to ResourceClaims: the kubelet's dra_manager_state and the drivers' CDI spec
 * files.
 */
#include "agent/observe/pod_evidence.h"
#include "common/claim.h"
#include "common/err.h"

/* ---- dra_manager_state: which drivers have prepared which devices for which pods */

/*
 * {"Data": "...", "Checksum": n}, alike in Kubernetes 1.34 to 1.38 (pkg/kubelet/cm/dra/state). The file has
 * neither CPUs nor amounts of memory. No amount depends on this file, so its checksum is not verified.
 */
#define STATE_CLAIMS_FILE "dra_manager_state"
#define STATE_CLAIMS_MAX  (8u * 1024u * 1024u) /* bytes */

/*
 * Parse the file's text into claims, merged by claims_merge(). A claim's pods are those whose names are known
 * from the logs in `e`. 0; -EINVAL, -ERANGE, -EFBIG with one line; `ret` (empty) is then untouched.
 */
int state_claims_parse(
	const char *text, size_t len, const struct pod_evidence *e, struct claims *ret, struct err *err);

/* As state_claims_parse(), of the file below sysroot + kubelet_root. Without a file there are no claims; a broken file is
 * a note. 0; -errno with one line if a file cannot be read for a transient reason. */
int state_claims_read(const char *sysroot, const char *kubelet_root, struct claims *ret, struct notes *notes,
	struct err *err);

/* ---- CDI spec files: the CPUs and memory of a claim */

/*
 * A driver gives a claim one CDI device, whose environment lists the claim's resources:
 * DRA_CPUSET_<UID>=0-3 (dra-driver-cpu, v0.1.0 to v0.2.0 and its main branch of August 2026:
 * pkg/driver/cdi.go) and DRAMEMORY_<UID>_hugepages_2Mi=numanode:0,size:16Mi (dra-driver-memory v0.1.6:
 * pkg/env/draenv.go). Both drivers write below /var/run/cdi only. The device exists from before the
 * container starts until the claim's last pod has ended. The kubelet knows neither CPUs nor amounts.
 */
#define CDI_SPEC_MAX (1024u * 1024u) /* bytes of one file */

/* The content of the files at the last read, by their names. Zeroed is empty. */
struct cdi_texts {
	struct cdi_text {
		char *name, *text;
	} * items;
	size_t n_items;
	size_t items_size;
};

void cdi_texts_release(struct cdi_texts *t);

/*
 * Append the claims of one spec file's text: driver is the kind of CDI device; members that the variables
 * do not name stay empty. Devices without such a variable are skipped. 0; -EINVAL with one line: no spec,
 * or a value of such a variable that cannot be parsed (`ret` may then hold some claims).
 */
int cdi_claims_parse(const char *text, size_t len, bool yaml, struct claims *ret, struct err *err);

/*
 * Read the claims of all spec files in root + dir, merged. Files of other drivers are skipped; a missing
 * directory has no claims. For a file that cannot be read or parsed, the content of the last read is used
 * (`last`, NULL = nothing is kept), with a note that names the file. Without a last content the call fails,
 * because the available resources would be a guess. 0; -EINVAL, -EACCES, ... with one line; `ret` (empty) is
 * then untouched.
 */
int cdi_claims_read(const char *root, const char *dir, struct cdi_texts *last, struct claims *ret,
	struct notes *notes, struct err *err);

/*
 * Complete the claims that the kubelet names from the `specs` of their CDI devices. A spec whose CDI device
 * the kubelet does not name is appended: a driver prepares a claim before its pod starts. `specs` is empty
 * afterwards.
 */
void cdi_claims_join(struct claims *claims, struct claims *specs);
