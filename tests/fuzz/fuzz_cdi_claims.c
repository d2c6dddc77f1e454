/* SPDX-License-Identifier: Apache-2.0 */
/* A CDI spec file, as JSON and as YAML, to claims. */
#include "tests/fuzz/fuzz.h"

#include "agent/observe/dra_claims.h"
#include "common/cleanup.h"
#include "common/machine.h"

static void check_claim(const struct claim *c)
{
	fuzz_require(c->driver && *c->uid && !*c->namespace && !*c->name && c->cdi.n_items == 1);
	fuzz_require(hwloc_bitmap_last(c->cpus) < (int)MACHINE_MAX_CPUS);
	for (size_t i = 0; i < c->n_memory; i++) {
		fuzz_require(hwloc_bitmap_weight(c->memory[i].nodes) == 1);
		fuzz_require(hwloc_bitmap_last(c->memory[i].nodes) < MACHINE_MAX_NODES);
		fuzz_require(!strcmp(c->memory[i].type, "memory") ||
			     !strncmp(c->memory[i].type, "hugepages-", strlen("hugepages-")));
	}
}

/* United, no claim comes twice, and all hold together what they held. */
static void check_united(struct claims *claims)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t before = claims_cpus(claims);
	CLEANUP(cpuset_freep) hwloc_bitmap_t after = NULL;
	size_t n;

	claims_merge(claims);
	n = claims->n_items;
	after = claims_cpus(claims);
	fuzz_require(hwloc_bitmap_isequal(before, after));
	claims_merge(claims);
	fuzz_require(claims->n_items == n);
}

static void try(const uint8_t *data, size_t size, bool yaml)
{
	CLEANUP(claims_release) struct claims claims = {0};
	struct err err = {""};

	if (cdi_claims_parse((const char *)data, size, yaml, &claims, &err) < 0) {
		fuzz_require(*err.text != '\0');
		return;
	}
	for (size_t i = 0; i < claims.n_items; i++)
		check_claim(&claims.items[i]);
	check_united(&claims);
}

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try(data, size, false);
	try(data, size, true);
}
