/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/fuzz.h"

#include "agent/node/observe/state_file.h"
#include "common/cleanup.h"

/* No CPU is in the pool and held, or held by two pods. */
static void check_disjoint(const struct allocations *a)
{
	CLEANUP(cpuset_freep)
	hwloc_bitmap_t taken = a->shared ? hwloc_bitmap_dup(a->shared) : hwloc_bitmap_alloc();
	CLEANUP(cpuset_freep) hwloc_bitmap_t pod = hwloc_bitmap_alloc();

	for (size_t i = 0; i < a->n_items; i++) {
		const struct allocation *item = &a->items[i], *next = &a->items[i + 1];

		fuzz_require(!hwloc_bitmap_intersects(taken, item->cpus));
		/* v1 knows no pods: each container stands for itself. */
		hwloc_bitmap_or(pod, pod, item->cpus);
		if (i + 1 < a->n_items && *item->pod_uid && !strcmp(item->pod_uid, next->pod_uid))
			continue;
		hwloc_bitmap_or(taken, taken, pod);
		hwloc_bitmap_zero(pod);
	}
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
