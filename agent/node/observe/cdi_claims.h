/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * CPUs and memory that DRA drivers gave to claims, as the drivers' CDI spec files list them.
 *
 * A driver gives a claim one CDI device, whose environment says what it has: DRA_CPUSET_<UID>=0-3 (dra-driver-cpu,
 * v0.1.0 to v0.2.0 and its main branch of August 2026: pkg/driver/cdi.go) and
 * DRAMEMORY_<UID>_hugepages_2Mi=numanode:0,size:16Mi (dra-driver-memory v0.1.6: pkg/env/draenv.go). Both write below
 * /var/run/cdi only. The device is there from before the container starts until the claim's last pod has ended. The
 * kubelet knows neither CPUs nor amounts.
 */
#include "common/claim.h"
#include "common/err.h"
#include "common/notes.h"

#define CDI_SPEC_MAX (1024u * 1024u) /* bytes of one file */

/* What the files said when they were last read, by their names. Zeroed is empty. */
struct cdi_texts {
	struct cdi_text {
		char *name, *text;
	} * items;
	size_t n_items;
	size_t items_size;
};

void cdi_texts_release(struct cdi_texts *t);

/*
 * The claims of one spec file's text, appended: driver is the kind of CDI device; what neither variable says stays
 * empty. Devices without such a variable are passed over. 0; -EINVAL with one line: no spec, or a value of such a
 * variable that cannot be understood (`ret` may then hold some).
 */
int cdi_claims_parse(const char *text, size_t len, bool yaml, struct claims *ret, struct err *err);

/*
 * The claims of all spec files in root + dir, united. Files of other drivers are passed over; so is a folder that is
 * not there. A file that cannot be read or understood says what it said last (`last`, NULL = nothing is kept), with a
 * note that names it; where it said nothing before, what is available would be a guess: an error. 0; -EINVAL, -EACCES, ...
 * with one line; `ret` (empty) is untouched then.
 */
int cdi_claims_read(const char *root, const char *dir, struct cdi_texts *last, struct claims *ret,
	struct notes *notes, struct err *err);

/*
 * Complete claims that the kubelet names by what `specs` has of their CDI devices; those of no CDI device that the
 * kubelet names are appended: a driver prepares a claim before its pod starts. `specs` is empty afterwards.
 */
void cdi_claims_join(struct claims *claims, struct claims *specs);
