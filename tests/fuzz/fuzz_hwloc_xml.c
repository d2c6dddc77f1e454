/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine as `lstopo FILE.xml` writes it.
 */
#include "tests/fuzz/fuzz.h"

#include "agent/observe/discover.h"
#include "common/cleanup.h"

/*
 * hwloc asks for bitmaps of 512 MB where an id is 2^32 - 2, which the limit of the child that loads a text first
 * refuses. The sanitizer would end the child there, and libFuzzer in it would leave a crash file; hwloc gets NULL, as
 * from malloc().
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

/* Ids within their limits, ascending; cores and NUMA nodes are there. */
static void check(const struct machine *m)
{
	for (size_t i = 0; i < m->n_cpus; i++) {
		const struct cpu *c = &m->cpus[i];

		fuzz_require(c->id < MACHINE_MAX_CPUS && (i == 0 || m->cpus[i - 1].id < c->id));
		fuzz_require(machine_cpu(m, c->core) != NULL);
		fuzz_require(c->numa == MACHINE_NONE || machine_node_index(m, (unsigned)c->numa) >= 0);
	}
	for (size_t i = 0; i < m->n_nodes; i++) {
		fuzz_require(m->nodes[i].id < MACHINE_MAX_NODES);
		fuzz_require(i == 0 || m->nodes[i - 1].id < m->nodes[i].id);
		fuzz_require(m->nodes[i].memory_bytes <= INT64_MAX);
		fuzz_require(hwloc_bitmap_isincluded(m->nodes[i].cpus, m->online));
	}
}

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(machine_release) struct machine m;
	struct err err = {""};
	int r;

	machine_init(&m);
	r = discover_hwloc_xml(fuzz_file(data, size), &m, &err);
	if (r == 0) {
		machine_derive(&m);
		check(&m);
	}
	if (r < 0)
		fuzz_check_line(err.text);
}
