/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/fuzz.h"

#include "agent/observe/state_file.h"
#include "common/cleanup.h"

/* No CPU is in the pool and held. Two pods may hold a CPU, which is noted. */
static void check_disjoint(const struct allocations *a)
{
	for (size_t i = 0; i < a->n_items && a->shared; i++)
		fuzz_require(!hwloc_bitmap_intersects(a->shared, a->items[i].cpus));
}

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(kubelet_state_release) struct kubelet_state s = {0};
	CLEANUP(notes_release) struct notes notes = {0};
	struct err err = {""};

	if (state_parse(&state_cpu, (const char *)data, size, NULL, &s, &notes, &err) < 0) {
		fuzz_check_line(err.text);
		fuzz_require(!s.policy && s.allocations.n_items == 0);
		return;
	}
	fuzz_check_notes(&notes);
	fuzz_require(s.allocations.cpus_known);
	check_disjoint(&s.allocations);
}
