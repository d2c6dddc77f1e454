/* SPDX-License-Identifier: Apache-2.0 */
/* The kubelet's file of claims. */
#include "tests/fuzz/fuzz.h"

#include "agent/observe/dra_claims.h"
#include "common/cleanup.h"

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct pod_evidence nothing = {.root = ""};
	CLEANUP(claims_release) struct claims claims = {0};
	struct err err = {""};

	if (state_claims_parse((const char *)data, size, &nothing, &claims, &err) < 0) {
		fuzz_require(*err.text != '\0' && claims.n_items == 0);
		return;
	}
	for (size_t i = 0; i < claims.n_items; i++) {
		const struct claim *c = &claims.items[i];

		fuzz_require(c->driver && c->uid && c->namespace && c->name && c->n_pods == 0);
		fuzz_require(hwloc_bitmap_iszero(c->cpus) && c->n_memory == 0);
	}
}
