/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Claims as text, and from text. */
#include "common/claim.h"
#include "common/strbuf.h"

/* "dra.cpu u1 team/c1 pods team/a,team/b cpus 0-3 memory 4096@0 devices n/d1,n/d2 cdi k=d;", without what is empty. */
void test_claims_text(const struct claims *claims, struct strbuf *out);

/* Append a claim with these CPUs and, unless `type` is NULL, memory on one NUMA node. It may be moved by the next. */
struct claim *test_add_claim(struct claims *claims, const char *driver, const char *uid, const char *cpus,
	const char *type, uint64_t bytes, unsigned node);
